"""Tools as each model API writes them become entries, or a refusal that says why."""

import pytest

from pegboard.engine.intake import Refusal, take_in, take_in_lines

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
SAID = {"name": "get_weather", "description": "Tell the weather."}
GEMINI = {
    "type": "OBJECT",
    "properties": {
        "city": {"type": "STRING", "nullable": True, "format": "enum", "enum": ["Lyon", "Oslo"]},
        "days": {"type": "ARRAY", "items": {"type": "INTEGER"}, "maxItems": "3"},
        "of": {"any_of": [{"type": "STRING"}], "nullable": True},
    },
    "propertyOrdering": ["city", "days", "of"],
}
FROM_GEMINI = {
    "type": "object",
    "properties": {
        "city": {"type": ["string", "null"], "enum": ["Lyon", "Oslo", None]},
        "days": {"type": "array", "items": {"type": "integer"}, "maxItems": 3},
        "of": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
}


def taken(*raws):
    entries, refused = take_in_lines(raws, default_server="weather")
    assert not refused
    return entries


@pytest.mark.parametrize(
    ("raw", "schema"),
    [
        ({**SAID, "inputSchema": SCHEMA}, SCHEMA),
        ({**SAID, "input_schema": SCHEMA}, SCHEMA),
        ({**SAID, "type": "custom", "input_schema": SCHEMA, "cache_control": {"type": "ephemeral"}}, SCHEMA),
        ({**SAID, "type": "function", "parameters": SCHEMA, "strict": True}, SCHEMA),
        ({"type": "function", "function": {**SAID, "parameters": SCHEMA}}, SCHEMA),
        ({**SAID, "parametersJsonSchema": SCHEMA}, SCHEMA),
        ({**SAID, "parameters_json_schema": SCHEMA}, SCHEMA),
        ({"functionDeclarations": [{**SAID, "parametersJsonSchema": SCHEMA}]}, SCHEMA),
        ({"function_declarations": [{**SAID, "parameters": GEMINI}]}, FROM_GEMINI),
        ({**SAID, "parameters": GEMINI}, FROM_GEMINI),
        ({"tools": [{"functionDeclarations": [{**SAID, "parameters": GEMINI}]}]}, FROM_GEMINI),
        ({"model": "m", "tools": [{"type": "function", "function": {**SAID, "parameters": SCHEMA}}]}, SCHEMA),
    ],
)
def test_a_tool_in_any_apis_shape_is_taken_in_with_its_arguments(raw, schema):
    (entry,) = taken(raw)
    assert (entry.tool_id, entry.description, entry.input_schema) == (
        "weather.get_weather",
        "Tell the weather.",
        schema,
    )
    assert not entry.undeclared_schema


@pytest.mark.parametrize(
    ("raw", "tool_ids"),
    [
        ({"type": "namespace", "name": "crm", "tools": [{"type": "function", "name": "a"}]}, ["crm.a"]),
        ({"server": "crm", "tools": [{"name": "a"}, {"name": "b", "namespace": "own"}]}, ["crm.a", "own.b"]),
        ({"functionDeclarations": [{"name": "a"}, {"name": "b"}]}, ["weather.a", "weather.b"]),
    ],
)
def test_a_list_names_the_owner_of_its_tools(raw, tool_ids):
    assert [entry.tool_id for entry in taken(raw)] == tool_ids


def test_what_is_known_of_a_nested_function_beside_it_is_kept():
    (entry,) = taken({"namespace": "crm", "keywords": ["sun"], "function": {**SAID, "parameters": None}})
    assert (entry.tool_id, entry.keywords, entry.undeclared_schema) == ("crm.get_weather", ("sun",), True)


@pytest.mark.parametrize(
    ("raw", "name", "reason"),
    [
        ({"type": "web_search"}, "(no name)", "runs itself"),
        ({"type": "bash_20250124", "name": "bash"}, "bash", "'bash_20250124'"),
        ({**SAID, "parameters": SCHEMA, "input_schema": SCHEMA}, "get_weather", "twice"),
        ({**SAID, "parameters": "city"}, "get_weather", "a schema is a JSON object"),
        ({**SAID, "parameters": {"type": "STRING"}}, "get_weather", "admits no object"),
        ({"functionDeclarations": ["a"]}, "(no name)", "a tool is a JSON object, not a text"),
        ({"openapi": "3.1.0"}, "(no name)", "its name is empty"),
        ({"tool_id": "search_tools"}, "search_tools", "is reserved"),
    ],
)
def test_what_is_no_tool_of_ours_is_refused_with_its_reason(raw, name, reason):
    entries, (refusal,) = take_in_lines([raw], default_server="weather")
    assert entries == ()
    assert refusal.name == name
    assert reason in refusal.reason


def test_one_bad_tool_of_a_list_hides_no_other():
    entries, refused = take_in_lines([{"tools": [{"type": "web_search"}, SAID, 7]}], default_server="weather")
    assert ([entry.name for entry in entries], len(refused)) == (["get_weather"], 2)


def test_a_nest_of_lists_ends():
    nest = {"name": "a"}
    for _ in range(50):
        nest = {"tools": [nest]}
    assert isinstance(take_in_lines([nest], default_server="weather")[1][0], Refusal)


@pytest.mark.parametrize("field", ["input_schema", "parameters", "parametersJsonSchema", "parameters_json_schema"])
def test_a_listed_tool_whose_arguments_stand_elsewhere_is_refused_and_not_taken_without(field):
    refusal = take_in({**SAID, field: SCHEMA}, server="s", namespace="s")
    assert refusal == Refusal(
        "get_weather", f"it declares its arguments as {field!r}; a listing of MCP has them as 'inputSchema'"
    )


@pytest.mark.parametrize("deep", [1_000, 100])
def test_a_schema_too_deep_to_walk_is_refused_and_no_more(deep):
    schema = {"type": "STRING"}
    for _ in range(deep):
        schema = {"type": "OBJECT", "properties": {"a": schema}}
    _, (refusal,) = take_in_lines([{**SAID, "parameters": schema}], default_server="weather")
    assert "nested more than" in refusal.reason
