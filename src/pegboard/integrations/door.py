"""The door: the two verbs that an agent framework needs, select and call, and who may stand behind it.

A `Board` is a door, for tools of MCP servers. `OwnTools` puts one before tools that the program runs itself, `InLoop`
makes one of the asynchronous service. Everything in this room is written once and synchronously; what a framework
awaits runs `aside`, in a thread that only waits.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from inspect import isawaitable
from typing import Any, Literal, ParamSpec, Protocol, TypeAlias, TypeVar

from anyio import CapacityLimiter, NoEventLoopError, from_thread, to_thread
from anyio import run as run_loop

from pegboard.core.context import RuntimeContext
from pegboard.core.names import Json
from pegboard.engine.selection import Selection
from pegboard.engine.verdict import Caller, ProposedCall
from pegboard.providers.calls import result_text
from pegboard.providers.turns import Called, CallProposed, Found, Reply, SearchAsked
from pegboard.service.answering import CallAnswer
from pegboard.service.gatekeeper import Gatekeeper
from pegboard.service.selector import Request, Selector

__all__ = ["CallerKind", "Checking", "Door", "Identity", "InLoop", "OwnTools", "aside", "replied", "stated"]

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")

CallerKind: TypeAlias = Literal["direct", "program"]
# What a framework hands on of its run -> who asks. It reads what the application put there, never a message.
Identity: TypeAlias = Callable[[Any], RuntimeContext]


class Selecting(Protocol):
    """Whoever selects. It raises LockError or StoreError where nothing can be decided, and the run ends with it."""

    def select(
        self,
        task: str,
        context: RuntimeContext,
        *,
        limit: int | None = None,
        loaded: Sequence[str] = (),
        conversation: str | None = None,
    ) -> Selection:
        """Select the few tools for a task; `loaded` are not sent again, and named where they may be used no longer."""


class Door(Selecting, Protocol):
    """What every adapter takes. A refused call is an answer, never an exception."""

    def call(
        self,
        tool: str,
        arguments: Any,
        context: RuntimeContext,
        selection: str | None = None,
        *,
        conversation: str | None = None,
        caller: CallerKind = "direct",
    ) -> CallAnswer:
        """Judge a call on the policy of this moment and run it once where it is allowed."""


class Checking(Selecting, Protocol):
    """Whoever judges calls that the program runs itself, as `Board` does."""

    def check_call(
        self,
        tool: str,
        arguments: Any,
        context: RuntimeContext,
        selection: str | None = None,
        *,
        conversation: str | None = None,
        caller: CallerKind = "direct",
    ) -> CallAnswer:
        """Judge a call and put an allowed one on record."""

    def report(self, call_id: str, outcome: str, result: Mapping[str, Any] | None = None) -> None:
        """Say how it ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTools:
    """A door to tools that this program runs itself: each call is judged, run once, and reported.

    What a tool raises goes on to the framework, as with a tool of its own, and is on record as an error.
    """

    board: Checking
    runs: Mapping[str, Callable[..., Any]]
    """What runs each tool, by id. A coroutine runs in the event loop of the agent, or in one of its own."""

    def select(
        self,
        task: str,
        context: RuntimeContext,
        *,
        limit: int | None = None,
        loaded: Sequence[str] = (),
        conversation: str | None = None,
    ) -> Selection:
        """Select as the board does."""
        return self.board.select(task, context, limit=limit, loaded=loaded, conversation=conversation)

    def call(
        self,
        tool: str,
        arguments: Any,
        context: RuntimeContext,
        selection: str | None = None,
        *,
        conversation: str | None = None,
        caller: CallerKind = "direct",
    ) -> CallAnswer:
        """Judge a call and run it here where it is allowed.

        Raises:
            LookupError: Nothing here runs the tool; it is on record as not sent.
        """
        answer = self.board.check_call(tool, arguments, context, selection, conversation=conversation, caller=caller)
        if not answer.verdict.allowed:
            return answer
        run = self.runs.get(answer.verdict.tool_id or "")
        if run is None:
            self._report(answer, "not_sent")
            raise LookupError(f"nothing runs {answer.verdict.tool_id!r}: add it to `runs`")
        try:
            result = _settled(run(**arguments))
        except Exception:
            self._report(answer, "error")
            raise
        shaped: dict[str, Json] = {"content": [{"type": "text", "text": result_text(result)}]}
        self._report(answer, "done", shaped)
        return replace(answer, result=shaped)

    def _report(self, answer: CallAnswer, outcome: str, result: Mapping[str, Json] | None = None) -> None:
        if answer.call_id is not None:
            self.board.report(answer.call_id, outcome, result)


