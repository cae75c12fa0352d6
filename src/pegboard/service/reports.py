"""What a refresh found, as it is told: one report a server, and one for the whole."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from pegboard.core.catalog import CatalogEntry
from pegboard.core.names import Json
from pegboard.core.snapshot import Snapshot
from pegboard.engine.findings import Finding
from pegboard.engine.refresh import Candidate, Step
from pegboard.retrieval.documents import document, document_digest
from pegboard.service.composing import Publication

__all__ = ["RefreshReport", "ServerReport", "Status", "report_of", "with_publication"]


class Status(StrEnum):
    """How one server's refresh went."""

    OK = "ok"
    UNCHANGED = "unchanged"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerReport:
    """What one server's refresh found. The counts compare its listing with its last one."""

    server: str
    status: Status
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    same: int = 0
    held: int = 0
    """Tools of this server that wait for a person, whether from this refresh or before."""
    holds: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Each tool that waits, with why."""
    refused: tuple[tuple[str, str], ...] = ()
    findings: tuple[Finding, ...] = ()
    followed: tuple[str, ...] = ()
    """Changed tools that were locked on the operator's standing word."""
    revoked: tuple[tuple[str, str], ...] = ()
    """Locked tools that nobody may have now, each with the reason."""
    lifted: tuple[str, ...] = ()
    """Tools that were revoked so before, and are not any more."""
    alarm: str | None = None
    steps: tuple[Step, ...] = ()
    error: str | None = None
    seconds: float = 0.0

    def to_json(self) -> dict[str, Json]:
        """Return one element of `servers` in the answer of `refresh`."""
        return {
            "server": self.server,
            "status": str(self.status),
            "added": list(self.added),
            "changed": list(self.changed),
            "removed": list(self.removed),
            "same": self.same,
            "held": self.held,
            "holds": [{"tool": tool, "reasons": list(reasons)} for tool, reasons in self.holds],
            "refused": [{"name": name, "reason": reason} for name, reason in self.refused],
            "findings": [found.to_json() for found in self.findings],
            "followed": list(self.followed),
            "revoked": [{"tool": tool, "reason": reason} for tool, reason in self.revoked],
            "lifted": list(self.lifted),
            "alarm": self.alarm,
            "steps": [step.to_json() for step in self.steps],
            "error": self.error,
            "seconds": round(self.seconds, 3),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshReport:
    """What a refresh found and whether it published a new version."""

    catalog_version: str | None
    published: bool
    servers: tuple[ServerReport, ...]

    @property
    def failed(self) -> bool:
        """Say whether any server failed; the others are published all the same."""
        return any(report.status is Status.FAILED for report in self.servers)

    def to_json(self) -> dict[str, Json]:
        """Return the answer of `refresh`."""
        return {
            "catalog_version": self.catalog_version,
            "published": self.published,
            "servers": [report.to_json() for report in self.servers],
        }


def report_of(candidate: Candidate, kept_out: Mapping[str, str] | None = None) -> ServerReport:
    """Tell what one server's listing came to; *kept_out* gives the reasons, by name, of tools that are others' too."""
    out = {entry.tool_id for entry in candidate.entries if entry.name in (kept_out or {})}
    added, changed = ([tool for tool in tools if tool not in out] for tools in (candidate.added, candidate.changed))
    holds = tuple((one.live.tool_id, one.reasons) for one in candidate.waiting if one.live.tool_id not in out)
    return ServerReport(
        server=candidate.server,
        status=Status.OK if added or changed or candidate.removed else Status.UNCHANGED,
        added=tuple(added),
        changed=tuple(changed),
        removed=candidate.removed,
        same=len(candidate.entries) - len(out) - len(added) - len(changed),
        held=len(holds),
        holds=holds,
        refused=(*candidate.refused, *(kept_out or {}).items()),
        findings=tuple(found for found in candidate.findings if found.tool not in out),
        followed=tuple(line.tool for line in candidate.followed),
        revoked=tuple(sorted(candidate.revoked.items())),
        lifted=candidate.lifted,
        alarm=candidate.alarm,
        steps=candidate.steps,
    )


def with_publication(report: ServerReport, candidate: Candidate, publication: Publication) -> ServerReport:
    """Complete a server's report with what composing the whole catalog told."""
    refused = publication.composition.refused
    told = report_of(candidate, {name: why for server, name, why in refused if server == candidate.server})
    return replace(told, steps=(*told.steps, _served(candidate.server, publication)), seconds=report.seconds)


def _served(server: str, publication: Publication) -> Step:
    """Count what of one server differs from the version served before, and the texts that are ranked anew."""
    before, after, change = publication.before, publication.composition.snapshot, publication.change
    new = [entry for tool in change.added if (entry := _of(server, after, tool))]
    changed = [entry for tool, _ in change.changed if (entry := _of(server, after, tool))]
    texts = sum(_text(entry) != _text(before.get(entry.tool_id)) for entry in (*new, *changed))
    removed = sum(_of(server, before, tool) is not None for tool in change.removed)
    counts = {"added": len(new), "changed": len(changed), "removed": removed, "texts": texts}
    return Step(name="served", counts=counts)


def _of(server: str, snapshot: Snapshot, tool: str) -> CatalogEntry | None:
    entry = snapshot.get(tool)
    return entry if entry is not None and entry.source_server == server else None


def _text(entry: CatalogEntry | None) -> str | None:
    return None if entry is None else document_digest(document(entry))
