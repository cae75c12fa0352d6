"""What a configuration says of evaluations: as whom tasks are asked, the arms that are compared, a model to ask.

Source: SURFACE "pegboard.toml" and "Arms".
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from pegboard.config.parsers import At, Parser, choice, integer, section, texts
from pegboard.core.names import Json
from pegboard.core.policy import AccessTemplate
from pegboard.providers.capabilities import Api

__all__ = ["ArmPart", "Calls", "Evaluation", "ModelApi", "ModelEndpoint", "arm"]

# Where something is reached is nothing that a report needs, and an address may hold a password.
_UNSAID = frozenset({"url", "credential"})


class Calls(StrEnum):
    """What answers the calls of a model in the loop."""

    RECORDED = "recorded"
    """What the task recorded for the tool, else a sentence; none is made."""
    SERVERS = "servers"
    """The tool's server: each call goes through the gate, and is made where it is allowed."""


class ModelApi(StrEnum):
    """What a model's endpoint speaks."""

    OPENAI = "openai-chat"
    """Chat completions, as most servers of open models do."""
    ANTHROPIC = "anthropic"
    """Messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEndpoint:
    """A model that evaluations put in the loop. `url` is what stands before `/chat/completions` or `/messages`."""

    api: ModelApi
    url: str = field(repr=False)
    model: str
    key: str | None = field(default=None, repr=False)
    timeout_s: float = 60.0
    """Of one request."""
    turns: int = 8
    """How many requests a task may take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """How labelled tasks are asked."""

    principal: str | None = None
    """The profile of tasks that name none."""
    model: ModelEndpoint | None = None
    calls: Calls = Calls.RECORDED


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmPart:
    """What `[arms.NAME]` changes of the deployment's own way to select; None: nothing."""

    selection: Mapping[str, Any] = field(default_factory=dict)
    """Settings in place of the deployment's."""
    retrieval: Mapping[str, Any] = field(default_factory=dict)
    """`ranking` and `endpoint`, where others are compared."""
    catalog: int | Path | None = None
    """The number of a former version, or a catalog file or folder of saved listings."""
    lock: Path | None = None
    """Another lock file."""
    access: Mapping[str, AccessTemplate] = field(default_factory=dict)
    """Access templates beside the deployment's, or in the place of those of the same name."""
    cedar: tuple[str, ...] | None = None
    """Other Cedar policy files, as `[policy] cedar` names them; empty: none."""
    target: Api | None = None
    """The model API that its definitions are counted for."""
    model: ModelEndpoint | None = None
    """Another model in the loop."""
    said: Mapping[str, Json] = field(default_factory=dict, compare=False)
    """The table as it stands in the file, for the report; without addresses."""


def arm(
    file: Parser[Path],
    *,
    selection: Parser[dict[str, Any]],
    retrieval: Parser[dict[str, Any]],
    access: Parser[dict[str, AccessTemplate]],
    model: Parser[Any],
) -> Parser[ArmPart]:
    """Take one arm, by the parsers of what it has in common with the rest of the file."""

    def catalog(value: Any, at: At) -> int | Path:
        return file(value, at) if isinstance(value, str) else integer(1)(value, at)

    parse = section(
        ArmPart,
        selection=selection,
        retrieval=retrieval,
        catalog=catalog,
        lock=file,
        access=access,
        cedar=texts,
        target=choice(Api),
        model=model,
    )

    def parsed(value: Any, at: At) -> ArmPart:
        return replace(parse(value, at), said=_said(value))

    return parsed


def _said(table: Mapping[str, Any]) -> dict[str, Json]:
    said = {key: _said(value) if isinstance(value, Mapping) else value for key, value in table.items()}
    return {key: value for key, value in said.items() if key not in _UNSAID}
