"""Resolve the tool of a proposed call inside the caller's own selection and lists, by id.

Never by its bare name: two tenants' `get_inventory` are two. A name that could mean two means none.

Source: DESIGN section 8, step 1.
"""

from pegboard.core.catalog import CatalogEntry
from pegboard.core.policy import decide_tool
from pegboard.core.snapshot import Snapshot
from pegboard.engine.facts import GateFacts
from pegboard.engine.verdict import Cause

__all__ = ["resolved"]


def resolved(tool: str, facts: GateFacts) -> tuple[str, str | None] | Cause:
    """Say which of the tools selected and listed for this caller is meant, and by which content it was selected."""
    selected = facts.selected or {}
    if tool in selected:
        return selected[tool]
    hashes = dict(selected.values())
    if tool in hashes or tool in facts.listed:
        return tool, hashes.get(tool)
    named = {
        entry.tool_id
        for entry in _named(tool, facts.snapshot)
        if (entry.tool_id in hashes or entry.tool_id in facts.listed) and _eligible(entry, facts)
    }
    if len(named) == 1:
        tool_id = named.pop()
        return tool_id, hashes.get(tool_id)
    if named:
        return Cause.AMBIGUOUS
    return Cause.NO_SELECTION if facts.selected is None else Cause.NOT_SELECTED


def _named(tool: str, snapshot: Snapshot) -> list[CatalogEntry]:
    """Return the entries that `namespace/name` may mean; the name as the server has it, or its last part."""
    namespace, slash, name = tool.partition("/")
    within = [entry for entry in snapshot.entries if entry.namespace == namespace] if slash else []
    return [entry for entry in within if name in {entry.name, entry.name.rpartition(".")[2]}]


def _eligible(entry: CatalogEntry, facts: GateFacts) -> bool:
    return decide_tool(entry, facts.policy, facts.context, facts.revocations).allowed
