"""Cedar policies as they are written: parsed, named and held to what Pegboard asks of them.

Each policy names its action, is of no template, and has an id of its own: what `@id("…")` says, else its file and its
number in it. A policy for `consider` that looks at arguments, which do not exist yet, would err for every tool and so
hide all of them; it is refused here, and so is what does not fit the schema. A policy that looks at a call's arguments
is type-checked against the tools that it is for, by `pegboard policy check`.

Source: DESIGN section 4; Cedar's policy syntax and validator.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, replace

import cedarpy
from cedarpy import pst

from pegboard.policy.cedar_model import ACTIONS, CONSIDER, schema
from pegboard.policy.cedar_reads import Path, reads

__all__ = ["CedarPolicy", "PolicyProblem", "may_be_for", "policies_of", "policy_set", "type_problems"]

_LOG_ONLY = "log_only"
_ID = "id"
# What an id can be shown as in one word, in a table, an audit line and a message.
_PLAIN = re.compile(r"[A-Za-z0-9_.:/#-]{1,100}")
_INPUT = ("context", "input")


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyProblem:
    """What is wrong with a policy, or with a whole file where `policy` is None."""

    file: str
    policy: str | None
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CedarPolicy:
    """One policy, and what it looks at."""

    id: str
    file: str
    node: pst.Template
    actions: frozenset[str]
    reads: frozenset[Path]

    @property
    def effect(self) -> str:
        """Return `permit` or `forbid`."""
        return self.node.effect

    @property
    def log_only(self) -> bool:
        """Say whether it is only watched."""
        return _LOG_ONLY in self.node.annotations

    @property
    def reads_input(self) -> bool:
        """Say whether it looks at a call's arguments."""
        return any(path[:2] == _INPUT[: len(path)] for path in self.reads)


def policies_of(texts: Mapping[str, str]) -> tuple[tuple[CedarPolicy, ...], tuple[PolicyProblem, ...]]:
    """Read policies from the texts of their files, in the order of the files' names.

    Returns:
        What could be read, and everything that is wrong. Where something is, the policies must not be used.
    """
    found: list[CedarPolicy] = []
    problems: list[PolicyProblem] = []
    for file, text in sorted(texts.items()):
        try:
            read = cedarpy.policies_to_pst(text)
        except ValueError as error:
            problems.append(PolicyProblem(file=file, policy=None, problem=f"it cannot be read: {error}"))
            continue
        for key in read.templates:
            problem = "it is a template, which decides nothing by itself: write the principal and the resource out"
            problems.append(PolicyProblem(file=file, policy=f"{file}#{_number(key)}", problem=problem))
        for key, node in sorted(read.static_policies.items(), key=lambda item: _number(item[0])):
            found.append(_policy(f"{file}#{_number(key)}", file, node))
    problems += [problem for policy in found for problem in _problems(policy, found)]
    return tuple(found), tuple(problems)


def may_be_for(scope: pst.PrincipalOrResourceConstraint, uids: Set[str]) -> bool:
    """Say whether a policy's scope may take what is, or is in, *uids*; what its conditions say is left open."""
    return not isinstance(scope, pst.ScopeEq | pst.ScopeIn | pst.ScopeIsIn) or str(scope.entity) in uids


def policy_set(policies: Mapping[str, CedarPolicy]) -> cedarpy.PolicySet:
    """Make what the engine decides by; its answers name policies by the keys given here."""
    nodes = {key: replace(policy.node, id=key) for key, policy in policies.items()}
    return cedarpy.PolicySet.from_pst(pst.PolicySet(templates={}, static_policies=nodes, template_links=()))


def type_problems(policy: CedarPolicy, against: cedarpy.Schema) -> tuple[str, ...]:
    """Return what Cedar's validator says of one policy."""
    result = cedarpy.validate_policies(str(policy_set({"policy0": policy})), against)
    if result.validation_passed:
        return ()
    said = (re.sub(r"^for policy `[^`]*`, ", "", error.error) for error in result.errors)
    return tuple(dict.fromkeys(said)) or ("it does not fit the schema",)


def _number(key: str) -> int:
    """Return the number of a policy in its text, from 1; Cedar counts from 0, templates included."""
    return int(key.removeprefix("policy")) + 1


def _policy(place: str, file: str, node: pst.Template) -> CedarPolicy:
    return CedarPolicy(
        id=node.annotations.get(_ID) or place,
        file=file,
        node=node,
        actions=_actions(node.action),
        reads=reads(node),
    )


def _actions(scope: pst.ActionConstraint) -> frozenset[str]:
    if isinstance(scope, pst.ActionEq):
        named: tuple[pst.EntityUid, ...] = (scope.entity,)
    else:
        named = scope.entities if isinstance(scope, pst.ActionIn) else ()
    return frozenset(uid.id if str(uid.type) == "Pegboard::Action" else str(uid) for uid in named)


def _problems(policy: CedarPolicy, every: list[CedarPolicy]) -> Iterator[PolicyProblem]:
    for asks, problem in _RULES:
        if asks(policy, every):
            yield PolicyProblem(file=policy.file, policy=policy.id, problem=problem)
            return
    if not policy.reads_input:
        for problem in type_problems(policy, schema()):
            yield PolicyProblem(file=policy.file, policy=policy.id, problem=problem)


# One row a rule; the first that is broken is told, since the later ones rely on it.
_RULES: tuple[tuple[Callable[[CedarPolicy, list[CedarPolicy]], bool], str], ...] = (
    (
        lambda policy, _: _PLAIN.fullmatch(policy.node.annotations.get(_ID) or "x") is None,
        "its @id is not one word of letters, digits and _ . : / # -, of at most 100 characters",
    ),
    (
        lambda policy, every: sum(policy.id == one.id for one in every) > 1,
        "another policy has the same id",
    ),
    (
        lambda policy, _: policy.node.annotations.get(_LOG_ONLY, "") != "",
        "write @log_only without a value, or leave it out",
    ),
    (
        lambda policy, _: not policy.actions or not policy.actions <= set(ACTIONS),
        'it names no action: write action == Pegboard::Action::"consider", "call", or action in a list of both',
    ),
    (
        lambda policy, _: CONSIDER in policy.actions and policy.reads_input,
        "it is for `consider` and looks at context.input: arguments exist at a call alone",
    ),
)
