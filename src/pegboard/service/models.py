"""A model in the loop of an evaluation: it gets a task and what an arm selected, and its calls are judged and answered.

A call of a loaded tool with valid arguments is answered by what the fixture recorded for the tool, else by a sentence
that says it was done; or it is made, where a deployment's gate answers. What counts is which tools the model chose,
whether its arguments keep to their schemas, how often it had to search again, and whether the task was completed.

Source: DESIGN section 11; `providers/conversation.py` for what stands in each request.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from pegboard.core.context import RuntimeContext
from pegboard.core.names import Json
from pegboard.engine.schemas import Compiled, check_arguments
from pegboard.engine.selection import Selection
from pegboard.engine.verdict import ProposedCall, Verdict, VerdictKind
from pegboard.evaluation.fixtures import Fixture
from pegboard.evaluation.runs import Run
from pegboard.providers.capabilities import Api
from pegboard.providers.conversation import Conversation
from pegboard.providers.turns import Answered, Called, CallProposed, Found, SearchAsked
from pegboard.service.gatekeeper import Gatekeeper

__all__ = [
    "Calling",
    "Hand",
    "ModelError",
    "ModelServer",
    "Said",
    "Usage",
    "completed",
    "in_the_loop",
    "made",
    "recorded",
]

_DONE = "It is done."


class ModelError(Exception):
    """The model's server gave no answer that can be used; the text says why, without what was sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Input tokens of one request as the server counted them; None where it does not say."""

    cached: int | None = None
    uncached: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One answer of the model: the response as it came, what stands for it in the history, its text, and its price."""

    response: Mapping[str, Json]
    history: Json
    text: str
    usage: Usage


class ModelServer(Protocol):
    """A model behind an endpoint."""

    @property
    def api(self) -> Api:
        """Return what it speaks."""

    @property
    def model(self) -> str:
        """Return the model's name."""

    @property
    def turns(self) -> int:
        """Return how many requests a task may take."""

    async def ask(self, messages: Sequence[Json], request: Mapping[str, Json]) -> Said:
        """Send the history and what the conversation puts beside it.

        Raises:
            ModelError: There was no answer, or none of the API's form.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Hand:
    """What one task is played with: what was selected, and how more is found and judged."""

    task: Fixture
    selection: Selection
    namespaces: Collection[str]
    find: Callable[[str, int | None, Sequence[str]], Awaitable[Selection]]
    """Selects again for a text, a limit, and what is loaded already."""
    schema: Callable[[str], Compiled | None]
    """Returns the schema of a tool by its id."""
    call: "Calling"
    """Answers a call of a loaded tool with valid arguments."""


Calling = Callable[[str, Json], Awaitable[Answered]]
"""(tool id, arguments) -> what the call came to, made or not."""


@dataclass(slots=True)
class _Tally:
    """What was counted so far."""

    called: list[tuple[str, Json]] = field(default_factory=list)
    """Calls that did what they were made for, in order."""
    calls: int = 0
    valid: int = 0
    searches: int = 0
    text: str = ""
    cached: int | None = None
    uncached: int | None = None

    def pay(self, usage: Usage) -> None:
        """Add what a request took."""
        if usage.cached is not None:
            self.cached = (self.cached or 0) + usage.cached
        if usage.uncached is not None:
            self.uncached = (self.uncached or 0) + usage.uncached


@dataclass(frozen=True, slots=True, kw_only=True)
class _Unmade:
    """What a call is answered that is not made."""

    verdict: Verdict
    result: Mapping[str, Json] | None = None
    error: Mapping[str, Json] | None = None


async def in_the_loop(model: ModelServer, hand: Hand, run: Run, ticks: Callable[[], float]) -> Run:
    """Return *run* with what the model made of the task; where its server failed, with the error."""
    tally, began = _Tally(), ticks()
    error = None
    try:
        await _talk(model, hand, tally)
    except ModelError as failure:
        error = f"the model: {failure}"
    found = replace(
        run,
        calls=tally.calls,
        valid_calls=tally.valid,
        searches=tally.searches,
        tokens_cached=tally.cached,
        tokens_uncached=tally.uncached,
    )
    if error is not None:
        # What was seen until then is no measure of the task.
        return replace(run, error=error)
    spent_ms = (ticks() - began) * 1e3 + (run.ms or 0.0)
    return replace(found, end_to_end_ms=spent_ms, completed=completed(hand.task, tally.called, tally.text))


def recorded(task: Fixture) -> Calling:
    """Return what answers calls by the task's own results, and makes none."""

    async def call(tool: str, _: Json) -> Answered:
        said = task.results.get(tool, _DONE)
        text: Mapping[str, Json] = {"content": [{"type": "text", "text": said}]}
        result = text if isinstance(said, str) else said if isinstance(said, Mapping) else {"structuredContent": said}
        return _Unmade(verdict=Verdict(kind=VerdictKind.ALLOWED), result=result)

    return call


