"""Intake: from what a server lists, or a catalog file holds, to catalog entries; a verdict for each tool.

One broken tool never hides the rest: what cannot be taken in is a `Refusal` with its reason, never an exception.
Declared text is kept as it came (cleaning is for serving); what is kept is bounded. Nothing here grants anything:
access, risk, reach and flow in a catalog file become a proposal.

A tool of a live server or a saved listing has the id `<namespace>.<name>`; dots in its name extend its namespace
(`orders.list` under `crm` is in the namespace `crm.orders`). In a catalog file `tool_id` is kept verbatim; left out
it is made the same way, `namespace` left out is all of the id before its last dot or the server, and
`source_server` left out is the default server, or else the first part of the namespace.

Source: MCP 2026-07-28, "Tool"; SURFACE "Catalog"; DESIGN section 3.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pegboard.core.aliases import RESERVED
from pegboard.core.catalog import CatalogEntry, declare, with_row
from pegboard.core.mentions import ToolNames, entry_texts, mentions
from pegboard.core.names import MAX_TOOL_ID, Json, name_problem
from pegboard.core.text import hidden, one_line
from pegboard.engine.bounds import Bounds, Broken, kind_of, measure
from pegboard.engine.fields import Unfit, flag, maybe_text, pinned, proposal, text, texts
from pegboard.engine.schemas import output_schema_problem, schema_problem
from pegboard.engine.shapes import SCHEMA_FIELDS, plain, spread

__all__ = ["Refusal", "relate", "related", "take_in", "take_in_line", "take_in_lines", "take_in_listing"]

MAX_DESCRIPTION = 100_000
MAX_TITLE = 1_000
# Hints for display; the largest of 2,013 published ones has 219 characters.
_ANNOTATIONS = Bounds(size_bytes=16 * 1024, depth=8, nodes=500)
# A refused tool is listed by as much of its name as a line holds.
_SHOWN_NAME = 80


@dataclass(frozen=True, slots=True)
class Refusal:
    """One tool that was not taken in, and why. `name` is fit to be shown: cleaned, on one line, bounded."""

    name: str
    reason: str


Intake = tuple[tuple[CatalogEntry, ...], tuple[Refusal, ...]]


def take_in(raw: Any, *, server: str, namespace: str, tool_id: str | None = None) -> CatalogEntry | Refusal:
    """Make an entry of a tool as MCP lists it. Its mentions are added by `relate`, which knows its siblings.

    Fields of the protocol that neither a model nor the gate uses (`_meta`, `execution`, `icons`) are not kept.
    """
    try:
        given = _object(raw)
        name = _name(given.get("name"))
        return _entry(
            given,
            name=name,
            source_server=server,
            namespace=_extended(namespace, name),
            tool_id=_tool_id(f"{namespace}.{name}" if tool_id is None else tool_id),
            input_schema=_listed_schema(given),
            output_schema=given.get("outputSchema"),
        )
    except (Unfit, ValueError) as error:
        return Refusal(_shown(raw, "name"), str(error))


def take_in_line(raw: Any, *, default_server: str | None = None) -> CatalogEntry | Refusal:
    """Make an entry of one line of a catalog file. Digests and mentions that it gives are computed anew."""
    try:
        given = plain(_object(raw))
        given_id, given_namespace = maybe_text(given, "tool_id"), maybe_text(given, "namespace")
        name = _name(maybe_text(given, "name") or (given_id or "").rpartition(".")[2])
        base = given_namespace or (given_id or "").rpartition(".")[0] or default_server
        if not base:
            raise Unfit("it has no namespace, and no server that could give it one")
        namespace = base if given_id or not given_namespace else _extended(base, name)
        return _entry(
            given,
            name=name,
            source_server=_name(
                maybe_text(given, "source_server") or default_server or base.partition(".")[0], "the server"
            ),
            namespace=_name(namespace, "the namespace"),
            tool_id=_tool_id(given_id or f"{base}.{name}"),
            input_schema=given.get("inputSchema"),
            output_schema=given.get("output_schema", given.get("outputSchema")),
            summary=maybe_text(given, "summary", MAX_DESCRIPTION),
            examples=texts(given, "examples"),
            keywords=texts(given, "keywords"),
            enabled=flag(given, "enabled"),
            pinned=pinned(given),
            proposal=proposal(given),
        )
    except (Unfit, ValueError) as error:
        return Refusal(_shown(raw, "tool_id", "name"), str(error))


def take_in_listing(server: str, namespace: str, raws: Sequence[Any]) -> Intake:
    """Take in all that one server lists, in its order. Of two tools with one name the first stays."""
    verdicts = (take_in(raw, server=server, namespace=namespace) for raw in raws)
    return _settled(verdicts, _listed_names(raws))


def take_in_lines(raws: Iterable[Any], *, default_server: str | None = None) -> Intake:
    """Take in a catalog file, in its order. Of two lines with one tool id the first stays.

    A line may hold one tool or several, in the shape of any model API.
    """
    tools = (tool for raw in raws for tool in spread(raw))
    return _settled((take_in_line(tool, default_server=default_server) for tool in tools), ())


def relate(entries: Iterable[CatalogEntry], others: Iterable[str] = ()) -> tuple[CatalogEntry, ...]:
    """Return the entries with their mentions found anew, among the tools of the same server in *entries*.

    *others* are further names of the server: tools that it lists and that were refused are eligible for nobody,
    so their names must not be served either. Use it again wherever entries of several listings are put together.
    """
    entries = tuple(entries)
    further = tuple(others)
    names: dict[str, set[str]] = {}
    for entry in entries:
        names.setdefault(entry.source_server, set(further)).add(entry.name)
    indexes = {server: ToolNames.of(known) for server, known in names.items()}
    return tuple(related(entry, indexes[entry.source_server]) for entry in entries)


def related(entry: CatalogEntry, names: ToolNames) -> CatalogEntry:
    """Return an entry with its mentions found anew among *names*, all that its server lists."""
    schemas = (entry.input_schema_json, entry.output_schema_json or "", entry.annotations_json or "")
    if not names.may_stand_in((entry.title or "", entry.description, *schemas)):
        return with_row(entry, mentions=()) if entry.mentions else entry
    found = mentions(
        entry_texts(
            title=entry.title,
            description=entry.description,
            input_schema=entry.input_schema,
            output_schema=entry.output_schema,
            annotations=entry.annotations,
        ),
        names,
        entry.name,
    )
    return entry if found == entry.mentions else with_row(entry, mentions=found)


def _settled(verdicts: Iterator[CatalogEntry | Refusal], others: Iterable[str]) -> Intake:
    taken: dict[str, CatalogEntry] = {}
    refused: list[Refusal] = []
    for verdict in verdicts:
        if isinstance(verdict, Refusal):
            refused.append(verdict)
        elif verdict.tool_id in taken:
            name = one_line(verdict.name, _SHOWN_NAME)
            refused.append(Refusal(name, "a tool with this name is listed before it; the first one stays"))
        else:
            taken[verdict.tool_id] = verdict
    return relate(taken.values(), others), tuple(refused)


def _listed_names(raws: Sequence[Any]) -> tuple[str, ...]:
    names = (raw.get("name") for raw in raws if isinstance(raw, dict))
    return tuple(name for name in names if isinstance(name, str) and name_problem(name) is None)


def _entry(given: dict[str, Any], *, name: str, input_schema: Any, output_schema: Any, **known: Any) -> CatalogEntry:
    if input_schema is not None and (problem := schema_problem(input_schema)):
        raise Unfit(f"its input schema cannot be used: {problem}")
    if output_schema is not None and (problem := output_schema_problem(output_schema)):
        raise Unfit(f"its output schema cannot be used: {problem}")
    return declare(
        name=name,
        title=maybe_text(given, "title", MAX_TITLE),
        description=maybe_text(given, "description", MAX_DESCRIPTION) or "",
        input_schema=input_schema,
        output_schema=output_schema,
        annotations=_annotations(given.get("annotations")),
        **known,
    )


def _object(raw: Any) -> dict[str, Any]:
    if not isinstance(raw, dict):
        raise Unfit(f"a tool is a JSON object, not {kind_of(raw)}")
    return raw


def _listed_schema(given: dict[str, Any]) -> Any:
    """Return the schema where MCP has it; elsewhere nobody would look for it, and the tool would take anything."""
    declared = next((field for field in SCHEMA_FIELDS if given.get(field) is not None), "inputSchema")
    if declared != "inputSchema":
        raise Unfit(f"it declares its arguments as {declared!r}; a listing of MCP has them as 'inputSchema'")
    return given.get(declared)


def _tool_id(value: str) -> str:
    found = _name(value, "the tool id")
    if found in RESERVED:
        raise Unfit(f"the tool id {found!r} is reserved for what searches and calls tools; use a namespace")
    return found


def _name(value: Any, what: str = "its name") -> str:
    found = text(value, what, MAX_TOOL_ID)
    if problem := name_problem(found):
        raise Unfit(f"{what} {problem}")
    if hidden(found):
        # A name cannot be cleaned: the server knows it as it is.
        raise Unfit(f"{what} holds a character that nobody can see")
    return found


def _annotations(value: Any) -> dict[str, Json] | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise Unfit(f"its annotations are {kind_of(value)}, not an object")
    size = measure(value, _ANNOTATIONS)
    if isinstance(size, Broken):
        raise Unfit(f"its annotations cannot be used: {size.problem}")
    return value


def _extended(namespace: str, name: str) -> str:
    """Let the dots of a name extend the namespace, unless they leave a part of it empty ("..", ".hidden")."""
    parts = name.split(".")
    return ".".join([namespace, *parts[:-1]]) if all(map(str.strip, parts)) else namespace


def _shown(raw: Any, *fields: str) -> str:
    named = (raw.get(field) for field in fields) if isinstance(raw, dict) else ()
    return next((one_line(name, _SHOWN_NAME) for name in named if isinstance(name, str) and name), "(no name)")
