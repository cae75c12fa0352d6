"""API keys: shown once, kept as a digest, good for one role, and ended at once."""

import secrets

import pytest

from pegboard.adapters.memory_audit import MemoryAudit
from pegboard.adapters.memory_keys import MemoryKeys
from pegboard.core.errors import ConfigError, StoreError
from pegboard.service.audit import Audit
from pegboard.service.keys import KeyRole, Keys, digest_of, is_key
from tests.service.made import FixedClock

pytestmark = pytest.mark.anyio


class Dice(FixedClock):
    """A clock whose ids have as many digits as real ones."""

    def new_id(self, prefix: str) -> str:
        return f"{prefix}_{secrets.token_hex(16)}"


class Broken(MemoryAudit):
    """A stream that takes nothing."""

    async def append(self, events):
        raise StoreError("the disk is full")


def made(audit: MemoryAudit | None = None) -> tuple[Keys, MemoryKeys, MemoryAudit, Dice]:
    clock, store, audit = Dice(), MemoryKeys(), audit or MemoryAudit()
    return Keys(store, Audit(audit, clock), clock), store, audit, clock


async def test_a_key_is_found_by_its_whole_secret_and_by_nothing_else():
    keys, _, _, _ = made()
    one = await keys.create("ci", workload="desk", by="dana", role=KeyRole.APPLICATION, scopes=frozenset({"crm.read"}))
    two = await keys.create("cd", workload="desk", by="dana")
    assert await keys.find(one.secret) == one.key
    # The first part of a key only finds its row.
    mixed = one.secret[:-64] + two.secret[-64:]
    for wrong in ("", one.secret[:-1], one.secret + "0", one.secret.upper(), mixed, one.key.digest, "\ud800"):
        assert await keys.find(wrong) is None


async def test_a_key_has_256_random_bits_and_none_of_them_is_kept_or_shown():
    keys, store, audit, _ = made()
    secret = (await keys.create("ci", workload="desk", by="dana")).secret
    assert len(secret.rpartition("_")[2]) == 64
    assert is_key(secret)
    made_again = await keys.create("cd", workload="desk", by="dana")
    kept = repr([await store.keys(), await audit.events(0, 9), made_again])
    assert secret[-64:] not in kept
    assert made_again.secret[-64:] not in kept
    assert {key.digest for key in await store.keys()} == {digest_of(secret), digest_of(made_again.secret)}


async def test_a_key_ends_at_its_time_and_at_once_where_it_is_revoked():
    keys, _, _, clock = made()
    short = await keys.create("short", workload="desk", by="dana", lifetime_s=60)
    long = await keys.create("long", workload="desk", by="dana")
    clock.time += 59.9
    assert await keys.find(short.secret) is not None
    clock.time += 0.1
    assert await keys.find(short.secret) is None
    revoked = await keys.revoke("long", by="pat")
    assert revoked is not None
    assert revoked.revoked_at == clock.time
    assert await keys.find(long.secret) is None
    assert await keys.revoke("long", by="pat") is None


async def test_a_revoked_key_is_ended_though_nobody_can_write_of_it():
    keys, store, _, clock = made()
    secret = (await keys.create("ci", workload="desk", by="dana")).secret
    broken = Keys(store, Audit(Broken(), clock), clock)
    with pytest.raises(StoreError):
        await broken.revoke("ci", by="dana")
    assert await keys.find(secret) is None


async def test_a_name_is_in_use_by_one_key_at_a_time():
    keys, _, _, _ = made()
    await keys.create("ci", workload="desk", by="dana")
    with pytest.raises(ConfigError, match="there is a key 'ci' already"):
        await keys.create("ci", workload="desk", by="dana")
    await keys.revoke("ci", by="dana")
    await keys.create("ci", workload="desk", by="dana")
    assert [(key.name, key.revoked_at is None) for key in await keys.list()] == [("ci", True), ("ci", False)]


async def test_making_and_ending_a_key_is_on_record():
    keys, _, audit, _ = made()
    key = (await keys.create("ci", workload="desk", by="dana", scopes=frozenset({"b", "a"}), lifetime_s=60)).key
    await keys.revoke("ci", by="pat")
    said = {"key_id": key.key_id, "name": "ci", "workload": "desk", "role": "agent", "scopes": ["a", "b"], "by": "dana"}
    assert [(event.kind, event.body) for event in await audit.events(0, 9)] == [
        ("key_made", {**said, "expires_at": 1_060.0}),
        ("key_revoked", {"key_id": key.key_id, "name": "ci", "by": "pat"}),
    ]


@pytest.mark.parametrize(("name", "workload"), [("", "desk"), ("a\nb", "desk"), ("ci", ""), ("ci", "x" * 300)])
async def test_what_can_be_no_name_makes_no_key(name, workload):
    keys, store, _, _ = made()
    with pytest.raises(ConfigError):
        await keys.create(name, workload=workload, by="dana")
    assert await store.keys() == ()
