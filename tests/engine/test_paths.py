"""Paths: exponential schemas are counted before they are walked."""

import pytest

from pegboard.engine.paths import MAX_PATHS, count_paths, graph_of


def doubling(levels: int, wrap: str = "anyOf") -> dict[str, object]:
    """Nest so many alternatives of two references each: 2**levels ways."""
    steps = {
        f"s{level}": {wrap: [{"$ref": f"#/$defs/s{level + 1}"}, {"$ref": f"#/$defs/s{level + 1}"}]}
        for level in range(levels)
    }
    return {"$ref": "#/$defs/s0", "$defs": {**steps, f"s{levels}": {"type": "object"}}}


def paths(schema: dict[str, object], depth: int = 64) -> tuple[int, ...] | str:
    counted = count_paths(graph_of(schema), depth)  # type: ignore[arg-type]
    return counted.problem or counted.by_depth


@pytest.mark.parametrize("wrap", ["anyOf", "oneOf", "allOf"])
def test_two_to_the_thirtieth_is_refused_and_two_to_the_tenth_is_not(wrap):
    assert paths(doubling(30, wrap)) == "there are more than 100,000 ways through its alternatives"
    # 2**11 - 1 schemas that are referred to, by 2**11 - 2 alternatives, and the root.
    assert paths(doubling(10, wrap)) == (2**12 - 2, 2**12 - 2)


def test_alternatives_nested_through_properties_are_refused_too():
    steps = {
        f"s{level}": {"anyOf": [{"properties": {"a": {"$ref": f"#/$defs/s{level + 1}"}}} for _ in range(2)]}
        for level in range(30)
    }
    schema = {"type": "object", "$ref": "#/$defs/s0", "$defs": {**steps, "s30": {}}}
    assert paths(schema) == "there are more than 100,000 ways through its alternatives"


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}]},
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"not": {"$ref": "#/$defs/a"}}}, "$ref": "#/$defs/a"},
    ],
)
def test_a_schema_that_refers_to_itself_on_the_spot_is_refused(schema):
    assert paths(schema) == "it refers to itself without going any deeper"


def test_a_tree_costs_each_value_the_same():
    tree = {"type": "object", "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}, "name": {"type": "string"}}}
    assert paths(tree, 5) == (1, 3, 5, 7, 9)


def test_a_recursion_that_doubles_with_the_depth_is_counted_for_each_depth():
    condition = {
        "anyOf": [
            {"properties": {"all": {"items": {"$ref": "#/$defs/c"}}}},
            {"properties": {"all": {"items": {"$ref": "#/$defs/c"}}, "not": {"$ref": "#/$defs/c"}}},
        ]
    }
    counted = count_paths(graph_of({"$ref": "#/$defs/c", "$defs": {"c": condition}}), 64)
    assert counted.problem is None
    assert counted.at(1) == 4
    assert counted.at(9) == counted.by_depth[8]
    assert counted.at(64) is None
    assert max(counted.by_depth[:-1]) <= MAX_PATHS < counted.by_depth[-1]


def test_a_recursion_that_explodes_at_once_is_refused():
    schema = {"anyOf": [{"properties": {"a": {"$ref": "#"}}} for _ in range(20)]}
    assert paths(schema) == "there are more than 100,000 ways through its alternatives"


def test_alternatives_by_type_are_not_multiplied():
    value = {
        "anyOf": [
            {"type": "string"},
            {"type": "array", "items": {"$ref": "#/$defs/v"}},
            {"type": "object", "additionalProperties": {"$ref": "#/$defs/v"}},
        ]
    }
    schema = {"properties": {"v": {"$ref": "#/$defs/v"}}, "$defs": {"v": value}}
    assert paths(schema, 4) == (1, 6, 11, 16)


def test_unevaluated_evaluates_its_alternatives_again():
    inner: dict[str, object] = {"type": "object"}
    for _ in range(20):
        inner = {"allOf": [inner], "unevaluatedProperties": False}
    assert paths(inner) == "there are more than 100,000 ways through its alternatives"


@pytest.mark.parametrize(
    "reference",
    ["#/$defs/s", "#s", "#/properties/a%20b", "#/x/0", "#/properties/c~1d"],
)
def test_local_references_of_every_form_are_followed(reference):
    target = {"anyOf": [{}, {}, {}]}
    schema = {
        "$ref": reference,
        "$defs": {"s": {"$anchor": "s", **target}},
        "properties": {"a b": target, "c/d": target},
        "x": [target],
    }
    assert paths({**schema, "properties": schema["properties"]}, 1) == (5,)


def test_two_equal_anchors_are_both_counted():
    schema = {"$ref": "#a", "$defs": {"a": {"$anchor": "a", "anyOf": [{}, {}]}, "b": {"$anchor": "a"}}}
    assert paths(schema, 1) == (5,)


def test_dynamic_references_may_mean_any_schema_of_that_name():
    schema = {
        "$dynamicRef": "#node",
        "$defs": {"a": {"$dynamicAnchor": "node", "anyOf": [{}]}, "b": {"$dynamicAnchor": "node"}},
    }
    assert paths(schema, 1) == (4,)


def test_a_reference_is_read_in_the_resource_that_its_id_opened():
    schema = {
        "properties": {"a": {"$id": "https://example.com/a", "$ref": "#/$defs/x", "$defs": {"x": {"anyOf": [{}]}}}},
        "$defs": {"x": {"anyOf": [{}, {}, {}]}},
    }
    # Read in the whole document as well, since drafts differ.
    assert paths(schema, 2) == (1, 8)


def test_a_reference_to_nothing_is_left_to_the_validator():
    for reference in ("#/$defs/none", "#none", "#/anyOf/7", "#/anyOf/0", 7):
        assert paths({"$ref": reference, "anyOf": [True]}, 1) == (1,)


def test_references_that_are_not_local_are_listed():
    assert graph_of({"properties": {"a": {"$ref": "other.json#/x"}}, "default": {"$ref": "data"}}).foreign == [
        "other.json#/x"
    ]
