"""A call's arguments for Cedar: the types that a tool's schema declares, and the values that keep to them.

Only what the schema types as exactly one kind that Cedar has is given: texts, whole numbers, true and false, sets and
records of these; and what is declared a `number`, as a decimal, if it has no more than four decimals. All else is left
out and told by its path: an undeclared key, a null, a value of several kinds, what is beyond Cedar's range. Whoever
asks has to deny where a policy would have looked there (`policy/cedar.py`).

Source: ENGINES "Policy", the traps; Cedar's types `Long` (64 bits) and `decimal` (four decimals).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Context, Decimal
from typing import Any, TypeAlias

from pegboard.core.names import Json
from pegboard.policy.cedar_reads import Path

__all__ = ["Kind", "Record", "given", "input_of", "kind_text"]

_LONG = 2**63
_DECIMALS = 4
# Our own, since a program around us may have set another precision.
_EXACT = Context(prec=400)
# How deep types are followed, and how many are read: beyond, a value has no type and is left out.
_DEPTH = 16
_READ_AT_MOST = 5_000


@dataclass(frozen=True, slots=True)
class Simple:
    """A kind without parts, by Cedar's name for it."""

    name: str


@dataclass(frozen=True, slots=True)
class SetOf:
    """A set of values of one kind."""

    element: "Kind"


@dataclass(frozen=True, slots=True)
class Record:
    """An object with the keys that it declares and that have a kind."""

    fields: Mapping[str, "Kind"] = field(default_factory=dict)
    required: frozenset[str] = frozenset()


Kind: TypeAlias = Simple | SetOf | Record

STRING, BOOL, LONG, DECIMAL = Simple("String"), Simple("Bool"), Simple("Long"), Simple("decimal")
# JSON Schema's types; `array` and `object` have parts and are read by themselves.
_TYPES: dict[frozenset[str], Kind] = {
    frozenset({"string"}): STRING,
    frozenset({"boolean"}): BOOL,
    frozenset({"integer"}): LONG,
    frozenset({"number"}): DECIMAL,
    frozenset({"integer", "number"}): DECIMAL,
}
_VALUES: dict[type, Kind] = {str: STRING, bool: BOOL, int: LONG}


class _Untyped(Exception):
    """A schema that admits several kinds, or one that Cedar has not."""


def input_of(schema: Mapping[str, Json]) -> Record:
    """Return the type of a tool's arguments, as far as its schema declares one."""
    try:
        found = _Reader(schema).kind(schema, 0)
    except _Untyped:
        found = None
    return found if isinstance(found, Record) else Record()


def kind_text(kind: Kind) -> str:
    """Write a kind as Cedar's schema does."""
    if isinstance(kind, Simple):
        return kind.name
    if isinstance(kind, SetOf):
        return f"Set<{kind_text(kind.element)}>"
    parts = (
        f"{_quoted(name)}{'' if name in kind.required else '?'}: {kind_text(each)}"
        for name, each in kind.fields.items()
        if _quoted(name)
    )
    return f"{{ {', '.join(parts)} }}"


def given(kind: Record, value: Mapping[str, Any]) -> tuple[dict[str, Json], tuple[Path, ...]]:
    """Return the arguments that can be given to Cedar, and the paths of those that cannot."""
    left: list[Path] = []
    return _record(kind, value, (), left), tuple(left)


