"""Rendering: a selection in each API's own shape, and what is held back from it."""

import json
from dataclasses import replace

import pytest

from pegboard import AccessTemplate, Board, RuntimeContext
from pegboard.core.names import compact_json
from pegboard.engine.asking import SelectionSettings
from pegboard.engine.selection import Why
from pegboard.providers import anthropic, chat, gemini, openai
from pegboard.providers.capabilities import APIS, Api
from pegboard.providers.rendering import render
from pegboard.providers.schemas import compile_schema
from pegboard.providers.targets import Target
from pegboard.providers.wired import HOLDS, Case, Wired, wire
from pegboard.service.deployment import Deployment
from pegboard.wiring import in_memory
from tests.crm import AGENT, CASHIER, pick, schema, tool, view

ORDER = tool("crm.orders.get", "Look an order up.", schema("order_id", order_id="Its number", note="A note"))
ONE = pick("", AGENT, over=view([ORDER]), require=["crm.orders.get"])
PLAIN = {
    "type": "object",
    "properties": {
        "order_id": {"type": "string", "description": "Its number"},
        "note": {"type": "string", "description": "A note"},
    },
    "required": ["order_id"],
}
# An object of any keys: no strict form can say it.
LOSSY = {"type": "object", "properties": {"any": {"type": "object", "additionalProperties": True}}, "required": ["any"]}


def only(api, selection=ONE, **more):
    (declared,) = render(selection, api, **more).payload["tools"]
    return declared


def described(api, entry, **more):
    return only(api, pick("", AGENT, over=view([entry]), require=[entry.tool_id]), **more)


def test_openai_gets_a_flat_function_and_is_told_whether_it_is_strict():
    declared = only(Api.OPENAI)
    assert {key: declared[key] for key in ("type", "name", "description", "strict")} == {
        "type": "function", "name": "crm__orders__get", "description": "Look an order up.", "strict": True,
    }  # fmt: skip
    assert declared["parameters"]["required"] == ["order_id", "note"]
    assert described(Api.OPENAI, tool("crm.any", "Any.", LOSSY))["strict"] is False


def test_chat_completions_get_a_nested_function_and_strict_only_where_it_holds():
    assert only(Api.CHAT)["function"].keys() == {"name", "description", "parameters", "strict"}
    assert described(Api.CHAT, tool("crm.any", "Any.", LOSSY))["function"].keys() == {
        "name", "description", "parameters",
    }  # fmt: skip


def test_anthropic_gets_an_input_schema():
    declared = only(Api.ANTHROPIC)
    assert declared["input_schema"]["properties"] == PLAIN["properties"]
    assert declared["strict"] is True
    assert "strict" not in described(Api.ANTHROPIC, tool("crm.any", "Any.", LOSSY))


def test_gemini_gets_one_entry_of_declarations_beside_the_applications_own():
    own = [{"googleSearch": {}}]
    tools = render(ONE, Api.GEMINI, own=own).payload["tools"]
    assert tools[:1] == own
    assert tools[1]["functionDeclarations"][0] == {
        "name": "crm__orders__get", "description": "Look an order up.", "parametersJsonSchema": PLAIN,
    }  # fmt: skip
    assert render(replace(ONE, tools=()), Api.GEMINI, own=own).payload["tools"] == own


def test_mcp_gets_the_tool_as_it_was_declared():
    assert only(Api.MCP) == {"name": "crm.orders.get", "description": "Look an order up.", "inputSchema": PLAIN}


@pytest.mark.parametrize("api", Api)
def test_a_call_of_the_rendered_tool_comes_back_as_the_tool_itself(api):
    rendered = render(ONE, api)
    name = rendered.tools[0].name
    assert rendered.call(name, '{"order_id": "1"}') == ("crm.orders.get", {"order_id": "1"})
    assert rendered.call("another", {}) is None


