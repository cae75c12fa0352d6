"""Canaries: a build that tells of hidden tools, in whatever way, is caught; an honest one shows nothing."""

import logging
from dataclasses import fields, replace

import numpy as np
import pytest

from pegboard.adapters.memory import MemoryStore
from pegboard.config.values import RankingChoice, Retrieval
from pegboard.core.errors import StoreError
from pegboard.core.lock import Lock
from pegboard.core.policy import AccessTemplate
from pegboard.engine.selection import Selection
from pegboard.evaluation.fixtures import Fixture
from pegboard.evaluation.report import Arm as ArmRuns
from pegboard.evaluation.report import report
from pegboard.evaluation.runs import Run
from pegboard.evaluation.thresholds import read_threshold
from pegboard.policy.layers import layer_of
from pegboard.service.canaries import exposure
from pegboard.service.evaluator import Arm, Asked
from pegboard.service.labels import facts
from pegboard.service.perturbing import perturbed
from pegboard.service.telemetry import Operation
from pegboard.wiring import in_memory
from tests.crm import AGENT, TEMPLATES
from tests.servers import ScriptedToolServer, ScriptedToolServers, tool
from tests.service.made import system

pytestmark = pytest.mark.anyio
FAST = Retrieval(ranking=RankingChoice.FAST)
TASKS = tuple(
    Asked(task=Fixture(task_id=tool_id, task=text, steps=(frozenset({tool_id}),)), context=AGENT)
    for tool_id, text in (
        ("crm.get_order", "read the order with number 7"),
        ("crm.cancel_order", "cancel the order of this customer"),
    )
)


@pytest.fixture
def anyio_backend():
    return "asyncio"


def honest(deployment, telemetry):
    return in_memory(deployment, retrieval=FAST, telemetry=telemetry)


async def company():
    """Two visible tools, and one that only the people team may see."""
    crm = ScriptedToolServer(
        [
            tool("get_order", description="Read one order by its number."),
            tool("cancel_order", description="Cancel an order of a customer."),
        ]
    )
    people = ScriptedToolServer([tool("list_salaries", description="Every salary of the company.")])
    made = system(ScriptedToolServers(crm=crm, people=people))
    await made.refresher.refresh()
    for one in await made.keeper.drafts():
        access = "staff" if one.tool_id.startswith("people.") else "sales"
        await made.keeper.approve([one.tool_id], access=access, by="t")
    return made


async def exposed(build):
    made = await company()
    bed = await made.evaluator.bed(Arm(name="dynamic", selection=made.catalog.deployment.selection))
    return await exposure(build, bed, made.catalog.deployment, TASKS)


async def test_an_honest_build_exposes_nothing():
    assert await exposed(honest) == {"crm.get_order": 0, "crm.cancel_order": 0}


class Telling:
    """A selector that also does something with a hidden tool's description."""

    def __init__(self, made, tells):
        self._made, self._tells = made, tells

    async def select(self, request, context):
        selection, operator = await self._made.selector.select(request, context)
        entries = (await self._made.catalog.current()).view.snapshot.entries
        (hidden,) = (one for one in entries if one.tool_id == "people.list_salaries")
        return self._tells(self._made, selection, hidden), operator


def in_message(made, selection, hidden):
    return replace(selection, message=f"Not for you: {hidden.name.upper()}.")


def in_a_description(made, selection, hidden):
    told = [replace(one, tool=replace(one.tool, description=hidden.description)) for one in selection.tools]
    return replace(selection, tools=tuple(told))


def in_the_log(made, selection, hidden):
    logging.getLogger("pegboard.selector").debug("left out %s", hidden.title)
    return selection


def in_a_span(made, selection, hidden):
    with made.telemetry.span(Operation.SELECT, hidden.name, {}):
        return selection


def in_an_error(made, selection, hidden):
    raise StoreError(f"no row for {hidden.input_schema_json}", "store", "look")


@pytest.mark.parametrize("tells", [in_message, in_a_description, in_the_log, in_a_span, in_an_error])
async def test_a_build_that_tells_of_a_hidden_tool_is_caught_wherever_it_tells(tells):
    def leaky(deployment, telemetry):
        made = honest(deployment, telemetry)
        return replace(made, selector=Telling(made, tells), telemetry=telemetry)

    assert all((await exposed(leaky)).values())


class Whispering(Selection):
    """A selection that says nothing of itself."""

    def to_json(self, *_):
        return {}


def in_a_payload(made, selection, hidden):
    told = in_a_description(made, selection, hidden)
    return Whispering(**{one.name: getattr(told, one.name) for one in fields(Selection)})


async def test_payloads_for_model_apis_are_read_too():
    def leaky(deployment, telemetry):
        made = honest(deployment, telemetry)
        return replace(made, selector=Telling(made, in_a_payload))

    assert all((await exposed(leaky)).values())


