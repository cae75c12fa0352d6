"""The clients of model APIs without a framework: `openai` (both of its APIs), `anthropic`, `google-genai`.

    talk = Talk.begin(board, sam, "openai", model="gpt-5.4", task="which orders are open?")
    while talk.open:
        talk.take(client.responses.create(**talk.request()))

The client, its settings and its streaming stay the application's: a talk says what goes into each request and takes
what came back, until the model asks nothing more. Tools join in the way the model has for it, and no byte that was
sent changes. No SDK is imported: what it returned is read as plain data.

Source: openai 3.57.0, anthropic 2.15.0, google-genai 3.6.1.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pegboard.core.context import RuntimeContext
from pegboard.core.names import Json
from pegboard.integrations.door import Door, aside, replied
from pegboard.providers.capabilities import Api, Delivery
from pegboard.providers.conversation import Conversation

__all__ = ["Talk"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Client:
    """How one client takes a request and what its response adds to the history."""

    history: str
    said: Callable[[str], dict[str, Json]]
    answered: Callable[[Mapping[str, Any]], Iterable[Json]]
    config: str | None = None
    """Where the tools stand, if not beside the history."""


def _user(text: str) -> dict[str, Json]:
    return {"role": "user", "content": text}


def _contents(response: Mapping[str, Any]) -> list[Json]:
    candidates = response.get("candidates") or [{}]
    content = candidates[0].get("content")
    return [] if content is None else [content]


_CHAT = _Client(history="messages", said=_user, answered=lambda response: [response["choices"][0]["message"]])
# One row an API: the names that its client has for the same things.
_CLIENTS: dict[Api, _Client] = {
    Api.OPENAI: _Client(history="input", said=_user, answered=lambda response: response["output"]),
    Api.CHAT: _CHAT,
    Api.COMPATIBLE: _CHAT,
    Api.ANTHROPIC: _Client(
        history="messages",
        said=_user,
        answered=lambda response: [{"role": "assistant", "content": response["content"]}],
    ),
    Api.GEMINI: _Client(
        history="contents",
        said=lambda text: {"role": "user", "parts": [{"text": text}]},
        answered=_contents,
        config="config",
    ),
}


@dataclass(slots=True, kw_only=True)
class Talk:
    """One conversation over a plain client. `history` is the application's to read and to keep."""

    door: Door
    context: RuntimeContext
    model: str
    conversation: Conversation
    history: list[Json] = field(default_factory=list)
    called: str | None = None
    """The application's own name of the conversation: rules of flow and a rollout go by it."""
    open: bool = False
    """Whether the model has something to answer."""

    @classmethod
    def begin(
        cls,
        door: Door,
        context: RuntimeContext,
        api: Api | str,
        *,
        model: str,
        task: str,
        own: Sequence[Json] = (),
        production: Mapping[str, Sequence[Json]] | None = None,
        called: str | None = None,
        namespaces: Sequence[str] = (),
        delivery: Delivery | None = None,
    ) -> "Talk":
        """Begin with what the user says and the tools for it.

        Args:
            door: What selects and calls.
            context: The trusted facts about the caller.
            api: `openai` (Responses), `openai-chat`, `openai-compatible`, `anthropic` or `gemini`.
            model: The model's name; it decides how tools join later.
            task: What the user says.
            own: The application's own tools, in the API's shape: first, and left as they are.
            production: More of them by namespace, as they were before: there where a rollout leaves it to them.
            called: The application's own name of the conversation.
            namespaces: Of tools that the caller may use: the search's description names them.
            delivery: How tools join, in place of what the model's family has.

        Raises:
            ValueError: No conversation is held over this API, or an own tool has the name of our search.
        """
        selection = door.select(task, context, conversation=called)
        left = [tool for path, tools in (production or {}).items() if path in selection.production for tool in tools]
        step = Conversation.begin(
            api,
            model=model,
            selection=selection,
            own=[*own, *left],
            namespaces=namespaces,
            delivery=delivery,
        )
        talk = cls(door=door, context=context, model=model, conversation=step.conversation, called=called)
        talk._said(task)
        return talk

    def say(self, task: str) -> None:
        """Go on with what the user says next; the tools for it join where the API can be told unasked."""
        loaded = self.conversation.loaded
        selection = self.door.select(task, self.context, loaded=loaded, conversation=self.called)
        self._said(task)
        step = self.conversation.load(selection)
        self.conversation = step.conversation
        self.history.extend(step.append)

    def request(self) -> dict[str, Any]:
        """Return what goes into the next request, for `create` or `generate_content`; settings come beside it."""
        client, tools = self._client, self.conversation.request()
        placed = tools if client.config is None else {client.config: tools}
        return {"model": self.model, client.history: list(self.history), **placed}

    def take(self, response: Any, results: Sequence[Json] = ()) -> None:
        """Take a response: run what it calls, answer what it searches for, and say whether the talk is open still.

        Args:
            response: What the client returned, or the same as plain data.
            results: What the application's own tools gave to this response, in the API's shape.
        """
        plain = _plain(response)
        conversation = self.conversation
        replies = [
            replied(self.door, asked, self.context, loaded=conversation.loaded, conversation=self.called)
            for asked in conversation.read(plain)
        ]
        step = conversation.answer(replies, results)
        self.conversation = step.conversation
        self.history.extend([*self._client.answered(plain), *step.append])
        self.open = bool(replies or results)

    async def taken(self, response: Any, results: Sequence[Json] = ()) -> None:
        """Take a response as `take` does, awaited."""
        await aside(self.take, response, results)

    @property
    def _client(self) -> _Client:
        return _CLIENTS[self.conversation.loadout.api]

    def _said(self, task: str) -> None:
        self.history.append(self._client.said(task))
        self.open = True


def _plain(response: Any) -> Mapping[str, Any]:
    """Return a response as plain data, as it was sent: APIs refuse nulls that they did not send themselves."""
    if isinstance(response, Mapping):
        return response
    plain: Mapping[str, Any] = response.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return plain
