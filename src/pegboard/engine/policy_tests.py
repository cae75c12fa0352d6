"""Policy tests: what policy says of a caller and a tool, beside what its author expects.

A test asks all of policy, attributes and Cedar, as a selection and a call would; halts, which come and go, are not
asked. A call is asked with arguments that keep to the tool's schema, since the gate refuses others before.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pegboard.core.context import RuntimeContext
from pegboard.core.names import Json
from pegboard.core.policy import Policy, decide_tool
from pegboard.core.revocations import NO_REVOCATIONS
from pegboard.core.snapshot import Snapshot
from pegboard.engine.schemas import check_arguments, compile_schema

__all__ = ["Action", "Expected", "PolicyTest", "Tested", "run_test"]


class Action(StrEnum):
    """What is asked for: to be shown a tool, or to call it."""

    CONSIDER = "consider"
    CALL = "call"


class Expected(StrEnum):
    """What a test expects."""

    ALLOW = "allow"
    DENY = "deny"


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyTest:
    """One question to policy. `by` names policies that must be among those that decide; empty: any may."""

    name: str
    context: RuntimeContext
    tool: str
    action: Action = Action.CONSIDER
    arguments: Mapping[str, Any] = field(default_factory=dict)
    expect: Expected
    by: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """What came of a test: the decision with its reasons, or the problem for which nothing was asked."""

    test: PolicyTest
    found: Expected | None
    reasons: tuple[str, ...] = ()
    problem: str | None = None

    @property
    def passed(self) -> bool:
        """Say whether policy decides as expected, and by the policies that were named."""
        return self.found is self.test.expect and self.test.by <= set(self.reasons)

    def to_json(self) -> dict[str, Json]:
        """Return one element of the answer of `policy test`."""
        return {
            "name": self.test.name,
            "tool": self.test.tool,
            "action": str(self.test.action),
            "expected": str(self.test.expect),
            "found": None if self.found is None else str(self.found),
            "reasons": list(self.reasons),
            "problem": self.problem,
            "passed": self.passed,
        }


def run_test(test: PolicyTest, snapshot: Snapshot, policy: Policy) -> Tested:
    """Ask policy what a test asks."""
    entry = snapshot.get(test.tool)
    if entry is None:
        return Tested(test=test, found=None, problem="there is no such tool in the catalog")
    if test.action is Action.CALL:
        wrong = check_arguments(compile_schema(entry.input_schema), test.arguments)
        if wrong is not None:
            return Tested(test=test, found=None, problem=f"the arguments break the tool's schema: {wrong.message}")
    decision = decide_tool(entry, policy, test.context, NO_REVOCATIONS)
    if not decision.allowed:
        return Tested(test=test, found=Expected.DENY, reasons=(*decision.reasons, *decision.rules))
    if test.action is Action.CONSIDER or policy.layer is None:
        return Tested(test=test, found=Expected.ALLOW, reasons=decision.rules)
    ruling = policy.layer.call(entry, policy.lock.lines[entry.tool_id], test.context, test.arguments)
    return Tested(test=test, found=Expected.ALLOW if ruling.allowed else Expected.DENY, reasons=ruling.rules)
