"""Inputs: what a tool's server asks of whoever called it, while the call runs.

It goes beside the call and not through the gate, as progress does: what a person or a model answers is an argument of
that server's own work and nothing else. It decides nothing here, and no approval is given by it.

Source: MCP 2025-11-25 and 2026-07-28, elicitation and sampling; DESIGN section 8, step 8.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

from pegboard.service.beside import Beside

__all__ = ["Answering", "Asked", "Kind", "RefusedInputError", "answered_by", "kind_of", "who_answers"]


class Kind(StrEnum):
    """What a server can ask."""

    FORM = "form"
    """That a person fills in a form."""
    URL = "url"
    """That a person opens an address."""
    SAMPLING = "sampling"
    """That the client's model says something."""


# Method and mode -> the kind. What has no row here is asked of nobody.
_KINDS: Mapping[tuple[str, str], Kind] = {
    ("elicitation/create", "form"): Kind.FORM,
    ("elicitation/create", "url"): Kind.URL,
    ("sampling/createMessage", "form"): Kind.SAMPLING,  # it has no mode, and unsaid is `form`
}


def kind_of(method: object, params: object) -> Kind | None:
    """Say what is asked, None where it is nothing that could be passed on."""
    mode = params.get("mode", "form") if isinstance(params, Mapping) else None
    return _KINDS.get((method, mode)) if isinstance(method, str) and isinstance(mode, str) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What one server asks: a method of the protocol and its parameters, as they were sent."""

    server: str
    kind: Kind
    method: str
    params: Mapping[str, Any] = field(repr=False)


@dataclass(unsafe_hash=True)
class RefusedInputError(Exception):
    """Nobody answers this; a server is told so at once."""

    code: int
    message: str

    def __str__(self) -> str:
        return self.message


Answer: TypeAlias = Callable[[Asked], Awaitable[Mapping[str, Any]]]
"""Gets an answer as it is to be sent back, or raises `RefusedInputError`; it waits no longer than its maker says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answering:
    """Who answers, and what."""

    kinds: frozenset[Kind]
    answer: Answer


_ANSWERING: Beside[Answering] = Beside("answering")


def answered_by(answering: Answering) -> AbstractContextManager[None]:
    """Have what is asked of calls in the body, by this task, answered so."""
    return _ANSWERING.said(answering)


def who_answers() -> Answering | None:
    """Return who answers for the call that this task makes, None where nobody does."""
    return _ANSWERING.now()
