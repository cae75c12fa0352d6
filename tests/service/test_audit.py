"""The operators' stream: what is on it, in which order, and that nothing of it can be changed unseen."""

from dataclasses import replace

import pytest

from pegboard.adapters.memory_audit import MemoryAudit
from pegboard.core.errors import ConfigError, StoreError
from pegboard.core.policy import Reason
from pegboard.service.audit import BATCHED, LONGEST, MOST, Audit, AuditKind
from tests.servers import ScriptedToolServer, ScriptedToolServers, tool
from tests.service.made import FixedClock, system

pytestmark = pytest.mark.anyio


class FailingAudit(MemoryAudit):
    """A stream that takes nothing until it is told to."""

    broken = True

    async def append(self, events):
        if self.broken:
            raise StoreError("the disk is full")
        return await super().append(events)


def made(store=None):
    store = store or MemoryAudit()
    return Audit(store, FixedClock()), store


@pytest.mark.parametrize("kind", [kind for kind in AuditKind if kind not in BATCHED])
async def test_an_act_is_on_record_when_its_recording_returns(kind):
    audit, store = made()
    await audit.record(kind, by="dana")
    assert [(one.kind, one.body) for one in await store.events(0, 9)] == [(kind, {"by": "dana"})]


async def test_an_act_that_cannot_be_recorded_says_so():
    audit, _ = made(FailingAudit())
    with pytest.raises(StoreError):
        await audit.record(AuditKind.HALT, target="all")


async def test_denials_are_written_behind_and_stand_before_the_act_that_follows_them():
    audit, store = made()
    await audit.record(AuditKind.DENIAL, tool_id="crm.pay")
    await audit.record(AuditKind.DENIAL, tool_id="crm.refund")
    assert await store.events(0, 9) == ()
    await audit.record(AuditKind.HALT, target="crm.pay")
    assert [one.kind for one in await store.events(0, 9)] == ["denial", "denial", "halt"]


async def test_a_denial_that_cannot_be_recorded_stays_a_denial_and_is_counted():
    store = FailingAudit()
    audit, _ = made(store)
    await audit.record(AuditKind.DENIAL, tool_id="crm.pay")
    for _ in range(3):
        with pytest.raises(StoreError):
            await audit.flush()
    with pytest.raises(StoreError):
        await audit.record(AuditKind.HALT, target="all")
    store.broken = False
    await audit.record(AuditKind.DENIAL, tool_id="crm.refund")
    await audit.record(AuditKind.HALT, target="all")
    assert [(one.kind, dict(one.body)) async for one in audit.events()] == [
        ("events_lost", {"count": 1}),
        ("denial", {"tool_id": "crm.refund"}),
        ("halt", {"target": "all"}),
    ]


@pytest.mark.parametrize(
    ("said", "written"),
    [
        (Reason.SCOPE, "scopes"),
        (frozenset({"b", "a"}), ["a", "b"]),
        ((Reason.SCOPE, None), ["scopes", None]),
        ("\ud800" + "x" * LONGEST, "?" + "x" * (LONGEST - 1)),
        (float("nan"), "nan"),
        (list(range(MOST + 5)), [*range(MOST), "… and 5 more"]),
        ({"a": True}, {"a": True}),
    ],
)
async def test_a_field_is_written_as_json_and_no_longer_than_it_may_be(said, written):
    audit, store = made()
    await audit.record(AuditKind.HALT, field=said)
    assert (await store.events(0, 9))[0].body == {"field": written}


def changed(events):
    events[1] = replace(events[1], body={"target": "crm.other"})


def rewritten(events):
    events[1] = replace(events[1], kind="resume")


def moved(events):
    events[1] = replace(events[1], at=0.0)


def left_out(events):
    del events[1]


@pytest.mark.parametrize("damage", [changed, rewritten, moved, left_out])
async def test_what_is_changed_or_left_out_breaks_the_chain(damage):
    audit, store = made()
    for target in ("a", "b", "c"):
        await audit.record(AuditKind.HALT, target=target)
    good = await audit.verify()
    assert (good.events, good.broken) == (3, ())
    assert good.last == (await store.events(2, 1))[0].hash
    damage(store._events)
    assert (await audit.verify()).broken


async def test_a_change_of_the_lock_is_on_record_with_its_approver():
    made = system(ScriptedToolServers(crm=ScriptedToolServer([tool("pay"), tool("get_order")])))
    await made.refresher.refresh()
    await made.keeper.approve(["crm.pay"], access="sales", by="dana")
    await made.keeper.replace(made.keeper.show().without(["crm.pay"]))
    found = [dict(one.body) async for one in made.audit.events() if one.kind == AuditKind.LOCK_CHANGED]
    assert found == [
        {"added": {"crm.pay": "dana"}, "changed": {}, "removed": []},
        {"added": {}, "changed": {}, "removed": ["crm.pay"]},
    ]


