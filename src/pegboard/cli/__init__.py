"""The `pegboard` command: parse arguments, call one verb of the service, print, return an exit status.

Nothing is decided here. Start with `sections.py` for the commands, `command.py` for what every command has, and
`errors.py` for the exit statuses.
"""

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pegboard.cli.sections import SECTIONS, pegboard

__all__ = ["SECTIONS", "main", "pegboard"]


def main() -> None:
    """Run the command line of this process and exit with its status."""
    try:
        # Imported late: loading takes long enough for a Ctrl-C to fall into it, and nothing else would catch that.
        from pegboard.cli.sections import pegboard

        pegboard()
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted\n")
        # `errors.INTERRUPTED`, which may not have been loaded.
        sys.exit(130)


def __getattr__(name: str) -> Any:
    if name in {"SECTIONS", "pegboard"}:
        from pegboard.cli import sections

        return getattr(sections, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
