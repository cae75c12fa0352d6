"""A toolbox: the tools that one conversation has inside an agent framework, for frameworks that hold the model's API.

It selects for what the user says, offers functions, and answers what the model calls: its search and the tools. What
joins comes at the end, nothing is renamed or reordered, so prompt caches hold. A framework sees functions with a name,
a description and a schema; which tool a name means, for whom, and whether it may run is decided here and at the gate.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, TypeVar

from pegboard.core.context import RuntimeContext
from pegboard.core.names import Json, digest
from pegboard.core.text import well_formed
from pegboard.integrations.door import Door, replied
from pegboard.providers.calls import ModelCall, Output, arguments_of
from pegboard.providers.capabilities import Api, Delivery
from pegboard.providers.conversation import Conversation
from pegboard.providers.searching import SEARCH, SEARCH_SCHEMA
from pegboard.providers.turns import Found
from pegboard.providers.wired import Wired

__all__ = ["Function", "Toolbox"]

_Tool = TypeVar("_Tool")


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """What a framework tells its model of a tool. `strict`: the schema is one that a provider can hold a model to."""

    name: str
    description: str
    schema: dict[str, Json]
    strict: bool = False


@dataclass(slots=True, kw_only=True)
class Toolbox:
    """The tools of one conversation. Make it with `begin`, or with `resume` from what `kept` returned.

    Its verbs may be called from several threads at once, as parallel calls of one turn are.
    """

    door: Door
    context: RuntimeContext
    conversation: Conversation
    called: str | None = None
    """The application's own name of the conversation: rules of flow and a rollout go by it."""
    heard: str | None = None
    """Names what was last said, and by whom, without their words."""
    production: frozenset[str] = frozenset()
    """The namespaces that the last selection left to production: of these the application lists its own tools."""
    _turn: Lock = field(default_factory=Lock, repr=False)

    @classmethod
    def begin(
        cls,
        door: Door,
        context: RuntimeContext,
        *,
        api: Api | str = Api.CHAT,
        own: Iterable[str] = (),
        called: str | None = None,
        namespaces: Sequence[str] = (),
    ) -> "Toolbox":
        """Begin with nothing but the search.

        Args:
            door: What selects and calls.
            context: The trusted facts about the caller.
            api: Which API the framework's model speaks, for the form of schemas; most take that of Chat Completions.
            own: The names of the agent's other tools: none of ours gets one of them.
            called: The application's own name of the conversation.
            namespaces: Of tools that the caller may use: the search's description names them.
        """
        named: list[Json] = [_named(name) for name in own]
        step = Conversation.begin(api, own=named, namespaces=namespaces, delivery=Delivery.LIST)
        return cls(door=door, context=context, conversation=step.conversation, called=called)

    @classmethod
    def resume(
        cls, door: Door, context: RuntimeContext, kept: Mapping[str, Any], *, called: str | None = None
    ) -> "Toolbox":
        """Go on with what `kept` returned. It grants nothing: whoever changes it still meets the gate.

        Raises:
            ValueError: It is no such thing.
        """
        return cls(
            door=door,
            context=context,
            conversation=Conversation.from_json(kept.get("conversation", {})),
            called=called,
            heard=kept.get("heard"),
            production=frozenset(kept.get("production", ())),
        )

    def kept(self) -> dict[str, Json]:
        """Return as JSON what a framework has to keep between two requests."""
        production: list[Json] = [*sorted(self.production)]
        return {"heard": self.heard, "production": production, "conversation": self.conversation.to_json()}

    @property
    def functions(self) -> tuple[Function, ...]:
        """Return what the model may call, in an order in which it only grows at the end."""
        loadout = self.conversation.loadout
        first = [tool for tool in loadout.declared if tool in loadout.loaded]
        later = [tool for tool in loadout.loaded if tool not in loadout.declared]
        search = Function(name=SEARCH, description=self.conversation.about, schema=SEARCH_SCHEMA)
        return (*map(_function, first), search, *map(_function, later))

    def hear(self, task: str) -> None:
        """Select for what the user has said, once; what may be used no longer goes, what is loaded stays.

        The same words are heard anew where who asks, or with what rights, has changed: what was loaded for someone
        else is not shown on.

        Raises:
            LockError: The lock cannot be read; nothing is selected then.
            StoreError: The store failed.
        """
        heard = digest([well_formed(task), self.context.to_json()])
        if not task.strip() or heard == self.heard:
            return
        loaded = self.conversation.loaded
        selection = self.door.select(task, self.context, loaded=loaded, conversation=self.called)
        with self._turn:
            self.conversation, self.heard = self.conversation.load(selection).conversation, heard
            self.production = frozenset(selection.production)

    def left(self, tools: Mapping[str, Iterable[_Tool]]) -> list[_Tool]:
        """Return those of an application's own tools, by namespace, that stand in for ours now."""
        return [one for namespace, those in tools.items() if namespace in self.production for one in those]

    def drop(self, tool_ids: Iterable[str]) -> None:
        """Let go of tools that the gate no longer takes as they are."""
        loadout, _ = self.conversation.loadout.drop(tool_ids)
        self.conversation = replace(self.conversation, loadout=loadout)

    def answer(self, name: str, arguments: Any, call_id: str | None = None) -> Output:
        """Answer one call of the model's: of the search, of a tool, or of something that is not there.

        Args:
            name: As the model wrote it.
            arguments: As the model wrote them: an object, or a text of JSON, or neither.
            call_id: The call's id, where there is one.
        """
        conversation = self.conversation
        asked = conversation.asked(ModelCall(call_id=call_id, name=name, arguments=arguments_of(arguments)))
        reply = replied(self.door, asked, self.context, loaded=conversation.loaded, conversation=self.called)
        with self._turn:
            # Not *conversation*: another call of this turn may have been answered meanwhile.
            step = self.conversation.answer([reply])
            self.conversation = step.conversation
            if isinstance(reply, Found):
                self.production = frozenset(reply.selection.production)
        return step.outputs[0]


def _function(tool: Wired) -> Function:
    return Function(name=tool.name, description=tool.tool.description, schema=tool.schema, strict=tool.strict)


def _named(name: str) -> Json:
    """Return a name where every API has it; it is looked at for collisions and never sent."""
    return {"type": "function", "name": name, "function": {"name": name}, "functionDeclarations": [{"name": name}]}
