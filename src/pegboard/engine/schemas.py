"""Schemas: whether a tool's schema can be taken in, and whether arguments keep to it.

Schemas and arguments are hostile until shown otherwise. Both are measured before any validator sees them, nothing is
ever fetched, patterns run in linear time or with bounded backtracking, and a schema that cannot be compiled so is
refused when it is taken in, with its reason: a call is never let through because its schema was not understood.
Odd but valid schemas pass: `true` as a property, unknown keywords and formats, recursion, draft-07.

Arguments are judged as they came: no default is filled in, nothing is coerced, and no message repeats a value.

Source: JSON Schema 2020-12, and drafts 4 to 2019-09 where `$schema` says so.
"""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, cast

import jsonschema_rs

from pegboard.core.catalog import CatalogEntry
from pegboard.core.keywords import REFERENCES
from pegboard.core.names import Json, compact_json, digest_bytes
from pegboard.core.text import one_line
from pegboard.engine.bounds import ARGUMENTS, SCHEMA, Broken, Size, kind_of, measure
from pegboard.engine.paths import Paths, SchemaGraph, count_paths, graph_of
from pegboard.engine.wording import Wording, describe, describe_without_values

__all__ = [
    "Compiled",
    "Problem",
    "Validators",
    "check_arguments",
    "compile_schema",
    "output_schema_problem",
    "schema_problem",
    "still_takes",
]

# Compiled size of one pattern, and how often the engine for look-around may step back in one match (0.5 ms).
_PATTERN_BYTES = 1 << 20
_BACKTRACKS = 10_000
# Visits to values, at worst, in one validation: nodes of the arguments times paths. Below a second.
_MAX_WORK = 20_000_000
# … and in one whose errors are collected: 2 us each, since alternatives nested in alternatives fail one by one.
_MAX_COLLECTED = 200_000
# Up to this many parts every problem is collected; beyond it, the first, since collecting costs for each part.
_SMALL = 1_000
_SHOWN_PROBLEMS = 5
# Verdicts by the digest of the schema, since a server that is refreshed lists most of its schemas again: 10 MB at most.
_JUDGED: dict[str, tuple[str | None]] = {}
_REMEMBERED = 50_000
# Keys that the policy engine reads as entities or extension calls, wherever they stand in the arguments.
_RESERVED_KEYS = frozenset({"__entity", "__extn"})
# Canonical forms of nested alternatives grow fast (40 negated ones take 5 s); beyond this only equality counts.
_COMPARABLE_NODES = 300
_COMPARABLE_PATHS = 16

