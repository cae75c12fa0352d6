"""A shadow changes nothing for anyone: not an answer, not a wait, not a failure. And it says what was missed."""

from dataclasses import replace

import pytest

from pegboard.core.errors import StoreError
from pegboard.engine.guards import Guards
from pegboard.engine.rollout import place, setting_of
from pegboard.engine.verdict import Verdict, VerdictKind
from pegboard.service import shadow as module
from pegboard.service.answering import CallAnswer
from pegboard.service.selector import Request
from tests.crm import AGENT
from tests.service.calls import Crm

pytestmark = pytest.mark.anyio

READ = Request(tasks=("read an order",), limit=1)


class Down:
    """A store of rollouts that is down, and counts who asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __getattr__(self, name: str):
        async def fail(*_: object, **__: object) -> None:
            self.asked += 1
            raise StoreError(problem="the store is down", where="here", fix="wait")

        return fail


@pytest.fixture
async def crm():
    return await Crm().start()


async def asks(crm, number=1, **more):
    names = [crm.clock.new_id("sel") for _ in range(number)]
    for name in names:
        crm.system.shadow.ask(name, READ, AGENT, **more)
    return names


async def test_a_shadow_is_compared_with_what_was_really_called(crm):
    hit, miss = await asks(crm, 2, listed=["crm.get_order", "crm.delete_order", "crm.unheard_of"])
    crm.system.observer.called(hit, "crm.get_order")
    crm.system.observer.called(miss, "crm.delete_order")
    found = await crm.system.shadow.report()
    assert (found["selections"], found["calls"]) == (2, 2)
    assert found["recall"] == {"value": 0.5, "low": 0.0945, "high": 0.9055, "n": 2, "reason": None}
    assert found["missed"] == [{"tool_id": "crm.delete_order", "calls": 1}]
    assert found["tokens"]["offered"] < found["tokens"]["listed"]
    (row,) = found["namespaces"]
    assert (row["namespace"], row["setting"], row["recall"]["n"]) == ("crm", "live", 2)


async def test_what_production_lists_and_policy_denies_is_counted(crm):
    stranger = replace(AGENT, scopes=frozenset())
    crm.system.shadow.ask("sel_x", READ, stranger, ["crm.get_order", "crm.delete_order"])
    found = await crm.system.shadow.report()
    assert (found["exposed"], found["production_exposed"]) == (0, 2)
    assert found["namespaces"][0]["production_exposed"] == 2


async def test_where_nothing_was_called_there_is_a_reason_and_no_number(crm):
    await asks(crm)
    found = await crm.system.shadow.report()
    assert found["recall"] == {"value": None, "low": None, "high": None, "n": 0, "reason": "nothing was called"}
    assert (found["production_exposed"], found["tokens"]["listed"]) == (None, None)


async def test_what_is_off_is_not_observed(crm):
    await crm.system.rollouts.change("crm", setting_of("off"), by="dana", why="a test")
    (name,) = await asks(crm, listed=["crm.get_order"])
    crm.system.observer.called(name, "crm.get_order")
    found = await crm.system.shadow.report()
    assert (found["calls"], found["namespaces"]) == (0, [])


async def test_only_a_sample_is_observed_and_its_calls_with_it():
    crm = await Crm(guards=Guards(sample=0.5)).start()
    names = await asks(crm, 40)
    for name in names:
        crm.system.observer.called(name, "crm.get_order")
    found = await crm.system.shadow.report()
    assert 0 < found["selections"] == found["calls"] == sum(place(name) < 0.5 for name in names) < 40


async def test_what_there_is_no_room_for_is_dropped_and_counted(crm):
    await asks(crm, module.ROOM + 3)
    assert crm.system.shadow.dropped == 3
    assert (await crm.system.shadow.report())["selections"] == module.ROOM


async def test_a_task_of_any_length_costs_no_more_than_one_that_a_person_wrote(crm):
    for length in (module.LONGEST, module.LONGEST + 1):
        crm.system.shadow.ask(crm.clock.new_id("sel"), Request(tasks=("x" * length,)), AGENT)
    assert (crm.system.shadow.dropped, (await crm.system.shadow.report())["selections"]) == (1, 1)


async def test_a_selection_that_fails_is_dropped_and_counted(crm):
    crm.system.rollouts.store = Down()
    await asks(crm, 2)
    with pytest.raises(StoreError):
        await crm.system.shadow.report()
    assert crm.system.shadow.dropped == 2


async def test_production_is_not_touched_by_a_store_that_is_down(crm):
    crm.system.rollouts.store = down = Down()
    (name,) = await asks(crm)
    crm.system.observer.called(name, "crm.get_order")
    assert down.asked == 0, "nothing waits for the store"


async def test_a_shadow_gives_nobody_anything(crm):
    await crm.system.flush()
    before = dict(crm.system.store._selections)
    (name,) = await asks(crm)
    await crm.system.flush()
    assert crm.system.store._selections == before
    assert str((await crm.call("crm.get_order", selection=name)).verdict.kind) == "unknown_or_denied"


async def test_a_trace_says_on_which_side_it_was_and_still_replays(crm):
    await crm.system.rollouts.change("crm", setting_of("shadow"), by="dana", why="a test")
    selection, _ = await crm.system.selector.select(READ, AGENT)
    await crm.system.flush()
    trace = await crm.system.traces.one(selection.trace_id)
    assert trace["rollout"] == {"number": 1, "production": ["crm"]}
    assert [one["tool_id"] for one in trace["tools"]] == ["crm.get_order"]
    (again,) = await crm.system.replayer.replay([selection.trace_id])
    assert again.equal


async def test_neither_answer_nor_trace_tells_of_namespaces_that_a_caller_has_no_tool_of(crm):
    await crm.system.rollouts.change("*", setting_of("shadow"), by="dana", why="a test")
    stranger = replace(AGENT, scopes=frozenset())
    selection, _ = await crm.system.selector.select(READ, stranger)
    await crm.system.flush()
    assert selection.production == ()
    assert "crm" not in str({**await crm.system.traces.one(selection.trace_id), "context": None})


async def test_a_served_caller_that_asks_for_what_it_was_not_offered_is_a_miss(crm):
    await crm.system.rollouts.change("crm", setting_of("canary=0.999999"), by="dana", why="a test")
    selection, _ = await crm.system.selector.select(READ, AGENT)
    call = crm.proposed("crm.delete_order", {}, selection.selection_id)
    answer = await crm.system.gatekeeper.call(call, AGENT)
    crm.system.observer.answered(call.selection_id, call, answer, AGENT, sent=True)
    assert (await crm.system.shadow.report())["missed"] == [{"tool_id": "crm.delete_order", "calls": 1}]
    found = {one.name: one.value for one in await crm.system.rollouts.measured("crm")}
    assert (found["recall"], found["validity"]) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("kind", "valid"),
    [
        (VerdictKind.ALLOWED, True),
        (VerdictKind.OUTCOME_UNKNOWN, True),
        (VerdictKind.UNKNOWN_OR_DENIED, False),
        (VerdictKind.STALE_SCHEMA, False),
        (VerdictKind.INVALID_ARGUMENTS, False),
        (VerdictKind.LIMIT_EXCEEDED, None),
        (VerdictKind.APPROVAL_REQUIRED, None),
        (VerdictKind.UNAVAILABLE, None),
    ],
)
async def test_what_a_verdict_says_of_the_offer_and_what_of_the_caller_alone(crm, kind, valid):
    (name,) = await asks(crm)
    answer = CallAnswer(verdict=Verdict(kind=kind, tool_id="crm.get_order"), trace_id="tr", result={})
    crm.system.observer.answered(name, crm.proposed(), answer, AGENT, sent=True)
    await crm.system.flush()
    (_, call) = sorted(await crm.system.store.rollout.observed(0.0, 9), key=lambda one: one["kind"] == "call")
    completed = None if not valid else kind is VerdictKind.ALLOWED
    assert (call["valid"], call["completed"]) == (valid, completed)


async def test_a_call_of_a_tool_that_the_caller_may_not_use_is_nobodys_label(crm):
    (name,) = await asks(crm)
    stranger = replace(AGENT, scopes=frozenset())
    call = crm.proposed()
    crm.system.observer.answered(name, call, await crm.system.gatekeeper.call(call, stranger), stranger, sent=True)
    assert (await crm.system.shadow.report())["calls"] == 0


async def test_until_anything_is_set_or_shadowed_no_call_is_observed(crm):
    answer = await crm.call()
    call = crm.proposed()
    crm.system.observer.answered(call.selection_id, call, answer, AGENT, sent=True)
    crm.system.observer.ended("call_1", "done")
    await crm.system.flush()
    assert await crm.system.store.rollout.observed(0.0, 9) == ()


async def test_traces_are_written_although_observations_cannot_be(crm):
    crm.system.rollouts.store = Down()
    await asks(crm)
    await crm.system.writer.put("tr_x", 1.0, b"{}", keep=False)
    crm.system.observer.called("sel_x", "crm.get_order")
    with pytest.raises(StoreError):
        await crm.system.flush()
    assert await crm.system.store.trace("tr_x") == b"{}"


async def test_a_conversation_may_be_called_anything(crm):
    await crm.system.rollouts.change("crm", setting_of("canary=0.5"), by="dana", why="a test")
    await crm.system.selector.select(READ, AGENT, "c\ud800")
    crm.system.observer.called("sel\ud800", "crm\ud800")
    await crm.system.flush()
