"""The gateway's own three tools: what is read of their arguments, and how tools are told in a line."""

from dataclasses import asdict
from typing import Any

import pytest

from pegboard.gateway.headers import without_headers
from pegboard.gateway.meta_tools import Problem, as_call, as_description, as_search, meta_tools, signature


@pytest.mark.parametrize(
    ("read", "arguments", "taken"),
    [
        (as_search, {"task": "pay"}, {"task": "pay", "limit": None, "detail": "full"}),
        (as_search, {"query": " pay ", "limit": 3}, {"task": "pay", "limit": 3, "detail": "full"}),
        (
            as_search,
            {"task": "pay", "limit": 999, "detail": "compact"},
            {"task": "pay", "limit": 20, "detail": "compact"},
        ),
        (as_search, {"task": "pay", "limit": "many", "detail": None}, {"task": "pay", "limit": None, "detail": "full"}),
        (as_description, {"tool": "a"}, {"tool": "a", "selection": None}),
        (as_description, {"tool": "a", "selection": "s"}, {"tool": "a", "selection": "s"}),
        (as_call, {"tool": "a"}, {"tool": "a", "arguments": {}, "selection": None, "key": None}),
        (
            as_call,
            {"tool": "a", "arguments": None, "selection": None, "key": None},
            {"tool": "a", "arguments": {}, "selection": None, "key": None},
        ),
        (
            as_call,
            {"tool": "a", "arguments": 7, "selection": "", "key": "k"},
            {"tool": "a", "arguments": 7, "selection": None, "key": "k"},
        ),
        (as_call, {"tool": "\ud800"}, {"tool": "?", "arguments": {}, "selection": None, "key": None}),
    ],
)
def test_what_a_model_asks_is_read(read: Any, arguments: dict[str, Any], taken: dict[str, Any]):
    assert asdict(read(arguments)) == taken


@pytest.mark.parametrize(
    ("read", "arguments", "path"),
    [
        (as_search, {}, "/task"),
        (as_search, {"task": 7}, "/task"),
        (as_search, {"task": "  "}, "/task"),
        (as_search, {"task": "pay", "detail": "all"}, "/detail"),
        (as_search, {"task": "pay", "detail": ["full"]}, "/detail"),
        (as_description, {}, "/tool"),
        (as_description, {"tool": ["a"]}, "/tool"),
        (as_description, {"tool": "a", "selection": 7}, "/selection"),
        (as_call, {"arguments": {}}, "/tool"),
        (as_call, {"tool": ""}, "/tool"),
        (as_call, {"tool": "a", "selection": 7}, "/selection"),
        (as_call, {"tool": "a", "key": {}}, "/key"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_place(read: Any, arguments: dict[str, Any], path: str):
    found = read(arguments)
    assert isinstance(found, Problem)
    assert found.path == path


def test_the_search_names_the_callers_namespaces_in_order_and_no_more_than_thirty():
    text = str(meta_tools({f"n{number:02}" for number in range(40)})[0]["description"])
    assert "n00, n01, n02" in text
    assert "n29 and 10 more" in text
    assert "n30" not in text


def test_the_same_namespaces_give_the_same_texts():
    assert meta_tools(["b", "a"]) == meta_tools(["a", "b", "a"])


@pytest.mark.parametrize(
    ("schema", "line"),
    [
        ({"type": "object"}, "t()"),
        (
            {"properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["b"]},
            "t(b: integer, a?: string)",
        ),
        (
            {"properties": {"a": {"enum": ["x", "y"]}, "b": {"type": ["string", "null"]}}},
            't(a?: "x" | "y", b?: string | null)',
        ),
        ({"properties": {"a": True, "b": {"anyOf": []}, "c": {"type": []}}}, "t(a?: any, b?: any, c?: any)"),
        ({"properties": [], "required": 7}, "t()"),
        ({"properties": {"a": {}}, "required": [["a"], 7]}, "t(a?: any)"),
        ({"properties": {"a": {"enum": list(range(9)), "type": "integer"}}}, "t(a?: integer)"),
    ],
)
def test_a_signature_says_what_must_be_given_first(schema: dict[str, Any], line: str):
    assert signature("t", schema) == line


def test_a_signature_ends_somewhere():
    schema = {"properties": {f"p{number}": {"type": "string"} for number in range(99)}}
    assert signature("t", schema).endswith("p23?: string, …)")


@pytest.mark.parametrize(
    ("declared", "served"),
    [
        ({"properties": {"a": {"type": "string", "x-mcp-header": "A"}}}, {"properties": {"a": {"type": "string"}}}),
        ({"anyOf": [{"x-mcp-header": "A"}], "items": {"x-mcp-header": "A"}}, {"anyOf": [{}], "items": {}}),
        ({"properties": {"x-mcp-header": {"type": "string"}}}, {"properties": {"x-mcp-header": {"type": "string"}}}),
        (
            {"default": {"x-mcp-header": "A"}, "enum": [{"x-mcp-header": 1}]},
            {"default": {"x-mcp-header": "A"}, "enum": [{"x-mcp-header": 1}]},
        ),
    ],
)
def test_headers_are_asked_of_nobody(declared: dict[str, Any], served: dict[str, Any]):
    assert without_headers(declared) == served
