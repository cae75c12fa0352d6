"""What a Cedar policy looks at: the entities it names and the attributes it reads.

By this tools and callers that a set of policies cannot tell apart are decided together, and a call whose arguments
could not all be given to Cedar is denied where a policy would have looked at what is missing.

A read is a path from one of Cedar's variables: `("resource", "risk")`. A path that ends early, as in
`context.input == {...}`, reads everything below it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any, TypeAlias

from cedarpy import pst

__all__ = ["Path", "expressions", "names", "path_of", "reads"]

Path: TypeAlias = tuple[str, ...]


def names(policies: Iterable[pst.Template]) -> frozenset[str]:
    """Return every entity that policies name, as Cedar writes it, actions included."""
    return frozenset(str(uid) for one in policies for uid in pst.entity_uids(one))


def reads(policy: pst.Template) -> frozenset[Path]:
    """Return every path that a policy reads."""
    return frozenset(path for clause in policy.clauses for path in _reads(clause.expr))


def expressions(node: Any) -> Iterator[Any]:
    """Yield the nodes right below a node of a policy."""
    if isinstance(node, tuple):
        yield from node
    elif isinstance(node, pst.Record):
        yield from node.fields.values()
    elif is_dataclass(node) and not isinstance(node, type):
        yield from (getattr(node, each.name) for each in fields(node))


def _reads(node: Any) -> Iterator[Path]:
    waiting = [node]
    while waiting:
        node = waiting.pop()
        found = path_of(node)
        if found is None:
            waiting.extend(expressions(node))
        else:
            yield found


def path_of(node: Any) -> Path | None:
    """Return the path that a node spells out from a variable, None where it is anything else."""
    steps: list[str] = []
    if isinstance(node, pst.HasAttr):
        steps += reversed(node.attrs)
        node = node.base
    while isinstance(node, pst.GetAttr):
        steps.append(node.attr)
        node = node.base
    return (node.name, *reversed(steps)) if isinstance(node, pst.Var) else None
