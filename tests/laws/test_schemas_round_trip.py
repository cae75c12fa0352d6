"""Law: what is sent to a model API keeps to its rules, and arguments made for it are right for the tool.

Where they need not be, a loss is named.
The rules are written down apart (`tests/providers/rules.py`), and so is what makes arguments
(`tests/providers/arguments.py`).
"""

import json
import os
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.engine.schemas import check_arguments, schema_problem
from pegboard.engine.schemas import compile_schema as compile_gate
from pegboard.providers.schemas import Fidelity, compile_schema
from pegboard.providers.targets import CLOSED, Target
from tests.providers.arguments import arguments_for, as_json_schema
from tests.providers.rules import problems
from tests.strategies import cases

SERVERS = Path(__file__).parents[2] / "../shared/data/live-mcp/servers"
SOAK = os.environ.get("PEGBOARD_SOAK") == "1"
# Of 2,583 published tools every so many are looked at; in a soak, all.
STEP = 1 if SOAK else 61

NAMES = st.sampled_from(["a", "b", "c_d", "a b", "$top", "x" * 70, "", "é", "arguments"])
SCALARS = st.none() | st.booleans() | st.integers(-3, 300) | st.sampled_from(["a", "1", "null", 1.5])
TYPES = st.sampled_from(["string", "number", "integer", "boolean", "array", "object", "null"])
REFERENCES = st.sampled_from(["#", "#/$defs/A", "#/$defs/B", "#/properties/a", "#/definitions/A", "#/nowhere"])
LEAVES = st.sampled_from(
    [
        {"type": "string"}, {"type": ["string", "null"], "default": None}, {"enum": ["a", "b"]},
        {"enum": [1, "a", None]}, {"type": "boolean"}, {"oneOf": [{"const": "a"}]}, {"const": 7},
        {"type": "integer", "minimum": 1}, {"type": "string", "pattern": "^[ab]{2}$"},
        {"type": ["integer", "string"]}, {"$ref": "#/$defs/B"}, {"type": "number", "default": 1},
    ]
)  # fmt: skip


def plausible(inner):
    """Schemas such as tools have: objects, lists, alternatives that differ."""
    members = st.dictionaries(NAMES, inner, max_size=3)
    objects = st.builds(
        lambda found, few, closed: {
            "type": "object",
            "properties": found,
            "required": sorted(found)[:few],
            **({"additionalProperties": False} if closed else {}),
        },
        members,
        st.integers(0, 2),
        st.booleans(),
    )
    lists = st.builds(lambda one, most: {"type": "array", "items": one, "maxItems": most}, inner, st.integers(1, 3))
    either = st.lists(inner, min_size=1, max_size=3).map(lambda found: {"anyOf": found})
    return objects | lists | either


def odd(inner):
    """Any keyword beside any other."""
    by_name = st.dictionaries(NAMES, inner, max_size=2)
    several = st.lists(inner, min_size=1, max_size=3)
    keywords = {
        "type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True),
        "enum": st.lists(SCALARS, max_size=4, unique_by=repr),
        "const": SCALARS,
        "default": SCALARS,
        "required": st.lists(NAMES, unique=True, max_size=2),
        "$ref": REFERENCES,
        "format": st.sampled_from(["date", "uri", "int32", "x"]),
        "pattern": st.sampled_from(["^a", "(?=a)a"]),
        "dependentRequired": st.just({"a b": ["b"]}),
        **dict.fromkeys(("properties", "$defs", "definitions", "dependentSchemas"), by_name),
        "patternProperties": st.dictionaries(st.just("^x"), inner, max_size=1),
        **dict.fromkeys(("anyOf", "oneOf", "allOf", "prefixItems"), several),
        **dict.fromkeys(("items", "additionalProperties", "propertyNames", "contains", "unevaluatedProperties"), inner),
        **dict.fromkeys(("not", "if", "then", "else"), inner),
        **dict.fromkeys(("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"), st.integers(-3, 9)),
        **dict.fromkeys(("minLength", "maxLength", "minItems", "minProperties"), st.integers(0, 3)),
        **dict.fromkeys(("title", "description", "x-order"), st.just("t")),
    }
    chosen = st.lists(st.sampled_from(sorted(keywords)), max_size=4, unique=True)
    return st.booleans() | chosen.flatmap(lambda words: st.fixed_dictionaries({word: keywords[word] for word in words}))


