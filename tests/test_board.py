"""The library's face: what a program sees of Pegboard."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from pegboard import AccessTemplate, Board, RuntimeContext
from pegboard.core.errors import ConfigError, InvalidEntryError
from pegboard.engine.rollout import setting_of
from pegboard.engine.selection import Outcome
from pegboard.engine.verdict import VerdictKind

ORDER = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
TOOLS = [
    {"tool_id": "orders.get", "description": "Look an order up.", "input_schema": ORDER, "access": "clerk"},
    {"tool_id": "orders.list", "description": "List open orders.", "access": "clerk"},
    {"tool_id": "orders.refund", "description": "Refund an order.", "input_schema": ORDER, "access": "cashier",
     "risk": "write", "reach": "bounded"},
]  # fmt: skip
ACCESS = {name: AccessTemplate(required_scopes=frozenset({name})) for name in ("clerk", "cashier")}
SAM = RuntimeContext(user="sam", scopes=frozenset({"clerk"}), servers=frozenset({"orders"}))
DANA = replace(SAM, user="dana", scopes=frozenset({"clerk", "cashier"}))


@pytest.fixture(scope="module")
def board():
    with Board.from_tools(TOOLS, ACCESS) as made:
        yield made


def aliases(selection):
    return {tool.alias for tool in selection.tools}


def test_two_people_get_two_answers_from_one_board(board):
    assert "orders.refund" in aliases(board.select("refund the order", DANA))
    assert "orders.refund" not in aliases(board.select("refund the order", SAM))
    assert "orders.get" in aliases(board.select("look an order up", SAM))


def test_a_checked_call_is_bound_to_the_callers_own_selection(board):
    selection = board.select("look the order up", SAM)
    answer = board.check_call("orders.get", {"order_id": "1"}, SAM, selection)
    assert answer.verdict.allowed
    board.report(answer.call_id, "done")
    assert board.check_call("orders.get", {"order_id": "1"}, SAM).verdict.kind is VerdictKind.UNKNOWN_OR_DENIED
    assert (
        board.check_call("orders.get", {"order_id": "1"}, DANA, selection).verdict.kind is VerdictKind.UNKNOWN_OR_DENIED
    )
    assert board.check_call("orders.get", {}, SAM, selection).verdict.kind is VerdictKind.INVALID_ARGUMENTS


def test_a_keyed_call_that_was_reported_is_answered_from_the_record_and_may_not_run_again(board):
    selection = board.select("look the order up", SAM)
    first = board.check_call("orders.get", {"order_id": "1"}, SAM, selection, key="k1", conversation="c1")
    board.report(first.call_id, "done", {"content": []})
    again = board.check_call("orders.get", {"order_id": "1"}, SAM, selection, key="k1", caller="program")
    assert (again.verdict.allowed, again.succeeded, again.result) == (False, True, {"content": []})


def test_someone_else_grants_what_a_caller_asked_for_and_a_denied_call_stays_denied():
    risky = {**TOOLS[2], "risk": "destructive"}
    with Board.from_tools([risky], ACCESS) as made:
        selection = made.select("refund the order", DANA)
        asked, other = (
            made.check_call("orders.refund", {"order_id": number}, DANA, selection) for number in ("1", "2")
        )
        assert {one.approval_id for one in made.approvals()} == {asked.approval_id, other.approval_id}
        with pytest.raises(ConfigError):
            made.grant(asked.approval_id, by="dana")
        made.grant(asked.approval_id, by="pat")
        made.deny(other.approval_id, by="pat", why="no")
        given = {"approval": asked.approval_id}
        assert made.check_call("orders.refund", {"order_id": "1"}, DANA, selection, **given).verdict.allowed
        assert "denied" in made.check_call("orders.refund", {"order_id": "2"}, DANA, selection).verdict.message


def test_explain_tells_an_operator_why_a_tool_is_not_there(board):
    found = board.explain("refund the order", SAM, tool="orders.refund")
    assert (found.eligible, found.total, [str(reason) for reason in found.reasons]) == (2, 3, ["scopes"])


def test_a_board_may_be_used_inside_a_running_event_loop_and_from_many_threads(board):
    async def inside():
        return board.select("look the order up", SAM)

    assert asyncio.run(inside()).outcome is Outcome.SELECTED
    with ThreadPoolExecutor(8) as pool:
        views = set(pool.map(lambda _: board.select("look the order up", SAM).view, range(40)))
    assert len(views) == 1


@pytest.mark.parametrize(
    ("tool", "error"),
    [
        ({"tool_id": "a.b", "input_schema": {"type": "int"}, "access": "clerk"}, InvalidEntryError),
        ({"description": "no name"}, InvalidEntryError),
        ({"tool_id": "a.b", "access": "no-such-template"}, ConfigError),
        ({"tool_id": "a.b"}, ConfigError),
    ],
)
def test_a_tool_that_cannot_be_taken_or_granted_is_an_error_and_no_silent_gap(tool, error):
    with pytest.raises(error):
        Board.from_tools([*TOOLS, tool], ACCESS)


def test_a_dimension_that_any_template_states_is_asked_of_every_tool():
    access = {
        "clerk": AccessTemplate(required_scopes=frozenset({"clerk"})),
        "late": AccessTemplate(tenants=frozenset({"x"})),
    }
    with Board.from_tools([TOOLS[0], {**TOOLS[1], "access": "late"}], access) as made:
        assert made.select("list orders", SAM).tools == ()


def test_an_empty_configuration_opens_and_grants_nothing(tmp_path: Path):
    (tmp_path / "pegboard.toml").write_text("")
    with Board.open(tmp_path / "pegboard.toml") as made:
        assert made.select("anything", SAM).outcome is Outcome.NO_TOOL


def test_a_shadow_costs_the_application_nothing_and_is_compared_with_what_it_called():
    with Board.from_tools(TOOLS, ACCESS) as board:
        name = board.shadow("look an order up", SAM, listed=["orders.get", "orders.refund"])
        board.observe(name, "orders.get", valid=True, completed=True)
        found = board._run(lambda: board._system.shadow.report())
    assert (found["recall"]["value"], found["production_exposed"]) == (1.0, 1)


def test_of_a_namespace_in_shadow_the_application_lists_its_own_tools_and_its_calls_are_labels():
    with Board.from_tools(TOOLS, ACCESS) as board:
        change = board._system.rollouts.change
        board._run(lambda: change("orders", setting_of("shadow"), by="dana", why="a test"))
        selection = board.select("look an order up", SAM, conversation="c1")
        assert (selection.production, selection.tools) == (("orders",), ())
        given = {"selection": selection, "conversation": "c1"}
        answer = board.check_call("orders.get", {"order_id": "1"}, SAM, **given)
        assert answer.verdict.allowed
        board.report(answer.call_id, "done")
        assert not board.check_call("orders.refund", {"order_id": "1"}, SAM, **given).verdict.allowed
        found = board._run(lambda: board._system.shadow.report())
    assert (found["recall"]["value"], found["recall"]["n"]) == (1.0, 1), "what sam may not use is no label"
