"""Billing: payments, refunds and invoices. It has two releases, to show what a changed server does to its clients.

Release 2 demands a reason for a refund, can preview one, and no longer takes discount codes. Start it with
`PEGBOARD_DEMO_RELEASE=2 python -m pegboard.demo.servers.billing`.
"""

from pegboard.demo.servers.company import TODAY, Company, RefusedError, Row, add, among, pick
from pegboard.demo.servers.schemas import Schema, choice, date, email, flag, listing, record, text, whole
from pegboard.demo.servers.serving import serve
from pegboard.demo.servers.tools import DESTROYS, READS, WRITES, DemoServer, DemoTool, Releases

__all__ = ["RELEASES"]

PAYMENT_ID = text("Payment id, for example PAY-7405.", pattern="^PAY-[0-9]+$")
INVOICE_ID = text("Invoice number, for example INV-10405.", pattern="^INV-[0-9]+$")
CUSTOMER_ID = text("Customer id, for example C-101.", pattern="^C-[0-9]{3}$")
AMOUNT = whole("Amount in euro cents: 4000 is 40 euros.", 1, 1_000_000)
LIMIT = whole("How many rows to return at most.", 1, 100, default=20)

PAYMENT: Schema = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "order_id": {"type": "string"},
        "amount_cents": {"type": "integer"},
        "refunded_cents": {"type": "integer"},
        "status": {"enum": ["authorized", "captured", "reversed"]},
    },
    "required": ["id", "order_id", "amount_cents", "status"],
}
REFUND: Schema = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "payment_id": {"type": "string"},
        "amount_cents": {"type": "integer"},
        "state": {"enum": ["pending", "settled"]},
    },
    "required": ["id", "payment_id", "amount_cents", "state"],
}


def _payments(company: Company, asked: Row) -> Row:
    low, high = asked.get("amount_from", 0), asked.get("amount_until", 10**9)
    within = [row for row in company.payments.values() if low <= row["amount_cents"] <= high]
    found = among(within, asked, "order_id", "customer_id", "status")
    return {"payments": found, "count": len(found)}


def _refundable(company: Company, asked: Row) -> Row:
    payment = pick(company.payments, asked["payment_id"], "payment")
    left = payment["amount_cents"] - payment["refunded_cents"]
    if payment["status"] != "captured":
        raise RefusedError(f"Payment {payment['id']} is {payment['status']}; only captured payments can be refunded.")
    if asked["amount"] > left:
        raise RefusedError(f"Only {left} cents of payment {payment['id']} are left to refund.")
    return payment


def _refund(company: Company, asked: Row) -> Row:
    payment = _refundable(company, asked)
    payment["refunded_cents"] += asked["amount"]
    facts = {name: asked[name] for name in ("reason", "note") if name in asked}
    return add(
        company.refunds, payment_id=payment["id"], amount_cents=asked["amount"], made_on=TODAY, state="pending", **facts
    )


def _preview(company: Company, asked: Row) -> Row:
    payment = _refundable(company, asked)
    left = payment["amount_cents"] - payment["refunded_cents"] - asked["amount"]
    return {"payment_id": payment["id"], "left_after_cents": left, "method": payment["method"]}


def _refunds(company: Company, asked: Row) -> Row:
    found = among(company.refunds.values(), asked, "payment_id", "state")
    return {"refunds": found, "count": len(found)}


def _reverse(company: Company, asked: Row) -> str:
    payment = pick(company.payments, asked["payment_id"], "payment")
    if payment["status"] == "reversed":
        raise RefusedError(f"Payment {payment['id']} is already reversed.")
    payment["status"] = "reversed"
    return f"Payment {payment['id']} is reversed; {payment['amount_cents']} cents go back to the customer's bank."


def _capture(company: Company, asked: Row) -> Row:
    payment = pick(company.payments, asked["payment_id"], "payment")
    if payment["status"] != "authorized":
        raise RefusedError(f"Payment {payment['id']} is {payment['status']}; only authorized payments can be captured.")
    payment["status"] = "captured"
    return payment


