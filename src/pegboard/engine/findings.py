"""Findings: what a person should look at before a declared tool is trusted, with its rule, place and severity.

A finding says where to look, never that a tool is safe: a tool without one is still granted by the lock alone. The
rules are the rows of `finding_rules.py`; this walks what a tool declares and asks every row. Local curation is not
looked at, since an operator wrote it.

Source: DESIGN section 9; RFC 6901 for the places.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from pegboard.core.catalog import CatalogEntry
from pegboard.core.keywords import DATA, NAME_LISTS, REFERENCES
from pegboard.core.names import Json
from pegboard.core.text import escaped, hidden
from pegboard.engine.bounds import Bounds, Broken, measure
from pegboard.engine.finding_rules import (
    LENGTHS,
    META_TOOLS,
    ROWS,
    RULES,
    STEERING_KEYS,
    Place,
    Severity,
    folded,
    mixes_scripts,
)

__all__ = ["NO_INCUMBENTS", "Finding", "Incumbents", "Severity", "findings", "folded_name", "worst"]

# A tool with a thousand links needs no thousand findings; the first places of each rule show what it is.
_PLACES_A_RULE = 5
_AROUND, _SNIPPET, _WHERE = 24, 120, 300
# Characters of a text whose findings are remembered: names and values of parameters, most of all.
_SHORT = 120
_META = Bounds(size_bytes=64 * 1024, depth=16, nodes=2_000)

_TEXTS = frozenset({"description", "title", "$comment"})
_VALUES = frozenset({"enum", "const", "default", "examples", "example"})
_CODE = (DATA | REFERENCES) - _VALUES
_SEPARATORS = re.compile(r"[\W_]+")
_BARE = {code: None for code in range(128) if not chr(code).isalnum()}
# The rows that read a text of each kind; those on characters have nothing to read where nothing is hidden.
_SEEN = tuple(row for row in ROWS if not row.folds)
_SAID = {place: tuple(row for row in ROWS if row.folds and place in row.places) for place in Place}

_Found = tuple[str, str, str]
"""Rule, place, snippet."""
_Text = tuple[str, Place, str]
"""Where it stands, what kind of text it is, and the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that a rule found in what a tool declares."""

    tool: str
    """The tool id."""
    rule: str
    severity: Severity
    where: str
    """A JSON pointer into the tool as MCP lists it, such as `/inputSchema/properties/q/description`; escaped."""
    snippet: str
    """What was found with a few words around it, on one line, escaped: for a reviewer, never for a model."""

    def to_json(self) -> dict[str, Json]:
        """Return one element of `findings` in an answer."""
        return {
            "tool": self.tool,
            "rule": self.rule,
            "severity": str(self.severity),
            "where": self.where,
            "snippet": self.snippet,
        }


@dataclass(frozen=True)
class Incumbents:
    """The tools that were there first; whoever comes later and takes such a name is the newcomer."""

    held: frozenset[tuple[str, str]]
    """(server, name) of the tools."""

    @classmethod
    def of(cls, held: Iterable[tuple[str, str]]) -> "Incumbents":
        """Take (server, tool name) pairs: of the locked tools, or of those served until now."""
        return cls(frozenset(held))

    @cached_property
    def holders(self) -> Mapping[str, Collection[str]]:
        """Folded name -> the servers of the tools that hold it; gathered once a newcomer asks."""
        found: dict[str, set[str]] = {}
        for server, name in self.held:
            found.setdefault(folded_name(name), set()).add(server)
        return found

    def shadowed_by(self, server: str, name: str) -> str | None:
        """Return the server whose tool this one would shadow, None where there is none or it was there itself."""
        if (server, name) in self.held:
            return None
        return min({*self.holders.get(folded_name(name), ())} - {server}, default=None)


NO_INCUMBENTS = Incumbents(frozenset())


def findings(entry: CatalogEntry, *, incumbents: Incumbents = NO_INCUMBENTS, meta: Json = None) -> tuple[Finding, ...]:
    """Return what the rules find in one tool, worst first, then in the order of its parts.

    Args:
        entry: The tool as it was taken in.
        incumbents: Names that other servers' tools hold. An incumbent itself is never found to shadow another.
        meta: The tool's `_meta` as it came, which an entry does not keep.
    """
    # Per rule only the first places, and the same place once.
    kept: dict[str, dict[str, str]] = {}
    for rule, where, snippet in _all(entry, incumbents, meta):
        places = kept.setdefault(rule, {})
        if len(places) < _PLACES_A_RULE:
            places.setdefault(where, snippet)
    found = (
        Finding(tool=entry.tool_id, rule=rule, severity=RULES[rule][0], where=where, snippet=snippet)
        for rule, places in kept.items()
        for where, snippet in places.items()
    )
    return tuple(sorted(found, key=lambda one: -one.severity.rank))


def worst(found: Iterable[Finding]) -> Severity | None:
    """Return the highest severity among findings, None where there are none."""
    return max((one.severity for one in found), key=lambda severity: severity.rank, default=None)


def folded_name(name: str) -> str:
    """Return a tool's name without case, separators and look-alike letters: two that are equal pass for each other."""
    # Of most names folding leaves nothing else to do, and there are as many as tools.
    plain = name.isascii() and name.isprintable()
    bare = name.lower().translate(_BARE) if plain else _SEPARATORS.sub("", folded(name))
    # A name of separators alone passes for no other.
    return bare or name


