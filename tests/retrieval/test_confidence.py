"""Confidence: field case 8 and its kind by the rule of words, and what a calibration decides."""

from dataclasses import replace

import pytest

from pegboard.retrieval.calibration import Calibration, Scorer
from pegboard.retrieval.confidence import examples, judge
from pegboard.retrieval.features import FEATURES
from tests.retrieval.made import asked, index_of, only, tool

CRM = [
    tool("crm.list_contacts", "List all contacts of an account."),
    tool("crm.get_deal", "Read one deal with its stage and amount."),
    tool("crm.create_contact", "Create a contact from name and email."),
    tool("crm.delete_flow", "Delete a workflow for good."),
]


@pytest.mark.parametrize(
    "task",
    ["what's the weather", "translate this poem into Finnish", "", "?!", "the of and", "天気はどうですか", "🙂"],
)
def test_a_task_that_no_tool_shares_a_word_with_fits_none(task):
    assert _judged(task).cause == "none_fits"


@pytest.mark.parametrize("task", ["permanently erase workflow", "delete_flow", "add a contact", "how big is that deal"])
def test_a_task_that_a_tool_does_is_served(task):
    assert _judged(task).cause is None


def test_a_named_tool_is_served_whatever_else_the_task_says():
    judged = _judged("weather poem translate finnish sonnet `delete_flow`", calibration=_says(fits=0.0, best=0.0))
    assert (judged.cause, judged.rule) == (None, "named")


def test_nothing_eligible_fits_nothing():
    assert _judged("delete workflow", ids=set()).cause == "none_fits"


def test_by_words_alone_confidence_is_null():
    judged = _judged("add a contact", minimum=0.7)
    assert (judged.confidence.fits, judged.confidence.best, judged.confidence.minimum) == (None, None, 0.7)


@pytest.mark.parametrize(
    ("fits", "best", "minimum", "cause"),
    [
        (0.9, 0.9, None, None),
        (0.4, 0.9, None, "none_fits"),
        (0.9, 0.4, None, "weak"),
        (0.9, 0.4, 0.3, None),
        (0.9, 0.9, 0.95, "weak"),
        (0.4, 0.4, 0.0, "none_fits"),
    ],
)
def test_a_calibration_asks_whether_anything_fits_and_then_how_sure_the_first_are(fits, best, minimum, cause):
    judged = _judged("add a contact", minimum=minimum, calibration=_says(fits=fits, best=best))
    assert (judged.cause, judged.rule) == (cause, "calibrated")
    assert judged.confidence.fits == pytest.approx(fits, abs=1e-5)
    assert judged.confidence.minimum == (0.5 if minimum is None else minimum)


def test_near_equal_tools_of_different_namespaces_are_ambiguous_and_of_one_are_weak():
    sure = _says(fits=0.9, best=0.1)
    apart = [tool("crm.find_order", "Find an order."), tool("shop.find_order", "Find an order.")]
    together = [tool("crm.find_order", "Find an order."), tool("crm.find_order_2", "Find an order.")]
    for catalog, cause in ((apart, "ambiguous"), (together, "weak")):
        snapshot, index = index_of(catalog, ["static"])
        query, eligible = asked(["find the order of Dana"], ["static"]), only(snapshot)
        ranking = _level(index.rank(query, eligible, 8))
        assert judge(ranking, query, index, eligible, None, {("static",): sure}).cause == cause


def test_a_labelled_task_gives_an_example_with_and_one_without_its_tools():
    snapshot, index = index_of(CRM, ["static"])
    row = snapshot.position("crm.get_deal")
    found = list(examples(index, asked(["read the deal of Dana"], ["static"]), only(snapshot), [[row]], 8))
    assert [(one.fits, one.best) for one in found] == [(True, True), (False, False)]
    assert all(len(one.features) == len(FEATURES) for one in found)
    assert {one.task for one in found} == {"read deal dana"}


def test_a_task_that_nothing_fits_gives_one_example():
    snapshot, index = index_of(CRM, ["static"])
    found = list(examples(index, asked(["what is the weather"], ["static"]), only(snapshot), [], 8))
    assert [(one.fits, one.best) for one in found] == [(False, False)]


def test_a_task_that_shares_no_word_gives_no_example():
    snapshot, index = index_of(CRM)
    assert list(examples(index, asked(["weather"]), only(snapshot), [], 8)) == []


def _judged(task, *, ids=None, minimum=None, calibration=None):
    channels = [] if calibration is None else ["static"]
    snapshot, index = index_of(CRM, channels)
    query, eligible = asked([task], channels), only(snapshot, ids)
    own = None if calibration is None else {("static",): calibration}
    return judge(index.rank(query, eligible, 8), query, index, eligible, minimum, own)


def _says(*, fits, best):
    """Make a calibration that says the same of every ranking."""

    def scorer(probability):
        odds = {0.0: -700.0, 0.1: -2.197225, 0.4: -0.405465, 0.9: 2.197225}[probability]
        return Scorer(weights=(0.0,) * len(FEATURES), bias=odds, threshold=0.5)

    return Calibration(channels=("static",), fits=scorer(fits), best=scorer(best))


def _level(ranking):
    """Give all candidates one score: made vectors differ between equal tools."""
    (one,) = ranking.evidence
    return replace(ranking, evidence=(replace(one, scores=(one.scores[0],) * len(one.scores)),))
