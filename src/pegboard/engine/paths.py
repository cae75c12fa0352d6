"""Paths: how often a validator may come to one value, counted before it sets out.

Each `anyOf` of two references doubles the ways through a schema, and thirty of them in a row are 2^30, in a few
hundred bytes. A recursive schema does the same with the depth of the arguments. What is counted, for each depth of
arguments, is the number of visits along one chain of values from the outermost inwards, at worst.

Counted too high where branches exclude each other by their types; never too low.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter

from pegboard.core.keywords import REFERENCES, SUBSCHEMAS, Place, subschemas
from pegboard.core.names import Json

__all__ = ["MAX_PATHS", "Paths", "SchemaGraph", "count_paths", "graph_of"]

# A validator makes 10 to 30 million visits a second on one core: a few milliseconds for one chain at the most.
MAX_PATHS = 100_000
# A recursive schema whose paths explode before arguments of this depth is of no use to anyone.
_USEFUL_DEPTH = 8


@dataclass(slots=True)
class SchemaGraph:
    """The subschemas that validation can reach, numbered from 0 (the root), and which lead to which."""

    links: list[list[tuple[Place, int]]] = field(default_factory=list)
    unevaluated: list[bool] = field(default_factory=list)
    """Whether the node has to evaluate its applicators again, for `unevaluated…`."""
    keywords: set[str] = field(default_factory=set)
    """Every keyword that stands in one of them."""
    foreign: list[str] = field(default_factory=list)
    """References that do not begin with `#`, as written."""


@dataclass(frozen=True, slots=True)
class Paths:
    """The count for arguments of depth 1, 2, … (the last one holds for all that are deeper), or why there is none."""

    by_depth: tuple[int, ...] = ()
    problem: str | None = None

    def at(self, depth: int) -> int | None:
        """Return the count for arguments *depth* deep; None where it is past `MAX_PATHS`."""
        found = self.by_depth[min(depth, len(self.by_depth)) - 1]
        return found if found <= MAX_PATHS else None


def graph_of(root: dict[str, Json]) -> SchemaGraph:
    """Follow subschemas and local references from the root."""
    resources = _Resources(root)
    graph = SchemaGraph()
    numbers: dict[int, int] = {}
    waiting: list[dict[str, Json]] = []

    def number(schema: dict[str, Json]) -> int:
        if id(schema) not in numbers:
            numbers[id(schema)] = len(graph.links)
            graph.links.append([])
            graph.unevaluated.append("unevaluatedProperties" in schema or "unevaluatedItems" in schema)
            waiting.append(schema)
        return numbers[id(schema)]

    number(root)
    while waiting:
        schema = waiting.pop()
        links = graph.links[numbers[id(schema)]]
        graph.keywords |= schema.keys()
        for keyword, _, child in subschemas(schema):
            if isinstance(child, dict):
                links.append((_place(keyword, schema), number(child)))
        for keyword in REFERENCES & schema.keys():
            reference = schema[keyword]
            if isinstance(reference, str) and reference.startswith("#"):
                links += [(Place.SAME, number(target)) for target in resources.targets(schema, reference)]
            elif isinstance(reference, str):
                graph.foreign.append(reference)
    return graph


def count_paths(graph: SchemaGraph, deepest: int) -> Paths:
    """Count the visits for arguments of depth 1 to *deepest*."""
    same = {node: [child for place, child in links if place is Place.SAME] for node, links in enumerate(graph.links)}
    try:
        # Most schemas have no two subschemas for one value, and then any order will do.
        order = list(TopologicalSorter(same).static_order()) if any(same.values()) else range(len(graph.links))
    except CycleError:
        return Paths(problem="it refers to itself without going any deeper")
    order = [node for node in order if graph.links[node]]
    links = [_worst(graph, node) for node in range(len(graph.links))]
    inner = [0] * len(links)
    found: list[int] = []
    for _ in range(deepest):
        outer = _visits(graph, links, order, inner)
        found.append(outer[0])
        if found[-1] > MAX_PATHS or outer == inner:
            break
        inner = outer
    if found[-1] > MAX_PATHS and (len(found) <= _USEFUL_DEPTH or not _is_recursive(graph)):
        return Paths(problem=f"there are more than {MAX_PATHS:,} ways through its alternatives")
    return Paths(tuple(found))


def _worst(graph: SchemaGraph, node: int) -> list[tuple[Place, int]]:
    """Return a node's links, of its members and items that lead nowhere further only one: the others cost the same."""
    kept: list[tuple[Place, int]] = []
    seen: set[Place] = set()
    for place, child in graph.links[node]:
        if place in {Place.MEMBER, Place.ITEM} and not graph.links[child]:
            if place in seen:
                continue
            seen.add(place)
        kept.append((place, child))
    return kept


