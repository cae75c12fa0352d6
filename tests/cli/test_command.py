"""How a command line ends, whatever happens in it."""

import io
import json
import os
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from pegboard.cli import pegboard
from pegboard.cli.command import Command, Commands, as_json, config_path
from pegboard.core.errors import StoreError


def run(body, *words):
    """Run a command `try` whose body is given."""
    group = Commands("pegboard", sections=[("All", [Command("try", callback=body)])])
    result = CliRunner().invoke(group, ["try", *words])
    assert isinstance(result.exception, SystemExit | None)
    return result


def fail(error):
    """Make a body that raises."""

    def body():
        raise error

    return body


ENDS = (
    (StoreError(problem="the disk is full", fix="free some space"), "store", 3),
    (ExceptionGroup("tasks", [StoreError(problem="the disk is full")]), "store", 3),
    (click.UsageError("no"), "usage", 2),
    (click.Abort(), "interrupted", 130),
    (KeyboardInterrupt(), "interrupted", 130),
    (PermissionError(13, "Permission denied", "tools.jsonl"), "system", 3),
    (ZeroDivisionError("division by zero"), "unexpected", 3),
)


@pytest.mark.parametrize(("error", "kind", "status"), ENDS, ids=[f"{kind}-{n}" for n, (_, kind, _) in enumerate(ENDS)])
def test_whatever_is_raised_becomes_one_error_and_its_status(error, kind, status):
    machine, people = run(fail(error), "--json"), run(fail(error))
    assert machine.exit_code == people.exit_code == status
    assert json.loads(machine.stdout)["error"]["kind"] == kind
    assert machine.stderr == people.stdout == ""
    assert people.stderr.startswith("error: ")


def test_a_traceback_is_shown_where_it_is_asked_for_and_only_there(monkeypatch):
    assert "Traceback" not in run(fail(ZeroDivisionError())).stderr
    monkeypatch.setenv("PEGBOARD_DEBUG", "1")
    assert "Traceback" in run(fail(ZeroDivisionError())).stderr


@pytest.mark.parametrize(("returned", "status"), [(None, 0), (0, 0), (1, 1), (3, 3)])
def test_what_a_command_returns_is_its_status(returned, status):
    assert run(lambda: returned).exit_code == status


@pytest.mark.parametrize(
    ("words", "environment", "expected"),
    [
        ((), None, ("pegboard.toml", False)),
        ((), "else.toml", ("else.toml", False)),
        ((), "", ("pegboard.toml", False)),
        (("--config", "here.toml", "--json"), "else.toml", ("here.toml", True)),
    ],
)
def test_the_configuration_is_the_said_one_then_the_environments(monkeypatch, words, environment, expected):
    found = []
    if environment is not None:
        monkeypatch.setenv("PEGBOARD_CONFIG", environment)
    run(lambda: found.append((config_path(), as_json())), *words)
    assert found == [expected]


def test_a_word_after_two_dashes_is_no_option(stocked):
    assert stocked.runs("select", "--as", "sam", "--", "--json").out.startswith(("selected", "no_tool", "clarify"))


def test_a_reader_that_has_had_enough_is_no_fault(stocked):
    lines = ({"namespace": "crm", "name": f"tool_{number}", "description": "x" * 70} for number in range(1500))
    stocked.writes("many.jsonl", lines)
    stocked.runs("catalog", "import", "many.jsonl")
    process = subprocess.Popen(
        [sys.executable, "-m", "pegboard", "catalog", "list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith("TOOL")
    process.stdout.close()
    assert process.stderr is not None
    with process.stderr:
        assert process.stderr.read() == ""
    assert process.wait() == 141


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_an_answer_that_cannot_be_written_is_a_failure_outside(stocked):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "pegboard", "lock", "show", "--json"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 3
    assert b"Traceback" not in done.stderr


def test_a_terminal_without_a_character_shows_a_stand_in(monkeypatch, stocked):
    stocked.writes("word.jsonl", [{"namespace": "crm", "name": "注文", "description": "Lists orders."}])
    stocked.runs("catalog", "import", "word.jsonl")
    shown = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    monkeypatch.setattr(sys, "stdout", shown)
    with pytest.raises(SystemExit) as end:
        pegboard(["catalog", "list"])
    assert end.value.code == 0
    assert b"crm.??" in shown.buffer.getvalue()
