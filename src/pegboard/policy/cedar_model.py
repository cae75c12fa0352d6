"""The Cedar model: who, what and on which facts, as entities of a schema that policies are type-checked against.

Entities are made of the runtime context and of the lock, so of trusted facts alone: no text that a tool server
declares is among them, and a tool's id, namespace and server are what the lock granted. Everything but three facts of
the work stands on entities, since Cedar reads a request's context anew for each decision.

Source: DESIGN section 4; ENGINES "Policy".
"""

import json
from functools import cache
from typing import Any

import cedarpy

from pegboard.core.catalog import CatalogEntry
from pegboard.core.context import RuntimeContext
from pegboard.core.lock import LockLine
from pegboard.core.names import Json
from pegboard.core.revocations import with_parents

__all__ = [
    "ACTIONS",
    "CALL",
    "CONSIDER",
    "context_of",
    "entities",
    "principal_of",
    "schema",
    "schema_text",
    "tool_of",
    "uids_of",
]

CONSIDER, CALL = "consider", "call"
ACTIONS = (CONSIDER, CALL)
# Cedar's whole numbers; a clearance beyond them is left out, and what asks for it errs, which denies.
_LONG = 2**63

_SCHEMA = """
namespace Pegboard {{
  entity Role, Org, Server;
  entity Namespace in [Namespace];
  entity User, Workload in [Role, Org] {{
    user?: String, workload?: String, tenant?: String, clearance?: Long,
    delegation: Set<String>, scopes: Set<String>, servers: Set<String>, approved_namespaces: Set<String>,
  }};
  entity Tool in [Namespace, Server] {{
    id: String, namespace: String, server: String, access: String, risk: String, reach: String, flow: Set<String>,
  }};
  type Work = {{ environment?: String, stage?: String, flags: Set<String> }};
  action consider appliesTo {{ principal: [User, Workload], resource: Tool, context: Work }};
  action call appliesTo {{ principal: [User, Workload], resource: Tool, context: {{
    environment?: String, stage?: String, flags: Set<String>, input: {input},
  }} }};
}}
"""


def schema_text(input_type: str = "{}") -> str:
    """Return the schema in Cedar's own words, with the type of a call's arguments."""
    return _SCHEMA.format(input=input_type)


@cache
def schema() -> cedarpy.Schema:
    """Return the schema, parsed once."""
    return cedarpy.Schema.from_str(schema_text())


def entities(*found: dict[str, Json]) -> cedarpy.Entities:
    """Parse entities, held to the schema.

    Raises:
        ValueError: One is not of the schema.
    """
    return cedarpy.Entities.from_json_str(json.dumps(found), schema())


def principal_of(context: RuntimeContext) -> dict[str, Json] | None:
    """Return who asks: the user where one is known, else the workload; None where neither is, who gets nothing."""
    kind, name = ("User", context.user) if context.user else ("Workload", context.workload)
    if not name:
        return None
    attributes: dict[str, Json] = {
        "delegation": sorted(set(context.delegation)),
        "scopes": sorted(context.scopes),
        "servers": sorted(context.servers),
        "approved_namespaces": sorted(context.approved_namespaces),
        **_known(user=context.user, workload=context.workload, tenant=context.tenant),
    }
    if context.clearance is not None and -_LONG <= context.clearance < _LONG:
        attributes["clearance"] = context.clearance
    parents = [_uid("Role", role) for role in sorted(context.roles)]
    if context.tenant:
        parents.append(_uid("Org", context.tenant))
    return {"uid": _uid(kind, name), "attrs": attributes, "parents": parents}


def tool_of(entry: CatalogEntry, line: LockLine) -> dict[str, Json]:
    """Return a tool in its server, its namespace and every namespace around that; the lock says what it may do."""
    own, *around = _around(entry)
    return {
        "uid": own,
        "attrs": {
            "id": entry.tool_id,
            "namespace": entry.namespace,
            "server": entry.source_server,
            "access": line.access,
            "risk": str(line.risk),
            "reach": str(line.reach),
            "flow": sorted(map(str, line.flow)),
        },
        "parents": around,
    }


def uids_of(entry: CatalogEntry) -> frozenset[str]:
    """Return a tool and everything that it is in, as policies name them."""
    return frozenset(f'{one["type"]}::"{one["id"]}"' for one in _around(entry))


def context_of(context: RuntimeContext) -> dict[str, Json]:
    """Return what the work is at; what is unsaid or empty is not there."""
    return {"flags": sorted(context.flags), **_known(environment=context.environment, stage=context.stage)}


def _known(**texts: str | None) -> dict[str, Json]:
    return {name: value for name, value in texts.items() if value}


def _around(entry: CatalogEntry) -> list[dict[str, Any]]:
    spaces = (_uid("Namespace", path) for path in with_parents(entry.namespace))
    return [_uid("Tool", entry.tool_id), _uid("Server", entry.source_server), *spaces]


def _uid(kind: str, name: str) -> dict[str, Any]:
    return {"type": f"Pegboard::{kind}", "id": name}