@dataclass(frozen=True, slots=True, kw_only=True)
class InLoop:
    """The asynchronous service as a door, for adapters in its own event loop: only what runs `aside` can use it."""

    selector: Selector
    gatekeeper: Gatekeeper

    def select(
        self,
        task: str,
        context: RuntimeContext,
        *,
        limit: int | None = None,
        loaded: Sequence[str] = (),
        conversation: str | None = None,
    ) -> Selection:
        """Select in the event loop."""
        request = Request(tasks=(task,), limit=limit, loaded=tuple(loaded))
        selection, _ = from_thread.run(self.selector.select, request, context, conversation)
        return selection

    def call(
        self,
        tool: str,
        arguments: Any,
        context: RuntimeContext,
        selection: str | None = None,
        *,
        conversation: str | None = None,
        caller: CallerKind = "direct",
    ) -> CallAnswer:
        """Judge and send in the event loop."""
        call = ProposedCall(
            tool=tool,
            arguments=arguments,
            selection_id=selection,
            conversation=conversation,
            caller=Caller(caller),
        )
        return from_thread.run(self.gatekeeper.call, call, context)


def stated(given: object) -> RuntimeContext:
    """Take what the application gave the run as its context: it must be the caller's `RuntimeContext`.

    Raises:
        TypeError: It is something else; nothing is selected for nobody.
    """
    if not isinstance(given, RuntimeContext):
        raise TypeError(
            f"the run was given {type(given).__name__} and no RuntimeContext: give one, or say with "
            "identity=… how it is read from what you give"
        )
    return given


def replied(
    door: Door,
    asked: SearchAsked | CallProposed,
    context: RuntimeContext,
    *,
    loaded: Sequence[str] = (),
    conversation: str | None = None,
) -> Reply:
    """Answer one thing that a model asked: a search with a selection, a call with what the gate said of it."""
    if isinstance(asked, SearchAsked):
        selection = door.select(asked.task, context, limit=asked.limit, loaded=loaded, conversation=conversation)
        return Found(asked=asked, selection=selection)
    answer = door.call(
        asked.tool,
        asked.arguments,
        context,
        asked.selection_id,
        conversation=conversation,
        caller=asked.caller.value,
    )
    return Called(proposed=asked, answer=answer)


async def aside(verb: Callable[_Given, _Result], *args: _Given.args, **kwargs: _Given.kwargs) -> _Result:
    """Run a synchronous verb in a thread of its own, while the event loop goes on.

    Whoever is cancelled stops waiting; a call that was sent goes on and is put on record all the same.
    """
    # A limiter of its own: a long call must not keep others from the few threads that all libraries share.
    return await to_thread.run_sync(partial(verb, *args, **kwargs), abandon_on_cancel=True, limiter=CapacityLimiter(1))


def _settled(result: Any) -> Any:
    if not isawaitable(result):
        return result
    try:
        return from_thread.run(_awaited, result)
    except NoEventLoopError:
        # The agent is a synchronous one.
        return run_loop(_awaited, result)


async def _awaited(waiting: Awaitable[_Result]) -> _Result:
    return await waiting
