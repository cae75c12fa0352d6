"""What a model is shown of a tool: its declared text, cleaned, without the names of tools it may not see.

Law 2 at the text: served bytes depend on the entry and on which of the siblings it mentions are eligible.
Texts are cleaned and a mention of any other sibling reads "another tool". A value that names one (in `enum`,
`const`, `default`, `examples`, `pattern`, `format`, `$id`, …) or that holds characters nobody can see is left out
whole, since another value would be a wrong one; an `enum` with no value left is left out too. The gate validates
against the original, so nothing that was valid is refused. Names of properties and definitions, references that
resolve and what these need to be found stay as declared; all else is text, also what the schema's dialect does not
know (`core/roles.py`).

A schema in which nothing has to change is served byte for byte as declared.
"""

import json
from collections import OrderedDict
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import cast

from pegboard.core.catalog import CatalogEntry
from pegboard.core.keywords import is_map
from pegboard.core.mentions import ToolNames, redact
from pegboard.core.names import Json, compact_json
from pegboard.core.roles import Role, Roles, are_names
from pegboard.core.text import clean, hidden

__all__ = ["Renderings", "ServedTool", "hidden_names", "served_text", "served_tool"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedTool:
    """One tool as a model gets it; providers shape it, and add nothing of the entry's other fields."""

    tool_id: str
    schema_hash: str
    title: str | None
    description: str
    input_schema: dict[str, Json]
    output_schema: dict[str, Json] | None = None


def served_tool(entry: CatalogEntry, eligible_names: Collection[str]) -> ServedTool:
    """Render an entry for a caller to whom *eligible_names* of the entry's own server are eligible."""
    names = ToolNames.of(hidden_names(entry, eligible_names))
    return ServedTool(
        tool_id=entry.tool_id,
        schema_hash=entry.schema_hash,
        title=None if entry.title is None else served_text(entry.title, names),
        description=served_text(entry.description, names),
        input_schema=_served(entry.input_schema, names),
        output_schema=None if entry.output_schema is None else _served(entry.output_schema, names),
    )


class Renderings:
    """What was rendered lately, as text: a schema takes far longer to render than to read, and none is shared.

    Safe from several threads: at worst two render the same.
    """

    def __init__(self, capacity: int = 512) -> None:
        self._capacity = capacity
        self._texts: OrderedDict[tuple[str, frozenset[str]], tuple[str | None, str, str, str | None]] = OrderedDict()

    def served_tool(self, entry: CatalogEntry, eligible_names: Collection[str]) -> ServedTool:
        """Render an entry as `served_tool` does, from what is kept where it was rendered before."""
        key = entry.row, hidden_names(entry, eligible_names)
        kept = self._texts.pop(key, None)
        if kept is None:
            tool = served_tool(entry, eligible_names)
            output = None if tool.output_schema is None else compact_json(tool.output_schema)
            kept = tool.title, tool.description, compact_json(tool.input_schema), output
        self._texts[key] = kept
        while len(self._texts) > self._capacity:
            with suppress(KeyError):
                self._texts.popitem(last=False)
        title, description, input_schema, output_schema = kept
        return ServedTool(
            tool_id=entry.tool_id,
            schema_hash=entry.schema_hash,
            title=title,
            description=description,
            input_schema=json.loads(input_schema),
            output_schema=None if output_schema is None else json.loads(output_schema),
        )


def hidden_names(entry: CatalogEntry, eligible_names: Collection[str]) -> frozenset[str]:
    """Return the siblings that the entry's texts name and that this caller may not see."""
    return frozenset(name for name in entry.mentions if name not in eligible_names)


def served_text(text: str, names: Collection[str] | ToolNames) -> str:
    """Clean a declared text and take the hidden *names* out."""
    return redact(clean(text), names)


def _served(schema: dict[str, Json], names: ToolNames) -> dict[str, Json]:
    return cast("dict[str, Json]", _Rendering(schema, names).schema(schema))


class _Rendering:
    """One walk over one schema: what is a schema there, and what only says something."""

    def __init__(self, root: dict[str, Json], names: ToolNames) -> None:
        self.names = names
        self.roles = Roles(root)

    def schema(self, schema: Json) -> Json:
        """Render what stands where a schema is expected; a text does where the dialect minds none there."""
        if not isinstance(schema, dict):
            return self._annotation(schema)
        served: dict[str, Json] = {}
        for keyword, value in schema.items():
            role = self.roles.of(schema, keyword)
            if role is Role.NAMES:
                served[keyword] = value
            elif role is Role.SCHEMAS:
                served[keyword] = self._subschemas(keyword, value)
            elif role is Role.DATA:
                self._data(served, keyword, value)
            else:
                self._member(served, schema, keyword)
        return served

    def _subschemas(self, keyword: str, value: Json) -> Json:
        if is_map(keyword, value):
            named = cast("dict[str, Json]", value)
            return {name: child if are_names(keyword, child) else self.schema(child) for name, child in named.items()}
        return [self.schema(child) for child in value] if isinstance(value, list) else self.schema(value)

    def _data(self, served: dict[str, Json], keyword: str, value: Json) -> None:
        if keyword in {"enum", "examples"} and isinstance(value, list):
            kept = [item for item in value if not self._unfit(item)]
            if kept or not value:
                served[keyword] = kept
        elif keyword == "pattern" and isinstance(value, str):
            # A pattern may well be about invisible characters.
            if not self._names_one(value):
                served[keyword] = value
        elif not self._unfit(value):
            served[keyword] = value

    def _annotation(self, value: Json) -> Json:
        if isinstance(value, str):
            return served_text(value, self.names)
        if isinstance(value, list):
            return [self._annotation(child) for child in value]
        if not isinstance(value, dict):
            return value
        if self.roles.is_target(value):
            return self.schema(value)
        served: dict[str, Json] = {}
        for key in value:
            self._member(served, value, key)
        return served

    def _member(self, served: dict[str, Json], holder: dict[str, Json], key: str) -> None:
        """Render one member of an annotation, or an unknown keyword; one whose key names a hidden tool goes."""
        if self.roles.is_on_the_way(holder, key) or not self._unfit(key):
            served[key] = self._annotation(holder[key])

    def _unfit(self, value: Json) -> bool:
        if isinstance(value, str):
            return hidden(value) or self._names_one(value)
        if isinstance(value, dict):
            return any(self._unfit(key) or self._unfit(child) for key, child in value.items())
        return isinstance(value, list) and any(map(self._unfit, value))

    def _names_one(self, text: str) -> bool:
        return any(True for form in (text, clean(text)) for _ in self.names.found(form))
