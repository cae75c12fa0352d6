"""Perturbed evaluations: an update under the same tasks, a stuffed tool, and callers who hold less."""

from dataclasses import replace

import pytest

from pegboard.core.context import RuntimeContext
from pegboard.evaluation.fixtures import Category
from pegboard.service.evaluator import Arm
from pegboard.service.perturbing import CHANGES, PERTURBATIONS, more_tasks, perturbed, updated
from pegboard.service.ports import Listing
from pegboard.service.selector import Request
from tests.crm import AGENT
from tests.service.test_canaries import TASKS, company

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    return "asyncio"


async def bedded(made):
    return await made.evaluator.bed(Arm(name="dynamic", selection=made.catalog.deployment.selection))


async def runs(made, bed, asked):
    return [one async for one in made.evaluator.run(bed, asked, {})]


@pytest.mark.parametrize("name", ["typos", "paraphrase", "updated", "stuffed"])
async def test_a_perturbed_arm_runs_on_the_same_tasks_and_the_same_rights(name):
    made = await company()
    bed = await bedded(made)
    other, asked = await perturbed(bed, name, TASKS)
    assert (other.arm.name, other.arm.said) == (name, {"perturbed": name})
    found = await runs(made, other, asked)
    assert [one.task_id for one in found] == [one.task.task_id for one in TASKS]
    assert {one.eligible for one in found} == {3 if name == "stuffed" else 2}
    assert (await made.catalog.current()).view.snapshot is bed.view.snapshot


async def test_a_stuffed_tool_pushes_no_right_one_out():
    made = await company()
    bed, asked = await perturbed(await bedded(made), "stuffed", TASKS)
    assert all(one.task_id in one.loaded for one in await runs(made, bed, asked))


async def test_new_runs_use_an_updated_catalog_and_old_traces_replay():
    made = await company()
    before, _ = await made.selector.select(Request(tasks=(TASKS[0].task.task,)), AGENT)
    view = (await made.catalog.current()).view
    entries, lock = updated(view.snapshot.entries, made.catalog.lock_file.read(), TASKS)
    made.catalog.lock_file.write(lock)
    servers = {entry.source_server for entry in entries}
    await made.catalog.publish(
        [
            Listing(server=name, fetched_at=1_000.0, entries=tuple(one for one in entries if one.source_server == name))
            for name in servers
        ],
        by="t",
    )
    after, _ = await made.selector.select(Request(tasks=(TASKS[0].task.task,)), AGENT)
    old, new = ({one.tool.tool_id: one.tool.input_schema for one in found.tools} for found in (before, after))
    assert old.keys() & new.keys()
    assert all("dry_run" in new[tool]["properties"] for tool in old.keys() & new.keys())
    (replayed,) = await made.replayer.replay([before.trace_id])
    assert replayed.equal


async def test_what_is_taken_away_hidden_or_anothers_adds_tasks_with_labels_of_their_own():
    made = await company()
    bed = await bedded(made)
    stranger = RuntimeContext(user="eve", servers=frozenset({"crm"}))
    asked = [TASKS[0], replace(TASKS[1], context=stranger)]
    away = more_tasks(bed, "taken-away", TASKS)
    assert {(one.task.category, one.task.steps) for one in away} == {(Category.PERMISSION_CHANGE, ())}
    assert all(one.context == one.task.principal for one in away)
    both = more_tasks(bed, "two-users", asked)
    assert [bool(one.task.steps) for one in both] == [False, True]
    forbidding = replace(asked[1], task=replace(asked[1].task, steps=(), forbidden=frozenset({"crm.get_order"})))
    assert len(more_tasks(bed, "two-users", [asked[0], forbidding])) == 1
    hidden = more_tasks(bed, "hidden", [TASKS[0]])
    assert [one.task.forbidden for one in hidden] == [{"people.list_salaries"}]
    found = await runs(made, bed, [*away, *both, *hidden])
    forbidden = {one.task.task_id: one.task.forbidden for one in (*away, *both, *hidden)}
    assert all(forbidden[one.task_id].isdisjoint(one.loaded) for one in found)


def test_every_way_has_one_name():
    assert len(set(PERTURBATIONS)) == len(PERTURBATIONS) == 7
    assert set(CHANGES) < set(PERTURBATIONS)
