"""`pegboard refresh`: fetch what the servers list, publish it, and say what came of each."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import click

from pegboard.cli.command import Command, as_json, config_path
from pegboard.cli.errors import DONE, OUTSIDE
from pegboard.cli.naming import nearest
from pegboard.cli.opening import opened, operator_name, run
from pegboard.cli.printing import Cell, counted, note, print_json, progress, say, table
from pegboard.core.errors import ConfigError
from pegboard.engine.finding_rules import Severity

if TYPE_CHECKING:
    from pegboard.service.refresher import RefreshReport, ServerReport
    from pegboard.wiring import System

__all__ = ["fetch", "refresh", "show_servers"]


@click.command(cls=Command)
@click.argument("servers", metavar="[SERVER]...", nargs=-1)
@click.option("--dry-run", is_flag=True, help="Say what would change; publish nothing.")
def refresh(servers: tuple[str, ...], dry_run: bool) -> int:
    """Fetch what the servers list and publish it.

    Without SERVER: all that are configured, at once, as one version. A server that fails hides no other. In each
    line +added ~changed -removed =same !held; nothing new is eligible for anyone until it is locked. With --dry-run
    every step is shown with what it counted.
    """
    with opened() as (_, system):
        _check(servers, system.servers.names())
        report = fetch(system, servers or None, dry_run=dry_run)
    if as_json():
        print_json(report.to_json())
    else:
        show_servers(report.servers)
        if dry_run:
            _show_steps(report.servers)
        _show_version(report, dry_run)
    return OUTSIDE if report.failed else DONE


def fetch(system: "System", servers: Sequence[str] | None = None, *, dry_run: bool = False) -> "RefreshReport":
    """Refresh with progress shown on stderr."""
    names = system.servers.names() if servers is None else tuple(servers)
    with progress("listing", len(names)) as steps:
        return run(
            lambda: system.refresher.refresh(
                names, dry_run=dry_run, by=operator_name(), progress=lambda report: steps.done(report.server)
            )
        )


def show_servers(servers: Iterable["ServerReport"]) -> None:
    """Print a line for each server, and each refusal, revocation, followed change and alarm with its reason."""
    servers = tuple(servers)
    if servers:
        table(("SERVER", "CHANGES", "SECONDS", ""), map(_row, servers), right=("SECONDS",))
    for report in servers:
        for word, style, told in _TOLD:
            for what, reason in told(report):
                say((f"{word:8} {report.server}", style), what, (reason, "dim"))


# One row a thing that happened to some tools: the word for it, its style, and (tool, reason) pairs.
_TOLD: tuple[tuple[str, str, Callable[["ServerReport"], Iterable[tuple[str, str]]]], ...] = (
    ("alarm", "bold red", lambda report: [(report.alarm, "")] if report.alarm else []),
    ("refused", "yellow", lambda report: report.refused),
    ("revoked", "red", lambda report: report.revoked),
    (
        "followed",
        "green",
        lambda report: ((tool, "a change without findings, locked as `follow`") for tool in report.followed),
    ),
    ("again", "green", lambda report: ((tool, "as it is locked, so no longer revoked") for tool in report.lifted)),
    (
        "found",
        "yellow",
        lambda report: (
            (one.tool, f"{one.severity}: {one.rule} at {one.where}")
            for one in report.findings
            if one.severity is not Severity.LOW
        ),
    ),
)


def _show_steps(servers: Iterable["ServerReport"]) -> None:
    for report in servers:
        for step in report.steps:
            say((report.server, "bold"), str(step))
        for tool, reasons in report.holds:
            say((f"held     {report.server}", "yellow"), tool, ("; ".join(reasons), "dim"))


def _row(report: "ServerReport") -> tuple[Cell, ...]:
    seconds = f"{report.seconds:.1f}"
    if report.error is not None:
        return (report.server, "bold"), ("failed", "bold red"), seconds, (report.error, "red")
    changes = f"+{len(report.added)} ~{len(report.changed)} -{len(report.removed)} ={report.same} !{report.held}"
    return (report.server, "bold"), changes, seconds, ""


def _show_version(report: "RefreshReport", dry_run: bool) -> None:
    held = sum(one.held for one in report.servers)
    version = report.catalog_version or "none"
    if dry_run:
        note(("nothing was published;", "dim"), f"the version would be {version}")
    else:
        note(f"version {version}", ("published" if report.published else "stands; nothing changed", "dim"))
    if not report.servers:
        note("no server is configured: add [servers.NAME] or mcp_config, or `pegboard catalog import` files")
    if held:
        note(f"{counted(held, 'tool')} waiting (!): `pegboard classify`, `pegboard review`")


def _check(servers: Sequence[str], known: Sequence[str]) -> None:
    for server in servers:
        if server not in known:
            near = nearest(server, known) or known
            raise ConfigError(
                problem=f"there is no server {server!r}",
                where=f"[servers] in {config_path()}",
                fix=f"the servers are: {', '.join(near)}" if near else "configure one, or name a file in mcp_config",
            )