def test_null_for_an_optional_argument_of_a_strict_tool_is_left_out():
    rendered = render(ONE, Api.OPENAI)
    assert rendered.call("crm__orders__get", {"order_id": "1", "note": None}) == ("crm.orders.get", {"order_id": "1"})


def test_the_answer_names_each_tool_as_the_payload_does_and_says_what_is_held_back():
    held = tool("crm.orders.odd", "Odd.", schema("x", x="x"))
    selection = pick("", AGENT, over=view([ORDER, held]), require=["crm.orders.get", "crm.orders.odd"])
    own = [{"type": "function", "name": "crm__orders__odd"}]
    answer = json.loads(compact_json(render(selection, Api.OPENAI, own=own).to_json({"waiting": 0})))
    assert [one["alias"] for one in answer["selection"]["tools"]] == ["crm__orders__get", None]
    assert answer["selection"]["operator"] == {"waiting": 0}
    assert answer["report"] == [{"tool_id": "crm.orders.odd", "loss": [], "held": HOLDS[0][1]}]
    assert answer["payload"]["tools"][0] == own[0]


@pytest.mark.parametrize("api", Api)
def test_the_clients_prefix_counts_in_the_names_length(api):
    long = tool(f"crm.{'orders_' * 7}list", "Long.")
    selection = pick("", AGENT, over=view([long]), require=[long.tool_id])
    prefix = "mcp__pegboard__"
    (wired,) = render(selection, api, prefix=prefix).tools
    assert len(prefix + wired.name) <= 64


def test_tools_whose_names_were_another_tools_are_held_back():
    wiring = wire(ONE.tools, Api.OPENAI, known={"crm__orders__get": "crm__orders.get"})
    assert (wiring.tools, [note.held for note in wiring.report]) == ((), [HOLDS[1][1]])


def test_a_tool_without_a_form_is_held_back_and_the_others_go():
    wired = render(ONE, Api.OPENAI).tools[0]
    case = Case(tool_id="a", name="a", compiled=replace(wired.compiled, schema=None), own=(), known={}, room=None)
    assert [stands_against(case) for stands_against, _ in HOLDS] == [False, False, True, False]


@pytest.mark.parametrize("api", [api for api in Api if APIS[api].tools_at_most])
def test_beyond_the_cap_what_is_pinned_or_required_goes_first_and_the_rest_is_named(api):
    entries = [tool(f"crm.things.t{number:03}", "Thing.") for number in range(130)]
    everything = pick("", AGENT, over=view(entries), require=[one.tool_id for one in entries])
    ranked = [replace(one, why=Why.RANKED) for one in everything.tools[:100]]
    selection = replace(everything, tools=(*ranked, *everything.tools[100:]))
    rendered = render(selection, api)
    assert len(rendered.tools) == 128
    assert [note.tool_id for note in rendered.report] == ["crm.things.t098", "crm.things.t099"]
    assert [one.tool_id for one in rendered.tools] == sorted(one.tool_id for one in rendered.tools)


@pytest.mark.parametrize("why", [Why.PINNED, Why.REQUIRED, Why.SAFE_SET])
def test_what_was_named_one_by_one_takes_room_before_what_is_ranked(why):
    ranked, named = pick("", CASHIER, require=["crm.orders.list_open_orders", "crm.orders.cancel_order"]).tools
    candidates = [replace(ranked, why=Why.RANKED), replace(named, why=why)]
    assert [one.tool_id for one in wire(candidates, Api.OPENAI, room=1).tools] == [named.tool.tool_id]


def test_no_more_is_strict_than_one_request_may_hold():
    entries = [tool(f"crm.things.t{number:03}", "Thing.", schema("a", a="x")) for number in range(30)]
    selection = pick("", AGENT, over=view(entries), require=[one.tool_id for one in entries])
    assert sum(one.strict for one in render(selection, Api.ANTHROPIC).tools) == 20
    assert all(one.strict for one in render(selection, Api.OPENAI).tools)


