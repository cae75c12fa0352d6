"""Paths: how often a validator may come to one value, counted before it sets out.

Each `anyOf` of two references doubles the ways through a schema, and thirty of them in a row are 2^30, in a few
hundred bytes. A recursive schema does the same with the depth of the arguments. What is counted, for each depth of
arguments, is the number of visits along one chain of values from the outermost inwards, at worst.

Counted too high where branches exclude each other by their types; never too low.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from urllib.parse import unquote

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
        for keyword, _, child in subschemas(schema):
            if isinstance(child, dict):
                links.append((_place(keyword, schema), number(child)))
        for keyword in REFERENCES & schema.keys():
            reference = schema[keyword]
            if not isinstance(reference, str):
                continue
            if not reference.startswith("#"):
                graph.foreign.append(reference)
            links += [(Place.SAME, number(target)) for target in resources.targets(schema, keyword, reference)]
    return graph


def count_paths(graph: SchemaGraph, deepest: int) -> Paths:
    """Count the visits for arguments of depth 1 to *deepest*."""
    same = {node: [child for place, child in links if place is Place.SAME] for node, links in enumerate(graph.links)}
    try:
        order = [node for node in TopologicalSorter(same).static_order() if graph.links[node]]
    except CycleError:
        return Paths(problem="it refers to itself without going any deeper")
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
    """Which schema a local reference means: pointers and anchors, in the resource that `$id` opened."""

    def __init__(self, root: dict[str, Json]) -> None:
        self.resource: dict[int, dict[str, Json]] = {}
        self.anchors: dict[tuple[int, str], dict[str, Json]] = {}
        self.dynamic: dict[str, list[dict[str, Json]]] = {}
        waiting: list[tuple[Json, dict[str, Json]]] = [(root, root)]
        while waiting:
            node, resource = waiting.pop()
            if isinstance(node, list):
                waiting += [(child, resource) for child in node]
            elif isinstance(node, dict):
                own_id = node.get("$id")
                if isinstance(own_id, str) and not own_id.startswith("#"):
                    resource = node
                self.resource[id(node)] = resource
                self._anchor(node, resource)
                waiting += [(child, resource) for child in node.values()]

    def _anchor(self, node: dict[str, Json], resource: dict[str, Json]) -> None:
        for keyword in ("$anchor", "$dynamicAnchor", "$id", "id"):
            name = node.get(keyword)
            if isinstance(name, str):
                self.anchors.setdefault((id(resource), name.removeprefix("#")), node)
                if keyword == "$dynamicAnchor":
                    self.dynamic.setdefault(name, []).append(node)

    def targets(self, schema: dict[str, Json], keyword: str, reference: str) -> Iterator[dict[str, Json]]:
        """Yield what the reference may mean; nothing where it points nowhere, which the validator refuses."""
        if not reference.startswith("#"):
            return
        name = unquote(reference[1:])
        resource = self.resource[id(schema)]
        if keyword == "$dynamicRef" and name in self.dynamic:
            yield from self.dynamic[name]
            return
        found: Json = (
            _at(resource, name) if not name or name.startswith("/") else self.anchors.get((id(resource), name))
        )
        if isinstance(found, dict):
            yield found


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
