"""What every client does, in this order; a program beside this file says how its client lists and calls.

    anyio.run(deeds, names, call)     # call(name, arguments) -> (whether it failed, the text of the answer)

Prints one JSON line. Only the standard library: it runs in environments that know nothing of Pegboard.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

__all__ = ["deeds", "tried"]

Call = Callable[[str, Mapping[str, Any]], Awaitable[tuple[bool, str]]]

TASK = "list the open orders of a customer"
ORDERS, REFUND, NONE = "crm.list_open_orders", "billing.create_refund", "billing.no_such_tool"


async def deeds(names: Sequence[str], call: Call) -> None:
    """Search, call what was found, call it wrongly, call what is not there and what is denied, call what is listed."""
    searched = await call("search_tools", {"task": TASK})
    selection = json.loads(searched[1]).get("selection")

    async def called(tool: str, **arguments: Any) -> tuple[bool, str]:
        return await call("call_tool", {"tool": tool, "arguments": arguments, "selection": selection})

    done = {
        "listed": list(names),
        "searched": searched,
        "called": await called(ORDERS, customer_id="7"),
        "invalid": await called(ORDERS),
        "unknown": await called(NONE, payment_id="1"),
        "denied": await called(REFUND, payment_id="1"),
        "by_name": await call("crm.stop_all", {}),
    }
    print(json.dumps(done), flush=True)


async def tried(answer: Awaitable[tuple[bool, str]]) -> tuple[bool, str]:
    """Await an answer; what a client raises in its place, for whatever reason, is a failure with its words."""
    try:
        return await answer
    except Exception as error:  # noqa: BLE001 - whatever a client raises is what its user sees
        return True, str(error)
