"""Fields of a tool as it came from outside: read strictly, each with its own words of what is wrong."""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, TypeVar

from pegboard.core.catalog import ALWAYS, Flow, Proposal, Reach, Risk
from pegboard.engine.bounds import kind_of

__all__ = ["Unfit", "flag", "maybe_text", "pinned", "proposal", "text", "texts"]

_SURROGATE = re.compile("[\ud800-\udfff]")
_MAX_TEXT = 1_000
_MAX_LIST = 100

_Word = TypeVar("_Word", bound=StrEnum)


class Unfit(ValueError):
    """A part of a tool is not what it must be. Stays inside intake, which answers with a refusal."""


def text(value: Any, what: str, limit: int = _MAX_TEXT) -> str:
    """Return a text of at most *limit* characters that can be encoded."""
    if value is None:
        raise Unfit(f"{what} is missing")
    if not isinstance(value, str):
        raise Unfit(f"{what} is {kind_of(value)}, not a text")
    if len(value) > limit:
        raise Unfit(f"{what} has {len(value):,} characters, at most {limit:,} are taken")
    if _SURROGATE.search(value):
        raise Unfit(f"{what} holds half a surrogate pair, which no JSON text can")
    return value


def maybe_text(given: Mapping[str, Any], field: str, limit: int = _MAX_TEXT) -> str | None:
    """Return the text of a field that may be left out."""
    return None if given.get(field) is None else text(given[field], f"its {field}", limit)


def texts(given: Mapping[str, Any], field: str) -> tuple[str, ...]:
    """Return the texts of a list that may be left out."""
    value = given.get(field)
    if value is None:
        return ()
    if not isinstance(value, list) or len(value) > _MAX_LIST:
        raise Unfit(f"its {field} must be a list of at most {_MAX_LIST} texts")
    return tuple(text(item, f"an item of its {field}") for item in value)


def flag(given: Mapping[str, Any], field: str) -> bool:
    """Return the field, true where it is left out."""
    value = given.get(field)
    if value is not None and not isinstance(value, bool):
        raise Unfit(f"its {field} must be true or false")
    return value is not False


def pinned(given: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the stages in which the tool is loaded without ranking: `never`, `always`, or a list of stages."""
    value = given.get("pinned")
    if value is None or value == "never":
        return ()
    if value == "always":
        return (ALWAYS,)
    if isinstance(value, str):
        raise Unfit("its pinned must be never, always, or a list of stages")
    return texts(given, "pinned")


def proposal(given: Mapping[str, Any]) -> Proposal:
    """Return what the line would have locked; it grants nothing."""
    risk, reach = _word(Risk, given, "risk"), _word(Reach, given, "reach")
    if risk is Risk.READ and reach is Reach.OPEN:
        raise Unfit("its reach is open, so its risk cannot be read")
    flow = (
        None if given.get("flow") is None else frozenset(_member(Flow, item, "flow") for item in texts(given, "flow"))
    )
    return Proposal(access=maybe_text(given, "access"), risk=risk, reach=reach, flow=flow)


def _word(words: type[_Word], given: Mapping[str, Any], field: str) -> _Word | None:
    value = maybe_text(given, field)
    return None if value is None else _member(words, value, field)


def _member(words: type[_Word], value: str, field: str) -> _Word:
    if value not in set(words):
        raise Unfit(f"its {field} must be one of {', '.join(words)}, and is {value[:40]!r}")
    return words(value)
