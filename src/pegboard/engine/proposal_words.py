"""Proposal words: what the words of a tool's name say of its risk and reach.

Source: DESIGN section 4; measured by bench/proposals.py.
"""

import re

from pegboard.core.catalog import Reach, Risk

__all__ = ["HANDED", "HANDING", "JOINS", "MADE", "READ_ALONE", "RISKS", "words_of"]

# The first word of a name that stands here decides; a later one can only raise that. Each row has words that are
# verbs and no more, and words that name a thing as well: `get_run` and `preview_refund` read, `list_delete` does not.
RISKS: tuple[tuple[str, str, Risk, Reach], ...] = (
    (
        "execute exec eval evaluate invoke",
        "run shell command cmd sql query script code raw batch graphql cypher generic call",
        Risk.DESTRUCTIVE,
        Reach.OPEN,
    ),
    (
        "delete remove destroy drop purge erase wipe cancel terminate kill revoke reset stop reverse overwrite "
        "truncate uninstall archive disable close clear detach unsubscribe unpublish unregister unprotect cleanup "
        "teardown suspend rebase manage",
        "refund rollback merge",
        Risk.DESTRUCTIVE,
        Reach.BOUNDED,
    ),
    (
        "create add insert update edit modify set put write save send publish rename move copy assign unassign "
        "start restart deploy enable install upsert append attach approve reject submit pay subscribe apply configure "
        "generate launch retry accept decline notify replace reserve reschedule resume pause unlock give fill click "
        "drag navigate resize reorder clone promote respond confirm finalize snooze dismiss uncomplete "
        "restore connect disconnect reconnect login logout protect pin unpin unset toggle refuel withdraw",
        "patch upload post reply share schedule book invite import push commit link transfer grant register comment "
        "mark trigger scale issue record sync fork pull hold release capture email change exchange return request "
        "log draft format forward complete sort press select highlight duplicate export checkout watch tag trade vote",
        Risk.WRITE,
        Reach.BOUNDED,
    ),
    (
        "get list read search find fetch describe show view lookup look count check inspect summarize compare "
        "validate explain preview download track browse retrieve",
        "",
        Risk.READ,
        Reach.BOUNDED,
    ),
)
# Last words that say how a thing is read, in a name without a verb.
READ_ALONE = frozenset({"status", "info", "history", "details", "schema", "usage", "stats", "diff", "whoami", "ping"})
# Verbs that run what is handed to them, where one of these is handed to them: `read_query`, `send_command`.
HANDING = frozenset({"read", "write", "send", "submit", "start"})
HANDED = frozenset({"shell", "command", "cmd", "sql", "query", "raw", "graphql", "cypher"})
# Things that are done by being made: `create_refund` refunds.
MADE = frozenset({"refund", "rollback"})
JOINS = frozenset({"and", "or"})

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def words_of(name: str) -> list[str]:
    """Return the words of a name in small letters, `getUserInfo` and `get_user_info` alike."""
    return [word.lower() for word in _WORD.findall(name)]
