"""Bounds: what is refused before anything recursive or clever reads it."""

import json

import pytest
from hypothesis import given

from pegboard.core.names import compact_json
from pegboard.engine.bounds import ARGUMENTS, Bounds, Broken, Size, measure
from tests.strategies import json_values

SMALL = Bounds(size_bytes=100, depth=3, nodes=10)


@pytest.mark.parametrize(
    ("value", "broken"),
    [
        ({"a": [float("nan")]}, Broken("json", "it holds a number that is not finite, which is not JSON", "/a/0")),
        ([float("inf")], Broken("json", "it holds a number that is not finite, which is not JSON", "/0")),
        (
            {"a/b~": ["\ud800"]},
            Broken("json", "it holds half a surrogate pair, which no JSON text can", "/a~1b~0/0"),
        ),
        ({"\udfff": 1}, Broken("json", "a key holds half a surrogate pair, which no JSON text can", "")),
        ({1: 1}, Broken("json", "a key of an object is not a text", "")),
        ((1,), Broken("json", "it holds a tuple, which is not JSON", "")),
        (10**400, Broken("json", "it holds an integer of more than 300 digits", "")),
        ("é" * 51, Broken("size", "it is larger than 100 bytes")),
        ({"k" * 100: 1}, Broken("size", "it is larger than 100 bytes")),
        ([[[1]]], Broken("depth", "it is nested more than 3 levels deep")),
        (["" for _ in range(10)], Broken("size", "it has more than 10 parts")),
    ],
)
def test_what_breaks_a_bound_is_refused_with_where_and_why(value, broken):
    assert measure(value, SMALL) == broken


def test_what_is_within_is_measured():
    assert measure({"a": [1, True, None, "x"]}, SMALL) == Size(depth=3, nodes=6)
    assert measure([-(10**300), 1.5], SMALL) == Size(depth=2, nodes=3)


def test_depth_costs_no_stack():
    deep: object = 1
    for _ in range(20_000):
        deep = {"a": deep}
    found = measure(deep, ARGUMENTS)
    assert isinstance(found, Broken)
    assert found.constraint == "depth"


@given(json_values)
def test_json_that_is_small_and_flat_is_never_refused(value):
    assert isinstance(measure(json.loads(compact_json(value)), ARGUMENTS), Size)
