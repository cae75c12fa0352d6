"""Measure eligibility: the table over distinct rules against deciding tool by tool, in one run.

    .venv/bin/python bench/policy.py                     # 10,000 tools, 200 rules; 100,000 / 4,000; 1,000,000 / 10,000
    .venv/bin/python bench/policy.py 50000 1000

CPU time of one thread, median. *cold*: rights that were never asked before. *warm*: two callers in turn.
*changed halts*: the first request after the list of revocations changed. *one by one* is `decide_tool` on a
sample of at most 20,000 tools, scaled to all of them; both forms must agree on the sample, or the run fails.

Then the second layer: 10,000 tools of 200 access rules under 30 Cedar policies that tell each rule from the others.
*uncached* is a caller, with 40 scopes, of a kind that was not asked before, *cached* another caller of that kind; *a
call* is one decision over arguments.
"""

import platform
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from random import Random

import numpy as np

from pegboard.core.catalog import CatalogEntry, Reach, Risk, declare
from pegboard.core.context import RuntimeContext
from pegboard.core.lock import Lock, LockLine
from pegboard.core.policy import AccessTemplate, Policy, decide_tool
from pegboard.core.revocations import NO_REVOCATIONS, Revocations
from pegboard.core.snapshot import Snapshot
from pegboard.policy.cedar import Cedar
from pegboard.policy.table import RuleTable

SIZES = ((10_000, 200), (100_000, 4_000), (1_000_000, 10_000))
SCOPES = [f"area{number}.{verb}" for number in range(200) for verb in ("read", "write", "admin")]
ROLES = [f"role{number}" for number in range(40)]
STAGES = [f"stage{number}" for number in range(12)]
SERVERS = [f"server{number:03}" for number in range(100)]


def catalog(tools: int, rules: int, dice: Random) -> tuple[Snapshot, Policy]:
    """Make a catalog whose tools share *rules* access rules."""
    templates = {f"t{number:05}": template(dice) for number in range(rules)}
    seed = declare(tool_id="x", namespace="x", source_server="x", name="x", description="Does one thing.")
    entries = [entry(seed, number, number % rules) for number in range(tools)]
    lines = [
        LockLine(
            tool=each.tool_id,
            hash=each.schema_hash,
            access=f"t{number % rules:05}",
            risk=Risk.WRITE,
            reach=Reach.BOUNDED,
            by="bench",
            at="2026-01-01T00:00:00Z",
        )
        for number, each in enumerate(entries)
    ]
    # Already in order, and of no interest here: digests are not computed for a million rows.
    return Snapshot(number=1, entries=tuple(entries), digest="0" * 64), Policy(lock=Lock.of(lines), templates=templates)


def entry(seed: CatalogEntry, number: int, rule: int) -> CatalogEntry:
    server = SERVERS[rule % len(SERVERS)]
    return replace(seed, tool_id=f"{number:07}", namespace=f"{server}.n{rule % 7}", source_server=server)


def template(dice: Random) -> AccessTemplate:
    return AccessTemplate(
        required_scopes=frozenset(dice.sample(SCOPES, dice.randint(0, 3))),
        required_roles=frozenset(dice.sample(ROLES, dice.randint(0, 1))),
        required_flags=frozenset(),
        tenants=frozenset({"*"}) if dice.random() < 0.7 else frozenset(dice.sample(["acme", "globex", "initech"], 2)),
        environments=frozenset(dice.sample(["production", "staging", "development"], 2)),
        allowed_stages=frozenset({"*"}) if dice.random() < 0.5 else frozenset(dice.sample(STAGES, 4)),
        minimum_clearance=dice.randint(0, 3),
    )


def caller(dice: Random, number: int) -> RuntimeContext:
    return RuntimeContext(
        user=f"user{number}",
        tenant="acme",
        environment="production",
        stage=dice.choice(STAGES),
        scopes=frozenset(dice.sample(SCOPES, 300)),
        roles=frozenset(dice.sample(ROLES, 30)),
        servers=frozenset(dice.sample(SERVERS, 80)),
        clearance=3,
    )


def cpu_ms(run: Callable[[int], object], times: int) -> float:
    """Return the median CPU milliseconds of one run."""
    taken = []
    for number in range(times):
        before = time.process_time_ns()
        run(number)
        taken.append(time.process_time_ns() - before)
    return statistics.median(taken) / 1e6


