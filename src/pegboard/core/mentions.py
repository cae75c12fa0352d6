"""Mentions: where a tool's own texts name other tools of its server.

Tool servers write "call `list_orders` first" into descriptions, enums and examples. If the other tool is not
eligible, its name leaks through the text of one that is. A mention is a whole token, case-sensitive, of a name
that looks like an identifier (it holds `_`, `-`, `.`, a digit or an inner capital), or any name in backticks;
a tool called `search` is otherwise an everyday word. Ranked text omits mentions for everyone (`omit`), served
text shows one only where that tool is eligible too (`redact`).

Names of properties and definitions are no mentions: the schema would not work without them.

Source: DESIGN section 3, "mentions".
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from pegboard.core.names import Json
from pegboard.core.roles import Roles, all_strings
from pegboard.core.text import clean, hidden

__all__ = ["ANOTHER", "ToolNames", "entry_texts", "mentions", "omit", "redact"]

# Holds no identifier-like token, so that it can never be a mention itself.
ANOTHER = "another tool"

# A hyphen joins only between word characters: the arrow in "get_user->next" and the dashes of a list end a token.
_TOKEN = re.compile(r"[A-Za-z0-9_]+(?:-[A-Za-z0-9_]+)*")
_ESCAPE = re.compile(r"\\.")
_WORD = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")
_IDENTIFIER = re.compile(r"[_\-.0-9]|.[A-Z]")


@dataclass(frozen=True, slots=True)
class ToolNames:
    """Names of tools, ready to be found in texts: by their first token, longest name first.

    Build it once for a server and a text costs one lookup a token, however many names there are.
    """

    by_token: Mapping[str, tuple[tuple[int, str], ...]]
    """First token -> (its place in the name, the name)."""
    tokenless: tuple[str, ...]
    """Names without an ASCII letter or digit."""

    @classmethod
    def of(cls, names: Collection[str]) -> "ToolNames":
        """Index the names."""
        by_token: dict[str, list[tuple[int, str]]] = {}
        tokenless = []
        for name in sorted(set(names), key=lambda name: (-len(name), name)):
            if first := _TOKEN.search(name):
                by_token.setdefault(first.group(), []).append((first.start(), name))
            elif name:
                tokenless.append(name)
        return cls({token: tuple(found) for token, found in by_token.items()}, tuple(tokenless))

    def __bool__(self) -> bool:
        return bool(self.by_token or self.tokenless)

    def may_stand_in(self, texts: Iterable[str]) -> bool:
        """Say whether a name can be mentioned in JSON or plain texts: most tools name no other, which this sees fast.

        Never False where `mentions` finds one in a text, or in a string of the JSON, cleaned or as it came.
        """
        if self.tokenless:
            return True
        for text in texts:
            # What `clean` takes out of a string may stand in its JSON as an escape: U+0008 and U+000C have letters.
            if any(escape in text for escape in ("\\u", "\\b", "\\f")) or hidden(text):
                return True
            # In JSON the letter of an escape (`\n`) is no part of the token behind it; in a plain text it is.
            for read in (text, _ESCAPE.sub(" ", text)) if "\\" in text else (text,):
                if not self.by_token.keys().isdisjoint(_TOKEN.findall(read)):
                    return True
        return False

    def found(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield (start, end, name) of every mention, overlapping ones too; at one place the longest first."""
        for token in _TOKEN.finditer(text):
            for offset, name in self.by_token.get(token.group(), ()):
                start = token.start() - offset
                if start >= 0 and text.startswith(name, start) and _stands_alone(text, start, name):
                    yield start, start + len(name), name
        for name in self.tokenless:
            start = text.find(name)
            while start >= 0:
                if _stands_alone(text, start, name):
                    yield start, start + len(name), name
                start = text.find(name, start + 1)


def mentions(texts: Collection[str] | Iterator[str], names: Collection[str] | ToolNames, own: str) -> tuple[str, ...]:
    """Return which of a server's tool *names* the *texts* of the tool *own* mention; sorted, never itself."""
    index = names if isinstance(names, ToolNames) else ToolNames.of(names)
    return tuple(sorted({name for text in texts for _, _, name in index.found(text)} - {own}))


def redact(text: str, hidden: Collection[str] | ToolNames) -> str:
    """Return the text with each mention of a *hidden* name shown as "another tool". Idempotent."""
    return _without(text, hidden, ANOTHER)


def omit(text: str, names: Collection[str] | ToolNames) -> str:
    """Return the text without the mentions, a blank in the place of each: what is ranked. Idempotent."""
    return _without(text, names, " ")


def entry_texts(
    *,
    title: str | None = None,
    description: str = "",
    input_schema: Json = None,
    output_schema: Json = None,
    annotations: Json = None,
) -> Iterator[str]:
    """Yield every declared text in which a tool can name another one, cleaned and as it came.

    Of the schemas every string, at any depth, but the names of properties and definitions, and references that
    resolve: texts, values, and what keywords hold that their dialect does not know.
    """
    parts = (Roles(input_schema).strings(), Roles(output_schema).strings(), all_strings(annotations))
    for text in (title or "", description, *chain.from_iterable(parts)):
        yield from _both(text)


def _both(text: str) -> Iterator[str]:
    """Yield the text cleaned, and as it came: an invisible character can part a name as well as hide one."""
    cleaned = clean(text)
    yield cleaned
    if cleaned != text:
        yield text


def _without(text: str, names: Collection[str] | ToolNames, instead: str) -> str:
    """Replace until nothing is found.

    A replacement can complete another name ("x.get_user" where "x.another" is a tool), hence the loop. It ends: each
    replacement takes a character out that only identifier-like names have and puts none in, or leaves a name in
    backticks that is not there any more.
    """
    index = names if isinstance(names, ToolNames) else ToolNames.of(names)
    while index:
        changed = _replaced(text, index, instead)
        if changed == text:
            break
        text = changed
    return text


def _replaced(text: str, index: ToolNames, instead: str) -> str:
    pieces: list[str] = []
    end = 0
    for start, stop, _ in sorted(index.found(text), key=lambda found: (found[0], -found[1])):
        if start >= end:
            pieces += (text[end:start], instead)
            end = stop
    return "".join([*pieces, text[end:]]) if pieces else text


def _stands_alone(text: str, start: int, name: str) -> bool:
    end = start + len(name)
    if _joined(text, start - 1, -1) or _joined(text, end, 1):
        return False
    if _IDENTIFIER.search(name):
        return True
    return start > 0 and text[start - 1] == "`" and text[end : end + 1] in {"`", "("}


def _joined(text: str, place: int, step: int) -> bool:
    """Say whether the character at *place* makes one token with the name beside it."""
    if not 0 <= place < len(text):
        return False
    beyond = place + step
    return text[place] in _WORD or (text[place] == "-" and 0 <= beyond < len(text) and text[beyond] in _WORD)
