"""`pegboard policy`: check Cedar policies, test what policy decides, and see what log-only ones would have done."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pegboard.cli.command import Subcommands, as_json
from pegboard.cli.errors import DONE, NO
from pegboard.cli.opening import opened, run, without_policies
from pegboard.cli.printing import Cell, counted, note, print_json, say, table
from pegboard.cli.times import Moment, when
from pegboard.core.names import Json

if TYPE_CHECKING:
    from pegboard.engine.policy_tests import Tested
    from pegboard.policy.cedar_check import CheckReport

__all__ = ["policy"]


@click.group(cls=Subcommands)
def policy() -> None:
    """Cedar policies, beyond access templates.

    They stand in the files that `[policy] cedar` names.
    """


@policy.command()
def check() -> int:
    """Parse and type-check the policies, against the catalog's tools too.

    Also says which are not monotone: by which a caller who loses a right may get more. Ends with 1 where one cannot
    be used.
    """
    from pegboard.policy.layers import check_policies

    with opened(without_policies) as (config, system):
        if not config.policies:
            print_json(_NOTHING) if as_json() else note("there is no policy file: access templates decide alone")
            return DONE
        report = check_policies(config.policies, run(system.catalog.current).view.snapshot.entries)
    if as_json():
        print_json(report.to_json())
    else:
        _show_check(report)
    return NO if report.problems else DONE


@policy.command()
@click.argument("file", type=click.Path(dir_okay=False))
def test(file: str) -> int:
    """Run the tests of FILE: who may be shown or call what.

    FILE has `[[test]]` tables. Attributes and Cedar policies are asked, on the catalog and the lock of this moment;
    halts are not. Ends with 1 where a test fails.
    """
    from pegboard.config.policy_tests import read_tests
    from pegboard.engine.policy_tests import run_test

    with opened() as (config, system):
        tests = read_tests(Path(file), config)
        view = run(system.catalog.current).view
        found = [run_test(one, view.snapshot, view.policy) for one in tests]
    failed = [one for one in found if not one.passed]
    if as_json():
        print_json({"passed": not failed, "tests": [one.to_json() for one in found]})
        return NO if failed else DONE
    for one in failed:
        say(("failed", "bold red"), (one.test.name, "bold"), _failure(one))
    note(f"{len(found) - len(failed):,} of {counted(len(found), 'test')} passed")
    return NO if failed else DONE


@policy.command()
@click.option("--since", callback=when, metavar="WHEN", help="A date, a time, or how long ago: 24h, 7d.")
@click.option("--until", callback=when, metavar="WHEN", help="Likewise; what is later is left out.")
def report(since: Moment | None, until: Moment | None) -> int:
    """Say what log-only policies would have done, by the traces.

    Of selections, how often and how many of the caller's tools they would have taken away; of calls, how many they
    would have decided otherwise.
    """
    from pegboard.service.policy_report import policy_report
    from pegboard.service.traces import Wanted

    with opened() as (_, system):
        now = system.catalog.clock.now()
        wanted = Wanted(since=since(now) if since else 0.0, until=until(now) if until else None)
        total, found = run(lambda: policy_report(system.traces, wanted))
    if as_json():
        print_json({"traces": total, "policies": [{"policy": name, **one.to_json()} for name, one in found.items()]})
        return DONE
    if found:
        table(
            ("POLICY", "SELECTIONS", "TOOLS AT MOST", "CALLS", "LAST"),
            (
                (
                    (name, "bold"),
                    f"{one.selections:,}",
                    f"{one.tools:,}",
                    ", ".join(f"{count:,} {verdict}" for verdict, count in sorted(one.calls.items())),
                    (one.last or "", "dim"),
                )
                for name, one in found.items()
            ),
            right=("SELECTIONS", "TOOLS AT MOST"),
        )
    note(f"{counted(total, 'trace')}; {_policies(len(found), 'log-only ')} would have changed something")
    return DONE


_NOTHING: dict[str, Json] = {"ok": True, "policies": [], "problems": [], "notes": []}


def _show_check(report: "CheckReport") -> None:
    if report.policies:
        table(
            ("POLICY", "EFFECT", "ACTIONS", "", "FILE"),
            (
                ((one.id, "bold"), one.effect, " ".join(sorted(one.actions)), _watched(one.log_only), (one.file, "dim"))
                for one in report.policies
            ),
        )
    for found, word in ((report.problems, ("problem", "bold red")), (report.notes, ("note", "yellow"))):
        for one in found:
            say(word, (one.policy or one.file, "bold"), one.problem)
    note(f"{_policies(len(report.policies))}, {counted(len(report.problems), 'problem')}")


def _failure(one: "Tested") -> str:
    if one.problem is not None:
        return one.problem
    by = f"by {', '.join(one.reasons)}" if one.reasons else "since nothing permits it"
    if one.found is one.test.expect:
        return f"{one.found} {by}, not by {', '.join(sorted(one.test.by))}"
    return f"{one.found}, not {one.test.expect}, {by}"


def _policies(count: int, kind: str = "") -> str:
    return f"{count:,} {kind}{'policy' if count == 1 else 'policies'}"


def _watched(log_only: bool) -> Cell:
    return ("log only", "yellow") if log_only else ""
