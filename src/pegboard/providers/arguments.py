"""Arguments: back from the shape of a compiled schema to the shape that the tool declared.

The gate judges arguments against the schema as declared, so what the compiler changed in their shape is undone first.
What does not fit the compiled schema is left as it came: the gate says what is wrong with it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

import jsonschema_rs

from pegboard.core.names import Json
from pegboard.engine.bounds import ARGUMENTS, Broken, measure

__all__ = ["WRAPPER", "ArgumentMap", "Undo"]

# The one property that holds arguments of which whole alternatives were declared.
WRAPPER = "arguments"


@dataclass(slots=True)
class Undo:
    """What to undo at one place of a compiled schema; other places are named by their number."""

    absent: set[str] = field(default_factory=set)
    """Properties of which null means that they are left out."""
    texts: dict[str, Json] = field(default_factory=dict)
    """Values that were written as text, by that text."""
    members: dict[str, int] = field(default_factory=dict)
    items: int | None = None
    same: list[int] = field(default_factory=list)
    """Places that judge the same value: what a reference leads to."""
    branches: list[tuple[Json, int]] = field(default_factory=list)
    """Alternatives in the compiled schema; the first that the value fits counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentMap:
    """What was changed in a schema's shape, so that arguments made for it can be given their own shape again."""

    is_wrapped: bool = False
    names: Mapping[str, str] = field(default_factory=dict)
    """The declared names of properties by those that they got."""
    undo: tuple[Undo, ...] = ()
    """The first is the root's; empty where there is nothing to undo."""
    definitions: Mapping[str, Json] = field(default_factory=dict)
    """The compiled `$defs`, for the alternatives that refer to them."""

    def restore(self, arguments: Json) -> Json:
        """Return the arguments as the tool declared them: the gate judges them against the original schema.

        Null for an optional property is left out, a renamed property gets its name back, a value written as text
        its kind. What does not fit is returned as it came. Never raises; *arguments* is not changed.
        """
        if isinstance(measure(arguments, ARGUMENTS), Broken):
            return arguments
        if self.undo:
            arguments = self._undone(arguments, 0, {})
        if self.is_wrapped and isinstance(arguments, dict) and isinstance(arguments.get(WRAPPER), dict):
            arguments = arguments[WRAPPER] if len(arguments) == 1 else arguments
        return self._named(arguments) if self.names else arguments

    def _undone(self, value: Json, place: int, known: dict[int, jsonschema_rs.Validator | None]) -> Json:
        """Undo at one place; *known* are the alternatives that were compiled already, by their place."""
        undo = self.undo[place]
        if isinstance(value, str):
            value = undo.texts.get(value, value)
        elif isinstance(value, dict):
            value = {
                name: self._undone(member, undo.members[name], known) if name in undo.members else member
                for name, member in value.items()
                if not (member is None and name in undo.absent)
            }
        elif isinstance(value, list) and undo.items is not None:
            value = [self._undone(item, undo.items, known) for item in value]
        for other in undo.same:
            value = self._undone(value, other, known)
        if undo.branches:
            for schema, branch in undo.branches:
                if branch not in known:
                    known[branch] = self._validator(schema)
                if (validator := known[branch]) is not None and validator.is_valid(value):
                    return self._undone(value, branch, known)
        return value

    def _validator(self, schema: Json) -> jsonschema_rs.Validator | None:
        whole = {**cast("dict[str, Json]", schema), "$defs": self.definitions}
        try:
            # As the gate does: an alternative that it would refuse is not the one that is meant.
            return jsonschema_rs.validator_for(
                whole, offline=True, validate_formats=True, ignore_unknown_formats=True, pattern_options=_LINEAR
            )
        except ValueError:
            return None

    def _named(self, value: Json) -> Json:
        if isinstance(value, dict):
            return {self.names.get(name, name): self._named(member) for name, member in value.items()}
        return [self._named(item) for item in value] if isinstance(value, list) else value


# Never the bounded engine: whether an alternative fits must not hang on a pattern.
_LINEAR = jsonschema_rs.RegexOptions(size_limit=1 << 20, dfa_size_limit=1 << 20)
