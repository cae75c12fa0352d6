"""Verdicts: what may leave, and that the reference page says what the code says."""

from dataclasses import fields

from pegboard.engine.gate import STEPS
from pegboard.engine.ledger import Ended
from pegboard.engine.verdict import MEANINGS, Asks, Cause, Internal, Verdict, VerdictKind
from tests.engine.made import past
from tests.pages import REFERENCE, tables

PAGE = tables(REFERENCE / "verdicts.md")


def test_every_verdict_has_one_meaning():
    assert [kind for kind, _, _ in MEANINGS] == list(VerdictKind)


def test_the_page_of_verdicts_is_the_table_of_the_code():
    assert {kind: tuple(cells) for kind, cells in PAGE["The verdicts"].items()} == {
        str(kind): (means, helps) for kind, means, helps in MEANINGS
    }


def test_the_page_has_every_step_in_its_order_and_names_only_verdicts_there_are():
    steps = PAGE["The steps"]
    assert list(steps) == [name for name, _ in STEPS]
    for asked, otherwise in steps.values():
        assert asked
        named = set(otherwise.split("`")[1::2])
        assert named
        assert named <= set(map(str, VerdictKind))


def test_nothing_that_is_for_operators_leaves():
    internal = Internal(cause=Cause.DENIED, tool_id="crm.secret", reasons=("scopes",), error="secret")
    verdict = Verdict(kind=VerdictKind.UNKNOWN_OR_DENIED, asks=Asks(reasons=("risk",)), uses="ap_1", internal=internal)
    assert "secret" not in str(verdict.to_json())
    assert set(verdict.to_json()) == {"verdict", "tool_id", "message", "path", "constraint", "recorded"}
    assert {one.name for one in fields(Verdict)} - set(verdict.to_json()) == {
        "kind",
        "asks",
        "uses",
        "internal",
        "repeats",
        "noted",
    }


def test_what_ran_before_may_not_run_now_though_it_was_allowed():
    recorded = Verdict(kind=VerdictKind.ALLOWED, recorded=past(ended=Ended.DONE))
    assert not recorded.allowed
    assert recorded.to_json()["recorded"] is True
