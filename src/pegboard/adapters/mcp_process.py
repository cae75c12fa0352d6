"""The process of a tool server: how it begins and how it ends.

It gets an allowlist of our environment plus what is configured, its own process group, and an end in every case: end
of input, a grace to exit, SIGTERM to the group, a grace, SIGKILL. The group is ended also where its leader has exited
by itself, since what that started may still run. A descendant that leaves the group escapes. POSIX only.

Source: MCP 2026-07-28, shutdown (stdio).
"""

import os
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress

import anyio
from anyio.abc import Process
from mcp.os.posix.utilities import terminate_posix_process_tree

from pegboard.adapters.mcp_wire import LostError

__all__ = [
    "EXIT_GRACE_S",
    "INHERITED",
    "child_environment",
    "end_process",
    "exited",
    "kill_group",
    "start_process",
]

# What a command needs to be found and to run in the caller's language and place. No credential lives in these;
# proxies are left out because theirs do.
INHERITED = (
    "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER",
)  # fmt: skip

EXIT_GRACE_S = 2.0  # to exit by itself after end of input; five of 63 real servers never do
_CLOSE_S = 0.1  # for what was already written to flush
_TERM_GRACE_S = 2.0  # to clean up after SIGTERM
_REAP_S = 2.0  # for the death to be seen; only an unkillable process takes longer
_GONE_S = 0.2  # for killed descendants; one that is dead but not yet reaped by init still counts as there
_POLL_S = 0.01


def child_environment(ours: Mapping[str, str], configured: Mapping[str, str]) -> dict[str, str]:
    """Build a child's environment: the allowlist out of *ours*, and over it what is configured.

    An exported shell function (a value that starts with `()`) is code and stays behind.
    """
    kept = {name: ours[name] for name in INHERITED if name in ours and not ours[name].startswith("()")}
    return {**kept, **configured}


async def start_process(command: tuple[str, ...], cwd: str | None, environment: Mapping[str, str]) -> Process:
    """Start a command with pipes, in a group of its own.

    Raises:
        LostError: It cannot be started.
    """
    try:
        return await anyio.open_process(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=environment,
            start_new_session=True,
        )
    except FileNotFoundError as error:
        missing = f"its folder {cwd!r}" if cwd is not None and error.filename == cwd else f"its command {command[0]!r}"
        raise LostError(f"{missing} is not there", sent=False) from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise LostError(f"its command {command[0]!r} cannot be started: {reason}", sent=False) from error


async def end_process(process: Process, grace_s: float) -> None:
    """End a process and its group, with *grace_s* to exit by itself after the end of its input."""
    assert process.stdin is not None
    with anyio.move_on_after(_CLOSE_S), suppress(OSError, anyio.BrokenResourceError):
        await process.stdin.aclose()
    await exited(process, grace_s)
    await terminate_posix_process_tree(process, _TERM_GRACE_S)
    with anyio.move_on_after(_REAP_S):
        await process.aclose()
    with anyio.move_on_after(_GONE_S):
        while _group_lives(process.pid):
            await anyio.sleep(_POLL_S)


async def exited(process: Process, limit_s: float) -> None:
    """Wait for a process to exit, at most so long."""
    # Polled: waiting for the process also waits for its pipes, which a grandchild may hold open.
    with anyio.move_on_after(limit_s):
        while process.returncode is None:
            await anyio.sleep(_POLL_S)


def kill_group(process: Process) -> None:
    """Kill whatever is left of a process's group, without waiting."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except OSError as error:
        return not isinstance(error, ProcessLookupError)
    return True