async def test_every_published_version_and_every_rollback_is_on_record():
    crm = ScriptedToolServer([tool("pay")])
    made = system(ScriptedToolServers(crm=crm))
    await made.refresher.refresh()
    await made.keeper.approve(["crm.pay"], access="sales", by="dana")
    await made.catalog.rollback(1, by="dana")
    published = {one.body["version"] async for one in made.audit.events() if one.kind == AuditKind.CATALOG_PUBLISHED}
    assert published == {head.version for head in await made.catalog.snapshots.versions()}
    rolled = [one async for one in made.audit.events() if one.kind == AuditKind.CATALOG_ROLLED_BACK]
    assert [(one.body["to"], one.body["by"]) for one in rolled] == [(1, "dana")]


DAY_S = 86_400.0


async def aged(days=4):
    """A stream with one event a day, the last of them now."""
    audit, store = made()
    for day in range(days):
        audit._clock.time = 1_000.0 + day * DAY_S
        await audit.record(AuditKind.HALT, target=str(day))
    return audit, store


async def test_what_is_old_is_said_first_and_removed_then_and_the_chain_still_holds():
    audit, store = await aged()
    dry = await audit.prune(1.5 * DAY_S, by="dana", apply=False)
    assert dry.to_json() == {"applied": False, "before": "1970-01-02T12:16:40Z", "events": 2, "through": 2}
    assert len(await store.events(0, 9)) == 4
    assert (await audit.prune(1.5 * DAY_S, by="dana", apply=True)).events == 2
    assert [one.number for one in await store.events(0, 9)] == [3, 4, 5]
    last = (await store.events(4, 1))[0]
    assert (last.kind, last.body["through"], last.body["by"]) == ("audit_pruned", 2, "dana")
    found = await audit.verify()
    assert (found.good, found.events, found.pruned) == (True, 3, 2)


async def test_what_was_pruned_may_be_pruned_again():
    audit, store = await aged()
    for day in (4, 5, 6):
        audit._clock.time = 1_000.0 + day * DAY_S
        await audit.prune(DAY_S, by="dana", apply=True)
        assert (await audit.verify()).good
    assert [one.kind for one in await store.events(0, 9)] == ["audit_pruned"] * 2


async def test_where_nothing_is_old_nothing_is_written():
    audit, store = await aged()
    assert (await audit.prune(9 * DAY_S, by="dana", apply=True)).through is None
    assert len(await store.events(0, 9)) == 4


async def test_every_event_is_kept_until_a_configuration_says_how_long():
    audit, _ = await aged()
    with pytest.raises(ConfigError, match="every event is kept"):
        await audit.prune(None, by="dana", apply=True)


async def test_a_prune_that_was_interrupted_before_it_removed_anything_leaves_a_whole_chain():
    audit, store = await aged()
    store.forget = no_forget
    with pytest.raises(StoreError):
        await audit.prune(1.5 * DAY_S, by="dana", apply=True)
    assert (await audit.verify()).good


async def no_forget(through):
    raise StoreError("the disk is full")


def unsaid(events):
    del events[:1]


def said_of_another(events):
    unsaid(events)
    events[-1] = replace(events[-1], body={**events[-1].body, "hash": "0" * 64})


@pytest.mark.parametrize("damage", [unsaid, said_of_another])
async def test_a_beginning_that_is_missing_without_its_word_is_found(damage):
    audit, store = await aged()
    await audit.prune(1.5 * DAY_S, by="dana", apply=True)
    damage(store._events)
    assert not (await audit.verify()).good


async def test_that_the_newest_were_cut_off_shows_against_a_hash_that_was_kept_elsewhere():
    audit, store = await aged()
    kept = (await audit.verify()).last
    del store._events[-1:]
    assert ((await audit.verify()).good, (await audit.verify()).found) == (True, None)
    assert ((await audit.verify(kept)).good, (await audit.verify(kept)).found) == (False, False)


async def test_a_hash_that_was_kept_elsewhere_is_found_however_much_was_written_or_pruned_since():
    audit, _ = await aged(2)
    kept = (await audit.verify()).last
    assert (await audit.verify(kept)).found
    audit._clock.time += 2 * DAY_S
    await audit.record(AuditKind.HALT, target="all")
    assert (await audit.verify(kept)).found
    await audit.prune(DAY_S, by="dana", apply=True)
    assert (await audit.verify(kept)).good
