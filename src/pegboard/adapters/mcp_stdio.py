"""A tool server as a child process: one JSON-RPC message a line on its stdin and stdout.

The SDK's own stdio transport reads lines without a bound and keeps no stderr, so the bytes are moved here. A server
may write what it likes: lines that are no JSON, JSON that is no JSON-RPC and answers to nobody are dropped, up to a
bound; stderr is drained and its end kept for the error message. How the process begins and ends is in `mcp_process`.

Source: MCP 2026-07-28, transports (stdio).
"""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
from anyio.abc import ByteReceiveStream, Process
from mcp.shared.dispatcher import as_request_id, coerce_request_id

from pegboard.adapters.mcp_bell import Bell
from pegboard.adapters.mcp_inputs import Inputs
from pegboard.adapters.mcp_messages import Lines, answer_for, outcome, read_message
from pegboard.adapters.mcp_process import EXIT_GRACE_S, end_process, exited, kill_group, start_process
from pegboard.adapters.mcp_wire import NEVER_CANCELLED, NOISE_BYTES, TEXT_SHOWN, Attempt, LossKind, LostError
from pegboard.core.text import one_line

__all__ = ["StdioChannel", "open_child"]

_WATCH_S = 0.1
_LAST_WORDS_S = 0.5  # for exit status and stderr to arrive after stdout ended
_CHUNK = 65_536
_STDERR_KEPT = 8_192
_OUTBOX = 64  # messages waiting to be written; a server that reads nothing gets no more answers to its pings


@asynccontextmanager
async def open_child(
    command: tuple[str, ...], cwd: str | None, environment: Mapping[str, str], line_bytes: int, inputs: Inputs
) -> AsyncIterator["StdioChannel"]:
    """Start a server and end it, with all of its process group, at exit.

    Raises (on entering):
        LostError: It cannot be started.
    """
    process = await start_process(command, cwd, environment)
    # INVARIANT: no await between the start and this try, so a cancelled task leaves no child behind.
    try:
        channel = StdioChannel(process, line_bytes, inputs)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(channel.read_stdout)
            tasks.start_soon(channel.read_stderr)
            tasks.start_soon(channel.write_stdin)
            tasks.start_soon(channel.watch)
            try:
                yield channel
            finally:
                with anyio.CancelScope(shield=True):
                    await channel.end()
                tasks.cancel_scope.cancel()
    finally:
        # A second native cancellation can cut `end` short; this last step does not wait for anything.
        if not channel.ended:
            kill_group(process)
        channel.close()