def _visits(graph: SchemaGraph, links: list[list[tuple[Place, int]]], order: list[int], inner: list[int]) -> list[int]:
    """Add one level: from the counts of each node at the values inside, those at the value around them."""
    # Capped, so that a count stays a small integer however often it doubles.
    cap = MAX_PATHS + 1
    as_object, as_array, found = ([1] * len(links) for _ in range(3))
    for node in order:
        objects = arrays = 1
        member = item = 0
        again = 2 if graph.unevaluated[node] else 1
        for place, child in links[node]:
            if place is Place.SAME:
                objects += again * as_object[child]
                arrays += again * as_array[child]
            elif place is Place.MEMBER:
                member = max(member, inner[child])
            elif place is Place.ITEM:
                item = max(item, inner[child])
            elif place is Place.MEMBERS or place is Place.KEY:
                objects += inner[child]
            elif place is Place.ITEMS:
                arrays += inner[child]
        as_object[node] = min(objects + member, cap)
        as_array[node] = min(arrays + item, cap)
        found[node] = max(as_object[node], as_array[node])
    return found


def _is_recursive(graph: SchemaGraph) -> bool:
    everything = {
        node: [child for place, child in links if place is not Place.NOWHERE] for node, links in enumerate(graph.links)
    }
    try:
        TopologicalSorter(everything).prepare()
    except CycleError:
        return True
    return False


def _place(keyword: str, schema: dict[str, Json]) -> Place:
    # Before 2020-12 `items` may be a list, by position.
    if keyword == "items" and isinstance(schema["items"], list):
        return Place.ITEM
    return SUBSCHEMAS[keyword]


class _Resources:
    """Which schemas a local reference may mean: pointers and anchors, in every resource around it.

    Drafts differ on whether an `$id` beside a `$ref` counts, on which of two equal anchors wins, and on `id`. All
    readings are followed: what is counted twice is refused a little earlier, what is not counted could hang.
    """

    def __init__(self, root: dict[str, Json]) -> None:
        self.around: dict[int, tuple[dict[str, Json], ...]] = {}
        self.anchors: dict[str, list[dict[str, Json]]] = {}
        waiting: list[tuple[Json, tuple[dict[str, Json], ...]]] = [(root, (root,))]
        while waiting:
            node, around = waiting.pop()
            if isinstance(node, list):
                waiting += [(child, around) for child in node]
            elif isinstance(node, dict):
                if node is not root and any(isinstance(node.get(name), str) for name in ("$id", "id")):
                    around = (*around, node)
                self.around[id(node)] = around
                for name in ("$anchor", "$dynamicAnchor", "$id", "id"):
                    anchor = node.get(name)
                    if isinstance(anchor, str):
                        self.anchors.setdefault(anchor.removeprefix("#"), []).append(node)
                waiting += [(child, around) for child in node.values()]

    def targets(self, schema: dict[str, Json], reference: str) -> Iterator[dict[str, Json]]:
        """Yield what the reference may mean; nothing where it points nowhere, which the validator refuses."""
        name = _ESCAPES.sub(_unescaped, reference.removeprefix("#"))
        if name and not name.startswith("/"):
            yield from self.anchors.get(name, ())
            return
        found = {id(target): target for resource in self.around[id(schema)] for target in [_at(resource, name)]}
        yield from (target for target in found.values() if isinstance(target, dict))


_ESCAPES = re.compile("(?:%[0-9A-Fa-f]{2})+")


def _unescaped(found: re.Match[str]) -> str:
    return bytes.fromhex(found.group().replace("%", "")).decode("utf-8", "replace")


def _at(root: Json, pointer: str) -> Json:
    found = root
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict):
            found = found.get(name)
        elif isinstance(found, list) and name.isdecimal() and int(name) < len(found):
            found = found[int(name)]
        else:
            return None
    return found
