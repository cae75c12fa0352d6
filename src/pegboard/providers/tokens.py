"""Tokens: what a request's tools take, counted on the JSON that goes over the wire, in one named encoding.

Two counts compare only where their encoding is one: adding others is refused. What a provider has in its prompt cache
already is counted apart, since it costs a part of the price.
"""

from collections.abc import Callable
from dataclasses import dataclass

from pegboard.core.names import Json, compact_json

__all__ = ["Tokens", "count_tokens"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """Tokens of definitions, of which encoding, and how many of them the provider was sent before."""

    encoding: str
    cached: int = 0
    uncached: int = 0

    @property
    def total(self) -> int:
        """Return all that the model reads."""
        return self.cached + self.uncached

    def __add__(self, other: "Tokens") -> "Tokens":
        """Add two counts.

        Raises:
            ValueError: Their encodings differ, so their sum would mean nothing.
        """
        if self.encoding != other.encoding:
            raise ValueError(f"tokens of {self.encoding!r} and of {other.encoding!r} cannot be added or compared")
        return Tokens(
            encoding=self.encoding, cached=self.cached + other.cached, uncached=self.uncached + other.uncached
        )


def count_tokens(payload: Json, counter: tuple[str, Callable[[str], int]], *, cached: Json = ()) -> Tokens:
    """Count a rendered payload, in any target's shape.

    Args:
        payload: What goes over the wire in this request for the first time.
        counter: The encoding's name and the function that counts a text in it (`adapters/tokens.py`).
        cached: What was sent before, byte for byte, and is sent again or kept by the provider; empty if nothing.
    """
    encoding, count = counter
    before = count(compact_json(cached)) if cached else 0
    return Tokens(encoding=encoding, cached=before, uncached=count(compact_json(payload)) if payload else 0)
