"""The board: Pegboard as a library, in process.

    with Board.open("pegboard.toml") as board:
        selection = board.select("which orders are still open?", context)
        answer = board.check_call(selection.tools[0].alias, {"customer_id": "c1"}, context, selection)

Methods are synchronous and may be called from any thread, a running event loop's included: the asynchronous
service runs in a thread of its own.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import Any, TypeVar

from pegboard.core.context import RuntimeContext
from pegboard.core.errors import InvalidEntryError
from pegboard.core.policy import DIMENSION_OF, AccessTemplate, Reason
from pegboard.engine.explain import Explanation
from pegboard.engine.gate import ProposedCall
from pegboard.engine.intake import take_in_lines
from pegboard.engine.selection import Selection
from pegboard.service.deployment import Deployment
from pegboard.service.gatekeeper import CallAnswer
from pegboard.service.selector import Request
from pegboard.wiring import System, in_memory, open_system

__all__ = ["Board"]

_Result = TypeVar("_Result")


class Board:
    """A catalog, its policy and the verbs on them. Close it, or use it as a context manager."""

    def __init__(self, system: System) -> None:
        self._system = system
        self._loop = asyncio.new_event_loop()
        # A daemon, so that a program which never closes its board still ends; the store is whole at any moment.
        self._thread = threading.Thread(target=self._loop.run_forever, name="pegboard", daemon=True)
        self._thread.start()

    @classmethod
    def open(cls, config: str | PathLike[str] = "pegboard.toml") -> "Board":
        """Open the deployment that a configuration file describes.

        Raises:
            ConfigError: The file cannot be read or a setting in it is wrong.
            LockError: The lock cannot be read.
            StoreError: The store cannot be opened.
        """
        return cls(open_system(config))

    @classmethod
    def from_tools(
        cls,
        tools: Iterable[Mapping[str, Any]],
        access: Mapping[str, AccessTemplate],
        *,
        used: frozenset[Reason] | None = None,
    ) -> "Board":
        """Make a board of tools that this program declares itself; everything stays in memory.

        Args:
            tools: As in a catalog file: `name`, `description`, `input_schema`, and `namespace` or `tool_id`. Each names
                its template as `access`, and its `risk` where it is more than what its name says. The program is the
                operator here, so what it says is locked as it says it.
            access: The templates.
            used: The dimensions that every template must state; unsaid: those that any template states.

        Raises:
            InvalidEntryError: A tool cannot be taken in.
            ConfigError: A tool names no template, or one that does not exist.
        """
        raws = [dict(tool) for tool in tools]
        entries, refused = take_in_lines(raws)
        for refusal in refused:
            raise InvalidEntryError(name=refusal.name, reason=refusal.reason)
        stated = {DIMENSION_OF[name] for template in access.values() for name in template.to_json()}
        board = cls(in_memory(Deployment(templates=dict(access), used=frozenset(stated) if used is None else used)))
        try:
            board._run(lambda: board._system.importer.lines(raws, by="program"))
            board._run(lambda: board._system.keeper.approve([entry.tool_id for entry in entries], by="program"))
        except BaseException:
            board.close()
            raise
        return board

    def select(
        self,
        task: str | Sequence[str],
        context: RuntimeContext,
        *,
        limit: int | None = None,
        budget_tokens: int | None = None,
        require: Sequence[str] = (),
        loaded: Sequence[str] = (),
        answer_without_tool: bool = False,
    ) -> Selection:
        """Select the few tools that a model may consider for a task, or say why there are none.

        Args:
            task: What is to be done; several texts are sub-tasks, each covered before the rest is filled.
            context: The trusted facts about the caller.
            limit: How many tools at most; unsaid: as configured.
            budget_tokens: How many tokens of definitions at most; unsaid: as configured.
            require: Ids of tools that this step of the work has in any case, as far as the caller may use them.
            loaded: Ids of tools that the conversation has loaded already; they are not sent again.
            answer_without_tool: Whether the agent may answer by itself where no tool fits.

        Raises:
            LockError: The lock cannot be read; nothing is selected then.
            StoreError: The store failed.
            TypeError: `require` or `loaded` is one text and no list of ids.
        """
        request = Request(
            tasks=(task,) if isinstance(task, str) else tuple(task),
            limit=limit,
            budget_tokens=budget_tokens,
            require=_ids("require", require),
            loaded=_ids("loaded", loaded),
            answer_without_tool=answer_without_tool,
        )
        selection, _ = self._run(lambda: self._system.selector.select(request, context))
        return selection

    def check_call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        context: RuntimeContext,
        selection: Selection | str | None = None,
    ) -> CallAnswer:
        """Judge a call that a model proposes, on the policy of this moment; an allowed one is put on record.

        The application then runs the tool itself and closes the record with `report`.

        Args:
            tool: The alias or id that the model named.
            arguments: What the model gave.
            context: The trusted facts about the caller.
            selection: The selection that the model was given, or its id; without one only pinned tools may be called.
        """
        call = _proposed(tool, arguments, selection)
        return self._run(lambda: self._system.gatekeeper.check(call, context))

    def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        context: RuntimeContext,
        selection: Selection | str | None = None,
    ) -> CallAnswer:
        """Judge a call and, where it is allowed, send it once to the server that owns the tool."""
        call = _proposed(tool, arguments, selection)
        return self._run(lambda: self._system.gatekeeper.call(call, context))

    def report(self, call_id: str, outcome: str) -> None:
        """Say how a checked call ended; a call that is never reported has an unknown outcome."""
        self._run(lambda: self._system.gatekeeper.report(call_id, outcome))

    def explain(self, task: str | Sequence[str], context: RuntimeContext, *, tool: str | None = None) -> Explanation:
        """Say, to an operator, what each check removed, and why one tool is or is not among the eligible."""
        request = Request(tasks=(task,) if isinstance(task, str) else tuple(task))
        return self._run(lambda: self._system.selector.explain(request, context, tool))

    def close(self) -> None:
        """Close the store and end the service's thread; a second time does nothing."""
        if self._loop.is_closed():
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._system.close()

    def __enter__(self) -> "Board":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, verb: Callable[[], Coroutine[Any, Any, _Result]]) -> _Result:
        if self._loop.is_closed():
            raise RuntimeError("the board is closed")
        return asyncio.run_coroutine_threadsafe(verb(), self._loop).result()


def _ids(name: str, tools: Sequence[str]) -> tuple[str, ...]:
    if isinstance(tools, str):
        raise TypeError(f"{name} takes a list of tool ids, not one text: write {name}=[{tools!r}]")
    return tuple(tools)


def _proposed(tool: str, arguments: Mapping[str, Any], selection: Selection | str | None) -> ProposedCall:
    selection_id = selection.selection_id if isinstance(selection, Selection) else selection
    return ProposedCall(tool=tool, arguments=arguments, selection_id=selection_id)
