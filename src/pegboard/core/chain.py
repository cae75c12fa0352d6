"""A hash chain: each event's hash covers the event and the hash before it, so that none can be changed or left out.

What a chain does not show is that its newest events were cut off; whoever needs that keeps the last hash elsewhere.

Source: Haber and Stornetta, "How to time-stamp a digital document", 1991.
"""

import hashlib
from collections.abc import Mapping

from pegboard.core.names import Json, canonical_json

__all__ = ["START", "chained"]

# What stands before the first event: no hash at all.
START = ""


def chained(before: str, number: int, at: float, kind: str, body: Mapping[str, Json]) -> str:
    """Return the hash (hex) of an event that follows one with the hash *before*.

    Raises:
        ValueError: The body has no canonical form.
    """
    return hashlib.sha256(before.encode() + canonical_json([number, at, kind, body])).hexdigest()
