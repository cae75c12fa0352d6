"""Mentions: which names a text gives away, and how they are taken out."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.mentions import ANOTHER, ToolNames, entry_texts, mentions, omit, redact
from pegboard.core.names import compact_json

SIBLINGS = ("get_user", "list-orders", "getOrder", "v2", "crm.find", "search", "Open", "工具", "工具-一")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Call get_user first.", ("get_user",)),
        ("see get_user.", ("get_user",)),
        ("(get_user)", ("get_user",)),
        ('"get_user"', ("get_user",)),
        ("get_user()", ("get_user",)),
        ("crm.get_user", ("get_user",)),
        ("**get_user**, then list-orders", ("get_user", "list-orders")),
        ("get_user->next; get_user--or not", ("get_user",)),
        ("- get_user\n- v2", ("get_user", "v2")),
        ("getOrder", ("getOrder",)),
        ("crm.find", ("crm.find",)),
        ("`search`", ("search",)),
        ("`search(query)`", ("search",)),
        ("``search``", ("search",)),
        ("`工具` 工具-一", ("工具", "工具-一")),
        ("search and Open things", ()),
        ("'search'", ()),
        ("`search orders`", ()),
        ("get_users", ()),
        ("forget_user", ()),
        ("get_user_by_id", ()),
        ("get_user-by-id", ()),
        ("pre-get_user", ()),
        ("GET_USER", ()),
        ("crm-find", ()),
        ("crm.findings", ()),
        ("工具", ()),
        ("", ()),
    ],
)
def test_a_name_is_mentioned_only_as_a_whole_token_that_looks_like_one(text, found):
    assert mentions([text], SIBLINGS, "own") == tuple(sorted(found))


# Names between what may stand before and after them in JSON: escapes, signs that join, characters that nobody sees.
_SIGNS = ("\n", "\t", "\\", '"', "-", "_", ".", "`", "\u200b", "\x1b[0m", "\x01", "n", " ")
_PIECES = st.lists(st.sampled_from([*SIBLINGS, *_SIGNS]), max_size=8).map("".join)


@given(_PIECES, _PIECES, _PIECES, st.sampled_from(SIBLINGS).map(lambda name: (name,)) | st.just(SIBLINGS[:7]))
def test_a_text_in_which_no_name_may_stand_mentions_none(description, value, key, names):
    schema = {"type": "object", "properties": {key: {"description": value, "enum": [value]}}, "$comment": description}
    index = ToolNames.of(names)
    if not index.may_stand_in((description, compact_json(schema))):
        assert mentions(entry_texts(description=description, input_schema=schema), index, "own") == ()


@pytest.mark.parametrize("text", ["get_user", "a\\get_user", "\\nget_user", "crm.find", "getOrder!"])
def test_where_a_name_may_stand_is_seen(text):
    assert ToolNames.of(SIBLINGS[:6]).may_stand_in(["", text])
    assert not ToolNames.of(SIBLINGS[:6]).may_stand_in(["", "an honest text"])


def test_an_empty_name_is_in_no_text():
    assert mentions(["", "`` a"], ["", "a_b"], "own") == ()


def test_a_tool_never_mentions_itself():
    assert mentions(["get_user is like getOrder"], SIBLINGS, "get_user") == ("getOrder",)


def test_a_name_inside_another_name_is_mentioned_too():
    assert mentions(["crm.get_user"], ("crm.get_user", "get_user"), "own") == ("crm.get_user", "get_user")


def test_the_longest_of_two_overlapping_names_is_redacted():
    assert redact("ask crm.get_user now", ("get_user", "crm.get_user")) == f"ask {ANOTHER} now"


@pytest.mark.parametrize(
    ("text", "hidden", "served"),
    [
        ("Call `get_user()` or get_user.", ("get_user",), "Call `another tool()` or another tool."),
        ("get_user and getOrder", ("get_user",), "another tool and getOrder"),
        ("nothing here", ("get_user",), "nothing here"),
        ("get_user", (), "get_user"),
        # The replacement completes a name, which goes as well.
        ("x.get_user", ("get_user", "x.another"), "another tool tool"),
    ],
)
def test_hidden_names_read_another_tool(text, hidden, served):
    assert redact(text, hidden) == served


def test_a_ranked_text_has_a_blank_where_a_name_was():
    assert omit("Call get_user first, then `search`.", SIBLINGS) == "Call   first, then ` `."


names = st.lists(
    st.one_of(
        st.sampled_from([*SIBLINGS, "another", "tool", "another tool", "x.another", "-", "a--b", "_", "tool.x"]),
        st.text("ab_-.`A1 工", min_size=1, max_size=6),
    ),
    max_size=6,
)
texts = st.builds(
    "".join,
    st.lists(st.one_of(st.sampled_from([*SIBLINGS, "x.another", "tool"]), st.text("ab_-.`( \nA1工")), max_size=12),
)


@given(texts, names)
def test_redacting_twice_changes_nothing_more(text, hidden):
    once = redact(text, hidden)
    assert redact(once, hidden) == once
    assert mentions([once], [name for name in hidden if name != ANOTHER], "") == ()


@given(texts, names)
def test_omitting_twice_changes_nothing_more(text, hidden):
    once = omit(text, hidden)
    assert omit(once, hidden) == once


@given(texts, names)
def test_every_bare_token_of_an_identifier_is_found(text, known):
    # The oracle is one regular expression for each name, in the words of the rule.
    identifiers = {name for name in known if re.search(r"[_.0-9-]", name) or re.search("[A-Z]", name[1:])}
    expected = {
        name for name in identifiers if re.search(rf"(?<![A-Za-z0-9_-]){re.escape(name)}(?![A-Za-z0-9_-])", text)
    }
    assert expected <= set(mentions([text], known, ""))


@given(texts, names)
def test_an_index_built_once_finds_what_plain_names_find(text, known):
    assert mentions([text], ToolNames.of(known), "own") == mentions([text], known, "own")


def test_every_text_of_a_schema_counts_but_the_names_it_needs():
    schema = {
        "title": "one",
        "description": "two",
        "$comment": "three",
        "properties": {"get_user": {"enum": ["four", {"five": ["six"]}], "x-hint": {"seven": "eight"}}},
        "required": ["get_user"],
        "items": [{"const": "nine"}, {"default": "ten"}],
        "anyOf": [{"examples": ["eleven"]}, True],
        "$defs": {"get_user": {"pattern": "twelve"}},
        "$ref": "#/$defs/get_user",
    }
    said = set(entry_texts(input_schema=schema))
    numbers = {"one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"}
    assert numbers <= said
    assert not any("get_user" in text for text in said)


def test_texts_are_read_as_they_will_be_served():
    assert mentions(entry_texts(title="get\u200b_user", description="\x1b[1mgetOrder"), SIBLINGS, "own") == (
        "getOrder",
        "get_user",
    )
