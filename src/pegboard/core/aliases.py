"""Aliases: the name under which a tool id goes over a wire whose alphabet or length it does not fit.

An alias is a function of the tool id and the wire's rules alone. It never depends on which other tools
exist: a suffix counted up on collision would reveal hidden tools and change when a server is added.

Source: MCP 2026-07-28, "Tool names" for the alphabet; 64 is the shortest limit of the common clients.
"""

import base64
import hashlib
import re
from dataclasses import dataclass

__all__ = ["MCP", "Wire", "alias"]

_HASH_LENGTH = 10  # base32: 50 bits; whatever still collides in one catalog is refused when publishing


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """What a name may look like on one wire: characters it may not hold, and how long it may be."""

    foreign: re.Pattern[str]
    limit: int

    def after(self, prefix: str) -> "Wire":
        """Return the wire as it is behind a client's own prefix, whose length counts in the final name."""
        return Wire(foreign=self.foreign, limit=self.limit - len(prefix))


MCP = Wire(foreign=re.compile(r"[^A-Za-z0-9_.-]"), limit=64)
_HASHED = re.compile(rf"_[a-z2-7]{{{_HASH_LENGTH}}}$")


def alias(tool_id: str, wire: Wire = MCP) -> str:
    """Return the name of *tool_id* on *wire*: the id itself where it fits, else a readable part and a hash.

    An id that happens to end like a hashed alias is hashed too, so no plain alias can equal a hashed one.
    """
    if len(tool_id) <= wire.limit and not wire.foreign.search(tool_id) and not _HASHED.search(tool_id):
        return tool_id
    mark = base64.b32encode(hashlib.sha256(tool_id.encode()).digest()).decode().lower()[:_HASH_LENGTH]
    room = wire.limit - _HASH_LENGTH - 1
    # The end of an id tells tools apart better than its start, which its whole namespace shares.
    readable = wire.foreign.sub("_", tool_id)[-room:].lstrip("_.-") if room > 0 else ""
    return f"{readable}_{mark}" if readable else f"t_{mark}"
