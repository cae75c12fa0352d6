"""One conversation with a model: which tools it has, what joins them, and what the model's calls mean.

Nothing that was sent is ever changed: the first request's tools are frozen, and what a later selection adds or takes
away is appended, in the way that the model family has for it (`capabilities.py`). So prompt caches hold. Where an API
has no such way its list grows at the end, and a tool that is withdrawn is not sent again.

A wire name means one tool for as long as the conversation lasts, the one that was loaded under it. What is loaded is
no right: every call goes to the gate, bound to the selection that brought its tool; any other name goes there without
one, to be refused on record as an unknown tool is.

There is no I/O here. `read` says what a response asks for, the door asks the service, and `answer` says what to
append. A conversation is a value: each step makes the next one, and `to_json` is all that a server has to keep.

Source: DESIGN sections 7 and 8.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from pegboard.core.names import Json
from pegboard.core.text import well_formed
from pegboard.engine.selection import Selection
from pegboard.engine.verdict import VerdictKind
from pegboard.providers import anthropic, chat, gemini, openai
from pegboard.providers.calls import Changes, ModelCall, Output
from pegboard.providers.capabilities import Api, Delivery, delivery_of
from pegboard.providers.loadout import Joined, Loadout
from pegboard.providers.rendering import SHAPES, entries, taken
from pegboard.providers.searching import (
    CALL,
    CALL_SCHEMA,
    CALL_TEXT,
    SEARCH,
    SEARCH_SCHEMA,
    limit_of,
    search_text,
    task_of,
)
from pegboard.providers.turns import UNKNOWN, Called, CallProposed, Found, Reply, SearchAsked, called, found, meant
from pegboard.providers.wired import Note

__all__ = ["Conversation", "Step"]

# After these a tool is called no more as it is: a later selection brings it anew, or never.
_DROPS = frozenset({VerdictKind.UNKNOWN_OR_DENIED, VerdictKind.STALE_SCHEMA})


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The conversation after a step, what to append to the history, and what was lost or held back.

    `outputs` are what our own calls came to, for a framework that writes the history itself.
    """

    conversation: "Conversation"
    append: tuple[Json, ...] = ()
    outputs: tuple[Output, ...] = ()
    report: tuple[Note, ...] = ()


# The names of our own functions, which no tool of the application's may have.
_OURS: dict[Delivery, tuple[str, ...]] = {
    Delivery.SEARCH: (openai.TOOL_SEARCH,),
    Delivery.INLINE: (SEARCH,),
    Delivery.REFERENCE: (SEARCH,),
    Delivery.LIST: (SEARCH,),
    Delivery.CALL: (SEARCH, CALL),
}


class _Talk(Protocol):
    """What a module of an API does in a conversation."""

    def meta(self, name: str, description: str, schema: Mapping[str, Json]) -> dict[str, Json]: ...

    def read(self, response: Any) -> Iterator[ModelCall]: ...

    def consistent(self, choice: Any, ours: Sequence[str], own: Collection[str], deferred: Collection[str]) -> Json: ...

    def append(
        self, outputs: Sequence[Output], changes: Changes, own: Collection[str], results: Sequence[Json]
    ) -> list[Json]: ...