B = {"type": "object", "properties": {"n": {"$ref": "#/$defs/B"}, "t": {"type": "string"}}, "required": ["t"]}
plausible_schemas = st.builds(
    lambda members, found: {"type": "object", "properties": members, **found, "$defs": {"B": B}},
    st.dictionaries(NAMES, st.recursive(LEAVES, plausible, max_leaves=8), max_size=3),
    st.sampled_from([{}, {"additionalProperties": False}, {"required": ["a"], "additionalProperties": False}]),
)
odd_schemas = st.builds(
    lambda found, of_a, root: {**(found if isinstance(found, dict) else {}), "$defs": {"A": of_a, "B": B}, **root},
    *[st.recursive(st.booleans() | LEAVES, odd, max_leaves=10)] * 2,
    st.sampled_from([{}, {"type": "object"}, {"$schema": "http://json-schema.org/draft-07/schema#"}]),
)


@given(plausible_schemas | odd_schemas, st.integers(0, 2**32))
@cases(40, 10_000)
def test_a_compiled_schema_keeps_to_its_targets_rules_and_nothing_unsaid_is_lost(declared, seed):
    for target in Target:
        look(declared, target, Random(seed))


@given(odd_schemas)
@cases(25, 5_000)
def test_only_what_intake_refuses_or_what_is_too_large_has_no_schema(declared):
    for target in Target:
        found = compile_schema(declared, target)
        if schema_problem(declared):
            assert found.fidelity is Fidelity.UNREPRESENTABLE
        elif found.schema is None:
            assert found.losses[0].what in {
                "its root admits no object",
                "it has too many parts, or too deep ones, once its references are followed",
            }


@pytest.mark.skipif(not SERVERS.is_dir(), reason="the published tools of ../shared/data/live-mcp are not here")
@pytest.mark.parametrize("target", Target)
def test_published_tools_keep_their_arguments(target):
    seen = Counter()
    for number, schema in enumerate(published()):
        if number % STEP == 0:
            seen[look(schema, target, Random(number))] += 1
    print(f"{target}: {dict(seen)}")
    assert seen["unrepresentable"] == 0
    assert seen["lossless"] > sum(seen.values()) / 2


def published():
    for path in sorted(SERVERS.glob("*.json")):
        for one in json.loads(path.read_text(encoding="utf-8"))["tools"]:
            yield one["inputSchema"]


def look(declared, target, chance) -> str:
    """Compile, check, send arguments there and back; return how it went."""
    found = compile_schema(declared, target)
    again = compile_schema(declared, target)
    assert (found.schema, found.losses) == (again.schema, again.losses)
    assert json.dumps(found.schema) == json.dumps(again.schema)
    if found.schema is None:
        return str(found.fidelity)
    assert problems(found.schema, target) == []
    if found.fidelity is Fidelity.LOSSLESS:
        written = as_json_schema(found.schema) if target is Target.GEMINI_PARAMETERS else found.schema
        there_and_back(declared, written, found.mapping, chance)
        if target not in CLOSED and not found.mapping.names and not found.mapping.is_wrapped:
            there(declared, written, chance)
    return str(found.fidelity)


def there_and_back(declared, written, mapping, chance):
    gate = compile_gate(declared)
    for _ in range(3):
        arguments = arguments_for(written, chance, 3)
        if arguments is not None:
            assert check_arguments(gate, mapping.restore(arguments)) is None, arguments


def there(declared, written, chance):
    """What the tool takes, the compiled schema takes too where no shape was changed."""
    try:
        gate = compile_gate(written)
    except ValueError:
        return  # A pattern that looks around, beside a `not` that stands for `false`: no server's schema for the gate.
    arguments = arguments_for(declared, chance, 3)
    if arguments is not None:
        assert check_arguments(gate, arguments) is None, arguments
