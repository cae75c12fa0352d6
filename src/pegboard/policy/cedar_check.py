"""Check Cedar policies: everything that is wrong with them, and what an operator should know of them.

What is wrong keeps every policy from being used. What is noted does not: a policy by which losing a right gives more,
and one that names a tool, namespace or server that is not there.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import cedarpy

from pegboard.core.catalog import CatalogEntry
from pegboard.core.names import Json
from pegboard.policy.cedar_input import input_of, kind_text
from pegboard.policy.cedar_model import schema_text, uids_of
from pegboard.policy.cedar_monotone import lost_rights
from pegboard.policy.cedar_policies import CedarPolicy, PolicyProblem, may_be_for, policies_of, type_problems
from pegboard.policy.cedar_reads import names

__all__ = ["CheckReport", "check"]

_KINDS = ("Tool", "Namespace", "Server")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """What checking found. `problems` must be corrected, `notes` may stand."""

    policies: tuple[CedarPolicy, ...]
    problems: tuple[PolicyProblem, ...]
    notes: tuple[PolicyProblem, ...]

    def to_json(self) -> dict[str, Json]:
        """Return the answer of `policy check`."""
        return {
            "ok": not self.problems,
            "policies": [
                {
                    "policy": one.id,
                    "file": one.file,
                    "effect": one.effect,
                    "actions": sorted(one.actions),
                    "log_only": one.log_only,
                }
                for one in self.policies
            ],
            "problems": [_plain(one) for one in self.problems],
            "notes": [_plain(one) for one in self.notes],
        }


def check(texts: Mapping[str, str], tools: Iterable[CatalogEntry]) -> CheckReport:
    """Check the policies of these files against the schema and against the tools of a catalog."""
    tools = tuple(tools)
    policies, problems = policies_of(texts)
    broken = {problem.policy for problem in problems}
    sound = [policy for policy in policies if policy.id not in broken]
    there = frozenset().union(*map(uids_of, tools))
    return CheckReport(
        policies=policies,
        problems=(*problems, *(one for policy in sound for one in _over_arguments(policy, tools))),
        notes=tuple(
            PolicyProblem(file=policy.file, policy=policy.id, problem=note)
            for policy in sound
            for note in (*_rights(policy), *_unknown(policy, there))
        ),
    )


def _over_arguments(policy: CedarPolicy, tools: tuple[CatalogEntry, ...]) -> Iterator[PolicyProblem]:
    """Type-check a policy that looks at arguments against what each tool that it may be for declares."""
    if not policy.reads_input:
        return
    by_type: dict[str, list[str]] = {}
    for entry in tools:
        if may_be_for(policy.node.resource, uids_of(entry)):
            by_type.setdefault(kind_text(input_of(entry.input_schema)), []).append(entry.tool_id)
    by_problem: dict[str, list[str]] = {}
    for kind, ids in by_type.items():
        for problem in type_problems(policy, cedarpy.Schema.from_str(schema_text(kind))):
            by_problem.setdefault(problem, []).extend(ids)
    for problem, ids in by_problem.items():
        more = f" and {len(ids) - 1:,} more tools" if len(ids) > 1 else ""
        yield PolicyProblem(file=policy.file, policy=policy.id, problem=f"for {min(ids)}{more}: {problem}")


def _rights(policy: CedarPolicy) -> Iterator[str]:
    if found := lost_rights(policy):
        yield f"it is not monotone: with fewer {' or '.join(found)} a caller may get more by this {policy.effect}"


def _unknown(policy: CedarPolicy, there: frozenset[str]) -> Iterator[str]:
    for uid in sorted(names([policy.node])):
        kind = uid.partition("::")[2].partition("::")[0]
        if kind in _KINDS and uid not in there:
            yield f"there is no {uid} in the catalog"


def _plain(one: PolicyProblem) -> dict[str, Json]:
    return {"file": one.file, "policy": one.policy, "problem": one.problem}
