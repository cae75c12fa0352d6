"""Calls and outputs in the words that all APIs share."""

import pytest

from pegboard.providers import anthropic, chat, gemini, openai
from pegboard.providers.calls import arguments_of, result_text
from pegboard.providers.searching import limit_of, task_of


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ("said", "said"),
        (["a", 1], '["a",1]'),
        ({"n": 1}, '{"n":1}'),
        ({"content": "no list"}, '{"content":"no list"}'),
        ({"content": ["odd"]}, '"odd"'),
        ({"content": [{"type": "resource", "resource": {"uri": "x", "text": "inside"}}]}, "inside"),
        ({"content": [{"type": "resource", "resource": {"uri": "x", "blob": "AAAA"}}]}, "[resource, not shown]"),
        ({"content": [{"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}]}, "[audio audio/wav, not shown]"),
        ("half \ud800", "half ?"),
        ({"structuredContent": {"n": float("nan")}}, "[a result that is no JSON, not shown]"),
        ({"n": object()}, "[a result that is no JSON, not shown]"),
    ],
)
def test_what_a_tool_gave_is_one_text(result, text):
    assert result_text(result) == text


def test_arguments_are_unwrapped_a_few_times_and_no_more():
    deep = '"\\"\\\\\\"{}\\\\\\"\\""'
    assert isinstance(arguments_of(deep), str)
    assert arguments_of('"{}"') == {}


@pytest.mark.parametrize("arguments", [None, 3, ["a"], True])
def test_a_search_that_says_nothing_asks_for_nothing(arguments):
    assert (task_of(arguments), limit_of(arguments)) == ("", None)


@pytest.mark.parametrize(
    ("module", "tools", "names"),
    [
        (openai, [{"type": "namespace", "name": "ns", "tools": [{"name": "a"}]}, {"type": "mcp"}, {"x": 1}, None],
         ["ns", "a", "mcp"]),
        (chat, [{"type": "custom", "custom": {"name": "a"}}, {"type": "function"}, None], ["a"]),
        (anthropic, [{"name": "a"}, {"type": "mcp_toolset", "mcp_server_name": "x"}, None], ["a"]),
        (gemini, [{"function_declarations": [{"name": "a"}, {}]}, {"functionDeclarations": [{"name": "b"}]}, None],
         ["a", "b"]),
    ],
)  # fmt: skip
def test_the_names_that_an_applications_own_tools_take(module, tools, names):
    assert list(module.own_names(tools)) == names


def test_a_search_that_the_provider_executes_is_none_of_ours():
    hosted = {"type": "tool_search_call", "call_id": None, "execution": "server", "arguments": {}}
    assert list(openai.read({"output": [hosted]})) == []
