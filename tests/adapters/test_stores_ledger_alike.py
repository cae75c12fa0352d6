"""Two ledgers, one in dictionaries and one in a file, answer whatever they are asked in turn alike."""

from dataclasses import replace
from itertools import product
from typing import Any

import anyio
from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.catalog import Flow
from pegboard.core.errors import StoreError
from pegboard.engine.ledger import ApprovalState, Ended, Standing
from tests.adapters.ledger_cases import QUESTION
from tests.adapters.store_cases import APPROVAL, LINE, Store, memory_store, sqlite_store
from tests.strategies import cases, subsets

# Few values each, so that steps meet. An oracle in another form: the dictionaries against the file's indices.
_names = st.sampled_from(["a", "b", "c", "d"])
_callers = st.sampled_from(["sha256:sam", "sha256:kim"])
_contents = st.sampled_from(["sha256:1", "sha256:2"])
_times = st.sampled_from([0.0, 8.0, 10.0, 12.0, 30.0])
_lines = st.builds(
    replace,
    st.just(LINE),
    call_id=_names,
    identity=_callers,
    conversation=st.sampled_from([None, "c", "d"]),
    at=_times,
    arguments=_contents,
    key=st.sampled_from([None, None, "k", "l"]),
    flow=subsets(tuple(Flow)),
    # Exact in binary: the order in which they are added does not matter.
    cost=st.sampled_from([0.0, 0.5, 2.25]),
    approval_id=st.sampled_from([None, None, "a", "b"]),
)
_asked = st.builds(
    replace,
    st.just(APPROVAL),
    approval_id=_names,
    identity=_callers,
    arguments=_contents,
    reasons=st.sampled_from([("risk",), ("flow",), ("risk", "flow"), ("flow", "risk")]),
    asked_at=st.sampled_from([0.0, 9.0]),
    expires_at=st.sampled_from([11.0, 40.0]),
)
_steps = st.one_of(
    st.tuples(st.just("open"), _lines, st.sampled_from([0, 0, 0, 0, 0, 1])),
    st.tuples(st.just("close"), _names, _times, st.sampled_from(Ended), st.sampled_from([None, b"[]"])),
    st.tuples(st.just("ask"), _asked),
    st.tuples(st.just("decide"), _names, st.sampled_from([ApprovalState.GRANTED, ApprovalState.DENIED]), _times),
    st.tuples(st.just("settle"), _names, _times, st.sampled_from([Ended.DONE, Ended.NOT_SENT])),
    st.tuples(st.just("forget"), _times, st.booleans()),
)


@given(st.lists(_steps, max_size=20))
@cases(80, 4000)
def test_both_ledgers_answer_alike(steps: list[tuple[Any, ...]]) -> None:
    async def run() -> None:
        with memory_store() as one, sqlite_store() as two:
            for step in steps:
                assert await _answer(one, step) == await _answer(two, step)
            assert await _everything(one) == await _everything(two)
            assert (await two.verify()).bad == ()

    anyio.run(run)


async def _answer(store: Store, step: tuple[Any, ...]) -> Any:
    try:
        return await _ask(store, *step)
    except StoreError:
        # The words differ where a file's own constraint refuses; that it is refused does not.
        return StoreError


async def _ask(store: Store, verb: str, *given: Any) -> Any:
    ledger = store.ledger
    match verb, given:
        case "open", (line, behind):
            standing = await ledger.standing(replace(QUESTION, identity=line.identity))
            return await ledger.open(line, b"{}", after=standing.sequence - behind)
        case "close", (name, at, ended, result):
            return await ledger.close(name, at, ended, result)
        case "ask", (approval,):
            return await ledger.ask(approval)
        case "decide", (name, state, at):
            return await ledger.decide(name, state, by="dana", at=at)
        case "settle", (name, at, ended):
            return await ledger.settle(name, at, ended)
        case "forget", (before, apply):
            return await ledger.forget(before, apply=apply)
    raise AssertionError(verb)


async def _everything(store: Store) -> list[Any]:
    found: list[Any] = [await store.ledger.approvals(99), await store.ledger.unknown(99)]
    found += [await store.ledger.approvals(99, state=state) for state in ApprovalState]
    found += [await store.ledger.call(name) for name in "abcd"]
    return found + [await _standing(store, *asked) for asked in product(("sam", "kim"), "12", (None, "k"), (None, "c"))]


async def _standing(store: Store, who: str, content: str, key: str | None, conversation: str | None) -> Standing:
    return await store.ledger.standing(
        replace(
            QUESTION,
            identity=f"sha256:{who}",
            arguments=f"sha256:{content}",
            key=key,
            conversation=conversation,
            now=14.0,
            repeat_window_s=4.0,
            limit_windows_s=(2.0, 6.0),
            flow_window_s=6.0,
        )
    )
