"""Orders: what customers bought and where it stands. Serves four tools a page.

Run it with `python -m pegboard.demo.servers.orders`.
"""

from pegboard.demo.servers.company import SITES, TODAY, Company, RefusedError, Row, add, among, pick
from pegboard.demo.servers.schemas import Schema, choice, date, email, flag, listing, many, record, ref, text, whole
from pegboard.demo.servers.serving import serve
from pegboard.demo.servers.tools import DESTROYS, READS, SETS, WRITES, DemoServer, DemoTool, Releases

__all__ = ["RELEASES"]

STATES = ("open", "held", "packed", "shipped", "delivered", "cancelled")

ORDER_ID = text("Order number, for example BF-10412.", pattern="^BF-[0-9]{5}$")
CUSTOMER_ID = text("Customer id, for example C-101.", pattern="^C-[0-9]{3}$")
LIMIT = whole("How many orders to return at most.", 1, 100, default=20)

ADDRESS: Schema = record(
    needs={
        "street": text("Street and house number.", minLength=1),
        "city": text("Town or city.", minLength=1),
        "postcode": text("Postal code as written in that country."),
        "country": text("Two-letter country code (ISO 3166-1).", pattern="^[A-Z]{2}$"),
    },
    may={"care_of": text("Name on the door when it is not the customer's.")},
)
LINE: Schema = record(
    needs={
        "sku": text("Item number, for example TNT-201.", pattern="^[A-Z]{3}-[0-9]{3}$"),
        "quantity": whole("How many pieces.", 1, 50),
    }
)
ORDER: Schema = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "customer_id": {"type": "string"},
        "placed_on": {"type": "string", "format": "date"},
        "status": {"enum": list(STATES)},
        "lines": {"type": "array", "items": {"type": "object"}},
        "total_cents": {"type": "integer"},
    },
    "required": ["id", "customer_id", "status", "total_cents"],
}


def _rows(orders: list[Row]) -> Row:
    return {"orders": orders, "count": len(orders)}


def _search(company: Company, asked: Row) -> Row:
    """Filter by facts, by day and by a word in the items' names."""
    word = asked.get("text", "").casefold()
    found = [
        order
        for order in company.orders.values()
        if asked.get("placed_from", "") <= order["placed_on"] <= asked.get("placed_until", TODAY)
        and any(word in company.items[line["sku"]]["name"].casefold() for line in order["lines"])
        and order["status"] in asked.get("statuses", STATES)
    ]
    return _rows(among(found, asked, "customer_id"))


def _open(company: Company, asked: Row) -> Row:
    shown = ("open", "held") if asked.get("include_held") else ("open",)
    return _rows(among((row for row in company.orders.values() if row["status"] in shown), asked, "customer_id"))


def _find(company: Company, asked: Row) -> Row:
    """Look an order up by number, or the newest one by the customer's address."""
    if "order_id" in asked:
        return pick(company.orders, asked["order_id"], "order")
    owners = {row["id"] for row in company.customers.values() if row["email"] == asked.get("email")}
    theirs = [row for row in company.orders.values() if row["customer_id"] in owners]
    if not theirs:
        raise RefusedError("No order matches. Give the order_id, or the email the order was placed with.")
    return max(theirs, key=lambda row: str(row["placed_on"]))


def _status(company: Company, asked: Row) -> Row:
    order = pick(company.orders, asked["order_id"], "order")
    return {"order_id": order["id"], "status": order["status"], "placed_on": order["placed_on"]}


def _create(company: Company, asked: Row) -> Row:
    customer = pick(company.customers, asked["customer_id"], "customer")
    total = sum(pick(company.items, line["sku"], "item")["price_cents"] * line["quantity"] for line in asked["lines"])
    return add(
        company.orders,
        customer_id=customer["id"],
        placed_on=TODAY,
        status="open",
        lines=asked["lines"],
        notes=[asked["note"]] if "note" in asked else [],
        total_cents=total,
        ship_to=asked.get("ship_to", customer["address"]),
    )


def _move(company: Company, order_id: str, allowed: tuple[str, ...], state: str) -> Row:
    order = pick(company.orders, order_id, "order")
    if order["status"] not in allowed:
        raise RefusedError(
            f"Order {order_id} is {order['status']}; only {' or '.join(allowed)} orders can become {state}."
        )
    order["status"] = state
    return order


def _cancel(company: Company, asked: Row) -> str:
    order = _move(company, asked["order_id"], ("open", "held", "packed"), "cancelled")
    return f"Order {order['id']} is cancelled ({asked['reason']}). Nothing was refunded."


def _hold(company: Company, asked: Row) -> str:
    order = _move(company, asked["order_id"], ("open",), "held")
    order["notes"].append(asked["reason"])
    return f"Order {order['id']} is on hold until {asked.get('until', 'it is released')}."


def _release(company: Company, asked: Row) -> str:
    return f"Order {_move(company, asked['order_id'], ('held',), 'open')['id']} is open again."


def _readdress(company: Company, asked: Row) -> str:
    order = pick(company.orders, asked["order_id"], "order")
    if order["status"] not in ("open", "held"):
        raise RefusedError(f"Order {order['id']} is {order['status']}; its label is already printed.")
    order["ship_to"] = asked["address"]
    return f"Order {order['id']} now ships to {asked['address']['street']}, {asked['address']['city']}."


