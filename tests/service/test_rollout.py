"""A release, namespace by namespace: what a promotion needs, and how a breach is taken back."""

import pytest

from pegboard.core.catalog import Risk
from pegboard.core.errors import ConfigError
from pegboard.engine.guards import GUARDS, OFFER, Guards
from pegboard.engine.ledger import Ended
from pegboard.engine.rollout import WHOLE, place, setting_of
from pegboard.service import rollout as module
from pegboard.service.observer import LOOK_EVERY_S
from pegboard.service.rollout import READS_FIRST, Rollouts
from pegboard.service.selector import Request
from tests.crm import AGENT, ids, schema
from tests.servers import ScriptedToolServer, ScriptedToolServers, tool
from tests.service.calls import GET, PAY, Crm
from tests.service.made import system

pytestmark = pytest.mark.anyio

DAY_S = 86_400.0
FEW = Guards(samples=5, recall=0.8, validity=0.8, latency=0.8, completion=0.8)
READ = Request(tasks=("read an order",), limit=1)
WAIVED = {"validity": "nobody is served yet", "completion": "nobody is served yet"}
TOOLS = {"crm": "delete_order", "billing": "get_order"}


@pytest.fixture
async def crm():
    made = await Crm(guards=FEW).start()
    await made.locks("delete_order", Risk.READ)
    return made


async def sets(crm, setting, namespace="crm", **more):
    crm.clock.time += 1.0
    return await crm.system.rollouts.change(namespace, setting_of(setting), by="dana", why="a test", **more)


async def shadows(crm, times, tool="crm.get_order"):
    """Production answers so many requests by calling *tool*, with a shadow beside each."""
    for _ in range(times):
        crm.clock.time += 1.0
        name = crm.clock.new_id("sel")
        crm.system.shadow.ask(name, READ, AGENT, ("crm.get_order",))
        crm.system.observer.called(name, tool)
        await crm.system.shadow.flush()


async def works(crm, times, conversation, arguments=None):
    """A conversation selects and calls so many times."""
    for _ in range(times):
        crm.clock.time += LOOK_EVERY_S
        selection, _ = await crm.system.selector.select(READ, AGENT, conversation)
        call = crm.proposed("crm.get_order", arguments, selection.selection_id, conversation=conversation)
        answer = await crm.system.gatekeeper.call(call, AGENT)
        crm.system.observer.answered(call.selection_id, call, answer, AGENT, sent=True)
        await crm.system.observer.flush()


async def test_where_nothing_was_ever_set_everything_is_live(crm):
    selection, _ = await crm.system.selector.select(READ, AGENT, "c1")
    assert (selection.production, ids(selection)) == ((), ["crm.get_order"])
    await crm.system.flush()
    assert await crm.system.store.rollout.observed(0.0, 9) == ()


async def test_to_serve_fewer_needs_nothing_but_a_reason(crm):
    for setting in ("canary=0.5", "shadow", "off", "shadow"):
        assert (await sets(crm, setting)).change is not None
    with pytest.raises(ConfigError, match="needs a reason"):
        await crm.system.rollouts.change("crm", setting_of("off"), by="dana", why=" ")


async def test_a_promotion_without_samples_is_stopped_and_says_by_what(crm):
    await sets(crm, "shadow")
    found = await sets(crm, "canary=0.5")
    assert found.change is None
    assert set(found.problems) == {"exposure", "recall", "validity", "latency", "completion"}
    assert found.problems["recall"] == "recall has 0 of 5 samples"
    assert str((await crm.system.rollouts.current()).setting("crm")) == "shadow"


async def test_what_has_no_samples_can_be_waived_with_a_reason_that_is_kept(crm):
    await sets(crm, "shadow")
    await shadows(crm, 5)
    assert set((await sets(crm, "canary=0.5")).problems) == {"validity", "completion"}
    found = await sets(crm, "canary=0.5", waived=WAIVED)
    assert found.change.evidence["waived"] == WAIVED
    assert {one["measure"]: one["n"] for one in found.change.evidence["guards"]}["recall"] == 5


async def test_what_was_measured_and_is_too_low_cannot_be_waived(crm):
    await sets(crm, "shadow")
    await shadows(crm, 3)
    await shadows(crm, 2, tool="crm.delete_order")
    found = await sets(crm, "canary=0.5", waived={**WAIVED, "recall": "we know"})
    assert (found.change, dict(found.problems)) == (None, {"recall": "recall is 60.0% of 5, below 80.0%"})


@pytest.mark.parametrize(
    ("namespace", "waived", "problem"),
    [
        ("crn", {}, "there is no namespace 'crn'"),
        ("crm", {"recal": "x"}, "'recal' is no guard"),
        ("crm", {"recall": " "}, "needs a reason"),
    ],
)
async def test_a_slip_of_the_pen_is_refused(crm, namespace, waived, problem):
    with pytest.raises(ConfigError, match=problem):
        await sets(crm, "shadow", namespace, waived=waived)
    assert await crm.system.rollouts.history() == ()