OPTIONAL = {"type": "object", "properties": {name: {"type": "string"} for name in "abcdef"}}
EITHER = {"anyOf": [{"type": "string"}, {"type": "integer"}]}
UNIONS = {"type": "object", "properties": dict.fromkeys("abcd", EITHER), "required": list("abcd")}


@pytest.mark.parametrize(("declared", "strict"), [(OPTIONAL, 24 // 6), (UNIONS, 16 // 4)])
def test_what_is_optional_or_of_several_kinds_counts_over_the_whole_request(declared, strict):
    entries = [tool(f"crm.things.t{number}", "Thing.", declared) for number in range(8)]
    wiring = wire(pick("", AGENT, over=view(entries), require=[one.tool_id for one in entries]).tools, Api.ANTHROPIC)
    assert [one.strict for one in wiring.tools] == [True] * strict + [False] * (8 - strict)
    more = wire(
        pick("", AGENT, over=view(entries), require=["crm.things.t0"]).tools, Api.ANTHROPIC, before=wiring.tools
    )
    assert [one.strict for one in more.tools] == [False]


def test_what_was_wired_comes_back_from_json_as_it_was():
    for api in Api:
        (wired,) = render(ONE, api).tools
        assert Wired.from_json(json.loads(compact_json(wired.to_json()))) == wired


# What each module has beside plain tools.

MANY = pick(
    "", CASHIER, require=["crm.orders.list_open_orders", "billing.refunds.create_refund", "crm.orders.cancel_order"]
)
TOOLS = render(MANY, Api.OPENAI).tools


def test_openai_groups_deferred_tools_by_namespace_in_the_order_of_their_first():
    crm, billing, search = openai.hosted_search(TOOLS)
    assert (crm["type"], crm["name"], [one["name"] for one in crm["tools"]]) == (
        "namespace", "crm__orders", ["crm__orders__list_open_orders", "crm__orders__cancel_order"],
    )  # fmt: skip
    assert billing["name"] == "billing__refunds"
    assert all(one["defer_loading"] for one in crm["tools"])
    assert crm["description"]
    assert search == {"type": "tool_search"}


@pytest.mark.parametrize(("tool_id", "own"), [("lonely", ()), ("crm.orders.get", ("crm__orders",))])
def test_a_tool_without_a_namespace_or_whose_namespace_is_taken_stands_by_itself(tool_id, own):
    entry = tool(tool_id, "x") if "." in tool_id else replace(ORDER, tool_id=tool_id, namespace="crm")
    (wired,) = render(pick("", AGENT, over=view([ORDER]), require=["crm.orders.get"]), Api.OPENAI).tools
    wired = replace(wired, tool=replace(wired.tool, tool_id=entry.tool_id))
    (declared,) = openai.grouped([wired], own)
    assert (declared["type"], declared["defer_loading"]) == ("function", True)


def test_the_hosted_searches_get_deferred_tools_and_a_search_that_is_not():
    search, *deferred = anthropic.hosted_search(TOOLS)
    assert "defer_loading" not in search
    assert [one["defer_loading"] for one in deferred] == [True] * 3


def test_a_toolset_pins_its_listing_and_enables_nothing_else():
    toolset = anthropic.mcp_toolset("gateway", TOOLS, loaded=["crm.orders.cancel_order"])
    assert toolset["default_config"] == {"enabled": False, "defer_loading": True}
    assert toolset["configs"]["crm__orders__cancel_order"] == {"enabled": True, "defer_loading": False}
    assert toolset["configs"].keys() == {one["name"] for one in toolset["tools"]}


@pytest.mark.parametrize("narrowed", [openai.allowed(["a", "b"]), chat.allowed(["a", "b"]), gemini.allowed(["a", "b"])])
def test_what_may_be_called_is_narrowed_by_name_alone(narrowed):
    said = compact_json(narrowed)
    assert said.index('"a"') < said.index('"b"')
    assert "parameters" not in said


def test_a_schema_for_the_live_api_goes_under_its_own_name():
    (wired,) = render(ONE, Api.GEMINI).tools
    live = replace(wired, compiled=compile_schema(PLAIN, Target.GEMINI_PARAMETERS))
    assert gemini.function(live).keys() == {"name", "description", "parameters"}


NOTHING = tool("crm.orders.count", "Count them.", {"type": "object", "properties": {}, "additionalProperties": False})


@pytest.mark.parametrize(
    ("target", "declared"),
    [
        (Target.GEMINI_PARAMETERS, {}),
        (Target.GEMINI, {"parametersJsonSchema": NOTHING.input_schema}),
    ],
)
def test_of_a_tool_without_arguments_the_live_api_gets_no_schema_since_it_refuses_an_empty_one(target, declared):
    (wired,) = render(pick("", AGENT, over=view([NOTHING]), require=["crm.orders.count"]), Api.GEMINI).tools
    live = replace(wired, compiled=compile_schema(NOTHING.input_schema, target))
    assert gemini.function(live) == {"name": "crm__orders__count", "description": "Count them.", **declared}


LINES = {"type": "object", "properties": {"lines": {"type": "array", "items": {"$ref": "#/$defs/Line"}}}}
REFERRING = {
    "type": "object",
    "properties": {"order": {"$ref": "#/$defs/Order"}},
    "$defs": {"Order": LINES, "Line": {"type": "object", "properties": {"part_of": {"$ref": "#/$defs/Order"}}}},
}


def test_a_compatible_server_gets_no_reference_nor_strict_and_what_comes_back_to_itself_is_cut_with_its_place():
    over = view([tool("crm.any", "Any.", REFERRING)])
    shown = render(pick("", AGENT, over=over, require=["crm.any"]), Api.COMPATIBLE)
    (declared,) = shown.payload["tools"]
    assert declared.keys() == {"type", "function"}
    assert declared["function"].keys() == {"name", "description", "parameters"}
    line = declared["function"]["parameters"]["properties"]["order"]["properties"]["lines"]["items"]
    assert line["properties"] == {"part_of": {"type": ["object"]}}
    assert [note.to_json()["loss"] for note in shown.report] == [
        [{"path": "/properties/order/properties/lines/items/properties/part_of", "what": "recursion"}]
    ]


def test_the_board_renders_and_begins_conversations_with_what_it_selected():
    own = [{"name": "say", "input_schema": {"type": "object"}}]
    access = {"clerk": AccessTemplate(required_scopes=frozenset({"clerk"}))}
    sam = RuntimeContext(user="sam", scopes=frozenset({"clerk"}), servers=frozenset({"orders"}))
    with Board.from_tools([{"tool_id": "orders.get", "description": "Get.", "access": "clerk"}], access) as board:
        selection = board.select("get orders", sam, require=["orders.get"])
        assert board.render(selection, "anthropic", own=own).payload["tools"][0] == own[0]
        begun = board.conversation("anthropic", selection=selection, own=own, namespaces=["orders"]).conversation
        assert begun.loaded == ("orders.get",)
        assert begun.request()["tools"][:1] == own
        with pytest.raises(ValueError):
            board.render(selection, "telex")


def test_the_board_counts_the_configured_prefix_unless_another_is_said():
    settings = SelectionSettings(client_prefix="mcp__pegboard__")
    board = Board(in_memory(Deployment(selection=settings)))
    selection = pick("", AGENT, over=view([tool(f"crm.{'x' * 50}", "Long.")]), require=[f"crm.{'x' * 50}"])
    begin = board.conversation
    names = [
        *(board.render(selection, "mcp", **said).tools[0].name for said in ({}, {"prefix": ""})),
        *(begin("anthropic", selection=selection, **said).conversation.loadout.loaded[0].name
          for said in ({}, {"prefix": ""})),
    ]  # fmt: skip
    board.close()
    assert [len(name) for name in names] == [49, 54, 49, 55]
