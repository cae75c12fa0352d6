"""Cedar: policies beyond the attribute table, decided by Cedar's own engine over trusted facts.

Nothing is permitted by default and a `forbid` wins. Cedar skips a policy that errs, so that a broken `forbid` would
vanish; here whatever errs denies. Policies marked `@log_only` are decided beside the others and change nothing.

A call's arguments are given to Cedar as far as their schema types them (`cedar_input.py`). Where a policy for the tool
would have looked at one that was left out, the call is denied: a `has` would else let it through.

Source: DESIGN section 4; ENGINES "Policy".
"""

import json
import re
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import cedarpy

from pegboard.core.catalog import CatalogEntry
from pegboard.core.context import RuntimeContext
from pegboard.core.errors import ConfigError
from pegboard.core.layer import Ruling
from pegboard.core.lock import LockLine
from pegboard.core.names import Json, digest
from pegboard.policy.cedar_input import Record, given, input_of
from pegboard.policy.cedar_model import CALL, CONSIDER, context_of, entities, principal_of, schema, tool_of, uids_of
from pegboard.policy.cedar_policies import CedarPolicy, may_be_for, policies_of, policy_set
from pegboard.policy.cedar_reads import Path, names

__all__ = ["NO_PRINCIPAL", "UNREADABLE_ARGUMENTS", "Cedar"]

# What stands for a policy's id where none decided.
NO_PRINCIPAL = "no-principal"
UNREADABLE_ARGUMENTS = "unreadable-arguments"
_POLICY = re.compile(r"policy `(\d+)`")
_PEOPLE = ("user", "workload", "delegation")
# Caches alone: neither changes an answer.
_TOOLS_KEPT, _TYPES_KEPT = 16, 256


@dataclass(frozen=True, slots=True, eq=False)
class _Rules:
    """The policies of one action: those in force, and all of them with the log-only ones."""

    policies: Mapping[str, CedarPolicy]
    active: cedarpy.PolicySet
    watched: cedarpy.PolicySet | None
    """None where no policy is log-only."""

    @classmethod
    def of(cls, policies: Iterable[CedarPolicy]) -> "_Rules":
        every = {str(number): policy for number, policy in enumerate(policies)}
        active = {key: policy for key, policy in every.items() if not policy.log_only}
        return cls(every, policy_set(active), None if len(active) == len(every) else policy_set(every))

    def decide(self, requests: list[dict[str, Any]], known: cedarpy.Entities) -> list[Ruling]:
        """Decide requests by the policies in force, and say where the log-only ones would have decided otherwise."""
        found = [self._ruling(one) for one in cedarpy.is_authorized_batch(requests, self.active, known)]
        if self.watched is None:
            return found
        beside = map(self._ruling, cedarpy.is_authorized_batch(requests, self.watched, known))
        return [self._noted(one, other) for one, other in zip(found, beside, strict=True)]

    def _ruling(self, result: cedarpy.AuthzResult) -> Ruling:
        errors = result.diagnostics.errors
        keys = [*result.diagnostics.reasons, *(key for error in errors for key in _POLICY.findall(error))]
        allowed = result.decision is cedarpy.Decision.Allow and not errors
        return Ruling(allowed, tuple(sorted({self.policies[key].id for key in keys})))

    def _noted(self, ruling: Ruling, other: Ruling) -> Ruling:
        if ruling.allowed == other.allowed:
            return ruling
        watched = {policy.id for policy in self.policies.values() if policy.log_only}
        return Ruling(ruling.allowed, ruling.rules, tuple(one for one in other.rules if one in watched))


