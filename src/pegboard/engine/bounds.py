"""Bounds: what is asked of a value before a validator, an encoder or a digest touches it.

Values come from tool servers and models. One nested 20,000 deep kills a recursive reader, and NaN or half a
surrogate pair is no JSON though Python holds both; so the walk here keeps its own stack and refuses them all.

Source: RFC 8259, sections 6 and 8.2; RFC 8785, section 3.2.2.
"""

import re
from dataclasses import dataclass
from math import isfinite
from typing import Any

__all__ = ["ARGUMENTS", "SCHEMA", "Bounds", "Broken", "Size", "kind_of", "measure"]

_SURROGATE = re.compile("[\ud800-\udfff]")
# Beyond any double; a validator may convert it, and Python refuses to print it from 4,300 digits on.
_MAX_INTEGER_BITS = 1024
# A number, a word or a bracket, with its comma: enough for a bound, which needs no exact count.
_SCALAR_BYTES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The most that is taken. A depth of 1 is a value with nothing inside."""

    size_bytes: int
    depth: int
    nodes: int


# Of 7,422 published tools the largest schema has 84 KB and 2,871 parts, the deepest 24 levels.
SCHEMA = Bounds(size_bytes=256 * 1024, depth=64, nodes=10_000)
# A document to file or a mail with an attachment fits; what is larger belongs in a resource, not in a model's call.
ARGUMENTS = Bounds(size_bytes=1024 * 1024, depth=64, nodes=100_000)


@dataclass(frozen=True, slots=True)
class Size:
    """What a value within its bounds measures."""

    depth: int
    nodes: int


@dataclass(frozen=True, slots=True)
class Broken:
    """Why a value is refused: which bound or rule (`constraint`), in words, and where (JSON pointer)."""

    constraint: str
    problem: str
    path: str = ""


def measure(value: Any, bounds: Bounds) -> Size | Broken:
    """Walk a value, without recursion, until it ends or breaks a bound; its text is measured in UTF-8 bytes."""
    left = bounds.size_bytes
    nodes = deepest = 0
    # A path is a chain of (parent's chain, key): it is only spelled out where something is wrong.
    waiting: list[tuple[Any, int, _Path]] = [(value, 1, None)]
    while waiting:
        node, depth, path = waiting.pop()
        nodes += 1
        if depth > deepest:
            deepest = depth
        if depth > bounds.depth:
            return Broken("depth", f"it is nested more than {bounds.depth} levels deep")
        if isinstance(node, str):
            left -= _text_bytes(node)
            if left >= 0 and _holds_half(node):
                return Broken("json", "it holds half a surrogate pair, which no JSON text can", _pointer(path))
        elif isinstance(node, dict):
            for key, child in node.items():
                if not isinstance(key, str):
                    return Broken("json", "a key of an object is not a text", _pointer(path))
                left -= _text_bytes(key)
                if left >= 0 and _holds_half(key):
                    return Broken("json", "a key holds half a surrogate pair, which no JSON text can", _pointer(path))
                waiting.append((child, depth + 1, (path, key)))
        elif isinstance(node, list):
            waiting += [(child, depth + 1, (path, str(place))) for place, child in enumerate(node)]
        elif problem := _scalar_problem(node):
            return Broken("json", problem, _pointer(path))
        left -= _SCALAR_BYTES
        if left < 0:
            return Broken("size", f"it is larger than {bounds.size_bytes:,} bytes")
        if nodes + len(waiting) > bounds.nodes:
            return Broken("size", f"it has more than {bounds.nodes:,} parts")
    return Size(deepest, nodes)


def kind_of(value: Any) -> str:
    """Name the kind of a JSON value, with its article."""
    return _KINDS.get(type(value), f"a {type(value).__name__}")


_KINDS = {
    type(None): "null",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    str: "a text",
    list: "an array",
    dict: "an object",
}
_Path = tuple[Any, str] | None


def _text_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _holds_half(text: str) -> bool:
    """Say whether half a surrogate pair stands in a text; plain ASCII, which most is, is not searched."""
    return not text.isascii() and _SURROGATE.search(text) is not None


def _scalar_problem(value: Any) -> str | None:
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, int):
        return "it holds an integer of more than 300 digits" if value.bit_length() > _MAX_INTEGER_BITS else None
    if isinstance(value, float):
        return None if isfinite(value) else "it holds a number that is not finite, which is not JSON"
    return f"it holds a {type(value).__name__}, which is not JSON"


def _pointer(path: _Path) -> str:
    parts = []
    while path is not None:
        path, key = path
        parts.append(key.replace("~", "~0").replace("/", "~1"))
    return "".join(f"/{part}" for part in reversed(parts))
