"""`pegboard demo`: the guided run on our demo company."""

import click

from pegboard.cli.command import Command
from pegboard.cli.errors import DONE

__all__ = ["demo"]


@click.command(cls=Command)
def demo() -> int:
    """Take the guided tour of a demo company; nothing to configure."""
    from pegboard.demo.tour import main

    return main() or DONE
