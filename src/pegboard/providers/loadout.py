"""A loadout: the tools that one conversation has, in the order in which they came, and what may no longer be called.

The first request's tools are frozen. What joins is appended; what goes keeps its place in what was sent and is only
marked, so that no byte of the history changes. No wire name ever stands for a second tool.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pegboard.core.names import Json
from pegboard.engine.selection import Candidate, Selection
from pegboard.providers.capabilities import APIS, Api, Delivery
from pegboard.providers.wired import Note, Wired, wire

__all__ = ["Joined", "Loadout"]

_UNDECLARED = "it was not among the tools that were declared when the conversation began"
_BY_SEARCH = "more tools can join this conversation by a search alone"
# Deliveries in which tools join without having been searched for by the model.
_UNASKED = frozenset({Delivery.SEARCH, Delivery.INLINE, Delivery.LIST})


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """What one selection changed."""

    new: tuple[Wired, ...] = ()
    again: tuple[Wired, ...] = ()
    """What the model knows already, went, and may be called again."""
    gone: tuple[Wired, ...] = ()
    report: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Loadout:
    """What is declared, what was added, and to which selection a call of each tool is bound."""

    api: Api
    delivery: Delivery
    prefix: str = ""
    own: frozenset[str] = frozenset()
    """The names of the application's own tools, and of our functions among them."""
    entries: int = 0
    """How many entries of the request's list are not tools of ours."""
    declared: tuple[Wired, ...] = ()
    deferred: tuple[Wired, ...] = ()
    """Declared as well, and not to be called before a result refers to them."""
    added: tuple[Wired, ...] = ()
    gone: frozenset[str] = frozenset()
    bound: Mapping[str, str] = field(default_factory=dict)
    """Tool id -> selection id."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Wire name -> tool id, of every tool there ever was."""

    @property
    def loaded(self) -> tuple[Wired, ...]:
        """Return what may be called now, in the order in which it came; of a changed tool the last content."""
        last = {tool.tool_id: tool for tool in (*self.declared, *self.added)}
        return tuple(
            tool
            for tool in (*self.declared, *self.added)
            if tool is last[tool.tool_id] and tool.tool_id not in self.gone
        )

    def find(self, name: str) -> Wired | None:
        """Return the tool that may be called by this name."""
        return next((tool for tool in self.loaded if tool.name == name), None)

    def declare(self, selection: Selection) -> tuple["Loadout", tuple[Note, ...]]:
        """Put tools into the first request."""
        joined = self._wired(selection.tools)
        return replace(self, declared=joined.new)._binding(joined.new, selection), joined.report

    def defer(self, selection: Selection) -> tuple["Loadout", tuple[Note, ...]]:
        """Put into the first request what may be referred to later, as far as it is not declared already."""
        ids = {tool.tool_id for tool in self.declared}
        joined = self._wired([one for one in selection.tools if one.tool.tool_id not in ids])
        return replace(self, deferred=joined.new)._binding(joined.new, selection), joined.report

    def join(self, selection: Selection, *, searched: bool) -> tuple["Loadout", Joined]:
        """Take in what a selection adds and withdraws. What is loaded with the same content is only bound anew."""
        left, gone = self.drop(selection.withdraw)
        known = {tool.tool_id: tool for tool in (*left.deferred, *left.declared, *left.added)}
        current = {tool.tool_id for tool in left.loaded}
        wanted = [one for one in selection.tools if one.tool.tool_id not in current or _differs(one, known)]
        if not searched and self.delivery not in _UNASKED:
            return left._binding(left.loaded, selection), replace(_held(wanted, _BY_SEARCH), gone=gone)
        again = tuple(known[one.tool.tool_id] for one in wanted if not _differs(one, known))
        joined = left._joining([one for one in wanted if _differs(one, known)])
        ids = {tool.tool_id for tool in (*joined.new, *again)}
        # A content that another one takes the place of goes before that comes: two cannot have one name.
        replaced = tuple(tool for tool in left.loaded if tool.tool_id in ids)
        # INVARIANT: what was declared as deferred is loaded from when it is in `added`.
        referred = tuple(tool for tool in again if tool in left.deferred and tool not in left.added)
        after = replace(left, added=(*left.added, *joined.new, *referred), gone=left.gone - ids)
        return (
            after._binding(after.loaded, selection),
            replace(joined, again=again, gone=(*gone, *replaced)),
        )

    def drop(self, tool_ids: Iterable[str]) -> tuple["Loadout", tuple[Wired, ...]]:
        """Mark tools that may be called no longer; returns those of them that were loaded."""
        ids = frozenset(tool_ids)
        gone = tuple(tool for tool in self.loaded if tool.tool_id in ids)
        return replace(self, gone=self.gone | {tool.tool_id for tool in gone}), gone

    def _joining(self, candidates: Sequence[Candidate]) -> Joined:
        if self.delivery is Delivery.REFERENCE:
            return _held(candidates, _UNDECLARED)
        return self._wired(candidates, Api.MCP if self.delivery is Delivery.CALL else self.api)

    def _wired(self, candidates: Sequence[Candidate], api: Api | None = None) -> Joined:
        api = api or self.api
        before = self.loaded if self.delivery is Delivery.LIST else (*self.declared, *self.added)
        most = APIS[api].tools_at_most
        wiring = wire(
            candidates,
            api,
            prefix=self.prefix,
            own=self.own,
            before=(*before, *self.deferred),
            known=self.names,
            room=None if most is None else most - self.entries - len(before),
        )
        return Joined(new=wiring.tools, report=wiring.report)

    def _binding(self, tools: Iterable[Wired], selection: Selection) -> "Loadout":
        # Another content of it that was held back is not what the model's arguments are made for.
        selected = {(candidate.tool.tool_id, candidate.tool.schema_hash) for candidate in selection.tools}
        same = (tool.tool_id for tool in tools if (tool.tool_id, tool.tool.schema_hash) in selected)
        bound = dict.fromkeys(same, selection.selection_id)
        names = {tool.name: tool.tool_id for tool in tools}
        return replace(self, bound={**self.bound, **bound}, names={**self.names, **names})

    def to_json(self) -> dict[str, Json]:
        """Return all of it but what the application says again."""
        return {
            "delivery": str(self.delivery),
            "declared": [tool.to_json() for tool in self.declared],
            "deferred": [tool.to_json() for tool in self.deferred],
            "added": [tool.to_json() for tool in self.added],
            "gone": sorted(self.gone),
            "bound": dict(self.bound),
            "names": dict(self.names),
        }

    def restored(self, value: Mapping[str, Any]) -> "Loadout":
        """Return this loadout as it stood when `to_json` was taken."""
        return replace(
            self,
            delivery=Delivery(value["delivery"]),
            declared=tuple(map(Wired.from_json, value["declared"])),
            deferred=tuple(map(Wired.from_json, value["deferred"])),
            added=tuple(map(Wired.from_json, value["added"])),
            gone=frozenset(value["gone"]),
            bound=dict(value["bound"]),
            names=dict(value["names"]),
        )


def _held(candidates: Iterable[Candidate], reason: str) -> Joined:
    return Joined(report=tuple(Note(tool_id=one.tool.tool_id, held=reason) for one in candidates))


def _differs(candidate: Candidate, known: Mapping[str, Wired]) -> bool:
    """Say whether the model has never had this content of the tool."""
    tool = known.get(candidate.tool.tool_id)
    return tool is None or tool.tool.schema_hash != candidate.tool.schema_hash