def _all(entry: CatalogEntry, incumbents: Incumbents, meta: Json) -> Iterator[_Found]:
    yield from _of_name(entry, incumbents)
    if entry.undeclared_schema:
        yield "undeclared-schema", "/inputSchema", ""
    # Schemas repeat themselves, so each text is read once. A key stands for its other mentions, under `required`.
    wheres: dict[tuple[Place, str], list[str]] = {}
    for where, place, text in sorted(_texts(entry), key=lambda one: "/required/" in one[0]):
        wheres.setdefault((place, text), []).append(where)
    for (place, text), places in wheres.items():
        for rule, snippet in _in_text(place, text):
            yield from ((rule, _where(where), snippet) for where in (places[:1] if place is Place.NAME else places))
    yield from _in_meta(meta)


def _of_name(entry: CatalogEntry, incumbents: Incumbents) -> Iterator[_Found]:
    name = folded_name(entry.name)
    if name in {folded_name(own) for own in META_TOOLS}:
        yield "shadows-meta-tool", "/name", _short(entry.name)
    elif (server := incumbents.shadowed_by(entry.source_server, entry.name)) is not None:
        yield "shadows-tool", "/name", _short(f"{entry.name} of server {server}")
    if mixes_scripts(entry.name):
        yield "look-alike-name", "/name", _short(entry.name)


def _texts(entry: CatalogEntry) -> list[_Text]:
    """Return every declared text with its place and kind."""
    found: list[_Text] = [
        ("/name", Place.NAME, entry.name),
        ("/title", Place.TITLE, entry.title or ""),
        ("/description", Place.PROSE, entry.description),
    ]
    _walk(entry.annotations, "/annotations", Place.TITLE, found)
    # What stands in for a schema that was not declared holds no text.
    _walk(entry.input_schema, "/inputSchema", Place.PROSE, found)
    _walk(entry.output_schema, "/outputSchema", Place.PROSE, found)
    return found


def _walk(value: Json, where: str, place: Place, found: list[_Text]) -> None:
    """Add every string of a value with its place to *found*; deeper than 64 is nothing that was taken in."""
    if isinstance(value, str):
        found.append((where, place, value))
    elif isinstance(value, list):
        for position, child in enumerate(value):
            _walk(child, f"{where}/{position}", place, found)
    elif isinstance(value, dict):
        for key, child in value.items():
            at = f"{where}/{key.replace('~', '~0').replace('/', '~1')}"
            found.append((at, Place.NAME, key))
            _walk(child, at, _place(key, child, place), found)


def _place(key: str, child: Json, around: Place) -> Place:
    """Say what kind of text stands under a key. A property may be called `default`: what it holds is a schema then."""
    if around is not Place.PROSE:
        return around
    if key in _VALUES and not isinstance(child, dict):
        return Place.VALUE
    if key in NAME_LISTS and isinstance(child, list):
        return Place.NAME
    return Place.CODE if key in _CODE and isinstance(child, str) else Place.PROSE


def _in_text(place: Place, text: str) -> Iterable[tuple[str, str]]:
    """Return what the rows find in a text; short ones, which servers repeat by the thousand, are read once."""
    return _in_short(place, text) if len(text) <= _SHORT else _read(place, text)


@lru_cache(maxsize=1 << 14)
def _in_short(place: Place, text: str) -> tuple[tuple[str, str], ...]:
    return tuple(_read(place, text))


def _read(place: Place, text: str) -> Iterator[tuple[str, str]]:
    if len(text) > LENGTHS.get(place, len(text)):
        yield "oversized", f"{len(text):,} characters"
    for row in _SEEN if hidden(text) else ():
        if found := row.search(text):
            yield row.rule, _snippet(found)
    read = folded(text)
    for row in _SAID[place]:
        if found := row.search(read):
            yield row.rule, _snippet(found)


def _in_meta(meta: Json) -> Iterator[_Found]:
    if meta is None:
        return
    if isinstance(broken := measure(meta, _META), Broken):
        yield "oversized", "/_meta", _short(broken.problem)
        return
    texts: list[_Text] = []
    _walk(meta, "/_meta", Place.VALUE, texts)
    for where, place, text in texts:
        yield from ((rule, _where(where), snippet) for rule, snippet in _in_text(place, text))
        if place is Place.NAME and folded_name(text.rpartition("/")[2]) in STEERING_KEYS:
            yield "steering-meta", _where(where), _short(text)


def _snippet(found: re.Match[str]) -> str:
    begin, end = max(0, found.start() - _AROUND), min(found.end(), found.start() + _SNIPPET) + _AROUND
    return _short(f"{'…' if begin else ''}{found.string[begin:end]}{'…' if end < len(found.string) else ''}")


def _short(text: str) -> str:
    return " ".join(escaped(text[: 2 * _SNIPPET]).split())[: 2 * _SNIPPET]


def _where(pointer: str) -> str:
    shown = escaped(pointer)
    return shown if len(shown) <= _WHERE else f"{shown[: _WHERE - 1]}…"
