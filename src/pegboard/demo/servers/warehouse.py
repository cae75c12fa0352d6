"""Warehouse: stock at two sites and the parcels that leave them.

Run it with `python -m pegboard.demo.servers.warehouse`.
"""

from pegboard.demo.servers.company import SITES, Company, RefusedError, Row, add, among, pick
from pegboard.demo.servers.schemas import Schema, choice, flag, listing, many, record, text, whole
from pegboard.demo.servers.serving import serve
from pegboard.demo.servers.tools import DESTROYS, READS, SETS, WRITES, DemoServer, DemoTool, Releases

__all__ = ["RELEASES"]

CATEGORIES = ("tents", "sleeping", "packs", "cooking", "lights", "clothing", "walking")
STATES = ("label_printed", "in_transit", "delayed", "delivered", "cancelled")

SKU = text("Item number, for example TNT-201.", pattern="^[A-Z]{3}-[0-9]{3}$")
SITE = choice("Warehouse site.", *SITES)
SHIPMENT_ID = text("Shipment id, for example SH-905.", pattern="^SH-[0-9]+$")
QUANTITY = whole("Number of pieces.", 1, 1000)

LEVEL: Schema = {
    "type": "object",
    "properties": {
        "sku": {"type": "string"},
        "site": {"enum": list(SITES)},
        "on_hand": {"type": "integer", "minimum": 0},
        "reserved": {"type": "integer", "minimum": 0},
    },
    "required": ["sku", "site", "on_hand", "reserved"],
}


def _level(company: Company, sku: str, site: str) -> Row:
    pick(company.items, sku, "item")
    return company.stock[f"{sku}@{site}"]


def _free_level(company: Company, sku: str, site: str, quantity: int) -> Row:
    """Give a stock level that has this many pieces nobody has reserved."""
    level = _level(company, sku, site)
    free = level["on_hand"] - level["reserved"]
    if quantity > free:
        raise RefusedError(f"Only {free} of {sku} are free at {site}, not {quantity}.")
    return level


def _check(company: Company, asked: Row) -> Row:
    for sku in asked["skus"]:
        pick(company.items, sku, "item")
    found = [row for row in company.stock.values() if row["sku"] in asked["skus"]]
    levels = [row for row in found if row["site"] == asked.get("site", row["site"])]
    return {"levels": levels, "count": len(levels)}


def _items(company: Company, asked: Row) -> Row:
    word = asked.get("text", "").casefold()
    found = [row for row in company.items.values() if word in row["name"].casefold()]
    return {"items": among(found, asked, "category")}


def _reorder(company: Company, asked: Row) -> Row:
    site = asked["site"]
    low = [
        {
            "sku": sku,
            "name": item["name"],
            "on_hand": level["on_hand"],
            "order": item["reorder_at"] * 2 - level["on_hand"],
        }
        for sku, item in company.items.items()
        if (level := company.stock[f"{sku}@{site}"])["on_hand"] < item["reorder_at"]
    ]
    return {"site": site, "suggestions": low}


def _reserve(company: Company, asked: Row) -> Row:
    level = _free_level(company, asked["sku"], asked["site"], asked["quantity"])
    level["reserved"] += asked["quantity"]
    return level


def _adjust(company: Company, asked: Row) -> Row:
    level = _level(company, asked["sku"], asked["site"])
    level["on_hand"] = asked["counted"]
    return level


def _transfer(company: Company, asked: Row) -> str:
    if asked["from_site"] == asked["to_site"]:
        raise RefusedError("from_site and to_site are the same.")
    for line in asked["lines"]:
        _free_level(company, line["sku"], asked["from_site"], line["quantity"])
    for line in asked["lines"]:
        _level(company, line["sku"], asked["from_site"])["on_hand"] -= line["quantity"]
        _level(company, line["sku"], asked["to_site"])["on_hand"] += line["quantity"]
    return f"{len(asked['lines'])} line(s) moved from {asked['from_site']} to {asked['to_site']}."


def _write_off(company: Company, asked: Row) -> str:
    level = _free_level(company, asked["sku"], asked["site"], asked["quantity"])
    level["on_hand"] -= asked["quantity"]
    return f"{asked['quantity']} of {asked['sku']} written off as {asked['cause']}; {level['on_hand']} are left."


def _status(company: Company, asked: Row) -> Row:
    shipment = pick(company.shipments, asked["shipment_id"], "shipment")
    return {name: shipment[name] for name in ("id", "state", "carrier", "tracking")}


def _shipments(company: Company, asked: Row) -> Row:
    return {"shipments": among(company.shipments.values(), asked, "order_id", "state", "carrier", "site")}


def _ship(company: Company, asked: Row) -> Row:
    order = pick(company.orders, asked["order_id"], "order")
    if order["status"] not in ("open", "packed"):
        raise RefusedError(f"Order {order['id']} is {order['status']} and cannot be shipped.")
    order["status"] = "packed"
    tracking = f"{asked['carrier'][0].upper()}P0{order['id'][3:]}"
    return add(
        company.shipments, order_id=order["id"], carrier=asked["carrier"], state="label_printed",
        tracking=tracking, site=asked["site"], parcels=asked["parcels"],
    )  # fmt: skip


