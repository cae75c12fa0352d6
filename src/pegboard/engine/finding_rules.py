"""Finding rules: one row for each thing that a declared text should not hold.

A row names the places it looks at and whether it reads the text as it came or folded: cleaned, compatibility forms
and look-alike letters made plain, small letters, one blank between words. A phrase is looked for in folded text, so
that neither a zero-width character nor a full-width or Cyrillic letter hides it.

A severity is `high` only where none of 2,583 published tools has the finding; how often each row speaks there
stands in the reference page. Rows look for words, so they can be dodged: the lock is what grants, not their silence.

Source: Unicode TR 36, TR 39 and TR 51 (characters); docs/reference/findings.md for the counts.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum, auto

from pegboard.core.text import clean
from pegboard.engine.finding_phrases import NEEDLES, PHRASES

__all__ = ["LENGTHS", "META_TOOLS", "ROWS", "RULES", "STEERING_KEYS", "Place", "Severity", "folded", "mixes_scripts"]


class Severity(StrEnum):
    """How sure it is that a finding is an attack. Ordered: the later, the surer."""

    LOW = "low"
    """Worth a look: honest tools have it too."""
    MEDIUM = "medium"
    """Unusual: a change that brings it waits for a person, even under `follow`."""
    HIGH = "high"
    """Honest tools practically never have it: a locked tool that shows it is revoked at once."""

    @property
    def rank(self) -> int:
        """Return 0 for low, 1 for medium, 2 for high."""
        return list(Severity).index(self)


class Place(IntEnum):
    """What kind of text a rule looks at."""

    NAME = auto()
    """The tool's name, or a key of its schemas, annotations or `_meta`."""
    TITLE = auto()
    PROSE = auto()
    """A description, a comment, or what a keyword holds that no draft knows."""
    VALUE = auto()
    """In an enum, a const, a default, an example, or `_meta`."""
    CODE = auto()
    """For the validator: a pattern, a reference, a dialect."""


@dataclass(frozen=True, slots=True)
class Row:
    """One rule that patterns decide."""

    rule: str
    severity: Severity
    says: str
    pattern: re.Pattern[str]
    places: frozenset[Place]
    folds: bool
    """Whether the pattern is looked for in the folded text, or in the text as it came where that hides something."""
    needles: tuple[str, ...] = ()
    """Folded texts without any of these are not read; none: all are."""

    def search(self, text: str) -> re.Match[str] | None:
        """Return the first place in a text, folded where the row folds, that the rule speaks of."""
        if self.needles and not any(map(text.__contains__, self.needles)):
            return None
        return self.pattern.search(text)


def _seen(rule: str, severity: Severity, says: str, *patterns: str) -> Row:
    """Make a row on characters: they are as bad in one place as in another."""
    return Row(rule, severity, says, re.compile("|".join(patterns)), frozenset(Place), folds=False)


def _said(rule: str, severity: Severity, says: str, *places: Place) -> Row:
    """Make a row on wording; a text for the validator alone says nothing."""
    pattern = re.compile("|".join(PHRASES[rule]))
    return Row(rule, severity, says, pattern, frozenset(places or _READ), folds=True, needles=NEEDLES.get(rule, ()))


_READ = (Place.NAME, Place.TITLE, Place.PROSE, Place.VALUE)
_TOLD = (Place.TITLE, Place.PROSE, Place.VALUE)
_TAGS = "\U000e0020-\U000e007f"
# England, Scotland, Wales: a black flag, tag letters and the end tag (TR 51, ED-14a); the only honest tags.
_FLAG = "\U0001f3f4[\U000e0061-\U000e007a]{4,6}\U000e007f"
_RIGHT_TO_LEFT = "\u0590-\u08ff"

