"""Failures that users of other gateways reported, where a tool goes to a model: names, schemas, caches and caps.

The numbers and the manner are those of `tests/test_field_cases.py`.
"""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.catalog import declare
from pegboard.core.names import compact_json
from pegboard.engine.asking import SelectionSettings
from pegboard.engine.schemas import check_arguments, compile_schema
from pegboard.engine.selection import Why
from pegboard.providers.capabilities import APIS, Api
from pegboard.providers.conversation import Conversation
from pegboard.providers.rendering import render
from tests.crm import AGENT, pick, schema, tool, view
from tests.providers.made import CONVERSATIONS, begun, searched, sent
from tests.strategies import cases

# What each API takes as a tool's name, as its vendor says it.
WIRES = {
    Api.OPENAI: r"[a-zA-Z0-9_-]{1,64}",
    Api.CHAT: r"[a-zA-Z0-9_-]{1,64}",
    Api.COMPATIBLE: r"[a-zA-Z0-9_-]{1,64}",
    Api.ANTHROPIC: r"[a-zA-Z0-9_-]{1,64}",
    Api.GEMINI: r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}",
    Api.MCP: r"[a-zA-Z0-9_.-]{1,128}",
}
ODD = (
    f"my-company-observability.{'x' * 45}",
    f"my-company-observability.{'x' * 44}y",
    "acme_.status",
    "acme._status",
    "a.b_.c",
    "a.b._c",
    "a__b.c",
    "a.b__c",
    "9lives.search:all",
    "склад.найти заказ",
    f"n.{'long' * 60}",
    "search_tools",
    "crm.search_tools",
)


def rendered(api, ids, **more):
    """Render one tool of each id, in the order of the ids."""
    entries = [declare(tool_id=one, namespace="n", source_server="crm", name=one, input_schema=schema()) for one in ids]
    selection = pick("", AGENT, over=view(entries), require=list(ids))
    return render(selection, api, **more)


# 10 names: a client puts its own prefix before a long name.


@pytest.mark.parametrize("prefix", ["", "mcp__x__", "mcp__pegboard__"])
@pytest.mark.parametrize("api", Api)
def test_10_every_name_fits_its_wire_with_the_clients_prefix_before_it_and_leads_back_to_its_tool(api, prefix):
    shown = rendered(api, ODD, prefix=prefix)
    assert shown.report == ()
    for one in shown.tools:
        assert re.fullmatch(WIRES[api], prefix + one.name), one.name
        assert len(prefix + one.name) <= 64
        assert shown.call(one.name, {}) == (one.tool_id, {})
    assert len({one.name for one in shown.tools}) == len(ODD)


# 11 names: the prefix of the configuration counts in the names of selections, and the names lead back to their tools.


@given(st.sets(st.sampled_from(ODD) | st.text(min_size=1, max_size=80), min_size=1, max_size=8), st.integers(0, 51))
@cases(20, 500)
def test_11_the_names_of_a_selection_fit_behind_the_configured_prefix_and_each_is_one_tools(ids, length):
    entries = [declare(tool_id=one, namespace="n", source_server="crm", name=one, input_schema=schema()) for one in ids]
    settings = SelectionSettings(client_prefix="p" * length)
    selection = pick("", AGENT, view(entries), settings, require=sorted(ids))
    names = {one.alias: one.tool.tool_id for one in selection.tools}
    assert set(names.values()) == ids
    assert all(length + len(name) <= 64 for name in names)
    assert all(re.fullmatch(r"[a-zA-Z0-9_.-]+", name) for name in names)


# 13 names: a server is added, and no name of another one changes.


@given(st.sets(st.sampled_from(ODD), min_size=1), st.sets(st.sampled_from(ODD)), st.sampled_from(list(Api)))
@cases(20, 500)
def test_13_no_name_depends_on_which_other_tools_there_are(few, more, api):
    alone = {one.tool_id: one.name for one in rendered(api, sorted(few)).tools}
    together = {one.tool_id: one.name for one in rendered(api, sorted(few | more)).tools}
    assert alone.items() <= together.items()


# 14 schema: the root becomes alternatives overnight.

ALTERNATIVES = {
    "type": "object",
    "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
    "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
}


