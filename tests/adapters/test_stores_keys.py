"""What every store does with API keys and stated contexts: one contract, run against each of them."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from pegboard.adapters.sqlite import SqliteStore
from pegboard.core.errors import StoreError
from pegboard.service.keys import ApiKey, KeyRole
from pegboard.service.stated import Bound, Stated
from tests.adapters.store_cases import OPEN, Store

KEY = ApiKey(key_id="0a", name="ci", workload="desk", digest="sha256:0a", by="dana", made_at=5.0)
FULL = replace(
    KEY,
    key_id="0b",
    name="ćd",
    role=KeyRole.OPERATOR,
    scopes=frozenset({"b", "a", ""}),
    digest="sha256:0b",
    expires_at=9.5,
)
BOUND = Bound(stated=Stated(stage="reply", flags=frozenset({"b", "a"}), clearance=3), by="app", at=5.0, expires_at=50.0)


@pytest.fixture(params=OPEN)
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    with OPEN[request.param]() as opened:
        yield opened


def test_keys_come_back_as_they_were_kept_the_newest_first(store: Store) -> None:
    async def run() -> None:
        assert await store.keys.keys() == ()
        assert await store.keys.add(KEY)
        assert await store.keys.add(FULL)
        assert await store.keys.add(replace(KEY, key_id="0c", name="none", scopes=frozenset()))
        assert [key.name for key in await store.keys.keys()] == ["none", "ćd", "ci"]
        assert (await store.keys.key("0a"), await store.keys.key("0b")) == (KEY, FULL)
        assert (await store.keys.keys())[0].scopes == frozenset()
        assert await store.keys.key("0d") is None

    anyio.run(run)


@pytest.mark.parametrize("change", [{"key_id": "0d"}, {"name": "other"}])
def test_an_id_and_a_name_in_use_are_taken_once(store: Store, change: dict[str, str]) -> None:
    async def run() -> None:
        await store.keys.add(KEY)
        assert not await store.keys.add(replace(KEY, **change))
        assert await store.keys.keys() == (KEY,)

    anyio.run(run)


def test_a_revoked_key_stays_and_its_name_is_free_again(store: Store) -> None:
    async def run() -> None:
        await store.keys.add(KEY)
        revoked = replace(KEY, revoked_at=7.0)
        assert await store.keys.revoke("ci", 7.0) == revoked == await store.keys.key("0a")
        assert await store.keys.revoke("ci", 8.0) is None
        assert await store.keys.revoke("other", 8.0) is None
        assert await store.keys.add(again := replace(KEY, key_id="0d"))
        assert await store.keys.keys() == (again, revoked)
        assert await store.keys.revoke("ci", 9.0) == replace(again, revoked_at=9.0)
        assert await store.keys.key("0a") == revoked

    anyio.run(run)


@pytest.mark.parametrize("bound", [BOUND, replace(BOUND, stated=Stated())])
def test_a_stated_context_comes_back_for_its_own_credential(store: Store, bound: Bound) -> None:
    async def run() -> None:
        await store.contexts.bind("sha256:1", bound)
        assert await store.contexts.bound("sha256:1") == bound
        assert await store.contexts.bound("sha256:2") is None

    anyio.run(run)


def test_what_is_stated_anew_replaces_the_old_and_drops_what_has_expired(store: Store) -> None:
    async def run() -> None:
        await store.contexts.bind("sha256:1", BOUND)
        await store.contexts.bind("sha256:2", replace(BOUND, expires_at=60.0))
        later = replace(BOUND, stated=Stated(stage="done"), at=50.0, expires_at=90.0)
        await store.contexts.bind("sha256:2", later)
        assert await store.contexts.bound("sha256:2") == later
        assert await store.contexts.bound("sha256:1") is None

    anyio.run(run)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE keys SET role = 'root'",
        "UPDATE keys SET scopes = '{'",
        "UPDATE keys SET scopes = '{}'",
        "UPDATE keys SET scopes = '[7]'",
        "UPDATE keys SET digest = x'00'",
        "UPDATE keys SET expires_at = 'soon'",
        "UPDATE contexts SET flags = '7'",
        "UPDATE contexts SET clearance = 'high'",
        "UPDATE contexts SET expires_at = 9e999",
    ],
)
def test_damage_is_an_error_and_opens_nothing(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "pegboard.db"

    async def keep(store: SqliteStore) -> None:
        await store.keys.add(FULL)
        await store.contexts.bind("sha256:1", BOUND)

    async def read(store: SqliteStore) -> None:
        await store.keys.key("0b")
        await store.contexts.bound("sha256:1")

    with closing(SqliteStore.open(path)) as store:
        anyio.run(keep, store)
    with closing(sqlite3.connect(path)) as connection, connection:
        assert connection.execute(damage).rowcount == 1
    with closing(SqliteStore.open(path)) as store, pytest.raises(StoreError):
        anyio.run(read, store)


def test_another_process_sees_a_revocation_at_once(tmp_path: Path) -> None:
    async def run(one: SqliteStore, two: SqliteStore) -> None:
        await one.keys.add(KEY)
        assert await two.keys.key("0a") == KEY
        await one.keys.revoke("ci", 7.0)
        found = await two.keys.key("0a")
        assert found is not None
        assert found.revoked_at == 7.0

    path = tmp_path / "pegboard.db"
    with closing(SqliteStore.open(path)) as one, closing(SqliteStore.open(path)) as two:
        anyio.run(run, one, two)
