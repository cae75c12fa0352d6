"""Eligibility for a whole catalog at once: the attribute table over its distinct access rules.

`RuleTable.of` joins a snapshot to a policy once, when either changes. A request then decides every distinct
rule, ten checks in a few array operations each, and spreads the result over the rows. Nothing here
raises: a column that cannot be decided denies (law 1), and so does whatever has no row.

What the table lets through is asked of the second layer, where there is one (`considered.py`).

It is the fast form of `core/policy.py` and is held equal to `decide_tool` by `tests/policy/test_table.py`.

Source: DESIGN section 4; ENGINES "Policy" for why distinct rules and not tools are decided.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from pegboard.core.context import RuntimeContext
from pegboard.core.policy import CHECKS, DIMENSIONS, AccessRule, Policy, Reason, access_rule
from pegboard.core.revocations import NO_REVOCATIONS, Revocations
from pegboard.core.snapshot import Snapshot
from pegboard.policy.columns import COLUMNS, Column
from pegboard.policy.considered import Considered
from pegboard.policy.rows import Rows

__all__ = ["BITS", "Bits", "Eligibility", "RuleTable"]

Bits = NDArray[np.uint16]

# The bit of each reason, in the order in which decisions report them.
BITS: dict[Reason, int] = {reason: 1 << place for place, reason in enumerate(Reason)}
_ALL = sum(BITS[reason] for reason, _ in CHECKS)

# How much memory the masks of recent callers may take, and how many are kept whatever their size.
_KEPT_BYTES = 64 * 2**20
_KEPT_LEAST, _KEPT_MOST = 8, 1024

_Value = TypeVar("_Value")
_Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False, kw_only=True)
class Eligibility:
    """Which rows of one snapshot one set of rights reaches. The same rights get the same object.

    `mask` is bool, one a row, read-only. `rule_bits` holds the failed checks of each distinct rule, `rule_of_row`
    the rule of each row, `revoked` the rows that are revoked and `refused` those that the second layer took away from
    what was left (None: none is).
    """

    mask: _Mask
    rule_bits: Bits
    rule_of_row: NDArray[np.int32]
    revoked: _Mask | None
    refused: _Mask | None = None

    @cached_property
    def rows(self) -> NDArray[np.intp]:
        """Return the eligible rows, ascending; read-only."""
        return _read_only(np.flatnonzero(self.mask))

    @property
    def count(self) -> int:
        """Return how many tools are eligible."""
        return int(self.rows.size)

    @cached_property
    def bits(self) -> Bits:
        """Return the failed checks of each row, a bit of `BITS` for each; 0 is eligible. Read-only."""
        found = self.rule_bits[self.rule_of_row]
        if self.revoked is not None:
            found[self.revoked] |= BITS[Reason.REVOKED]
        if self.refused is not None:
            found[self.refused] |= BITS[Reason.CEDAR]
        return _read_only(found)

    def reasons(self, row: int) -> tuple[Reason, ...]:
        """Return why the tool in *row* is not eligible, in the order of `Reason`; nothing where it is."""
        bits = int(self.rule_bits[self.rule_of_row[row]])
        if self.revoked is not None and self.revoked[row]:
            bits |= BITS[Reason.REVOKED]
        if self.refused is not None and self.refused[row]:
            bits |= BITS[Reason.CEDAR]
        return tuple(reason for reason, bit in BITS.items() if bits & bit)

    def removed_by(self) -> dict[Reason, int]:
        """Count the tools that each check removes; one that several remove counts under each."""
        tools = np.bincount(self.rule_of_row, minlength=self.rule_bits.size)
        found = {reason: int(tools[(self.rule_bits & bit) != 0].sum()) for reason, bit in BITS.items()}
        if self.revoked is not None:
            found[Reason.REVOKED] = int(np.count_nonzero(self.revoked))
        if self.refused is not None:
            found[Reason.CEDAR] = int(np.count_nonzero(self.refused))
        return {reason: count for reason, count in found.items() if count}


class _Recent(Generic[_Value]):
    """The most recently used values, at most *limit*. A memo of pure answers: it changes none."""

    __slots__ = ("_found", "_limit")

    def __init__(self, limit: int) -> None:
        self._found: dict[Hashable, _Value] = {}
        self._limit = limit

    def get(self, key: Hashable) -> _Value | None:
        found = self._found.pop(key, None)
        if found is not None:
            self._found[key] = found
        return found

    def put(self, key: Hashable, value: _Value) -> None:
        self._found[key] = value
        # Threads that share a table may both come here; a key that another took out already is no fault.
        for oldest in list(self._found)[: -self._limit]:
            self._found.pop(oldest, None)


@dataclass(frozen=True, eq=False, kw_only=True)
class RuleTable:
    """One snapshot under one policy, ready to decide. Build it with `of`."""

    rules: tuple[AccessRule, ...]
    """The distinct access rules, in the order of their first rows."""
    rule_of_row: NDArray[np.int32]
    columns: tuple[tuple[int, Column], ...]
    """For each check that is asked, its bit and the way to decide it for every rule."""
    rows: Rows
    considered: Considered | None
    """The second layer; None: there is none."""
    _asked: _Recent[Eligibility]
    """By caller and halts, so that who asks again is not judged again."""
    _eligible: _Recent[Eligibility]
    """By rights, so that callers with the same rights share one answer."""
    _revoked: _Recent[tuple[Hashable, _Mask | None]]

    @classmethod
    def of(cls, snapshot: Snapshot, policy: Policy, *, kept: int | None = None) -> "RuleTable":
        """Join every tool to its access rule and lay the distinct rules out for deciding.

        *kept* is how many recent answers are remembered; unsaid, as many as 64 MiB of masks, from 8 to 1,024.
        """
        rules, rule_of_row = _distinct_rules(snapshot, policy)
        asked = [reason for reason, _ in CHECKS if reason not in DIMENSIONS or reason in policy.used]
        if kept is None:
            kept = min(_KEPT_MOST, max(_KEPT_LEAST, _KEPT_BYTES // max(1, len(snapshot.entries))))
        return cls(
            rules=rules,
            rule_of_row=_read_only(rule_of_row),
            columns=tuple((BITS[reason], COLUMNS[reason](rules)) for reason in asked),
            rows=Rows.of(snapshot, policy),
            considered=None if policy.layer is None else Considered.of(policy.layer, snapshot, policy),
            _asked=_Recent(kept),
            _eligible=_Recent(kept),
            _revoked=_Recent(_KEPT_LEAST),
        )

    def decide(self, context: RuntimeContext) -> Bits:
        """Return for each distinct rule the checks that deny this caller, a bit of `BITS` for each."""
        found = np.zeros(len(self.rules), dtype=np.uint16)
        for bit, column in self.columns:
            try:
                found |= np.multiply(column(context), bit, dtype=np.uint16)
            except Exception:  # noqa: BLE001 - fail closed: a check that cannot be decided denies
                found |= np.uint16(bit)
        return found

    def eligible(self, context: RuntimeContext, revocations: Revocations) -> Eligibility:
        """Return the rows that this caller may be shown under these revocations."""
        try:
            asked = (context, revocations.targets)
            found = self._asked.get(asked)
            if found is None:
                found = self._considered(self._judge(context, revocations), context)
                self._asked.put(asked, found)
            return found
        except Exception:  # noqa: BLE001 - fail closed: whatever goes wrong, nobody gets a tool by it
            return self._result(np.full(len(self.rules), _ALL, dtype=np.uint16), "fault", self._everything())

    def noted(self, context: RuntimeContext, found: Eligibility) -> Mapping[str, int]:
        """Return how many of a caller's eligible tools each log-only policy would have taken away, by its id."""
        return {} if self.considered is None else self.considered.noted(found.mask, context)

    def _considered(self, found: Eligibility, context: RuntimeContext) -> Eligibility:
        """Take away what the second layer refuses; the same refusals of the same rows get the same object."""
        if self.considered is None or not found.count:
            return found
        kinds = self.considered.refused(found.mask, context)
        if not kinds.any():
            return found
        key = (found, kinds.tobytes())
        less = self._eligible.get(key)
        if less is None:
            refused = self.considered.rows(kinds, found.mask)
            less = replace(found, mask=_read_only(found.mask & ~refused), refused=_read_only(refused))
            self._eligible.put(key, less)
        return less

    def _judge(self, context: RuntimeContext, revocations: Revocations) -> Eligibility:
        rule_bits = self.decide(context)
        if revocations.covers_caller(context):
            return self._result(rule_bits, "caller", self._everything())
        return self._result(rule_bits, *self._revoked_rows(revocations.targets))

    def _everything(self) -> _Mask:
        return _read_only(np.ones(self.rule_of_row.size, dtype=np.bool_))

    def _revoked_rows(self, targets: frozenset[str]) -> tuple[Hashable, _Mask | None]:
        """Return the rows that *targets* cover, with what tells them from other rows."""
        if targets == NO_REVOCATIONS.targets:
            return None, None
        found = self._revoked.get(targets)
        if found is None:
            mask = self.rows.revoked(targets)
            found = (None if mask is None else targets, mask)
            self._revoked.put(targets, found)
        return found

    def _result(self, rule_bits: Bits, revoked_key: Hashable, revoked: _Mask | None) -> Eligibility:
        key = (rule_bits.tobytes(), revoked_key)
        found = self._eligible.get(key)
        if found is None:
            mask = (rule_bits == 0).take(self.rule_of_row)
            if revoked is not None:
                mask &= ~revoked
            found = Eligibility(
                mask=_read_only(mask), rule_bits=_read_only(rule_bits), rule_of_row=self.rule_of_row, revoked=revoked
            )
            self._eligible.put(key, found)
        return found


def _distinct_rules(snapshot: Snapshot, policy: Policy) -> tuple[tuple[AccessRule, ...], NDArray[np.int32]]:
    """Return the distinct rules and the number of each row's rule.

    Tools that agree in everything `access_rule` looks at share a rule, so it is asked once for each such group.
    """
    places: dict[tuple[object, ...], int] = {}
    rules: list[AccessRule] = []
    numbers = np.empty(len(snapshot.entries), dtype=np.int32)
    for row, entry in enumerate(snapshot.entries):
        line, switch = policy.lock.lines.get(entry.tool_id), policy.switches.get(entry.tool_id)
        key = (
            entry.source_server,
            None if line is None else line.access,
            line is not None and line.hash == entry.schema_hash,
            entry.enabled is True,
            None if switch is None else switch.enabled,
        )
        place = places.setdefault(key, len(rules))
        if place == len(rules):
            rules.append(access_rule(entry, policy))
        numbers[row] = place
    return tuple(rules), numbers


_Array = TypeVar("_Array", bound=NDArray[np.generic])


def _read_only(array: _Array) -> _Array:
    array.flags.writeable = False
    return array
