"""What the examples of this folder share: a small shop, two of its people, and a script in place of a model.

The script does what models do: a call with wrong arguments, the right one, a search for more tools, a call of what it
found, and one of a tool that its caller may not use.
"""

from collections.abc import Callable, Mapping
from typing import Any

from pegboard import AccessTemplate, Board, RuntimeContext
from pegboard.integrations.door import OwnTools

ORDERS = {"BF-1": "a tent, shipped on Monday"}


def find_order(order_id: str) -> str:
    """Look an order up."""
    return f"{order_id}: {ORDERS[order_id]}"


async def reserve_desk(day: str) -> str:
    """Reserve a desk; a coroutine runs in the event loop of the agent."""
    return f"a desk is reserved for {day}"


def refund_order(order_id: str) -> str:
    """Refund an order."""
    return f"{order_id} is refunded"


def takes(*names: str) -> dict[str, Any]:
    """Make a schema of texts that all must be given, and of nothing else."""
    texts = {name: {"type": "string"} for name in names}
    return {"type": "object", "properties": texts, "required": list(names), "additionalProperties": False}


RUNS: Mapping[str, Callable[..., Any]] = {
    "shop.find_order": find_order,
    "office.reserve_desk": reserve_desk,
    "shop.refund_order": refund_order,
}
TOOLS = tuple(
    {"tool_id": tool, "description": text, "input_schema": takes(*names), "access": access, "risk": risk}
    for tool, text, names, access, risk in (
        ("shop.find_order", "Look an order up by its number.", ["order_id"], "clerk", "read"),
        ("shop.list_orders", "List the orders of a customer.", ["customer"], "clerk", "read"),
        ("shop.refund_order", "Refund an order and write to the customer.", ["order_id"], "cashier", "write"),
        ("shop.track_parcel", "Say where the parcel of an order is.", ["order_id"], "clerk", "read"),
        ("stock.count", "Count how many of an article are in stock.", ["article"], "clerk", "read"),
        ("stock.reorder", "Order more of an article from its supplier.", ["article"], "clerk", "write"),
        ("mail.search", "Search the mail by sender and words.", ["words"], "clerk", "read"),
        ("mail.send", "Send a mail.", ["to", "text"], "clerk", "write"),
        ("office.list_rooms", "List the meeting rooms of the office.", [], "clerk", "read"),
        ("office.book_room", "Book a meeting room for a day.", ["day"], "clerk", "write"),
        ("office.reserve_desk", "Reserve a desk at the office.", ["day"], "clerk", "write"),
    )
)
ACCESS = {
    "clerk": AccessTemplate(required_scopes=frozenset({"orders"})),
    "cashier": AccessTemplate(required_scopes=frozenset({"orders", "money"})),
}
# In a real program: from the claims of a verified token.
CLERK = RuntimeContext(user="sam", scopes=frozenset({"orders"}), servers=frozenset({"shop", "stock", "mail", "office"}))

TASK = "look an order up"
SCRIPT: tuple[tuple[tuple[str, dict[str, Any]], ...], ...] = (
    (("shop__find_order", {"number": "BF-1"}),),
    (("shop__find_order", {"order_id": "BF-1"}), ("search_tools", {"task": "reserve a desk"})),
    (("office__reserve_desk", {"day": "Friday"}), ("shop__refund_order", {"order_id": "BF-1"})),
)


def open_shop() -> Board:
    """Return the board with the shop's tools."""
    return Board.from_tools(TOOLS, ACCESS)


def door(board: Board) -> OwnTools:
    """Return the board as a door to what runs in this program; with tools of MCP servers the board is the door."""
    return OwnTools(board=board, runs=RUNS)
