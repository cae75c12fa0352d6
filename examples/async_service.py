"""One board for an asynchronous service: each request selects in a thread, and the event loop stays free.

python examples/async_service.py
"""
# ruff: noqa: T201

import asyncio

from pegboard import AccessTemplate, Board, RuntimeContext

NOTHING = {"type": "object", "properties": {}}
TOOLS = [
    {"tool_id": "calendar.list_events", "description": "List the events of a day.", "input_schema": NOTHING},
    {"tool_id": "calendar.book_room", "description": "Book a meeting room.", "input_schema": NOTHING},
    {"tool_id": "mail.search", "description": "Search mail by sender and words.", "input_schema": NOTHING},
]
ACCESS = {"staff": AccessTemplate(required_scopes=frozenset({"staff"}))}
REQUESTS = {
    "sam": "which events are there today?",
    "dana": "book a room for four",
    "noor": "find the mail from the bank",
    "lee": "what is the weather?",
}


async def request(board: Board, user: str, task: str) -> str:
    """Answer one request; other requests go on meanwhile."""
    context = RuntimeContext(user=user, scopes=frozenset({"staff"}), servers=frozenset({"calendar", "mail"}))
    selection = await asyncio.to_thread(board.select, task, context, limit=1)
    return f"{user:5} {task!r:35} {selection.outcome}: {', '.join(one.alias for one in selection.tools)}"


async def main() -> None:
    """Answer all requests at once."""
    with Board.from_tools([{**tool, "access": "staff"} for tool in TOOLS], ACCESS) as board:
        for answer in await asyncio.gather(*(request(board, user, task) for user, task in REQUESTS.items())):
            print(answer)


if __name__ == "__main__":
    asyncio.run(main())
