"""Proposed risk and reach against labels, and what is proposed for the tools of published servers.

tau2 labels its tools; those of agentdojo are told apart here. Published servers have hints alone, which prove nothing:
a tool that says it only reads and is proposed as more is careful, or the hint is wrong.
"""

import json
from collections import Counter
from collections.abc import Iterator

from bench.catalogs import DATA
from pegboard.core.catalog import CatalogEntry, Risk
from pegboard.engine.intake import take_in, take_in_line
from pegboard.engine.proposals import proposed

__all__ = ["agentdojo", "published", "tau2"]

# The tools of agentdojo that change something; the other 45 read.
_CHANGES = frozenset(
    {"add_calendar_event_participants", "add_user_to_channel", "append_to_file", "cancel_calendar_event"}
    | {"create_calendar_event", "create_file", "delete_email", "delete_file", "invite_user_to_slack", "post_webpage"}
    | {"remove_user_from_slack", "reschedule_calendar_event", "reserve_car_rental", "reserve_hotel", "share_file"}
    | {"reserve_restaurant", "schedule_transaction", "send_channel_message", "send_direct_message", "send_email"}
    | {"send_money", "update_password", "update_scheduled_transaction", "update_user_info"}
)


def tau2() -> Iterator[tuple[CatalogEntry, str]]:
    """Yield each tool of tau2 with its label: READ, WRITE, or GENERIC (neither)."""
    for row in _lines("tau2"):
        yield _taken(take_in_line(row)), row["tool_type"]


def agentdojo() -> Iterator[tuple[CatalogEntry, str]]:
    """Yield each tool of agentdojo with READ or WRITE."""
    for row in _lines("agentdojo"):
        yield _taken(take_in_line(row)), "WRITE" if row["name"] in _CHANGES else "READ"


def published() -> Iterator[tuple[CatalogEntry, str]]:
    """Yield each tool of the published servers with what its hint says."""
    for file in sorted((DATA / "live-mcp" / "servers").glob("*.json")):
        for raw in json.loads(file.read_text())["tools"]:
            entry = _taken(take_in(raw, server=file.stem, namespace=file.stem))
            yield entry, f"hint {entry.annotations.get('readOnlyHint')}"


def main() -> None:
    """Print a table of labels and proposals for each set, and every change that is proposed as a read."""
    for name, tools in (("tau2", tau2()), ("agentdojo", agentdojo()), ("published servers", published())):
        judged = [(entry, label, proposed(entry, ())) for entry, label in tools]
        print(name)
        for (label, risk, reach), count in sorted(
            Counter((one, str(p.risk), str(p.reach)) for _, one, p in judged).items()
        ):
            print(f"  {label:12} {risk:12} {reach:8} {count:5}")
        wrong = [entry.tool_id for entry, label, one in judged if label == "WRITE" and one.risk is Risk.READ]
        print("  changes proposed as reads:", ", ".join(wrong) or "none")


def _lines(name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (DATA / name / "tools.jsonl").read_text().splitlines()]


def _taken(entry: object) -> CatalogEntry:
    assert isinstance(entry, CatalogEntry)
    return entry


if __name__ == "__main__":
    main()
