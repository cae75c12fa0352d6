"""Ways: what becomes of each keyword of one schema, by the row that it has in `targets.py`.

A keyword that describes members or items has a way of its own, since its parts are schemas.
"""

import re
from collections.abc import Callable, Mapping
from typing import cast

from pegboard.core.keywords import SUBSCHEMAS, is_map
from pegboard.core.names import Json, compact_json
from pegboard.providers.dialect import Words
from pegboard.providers.merging import type_of, values_of
from pegboard.providers.parts import Parts, Sheet
from pegboard.providers.reading import JUDGES
from pegboard.providers.targets import FORMATS, TESTED_FORMATS, Take

__all__ = ["write_words"]

# What is said of a keyword that is left out. A longer value is not cut: half a value says another thing.
_MAX_SAID = 300
_LOOK_AROUND = re.compile(r"(?<!\\)(?:\\\\)*\(\?<?[=!]")


def write_words(parts: Parts, sheet: Sheet) -> dict[str, Json]:
    """Write one schema that is neither a reference nor, where these stand alone, alternatives."""
    if parts.reading.is_closed:
        _complete(parts, sheet)
    for keyword in list(sheet.words):
        if keyword in _STRUCTURE:
            _STRUCTURE[keyword](parts, sheet, keyword)
        elif (way := parts.reading.takes(keyword)) is not None:
            _WAYS[way](parts, sheet, keyword)
    said = [str(sheet.words["description"])] if sheet.words.get("description") else []
    if sheet.said:
        said.append(f"({'; '.join(sheet.said)})")
    return {**sheet.found, "description": " ".join(said)} if said else sheet.found


# Where each value has a type and nothing may come undeclared: complete what the declared schema left open.


def _complete(parts: Parts, sheet: Sheet) -> None:
    words = sheet.words
    if not sheet.types:
        return  # Nothing but annotations.
    for keyword in [one for one in words if one in JUDGES and not {*JUDGES[one]} & {*sheet.types}]:
        del words[keyword]  # It judges values of other types.
    words.setdefault("type", list(sheet.types))
    if isinstance(listed := words.get("enum"), list):
        words["enum"] = [value for value in listed if {type_of(value), _WIDER.get(type_of(value))} & {*sheet.types}]
        if not words["enum"]:
            del words["enum"]
            parts.reading.lose(f"{sheet.path}/enum", "enum")  # Nothing fits, and that cannot be said.
    if "object" in sheet.types:
        words.setdefault("required", [])
        if "properties" not in words:
            words["properties"] = {}
            if words.get("additionalProperties") is not False:
                parts.reading.lose(sheet.path, "additionalProperties")
        properties = cast("dict[str, Json]", words["properties"])
        missing = [name for name in cast("list[str]", words["required"]) if name not in properties]
        words["properties"] = {**properties, **dict.fromkeys(missing, words.get("additionalProperties", True))}
        words.setdefault("additionalProperties", False)
    if "array" in sheet.types and not words.keys() & {"items", "prefixItems"}:
        words["items"] = True


_WIDER = {"integer": "number"}


# Keywords whose parts are schemas.


def _type(parts: Parts, sheet: Sheet, _: str) -> None:
    declared = sheet.words["type"]
    if not parts.reading.is_closed:
        sheet.found["type"] = declared
        return
    types = list(sheet.types)
    if parts.reading.takes("several types") is Take.NULLABLE and "null" in types and len(types) > 1:
        types.remove("null")
        sheet.found["nullable"] = True
    # Values that were written as text have brought their type.
    sheet.found.setdefault("type", types[0] if len(types) == 1 else cast("Json", types))


