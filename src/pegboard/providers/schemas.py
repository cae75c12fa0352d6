"""The schema compiler: a tool's input schema in the form that a model API takes, and what is lost on the way.

`targets.py` says what each API takes, one row a topic; `parts.py` walks a schema by it. Here its root is dealt with, of
which most APIs ask more, and the whole is measured. The gate never sees a compiled schema: it judges arguments by the
declared one, after `ArgumentMap.restore`.

Lossless means that what is valid for the one schema is valid for the other, both ways, but for members that an object
with named properties neither declares nor forbids: where a target takes no others, these are no loss.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import cast

from pegboard.core.keywords import subschemas
from pegboard.core.names import Json, compact_json
from pegboard.engine.schemas import schema_problem
from pegboard.providers.arguments import WRAPPER, ArgumentMap, Undo
from pegboard.providers.dialect import Words
from pegboard.providers.merging import types_of
from pegboard.providers.parts import Parts, TooLarge
from pegboard.providers.reading import Loss
from pegboard.providers.targets import LIMITS, STRICT, Limit, Target
from pegboard.providers.ways import write_words

__all__ = ["Compiled", "Fidelity", "Loss", "best", "compile_schema", "counted"]


class Fidelity(StrEnum):
    """How much of a schema a target can be told."""

    LOSSLESS = "lossless"
    LOSSY = "lossy"
    UNREPRESENTABLE = "unrepresentable"
    """There is no schema for this target: the tool is held back there, and reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """A schema for one target. `schema` is None where it is unrepresentable; `losses` then say why."""

    target: Target
    schema: dict[str, Json] | None
    fidelity: Fidelity
    losses: tuple[Loss, ...] = ()
    mapping: ArgumentMap


def compile_schema(schema: Mapping[str, Json], target: Target) -> Compiled:
    """Compile a schema as it is served to a caller. The same input gives the same bytes; never raises.

    It takes milliseconds: keep what comes out by the served schema's digest and target. The served schema, not
    `schema_hash`: what one caller is shown may lack words that another's has.
    """
    if problem := schema_problem(schema):
        return _unrepresentable(target, problem)
    if target is Target.MCP:
        return _for_mcp(schema)
    parts = Parts(schema, target, write_words)
    try:
        found = _root(parts, schema)
    except (TooLarge, RecursionError):
        return _unrepresentable(target, "it has too many parts, or too deep ones, once its references are followed")
    if found is None:
        return _unrepresentable(target, "its root admits no object")
    written, is_wrapped = found
    if parts.definitions:
        written = {**written, "$defs": parts.definitions}
    for limit, most in LIMITS.get(target, {}).items():
        if counted(written)[limit] > most:
            parts.reading.lose("", limit)
    return Compiled(
        target=target,
        schema=written,
        fidelity=Fidelity.LOSSY if parts.reading.losses else Fidelity.LOSSLESS,
        losses=tuple(_declared_place(loss, is_wrapped) for loss in parts.reading.losses),
        mapping=ArgumentMap(
            is_wrapped=is_wrapped,
            names=parts.names,
            undo=tuple(parts.undo) if any(one.absent or one.texts for one in parts.undo) else (),
            definitions=parts.definitions,
        ),
    )


def best(schema: Mapping[str, Json], target: Target) -> Compiled:
    """Compile for the strict form of `openai` or `anthropic` where nothing is lost there, else for *target* itself.

    `Compiled.target` says which it is. A provider holds the model to a strict schema, so a lossy one would refuse
    good calls or promise what it does not keep.
    """
    strict = STRICT.get(target)
    if strict is not None and (found := compile_schema(schema, strict)).fidelity is Fidelity.LOSSLESS:
        return found
    return compile_schema(schema, target)