@dataclass(frozen=True, eq=False, kw_only=True)
class Cedar:
    """The second layer over one set of policy files. Build it with `of`."""

    texts: Mapping[str, str]
    policies: tuple[CedarPolicy, ...]
    _tools: "OrderedDict[Hashable, cedarpy.Entities]" = field(default_factory=OrderedDict, repr=False)
    _types: "OrderedDict[str, Record]" = field(default_factory=OrderedDict, repr=False)

    @classmethod
    def of(cls, texts: Mapping[str, str]) -> "Cedar":
        """Read the policies of these files; without a policy in them, nothing is permitted.

        Raises:
            ConfigError: A policy cannot be read or breaks a rule; none is used then.
        """
        policies, problems = policies_of(texts)
        if problems:
            first, more = problems[0], f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
            where = first.file if first.policy is None else f"{first.file}: {first.policy}"
            raise ConfigError(first.problem, where, f"`pegboard policy check` tells all that is wrong{more}")
        return cls(texts=dict(sorted(texts.items())), policies=policies)

    @cached_property
    def digest(self) -> str:
        """Identify the policies by their files' names and texts."""
        return digest(cast("Json", self.texts))

    @property
    def names_people(self) -> bool:
        """Say whether who is shown what depends on somebody's name, which a trace that keeps digests cannot tell."""
        return any(("principal", one) in self._read for one in _PEOPLE) or any(map(_is_person, self._named))

    def tool_key(self, entry: CatalogEntry, line: LockLine) -> Hashable:
        """Return the tool's facts that some policy looks at: attributes, itself and what it is in, where named."""
        return self._key("resource", tool_of(entry, line))

    def caller_key(self, context: RuntimeContext) -> Hashable:
        """Return the caller's facts that some policy looks at, and those of the work."""
        principal = principal_of(context)
        if principal is None:
            return None
        # INVARIANT: no policy for `consider` looks at the context as a whole; `cedar_policies.py` refuses it.
        return self._key("principal", principal), self._looked_at("context", context_of(context))

    def consider(self, tools: Sequence[tuple[CatalogEntry, LockLine]], context: RuntimeContext) -> list[Ruling]:
        """Say for each tool whether this caller may be shown it. Any error denies."""
        principal = principal_of(context)
        if principal is None:
            return [Ruling(False, (NO_PRINCIPAL,))] * len(tools)
        work = json.dumps(context_of(context))
        requests = [_request(CONSIDER, principal, entry, work) for entry, _ in tools]
        known = self._parsed(tools).with_added_json_str(json.dumps([principal]), schema())
        return self._considered.decide(requests, known)

    def call(
        self, entry: CatalogEntry, line: LockLine, context: RuntimeContext, arguments: Mapping[str, Any]
    ) -> Ruling:
        """Say whether this caller may call a tool with these arguments. Any error denies."""
        principal = principal_of(context)
        if principal is None:
            return Ruling(False, (NO_PRINCIPAL,))
        typed, left = given(self._input_of(entry), arguments)
        blind = [one for one in self._called.policies.values() if _misses(one, principal, entry, left)]
        if in_force := tuple(one.id for one in blind if not one.log_only):
            return Ruling(False, (UNREADABLE_ARGUMENTS, *in_force))
        work = json.dumps({**context_of(context), "input": typed})
        request = _request(CALL, principal, entry, work)
        (ruling,) = self._called.decide([request], entities(principal, tool_of(entry, line)))
        if ruling.allowed and blind:
            return Ruling(True, ruling.rules, tuple(one.id for one in blind))
        return ruling

    def _parsed(self, tools: Sequence[tuple[CatalogEntry, LockLine]]) -> cedarpy.Entities:
        """Parse tools; callers are asked about the same ones, and parsing is a third of the time."""
        key = tuple((entry.row, line) for entry, line in tools)
        found = self._tools.pop(key, None) or entities(*(tool_of(entry, line) for entry, line in tools))
        self._tools[key] = found
        if len(self._tools) > _TOOLS_KEPT:
            self._tools.popitem(last=False)
        return found

    def _input_of(self, entry: CatalogEntry) -> Record:
        found = self._types.pop(entry.schema_hash, None) or input_of(entry.input_schema)
        self._types[entry.schema_hash] = found
        if len(self._types) > _TYPES_KEPT:
            self._types.popitem(last=False)
        return found

    def _key(self, variable: str, entity: dict[str, Any]) -> Hashable:
        """Return what policies for `consider` can tell an entity by: its kind, what they name, what they read."""
        return entity["uid"]["type"], _uids(entity) & self._named, self._looked_at(variable, entity["attrs"])

    def _looked_at(self, variable: str, values: Mapping[str, Any]) -> Hashable:
        found = ((name, values[name]) for name in self._attributes.get(variable, ()) if name in values)
        return tuple((name, tuple(value) if isinstance(value, list) else value) for name, value in found)

    @cached_property
    def _read(self) -> frozenset[Path]:
        return frozenset().union(*(policy.reads for policy in self._considered.policies.values()))

    @cached_property
    def _attributes(self) -> Mapping[str, tuple[str, ...]]:
        """Return the attributes that policies for `consider` read, by variable."""
        read = sorted(path[:2] for path in self._read if len(path) > 1)
        return {variable: tuple(name for one, name in read if one == variable) for variable, _ in read}

    @cached_property
    def _named(self) -> frozenset[str]:
        return names(policy.node for policy in self._considered.policies.values())

    @cached_property
    def _considered(self) -> _Rules:
        return _Rules.of(policy for policy in self.policies if CONSIDER in policy.actions)

    @cached_property
    def _called(self) -> _Rules:
        return _Rules.of(policy for policy in self.policies if CALL in policy.actions)


def _request(action: str, principal: dict[str, Any], entry: CatalogEntry, work: str) -> dict[str, Any]:
    return {
        "principal": principal["uid"],
        "action": {"type": "Pegboard::Action", "id": action},
        "resource": {"type": "Pegboard::Tool", "id": entry.tool_id},
        "context": work,
    }


def _misses(policy: CedarPolicy, principal: dict[str, Any], entry: CatalogEntry, left: Iterable[Path]) -> bool:
    """Say whether a policy that may be for this call looks at an argument that was left out, above or below it."""
    missing = [("context", "input", *path) for path in left]
    looks = any(read[: len(path)] == path[: len(read)] for read in policy.reads for path in missing)
    node = policy.node
    return looks and may_be_for(node.resource, uids_of(entry)) and may_be_for(node.principal, _uids(principal))


def _uids(entity: dict[str, Any]) -> frozenset[str]:
    """Return an entity and everything that it is in, as policies name them."""
    return frozenset(f'{one["type"]}::"{one["id"]}"' for one in (entity["uid"], *entity["parents"]))


def _is_person(uid: str) -> bool:
    return uid.startswith(('Pegboard::User::"', 'Pegboard::Workload::"'))
