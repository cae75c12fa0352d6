"""The shape of every `--json` answer: what the tests ask for and the reference page prints.

A key that ends in `[]` is a list; what stands below it are the keys of each element.
"""

__all__ = ["ANSWERS", "ERROR", "Shape"]

Shape = dict[str, "Shape | None"]


def _keys(*names: str, **nested: Shape) -> Shape:
    return {**dict.fromkeys(names), **nested}


ENTRY = _keys(
    *("tool_id", "version", "namespace", "source_server", "name", "title", "summary", "description", "examples"),
    *("keywords", "schema_hash", "enabled", "locked", "access", "risk", "reach", "flow", "pinned", "mentions"),
    "annotations",
)
LINE = _keys("tool", "hash", "access", "risk", "reach", "flow", "by", "at", "server")
DRAFT = _keys("tool", "kind", "hash", "access", "risk", "reach", "flow", "reasons", "findings")
SERVER = _keys(
    *("server", "status", "added", "changed", "removed", "same", "held", "holds", "refused", "findings", "followed"),
    *("revoked", "lifted", "alarm", "steps", "error", "seconds"),
)
REFUSED = _keys("name", "reason")
APPROVAL: Shape = {
    **_keys("approval_id", "state", "tool_id", "schema_hash", "arguments", "principal", "reasons"),
    "earlier[]": _keys("call_id", "tool_id", "at"),
    **_keys("asked_at", "expires_at", "by", "decided_at", "used_by"),
}
CALL = _keys("call_id", "tool_id", "principal", "at", "key", "trace_id", "ended")
KEY = ("key_id", "name", "workload", "role", "scopes", "state", "by", "made_at", "expires_at", "revoked_at")
GUARDED = _keys("measure", "value", "n", "min", "problem")

ERROR: Shape = {"error": _keys("kind", "message", "where", "fix")}

