"""Law 10, and the flow of a conversation: what a ledger forgets changes nothing that a later call is judged by.

A caller's standing is asked before and after old lines are removed: repeats and limits look back a stated time, a
conversation for ever, and so does an unknown outcome. A key is remembered for as long as calls are kept.
"""

from dataclasses import replace
from itertools import product

import anyio
from hypothesis import given
from hypothesis import strategies as some

from pegboard.adapters.memory import MemoryStore
from pegboard.core.catalog import Flow
from pegboard.engine.ledger import Ended, Standing
from tests.adapters.ledger_cases import QUESTION
from tests.adapters.store_cases import LINE
from tests.strategies import cases, subsets

NOW, BACK_S = 100.0, 20.0
LINES = some.lists(
    some.builds(
        replace,
        some.just(LINE),
        at=some.sampled_from([10.0, 50.0, 79.0, 81.0, 99.0]),
        conversation=some.sampled_from([None, "c", "d"]),
        arguments=some.sampled_from(["sha256:1", "sha256:2"]),
        key=some.sampled_from([None, "k", "l"]),
        flow=subsets(tuple(Flow)),
        cost=some.sampled_from([0.0, 0.5]),
    ),
    max_size=8,
)
ENDS = some.lists(some.sampled_from([None, *Ended]), min_size=8, max_size=8)
KEPT_S = some.sampled_from([BACK_S, 30.0, 95.0])


async def standings(ledger) -> list[Standing]:
    questions = product((None, "c", "d"), ("sha256:1", "sha256:2"), (None, "k", "l"))
    windows = {"repeat_window_s": BACK_S, "limit_windows_s": (5.0, BACK_S), "flow_window_s": BACK_S}
    return [
        await ledger.standing(
            replace(QUESTION, conversation=conversation, arguments=arguments, key=key, now=NOW, **windows)
        )
        for conversation, arguments, key in questions
    ]


def remembered(standing: Standing, before: float) -> Standing:
    """What must stay of it: all but a recorded outcome that is known, and older than calls are kept."""
    past = standing.recorded
    gone = past is not None and past.line.at < before and not past.unknown
    return replace(standing, recorded=None if gone else past)


@given(LINES, ENDS, KEPT_S)
@cases(100, 5000)
def test_what_is_forgotten_changes_no_judgment_of_a_later_call(lines, ends, kept_s):
    async def run() -> None:
        ledger, before = MemoryStore().ledger, NOW - kept_s
        for number, (line, ended) in enumerate(zip(lines, ends, strict=False)):
            name = f"call_{number}"
            sequence = (await ledger.standing(QUESTION)).sequence
            if await ledger.open(replace(line, call_id=name), b"{}", after=sequence) and ended is not None:
                await ledger.close(name, line.at, ended)
        was = await standings(ledger)
        await ledger.forget(before, apply=True)
        found = await standings(ledger)
        assert [remembered(one, before) for one in found] == [remembered(one, before) for one in was]

    anyio.run(run)
