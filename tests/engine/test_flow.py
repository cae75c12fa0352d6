"""Flow: which calls could carry private data out, over every set of labels there is."""

from itertools import combinations

import pytest

from pegboard.core.catalog import Flow
from pegboard.engine.flow import FlowAction, FlowRow, earlier_calls, flow_action

SETS = [frozenset(labels) for count in range(4) for labels in combinations(Flow, count)]


@pytest.mark.parametrize("touched", SETS, ids=sorted)
@pytest.mark.parametrize("labels", SETS, ids=sorted)
def test_what_sends_out_is_held_once_both_halves_came_together_and_never_by_fewer(touched, labels):
    earlier = earlier_calls({label: f"call_{label}" for label in touched}, labels)
    private = "reads_private" in touched or "reads_private" in labels
    assert (earlier is not None) is ("sends_out" in labels and "ingests_untrusted" in touched and private)
    if earlier is not None:
        assert set(earlier) == {f"call_{label}" for label in touched - {"sends_out"}}


def test_one_call_that_did_both_is_named_once():
    touched = {Flow.READS_PRIVATE: "c1", Flow.INGESTS_UNTRUSTED: "c1"}
    assert earlier_calls(touched, frozenset({Flow.SENDS_OUT})) == ("c1",)


@pytest.mark.parametrize(
    ("rows", "environment", "action"),
    [
        ((), "production", FlowAction.ASK),
        ((), None, FlowAction.ASK),
        ((("staging", "deny"), ("*", "allow")), "staging", FlowAction.DENY),
        ((("staging", "deny"), ("*", "allow")), "production", FlowAction.ALLOW),
        ((("staging", "allow"),), None, FlowAction.ASK),
        ((("*", "deny"), ("staging", "allow")), "staging", FlowAction.DENY),
    ],
)
def test_the_first_row_of_the_environment_speaks_and_without_one_it_asks(rows, environment, action):
    found = tuple(FlowRow(environment=name, do=FlowAction(do)) for name, do in rows)
    assert flow_action(found, environment) is action
