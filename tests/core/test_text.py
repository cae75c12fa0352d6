"""Cleaned text holds nothing that a reader cannot see."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.text import clean, escaped, hidden, one_line
from tests.strategies import cases

# Mostly what is dangerous, so that sequences are drawn whole, broken and nested in each other.
pieces = st.sampled_from(
    ["\x1b", "[", "]", "31m", "\x9b", "\x07", "\\", "\x1b[0m", "\u200b", "\u202e", "\U000e0041", "a"]
)
texts = st.lists(pieces | st.characters(), max_size=12).map("".join)


@cases(300, 50_000)
@given(texts)
def test_cleaning_twice_is_cleaning_once(text: str):
    assert clean(clean(text)) == clean(text)
    assert not hidden(clean(text))


@given(texts)
def test_hidden_says_exactly_when_cleaning_would_change_a_text(text: str):
    assert hidden(text) == (clean(text) != text)


@given(texts)
def test_no_control_or_format_character_is_left(text: str):
    left = {character for character in clean(text) if unicodedata.category(character) in {"Cc", "Cs"}}
    assert left <= {"\t", "\n", "\r"}


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("plain text, résumé, 履歴, 🦊\n\tend", "plain text, résumé, 履歴, 🦊\n\tend"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07shown", "shown"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b31mred", "red"),
        ("pay\u200b\u2060ment", "payment"),
        ("\u202eevil\u202c", "evil"),
        ("a" + "".join(chr(0xE0000 + ord(c)) for c in "ignore") + "b", "ab"),
        ("nul\x00 and bell\x07", "nul and bell"),
        ("lone \ud800", "lone "),
    ],
)
def test_what_cannot_be_seen_is_taken_out(text: str, cleaned: str):
    assert clean(text) == cleaned


@given(texts, st.integers(1, 20))
def test_one_line_is_one_line_of_at_most_its_limit(text: str, limit: int):
    found = one_line(text, limit)
    assert len(found) <= limit
    assert len(found.splitlines()) <= 1
    assert not hidden(found)


@given(texts)
def test_an_escaped_text_hides_nothing_and_a_plain_one_stays(text: str):
    assert not hidden(escaped(text))
    assert (escaped(text) == text) == (not hidden(text))


def test_what_cannot_be_seen_is_written_as_its_code_point():
    assert escaped("pay\u200bment \x1b[31mred\U000e0041\n") == "pay\\u{200b}ment \\u{001b}[31mred\\u{e0041}\n"
