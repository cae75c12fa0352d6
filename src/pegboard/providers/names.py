"""Names on the wire of each target: a function of tool id, target and the client's own prefix alone.

No name depends on which other tools there are, so it never changes when a server is added and hides nobody's tool.
"""

from pegboard.core.aliases import FUNCTIONS, MCP, Wire, alias
from pegboard.providers.targets import Target

__all__ = ["namespace_name", "wire_name"]


def wire_name(tool_id: str, target: Target, prefix: str = "") -> str:
    """Return the name of a tool on a target's wire, short enough for the client to put *prefix* before it.

    Two tool ids never have one name on one wire, and none has a `RESERVED` one. All model APIs share their names.

    Raises:
        ValueError: The prefix leaves no room for a name.
    """
    return alias(tool_id, _wire(target).after(prefix))


def namespace_name(namespace: str, target: Target) -> str:
    """Return the name of an OpenAI `namespace`. It may equal a tool's name: render that tool outside of it."""
    return alias(namespace, _wire(target))


def _wire(target: Target) -> Wire:
    return MCP if target is Target.MCP else FUNCTIONS
