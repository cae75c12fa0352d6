"""Replays that differ, and a board that is held wrong."""

import subprocess
import sys

import pytest

from pegboard import AccessTemplate, Board, RuntimeContext
from pegboard.core.catalog import Reach, Risk
from pegboard.core.errors import PegboardError
from pegboard.core.policy import Policy, Reason, decide_tool
from pegboard.core.revocations import NO_REVOCATIONS
from pegboard.core.snapshot import Snapshot
from pegboard.engine.trace import Record
from pegboard.engine.verdict import ProposedCall
from pegboard.policy.table import RuleTable
from pegboard.service.selector import Request
from tests.crm import AGENT, ENTRIES, lock
from tests.servers import ScriptedToolServer, ScriptedToolServers, tool
from tests.service.made import system


async def started(**deployment):
    made = system(ScriptedToolServers(crm=ScriptedToolServer([tool("get_x", description="Read.")])), **deployment)
    await made.refresher.refresh()
    await made.keeper.approve(["crm.get_x"], access="sales", by="t", risk=Risk.READ, reach=Reach.BOUNDED)
    return made


@pytest.mark.anyio
@pytest.mark.parametrize("task", ["***", "!!", "_", "?"])
async def test_a_task_without_a_word_beside_a_required_tool_replays_the_same(task):
    made = await started(record=Record.TERMS)
    selection, _ = await made.selector.select(Request(tasks=(task,), require=("crm.get_x",)), AGENT)
    (replay,) = await made.replayer.replay([selection.trace_id])
    assert replay.equal


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("record", "asked"),
    [
        (Record.TASK, {"tasks": ("\ud800 read",)}),
        (Record.TERMS, {"tasks": ("read",), "require": ("\ud800",)}),
        (Record.TERMS, {"tasks": ("read",), "loaded": ("\ud800",)}),
    ],
)
async def test_half_a_surrogate_pair_in_a_request_is_no_crash(record, asked):
    made = await started(record=record)
    selection, _ = await made.selector.select(Request(**asked), AGENT)
    assert selection.outcome


@pytest.mark.anyio
@pytest.mark.parametrize("selection_id", ["\udcff", ["x"]])
async def test_a_selection_id_that_is_none_is_like_an_unknown_one(selection_id, tmp_path):
    from pegboard.adapters.sqlite import SqliteStore

    made = await started()
    store = SqliteStore.open(tmp_path / "x.db")
    made.gatekeeper._traces = store
    call = ProposedCall(tool="crm.get_x", arguments={}, selection_id=selection_id)
    try:
        assert not (await made.gatekeeper.rehearse(call, AGENT)).verdict.allowed
    finally:
        store.close()


@pytest.mark.parametrize(
    ("template", "used"),
    [
        (lambda: AccessTemplate(required_scopes={"crm"}), Reason.SCOPE),
        (lambda: AccessTemplate(minimum_clearance=0.5), Reason.CLEARANCE),
    ],
)
def test_the_gate_and_the_table_agree_on_a_template_of_another_kind_or_it_is_refused(template, used):
    try:
        rules = Policy(lock=lock(), templates={"sales": template()}, used=frozenset({used}))
    except TypeError:
        return
    caller = RuntimeContext(
        user="sam", scopes=frozenset({"crm"}), servers=frozenset({"crm"}), clearance=1, environment="production"
    )
    table = RuleTable.of(Snapshot.of(1, ENTRIES), rules).eligible(caller, NO_REVOCATIONS)
    for row, entry in enumerate(Snapshot.of(1, ENTRIES).entries):
        assert bool(table.mask[row]) is decide_tool(entry, rules, caller, NO_REVOCATIONS).allowed


TOOL = {"tool_id": "a.get", "description": "read", "input_schema": {"type": "object"}, "access": "t"}
ACCESS = {"t": AccessTemplate(required_scopes=frozenset({"s"}))}
CALLER = RuntimeContext(user="u", scopes=frozenset({"s"}), servers=frozenset({"a"}))


def test_one_id_given_as_text_is_refused_and_not_read_letter_by_letter():
    with Board.from_tools([TOOL], ACCESS) as board:
        for asked in ({"require": "a.get"}, {"loaded": "a.get"}):
            try:
                selection = board.select("read", CALLER, **asked)
            except (TypeError, PegboardError):
                continue
            assert selection.missing in ((), ("a.get",))
            assert selection.withdraw in ((), ("a.get",))


def test_a_board_that_is_never_closed_lets_the_program_end():
    program = (
        "from pegboard import AccessTemplate, Board\n"
        "board = Board.from_tools([{'tool_id': 'a.get', 'input_schema': {}, 'access': 't'}],"
        " {'t': AccessTemplate(required_scopes=frozenset({'s'}))})\n"
    )
    subprocess.run([sys.executable, "-c", program], timeout=30, check=True)


def test_opening_a_configuration_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(PegboardError):
        Board.open(tmp_path / "pegbaord.toml").close()
    assert not (tmp_path / "pegboard.db").exists()


def test_a_closed_board_says_that_it_is_closed():
    board = Board.from_tools([TOOL], ACCESS)
    board.close()
    with pytest.raises(Exception, match="closed"):
        board.select("read", CALLER)
