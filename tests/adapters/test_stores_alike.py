"""Two stores, one in dictionaries and one in a file, answer whatever they are asked in turn alike."""

from dataclasses import replace
from typing import Any

import anyio
from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.catalog import with_row
from pegboard.core.errors import StoreError
from pegboard.core.lock import Lock
from pegboard.core.snapshot import Snapshot
from tests.adapters.store_cases import HALT, LIST, SELECTION, SEND, Store, listing, memory_store, sqlite_store
from tests.strategies import cases, lock_line

# What two stores are asked in turn. An oracle in another form: the dictionaries against the file.
_names = st.sampled_from(["a", "b", "c"])
_found = st.lists(
    st.sampled_from([LIST, SEND, with_row(LIST, summary="Lists.")]), max_size=2, unique_by=lambda e: e.tool_id
)
_steps = st.one_of(
    st.tuples(st.just("publish"), st.integers(1, 3), _found),
    st.tuples(st.just("list"), _found, st.sampled_from([(), ("crm",), ("mail",)])),
    st.tuples(st.just("halt"), _names),
    st.tuples(st.just("resume"), _names),
    st.tuples(st.just("lock"), _found),
    st.tuples(st.just("keep"), _names, st.binary(max_size=3)),
    st.tuples(st.just("select"), _names),
    st.tuples(st.just("trace"), st.lists(_names, max_size=3)),
)


@given(st.lists(_steps, max_size=10))
@cases(40, 1000)
def test_both_stores_answer_alike(steps: list[tuple[Any, ...]]) -> None:
    with memory_store() as one, sqlite_store() as two:
        for step in steps:
            assert anyio.run(_answer, one, step) == anyio.run(_answer, two, step)
        assert anyio.run(_everything, one) == anyio.run(_everything, two)


async def _answer(store: Store, step: tuple[Any, ...]) -> Any:
    try:
        return await _ask(store, *step)
    except StoreError:
        # The words differ where a file's own constraint refuses; that it is refused does not.
        return StoreError


async def _ask(store: Store, verb: str, *given: Any) -> Any:
    match verb, given:
        case "publish", (number, found):
            listings = [listing(entry) for entry in found]
            return await store.publish(Snapshot.of(number, found), by="x", at=1.0, listings=listings)
        case "list", (found, gone):
            return await store.keep_listings([listing(entry) for entry in found], gone=gone)
        case "halt", (name,):
            return await store.halt(replace(HALT, target=name))
        case "resume", (name,):
            return await store.resume(name)
        case "lock", (found,):
            return await store.lock_version(Lock.of(map(lock_line, found)), at=1.0)
        case "keep", (name, body):
            return await store.keep("kind", name, body)
        case "select", (name,):
            return await store.save_selection(replace(SELECTION, selection_id=name))
        case "trace", (names,):
            return await store.save_traces([(name, 1.0, name.encode()) for name in names])
    raise AssertionError(verb)


async def _everything(store: Store) -> list[Any]:
    heads = await store.versions()
    return [
        heads,
        await store.head(),
        [await store.load(head.number) for head in heads],
        await store.listings(),
        await store.verify(),
        await store.halts(),
        await store.traces(99),
        [await store.document("kind", name) for name in "abc"],
        [await store.selection(name) for name in "abc"],
        [await store.trace(name) for name in "abc"],
        [await store.find(entry.tool_id, entry.schema_hash, entry.source_server) for entry in (LIST, SEND)],
    ]
