"""A catalog entry: a tool as its server declares it, plus operational metadata that never goes to a model.

Schemas are kept as the JSON text that came, in its key order, and decoded only when asked for:
a catalog of 100,000 tools stays small, and an entry stays immutable and hashable.

Access, risk, reach and flow are granted by the lock alone (`lock.py`); what an entry says of them is a proposal.

Source: DESIGN section 3; MCP 2026-07-28, "Tool".
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any, cast

from pegboard.core.names import Json, compact_json, digest, digest_bytes, short

__all__ = [
    "ALWAYS",
    "CatalogEntry",
    "Flow",
    "Proposal",
    "Reach",
    "Risk",
    "declare",
    "from_row",
    "row_bytes",
    "to_row",
    "with_row",
]

# `pinned` holds the stages in which a tool is loaded without ranking; this one stands for all of them.
ALWAYS = "*"
_NO_ARGUMENTS = '{"type":"object"}'
# What `schema_hash` is taken over, and so what no local change may touch.
_DECLARED = frozenset(
    {"name", "title", "description", "input_schema_json", "output_schema_json", "annotations_json"}
    | {"undeclared_schema", "schema_hash"}
)


class Risk(StrEnum):
    """What a call may do, as an operator judged it. Ordered: the later, the more care."""

    READ = "read"
    WRITE = "write"
    DESTRUCTIVE = "destructive"

    @property
    def rank(self) -> int:
        """Return 0 for read, 1 for write, 2 for destructive."""
        return list(Risk).index(self)


class Reach(StrEnum):
    """Whether a tool does one bounded thing, or runs whatever it is given (SQL, shell, raw API, browser code)."""

    BOUNDED = "bounded"
    OPEN = "open"


class Flow(StrEnum):
    """What a call does with data; together these tell when private data could leave."""

    READS_PRIVATE = "reads_private"
    INGESTS_UNTRUSTED = "ingests_untrusted"
    SENDS_OUT = "sends_out"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What a catalog file or a configured glob would grant. It grants nothing until a person locks it."""

    access: str | None = None
    risk: Risk | None = None
    reach: Reach | None = None
    flow: frozenset[Flow] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogEntry:
    """One tool in one catalog version. Build it with `declare`, which computes the digests.

    `schema_hash` covers what the server declares (name, title, description, schemas, annotations) and is what the
    lock names; `row` covers every field and is the content address of the entry.
    """

    tool_id: str
    namespace: str
    source_server: str
    name: str
    schema_hash: str
    row: str
    title: str | None = None
    description: str = ""
    input_schema_json: str = _NO_ARGUMENTS
    output_schema_json: str | None = None
    annotations_json: str | None = None
    summary: str | None = None
    examples: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    mentions: tuple[str, ...] = ()
    enabled: bool = True
    pinned: tuple[str, ...] = ()
    proposal: Proposal = Proposal()
    undeclared_schema: bool = False
    """The server declared no input schema; `{"type": "object"}` stands in, and `lint` reports it."""

    @property
    def version(self) -> str:
        """Name this state of the entry: it changes when any field does."""
        return short(self.row)

    @property
    def input_schema(self) -> dict[str, Json]:
        """Decode the input schema as declared; a new value at each access."""
        return cast("dict[str, Json]", json.loads(self.input_schema_json))

    @property
    def output_schema(self) -> dict[str, Json] | None:
        """Decode the output schema as declared, None where there is none."""
        return None if self.output_schema_json is None else cast("dict[str, Json]", json.loads(self.output_schema_json))

    @property
    def annotations(self) -> dict[str, Json]:
        """Decode the server's hints: for display, never for a decision."""
        return {} if self.annotations_json is None else cast("dict[str, Json]", json.loads(self.annotations_json))