def _note(company: Company, asked: Row) -> str:
    notes = pick(company.orders, asked["order_id"], "order")["notes"]
    notes.append(asked["note"])
    return f"Order {asked['order_id']} has {len(notes)} note(s)."


def _stop_all(company: Company, asked: Row) -> str:
    company.switches["shipments_stopped"] = True
    return f"All shipments are stopped at {asked.get('site', 'every site')}: {asked['reason']}"


TOOLS = (
    DemoTool(
        name="search_orders", title="Search orders", effect="read", annotations=READS, run=_search,
        description="Search orders by customer, state, date and item name. Returns the oldest first.",
        takes=record(may={
            "customer_id": CUSTOMER_ID,
            "statuses": many("Only orders in these states.", {"enum": list(STATES)}, minItems=1, uniqueItems=True),
            "placed_from": date("First day on which the order was placed."),
            "placed_until": date("Last day on which the order was placed."),
            "text": text("A word in the name of an ordered item, for example tent."),
            "limit": LIMIT,
        }),
        gives=listing("orders", "Order", ORDER),
    ),
    DemoTool(
        name="list_open_orders", title="List open orders", effect="read", annotations=READS, run=_open,
        description="List orders that are paid for and not yet packed.",
        takes=record(may={
            "customer_id": CUSTOMER_ID,
            "include_held": flag("Also list orders that are on hold."),
            "limit": LIMIT,
        }),
        gives=listing("orders", "Order", ORDER),
    ),
    DemoTool(
        name="find_order", title="Find an order", effect="read", annotations=READS, run=_find,
        description="Look up one order by its number, or the newest order placed with an email address.",
        takes=record(may={"order_id": ORDER_ID, "email": email("Address the order was placed with.")}, minProperties=1),
        gives=ORDER,
    ),
    DemoTool(
        name="get_status", title="Get order status", effect="read", annotations=READS, run=_status,
        description="Get the state of an order.",
        takes=record(needs={"order_id": ORDER_ID}),
    ),
    DemoTool(
        name="create_order", title="Create an order", effect="write", annotations=WRITES, run=_create,
        description="Place an order for an existing customer, shipped to their own address unless `ship_to` is given.",
        takes=record(
            needs={
                "customer_id": CUSTOMER_ID,
                "lines": many("What is ordered.", {"$ref": "#/$defs/Line"}, minItems=1, maxItems=20),
            },
            may={
                "ship_to": ref("Address", "Where to ship, if not to the customer's own address."),
                "note": text("A note for the packer.", maxLength=500),
            },
            **{"$defs": {"Line": LINE, "Address": ADDRESS}},
        ),
        gives=ORDER,
    ),
    DemoTool(
        name="update_shipping_address", title="Change the shipping address", effect="write", annotations=SETS,
        run=_readdress,
        description="Change where an order ships to. Works until the order is packed; use find_order first to check.",
        takes=record(
            needs={"order_id": ORDER_ID, "address": ref("Address", "The new address.")},
            **{"$defs": {"Address": ADDRESS}},
        ),
    ),
    DemoTool(
        name="cancel_order", title="Cancel an order", effect="destructive", annotations=DESTROYS, run=_cancel,
        description="Cancel an order that has not shipped yet. This does not refund the payment.",
        takes=record(needs={
            "order_id": ORDER_ID,
            "reason": choice("Why it is cancelled.", "customer_request", "out_of_stock", "fraud", "duplicate"),
        }),
    ),
    DemoTool(
        name="hold_order", title="Put an order on hold", effect="write", annotations=WRITES, run=_hold,
        description="Keep an open order from being packed until it is released.",
        takes=record(
            needs={"order_id": ORDER_ID, "reason": text("Why it waits.", minLength=3)},
            may={"until": date("Day on which someone should look again.")},
        ),
    ),
    # No title and no annotations, as on servers that grew over the years.
    DemoTool(
        name="release_order", effect="write", run=_release,
        description="Let an order that is on hold continue.",
        takes=record(needs={"order_id": ORDER_ID}),
    ),
    DemoTool(
        name="add_order_note", title="Add a note to an order", effect="write", annotations=WRITES, run=_note,
        description="Add a note that packers and support see. The customer does not see it.",
        takes=record(needs={"order_id": ORDER_ID, "note": text("The note.", minLength=1, maxLength=500)}),
    ),
    DemoTool(
        name="stop_all_shipments", title="Stop all shipments", effect="write", annotations=SETS, run=_stop_all,
        description="Emergency stop: no parcel leaves any site until a warehouse lead lifts it.",
        takes=record(
            needs={"reason": text("What happened; shown on every packing screen.", minLength=5)},
            may={"site": choice("Stop one site only.", *SITES)},
        ),
    ),
)  # fmt: skip

RELEASES: Releases = {
    1: DemoServer(
        name="orders", title="Brackenfold orders", version="5.2.0", tools=TOOLS, page_size=4,
        instructions="Orders of the web shop. Amounts are in euro cents.",
    )
}  # fmt: skip

if __name__ == "__main__":
    serve(RELEASES)
