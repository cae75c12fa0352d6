"""The demo company's labelled tasks: of every category, without a fault, and safe whatever is asked."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from pegboard import demo
from pegboard.adapters.files import read_fixture_file
from pegboard.cli.labelled import context_of
from pegboard.config.load import load_config
from pegboard.config.values import RankingChoice, Retrieval
from pegboard.demo.servers.roster import SERVERS
from pegboard.demo.servers.serving import page
from pegboard.evaluation.fixtures import Category, read_fixture
from pegboard.evaluation.measures import MEASURES, measured
from pegboard.service.canaries import exposure
from pegboard.service.evaluator import Arm, Asked
from pegboard.service.labels import problems_of
from pegboard.wiring import in_memory

# One worker imports the company, once.
pytestmark = pytest.mark.xdist_group("demo-tasks")
HERE = Path(demo.__file__).parent
TASKS = [read_fixture(raw.value, 0) for raw in read_fixture_file(HERE / "tasks.jsonl").tools]
FAST = Retrieval(ranking=RankingChoice.FAST)


def test_there_are_more_than_60_tasks_of_all_categories_with_no_key_that_means_nothing():
    assert len(TASKS) > 60
    assert all(ignored == () for _, ignored in TASKS)
    assert min(Counter(task.category for task, _ in TASKS)[category] for category in Category) >= 3


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory):
    """What the labels are worth, the runs, and what canaries showed, on everything that the company lists."""
    file = tmp_path_factory.mktemp("company") / "pegboard.toml"
    file.write_text((HERE / "brackenfold.toml").read_text().replace("{python}", "python").replace("{release}", "2"))
    return anyio.run(_evaluated, load_config(file, {}))


async def _evaluated(config):
    system = in_memory(config.deployment(), retrieval=FAST)
    newest = {name: releases[max(releases)] for name, releases in SERVERS.items()}
    listed = {
        name: [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in _whole(server)]
        for name, server in newest.items()
    }
    await system.importer.listings(listed, by="t")
    await system.keeper.classify(apply=True, by="t")
    asked = [Asked(task=task, context=context_of(config, task)) for task, _ in TASKS]
    settings = system.catalog.deployment.selection
    bed = await system.evaluator.bed(Arm(name="dynamic", selection=settings))
    runs = [run async for run in system.evaluator.run(bed, asked, {})]

    def build(deployment, telemetry):
        return in_memory(deployment, retrieval=FAST, telemetry=telemetry)

    some = asked[::30]
    exposed = await exposure(build, bed, system.catalog.deployment, some)
    return problems_of(asked, bed), runs, exposed


def _whole(server):
    return page(replace(server, page_size=None), None).tools


def test_every_label_can_be_measured_by(evaluated):
    assert [problem for problem in evaluated[0] if problem.error] == []


def test_most_tasks_are_served_and_nothing_forbidden_ever(evaluated):
    tasks, runs = [task for task, _ in TASKS], evaluated[1]
    found = {one.name: measured(one, tasks, runs).value for one in MEASURES}
    assert found["candidate_recall"] >= 0.75
    assert found["forbidden_selected"] == 0
    assert found["definition_tokens"] < found["definition_tokens_all_tools"] / 4


def test_no_canary_is_seen(evaluated):
    assert set(evaluated[2].values()) == {0}
