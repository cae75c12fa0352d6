"""Limits: how much of a request is read, how long it may take to come, and how many a caller may make.

Source: RFC 6585, section 4 (429); RFC 9110, sections 15.5.9 (408) and 15.5.14 (413).
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

import anyio

from pegboard.gateway.arrival import Scope, headers_of
from pegboard.gateway.refusals import Refusal

__all__ = ["Rates", "Receive", "check_length", "in_time", "read_body"]

Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]

# Buckets that are kept. Whoever presents so many different credentials gains nothing but full buckets of nobody.
_KEPT = 50_000


class Rates:
    """A bucket of tokens for each caller: a minute's worth, filled evenly."""

    def __init__(self, per_minute: int, ticks: Callable[[], float]) -> None:
        self._per_minute = per_minute
        self._ticks = ticks
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str) -> None:
        """Take a token of this caller's.

        Raises:
            Refusal: None is left.
        """
        if not self._per_minute:
            return
        now, rate = self._ticks(), self._per_minute / 60.0
        left, since = self._buckets.get(caller, (float(self._per_minute), now))
        left = min(float(self._per_minute), left + (now - since) * rate)
        self._buckets[caller] = (max(0.0, left - 1.0) if left >= 1.0 else left, now)
        self._buckets.move_to_end(caller)
        while len(self._buckets) > _KEPT:
            self._buckets.popitem(last=False)
        if left < 1.0:
            wait_s = max(1, round((1.0 - left) / rate))
            raise Refusal(
                status=429,
                kind="too-many-requests",
                message=f"more than {self._per_minute:,} requests in a minute",
                fix=f"wait {wait_s} s",
                headers={"retry-after": str(wait_s)},
            )


def check_length(scope: Scope, most: int) -> None:
    """Refuse a body that says itself that it is too large, before any of it is read.

    Raises:
        Refusal: It is.
    """
    said = headers_of(scope, b"content-length")
    # A protocol's reader has checked that it is a number, and that there is one.
    if said and int(said[0]) > most:
        raise _too_large(most)


def in_time(receive: Receive, seconds: float) -> Receive:
    """Return a `receive` to which a client whose body is not whole after so many seconds has gone away."""
    until = anyio.current_time() + seconds
    whole = False

    async def received() -> MutableMapping[str, Any]:
        nonlocal whole
        if whole:
            return await receive()
        message: MutableMapping[str, Any] = {"type": "http.disconnect"}
        with anyio.move_on_after(until - anyio.current_time()):
            message = await receive()
        whole = not message.get("more_body", False)
        return message

    return received


async def read_body(receive: Receive, most: int) -> bytes:
    """Read the whole body of a request.

    Raises:
        Refusal: It is too large, or did not come in time.
    """
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            # Whoever went away in earnest does not read it.
            late, headers = "the body did not come in time", {"connection": "close"}
            raise Refusal(status=408, kind="timeout", message=late, headers=headers)
        body += message.get("body", b"")
        if len(body) > most:
            raise _too_large(most)
        if not message.get("more_body", False):
            return bytes(body)


def _too_large(most: int) -> Refusal:
    return Refusal(
        status=413,
        kind="too-large",
        message=f"a body may have {most:,} bytes",
        # What is left of it is not read.
        headers={"connection": "close"},
    )
