"""Where labelled tasks are asked: the published catalog, or a catalog file in memory that touches nothing."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pegboard.cli.arms import ranking_for
from pegboard.cli.catalog import imported
from pegboard.cli.command import as_json, config_path
from pegboard.cli.labelled import context_of
from pegboard.cli.measuring import Stage
from pegboard.cli.opening import opened, run
from pegboard.cli.printing import note

if TYPE_CHECKING:
    from pegboard.config.values import Config
    from pegboard.core.context import RuntimeContext
    from pegboard.evaluation.fixtures import Fixture
    from pegboard.service.canaries import Build

__all__ = ["staged"]

_OPEN = "open"


@contextmanager
def staged(catalog: str | None, is_open: bool, arms: Sequence[str] = ()) -> Iterator[Stage]:
    """Open what is published, or a catalog file in memory under the same configuration; with what *arms* need."""
    if is_open and catalog is None:
        raise click.UsageError("--open is for a --catalog", click.get_current_context())
    if catalog is None:
        with opened(lambda config: _ranked_for(config, arms)) as (config, system):
            build = _rehearsal(config)
            yield Stage(config=config, system=system, context=lambda task: context_of(config, task), build=build)
        return
    with _in_memory(catalog, is_open, arms) as stage:
        yield stage


@contextmanager
def _in_memory(catalog: str, is_open: bool, arms: Sequence[str]) -> Iterator[Stage]:
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
    system = in_memory(deployment, retrieval=_ranked_for(config, arms).retrieval)
    try:
        if not is_open:
            system.catalog.lock_file.write(LockFileAt(config.lock).read())
        taken = imported(system, catalog, _OPEN if is_open else None)
        for name, reason in taken.refused if not as_json() else ():
            note((f"{name}: left out: {reason}", "dim"))
        servers = frozenset(one.server for one in run(system.catalog.snapshots.listings))

        def context(task: "Fixture") -> "RuntimeContext":
            return replace(_open_context(config, task), servers=servers) if is_open else context_of(config, task)

        yield Stage(config=config, system=system, context=context, build=_rehearsal(config))
    finally:
        system.close()


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


def _ranked_for(config: "Config", arms: Sequence[str]) -> "Config":
    return replace(config, retrieval=replace(config.retrieval, ranking=ranking_for(config, arms)))