ANSWERS: dict[str, Shape] = {
    "init": {
        **_keys("config"),
        "sources[]": _keys("client", "file", "servers"),
        **_keys("catalog_version", "published"),
        "servers[]": SERVER,
        **_keys("tools", "ask_before", "locked", "fix"),
        "switched[]": _keys("file", "backup"),
    },
    "doctor": {**_keys("ok"), "findings[]": _keys("check", "level", "message", "where", "fix")},
    "refresh": {**_keys("catalog_version", "published"), "servers[]": SERVER},
    "classify": {**_keys("applied"), "ready[]": DRAFT, "review[]": DRAFT},
    "review list": {"waiting[]": DRAFT},
    "review show": {"draft": DRAFT, "changes[]": _keys("field", "was", "now")},
    "review approve": {"locked[]": LINE},
    "review reject": _keys("rejected"),
    "lock show": {**_keys("digest"), "lines[]": LINE},
    "lock export": _keys("exported", "file"),
    "lock import": _keys("imported", "added", "changed", "removed"),
    "lock remove": _keys("removed"),
    "lock check": {**_keys("total"), "problems[]": _keys("tool", "problem")},
    "catalog list": {**_keys("catalog_version", "total"), "tools[]": ENTRY},
    "catalog show": {**ENTRY, **_keys("input_schema", "output_schema")},
    "catalog versions": {"versions[]": _keys("version", "published_at", "by", "tools")},
    "catalog diff": {**_keys("from", "to", "added"), "changed[]": _keys("tool_id", "fields"), **_keys("removed")},
    "catalog rollback": _keys("from", "catalog_version", "waiting"),
    "catalog export": _keys("catalog_version", "exported", "file"),
    "catalog import": {**_keys("catalog_version", "imported", "locked", "removed"), "refused[]": REFUSED},
    "catalog verify": _keys("versions", "rows", "bad"),
    "catalog lint": {**_keys("catalog_version", "total"), "problems[]": _keys("tool", "check", "problem", "where")},
    "catalog curate": _keys("tool", "file", "summary", "keywords", "examples", "catalog_version"),
    "catalog prune": _keys("applied", "versions", "kept", "needed", "rows", "policies", "bytes"),
    "select": {
        **_keys("selection_id", "trace_id", "outcome", "cause", "view"),
        "confidence": _keys("fits", "best", "minimum"),
        **_keys("message"),
        "tools[]": _keys(
            "tool_id", "alias", "rank", "score", "why", "schema_hash", "title", "description", "input_schema"
        ),
        **_keys("missing", "withdraw", "over_budget"),
        "tokens": _keys("encoding", "definitions"),
        "operator": {
            **_keys("catalog_version", "policy_version", "lock_version", "index_version", "waiting", "fix"),
            "all_eligible": _keys("tools", "tokens"),
        },
    },
    "explain": {
        **_keys("eligible", "total", "removed_by"),
        "tool": _keys("tool_id", "eligible", "reasons", "rules"),
        "ranking[]": _keys("tool_id", "rank", "score", "parts"),
        **_keys("outcome"),
    },
    "call": _keys(
        *("verdict", "tool_id", "message", "path", "constraint", "recorded", "result", "trace_id", "approval_id"),
        "operator",
    ),
    "policy check": {
        **_keys("ok"),
        "policies[]": _keys("policy", "file", "effect", "actions", "log_only"),
        "problems[]": _keys("file", "policy", "problem"),
        "notes[]": _keys("file", "policy", "problem"),
    },
    "policy test": {
        **_keys("passed"),
        "tests[]": _keys("name", "tool", "action", "expected", "found", "reasons", "problem", "passed"),
    },
    "policy report": {**_keys("traces"), "policies[]": _keys("policy", "selections", "tools", "calls", "last")},
    "approvals list": {"approvals[]": APPROVAL},
    "approvals grant": APPROVAL,
    "approvals deny": APPROVAL,
    "keys create": _keys(*KEY, "key"),
    "keys list": {"keys[]": _keys(*KEY)},
    "keys revoke": _keys("name", "revoked"),
    "traces list": {
        "traces[]": {
            **_keys("trace_id", "at", "kind", "outcome", "principal", "tools", "selection_id"),
            "calls[]": _keys("trace_id", "tool_id", "verdict"),
        }
    },
    "traces show": {},
    "traces export": _keys("traces"),
    "traces prune": _keys("removed"),
    "calls list": {"calls[]": CALL},
    "calls resolve": CALL,
    "calls prune": _keys("applied", "before", "calls", "approvals", "unknown", "labels"),
    "audit list": {"events[]": _keys("number", "at", "kind", "body", "hash")},
    "audit verify": _keys("events", "pruned", "broken", "last", "found"),
    "audit prune": _keys("applied", "before", "events", "through"),
    "audit export": {"events[]": _keys("number", "at", "kind", "body", "hash")},
    "eval": {
        **_keys("catalog_version", "open"),
        "fixtures": _keys("file", "digest", "tasks"),
        **_keys("encoding", "arms", "sweep", "knee"),
        "thresholds[]": _keys("measure", "slice", "arm", "min", "max", "value", "passed", "waived", "reason"),
        "regressions[]": _keys("measure", "was", "now", "difference"),
        **_keys("notes", "passed"),
    },
    "fixtures check": {
        **_keys("tasks", "categories", "overlap"),
        "problems[]": _keys("task_id", "rule", "what", "error"),
    },
    "fixtures new": {**_keys("file", "written"), "proposals[]": _keys("task", "tools")},
    "fixtures from-traces": {
        **_keys("file", "written"),
        "proposals[]": _keys("task", "principal", "acceptable"),
        **_keys("without_text"),
    },
    "calibrate": {
        **_keys("tasks", "answerable", "unanswerable", "kept", "rejected", "channels", "file"),
        "skipped[]": _keys("task_id", "reason"),
    },
    "replay": {
        "traces[]": {
            **_keys("trace_id", "grade", "equal", "diff", "outcome"),
            "tools": _keys("added", "dropped", "changed", "moved"),
        },
        "summary": {
            **_keys("total", "equal", "different", "verifiable", "entering", "leaving"),
            "outcomes[]": _keys("was", "now", "traces"),
        },
    },
    "serve": _keys("ready", "url", "mcp", "api", "port"),
    "shadow report": {
        **_keys("since", "selections", "calls"),
        "recall": _keys("value", "low", "high", "n", "reason"),
        **_keys("exposed", "production_exposed"),
        "tokens": _keys("offered", "listed"),
        "missed[]": _keys("tool_id", "calls"),
        "namespaces[]": {
            **_keys("namespace", "setting", "calls"),
            "recall": _keys("value", "low", "high", "n", "reason"),
            **_keys("exposed", "production_exposed"),
        },
    },
    "rollout show": {
        "namespaces[]": {**_keys("namespace", "setting"), "guards[]": GUARDED},
        "history[]": {
            **_keys("number", "namespace", "setting", "was", "by", "why", "at", "automatic"),
            "evidence": {"guards[]": GUARDED, **_keys("waived")},
        },
    },
    "rollout set": {**_keys("namespace", "asked", "changed"), "guards[]": GUARDED, **_keys("problems")},
    "halt": _keys("target", "why", "by", "since", "expires_at"),
    "resume": _keys("target", "resumed", "halted"),
}


def shape_of(value: object, wanted: Shape) -> Shape:
    """Return the shape that *value* has, as deep as *wanted* looks."""
    assert isinstance(value, dict)
    found: Shape = {}
    for key, one in value.items():
        below, many = wanted.get(key), wanted.get(f"{key}[]")
        if many is not None:
            assert isinstance(one, list)
            shapes = [shape_of(each, many) for each in one]
            found[f"{key}[]"] = next((shape for shape in shapes if shape != many), many)
        else:
            found[key] = shape_of(one, below) if below is not None else None
    return found
