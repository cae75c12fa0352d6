"""Curation: local summaries, keywords and examples of tools, from files beside the configuration.

A file has the tables `[tools."id"]` of pegboard.toml with `summary`, `keywords` and `examples` alone, so that whoever
writes texts need not be trusted with switches. What pegboard.toml itself says of a tool comes before a file. Every
text is scanned for secrets and tenants' names before it is taken (`engine/leaks.py`).

Source: DESIGN section 3.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pegboard.config.parsers import At, Parser, Problems, by_name, section, text, texts
from pegboard.config.reading import placed, read_toml
from pegboard.config.values import ToolConfig
from pegboard.core.errors import ConfigError
from pegboard.engine.leaks import leaks

__all__ = ["curated", "curation_of", "refuse_leaks", "tenants_of", "written_file"]

# Read where it is there, and what the command writes; a `curation` list takes its place.
_DEFAULT = "curation.toml"
_FILE: Parser[dict[str, Any]] = section(
    dict, tools=by_name(section(ToolConfig, summary=text, keywords=texts, examples=texts))
)
_WILD = frozenset("*?[")


def curated(path: Path, said: Mapping[str, Any]) -> dict[str, ToolConfig]:
    """Join what a configuration says of tools with its curation files.

    Raises:
        ConfigError: A file cannot be read.
        Problems: A file is wrong, two of them speak of one tool, or a text holds what it must not.
    """
    own: Mapping[str, ToolConfig] = said.get("tools", {})
    tenants = tenants_of(said)
    found: dict[str, ToolConfig] = {}
    errors = [*_leaking(own, path, tenants)]
    for file in _files(path, said):
        tools = _FILE(read_toml(file), At(str(file))).get("tools", {})
        errors += [_twice(tool, file) for tool in sorted(found.keys() & tools.keys())]
        errors += _leaking(tools, file, tenants)
        found |= tools
    if errors:
        raise Problems(errors)
    return {**found, **{tool: _over(one, found.get(tool)) for tool, one in own.items()}}


def curation_of(file: Path) -> dict[str, ToolConfig]:
    """Return what one curation file says, nothing where it is not there.

    Raises:
        ConfigError: It cannot be read, or is wrong.
    """
    try:
        return dict(_FILE(read_toml(file), At(str(file))).get("tools", {}))
    except Problems as problems:
        raise problems.errors[0] from None


def refuse_leaks(tools: Mapping[str, ToolConfig], file: Path, tenants: frozenset[str]) -> None:
    """Refuse texts that hold a secret or a tenant's name.

    Raises:
        ConfigError: The first of them: where it stands and why, never the text.
    """
    for error in _leaking(tools, file, tenants):
        raise error


def tenants_of(said: Mapping[str, Any]) -> frozenset[str]:
    """Return the tenants that the configuration names, in templates and in profiles."""
    templates = (one.tenants or () for one in said.get("access", {}).values())
    profiles = (one.tenant for one in said.get("profiles", {}).values())
    return frozenset().union(*templates, (one for one in profiles if one))


def written_file(path: Path, said: Mapping[str, Any]) -> Path | None:
    """Return the file that `pegboard catalog curate` writes: the first that is named without a wildcard."""
    named = [written for written in said.get("curation", (_DEFAULT,)) if not _WILD.intersection(written)]
    return placed(path.parent, named[0]) if named else None


def _leaking(tools: Mapping[str, ToolConfig], file: Path, tenants: frozenset[str]) -> Iterator[ConfigError]:
    for tool, one in tools.items():
        for where, written in _written(one, At(str(file), "tools").key(tool)):
            for leak in leaks(written, tenants):
                problem = f"this text holds {leak.says}, at character {leak.position + 1}"
                yield ConfigError(problem, str(where), "write it without: it works for every caller of the tool")


def _twice(tool: str, file: Path) -> ConfigError:
    return ConfigError(
        "another curation file speaks of this tool too", str(At(str(file), "tools").key(tool)), "join them"
    )


def _written(one: ToolConfig, at: At) -> Iterator[tuple[At, str]]:
    yield at.key("summary"), one.summary or ""
    for key, listed in (("keywords", one.keywords), ("examples", one.examples)):
        yield from ((at.key(key).item(place), each) for place, each in enumerate(listed or (), start=1))


def _files(path: Path, said: Mapping[str, Any]) -> list[Path]:
    found: list[Path] = []
    for written in said.get("curation", (_DEFAULT,)):
        if _WILD.intersection(written):
            found += sorted(path.parent.glob(written))
        elif (file := placed(path.parent, written)).exists():
            found.append(file)
    return list(dict.fromkeys(found))


def _over(own: ToolConfig, file: ToolConfig | None) -> ToolConfig:
    if file is None:
        return own
    said = {key: getattr(own, key) for key in ("summary", "keywords", "examples") if getattr(own, key) is not None}
    kept = {key: getattr(file, key) for key in ("summary", "keywords", "examples")}
    return replace(own, **{**kept, **said})
