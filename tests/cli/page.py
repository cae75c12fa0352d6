"""The reference page of the command line, written from the commands themselves.

python -m tests.cli.page     writes docs/reference/cli.md anew
"""

from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path

import click

from pegboard.cli import SECTIONS, pegboard
from tests.cli.answers import ANSWERS, ERROR, Shape

__all__ = ["PAGE", "commands", "page"]

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"

_HEAD = """\
# Command line

`pegboard` is the operator's door: it runs under the operator's account and sees everything. This page is written from
the commands themselves (`python -m tests.cli.page`), and a test holds it to them.

Every command takes these options, before the command or after it:

| option | meaning |
|---|---|
| `--config FILE` | The configuration file; unsaid, the one that `PEGBOARD_CONFIG` names, else `pegboard.toml`. |
| `--json` | Print one JSON document to stdout and nothing else. |
| `-h`, `--help` | Say how the command is used. |

Answers go to stdout; what accompanies them, progress and errors go to stderr. Colour and progress are for terminals
alone. Tools are named by id; `namespace/name` is taken where only one tool answers to it. Texts of others are cleaned
of characters that act on a terminal.

## Exit status

| status | meaning |
|---|---|
| 0 | Done. `select` ends so whatever its outcome is. |
| 1 | No: a call refused or failed by its tool, a replay that differs, a check with findings, no halt to lift. |
| 2 | Wrong usage, configuration, lock or name. |
| 3 | The outside failed: a server though others were published, the store, a call whose outcome is unknown. |
| 130 | Interrupted. |
| 141 | The reader of a pipe had enough. |

`doctor` ends as the most basic trouble it found would: 2 before 3 before 1.

An error for people says what, where and how to fix it. With `--json` it is

```json
{error}
```

`PEGBOARD_DEBUG=1` shows the traceback of any error on stderr.
"""


def page() -> str:
    """Write the page."""
    return "\n".join([_HEAD.replace("{error}", _shape(ERROR)), *_body()])


def commands(group: click.Group = pegboard, path: str = "") -> Iterator[tuple[str, click.Command]]:
    """Yield every command with its path, groups included, each before what it holds."""
    for name, command in group.commands.items():
        full = f"{path} {name}".strip()
        yield full, command
        if isinstance(command, click.Group):
            yield from commands(command, full)


def _body() -> Iterator[str]:
    for heading, members in SECTIONS:
        yield f"## {heading}\n"
        for member in members:
            yield from _command(member.name or "", member)
            if isinstance(member, click.Group):
                for path, command in commands(member, member.name or ""):
                    yield from _command(path, command)


def _command(path: str, command: click.Command) -> Iterator[str]:
    context = click.Context(command, info_name=f"pegboard {path}")
    yield f"### `pegboard {path}`\n"
    pieces = [piece for piece in command.collect_usage_pieces(context) if piece != "[OPTIONS]"]
    own = [one for one in command.params if isinstance(one, click.Option) and one.expose_value]
    usage = " ".join([f"pegboard {path}", *(["[OPTIONS]"] if own else []), *pieces])
    yield f"```\n{usage}\n```\n"
    yield f"{cleandoc(command.help or '')}\n"
    if own:
        yield "| option | meaning |\n|---|---|"
        yield from (_option(one, context) for one in own)
        yield ""
    if ANSWERS.get(path):
        yield f"With `--json`:\n\n```json\n{_shape(ANSWERS[path])}\n```\n"


def _option(option: click.Option, context: click.Context) -> str:
    record = option.get_help_record(context)
    assert record is not None, f"{option.name} has no help"
    names, meaning = record
    return f"| `{names.replace('|', chr(92) + '|')}` | {meaning} |"


def _shape(shape: Shape) -> str:
    return "{" + ", ".join(map(_member, shape.items())) + "}"


def _member(item: tuple[str, Shape | None]) -> str:
    key, below = item
    name = f'"{key.removesuffix("[]")}"'
    if below is None:
        return name
    return f"{name}: [{_shape(below)}]" if key.endswith("[]") else f"{name}: {_shape(below)}"


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page())
