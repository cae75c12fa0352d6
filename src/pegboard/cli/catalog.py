"""`pegboard catalog`: what is in the catalog, its versions, and files in and out."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from pegboard.adapters.files import (
    Problem,
    read_catalog_file,
    read_listings_folder,
    write_catalog_file,
)
from pegboard.cli.command import Subcommands, as_json
from pegboard.cli.entries import granted, shown_entry
from pegboard.cli.errors import DONE, NO
from pegboard.cli.linting import curate, lint
from pegboard.cli.naming import meant
from pegboard.cli.opening import opened, operator_name, run
from pegboard.cli.printing import counted, facts, note, print_json, print_text, say, table
from pegboard.core.catalog import CatalogEntry
from pegboard.core.errors import ConfigError
from pegboard.core.names import Json
from pegboard.core.policy import Policy
from pegboard.core.snapshot import Snapshot, diff
from pegboard.core.text import one_line
from pegboard.core.times import stamp

if TYPE_CHECKING:
    from pegboard.service.importer import ImportReport
    from pegboard.service.ports import Head
    from pegboard.service.published import Published
    from pegboard.wiring import System

__all__ = ["catalog", "imported"]

_SUMMARY = 72


@click.group(cls=Subcommands)
def catalog() -> None:
    """The catalog: what is in it, its versions, files in and out."""


catalog.add_command(lint)
catalog.add_command(curate)


@catalog.command("list")
def list_tools() -> int:
    """List every tool with what the lock grants it."""
    with opened() as (_, system):
        published = run(system.catalog.current)
    snapshot, policy = published.view.snapshot, published.view.policy
    if as_json():
        tools = [shown_entry(one, policy, schemas=False) for one in snapshot.entries]
        print_json({"catalog_version": snapshot.version, "total": len(snapshot.entries), "tools": tools})
        return DONE
    if snapshot.entries:
        table(("TOOL", "RISK", "ACCESS", "WHAT IT DOES"), (_row(one, policy) for one in snapshot.entries))
    note((f"{counted(len(snapshot.entries), 'tool')} in version {snapshot.version}", "dim"))
    if published.waiting:
        note(f"{counted(published.waiting, 'tool')} waiting: `pegboard review`")
    elif not snapshot.entries:
        note("nothing is in the catalog yet: `pegboard refresh`, or `pegboard catalog import`")
    return DONE


@catalog.command()
@click.argument("tool")
def show(tool: str) -> int:
    """Show TOOL whole, schemas included."""
    with opened() as (_, system):
        published = run(system.catalog.current)
    entry = meant(tool, published.view.snapshot.entries, "`pegboard catalog list` names them all")
    found = shown_entry(entry, published.view.policy, schemas=True)
    if as_json():
        print_json(found)
        return DONE
    schemas = {name: found.pop(name) for name in ("input_schema", "output_schema")}
    facts((name, _plain(value)) for name, value in found.items() if value not in (None, [], {}))
    for name, schema in schemas.items():
        if schema is not None:
            say((name, "dim"))
            print_text(json.dumps(schema, ensure_ascii=False, indent=2))
    return DONE


@catalog.command()
def versions() -> int:
    """List the published versions, oldest first."""
    with opened() as (_, system):
        found = run(system.catalog.snapshots.versions)
    if as_json():
        print_json(
            {
                "versions": [
                    {"version": one.version, "published_at": stamp(one.published_at), "by": one.by, "tools": one.tools}
                    for one in found
                ]
            }
        )
    elif found:
        rows = ((one.version, stamp(one.published_at), str(one.tools), one.by) for one in found)
        table(("VERSION", "PUBLISHED", "TOOLS", "BY"), rows, right=("TOOLS",))
    else:
        note("nothing was published yet: `pegboard refresh`, or `pegboard catalog import`")
    return DONE


@catalog.command("diff")
@click.argument("v1")
@click.argument("v2")
def compare(v1: str, v2: str) -> int:
    """Say what changed from version V1 to V2.

    A version's number suffices.
    """

    async def compared(system: "System") -> tuple[Snapshot, Snapshot]:
        one, two = await _version(system, v1), await _version(system, v2)
        return await system.catalog.snapshots.load(one.number), await system.catalog.snapshots.load(two.number)

    with opened() as (_, system):
        old, new = run(lambda: compared(system))
    change = diff(old, new)
    if as_json():
        print_json({"from": old.version, "to": new.version, **change.to_json()})
        return DONE
    for tool in change.added:
        say(("+", "green"), tool)
    for tool, fields in change.changed:
        say(("~", "yellow"), tool, (", ".join(fields), "dim"))
    for tool in change.removed:
        say(("-", "red"), tool)
    note(
        (f"{old.version} to {new.version}:", "dim"),
        f"+{len(change.added)} ~{len(change.changed)} -{len(change.removed)}",
    )
    return DONE


@catalog.command()
@click.argument("version")
def rollback(version: str) -> int:
    """Serve the tools of VERSION again.

    They are published as a new version, under the present lock and the present halts: nothing becomes eligible that
    the lock does not grant now. The next refresh fetches what the servers list then.
    """
    with opened() as (_, system):
        report = run(lambda: _rolled_back(system, version))
    if as_json():
        print_json(report)
    else:
        say(f"{report['from']} again, as", (str(report["catalog_version"]), "bold"))
    return DONE


@catalog.command()
@click.argument("file", type=click.Path())
def export(file: str) -> int:
    """Write the catalog to FILE.

    As JSON Lines, one tool a line. What is granted stands in the lock: `pegboard lock export`.
    """
    with opened() as (_, system):
        snapshot = run(system.catalog.current).view.snapshot
    write_catalog_file(snapshot.entries, file)
    if as_json():
        print_json({"catalog_version": snapshot.version, "exported": len(snapshot.entries), "file": file})
    else:
        note(f"{counted(len(snapshot.entries), 'tool')} of version {snapshot.version} in {file}")
    return DONE


@catalog.command("import")
@click.argument("path", type=click.Path())
@click.option("--approve", metavar="TEMPLATE", help="Lock what is imported under this access template.")
def import_tools(path: str, approve: str | None) -> int:
    """Take in the tools of a file or folder.

    PATH is a catalog file of JSON Lines, or a folder of saved listings, one *.json a server.
    """
    with opened() as (_, system):
        report = imported(system, path, approve)
        waiting = 0 if as_json() else run(system.catalog.current).waiting
    if as_json():
        print_json(report.to_json())
    else:
        for name, reason in report.refused:
            say(("refused", "yellow"), name, (reason, "dim"))
        if report.removed:
            # What is imported is all that its servers have, so what they had besides is gone.
            say(("gone", "yellow"), ", ".join(report.removed))
        say(
            f"{counted(report.imported, 'tool')} imported, {report.locked:,} locked, {len(report.refused):,} refused;",
            f"version {report.catalog_version}",
        )
        if waiting:
            note(f"{counted(waiting, 'tool')} waiting: `pegboard classify`, `pegboard review`")
    # A file of which nothing could be taken in was not imported.
    return NO if report.refused and not report.imported else DONE


@catalog.command()
def verify() -> int:
    """Compute every stored digest anew."""
    with opened() as (_, system):
        found = run(system.catalog.snapshots.verify)
    if as_json():
        print_json({"versions": found.versions, "rows": found.rows, "bad": list(found.bad)})
    else:
        for line in found.bad:
            say(("bad", "red"), line)
        good = ("all good", "green") if not found.bad else (f"{len(found.bad)} bad", "red")
        say(f"{counted(found.versions, 'version')}, {counted(found.rows, 'row')}:", good)
    return NO if found.bad else DONE


@catalog.command()
@click.option(
    "--keep",
    metavar="N",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="The newest versions that stay.",
)
@click.option("--apply", is_flag=True, help="Remove what is shown.")
def prune(keep: int, apply: bool) -> int:
    """Say which old versions nothing needs, and remove them with --apply.

    What is served stays, what a selection may still call, what a trace refers to, and what the lock names.
    """
    with opened() as (_, system):
        found = run(lambda: system.pruner.prune(keep, apply=apply))
    if as_json():
        print_json(found.to_json())
        return DONE
    for version in found.versions:
        say(("removed" if apply else "would go", "yellow"), version)
    parts = counted(len(found.versions), "version"), counted(found.rows, "row"), f"{found.policies:,} kept policies"
    note(", ".join(parts), f"({found.size_bytes / 1e6:.1f} MB)", "removed" if apply else "that nothing needs")
    note(f"{counted(found.kept, 'version')} stay, {found.needed:,} of them for traces alone")
    if not apply and (found.versions or found.rows or found.policies):
        note("`pegboard catalog prune --apply` removes them")
    return DONE


def _row(entry: CatalogEntry, policy: Policy) -> tuple[str | tuple[str, str], ...]:
    line = granted(entry, policy)
    words = one_line(entry.summary or entry.description or entry.title or "", _SUMMARY)
    if line is None:
        return entry.tool_id, ("not locked", "yellow"), "", (words, "dim")
    return entry.tool_id, str(line.risk), line.access, (words, "dim")


def _plain(value: Json) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


async def _version(system: "System", name: str) -> "Head":
    """Find a version by its whole name or its number alone."""
    known = await system.catalog.snapshots.versions()
    found = [one for one in known if name in (one.version, str(one.number))]
    if not found:
        raise ConfigError(
            problem=f"there is no catalog version {name!r}", fix="`pegboard catalog versions` lists those there are"
        )
    return found[0]


async def _rolled_back(system: "System", name: str) -> dict[str, Json]:
    head = await _version(system, name)
    await system.catalog.rollback(head.number, by=f"{operator_name()}: rollback to {head.version}")
    published: Published = await system.catalog.current()
    return {"from": head.version, "catalog_version": published.view.snapshot.version, "waiting": published.waiting}


def imported(system: "System", path: str, approve: str | None) -> "ImportReport":
    """Take in a catalog file, or a folder of saved listings."""
    by = operator_name()
    if os.path.isdir(path):
        folder = read_listings_folder(path)
        listings: Mapping[str, Sequence[Json]] = {
            one.server: [tool.value for tool in one.tools] for one in folder.listings
        }
        unread = _unread(folder.problems)
        return run(lambda: system.importer.listings(listings, unread=unread, approve=approve, by=by))
    file = read_catalog_file(path)
    lines = [tool.value for tool in file.tools]
    unread = _unread(file.problems)
    return run(lambda: system.importer.lines(lines, server=file.server, unread=unread, approve=approve, by=by))


def _unread(problems: Iterable[Problem]) -> list[tuple[str, str]]:
    return [(one.where, one.reason) for one in problems]
