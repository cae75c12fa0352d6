"""Calls on record: a person settles what nobody knew, and what is old goes when a configuration says how old."""

import pytest

from pegboard.core.catalog import Risk
from pegboard.core.errors import ConfigError, OutcomeUnknownError
from pegboard.engine.approvals import ApprovalRules
from pegboard.engine.ledger import Ended
from pegboard.engine.limits import WINDOWS_S, Limits
from pegboard.service.calls import Outcome
from tests.crm import AGENT
from tests.service.calls import Crm

pytestmark = pytest.mark.anyio

DAY_S = 86_400.0


async def writing(**deployment):
    """A system whose write needs no approval, and the id of one call whose answer was lost."""
    crm = await Crm(**deployment).start()
    await crm.locks("delete_order", Risk.WRITE)
    crm.server.fails("call", OutcomeUnknownError("crm", "it went away"))
    lost = await crm.pays(key="k")
    crm.server.recovers("call")
    return crm, lost.call_id


async def resolves(crm, call_id, outcome, why="the order is gone"):
    return await crm.system.calls.resolve(call_id, outcome, by="dana", why=why)


async def test_what_a_person_found_done_is_not_run_again_under_its_key():
    crm, lost = await writing()
    assert [past.line.call_id for past in await crm.system.calls.unknown(9)] == [lost]
    assert (await resolves(crm, lost, Outcome.DONE)).ended is Ended.DONE
    again = await crm.pays(key="k")
    assert (str(again.verdict.kind), len(crm.server.calls)) == ("allowed", 1)
    assert again.verdict.recorded is not None
    assert await crm.system.calls.unknown(9) == ()


async def test_what_a_person_found_not_done_runs_again_under_its_key():
    crm, lost = await writing()
    assert str((await crm.pays(key="k")).verdict.kind) == "outcome_unknown"
    await resolves(crm, lost, Outcome.NOT_DONE)
    assert (str((await crm.pays(key="k")).verdict.kind), len(crm.server.calls)) == ("allowed", 2)


async def test_who_settled_a_call_and_why_is_in_the_audit():
    crm, lost = await writing()
    await resolves(crm, lost, Outcome.NOT_DONE, why="the order is open still")
    told = {"call_id": lost, "tool_id": "crm.delete_order", "principal": AGENT.principal, "outcome": "not_done"}
    (body,) = [body for kind, body in await crm.audited() if kind == "call_resolved"]
    assert {**told, "by": "dana", "why": "the order is open still"}.items() <= body.items()


async def test_a_call_that_may_still_be_running_is_not_settled_before_its_server_must_have_answered():
    crm, _ = await writing()
    answer = await crm.system.gatekeeper.check(crm.proposed(), AGENT)
    with pytest.raises(ConfigError, match="may still be running"):
        await resolves(crm, answer.call_id, Outcome.NOT_DONE)
    crm.clock.time += 3600 + 119
    with pytest.raises(ConfigError, match="may still be running"):
        await resolves(crm, answer.call_id, Outcome.NOT_DONE)
    crm.clock.time += 1
    assert (await resolves(crm, answer.call_id, Outcome.NOT_DONE)).ended is Ended.NOT_SENT


@pytest.mark.parametrize(
    ("call_id", "why", "problem"),
    [
        ("call_0", "looked", "there is no call 'call_0'"),
        (None, " ", "is said for a reason"),
    ],
)
async def test_what_cannot_be_settled_is_refused_and_nothing_is_written(call_id, why, problem):
    crm, lost = await writing()
    with pytest.raises(ConfigError, match=problem):
        await resolves(crm, call_id or lost, Outcome.DONE, why=why)
    assert [past.line.call_id for past in await crm.system.calls.unknown(9)] == [lost]


async def test_a_call_whose_outcome_is_known_is_not_settled_again():
    crm, lost = await writing()
    await resolves(crm, lost, Outcome.DONE)
    with pytest.raises(ConfigError, match="ended as 'done'"):
        await resolves(crm, lost, Outcome.NOT_DONE)


async def test_old_calls_go_and_what_was_removed_is_in_the_audit():
    crm, lost = await writing(ledger_kept_s=30 * DAY_S)
    done = await crm.call()
    crm.clock.time += 31 * DAY_S
    dry = await crm.system.calls.prune(by="dana", apply=False)
    assert (dry.found.lines, dry.found.unknown) == (1, 1)
    assert (await crm.system.calls.prune(by="dana", apply=True)).found == dry.found
    assert [await crm.system.ledger.call(name) is None for name in (done.call_id, lost)] == [True, False]
    told = {"calls": 1, "approvals": 0, "before": dry.before, "by": "dana"}
    assert [body for kind, body in await crm.audited() if kind == "ledger_pruned"] == [told]
    await crm.system.calls.prune(by="dana", apply=True)
    assert [body for kind, body in await crm.audited() if kind == "ledger_pruned"] == [told]


async def test_a_key_is_good_for_as_long_as_calls_are_kept():
    crm, _ = await writing(ledger_kept_s=30 * DAY_S)
    for days, sent in ((0, 2), (29, 2), (2, 3)):
        crm.clock.time += days * DAY_S
        await crm.system.calls.prune(by="dana", apply=True)
        await crm.pays(key="once")
        assert len(crm.server.calls) == sent


@pytest.mark.parametrize(
    ("rules", "looked_back_s"),
    [
        ({}, max(WINDOWS_S)),
        ({"limits": Limits(repeat_window_s=9 * DAY_S)}, 9 * DAY_S),
        ({"approvals": ApprovalRules(conversation_s=8 * DAY_S)}, 8 * DAY_S),
        ({"ledger_kept_s": 7 * DAY_S}, 7 * DAY_S),
    ],
)
async def test_nothing_goes_that_a_call_is_still_judged_by(rules, looked_back_s):
    crm, _ = await writing(**{"ledger_kept_s": 1.0, **rules})
    now = crm.clock.now()
    assert (await crm.system.calls.prune(by="dana", apply=False)).before == now - looked_back_s


async def test_every_call_is_kept_until_a_configuration_says_how_long():
    crm, _ = await writing()
    with pytest.raises(ConfigError, match="every call is kept"):
        await crm.system.calls.prune(by="dana", apply=True)
