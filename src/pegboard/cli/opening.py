"""Open what the configuration describes, and run the service's verbs to their end."""

import asyncio
import getpass
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import anyio
import click

from pegboard.cli.command import config_path
from pegboard.cli.errors import ToldToEnd
from pegboard.core.errors import ConfigError

if TYPE_CHECKING:
    from pegboard.config.values import Config
    from pegboard.wiring import System

__all__ = ["opened", "operator_name", "run", "without_policies"]

_Result = TypeVar("_Result")

# The system that this command has open.
_OPEN: ContextVar["System | None"] = ContextVar("open", default=None)

# How a service manager and a closed terminal tell a process to end; the second is not on every system.
_ENDS = {signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}


@contextmanager
def opened(
    change: Callable[["Config"], "Config"] = lambda config: config,
) -> Iterator[tuple["Config", "System"]]:
    """Read the configuration and open the system it describes, for one command.

    *change* is for what a command has other than the deployment.

    Raises:
        ConfigError: The file cannot be read, or a setting in it is wrong.
        StoreError: The store cannot be opened.
    """
    # Imported late: the ranking's and the protocol's libraries take far longer to load than `--help` takes to print.
    from pegboard.wiring import build, read_config

    path = Path(config_path())
    if not path.exists():
        raise ConfigError(
            problem="there is no such configuration",
            where=str(path),
            fix="`pegboard init` writes one, and --config names another",
        )
    config = read_config(path)
    system = build(change(config), _encoding)
    told = _OPEN.set(system)
    try:
        yield config, system
    finally:
        _OPEN.reset(told)
        system.close()


def without_policies(config: "Config") -> "Config":
    """Leave the Cedar policies out of what is opened: a command that decides nothing must not fail where they do."""
    return replace(config, policies={})


def run(verb: Callable[[], Awaitable[_Result]]) -> _Result:
    """Run an asynchronous verb to its end, or until the process is told to end: sessions are closed in either case.

    Raises:
        KeyboardInterrupt: Ctrl-C ended it.
        ToldToEnd: SIGTERM or SIGHUP did.
    """
    return anyio.run(_until_told, verb)


async def _until_told(verb: Callable[[], Awaitable[_Result]]) -> _Result:
    with anyio.CancelScope() as scope, _listening(scope) as told:
        try:
            # A verb that comes to its end all the same has its answer shown, as after Ctrl-C.
            return await verb()
        finally:
            await _written()
    raise ToldToEnd(told[0])


async def _written() -> None:
    """Write what the open system writes behind, told to end or not: the loop of this verb ends here."""
    system = _OPEN.get()
    if system is not None:
        with anyio.CancelScope(shield=True):
            await system.flush()


@contextmanager
def _listening(scope: anyio.CancelScope) -> Iterator[list[signal.Signals]]:
    """Cancel *scope* on a signal that would else end the process at once, and leave its children running."""
    told: list[signal.Signals] = []

    def heard(end: signal.Signals) -> None:
        told.append(end)
        scope.cancel()

    loop = asyncio.get_running_loop()
    # What is ignored (`nohup`), or handled by a program around us, stays so.
    ours = [end for end in _ENDS if signal.getsignal(end) is signal.SIG_DFL]
    # A system without such handlers, and a thread that is not the main one, go on as if nobody listened.
    with suppress(NotImplementedError, RuntimeError):
        for end in ours:
            loop.add_signal_handler(end, heard, end)
    try:
        yield told
    finally:
        with suppress(NotImplementedError):
            for end in ours:
                loop.remove_signal_handler(end)


def _encoding(channel: str, done: int, total: int) -> None:
    """Say on a terminal how far the encoding of new tools is: with the encoder a thousand take half a minute."""
    if sys.stderr.isatty():
        click.echo(f"\rencoding new tools ({channel}): {done:,} of {total:,} ", nl=done == total, err=True)


def operator_name() -> str:
    """Name the account under which this runs: what the lock and the store record as `by`."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        # An account without a name, as in many containers.
        return "operator"
