"""Perturbations: what noise changes and leaves, and the labels of tasks whose caller lost something."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.context import RuntimeContext
from pegboard.evaluation.fixtures import Category
from pegboard.evaluation.perturb import NOISE, asked_for_hidden, of_another, taken_away
from tests.evaluation.made import task

SAM = RuntimeContext(
    user="sam", scopes=frozenset({"crm", "money"}), servers=frozenset({"crm"}), flags=frozenset({"new"})
)
# What each right is needed for.
NEEDS = {"refund": ("scopes", "money"), "beta": ("flags", "new"), "order": ("servers", "crm")}


def visible(context):
    return {tool for tool, (kind, right) in NEEDS.items() if right in getattr(context, kind)} | {"free"}


@pytest.mark.parametrize(
    ("noise", "said", "becomes"),
    [
        ("typos", "cancel the order", "cacnel the odrer"),
        ("typos", "pay it", "pay it"),
        ("paraphrase", "Cancel the order", "Hi, would you mind helping me with this: call off the purchase"),
        ("paraphrase", "who is late?", "Hi, would you mind helping me with this: who is late?"),
    ],
)
def test_noise_follows_its_rules(noise, said, becomes):
    assert NOISE[noise](said) == becomes


def test_every_verb_has_other_words():
    verbs = "add book cancel change create delete find get give list look make move open order pay read refund remove"
    said = NOISE["paraphrase"](f"{verbs} rotate search send show stop tell update write").partition(": ")[2]
    assert said == (
        "put in reserve call off alter make get rid of look up fetch hand show me all see set up shift start purchase "
        "settle have a look at pay back take out renew look for pass on let me see halt let know bring up to date "
        "put down"
    )


@given(st.text(max_size=60))
def test_typos_keep_every_letter(said):
    assert sorted(NOISE["typos"](said)) == sorted(said)


@pytest.mark.parametrize(
    ("tool", "lost", "category"),
    [
        ("refund", "money", Category.PERMISSION_CHANGE),
        ("order", "crm", Category.DISABLED_INTEGRATION),
        ("beta", "new", Category.PERMISSION_CHANGE),
    ],
)
def test_the_right_that_decides_is_taken_away_and_the_tool_is_forbidden(tool, lost, category):
    found = taken_away(task("1", f"{tool}"), SAM, visible)
    kind = NEEDS[tool][0]
    assert (found.task_id, found.category) == (f"1~without-{lost}", category)
    assert (found.steps, found.forbidden) == ((), {tool})
    assert getattr(found.principal, kind) == getattr(SAM, kind) - {lost}


def test_what_no_right_decides_over_cannot_be_taken_away():
    assert taken_away(task("1", "free"), SAM, visible) is None
    assert taken_away(task("1", "refund free"), SAM, visible) is None
    assert taken_away(task("1"), SAM, visible) is None


def test_another_caller_has_the_same_labels_where_they_may_use_a_tool_and_else_none():
    dana = RuntimeContext(user="dana", scopes=frozenset({"money"}))
    same, denied = of_another(task("1", "refund order"), dana, visible), of_another(task("2", "order"), dana, visible)
    assert (same.task_id, same.steps, same.principal) == ("1~as-dana", ({"refund", "order"},), dana)
    assert (denied.steps, denied.forbidden, denied.category) == ((), {"order"}, Category.FORBIDDEN_CAPABILITY)


def test_nothing_is_said_of_another_caller_who_may_use_what_the_task_forbids():
    dana = RuntimeContext(user="dana", scopes=frozenset({"money"}))
    assert of_another(task("1", forbidden=frozenset({"refund"})), dana, visible) is None
    assert of_another(task("1", forbidden=frozenset({"order"})), dana, visible).forbidden == {"order"}


def test_what_is_hidden_is_asked_for_in_its_own_words():
    tools = [("free", "Free for all."), ("refund", "Pay money back. Careful."), ("odd", "  "), ("beta", "Try it.")]
    found = list(asked_for_hidden(tools, RuntimeContext(user="eve"), visible, 1))
    assert [(one.task, one.forbidden, one.steps) for one in found] == [("Pay money back", {"refund"}, ())]