async def test_everything_of_which_nothing_is_said_can_be_set_at_once(crm):
    assert (await sets(crm, "shadow", WHOLE)).change is not None
    selection, _ = await crm.system.selector.select(READ, AGENT)
    assert (selection.production, ids(selection)) == (("crm",), [])


async def test_what_a_conversation_has_loaded_of_a_namespace_that_was_taken_back_is_withdrawn(crm):
    loaded = Request(tasks=("get an order",), loaded=("crm.get_order", "crm.nothing"))
    before, _ = await crm.system.selector.select(loaded, AGENT)
    await sets(crm, "shadow")
    after, _ = await crm.system.selector.select(loaded, AGENT)
    assert [one.withdraw for one in (before, after)] == [("crm.nothing",), ("crm.nothing", "crm.get_order")]


async def test_of_namespaces_left_to_production_calls_need_no_selection_and_are_judged(crm):
    call = crm.proposed("crm.delete_order", {}, "sel_none")
    assert str((await crm.system.gatekeeper.check(call, AGENT)).verdict.kind) == "unknown_or_denied"
    await sets(crm, "shadow")
    call = crm.proposed("crm.delete_order", {}, None)
    assert str((await crm.system.gatekeeper.check(call, AGENT)).verdict.kind) == "allowed"


async def test_a_conversation_stays_on_its_side_when_more_is_served(crm):
    await sets(crm, "shadow")
    before, _ = await crm.system.selector.select(READ, AGENT, "c1")
    await shadows(crm, 5)
    assert (await sets(crm, "live", waived=WAIVED)).change is not None
    after, _ = await crm.system.selector.select(READ, AGENT, "c1")
    other, _ = await crm.system.selector.select(READ, AGENT, "c2")
    assert [one.production for one in (before, after, other)] == [("crm",), ("crm",), ()]


async def test_calls_of_applications_that_run_tools_themselves_end_when_they_report(crm):
    await sets(crm, "canary=0.999999")
    selection, _ = await crm.system.selector.select(READ, AGENT, "c1")
    call = crm.proposed("crm.get_order", None, selection.selection_id)
    answer = await crm.system.gatekeeper.check(call, AGENT)
    crm.system.observer.answered(call.selection_id, call, answer, AGENT, sent=False)
    crm.system.observer.ended(answer.call_id, Ended.ERROR)
    await crm.system.observer.flush()
    found = {one.name: (one.value, one.n) for one in await crm.system.rollouts.measured("crm")}
    assert (found["validity"], found["completion"]) == ((1.0, 1), (0.0, 1))


async def test_a_namespace_that_writes_waits_for_those_that_only_read():
    servers = {name: ScriptedToolServer([tool(each, description="An order.")]) for name, each in TOOLS.items()}
    made = system(ScriptedToolServers(**servers))
    await made.refresher.refresh()
    await made.keeper.approve([f"{server}.{name}" for server, name in TOOLS.items()], access="sales", by="tests")
    every = dict.fromkeys((one.name for one in GUARDS), "a test")

    async def problems(namespace: str, setting: str = "live", **waived: str) -> dict[str, str]:
        found = await made.rollouts.change(
            namespace, setting_of(setting), by="dana", why="a test", waived={**every, **waived}
        )
        return dict(found.problems)

    await problems(WHOLE, "shadow")
    assert await problems("crm") == {READS_FIRST: "reads come first: billing"}
    assert await problems("crm", "canary=0.1", reads_first="the same people look at both") == {}
    assert await problems("billing") == {}
    assert await problems("crm") == {}


async def test_a_change_holds_on_every_replica_from_the_next_request_on(crm):
    replica = Rollouts(crm.system.store.rollout, crm.system.catalog)
    assert await replica.sides(AGENT) is None
    await sets(crm, "shadow")
    assert not (await replica.sides(AGENT)).serves("crm")


async def test_of_two_replicas_that_find_the_same_breach_one_takes_back(crm):
    replica = Rollouts(crm.system.store.rollout, crm.system.catalog)
    await sets(crm, "canary=0.7")
    crm.clock.time += 1.0
    selection, _ = await crm.system.selector.select(READ, AGENT, "c1")
    for _ in range(2):
        crm.system.observer.called(selection.selection_id, "crm.get_order", valid=False)
    crm.system.observer._looked_at = crm.clock.time
    await crm.system.observer._batches.flush()
    assert len(await replica.history()) == 1
    made = [*await crm.system.rollouts.guard(), *await replica.guard()]
    assert [str(one.setting) for one in made] == ["shadow"]
    assert len(await replica.history()) == 2


