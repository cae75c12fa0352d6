"""How answers look: tables and lines for people, one JSON document for machines, progress on stderr.

Colour and line folding only on a terminal, so that what is piped is whole and plain. Text that a server or a caller
wrote is cleaned before a person sees it and is never read as markup; in JSON the characters that a terminal would
obey are written as escapes, which changes no value.
"""

import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Protocol, TypeAlias

import click

from pegboard.core.names import Json
from pegboard.core.text import clean, escaped, hidden

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

__all__ = [
    "Cell",
    "Steps",
    "counted",
    "facts",
    "json_text",
    "note",
    "print_json",
    "print_text",
    "progress",
    "safe",
    "say",
    "table",
    "visible",
]

# A text, or a text and the rich style it is shown in on a terminal.
Cell: TypeAlias = str | tuple[str, str]


class Steps(Protocol):
    """Progress of a long piece of work."""

    def done(self, what: str) -> None:
        """Say that one step is done, and which."""


def print_json(value: Json) -> None:
    """Print one JSON document to stdout, as UTF-8 whatever the locale says."""
    click.echo(json_text(value).encode())


def json_text(value: Json) -> str:
    """Write JSON on several lines in which no character acts on a terminal."""
    try:
        text = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)
    except ValueError:
        # A server's result may hold what JSON has no word for; the tool has run, so its answer is shown all the same.
        text = json.dumps(_finite(value), ensure_ascii=False, indent=2)
    return "".join(_escape(one) for one in text) if hidden(text) else text


def counted(count: int, noun: str) -> str:
    """Write a count with its noun in the right number."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def say(*parts: Cell) -> None:
    """Print one line to stdout."""
    _print_line(sys.stdout, parts)


def note(*parts: Cell) -> None:
    """Print one line to stderr: what accompanies an answer and is not part of it."""
    _print_line(sys.stderr, parts)


def print_text(text: str) -> None:
    """Print text of several lines to stdout, cleaned."""
    for line in safe(text).split("\n"):
        say(line)


def table(columns: Sequence[str], rows: Iterable[Sequence[Cell]], *, right: Iterable[str] = ()) -> None:
    """Print a table to stdout; the columns named in *right* hold numbers."""
    numbers = [column in set(right) for column in columns]
    if not sys.stdout.isatty():
        _print_columns([columns, *rows], numbers)
        return
    from rich.table import Table

    shown = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column, number in zip(columns, numbers, strict=True):
        shown.add_column(column, justify="right" if number else "left", overflow="fold")
    for row in rows:
        shown.add_row(*map(_styled, row))
    _console(sys.stdout).print(shown)


def facts(pairs: Iterable[tuple[str, Cell]]) -> None:
    """Print names and values to stdout, values below one another."""
    if not sys.stdout.isatty():
        _print_columns(list(pairs), [False, False])
        return
    from rich.table import Table

    shown = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    shown.add_column(style="dim", no_wrap=True)
    shown.add_column(overflow="fold")
    for name, value in pairs:
        shown.add_row(name, _styled(value))
    _console(sys.stdout).print(shown)


@contextmanager
def progress(what: str, total: int) -> Iterator[Steps]:
    """Show on stderr how far a long piece of work has come, where stderr is a terminal; else show nothing."""
    if not sys.stderr.isatty():
        yield _Silent()
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=_console(sys.stderr), transient=True) as bar:
        task = bar.add_task(what, total=total)

        class Shown:
            def done(self, one: str) -> None:
                bar.update(task, advance=1, description=safe(f"{what}: {one}"))

        yield Shown()


def safe(text: str) -> str:
    """Return text that shows on a terminal what it says: cleaned, and no line overwrites another."""
    return clean(text).replace("\r\n", "\n").replace("\r", "\n")


def visible(text: str) -> str:
    """Return the text with every character that cannot be seen written as its code point; line feeds stay."""
    return escaped(text).replace("\r", "\\u{000d}")


class _Silent:
    def done(self, what: str) -> None:
        """Show nothing."""


def _print_line(file: IO[str], parts: Sequence[Cell]) -> None:
    if file.isatty():
        from rich.text import Text

        _console(file).print(Text(" ").join(map(_styled, parts)), soft_wrap=True)
    else:
        click.echo(" ".join(map(_plain, parts)).rstrip(), file=file)


def _print_columns(rows: Sequence[Sequence[Cell]], numbers: Sequence[bool]) -> None:
    """Print rows whole, however wide, each column as wide as its widest cell."""
    cells = [[_plain(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        placed = (
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(row, widths, numbers, strict=True)
        )
        click.echo("  ".join(placed).rstrip())


def _console(file: IO[str]) -> "Console":
    """Return rich's console on a terminal; what is piped never sees it."""
    from rich.console import Console

    return Console(file=file, force_terminal=True, highlight=False, markup=False, emoji=False)


def _plain(cell: Cell) -> str:
    text = cell if isinstance(cell, str) else cell[0]
    return safe(text).replace("\n", " ")


def _styled(cell: Cell) -> "Text":
    from rich.text import Text

    return Text(_plain(cell), style="" if isinstance(cell, str) else cell[1])


def _finite(value: Json) -> Json:
    if isinstance(value, Mapping):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


_SHORT = 0x10000


def _escape(one: str) -> str:
    # Line feeds are our own: inside strings they are escapes already.
    if one == "\n" or not hidden(one):
        return one
    code = ord(one)
    if code < _SHORT:
        return f"\\u{code:04x}"
    high, low = divmod(code - _SHORT, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
