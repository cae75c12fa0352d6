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
DRAFT = _keys("tool", "kind", "hash", "access", "risk", "reach", "flow")
SERVER = _keys(
    *("server", "status", "added", "changed", "removed", "same", "held", "refused", "findings", "error", "seconds"),
)
REFUSED = _keys("name", "reason")

ERROR: Shape = {"error": _keys("kind", "message", "where", "fix")}

ANSWERS: dict[str, Shape] = {
    "init": {
        **_keys("config"),
        "sources[]": _keys("client", "file", "servers"),
        **_keys("catalog_version", "published"),
        "servers[]": SERVER,
        **_keys("tools", "ask_before", "locked", "fix"),
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
    "lock check": {**_keys("total"), "problems[]": _keys("tool", "problem")},
    "catalog list": {**_keys("catalog_version", "total"), "tools[]": ENTRY},
    "catalog show": {**ENTRY, **_keys("input_schema", "output_schema")},
    "catalog versions": {"versions[]": _keys("version", "published_at", "by", "tools")},
    "catalog diff": {**_keys("from", "to", "added"), "changed[]": _keys("tool_id", "fields"), **_keys("removed")},
    "catalog rollback": _keys("from", "catalog_version", "waiting"),
    "catalog export": _keys("catalog_version", "exported", "file"),
    "catalog import": {**_keys("catalog_version", "imported", "locked", "removed"), "refused[]": REFUSED},
    "catalog verify": _keys("versions", "rows", "bad"),
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
        "tool": _keys("tool_id", "eligible", "reasons"),
        "ranking[]": _keys("tool_id", "rank", "score", "parts"),
        **_keys("outcome"),
    },
    "call": _keys(
        "verdict", "tool_id", "message", "path", "constraint", "result", "trace_id", "approval_id", "operator"
    ),
    "traces list": {"traces[]": _keys("trace_id", "at", "kind", "outcome", "principal", "tools")},
    "traces show": {},
    "calibrate": {
        **_keys("tasks", "answerable", "unanswerable", "kept", "rejected", "channels", "file"),
        "skipped[]": _keys("task_id", "reason"),
    },
    "replay": {"traces[]": _keys("trace_id", "grade", "equal", "diff")},
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