class StdioChannel:
    """Moves messages to a running child and back; requests may overlap."""

    def __init__(self, process: Process, line_bytes: int, inputs: Inputs) -> None:
        self.ended = False
        """Whether the process and its group have been ended."""
        self._bell = Bell()
        self._process = process
        self._line_bytes = line_bytes
        self._inputs = inputs
        self._waiting: dict[int | str, _Slot] = {}
        self._given_up = False
        """Whether a call was not waited for to its end: a question may be about it from then on, and nobody's."""
        self._outbox, self._to_write = anyio.create_memory_object_stream[bytes](_OUTBOX)
        self._broken: LostError | None = None
        self._over = anyio.Event()
        self._noise = 0
        self._stderr = b""
        self._stderr_ended = anyio.Event()
        self._closing = anyio.Event()

    @property
    def bell(self) -> Bell:
        """Return the bell that rings when the server says that its list changed."""
        return self._bell

    @property
    def standing(self) -> bool:
        """Say whether the child runs, has broken no bound, and can still be told whose its questions are."""
        unclear = self._given_up and bool(self._inputs.kinds)
        return self._broken is None and self._process.returncode is None and not unclear

    @property
    def kept_by_server(self) -> bool:
        """Say that the session is the child itself, which is watched here."""
        return False

    async def exchange(self, request: dict[str, Any], headers: Mapping[str, str], attempt: Attempt) -> object:
        """Write a request and wait for the line that answers it; *headers* do not exist here."""
        if self._broken is not None:
            raise LostError(self._broken.problem, sent=False, kind=self._broken.kind)
        if self._process.returncode is not None:
            raise LostError(await self._obituary(), sent=False)
        line = _line(request)
        slot = self._waiting[request["id"]] = _Slot(calls=request["method"] == "tools/call")
        self._noise = 0
        try:
            attempt.sent = True
            await self._outbox.send(line)
            while slot.content is None:
                for question in await slot.questions():
                    if reply := await self._inputs.reply(question, attempt):
                        await self._outbox.send(_line(reply))
        except anyio.get_cancelled_exc_class():
            self._given_up |= slot.calls
            if request["method"] not in NEVER_CANCELLED:
                self._post({"method": "notifications/cancelled", "params": {"requestId": request["id"]}})
            raise
        finally:
            self._waiting.pop(request["id"], None)
        if isinstance(slot.content, LostError):
            raise slot.content
        return outcome(slot.content)

    async def tell(self, notification: dict[str, Any], headers: Mapping[str, str]) -> None:
        """Write a notification, unless the child is gone."""
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self._outbox.send(_line(notification))

    async def listen(self) -> None:
        """Wait for the child's end: what it says unasked is on its stdout, which is read in any case."""
        await self._over.wait()
        assert self._broken is not None  # `_over` is set with it
        raise self._broken

    def last_words(self) -> str:
        """Quote the last line on stderr that is not blank."""
        lines = [line for line in self._stderr.decode("utf-8", "replace").splitlines() if line.strip()]
        return f"; its last line on stderr: {one_line(lines[-1], TEXT_SHOWN)!r}" if lines else ""

    async def read_stdout(self) -> None:
        """Take lines until stdout ends or breaks a bound; afterwards read on only while the child is being ended."""
        stdout = _pipe(self._process.stdout)
        lines = Lines(self._line_bytes)
        try:
            while (chunk := await _receive(stdout)) is not None:
                for line in lines.feed(chunk):
                    self._take(line)
        except LostError as lost:
            self._break(lost)
            # Not read on: a flood waits in its pipe, not in our processor, until the session is left.
            await self._closing.wait()
            while await _receive(stdout) is not None:
                pass
        else:
            self._break(LostError(await self._obituary(), sent=True))

    async def read_stderr(self) -> None:
        """Drain stderr and keep its end."""
        stderr = _pipe(self._process.stderr)
        while (chunk := await _receive(stderr)) is not None:
            self._stderr = (self._stderr + chunk)[-_STDERR_KEPT:]
        self._stderr_ended.set()

    async def write_stdin(self) -> None:
        """Write queued messages whole, one at a time. What cannot be written shows as the end of stdout."""
        assert self._process.stdin is not None
        with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            async for line in self._to_write:
                await self._process.stdin.send(line)

    async def watch(self) -> None:
        """Notice an exit that stdout does not show, because something the child started holds it open."""
        while self._process.returncode is None:
            await anyio.sleep(_WATCH_S)
        await anyio.sleep(_LAST_WORDS_S)  # for what it wrote before
        self._break(LostError(await self._obituary(), sent=True))
        # What it started ends now, and not when the session is left: by then the group's number may be another's.
        await end_process(self._process, 0)
        self.ended = True

    async def end(self) -> None:
        """End the child and its group; one that broke a bound gets no grace to exit by itself."""
        self._closing.set()
        if self.ended:
            return
        well = self._broken is None or self._broken.kind is LossKind.NO_ANSWER
        await end_process(self._process, EXIT_GRACE_S if well else 0)
        self.ended = True

    def close(self) -> None:
        """Give back what the channel holds in this process."""
        self._outbox.close()
        self._to_write.close()

    def _take(self, line: bytes) -> None:
        try:
            message = read_message(line)
        except RecursionError:
            raise LostError("a message is nested too deeply", sent=True, kind=LossKind.GARBLED) from None
        slot = None
        if message is not None and "method" not in message and ("result" in message or "error" in message):
            number = as_request_id(message.get("id"))
            slot = self._waiting.pop(coerce_request_id(number), None) if number is not None else None
        if message is not None and slot is not None:
            slot.fill(message)
            self._noise = 0
            return
        self._noise += len(line) + 1
        if self._noise > NOISE_BYTES:
            problem = f"more than {NOISE_BYTES:,} bytes on stdout answer nothing"
            raise LostError(problem, sent=True, kind=LossKind.TOO_BIG)
        if message is None or self._bell.hear(message):
            return
        if self._inputs.takes(message) and (call := self._only_call()) is not None:
            call.ask(message)
        elif reply := answer_for(message):
            self._post(reply)

    def _only_call(self) -> "_Slot | None":
        """Return the call that runs, None where several may: over stdio a question does not say whose it is."""
        calls = [slot for slot in self._waiting.values() if slot.calls]
        return calls[0] if len(calls) == 1 and not self._given_up else None

    def _post(self, message: dict[str, Any]) -> None:
        with suppress(anyio.WouldBlock, anyio.BrokenResourceError, anyio.ClosedResourceError):
            self._outbox.send_nowait(_line({"jsonrpc": "2.0", **message}))

    def _break(self, lost: LostError) -> None:
        self._broken = self._broken or lost
        self._over.set()
        waiting, self._waiting = self._waiting, {}
        for slot in waiting.values():
            slot.fill(lost)

    async def _obituary(self) -> str:
        await exited(self._process, _LAST_WORDS_S)
        with anyio.move_on_after(_LAST_WORDS_S):
            await self._stderr_ended.wait()
        status = self._process.returncode
        if status is None:
            return f"it closed its stdout{self.last_words()}"
        if status < 0:
            return f"it was ended by signal {-status}{self.last_words()}"
        return f"it exited with status {status}{self.last_words()}"


class _Slot:
    """Where one request's answer is put, and what the server asks before it."""

    def __init__(self, *, calls: bool) -> None:
        self.calls = calls
        self.content: dict[str, Any] | LostError | None = None
        self._moved = anyio.Event()
        self._asked: list[dict[str, Any]] = []

    def fill(self, content: dict[str, Any] | LostError) -> None:
        self.content = content
        self._moved.set()

    def ask(self, question: dict[str, Any]) -> None:
        self._asked.append(question)
        self._moved.set()

    async def questions(self) -> list[dict[str, Any]]:
        """Wait until there is an answer or something is asked, and return what is asked."""
        await self._moved.wait()
        self._moved, self._asked, found = anyio.Event(), [], self._asked
        return found


async def _receive(stream: ByteReceiveStream) -> bytes | None:
    try:
        return await stream.receive(_CHUNK)
    except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        return None


def _pipe(stream: ByteReceiveStream | None) -> ByteReceiveStream:
    assert stream is not None  # `start_process` asks for each pipe
    return stream


def _line(message: Mapping[str, Any]) -> bytes:
    # All ASCII, since U+2028 is the end of a line to some readers.
    return json.dumps(message, separators=(",", ":"), allow_nan=False).encode("ascii") + b"\n"
