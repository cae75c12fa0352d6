"""`pegboard demo`: the guided run on our demo company."""

import click

from pegboard.cli.command import Command, as_json
from pegboard.cli.errors import DONE

__all__ = ["demo"]


@click.command(cls=Command)
def demo() -> int:
    """Take the guided tour of a demo company; nothing to configure.

    Its files are in the folder pegboard-demo, which it writes, and writes anew when it is run again; a configuration
    or tasks that you have edited there stop it.
    """
    if as_json():
        raise click.UsageError("the tour is for people to read: there is no --json of it", click.get_current_context())
    from pegboard.demo.tour import main

    return main() or DONE
