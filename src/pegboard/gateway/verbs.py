"""The verbs of the MCP door: list, search, describe, call, for one caller at a time.

Nothing is decided here: what a list holds says `listing.py`, what is found the selector, what may run the gate. One
path leads to a tool, whether it is called by its name in the list or through `call_tool`.

Source: DESIGN section 12.
"""

from collections.abc import Mapping
from typing import Any

from mcp import MCPError
from mcp.types import INVALID_PARAMS

from pegboard.core.context import RuntimeContext
from pegboard.core.names import Json, compact_json
from pegboard.engine.selection import Why, mcp_tool
from pegboard.engine.verdict import ProposedCall, VerdictKind
from pegboard.gateway.listing import Listed, Lister
from pegboard.gateway.meta_tools import (
    CALL,
    DESCRIBE,
    SEARCH,
    Detail,
    Problem,
    as_call,
    as_description,
    as_search,
    compact,
)
from pegboard.gateway.passing import passed, told, unknown_tool
from pegboard.gateway.running import Running
from pegboard.service.answering import CallAnswer
from pegboard.service.selector import Request

__all__ = ["KEY", "TASK", "Verbs"]

# Where a client that calls a listed tool puts its application's own name of the call.
KEY = "io.pegboard/key"
# Where a client that lists whole catalogs says what a call is for, so that a shadow can be compared with it.
TASK = "io.pegboard/task"
_OTHER_LIST = "the cursor is of another list; read the list from its beginning"


class Verbs:
    """What a caller may do over MCP."""

    def __init__(self, running: Running, lister: Lister) -> None:
        self._running = running
        self._lister = lister
        self._own = {SEARCH: self._search, DESCRIBE: self._describe, CALL: self._call}

    async def page(self, context: RuntimeContext, cursor: str | None) -> dict[str, Any]:
        """Return one page of the caller's list. A cursor is good for the list that it was given for, and no other.

        Raises:
            MCPError: It is of another list, so that what follows would not fit what came before.
        """
        listed = await self._lister.listed(context)
        begin, size = _place(cursor, listed), self._lister.settings.page
        page: dict[str, Any] = {"tools": list(listed.tools[begin : begin + size])}
        end = begin + size
        return page if end >= len(listed.tools) else {**page, "nextCursor": f"{_mark(listed)}-{end}"}

    async def call(
        self, context: RuntimeContext, name: str, arguments: Mapping[str, Any], meta: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Answer a call of a tool by its name in the caller's list.

        Raises:
            MCPError: The tool is unknown or denied, or its server answered with an error of the protocol.
        """
        listed = await self._lister.listed(context)
        if not listed.whole and name in self._own:
            return await self._own[name](context, listed, arguments)
        key = meta.get(KEY)
        call = ProposedCall(
            tool=listed.ids.get(name, name), arguments=dict(arguments), key=key if isinstance(key, str) else None
        )
        task = meta.get(TASK)
        return await self._passed(call, context, listed, task if isinstance(task, str) and task.strip() else None)

    async def _search(self, context: RuntimeContext, listed: Listed, arguments: Mapping[str, Any]) -> dict[str, Any]:
        asked = as_search(arguments)
        if isinstance(asked, Problem):
            return _wrong(asked)
        selection, _ = await self._running.selector.select(Request(tasks=(asked.task,), limit=asked.limit), context)
        # What is pinned in the list has been sent with it, and fits every task.
        fresh = [one for one in selection.tools if one.why is not Why.PINNED or one.alias not in listed.ids]
        whole = asked.detail is Detail.FULL
        tools: list[Json] = [mcp_tool(one.tool, one.alias) if whole else compact(one) for one in fresh]
        count = self._running.catalog.deployment.count_tokens
        # Whole definitions are counted when they are published.
        counted = sum(one.tokens for one in fresh) if whole else sum(count(compact_json(one)) for one in tools)
        tokens: dict[str, Json] = {"encoding": selection.encoding, "definitions": counted}
        return told(
            {
                "outcome": str(selection.outcome),
                "message": selection.message,
                "selection": selection.selection_id,
                "tools": tools,
                "tokens": tokens,
            }
        )

    async def _describe(self, context: RuntimeContext, listed: Listed, arguments: Mapping[str, Any]) -> dict[str, Any]:
        asked = as_description(arguments)
        if isinstance(asked, Problem):
            return _wrong(asked)
        # Which tool a name means the gate alone decides. Judged without arguments, nothing is sent or recorded.
        call = ProposedCall(tool=listed.ids.get(asked.tool, asked.tool), arguments={}, selection_id=asked.selection)
        answer = await self._running.gatekeeper.rehearse(call, context, all_listed=listed.whole)
        found = None
        if answer.verdict.tool_id is not None:
            found = await self._lister.definition(answer.verdict.tool_id, context)
        if found is not None:
            return told({"tool": found})
        if answer.verdict.kind is VerdictKind.UNAVAILABLE:
            return passed(answer, None)
        raise unknown_tool()

    async def _call(self, context: RuntimeContext, listed: Listed, arguments: Mapping[str, Any]) -> dict[str, Any]:
        asked = as_call(arguments)
        if isinstance(asked, Problem):
            return _wrong(asked)
        call = ProposedCall(
            tool=listed.ids.get(asked.tool, asked.tool),
            arguments=asked.arguments,
            selection_id=asked.selection,
            key=asked.key,
        )
        return await self._passed(call, context, listed)

    async def _passed(
        self, call: ProposedCall, context: RuntimeContext, listed: Listed, task: str | None = None
    ) -> dict[str, Any]:
        answer = await self._running.gatekeeper.call(call, context, all_listed=listed.whole)
        selection_id = call.selection_id
        if task is not None:
            selection_id = self._running.catalog.clock.new_id("sel")
            self._running.shadow.ask(selection_id, Request(tasks=(task,)), context, tuple(listed.ids.values()))
        self._running.observer.answered(selection_id, call, answer, context, sent=True)
        return passed(answer, *await self._known(answer, context))

    async def _known(self, answer: CallAnswer, context: RuntimeContext) -> tuple[str | None, Mapping[str, Json] | None]:
        """Return the server of a tool that the verdict names, and the schema by which arguments can be repaired."""
        tool_id = answer.verdict.tool_id
        entry = None if tool_id is None else (await self._running.catalog.current()).view.snapshot.get(tool_id)
        if entry is None or tool_id is None:
            return None, None
        if answer.verdict.kind is not VerdictKind.INVALID_ARGUMENTS:
            return entry.source_server, None
        found: Any = await self._lister.definition(tool_id, context)
        return entry.source_server, None if found is None else found["inputSchema"]


def _wrong(problem: Problem) -> dict[str, Any]:
    return told(
        {
            "verdict": str(VerdictKind.INVALID_ARGUMENTS),
            "message": problem.message,
            "path": problem.path,
            "input_schema": problem.schema,
        },
        error=True,
    )


def _mark(listed: Listed) -> str:
    return listed.digest.removeprefix("sha256:")[:16]


def _place(cursor: str | None, listed: Listed) -> int:
    if cursor is None:
        return 0
    mark, _, place = cursor.partition("-")
    if mark != _mark(listed) or not place.isascii() or not place.isdigit() or len(place) > 9:
        raise MCPError(INVALID_PARAMS, _OTHER_LIST)
    return int(place)
