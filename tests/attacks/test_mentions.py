"""Attacks on the names that texts mention: what is quick to see as no mention must be none, whatever stands in it."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from pegboard.core.catalog import declare
from pegboard.core.mentions import ToolNames, entry_texts, mentions
from pegboard.engine.intake import related
from tests.strategies import cases

NAMES = ("get_order", "getUser", "x.run", "to-do", "b_1", "u0041_a")
HALVES = (("get_", "order"), ("get", "User"), ("x.", "run"), ("b_", "1"), ("to-", "do"), ("u0041", "_a"))
# What JSON writes otherwise, what `clean` takes out, and what ends a token.
BETWEEN = (*map(chr, range(0x20)), *'\\"/`.- ub\x7f\x9b\u200b\u00e9', "\x1b[31m", "\\b", "\\u", "")


def found(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the mentions of a text in every place of a tool, as intake finds them and one by one."""
    schema = {"type": "object", "properties": {"p": {"description": text, "enum": [text]}}}
    output, hints = {"type": "object", "default": [text]}, {"title": text}
    entry = declare(
        tool_id="s.own", namespace="s", source_server="s", name="own",
        input_schema=schema, output_schema=output, annotations=hints,
    )  # fmt: skip
    names = ToolNames.of(NAMES)
    texts = entry_texts(input_schema=schema, output_schema=output, annotations=hints)
    return related(entry, names).mentions, mentions(texts, names, "own")


@pytest.mark.parametrize("between", BETWEEN)
def test_a_name_that_something_unseen_parts_is_no_less_mentioned(between: str):
    quick, thorough = zip(*(found(f"Use {begin}{between}{end} first") for begin, end in HALVES), strict=True)
    assert quick == thorough


# One thing in between for a text, so that nothing else in it makes a careful reading of it.
TEXTS = some.sampled_from(BETWEEN).flatmap(
    lambda between: some.lists(
        some.sampled_from([between, "\\", " ", "`", *NAMES, *(half for halves in HALVES for half in halves)]),
        max_size=6,
    ).map("".join)
)


@given(TEXTS)
@cases(200, 20_000)
def test_no_mention_is_overlooked_however_it_is_written(text: str):
    quick, thorough = found(text)
    assert quick == thorough
