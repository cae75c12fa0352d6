"""What a department declares: one row a tool, and a server that is a table of rows.

`effect` is what the tool truly does. It never goes over the wire: what a client is told is `annotations`, which some
rows leave out and a few get wrong, as real servers do.

Source: MCP 2026-07-28, tools (annotations are hints).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from pegboard.demo.servers.company import Company, Row
from pegboard.demo.servers.schemas import Schema

__all__ = ["DESTROYS", "READS", "SENDS", "SETS", "WRITES", "DemoServer", "DemoTool", "Effect", "Hints", "Releases"]

Effect = Literal["read", "write", "destructive"]
Hints = Mapping[str, bool]

READS: Hints = {"readOnlyHint": True, "openWorldHint": False}
WRITES: Hints = {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": False, "openWorldHint": False}
SETS: Hints = {**WRITES, "idempotentHint": True}
SENDS: Hints = {**WRITES, "openWorldHint": True}
DESTROYS: Hints = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoTool:
    """One tool: what is declared, what it does, and the truth about its effect.

    `run` gets arguments that already satisfy `takes`. It returns text, or an object; where `gives` is stated, an object
    that satisfies it. It raises `RefusedError` for what a schema cannot say.
    """

    name: str
    description: str
    effect: Effect
    takes: Schema
    run: Callable[[Company, Row], str | Row]
    title: str | None = None
    gives: Schema | None = None
    annotations: Hints | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoServer:
    """One department: its tools in the order they are listed, *page_size* a page (None: all on one)."""

    name: str
    title: str
    version: str
    instructions: str
    tools: tuple[DemoTool, ...]
    page_size: int | None = None


# A department by release number; the newest that is not above the one asked for is served.
Releases = Mapping[int, DemoServer]
