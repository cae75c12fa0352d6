"""Token counts: exact with the optional `tokens` extra, a stated estimate without it.

The encoding is named wherever a count is shown, and no comparison ever mixes two.
"""

from collections.abc import Callable
from functools import cache, lru_cache
from importlib.util import find_spec
from typing import Any

__all__ = ["ESTIMATE", "O200K", "token_counter"]

ESTIMATE = "characters/4"
O200K = "o200k-json"
# A tool's definition is counted again and again; its text is the key.
_REMEMBERED = 4096


def token_counter() -> tuple[str, Callable[[str], int]]:
    """Return the name of the encoding and the function that counts a text's tokens in it."""
    return (O200K, _exact) if find_spec("bpe_openai") else (ESTIMATE, _estimate)


@cache
def _o200k() -> Any:
    # Loading takes most of a second, so it is left to the first text that is counted.
    import bpe_openai

    return bpe_openai.get_encoding("o200k_base")


@lru_cache(_REMEMBERED)
def _exact(text: str) -> int:
    # "Ordinary": a text that spells a special token is counted as the text it is.
    return len(_o200k().encode_ordinary(text))


def _estimate(text: str) -> int:
    return -(-len(text) // 4)
