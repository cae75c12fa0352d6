"""The columns of the attribute table: each check of `core/policy.py`, decided for all access rules at once.

Rules repeat few values, so a column judges each distinct value (a set of required scopes, a list of stages, a
server) and spreads the verdicts over the rules. A column returns the rules that it *denies*, as bool; a value
that a template does not state is always denied. One that raises is for the caller to take as denying everyone.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from pegboard.core.context import RuntimeContext
from pegboard.core.policy import ANY, AccessRule, Reason

__all__ = ["COLUMNS", "Build", "Column"]

Column: TypeAlias = Callable[[RuntimeContext], NDArray[np.bool_]]
Build: TypeAlias = Callable[[Sequence[AccessRule]], Column]

_Value = TypeVar("_Value", bound=Hashable)


def _fixed(denies: Callable[[AccessRule], bool]) -> Build:
    """Build a column that asks the rule alone."""

    def build(rules: Sequence[AccessRule]) -> Column:
        denied = np.array([denies(rule) for rule in rules], dtype=np.bool_)
        return lambda _: denied

    return build


def _held(
    required: Callable[[AccessRule], frozenset[str] | None], held: Callable[[RuntimeContext], AbstractSet[str]]
) -> Build:
    """Build a column whose rules require a set of names, all of which must be held."""

    def build(rules: Sequence[AccessRule]) -> Column:
        sets, number = _distinct(_a_frozenset(required(rule)) for rule in rules)
        names, flat = _distinct(name for each in sets for name in sorted(each or ()))
        place = {name: position for position, name in enumerate(names)}
        sizes = np.array([len(each or ()) for each in sets], dtype=np.intp)
        some = np.flatnonzero(sizes)
        starts = (np.cumsum(sizes) - sizes)[some]
        unstated = np.array([each is None for each in sets], dtype=np.bool_)

        def column(context: RuntimeContext) -> NDArray[np.bool_]:
            missing = np.ones(len(names), dtype=np.bool_)
            missing[[place[name] for name in _a_set(held(context)) if name in place]] = False
            denied = unstated.copy()
            # reduceat takes no empty groups; a set that requires nothing stays as it is.
            if some.size:
                denied[some] = np.logical_or.reduceat(missing.take(flat), starts)
            return denied.take(number)

        return column

    return build


def _listed(
    listed: Callable[[AccessRule], frozenset[str] | None], value: Callable[[RuntimeContext], str | None]
) -> Build:
    """Build a column whose rules list the values they admit; `*` written out admits every one that is known."""

    def build(rules: Sequence[AccessRule]) -> Column:
        lists, number = _distinct(_a_frozenset(listed(rule)) for rule in rules)
        admitting: dict[str, list[int]] = {}
        for position, each in enumerate(lists):
            for name in each or ():
                admitting.setdefault(name, []).append(position)
        places = {name: np.array(found, dtype=np.intp) for name, found in admitting.items()}
        nowhere = np.empty(0, dtype=np.intp)

        def column(context: RuntimeContext) -> NDArray[np.bool_]:
            denied = np.ones(len(lists), dtype=np.bool_)
            if said := value(context):
                denied[places.get(ANY, nowhere)] = False
                denied[places.get(said, nowhere)] = False
            return denied.take(number)

        return column

    return build


def _server(rules: Sequence[AccessRule]) -> Column:
    servers, number = _distinct(rule.server for rule in rules)
    place = {name: position for position, name in enumerate(servers)}

    def column(context: RuntimeContext) -> NDArray[np.bool_]:
        denied = np.ones(len(servers), dtype=np.bool_)
        denied[[place[name] for name in _a_set(context.servers) if name in place]] = False
        return denied.take(number)

    return column


def _clearance(rules: Sequence[AccessRule]) -> Column:
    # Levels are compared as Python integers and only their places as machine ones, so no level is too large.
    stated = [level if isinstance(level := rule.template.minimum_clearance, int) else None for rule in rules]
    levels = sorted({level for level in stated if level is not None})
    number = np.array([len(levels) if each is None else bisect_left(levels, each) for each in stated], dtype=np.intp)

    def column(context: RuntimeContext) -> NDArray[np.bool_]:
        reached = 0 if context.clearance is None else bisect_right(levels, context.clearance)
        return number >= reached

    return column


# One row for each row of `CHECKS`; a table of an unknown check cannot be built.
COLUMNS: dict[Reason, Build] = {
    Reason.DISABLED: _fixed(lambda rule: rule.enabled is not True),
    Reason.UNLOCKED: _fixed(lambda rule: rule.locked is not True),
    Reason.SERVER: _server,
    Reason.TENANT: _listed(lambda rule: rule.template.tenants, lambda context: context.tenant),
    Reason.ENVIRONMENT: _listed(lambda rule: rule.template.environments, lambda context: context.environment),
    Reason.STAGE: _listed(lambda rule: rule.template.allowed_stages, lambda context: context.stage),
    Reason.SCOPE: _held(lambda rule: rule.template.required_scopes, lambda context: context.scopes),
    Reason.ROLE: _held(lambda rule: rule.template.required_roles, lambda context: context.roles),
    Reason.FLAG: _held(lambda rule: rule.template.required_flags, lambda context: context.flags),
    Reason.CLEARANCE: _clearance,
}


def _distinct(values: Iterable[_Value]) -> tuple[list[_Value], NDArray[np.intp]]:
    """Return the distinct values in order of appearance, and for each value its place among them."""
    places: dict[_Value, int] = {}
    number = [places.setdefault(value, len(places)) for value in values]
    return list(places), np.array(number, dtype=np.intp)


def _a_frozenset(value: frozenset[str] | None) -> frozenset[str] | None:
    """Take whatever else a template may hold for unstated, which denies."""
    return value if isinstance(value, frozenset) else None


def _a_set(value: AbstractSet[str]) -> Collection[str]:
    if not isinstance(value, AbstractSet):
        raise TypeError("a text or a list is no set of rights")
    return value
