"""What every command has: `--config`, `--json`, help, and one way to end.

A command is a function that parses nothing itself, calls the service, prints, and returns an exit status. `Commands`
turns whatever it raises into one error on stderr, or into one JSON document on stdout where `--json` was asked for.
"""

import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NoReturn

import click
from click.shell_completion import shell_complete

from pegboard.cli.errors import DONE, PIPE_CLOSED, Failure, ToldToEnd, failure_of
from pegboard.cli.printing import note, print_json

__all__ = ["Command", "Commands", "Subcommands", "as_json", "config_path"]

_CONFIG = "pegboard.config"
_JSON = "pegboard.json"
_DEFAULT_CONFIG = "pegboard.toml"
_COMPLETE = "_PEGBOARD_COMPLETE"


def config_path() -> str:
    """Return the configuration file: as said with `--config`, else `PEGBOARD_CONFIG`, else pegboard.toml."""
    said = click.get_current_context().meta.get(_CONFIG)
    return said or os.environ.get("PEGBOARD_CONFIG") or _DEFAULT_CONFIG


def as_json() -> bool:
    """Say whether the answer is for a machine."""
    return bool(click.get_current_context().meta.get(_JSON))


def _keep(key: str) -> Any:
    def callback(context: click.Context, _: click.Parameter, value: Any) -> None:
        # Said nearer to the command, it overrides what was said before; unsaid, it leaves that alone.
        if value:
            context.meta[key] = value

    return callback


def _shared() -> list[click.Parameter]:
    return [
        click.Option(
            ["--config"],
            metavar="FILE",
            expose_value=False,
            callback=_keep(_CONFIG),
            help="The configuration file.  [default: PEGBOARD_CONFIG, or pegboard.toml]",
        ),
        click.Option(
            ["--json"],
            is_flag=True,
            expose_value=False,
            callback=_keep(_JSON),
            help="Print one JSON document to stdout and nothing else.",
        ),
    ]


class Command(click.Command):
    """One command with the options that all have."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.extend(_shared())


class Subcommands(click.Group):
    """A command that has commands of its own."""

    command_class = Command
    group_class = type

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.extend(_shared())


class Commands(Subcommands):
    """The `pegboard` command itself: it ends with an exit status, whatever happens."""

    def __init__(self, *args: Any, sections: Sequence[tuple[str, Sequence[click.Command]]] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._sections = sections
        for _, commands in sections:
            for command in commands:
                self.add_command(command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under their headings, in the order in which one meets them."""
        for heading, commands in self._sections:
            with formatter.section(heading):
                formatter.write_dl([(one.name or "", one.get_short_help_str(limit=80)) for one in commands])

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> NoReturn:
        """Run one command line and exit. Never returns, never shows a traceback unless PEGBOARD_DEBUG is set."""
        words = sys.argv[1:] if args is None else list(args)
        name = prog_name or "pegboard"
        _forgive_encodings()
        variable = complete_var or _COMPLETE
        if asked := os.environ.get(variable):
            sys.exit(shell_complete(self, {}, name, variable, asked))
        try:
            _refuse_unreadable(words)
            # A copy: the parser takes out of its list what it has read.
            with self.make_context(name, list(words), **extra) as context:
                found = self.invoke(context)
            sys.stdout.flush()
            status = found if isinstance(found, int) else DONE
        except click.exceptions.Exit as end:
            status = end.exit_code
        except BrokenPipeError:
            # Whoever read has had enough, `| head` for example.
            _let_go()
            status = PIPE_CLOSED
        except (Exception, KeyboardInterrupt, ToldToEnd, BaseExceptionGroup) as error:  # noqa: BLE001 - the edge of the process: every end is told
            status = _told(error, machine=_asks_for_json(words))
        sys.exit(status)


def _told(error: BaseException, *, machine: bool) -> int:
    """Tell of an error, once, and return the exit status."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError) and not machine:
        error.show()
        return error.exit_code
    if os.environ.get("PEGBOARD_DEBUG"):
        traceback.print_exception(error, file=sys.stderr)
    failure = failure_of(error)
    try:
        if machine:
            print_json(failure.to_json())
        else:
            _tell_people(failure)
    except OSError:
        # Where nobody can be told, the exit status still says it.
        _let_go()
    return failure.status


def _tell_people(failure: Failure) -> None:
    note(("error:", "bold red"), failure.message)
    if failure.where:
        note(("  where", "dim"), failure.where)
    if failure.fix:
        note(("  fix  ", "dim"), failure.fix)


def _refuse_unreadable(words: Sequence[str]) -> None:
    """Refuse a word that is no UTF-8: it comes with surrogates in it, which can be neither stored nor sent.

    Raises:
        UsageError: There is one.
    """
    for place, word in enumerate(words, 1):
        if not word.isascii() and any("\ud800" <= character <= "\udfff" for character in word):
            raise click.UsageError(f"argument {place}, {word!r}, is not UTF-8")


def _asks_for_json(words: Sequence[str]) -> bool:
    """Say whether `--json` is among the words; asked of the words, since parsing them may be what failed."""
    own = words[: words.index("--")] if "--" in words else words
    return "--json" in own


def _let_go() -> None:
    """Turn away from a stdout that takes nothing more: the interpreter flushes it when it ends, and would complain."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _forgive_encodings() -> None:
    """Let a terminal that lacks a character show a stand-in for it."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
