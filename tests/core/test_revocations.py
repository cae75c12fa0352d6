"""What a halt covers, from one tool to everything, and when it ends."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.catalog import declare
from pegboard.core.context import RuntimeContext
from pegboard.core.revocations import NO_REVOCATIONS, Revocation, Revocations, target_problem, with_parents
from tests.strategies import NAMESPACES, contexts, plain_entries, revocations

ENTRY = declare(tool_id="crm.orders.list", namespace="crm.orders", source_server="crm-main", name="list")


def halted(*targets: str) -> Revocations:
    return Revocations(targets=frozenset(targets))


@pytest.mark.parametrize(
    ("target", "covered"),
    [
        ("crm.orders.list", True),
        ("crm.orders", False),
        ("crm.orders.list_all", False),
        ("namespace:crm.orders", True),
        ("namespace:crm", True),
        ("namespace:crm.ord", False),
        ("namespace:crm.orders.list", False),
        ("namespace:", False),
        ("server:crm-main", True),
        ("server:crm", False),
        ("all", True),
        ("ALL", False),
        ("principal:crm.orders.list", False),
    ],
)
def test_a_halt_covers_its_target_and_what_lies_in_it(target: str, covered: bool):
    assert halted(target).covers(ENTRY) is covered


def test_halting_all_leaves_only_what_outlasts_it():
    stop = declare(tool_id="ops.stop", namespace="ops", source_server="ops", name="stop", pinned=("*",))
    assert halted("all").covers(stop)
    assert not halted("all").covers(stop, outlasts_halt=True)
    assert halted("all", "ops.stop").covers(stop, outlasts_halt=True)
    assert halted("all", "server:ops").covers(stop, outlasts_halt=True)


@pytest.mark.parametrize(
    ("context", "covered"),
    [
        (RuntimeContext(user="sam"), True),
        (RuntimeContext(workload="sam"), True),
        (RuntimeContext(user="dana", delegation=("dana", "sam", "bot")), True),
        (RuntimeContext(user="dana", tenant="sam", roles=frozenset({"sam"})), False),
        (RuntimeContext(), False),
    ],
)
def test_a_halted_principal_is_stopped_wherever_it_stands_in_the_chain(context: RuntimeContext, covered: bool):
    assert halted("principal:sam").covers_caller(context) is covered


@given(plain_entries, contexts)
def test_no_halt_covers_nothing(entry, context: RuntimeContext):
    assert not NO_REVOCATIONS.covers(entry)
    assert not NO_REVOCATIONS.covers_caller(context)


@given(revocations, revocations, plain_entries, contexts)
def test_more_halts_cover_more(one: Revocations, two: Revocations, entry, context: RuntimeContext):
    both = Revocations(targets=one.targets | two.targets)
    assert both.covers(entry) == (one.covers(entry) or two.covers(entry))
    assert both.covers_caller(context) == (one.covers_caller(context) or two.covers_caller(context))


@given(st.sampled_from(NAMESPACES))
def test_a_namespace_lies_in_each_of_its_parents(namespace: str):
    found = list(with_parents(namespace))
    assert found[-1] == namespace
    assert all(inner.startswith(f"{outer}.") for outer, inner in pairwise(found))


def test_a_halt_ends_when_it_expires():
    timed = Revocation(target="crm.list", why="incident", by="dana", since=1.0, expires_at=10.0)
    lasting = Revocation(target="server:crm", why="incident", by="dana", since=1.0)
    assert Revocations.at(9.9, [timed, lasting]).targets == {"crm.list", "server:crm"}
    assert Revocations.at(10.0, [timed, lasting]) == Revocations(targets=frozenset({"server:crm"}), as_of=10.0)


def test_a_digest_says_what_is_halted_and_not_when_it_was_read():
    assert Revocations(targets=frozenset({"a", "b"}), as_of=1.0).digest == halted("b", "a").digest
    assert halted("a").digest != halted("b").digest


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("all", None),
        ("crm.list", None),
        ("server:crm", None),
        ("namespace:", "names no namespace after the colon"),
        ("server:", "names no server after the colon"),
        ("principal:", "names no principal after the colon"),
        ("", "is empty"),
        ("a\nb", "holds the unprintable character U+000A at position 1"),
        # Tool ids from catalog files may hold a colon.
        ("tool:x", None),
    ],
)
def test_a_target_that_can_cover_nothing_is_named(target: str, problem: str | None):
    assert target_problem(target) == problem
