"""Proposal parameters: what a tool's parameters say of its risk, which can only raise what its name says.

A name promises; parameters tell what can be asked. `get_report` with a parameter for SQL runs SQL, and `issues` with an
`action` of `delete` deletes.

Source: DESIGN section 4; measured by bench/proposals.py.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pegboard.core.catalog import Reach, Risk
from pegboard.core.names import Json
from pegboard.engine.proposal_words import words_of

__all__ = ["KINDS", "RAISING", "Parameters", "parameters"]

# Kinds of parameters, by the last word or the last two words of their names, or by the whole name.
KINDS: Mapping[str, frozenset[str]] = {
    "program": frozenset(
        {"sql", "command", "commands", "cmd", "script", "javascript", "shell", "cypher", "graphql", "bash"}
        | {"sql query", "sql statement", "cypher query", "graphql query", "python code", "js code", "custom code"}
    ),
    "address": frozenset({"url", "uri", "endpoint", "path", "href"}),
    "method": frozenset({"method", "http method", "request method"}),
    "tool": frozenset({"tool name", "tool", "function name", "operation name", "action name"}),
    "arguments": frozenset({"arguments", "args", "params", "parameters", "input", "kwargs", "payload", "data"}),
    "action": frozenset({"action", "operation", "op", "command", "mode", "action type"}),
    "rehearsal": frozenset({"dry run", "overwrite", "force"}),
    "file": frozenset({"output path", "output dir", "output file", "save path", "target path", "dest path"}),
    "link": frozenset({"url", "urls", "uri", "href", "webhook"}),
    "recipient": frozenset(
        {"to", "cc", "bcc", "recipient", "recipients", "participants", "attendees", "invitees", "email", "emails"}
        | {"phone number", "channel", "webhook"}
    ),
}
# `auth_method` is no method, and `last_action` tells what happened.
_WHOLE = frozenset({"method", "action"})
# What parameters of these kinds, all of them together, raise a tool to.
RAISING: tuple[tuple[frozenset[str], Risk, Reach], ...] = (
    (frozenset({"program"}), Risk.DESTRUCTIVE, Reach.OPEN),
    (frozenset({"address", "method"}), Risk.DESTRUCTIVE, Reach.OPEN),
    (frozenset({"tool", "arguments"}), Risk.DESTRUCTIVE, Reach.OPEN),
    (frozenset({"rehearsal"}), Risk.WRITE, Reach.BOUNDED),
    (frozenset({"file"}), Risk.WRITE, Reach.BOUNDED),
)
# A text that is said to be run in one of these is a program, whatever it is called.
_LANGUAGE = re.compile(r"\b(?:SQL|javascript|python|shell|bash|cypher|graphql|apex|powershell)\b", re.IGNORECASE)
_RUN = re.compile(
    r"\b(?:execut\w{0,4}|run|evaluat\w{0,4}|query|queries|statements?|scripts?|snippets?)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Parameters:
    """What proposals need to know of an input schema."""

    kinds: frozenset[str]
    """Those of `KINDS` that are there."""
    actions: tuple[str, ...]
    """The values that a parameter of the kind `action` can have, as far as the schema tells them."""


def parameters(schema: Json) -> Parameters:
    """Read the parameters of an input schema, and those inside of one that is an object."""
    kinds: set[str] = set()
    actions: list[str] = []
    for name, parameter in _named(schema, depth=2):
        words = words_of(name)
        whole, end = {" ".join(words)}, {" ".join(words[-2:]), *words[-1:]}
        found = {kind for kind, names in KINDS.items() if not names.isdisjoint(whole if kind in _WHOLE else end)}
        if _is_program(parameter):
            found.add("program")
        if "action" in found:
            actions += _values(parameter)
        kinds |= found
    return Parameters(frozenset(kinds), tuple(actions))


def _named(schema: Json, depth: int) -> Iterator[tuple[str, Mapping[str, Json]]]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    for name, parameter in properties.items() if isinstance(properties, dict) else ():
        yield name, parameter if isinstance(parameter, dict) else {}
        if depth > 1:
            yield from _named(parameter, depth - 1)


def _is_program(parameter: Mapping[str, Json]) -> bool:
    said = parameter.get("description")
    return (
        parameter.get("type") == "string"
        and "enum" not in parameter
        and isinstance(said, str)
        and bool(_LANGUAGE.search(said))
        and bool(_RUN.search(said))
    )


def _values(parameter: Mapping[str, Json]) -> Iterator[str]:
    """Yield the texts that a parameter can be, where it is an enum, a constant or a choice of these."""
    listed = parameter.get("enum")
    for value in (*(listed if isinstance(listed, list) else ()), parameter.get("const")):
        if isinstance(value, str):
            yield value
    for keyword in ("anyOf", "oneOf"):
        choices = parameter.get(keyword)
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict):
                yield from _values({key: choice[key] for key in ("enum", "const") if key in choice})