_LINEAR = jsonschema_rs.RegexOptions(size_limit=_PATTERN_BYTES, dfa_size_limit=_PATTERN_BYTES)
_BOUNDED = jsonschema_rs.FancyRegexOptions(
    backtrack_limit=_BACKTRACKS, size_limit=_PATTERN_BYTES, dfa_size_limit=_PATTERN_BYTES
)
_WIDENED_BY_NO_MATCH = frozenset({"not", "if", "oneOf", "maxContains", "patternProperties"})
_PatternOptions = jsonschema_rs.RegexOptions | jsonschema_rs.FancyRegexOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Why arguments are refused: where (JSON pointer), by which keyword, and what would help."""

    path: str
    constraint: str
    message: str


@dataclass(frozen=True, slots=True)
class Compiled:
    """A validator of one schema, with what it may cost and how its refusals are worded."""

    validator: jsonschema_rs.Validator
    paths: Paths
    wording: Wording = describe


_UNTOLD = Problem(
    path="",
    constraint="schema",
    message="the arguments do not keep to the schema, which has too many ways to say where",
)


class Validators:
    """Compiled validators by `schema_hash`, the least recently used given up first. Only a cache: no answer changes."""

    def __init__(self, capacity: int = 1024) -> None:
        self._capacity = capacity
        self._compiled: OrderedDict[str, Compiled] = OrderedDict()

    def __len__(self) -> int:
        return len(self._compiled)

    def of(self, entry: CatalogEntry) -> Compiled:
        """Return the validator of the entry's input schema; its refusals quote no value where the entry has mentions.

        Raises:
            ValueError: The schema is not one that `schema_problem` lets in.
        """
        found = self._compiled.pop(entry.schema_hash, None) or compile_schema(entry.input_schema)
        self._compiled[entry.schema_hash] = found
        if len(self._compiled) > self._capacity:
            self._compiled.popitem(last=False)
        # Whether or not the caller may see those that are mentioned: a refusal need not tell which. Not kept with the
        # validator, since entries with one schema may mention different tools.
        return replace(found, wording=describe_without_values) if entry.mentions else found


def schema_problem(schema: Any) -> str | None:
    """Say why a tool with this input schema cannot be taken in, or None where it can."""
    problem = output_schema_problem(schema)
    if problem is None and not _takes_objects(schema):
        problem = "its root admits no object, and arguments are an object"
    return problem


def output_schema_problem(schema: Any) -> str | None:
    """Say why this is no schema that we can hold, whatever it describes, or None where it is one."""
    if not isinstance(schema, dict):
        return f"a schema is a JSON object, not {kind_of(schema)}"
    size = measure(schema, SCHEMA)
    if isinstance(size, Broken):
        return size.problem
    text = compact_json(schema).encode()
    if len(text) > SCHEMA.size_bytes:
        return f"it is larger than {SCHEMA.size_bytes:,} bytes"
    written = digest_bytes(text)
    verdict = _JUDGED.get(written)
    if verdict is None:
        verdict = (_compiled_problem(schema),)
        if len(_JUDGED) >= _REMEMBERED:
            _JUDGED.clear()
        _JUDGED[written] = verdict
    return verdict[0]


def _compiled_problem(schema: dict[str, Json]) -> str | None:
    graph = graph_of(schema)
    if graph.foreign:
        return f"its reference {one_line(graph.foreign[0], 80)!r} is not local; only references that begin with # are"
    if problem := count_paths(graph, ARGUMENTS.depth).problem:
        return problem
    try:
        _validator(schema, graph, mask=None)
    except jsonschema_rs.ValidationError as error:
        return _invalid(error)
    return None


def compile_schema(schema: dict[str, Json]) -> Compiled:
    """Compile a schema that was taken in.

    Raises:
        ValueError: It is not one that `schema_problem` lets in.
    """
    graph: SchemaGraph = graph_of(schema)
    paths = count_paths(graph, ARGUMENTS.depth)
    if paths.problem or graph.foreign:
        raise ValueError(paths.problem or "a reference is not local")
    return Compiled(_validator(schema, graph, mask="the value"), paths)


def check_arguments(compiled: Compiled, arguments: Any) -> Problem | None:
    """Judge arguments against the schema as declared; None where they keep to it."""
    if not isinstance(arguments, dict):
        return Problem(path="", constraint="type", message=f"arguments must be a JSON object, not {kind_of(arguments)}")
    size = measure(arguments, ARGUMENTS)
    if isinstance(size, Broken):
        return Problem(
            path=size.path, constraint=size.constraint, message=f"the arguments cannot be taken: {size.problem}"
        )
    if key := _reserved_key(arguments):
        return Problem(path="", constraint="reserved", message=f"the key {key!r} is reserved and cannot be sent")
    paths = compiled.paths.at(size.depth)
    if paths is None or paths * size.nodes > _MAX_WORK:
        message = "the arguments are too deep or too large for a schema with this many alternatives"
        return Problem(path="", constraint="size" if paths else "depth", message=message)
    if paths * size.nodes > _MAX_COLLECTED:
        return None if compiled.validator.is_valid(arguments) else _UNTOLD
    problems = [_problem(error, compiled.wording) for error in _errors(compiled.validator, arguments, size)]
    if not problems:
        return None
    first = problems[0]
    said = list(dict.fromkeys(problem.message for problem in problems))
    return Problem(path=first.path, constraint=first.constraint, message="; ".join(said))


def still_takes(new: dict[str, Json], old: dict[str, Json]) -> bool:
    """Say whether *new* is proven to take every value that *old* took. False where it is not known."""
    if new == old:
        return True
    if not (_is_comparable(new) and _is_comparable(old)):
        return False
    try:
        wider, narrower = (
            jsonschema_rs.canonicalize(schema, offline=True, validate_formats=True, pattern_options=_LINEAR)
            for schema in (new, old)
        )
        return wider.covers(narrower) == jsonschema_rs.canonical.Containment.YES
    except ValueError:
        return False


def _is_comparable(schema: dict[str, Json]) -> bool:
    size = measure(schema, SCHEMA)
    if isinstance(size, Broken) or size.nodes > _COMPARABLE_NODES:
        return False
    paths = count_paths(graph_of(schema), ARGUMENTS.depth)
    return paths.problem is None and paths.by_depth[-1] <= _COMPARABLE_PATHS


def _validator(schema: dict[str, Json], graph: SchemaGraph, *, mask: str | None) -> jsonschema_rs.Validator:
    """Compile, patterns in the linear engine where they can be, else with bounded backtracking.

    Giving up counts as no match. Where no match can mean that more is valid, giving up could let a call through,
    and such a schema gets the linear engine or none.
    """
    try:
        return _compile(schema, mask, _LINEAR)
    except jsonschema_rs.ValidationError as error:
        if error.kind.name not in {"pattern", "format"} or graph.keywords & _WIDENED_BY_NO_MATCH:
            raise
        return _compile(schema, mask, _BOUNDED)


def _compile(schema: dict[str, Json], mask: str | None, patterns: _PatternOptions) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(
        schema,
        offline=True,
        validate_formats=True,
        ignore_unknown_formats=True,
        pattern_options=patterns,
        mask=mask,
    )


def _errors(validator: jsonschema_rs.Validator, arguments: Any, size: Size) -> Iterator[jsonschema_rs.ValidationError]:
    if size.nodes <= _SMALL:
        yield from islice(validator.iter_errors(arguments), _SHOWN_PROBLEMS)
        return
    try:
        validator.validate(arguments)
    except jsonschema_rs.ValidationError as error:
        yield error


def _problem(error: jsonschema_rs.ValidationError, wording: Wording) -> Problem:
    return Problem(path=_pointer(error.instance_path), constraint=error.kind.name, message=wording(error))


def _invalid(error: jsonschema_rs.ValidationError) -> str:
    where = _pointer(error.instance_path)
    return (
        f"it is not valid JSON Schema{f' at {one_line(where, 120)}' if where else ''}: {one_line(error.message, 200)}"
    )


def _pointer(path: list[str | int]) -> str:
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in path)


def _takes_objects(schema: dict[str, Json]) -> bool:
    """Say whether the root, through its own references, may admit an object; a validator decides the rest."""
    node: Json = schema
    # INVARIANT: no schema refers to itself on the spot, so the chain ends; `count_paths` refused those.
    while isinstance(node, dict):
        declared = node.get("type", "object")
        if "object" not in ([declared] if isinstance(declared, str) else cast("list[str]", declared)):
            return False
        if not any(isinstance(value, dict) for value in _constants(node)):
            return False
        node = _referred(schema, node)
    return node is not False


def _constants(schema: dict[str, Json]) -> list[Json]:
    if "const" in schema:
        return [schema["const"]]
    listed = schema.get("enum")
    return listed if isinstance(listed, list) else [{}]


def _referred(root: dict[str, Json], schema: dict[str, Json]) -> Json:
    for keyword in REFERENCES & schema.keys():
        reference = schema[keyword]
        if isinstance(reference, str) and reference.startswith("#/"):
            found: Json = root
            for part in reference[2:].split("/"):
                found = found.get(part) if isinstance(found, dict) else None
            return found
    return None


def _reserved_key(arguments: Any) -> str | None:
    waiting = [arguments]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            if found := _RESERVED_KEYS & node.keys():
                return min(found)
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node
    return None
