"""What properties are drawn from: entries, templates, locks, callers, halts and whole catalogs with their policy.

The vocabularies are small on purpose, so that rules and callers meet; each holds the odd values too: the empty
text, the star, names that begin alike.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st

from pegboard.core.catalog import ALWAYS, CatalogEntry, Flow, Proposal, Reach, Risk, declare
from pegboard.core.context import RuntimeContext
from pegboard.core.lock import Lock, LockLine
from pegboard.core.names import Json
from pegboard.core.policy import DIMENSIONS, AccessTemplate, Policy, Switch
from pegboard.core.revocations import Revocations
from pegboard.core.snapshot import Snapshot

_Test = TypeVar("_Test", bound=Callable[..., Any])

SOAK = os.environ.get("PEGBOARD_SOAK") == "1"


def cases(sampled: int, soak: int) -> Callable[[_Test], _Test]:
    """Run a property on so many cases: *sampled* by default, *soak* under `PEGBOARD_SOAK=1`."""
    return settings(max_examples=soak if SOAK else sampled)


SERVERS = ("crm", "crm-admin", "billing", "mail")
NAMESPACES = ("crm", "crm.orders", "crm.orders.refunds", "crmx", "billing", "billing.refunds")
NAMES = ("list", "get_order", "delete", "stop_all", "search", "send-mail", "résumé", "a.b", "x" * 40)
SCOPES = ("crm.read", "crm.admin", "billing.read", "*", "")
ROLES = ("support", "admin", "*")
FLAGS = ("beta", "refunds", "*")
TENANTS = ("acme", "globex", "", "*")
ENVIRONMENTS = ("production", "staging", "development", "*")
STAGES = ("investigation", "reply_draft", "resolution", "*", "")
PEOPLE = ("sam", "dana", "bot", "")
TEMPLATES = ("crm-read", "crm-admin", "open", "silent")


def subsets(values: tuple[str, ...]) -> st.SearchStrategy[frozenset[str]]:
    """Draw a set of some of *values*, the empty one included."""
    return st.frozensets(st.sampled_from(values), max_size=len(values))


def forced(template: AccessTemplate, **fields: Any) -> AccessTemplate:
    """Put into a template what it would refuse, as a bug might."""
    found = replace(template)
    for name, value in fields.items():
        object.__setattr__(found, name, value)
    return found


texts = st.text(max_size=12)
numbers = st.one_of(
    st.integers(-(2**53) + 1, 2**53 - 1), st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([0.0, 1e21])
)
json_values: st.SearchStrategy[Json] = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, texts),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=12,
)
schemas: st.SearchStrategy[dict[str, Json]] = st.dictionaries(texts, json_values, max_size=4)

proposals = st.builds(
    Proposal,
    access=st.none() | st.sampled_from(TEMPLATES),
    risk=st.none() | st.sampled_from(Risk),
    reach=st.none() | st.sampled_from(Reach),
    flow=st.none() | st.frozensets(st.sampled_from(Flow)),
)
pins = st.sampled_from([(), (ALWAYS,), ("investigation",), ("investigation", "resolution")])

# Everything that `declare` takes, so that a test can change one part and declare again.
declarations: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "tool_id": st.builds("{}.{}".format, st.sampled_from(NAMESPACES), st.sampled_from(NAMES)),
        "namespace": st.sampled_from(NAMESPACES),
        "source_server": st.sampled_from(SERVERS),
        "name": st.sampled_from(NAMES),
        "title": st.none() | texts,
        "description": texts,
        "input_schema": st.none() | schemas,
        "output_schema": st.none() | schemas,
        "annotations": st.none() | schemas,
        "summary": st.none() | texts,
        "examples": st.lists(texts, max_size=2).map(tuple),
        "keywords": st.lists(texts, max_size=2).map(tuple),
        "mentions": st.lists(st.sampled_from(NAMES), max_size=2).map(tuple),
        "enabled": st.booleans(),
        "pinned": pins,
        "proposal": st.none() | proposals,
    }
)
entries: st.SearchStrategy[CatalogEntry] = declarations.map(lambda parts: declare(**parts))


# Policy looks at few parts of an entry; these draw those widely and the rest hardly at all.
@cache
def _plain(
    namespace: str, name: str, server: str, description: str, enabled: bool, pinned: tuple[str, ...]
) -> CatalogEntry:
    return declare(
        tool_id=f"{namespace}.{name}",
        namespace=namespace,
        source_server=server,
        name=name,
        description=description,
        enabled=enabled,
        pinned=pinned,
    )


plain_entries: st.SearchStrategy[CatalogEntry] = st.builds(
    _plain,
    st.sampled_from(NAMESPACES),
    st.sampled_from(NAMES),
    st.sampled_from(SERVERS),
    st.sampled_from(["", "Lists orders.", "Deletes."]),
    st.sampled_from([True, True, True, False]),
    pins,
)
_rows = st.lists(plain_entries, max_size=6, unique_by=lambda entry: entry.tool_id)
snapshots: st.SearchStrategy[Snapshot] = st.builds(Snapshot.of, st.integers(1, 9), _rows)

levels = st.none() | st.integers(-1, 3) | st.sampled_from([2**31, 2**63, 2**70])
templates: st.SearchStrategy[AccessTemplate] = st.builds(
    AccessTemplate,
    required_scopes=st.none() | subsets(SCOPES),
    required_roles=st.none() | subsets(ROLES),
    required_flags=st.none() | subsets(FLAGS),
    tenants=st.none() | subsets(TENANTS),
    environments=st.none() | subsets(ENVIRONMENTS),
    allowed_stages=st.none() | subsets(STAGES),
    minimum_clearance=levels,
)
# What most deployments write: every dimension stated, and so loosely that callers come through.
loose_templates: st.SearchStrategy[AccessTemplate] = st.builds(
    AccessTemplate,
    required_scopes=subsets(SCOPES[:2]),
    required_roles=subsets(ROLES[:1]),
    required_flags=subsets(FLAGS[:1]),
    tenants=st.sampled_from([frozenset({"*"}), frozenset({"acme"})]),
    environments=st.sampled_from([frozenset({"*"}), frozenset({"production", "staging"})]),
    allowed_stages=st.sampled_from([frozenset({"*"}), frozenset({"investigation"})]),
    minimum_clearance=st.integers(0, 2),
)

contexts: st.SearchStrategy[RuntimeContext] = st.builds(
    RuntimeContext,
    user=st.none() | st.sampled_from(PEOPLE),
    tenant=st.none() | st.sampled_from([*TENANTS, "unknown"]),
    workload=st.none() | st.sampled_from(PEOPLE),
    delegation=st.lists(st.sampled_from(PEOPLE), max_size=2).map(tuple),
    roles=subsets((*ROLES, "unknown")),
    scopes=subsets((*SCOPES, "unknown")),
    stage=st.none() | st.sampled_from([*STAGES, "unknown"]),
    environment=st.none() | st.sampled_from([*ENVIRONMENTS, "unknown"]),
    flags=subsets((*FLAGS, "unknown")),
    servers=subsets((*SERVERS, "unknown", "*")),
    approved_namespaces=subsets(NAMESPACES),
    clearance=levels,
    minimum_confidence=st.none() | st.floats(0, 1),
)
# A caller with so many rights that only the tool's side decides.
STRONG = RuntimeContext(
    user="sam",
    tenant="acme",
    scopes=frozenset(SCOPES),
    roles=frozenset(ROLES),
    flags=frozenset(FLAGS),
    servers=frozenset(SERVERS),
    stage="investigation",
    environment="production",
    clearance=2**80,
)
# Most callers have most rights: one or two of the strong caller's facts are other ones.
_near = st.builds(
    lambda other, names: replace(STRONG, **{name: getattr(other, name) for name in names}),
    contexts,
    st.lists(
        st.sampled_from(["tenant", "environment", "stage", "scopes", "roles", "flags", "servers", "clearance", "user"]),
        max_size=2,
    ),
)
callers: st.SearchStrategy[RuntimeContext] = st.one_of(contexts, _near, _near)


def lock_line(entry: CatalogEntry, access: str = "open", **changes: Any) -> LockLine:
    """Return the line that grants this entry as it is declared."""
    parts: dict[str, Any] = {
        "risk": Risk.WRITE,
        "reach": Reach.BOUNDED,
        "by": "dana@acme",
        "at": "2026-12-01T09:00:00Z",
    }
    return LockLine(**{"tool": entry.tool_id, "hash": entry.schema_hash, "access": access, **parts, **changes})


hashes = st.integers(0, 2**256 - 1).map("sha256:{:064x}".format)
_words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
lock_lines: st.SearchStrategy[LockLine] = st.builds(
    LockLine,
    tool=st.builds("{}.{}".format, st.sampled_from(NAMESPACES), st.sampled_from(NAMES)),
    hash=hashes,
    access=_words,
    risk=st.sampled_from([Risk.WRITE, Risk.DESTRUCTIVE]),
    reach=st.sampled_from(Reach),
    flow=st.frozensets(st.sampled_from(Flow)),
    by=_words,
    at=_words,
)
locks: st.SearchStrategy[Lock] = st.lists(lock_lines, max_size=8).map(Lock.of)

revocations: st.SearchStrategy[Revocations] = st.builds(
    lambda targets: Revocations(targets=targets, as_of=1.0),
    st.frozensets(
        st.one_of(
            st.builds("{}.{}".format, st.sampled_from(NAMESPACES), st.sampled_from(NAMES)),
            st.sampled_from([*NAMESPACES, "crm.ord", "nothing"]).map("namespace:{}".format),
            st.sampled_from([*SERVERS, ""]).map("server:{}".format),
            st.sampled_from(PEOPLE).map("principal:{}".format),
            st.just("all"),
        ),
        max_size=3,
    ),
)


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """A catalog and the policy that stands over it."""

    snapshot: Snapshot
    policy: Policy


@st.composite
def deployments(draw: st.DrawFn) -> Deployment:
    """Draw a catalog with its policy: some tools unlocked, some locked with another content, templates missing."""
    found = draw(st.lists(plain_entries, min_size=1, max_size=6, unique_by=lambda entry: entry.tool_id))
    snapshot = Snapshot.of(1, found)
    lines = []
    for entry in snapshot.entries:
        how = draw(st.sampled_from(["as declared", "as declared", "as declared", "changed", "unlocked"]))
        if how != "unlocked":
            changes = {"hash": draw(hashes)} if how == "changed" else {}
            lines.append(lock_line(entry, draw(st.sampled_from([*TEMPLATES, "missing"])), **changes))
    kinds = st.one_of(templates, loose_templates, loose_templates)
    switched = st.sampled_from([entry.tool_id for entry in found])
    switch = st.builds(Switch, enabled=st.none() | st.booleans(), pinned=st.none() | pins)
    policy = Policy(
        lock=Lock.of(lines),
        templates=draw(st.fixed_dictionaries(dict.fromkeys(TEMPLATES, kinds))),
        used=draw(st.one_of(st.just(DIMENSIONS), st.frozensets(st.sampled_from(sorted(DIMENSIONS))))),
        switches=draw(st.dictionaries(switched, switch, max_size=3)),
    )
    return Deployment(snapshot=snapshot, policy=policy)