@pytest.mark.parametrize("api", [api for api in Api if api is not Api.MCP])
def test_14_alternatives_at_the_root_are_folded_reported_and_harm_no_other_tool(api):
    entries = [tool("crm.things.odd", "Odd.", ALTERNATIVES), tool("crm.things.plain", "Plain.", schema("a", a="x"))]
    shown = render(pick("", AGENT, over=view(entries), require=[one.tool_id for one in entries]), api)
    assert [one.tool_id for one in shown.tools] == ["crm.things.odd", "crm.things.plain"]
    odd = shown.tools[0]
    assert not {"anyOf", "oneOf", "allOf", "not", "enum"} & odd.schema.keys()
    assert odd.schema["type"] == "object"
    assert [note.tool_id for note in shown.report] == (["crm.things.odd"] if odd.compiled.losses else [])
    gate = compile_schema(entries[0].input_schema)
    assert check_arguments(gate, shown.call(odd.name, {"a": "1"})[1]) is None
    assert check_arguments(gate, shown.call(odd.name, {})[1]) is not None


# 15 schema: a definition and what refers to it.

REFERRING = {
    "type": "object",
    "properties": {"f": {"$ref": "#/$defs/F"}},
    "required": ["f"],
    "$defs": {"F": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}},
}


@pytest.mark.parametrize("api", Api)
def test_15_a_reference_is_kept_with_its_definition_or_inlined_and_never_half(api):
    entry = tool("crm.things.odd", "Odd.", REFERRING)
    shown = render(pick("", AGENT, over=view([entry]), require=[entry.tool_id]), api)
    (wired,) = shown.tools
    said = compact_json(wired.schema)
    assert ('"$ref"' in said) is ('"$defs"' in said)
    gate = compile_schema(entry.input_schema)
    assert check_arguments(gate, shown.call(wired.name, {"f": {"n": 1}})[1]) is None
    assert '"integer"' in said


# 25 cache: the same set arrives in another order, or it changes mid-turn.


@given(st.sampled_from(CONVERSATIONS), st.permutations(range(6)), st.integers(1, 5))
@cases(20, 500)
def test_25_another_order_changes_no_byte_and_what_is_new_comes_last(row, order, first):
    entries = [tool(f"crm.things.t{number}", "Thing.", schema("a", a="x")) for number in range(6)]
    everything = pick("", AGENT, over=view(entries), require=[one.tool_id for one in entries])
    some = replace(everything, tools=everything.tools[:first])
    shuffled = replace(everything, tools=tuple(everything.tools[place] for place in order))
    begin = begun(*row, selection=some).conversation
    later = searched(begin, shuffled).conversation
    assert later.loaded[:first] == begin.loaded
    assert sent(later)[: len(sent(begin))] == sent(begin)
    again = searched(later, everything)
    assert compact_json(again.conversation.request()) == compact_json(later.request())
    assert again.conversation.loaded == later.loaded


# 26 caps: what is pinned and what is selected come to more than a provider takes.


@pytest.mark.parametrize("api", [api for api in Api if APIS[api].tools_at_most])
@pytest.mark.parametrize("own", [0, 5])
def test_26_the_cap_holds_for_all_of_a_request_what_is_pinned_stays_and_the_rest_is_named(api, own):
    entries = [tool(f"crm.things.t{number:03}", "Thing.") for number in range(130)]
    everything = pick("", AGENT, over=view(entries), require=[one.tool_id for one in entries])
    mine = [{"type": "function", "name": f"own{number}", "function": {"name": f"own{number}"}} for number in range(own)]
    tools = [replace(one, why=Why.PINNED if place >= 120 else Why.RANKED) for place, one in enumerate(everything.tools)]
    selection = replace(everything, tools=tuple(tools))
    shown = render(selection, api, own=mine)
    kept = [one.tool_id for one in shown.tools]
    assert len(kept) + own == 128
    assert {f"crm.things.t{number:03}" for number in range(120, 130)} <= set(kept)
    assert {note.tool_id for note in shown.report} == {one.tool_id for one in entries} - set(kept)
    begun_with = Conversation.begin(api, selection=selection, own=mine).conversation
    # The search takes one place of its own.
    assert len(begun_with.loaded) + own + 1 == 128
    grown = searched(begun_with, replace(everything, selection_id="sel_2"))
    assert len(grown.conversation.loaded) + own + 1 == 128
    assert len(grown.report) == 130 - len(begun_with.loaded)
