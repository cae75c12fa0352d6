"""Terms: how a text becomes what is compared. One way for tools and for tasks.

NFKC, identifiers split (camel, snake, kebab, dot, slash), casefold, stop words out, stemmed by Snowball in the
text's language. Scripts without spaces become pairs of neighbouring characters. The same word must come
out the same on both sides, so a script has one stemmer, and only Latin script is looked at for its language.
Texts are given clean (`core/text.py`): documents and queries see to it once.

Source: Unicode UAX 15 (NFKC); Porter, "Snowball" (2001); bigrams: Nie and Ren, 1999, for Chinese retrieval.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, islice

import Stemmer

from pegboard.retrieval.words import FUNCTION_WORDS, STOP_WORDS

__all__ = ["TOKENS_VERSION", "has_words", "is_word_list", "language", "terms", "words"]

# Part of an index's version: the same text gives the same terms only under the same rules and the same Snowball.
TOKENS_VERSION = f"tokens-1 snowball-{Stemmer.version()}"

_MAX_WORD = 64  # longer runs are encoded data, not words

# Marks that belong to a word although they are no letters: without them Hindi, Tamil or Arabic words fall apart.
_MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670\u0900-\u0963\u0970-\u0dff"
# Scripts written without spaces between words: Thai, Lao, Tibetan, Burmese, Khmer, kana, Han.
_RUNS = (
    "\u0e00-\u0eff\u0f40-\u0fbc\u1000-\u109f\u1780-\u17d3\u3041-\u30ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_WORD = re.compile(rf"[{_RUNS}]+|(?:[^\W_{_RUNS}]|[{_MARKS}])+")
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+")
_RUN = re.compile(rf"[{_RUNS}]")
# A capital that begins a part: after a lower-case letter or digit, or before one ("HTTPServer"), but not in "PDFs".
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z](?!s(?![a-z]))[a-z])")

# First letter of a script's block -> the one stemmer for it. Latin is decided by function words.
_SCRIPTS: tuple[tuple[int, int, str], ...] = (
    (0x0370, 0x03FF, "greek"),
    (0x0400, 0x052F, "russian"),
    (0x0530, 0x058F, "armenian"),
    (0x0590, 0x05FF, "yiddish"),
    (0x0600, 0x06FF, "arabic"),
    (0x0900, 0x097F, "hindi"),
    (0x0B80, 0x0BFF, "tamil"),
)
_STEMMERS = {name: Stemmer.Stemmer(name, 0) for name in {*FUNCTION_WORDS, *(name for *_, name in _SCRIPTS)}}
_FEWEST_FOR_SENTENCES = 24
_LANGUAGE_SAMPLE = 64  # words looked at
_NO_WORDS: frozenset[str] = frozenset()
_FOREIGN = frozenset[str]().union(*(listed for name, listed in FUNCTION_WORDS.items() if name != "english"))


def words(text: str) -> list[str]:
    """Split a text into casefolded words, in order, stop words included.

    "getUserByID" gives get, user, by, id. A name of two parts that begins with a capital ("GitHub") gives its
    parts and the whole, since people write both.
    """
    return [part for written in _written(text) for part in _parts(written)]


def has_words(text: str) -> bool:
    """Say whether `words` would find any."""
    return any(len(written) <= _MAX_WORD for written in _written(text))


def language(text: str) -> str:
    """Guess the Latin-script language of a text by its function words; English unless another is clearly ahead."""
    return _language(_written(text))


def is_word_list(text: str) -> bool:
    """Say whether a text is a list of words where one expects sentences, as in a description stuffed with keywords.

    Sentences of the languages we know hold function words, one in four on average; of the real descriptions of
    24 words and more, under one in a hundred has fewer than one in twelve. Other scripts are never judged.
    """
    found = words(text)
    if len(found) < _FEWEST_FOR_SENTENCES or sum(word[0] < "\u0250" for word in found) * 5 < len(found) * 4:
        return False
    listed = FUNCTION_WORDS[_language(found)]
    return sum(word in listed for word in found) * 12 < len(found)


def terms(text: str, limit: int = 256, *, spoken: str | None = None, both: bool = False) -> list[str]:
    """Return the terms of a text in order, repeats kept, at most *limit*.

    Args:
        text: Any text; it may be empty.
        limit: How many terms to take at most.
        spoken: The language of Latin script, where the caller knows it from more than this text.
        both: Give a word of another language than English its English stem as well. Tools are indexed so, since a
            short task does not show its language; tasks are not.
    """
    found = _written(text)
    latin = spoken or _language(found)
    return list(islice(chain.from_iterable(_terms(written, latin, both) for written in found), limit))


def _written(text: str) -> list[str]:
    """Split a text at everything that no word holds; letters as they came, after NFKC."""
    if text.isascii():
        return _ASCII_WORD.findall(text)
    return _WORD.findall(unicodedata.normalize("NFKC", text))


def _parts(written: str) -> list[str]:
    if len(written) > _MAX_WORD:
        return []
    parts = [part.casefold() for part in _CAMEL.split(written)]
    return [*parts, "".join(parts)] if len(parts) == 2 and written[0].isupper() else parts


def _language(found: list[str]) -> str:
    sample = frozenset(map(str.casefold, found[:_LANGUAGE_SAMPLE]))
    best, most = "english", max(1, len(sample & FUNCTION_WORDS["english"]))
    # No language has more of its words here than all of them together, which is what most tasks show.
    if len(sample & _FOREIGN) <= most:
        return best
    for name, listed in FUNCTION_WORDS.items():
        count = len(sample & listed)
        if count > most:
            best, most = name, count
    return best


@lru_cache(maxsize=1 << 16)
def _terms(written: str, latin: str, both: bool) -> tuple[str, ...]:
    return tuple(term for word in _parts(written) for term in _stems(word, latin, both))


def _stems(word: str, latin: str, both: bool) -> Iterable[str]:
    if _RUN.match(word):
        return _pairs(word)
    spoken = _language_of(word, latin)
    if word in STOP_WORDS.get(spoken, _NO_WORDS):
        return ()
    stem = _stem(spoken, word)
    if both and spoken == latin != "english":
        return dict.fromkeys((stem, _stem("english", word)))
    return (stem,)


def _pairs(run: str) -> Iterator[str]:
    if len(run) == 1:
        yield run
    for place in range(len(run) - 1):
        yield run[place : place + 2]


def _language_of(word: str, latin: str) -> str:
    first = ord(word[0])
    if first < 0x0250:
        return latin
    return next((name for low, high, name in _SCRIPTS if low <= first <= high), latin)


def _stem(spoken: str, word: str) -> str:
    # English has no accents of its own; other languages' stemmers need theirs.
    stem: str = _STEMMERS[spoken].stemWord(_plain(word) if spoken == "english" else word)
    return _plain(stem)


def _plain(stem: str) -> str:
    """Take the accents off Latin letters, so that "resume" finds "résumé"; other scripts keep their marks."""
    if stem.isascii() or not (stem[0] < "\u0250" or "\u1e00" <= stem[0] <= "\u1eff"):
        return stem
    return "".join(c for c in unicodedata.normalize("NFD", stem) if not "\u0300" <= c <= "\u036f")