class _Reader:
    """Reads the kinds of one schema; what cannot be typed raises `_Untyped`, what says nothing of it is None."""

    def __init__(self, root: Mapping[str, Json]) -> None:
        self._root = root
        self._left = _READ_AT_MOST

    def kind(self, schema: Any, depth: int) -> Kind | None:
        """Return the one kind that everything in *schema* agrees on."""
        self._left -= 1
        if depth > _DEPTH or self._left < 0:
            raise _Untyped
        if not isinstance(schema, Mapping):
            return None
        found = [one for one in self._said(schema, depth) if one is not None]
        records = [one for one in found if isinstance(one, Record)]
        if records and len(records) == len(found):
            return _joined(records)
        if any(one != found[0] for one in found):
            raise _Untyped
        return found[0] if found else None

    def _said(self, schema: Mapping[str, Any], depth: int) -> Iterator[Kind | None]:
        """Yield what each keyword says; all of them hold together."""
        yield self._declared(schema, depth)
        for part in _listed(schema.get("allOf")):
            yield self.kind(part, depth + 1)
        if "$ref" in schema:
            yield self.kind(self._referred(schema["$ref"]), depth + 1)
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                yield self._alternatives(_listed(schema[keyword]), depth)

    def _declared(self, schema: Mapping[str, Any], depth: int) -> Kind | None:
        declared = schema.get("type")
        if declared is None:
            return self._unnamed(schema, depth)
        types = frozenset([declared] if isinstance(declared, str) else _listed(declared)) - {"null"}
        if types == {"array"}:
            element = self.kind(schema.get("items"), depth + 1)
            if element is None or "prefixItems" in schema:
                raise _Untyped
            return SetOf(element)
        if types == {"object"}:
            return self._object(schema, depth)
        if types not in _TYPES:
            raise _Untyped
        return _TYPES[types]

    def _unnamed(self, schema: Mapping[str, Any], depth: int) -> Kind | None:
        """Return the kind of a schema without `type`: by its listed values; never by what only limits an object."""
        values = [schema["const"]] if "const" in schema else _listed(schema.get("enum"))
        kinds = {_VALUES.get(type(value)) for value in values if value is not None}
        if len(kinds) > 1 or None in kinds:
            raise _Untyped
        return next(iter(kinds), None)

    def _object(self, schema: Mapping[str, Any], depth: int) -> Record:
        properties = schema.get("properties")
        fields: dict[str, Kind] = {}
        for name, part in (properties if isinstance(properties, Mapping) else {}).items():
            try:
                found = self.kind(part, depth + 1)
            except _Untyped:
                continue
            if found is not None:
                fields[name] = found
        required = frozenset(one for one in _listed(schema.get("required")) if one in fields)
        return Record(fields, required)

    def _alternatives(self, parts: list[Any], depth: int) -> Kind | None:
        """Return the kind that all alternatives have; one that says nothing admits every kind."""
        found = [self.kind(part, depth + 1) for part in parts if not _is_null(part)]
        if not found or None in found:
            return None
        if any(one != found[0] for one in found):
            raise _Untyped
        return found[0]

    def _referred(self, reference: Any) -> Any:
        if not isinstance(reference, str) or not reference.startswith("#"):
            raise _Untyped
        found: Any = self._root
        for part in filter(None, reference[1:].split("/")):
            key = part.replace("~1", "/").replace("~0", "~")
            found = found.get(key) if isinstance(found, Mapping) else None
        if found is None:
            raise _Untyped
        return found


def _joined(records: Iterable[Record]) -> Record:
    """Join what several schemas say of one object; a key on which two differ has no kind."""
    fields: dict[str, Kind] = {}
    torn: set[str] = set()
    required: set[str] = set()
    for one in records:
        torn |= {name for name, kind in one.fields.items() if fields.setdefault(name, kind) != kind}
        required |= one.required
    return Record({name: kind for name, kind in fields.items() if name not in torn}, frozenset(required - torn))


def _record(kind: Record, value: Mapping[str, Any], at: Path, left: list[Path]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for name, each in value.items():
        try:
            found[name] = _value(kind.fields.get(name), each, (*at, name), left)
        except _Untyped:
            left.append((*at, name))
    return found


def _value(kind: Kind | None, value: Any, at: Path, left: list[Path]) -> Json:
    if isinstance(kind, Record) and isinstance(value, dict):
        return _record(kind, value, at, left)
    if isinstance(kind, SetOf) and isinstance(value, list):
        missing: list[Path] = []
        found = [_value(kind.element, each, at, missing) for each in value]
        if missing:  # a set with less in it would be another set
            raise _Untyped
        return found
    if isinstance(kind, Simple):
        return _simple(kind, value)
    raise _Untyped


def _simple(kind: Simple, value: Any) -> Json:
    if kind is DECIMAL and isinstance(value, int | float) and not isinstance(value, bool):
        return _decimal(value)
    if kind is LONG and isinstance(value, float) and value.is_integer():
        value = int(value)  # JSON Schema calls 5.0 an integer
    if _VALUES.get(type(value)) is not kind or (kind is LONG and not -_LONG <= value < _LONG):
        raise _Untyped
    return value  # type: ignore[no-any-return]


def _decimal(value: float) -> Json:
    if not -_LONG < value < _LONG:  # no comparison holds for NaN
        raise _Untyped
    number = Decimal(repr(value))
    scaled = _EXACT.scaleb(number, _DECIMALS)
    if scaled != scaled.to_integral_value() or not -_LONG <= int(scaled) < _LONG:
        raise _Untyped
    whole, digits = divmod(abs(int(scaled)), 10**_DECIMALS)
    return {"__extn": {"fn": "decimal", "arg": f"{'-' if number < 0 else ''}{whole}.{digits:0{_DECIMALS}}"}}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_null(schema: Any) -> bool:
    return isinstance(schema, Mapping) and schema.get("type") == "null"


def _quoted(name: str) -> str:
    """Write a key as a Cedar schema does; one that would need an escape is none that a policy can name plainly."""
    plain = name.isprintable() and '"' not in name and "\\" not in name
    return f'"{name}"' if plain else ""