def made(gate: Gatekeeper, context: RuntimeContext, conversation: str) -> Calling:
    """Return what makes calls: through the gate, like any other of this caller, and on record like them."""

    async def call(tool: str, arguments: Json) -> Answered:
        proposed = ProposedCall(tool=tool, arguments=arguments, conversation=conversation)
        # The model has the tool of a selection that is not on record; the gate still asks whether it may be used now.
        return await gate.call(proposed, context, all_listed=True)

    return call


def completed(task: Fixture, called: Sequence[tuple[str, Json]], text: str) -> bool:
    """Say whether a run did what its task asks.

    By the fixture's own check where it has one: the tools `called`, in this order among others, and texts that the
    last answer `says`. Else by the labels: a call for every step, the first with the stated arguments, and none where
    no tool fits. A forbidden call fails either way.
    """
    tools = [tool for tool, _ in called]
    if not task.forbidden.isdisjoint(tools):
        return False
    if task.completed is not None:
        left, said = iter(tools), text.lower()
        in_order = all(tool in left for tool in task.completed.called)
        return in_order and all(one.lower() in said for one in task.completed.says)
    if not task.steps:
        return not tools
    stated = task.arguments or {}
    first = any(
        tool in task.steps[0]
        and isinstance(given, Mapping)
        and all(given.get(key) == one for key, one in stated.items())
        for tool, given in called
    )
    return first and all(not step.isdisjoint(tools) for step in task.steps)


async def _talk(model: ModelServer, hand: Hand, tally: _Tally) -> None:
    step = Conversation.begin(model.api, model=model.model, selection=hand.selection, namespaces=hand.namespaces)
    conversation = step.conversation
    messages: list[Json] = [{"role": "user", "content": hand.task.task}]
    for _ in range(model.turns):
        said = await model.ask(messages, conversation.request())
        tally.pay(said.usage)
        tally.text = said.text
        replies = [await _reply(asked, conversation, hand, tally) for asked in conversation.read(said.response)]
        if not replies:
            return
        step = conversation.answer(replies)
        conversation = step.conversation
        messages += [said.history, *step.append]


async def _reply(
    asked: SearchAsked | CallProposed, conversation: Conversation, hand: Hand, tally: _Tally
) -> Found | Called:
    if isinstance(asked, SearchAsked):
        tally.searches += 1
        return Found(asked=asked, selection=await hand.find(asked.task, asked.limit, conversation.loaded))
    tally.calls += 1
    schema = None if asked.tool_id is None or asked.problem is not None else hand.schema(asked.tool_id)
    if schema is None or asked.tool_id is None:
        return Called(proposed=asked)
    problem = check_arguments(schema, asked.arguments)
    if problem is not None:
        verdict = Verdict(
            kind=VerdictKind.INVALID_ARGUMENTS,
            message=problem.message,
            path=problem.path,
            constraint=problem.constraint,
        )
        return Called(proposed=asked, answer=_Unmade(verdict=verdict))
    tally.valid += 1
    answer = await hand.call(asked.tool_id, asked.arguments)
    if _succeeded(answer):
        tally.called.append((asked.tool_id, asked.arguments))
    return Called(proposed=asked, answer=answer)


def _succeeded(answer: Answered) -> bool:
    allowed = answer.verdict.kind is VerdictKind.ALLOWED and answer.error is None
    return allowed and not (answer.result or {}).get("isError", False)