def declare(
    *,
    tool_id: str,
    namespace: str,
    source_server: str,
    name: str,
    title: str | None = None,
    description: str = "",
    input_schema: Mapping[str, Json] | None = None,
    output_schema: Mapping[str, Json] | None = None,
    annotations: Mapping[str, Json] | None = None,
    summary: str | None = None,
    examples: tuple[str, ...] = (),
    keywords: tuple[str, ...] = (),
    mentions: tuple[str, ...] = (),
    enabled: bool = True,
    pinned: tuple[str, ...] = (),
    proposal: Proposal | None = None,
) -> CatalogEntry:
    """Build an entry from what a server declares and what is known locally, with its digests.

    Raises:
        ValueError: A part is no JSON value: a number that is not finite, a lone surrogate, too deep a nesting.
    """
    declared: dict[str, Json] = {
        "name": name,
        "title": title,
        "description": description,
        "inputSchema": None if input_schema is None else dict(input_schema),
        "outputSchema": None if output_schema is None else dict(output_schema),
        "annotations": dict(annotations) if annotations else None,
    }
    entry = CatalogEntry(
        tool_id=tool_id,
        namespace=namespace,
        source_server=source_server,
        name=name,
        schema_hash=digest({key: value for key, value in declared.items() if value is not None}),
        row="",
        title=title,
        description=description,
        input_schema_json=_NO_ARGUMENTS if input_schema is None else compact_json(dict(input_schema)),
        output_schema_json=None if output_schema is None else compact_json(dict(output_schema)),
        annotations_json=compact_json(dict(annotations)) if annotations else None,
        summary=summary,
        examples=examples,
        keywords=keywords,
        mentions=mentions,
        enabled=enabled,
        pinned=pinned,
        proposal=proposal or Proposal(),
        undeclared_schema=input_schema is None,
    )
    return with_row(entry)


def to_row(entry: CatalogEntry) -> dict[str, Json]:
    """Return every field but `row` as JSON, defaults left out: what a store keeps."""
    found: dict[str, Json] = {}
    for name, default in _FIELDS:
        value = getattr(entry, name)
        if value != default:
            found[name] = _PLAIN.get(name, _same)(value)
    return found


def row_bytes(entry: CatalogEntry) -> bytes:
    """Return the canonical form of the row, whose digest is the entry's address.

    A row holds texts and truth values under plain keys and no number, where the encoder's own output is RFC 8785's.

    Raises:
        ValueError: A text holds a lone surrogate.
    """
    return _ENCODER.encode(to_row(entry)).encode()


def from_row(row: Mapping[str, Any], address: str | None = None) -> CatalogEntry:
    """Rebuild the entry of a stored row.

    Args:
        row: What `to_row` returned.
        address: The digest of the bytes that the row was just read from; unsaid: it is computed from the fields, so
            that a changed row cannot keep its address.

    Raises:
        ValueError: The row is not one that `to_row` wrote.
    """
    try:
        values = {name: _PARSED.get(name, _same)(value) for name, value in row.items()}
        entry = CatalogEntry(row=address or "", **values)
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(str(error)) from error
    return entry if address else with_row(entry)


def with_row(entry: CatalogEntry, **changes: Any) -> CatalogEntry:
    """Return the entry with *changes* made and its content address computed anew.

    Raises:
        ValueError: A change is of what the server declares: `declare` it anew, so that its hash is of its content.
    """
    if touched := changes.keys() & _DECLARED:
        raise ValueError(f"{min(touched)!r} is declared by the server; changing it makes another tool")
    changed = replace(entry, **changes)
    return replace(changed, row=digest_bytes(row_bytes(changed)))


def _same(value: Any) -> Any:
    return value


def _proposal_row(proposal: Proposal) -> Json:
    return {
        "access": proposal.access,
        "risk": proposal.risk,
        "reach": proposal.reach,
        "flow": None if proposal.flow is None else sorted(proposal.flow),
    }


def _proposal(row: Any) -> Proposal:
    return Proposal(
        access=row["access"],
        risk=None if row["risk"] is None else Risk(row["risk"]),
        reach=None if row["reach"] is None else Reach(row["reach"]),
        flow=None if row["flow"] is None else frozenset(map(Flow, row["flow"])),
    )


_PLAIN: dict[str, Callable[[Any], Any]] = {
    "examples": list,
    "keywords": list,
    "mentions": list,
    "pinned": list,
    "proposal": _proposal_row,
}
_PARSED: dict[str, Callable[[Any], Any]] = {
    "examples": tuple,
    "keywords": tuple,
    "mentions": tuple,
    "pinned": tuple,
    "proposal": _proposal,
}
_FIELDS = tuple((field.name, field.default) for field in fields(CatalogEntry) if field.name != "row")
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True, allow_nan=False)