ROWS: tuple[Row, ...] = (
    # Characters that nobody sees. They are taken out of what is served; here a person learns that they were there.
    _seen("ansi", Severity.HIGH, "a terminal's escape sequence", "\x1b", "\x9b"),
    _seen("tag-characters", Severity.HIGH, "text in tag characters, which only a model reads",
          f"(?<!\U0001f3f4)(?<![{_TAGS}])[{_TAGS}]", f"(?!{_FLAG})\U0001f3f4[{_TAGS}]", "\U000e0001"),
    _seen("bidi-override", Severity.HIGH, "a direction override: what is shown is not what is read", "[\u202a-\u202e]"),
    _seen("hidden-run", Severity.HIGH, "a run of zero-width characters or variation selectors, which can spell a text",
          "[\u200b-\u200d\u2060-\u2064\ufeff]{4}", "[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2}"),
    _seen("control", Severity.MEDIUM, "a control character",
          "[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9a\x9c-\x9f\ufff0-\ufffb]"),
    _seen("bidi", Severity.MEDIUM, "a direction isolate, or a mark away from right-to-left letters", "[\u2066-\u2069]",
          f"[^{_RIGHT_TO_LEFT}]{{3}}[\u200e\u200f\u061c](?![^{_RIGHT_TO_LEFT}]{{0,3}}[{_RIGHT_TO_LEFT}])"),
    # A joiner is at home between emoji and in the scripts from Arabic to Khmer.
    _seen("zero-width", Severity.MEDIUM, "a zero-width or filler character",
          "[\u200b\u2060-\u2064\u206a-\u206f\ufeff\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0]",
          "[\x00-\u02ff][\u200c\u200d]", "[\u200c\u200d][\x00-\u02ff]"),
    _seen("variation-selector", Severity.MEDIUM, "a variation selector behind a plain letter",
          "[A-Za-z ][\ufe00-\ufe0f\U000e0100-\U000e01ef]"),
    # Instructions to a model.
    _said("override", Severity.HIGH, "tells a model to drop its instructions"),
    _said("chat-markup", Severity.HIGH, "markup that ends a text and begins a turn of someone else"),
    _said("persona", Severity.HIGH, "tells a model who it is now", *_TOLD),
    _said("secrecy", Severity.HIGH, "asks to keep something from the user", *_TOLD),
    _said("sensitive-file", Severity.HIGH, "sends a model to read keys or settings on the user's machine", *_TOLD),
    _said("credential-request", Severity.MEDIUM, "asks for a credential", *_TOLD),
    _said("credential-parameter", Severity.LOW, "has a parameter for a credential", Place.NAME),
    _said("conversation-request", Severity.MEDIUM, "asks for the conversation, a system prompt or a model's reasoning"),
    _said("instruction", Severity.LOW, "instructs the model in strong words", Place.TITLE, Place.PROSE),
    # Claims on other tools.
    _said("claim", Severity.MEDIUM, "makes a claim on other tools", *_TOLD),
    _said("steering", Severity.LOW, "steers the choice or order of tools", *_TOLD),
    # What a reader does not see, or what leads elsewhere.
    _said("active-markup", Severity.HIGH, "markup that runs or hides"),
    _said("hidden-markup", Severity.MEDIUM, "a comment or an image, which a rendered page hides or fetches"),
    _said("odd-link", Severity.MEDIUM, "a link that hides where it leads, or carries data along"),
    _said("link", Severity.LOW, "a link", Place.TITLE, Place.PROSE),
    _said("encoded", Severity.MEDIUM, "a long encoded text", *_TOLD),
)  # fmt: skip

# What code in `findings.py` decides, rather than a pattern.
RULES: Mapping[str, tuple[Severity, str]] = {
    **{row.rule: (row.severity, row.says) for row in ROWS},
    "oversized": (Severity.LOW, "a text much longer than published ones are"),
    "steering-meta": (Severity.MEDIUM, "a `_meta` member that asks a client to prefer, load or run the tool by itself"),
    "look-alike-name": (Severity.MEDIUM, "a name that mixes letters of several scripts"),
    "shadows-meta-tool": (Severity.MEDIUM, "a name that is, folded, one of Pegboard's own tools"),
    "shadows-tool": (Severity.MEDIUM, "a name that is, folded, that of another server's tool"),
    "undeclared-schema": (Severity.LOW, "no input schema, so that any arguments are taken"),
}

# Characters; the longest of 2,583 published tools have 13,086, 110, 5,231, 528 and 48.
LENGTHS: Mapping[Place, int] = {Place.PROSE: 6_000, Place.TITLE: 100, Place.VALUE: 600, Place.NAME: 100}

META_TOOLS = frozenset({"search_tools", "call_tool", "describe_tool"})

# Members of `_meta` by the last part of their name, folded.
STEERING_KEYS = frozenset(
    {"priority", "weight", "rank", "boost", "score", "preferred", "recommended", "default", "always", "alwaysload"}
    | {"autorun", "autoapprove", "autoexecute", "autocall", "pinned", "force", "required", "override"}
    | {"systemprompt", "instructions", "hidden", "trusted", "verified"}
)

# Nothing in it but what is seen; most texts are, and of those there is nothing to clean.
_PLAIN = re.compile(r"[\t\n\r -~]*\Z")
# Letters of Cyrillic and Greek that look like Latin ones (TR 39, confusables).
_LOOK_ALIKES = str.maketrans("аеорсухіјѕԁһӏвмнткαορνικτυ", "aeopcyxijsdhlbmhtkaopvikty")
_WORD = re.compile(r"\w+")
_LATIN, _ALIKE = re.compile("[a-z]"), re.compile("[\u0370-\u052f]")
_MARKS = str.maketrans({"*": None, "`": None, "_": " ", "’": "'", "“": '"', "”": '"'})


def folded(text: str) -> str:
    """Return the text as phrases are looked for in it."""
    plain = (text if _PLAIN.match(text) else clean(text)).translate(_MARKS)
    if not plain.isascii():
        plain = unicodedata.normalize("NFKC", plain).casefold()
        plain = _WORD.sub(_in_one_script, plain)
    return " ".join(plain.lower().split())


def mixes_scripts(name: str) -> bool:
    """Say whether a word of the name has Latin letters beside Cyrillic or Greek ones."""
    return any(_mixed(word) for word in _WORD.findall(name.casefold()))


def _in_one_script(found: re.Match[str]) -> str:
    return found.group().translate(_LOOK_ALIKES) if _mixed(found.group()) else found.group()


def _mixed(word: str) -> bool:
    return bool(_LATIN.search(word) and _ALIKE.search(word))
