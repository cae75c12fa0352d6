"""Which policies are not monotone: by which a caller who loses a right may be shown more, or may call more.

The attribute table cannot do that (law 3); Cedar can, with a `forbid` that asks for a right, or a `permit` that asks
that one is absent. Often that is meant (`forbid` contractors), so it is reported and not refused.

This reads the policy's form and not its meaning: each right that is asked for counts as rising or falling with what
the caller holds, `!` and `unless` turn that round, and what it cannot follow counts as both. So it may name a policy
that is monotone after all. Of a policy that is not, it misses one kind: where arithmetic overflows, which denies.

Source: DESIGN, law 3; polarity of an occurrence in a formula.
"""

from collections.abc import Iterator
from typing import Any

from cedarpy import pst

from pegboard.policy.cedar_policies import CedarPolicy
from pegboard.policy.cedar_reads import Path, expressions, path_of

__all__ = ["lost_rights"]

_RISES, _FALLS = 1, -1
_ROLE = "Pegboard::Role"
# The attributes that hold rights, and what they are called.
_RIGHTS: dict[Path, str] = {
    ("principal", "scopes"): "scopes",
    ("principal", "servers"): "servers",
    ("principal", "approved_namespaces"): "approved namespaces",
    ("principal", "clearance"): "clearance",
    ("context", "flags"): "flags",
}
# Comparisons, and which way they go with the value on their left.
_COMPARED = {
    "greater": _RISES,
    "greater_eq": _RISES,
    "contains": _RISES,
    "contains_all": _RISES,
    "less": _FALLS,
    "less_eq": _FALLS,
}
_BOTH = frozenset({_RISES, _FALLS})


def lost_rights(policy: CedarPolicy) -> tuple[str, ...]:
    """Return the kinds of rights whose loss may give a caller more by this policy, none where it is monotone."""
    harmful = _FALLS if policy.effect == "permit" else _RISES
    found: set[str] = set()
    if harmful == _RISES and _is_role(getattr(policy.node.principal, "entity", None)):
        found.add("roles")
    for clause in policy.node.clauses:
        wanted = harmful if isinstance(clause, pst.When) else -harmful
        found |= {right for right, way in _ways(clause.expr) if way == wanted}
    return tuple(sorted(found))


def _ways(node: Any) -> Iterator[tuple[str, int]]:
    """Yield each right that a condition asks for, with the way in which the condition goes with it."""
    if isinstance(node, pst.BinaryOp) and node.op in {"and", "or"}:
        yield from _ways(node.left)
        yield from _ways(node.right)
    elif isinstance(node, pst.UnaryOp) and node.op == "not":
        yield from ((right, -way) for right, way in _ways(node.arg))
    elif isinstance(node, pst.IfThenElse):
        yield from ((right, way) for right, _ in _ways(node.cond) for way in _BOTH)
        yield from _ways(node.then_expr)
        yield from _ways(node.else_expr)
    else:
        yield from ((right, way) for right in _rights(node) for way in _goes(node))


def _goes(node: Any) -> frozenset[int]:
    """Say which way a condition without parts goes with the rights in it."""
    if path_of(node) is not None or (isinstance(node, pst.Is) and _are_entities(node.in_expr)):
        return frozenset({_RISES})
    if isinstance(node, pst.UnaryOp) and node.op == "is_empty" and path_of(node.arg) is not None:
        return frozenset({_FALLS})
    if isinstance(node, pst.BinaryOp):
        if node.op == "in" and path_of(node.left) is not None and _are_entities(node.right):
            return frozenset({_RISES})
        # The side that holds the right, if it is that and nothing more, and the other asks for none.
        sides = [path_of(side) is not None for side in (node.left, node.right) if any(_rights(side))]
        if sides == [True] and node.op == "contains_any":
            return frozenset({_RISES})
        if sides == [True] and node.op in _COMPARED:
            return frozenset({_COMPARED[node.op] * (1 if any(_rights(node.left)) else -1)})
    return _BOTH


def _are_entities(node: Any) -> bool:
    return isinstance(node, pst.EntityLit) or (isinstance(node, pst.Set) and all(map(_are_entities, node.elements)))


def _rights(node: Any) -> Iterator[str]:
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if _is_role(node):
            yield "roles"
        path = path_of(node)
        if path is None:
            waiting.extend(expressions(node))
        elif path != ("principal",):  # the caller as such holds no right; all of the context holds the flags
            yield from (right for held, right in _RIGHTS.items() if held[: len(path)] == path[:2])


def _is_role(node: Any) -> bool:
    uid = node.value if isinstance(node, pst.EntityLit) else node
    return isinstance(uid, pst.EntityUid) and str(uid.type) == _ROLE
