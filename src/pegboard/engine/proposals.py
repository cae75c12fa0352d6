"""Proposals: what a new tool's lock line could say. A person decides; nothing here grants anything.

What a configured rule says comes first, then a catalog file's own word, then what the tool shows of itself: the words
of its name decide, and its parameters, its description and its hints can only raise that, since a server that wants
in would call itself harmless. "Not clearly a read" is never `read`: an unknown verb is taken for destructive and of
open reach.

Source: DESIGN sections 3 and 4; MCP 2026-07-28, "ToolAnnotations" (untrusted hints).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from pegboard.core.catalog import CatalogEntry, Proposal, Reach, Risk
from pegboard.engine.proposal_flow import suggested_flow
from pegboard.engine.proposal_parameters import RAISING, parameters
from pegboard.engine.proposal_words import HANDED, HANDING, JOINS, MADE, READ_ALONE, RISKS, words_of

__all__ = ["ProposeRule", "proposed", "suggested"]

# Rows of `RISKS` by their place: the more careful ones come first, so that the least of several is the one to take.
_ROWS = tuple((risk, reach) for _, _, risk, reach in RISKS)
_EXECUTES, _READS = 0, len(RISKS) - 1
_VERBS = {word: row for row, (verbs, _, _, _) in enumerate(RISKS) for word in verbs.split()}
_KNOWN = _VERBS | {word: row for row, (_, things, _, _) in enumerate(RISKS) for word in things.split()}
_MADE = {word: _KNOWN[word] for word in MADE}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposeRule:
    """One `[[servers.NAME.propose]]`: globs over the server's tool names, and what they propose."""

    match: tuple[str, ...]
    proposal: Proposal

    def matches(self, name: str) -> bool:
        """Say whether a glob matches the tool's name, case as it is."""
        return any(fnmatchcase(name, glob) for glob in self.match)


def suggested(entry: CatalogEntry) -> Proposal:
    """Suggest risk and reach from what a tool shows of itself. Proposes no access."""
    given = parameters(entry.input_schema)
    row = min(
        _by_name(words_of(entry.name)),
        _by_kinds(given.kinds),
        *map(_by_action, given.actions),
        _by_description(entry.description),
    )
    risk, reach = _ROWS[row]
    hints = entry.annotations
    if hints.get("readOnlyHint") is False and risk is Risk.READ:
        risk = Risk.WRITE
    if hints.get("destructiveHint") is True and hints.get("readOnlyHint") is not True:
        risk = Risk.DESTRUCTIVE
    return Proposal(risk=risk, reach=reach)


def proposed(entry: CatalogEntry, rules: Iterable[ProposeRule]) -> Proposal:
    """Join what is proposed for a tool; `access` stays None where nobody proposed one.

    Of several rules that match, the most restrictive speaks: the highest risk, then open before bounded,
    then the first in the file. What it leaves open is filled from the catalog's own word, then from the tool.
    """
    matching = [rule.proposal for rule in rules if rule.matches(entry.name)]
    first = max(matching, key=_care, default=Proposal())
    guess = suggested(entry)
    risk = first.risk or entry.proposal.risk or guess.risk or Risk.DESTRUCTIVE
    reach = first.reach or entry.proposal.reach or (Reach.BOUNDED if risk is Risk.READ else guess.reach) or Reach.OPEN
    if reach is Reach.OPEN and risk is Risk.READ:
        risk = Risk.WRITE
    said = next((one for one in (first.flow, entry.proposal.flow) if one is not None), None)
    flow = suggested_flow(entry, risk, reach) if said is None else said
    return Proposal(access=first.access or entry.proposal.access, risk=risk, reach=reach, flow=flow)


def _by_name(words: list[str]) -> int:
    known = [word for word in words if word in _KNOWN]
    if not known:
        return _READS if READ_ALONE.intersection(words[-1:]) else _EXECUTES
    first, *later = known
    if first in HANDING and HANDED.intersection(later):
        return _EXECUTES
    raising = _VERBS if _KNOWN[first] == _READS else _VERBS | _MADE
    if JOINS.intersection(words):
        # Joined by a word, the parts are verbs all: `get_and_merge`, `find_or_book`.
        raising = _KNOWN
    return min(_KNOWN[first], *(raising.get(word, _READS) for word in later), _READS)


def _by_kinds(kinds: frozenset[str]) -> int:
    return min((_ROWS.index((risk, reach)) for needed, risk, reach in RAISING if needed <= kinds), default=_READS)


def _by_action(action: str) -> int:
    """Judge one value that an `action` can have. `merge_train_removed` tells what happened, `merge` is to be done."""
    words = words_of(action)
    row = (_KNOWN if len(words) == 1 else _VERBS).get(words[0], _READS) if words else _READS
    # What is run is one of the tool's own acts, not whatever a caller writes.
    return max(row, _EXECUTES + 1)


def _by_description(description: str) -> int:
    """Raise what begins with a verb of change: "Deletes the order." That something is run is said of every tool."""
    first = next(iter(words_of(description[:40])), "")
    row = min(_VERBS.get(word, _READS) for word in (first, first.removesuffix("s"), first.removesuffix("es")))
    return _READS if row == _EXECUTES else row


def _care(proposal: Proposal) -> tuple[int, bool]:
    return (-1 if proposal.risk is None else proposal.risk.rank, proposal.reach is Reach.OPEN)