def _invoices(company: Company, asked: Row) -> Row:
    since = asked.get("issued_from", "")
    found = among(
        (row for row in company.invoices.values() if row["issued_on"] >= since), asked, "customer_id", "status"
    )
    return {"invoices": found, "count": len(found)}


def _email_invoice(company: Company, asked: Row) -> str:
    invoice = pick(company.invoices, asked["invoice_id"], "invoice")
    to = asked.get("to", company.customers[invoice["customer_id"]]["email"])
    company.outbox.append({"to": to, "subject": f"Invoice {invoice['id']}", "language": asked.get("language", "en")})
    return f"Invoice {invoice['id']} was sent to {to}."


def _discount(company: Company, asked: Row) -> str:
    invoice = pick(company.invoices, asked["invoice_id"], "invoice")
    if invoice["status"] == "paid":
        raise RefusedError(f"Invoice {invoice['id']} is paid; use create_refund instead.")
    invoice["discount_cents"] = invoice["amount_cents"] // 10
    return f"Code {asked['code']} takes {invoice['discount_cents']} cents off invoice {invoice['id']}."


def _ledger(company: Company, asked: Row) -> str:
    days = (asked["first_day"], asked["last_day"])
    rows = [row for row in company.payments.values() if days[0] <= row["paid_on"] <= days[1]]
    lines = [f"{row['paid_on']},{row['id']},{row['customer_id']},{row['amount_cents']},{row['status']}" for row in rows]
    return "\n".join(["date,payment,customer,cents,status", *lines])


CREATE_REFUND = DemoTool(
    name="create_refund", title="Create a refund", effect="destructive", annotations=DESTROYS, run=_refund,
    description="Refund all or part of a captured payment to the card or account it came from.",
    takes=record(
        needs={"payment_id": PAYMENT_ID, "amount": AMOUNT},
        may={"note": text("A note for the books.", maxLength=200)},
    ),
    gives=REFUND,
)  # fmt: skip

APPLY_DISCOUNT_CODE = DemoTool(
    name="apply_discount_code", title="Apply a discount code", effect="write", run=_discount,
    description="Take a discount code off an invoice that is not paid yet.",
    takes=record(needs={"invoice_id": INVOICE_ID, "code": text("The code as printed.", pattern="^[A-Z0-9]{4,12}$")}),
)  # fmt: skip

