"""The second policy layer as the rest sees it: asked only of what the attribute table lets through, able only to deny.

What it is made of is `policy/cedar.py`'s business; a deployment without one has None in its place.

Source: DESIGN section 4.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pegboard.core.catalog import CatalogEntry
from pegboard.core.context import RuntimeContext
from pegboard.core.lock import LockLine

__all__ = ["Layer", "Ruling", "consider_one"]


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the layer says of one request; all of it but `allowed` is for operators alone."""

    allowed: bool
    rules: tuple[str, ...] = ()
    """The ids of the policies that decided; none where nothing permitted it."""
    noted: tuple[str, ...] = ()
    """The log-only policies by which it would have come out the other way."""


class Layer(Protocol):
    """A set of policies. It never raises for what they say; whatever else it raises, the caller takes as a denial."""

    @property
    def digest(self) -> str:
        """Identify the policies by their text."""

    @property
    def texts(self) -> Mapping[str, str]:
        """Return the policies as they were written, by the name of their file."""

    @property
    def names_people(self) -> bool:
        """Say whether what is shown depends on somebody's name, which a trace that keeps digests cannot tell."""

    def tool_key(self, entry: CatalogEntry, line: LockLine) -> Hashable:
        """Return what `consider` can tell tools apart by: those with equal keys are decided alike."""

    def caller_key(self, context: RuntimeContext) -> Hashable:
        """Return what `consider` can tell callers apart by."""

    def consider(self, tools: Sequence[tuple[CatalogEntry, LockLine]], context: RuntimeContext) -> Sequence[Ruling]:
        """Say for each tool whether this caller may be shown it; no arguments exist yet."""

    def call(
        self, entry: CatalogEntry, line: LockLine, context: RuntimeContext, arguments: Mapping[str, Any]
    ) -> Ruling:
        """Say whether this caller may call a tool with these arguments, which keep to its schema."""


def consider_one(layer: Layer, entry: CatalogEntry, line: LockLine, context: RuntimeContext) -> Ruling:
    """Ask of one tool; whatever the layer does but clearly allow denies."""
    try:
        (ruling,) = layer.consider([(entry, line)], context)
        return ruling if ruling.allowed is True else Ruling(False, ruling.rules, ruling.noted)
    except Exception:  # noqa: BLE001 - fail closed: a layer that fails denies
        return Ruling(False)
