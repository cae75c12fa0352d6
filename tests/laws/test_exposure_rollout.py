"""Law 2 where namespaces are released one by one: what is left to production names only what the caller may see."""

from hypothesis import given
from hypothesis import strategies as some

from pegboard.core.policy import decide_tool
from pegboard.core.revocations import NO_REVOCATIONS
from pegboard.engine.rollout import WHOLE, Change, Rollout, Sides, left_to_production, setting_of
from tests.crm import AGENT, CASHIER, ENTRIES, pick, tool, view

HIDDEN = tool("people.secrets.list_raises", "List who is to get a raise. Read an order of a customer.")
SETTINGS = [setting_of(text) for text in ("off", "shadow", "canary=0.5", "live")]
PATHS = [WHOLE, "crm", "crm.orders", "billing", "people", "people.secrets"]


def answered(over, caller, sides):
    """Answer as the selector does."""
    whole = pick("list the open orders of a customer", caller, over)
    namespaces = over.namespaces(over.see(caller, NO_REVOCATIONS))
    production = {path for path in namespaces if not sides.serves(path)}
    return left_to_production(whole, production, {e.tool_id: e.namespace for e in over.snapshot.entries}).to_json()


@given(some.lists(some.tuples(some.sampled_from(PATHS), some.sampled_from(SETTINGS)), max_size=6), some.text())
def test_tools_that_a_caller_may_not_see_change_no_byte_of_what_is_left_to_production(steps, key):
    changes = [
        Change(number=number, namespace=path, setting=setting, was=setting, by="d", why="w", at=1.0)
        for number, (path, setting) in enumerate(steps, 1)
    ]
    sides = Sides(now=Rollout.of(changes), key=key)
    mine = [entry for entry in ENTRIES if entry.source_server in AGENT.servers]
    for caller in (AGENT, CASHIER):
        assert answered(view([*mine, HIDDEN]), caller, sides) == answered(view(mine), caller, sides)


@given(some.sampled_from([AGENT, CASHIER]), some.sets(some.sampled_from(ENTRIES)))
def test_the_namespaces_of_a_caller_are_those_of_its_eligible_tools(caller, entries):
    over = view(entries)
    eligible = {e.namespace for e in entries if decide_tool(e, over.policy, caller, NO_REVOCATIONS).allowed}
    assert over.namespaces(over.see(caller, NO_REVOCATIONS)) == tuple(sorted(eligible))
