"""Times as they are written down: in answers, in the lock, on a terminal."""

from datetime import UTC, datetime

__all__ = ["stamp"]


def stamp(seconds: float) -> str:
    """Write a Unix time as RFC 3339 in UTC, to the second."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