def elsewhere(number):
    """Offers of another namespace, as many as a busy hour brings."""
    offer = {"kind": OFFER, "ms": 1.0, "offered": {"mail.send": "mail"}, "served": ["mail"], "exposed": []}
    listed = {"tokens": 1, "listed": None, "listed_tokens": None, "listed_denied": {}}
    return [(1_000.0, {**offer, **listed, "at": 1_000.0, "selection_id": f"sel_x{n}"}) for n in range(number)]


async def test_a_quiet_namespace_is_guarded_however_much_is_observed_of_others(crm):
    await sets(crm, "canary=0.7")
    await works(crm, 1, "c1", arguments={"id": 7})
    await crm.system.store.rollout.observe(elsewhere(1_500))
    await works(crm, 1, "c1", arguments={"id": 7})
    *_, last = await crm.system.rollouts.history()
    assert (last.by, last.why) == ("guard", "validity: 2 of the newest 2 samples are bad")


async def test_a_small_canary_is_guarded_beside_many_callers_that_are_not_in_it(crm):
    await sets(crm, "canary=0.7")
    outside = next(name for name in map(str, range(99)) if place(name) >= 0.7)
    for _ in range(2):
        await works(crm, 8, outside)
        await works(crm, 1, "c1", arguments={"id": 7})
    assert [one.by for one in await crm.system.rollouts.history()] == ["dana", "guard"]


async def test_what_was_counted_before_a_namespace_was_set_anew_is_not_held_against_it(crm):
    await sets(crm, "canary=0.7")
    await works(crm, 1, "c1", arguments={"id": 7})
    await sets(crm, "canary=0.695")
    await works(crm, 1, "c1", arguments={"id": 7})
    assert {one.name: one.n for one in await crm.system.rollouts.measured("crm")}["validity"] == 1
    assert [one.by for one in await crm.system.rollouts.history()] == ["dana", "dana"]


async def test_what_a_namespace_inside_decides_for_itself_is_not_held_against_the_one_around_it(crm):
    await sets(crm, "canary=0.7", WHOLE)
    await sets(crm, "canary=0.7")
    await works(crm, 2, "c1", arguments={"id": 7})
    assert [(one.by, one.namespace) for one in await crm.system.rollouts.history()][2:] == [("guard", "crm")]


async def test_of_one_selection_only_the_first_calls_count(crm, monkeypatch):
    monkeypatch.setattr(module, "JOINED", 2)
    await sets(crm, "canary=0.7")
    selection, _ = await crm.system.selector.select(READ, AGENT, "c1")
    for _ in range(5):
        crm.system.observer.called(selection.selection_id, "crm.get_order", valid=False)
    await crm.system.observer.flush()
    assert [one.by for one in await crm.system.rollouts.history()] == ["dana"]


async def test_what_is_written_last_is_looked_at_too(crm):
    await sets(crm, "canary=0.7")
    selection, _ = await crm.system.selector.select(READ, AGENT, "c1")
    crm.system.observer._looked_at = crm.clock.time
    for _ in range(2):
        crm.system.observer.called(selection.selection_id, "crm.get_order", valid=False)
    await crm.system.observer.flush()
    assert [one.by for one in await crm.system.rollouts.history()] == ["dana", "guard"]


async def test_a_scripted_week(crm):
    """Shadow, canary, a regression, and the demotion that nobody had to ask for: all of it is in the history."""
    await sets(crm, "shadow")  # Monday
    await shadows(crm, 5)

    crm.clock.time += DAY_S  # Tuesday
    assert (await sets(crm, "canary=0.7", waived=WAIVED)).change is not None
    inside, outside = "c1", next(name for name in map(str, range(99)) if place(name) >= 0.7)
    sides = {name: await crm.system.rollouts.sides(AGENT, name) for name in (inside, outside)}
    assert [sides[name].serves("crm") for name in (inside, outside)] == [True, False]
    await works(crm, 5, inside)
    assert await crm.system.rollouts.guard() == ()

    crm.clock.time += 2 * DAY_S  # Thursday: the server renames an argument, and who calls goes on as before
    crm.server.lists([{**GET, "inputSchema": schema("number", number="Order number")}, PAY])
    await crm.system.refresher.refresh()
    await crm.system.keeper.approve(["crm.get_order"], access="sales", by="dana")
    await works(crm, 2, inside)
    selection, _ = await crm.system.selector.select(READ, AGENT, inside)
    assert selection.production == ("crm",), "taken back at once, over the conversation's side"

    history = [(one.by, str(one.was), str(one.setting)) for one in await crm.system.rollouts.history()]
    assert history == [
        ("dana", "live", "shadow"),
        ("dana", "shadow", "canary=0.7"),
        ("guard", "canary=0.7", "shadow"),
    ]
    *_, last = await crm.system.rollouts.history()
    assert (last.automatic, last.why) == (True, "validity: 2 of the newest 5 samples are bad")
    told = [one.kind async for one in crm.system.audit.events() if one.kind.startswith("rollout")]
    assert told == ["rollout_changed", "rollout_changed", "rollout_demoted"]