def _cancel(company: Company, asked: Row) -> str:
    shipment = pick(company.shipments, asked["shipment_id"], "shipment")
    if shipment["state"] != "label_printed":
        raise RefusedError(
            f"Shipment {shipment['id']} is {shipment['state']}; only parcels that have not left can be cancelled."
        )
    shipment["state"] = "cancelled"
    return f"Shipment {shipment['id']} is cancelled and its label is void."


TOOLS = (
    DemoTool(
        name="check_stock", title="Check stock", effect="read", annotations=READS, run=_check,
        description="See how many pieces of some items are on hand and reserved, by site.",
        takes=record(
            needs={"skus": many("The items.", SKU, minItems=1, maxItems=50)},
            may={"site": SITE},
        ),
        gives=listing("levels", "Level", LEVEL),
    ),
    DemoTool(
        name="search_items", title="Search items", effect="read", annotations=READS, run=_items,
        description="Search the items we stock by name or category.",
        takes=record(may={
            "text": text("A word in the item's name."),
            "category": choice("Kind of item.", *CATEGORIES),
            "limit": whole("How many items to return at most.", 1, 50, default=20),
        }),
    ),
    DemoTool(
        name="list_reorder_suggestions", title="List reorder suggestions", effect="read", annotations=READS,
        run=_reorder,
        description="List items of a site that are below their reorder point, and how many to order.",
        takes=record(needs={"site": SITE}),
    ),
    DemoTool(
        name="reserve_stock", title="Reserve stock", effect="write", annotations=WRITES, run=_reserve,
        description="Set pieces of an item aside for an order. Use check_stock first.",
        takes=record(
            needs={"sku": SKU, "site": SITE, "quantity": QUANTITY},
            may={"order_id": text("Order it is for.", pattern="^BF-[0-9]{5}$")},
        ),
        gives=LEVEL,
    ),
    DemoTool(
        name="adjust_stock", title="Adjust a stock level", effect="write", annotations=SETS, run=_adjust,
        description="Set the number on hand to what was counted.",
        takes=record(
            needs={"sku": SKU, "site": SITE, "counted": whole("Pieces that were counted.", 0, 10_000)},
            may={"counted_by": text("Person id of who counted.", pattern="^P-[0-9]+$")},
        ),
        gives=LEVEL,
    ),
    DemoTool(
        name="transfer_stock", title="Transfer stock", effect="write", annotations=WRITES, run=_transfer,
        description="Move items from one site to the other. All lines move, or none does.",
        takes=record(needs={
            "from_site": SITE,
            "to_site": SITE,
            "lines": many("What is moved.", record(needs={"sku": SKU, "quantity": QUANTITY}), minItems=1, maxItems=50),
        }),
    ),
    DemoTool(
        name="write_off_stock", title="Write off stock", effect="destructive", annotations=DESTROYS, run=_write_off,
        description="Remove damaged or lost pieces from the books.",
        takes=record(needs={
            "sku": SKU, "site": SITE, "quantity": QUANTITY,
            "cause": choice("What happened to them.", "damaged", "lost", "expired"),
        }),
    ),
    DemoTool(
        name="get_status", title="Get shipment status", effect="read", annotations=READS, run=_status,
        description="Get the state and tracking number of a shipment.",
        takes=record(needs={"shipment_id": SHIPMENT_ID}),
    ),
    DemoTool(
        name="list_shipments", title="List shipments", effect="read", annotations=READS, run=_shipments,
        description="List shipments by order, state, carrier or site.",
        takes=record(may={
            "order_id": text("Order number, for example BF-10406.", pattern="^BF-[0-9]{5}$"),
            "state": choice("State of the shipment.", *STATES),
            "carrier": choice("Who carries it.", "northpost", "lowland-parcel"),
            "site": SITE,
        }),
    ),
    DemoTool(
        name="create_shipment", title="Create a shipment", effect="write", annotations=WRITES, run=_ship,
        description="Print the labels for an order and hand it to a carrier.",
        takes=record(
            needs={
                "order_id": text("Order that is shipped.", pattern="^BF-[0-9]{5}$"),
                "carrier": choice("Who carries it.", "northpost", "lowland-parcel"),
                "site": SITE,
                "parcels": many("The parcels, one row each.", {"$ref": "#/$defs/Parcel"}, minItems=1, maxItems=10),
            },
            may={"insured": flag("Insure the parcels for their full value.")},
            **{"$defs": {"Parcel": record(
                needs={"weight_g": whole("Weight in grams.", 50, 31_500)},
                may={"fragile": flag("Mark it as fragile.")},
            )}},
        ),
    ),
    # Declared as harmless; a voided label cannot be had back.
    DemoTool(
        name="cancel_shipment", title="Cancel a shipment", effect="destructive", annotations=SETS, run=_cancel,
        description="Void the label of a shipment that has not left. The order stays; see cancel_order for that.",
        takes=record(needs={"shipment_id": SHIPMENT_ID}),
    ),
)  # fmt: skip

RELEASES: Releases = {
    1: DemoServer(
        name="warehouse", title="Brackenfold warehouse", version="2.7.1", tools=TOOLS,
        instructions="Stock and shipments of the sites Kendal and Arnhem.",
    )
}  # fmt: skip

if __name__ == "__main__":
    serve(RELEASES)
