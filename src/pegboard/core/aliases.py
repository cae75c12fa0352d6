"""Aliases: the name under which a tool id goes over a wire whose alphabet or length it does not fit.

An alias is a function of the tool id and the wire's rules alone. It never depends on which other tools
exist: a suffix counted up on collision would reveal hidden tools and change when a server is added.

Two ids never share an alias by their letters: a dot that a wire refuses is written so that it can be told from
what else the id holds, and what cannot be written so gets a hash. Whose hashes are one is refused when publishing.

Source: MCP 2026-07-28, "Tool names"; OpenAI, `FunctionDefinition.name`; Gemini, `FunctionDeclaration.name`. 64 is the
shortest limit of the common clients.
"""

import base64
import hashlib
import re
from dataclasses import dataclass

__all__ = ["FUNCTIONS", "MCP", "RESERVED", "Wire", "alias", "mark"]

_HASH_LENGTH = 10  # 47 bits; whatever still collides in one catalog is refused when publishing
_OURS = ("search_tools", "call_tool", "describe_tool")
# The longest of our own; so long is any name at least that a prefix must leave room for.
_LEAST_ROOM = max(map(len, _OURS))


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """What a name may look like on one wire: what it may not hold, how long it may be, and what a dot becomes."""

    foreign: re.Pattern[str]
    limit: int
    dot: str = "."

    def after(self, prefix: str) -> "Wire":
        """Return the wire as it is behind a client's own prefix, whose length counts in the final name.

        The client puts it there: it is in no name that we make.

        Raises:
            ValueError: The prefix leaves no room for a name.
        """
        room = self.limit - len(prefix)
        if room < _LEAST_ROOM:
            most = self.limit - _LEAST_ROOM
            raise ValueError(f"the prefix {prefix!r} is too long: it may have {most} characters, and the name the rest")
        return Wire(foreign=self.foreign, limit=room, dot=self.dot)


MCP = Wire(foreign=re.compile(r"[^A-Za-z0-9_.-]"), limit=64)
# What OpenAI, Anthropic and Gemini all take, so that a conversation may change its model and keep its names.
FUNCTIONS = Wire(foreign=re.compile(r"[^A-Za-z0-9_-]|^[^A-Za-z_]"), limit=64, dot="__")

# Our own tools, and names by which model APIs mean their own.
RESERVED = frozenset(
    {*_OURS}
    | {"tool_search", "tool_search_tool_bm25", "tool_search_tool_regex", "multi_tool_use", "multi_tool_use.parallel"}
)
# Base32, and a digit at the end: no word of ten letters (`get_properties`) looks like a hash.
_DIGITS = "234567"
_HASHED = re.compile(rf"_[a-z2-7]{{{_HASH_LENGTH - 1}}}[{_DIGITS}]$")
# Where a dot becomes "__", these would read like other ids.
_AMBIGUOUS = re.compile(r"__|_\.|\._")


def alias(tool_id: str, wire: Wire = MCP) -> str:
    """Return the name of *tool_id* on *wire*: the id itself where it fits, else a readable part and a hash.

    An id that happens to end like a hashed alias is hashed too, so no plain alias can equal a hashed one; and one
    that is `RESERVED`.
    """
    plain = tool_id.replace(".", wire.dot)
    if _is_plain(tool_id, plain, wire):
        return plain
    room = wire.limit - _HASH_LENGTH - 1
    # The end of an id tells tools apart better than its start, which its whole namespace shares.
    readable = wire.foreign.sub("_", plain)[-room:].lstrip("_.-0123456789") if room > 0 else ""
    return f"{readable or 't'}_{mark(tool_id)}"


def mark(tool_id: str) -> str:
    """Return the hash part of an id's aliases. Two ids whose marks differ have no alias in common on any wire."""
    hashed = hashlib.sha256(tool_id.encode()).digest()
    return base64.b32encode(hashed).decode().lower()[: _HASH_LENGTH - 1] + _DIGITS[hashed[-1] % len(_DIGITS)]


def _is_plain(tool_id: str, plain: str, wire: Wire) -> bool:
    if not 0 < len(plain) <= wire.limit or wire.foreign.search(plain) or _HASHED.search(plain):
        return False
    return tool_id not in RESERVED and (wire.dot == "." or not _AMBIGUOUS.search(tool_id))
