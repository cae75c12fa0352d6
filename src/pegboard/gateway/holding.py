"""Calls that wait for an answer of their client, held between the request that made them and the one that answers.

In the present era a server cannot ask a client while a request is open; the request ends with what is asked, and the
client sends it again with the answer. The call to the tool's server goes on meanwhile, so it is judged once, sent once
and stands once in the ledger, whatever its client does. A held call is known by a random number and belongs to whoever
made it, with the arguments that it was made with; in another process it is not there.

Source: MCP 2026-07-28, multi-round-trip requests; law 10.
"""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import anyio
from anyio.abc import TaskGroup
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.types import INVALID_PARAMS, CallToolRequestParams, InputRequiredResult
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

from pegboard.gateway.asking import ANSWER_S, NOT_IN_TIME, Question, answer_of, asker, kinds_of, question_of
from pegboard.service.inputs import Answer, Answering, Asked, Kind, RefusedInputError, answered_by
from pegboard.service.ports import Clock

__all__ = ["HeldCalls"]

# Calls of one caller that wait at the same time: each takes a place at its server.
_AT_ONCE = 4
# How often one call may ask; the protocol's own client goes along as often.
_QUESTIONS = 10
_TOO_MANY = RefusedInputError(INVALID_PARAMS, "too much is asked of this caller")
_GONE = "this call does not wait for an answer here: it has ended, or was made by another or with other arguments"
# The one question of a round has this key.
_KEY = "question"

_Result: TypeAlias = Mapping[str, Any]
_Deed: TypeAlias = Callable[[], Awaitable[_Result]]


class HeldCalls:
    """Makes calls whose servers may ask their clients."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._held: dict[str, _Held] = {}
        self._waiting: Counter[str] = Counter()
        self._tasks: TaskGroup | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Hold calls for the time of the body."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                yield
            finally:
                if self._tasks is tasks:
                    self._tasks = None
                tasks.cancel_scope.cancel()

    async def call(
        self, ctx: ServerRequestContext[Any, Any], identity: str, params: CallToolRequestParams, deed: _Deed
    ) -> _Result | InputRequiredResult:
        """Make a call, or go on with one that is held; what it comes to, or what its server asks now.

        Raises:
            MCPError: No such call is held; or as *deed* raises.
        """
        made_with = (identity, params.name, params.arguments or {})
        if params.request_state is not None:
            held = self._held.get(params.request_state)
            if held is None or held.made_with != made_with:
                raise MCPError(INVALID_PARAMS, _GONE)
            del self._held[params.request_state]
            held.take((params.input_responses or {}).get(_KEY))
            return await self._waited(held)
        kinds = kinds_of(ctx.session.client_capabilities)
        if not kinds or self._tasks is None:
            return await deed()
        if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            with answered_by(self._bounded(identity, kinds, asker(ctx))):
                return await deed()
        held = _Held(made_with)
        self._tasks.start_soon(held.run, deed, self._bounded(identity, kinds, held.answer))
        return await self._waited(held)

    def _bounded(self, identity: str, kinds: frozenset[Kind], ask: Answer) -> Answering:
        """Ask only so often in one call, and of one caller only so much at once."""
        left = iter(range(_QUESTIONS))

        async def answer(asked: Asked) -> _Result:
            if next(left, None) is None or self._waiting[identity] >= _AT_ONCE:
                raise _TOO_MANY
            self._waiting[identity] += 1
            try:
                return await ask(asked)
            finally:
                self._waiting[identity] -= 1
                self._waiting += Counter()  # what is at 0 goes

        return Answering(kinds=kinds, answer=answer)

    async def _waited(self, held: "_Held") -> _Result | InputRequiredResult:
        """Wait until a call has ended or asks. Whoever goes away meanwhile ends it."""
        try:
            question = await held.moved()
        except anyio.get_cancelled_exc_class():
            held.scope.cancel()
            raise
        if question is None:
            return held.result()
        state = self._clock.new_id("input")
        self._held[state] = held
        held.at_its_end(lambda: self._held.pop(state, None))
        return InputRequiredResult(input_requests={_KEY: question}, request_state=state)


class _Held:
    """One call, and what passes between its server and its client."""

    def __init__(self, made_with: tuple[str, str, Mapping[str, Any]]) -> None:
        self.made_with = made_with
        self.scope = anyio.CancelScope()
        self._moved = anyio.Event()
        self._question: Question | None = None
        self._answered = anyio.Event()
        self._said: object = None
        self._left_alone = False
        self._result: _Result | None = None
        self._failure: Exception | None = None
        self._let_go: Callable[[], object] = lambda: None

    async def run(self, deed: _Deed, answering: Answering) -> None:
        """Make the call."""
        try:
            with self.scope, answered_by(answering):
                self._result = await deed()
        except Exception as error:  # noqa: BLE001 - raised to whoever waits; no call may end those of others
            self._failure = error
        finally:
            self._let_go()
            self._question = None
            self._moved.set()

    async def answer(self, asked: Asked) -> _Result:
        """Ask the client, and wait for what it says."""
        if self._left_alone:
            raise NOT_IN_TIME
        self._question, self._answered = question_of(asked), anyio.Event()
        self._moved.set()
        with anyio.move_on_after(ANSWER_S) as wait:
            await self._answered.wait()
        if wait.cancelled_caught:
            self._let_go()
            self._left_alone = True
            raise NOT_IN_TIME
        return answer_of(asked.kind, self._said)

    def take(self, said: object) -> None:
        """Take the client's answer."""
        self._said, self._question, self._moved = said, None, anyio.Event()
        self._answered.set()

    def at_its_end(self, let_go: Callable[[], object]) -> None:
        """Do this when its client is not waited for any more."""
        self._let_go = let_go

    async def moved(self) -> Question | None:
        """Wait until it asks something, or has ended (None)."""
        await self._moved.wait()
        return self._question

    def result(self) -> _Result:
        """Return what the call came to, or raise what it failed with."""
        if self._failure is not None:
            raise self._failure
        if self._result is None:
            raise MCPError(INVALID_PARAMS, _GONE)
        return self._result
