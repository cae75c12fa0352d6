"""Purchasing: suppliers, and what we order from them.

Run it with `python -m pegboard.demo.servers.purchasing`.
"""

from pegboard.demo.servers.company import TODAY, Company, Row
from pegboard.demo.servers.filing import adds, lists, moves, notes, reads, sets
from pegboard.demo.servers.schemas import choice, date, email, record, text, whole
from pegboard.demo.servers.serving import serve
from pegboard.demo.servers.tools import DESTROYS, READS, SENDS, SETS, WRITES, DemoServer, DemoTool, Releases

__all__ = ["RELEASES"]

SUPPLIER_ID = text("Supplier id, for example SUP-21.", pattern="^SUP-[0-9]+$")
PURCHASE_ID = text("Purchase order id, for example PO-82.", pattern="^PO-[0-9]+$")
SKU = text("Item number, for example SLP-140.", pattern="^[A-Z]{3}-[0-9]{3}$")
STATE = choice("How far it is.", "draft", "sent", "delivered", "cancelled")


def _late(company: Company, _: Row) -> Row:
    late = [row for row in company.purchases.values() if row["state"] == "sent" and row["due_on"] < TODAY]
    return {"purchases": late, "count": len(late)}


TOOLS = (
    DemoTool(
        name="list_suppliers", title="List suppliers", effect="read", annotations=READS,
        description="List the makers we buy from, by country.", run=lists("suppliers", "country", "state"),
        takes=record(may={
            "country": text("Two letters, for example PT.", pattern="^[A-Z]{2}$"),
            "state": choice("Whether we still buy there.", "active", "closed"),
        }),
    ),
    DemoTool(
        name="get_supplier", title="Get a supplier", effect="read", annotations=READS,
        description="Read a supplier's contact and lead time.", run=reads("suppliers", "supplier_id", "supplier"),
        takes=record(needs={"supplier_id": SUPPLIER_ID}),
    ),
    DemoTool(
        name="update_supplier_contact", title="Update a supplier's contact", effect="write", annotations=SETS,
        description="Change the address to which a supplier's orders go.",
        run=sets("suppliers", "supplier_id", "supplier"),
        takes=record(needs={"supplier_id": SUPPLIER_ID, "email": email("The new address.")}),
    ),
    DemoTool(
        name="list_purchase_orders", title="List purchase orders", effect="read", annotations=READS,
        description="List what we ordered from suppliers, by supplier, item or state.",
        run=lists("purchases", "supplier_id", "sku", "state"),
        takes=record(may={"supplier_id": SUPPLIER_ID, "sku": SKU, "state": STATE}),
    ),
    DemoTool(
        name="get_purchase_order", title="Get a purchase order", effect="read", annotations=READS,
        description="Read one order that we placed with a supplier.",
        run=reads("purchases", "purchase_id", "purchase order"),
        takes=record(needs={"purchase_id": PURCHASE_ID}),
    ),
    DemoTool(
        name="list_late_deliveries", title="List late deliveries", effect="read", annotations=READS,
        description="List goods that suppliers should have delivered by now.", run=_late, takes=record(),
    ),
    DemoTool(
        name="create_purchase_order", title="Create a purchase order", effect="write", annotations=WRITES,
        description="Draft an order of new stock from a supplier.", run=adds("purchases", state="draft"),
        takes=record(needs={
            "supplier_id": SUPPLIER_ID, "sku": SKU, "quantity": whole("Number of pieces.", 1, 5000),
            "due_on": date("When we need it."),
        }),
    ),
    DemoTool(
        name="send_purchase_order", title="Send a purchase order", effect="write", annotations=SENDS,
        description="Mail a drafted order to its supplier; it is binding from then on.",
        run=moves("purchases", "purchase_id", "purchase order", "draft", to="sent"),
        takes=record(needs={"purchase_id": PURCHASE_ID}),
    ),
    DemoTool(
        name="cancel_purchase_order", title="Cancel a purchase order", effect="destructive", annotations=DESTROYS,
        description="Withdraw an order from a supplier, who may charge for it.",
        run=moves("purchases", "purchase_id", "purchase order", "draft", "sent", to="cancelled"),
        takes=record(needs={"purchase_id": PURCHASE_ID, "reason": text("Why.")}),
    ),
    DemoTool(
        name="record_delivery", title="Record a delivery", effect="write", annotations=SETS,
        description="Note that a supplier's goods have arrived at the warehouse.",
        run=moves("purchases", "purchase_id", "purchase order", "sent", to="delivered"),
        takes=record(needs={"purchase_id": PURCHASE_ID, "arrived_on": date("The day.")}),
    ),
    DemoTool(
        name="dispute_supplier_invoice", title="Dispute a supplier's invoice", effect="write", annotations=SENDS,
        description="Tell a supplier that what they billed is wrong.",
        run=notes("suppliers", "supplier_id", "supplier", "disputes", "what"),
        takes=record(needs={"supplier_id": SUPPLIER_ID, "what": text("What is wrong with it.")}),
    ),
)  # fmt: skip

RELEASES: Releases = {
    1: DemoServer(
        name="purchasing", title="Brackenfold purchasing", version="1.0.4", tools=TOOLS,
        instructions="Suppliers and the orders we place with them.",
    )
}  # fmt: skip

if __name__ == "__main__":
    serve(RELEASES)
