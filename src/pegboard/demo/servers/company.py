"""Brackenfold, the demo company: the fixed records that every demo server starts from, and how they are read.

The same records every time: no clock (`TODAY` is a constant), no randomness. Each server process works on its own copy.
Money is whole cents of one currency, EUR.

Every person, customer and address is made up; mail addresses end in `.example` (RFC 2606, section 2).
"""
# ruff: noqa: E501  (a record is a line, so that the tables can be read as tables)

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pegboard.demo.servers import records

__all__ = ["SITES", "TODAY", "Company", "RefusedError", "Row", "Table", "add", "among", "open_company", "pick"]

Row = dict[str, Any]
Table = dict[str, Row]

TODAY = "2026-11-30"
SITES = ("kendal", "arnhem")


class RefusedError(Exception):
    """The call is well formed and cannot be done; the message says why and what to try."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Company:
    """The records of all departments by id. The tables themselves change as tools run.

    `outbox` holds the mail that was sent, `switches` what was stopped, `reporting` the database that `sql.py` fills.
    """

    customers: Table
    items: Table
    orders: Table
    payments: Table
    invoices: Table
    refunds: Table
    tickets: Table
    articles: Table
    events: Table
    rooms: Table
    stock: Table
    shipments: Table
    people: Table
    leave: Table
    shifts: Table
    services: Table
    deployments: Table
    incidents: Table
    campaigns: Table
    codes: Table
    subscribers: Table
    suppliers: Table
    purchases: Table
    repairs: Table
    spares: Table
    products: Table
    reviews: Table
    outbox: list[Row] = field(default_factory=list)
    switches: dict[str, bool] = field(default_factory=dict)
    reporting: sqlite3.Connection = field(default_factory=lambda: _database(), compare=False, repr=False)


def pick(table: Table, key: str, what: str) -> Row:
    """Give the record with this id.

    Raises:
        RefusedError: There is none; the message shows what such an id looks like.
    """
    if key not in table:
        raise RefusedError(f"There is no {what} {key!r}. Ids of this kind look like {next(iter(table))!r}.")
    return table[key]


def add(table: Table, **facts: Any) -> Row:
    """Add a record under the next free id and give it back."""
    prefix = next(iter(table)).rpartition("-")[0]
    number = max(int(key.rpartition("-")[2]) for key in table) + 1
    row = {"id": f"{prefix}-{number}", **facts}
    table[row["id"]] = row
    return row


def among(rows: Iterable[Row], asked: Row, *fields: str) -> list[Row]:
    """Keep the records that equal *asked* in each of *fields* that was asked for, at most `asked["limit"]` of them."""
    kept = [row for row in rows if all(row[name] == asked[name] for name in fields if name in asked)]
    return kept[: asked.get("limit", 20)]


def open_company() -> Company:
    """Set up the company as it stands on the morning of `TODAY`."""
    customers, items, orders = _customers(), _items(), _orders()
    for order in orders.values():
        order["total_cents"] = sum(items[line["sku"]]["price_cents"] * line["quantity"] for line in order["lines"])
        order["ship_to"] = dict(customers[order["customer_id"]]["address"])
    return Company(
        customers=customers, items=items, orders=orders, payments=_payments(orders), invoices=_invoices(orders),
        refunds=_refunds(), tickets=_tickets(), articles=_articles(), events=_events(), rooms=_rooms(),
        stock=_stock(items), shipments=_shipments(), people=_people(), leave=_leave(), shifts=_shifts(),
        services=records.services(), deployments=records.deployments(), incidents=records.incidents(),
        campaigns=records.campaigns(), codes=records.codes(), subscribers=records.subscribers(),
        suppliers=records.suppliers(), purchases=records.purchases(), repairs=records.repairs(),
        spares=records.spares(), products=records.products(), reviews=records.reviews(),
        switches={"shipments_stopped": False, "deployments_frozen": False},
    )  # fmt: skip


def _database() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", isolation_level=None)  # autocommit: what one statement does, the next one sees


def _table(columns: str, *rows: tuple[Any, ...]) -> Table:
    names = columns.split()
    return {row[0]: dict(zip(names, row, strict=True)) for row in rows}


def _customers() -> Table:
    rows = _table(
        "id name email phone tier street city postcode country",
        ("C-101", "Dana Whitlock", "dana.whitlock@mail.example", "+44 20 7946 0101", "gold", "4 Mill Lane", "Kendal", "LA9 4AB", "GB"),
        ("C-102", "Theo Maartens", "theo@maartens.example", "+31 20 555 0102", "standard", "Kade 17", "Utrecht", "3511 AB", "NL"),
        ("C-103", "Ines Caldeira", "ines.caldeira@mail.example", "+351 21 555 0103", "standard", "Rua da Serra 8", "Braga", "4700-001", "PT"),
        ("C-104", "Jonas Ekvall", "jonas@ekvall.example", "+46 8 555 0104", "gold", "Granvägen 3", "Umeå", "903 25", "SE"),
        ("C-105", "Marta Kowal", "marta.kowal@mail.example", "+48 22 555 0105", "standard", "ul. Leśna 21", "Zakopane", "34-500", "PL"),
        ("C-106", "Owen Pritchard", "owen@pritchard.example", "+44 29 2018 0106", "standard", "11 Quarry Road", "Bangor", "LL57 1AA", "GB"),
        ("C-107", "Lea Brandauer", "lea.brandauer@mail.example", "+43 512 555 107", "gold", "Talweg 6", "Innsbruck", "6020", "AT"),
        ("C-108", "Fjell & Fjord Rentals", "orders@fjellfjord.example", "+47 22 55 01 08", "trade", "Havnegata 2", "Bergen", "5003", "NO"),
    )  # fmt: skip
    for row in rows.values():
        row["address"] = {part: row.pop(part) for part in ("street", "city", "postcode", "country")}
    return rows


def _items() -> Table:
    return _table(
        "id name category price_cents reorder_at",
        ("TNT-201", "Heron 2 tent", "tents", 32900, 15), ("TNT-310", "Heron 3 tent", "tents", 41900, 10),
        ("SLP-110", "Moss sleeping bag, comfort 5 °C", "sleeping", 14900, 25),
        ("SLP-140", "Moss sleeping bag, comfort -10 °C", "sleeping", 21900, 20),
        ("MAT-108", "Drift inflatable mat", "sleeping", 9900, 30), ("PCK-145", "Ridgeway pack 45 l", "packs", 15900, 20),
        ("PCK-165", "Ridgeway pack 65 l", "packs", 18900, 15), ("STV-110", "Ember gas stove", "cooking", 6900, 40),
        ("LMP-120", "Firefly headlamp", "lights", 3900, 60), ("JKT-301", "Squall rain jacket", "clothing", 17900, 30),
        ("BTL-175", "Spring bottle 0.75 l", "cooking", 2400, 80), ("POL-112", "Thornstick trekking poles", "walking", 7900, 25),
    )  # fmt: skip


def _orders() -> Table:
    rows = _table(
        "id customer_id placed_on status lines",
        ("BF-10401", "C-101", "2026-11-03", "delivered", "TNT-201 1"), ("BF-10402", "C-102", "2026-11-05", "delivered", "PCK-145 1, BTL-175 2"),
        ("BF-10403", "C-104", "2026-11-09", "delivered", "SLP-140 2"), ("BF-10404", "C-103", "2026-11-12", "cancelled", "STV-110 1"),
        ("BF-10405", "C-101", "2026-11-16", "shipped", "LMP-120 1"), ("BF-10406", "C-105", "2026-11-19", "shipped", "JKT-301 1, POL-112 1"),
        ("BF-10407", "C-106", "2026-11-21", "shipped", "MAT-108 1"), ("BF-10408", "C-107", "2026-11-24", "packed", "TNT-310 1, MAT-108 2"),
        ("BF-10409", "C-108", "2026-11-25", "held", "TNT-201 10, SLP-110 20"), ("BF-10410", "C-102", "2026-11-27", "open", "STV-110 1, BTL-175 1"),
        ("BF-10411", "C-104", "2026-11-28", "open", "JKT-301 2"), ("BF-10412", "C-101", "2026-11-29", "open", "SLP-110 1, LMP-120 2"),
    )  # fmt: skip
    for row in rows.values():
        pairs = [line.split() for line in row["lines"].split(", ")]
        row["lines"] = [{"sku": sku, "quantity": int(quantity)} for sku, quantity in pairs]
        row["notes"] = []
    return rows


def _payments(orders: Table) -> Table:
    states = {"open": "authorized", "held": "authorized", "cancelled": "reversed"}
    return {
        f"PAY-7{key[-3:]}": {
            "id": f"PAY-7{key[-3:]}", "order_id": key, "customer_id": order["customer_id"], "paid_on": order["placed_on"],
            "method": "invoice" if order["customer_id"] == "C-108" else "card", "amount_cents": order["total_cents"],
            "status": states.get(order["status"], "captured"), "refunded_cents": 4000 if key == "BF-10402" else 0,
        }
        for key, order in orders.items()
    }  # fmt: skip


def _invoices(orders: Table) -> Table:
    return {
        f"INV-{key[3:]}": {
            "id": f"INV-{key[3:]}", "order_id": key, "customer_id": order["customer_id"], "issued_on": order["placed_on"],
            "amount_cents": order["total_cents"], "status": "overdue" if order["status"] == "held" else "paid", "discount_cents": 0,
        }
        for key, order in orders.items() if order["status"] != "cancelled"
    }  # fmt: skip


def _refunds() -> Table:
    return _table("id payment_id amount_cents made_on state", ("RF-301", "PAY-7402", 4000, "2026-11-18", "settled"))


def _tickets() -> Table:
    rows = _table(
        "id customer_id subject status priority assignee order_id opened_on first_message",
        ("T-501", "C-101", "Headlamp arrived with a cracked lens", "open", "normal", "P-13", "BF-10405", "2026-11-26", "The lens is cracked. I would like my money back, please."),
        ("T-502", "C-105", "Where is my jacket?", "open", "normal", None, "BF-10406", "2026-11-27", "Tracking has not moved for four days."),
        ("T-503", "C-108", "Invoice address is wrong", "open", "high", "P-14", "BF-10409", "2026-11-27", "Please bill our Bergen office."),
        ("T-504", "C-104", "Can I wash the sleeping bag?", "waiting", "low", "P-13", "BF-10403", "2026-11-20", "It smells of smoke after the last trip."),
        ("T-505", "C-101", "Cracked headlamp, second mail", "open", "normal", None, "BF-10405", "2026-11-28", "I have not heard back about my headlamp."),
        ("T-506", "C-106", "Mat loses air overnight", "open", "urgent", None, "BF-10407", "2026-11-29", "We are on a trip until Friday and the mat is flat every morning."),
    )  # fmt: skip
    for row in rows.values():
        row["messages"] = [{"from": "customer", "text": row.pop("first_message")}]
    return rows


def _articles() -> Table:
    return _table(
        "id title body",
        ("KB-601", "Returns and refunds", "Unused gear may come back within 60 days. Faulty gear is repaired, replaced or refunded."),
        ("KB-602", "Washing a sleeping bag", "Cool wash with a mild detergent, two extra rinses, dry flat for two days."),
        ("KB-603", "Finding a leak in a mat", "Inflate it, hold it under water a part at a time and mark where bubbles rise."),
        ("KB-604", "Delivery times", "Two to four working days within Europe; orders before noon leave the same day."),
    )  # fmt: skip


def _events() -> Table:
    rows = _table(
        "id title starts_at ends_at organizer attendees room_id status",
        ("E-701", "Support stand-up", "2026-11-30T09:00:00Z", "2026-11-30T09:15:00Z", "P-12", "P-13 P-14", "room-1", "confirmed"),
        ("E-702", "Spring range review", "2026-12-01T10:00:00Z", "2026-12-01T11:30:00Z", "P-11", "P-12 P-16 P-18", "room-2", "confirmed"),
        ("E-703", "Stock count, Kendal", "2026-12-02T07:00:00Z", "2026-12-02T12:00:00Z", "P-16", "P-17", None, "confirmed"),
        ("E-704", "Release planning", "2026-12-02T13:00:00Z", "2026-12-02T14:00:00Z", "P-18", "P-19", "room-1", "confirmed"),
        ("E-705", "Quarter close", "2026-12-04T09:00:00Z", "2026-12-04T10:00:00Z", "P-15", "P-11", "room-2", "confirmed"),
    )  # fmt: skip
    for row in rows.values():
        row["attendees"] = [{"person_id": person, "reply": "accepted"} for person in row["attendees"].split()]
    return rows


def _rooms() -> Table:
    rows = ("room-1", "Heather", 6, "kendal"), ("room-2", "Gorse", 14, "kendal"), ("room-3", "Polder", 8, "arnhem")
    return _table("id name seats site", *rows)


def _stock(items: Table) -> Table:
    counts = (18, 6, 41, 9, 35, 22, 17, 64, 120, 33, 150, 12)
    return {
        f"{sku}@{site}": {"sku": sku, "site": site, "on_hand": count // part, "reserved": 0}
        for sku, count in zip(items, counts, strict=True)
        for part, site in enumerate(SITES, start=1)
    }


def _shipments() -> Table:
    return _table(
        "id order_id carrier state tracking site",
        ("SH-901", "BF-10401", "northpost", "delivered", "NP000401", "kendal"), ("SH-902", "BF-10402", "lowland-parcel", "delivered", "LP000402", "arnhem"),
        ("SH-903", "BF-10403", "northpost", "delivered", "NP000403", "kendal"), ("SH-904", "BF-10405", "northpost", "in_transit", "NP000405", "kendal"),
        ("SH-905", "BF-10406", "lowland-parcel", "delayed", "LP000406", "arnhem"), ("SH-906", "BF-10407", "northpost", "in_transit", "NP000407", "kendal"),
        ("SH-907", "BF-10408", "lowland-parcel", "label_printed", "LP000408", "arnhem"),
    )  # fmt: skip


def _people() -> Table:
    return _table(
        "id name email team role manager_id salary_cents started_on status",
        ("P-11", "Ruth Abernathy", "ruth@brackenfold.example", "leadership", "Managing director", None, 1180000, "2014-03-01", "active"),
        ("P-12", "Samir Okafor", "samir@brackenfold.example", "support", "Head of support", "P-11", 640000, "2017-06-12", "active"),
        ("P-13", "Hanne Vogel", "hanne@brackenfold.example", "support", "Support agent", "P-12", 365000, "2021-09-01", "active"),
        ("P-14", "Piotr Zielak", "piotr@brackenfold.example", "support", "Support agent", "P-12", 358000, "2023-02-13", "active"),
        ("P-15", "Clara Nunes", "clara@brackenfold.example", "finance", "Controller", "P-11", 690000, "2016-11-07", "active"),
        ("P-16", "Geert Lindeman", "geert@brackenfold.example", "warehouse", "Warehouse lead", "P-11", 470000, "2018-04-16", "active"),
        ("P-17", "Aoife Brennan", "aoife@brackenfold.example", "warehouse", "Picker", "P-16", 298000, "2024-05-20", "active"),
        ("P-18", "Noor Haddad", "noor@brackenfold.example", "engineering", "Lead engineer", "P-11", 780000, "2019-01-14", "active"),
        ("P-19", "Emil Strand", "emil@brackenfold.example", "engineering", "Engineer", "P-18", 590000, "2022-08-22", "active"),
    )  # fmt: skip


def _leave() -> Table:
    return _table(
        "id person_id kind first_day last_day state",
        ("L-201", "P-13", "holiday", "2026-12-21", "2026-12-31", "requested"),
        ("L-202", "P-17", "parental", "2027-01-11", "2027-03-12", "approved"),
    )


def _shifts() -> Table:
    return _table(
        "id date slot site person_id",
        ("S-801", "2026-12-01", "early", "kendal", "P-17"), ("S-802", "2026-12-01", "late", "kendal", None),
        ("S-803", "2026-12-02", "early", "kendal", "P-16"), ("S-804", "2026-12-02", "late", "arnhem", None),
    )  # fmt: skip
