"""A model in the loop of an evaluation: it gets a task and what an arm selected, and its calls are judged, never made.

Each call that could be made is answered with a sentence that says it was. What counts is which tools the model chose,
whether its arguments keep to their schemas, and how often it had to search again.

Source: DESIGN section 11; `providers/conversation.py` for what stands in each request.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from pegboard.core.names import Json
from pegboard.engine.schemas import Compiled, check_arguments
from pegboard.engine.selection import Selection
from pegboard.engine.verdict import Verdict, VerdictKind
from pegboard.evaluation.fixtures import Fixture
from pegboard.evaluation.runs import Run
from pegboard.providers.capabilities import Api
from pegboard.providers.conversation import Conversation
from pegboard.providers.turns import Called, CallProposed, Found, SearchAsked

__all__ = ["Hand", "ModelError", "ModelServer", "Said", "Usage", "completed", "in_the_loop"]

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


@dataclass(slots=True)
class _Tally:
    """What was counted so far."""

    called: list[tuple[str, Json]] = field(default_factory=list)
    """Valid calls, in order."""
    calls: int = 0
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
class _Judged:
    """What the gate would say of a call, with no result, since nothing is run."""

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
        valid_calls=len(tally.called),
        searches=tally.searches,
        tokens_cached=tally.cached,
        tokens_uncached=tally.uncached,
    )
    if error is not None:
        # What was seen until then is no measure of the task.
        return replace(run, error=error)
    spent_ms = (ticks() - began) * 1e3 + (run.ms or 0.0)
    return replace(found, end_to_end_ms=spent_ms, completed=completed(hand.task, tally.called, tally.text))


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
        wanted, says = task.completed.get("called", []), task.completed.get("says", [])
        left = iter(tools)
        in_order = isinstance(wanted, list) and all(tool in left for tool in wanted)
        return in_order and isinstance(says, list) and all(str(one).lower() in text.lower() for one in says)
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
        return Called(proposed=asked, answer=_Judged(verdict=verdict))
    tally.called.append((asked.tool_id, asked.arguments))
    return Called(proposed=asked, answer=_Judged(verdict=Verdict(kind=VerdictKind.ALLOWED, message="")), output=_DONE)
