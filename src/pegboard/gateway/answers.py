"""What the doors answer, as JSON Schema: the published description is made of these, and tests hold them true."""

from collections.abc import Mapping
from typing import Any, TypeAlias

__all__ = [
    "APPROVAL",
    "APPROVALS",
    "AUDIT",
    "CALL",
    "CONTEXT",
    "DESCRIBE",
    "DIFF",
    "ERROR",
    "HALT",
    "HALTS",
    "REFRESH",
    "REPLAY",
    "RESUME",
    "REVIEW",
    "REVIEW_APPROVE",
    "REVIEW_REJECT",
    "REVIEW_SHOW",
    "ROLLBACK",
    "ROLLOUT",
    "ROLLOUT_HISTORY",
    "ROLLOUT_SET",
    "SELECT",
    "SERVERS",
    "SHADOW_REPORT",
    "TOOLS",
    "TRACE",
    "TRACES",
    "VERSIONS",
]

_Schema: TypeAlias = Mapping[str, Any]

_ANY: _Schema = {}
_TEXT: _Schema = {"type": "string"}
_TEXT_OR_NULL: _Schema = {"type": ["string", "null"]}
_NUMBER_OR_NULL: _Schema = {"type": ["number", "null"]}
_COUNT: _Schema = {"type": "integer", "minimum": 0}
_FLAG: _Schema = {"type": "boolean"}
_OPEN: _Schema = {"type": "object"}


def _object(**members: _Schema) -> _Schema:
    """An object with these members, and perhaps more: shapes gain members and never lose one."""
    return {"type": "object", "properties": members, "required": sorted(members)}


def _list(items: _Schema) -> _Schema:
    return {"type": "array", "items": items}


_TEXTS = _list(_TEXT)
_STAMP: _Schema = {"type": "string", "format": "date-time"}
_STAMP_OR_NULL: _Schema = {"type": ["string", "null"], "format": "date-time"}

ERROR = _object(error=_object(kind=_TEXT, message=_TEXT, where=_TEXT_OR_NULL, fix=_TEXT_OR_NULL))

_SELECTION = _object(
    selection_id=_TEXT,
    trace_id=_TEXT,
    outcome=_TEXT,
    cause=_TEXT_OR_NULL,
    view=_TEXT,
    confidence=_object(fits=_NUMBER_OR_NULL, best=_NUMBER_OR_NULL, minimum=_NUMBER_OR_NULL),
    message=_TEXT,
    tools=_list(
        _object(
            tool_id=_TEXT,
            alias=_TEXT,
            rank={"type": ["integer", "null"]},
            score=_NUMBER_OR_NULL,
            why=_TEXT,
            schema_hash=_TEXT,
            title=_TEXT_OR_NULL,
            description=_TEXT,
            input_schema=_OPEN,
        )
    ),
    missing=_TEXTS,
    withdraw=_TEXTS,
    over_budget=_TEXTS,
    tokens=_object(encoding=_TEXT, definitions=_COUNT),
)
# With `for` the selection stands beside what is sent to the model API.
SELECT: _Schema = {"anyOf": [_SELECTION, _object(selection=_OPEN, payload=_ANY, report=_list(_OPEN))]}
_TOOL = {
    "tool_id": _TEXT,
    "alias": _TEXT,
    "namespace": _TEXT,
    "schema_hash": _TEXT,
    "title": _TEXT_OR_NULL,
    "description": _TEXT,
}
DESCRIBE = _object(**_TOOL, input_schema=_OPEN, output_schema={"type": ["object", "null"]})
TOOLS = _object(view=_TEXT, tools=_list(_object(**_TOOL)), next=_TEXT_OR_NULL)
CALL = _object(
    verdict=_TEXT,
    tool_id=_TEXT_OR_NULL,
    message=_TEXT_OR_NULL,
    path=_TEXT_OR_NULL,
    constraint=_TEXT_OR_NULL,
    recorded=_FLAG,
    result={"type": ["object", "null"]},
    trace_id=_TEXT,
    approval_id=_TEXT_OR_NULL,
)
CONTEXT = _object(
    stage=_TEXT_OR_NULL, flags=_TEXTS, clearance={"type": ["integer", "null"]}, expires_at={"type": "number"}
)

