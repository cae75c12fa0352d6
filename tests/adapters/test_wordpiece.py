"""The tokenisation that both shipped encoders use, held to the `tokenizers` package where that is installed."""

import random
import sys
import unicodedata
from functools import cache
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.adapters.wordpiece import MAX_CHARACTERS, WordPiece, split_words

SMALL = WordPiece({"pay": 1, "##ment": 2, "##s": 3, "invoice": 4, "支": 5, "!": 6}, unknown=0)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("Payments", [1, 2, 3]),
        ("PAY invoice!", [1, 4, 6]),
        ("pay\tinvoice\u00a0pay", [1, 4, 1]),
        ("päyménts", [1, 2, 3]),
        ("pay\u200bment", [1, 2]),
        ("支支", [5, 5]),
        ("payx", [0]),
        ("p" * 101, [0]),
        ("", []),
        (" \n ", []),
    ],
)
def test_a_text_is_cut_into_the_longest_known_pieces(text: str, ids: list[int]) -> None:
    assert SMALL.ids(text, 10) == ids


def test_ids_stop_at_the_limit_even_inside_a_word() -> None:
    assert SMALL.ids("payments payments", 4) == [1, 2, 3, 1]


def test_a_special_token_typed_by_a_user_is_plain_text() -> None:
    assert split_words("[SEP] [MASK]") == ["[", "sep", "]", "[", "mask", "]"]


def test_a_text_of_a_megabyte_is_read_only_at_its_start() -> None:
    assert len(split_words("a " * 500_000)) == MAX_CHARACTERS // 2


@cache
def static_vocabulary() -> tuple[str, ...]:
    text = (files("pegboard.adapters") / "static_table" / "vocabulary.txt").read_text(encoding="utf-8")
    return tuple(text.split("\n")[:-1])


@cache
def reference() -> object:
    """Build the tokenizers package's BERT tokenizer over the shipped vocabulary."""
    tokenizers = pytest.importorskip("tokenizers", reason="the tokenizers package is not installed")
    tokens = static_vocabulary()
    vocabulary = {token: place for place, token in enumerate([*tokens, "[UNK]"])}
    made = tokenizers.Tokenizer(
        tokenizers.models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100)
    )
    made.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    return made


@cache
def ours() -> WordPiece:
    tokens = static_vocabulary()
    return WordPiece({token: place for place, token in enumerate(tokens)}, unknown=len(tokens))


def treatment_differs(char: str) -> bool:
    """Say whether the reference, whose character tables are of Unicode 8, treats one character otherwise."""
    made = reference()
    assert hasattr(made, "encode")
    return any(made.encode(text).ids != ours().ids(text, 99) for text in (char, f"a{char}b"))


def test_only_characters_outside_the_vocabulary_are_treated_otherwise() -> None:
    known = {char for token in static_vocabulary() for char in token}
    assigned = (
        chr(code) for code in range(sys.maxunicode) if unicodedata.category(chr(code)) not in ("Cn", "Co", "Cs")
    )
    sample = random.Random(0).sample(sorted(set(assigned) - known), 4000)
    differing = [char for char in sample if treatment_differs(char)]
    assert [char for char in sorted(known) if treatment_differs(char)] == []
    assert len(differing) < 0.02 * len(sample)


WRITTEN = st.characters(codec="utf-8", exclude_categories=["Cs", "Cn", "Co"], max_codepoint=0x1FFFF)


@given(st.text(WRITTEN.filter(lambda char: not treatment_differs(char)), max_size=60))
def test_any_text_is_cut_as_the_tokenizers_package_cuts_it(text: str) -> None:
    made = reference()
    assert hasattr(made, "encode")
    assert ours().ids(text, 10_000) == made.encode(text).ids


@given(st.text("aäÄßİıSs .,'-_$[]2支한é\u0301\u200d\t", max_size=80))
def test_ordinary_texts_are_cut_as_the_tokenizers_package_cuts_them(text: str) -> None:
    made = reference()
    assert hasattr(made, "encode")
    assert ours().ids(text, 10_000) == made.encode(text).ids
