"""Proposals: what a new tool's lock line could say. A person decides; nothing here grants anything.

What a configured rule says comes first, then a catalog file's own word, then the tool's name. "Not clearly
a read" is never `read`: an unknown verb is taken for destructive and of open reach. Hints of the server
can only raise what its tool's name suggests, since a server that wants in would call itself harmless.

Source: DESIGN sections 3 and 4; MCP 2026-07-28, "ToolAnnotations" (untrusted hints).
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from pegboard.core.catalog import CatalogEntry, Flow, Proposal, Reach, Risk

__all__ = ["ProposeRule", "proposed", "suggested"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposeRule:
    """One `[[servers.NAME.propose]]`: globs over the server's tool names, and what they propose."""

    match: tuple[str, ...]
    proposal: Proposal

    def matches(self, name: str) -> bool:
        """Say whether a glob matches the tool's name, case as it is."""
        return any(fnmatchcase(name, glob) for glob in self.match)


# The first row with a word in the tool's name decides, so the more careful rows come first.
_WORDS: tuple[tuple[str, Risk, Reach], ...] = (
    (
        "execute exec run eval shell command cmd sql query script code raw batch graphql cypher generic",
        Risk.DESTRUCTIVE,
        Reach.OPEN,
    ),
    (
        "delete remove destroy drop purge erase wipe cancel terminate kill revoke reset stop refund reverse "
        "overwrite truncate uninstall rollback archive disable close merge",
        Risk.DESTRUCTIVE,
        Reach.BOUNDED,
    ),
    (
        "create add insert update edit modify set put patch write save upload send post reply publish share "
        "move copy rename assign unassign start restart deploy schedule book invite enable install import "
        "push commit upsert append attach link approve reject submit pay transfer grant register subscribe "
        "comment mark apply configure generate trigger launch scale retry issue record sync fork pull accept "
        "decline",
        Risk.WRITE,
        Reach.BOUNDED,
    ),
    (
        "get list read search find fetch describe show view lookup look count check status info inspect "
        "summarize compare validate explain preview download export track browse history details",
        Risk.READ,
        Reach.BOUNDED,
    ),
)
_ROWS = tuple((frozenset(words.split()), risk, reach) for words, risk, reach in _WORDS)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def suggested(entry: CatalogEntry) -> Proposal:
    """Suggest risk and reach from the words of a tool's name; hints only raise them. Proposes no access."""
    words = {word.lower() for word in _WORD.findall(entry.name)}
    risk, reach = next(((risk, reach) for row, risk, reach in _ROWS if row & words), (Risk.DESTRUCTIVE, Reach.OPEN))
    hints = entry.annotations
    if hints.get("readOnlyHint") is False and risk is Risk.READ:
        risk = Risk.WRITE
    if hints.get("destructiveHint") is True and hints.get("readOnlyHint") is not True:
        risk = Risk.DESTRUCTIVE
    return Proposal(risk=risk, reach=reach)


def proposed(entry: CatalogEntry, rules: Iterable[ProposeRule]) -> Proposal:
    """Join what is proposed for a tool; `access` stays None where nobody proposed one.

    Of several rules that match, the most restrictive speaks: the highest risk, then open before bounded,
    then the first in the file. What it leaves open is filled from the catalog's own word, then from the name.
    """
    matching = [rule.proposal for rule in rules if rule.matches(entry.name)]
    first = max(matching, key=_care, default=Proposal())
    guess = suggested(entry)
    risk = first.risk or entry.proposal.risk or guess.risk
    reach = first.reach or entry.proposal.reach or (guess.reach if risk is not Risk.READ else Reach.BOUNDED)
    flow = next((one for one in (first.flow, entry.proposal.flow) if one is not None), frozenset[Flow]())
    if reach is Reach.OPEN and risk is Risk.READ:
        risk = Risk.WRITE
    return Proposal(access=first.access or entry.proposal.access, risk=risk, reach=reach, flow=flow)


def _care(proposal: Proposal) -> tuple[int, bool]:
    return (-1 if proposal.risk is None else proposal.risk.rank, proposal.reach is Reach.OPEN)
