"""Workshop: gear that customers sent in for repair, and the parts for it.

Run it with `python -m pegboard.demo.servers.workshop`.
"""

from pegboard.demo.servers.company import Company, RefusedError, Row, pick
from pegboard.demo.servers.filing import adds, lists, mails, moves, reads
from pegboard.demo.servers.schemas import choice, date, record, text, whole
from pegboard.demo.servers.serving import serve
from pegboard.demo.servers.tools import DESTROYS, READS, SENDS, SETS, WRITES, DemoServer, DemoTool, Releases

__all__ = ["RELEASES"]

REPAIR_ID = text("Repair id, for example REP-41.", pattern="^REP-[0-9]+$")
CUSTOMER_ID = text("Customer id, for example C-101.", pattern="^C-[0-9]+$")
SKU = text("Item number, for example TNT-201.", pattern="^[A-Z]{3}-[0-9]{3}$")
STATE = choice("How far it is.", "received", "estimated", "in_work", "done", "scrapped", "replaced")


def _fit(company: Company, asked: Row) -> Row:
    part = pick(company.spares, asked["part_id"], "spare part")
    if part["on_hand"] < asked["quantity"]:
        raise RefusedError(f"Only {part['on_hand']} of {part['name']} are here; order_spare_part gets more.")
    part["on_hand"] -= asked["quantity"]
    return part


def _order(company: Company, asked: Row) -> str:
    part = pick(company.spares, asked["part_id"], "spare part")
    part["ordered"] = part.get("ordered", 0) + asked["quantity"]
    return f"{asked['quantity']} of {part['name']} are on order."


TOOLS = (
    DemoTool(
        name="list_repairs", title="List repairs", effect="read", annotations=READS,
        description="List gear in repair by customer, item or state.",
        run=lists("repairs", "customer_id", "sku", "state"),
        takes=record(may={"customer_id": CUSTOMER_ID, "sku": SKU, "state": STATE}),
    ),
    DemoTool(
        name="get_repair", title="Get a repair", effect="read", annotations=READS,
        description="Read one repair: the fault, the estimate and how far it is.",
        run=reads("repairs", "repair_id", "repair"),
        takes=record(needs={"repair_id": REPAIR_ID}),
    ),
    DemoTool(
        name="register_repair", title="Register a repair", effect="write", annotations=WRITES,
        description="Note that a customer sent broken gear in.", run=adds("repairs", state="received"),
        takes=record(needs={
            "customer_id": CUSTOMER_ID, "sku": SKU, "fault": text("What is broken."), "received_on": date("The day."),
        }),
    ),
    DemoTool(
        name="estimate_repair", title="Estimate a repair", effect="write", annotations=SETS,
        description="Say what a repair will cost and how long it takes.",
        run=moves("repairs", "repair_id", "repair", "received", "estimated", to="estimated"),
        takes=record(needs={
            "repair_id": REPAIR_ID, "cost_cents": whole("Cost in cents.", 0, 100_000),
            "days": whole("Working days.", 1, 60),
        }),
    ),
    DemoTool(
        name="start_repair", title="Start a repair", effect="write", annotations=SETS,
        description="Put a repair on the bench.",
        run=moves("repairs", "repair_id", "repair", "received", "estimated", to="in_work"),
        takes=record(needs={"repair_id": REPAIR_ID}),
    ),
    DemoTool(
        name="finish_repair", title="Finish a repair", effect="write", annotations=SETS,
        description="Note that gear is whole again and can go back.",
        run=moves("repairs", "repair_id", "repair", "in_work", to="done"),
        takes=record(needs={"repair_id": REPAIR_ID}, may={"work": text("What was done.")}),
    ),
    DemoTool(
        name="send_repair_update", title="Send a repair update", effect="write", annotations=SENDS,
        description="Mail the customer how far their repair is.",
        run=mails("repairs", "repair_id", "repair", "your repair"),
        takes=record(needs={"repair_id": REPAIR_ID, "message": text("The mail's text.")}),
    ),
    DemoTool(
        name="list_spare_parts", title="List spare parts", effect="read", annotations=READS,
        description="List parts for repairs and how many are here.", run=lists("spares", "sku"),
        takes=record(may={"sku": SKU}),
    ),
    DemoTool(
        name="use_spare_part", title="Use a spare part", effect="write", annotations=WRITES,
        description="Take parts from the shelf for a repair.", run=_fit,
        takes=record(needs={
            "part_id": text("Part id, for example SP-91.", pattern="^SP-[0-9]+$"),
            "quantity": whole("How many.", 1, 100),
        }),
    ),
    DemoTool(
        name="order_spare_part", title="Order a spare part", effect="write", annotations=WRITES,
        description="Order more parts for repairs.", run=_order,
        takes=record(needs={
            "part_id": text("Part id, for example SP-93.", pattern="^SP-[0-9]+$"),
            "quantity": whole("How many.", 1, 500),
        }),
    ),
    DemoTool(
        name="scrap_item", title="Scrap an item", effect="destructive", annotations=DESTROYS,
        description="Throw a customer's gear away that cannot be repaired.",
        run=moves("repairs", "repair_id", "repair", "received", "estimated", "in_work", to="scrapped"),
        takes=record(needs={"repair_id": REPAIR_ID, "reason": text("Why it cannot be repaired.")}),
    ),
)  # fmt: skip

RELEASES: Releases = {
    1: DemoServer(
        name="workshop", title="Brackenfold workshop", version="0.8.2", tools=TOOLS,
        instructions="Repairs and spare parts.",
    )
}  # fmt: skip

if __name__ == "__main__":
    serve(RELEASES)
