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
from pegboard.providers.capabilities import Api

__all__ = ["ArmPart", "Evaluation", "ModelApi", "ModelEndpoint", "arm"]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmPart:
    """What `[arms.NAME]` changes of the deployment's own way to select; None: nothing."""

    selection: Mapping[str, Any] = field(default_factory=dict)
    """Settings in place of the deployment's."""
    retrieval: Mapping[str, Any] = field(default_factory=dict)
    """`ranking`, where another is compared."""
    catalog: int | None = None
    """The number of a former version."""
    lock: Path | None = None
    """Another lock file."""
    cedar: tuple[str, ...] | None = None
    """Other Cedar policy files, as `[policy] cedar` names them; empty: none."""
    target: Api | None = None
    """The model API that its definitions are counted for."""
    said: Mapping[str, Json] = field(default_factory=dict, compare=False)
    """The table as it stands in the file, for the report."""


def arm(selection: Parser[dict[str, Any]], retrieval: Parser[dict[str, Any]], file: Parser[Path]) -> Parser[ArmPart]:
    """Take one arm."""
    parse = section(
        ArmPart,
        selection=selection,
        retrieval=retrieval,
        catalog=integer(1),
        lock=file,
        cedar=texts,
        target=choice(Api),
    )

    def parsed(value: Any, at: At) -> ArmPart:
        return replace(parse(value, at), said=dict(value))

    return parsed
