"""A traced selection on other versions: what comes in, drops out, moves or has changed; and many of them in numbers."""

from dataclasses import replace

import pytest

from pegboard.core.revocations import NO_REVOCATIONS, Revocations
from pegboard.engine.asking import SelectionSettings
from pegboard.engine.comparing import Change, Replay, replay, replay_against, summarise
from pegboard.engine.trace import Grade, Naming, Record, Versions, named, spellings, trace_of
from tests.crm import AGENT, CASHIER, ENTRIES, ask, lock, pick, policy, tool, view

SETTINGS = SelectionSettings(limit=3)
ORDERS = "list the open orders of a customer"
OPEN_ORDERS = "crm.orders.list_open_orders"
FIND = "crm.customers.find_customer"


def traced(task=ORDERS, context=AGENT, where=None, revocations=NO_REVOCATIONS, **said):
    where = where or view()
    index = None if where.index is None else where.index.version
    return trace_of(
        pick([task], context, where, SETTINGS, revocations),
        ask(task),
        where,
        tasks=(task,),
        versions=Versions(catalog="", policy="", lock="", index=index, settings="", revocations=""),
        context=context,
        revocations=revocations,
        at=0.0,
        timings={},
        **{"record": Record.TERMS, **said},
    )


def against(trace, where, settings=SETTINGS, revocations=NO_REVOCATIONS):
    return replay_against(trace, trace.ask, where, revocations, settings)


def test_on_the_same_versions_nothing_differs():
    found = against(traced(), view())
    assert (found.equal, found.grade, found.diff, found.tools) == (True, Grade.REPLAYABLE, (), Change())


def test_a_tool_that_is_new_elsewhere_comes_in():
    returns = tool("crm.orders.list_open_returns", "List the open orders of a customer that come back.")
    entries = [*ENTRIES, returns]
    found = against(traced(), view(entries, policy(lock(entries))))
    assert not found.equal
    assert "crm.orders.list_open_returns" in found.tools.added


def test_a_tool_that_the_other_lock_does_not_grant_drops_out():
    found = against(traced(), view(ENTRIES, policy(lock(ENTRIES).without([OPEN_ORDERS]))))
    assert OPEN_ORDERS in found.tools.dropped


def test_a_tool_whose_content_is_another_has_changed():
    entries = [
        tool(OPEN_ORDERS, f"{one.description} Really.") if one.tool_id == OPEN_ORDERS else one for one in ENTRIES
    ]
    found = against(traced(), view(entries, policy(lock(entries))))
    assert found.tools.changed == (OPEN_ORDERS,)


def test_a_tool_with_another_rank_has_moved_and_says_both_ranks():
    trace = traced()
    assert len(trace.tools) > 1
    first, second, *rest = trace.tools
    swapped = replace(trace, tools=({**first, "rank": second["rank"]}, {**second, "rank": first["rank"]}, *rest))
    moved = against(swapped, view()).tools.moved
    assert moved == {first["tool_id"]: (2, 1), second["tool_id"]: (1, 2)}


def test_another_limit_drops_what_came_after_it():
    found = against(traced(), view(), replace(SETTINGS, limit=1))
    assert (found.tools.added, len(found.tools.dropped)) == ((), len(traced().tools) - 1)


def test_another_outcome_is_named_with_its_cause():
    found = against(traced(), view(index=False))
    assert [(one.what, one.was) for one in found.diff] == [("outcome", "selected"), ("cause", None)]
    assert [one.now for one in found.diff] == [found.outcome, "index_down"]


def test_a_trace_without_its_input_says_only_what_its_tools_would_have_met():
    entries = [tool(FIND, "Another text.") if one.tool_id == FIND else one for one in ENTRIES]
    trace = traced("find the customer and list the open orders", record=Record.DIGEST)
    assert {OPEN_ORDERS, FIND} <= {one["tool_id"] for one in trace.tools}
    elsewhere = view(entries, policy(lock(entries).without([OPEN_ORDERS])))
    found = against(trace, elsewhere)
    assert (found.grade, found.equal) == (Grade.VERIFIABLE, False)
    assert (OPEN_ORDERS in found.tools.dropped, found.tools.changed, found.tools.added) == (True, (FIND,), ())
    assert against(trace, view()).equal


@pytest.mark.parametrize("context", [AGENT, replace(AGENT, workload="bot", delegation=("planner", "bot"))])
@pytest.mark.parametrize("target", ["principal:sam", "principal:sam@acme", "principal:bot", "principal:other"])
def test_a_trace_that_names_its_caller_by_digests_replays_byte_for_byte(context, target):
    halted = Revocations(targets=frozenset({target, FIND}))
    trace = traced(context=context, revocations=halted, naming=Naming.DIGEST)
    assert not any(name in str(trace.to_json()) for name in ("sam", "bot", "planner"))
    found = replay(trace, view(), halted, SETTINGS, {})
    assert (found.grade, found.equal, found.diff) == (Grade.REPLAYABLE, True, ())


def test_the_same_caller_has_the_same_digests_and_no_other_caller_has():
    one, two = named(AGENT, Naming.DIGEST), named(CASHIER, Naming.DIGEST)
    assert one == named(AGENT, Naming.DIGEST)
    assert one.principal != two.principal
    assert one.tenant == "acme"


@pytest.mark.parametrize("context", [AGENT, replace(AGENT, workload="bot"), replace(AGENT, tenant=None)])
def test_a_caller_is_found_by_its_name_however_records_spell_it(context):
    assert {context.principal, named(context, Naming.DIGEST).principal} == spellings(context.principal)


def test_a_summary_counts_what_came_in_and_what_dropped_out():
    trace = traced()

    def came_to(outcome, *, equal=False, **tools):
        grade = Grade.REPLAYABLE
        return trace, Replay(trace_id="t", grade=grade, equal=equal, diff=(), outcome=outcome, tools=Change(**tools))

    found = summarise([
        came_to("selected", equal=True),
        came_to("clarify", dropped=("a", "b")),
        came_to("selected", added=("c",), dropped=("a",)),
    ])  # fmt: skip
    assert found.to_json() == {
        "total": 3,
        "equal": 1,
        "different": 2,
        "verifiable": 0,
        "outcomes": [
            {"was": "selected", "now": "selected", "traces": 2},
            {"was": "selected", "now": "clarify", "traces": 1},
        ],
        "entering": {"c": 1},
        "leaving": {"a": 2, "b": 1},
    }
