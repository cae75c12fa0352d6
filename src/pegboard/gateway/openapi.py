"""The published description of the HTTP API, made of the same table that serves it.

Source: OpenAPI 3.1.
"""

import re
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from typing import Any

from pegboard.core.names import Json
from pegboard.gateway.answers import ERROR
from pegboard.gateway.doors import DOORS, Door, Role

__all__ = ["description"]

# What every door may answer besides, and why.
_ERRORS: tuple[tuple[int, str], ...] = (
    (400, "The body is not JSON, or a parameter is said twice."),
    (401, "No credential, or one that opens nothing here; `WWW-Authenticate` says where to get one."),
    (403, "The credential is valid and not enough, or the request is of an unknown web page."),
    (404, "There is no such thing for this caller."),
    (408, "The body did not come in time."),
    (409, "It cannot be done as things stand; the message says why."),
    (413, "The body is too large."),
    (415, "The body is not `application/json`."),
    (421, "The request was made to a name that is not ours."),
    (422, "A key is unknown, missing, or of another kind."),
    (429, "Too many requests of this caller; `Retry-After` says how long to wait."),
    (500, "A fault of Pegboard's."),
    (502, "A tool server failed."),
    (503, "It cannot be answered now."),
)
_OF_ROLE = {
    Role.AGENT: "For agents: an access token, or an API key of the role `agent`.",
    Role.APPLICATION: "For applications: an API key of the role `application`.",
    Role.OPERATOR: "For operators: an API key of the role `operator`.",
}
_PARAMETER = re.compile(r"{(\w+)}")


@cache
def description() -> dict[str, Any]:
    """Return the description as one OpenAPI document."""
    paths: dict[str, dict[str, Json]] = {}
    parts: dict[str, Any] = {}
    for door in DOORS:
        paths.setdefault(door.path, {})[door.method.lower()] = _operation(door, parts)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Pegboard",
            "version": version("pegboard"),
            "description": "Show an agent the few tools that fit, of those its caller may use, and judge every call.",
        },
        "paths": paths,
        "components": {
            "schemas": {"Error": ERROR, **parts},
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"bearer": []}],
    }


def _operation(door: Door, parts: dict[str, Any]) -> dict[str, Any]:
    schema = door.said.model_json_schema(ref_template="#/components/schemas/{model}")
    parts.update(schema.pop("$defs", {}))
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in _PARAMETER.findall(door.path)
    ]
    found: dict[str, Any] = {
        "operationId": door.name,
        "summary": door.summary,
        "description": _OF_ROLE[door.role],
        "tags": [str(door.role)],
        "responses": _responses(door.answer),
    }
    if door.method == "GET":
        parameters += [_parameter(name, one, schema) for name, one in schema.get("properties", {}).items()]
    else:
        content = {"application/json": {"schema": schema}}
        found["requestBody"] = {"required": bool(schema.get("required")), "content": content}
    return {**found, "parameters": parameters} if parameters else found


def _parameter(name: str, one: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Write a key of a query; in a text there is no null."""
    plain = {key: value for key, value in one.items() if key not in {"anyOf", "default", "description", "title"}}
    for option in one.get("anyOf", ()):
        if option.get("type") != "null":
            plain.update(option)
    told = {"description": one["description"]} if "description" in one else {}
    return {"name": name, "in": "query", "required": name in schema.get("required", ()), "schema": plain, **told}


def _responses(answer: Mapping[str, Any]) -> dict[str, Any]:
    error = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    return {
        "200": {"description": "The answer.", "content": {"application/json": {"schema": answer}}},
        **{str(status): {"description": why, "content": error} for status, why in _ERRORS},
    }
