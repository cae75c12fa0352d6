"""Approvals: which calls ask, for which reasons, what covers them, and who may decide."""

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pegboard.core.catalog import Flow, Reach, Risk
from pegboard.core.names import canonical_json
from pegboard.core.text import hidden
from pegboard.engine import approvals
from pegboard.engine.approvals import (
    REASONS,
    ApprovalRules,
    ArgumentRule,
    Situation,
    asks_of,
    covering,
    may_decide,
    shown,
    worded,
)
from tests.crm import line
from tests.engine.made import CANCEL, NOW, approval, past, standing
from tests.strategies import json_values

DELETES = ArgumentRule(tools=("crm.*",), arguments={"action": ("delete", "merge")})
BINDING = approval().binding
BOTH = {Flow.READS_PRIVATE: "c1", Flow.INGESTS_UNTRUSTED: "c2"}


def situation(arguments: Any = None, *, keyed: bool = False, touched: Any = None, like: Any = None, **lock: Any):
    return Situation(
        rules=ApprovalRules(when=(DELETES,)),
        line=line(CANCEL, **lock),
        arguments={} if arguments is None else arguments,
        environment="production",
        keyed=keyed,
        standing=standing(touched=touched or {}, like=like),
    )


ROWS = (
    (situation(), ()),
    (situation(risk=Risk.DESTRUCTIVE), ("risk",)),
    (situation(reach=Reach.OPEN), ("reach",)),
    (situation({"action": "delete"}), ("arguments",)),
    (situation(touched=BOTH, flow=frozenset({Flow.SENDS_OUT})), ("flow",)),
    (situation(like=past()), ("repeat",)),
    (situation(like=past(), keyed=True), ()),
    (situation(like=past(), risk=Risk.READ), ()),
    (
        situation({"action": "merge"}, risk=Risk.DESTRUCTIVE, reach=Reach.OPEN, like=past()),
        ("risk", "reach", "arguments", "repeat"),
    ),
)


@pytest.mark.parametrize(("call", "reasons"), ROWS)
def test_every_reason_that_stands_is_asked_for_at_once(call, reasons):
    assert asks_of(call).reasons == reasons
    assert asks_of(call).earlier == (("c1", "c2") if "flow" in reasons else ())


@pytest.mark.parametrize("row", range(len(REASONS)), ids=[why for why, _ in REASONS])
def test_deleting_a_reason_changes_what_is_asked(row, monkeypatch):
    monkeypatch.setattr(approvals, "REASONS", REASONS[:row] + REASONS[row + 1 :])
    assert [asks_of(call).reasons for call, _ in ROWS] != [reasons for _, reasons in ROWS]


@pytest.mark.parametrize(
    ("rule", "arguments", "matches"),
    [
        ({"action": ("delete",)}, {"action": "delete"}, True),
        ({"action": ("delete",)}, {"action": "Delete"}, False),
        ({"action": ("delete",)}, {}, False),
        ({"/action": ("delete",)}, {"action": "delete"}, True),
        ({"/a/b": (1,)}, {"a": {"b": 1}}, True),
        ({"/a/b": (1,)}, {"a": {"b": 1.0}}, True),
        ({"/a/b": (1,)}, {"a": {"b": True}}, False),
        ({"/a/1": ("x",)}, {"a": ["y", "x"]}, True),
        ({"/a/2": ("x",)}, {"a": ["y", "x"]}, False),
        ({"/a~1b/c~0d": ("x",)}, {"a/b": {"c~d": "x"}}, True),
        ({"a/b": ("x",)}, {"a/b": "x"}, True),
        ({"a": (True,), "b": ("x",)}, {"a": True, "b": "x"}, True),
        ({"a": (True,), "b": ("x",)}, {"a": True, "b": "y"}, False),
        ({"a": ("x",)}, {"a": ["x"]}, False),
        ({}, {"anything": 1}, True),
    ],
)
def test_a_rule_on_arguments_asks_for_each_place_one_of_its_values(rule, arguments, matches):
    assert ArgumentRule(tools=("crm.*",), arguments=rule).matches("crm.a", arguments) is matches
    assert not ArgumentRule(tools=("crmx.*", "CRM.*"), arguments=rule).matches("crm.a", arguments)


@pytest.mark.parametrize(
    ("reasons", "granted", "named", "found"),
    [
        (("risk",), ("risk",), None, True),
        (("risk",), ("risk", "flow"), None, True),
        (("risk", "flow"), ("risk",), None, False),
        (("risk",), ("risk",), "ap_1", True),
        (("risk",), ("risk",), "ap_2", False),
        (("risk",), ("risk",), "", False),
    ],
)
def test_an_approval_covers_no_more_than_its_reasons_and_where_one_is_named_it_is_that_one(
    reasons, granted, named, found
):
    assert (covering(reasons, (approval(*granted),), BINDING, NOW, named) is not None) is found


def test_of_several_approvals_one_that_covers_is_found_wherever_it_stands():
    narrow, wide = approval("risk", approval_id="ap_2"), approval("risk", "flow")
    for order in ((narrow, wide), (wide, narrow)):
        found = covering(("risk", "flow"), order, BINDING, NOW, None)
        assert found == wide


@pytest.mark.parametrize(
    ("names", "may"),
    [
        (["dana"], True),
        (["sam"], False),
        ([" Sam "], False),
        (["sam@acme"], False),
        (["dana", "sam"], False),
        ([""], False),
        (["dana", " "], False),
        ([], False),
    ],
)
def test_nobody_decides_under_a_name_of_the_requesters_or_under_none(names, may):
    assert may_decide(approval("risk"), names) is may


def test_every_reason_has_words():
    for why, _ in REASONS:
        assert worded([why])


def test_what_an_approver_sees_is_cut_and_says_how_much_is_missing():
    seen = shown({"text": "x" * 1_000, "list": list(range(1_000)), "after": 1})
    assert isinstance(seen, dict)
    assert str(seen["text"]).endswith("(1,000 characters)")
    assert len(canonical_json(seen)) < 5_000
    assert "more" in str(seen)


@given(st.dictionaries(st.text(max_size=5), json_values, max_size=4))
def test_small_arguments_are_shown_as_they_are(arguments):
    assume(not hidden("".join(_texts(arguments))))
    assert shown(arguments) == arguments


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        ("pay 1\u200b00", "pay 1\\u{200b}00"),
        ("100\x9b000m", "100\\u{009b}000m"),
        ("hello\U000e0073", "hello\\u{e0073}"),
        ("\u202e001", "\\u{202e}001"),
    ],
)
def test_what_nobody_can_see_is_shown_to_an_approver(given, seen):
    assert shown({given: [given]}) == {seen: [seen]}


def test_a_long_name_is_cut_as_a_long_text_is():
    assert len(canonical_json(shown({"x" * 100_000: 1}))) < 1_000


def _texts(value):
    if isinstance(value, str):
        yield value
    for one in value.items() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ():
        yield from _texts(list(one) if isinstance(one, tuple) else one)
