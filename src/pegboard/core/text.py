"""Clean text: what is taken out of a declared text before a model or a terminal sees it.

Control, bidi, zero-width and tag characters and ANSI sequences carry instructions that a reader cannot
see. They are removed when a text is served; the hash in the lock is over the text as it came.

Source: Unicode TR 36 and TR 39; ECMA-48 for the escape sequences.
"""

import re

__all__ = ["clean", "escaped", "hidden", "one_line", "well_formed"]

# An escape sequence goes whole, so that its visible rest ("[31m") does not stay behind.
_ANSI = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI
    "|\x1b[\\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\\\|\x9c)?"  # OSC, DCS, SOS, PM, APC
    "|\x1b[ -/]*[0-~]?"
)
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f"  # controls but tab, line feed, carriage return
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\ud800-\udfff\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def clean(text: str) -> str:
    """Return the text without escape sequences and characters that no reader can see. Idempotent."""
    return _INVISIBLE.sub("", _ANSI.sub("", text))


def hidden(text: str) -> bool:
    """Say whether `clean` would take anything out."""
    return bool(_ANSI.search(text) or _INVISIBLE.search(text))


def escaped(text: str) -> str:
    """Return the text with each character that no reader can see written as its code point: what a reviewer is shown.

    What follows an escape is seen and stays, and so does a backslash: this is for people and cannot be turned back.
    """
    return _INVISIBLE.sub(lambda found: f"\\u{{{ord(found.group()):04x}}}", text)


def well_formed(text: str) -> str:
    """Return the text with every lone surrogate replaced, so that it can be encoded."""
    return text.encode("utf-8", "replace").decode("utf-8")


def one_line(text: str, limit: int) -> str:
    """Return the clean text on one line of at most *limit* characters, for a list that people read."""
    flat = " ".join(clean(text).split())
    return flat if len(flat) <= limit else f"{flat[: limit - 1].rstrip()}…"
