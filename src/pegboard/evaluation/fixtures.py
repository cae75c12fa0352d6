"""Fixtures: labelled tasks. Which tools would have been right, for whom, at which step of the work.

Source: SURFACE "Fixtures".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pegboard.core.context import RuntimeContext
from pegboard.core.names import Json

__all__ = ["Fixture", "read_fixture"]

_KNOWN = frozenset(
    [
        "task",
        "task_id",
        "query",
        "query_id",
        "as",
        "principal",
        "stage",
        "acceptable",
        "relevant",
        "forbidden",
        "outcome",
        "category",
        "arguments",
        "candidates",
        "split",
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixture:
    """One labelled task. Ids are tool ids as the file gives them.

    `steps` has the acceptable tools of each step, any of which satisfies it; none means that no tool is right.
    `profile` names who asks, `principal` says it in full; with neither it is the evaluation's default.
    """

    task_id: str
    task: str
    steps: tuple[frozenset[str], ...] = ()
    profile: str | None = None
    principal: RuntimeContext | None = None
    stage: str | None = None
    candidates: frozenset[str] | None = None
    """The only tools that may be eligible for this task; None: no such limit."""
    split: str | None = None


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
    principal = raw.get("principal")
    if principal is not None and not isinstance(principal, dict):
        raise ValueError("'principal' must be an object with the fields of a profile")
    fixture = Fixture(
        task_id=str(raw.get("task_id", raw.get("query_id", number))),
        task=task,
        steps=_steps(raw),
        profile=_text(raw, "as"),
        principal=None if principal is None else _principal(principal),
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


def _principal(value: Mapping[str, Any]) -> RuntimeContext:
    try:
        return RuntimeContext.from_json(value)
    except TypeError as error:
        raise ValueError(f"'principal': {error}") from None


def _text(raw: Mapping[str, Any], key: str) -> str | None:
    value: Json = raw.get(key)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{key!r} must be a text")
    return value


def _texts(value: Any, key: str) -> Sequence[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError(f"{key!r} must be a list of tool ids")
    return value
