"""Law 6: no server can give anyone a tool or a changed tool; only a line of the lock grants.

Here at the level of lock, snapshot and policy: whatever servers declare, under one lock nobody gains anything.
"""

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.catalog import CatalogEntry, declare
from pegboard.core.context import RuntimeContext
from pegboard.core.revocations import NO_REVOCATIONS
from pegboard.core.snapshot import Snapshot
from pegboard.policy.table import RuleTable
from tests.strategies import STRONG, Deployment, callers, cases, declarations, deployments, lock_line, proposals

# What a server decides about its own tool.
DECLARED = ("title", "description", "input_schema", "output_schema", "annotations")


def granted(snapshot: Snapshot, deployment: Deployment, caller: RuntimeContext) -> set[tuple[str, str]]:
    """Return what is eligible, as (tool id, content hash)."""
    found = RuleTable.of(snapshot, deployment.policy).eligible(caller, NO_REVOCATIONS)
    chosen = [snapshot.entries[row] for row in found.rows]
    return {(entry.tool_id, entry.schema_hash) for entry in chosen}


@cases(50, 3_000)
@given(deployments(), st.lists(declarations, max_size=6, unique_by=lambda parts: parts["tool_id"]))
def test_whatever_servers_list_nothing_comes_in_that_the_lock_does_not_name(deployment: Deployment, listed):
    """Old tools gone, new ones come, others changed, proposals for all of them: the lock alone decides."""
    lines = {(line.tool, line.hash) for line in deployment.policy.lock}
    snapshot = Snapshot.of(2, [declare(**parts) for parts in listed])
    assert granted(snapshot, deployment, STRONG) <= lines


@cases(50, 3_000)
@given(deployments(), callers, declarations, st.data())
def test_a_changed_declaration_is_eligible_for_nobody(deployment: Deployment, caller, parts, data: st.DataObject):
    before = granted(deployment.snapshot, deployment, caller)
    changed = [_redeclared(entry, parts, data) for entry in deployment.snapshot.entries]
    after = granted(Snapshot.of(2, changed), deployment, caller)
    assert after <= before
    unchanged = {entry.tool_id for entry in changed if entry in deployment.snapshot.entries}
    assert {tool_id for tool_id, _ in after} <= unchanged


def _redeclared(entry: CatalogEntry, parts: dict[str, Any], data: st.DataObject) -> CatalogEntry:
    """Return the entry with some of what its server declares taken from *parts*."""
    own = {
        "title": entry.title,
        "description": entry.description,
        "input_schema": None if entry.undeclared_schema else entry.input_schema,
        "output_schema": entry.output_schema,
        "annotations": entry.annotations,
    }
    for name in data.draw(st.sets(st.sampled_from(DECLARED))):
        own[name] = parts[name]
    return declare(
        tool_id=entry.tool_id,
        namespace=entry.namespace,
        source_server=entry.source_server,
        name=entry.name,
        enabled=entry.enabled,
        pinned=entry.pinned,
        **own,
    )


@given(deployments(), callers, proposals)
def test_a_proposal_grants_nothing(deployment: Deployment, caller: RuntimeContext, proposal):
    entries = [replace(entry, proposal=proposal) for entry in deployment.snapshot.entries]
    after = granted(Snapshot.of(2, entries), deployment, caller)
    assert after == granted(deployment.snapshot, deployment, caller)


@given(deployments(), callers, st.data())
def test_a_lock_line_grants_its_own_tool_and_no_other(deployment: Deployment, caller: RuntimeContext, data):
    before = granted(deployment.snapshot, deployment, caller)
    entry = data.draw(st.sampled_from(deployment.snapshot.entries))
    lock = deployment.policy.lock.granting([lock_line(entry, data.draw(st.sampled_from(["crm-read", "open"])))])
    after = granted(deployment.snapshot, replace(deployment, policy=replace(deployment.policy, lock=lock)), caller)
    assert {tool_id for tool_id, _ in after ^ before} <= {entry.tool_id}