def measure(tools: int, rules: int) -> None:
    dice = Random(7)
    snapshot, policy = catalog(tools, rules, dice)
    before = time.process_time()
    table = RuleTable.of(snapshot, policy)
    built = time.process_time() - before
    callers = [caller(dice, number) for number in range(200)]
    halts = [Revocations(targets=frozenset({f"server:{SERVERS[n]}", f"{n:07}", "namespace:x"})) for n in range(40)]

    table.eligible(callers[-1], NO_REVOCATIONS)
    cold = cpu_ms(lambda number: table.eligible(callers[number], NO_REVOCATIONS), 100)
    warm = cpu_ms(lambda number: table.eligible(callers[number % 2], NO_REVOCATIONS), 400)
    changed = cpu_ms(lambda number: table.eligible(callers[0], halts[number]), len(halts))

    sample = range(0, tools, max(1, tools // 20_000))
    chosen = [snapshot.entries[row] for row in sample]
    found = table.eligible(callers[0], halts[-1])
    wanted = np.array([decide_tool(each, policy, callers[0], halts[-1]).allowed for each in chosen])
    if not np.array_equal(found.mask[list(sample)], wanted):
        sys.exit("the table and the reference disagree")
    single = cpu_ms(lambda _: [decide_tool(each, policy, callers[0], halts[-1]) for each in chosen], 3)
    scaled = single * tools / len(chosen)
    eligible = table.eligible(callers[0], NO_REVOCATIONS).count / tools
    print(
        f"{tools:>9,} {len(table.rules):>7,} {eligible:>9.1%} {cold:>9.3f} {warm:>9.3f} {changed:>14.3f}"
        f" {scaled:>12.1f} {scaled / cold:>9,.0f}x {built:>8.2f} s"
    )


def cedar(policies: int) -> Cedar:
    """Write policies that read each tool's access template, so that every access rule is a kind of its own.

    Two of three permit by a scope and a part of the templates, one forbids.
    """
    texts = ['permit(principal, action == Pegboard::Action::"call", resource);']
    for number in range(policies - 1):
        effect, scope = ("permit", f"area{number}.read") if number % 3 else ("forbid", f"area{number}.none")
        texts.append(
            f'{effect}(principal, action == Pegboard::Action::"consider", resource)'
            f' when {{ principal.scopes.contains("{scope}") && resource.access like "t*{number % 10}" }};'
        )
    return Cedar.of({"bench.cedar": "\n".join(texts)})


def measure_cedar(tools: int, rules: int, policies: int) -> None:
    dice = Random(7)
    snapshot, policy = catalog(tools, rules, dice)
    open_to_all = AccessTemplate(**dict.fromkeys(("required_scopes", "required_roles", "required_flags"), frozenset()))
    layer = cedar(policies)
    policy = replace(policy, used=frozenset(), layer=layer, templates=dict.fromkeys(policy.templates, open_to_all))
    table = RuleTable.of(snapshot, policy)
    servers = frozenset(SERVERS)
    some = [caller(dice, number) for number in range(40)]
    # Of the 300 scopes that callers hold above; an organisation's tokens rarely carry more than this.
    callers = [replace(one, servers=servers, scopes=frozenset(dice.sample(sorted(one.scopes), 40))) for one in some]
    again = [replace(one, user=f"{one.user}-again") for one in callers]
    uncached = cpu_ms(lambda number: table.eligible(callers[number], NO_REVOCATIONS), len(callers))
    cached = cpu_ms(lambda number: table.eligible(again[number], NO_REVOCATIONS), len(again))
    one = next(iter(snapshot.entries))
    line = policy.lock.lines[one.tool_id]
    call = cpu_ms(lambda number: layer.call(one, line, callers[number % 40], {"n": number}), 200)
    assert table.considered is not None
    kinds, eligible = len(table.considered.kinds), table.eligible(callers[0], NO_REVOCATIONS).count / tools
    print(f"{tools:>9,} {kinds:>7,} {policies:>9} {eligible:>9.1%} {uncached:>9.1f} {cached:>9.3f} {call:>9.3f}")


def main() -> None:
    print(f"Python {platform.python_version()}, numpy {np.__version__}, {platform.machine()}; CPU ms a request")
    print("    tools   rules  eligible      cold      warm  changed halts   one by one  cold gains    build")
    given = [int(each) for each in sys.argv[1:3]]
    for tools, rules in [(given[0], given[1])] if len(given) == 2 else SIZES:
        measure(tools, rules)
    print(f"\ncedarpy {version('cedarpy')}\n    tools   kinds  policies  eligible  uncached    cached    a call")
    measure_cedar(10_000, 200, 30)


if __name__ == "__main__":
    main()
