"""Take `x-mcp-header` out of schemas that are served.

It asks a client to repeat an argument in an HTTP header, for whatever stands between it and the tool's own server.
Here stands the gateway: it reads arguments where they are, and what goes on to the server is written by its client.

Source: MCP 2026-07-28, `x-mcp-header`.
"""

from typing import cast

from pegboard.core.keywords import SUBSCHEMAS, is_map
from pegboard.core.names import Json

__all__ = ["without_headers"]

_HEADER = "x-mcp-header"


def without_headers(schema: dict[str, Json]) -> dict[str, Json]:
    """Return the schema without the keyword; a property that is called so stays."""
    return cast("dict[str, Json]", _without(schema))


def _without(schema: Json) -> Json:
    if isinstance(schema, list):
        return [_without(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: _deeper(key, value) for key, value in schema.items() if key != _HEADER}


def _deeper(keyword: str, value: Json) -> Json:
    if keyword not in SUBSCHEMAS:
        return value
    if is_map(keyword, value):
        return {name: _without(one) for name, one in cast("dict[str, Json]", value).items()}
    return _without(value)
