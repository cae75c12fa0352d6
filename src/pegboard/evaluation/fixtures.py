"""Fixtures: labelled tasks. Which tools would have been right, for whom, at which step of the work.

Source: SURFACE "Fixtures"; relevance judgments of TREC, with steps of which any tool will do.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, TypeVar

from pegboard.core.context import RuntimeContext
from pegboard.core.names import Json
from pegboard.engine.selection import Outcome

__all__ = ["Category", "Completion", "Fixture", "read_fixture", "with_ids"]

_Word = TypeVar("_Word", bound=StrEnum)


class Category(StrEnum):
    """What a task is there to show."""

    ORDINARY = "ordinary"
    AMBIGUOUS = "ambiguous"
    SIMILAR_TOOLS = "similar_tools"
    MULTI_TOOL = "multi_tool"
    PERMISSION_CHANGE = "permission_change"
    DISABLED_INTEGRATION = "disabled_integration"
    RENAMED_SCHEMA = "renamed_schema"
    FORBIDDEN_CAPABILITY = "forbidden_capability"
    NO_TOOL = "no_tool"


_KNOWN = frozenset(
    {"task", "task_id", "query", "query_id", "as", "principal", "stage", "split", "category", "outcome", "candidates"}
    | {"acceptable", "relevant", "forbidden", "arguments", "completed", "results"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What a finished run must show: tools that were called, in this order among others, and texts of the answer."""

    called: tuple[str, ...] = ()
    says: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixture:
    """One labelled task. Ids are tool ids as the file gives them.

    `steps` has the acceptable tools of each step, any of which satisfies it; none means that no tool is right.
    `profile` names who asks, `principal` says it in full; with neither it is the evaluation's default.
    """

    task_id: str
    task: str
    steps: tuple[frozenset[str], ...] = ()
    forbidden: frozenset[str] = frozenset()
    """Tools that must not be served, whoever asks."""
    outcome: Outcome | None = None
    """The outcome that is right; None: any that serves the right tools, or `no_tool` where none is."""
    category: Category = Category.ORDINARY
    arguments: Mapping[str, Json] | None = field(default=None, hash=False)
    """What the call of the first step should be made with."""
    completed: Completion | None = None
    """When a run with a model is done; None: when a call was made for every step."""
    results: Mapping[str, Json] = field(default_factory=dict, hash=False)
    """By tool id, what a model is answered where calls are not made: a tool's result as MCP has it, or any value."""
    profile: str | None = None
    principal: RuntimeContext | None = None
    stage: str | None = None
    candidates: frozenset[str] | None = None
    """The only tools that may be eligible for this task; None: no such limit."""
    split: str | None = None

    @property
    def answerable(self) -> bool:
        """Say whether some tool is right."""
        return bool(self.steps)

    @property
    def accepted(self) -> frozenset[str]:
        """Return every tool that some step accepts."""
        return frozenset().union(*self.steps)


def with_ids(task: Fixture, ids: Mapping[str, str]) -> Fixture:
    """Return the task with ids in place of the names in *ids*, which people write as `namespace/name`."""

    def one(tool: str) -> str:
        return ids.get(tool, tool)

    def named(tools: frozenset[str]) -> frozenset[str]:
        return frozenset(map(one, tools))

    return replace(
        task,
        steps=tuple(map(named, task.steps)),
        forbidden=named(task.forbidden),
        candidates=None if task.candidates is None else named(task.candidates),
        completed=task.completed and replace(task.completed, called=tuple(map(one, task.completed.called))),
        results={one(tool): result for tool, result in task.results.items()},
    )


def read_fixture(raw: Mapping[str, Any], number: int) -> tuple[Fixture, tuple[str, ...]]:
    """Read one fixture; *number* names it where it has no id.

    Returns:
        The fixture, and the keys that mean nothing here.

    Raises:
        ValueError: It has no task, or a key has the wrong form.
    """
    task = raw.get("task", raw.get("query"))
    if not isinstance(task, str):
        raise ValueError("it has no 'task' (or 'query') that is a text")
    steps = _steps(raw)
    fixture = Fixture(
        task_id=str(raw.get("task_id", raw.get("query_id", number))),
        task=task,
        steps=steps,
        forbidden=frozenset(_texts(raw.get("forbidden", []), "forbidden")),
        outcome=_word(Outcome, raw, "outcome"),
        category=_word(Category, raw, "category") or (Category.ORDINARY if steps else Category.NO_TOOL),
        arguments=_object(raw, "arguments"),
        completed=_completion(raw),
        results=_object(raw, "results") or {},
        profile=_text(raw, "as"),
        principal=_principal(raw),
        stage=_text(raw, "stage"),
        candidates=None if raw.get("candidates") is None else frozenset(_texts(raw["candidates"], "candidates")),
        split=_text(raw, "split"),
    )
    return fixture, tuple(sorted(raw.keys() - _KNOWN))


def _steps(raw: Mapping[str, Any]) -> tuple[frozenset[str], ...]:
    """Return the acceptable tools of each step; `relevant` makes each of its tools a step."""
    if "acceptable" in raw:
        listed = raw["acceptable"]
        if not isinstance(listed, list):
            raise ValueError("'acceptable' must be a list of lists of tool ids")
        return tuple(frozenset(_texts(step, "acceptable")) for step in listed if step)
    return tuple(frozenset({tool}) for tool in _texts(raw.get("relevant", []), "relevant"))


def _completion(raw: Mapping[str, Any]) -> Completion | None:
    value = _object(raw, "completed")
    if value is None:
        return None
    if unknown := sorted(value.keys() - {"called", "says"}):
        raise ValueError(f"'completed' takes called and says, not {unknown[0]!r}")
    called, says = (tuple(_texts(value.get(key, []), f"completed.{key}")) for key in ("called", "says"))
    return Completion(called=called, says=says)


def _principal(raw: Mapping[str, Any]) -> RuntimeContext | None:
    value = _object(raw, "principal")
    if value is None:
        return None
    try:
        return RuntimeContext.from_json(value)
    except TypeError as error:
        raise ValueError(f"'principal': {error}") from None


def _word(kind: type[_Word], raw: Mapping[str, Any], key: str) -> _Word | None:
    value = _text(raw, key)
    if value is None:
        return None
    known = {str(word): word for word in kind}
    if value not in known:
        raise ValueError(f"{key!r} must be one of {', '.join(known)}, not {value!r}")
    return known[value]


def _object(raw: Mapping[str, Any], key: str) -> Mapping[str, Json] | None:
    value = raw.get(key)
    if value is not None and not isinstance(value, dict):
        raise ValueError(f"{key!r} must be an object")
    return value


def _text(raw: Mapping[str, Any], key: str) -> str | None:
    value: Json = raw.get(key)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{key!r} must be a text")
    return value


def _texts(value: Any, key: str) -> Sequence[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError(f"{key!r} must be a list of texts")
    return value
