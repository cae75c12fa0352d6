"""Our own functions in a model's list: one that searches for tools, and one that calls a tool by its name.

They need no rule of policy: what they find and call is judged by the real tools' rules. Their texts may name the
caller's own namespaces, since a model does not call a search whose description tells it nothing.
"""

from collections.abc import Collection, Mapping
from typing import Any

from pegboard.core.names import Json
from pegboard.core.text import one_line, well_formed

__all__ = ["CALL", "CALL_SCHEMA", "CALL_TEXT", "SEARCH", "SEARCH_SCHEMA", "limit_of", "search_text", "task_of"]

SEARCH = "search_tools"
CALL = "call_tool"

# A model may ask for other than the configured number, never for so many that its context is full of them.
LIMIT_AT_MOST = 20
_NAMED_AT_MOST = 30

SEARCH_SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {
        "task": {"type": "string", "description": "What is to be done, in a sentence or two."},
        "limit": {"type": "integer", "description": f"At most so many tools, 1 to {LIMIT_AT_MOST}."},
    },
    "required": ["task"],
    "additionalProperties": False,
}
CALL_TEXT = "Call one of the tools that a search has described, by its name."
CALL_SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "The tool's name, as the search said it."},
        "arguments": {"type": "object", "description": "Its arguments, by the schema that the search gave."},
    },
    "required": ["name", "arguments"],
    "additionalProperties": False,
}


def search_text(namespaces: Collection[str] = ()) -> str:
    """Describe the search. *namespaces* are of tools that this caller may use; the same ones give the same text."""
    text = (
        "Find the tools for a task. More tools can be used than are listed here: search before you say there is none."
    )
    if not namespaces:
        return text
    named = sorted(one_line(one, 60) for one in set(namespaces))
    more = len(named) - _NAMED_AT_MOST
    return f"{text} There are tools of {', '.join(named[:_NAMED_AT_MOST])}{f' and {more} more' if more > 0 else ''}."


def task_of(arguments: Json) -> str:
    """Return what a search asks for, an empty text where it does not say."""
    if isinstance(arguments, str):
        return well_formed(arguments)
    task: Any = None
    if isinstance(arguments, Mapping):
        # `query` is what models write who know the APIs' own searches.
        task = arguments.get("task") or arguments.get("query")
    return well_formed(task).strip() if isinstance(task, str) else ""


def limit_of(arguments: Json) -> int | None:
    """Return how many tools a search asks for at most, None where it does not say or says no such number."""
    limit: Any = arguments.get("limit") if isinstance(arguments, Mapping) else None
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        return None
    return min(limit, LIMIT_AT_MOST)
