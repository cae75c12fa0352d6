"""A board's calls go over sessions that stay open, and no server's process outlives the board or its program."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pegboard import Board, RuntimeContext
from tests.adapters.sessions import SERVER, alive, pids
from tests.cli.desk import Desk
from tests.servers import tool

PROGRAM = """
import sys
from pegboard import Board, RuntimeContext
board = Board.open("pegboard.toml")
context = RuntimeContext(user="sam", scopes=frozenset({"crm"}), servers=frozenset({"crm"}))
selection = board.select("get an order", context)
print(board.call(selection.tools[0].alias, {}, context, selection).succeeded)
"""
SAM = RuntimeContext(user="sam", scopes=frozenset({"crm"}), servers=frozenset({"crm"}))


@pytest.fixture
def diary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one server, listed and locked, that keeps a diary and ignores the end of its input."""
    monkeypatch.chdir(tmp_path)
    script = {
        "diary": str(tmp_path / "diary"),
        "pages": [[tool("get_order", description="Get an order.")]],
        "on": {"end": [["sleep", 600]]},
    }
    command = json.dumps([sys.executable, SERVER, json.dumps(script)])
    desk = Desk(tmp_path)
    access = '[dimensions]\nused = ["scopes"]\n[access.crm]\nrequired_scopes = ["crm"]\n'
    desk.writes("pegboard.toml", f"{access}[servers.crm]\ncommand = {command}\n")
    for words in ("refresh", "review approve crm.get_order --access crm --risk read"):
        done = desk.runs(*words.split())
        assert done.status == 0, done.err
    (tmp_path / "diary").unlink()
    return tmp_path / "diary"


@pytest.mark.parametrize(("more", "processes"), [("", 2), ("shared = true\n", 1)], ids=["own", "shared"])
def test_a_caller_s_calls_share_a_process_and_those_of_others_only_where_configured(
    more: str, processes: int, diary: Path
):
    with Path("pegboard.toml").open("a") as config:
        config.write(more)
    with Board.open("pegboard.toml") as board:
        for user in ("sam", "sam", "eve"):
            context = RuntimeContext(user=user, scopes=SAM.scopes, servers=SAM.servers)
            selection = board.select("get an order", context)
            assert board.call(selection.tools[0].alias, {}, context, selection).succeeded
        assert len(pids(diary)) == processes
        assert all(map(alive, pids(diary)))
    assert not any(map(alive, pids(diary)))


@pytest.mark.skipif(os.environ.get("PEGBOARD_SOAK") != "1", reason="starts a program; run by `make soak`")
def test_a_program_that_never_closes_its_board_leaves_no_process(diary: Path):
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, timeout=120)
    assert (done.stdout, done.returncode) == ("True\n", 0), done.stderr
    assert len(pids(diary)) == 1
    assert not any(map(alive, pids(diary)))