async def test_where_all_tools_are_served_all_are_asked_for():
    class TellingOfAll(Telling):
        async def select(self, request, context):
            asked = super() if request.require else self._made.selector
            return await asked.select(request, context)

    def leaky(deployment, telemetry):
        made = honest(deployment, telemetry)
        return replace(made, selector=TellingOfAll(made, in_message))

    made = await company()
    beds = [
        await made.evaluator.bed(Arm(name="x", selection=made.catalog.deployment.selection, all_tools=everything))
        for everything in (False, True)
    ]
    found = [await exposure(leaky, bed, made.catalog.deployment, TASKS) for bed in beds]
    assert [any(one.values()) for one in found] == [False, True]


async def test_a_trace_is_read_too():
    class Leaky(MemoryStore):
        async def trace(self, trace_id):
            return f"{await super().trace(trace_id)} {sorted(one.tool_id for one in await self.entries())}".encode()

        async def entries(self):
            return [entry for listing in await self.listings() for entry in listing.entries]

    def leaky(deployment, telemetry):
        made = honest(deployment, telemetry)
        made.store.__class__ = Leaky
        return made

    assert all((await exposed(leaky)).values())


class Everyone:
    """A rule table in which every tool is everybody's."""

    def __init__(self, table):
        self._table = table

    def eligible(self, context, revocations):
        found = self._table.eligible(context, revocations)
        return replace(found, mask=np.ones_like(found.mask))


def without_a_filter(deployment, telemetry):
    made = honest(deployment, telemetry)
    bind = made.catalog._bind

    def bound(*parts):
        view = bind(*parts)
        return replace(view, table=Everyone(view.table))

    made.catalog._bind = bound
    return made


async def test_a_build_without_a_filter_is_caught_on_every_task():
    assert all((await exposed(without_a_filter)).values())


NOBODY = 'forbid(principal, action == Pegboard::Action::"consider", resource);'
# Each hides what the deployment shows: rehearsed with the deployment's own rights, it would seem to leak.
ARMS = {
    "dynamic": {},
    "all-tools": {"all_tools": True},
    "another lock": {"lock": None},
    "other templates": {"templates": {**TEMPLATES, "sales": AccessTemplate(required_scopes=frozenset({"none.has"}))}},
    "other policies": {"layers": (layer_of({"nobody.cedar": NOBODY}),)},
    "a former version": {"version": 1},
}


@pytest.mark.parametrize("name", [*ARMS, "typos", "updated", "stuffed"])
@pytest.mark.parametrize("build", [honest, without_a_filter])
async def test_every_arm_is_rehearsed_with_its_own_tools_and_rights(name, build):
    made = await company()
    said = {**ARMS.get(name, {})}
    if "lock" in said:
        # Nobody may cancel in it, so that is hidden too.
        said["lock"] = Lock.of(one for one in made.catalog.lock_file.read() if one.tool != "crm.cancel_order")
    bed = await made.evaluator.bed(Arm(name=name, selection=made.catalog.deployment.selection, **said))
    asked = TASKS
    if name not in ARMS:
        bed, asked = await perturbed(bed, name, TASKS)
    found = await exposure(build, bed, made.catalog.deployment, asked)
    assert list(found) == [one.task.task_id for one in asked][: 1 if name == "all-tools" else 2]
    assert [bool(count) for count in found.values()] == [build is without_a_filter] * len(found)


async def test_the_page_is_read_too():
    class Sly(Run):
        """A run that tells of a hidden tool on the page alone."""

        def to_json(self):
            return {}

    class Evaluating:
        def __init__(self, made):
            self._made = made
            self.bed = made.evaluator.bed

        async def run(self, bed, asked, done):
            hidden = bed.view.snapshot.get("people.list_salaries")
            async for one in self._made.evaluator.run(bed, asked, done):
                yield Sly(task_id=one.task_id, outcome=one.outcome, error=f"no call of {hidden.name}")

    def leaky(deployment, telemetry):
        made = honest(deployment, telemetry)
        return replace(made, evaluator=Evaluating(made))

    assert all((await exposed(leaky)).values())


THRESHOLDS = [
    read_threshold({"measure": "candidate_recall", "min": 0.95}),
    read_threshold({"measure": "denied_exposure", "max": 0}),
]


@pytest.mark.parametrize(
    ("build", "confidence", "failed"),
    [
        (honest, None, []),
        (without_a_filter, None, ["denied_exposure"]),
        # It forgets: whatever is asked, it is not sure enough.
        (honest, 1.0, ["candidate_recall"]),
    ],
)
async def test_a_leaky_and_a_forgetful_build_fail_the_report_and_an_honest_one_passes(build, confidence, failed):
    made = await company()
    settings = replace(made.catalog.deployment.selection, minimum_confidence=confidence)
    bed = await made.evaluator.bed(Arm(name="dynamic", selection=settings))
    found = await exposure(build, bed, made.catalog.deployment, TASKS)
    runs = [replace(one, exposed=found[one.task_id]) async for one in made.evaluator.run(bed, TASKS, {})]
    tasks = [one.task for one in TASKS]
    judged = report(
        tasks,
        [ArmRuns(name="dynamic", runs=tuple(runs))],
        facts(bed.view, tasks),
        catalog_version=bed.view.snapshot.version,
        fixtures={},
        encoding=bed.view.encoding,
        thresholds=THRESHOLDS,
    )
    assert [one.threshold.measure for one in judged.thresholds if not one.passed] == failed
    assert judged.passed is not bool(failed)