_TALKS: dict[Api, _Talk] = {
    Api.OPENAI: openai,
    Api.CHAT: chat,
    Api.COMPATIBLE: chat,
    Api.ANTHROPIC: anthropic,
    Api.GEMINI: gemini,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """What one model has been given so far. Make it with `begin`."""

    loadout: Loadout
    own: tuple[Json, ...]
    """The application's own tools, in the API's shape."""
    about: str
    """What the search says of itself."""

    @classmethod
    def begin(
        cls,
        api: Api | str,
        *,
        model: str = "",
        selection: Selection | None = None,
        own: Sequence[Json] = (),
        prefix: str = "",
        namespaces: Collection[str] = (),
        deferred: Selection | None = None,
        delivery: Delivery | None = None,
    ) -> Step:
        """Begin a conversation with the tools of its first request.

        Args:
            api: Over which API; `mcp` holds no conversations.
            model: The model's name; it decides how tools join later.
            selection: What is loaded from the beginning.
            own: The application's own tools, in the API's shape: left as they are, and first.
            prefix: What the client puts before every name.
            namespaces: Of tools that the caller may use: the search's description names them.
            deferred: For models that must be told in the first request of all that may join: a selection of these.
            delivery: How tools join, in place of what the model's family has.

        Raises:
            ValueError: The API has no such delivery, or an own tool has the name of our search.
        """
        api = Api(api)
        chosen = delivery_of(api, model, delivery)
        if chosen is Delivery.REFERENCE and deferred is None:
            chosen = Delivery.LIST
        names, ours = taken(api, own), _OURS[chosen]
        if clash := next((name for name in ours if name in names), None):
            raise ValueError(f"an own tool is called {clash!r}, which is the name of one of ours; rename it")
        loadout = Loadout(api=api, delivery=chosen, prefix=prefix, own=names, entries=entries(api, own) + len(ours))
        report: list[Note] = []
        if selection is not None:
            loadout, notes = loadout.declare(selection)
            report += notes
        if chosen is Delivery.REFERENCE and deferred is not None:
            loadout, notes = loadout.defer(deferred)
            report += notes
        conversation = cls(loadout=loadout, own=tuple(own), about=search_text(namespaces))
        return Step(conversation=conversation, report=tuple(report))

    @property
    def loaded(self) -> tuple[str, ...]:
        """Return the ids of what may be called: what the next selection need not bring again."""
        return tuple(tool.tool_id for tool in self.loadout.loaded)

    def request(self) -> dict[str, Json]:
        """Return what belongs into every request beside the history: `tools`, and for Anthropic `betas`."""
        loadout, shape = self.loadout, SHAPES[self.loadout.api]
        listed = loadout.delivery is Delivery.LIST
        first = [tool for tool in loadout.declared if not listed or tool in loadout.loaded]
        later = [tool for tool in loadout.loaded if tool not in loadout.declared] if listed else []
        declared = [
            *map(shape.function, first),
            *self._functions(),
            *map(shape.function, later),
            *(anthropic.function(tool, deferred=True) for tool in loadout.deferred),
        ]
        request: dict[str, Json] = {"tools": shape.together(self.own, declared)}
        return {**request, "betas": list(anthropic.BETAS)} if loadout.delivery is Delivery.INLINE else request

    def tool_choice(self, choice: Json) -> Json:
        """Return the application's choice of tools so that it stays one the API accepts and our tools can be called."""
        loadout = self.loadout
        ours = [*_OURS[loadout.delivery], *(tool.name for tool in loadout.loaded)]
        deferred = [] if loadout.delivery is Delivery.LIST else [tool.name for tool in loadout.added]
        return _TALKS[loadout.api].consistent(choice, ours, loadout.own, deferred)

    def read(self, response: Any) -> tuple[SearchAsked | CallProposed, ...]:
        """Say what a response asks of us, in its order: a plain mapping, as the API sends it, or its items.

        Calls of the application's own tools are left to it.
        """
        calls = _TALKS[self.loadout.api].read(response)
        return tuple(self.asked(call) for call in calls if call.search or call.name not in self.loadout.own)

    def asked(self, call: ModelCall) -> SearchAsked | CallProposed:
        """Say what one call asks of us, for a framework that has read it already."""
        searching = self.loadout.delivery is not Delivery.SEARCH and call.name == SEARCH
        if call.search or searching:
            return SearchAsked(call=call, task=task_of(call.arguments), limit=limit_of(call.arguments))
        name, arguments = meant(call) if self.loadout.delivery is Delivery.CALL else (call.name, call.arguments)
        tool = self.loadout.find(name)
        if tool is None or not openai.is_home(call.namespace, tool):
            named = well_formed(f"{call.namespace}/{name}" if call.namespace else name)
            return CallProposed(call=call, tool=named, arguments=arguments, caller=call.called_by, problem=UNKNOWN)
        return CallProposed(
            call=call,
            tool=tool.tool_id,
            arguments=tool.compiled.mapping.restore(arguments),
            caller=call.called_by,
            tool_id=tool.tool_id,
            selection_id=self.loadout.bound.get(tool.tool_id),
        )

    def load(self, selection: Selection) -> Step:
        """Bring the conversation up to a selection that the application made unasked.

        What is to be appended goes after the user's message, before the model's next turn.
        """
        loadout, joined = self.loadout.join(selection, searched=False)
        return self._step(loadout, [joined], [], ())

    def answer(self, replies: Iterable[Reply], results: Sequence[Json] = ()) -> Step:
        """Say what to append for the answers to everything that one response asked.

        Args:
            replies: One for each of what `read` returned, in that order.
            results: What the application's own tools gave in the same turn, in the API's shape: items, messages,
                content blocks or parts. They come first.
        """
        replies = tuple(replies)
        # What the gate no longer takes goes first: a search of the same turn may have brought it anew.
        loadout, gone = self.loadout.drop(_dropped(replies))
        changes, outputs = [Joined(gone=gone)], list[Output]()
        for reply in replies:
            if isinstance(reply, Found):
                loadout, joined = loadout.join(reply.selection, searched=True)
                changes.append(joined)
                outputs.append(found(loadout.delivery, reply, joined))
            else:
                outputs.append(called(reply))
        return self._step(loadout, changes, outputs, results)

    def to_json(self) -> dict[str, Json]:
        """Return the conversation as JSON, its tools' definitions in it. It grants nothing to whoever changes it."""
        loadout = self.loadout
        said: dict[str, Json] = {"api": str(loadout.api), "prefix": loadout.prefix, "about": self.about}
        return {**said, "own": list(self.own), **loadout.to_json()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Conversation":
        """Rebuild a conversation that `to_json` wrote; its requests are the same bytes.

        Raises:
            ValueError: It is not one.
        """
        try:
            api, own = Api(value["api"]), tuple(value["own"])
            delivery, room = Delivery(value["delivery"]), entries(api, own)
            empty = Loadout(
                api=api,
                delivery=delivery,
                prefix=value["prefix"],
                own=taken(api, own),
                entries=room + len(_OURS[delivery]),
            )
            return cls(loadout=empty.restored(value), own=own, about=value["about"])
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"this is no conversation: {error}") from error

    def _functions(self) -> list[dict[str, Json]]:
        """Return our own functions as the API declares them."""
        loadout = self.loadout
        if loadout.delivery is Delivery.SEARCH:
            return [openai.client_search(self.about)]
        rows = ((SEARCH, self.about, SEARCH_SCHEMA), (CALL, CALL_TEXT, CALL_SCHEMA))
        meta = _TALKS[loadout.api].meta
        return [meta(*row) for row in rows if row[0] in _OURS[loadout.delivery]]

    def _step(
        self, loadout: Loadout, joined: Sequence[Joined], outputs: Sequence[Output], results: Sequence[Json]
    ) -> Step:
        changes = _changes(loadout, joined, searched=bool(outputs))
        append = _TALKS[loadout.api].append(outputs, changes, loadout.own, results)
        report = tuple(note for one in joined for note in one.report)
        after = replace(self, loadout=loadout)
        return Step(conversation=after, append=tuple(append), outputs=tuple(outputs), report=report)


def _dropped(replies: Iterable[Reply]) -> Iterator[str]:
    for reply in replies:
        if isinstance(reply, Called) and reply.answer is not None and reply.answer.verdict.kind in _DROPS:
            yield reply.proposed.tool_id or ""


def _changes(loadout: Loadout, joined: Sequence[Joined], *, searched: bool) -> Changes:
    """Return what has to be said beside the outputs: where these carry what a search loaded, nothing of that."""
    new = tuple(tool for one in joined for tool in one.new)
    if loadout.delivery is Delivery.INLINE:
        return Changes(
            added=new,
            restored=tuple(tool.name for one in joined for tool in one.again),
            removed=tuple(tool.name for one in joined for tool in one.gone),
        )
    return Changes(added=new) if loadout.delivery is Delivery.SEARCH and not searched else Changes()
