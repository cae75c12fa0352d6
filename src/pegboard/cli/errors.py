"""What went wrong, for people and for machines: one value, and the exit status that SURFACE.md gives it.

An exit status says who must act: 1 nobody, the answer is no; 2 whoever typed or configured; 3 whoever runs what is
outside (a server, the disk). Nothing but `Failure` is ever printed of an error, so no traceback reaches a reader.
"""

import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass

import click

from pegboard.core.errors import (
    CatalogError,
    ConfigError,
    PegboardError,
    RetrievalError,
    StoreError,
    UpstreamError,
)
from pegboard.core.names import Json

__all__ = ["DONE", "INTERRUPTED", "NO", "OUTSIDE", "PIPE_CLOSED", "USAGE", "Failure", "ToldToEnd", "failure_of"]

DONE = 0
NO = 1
USAGE = 2
OUTSIDE = 3
# 128 + SIGINT and 128 + SIGPIPE, as a shell sees a command that died of them.
INTERRUPTED = 130
PIPE_CLOSED = 141

_STATUS: tuple[tuple[type[PegboardError], int], ...] = (
    (ConfigError, USAGE),
    (CatalogError, USAGE),
    (UpstreamError, OUTSIDE),
    (RetrievalError, OUTSIDE),
    (StoreError, OUTSIDE),
    (PegboardError, OUTSIDE),
)
_STANDS = "what was published before stands"
_REPORT = "this is a fault of Pegboard; run it again with PEGBOARD_DEBUG=1 and report what it shows"


class ToldToEnd(BaseException):
    """A signal told the process to end. Like KeyboardInterrupt no `Exception`, so that nothing takes it for a fault."""

    def __init__(self, end: signal.Signals) -> None:
        super().__init__(end)
        self.end = end

    def __str__(self) -> str:
        return f"ended by {self.end.name}; {_STANDS}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One error as it is shown: what, where, and what to do."""

    kind: str
    message: str
    where: str | None = None
    fix: str | None = None
    status: int

    def to_json(self) -> dict[str, Json]:
        """Return the document that `--json` prints in place of an answer."""
        shown: Mapping[str, Json] = {
            "kind": self.kind,
            "message": self.message,
            "where": self.where,
            "fix": self.fix,
        }
        return {"error": shown}


def failure_of(error: BaseException) -> Failure:
    """Describe whatever ended a command."""
    error = _innermost(error)
    if isinstance(error, PegboardError):
        status = next(status for kind, status in _STATUS if isinstance(error, kind))
        return Failure(kind=error.kind, message=str(error), where=error.where, fix=error.fix, status=status)
    if isinstance(error, click.ClickException):
        return _usage(error)
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return Failure(kind="interrupted", message=f"interrupted; {_STANDS}", status=INTERRUPTED)
    if isinstance(error, ToldToEnd):
        # As a shell sees a command that died of the signal.
        return Failure(kind="interrupted", message=str(error), status=128 + error.end)
    if isinstance(error, OSError):
        message = (error.strerror or str(error)).lower()
        return Failure(kind="system", message=message, where=_path(error), status=OUTSIDE)
    return Failure(kind="unexpected", message=f"{type(error).__name__}: {error}", fix=_REPORT, status=OUTSIDE)


def _usage(error: click.ClickException) -> Failure:
    context = error.ctx if isinstance(error, click.UsageError) else None
    command = None if context is None else context.command_path
    return Failure(
        kind="usage",
        message=" ".join(error.format_message().split()).rstrip("."),
        where=command,
        fix=None if command is None else f"`{command} --help` says how it is used",
        status=USAGE,
    )


def _path(error: OSError) -> str | None:
    return None if error.filename is None else os.fsdecode(error.filename)


def _innermost(error: BaseException) -> BaseException:
    """Return what a task group wrapped, where it wrapped one thing."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
