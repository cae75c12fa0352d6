"""Canonical JSON is RFC 8785's, byte for byte, and strict reading refuses what has no one meaning."""

import json

import pytest
import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st

from pegboard.core.names import MAX_TOOL_ID, canonical_json, compact_json, digest, name_problem, parse_json, short
from tests.strategies import cases, json_values, schemas

doubles = st.floats(allow_nan=False, allow_infinity=False)


@cases(300, 50_000)
@given(json_values)
@example({"\ue000": 1, "\U00010000": 2})  # UTF-16 order is not code point order here
@example({"a": [1.0, -0.0, 1e21, 1e-7, 5e-324, 1.7976931348623157e308, 9007199254740992.0]})
@example({"\u2028": '"\\\b\f\n\r\t\x01', "": {}})
def test_the_canonical_form_is_that_of_rfc_8785(value):
    assert canonical_json(value) == rfc8785.dumps(value)


@cases(500, 100_000)
@given(doubles)
@example(4.35)
@example(0.000001)
@example(0.0000001)
@example(333333333.33333329)
@example(1e23)
@example(123456789012345680000.0)
def test_every_double_is_written_as_rfc_8785_writes_it(value: float):
    assert canonical_json([value, {"x": value}]) == rfc8785.dumps([value, {"x": value}])
    assert canonical_json(value) == rfc8785.dumps(value)


@given(schemas)
def test_the_order_of_keys_does_not_change_a_digest(value):
    assert digest(dict(reversed(value.items()))) == digest(value)


@given(json_values)
def test_the_canonical_form_is_the_same_content(value):
    assert canonical_json(parse_json(canonical_json(value))) == canonical_json(value)


@given(json_values)
def test_compact_json_reads_back_with_its_keys_in_order(value):
    assert json.dumps(parse_json(compact_json(value))) == json.dumps(value)


@given(st.integers(min_value=2**53))
def test_large_integers_keep_all_their_digits(value: int):
    assert canonical_json({"maximum": value}) == f'{{"maximum":{value}}}'.encode()


def _nested(depth: int) -> list[object]:
    value: list[object] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), -float("inf"), "\ud800", {"\udfff": 1}, _nested(100_000)]
)
def test_what_has_no_canonical_form_is_a_value_error(value):
    with pytest.raises(ValueError):
        canonical_json(value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "NaN",
        "[Infinity]",
        '{"a": -Infinity}',
        "1e999",
        "[-1e400]",
        '{"a": 1, "a": 2}',
        '[{"a": {"b": 1, "c": 2, "b": 1}}]',
        "[" * 100_000,
        b"\xff\xfe\xfd",
        "9" * 5000,
        "{'a': 1}",
        "[1,]",
    ],
)
def test_what_is_not_strict_json_is_a_value_error(text: str | bytes):
    with pytest.raises(ValueError):
        parse_json(text)


def test_a_doubled_key_is_named():
    with pytest.raises(ValueError, match="'b' stands twice"):
        parse_json('{"a": {"b": 1, "c": 2, "b": 3}}')


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is empty"),
        (" \t ", "is empty"),
        ("x" * (MAX_TOOL_ID + 1), "has 257 characters, at most 256 are taken"),
        ("a\nb", "holds the unprintable character U+000A at position 1"),
        ("\x7f", "holds the unprintable character U+007F at position 0"),
        ("ab\ud800", "holds the unprintable character U+D800 at position 2"),
        ("a\u2028", "holds the unprintable character U+2028 at position 1"),
    ],
)
def test_a_name_that_cannot_be_shown_or_stored_is_refused(text: str, problem: str):
    assert name_problem(text) == problem


@pytest.mark.parametrize("text", ["a", "x" * MAX_TOOL_ID, "API-post/search", "résumé 履歴", "a.b.c", "🦊"])
def test_real_names_pass(text: str):
    assert name_problem(text) is None


def test_a_short_digest_is_its_first_twelve_digits():
    assert short(digest({})) == short(digest({}).removeprefix("sha256:")) == "44136fa355b3"
