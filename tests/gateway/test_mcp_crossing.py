"""Two users on one endpoint at once: nothing of the one reaches the other (laws 2 and 9).

Each answer is compared with what the same user is answered alone. `make soak` makes 10,000 requests.
"""

import json
import random
import re
from typing import Any

import anyio
import httpx2

from pegboard.engine.limits import Limits
from pegboard.gateway.listing import ListMode, ListSettings
from tests.gateway.made import BILLING_TOOLS, CRM_TOOLS, Desk, headers, raw
from tests.strategies import SOAK

REQUESTS = 5_000 if SOAK else 150
AT_ONCE = 16
# What only dana may know of.
HERS = re.compile("create_refund|get_payment|merge_cases|billing|Give money|Read one payment|Merge two")
_IDS = re.compile(r"\b(sel|tr|call)_\d+\b")
NAMES = sorted(
    [f"crm.{one['name']}" for one in CRM_TOOLS] + [f"billing.{one['name']}" for one in BILLING_TOOLS] + ["crm.none"]
)
TASKS = ("give money back to the customer", "read one payment", "which orders are open", "merge_cases", "weather")
NO_LIMITS = Limits(identical_refusals=10**9)


def requests(selection: str) -> list[tuple[str, dict[str, Any]]]:
    """Return every request that one user makes, as (method, parameters)."""
    found: list[tuple[str, dict[str, Any]]] = [("tools/list", {}), ("server/discover", {})]
    found += [("tools/call", {"name": "search_tools", "arguments": {"task": task}}) for task in TASKS]
    for name in NAMES:
        given = {"tool": name, "arguments": {"query": "x", "payment_id": "1"}, "selection": selection}
        found += [
            ("tools/call", {"name": "call_tool", "arguments": given}),
            ("tools/call", {"name": "describe_tool", "arguments": {"tool": name, "selection": selection}}),
            ("tools/call", {"name": name, "arguments": {}}),
        ]
    return found


async def answered(http: httpx2.AsyncClient, url: str, user: str, method: str, params: dict[str, Any]) -> str:
    """Ask as a user; without the numbers of selections and traces, the same question has the same answer."""
    answer = await http.post(url, json=raw(method, params), headers=headers(user, method, params.get("name")))
    return _IDS.sub(r"\1", answer.text)


async def selected(http: httpx2.AsyncClient, url: str, user: str) -> str:
    params = {"name": "search_tools", "arguments": {"task": TASKS[1]}}
    answer = await http.post(url, json=raw("tools/call", params), headers=headers(user, "tools/call", "search_tools"))
    return str(answer.json()["result"]["structuredContent"]["selection"])


def crossed(listing: ListSettings) -> tuple[dict[str, set[str]], list[Any]]:
    """Make random requests as both at once; return all that sam got, and every answer that was not as if alone."""
    desk, dice = Desk(listing, limits=NO_LIMITS), random.Random(7)

    async def scene() -> tuple[dict[str, set[str]], list[Any]]:
        await desk.start()
        got: dict[str, set[str]] = {"sam": set(), "dana": set()}
        wrong: list[Any] = []
        async with desk.serving() as url, httpx2.AsyncClient(timeout=60) as http:
            asked = {}
            for user in got:
                found = "none" if listing.mode is ListMode.ALL else await selected(http, url, user)
                asked[user] = requests(found)
            alone = {
                (user, number): await answered(http, url, user, *request)
                for user, all_of in asked.items()
                for number, request in enumerate(all_of)
            }
            left = [(user, dice.randrange(len(asked[user]))) for user in dice.choices(list(got), k=REQUESTS)]

            async def work() -> None:
                while left:
                    user, number = left.pop()
                    answer = await answered(http, url, user, *asked[user][number])
                    got[user].add(answer)
                    if answer != alone[user, number]:
                        wrong.append((user, asked[user][number], alone[user, number], answer))

            async with anyio.create_task_group() as tasks:
                for _ in range(AT_ONCE):
                    tasks.start_soon(work)
        return got, wrong

    return anyio.run(scene)


def test_two_users_at_once_are_answered_as_if_alone():
    got, wrong = crossed(ListSettings())
    assert wrong == []
    assert not any(map(HERS.search, got["sam"]))
    assert any(map(HERS.search, got["dana"]))


def test_two_users_with_whole_lists_are_answered_as_if_alone():
    got, wrong = crossed(ListSettings(mode=ListMode.ALL))
    assert wrong == []
    assert not any(map(HERS.search, got["sam"]))
    assert any(map(HERS.search, got["dana"]))


def test_what_is_denied_is_answered_byte_for_byte_as_what_is_not_there():
    desk = Desk(limits=NO_LIMITS)

    async def scene() -> set[str]:
        await desk.start()
        async with desk.serving() as url, httpx2.AsyncClient(timeout=60) as http:
            selection = await selected(http, url, "sam")
            found = set()
            for name in ("billing.create_refund", "billing.no_such"):
                for params in (
                    {"name": name, "arguments": {"payment_id": "1"}},
                    {"name": "call_tool", "arguments": {"tool": name, "arguments": {}, "selection": selection}},
                    {"name": "describe_tool", "arguments": {"tool": name, "selection": selection}},
                ):
                    found.add(await answered(http, url, "sam", "tools/call", params))
            return found

    (answer,) = anyio.run(scene)
    assert json.loads(answer)["error"]["code"] == -32602
