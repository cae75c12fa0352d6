"""The pure rooms' verbs touch nothing: no file, no socket, no process, no database, whatever they are given.

Python reports each such act as an audit event, whichever library it is done in. A new verb is a new row.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from pegboard.core.catalog import declare, from_row, to_row
from pegboard.core.context import RuntimeContext
from pegboard.core.lock import Lock, format_lock, parse_lock
from pegboard.core.policy import AccessTemplate, Policy, decide_tool
from pegboard.core.revocations import NO_REVOCATIONS, Revocations
from pegboard.core.snapshot import Snapshot, diff
from pegboard.policy.table import RuleTable
from tests.strategies import STRONG, lock_line

ACTS = ("open", "socket.", "subprocess.", "sqlite3.", "os.", "shutil.", "urllib.", "ftplib.", "http.", "import")
_seen: list[str] | None = None


def _audit(event: str, _: tuple[object, ...]) -> None:
    if _seen is not None and event.startswith(ACTS):
        _seen.append(event)


# A hook cannot be taken out again, so there is one for the whole run and it listens only inside `watched`.
sys.addaudithook(_audit)


@contextmanager
def watched() -> Iterator[list[str]]:
    """Collect the acts of the body."""
    global _seen
    _seen = found = []
    try:
        yield found
    finally:
        _seen = None


# A schema that invites a reader to fetch something.
ENTRY = declare(
    tool_id="crm.list",
    namespace="crm",
    source_server="crm",
    name="list",
    input_schema={"type": "object", "properties": {"f": {"$ref": "http://127.0.0.1:9/x.json"}}, "$id": "file:///etc/x"},
)
SNAPSHOT = Snapshot.of(1, [ENTRY])
POLICY = Policy(lock=Lock.of([lock_line(ENTRY)]), templates={"open": AccessTemplate(required_scopes=frozenset())})
HALTS = Revocations(targets=frozenset({"all", "server:crm", "crm.list"}))

VERBS: dict[str, Callable[[], object]] = {
    "declare": lambda: declare(
        tool_id="a", namespace="a", source_server="a", name="a", input_schema={"$ref": "file:/x"}
    ),
    "store and restore an entry": lambda: from_row(to_row(ENTRY)),
    "build and compare snapshots": lambda: diff(SNAPSHOT, Snapshot.of(2, [])),
    "read and write a lock": lambda: parse_lock(format_lock(POLICY.lock)),
    "decide one tool": lambda: decide_tool(ENTRY, POLICY, STRONG, HALTS),
    "build the table": lambda: RuleTable.of(SNAPSHOT, POLICY),
    "decide all rules": lambda: RuleTable.of(SNAPSHOT, POLICY).decide(STRONG),
    "find the eligible": lambda: RuleTable.of(SNAPSHOT, POLICY).eligible(STRONG, NO_REVOCATIONS).removed_by(),
    "find the eligible under halts": lambda: RuleTable.of(SNAPSHOT, POLICY).eligible(STRONG, HALTS).bits,
    "restore a context": lambda: RuntimeContext.from_json(STRONG.to_json()),
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_pure_verb_touches_nothing(verb: str):
    VERBS[verb]()  # what is imported or built at first use is not the verb's own act
    with watched() as acts:
        VERBS[verb]()
    assert acts == []


def test_the_watch_sees_what_it_is_there_to_see(tmp_path):
    with watched() as acts:
        (tmp_path / "x").write_text("x")
    assert "open" in acts
