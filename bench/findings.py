"""Findings on published tools, by rule, with every one above `low` in full so that it can be looked at.

The counts of the reference page are those of `live-mcp`. The other sets choose no rule and are only reported.
"""

import json
import time
from collections import Counter
from collections.abc import Iterator

from bench.catalogs import DATA
from bench.proposals import published
from pegboard.core.catalog import CatalogEntry
from pegboard.engine.findings import Severity, findings
from pegboard.engine.intake import take_in_line

__all__ = ["measure_findings"]

_FURTHER = ("toucan_mcp", "stabletoolbench", "sealtools", "bfcl")


def catalogs() -> Iterator[tuple[str, list[CatalogEntry]]]:
    """Yield the sets; `_meta` is in none but the first, and is looked at by the tests."""
    yield "live-mcp", [entry for entry, _ in published()]
    for name in _FURTHER:
        verdicts = (take_in_line(json.loads(line)) for line in (DATA / name / "tools.jsonl").read_text().splitlines())
        yield name, [entry for entry in verdicts if isinstance(entry, CatalogEntry)]


def measure_findings(entries: list[CatalogEntry]) -> tuple[Counter[str], list[str], float]:
    """Return tools by rule, what is above `low`, and CPU milliseconds a tool."""
    start = time.process_time()
    found = [findings(entry) for entry in entries]
    spent = (time.process_time() - start) * 1_000 / len(entries)
    counts = Counter(rule for one in found for rule in {finding.rule for finding in one})
    grave = [one for tool in found for one in tool if one.severity is not Severity.LOW]
    return counts, [f"{one.severity} {one.rule} {one.tool} {one.where} {one.snippet}" for one in grave], spent


def main() -> None:
    """Print the counts of each set and what a person should look at."""
    for name, entries in catalogs():
        counts, grave, spent = measure_findings(entries)
        print(f"{name}: {len(entries)} tools, {spent:.2f} ms a tool")
        for rule, count in counts.most_common():
            print(f"  {count:5} {rule}")
        print(*(f"    {line}" for line in grave), sep="\n")


if __name__ == "__main__":
    main()