VERSIONS = _object(versions=_list(_object(version=_TEXT, published_at=_STAMP, by=_TEXT, tools=_COUNT)))
DIFF: _Schema = {
    "type": "object",
    "properties": {
        "from": _TEXT,
        "to": _TEXT,
        "added": _TEXTS,
        "changed": _list(_object(tool_id=_TEXT, fields=_TEXTS)),
        "removed": _TEXTS,
    },
    "required": ["added", "changed", "from", "removed", "to"],
}
ROLLBACK: _Schema = {
    "type": "object",
    "properties": {"from": _TEXT, "catalog_version": _TEXT},
    "required": ["catalog_version", "from"],
}
REFRESH = _object(catalog_version=_TEXT_OR_NULL, published=_FLAG, servers=_list(_OPEN))
SERVERS = _object(servers=_list(_object(server=_TEXT, state=_TEXT, error=_TEXT_OR_NULL)))
_DRAFT = _object(tool=_TEXT, kind=_TEXT, hash=_TEXT, access=_TEXT_OR_NULL, risk=_TEXT, reach=_TEXT, flow=_TEXTS)
REVIEW = _object(waiting=_list(_DRAFT))
REVIEW_SHOW = _object(draft=_DRAFT, changes=_list(_object(field=_TEXT, was=_ANY, now=_ANY)))
REVIEW_APPROVE = _object(locked=_list(_object(tool=_TEXT, hash=_TEXT, access=_TEXT, risk=_TEXT, by=_TEXT)))
REVIEW_REJECT = _object(rejected=_TEXTS)
APPROVAL = _object(
    approval_id=_TEXT,
    state=_TEXT,
    tool_id=_TEXT,
    schema_hash=_TEXT,
    arguments=_ANY,
    principal=_TEXT,
    reasons=_TEXTS,
    earlier=_list(_object(call_id=_TEXT, tool_id=_TEXT, at=_STAMP)),
    asked_at=_STAMP,
    expires_at=_STAMP,
    by=_TEXT_OR_NULL,
    decided_at=_STAMP_OR_NULL,
    used_by=_TEXT_OR_NULL,
)
APPROVALS = _object(approvals=_list(APPROVAL))
HALT = _object(target=_TEXT, why=_TEXT, by=_TEXT, since=_STAMP, expires_at=_STAMP_OR_NULL)
HALTS = _object(halts=_list(HALT), revoked=_list(_object(tool_id=_TEXT, why=_TEXT)))
RESUME = _object(target=_TEXT, resumed=_FLAG, halted=_TEXTS)
_GUARDED = _object(measure=_TEXT, value=_NUMBER_OR_NULL, n=_COUNT, min={"type": "number"}, problem=_TEXT_OR_NULL)
_CHANGE = _object(
    number=_COUNT,
    namespace=_TEXT,
    setting=_TEXT,
    was=_TEXT,
    by=_TEXT,
    why=_TEXT,
    at=_STAMP,
    automatic=_FLAG,
    evidence=_OPEN,
)
ROLLOUT_HISTORY = _object(history=_list(_CHANGE))
ROLLOUT = _object(
    namespaces=_list(_object(namespace=_TEXT, setting=_TEXT, guards=_list(_GUARDED))), history=_list(_CHANGE)
)
ROLLOUT_SET = _object(namespace=_TEXT, asked=_TEXT, changed=_FLAG, guards=_list(_GUARDED), problems=_TEXTS)
_LABELLED = {
    "calls": _COUNT,
    "recall": _object(value=_NUMBER_OR_NULL, low=_NUMBER_OR_NULL, high=_NUMBER_OR_NULL, n=_COUNT, reason=_TEXT_OR_NULL),
    "exposed": _COUNT,
    "production_exposed": {"type": ["integer", "null"]},
}
SHADOW_REPORT = _object(
    since=_STAMP_OR_NULL,
    selections=_COUNT,
    **_LABELLED,
    tokens=_object(offered=_NUMBER_OR_NULL, listed=_NUMBER_OR_NULL),
    missed=_list(_object(tool_id=_TEXT, calls=_COUNT)),
    namespaces=_list(_object(namespace=_TEXT, setting=_TEXT, **_LABELLED)),
)
TRACE = _object(trace_id=_TEXT, at={"type": "number"})
TRACES = _object(traces=_list(TRACE))
REPLAY = _object(traces=_list(_object(trace_id=_TEXT, grade=_TEXT, equal=_FLAG)))
AUDIT = _object(events=_list(_object(number=_COUNT, at={"type": "number"}, kind=_TEXT, body=_OPEN, hash=_TEXT)))
