"""The fallback table: every cell has an answer, and none enlarges the set."""

import itertools

import pytest

from pegboard.core.catalog import Risk
from pegboard.engine.fallback import DEFAULT_ROWS, Action, Cause, FallbackRow, all_tools_refusal, matching

ENVIRONMENTS = ("production", "staging", "development", None)
W, C, N, S, P, O = Action.WEAK, Action.CLARIFY, Action.NAMESPACE, Action.SAFE_SET, Action.PAUSE, Action.NO_TOOL  # noqa: E741
# The whole default table, written out: what is tried in order, by cause and risk, in every environment.
EXPECTED = {
    (Cause.INDEX_DOWN, Risk.READ): [S, P],
    (Cause.INDEX_DOWN, Risk.WRITE): [S, P],
    (Cause.INDEX_DOWN, Risk.DESTRUCTIVE): [S, P],
    (Cause.INDEX_STALE, Risk.READ): [S, P],
    (Cause.INDEX_STALE, Risk.WRITE): [S, P],
    (Cause.INDEX_STALE, Risk.DESTRUCTIVE): [S, P],
    (Cause.WEAK, Risk.READ): [N, W, C],
    (Cause.WEAK, Risk.WRITE): [N, C],
    (Cause.WEAK, Risk.DESTRUCTIVE): [N, C],
    (Cause.AMBIGUOUS, Risk.READ): [W, C],
    (Cause.AMBIGUOUS, Risk.WRITE): [C],
    (Cause.AMBIGUOUS, Risk.DESTRUCTIVE): [C],
    (Cause.NONE_FITS, Risk.READ): [O],
    (Cause.NONE_FITS, Risk.WRITE): [O],
    (Cause.NONE_FITS, Risk.DESTRUCTIVE): [O],
}


@pytest.mark.parametrize(("cause", "risk"), list(itertools.product(Cause, Risk)))
@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_each_cell_of_the_default_table(cause, risk, environment):
    assert list(matching((), cause, risk, environment)) == EXPECTED[cause, risk]


@pytest.mark.parametrize("row", DEFAULT_ROWS)
def test_no_default_row_loads_every_tool(row):
    assert row.do is not Action.ALL_TOOLS


def test_a_configured_row_comes_before_the_defaults_where_it_applies_and_nowhere_else():
    row = FallbackRow(cause=Cause.WEAK, risk=Risk.WRITE, environment="staging", do=Action.PAUSE)
    assert next(matching([row], Cause.WEAK, Risk.WRITE, "staging")) is Action.PAUSE
    for cause, risk, environment in itertools.product(Cause, Risk, ENVIRONMENTS):
        if (cause, risk, environment) != (Cause.WEAK, Risk.WRITE, "staging"):
            assert list(matching([row], cause, risk, environment)) == EXPECTED[cause, risk]


@pytest.mark.parametrize(
    ("environment", "risk", "eligible", "allowed"),
    [
        ("development", Risk.READ, 5, True),
        ("development", Risk.READ, 6, False),
        ("development", Risk.WRITE, 5, False),
        ("development", Risk.DESTRUCTIVE, 5, False),
        ("staging", Risk.READ, 5, False),
        ("production", Risk.READ, 5, False),
        (None, Risk.READ, 5, False),
    ],
)
def test_all_tools_are_loaded_only_for_a_developer_over_few_reads(environment, risk, eligible, allowed):
    refusal = all_tools_refusal(environment=environment, risk=risk, eligible=eligible, at_most=5)
    assert (refusal is None) is allowed
