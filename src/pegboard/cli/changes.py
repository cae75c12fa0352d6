"""What changed in a tool, laid out to be read: short fields as before and after, texts and schemas as a diff.

Characters that nobody can see are written as their code points: in a review they are what matters most.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import unified_diff

from pegboard.cli.printing import visible
from pegboard.core.catalog import CatalogEntry
from pegboard.core.names import Json
from pegboard.engine.pending import declared

__all__ = ["FieldChange", "field_changes"]

_CONTEXT = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChange:
    """One declared field: what it was, None where the tool is new, and what it is now."""

    field: str
    was: Json
    now: Json

    def to_json(self) -> dict[str, Json]:
        """Return one element of `changes` in the answer of `review show`."""
        return {"field": self.field, "was": self.was, "now": self.now}

    def lines(self) -> Iterator[str]:
        """Yield the lines of a unified diff, without a head; of a new tool, its content."""
        now = _lines(self.now)
        if self.was is None:
            yield from (f"+{line}" for line in now)
            return
        difference = unified_diff(_lines(self.was), now, n=_CONTEXT, lineterm="")
        # Two lines of file names, which a field has not.
        yield from list(difference)[2:]


def field_changes(was: CatalogEntry | None, now: CatalogEntry) -> tuple[FieldChange, ...]:
    """Compare what the server declares now with what is locked; of a new tool, every declared field."""
    old = {} if was is None else declared(was)
    changes = (FieldChange(field=name, was=old.get(name), now=new) for name, new in declared(now).items())
    return tuple(one for one in changes if one.was != one.now)


def _lines(value: Json) -> list[str]:
    """Write a value as lines; members keep the order in which they were declared."""
    if value is None:
        return []
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    return visible(text).split("\n")
