"""Rollout: which namespaces Pegboard serves to whom, and which the production path still decides.

A namespace is off, shadow, canary or live; what is said of one holds for those inside it that say nothing themselves,
and what nothing is said of is live. A rollout decides who chooses among the eligible tools, never which are eligible:
policy comes first, on both paths.

The canary is a stable hash: a key's place is the first 48 bits of SHA-256 over `pegboard.canary`, a zero byte and the
key in UTF-8, as a share of all of them, and the canary holds the keys whose place lies below its share. So a larger
share keeps everyone who was in, and a caller who is in is in for every namespace of that share.

Source: DESIGN section 11.
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache

from pegboard.core.names import Json
from pegboard.core.revocations import with_parents
from pegboard.core.times import stamp
from pegboard.engine.selection import Selection

__all__ = [
    "LIVE",
    "WHOLE",
    "Change",
    "Phase",
    "Rollout",
    "Setting",
    "Sides",
    "left_to_production",
    "place",
    "setting_of",
]

WHOLE = "*"
"""Every namespace of which nothing is said."""

_BITS = 48  # a share of them is exact in a double
_WITHIN = b"pegboard.canary\0"


class Phase(StrEnum):
    """How far a namespace has come; each step serves no fewer callers than the one before."""

    OFF = "off"
    """The production path decides, and nothing is measured."""
    SHADOW = "shadow"
    """The production path decides; what would have been offered is recorded."""
    CANARY = "canary"
    """Pegboard serves a share of the callers, and shadows the others."""
    LIVE = "live"
    """Pegboard serves everyone."""


@dataclass(frozen=True, slots=True, order=True)
class Setting:
    """A phase with the share of callers that it serves. A greater setting serves more, or watches more."""

    share: float
    watched: bool = True

    @property
    def phase(self) -> Phase:
        """Return the phase that this is."""
        if self.share >= 1:
            return Phase.LIVE
        if self.share > 0:
            return Phase.CANARY
        return Phase.SHADOW if self.watched else Phase.OFF

    def serves(self, key: str | None) -> bool:
        """Say whether the caller of this key is served; without a key nobody is in a canary."""
        return self.share >= 1 or (key is not None and place(key) < self.share)

    def __str__(self) -> str:
        return f"{self.phase}={self.share!r}" if self.phase is Phase.CANARY else str(self.phase)


LIVE = Setting(1.0)
_SAID: dict[str, Setting] = {"off": Setting(0.0, watched=False), "shadow": Setting(0.0), "live": LIVE}


def setting_of(text: str) -> Setting:
    """Read `off`, `shadow`, `canary=SHARE` or `live`.

    Raises:
        ValueError: It is none of them, or the share is not between 0 and 1.
    """
    if (found := _SAID.get(text)) is not None:
        return found
    word, equals, share = text.partition("=")
    try:
        value = float(share) if word == Phase.CANARY and equals else 0.0
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise ValueError(f"{text!r} is no phase; write off, shadow, canary=0.1 or live")
    return Setting(value)


# Asked for each namespace of a selection, of which there may be hundreds.
@lru_cache(maxsize=1_024)
def place(key: str) -> float:
    """Return where a key lies, from 0 to below 1: the same on every machine, for ever."""
    found = hashlib.sha256(_WITHIN + key.encode("utf-8", "replace")).digest()[: _BITS // 8]
    return int.from_bytes(found, "big") / 2.0**_BITS


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One line of the history: who set a namespace to what, from what, when and why. `at` is Unix seconds."""

    number: int
    namespace: str
    setting: Setting
    was: Setting
    by: str
    why: str
    at: float
    automatic: bool = False
    """Whether a guard did it, and no person."""
    evidence: Mapping[str, Json] = field(default_factory=dict)
    """What was measured at that moment, and what was waived with which reason."""

    def to_json(self) -> dict[str, Json]:
        """Return the shape of one element of `history`."""
        return {
            "number": self.number,
            "namespace": self.namespace,
            "setting": str(self.setting),
            "was": str(self.was),
            "by": self.by,
            "why": self.why,
            "at": stamp(self.at),
            "automatic": self.automatic,
            "evidence": dict(self.evidence),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """What holds after so many changes: the last one of each namespace."""

    number: int = 0
    last: Mapping[str, Change] = field(default_factory=dict)

    @classmethod
    def of(cls, changes: Iterable[Change], until: int | None = None) -> "Rollout":
        """Return what holds after the changes, or after those numbered *until* or lower; the oldest comes first."""
        kept = [one for one in changes if until is None or one.number <= until]
        return cls(number=kept[-1].number if kept else 0, last={one.namespace: one for one in kept})

    def governing(self, namespace: str, also: str | None = None) -> str:
        """Return whose word holds for a namespace: its own, the nearest around it, or `WHOLE`; as if *also* had one."""
        around = reversed(tuple(with_parents(namespace)))
        return next((path for path in around if path in self.last or path == also), WHOLE)

    def setting(self, namespace: str) -> Setting:
        """Return what holds for a namespace."""
        found = self.last.get(namespace) or self.last.get(self.governing(namespace))
        return LIVE if found is None else found.setting


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """On which side one caller is, namespace by namespace.

    A conversation stays on the side on which it began when more is served later. What is taken back holds for all at
    once: the lesser of the two serves.
    """

    now: Rollout
    began: Rollout | None = None
    """What held when the conversation began; None: there is none, or it begins now."""
    key: str | None

    def serves(self, namespace: str) -> bool:
        """Say whether Pegboard chooses here for this caller."""
        held = (self.now,) if self.began is None else (self.now, self.began)
        return all(one.setting(namespace).serves(self.key) for one in held)

    def watches(self, namespace: str) -> bool:
        """Say whether what happens here is measured."""
        return self.now.setting(namespace).phase is not Phase.OFF


def left_to_production(
    selection: Selection, production: Collection[str], namespaces: Mapping[str, str], loaded: Iterable[str] = ()
) -> Selection:
    """Return the selection without the tools of *production*'s namespaces, and with these named.

    What a conversation has *loaded* of them is withdrawn. Nothing else changes: what is served of the other namespaces
    is what would have been served of them. *namespaces* holds the namespace of each selected and loaded tool.
    """
    kept = tuple(one for one in selection.tools if namespaces[one.tool.tool_id] not in production)
    gone = (tool for tool in loaded if namespaces.get(tool) in production)
    withdraw = tuple(dict.fromkeys((*selection.withdraw, *gone)))
    return replace(selection, tools=kept, withdraw=withdraw, production=tuple(sorted(production)))
