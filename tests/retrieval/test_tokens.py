"""Terms: the same word comes out the same, however it is written and on whichever side."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.retrieval.tokens import has_words, language, terms, words
from pegboard.retrieval.words import FUNCTION_WORDS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("getUserByID", ["get", "user", "by", "id"]),
        ("create_pull-request.v2/merge", ["create", "pull", "request", "v2", "merge"]),
        ("HTTPServer", ["http", "server", "httpserver"]),
        ("GitHub", ["git", "hub", "github"]),
        ("list PDFs and URLs", ["list", "pdfs", "and", "urls"]),
        ("ＦＵＬＬ　ｗｉｄｔｈ", ["full", "width"]),
        ("straße", ["strasse"]),
        ("S3 bucket 42", ["s3", "bucket", "42"]),
        ("", []),
        ("?!… —", []),
        ("🙂🚀", []),
        ("a" * 65, []),
    ],
)
def test_words_are_split_and_folded(text, expected):
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Could you please help me to cancel the orders?", ["cancel", "order"]),
        ("refunding refunds refunded", ["refund", "refund", "refund"]),
        ("the of and", []),
        ("résumé resumes", ["resum", "resum"]),
        ("查询天气", ["查询", "询天", "天气"]),
        ("雨", ["雨"]),
        ("удалить заказы", ["удал", "заказ"]),
        ("weather in 東京", ["weather", "東京"]),
        ("मौसम की जानकारी", None),
        ("ค้นหาอีเมล", None),
        ("חפש הזמנות", None),
    ],
)
def test_terms_are_stemmed_in_their_script(text, expected):
    found = terms(text)
    assert found == expected if expected is not None else found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("busca todos los pedidos de un cliente y cancela el último", "spanish"),
        ("supprimer toutes les commandes du client dans le panier", "french"),
        ("zeige alle Bestellungen von einem Kunden und storniere die letzte", "german"),
        ("cancel the last order of this customer", "english"),
        ("list orders", "english"),
        ("", "english"),
    ],
)
def test_a_language_is_told_by_its_function_words(text, expected):
    assert language(text) == expected


def test_a_tool_in_another_language_is_found_by_a_word_that_does_not_show_its_language():
    described = terms("Cancela los pedidos de un cliente en la tienda", both=True)
    assert set(terms("pedidos cancela")) <= set(described)


def test_no_more_terms_come_than_asked_for():
    assert len(terms("one two three four " * 100, 7)) == 7


@given(st.text())
def test_any_text_has_terms_without_blanks_or_capitals(text):
    assert all(term and term == term.lower() and not any(map(str.isspace, term)) for term in terms(text))


@given(st.lists(st.sampled_from(["order", "refund", "Größe", "naïve", "пример", "天気", "قائمة"]), max_size=6))
def test_case_and_width_make_no_difference_to_a_term(found):
    text = " ".join(found)
    assert terms(text.upper()) == terms(text) or "ß" in text.casefold() or "SS" in text.upper()


@given(st.text() | st.just("x" * 65) | st.just("x" * 64))
def test_a_text_has_words_where_some_are_found(text):
    assert has_words(text) == bool(words(text))


@given(st.lists(st.sampled_from(sorted(frozenset[str]().union(*FUNCTION_WORDS.values()) | {"invoice"})), max_size=6))
def test_another_language_than_english_has_more_function_words_than_every_one_before_it(found):
    said = {word for word in found if word.isalnum()}
    counts = {name: len(said & listed) for name, listed in FUNCTION_WORDS.items()}
    most = max(1, counts["english"], *counts.values())
    expected = "english" if counts["english"] == most or most == 1 else next(n for n, c in counts.items() if c == most)
    assert language(" ".join(said)) == expected
