"""What each model API can be told of the schemas of published tools: counts by target, losses by reason, time.

python -m bench.schemas [--set live-mcp] [--json FILE]
"""

import argparse
import json
import time
from collections import Counter
from pathlib import Path

from bench.catalogs import entries_of
from bench.machine import machine
from pegboard.providers.schemas import Compiled, Fidelity, best, compile_schema
from pegboard.providers.targets import STRICT, Target

__all__ = ["main"]


def main() -> None:
    """Compile every schema of a set for every target and print the tables."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--set", default="live-mcp", help="a folder of ../shared/data")
    options.add_argument("--json", type=Path, help="write the figures here too")
    asked = options.parse_args()
    schemas = [entry.input_schema for entry in entries_of(asked.set)]
    figures = {str(target): _measured(schemas, target) for target in Target}
    print(f"{len(schemas):,} schemas of {asked.set}\n")
    _print_fidelity(figures)
    _print_losses(figures)
    for target in STRICT:
        sent = Counter(str(best(schema, target).target) for schema in schemas)
        print(f"best for {target}: {dict(sorted(sent.items()))}")
    print(machine())
    if asked.json:
        asked.json.write_text(json.dumps({"machine": machine(), "targets": figures}, indent=2), encoding="utf-8")


def _measured(schemas: list[dict[str, object]], target: Target) -> dict[str, object]:
    seconds: list[float] = []
    found: list[Compiled] = []
    for schema in schemas:
        start = time.process_time()
        found.append(compile_schema(schema, target))  # type: ignore[arg-type]
        seconds.append(time.process_time() - start)
    # A tool counts once for a reason, however often it is met with.
    reasons = Counter(reason for one in found for reason in {str(loss.what) for loss in one.losses})
    return {
        "fidelity": dict(Counter(str(one.fidelity) for one in found)),
        "losses": dict(reasons.most_common()),
        "median_ms": sorted(seconds)[len(seconds) // 2] * 1e3,
        "max_ms": max(seconds) * 1e3,
    }


def _print_fidelity(figures: dict[str, dict[str, object]]) -> None:
    print(f"{'target':20}" + "".join(f"{one:>17}" for one in Fidelity) + f"{'median ms':>12}{'max ms':>9}")
    for target, found in figures.items():
        counts = "".join(f"{found['fidelity'].get(str(one), 0):>17,}" for one in Fidelity)  # type: ignore[attr-defined]
        print(f"{target:20}{counts}{found['median_ms']:>12.2f}{found['max_ms']:>9.0f}")
    print()


def _print_losses(figures: dict[str, dict[str, object]]) -> None:
    print("tools that lose something, by what is lost")
    for target, found in figures.items():
        losses = found["losses"].items()  # type: ignore[attr-defined]
        print(f"{target:20}" + (", ".join(f"{what} {count:,}" for what, count in losses) or "nothing"))
    print()


if __name__ == "__main__":
    main()
