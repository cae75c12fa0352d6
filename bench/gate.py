"""Measure the gate: CPU of a pure verdict, valid and invalid, against `jsonschema` alone in one run; the ledger apart.

    .venv/bin/python bench/gate.py [FOLDER]       # FOLDER: a folder on the disk whose durability is to be paid for

CPU time of one thread in microseconds, best of nine runs of 500 calls: on a busy machine only the best can be compared.
A verdict is everything: revocations, resolving among 1,000 tools, eligibility, bounds, schema, digest, flow, repeat,
limits, approval. `jsonschema` only validates. The ledger's rows are one caller's calls on SQLite (`FULL`), with what a
thread of the pool costs; *x* is how many verdicts that is.
"""

import asyncio
import json
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import jsonschema_rs

from pegboard.adapters.sqlite import SqliteStore
from pegboard.core.catalog import Reach, Risk, declare
from pegboard.core.context import RuntimeContext
from pegboard.core.lock import Lock, LockLine
from pegboard.core.policy import AccessTemplate, Policy, Reason
from pegboard.core.revocations import Revocations
from pegboard.core.snapshot import Snapshot
from pegboard.engine.facts import GateFacts
from pegboard.engine.gate import examine, judge
from pegboard.engine.judged import Judged
from pegboard.engine.ledger import Ended, Line
from pegboard.engine.limits import EMPTY_STANDING, Limits
from pegboard.engine.verdict import ProposedCall

CALLS, RUNS, WRITES = 500, 9, 200
TEXT: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": 200}
MONEY = {"type": "object", "properties": {"amount": {"type": "integer", "minimum": 1}, "currency": {"enum": ["EUR"]}}}
# Each: a schema, arguments that keep to it, and arguments that do not.
SHAPES: dict[str, tuple[dict[str, Any], Any, Any]] = {
    "small": (
        {"type": "object", "properties": {"id": TEXT}, "required": ["id"], "additionalProperties": False},
        {"id": "o-1"},
        {},
    ),
    "usual": (
        {
            "type": "object",
            "properties": {
                "customer_id": {"type": "string", "pattern": "^C-[0-9]{3}$"},
                "status": {"type": "string", "enum": ["open", "held", "packed"]},
                "limit": {"type": "integer", "minimum": 1, "maximum": 100},
                "since": {"type": "string", "format": "date"},
                "tags": {"type": "array", "items": TEXT, "maxItems": 20},
                "total": MONEY,
            },
            "required": ["customer_id", "status"],
            "additionalProperties": False,
        },
        {"customer_id": "C-101", "status": "open", "limit": 20, "tags": ["a", "b"], "total": {"amount": 1}},
        {"customer_id": "C-1", "status": "lost", "limit": 0},
    ),
    "large": (
        {"type": "object", "properties": {"rows": {"type": "array", "items": {
            "type": "object", "properties": {f"f{n}": TEXT for n in range(10)}, "required": ["f0"]}}}},
        {"rows": [{f"f{n}": "value" for n in range(10)} for _ in range(20)]},
        {"rows": [{"f1": 7} for _ in range(20)]},
    ),
}  # fmt: skip
CALLER = RuntimeContext(user="sam", scopes=frozenset({"s"}), servers=frozenset({"crm"}), environment="production")


def gate_facts(schema: dict[str, Any]) -> GateFacts:
    """Make 1,000 tools of one schema, all locked and eligible, eight of them selected."""
    entries = [
        declare(tool_id=f"crm.t{n:04}", namespace="crm", source_server="crm", name=f"t{n:04}", input_schema=schema)
        for n in range(1_000)
    ]
    lines = [
        LockLine(
            tool=one.tool_id, hash=one.schema_hash, access="a", risk=Risk.WRITE, reach=Reach.BOUNDED, by="b", at="c"
        )
        for one in entries
    ]
    rules = Policy(
        lock=Lock.of(lines),
        templates={"a": AccessTemplate(required_scopes=frozenset({"s"}))},
        used=frozenset({Reason.SCOPE}),
    )
    return GateFacts(
        context=CALLER,
        snapshot=Snapshot.of(1, entries),
        policy=rules,
        revocations=Revocations(as_of=1_000.0),
        now=1_000.0,
        selected={one.name: (one.tool_id, one.schema_hash) for one in entries[:8]},
        limits=Limits(calls_per_minute=100, calls_per_day=1_000, spend_per_day=10.0),
    )


