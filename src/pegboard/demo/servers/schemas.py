"""Short words for the JSON Schemas that the departments declare.

Every parameter carries a description, because the first argument of each word is one. What these words build is plain
JSON Schema, sent and validated as it stands.

Source: JSON Schema 2020-12, validation vocabulary.
"""

from collections.abc import Mapping
from typing import Any

__all__ = ["Schema", "choice", "date", "email", "flag", "listing", "many", "moment", "record", "ref", "text", "whole"]

Schema = dict[str, Any]


def text(description: str, **more: object) -> Schema:
    """Describe a string."""
    return {"type": "string", "description": description, **more}


def date(description: str) -> Schema:
    """Describe a calendar day."""
    return text(description, format="date")


def moment(description: str) -> Schema:
    """Describe a point in time with its offset."""
    return text(description, format="date-time")


def email(description: str) -> Schema:
    """Describe an e-mail address."""
    return text(description, format="email")


def whole(description: str, minimum: int, maximum: int, **more: object) -> Schema:
    """Describe a whole number between two bounds, both allowed."""
    return {"type": "integer", "description": description, "minimum": minimum, "maximum": maximum, **more}


def flag(description: str, *, default: bool = False) -> Schema:
    """Describe a yes or no that may be left out."""
    return {"type": "boolean", "description": description, "default": default}


def choice(description: str, *values: str, **more: object) -> Schema:
    """Describe one of a few words."""
    return text(description, enum=list(values), **more)


def many(description: str, items: Schema, **more: object) -> Schema:
    """Describe a list."""
    return {"type": "array", "description": description, "items": items, **more}


def ref(name: str, description: str) -> Schema:
    """Point to a definition of the same schema, with a description of its own."""
    return {"$ref": f"#/$defs/{name}", "description": description}


def record(
    needs: Mapping[str, Schema] | None = None,
    may: Mapping[str, Schema] | None = None,
    **more: object,
) -> Schema:
    """Describe an object that holds all of *needs*, some of *may* and nothing else.

    Pass `additionalProperties=True` for one that takes anything, `description=` where it is a parameter itself.
    """
    needs, may = needs or {}, may or {}
    schema: Schema = {"type": "object", "properties": {**needs, **may}}
    if needs:
        schema["required"] = list(needs)
    return {**schema, "additionalProperties": False, **more}


def listing(key: str, name: str, item: Schema) -> Schema:
    """Describe an answer that is a list of *item* under *key*, and how many there are."""
    rows = {"type": "array", "items": {"$ref": f"#/$defs/{name}"}}
    return {
        "type": "object",
        "properties": {key: rows, "count": {"type": "integer", "minimum": 0}},
        "required": [key, "count"],
        "$defs": {name: item},
    }
