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


# The first word of a name that stands here decides; a later one can only raise that. Each row has words that are
# verbs and no more, and words that name a thing as well: `get_run` and `preview_refund` read, `list_delete` does not.
_WORDS: tuple[tuple[str, str, Risk, Reach], ...] = (
    (
        "execute exec eval invoke",
        "run shell command cmd sql query script code raw batch graphql cypher generic",
        Risk.DESTRUCTIVE,
        Reach.OPEN,
    ),
    (
        "delete remove destroy drop purge erase wipe cancel terminate kill revoke reset stop reverse overwrite "
        "truncate uninstall archive disable close",
        "refund rollback merge",
        Risk.DESTRUCTIVE,
        Reach.BOUNDED,
    ),
    (
        "create add insert update edit modify set put write save send publish rename move copy assign unassign "
        "start restart deploy enable install upsert append attach approve reject submit pay subscribe apply configure "
        "generate launch retry accept decline notify replace",
        "patch upload post reply share schedule book invite import push commit link transfer grant register comment "
        "mark trigger scale issue record sync fork pull hold release capture email",
        Risk.WRITE,
        Reach.BOUNDED,
    ),
    (
        "get list read search find fetch describe show view lookup look count check inspect summarize compare "
        "validate explain preview download export track browse",
        "",
        Risk.READ,
        Reach.BOUNDED,
    ),
)
_RISKS = tuple((risk, reach) for _, _, risk, reach in _WORDS)
_EXECUTES, _READS = 0, len(_WORDS) - 1
_VERBS = {word: row for row, (verbs, _, _, _) in enumerate(_WORDS) for word in verbs.split()}
_KNOWN = _VERBS | {word: row for row, (_, things, _, _) in enumerate(_WORDS) for word in things.split()}
# Words that say how a thing is read where a name has no other; `status_update` is none of theirs.
_READ_ALONE = frozenset({"status", "info", "history", "details"})
# Verbs that run what is handed to them, where one of these is handed to them: `read_query`, `send_command`.
_HANDING = frozenset({"read", "write", "send", "submit", "start"})
_HANDED = frozenset({"shell", "command", "cmd", "sql", "query", "raw", "graphql", "cypher"})
# Things that are done by being made: `create_refund` refunds.
_MADE = {word: _KNOWN[word] for word in ("refund", "rollback")}
_JOINS = frozenset({"and", "or"})
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def suggested(entry: CatalogEntry) -> Proposal:
    """Suggest risk and reach from the words of a tool's name; hints only raise them. Proposes no access."""
    risk, reach = _of([word.lower() for word in _WORD.findall(entry.name)])
    hints = entry.annotations
    if hints.get("readOnlyHint") is False and risk is Risk.READ:
        risk = Risk.WRITE
    if hints.get("destructiveHint") is True and hints.get("readOnlyHint") is not True:
        risk = Risk.DESTRUCTIVE
    return Proposal(risk=risk, reach=reach)


def _of(words: list[str]) -> tuple[Risk, Reach]:
    known = [word for word in words if word in _KNOWN]
    if not known:
        return _RISKS[_READS if _READ_ALONE.intersection(words) else _EXECUTES]
    first, *later = known
    if first in _HANDING and _HANDED.intersection(later):
        return _RISKS[_EXECUTES]
    raising = _VERBS if _KNOWN[first] == _READS else _VERBS | _MADE
    if _JOINS.intersection(words):
        # Joined by a word, the parts are verbs all: `get_and_merge`, `find_or_book`.
        raising = _KNOWN
    # The more careful rows come first.
    return _RISKS[min(_KNOWN[first], *(raising.get(word, _READS) for word in later), _READS)]


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
