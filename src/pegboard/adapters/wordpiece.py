"""Words to token ids as uncased BERT models expect them, in the standard library alone.

Clean (drop control characters, spaces are one space), put spaces around CJK characters, decompose and drop accents,
lowercase character by character, split at spaces and punctuation, then take the longest known piece from the left of
each word. Held equal to the `tokenizers` package by `tests/adapters/test_wordpiece.py`. Text is text: `[SEP]` typed
by a user is five characters and never the special token, which that package would make of it.

Source: Devlin et al., NAACL 2019, and the reference `BertNormalizer`, `BertPreTokenizer` and `WordPiece` of
tokenizers 0.23.
"""

import unicodedata
from collections.abc import Mapping
from functools import lru_cache

__all__ = ["MAX_CHARACTERS", "WordPiece"]

# Only this many characters of a text are read: 256 tokens of ordinary text are about 1,300 characters, and a text of
# a megabyte must not cost more than one of a page.
MAX_CHARACTERS = 16_384
MAX_WORD = 100  # `max_input_chars_per_word` of the reference: a longer word is unknown
REMEMBERED_WORDS = 32_768

CJK: tuple[tuple[int, int], ...] = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)
# Unassigned characters stay, as in the reference: the word that holds one is unknown.
DROPPED = frozenset({"Cc", "Cf", "Co", "Cs"})


class Cleaned(dict[int, str]):
    """Character to what stands for it before decomposition; filled as characters are met."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        if char in "\t\n\r":
            made = " "
        elif code in (0, 0xFFFD) or unicodedata.category(char) in DROPPED:
            made = ""
        elif char.isspace():
            made = " "
        else:
            made = f" {char} " if any(low <= code <= high for low, high in CJK) else char
        self[code] = made
        return made


class Folded(dict[int, str]):
    """Character to what stands for it after decomposition: no accent, lower case, punctuation on its own."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        category = unicodedata.category(char)
        made = "" if category == "Mn" else char.lower()
        # All printable ASCII that is neither letter nor digit counts as punctuation, `$` and `+` too.
        if category.startswith("P") or (33 <= code <= 126 and not char.isalnum()):
            made = f" {made} "
        self[code] = made
        return made


class Plain(dict[int, str]):
    """Both tables in one step for ASCII, where nothing decomposes."""

    def __init__(self) -> None:
        super().__init__((code, Cleaned()[code].translate(Folded())) for code in range(128))


CLEANED, FOLDED, PLAIN = Cleaned(), Folded(), Plain()


def split_words(text: str) -> list[str]:
    """Split a text into lower-case words and single punctuation marks.

    >>> split_words("Zürich's  fee: 5$")
    ['zurich', "'", 's', 'fee', ':', '5', '$']
    """
    text = text[:MAX_CHARACTERS]
    if text.isascii():
        return text.translate(PLAIN).split()
    return unicodedata.normalize("NFD", text.translate(CLEANED)).translate(FOLDED).split()


class WordPiece:
    """A vocabulary that turns texts into ids.

    Not changed by use, except for a bounded memory of words already cut; safe to share between threads.
    """

    def __init__(self, vocabulary: Mapping[str, int], unknown: int) -> None:
        """Keep a vocabulary, pieces inside a word marked with `##`, and the id given for a word it cannot spell."""
        self._ids = dict(vocabulary)
        self._unknown = unknown
        self._longest = max(map(len, self._ids), default=0)
        self._pieces = lru_cache(maxsize=REMEMBERED_WORDS)(self._cut)

    def ids(self, text: str, limit: int) -> list[int]:
        """Return the first *limit* ids of *text*; an unknown word gives one id."""
        found: list[int] = []
        for word in split_words(text):
            found += self._pieces(word) if len(word) <= MAX_WORD else (self._unknown,)
            if len(found) >= limit:
                break
        return found[:limit]

    def _cut(self, word: str) -> tuple[int, ...]:
        found = []
        start = 0
        while start < len(word):
            mark = "##" if start else ""
            for end in range(min(len(word), start + self._longest), start, -1):
                piece = self._ids.get(mark + word[start:end])
                if piece is not None:
                    found.append(piece)
                    start = end
                    break
            else:
                return (self._unknown,)
        return tuple(found)
