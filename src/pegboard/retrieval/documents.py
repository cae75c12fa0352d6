"""Documents: the text of a tool that is searched, and what may never be in it.

Built from what the server declares and what was curated locally: name, namespace, title, summary or
description, examples, keywords, parameters. Never from policy: no lock line, template, scope, switch, pin
or proposal changes a document (`tests/retrieval/test_documents.py`). Names of sibling tools are left out for
everyone, so that a hidden sibling's name moves no visible score (DESIGN 3, `mentions`).

Everything is bounded, since a server writes these texts: a field counts only its first characters.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pegboard.core.catalog import CatalogEntry
from pegboard.core.mentions import ToolNames, omit
from pegboard.core.names import digest_bytes
from pegboard.core.text import clean
from pegboard.retrieval.tokens import is_word_list

__all__ = ["DOCUMENTS_VERSION", "Document", "dense_text", "document", "document_digest"]

DOCUMENTS_VERSION = "documents-2"

# In the longest real descriptions (13,000 characters) what a tool does stands at the start; the rest is manuals.
_MAX_TEXT = 6_000
_MAX_PARAMETERS = 4_000
_MAX_DENSE = 2_000  # characters; an encoder reads at most 256 tokens
_DENSE_PARAMETERS = 12
_LIST_WORDS, _NAME_WORDS = 16, 12
_MAX_NODES = 1_000
_MAX_DEPTH = 8
_MAX_ENUM = 24  # values of one enum

_WORDS = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# A docstring published whole: from here on it tells of arguments and results, and no more of what the tool does.
_SECTION = re.compile(
    r"\n[ \t*#]*(?:args|arguments|parameters|params|inputs?|returns?|raises|yields|examples?|usage|notes?)[ \t*]*:",
    re.IGNORECASE,
)

# Where subschemas stand, each with whether its keys are parameter names.
_MAPS = (("properties", True), ("$defs", False), ("definitions", False))
_ONES = ("items", "additionalProperties")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """The searched text of one tool, field by field, mentions left out."""

    name: str
    namespace: str
    text: str
    """Title, where it is not the name again, then the curated summary or else the cleaned description."""
    curated: str
    """Keywords and examples, written by an operator."""
    parameters: str
    """Parameter names, separated by blanks."""
    parameter_texts: str
    """Parameter descriptions and enum values."""


def document(entry: CatalogEntry) -> Document:
    """Take from an entry what is searched."""
    siblings = ToolNames.of(entry.mentions)
    names, texts = _schema_texts(entry)
    described = entry.description if entry.summary is None else entry.summary
    title = entry.title or ""
    return Document(
        name=clean(entry.name),
        namespace=clean(entry.namespace),
        text=_said(("" if _in_words(title) == _in_words(entry.name) else title, described), siblings, _MAX_TEXT),
        curated=_said((*entry.keywords, *entry.examples), siblings, _MAX_TEXT),
        parameters=clean(" ".join(names))[:_MAX_PARAMETERS],
        parameter_texts=_said(texts, siblings, _MAX_PARAMETERS),
    )


def document_digest(one: Document) -> str:
    """Return `sha256:<hex>` over every field: equal digests need no new terms and no new vector."""
    # No field holds a NUL, since all are clean, so no two documents join to the same bytes.
    fields = (one.name, one.namespace, one.text, one.curated, one.parameters, one.parameter_texts)
    return digest_bytes("\0".join(fields).encode())


def dense_text(one: Document) -> str:
    """Return the text that an encoder is given: namespace and name in words, then what the tool does.

    A namespace that the name repeats is left out. Parameters are told only of a tool that says nothing else: a vector
    is a mean over all words, and every server has its `limit`, `cursor` and `tenant`. Measured, right tools among the
    first eight by both encoders: four points more on our requests for published tools; dev parts 91.9 -> 92.1%.
    """
    name, space = _in_words(one.name), _in_words(one.namespace)
    head = name if space in name else f"{space} {name}"
    said = _SECTION.split(one.text, maxsplit=1)[0].split() or one.text.split()
    # A vector of many unrelated words lies near everything; of a mere list of words only the first are said.
    if is_word_list(one.text):
        said = said[:_LIST_WORDS]
    text = " ".join([*said, *one.curated.split()])[:_MAX_DENSE]
    if text:
        return f"{head}: {text}"
    listed = ", ".join(map(_in_words, one.parameters.split()[:_DENSE_PARAMETERS]))
    return f"{head} Parameters: {listed}" if listed else head


def _in_words(name: str) -> str:
    return " ".join(_WORDS.findall(_CAMEL.sub(" ", name))[:_NAME_WORDS]).casefold()


def _said(texts: Iterable[str], siblings: ToolNames, limit: int) -> str:
    """Join texts, cleaned and cut, without what they say of sibling tools."""
    return omit(clean("\n".join(filter(None, texts)))[:limit], siblings)


def _schema_texts(entry: CatalogEntry) -> tuple[list[str], list[str]]:
    """Collect parameter names and texts, breadth first, so that a bound cuts the deepest parts off first."""
    names: list[str] = []
    texts: list[str] = []
    try:
        level: list[Any] = [entry.input_schema]
    except (ValueError, RecursionError):
        return names, texts
    nodes = 0
    for _ in range(_MAX_DEPTH):
        below: list[Any] = []
        for schema in level:
            nodes += 1
            if nodes > _MAX_NODES:
                return names, texts
            if isinstance(schema, dict):
                texts.extend(_own_texts(schema, top=nodes == 1))
                below.extend(_subschemas(schema, names))
        level = below
    return names, texts


def _own_texts(schema: dict[str, Any], *, top: bool) -> Iterator[str]:
    described = schema.get("description")
    if isinstance(described, str) and not top:
        yield described
    listed = schema.get("enum")
    if isinstance(listed, list):
        yield from (value for value in listed[:_MAX_ENUM] if isinstance(value, str))


def _subschemas(schema: dict[str, Any], names: list[str]) -> Iterator[Any]:
    for keyword, named in _MAPS:
        inside = schema.get(keyword)
        if isinstance(inside, dict):
            if named:
                names.extend(map(str, inside))
            yield from inside.values()
    for keyword in _ONES:
        if keyword in schema:
            yield schema[keyword]
    for keyword in _LISTS:
        inside = schema.get(keyword)
        if isinstance(inside, list):
            yield from inside