def counted(schema: Mapping[str, Json]) -> dict[Limit, int]:
    """Count in a compiled schema what a target limits; Anthropic limits it over the strict tools of one request."""
    found = {**dict.fromkeys(Limit, 0), Limit.TOOLS: 1}
    for level, part in _parts_of(schema, 0):
        properties = part.get("properties")
        names = list(properties) if isinstance(properties, dict) else []
        required = cast("list[str]", part.get("required", []))
        listed = part.get("enum")
        values = listed if isinstance(listed, list) else []
        types = part.get("type")
        found[Limit.LEVELS] = max(found[Limit.LEVELS], level)
        found[Limit.PROPERTIES] += len(names)
        found[Limit.VALUES] += len(values)
        found[Limit.CHARACTERS] += sum(map(len, names)) + sum(len(compact_json(value)) for value in values)
        found[Limit.OPTIONAL] += len([name for name in names if name not in required])
        found[Limit.UNIONS] += "anyOf" in part or isinstance(types, list)
    return found


def _parts_of(schema: Json, level: int) -> Iterator[tuple[int, Mapping[str, Json]]]:
    """Yield every part with the number of objects around it; definitions count on their own."""
    if not isinstance(schema, dict):
        return
    level += "properties" in schema
    yield level, schema
    for keyword, _, part in subschemas(schema):
        yield from _parts_of(part, 0 if keyword == "$defs" else level)


def _unrepresentable(target: Target, problem: str) -> Compiled:
    return Compiled(
        target=target,
        schema=None,
        fidelity=Fidelity.UNREPRESENTABLE,
        losses=(Loss("", problem),),
        mapping=ArgumentMap(),
    )


def _for_mcp(schema: Mapping[str, Json]) -> Compiled:
    # The root's type must be written. Arguments are objects, so nothing is lost.
    written = {**schema, "type": "object"} if schema.get("type") != "object" else dict(schema)
    return Compiled(target=Target.MCP, schema=written, fidelity=Fidelity.LOSSLESS, mapping=ArgumentMap())


def _root(parts: Parts, schema: Mapping[str, Json]) -> tuple[dict[str, Json], bool] | None:
    """Write the root: an object, with no alternatives and no reference of its own; None where it can be no object.

    Every API but MCP refuses these there, and Anthropic the whole request with them.
    """
    words = parts.reading.settled(cast("Json", schema), "", inline=True)
    if words is None or "object" not in (types_of(words) or ("object",)):
        return None
    words["type"] = "object"
    for keyword in ("not", "enum", "const"):
        _tell(parts, words, keyword)
    spread = [part for keyword in _ALTERNATIVES for part in cast("list[Json]", words.get(keyword, []))]
    if any(_declares_members(parts, part) for part in spread):
        return _wrapped(parts, words), True
    for keyword in _ALTERNATIVES:
        _tell(parts, words, keyword)
    return _written(parts, words), False


_ALTERNATIVES = ("oneOf", "anyOf")


def _written(parts: Parts, words: Words) -> dict[str, Json]:
    parts.undo.append(Undo())
    return cast("dict[str, Json]", parts.write(words, "", 0))


def _wrapped(parts: Parts, words: Words) -> dict[str, Json]:
    """Write alternatives of whole objects under one property: there every target takes them."""
    description = words.pop("description", None)
    outer = Words({"type": "object", "properties": {WRAPPER: words}, "required": [WRAPPER]})
    outer["additionalProperties"] = False
    if description is not None:
        outer["description"] = description
    return _written(parts, outer)


def _declared_place(loss: Loss, is_wrapped: bool) -> Loss:
    return Loss(loss.path.removeprefix(f"/properties/{WRAPPER}"), loss.what) if is_wrapped else loss


def _declares_members(parts: Parts, schema: Json) -> bool:
    words = parts.reading.peeked(schema)
    return words is not None and "properties" in words


def _tell(parts: Parts, words: Words, keyword: str) -> None:
    """Leave a keyword out of the root, if it stands there, and say it."""
    if keyword not in words:
        return
    parts.reading.lose(f"/{keyword}", keyword)
    said = f"({keyword}: {compact_json(words.pop(keyword))})"
    words["description"] = f"{words['description']} {said}" if words.get("description") else said
