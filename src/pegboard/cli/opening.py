"""Open what the configuration describes, and run the service's verbs to their end."""

import getpass
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import anyio

from pegboard.cli.command import config_path
from pegboard.core.errors import ConfigError

if TYPE_CHECKING:
    from pegboard.config.values import Config
    from pegboard.wiring import System

__all__ = ["opened", "operator_name", "run"]

_Result = TypeVar("_Result")


@contextmanager
def opened() -> Iterator[tuple["Config", "System"]]:
    """Read the configuration and open the system it describes, for one command.

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
    system = build(config)
    try:
        yield config, system
    finally:
        system.close()


def run(verb: Callable[[], Awaitable[_Result]]) -> _Result:
    """Run an asynchronous verb to its end."""
    return anyio.run(verb)


def operator_name() -> str:
    """Name the account under which this runs: what the lock and the store record as `by`."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        # An account without a name, as in many containers.
        return "operator"
