"""The loop of an agent: select a few tools, offer them, judge each call that comes back, run it, close its record.

    python examples/agent_loop.py

A script stands in for the model, and proposes what models do: a right call, a wrong one, and one of a tool that it
was never shown.
"""
# ruff: noqa: T201

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pegboard import AccessTemplate, Board, RuntimeContext

ORDERS = {"BF-1": {"item": "tent", "status": "shipped"}}


def find_order(order_id: str) -> str:
    """Look an order up."""
    return f"{order_id}: {ORDERS[order_id]}"


def refund_order(order_id: str) -> str:
    """Refund an order."""
    return f"{order_id} is refunded"


RUNS: Mapping[str, Callable[..., str]] = {"shop.find_order": find_order, "shop.refund_order": refund_order}
ORDER_ID = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
TOOLS = (
    {
        "tool_id": "shop.find_order",
        "description": "Look an order up by its number.",
        "input_schema": {**ORDER_ID, "additionalProperties": False},
        "access": "clerk",
        "risk": "read",
    },
    {
        "tool_id": "shop.refund_order",
        "description": "Refund an order and write to the customer.",
        "input_schema": ORDER_ID,
        "access": "cashier",
        "risk": "write",
    },
)
ACCESS = {
    "clerk": AccessTemplate(required_scopes=frozenset({"orders"})),
    "cashier": AccessTemplate(required_scopes=frozenset({"orders", "money"})),
}


def model(task: str, offered: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Stand in for a model: it sees the task and the offered tools, and proposes calls."""
    print(f"model: {task!r} with {[tool['name'] for tool in offered]}")
    yield "shop.find_order", {"number": "BF-1"}
    yield "shop.find_order", {"order_id": "BF-1"}
    yield "shop.refund_order", {"order_id": "BF-1"}


def handle(board: Board, task: str, context: RuntimeContext) -> None:
    """Work on one task for one caller."""
    selection = board.select(task, context)
    if selection.outcome not in ("selected", "weak"):
        print(f"{selection.outcome}: {selection.message}")
        return
    offered = [
        {"name": one.alias, "description": one.tool.description, "input_schema": one.tool.input_schema}
        for one in selection.tools
    ]
    for name, arguments in model(task, offered):
        answer = board.check_call(name, arguments, context, selection)
        if not answer.verdict.allowed or answer.call_id is None or answer.verdict.tool_id is None:
            print(f"  {name} {arguments} -> {answer.verdict.kind}: {answer.verdict.message}")
            continue
        try:
            result = RUNS[answer.verdict.tool_id](**arguments)
        except Exception:
            board.report(answer.call_id, "error")
            raise
        board.report(answer.call_id, "done")
        print(f"  {name} {arguments} -> {result}")


def main() -> None:
    """Ask the same as a clerk and as a cashier."""
    task = "look order BF-1 up and refund it"
    with Board.from_tools(TOOLS, ACCESS) as board:
        for user, scopes in (("clerk", {"orders"}), ("cashier", {"orders", "money"})):
            # In a real program: from the claims of a verified token.
            context = RuntimeContext(user=user, scopes=frozenset(scopes), servers=frozenset({"shop"}))
            print(f"\nfor {user}")
            handle(board, task, context)


if __name__ == "__main__":
    main()
