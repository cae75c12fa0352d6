"""Brackenfold's records of selling, buying, repairing and running its shop: a part of what `company.py` joins.

The same records every time. Every name and address is made up; addresses end in `.example` (RFC 2606, section 2).
"""
# ruff: noqa: E501  (a record is a line, so that the tables can be read as tables)

from typing import Any

__all__ = [
    "campaigns",
    "codes",
    "deployments",
    "incidents",
    "products",
    "purchases",
    "repairs",
    "reviews",
    "services",
    "spares",
    "subscribers",
    "suppliers",
]

_Table = dict[str, dict[str, Any]]


def _table(columns: str, *rows: tuple[Any, ...]) -> _Table:
    names = columns.split()
    return {row[0]: dict(zip(names, row, strict=True)) for row in rows}


def campaigns() -> _Table:
    """Campaigns, sent and planned."""
    return _table(
        "id title channel state audience starts_on",
        ("CMP-51", "Winter sleeping bags", "newsletter", "running", "all", "2026-11-20"),
        ("CMP-52", "Rain week", "shop_banner", "draft", "gold", "2026-12-07"),
        ("CMP-53", "Spring range preview", "newsletter", "scheduled", "trade", "2027-02-01"),
    )


def codes() -> _Table:
    """Discount codes of campaigns."""
    return _table(
        "id word percent state campaign_id",
        ("DC-61", "COSY10", 10, "active", "CMP-51"),
        ("DC-62", "AUTUMN15", 15, "retired", "CMP-51"),
    )


def subscribers() -> _Table:
    """Who gets the newsletter."""
    return _table(
        "id customer_id email state since",
        ("NL-71", "C-101", "dana.whitlock@mail.example", "subscribed", "2024-03-02"),
        ("NL-72", "C-104", "jonas@ekvall.example", "subscribed", "2025-01-19"),
        ("NL-73", "C-105", "marta.kowal@mail.example", "left", "2025-06-30"),
    )


def suppliers() -> _Table:
    """Who makes what we sell."""
    return _table(
        "id name email country lead_days state",
        ("SUP-21", "Tatra Down", "office@tatradown.example", "PL", 28, "active"),
        ("SUP-22", "Lowmoor Alloy", "sales@lowmooralloy.example", "GB", 14, "active"),
        ("SUP-23", "Ribeira Textil", "geral@ribeira.example", "PT", 35, "active"),
    )


def purchases() -> _Table:
    """Orders that we placed with suppliers."""
    return _table(
        "id supplier_id sku quantity state due_on",
        ("PO-81", "SUP-21", "SLP-140", 40, "sent", "2026-11-25"),
        ("PO-82", "SUP-22", "POL-112", 60, "sent", "2026-12-09"),
        ("PO-83", "SUP-23", "JKT-301", 80, "draft", "2027-01-15"),
        ("PO-84", "SUP-21", "SLP-110", 30, "delivered", "2026-10-30"),
    )


def repairs() -> _Table:
    """Gear that customers sent in."""
    return _table(
        "id customer_id sku fault state received_on",
        ("REP-41", "C-101", "TNT-201", "torn fly sheet", "received", "2026-11-24"),
        ("REP-42", "C-107", "PCK-165", "broken buckle", "estimated", "2026-11-20"),
        ("REP-43", "C-106", "MAT-108", "slow leak", "in_work", "2026-11-18"),
        ("REP-44", "C-104", "STV-110", "blocked jet", "done", "2026-11-10"),
    )


def spares() -> _Table:
    """Parts that repairs need."""
    return _table(
        "id name sku on_hand",
        ("SP-91", "Fly sheet patch", "TNT-201", 14),
        ("SP-92", "Side buckle 25 mm", "PCK-165", 3),
        ("SP-93", "Valve", "MAT-108", 0),
    )


def products() -> _Table:
    """Product pages of the shop."""
    return _table(
        "id sku title text price_cents language state",
        ("PRD-11", "TNT-201", "Heron 2 tent", "Two people, three seasons, 2.1 kg.", 32900, "en", "published"),
        ("PRD-12", "STV-110", "Ember gas stove", "Boils a litre in four minutes.", 6900, "en", "published"),
        ("PRD-13", "JKT-301", "Squall rain jacket", "", 17900, "en", "draft"),
    )


def reviews() -> _Table:
    """What customers wrote about products."""
    return _table(
        "id product_id customer_id stars text state",
        ("RV-31", "PRD-11", "C-101", 5, "Dry through a week of Lakeland rain.", "shown"),
        ("RV-32", "PRD-12", "C-106", 2, "The igniter gave up after a month.", "shown"),
        ("RV-33", "PRD-12", "C-103", 1, "Buy cheap watches at a friend's shop!", "shown"),
    )


def services() -> _Table:
    """What we run for the shop."""
    return _table(
        "id state version owner_team",
        ("shop", "healthy", "4.18.2", "engineering"), ("checkout", "degraded", "2.9.0", "engineering"), ("search", "healthy", "1.7.4", "engineering"),
        ("label-printer", "healthy", "0.9.1", "warehouse"), ("mailer", "healthy", "3.2.0", "engineering"),
    )  # fmt: skip


def deployments() -> _Table:
    """Which versions were brought out."""
    return _table(
        "id service version environment state by started_at",
        ("D-401", "checkout", "2.8.3", "production", "superseded", "P-19", "2026-11-23T10:05:00Z"),
        ("D-402", "shop", "4.18.2", "production", "live", "P-18", "2026-11-26T14:30:00Z"),
        ("D-403", "checkout", "2.9.0", "production", "live", "P-19", "2026-11-29T16:10:00Z"),
        ("D-404", "search", "1.8.0", "staging", "live", "P-19", "2026-11-30T07:40:00Z"),
        ("D-405", "mailer", "3.3.0", "production", "queued", "P-18", "2026-11-30T08:00:00Z"),
    )  # fmt: skip


def incidents() -> _Table:
    """What went wrong with them."""
    return _table(
        "id title severity state service opened_at",
        ("INC-31", "Slow card payments", "major", "investigating", "checkout", "2026-11-29T17:20:00Z"),
        ("INC-30", "Duplicate order mails", "minor", "resolved", "mailer", "2026-11-14T08:12:00Z"),
    )  # fmt: skip
