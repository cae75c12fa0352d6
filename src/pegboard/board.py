"""The board: Pegboard as a library, in process.

    with Board.open("pegboard.toml") as board:
        selection = board.select("which orders are still open?", context)
        answer = board.check_call(selection.tools[0].alias, {"customer_id": "c1"}, context, selection)

Methods are synchronous and may be called from any thread, a running event loop's included: the asynchronous
service runs in a thread of its own.
"""

import asyncio
import atexit
import threading
import weakref
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import Any, Literal, TypeVar

from pegboard.core.context import RuntimeContext
from pegboard.core.errors import InvalidEntryError
from pegboard.core.policy import DIMENSION_OF, AccessTemplate, Reason
from pegboard.engine.explain import Explanation
from pegboard.engine.intake import take_in_lines
from pegboard.engine.ledger import Approval
from pegboard.engine.selection import Selection
from pegboard.engine.verdict import Caller, ProposedCall
from pegboard.providers.capabilities import Api
from pegboard.providers.conversation import Conversation, Step
from pegboard.providers.rendering import Rendered, render
from pegboard.service.answering import CallAnswer
from pegboard.service.deployment import Deployment
from pegboard.service.selector import Request
from pegboard.wiring import System, in_memory, open_system

__all__ = ["Board"]

_Result = TypeVar("_Result")


