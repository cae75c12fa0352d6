"""The public values as a type checker sees them: `mypy --strict tests/typing` in `make check`. Never run."""

from typing import assert_type

import numpy as np
from numpy.typing import NDArray

from pegboard import AccessTemplate, RuntimeContext
from pegboard.core.catalog import CatalogEntry, declare
from pegboard.core.lock import Lock, LockLine, parse_lock
from pegboard.core.policy import Decision, Policy, Reason, decide_tool
from pegboard.core.revocations import NO_REVOCATIONS
from pegboard.core.snapshot import Snapshot
from pegboard.policy.table import Eligibility, RuleTable

entry = declare(tool_id="crm.list", namespace="crm", source_server="crm", name="list", input_schema={"type": "object"})
assert_type(entry, CatalogEntry)

template = AccessTemplate(required_scopes=frozenset({"crm.read"}), minimum_clearance=1)
assert_type(template.required_scopes, frozenset[str] | None)

caller = RuntimeContext(user="sam", scopes=frozenset({"crm.read"}), servers=frozenset({"crm"}))
assert_type(caller.scopes, frozenset[str])
assert_type(caller.principals, frozenset[str])
# A text or a list is no set of rights.
RuntimeContext(scopes="crm.read")  # type: ignore[arg-type]
RuntimeContext(scopes=["crm.read"])  # type: ignore[arg-type]
RuntimeContext("sam")  # type: ignore[call-arg]

lock = parse_lock("")
assert_type(lock, Lock)
assert_type(lock.lines.get("crm.list"), LockLine | None)
# Values are immutable.
caller.user = "dana"  # type: ignore[misc]
entry.description = "x"  # type: ignore[misc]

policy = Policy(lock=lock, templates={"crm-read": template}, used=frozenset({Reason.SCOPE}))
decision = decide_tool(entry, policy, caller, NO_REVOCATIONS)
assert_type(decision, Decision)
assert_type(decision.allowed, bool)
assert_type(decision.reasons, tuple[Reason, ...])

snapshot = Snapshot.of(1, [entry])
assert_type(snapshot.get("crm.list"), CatalogEntry | None)

eligibility = RuleTable.of(snapshot, policy).eligible(caller, NO_REVOCATIONS)
assert_type(eligibility, Eligibility)
assert_type(eligibility.mask, NDArray[np.bool_])
assert_type(eligibility.removed_by(), dict[Reason, int])
