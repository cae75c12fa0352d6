"""A conversation: what it sends stays as it was sent, and a name means what was loaded under it."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.names import compact_json
from pegboard.core.revocations import NO_REVOCATIONS
from pegboard.engine.facts import GateFacts
from pegboard.engine.gate import examine
from pegboard.engine.verdict import ProposedCall, Verdict, VerdictKind
from pegboard.providers.capabilities import Delivery
from pegboard.providers.conversation import Conversation
from pegboard.providers.turns import UNKNOWN, Called, Found
from tests.crm import AGENT, CASHIER, ENTRIES, pick, schema, tool, view
from tests.providers.made import (
    CANCEL,
    CONVERSATIONS,
    EVERY,
    FIRST,
    MONEY,
    OPEN,
    REFUND,
    Answer,
    begun,
    called,
    name,
    response,
    searched,
    sent,
    text_of,
)
from tests.strategies import cases

# What is sent stays.


@EVERY
def test_a_search_changes_no_byte_that_was_sent_before(api, model, delivery):
    first = begun(api, model, delivery).conversation
    second = searched(first, MONEY).conversation
    assert second.loaded == (OPEN, CANCEL, *(one.tool.tool_id for one in MONEY.tools))
    assert sent(second)[: len(sent(first))] == sent(first)
    if delivery is not Delivery.LIST:
        assert compact_json(second.request()) == compact_json(first.request())


@EVERY
def test_a_tool_that_was_found_can_be_called_bound_to_the_selection_that_brought_it(api, model, delivery):
    later = searched(begun(api, model, delivery).conversation, replace(MONEY, selection_id="sel_2")).conversation
    proposed = called(later, REFUND, {"payment_id": "p1"})
    assert (proposed.tool_id, proposed.selection_id, proposed.problem) == (REFUND, "sel_2", None)
    assert proposed.arguments == {"payment_id": "p1"}
    assert called(later, OPEN, {"customer_id": "c1"}).selection_id == FIRST.selection_id


SELECTIONS = st.lists(
    st.tuples(
        st.lists(st.sampled_from([entry.tool_id for entry in ENTRIES]), max_size=4, unique=True),
        st.lists(st.sampled_from([entry.tool_id for entry in ENTRIES]), max_size=2, unique=True),
        st.booleans(),
    ),
    max_size=5,
)


@given(st.sampled_from(CONVERSATIONS), SELECTIONS)
@cases(15, 2_000)
def test_whatever_comes_and_goes_the_frozen_tools_stay_and_no_name_changes_its_tool(row, steps):
    conversation = begun(*row).conversation
    frozen, names = sent(conversation), {}
    for number, (brought, withdrawn, unasked) in enumerate(steps):
        picked = pick("", CASHIER, require=brought, loaded=conversation.loaded)
        selection = replace(picked, selection_id=f"sel_{number}", withdraw=tuple(withdrawn))
        step = conversation.load(selection) if unasked else searched(conversation, selection)
        conversation = Conversation.from_json(json.loads(compact_json(step.conversation.to_json())))
        assert compact_json(conversation.request()) == compact_json(step.conversation.request())
        assert conversation.loaded == step.conversation.loaded
        assert not set(withdrawn) - set(brought) & set(conversation.loaded)
        for one in conversation.loadout.loaded:
            assert names.setdefault(one.name, one.tool_id) == one.tool_id
            assert called(conversation, one.tool_id, {}).tool_id == one.tool_id
        if row[2] is not Delivery.LIST:
            assert sent(conversation) == frozen
        else:
            assert len(sent(conversation)) == len(conversation.loaded) + 1


@EVERY
def test_the_same_set_in_another_order_gives_the_same_bytes(api, model, delivery):
    one, other = (begun(api, model, delivery).conversation for _ in range(2))
    assert compact_json(one.request()) == compact_json(other.request())
    again = replace(FIRST, tools=FIRST.tools[::-1])
    assert compact_json(searched(one, again).conversation.request()) == compact_json(one.request())


# What a name means.


@EVERY
@pytest.mark.parametrize("asked", ["people__payroll__list_payroll", "billing__payments__get_payment", "nothing", ""])
def test_a_name_that_was_never_loaded_is_answered_as_the_gate_answers_an_unknown_tool(api, model, delivery, asked):
    conversation = begun(api, model, delivery).conversation
    (proposed,) = conversation.read(response(api, ("c1", asked, {})))
    assert (proposed.tool_id, proposed.selection_id, proposed.problem) == (None, None, UNKNOWN)
    assert proposed.tool == asked
    appended = conversation.answer([Called(proposed=proposed)]).append
    assert UNKNOWN.message in text_of(appended)


def test_the_answer_of_an_unknown_tool_is_the_gates_own():
    over = view()
    facts = GateFacts(
        context=AGENT, snapshot=over.snapshot, policy=over.policy, revocations=NO_REVOCATIONS, now=NO_REVOCATIONS.as_of
    )
    verdict = examine(ProposedCall(tool="nothing", arguments={}), facts)
    assert isinstance(verdict, Verdict)
    assert (verdict.kind, verdict.message) == (UNKNOWN.kind, UNKNOWN.message)


@EVERY
def test_an_id_that_is_pinned_for_the_caller_is_the_gates_to_judge_and_no_name_of_the_conversation(
    api, model, delivery
):
    conversation = begun(api, model, delivery, selection=None).conversation
    (proposed,) = conversation.read(response(api, ("c1", "people.directory.stop_everything", {})))
    assert (proposed.tool, proposed.problem) == ("people.directory.stop_everything", UNKNOWN)


@EVERY
def test_what_the_gate_says_of_a_name_comes_before_what_the_conversation_knows(api, model, delivery):
    conversation = begun(api, model, delivery).conversation
    (proposed,) = conversation.read(response(api, ("c1", "nothing", {})))
    refused = Answer(VerdictKind.LIMIT_EXCEEDED, "again and again")
    assert "again and again" in text_of(conversation.answer([Called(proposed=proposed, answer=refused)]).append)


@pytest.mark.parametrize(
    ("namespace", "known"),
    [(None, True), ("billing__refunds", True), ("billing__refunds__create_refund", True), ("crm__orders", False)],
)
def test_another_namespaces_tool_of_the_same_name_is_unknown(namespace, known):
    later = searched(begun("openai", "gpt-5.4", Delivery.SEARCH).conversation, MONEY).conversation
    call = {"type": "function_call", "call_id": "c", "name": name(REFUND), "namespace": namespace, "arguments": "{}"}
    (proposed,) = later.read({"output": [call]})
    assert (proposed.problem is None) is known
    assert proposed.tool == (REFUND if known else f"crm__orders/{name(REFUND)}")


def test_a_name_that_was_made_for_another_prefix_is_unknown():
    long = tool(f"crm.{'x' * 50}", "Long.")
    selection = pick("", CASHIER, over=view([long]), require=[long.tool_id])
    old, new = (
        Conversation.begin("anthropic", selection=selection, prefix=one).conversation for one in ("", "mcp__longer__")
    )
    (proposed,) = new.read(response("anthropic", ("c1", old.loadout.loaded[0].name, {})))
    assert proposed.problem == UNKNOWN


@EVERY
def test_a_withdrawn_tool_is_unknown_from_then_on_and_may_come_back(api, model, delivery):
    conversation = begun(api, model, delivery).conversation
    nothing = replace(MONEY, tools=(), withdraw=(CANCEL,))
    left = searched(conversation, nothing)
    assert left.conversation.loaded == (OPEN,)
    assert called(left.conversation, CANCEL, {"order_id": "1"}).problem == UNKNOWN
    back = searched(left.conversation, FIRST)
    assert set(back.conversation.loaded) == {OPEN, CANCEL}
    assert called(back.conversation, CANCEL, {"order_id": "1"}).problem is None


def test_a_withdrawn_tool_is_said_to_be_removed_where_that_can_be_said():
    conversation = begun("anthropic", "claude-opus-5-5", Delivery.INLINE).conversation
    step = conversation.load(replace(MONEY, tools=(), withdraw=(CANCEL,)))
    removal = {"type": "tool_removal", "tool": {"type": "tool_reference", "name": name(CANCEL)}}
    assert step.append == ({"role": "system", "content": [removal]},)
    back = step.conversation.load(FIRST)
    assert back.append[0]["content"] == [
        {"type": "tool_addition", "tool": {"type": "tool_reference", "name": name(CANCEL)}}
    ]


@pytest.mark.parametrize("kind", [VerdictKind.STALE_SCHEMA, VerdictKind.UNKNOWN_OR_DENIED])
@EVERY
def test_a_tool_that_the_gate_no_longer_takes_is_brought_anew_under_its_own_name(api, model, delivery, kind):
    conversation = begun(api, model, delivery).conversation
    proposed = called(conversation, CANCEL, {"order_id": "1"})
    left = conversation.answer([Called(proposed=proposed, answer=Answer(kind, "no"))]).conversation
    assert left.loaded == (OPEN,)
    changed = [tool(CANCEL, "Cancel.", schema("order", order="x")) if one.tool_id == CANCEL else one for one in ENTRIES]
    selection = pick("", CASHIER, over=view(changed), require=[CANCEL], loaded=left.loaded)
    step = searched(left, selection)
    if delivery is Delivery.REFERENCE:
        assert [(note.tool_id, note.held is None) for note in step.report] == [(CANCEL, False)]
        assert called(step.conversation, CANCEL, {}).problem == UNKNOWN
        return
    assert called(step.conversation, CANCEL, {"order": "1"}).arguments == {"order": "1"}
    assert [one.tool.description for one in step.conversation.loadout.loaded if one.tool_id == CANCEL] == ["Cancel."]


def test_a_search_of_the_same_turn_may_bring_anew_what_a_call_found_changed():
    conversation = begun("anthropic", "claude-opus-5-5", Delivery.INLINE).conversation
    changed = [tool(CANCEL, "Cancel.") if one.tool_id == CANCEL else one for one in ENTRIES]
    search, call = ("s1", "search_tools", {"task": "x"}), ("c1", name(CANCEL), {"order_id": "1"})
    asked, proposed = conversation.read(response("anthropic", search, call))
    found = Found(asked=asked, selection=pick("", CASHIER, over=view(changed), require=[CANCEL]))
    stale = Called(proposed=proposed, answer=Answer(VerdictKind.STALE_SCHEMA, "changed"))
    step = conversation.answer([found, stale])
    assert step.conversation.loaded == (OPEN, CANCEL)
    assert [block["type"] for block in step.append[1]["content"]] == ["tool_removal", "tool_addition"]


def test_a_changed_tool_is_removed_before_its_new_definition_comes():
    conversation = begun("anthropic", "claude-opus-5-5", Delivery.INLINE).conversation
    changed = [tool(CANCEL, "Cancel.") if one.tool_id == CANCEL else one for one in ENTRIES]
    step = conversation.load(pick("", CASHIER, over=view(changed), require=[CANCEL]))
    kinds = [block["type"] for block in step.append[0]["content"]]
    assert kinds == ["tool_removal", "tool_addition"]


def test_only_tools_that_were_declared_can_be_referred_to():
    conversation = begun("anthropic", "claude-sonnet-5", Delivery.REFERENCE).conversation
    stranger = pick("", AGENT, over=view([tool("crm.new.thing", "New.")]), require=["crm.new.thing"])
    step = searched(conversation, stranger)
    assert [note.tool_id for note in step.report] == ["crm.new.thing"]
    assert "new__thing" not in text_of(step.append)
    assert conversation.load(MONEY).report
    assert conversation.load(MONEY).append == ()


def test_a_content_that_was_held_back_does_not_bind_the_one_that_is_loaded():
    conversation = begun("anthropic", "claude-sonnet-5", Delivery.REFERENCE).conversation
    changed = [tool(CANCEL, "Cancel.") if one.tool_id == CANCEL else one for one in ENTRIES]
    selection = replace(pick("", CASHIER, over=view(changed), require=[CANCEL, OPEN]), selection_id="sel_2")
    later = searched(conversation, selection).conversation
    assert called(later, CANCEL, {}).selection_id == FIRST.selection_id
    assert called(later, OPEN, {}).selection_id == "sel_2"


@EVERY
def test_what_the_application_selected_unasked_joins_where_the_api_can_be_told_so(api, model, delivery):
    step = begun(api, model, delivery).conversation.load(MONEY)
    told = {Delivery.SEARCH: "additional_tools", Delivery.INLINE: "tool_addition"}.get(delivery)
    if delivery in {Delivery.CALL, Delivery.REFERENCE}:
        assert step.conversation.loaded == (OPEN, CANCEL)
        assert {note.tool_id for note in step.report} == {one.tool.tool_id for one in MONEY.tools}
    else:
        assert step.conversation.loaded == (OPEN, CANCEL, *(one.tool.tool_id for one in MONEY.tools))
    assert bool(step.append) is (told is not None)
    assert (told or "") in text_of(step.append)
