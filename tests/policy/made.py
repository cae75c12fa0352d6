"""Cedar policies over the CRM: short to write in a test, and asked as the rest asks them."""

from dataclasses import replace
from typing import Any

from pegboard.core.catalog import CatalogEntry
from pegboard.core.context import RuntimeContext
from pegboard.core.layer import Ruling
from pegboard.policy.cedar import Cedar
from tests.crm import CASHIER, ENTRIES, line, tool

__all__ = ["BY_ID", "CALLS", "CONSIDERS", "EVERYTHING", "SAM", "calls", "considers", "made", "refund"]

CONSIDERS = 'action == Pegboard::Action::"consider"'
CALLS = 'action == Pegboard::Action::"call"'
EVERYTHING = f"permit(principal, {CONSIDERS}, resource);\npermit(principal, {CALLS}, resource);\n"
BY_ID = {entry.tool_id: entry for entry in ENTRIES}
SAM = replace(CASHIER, user="sam", roles=frozenset({"support"}), stage="reply_draft", flags=frozenset({"beta"}))


def made(*policies: str) -> Cedar:
    """Read policies of one file."""
    return Cedar.of({"crm.cedar": "\n".join(policies)})


def considers(layer: Cedar, context: RuntimeContext = SAM, **changes: Any) -> set[str]:
    """Return the ids that a layer lets a caller be shown."""
    lines = [line(entry, **changes) for entry in ENTRIES]
    rulings = layer.consider(list(zip(ENTRIES, lines, strict=True)), context)
    return {entry.tool_id for entry, ruling in zip(ENTRIES, rulings, strict=True) if ruling.allowed}


def refund(**properties: Any) -> CatalogEntry:
    """Declare a tool with these parameters."""
    return tool("billing.refunds.refund", "Refund.", {"type": "object", "properties": properties})


def calls(
    layer: Cedar, arguments: dict[str, Any], entry: CatalogEntry | None = None, context: RuntimeContext = SAM
) -> Ruling:
    """Ask for a call of a tool."""
    asked = entry or BY_ID["billing.refunds.create_refund"]
    return layer.call(asked, line(asked), context, arguments)