def cpu_us(work: Callable[[], object]) -> float:
    """Return the CPU microseconds of one call, the best of several runs."""
    best = float("inf")
    for _ in range(RUNS):
        before = time.process_time_ns()
        for _ in range(CALLS):
            work()
        best = min(best, (time.process_time_ns() - before) / CALLS / 1e3)
    return best


def verdicts() -> float:
    """Print the verdicts beside plain validation, and return the CPU of a usual one."""
    print(f"{'schema':<8}{'arguments':<11}{'verdict':>9}{'jsonschema':>12}{'jsonschema-rs':>15}{'verdict is':>12}")
    usual = 0.0
    for name, (schema, valid, invalid) in SHAPES.items():
        facts = gate_facts(schema)
        plain, fast = jsonschema.Draft202012Validator(schema), jsonschema_rs.validator_for(schema)
        for kind, arguments in (("valid", valid), ("invalid", invalid)):
            call = ProposedCall(tool="t0003", arguments=arguments)
            if judge(call, facts, EMPTY_STANDING).allowed is not (kind == "valid"):
                sys.exit(f"{name}: the gate and the example disagree")
            ours = cpu_us(lambda call=call, facts=facts: judge(call, facts, EMPTY_STANDING))
            theirs = cpu_us(lambda plain=plain, arguments=arguments: list(plain.iter_errors(arguments)))
            rust = cpu_us(lambda fast=fast, arguments=arguments: list(fast.iter_errors(arguments)))
            usual = ours if (name, kind) == ("usual", "valid") else usual
            print(f"{name:<8}{kind:<11}{ours:>9.1f}{theirs:>12.1f}{rust:>15.1f}{ours / theirs:>11.2f}x")
    return usual


async def ledger(folder: Path, verdict: float) -> None:
    """Print what the ledger costs a call: CPU, and the wall, which waits for the disk."""
    store = SqliteStore.open(folder / "bench.db")
    judged = examine(ProposedCall(tool="t0003", arguments={"id": "o-1"}), gate_facts(SHAPES["small"][0]))
    assert isinstance(judged, Judged)

    def line(number: int) -> Line:
        return Line(
            call_id=f"call_{number}", trace_id="tr", identity=CALLER.identity, principal=CALLER.principal,
            at=1_000.0 + number, tool_id=judged.line.tool, schema_hash=judged.entry.schema_hash,
            arguments=f"sha256:{number}", risk=Risk.WRITE,
        )  # fmt: skip

    spent = dict.fromkeys(("standing", "open", "close"), (0.0, 0.0))
    for number in range(WRITES):
        for part in spent:
            began, wall = time.process_time(), time.perf_counter()
            if part == "standing":
                after = (await store.ledger.standing(judged.question)).sequence
            elif part == "open":
                assert await store.ledger.open(line(number), b"{}", after=after)
            else:
                await store.ledger.close(f"call_{number}", 2_000.0, Ended.DONE)
            cpu, waited = spent[part]
            spent[part] = (cpu + time.process_time() - began, waited + time.perf_counter() - wall)
    store.close()
    print(f"\n{'ledger':<10}{'CPU us':>8}{'x':>7}{'wall us':>10}")
    for part, (cpu, waited) in spent.items():
        each = cpu / WRITES * 1e6
        print(f"{part:<10}{each:>8.0f}{each / verdict:>6.1f}x{waited / WRITES * 1e6:>10.0f}")


def main() -> None:
    print(f"Python {platform.python_version()}, {platform.machine()}; CPU us a call, best of {RUNS} x {CALLS}")
    verdict = verdicts()
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as folder:
        asyncio.run(ledger(Path(folder), verdict))
    print(json.dumps({"usual_valid_us": round(verdict, 1), "goal_us": 50}))


if __name__ == "__main__":
    main()
