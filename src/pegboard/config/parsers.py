"""Parsers of configured values: small pieces from which `sections.py` builds its tables of keys.

A parser takes a decoded TOML value and its place, and returns the typed value or raises `Problems`. A section
gathers the problems of all its keys, so that everything wrong in a file is known at once. No message repeats a
value that could be a secret: it says of which kind the value is.
"""

import datetime
import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias, TypeVar

from pegboard.core.errors import ConfigError
from pegboard.core.names import name_problem

__all__ = [
    "At",
    "Parser",
    "Problems",
    "at_most_one_of",
    "by_name",
    "choice",
    "flag",
    "integer",
    "listing",
    "name",
    "names",
    "nearest",
    "number",
    "section",
    "text",
    "texts",
    "wrong",
]

_Value = TypeVar("_Value")
_Choice = TypeVar("_Choice", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class At:
    """Where a value stands: the file, and the dotted path in it."""

    file: str
    path: str = ""

    def key(self, key: str) -> "At":
        """Return the place of a key in this table, quoted where TOML would quote it."""
        bare = key.replace("-", "").replace("_", "").isalnum() and key.isascii()
        return At(self.file, f"{self.path}.{key if bare else repr(key)}".lstrip("."))

    def item(self, number: int) -> "At":
        """Return the place of an element, counted from 1 as people do."""
        return At(self.file, f"{self.path}[{number}]")

    def __str__(self) -> str:
        return f"{self.file}: {self.path}" if self.path else self.file


class Problems(Exception):
    """Everything that is wrong in one value, at least one; gathered by sections, never seen outside this room."""

    def __init__(self, errors: Iterable[ConfigError]) -> None:
        super().__init__()
        self.errors = tuple(errors)


Parser: TypeAlias = Callable[[Any, At], _Value]

_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "true or false"),
    ((int, float), "a number"),
    (str, "a text"),
    (list, "a list"),
    (Mapping, "a table"),
    ((datetime.date, datetime.time), "a date or time"),
)


# TOML's whole numbers have 64 bits.
_WHOLE = 1 << 63


def wrong(at: At, problem: str, fix: str | None = None) -> Problems:
    """Return the problem of one value, to be raised."""
    return Problems([ConfigError(problem, str(at), fix)])


def nearest(word: str, known: Iterable[str]) -> str:
    """Say which known word is meant, or which there are where none is near."""
    found = difflib.get_close_matches(word, sorted(known), n=1, cutoff=0.5)
    return f"did you mean {found[0]!r}?" if found else f"known here: {', '.join(sorted(known)) or 'none'}"


def text(value: Any, at: At) -> str:
    """Take a text that is not empty."""
    if not isinstance(value, str):
        raise _needs(at, "a text", value)
    if not value.strip():
        raise wrong(at, f"{_last(at)} is empty", "leave it out, or say something")
    return value


def name(value: Any, at: At) -> str:
    """Take a text that can name a tool, a namespace or a server."""
    found = text(value, at)
    if problem := name_problem(found):
        raise wrong(at, f"{_last(at)} {problem}")
    return found


def flag(value: Any, at: At) -> bool:
    """Take true or false."""
    if not isinstance(value, bool):
        raise _needs(at, "true or false", value)
    return value


def integer(least: int | None = None) -> Parser[int]:
    """Take a whole number, of at least *least*."""

    def parse(value: Any, at: At) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise _needs(at, "a whole number", value)
        _bounded(value, at)
        if least is not None and value < least:
            raise wrong(at, f"{_last(at)} must be at least {least}, not {value}")
        return value

    return parse


def number(least: float, most: float) -> Parser[float]:
    """Take a number from *least* to *most*."""

    def parse(value: Any, at: At) -> float:
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise _needs(at, "a number", value)
        _bounded(value, at)
        if not least <= value <= most:  # no comparison holds for NaN
            raise wrong(at, f"{_last(at)} must be from {least:g} to {most:g}, not {value}")
        return float(value)

    return parse


