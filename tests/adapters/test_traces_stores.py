"""Traces by time, and what is removed of them, in dictionaries and in a file alike."""

from dataclasses import replace

import anyio
import pytest

from tests.adapters.store_cases import SELECTION, memory_store, sqlite_store

TIMES = (5.0, 1.0, 3.0, 3.0, 9.0)


@pytest.fixture(params=[memory_store, sqlite_store], ids=["memory", "sqlite"])
def store(request):
    with request.param() as made:
        anyio.run(made.save_traces, [(f"{number}:{at:g}", at, b"{}") for number, at in enumerate(TIMES)])
        for number, at in enumerate(TIMES):
            anyio.run(made.save_selection, replace(SELECTION, selection_id=f"sel_{number}", expires_at=at))
        yield made


def kept(store, limit=99, **asked):
    async def read():
        return [trace_id for trace_id, _ in await store.traces(limit, **asked)]

    return anyio.run(read)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({}, ["4:9", "0:5", "3:3", "2:3", "1:1"]),
        ({"limit": 2}, ["4:9", "0:5"]),
        ({"since": 3.0}, ["4:9", "0:5", "3:3", "2:3"]),
        ({"until": 5.0}, ["3:3", "2:3", "1:1"]),
        ({"since": 3.0, "until": 9.0, "skip": 1, "limit": 1}, ["3:3"]),
        ({"skip": 5}, []),
    ],
)
def test_traces_are_read_by_time_newest_first_and_the_last_written_before_others_of_its_time(store, asked, found):
    assert kept(store, **asked) == found


@pytest.mark.parametrize(
    ("before", "now", "limit", "traces", "selections"),
    [
        (5.0, 0.0, 99, ["4:9", "0:5"], 5),
        (5.0, 0.0, 2, ["4:9", "0:5", "3:3"], 5),
        (0.0, 5.0, 99, ["4:9", "0:5", "3:3", "2:3", "1:1"], 2),
        (0.0, 9.5, 2, ["4:9", "0:5", "3:3", "2:3", "1:1"], 3),
    ],
)
def test_the_oldest_traces_and_expired_selections_are_removed_so_many_at_once(
    store, before, now, limit, traces, selections
):
    async def left():
        return [number for number in range(5) if await store.selection(f"sel_{number}") is not None]

    removed = anyio.run(store.prune, before, now, limit)
    assert (kept(store), len(anyio.run(left))) == (traces, selections)
    assert removed == 10 - len(traces) - selections
