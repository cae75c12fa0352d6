"""Every command of the command line, under the headings of `pegboard --help`."""

import click

from pegboard.cli.approvals import approvals
from pegboard.cli.audit import audit
from pegboard.cli.calibrating import calibrate
from pegboard.cli.calling import call
from pegboard.cli.calls import calls
from pegboard.cli.catalog import catalog as catalog_commands
from pegboard.cli.command import Commands
from pegboard.cli.evaluating import evaluate
from pegboard.cli.halting import halt, resume
from pegboard.cli.health import doctor
from pegboard.cli.keys import keys as key_commands
from pegboard.cli.labelling import fixtures
from pegboard.cli.lock import lock as lock_commands
from pegboard.cli.policies import policy
from pegboard.cli.refreshing import refresh
from pegboard.cli.releasing import rollout, shadow
from pegboard.cli.replaying import replay
from pegboard.cli.review import classify
from pegboard.cli.review import review as review_commands
from pegboard.cli.selecting import explain, select
from pegboard.cli.serving import serve
from pegboard.cli.setup import init
from pegboard.cli.touring import demo
from pegboard.cli.tracing import traces

__all__ = ["SECTIONS", "pegboard"]

# The commands in the order in which one meets them, under the headings of `--help`.
SECTIONS: tuple[tuple[str, tuple[click.Command, ...]], ...] = (
    ("Begin", (demo, init, doctor)),
    ("Catalog and lock", (refresh, classify, review_commands, lock_commands, catalog_commands)),
    ("Select and call", (select, explain, call, approvals, policy)),
    ("Serve", (serve,)),
    ("Who may ask", (key_commands,)),
    ("What happened", (traces, replay, calls, audit)),
    ("Quality", (evaluate, fixtures, calibrate)),
    ("Release", (shadow, rollout)),
    ("Emergency", (halt, resume)),
)


@click.group(
    cls=Commands, sections=SECTIONS, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(package_name="pegboard", prog_name="pegboard")
def pegboard() -> None:
    """Show an AI agent the few tools that fit, of those its caller may use, and judge every call.

    Begin with `pegboard demo`, or with `pegboard init` beside your own .mcp.json.
    """
