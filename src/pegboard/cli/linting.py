"""`pegboard catalog lint` and `curate`: what makes tools hard to find or to trust, and texts of your own for them."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pegboard.cli.command import Command, as_json
from pegboard.cli.errors import DONE, NO
from pegboard.cli.naming import meant
from pegboard.cli.opening import opened, run
from pegboard.cli.printing import counted, note, print_json, say, table
from pegboard.core.errors import ConfigError

if TYPE_CHECKING:
    from pegboard.config.values import Config, ToolConfig
    from pegboard.core.catalog import CatalogEntry
    from pegboard.engine.lint import Problem

__all__ = ["curate", "lint"]

_HEAD = """\
# Local texts for tools: what is searched in place of their servers' words, or beside them.
# `pegboard catalog curate` writes this file whole, so comments of your own are safer in another one.
"""


@click.command(cls=Command)
def lint() -> int:
    """Say which tools are hard to tell apart or to trust.

    Weak descriptions, near-duplicates, colliding names, schemas that a model API refuses, undeclared ones, and
    findings. Ends with 1 where there are any.
    """
    from pegboard.engine.lint import lint as problems_of

    with opened() as (_, system):
        snapshot = run(system.catalog.current).view.snapshot
    problems = sorted((*problems_of(snapshot.entries), *_refused(snapshot.entries)), key=lambda one: one.tool)
    if as_json():
        found = [one.to_json() for one in problems]
        print_json({"catalog_version": snapshot.version, "total": len(snapshot.entries), "problems": found})
        return NO if problems else DONE
    if problems:
        rows = ((one.tool, (one.check, "yellow"), one.problem, (one.where or "", "dim")) for one in problems)
        table(("TOOL", "CHECK", "PROBLEM", "WHERE"), rows)
    tools = len({one.tool for one in problems})
    note(f"{counted(len(problems), 'problem')} in {tools:,} of {counted(len(snapshot.entries), 'tool')}")
    return NO if problems else DONE


@click.command(cls=Command)
@click.argument("tool")
@click.option("--summary", metavar="TEXT", help="What it does, in place of its server's description.")
@click.option("--keyword", "keywords", metavar="TEXT", multiple=True, help="A word that people use for it; repeat.")
@click.option("--example", "examples", metavar="TEXT", multiple=True, help="A request that it suits; repeat.")
def curate(tool: str, summary: str | None, keywords: tuple[str, ...], examples: tuple[str, ...]) -> int:
    """Give TOOL texts of your own.

    They are searched in place of its server's description or beside it, stand across refreshes, and are written to
    the curation file. What is said replaces what was said of the same kind; a summary of "" takes all of them away.
    """
    with opened() as (config, system):
        entry = meant(tool, run(system.catalog.current).view.snapshot.entries, "`pegboard catalog list` names them all")
        texts = {"summary": summary, "keywords": keywords or None, "examples": examples or None}
        file, kept = _written(config, entry.tool_id, texts)
    # What is served changes with the file, so the configuration is read anew.
    with opened() as (_, system):
        version = run(system.catalog.current).view.snapshot.version
    if as_json():
        print_json({"tool": entry.tool_id, "file": str(file), **kept, "catalog_version": version})
    else:
        say((entry.tool_id, "bold"), f"in {file}; version {version}")
    return DONE


def _refused(entries: "Iterable[CatalogEntry]") -> "Iterable[Problem]":
    """Yield the tools that a model API cannot be told, each with the first reason of the first such API.

    The strict forms are asked only where someone turns them on, and `--for` reports them then.
    """
    from pegboard.engine.lint import Problem
    from pegboard.providers.schemas import Fidelity, compile_schema
    from pegboard.providers.targets import STRICT, Target

    targets = [target for target in Target if target not in STRICT.values()]
    for entry in entries:
        for target in targets:
            one = compile_schema(entry.input_schema, target)
            if one.fidelity is Fidelity.UNREPRESENTABLE:
                why = f": {one.losses[0].what}" if one.losses else ""
                yield Problem(
                    tool=entry.tool_id,
                    check="refused-schema",
                    problem=f"{target} cannot take its schema{why}",
                    where=f"/inputSchema{one.losses[0].path}" if one.losses else "/inputSchema",
                )
                break


def _written(
    config: "Config", tool: str, texts: Mapping[str, str | tuple[str, ...] | None]
) -> tuple[Path, dict[str, str | list[str] | None]]:
    """Write the curation file with these texts of a tool, and return it with all that it says of the tool now."""
    from pegboard.adapters.durable import replace_file
    from pegboard.config.curation import curation_of, refuse_leaks
    from pegboard.config.values import ToolConfig

    if config.curation is None:
        fix = 'name a file without a wildcard first in `curation`, such as "curation.toml"'
        raise ConfigError("no curation file can be written", f"{config.file}: curation", fix)
    tools = curation_of(config.curation)
    said = {key: getattr(tools.get(tool, ToolConfig()), key) for key in texts}
    said |= {key: value for key, value in texts.items() if value is not None}
    one = ToolConfig() if texts["summary"] == "" else ToolConfig(**said)
    tools = {**tools, tool: one}
    refuse_leaks(tools, config.curation, config.tenants)
    replace_file(str(config.curation), [_toml(tools).encode()])
    return config.curation, {
        "summary": one.summary,
        "keywords": list(one.keywords or ()),
        "examples": list(one.examples or ()),
    }


def _toml(tools: "Mapping[str, ToolConfig]") -> str:
    parts = [_HEAD]
    for tool, one in sorted(tools.items()):
        said = (("summary", one.summary), ("keywords", one.keywords), ("examples", one.examples))
        lines = [f"{key} = {_value(value)}" for key, value in said if value]
        if lines:
            parts.append("\n".join((f"[tools.{_value(tool)}]", *lines)) + "\n")
    return "\n".join(parts)


def _value(value: str | tuple[str, ...]) -> str:
    """Write a text or a list of texts as TOML, whose escapes are JSON's but for DEL."""
    listed = value if isinstance(value, str) else list(value)
    return json.dumps(listed, ensure_ascii=False).replace("\x7f", "\\u007f")
