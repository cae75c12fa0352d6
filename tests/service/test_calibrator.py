"""Calibrating: what is learned from labelled tasks, and what is told where it cannot be."""

from dataclasses import replace

import pytest

from pegboard.core.errors import ConfigError
from pegboard.engine.asking import SelectionSettings
from pegboard.engine.records import settings_of, settings_record
from pegboard.evaluation.fixtures import Fixture
from tests.crm import AGENT
from tests.servers import ScriptedToolServer, ScriptedToolServers, tool
from tests.service.made import system

pytestmark = pytest.mark.anyio

THINGS = ("order", "invoice", "ticket", "parcel", "contract", "meeting", "salary", "server", "recipe", "song")
VERBS = ("create", "delete", "find", "export")
TOOLS = [tool(f"{verb}_{thing}", description=f"{verb.title()} one {thing}.") for verb in VERBS for thing in THINGS]
TASKS = [
    Fixture(task_id=f"{verb}-{thing}", task=f"please {verb} the {thing} of today",
            steps=(frozenset({f"crm.{verb}_{thing}"}),))
    for verb in VERBS for thing in THINGS
]  # fmt: skip
IDLE = [Fixture(task_id=f"idle-{n}", task=text) for n, text in enumerate(["tell me a joke", "good morning", "why?"])]


async def ready():
    made = system(ScriptedToolServers(crm=ScriptedToolServer(TOOLS)))
    await made.refresher.refresh()
    await made.keeper.approve([f"crm.{one['name']}" for one in TOOLS], access="sales", by="tests")
    return made


async def test_tasks_with_and_without_their_tool_teach_what_fits():
    made = await ready()
    report = await made.calibrator.calibrate([*TASKS, *IDLE], lambda fixture: AGENT)
    assert (report.tasks, report.answerable) == (43, 40)
    assert report.unanswerable >= 40
    assert report.kept > 0.8
    assert report.calibration.channels == ("static",)


async def test_a_calibration_is_part_of_the_settings_that_replay_reads():
    made = await ready()
    calibration = (await made.calibrator.calibrate(TASKS, lambda fixture: AGENT)).calibration
    settings = SelectionSettings(calibration=calibration)
    assert settings_of(settings_record(settings)) == settings


async def test_a_task_that_cannot_be_learned_from_is_left_out_with_its_reason():
    made = await ready()
    odd = [
        Fixture(task_id="unknown", task="x", steps=(frozenset({"crm.nothing"}),)),
        Fixture(task_id="elsewhere", task="x", candidates=frozenset({"crm.nothing"})),
    ]
    report = await made.calibrator.calibrate([*TASKS, *odd], lambda fixture: AGENT)
    assert [task_id for task_id, reason in report.skipped if reason] == ["unknown", "elsewhere"]


async def test_too_few_tasks_are_said_and_nothing_is_made_up():
    made = await ready()
    with pytest.raises(ConfigError, match="too few"):
        await made.calibrator.calibrate(TASKS[:3], lambda fixture: AGENT)
    nobody = replace(AGENT, servers=frozenset())
    with pytest.raises(ConfigError, match="too few"):
        await made.calibrator.calibrate(TASKS, lambda fixture: nobody)
