"""BM25F against the formula written out, and its logarithm against the platform's."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.retrieval.bm25 import IDF_ONE, idf
from pegboard.retrieval.building import FIELDS, weigh
from pegboard.retrieval.documents import document
from tests.retrieval.made import catalogs, index_of, only, sentences


@given(st.integers(0, 2_000_000), st.data())
def test_the_logarithm_is_right_to_its_last_digit(count, data):
    frequency = data.draw(st.integers(0, count))
    exact = math.log(1 + (count - frequency + 0.5) / (frequency + 0.5))
    assert abs(idf(count, frequency) - exact * IDF_ONE) <= 0.5 + 1e-6


@given(catalogs, sentences, st.data())
def test_scores_are_those_of_the_formula_over_the_eligible_tools(catalog, text, data):
    snapshot, index = index_of(catalog)
    kept = set(data.draw(st.sets(st.sampled_from([one.tool_id for one in catalog]))) if catalog else ())
    eligible = only(snapshot, kept)
    if not eligible.count:
        return
    asked = text.lower().split()
    matches = index.postings.match([asked], index.postings.view(eligible))
    found = dict(zip(eligible.rows[matches.places].tolist(), matches.scores[0].tolist(), strict=True))

    entries = [snapshot.entries[row] for row in eligible.rows.tolist()]
    expected = list(_formula(asked, entries))
    for row, score in zip(eligible.rows.tolist(), expected, strict=True):
        assert found.get(row, 0) == pytest.approx(score * IDF_ONE, abs=len(asked) * 1.5)


def _formula(asked, entries):
    documents = [weigh(document(entry)) for entry in entries]
    mean = sum(length for _, length in documents) / len(documents) or 1
    for weights, length in documents:
        total = 0.0
        for term in asked:
            frequency = sum(term in other for other, _ in documents)
            rarity = math.log(1 + (len(documents) - frequency + 0.5) / (frequency + 0.5))
            weight = weights.get(term, 0) / 10
            total += rarity * weight / (weight + 1.4 * (1 - 0.75 + 0.75 * length / mean))
        yield total


def test_a_rarer_term_counts_more_and_a_name_more_than_a_parameter():
    assert idf(100, 1) > idf(100, 50) > idf(100, 100) >= 0
    assert FIELDS["name"].weight > FIELDS["namespace"].weight > FIELDS["text"].weight > FIELDS["parameters"].weight


def test_terms_that_no_tool_holds_match_nothing():
    snapshot, index = index_of([])
    matches = index.postings.match([["x"], []], index.postings.view(only(snapshot)))
    assert matches.places.tolist() == []
    assert matches.scores.shape == (2, 0)
    assert matches.weights == {"x": idf(0, 0)}
    assert np.array_equal(index.postings.starts, [0])
