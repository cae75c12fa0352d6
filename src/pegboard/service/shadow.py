"""Shadow: select beside production, off its path, and say later what that would have been worth.

The production path decides and is never touched: whoever asks for a shadow gets an id and waits for nothing. What is
asked waits in a bounded queue, one at a time is selected, and what there is no room for, or fails, is dropped and
counted.

Source: DESIGN section 11.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pegboard.core.context import RuntimeContext
from pegboard.core.errors import PegboardError
from pegboard.core.names import Json
from pegboard.core.times import stamp
from pegboard.engine.guards import Observed, observed_of
from pegboard.evaluation.intervals import wilson
from pegboard.service.batching import Batches
from pegboard.service.observer import Observer
from pegboard.service.rollout import RECORDS, Rollouts
from pegboard.service.selector import Request, Selector
from pegboard.service.telemetry import QUIET, Key, Measure, Telemetry

__all__ = ["Shadow"]

# How many wait at most: at 10 ms each, what waits is answered within a second.
ROOM = 64
# A task is what a person wrote, at most with what they pasted; what is longer came to be by a mistake.
LONGEST = 50_000
_NOTHING_CALLED = "nothing was called"
# How many missed tools are named.
MOST = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A selection to be made beside production."""

    selection_id: str
    request: Request
    context: RuntimeContext
    listed: tuple[str, ...] | None


class Shadow:
    """Selects beside production, and reports on it."""

    def __init__(
        self, selector: Selector, observer: Observer, rollouts: Rollouts, telemetry: Telemetry = QUIET
    ) -> None:
        self._selector = selector
        self._observer = observer
        self._rollouts = rollouts
        self._telemetry = telemetry
        # One at a time, and no lingering: a selection is no transaction that grows cheaper in company.
        self._waiting: Batches[_Asked] = Batches(self._answer, batch=1, room=ROOM, linger_s=0.0, lost=self._lost)
        self.dropped = 0
        """How many shadow selections of this process were not made: for want of room, too long, or failed."""

    def ask(
        self, selection_id: str, request: Request, context: RuntimeContext, listed: Sequence[str] | None = None
    ) -> None:
        """Have a selection made beside production, soon; never raises and never waits.

        Args:
            selection_id: The name under which calls are joined to it; by it, it is sampled.
            request: What is asked.
            context: For whom.
            listed: The ids of the tools that production lists for this request; None: not said.
        """
        self._observer.shadowing = True
        if sum(map(len, request.tasks)) > LONGEST:
            self._lost(1)
        elif self._observer.samples(selection_id):
            asked = _Asked(
                selection_id=selection_id,
                request=request,
                context=context,
                listed=None if listed is None else tuple(listed),
            )
            self._waiting.offer(asked)

    async def flush(self) -> None:
        """Make every selection that waits, and write what was observed. Raises StoreError where that fails."""
        await self._waiting.flush()
        await self._observer.flush()

    async def report(self, since: float | None = None) -> dict[str, Json]:
        """Say what was observed since a time (Unix seconds; None: as far as it is kept), whole and by namespace.

        Raises:
            StoreError: The store could not be read, or what waits could not be written.
        """
        await self.flush()
        seen = observed_of(await self._rollouts.store.observed(since or 0.0, RECORDS))
        rollout = await self._rollouts.current()
        paths = {path for one in seen for path in one.namespaces}
        rows: list[Json] = [
            {"namespace": path, "setting": str(rollout.setting(path)), **_labelled(_within(seen, path))}
            for path in sorted(paths)
        ]
        tokens = {"offered": _mean([one.tokens for one in seen]), "listed": _mean([one.listed_tokens for one in seen])}
        whole = {"selections": len(seen), **_labelled(seen), "tokens": tokens, "missed": _missed(seen)}
        return {"since": None if since is None else stamp(since), **whole, "namespaces": rows}

    async def _answer(self, waiting: Sequence[_Asked]) -> None:
        for one in waiting:
            try:
                await self._selector.shadow(one.selection_id, one.request, one.context, one.listed)
            except PegboardError:
                self._lost(1)

    def _lost(self, count: int) -> None:
        self.dropped += count
        self._telemetry.measure(Measure.DROPPED, count, {Key.STREAM: "shadow"})


def _within(seen: Sequence[Observed], path: str) -> list[Observed]:
    found = (one.within({path}) for one in seen)
    return [one for one in found if one is not None]


def _labelled(seen: Sequence[Observed]) -> dict[str, Json]:
    """Return recall over the tools really called, and who offered what policy denies: we, and production."""
    hits = [call.tool_id in one.offered for one in seen for call in one.calls]
    said = [one for one in seen if one.listed is not None]
    low, high = wilson(sum(hits), len(hits)) if hits else (None, None)
    recall: dict[str, Json] = {
        "value": _short(sum(hits) / len(hits) if hits else None),
        "low": _short(low),
        "high": _short(high),
        "n": len(hits),
        "reason": None if hits else _NOTHING_CALLED,
    }
    return {
        "calls": len(hits),
        "recall": recall,
        "exposed": sum(len(one.exposed & one.offered.keys()) for one in seen),
        "production_exposed": sum(sum(one.listed_denied.values()) for one in said) if said else None,
    }


def _missed(seen: Sequence[Observed]) -> list[Json]:
    """Return the tools that were called and not offered, the most missed first: what to look at, and to label."""
    missed = Counter(call.tool_id for one in seen for call in one.calls if call.tool_id not in one.offered)
    return [
        {"tool_id": tool, "calls": n} for tool, n in sorted(missed.items(), key=lambda one: (-one[1], one[0]))[:MOST]
    ]


def _mean(counts: Sequence[int | None]) -> float | None:
    known = [count for count in counts if count is not None]
    return _short(sum(known) / len(known)) if known else None


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
