"""The list of one caller: what `tools/list` says, a function of its authorization and of nothing else.

A list must not change with a conversation. So stage and flags, which do, are left out of it: a tool is listed where
some stage and some flags would make it eligible, and whether it may be found or called now, search and gate ask at the
time. A template that admits no stage, or does not say which, still lists for nobody. Where the production path still
decides for a caller (`engine/rollout.py`), the eligible tools of that namespace are listed as before.

Lists are byte-stable: the same authorization over the same catalog gives the same bytes, in the order of tool ids.

Source: MCP 2026-07-28, tools (`tools/list` varies by authorization alone); DESIGN section 12.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from pegboard.core.catalog import CatalogEntry, Risk
from pegboard.core.context import RuntimeContext
from pegboard.core.names import Json, compact_json, digest_bytes
from pegboard.core.policy import ANY, AccessTemplate, Policy, decide_tool
from pegboard.engine.rendering import ServedTool, served_tool
from pegboard.engine.selection import mcp_tool
from pegboard.engine.view import Seen, View
from pegboard.gateway.headers import without_headers
from pegboard.gateway.meta_tools import meta_tools
from pegboard.policy.table import Eligibility, RuleTable
from pegboard.retrieval.eligible import Eligible
from pegboard.service.published import Catalog
from pegboard.service.rollout import Rollouts

__all__ = ["Listed", "Lister", "ListMode", "ListSettings", "at_any_stage", "definition"]

# Callers with the same rights share a list; those beyond so many kinds of callers pay for making theirs again.
_KEPT = 64
# Any stage will do where every template that admits one admits all; an empty one would be a missing one.
_SOME_STAGE = "listed"


class ListMode(StrEnum):
    """What a caller's list holds."""

    SEARCH = "search"
    """The tools that are pinned `always`, and the search, the description and the call."""
    ALL = "all"
    """Every eligible tool."""
    SHADOW = "shadow"
    """Every eligible tool, as production has it, while selections are only measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListSettings:
    """What the configuration says of lists."""

    mode: ListMode = ListMode.SEARCH
    all_at_most: int = 0
    """A caller with no more tools than this has all of them listed, whatever the mode."""
    ttl_ms: int = 60_000
    """How long a client may keep a list. Whose list changes is told so; this is for those who do not listen."""
    page: int = 500
    """How many tools one page holds. Many clients read one page only, so it is no smaller than it must be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """The list of one kind of callers."""

    tools: tuple[Mapping[str, Json], ...]
    ids: Mapping[str, str] = field(repr=False)
    """Alias -> tool id, of the catalog's tools in it."""
    whole: bool
    """Whether every eligible tool is in it, so that none needs a search first."""
    digest: str
    """Of the bytes of `tools`."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Basis:
    """One published view, and the table that decides who is listed what of it."""

    view: View
    table: RuleTable
    lists: "OrderedDict[tuple[Eligibility, frozenset[str]], Listed]" = field(default_factory=OrderedDict)


class Lister:
    """Makes callers' lists over what is published."""

    def __init__(self, catalog: Catalog, settings: ListSettings, rollouts: Rollouts | None = None) -> None:
        """Without *rollouts* everything is live."""
        self.settings = settings
        self._rollouts = rollouts
        self._catalog = catalog
        self._basis: _Basis | None = None

    async def listed(self, context: RuntimeContext) -> Listed:
        """Return the list of a caller, as of now.

        Raises:
            LockError: The lock cannot be read.
            StoreError: The store cannot be read.
        """
        published, revocations = await self._catalog.current(), await self._catalog.revocations()
        basis = self._basis
        if basis is None or basis.view is not published.view:
            view = published.view
            self._basis = basis = _Basis(view=view, table=RuleTable.of(view.snapshot, at_any_stage(view.policy)))
        rights = replace(context, stage=_SOME_STAGE, flags=frozenset(), minimum_confidence=None)
        eligibility = basis.table.eligible(rights, revocations)
        seen = Seen(eligibility=eligibility, eligible=Eligible.of_mask(eligibility.mask), digest="")
        production = await self._production(context, basis.view, seen)
        found = basis.lists.get((eligibility, production))
        if found is None:
            alias_of = self._catalog.deployment.selection.alias_of
            found = _listed(basis.view, seen, self.settings, production, alias_of)
            basis.lists[eligibility, production] = found
            while len(basis.lists) > _KEPT:
                basis.lists.popitem(last=False)
        return found

    async def state(self) -> object:
        """Return a value that is equal only while nobody's list can have changed.

        Raises:
            LockError: The lock cannot be read.
            StoreError: The store cannot be read.
        """
        published, revocations = await self._catalog.current(), await self._catalog.revocations()
        rollout = None if self._rollouts is None else (await self._rollouts.current()).number
        return published.view, revocations.targets, rollout

    async def _production(self, context: RuntimeContext, view: View, seen: Seen) -> frozenset[str]:
        """Return those of the caller's namespaces that the production path still decides; its key is who asks."""
        sides = None if self._rollouts is None else await self._rollouts.sides(context)
        if sides is None:
            return frozenset()
        return frozenset(path for path in view.namespaces(seen) if not sides.serves(path))

    async def definition(self, tool_id: str, context: RuntimeContext) -> Mapping[str, Json] | None:
        """Return the complete definition of a tool that is eligible for this caller now; None where it is not.

        Raises:
            LockError: The lock cannot be read.
            StoreError: The store cannot be read.
        """
        published, revocations = await self._catalog.current(), await self._catalog.revocations()
        view, entry = published.view, published.view.snapshot.get(tool_id)
        if entry is None or not decide_tool(entry, view.policy, context, revocations).allowed:
            return None
        siblings = view.eligible_siblings(entry, view.see(context, revocations))
        return definition(served_tool(entry, siblings), entry, self._catalog.deployment.selection.alias_of(tool_id))


