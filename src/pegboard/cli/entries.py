"""How an operator is shown a tool: every field of DESIGN 3, and what the lock grants it."""

from pegboard.core.catalog import ALWAYS, CatalogEntry
from pegboard.core.lock import LockLine
from pegboard.core.names import Json
from pegboard.core.policy import Policy, access_rule, pinned_stages

__all__ = ["granted", "shown_entry"]


def granted(entry: CatalogEntry, policy: Policy) -> LockLine | None:
    """Return the lock line that grants this content of the tool, None where none does."""
    line = policy.lock.lines.get(entry.tool_id)
    return line if line is not None and access_rule(entry, policy).locked else None


def shown_entry(entry: CatalogEntry, policy: Policy, *, schemas: bool) -> dict[str, Json]:
    """Return an entry for `--json`; access, risk, reach and flow are the lock's, null where it grants nothing."""
    line = granted(entry, policy)
    found: dict[str, Json] = {
        "tool_id": entry.tool_id,
        "version": entry.version,
        "namespace": entry.namespace,
        "source_server": entry.source_server,
        "name": entry.name,
        "title": entry.title,
        "summary": entry.summary,
        "description": entry.description,
        "examples": list(entry.examples),
        "keywords": list(entry.keywords),
        "schema_hash": entry.schema_hash,
        "enabled": access_rule(entry, policy).enabled,
        "locked": line is not None,
        "access": None if line is None else line.access,
        "risk": None if line is None else str(line.risk),
        "reach": None if line is None else str(line.reach),
        "flow": None if line is None else sorted(map(str, line.flow)),
        "pinned": _pinned(pinned_stages(entry, policy)),
        "mentions": list(entry.mentions),
        "annotations": entry.annotations,
    }
    if schemas:
        found["input_schema"] = None if entry.undeclared_schema else entry.input_schema
        found["output_schema"] = entry.output_schema
    return found


def _pinned(stages: tuple[str, ...]) -> Json:
    if not stages:
        return "never"
    return "always" if ALWAYS in stages else list(stages)