def _properties(parts: Parts, sheet: Sheet, keyword: str) -> None:
    declared = cast("dict[str, Json]", sheet.words[keyword])
    required = sheet.words.get("required") or []
    found: dict[str, Json] = {}
    for name, schema in declared.items():
        if schema is False and parts.reading.is_closed:
            continue  # No other member may come anyway.
        path = f"{sheet.path}/properties/{_escaped(name)}"
        entered = name in cast("list[str]", required)
        written, place = parts.part(schema, path)
        if not entered and parts.reading.takes("optional property") is Take.NULL:
            written = _or_null(parts, sheet, name, schema, written, path)
        made = parts.name(name)
        sheet.undo.members[made] = place
        found[made] = written
    sheet.found["properties"] = found


def _or_null(parts: Parts, sheet: Sheet, name: str, schema: Json, written: Json, path: str) -> Json:
    """Let null stand for a property that is left out."""
    sheet.undo.absent.add(parts.name(name))
    if not parts.reading.takes_null(schema):
        return _with_null(cast("dict[str, Json]", written))
    if not (isinstance(schema, dict) and "default" in schema and schema["default"] is None):
        parts.reading.lose(path, "null")
    return written


def _with_null(written: dict[str, Json]) -> dict[str, Json]:
    if "$ref" in written:
        return {"anyOf": [written, {"type": "null"}]}
    if "anyOf" in written:
        return {**written, "anyOf": [*cast("list[Json]", written["anyOf"]), {"type": "null"}]}
    found = dict(written)
    values = values_of(found)
    if values is not None:
        found.pop("const", None)
        found["enum"] = [*values, None]
    declared = found.get("type", [])
    types = [declared] if isinstance(declared, str) else cast("list[Json]", declared)
    found["type"] = [*(one for one in types if one != "null"), "null"]
    return found


def _required(parts: Parts, sheet: Sheet, keyword: str) -> None:
    names = cast("list[str]", sheet.words[keyword])
    if parts.reading.is_closed:
        members = cast("dict[str, Json]", sheet.words["properties"])
        possible = [name for name, schema in members.items() if schema is not False]
        if not set(names) <= set(possible):
            parts.reading.lose(f"{sheet.path}/{keyword}", keyword)  # Nothing fits, and that cannot be said.
        is_full = parts.reading.takes("optional property") is Take.NULL
        names = possible if is_full else [name for name in names if name in possible]
        if not names and not is_full:
            return
    sheet.found[keyword] = [parts.name(name) for name in names]


def _items(parts: Parts, sheet: Sheet, keyword: str) -> None:
    if parts.reading.is_closed and "prefixItems" in sheet.words:
        return  # Written with the positions.
    path = f"{sheet.path}/items"
    if parts.reading.is_closed and sheet.words[keyword] is False:
        # No item at all.
        sheet.words[keyword] = True
        sheet.words["maxItems"] = 0
        parts.reading.lose(path, "items")
    sheet.found["items"], sheet.undo.items = parts.part(sheet.words[keyword], path)


def _names_by_name(parts: Parts, sheet: Sheet, keyword: str) -> None:
    if parts.reading.takes(keyword) is Take.LOSE:
        _lose(parts, sheet, keyword)
        return
    declared = cast("dict[str, list[str]]", sheet.words[keyword])
    sheet.found[keyword] = {parts.name(name): [parts.name(one) for one in others] for name, others in declared.items()}


_Way = Callable[[Parts, Sheet, str], None]
_STRUCTURE: Mapping[str, _Way] = {
    "type": _type,
    "properties": _properties,
    "required": _required,
    "items": _items,
    "dependentRequired": _names_by_name,
}


# Keywords by their row.


def _keep(parts: Parts, sheet: Sheet, keyword: str) -> None:
    value = sheet.words[keyword]
    path = f"{sheet.path}/{keyword}"
    if keyword not in SUBSCHEMAS:
        sheet.found[keyword] = value
    elif is_map(keyword, value):
        declared = cast("dict[str, Json]", value)
        named = keyword == "dependentSchemas"
        sheet.found[keyword] = {
            parts.name(name) if named else name: parts.part(one, f"{path}/{_escaped(name)}")[0]
            for name, one in declared.items()
        }
    elif isinstance(value, list):
        sheet.found[keyword] = [parts.part(one, f"{path}/{number}")[0] for number, one in enumerate(value)]
    else:
        sheet.found[keyword] = value if isinstance(value, bool) else parts.part(value, path)[0]