def choice(kind: type[_Choice]) -> Parser[_Choice]:
    """Take one of the words of an enumeration."""

    def parse(value: Any, at: At) -> _Choice:
        found = text(value, at)
        if found not in list(kind):
            raise wrong(at, f"{_last(at)} cannot be {found!r}", nearest(found, map(str, kind)))
        return kind(found)

    return parse


def listing(parse_item: Parser[_Value]) -> Parser[tuple[_Value, ...]]:
    """Take a list, each element by *parse_item*; problems of all elements are gathered."""

    def parse(value: Any, at: At) -> tuple[_Value, ...]:
        if not isinstance(value, list):
            raise _needs(at, "a list", value)
        return tuple(_gather((parse_item, item, at.item(place)) for place, item in enumerate(value, start=1)))

    return parse


texts = listing(text)


def names(value: Any, at: At) -> frozenset[str]:
    """Take a list of texts as a set."""
    return frozenset(texts(value, at))


def by_name(parse_item: Parser[_Value]) -> Parser[dict[str, _Value]]:
    """Take a table whose keys are names of the operator's choice, each value by *parse_item*."""

    def parse(value: Any, at: At) -> dict[str, _Value]:
        table = _table(value, at)
        for key in table:
            if problem := name_problem(key):
                raise wrong(at.key(key), f"the name {key!r} {problem}")
        return dict(zip(table, _gather((parse_item, item, at.key(key)) for key, item in table.items()), strict=True))

    return parse


def section(build: Callable[..., _Value], *, required: tuple[str, ...] = (), **keys: Parser[Any]) -> Parser[_Value]:
    """Take a table of known keys and pass what they say to *build* by name; what is unsaid is left to its defaults."""

    def parse(value: Any, at: At) -> _Value:
        table = _table(value, at)
        errors = [
            ConfigError(f"unknown key {key!r}", str(at.key(key)), nearest(key, keys))
            for key in table
            if key not in keys
        ]
        errors += [ConfigError(f"{key!r} is missing", str(at), f"add {key}") for key in required if key not in table]
        known = [key for key in table if key in keys]
        try:
            found = _gather((keys[key], table[key], at.key(key)) for key in known)
        except Problems as more:
            raise Problems([*errors, *more.errors]) from None
        if errors:
            raise Problems(errors)
        try:
            return build(**dict(zip(known, found, strict=True)))
        except ValueError as contradiction:
            raise wrong(at, str(contradiction)) from None

    return parse


def at_most_one_of(table: Mapping[str, object], *keys: str) -> None:
    """Refuse two keys of which only one can hold.

    Raises:
        ValueError: More than one is there.
    """
    both = [key for key in keys if table.get(key) is not None]
    if len(both) > 1:
        raise ValueError(f"{' and '.join(map(repr, both))} exclude each other")


def _gather(work: Iterable[tuple[Parser[_Value], Any, At]]) -> list[_Value]:
    found: list[_Value] = []
    errors: list[ConfigError] = []
    for parse, value, at in work:
        try:
            found.append(parse(value, at))
        except Problems as problems:
            errors += problems.errors
    if errors:
        raise Problems(errors)
    return found


def _bounded(value: float, at: At) -> None:
    """Refuse a whole number that TOML does not promise to keep; Python would not even print a very long one."""
    if isinstance(value, int) and not -_WHOLE <= value < _WHOLE:
        raise wrong(at, f"{_last(at)} has too many digits")


def _table(value: Any, at: At) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _needs(at, "a table", value)
    return value


def _needs(at: At, needed: str, value: object) -> Problems:
    kind = next((word for kinds, word in _KINDS if isinstance(value, kinds)), "nothing")
    return wrong(at, f"{_last(at)} must be {needed}, not {kind}")


def _last(at: At) -> str:
    """Name the key for a message; `where` has the whole path."""
    return f"'{at.path.rpartition('.')[2]}'" if at.path else "the file"