class Board:
    """A catalog, its policy and the verbs on them. Close it, or use it as a context manager."""

    def __init__(self, system: System) -> None:
        self._system = system
        self._loop = asyncio.new_event_loop()
        self._sessions: asyncio.Future[None] | None = None
        self._over = asyncio.Event()
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
        conversation: str | None = None,
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
            conversation: The application's own name of the conversation, by which a canary is chosen and kept. Of the
                namespaces in the selection's `production` the application lists its own tools, as before.

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
        selection, _ = self._run(lambda: self._system.selector.select(request, context, conversation))
        return selection

    def shadow(
        self,
        task: str | Sequence[str],
        context: RuntimeContext,
        *,
        listed: Sequence[str] | None = None,
        loaded: Sequence[str] = (),
    ) -> str:
        """Have a selection made beside the application's own choice of tools, and only observed.

        Waits for nothing, and no failure of it is anybody's: what cannot be made is counted in the telemetry.

        Args:
            task: As in `select`.
            context: The trusted facts about the caller.
            listed: The ids of the tools that the application gives the model.
            loaded: Ids of tools that the conversation has loaded already.

        Returns:
            A name of it, for `observe`.

        Raises:
            TypeError: `listed` or `loaded` is one text and no list of ids.
        """
        request = Request(tasks=(task,) if isinstance(task, str) else tuple(task), loaded=_ids("loaded", loaded))
        own = None if listed is None else _ids("listed", listed)
        selection_id = self._system.catalog.clock.new_id("sel")
        self._soon(lambda: self._system.shadow.ask(selection_id, request, context, own))
        return selection_id

    def observe(
        self, selection: Selection | str, tool: str, *, valid: bool | None = None, completed: bool | None = None
    ) -> None:
        """Say which tool was really called: the label by which shadow and rollout are measured.

        Calls through `call` and `check_call` that name a selection say so themselves. Waits for nothing.

        Args:
            selection: What `shadow` or `select` returned.
            tool: The id of the tool that the model called, or should have been given.
            valid: Whether the call named a tool that the model had, with arguments that fit.
            completed: Whether it came to its end without an error.
        """
        name = selection.selection_id if isinstance(selection, Selection) else selection
        self._soon(lambda: self._system.observer.called(name, tool, valid=valid, completed=completed))

    def check_call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        context: RuntimeContext,
        selection: Selection | str | None = None,
        *,
        conversation: str | None = None,
        key: str | None = None,
        approval: str | None = None,
        caller: Literal["direct", "program"] = "direct",
    ) -> CallAnswer:
        """Judge a call that a model proposes, on the policy of this moment; an allowed one is put on record.

        Where `verdict.allowed` says so the application runs the tool itself, once, and closes the record with `report`.

        Args:
            tool: The alias or id that the model named.
            arguments: What the model gave.
            context: The trusted facts about the caller.
            selection: The selection that the model was given, or its id; without one only pinned tools may be called.
            conversation: The application's own name of the conversation; never a model's word.
            key: The application's own name of this call, for idempotency: under one key a call runs once.
            approval: The approval that this call has, where it needs one; unsaid, any that fits.
            caller: Whether a model proposes it by itself, or a program that a model wrote.
        """
        given = {"conversation": conversation, "key": key, "approval": approval, "caller": Caller(caller)}
        call = _proposed(tool, arguments, selection, **given)
        answer = self._run(lambda: self._system.gatekeeper.check(call, context))
        self._soon(lambda: self._system.observer.answered(call.selection_id, call, answer, context, sent=False))
        return answer

    def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        context: RuntimeContext,
        selection: Selection | str | None = None,
        *,
        conversation: str | None = None,
        key: str | None = None,
        approval: str | None = None,
        caller: Literal["direct", "program"] = "direct",
    ) -> CallAnswer:
        """Judge a call and, where it is allowed, send it once to the server that owns the tool.

        Args are those of `check_call`.
        """
        given = {"conversation": conversation, "key": key, "approval": approval, "caller": Caller(caller)}
        call = _proposed(tool, arguments, selection, **given)
        answer = self._run(lambda: self._call(call, context))
        self._soon(lambda: self._system.observer.answered(call.selection_id, call, answer, context, sent=True))
        return answer

    def report(self, call_id: str, outcome: str, result: Mapping[str, Any] | None = None) -> None:
        """Say how a checked call ended; a call that is never reported has an unknown outcome.

        Args:
            call_id: As `check_call` gave it.
            outcome: `done`, `error`, `not_sent` or `outcome_unknown`.
            result: What the tool answered; kept where the call has a key, and answered again under it.

        Raises:
            StoreError: There is no such call, or it ended otherwise.
        """
        self._run(lambda: self._system.gatekeeper.report(call_id, outcome, result))
        self._soon(lambda: self._system.observer.ended(call_id, outcome))

    def approvals(self, limit: int = 100) -> tuple[Approval, ...]:
        """Return the newest requests for an approval, for a person to decide on. Never for a model."""
        return self._run(lambda: self._system.approver.requests(limit))

    def grant(self, approval_id: str, *, by: str) -> Approval:
        """Approve the call of a request, once; *by* is a name that the application has verified.

        Raises:
            ConfigError: There is no such request, it is no longer open, or *by* is a name of the requester's own.
        """
        return self._run(lambda: self._system.approver.grant(approval_id, by=by))

    def deny(self, approval_id: str, *, by: str, why: str | None = None) -> Approval:
        """Refuse the call of a request; it is not asked for again before the request has expired.

        Raises:
            ConfigError: There is no such request, or it is no longer open.
        """
        return self._run(lambda: self._system.approver.deny(approval_id, by=by, why=why))

    def explain(self, task: str | Sequence[str], context: RuntimeContext, *, tool: str | None = None) -> Explanation:
        """Say, to an operator, what each check removed, and why one tool is or is not among the eligible."""
        request = Request(tasks=(task,) if isinstance(task, str) else tuple(task))
        return self._run(lambda: self._system.selector.explain(request, context, tool))

    def render(
        self, selection: Selection, target: str, *, own: Sequence[Mapping[str, Any]] = (), prefix: str | None = None
    ) -> Rendered:
        """Shape a selection for one model API, for a single request.

        Args:
            selection: What `select` returned.
            target: `openai` (Responses), `openai-chat`, `openai-compatible`, `anthropic`, `gemini` or `mcp`.
            own: The application's own tools in that API's shape; they stay as they are, and come first.
            prefix: What the client puts before every name; it counts in the name's length. Unsaid: as configured.

        Raises:
            ValueError: There is no such target, or the prefix leaves no room for names.
        """
        return render(selection, Api(target), own=own, prefix=self._prefix(prefix))

    def conversation(
        self,
        target: str,
        *,
        model: str = "",
        selection: Selection | None = None,
        own: Sequence[Mapping[str, Any]] = (),
        prefix: str | None = None,
        namespaces: Sequence[str] = (),
        deferred: Selection | None = None,
    ) -> Step:
        """Begin a conversation, whose tools grow without a change of what was sent before.

        Args:
            target: `openai` (Responses), `openai-chat`, `openai-compatible`, `anthropic` or `gemini`.
            model: The model's name; it decides how tools join later.
            selection: What the first request has already.
            own: The application's own tools in that API's shape; they stay as they are, and come first.
            prefix: What the client puts before every name; it counts in the name's length. Unsaid: as configured.
            namespaces: Of tools that the caller may use: the search that the model gets names them.
            deferred: For models that have to be told in the first request of all that may join later.

        Raises:
            ValueError: No conversation is held over this target, or an own tool has the name of our search.
        """
        return Conversation.begin(
            target,
            model=model,
            selection=selection,
            own=own,
            prefix=self._prefix(prefix),
            namespaces=namespaces,
            deferred=deferred,
        )

    def close(self) -> None:
        """Write what waits, close sessions and store, and end the service's thread; a second time does nothing.

        Raises:
            StoreError: Traces could not be written; everything is closed all the same.
        """
        if self._loop.is_closed():
            return
        try:
            self._run(self._end_sessions)
            self._run(self._system.flush)
        finally:
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

    async def _call(self, call: ProposedCall, context: RuntimeContext) -> CallAnswer:
        if self._sessions is None:
            # From the first call on, sessions with servers stay open; a server's process must not outlive ours.
            self._sessions = asyncio.ensure_future(self._hold_sessions())
            atexit.register(_close, weakref.ref(self))
        return await self._system.gatekeeper.call(call, context)

    def _prefix(self, said: str | None) -> str:
        return self._system.catalog.deployment.selection.client_prefix if said is None else said

    async def _hold_sessions(self) -> None:
        async with self._system.sessions():
            await self._over.wait()

    async def _end_sessions(self) -> None:
        self._over.set()
        if self._sessions is not None:
            await self._sessions

    def _soon(self, act: Callable[[], None]) -> None:
        if self._loop.is_closed():
            raise RuntimeError("the board is closed")
        self._loop.call_soon_threadsafe(act)

    def _run(self, verb: Callable[[], Coroutine[Any, Any, _Result]]) -> _Result:
        if self._loop.is_closed():
            raise RuntimeError("the board is closed")
        return asyncio.run_coroutine_threadsafe(verb(), self._loop).result()


def _close(board: "weakref.ref[Board]") -> None:
    if (found := board()) is not None:
        found.close()


def _ids(name: str, tools: Sequence[str]) -> tuple[str, ...]:
    if isinstance(tools, str):
        raise TypeError(f"{name} takes a list of tool ids, not one text: write {name}=[{tools!r}]")
    return tuple(tools)


def _proposed(tool: str, arguments: Mapping[str, Any], selection: Selection | str | None, **given: Any) -> ProposedCall:
    selection_id = selection.selection_id if isinstance(selection, Selection) else selection
    return ProposedCall(tool=tool, arguments=arguments, selection_id=selection_id, **given)