def _say(_: Parts, sheet: Sheet, keyword: str) -> None:
    said = compact_json(sheet.words[keyword])
    if len(said) <= _MAX_SAID:
        sheet.said.append(f"{keyword}: {said}")


def _lose(parts: Parts, sheet: Sheet, keyword: str) -> None:
    parts.reading.lose(f"{sheet.path}/{keyword}", keyword)
    _say(parts, sheet, keyword)


def _as_enum(parts: Parts, sheet: Sheet, keyword: str) -> None:
    sheet.words["enum"] = [sheet.words[keyword]]
    _WAYS[parts.reading.takes("enum") or Take.KEEP](parts, sheet, "enum")


def _as_text(_: Parts, sheet: Sheet, keyword: str) -> None:
    values = [value for value in cast("list[Json]", sheet.words[keyword]) if value is not None]
    texts = {value if isinstance(value, str) else compact_json(value): value for value in values}
    if not texts:
        return  # Null alone, which the type says.
    if len(values) < len(cast("list[Json]", sheet.words[keyword])):
        sheet.found["nullable"] = True
    sheet.found |= {"type": "string", "enum": list(texts)}
    sheet.undo.texts |= {text: value for text, value in texts.items() if text != value}


def _inclusive(parts: Parts, sheet: Sheet, keyword: str) -> None:
    limit = sheet.words[keyword]
    bound, step = _BOUNDS[keyword]
    if set(sheet.types) - {"null"} != {"integer"} or not isinstance(limit, int | float) or limit != int(limit):
        _lose(parts, sheet, keyword)
        return
    known = sheet.words.get(bound, int(limit) + step)
    sheet.found[bound] = (max if step > 0 else min)(int(limit) + step, cast("float", known))


_BOUNDS = {"exclusiveMinimum": ("minimum", 1), "exclusiveMaximum": ("maximum", -1)}


def _short(parts: Parts, sheet: Sheet, keyword: str) -> None:
    (_keep if sheet.words[keyword] in (0, 1) else _lose)(parts, sheet, keyword)


def _widen(parts: Parts, sheet: Sheet, keyword: str) -> None:
    positions = cast("list[Json]", sheet.words[keyword])
    rest = sheet.words.get("items", True)
    parts.reading.lose(f"{sheet.path}/{keyword}", keyword)
    either = Words(anyOf=[*positions, *([] if isinstance(rest, bool) else [rest])])
    sheet.found["items"], sheet.undo.items = parts.part(either, f"{sheet.path}/{keyword}")


def _listed(parts: Parts, sheet: Sheet, keyword: str) -> None:
    name = str(sheet.words[keyword])
    if name in FORMATS[parts.target]:
        sheet.found[keyword] = name
    else:
        (_lose if name in TESTED_FORMATS else _say)(parts, sheet, keyword)


def _no_look(parts: Parts, sheet: Sheet, keyword: str) -> None:
    (_lose if _LOOK_AROUND.search(str(sheet.words[keyword])) else _keep)(parts, sheet, keyword)


def _close(parts: Parts, sheet: Sheet, keyword: str) -> None:
    if sheet.words[keyword] is not False:
        parts.reading.lose(f"{sheet.path}/{keyword}", keyword)
    if parts.reading.takes("several types") is not Take.NULLABLE:
        sheet.found[keyword] = False


_WAYS: Mapping[Take, _Way] = {
    Take.KEEP: _keep,
    Take.SAY: _say,
    Take.LOSE: _lose,
    Take.ENUM: _as_enum,
    Take.TEXT: _as_text,
    Take.INCLUSIVE: _inclusive,
    Take.SHORT: _short,
    Take.WIDEN: _widen,
    Take.LISTED: _listed,
    Take.NO_LOOK: _no_look,
    Take.CLOSE: _close,
}


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
