"""The page walk: `tools/list` from its first page to its last, bounded, without I/O.

The caller fetches what `next_cursor` says and gives the page to `receive`, until `done`. A listing is whole or it
is nothing: a walk that broke a bound gives no tools, so what was served before stays served. Every page is taken as
sent; whether a tool on it is one is asked at intake, tool by tool.

Source: MCP 2026-07-28, "Pagination": cursors are opaque, a missing one ends the list.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pegboard.core.errors import MalformedPageError, PageLimitError
from pegboard.core.names import Json
from pegboard.engine.bounds import kind_of

__all__ = ["LIMITS", "ListedPage", "Walk", "WalkLimits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkLimits:
    """The most that one server may list. The largest of 63 published servers lists 341 tools on one page."""

    pages: int = 1_000
    tools: int = 50_000
    size_bytes: int = 128 * 1024 * 1024


LIMITS = WalkLimits()


class ListedPage(Protocol):
    """What the walk reads of a page."""

    @property
    def tools(self) -> Sequence[Json]:
        """The tools, as sent."""

    @property
    def next_cursor(self) -> str | None:
        """Where the next page begins, None on the last one."""


class Walk:
    """One walk over one server's listing. Begin with the cursor None."""

    def __init__(self, server: str, limits: WalkLimits = LIMITS) -> None:
        self._server = server
        self._limits = limits
        self._tools: list[Json] = []
        self._used: set[str] = set()
        self._cursor: str | None = None
        self._pages = 0
        self._bytes = 0
        self._done = False

    @property
    def done(self) -> bool:
        """Say whether the last page was received."""
        return self._done

    def next_cursor(self) -> str | None:
        """Return the cursor of the page to fetch; None asks for the first one."""
        return self._cursor

    def receive(self, page: ListedPage) -> None:
        """Take the page that was asked for.

        Raises:
            MalformedPageError: It is no page: no list of tools, or a cursor that is no text.
            PageLimitError: Too many pages, tools or bytes, or a cursor that was used before. The walk is over then.
        """
        if self._done:
            raise ValueError("the walk is done, no page was asked for")
        tools: Any = page.tools
        cursor: Any = page.next_cursor
        if not isinstance(tools, list | tuple):
            raise MalformedPageError(self._server, f"its tools are {kind_of(tools)}, not a list")
        if not isinstance(cursor, str | None):
            raise MalformedPageError(self._server, f"its next cursor is {kind_of(cursor)}, not a text")
        self._pages += 1
        self._bytes += sum(map(_size, tools))
        self._within(len(tools))
        self._tools += tools
        # Some servers end with an empty text where the protocol asks for none.
        self._done = not cursor
        if cursor:
            self._follow(cursor)

    def counts(self) -> dict[str, int]:
        """Return how many pages, tools and bytes came."""
        return {"pages": self._pages, "tools": len(self._tools), "bytes": self._bytes}

    def tools(self) -> tuple[Json, ...]:
        """Return all tools in the order listed.

        Raises:
            ValueError: The walk is not done; part of a listing is never served.
        """
        if not self._done:
            raise ValueError("the walk is not done, and part of a listing is none")
        return tuple(self._tools)

    def _follow(self, cursor: str) -> None:
        if cursor in self._used:
            raise PageLimitError(self._server, "a cursor repeats, so the listing is a loop")
        if self._pages >= self._limits.pages:
            raise PageLimitError(self._server, f"more than {self._limits.pages:,} pages")
        self._used.add(cursor)
        self._cursor = cursor

    def _within(self, new: int) -> None:
        if len(self._tools) + new > self._limits.tools:
            raise PageLimitError(self._server, f"more than {self._limits.tools:,} tools")
        if self._bytes > self._limits.size_bytes:
            raise PageLimitError(self._server, f"more than {self._limits.size_bytes:,} bytes")


def _size(tool: Json) -> int:
    try:
        return len(json.dumps(tool, ensure_ascii=False))
    except (RecursionError, ValueError, TypeError):
        # Nested too deeply or no JSON: intake refuses it by name, and it hides no other tool.
        return 0
