"""Guards: what is measured of real calls, what stops a promotion, and what is a breach at once."""

import pytest

from pegboard.engine.guards import CALL, END, GUARDS, OFFER, Guards, Tally, breach, guarded, observed_of, tallies

FEW = Guards(samples=10, recall=0.8, validity=0.8, latency=0.8, completion=0.8, latency_ms=100.0)


def offer(number: int, **changes) -> dict:
    return {
        "kind": OFFER,
        "selection_id": f"sel_{number}",
        "at": float(number),
        "ms": 5.0,
        "offered": {"crm.list": "crm", "mail.send": "mail"},
        "served": ["crm"],
        "exposed": [],
        "tokens": 100,
        "listed": None,
        "listed_tokens": None,
        "listed_denied": {},
        **changes,
    }


def call(number: int, tool: str = "crm.list", **changes) -> dict:
    said = {"valid": True, "completed": True, "call_id": None, **changes}
    return {"kind": CALL, "selection_id": f"sel_{number}", "tool_id": tool, "namespace": tool.partition(".")[0], **said}


GOOD = (offer(1), call(1))


def newest(records, guards=FEW) -> dict[str, list[Tally]]:
    """What a store would give of these records: the tallies of each guard, newest first."""
    found = [one for each in observed_of(records) for one in tallies("crm", each, guards)]
    return {row.name: [one for one in reversed(found) if one.guard == row.name] for row in GUARDS}


@pytest.mark.parametrize(
    ("records", "guard"),
    [
        ((offer(1, exposed=["crm.list"]), call(1)), "exposure"),
        ((offer(1), call(1, "crm.get")), "recall"),
        ((offer(1), call(1, valid=False)), "validity"),
        ((offer(1, ms=100.5), call(1)), "latency"),
        ((offer(1), call(1, completed=False)), "completion"),
    ],
)
def test_each_guard_finds_its_own_fault_and_no_other(records, guard):
    good = {one.name: one.value for one in guarded(observed_of(GOOD), FEW)}
    assert good == {one.name: 1.0 for one in GUARDS}
    found = {one.name: one.value for one in guarded(observed_of(records), FEW)}
    assert {name for name in found if found[name] != 1.0} == {guard}


def test_every_guard_has_its_minimum():
    assert {one.name for one in GUARDS} <= set(Guards.__slots__)


def test_what_nobody_said_is_no_sample():
    records = (offer(1), call(1, valid=None, completed=None))
    found = {one.name: (one.value, one.n) for one in guarded(observed_of(records), FEW)}
    assert found["validity"] == found["completion"] == (None, 0)


def test_calls_of_what_production_served_are_labels_and_nothing_more():
    records = (offer(1), call(1, "mail.send", valid=False, completed=False))
    found = {one.name: (one.value, one.n) for one in guarded(observed_of(records), FEW)}
    assert found["recall"] == (1.0, 1)
    assert found["validity"] == found["completion"] == (None, 0)


def test_a_call_that_ends_later_is_completed_then():
    records = (
        offer(1),
        call(1, completed=None, call_id="call_1"),
        {"kind": END, "call_id": "call_1", "completed": False},
    )
    (one,) = observed_of(records)
    assert [each.completed for each in one.calls] == [False]


def test_what_belongs_to_no_selection_on_record_is_passed_over():
    assert observed_of((call(1), {"kind": END, "call_id": "call_1", "completed": True})) == ()


def test_a_namespace_sees_only_what_is_its_own():
    (one,) = observed_of((offer(1, listed=3, listed_denied={"pay": 2}), call(1), call(1, "mail.send")))
    mail = one.within({"mail"})
    assert (dict(mail.offered), [each.tool_id for each in mail.calls]) == ({"mail.send": "mail"}, ["mail.send"])
    assert one.within({"pay"}).listed_denied == {"pay": 2}
    assert one.within({"ops"}) is None


@pytest.mark.parametrize(
    ("bad", "good", "problem", "missed"),
    [
        (0, 0, "recall has 0 of 10 samples", False),
        (0, 9, "recall has 9 of 10 samples", False),
        (0, 10, None, False),
        (2, 8, None, False),
        (3, 7, "recall is 70.0% of 10, below 80.0%", True),
        (1, 0, "recall is 0.0% of 1, below 80.0%", True),
    ],
)
def test_a_promotion_is_stopped_by_too_few_samples_and_by_too_few_good_ones(bad, good, problem, missed):
    records = [
        record for n in range(bad + good) for record in (offer(n), call(n, "crm.get" if n < bad else "crm.list"))
    ]
    (found,) = [one for one in guarded(observed_of(records), FEW) if one.name == "recall"]
    assert (found.problem, found.missed) == (problem, missed)
    assert found.to_json()["problem"] == problem


@pytest.mark.parametrize(
    ("tools", "broken"),
    [
        ("hh", None),
        ("mm", None),
        ("mmm", "recall: 3 of the newest 3 samples are bad"),
        ("mm" + "h" * 8 + "m", None),
        ("h" * 100 + "mmm", "recall: 3 of the newest 10 samples are bad"),
    ],
)
def test_a_breach_is_there_once_the_window_can_no_longer_reach_the_minimum(tools, broken):
    names = {"h": "crm.list", "m": "crm.get"}
    records = [record for n, tool in enumerate(tools) for record in (offer(n), call(n, names[tool]))]
    assert breach(newest(records), FEW) == broken


def test_one_exposed_tool_is_a_breach():
    records = [offer(n) for n in range(200)] + [offer(200, exposed=["crm.list"])]
    assert breach(newest(records), Guards()) == "exposure: 1 of the newest 50 samples are bad"


def test_of_one_selection_with_many_samples_the_bad_ones_count_first():
    found = Tally(namespace="crm", guard="recall", at=1.0, selection_id="sel_1", n=40, bad=3)
    assert breach({"recall": [found]}, FEW) == "recall: 3 of the newest 10 samples are bad"


def test_a_selection_counts_once_for_each_guard_that_has_samples_of_it():
    (one,) = observed_of((offer(1, exposed=["crm.list"]), call(1, "crm.get", valid=None)))
    assert {each.guard: (each.n, each.bad) for each in tallies("crm", one, FEW)} == {
        "exposure": (2, 1),
        "recall": (1, 1),
        "latency": (1, 0),
        "completion": (1, 0),
    }