TOOLS = (
    DemoTool(
        name="get_payment", title="Get a payment", effect="read", annotations=READS,
        run=lambda company, asked: pick(company.payments, asked["payment_id"], "payment"),
        description="Get one payment with its amount, state and how much of it was refunded.",
        takes=record(needs={"payment_id": PAYMENT_ID}), gives=PAYMENT,
    ),
    DemoTool(
        name="search_payments", title="Search payments", effect="read", annotations=READS, run=_payments,
        description="Search payments by order, customer, state or amount.",
        takes=record(may={
            "order_id": text("Order number, for example BF-10405.", pattern="^BF-[0-9]{5}$"),
            "customer_id": CUSTOMER_ID,
            "status": choice("State of the payment.", "authorized", "captured", "reversed"),
            "amount_from": whole("Smallest amount, in euro cents.", 0, 1_000_000),
            "amount_until": whole("Largest amount, in euro cents.", 0, 1_000_000),
            "limit": LIMIT,
        }),
        gives=listing("payments", "Payment", PAYMENT),
    ),
    CREATE_REFUND,
    DemoTool(
        name="list_refunds", title="List refunds", effect="read", annotations=READS, run=_refunds,
        description="List refunds, oldest first.",
        takes=record(may={
            "payment_id": PAYMENT_ID,
            "state": choice("State of the refund.", "pending", "settled"),
            "limit": LIMIT,
        }),
        gives=listing("refunds", "Refund", REFUND),
    ),
    DemoTool(
        name="reverse_payment", title="Reverse a payment", effect="destructive", annotations=DESTROYS, run=_reverse,
        description="Give back a whole payment through the bank, for fraud or a wrong charge. See also create_refund.",
        takes=record(needs={
            "payment_id": PAYMENT_ID,
            "bank_code": choice("Code the bank asks for.", "fraud", "duplicate", "wrong_amount"),
        }),
    ),
    DemoTool(
        name="capture_payment", title="Capture a payment", effect="write", annotations=WRITES, run=_capture,
        description="Collect a payment that was authorized when the order was placed.",
        takes=record(needs={"payment_id": PAYMENT_ID}), gives=PAYMENT,
    ),
    DemoTool(
        name="get_invoice", title="Get an invoice", effect="read", annotations=READS,
        run=lambda company, asked: pick(company.invoices, asked["invoice_id"], "invoice"),
        description="Get one invoice.",
        takes=record(needs={"invoice_id": INVOICE_ID}),
    ),
    DemoTool(
        name="list_invoices", title="List invoices", effect="read", annotations=READS, run=_invoices,
        description="List invoices of one customer or of all, optionally only those that are overdue.",
        takes=record(may={
            "customer_id": CUSTOMER_ID,
            "status": choice("State of the invoice.", "paid", "overdue"),
            "issued_from": date("First day of issue."),
            "limit": LIMIT,
        }),
    ),
    # Declared as a read although it sends mail: real servers do this too, so nobody may rely on a hint.
    DemoTool(
        name="email_invoice", title="Email an invoice", effect="write", annotations=READS, run=_email_invoice,
        description="Send an invoice as PDF by email, to the customer unless another address is given.",
        takes=record(
            needs={"invoice_id": INVOICE_ID},
            may={
                "to": email("Send it here instead."),
                "language": choice("Language of the letter.", "en", "de", "nl", "sv", default="en"),
                "attach_terms": flag("Attach the terms of sale."),
            },
        ),
    ),
    APPLY_DISCOUNT_CODE,
    DemoTool(
        name="export_ledger", title="Export the ledger", effect="read", annotations=READS, run=_ledger,
        description="Export all payments between two days as CSV.",
        takes=record(needs={"first_day": date("First day to export."), "last_day": date("Last day to export.")}),
    ),
)  # fmt: skip

REASONED_REFUND = DemoTool(
    name="create_refund", title="Create a refund", effect="destructive", annotations=DESTROYS, run=_refund,
    description="Refund all or part of a captured payment. A reason is required and is printed on the credit note.",
    takes=record(
        needs={
            "payment_id": PAYMENT_ID,
            "amount": AMOUNT,
            "reason": choice("Why money goes back.", "returned", "faulty", "late", "goodwill"),
        },
        may={"note": text("A note for the books.", maxLength=200)},
    ),
    gives={**REFUND, "required": [*REFUND["required"], "reason"]},
)  # fmt: skip

PREVIEW_REFUND = DemoTool(
    name="preview_refund", title="Preview a refund", effect="read", annotations=READS, run=_preview,
    description="Check what a refund would leave of a payment, without refunding anything.",
    takes=record(needs={"payment_id": PAYMENT_ID, "amount": AMOUNT}),
)  # fmt: skip

# In place, so that the two listings differ by what changed and by nothing else.
_CHANGES = {"create_refund": (REASONED_REFUND, PREVIEW_REFUND), "apply_discount_code": ()}

_INSTRUCTIONS = "Payments and invoices. Amounts are in euro cents. Money that was sent back cannot be fetched again."

RELEASES: Releases = {
    1: DemoServer(
        name="billing", title="Brackenfold billing", version="1.9.3", instructions=_INSTRUCTIONS, tools=TOOLS,
    ),
    2: DemoServer(
        name="billing", title="Brackenfold billing", version="2.0.0", instructions=_INSTRUCTIONS,
        tools=tuple(new for tool in TOOLS for new in _CHANGES.get(tool.name, (tool,))),
    ),
}  # fmt: skip

if __name__ == "__main__":
    serve(RELEASES)
