"""JSON-RPC messages as bytes: cut from a stream, read leniently, and what is answered to those that ask something.

Source: JSON-RPC 2.0; MCP 2026-07-28, basic protocol; WHATWG HTML, server-sent events.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from mcp import MCPError
from mcp.shared.dispatcher import as_request_id
from mcp.types import METHOD_NOT_FOUND

from pegboard.adapters.mcp_wire import TEXT_SHOWN, LossKind, LostError
from pegboard.core.text import one_line

__all__ = ["EventData", "Lines", "answer_for", "outcome", "read_message"]

# Python refuses to convert longer ones (CVE-2020-10735); as infinities they cost one tool, not the page.
_INTEGER_DIGITS = 4000


class Lines:
    """Cuts a stream of bytes into lines, holding at most *limit* bytes of an unfinished one."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the lines that this chunk completes, without their ends.

        Raises:
            LostError: A line passes the limit. What came before it has been yielded.
        """
        *whole, rest = chunk.split(b"\n")
        for piece in whole:
            self._keep(piece)
            line = b"".join(self._parts)
            self._parts, self._size = [], 0
            yield line
        self._keep(rest)

    def _keep(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._limit:
            self._parts = []
            raise LostError(f"one message passes {self._limit:,} bytes", sent=True, kind=LossKind.TOO_BIG)
        self._parts.append(piece)


class EventData:
    """Collects the data of one server-sent event; the other fields are not used."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, line: bytes) -> bytes | None:
        """Take one line and return an event's data when a blank line ends it.

        Raises:
            LostError: The data passes the limit.
        """
        if not line:
            data, self._data, self._size = self._data, [], 0
            return b"\n".join(data) or None
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
            self._size += len(line)
            if self._size > self._limit:
                raise LostError(f"one event passes {self._limit:,} bytes", sent=True, kind=LossKind.TOO_BIG)
        return None


def read_message(data: bytes) -> dict[str, Any] | None:
    """Read a JSON-RPC message, None where it is none.

    Lenient inside, so that one broken tool does not cost its page: bytes that are no UTF-8 become lone surrogates,
    and NaN and integers of thousands of digits become floats that no canonical form has. Who reads tools refuses those.

    Raises:
        RecursionError: It is nested too deeply to read.
    """
    try:
        message = json.loads(data.decode("utf-8", "surrogateescape"), parse_int=_integer)
    except ValueError:
        return None
    return message if isinstance(message, dict) and message.get("jsonrpc") == "2.0" else None


def outcome(message: Mapping[str, Any]) -> object:
    """Return the result of an answer.

    Raises:
        MCPError: It is an error answer. A malformed error is still an error.
    """
    if "error" not in message:
        return message["result"]
    error = message["error"]
    fields = error if isinstance(error, dict) else {"message": error}
    code = fields.get("code")
    text = one_line(str(fields.get("message", "")), TEXT_SHOWN)
    raise MCPError(code if isinstance(code, int) else 0, text, fields.get("data"))


def answer_for(message: Mapping[str, Any]) -> dict[str, Any] | None:
    """Answer what a server asks of its client: a ping, and nothing else; None where it asks nothing."""
    number = as_request_id(message.get("id"))
    if number is None or not isinstance(message.get("method"), str):
        return None
    if message["method"] == "ping":
        return {"jsonrpc": "2.0", "id": number, "result": {}}
    refusal = {"code": METHOD_NOT_FOUND, "message": "this client offers nothing to servers"}
    return {"jsonrpc": "2.0", "id": number, "error": refusal}


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _INTEGER_DIGITS else float(digits)
