"""What `doctor` says of names in the configuration that nothing answers to."""

import pytest

from tests.cli.desk import CONFIG

MAIL = '[servers.mail]\nurl = "https://mail.example/mcp"\n'


def said(desk, *more):
    desk.writes("pegboard.toml", CONFIG + "".join(more))
    found = [one for one in desk.asks("doctor", "--offline")["findings"] if one["check"] == "names"]
    return [(one["level"], one["where"], one["message"], one["fix"]) for one in found]


def asking(*globs):
    return f"[[approvals.when]]\ntools = {list(globs)}\n"


def test_an_approval_for_a_tool_that_nobody_lists_is_a_problem_with_the_nearest_id(stocked):
    ((level, where, message, fix),) = said(stocked, asking("crm.cancel_order", "crm.cancel_ordr"))
    assert (level, where) == ("problem", "pegboard.toml: approvals.when[1].tools[2]")
    assert message == "no tool answers to 'crm.cancel_ordr', so this rule asks for no approval of it"
    assert fix == "did you mean crm.cancel_order?"
    assert stocked.runs("doctor", "--offline").status == 1


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('[tools."crm.cancel_ordr"]\nenabled = false\n', "tools.'crm.cancel_ordr'"),
        ('[selection]\nsafe_set = ["crm.cancel_order", "crm.cancel_ordr"]\n', "selection.safe_set[2]"),
    ],
)
def test_any_other_place_that_names_a_tool_nobody_lists_is_a_note(stocked, text, where):
    fix = "did you mean crm.cancel_order?"
    assert said(stocked, text) == [("note", f"pegboard.toml: {where}", "no tool answers to 'crm.cancel_ordr'", fix)]


def test_a_key_argument_that_its_tool_does_not_have_is_a_note(stocked):
    right, wrong = (f'[tools."crm.cancel_order"]\nkey_argument = "{one}"\n' for one in ("order_id", "ordr_id"))
    assert said(stocked, right) == []
    ((level, where, message, fix),) = said(stocked, wrong)
    assert (level, where) == ("note", "pegboard.toml: tools.'crm.cancel_order'.key_argument")
    assert (message, fix) == ("crm.cancel_order has no argument 'ordr_id'", "did you mean 'order_id'?")


@pytest.mark.parametrize(
    ("glob", "levels"),
    [
        ("crm.*", []),
        ("*", []),
        ("*.delete_*", ["note"]),
        ("crm.delete_*", ["note"]),
        ("crn.*", ["problem"]),
        ("mail.send", ["note"]),
        ("mial.send", ["problem"]),
    ],
)
def test_what_may_be_meant_for_tools_to_come_is_a_note(stocked, glob, levels):
    assert [level for level, *_ in said(stocked, MAIL, asking(glob))] == levels


def test_a_namespace_that_is_misspelt_is_named_too(stocked):
    assert [fix for *_, fix in said(stocked, asking("crn.*"))] == ["did you mean crm.*?"]


def test_a_tool_is_described_by_its_id_and_by_no_glob(stocked):
    assert [level for level, *_ in said(stocked, '[tools."crm.*"]\nenabled = false\n')] == ["note"]


def test_a_tool_that_is_locked_and_gone_is_not_misspelt(stocked):
    stocked.writes("pegboard.lock", stocked.reads("pegboard.lock").replace("crm.cancel_order", "crm.cancel_orders"))
    assert said(stocked, asking("crm.cancel_orders")) == []


def test_before_anything_is_listed_there_is_nothing_to_compare_with(desk):
    desk.runs("lock", "show")
    assert said(desk, asking("crm.cancel_ordr")) == []
