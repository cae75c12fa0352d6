"""Evaluating: what arms select from, what is noted of a run, and that nothing is put on record."""

from dataclasses import replace

import pytest

from pegboard.config.values import RankingChoice, Retrieval
from pegboard.core.errors import StoreError
from pegboard.core.lock import Lock
from pegboard.core.names import compact_json
from pegboard.core.policy import AccessTemplate
from pegboard.core.revocations import Revocation
from pegboard.evaluation.fixtures import Fixture
from pegboard.evaluation.runs import Run
from pegboard.providers.capabilities import Api
from pegboard.service.evaluator import Arm, Asked
from pegboard.service.labels import facts, identified, problems_of
from pegboard.service.traces import Wanted
from pegboard.wiring import encoders_of
from tests.crm import AGENT
from tests.servers import ScriptedToolServer, ScriptedToolServers, tool
from tests.service.made import system

pytestmark = pytest.mark.anyio
THINGS = ("order", "invoice", "ticket", "parcel")
TOOLS = [
    tool(f"{verb}_{thing}", description=f"{verb.title()} one {thing}.")
    for verb in ("find", "cancel")
    for thing in THINGS
]
TASKS = tuple(
    Asked(
        task=Fixture(task_id=thing, task=f"cancel the {thing}", steps=(frozenset({f"crm.cancel_{thing}"}),)),
        context=AGENT,
    )
    for thing in THINGS
)


@pytest.fixture
def anyio_backend():
    return "asyncio"


async def ready(tools=TOOLS):
    made = system(ScriptedToolServers(crm=ScriptedToolServer(tools)))
    await made.refresher.refresh()
    await made.keeper.approve([one.tool_id for one in await made.keeper.drafts()], access="sales", by="t")
    return made


async def ran(made, asked=TASKS, done=None, **arm):
    settings = arm.pop("selection", made.catalog.deployment.selection)
    bed = await made.evaluator.bed(Arm(name="dynamic", selection=settings, **arm))
    return [one async for one in made.evaluator.run(bed, asked, done or {})]


async def test_a_run_notes_what_was_served_and_what_all_tools_would_have_cost():
    made = await ready()
    first, *_ = await ran(made, selection=replace(made.catalog.deployment.selection, limit=2))
    assert (first.task_id, first.outcome, first.eligible) == ("order", "selected", 8)
    assert first.loaded[0] == "crm.cancel_order"
    assert len(first.loaded) == 2
    assert first.ranking[:2] == first.loaded
    assert len(first.ranking) == 8
    assert 0 < first.tokens < first.tokens_all_tools


async def test_a_former_version_and_another_lock_are_selected_from_and_nothing_is_published():
    made = await ready()
    before = await made.catalog.snapshots.versions()
    assert [one.eligible for one in await ran(made, lock=Lock.of())] == [0] * 4
    assert [one.eligible for one in await ran(made, version=1)] == [8] * 4
    with pytest.raises(StoreError):
        await ran(made, version=99)
    assert await made.catalog.snapshots.versions() == before
    assert [one async for one in made.traces.newest(Wanted())] == []


async def test_only_the_candidates_of_a_task_are_eligible_for_it():
    made = await ready()
    narrow = replace(TASKS[0].task, candidates=frozenset({"crm.cancel_order", "crm.find_order"}))
    first, second = await ran(made, [replace(TASKS[0], task=narrow), TASKS[1]])
    assert (first.eligible, second.eligible) == (2, 8)
    assert set(first.ranking) == narrow.candidates


async def test_what_is_halted_is_halted_here_too():
    made = await ready()
    halt = Revocation(target="crm.cancel_order", why="drill", by="t", since=0.0)
    await made.catalog.policies.halt(halt)
    first, *_ = await ran(made)
    assert first.eligible == 7
    assert "crm.cancel_order" not in first.loaded


async def test_all_tools_are_everything_eligible_for_the_price_of_it():
    first, *_ = await ran(await ready(), all_tools=True)
    assert (len(first.loaded), first.ranking, first.outcome) == (8, None, "all_tools")
    assert first.tokens == first.tokens_all_tools


async def test_tokens_are_those_of_the_payload_that_a_model_api_gets():
    made = await ready()
    bed = await made.evaluator.bed(Arm(name="x", selection=made.catalog.deployment.selection))
    (run,) = [one async for one in made.evaluator.run(bed, TASKS[:1], {})]
    for target in Api:
        (other,) = await ran(made, TASKS[:1], target=target)
        assert other.loaded == run.loaded
        assert other.tokens_all_tools is None
        assert other.tokens > 0
    assert made.catalog.deployment.count_tokens(compact_json([])) < run.tokens


async def test_an_arm_may_rank_by_other_encoders_and_what_serves_keeps_its_own():
    made = await ready()
    before = (await made.catalog.current()).view.index.version
    words = encoders_of(Retrieval(ranking=RankingChoice.WORDS), made)
    by_words, by_all = await ran(made, encoders=words), await ran(made)
    assert [one.fits for one in by_words] == [None] * 4
    assert None not in [one.fits for one in by_all]
    assert (await made.catalog.current()).view.index.version == before


async def test_an_arm_may_have_the_tools_of_another_catalog():
    made = await ready()
    entries = (await made.catalog.current()).view.snapshot.entries
    other, own = await ran(made, entries=entries[:3]), await ran(made)
    assert ([one.eligible for one in other], [one.eligible for one in own]) == ([3] * 4, [8] * 4)


async def test_an_arm_may_have_other_access_templates():
    made = await ready()
    templates = {**made.catalog.deployment.templates, "sales": AccessTemplate(required_scopes=frozenset({"none.has"}))}
    assert [one.eligible for one in await ran(made, templates=templates)] == [0] * 4
    assert [one.eligible for one in await ran(made)] == [8] * 4


async def test_what_was_finished_before_is_given_back_as_it_is():
    done = {"order": Run(task_id="order", outcome="kept")}
    assert [one.outcome for one in await ran(await ready(), done=done)][:2] == ["kept", "selected"]


@pytest.mark.parametrize("setting", ["limit", "budget_tokens"])
async def test_a_sweep_comes_to_what_an_arm_with_that_setting_does(setting):
    made = await ready()
    settings = made.catalog.deployment.selection
    bed = await made.evaluator.bed(Arm(name="dynamic", selection=settings))
    values = (1, 3, 100)
    points = [one async for one in made.evaluator.sweep(bed, TASKS, setting, values)]
    for point, value in zip(points, values, strict=True):
        runs = await ran(made, selection=replace(settings, **{setting: value}))
        assert point.tokens == sum(one.tokens for one in runs) / len(runs)
        assert point.candidate_recall == sum(one.task_id in str(one.loaded) for one in runs) / len(runs)


async def test_names_with_their_namespace_are_read_as_ids_and_labels_are_checked_against_what_each_may_see():
    made = await ready()
    view = (await made.catalog.current()).view
    named = Fixture(task_id="1", task="t", steps=(frozenset({"crm/find_order"}),), forbidden=frozenset({"crm/x"}))
    (task,) = identified([named], view)
    assert (task.steps, task.forbidden) == ((frozenset({"crm.find_order"}),), {"crm/x"})
    assert facts(view, [task])["crm.find_order"].namespace == "crm"
    bed = await made.evaluator.bed(Arm(name="x", selection=made.catalog.deployment.selection))
    stranger = replace(AGENT, scopes=frozenset())
    found = problems_of([replace(TASKS[0], context=stranger), TASKS[1]], bed)
    assert [(one.task_id, one.rule) for one in found] == [("order", "out-of-reach")]
