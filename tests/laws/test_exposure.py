"""Law 2: with the eligible tools fixed, nothing about the others changes a byte of a selection or its trace."""

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.catalog import CatalogEntry
from pegboard.core.names import canonical_json
from pegboard.core.revocations import NO_REVOCATIONS
from pegboard.engine.asking import NamespaceNote, SelectionSettings
from pegboard.engine.trace import Record, Versions, trace_of
from pegboard.policy.cedar import Cedar
from tests.crm import AGENT, CASHIER, ENTRIES, ask, lock, pick, policy, tool, view
from tests.strategies import cases

WORDS = [
    "order",
    "customer",
    "payment",
    "refund",
    "list",
    "open",
    "cancel",
    "payroll",
    "salary",
    "weather",
    "find",
    "money",
    "stop",
    "secret",
    "canary",
]
# A hidden tool can say anything, and can be named like a visible one.
NAMES = ["list_open_orders", "find_customer", "zz_canary", "aa_canary", "order", "refund_canary"]
tasks = st.lists(st.sampled_from([*WORDS, "zz_canary", "find_customer"]), max_size=8).map(" ".join)
texts = st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join)
hidden_tools = st.lists(
    st.builds(
        lambda server, name, text: tool(f"{server}.{name}", text),
        st.sampled_from(["hidden", "people", "aaa", "zzz", "crm.hidden"]),
        st.sampled_from(NAMES),
        texts,
    ),
    max_size=8,
    unique_by=lambda entry: entry.tool_id,
)
SETTINGS = SelectionSettings(namespaces={"billing": NamespaceNote(advertise="Money. Ask the payments team.")})
VISIBLE = tuple(entry for entry in ENTRIES if entry.source_server == "crm")


def over(hidden: list[CatalogEntry], grants: bool):
    """A view of the CRM with more tools in it, locked under a right that nobody here holds, or not locked."""
    entries = [*ENTRIES, *(entry for entry in hidden if entry.tool_id not in {one.tool_id for one in ENTRIES})]
    locked = lock(ENTRIES)
    if grants:
        locked = locked.granting(lock(hidden).lines[entry.tool_id] for entry in hidden)
    return view(entries, policy(locked))


def shown(task, context, where):
    """Everything of a selection that reaches a caller, and its trace without what the operator's versions name."""
    selection = pick(task, context, where, SETTINGS, require=("people.payroll.list_payroll",), loaded=("zz.canary",))
    trace = trace_of(
        selection,
        ask(task),
        where,
        record=Record.TASK,
        tasks=(task,),
        versions=Versions(catalog="", policy="", lock="", index=None, settings="", revocations=""),
        context=context,
        revocations=NO_REVOCATIONS,
        at=0.0,
        timings={},
    )
    return canonical_json(selection.to_json()), canonical_json(trace.to_json())


@given(tasks, st.sampled_from([AGENT, CASHIER]), hidden_tools, hidden_tools, st.booleans())
@cases(80, 10_000)
def test_hidden_tools_that_come_go_or_change_move_no_byte(task, context, some, others, grants):
    outside = [entry for entry in some if entry.source_server not in context.servers]
    elsewhere = [entry for entry in others if entry.source_server not in context.servers]
    assert shown(task, context, over(outside, grants)) == shown(task, context, over(elsewhere, not grants))


# The caller's rights reach these servers; only Cedar hides their tools, and what is only watched would show them.
BEHIND_CEDAR = {"hidden", "aaa", "zzz"}
HIDING = Cedar.of(
    {
        "hiding.cedar": """
permit(principal, action == Pegboard::Action::"consider", resource in Pegboard::Server::"crm");
@id("zz_canary") @log_only permit(principal, action == Pegboard::Action::"consider", resource);
@log_only forbid(principal, action == Pegboard::Action::"consider", resource in Pegboard::Server::"hidden");
"""
    }
)


@given(tasks, hidden_tools, hidden_tools)
@cases(40, 5_000)
def test_tools_that_a_policy_hides_move_no_byte_either(task, some, others):
    caller = replace(AGENT, servers=AGENT.servers | BEHIND_CEDAR)

    def ruled(hidden: list[CatalogEntry]):
        entries = [*ENTRIES, *(entry for entry in hidden if entry.source_server in BEHIND_CEDAR)]
        return view(entries, replace(policy(lock(entries)), layer=HIDING))

    assert shown(task, caller, ruled(some)) == shown(task, caller, ruled(others))


@given(tasks, hidden_tools)
@cases(60, 10_000)
def test_no_name_or_text_of_a_hidden_tool_is_in_a_selection_or_its_trace(task, hidden):
    canaries = [tool(f"hidden.canary_{number}", f"kanarienvogel{number} {entry.description}")
                for number, entry in enumerate(hidden)]  # fmt: skip
    for part in shown(task, AGENT, over(canaries, grants=True)):
        text = json.dumps(json.loads(part), ensure_ascii=False)
        assert "canary_" not in text.replace("zz_canary", "").replace("refund_canary", "")
        assert "kanarienvogel" not in text


def test_a_task_in_the_words_of_a_denied_tool_shows_nothing_of_it():
    admin = tool("admin.admin_tool", "Administer everything, the admin way.")
    entries = [*VISIBLE, admin]
    text = b"".join(shown("admin tool", AGENT, view(entries, policy(lock(entries)))))
    assert b"admin_tool" not in text
    assert b"Administer" not in text
    assert text == b"".join(shown("admin tool", AGENT, view(VISIBLE, policy(lock(VISIBLE)))))