def at_any_stage(policy: Policy) -> Policy:
    """Return the policy by which lists are made: what it says of stages and flags is met where it can be met."""
    return replace(policy, templates={name: _at_any_stage(one) for name, one in policy.templates.items()})


def _at_any_stage(template: AccessTemplate) -> AccessTemplate:
    return replace(
        template,
        allowed_stages=frozenset({ANY}) if template.allowed_stages else template.allowed_stages,
        required_flags=None if template.required_flags is None else frozenset(),
    )


def definition(served: ServedTool, entry: CatalogEntry, name: str) -> dict[str, Json]:
    """Return a tool as it is listed and described, under its name in lists.

    An output schema of which something had to be left out could refuse what its server rightly answers, so it is left
    out whole. Hints are those of the lock, where it says them, and not the server's.
    """
    found = mcp_tool(replace(served, input_schema=without_headers(served.input_schema)), name)
    if served.output_schema is not None and served.output_schema == entry.output_schema:
        found["outputSchema"] = served.output_schema
    return found


def _listed(
    view: View,
    seen: Seen,
    settings: ListSettings,
    production: frozenset[str],
    alias_of: Callable[[str], str],
) -> Listed:
    entries, eligibility = view.snapshot.entries, seen.eligibility
    searched = set(view.namespaces(seen)) - production
    whole = settings.mode is not ListMode.SEARCH or eligibility.count <= settings.all_at_most
    # Where production decides everything there is nothing to search.
    whole = whole or bool(production and not searched)
    pinned = set(_pinned(view, eligibility))
    rows = [int(row) for row in eligibility.rows if whole or row in pinned or entries[row].namespace in production]
    tools: list[Mapping[str, Json]] = []
    if not whole:
        tools += meta_tools(searched)
    for row in rows:
        served = served_tool(entries[row], view.eligible_siblings(entries[row], seen))
        shown = definition(served, entries[row], alias_of(served.tool_id))
        tools.append({**shown, "annotations": _hints(view.risk(row))})
    return Listed(
        tools=tuple(tools),
        ids={alias_of(entries[row].tool_id): entries[row].tool_id for row in rows},
        whole=whole,
        digest=digest_bytes(compact_json(tools).encode()),
    )


def _pinned(view: View, eligibility: Eligibility) -> list[int]:
    return [row for row in view.pinned_rows(None) if eligibility.mask[row]]


def _hints(risk: Risk) -> dict[str, Json]:
    """Say what the operator's lock says; a server's own hints would tell a client what it need not ask about."""
    return {"readOnlyHint": risk is Risk.READ, "destructiveHint": risk is Risk.DESTRUCTIVE}
