"""Canaries: a build that tells of hidden tools, in whatever way, is caught; an honest one shows nothing."""

import logging
from dataclasses import replace

import numpy as np
import pytest

from pegboard.adapters.memory import MemoryStore
from pegboard.config.values import RankingChoice, Retrieval
from pegboard.core.errors import StoreError
from pegboard.core.lock import Lock
from pegboard.evaluation.fixtures import Fixture
from pegboard.evaluation.report import Arm as ArmRuns
from pegboard.evaluation.report import report
from pegboard.evaluation.thresholds import read_threshold
from pegboard.service.canaries import exposure, found_in, planted
from pegboard.service.evaluator import Arm, Asked, facts
from pegboard.service.telemetry import Operation
from pegboard.wiring import in_memory
from tests.crm import AGENT, ENTRIES, lock
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
    return await exposure(build, bed, made.catalog.lock_file.read(), made.catalog.deployment, TASKS)


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
    found = await exposure(build, bed, made.catalog.lock_file.read(), made.catalog.deployment, TASKS)
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


def test_what_is_planted_stands_in_every_text_of_a_tool_and_nothing_visible_is_touched():
    (first, second, *rest) = ENTRIES
    made = planted(ENTRIES, Lock.of(), {first.tool_id}, {second.tool_id})
    by_id = {entry.tool_id: entry for entry in made.entries}
    assert [by_id[entry.tool_id] for entry in (second, *rest)] == [second, *rest]
    changed = by_id[first.tool_id]
    texts = [changed.name, changed.title, changed.description, changed.input_schema_json, changed.summary]
    assert all(found_in([text]) for text in [*texts, *changed.examples[-1:], *changed.keywords[-1:]])
    (decoy,) = (entry for entry in made.entries if entry.tool_id not in {one.tool_id for one in ENTRIES})
    assert all(found_in([text]) for text in (decoy.tool_id, decoy.namespace, decoy.source_server, decoy.description))


def test_what_was_granted_to_others_is_granted_with_its_canaries():
    granted = lock(ENTRIES)
    made = planted(ENTRIES, granted, {ENTRIES[0].tool_id}, ())
    assert all(made.lock.grants(one.tool_id, one.schema_hash, one.source_server) for one in made.entries)
