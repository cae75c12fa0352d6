"""Where labelled tasks are asked: the published catalog, or a catalog file in memory that touches nothing."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pegboard.cli.catalog import imported
from pegboard.cli.command import as_json, config_path
from pegboard.cli.labelled import context_of
from pegboard.cli.measuring import Stage
from pegboard.cli.opening import opened, run
from pegboard.cli.printing import note

if TYPE_CHECKING:
    from pegboard.config.values import Config
    from pegboard.core.catalog import CatalogEntry
    from pegboard.core.context import RuntimeContext
    from pegboard.core.lock import Lock
    from pegboard.evaluation.fixtures import Fixture
    from pegboard.service.canaries import Build
    from pegboard.wiring import System

__all__ = ["staged", "tools_of"]

_OPEN = "open"


@contextmanager
def staged(catalog: str | None, is_open: bool) -> Iterator[Stage]:
    """Open what is published, or a catalog file in memory under the same configuration."""
    if is_open and catalog is None:
        raise click.UsageError("--open is for a --catalog", click.get_current_context())
    if catalog is None:
        with opened() as (config, system):
            build = _rehearsal(config)
            yield Stage(config=config, system=system, context=lambda task: context_of(config, task), build=build)
        return
    with _in_memory(catalog, is_open) as stage:
        yield stage


def tools_of(stage: Stage, catalog: Path, lock: "Lock | None") -> tuple[tuple["CatalogEntry", ...], "Lock"]:
    """Take in a catalog file or a folder of listings as *stage* did its own; return its tools, and their lock.

    Raises:
        ConfigError: It cannot be read.
    """
    from pegboard.config.values import RankingChoice, Retrieval
    from pegboard.wiring import in_memory

    ours = stage.system.catalog
    system = in_memory(ours.deployment, retrieval=Retrieval(ranking=RankingChoice.WORDS))
    try:
        system.catalog.lock_file.write(ours.lock_file.read() if lock is None else lock)
        _taken(system, str(catalog), stage.is_open)
        published = run(system.catalog.current)
        return published.view.snapshot.entries, published.lock
    finally:
        system.close()


@contextmanager
def _in_memory(catalog: str, is_open: bool) -> Iterator[Stage]:
    from pegboard.adapters.files import LockFileAt
    from pegboard.config.load import load_config
    from pegboard.core.policy import AccessTemplate
    from pegboard.service.deployment import Deployment
    from pegboard.wiring import in_memory, read_config

    path = Path(config_path())
    # With --open nothing of a deployment is needed, so there may be none.
    config = load_config(path, os.environ) if is_open and not path.exists() else read_config(path)
    deployment = (
        Deployment(templates={_OPEN: AccessTemplate()}, used=frozenset(), selection=config.selection)
        if is_open
        else config.deployment()
    )
    system = in_memory(deployment, retrieval=config.retrieval)
    try:
        if not is_open:
            system.catalog.lock_file.write(LockFileAt(config.lock).read())
        _taken(system, catalog, is_open)
        servers = frozenset(one.server for one in run(system.catalog.snapshots.listings))

        def context(task: "Fixture") -> "RuntimeContext":
            return replace(_open_context(config, task), servers=servers) if is_open else context_of(config, task)

        yield Stage(config=config, system=system, context=context, build=_rehearsal(config), is_open=is_open)
    finally:
        system.close()


def _taken(system: "System", catalog: str, is_open: bool) -> None:
    taken = imported(system, catalog, _OPEN if is_open else None)
    for name, reason in taken.refused if not as_json() else ():
        note((f"{name}: left out: {reason}", "dim"))


def _rehearsal(config: "Config") -> "Build":
    """Build systems in memory for canaries; the encoder is left out, since no channel decides what is eligible."""
    from pegboard.config.values import RankingChoice, Retrieval
    from pegboard.wiring import in_memory

    words = config.retrieval.ranking is RankingChoice.WORDS
    retrieval = Retrieval(ranking=RankingChoice.WORDS if words else RankingChoice.FAST)
    return lambda deployment, telemetry: in_memory(deployment, retrieval=retrieval, telemetry=telemetry)


def _open_context(config: "Config", task: "Fixture") -> "RuntimeContext":
    from pegboard.core.context import RuntimeContext

    if (task.profile, task.principal, config.evaluation.principal) == (None, None, None):
        return RuntimeContext(user="evaluation", environment=config.environment, stage=task.stage)
    return context_of(config, task)
