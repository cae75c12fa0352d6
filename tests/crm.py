"""A small CRM that many tests share: nine tools of three servers, two access templates, two callers.

Everything here is ours. `CRM.view()` binds it as a published state; pass changes to see what they do.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from pegboard.core.aliases import alias
from pegboard.core.catalog import CatalogEntry, Reach, Risk, declare
from pegboard.core.context import RuntimeContext
from pegboard.core.lock import Lock, LockLine
from pegboard.core.names import compact_json
from pegboard.core.policy import AccessTemplate, Policy, Reason, Switch
from pegboard.core.revocations import NO_REVOCATIONS, Revocations
from pegboard.core.snapshot import Snapshot
from pegboard.engine.asking import Ask, SelectionSettings
from pegboard.engine.rendering import served_tool
from pegboard.engine.select import select
from pegboard.engine.selection import Selection, mcp_tool
from pegboard.engine.view import View
from pegboard.retrieval.index import Index
from pegboard.retrieval.query import analyse


def schema(*required: str, **properties: str) -> dict[str, object]:
    """Make an object schema of string parameters from their descriptions."""
    return {
        "type": "object",
        "properties": {name: {"type": "string", "description": text} for name, text in properties.items()},
        "required": list(required),
    }


def tool(
    tool_id: str, description: str, input_schema: Mapping[str, object] | None = None, **more: object
) -> CatalogEntry:
    """Declare a tool whose server is the first part of its id."""
    namespace, _, name = tool_id.rpartition(".")
    return declare(
        tool_id=tool_id,
        namespace=namespace,
        source_server=tool_id.partition(".")[0],
        name=name,
        description=description,
        input_schema=dict(input_schema) if input_schema is not None else schema(),  # type: ignore[arg-type]
        **more,  # type: ignore[arg-type]
    )


ENTRIES = (
    tool(
        "crm.orders.list_open_orders",
        "List the orders of a customer that are not delivered yet.",
        schema("customer_id", customer_id="Customer number"),
    ),
    tool(
        "crm.orders.cancel_order",
        "Cancel an order before it ships. Look it up with `list_open_orders` first.",
        schema("order_id", order_id="Order number"),
        mentions=("list_open_orders",),
    ),
    tool(
        "crm.customers.find_customer",
        "Find a customer by name or email address.",
        schema("query", query="Name or email"),
    ),
    tool(
        "billing.refunds.create_refund",
        "Give money of a payment back to the customer.",
        schema("payment_id", payment_id="Payment to refund", amount="Amount in cents"),
    ),
    tool("billing.payments.get_payment", "Read one payment.", schema("payment_id", payment_id="Payment number")),
    tool(
        "billing.payments.reverse_payment",
        "Reverse a payment that has not settled.",
        schema("payment_id", payment_id="x"),
    ),
    tool("people.payroll.list_payroll", "List the salaries of a month.", schema("month", month="Month as YYYY-MM")),
    tool("people.directory.find_colleague", "Find a colleague's telephone and desk.", schema("name", name="Name")),
    tool("people.directory.stop_everything", "Stop all automation at once.", pinned=("*",)),
)

SALES = AccessTemplate(required_scopes=frozenset({"crm"}))
MONEY = AccessTemplate(required_scopes=frozenset({"crm", "money"}))
STAFF = AccessTemplate(required_scopes=frozenset({"staff"}))
TEMPLATES = {"sales": SALES, "money": MONEY, "staff": STAFF}
ACCESS = {"crm": "sales", "billing": "money", "people": "staff"}

READS = ("list", "find", "get")
AGENT = RuntimeContext(
    user="sam",
    tenant="acme",
    scopes=frozenset({"crm"}),
    servers=frozenset({"crm", "billing"}),
    environment="production",
)
CASHIER = replace(AGENT, user="dana", scopes=frozenset({"crm", "money"}))


def line(entry: CatalogEntry, **changes: object) -> LockLine:
    """Lock an entry as it is, under its server's template; what its name calls a read is one."""
    read = entry.name.startswith(READS)
    made = LockLine(
        tool=entry.tool_id,
        hash=entry.schema_hash,
        access=ACCESS.get(entry.source_server, "sales"),
        risk=Risk.READ if read else Risk.WRITE,
        reach=Reach.BOUNDED,
        by="tests",
        at="2026-12-01T09:00:00Z",
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def lock(entries: Iterable[CatalogEntry] = ENTRIES) -> Lock:
    """Lock every entry as it is."""
    return Lock.of(line(entry) for entry in entries)


def policy(locked: Lock | None = None, switches: Mapping[str, Switch] | None = None) -> Policy:
    """Make the CRM's policy; only scopes are asked."""
    return Policy(
        lock=lock() if locked is None else locked,
        templates=TEMPLATES,
        used=frozenset({Reason.SCOPE}),
        switches=switches or {},
    )


def view(
    entries: Iterable[CatalogEntry] = ENTRIES, rules: Policy | None = None, *, number: int = 1, index: bool = True
) -> View:
    """Bind entries to a policy; without one, everything is locked as it is."""
    snapshot = Snapshot.of(number, entries)
    return View.of(
        snapshot,
        policy(lock(snapshot.entries)) if rules is None else rules,
        Index.build(snapshot.entries) if index else None,
        encoding="characters/4",
        count_tokens=count,
        tokens=np.array(
            [count(compact_json(mcp_tool(served_tool(e, e.mentions), alias(e.tool_id)))) for e in snapshot.entries],
            np.int32,
        ),
    )


def count(text: str) -> int:
    """Estimate tokens as a deployment without an exact counter does."""
    return -(-len(text) // 4)


def ask(*tasks: str, **more: object) -> Ask:
    """Analyse a request."""
    return Ask(query=analyse(tasks), **more)  # type: ignore[arg-type]


def pick(
    tasks: str | Sequence[str],
    context: RuntimeContext = AGENT,
    over: View | None = None,
    settings: SelectionSettings | None = None,
    revocations: Revocations = NO_REVOCATIONS,
    **more: object,
) -> Selection:
    """Select once, with fixed ids."""
    return select(
        ask(*([tasks] if isinstance(tasks, str) else tasks), **more),
        view() if over is None else over,
        context,
        revocations,
        settings or SelectionSettings(),
        selection_id="sel_1",
        trace_id="tr_1",
    )


def ids(selection: Selection) -> list[str]:
    """Return the served tool ids in order."""
    return [one.tool.tool_id for one in selection.tools]
