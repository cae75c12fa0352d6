"""Training pairs (request, tool): labelled ones, and ones made from a tool's own text by rules.

A made request is the first sentence of a description in a user's voice: its verb in the base form and swapped for
another of the same meaning, the trailing conditions dropped, a sample value for a well-known parameter, some words
left out. What it is paired with never repeats the sentence it came from word for word in more than half of the views,
so words alone do not solve the task.

Randomness comes in as a generator; the same seed gives the same pairs.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sources import HALVED, Tool, digit, head, load_set, load_tools, words, written

__all__ = ["Pair", "all_pairs", "made_pairs", "request"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A request, the text of a tool that serves it, and what in-batch negatives need to know."""

    query: str
    document: str
    tool_id: str
    namespace: str
    source: str


SENTENCE_END = re.compile(r"(?<=[a-z0-9)\]\"'])[.!?]\s+|\n+|[。！？]")
THIRD_PERSON = re.compile(r"^[A-Z]?[a-z]{2,}s$")
NOT_VERBS = frozenset(
    ["this", "is", "has", "its", "status", "access", "process", "address", "news", "always", "business", "details"]
)
CUT = re.compile(
    r"\s*(?:,|\(|;| - | – |:).*$"
    r"|\s+(?:using|via|given|based on|by providing|with optional|optionally|if|when|which|that|including)\b.*$"
    r"|\s+(?:such as|from the \w+ api|through|as well as)\b.*$",
    re.IGNORECASE,
)

# A row a meaning: any of its words may stand for another.
VERBS: tuple[tuple[str, ...], ...] = (
    ("get", "fetch", "retrieve", "show me", "give me", "look up", "find", "pull up", "tell me", "check"),
    ("list", "show me all", "what are", "get all", "give me a list of", "enumerate", "see all"),
    ("search", "search for", "find", "look for", "look up", "hunt for"),
    ("create", "make", "add", "set up", "start", "open", "new"),
    ("generate", "make", "produce", "come up with", "create"),
    ("delete", "remove", "get rid of", "drop", "erase", "throw away"),
    ("update", "change", "edit", "modify", "adjust", "set", "fix"),
    ("send", "post", "deliver", "write", "message"),
    ("calculate", "compute", "work out", "figure out", "what is", "determine"),
    ("analyze", "look into", "examine", "break down", "study", "review"),
    ("convert", "turn", "transform", "change"),
    ("execute", "run", "perform", "do"),
    ("upload", "put up", "add", "send"),
    ("download", "get", "save", "pull down"),
    ("read", "open", "look at", "show"),
    ("write", "save", "store", "put"),
    ("check", "verify", "see", "make sure of", "test"),
    ("cancel", "call off", "stop", "abort"),
    ("book", "reserve", "arrange"),
    ("schedule", "plan", "arrange", "set up"),
    ("translate", "put into another language", "convert"),
    ("summarize", "sum up", "give me the gist of", "recap"),
    ("monitor", "keep an eye on", "watch", "track"),
    ("track", "follow", "keep track of", "trace"),
    ("move", "transfer", "shift", "relocate"),
    ("copy", "duplicate", "clone"),
    ("buy", "order", "purchase", "get"),
    ("compare", "tell the difference between", "contrast"),
    ("play", "start", "put on"),
    ("close", "finish", "resolve", "mark as done"),
    ("enable", "turn on", "switch on", "activate"),
    ("disable", "turn off", "switch off", "deactivate"),
)
NOUNS: tuple[tuple[str, ...], ...] = (
    ("information", "info", "details", "data"),
    ("repository", "repo", "codebase"),
    ("user", "person", "member", "account"),
    ("file", "document"),
    ("message", "note", "text"),
    ("issue", "ticket", "bug"),
    ("task", "to-do", "item"),
    ("email", "mail"),
    ("customer", "client"),
    ("event", "appointment", "meeting"),
    ("image", "picture", "photo"),
    ("price", "cost", "rate"),
    ("company", "firm", "business"),
    ("folder", "directory"),
    ("current", "latest", "right now"),
    ("specific", "certain", "particular"),
    ("website", "site", "web page"),
    ("database", "db"),
    ("directions", "route", "way"),
    ("location", "place", "spot"),
    ("movie", "film"),
    ("employee", "staff member", "colleague"),
    ("payment", "charge"),
    ("order", "purchase"),
)
VOICES: tuple[str, ...] = (
    "{}", "{}", "{}", "{} please", "please {}", "can you {}?", "could you {} for me?", "I need to {}", "I want to {}",
    "I'd like to {}", "help me {}", "how do I {}?", "we have to {} today", "is there a way to {}?", "{} for my project",
    "my boss asked me to {}", "let's {}", "go ahead and {}", "{} and let me know",
)  # fmt: skip
SAMPLES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("city", ("in Lisbon", "for Chicago", "in Osaka")),
    ("location", ("in Berlin", "near Boston", "around Nairobi")),
    ("country", ("in Brazil", "for Canada", "in Japan")),
    ("date", ("on March 3", "for next Friday", "since 2023-05-01")),
    ("symbol", ("for AAPL", "for TSLA", "of BTCUSDT")),
    ("ticker", ("for MSFT", "for NVDA")),
    ("url", ("for https://example.com/page", "from https://example.org")),
    ("email", ("for anna@example.com",)),
    ("username", ("of jsmith42",)),
    ("language", ("in Spanish", "in German")),
    ("amount", ("of 250 dollars",)),
    ("limit", ("just the top 5", "the first 20")),
    ("path", ("at /data/report.csv", "in ./src")),
    ("repo", ("of acme/website",)),
)


def swaps(rows: Sequence[Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Map the first word of each row to the rest of its row."""
    return {row[0]: tuple(row[1:]) for row in rows}


VERB_SWAPS = swaps(VERBS)
NOUN_SWAPS = swaps(NOUNS)


def sentences(text: str) -> list[str]:
    """Split a description into non-empty sentences or lines."""
    return [part.strip(" -*#\t") for part in SENTENCE_END.split(text) if len(part.strip(" -*#\t")) > 2]


def base_form(word: str) -> str:
    """Turn a third-person verb at the head of a sentence into its base form.

    >>> base_form("Retrieves"), base_form("Fetches"), base_form("Status")
    ('retrieve', 'fetch', 'status')
    """
    low = word.lower()
    if low in NOT_VERBS or not THIRD_PERSON.match(word) or low.endswith("ss"):
        return low if word[1:].islower() or len(word) == 1 else word
    if low.endswith("ies"):
        return low[:-3] + "y"
    return low[:-2] if re.search(r"(?:s|sh|ch|x|z)es$", low) and not low.endswith("ses") else low[:-1]


def request(sentence: str, tool: Tool, dice: random.Random) -> str:
    """Say what *sentence* describes as a user would ask for it."""
    if dice.random() < 0.7:
        sentence = CUT.sub("", sentence) or sentence
    parts = sentence.split()[:24]
    if not parts:
        return sentence
    parts[0] = base_form(parts[0])
    if parts[0] in VERB_SWAPS and dice.random() < 0.7:
        parts[0] = dice.choice(VERB_SWAPS[parts[0]])
    parts = [
        dice.choice(NOUN_SWAPS[word.lower()]) if word.lower() in NOUN_SWAPS and dice.random() < 0.5 else word
        for word in parts
    ]
    if len(parts) > 4:
        keep = dice.choice((1.0, 0.9, 0.75))
        parts = parts[:1] + [word for word in parts[1:] if dice.random() < keep]
    for name, values in SAMPLES:
        if dice.random() < 0.5 and any(name in words(given).split() for given, _ in tool.parameters):
            parts.append(dice.choice(values))
            break
    return dice.choice(VOICES).format(" ".join(parts).rstrip("."))


def head_of(tool: Tool, dice: random.Random) -> str:
    """Write the name as a document starts with it, with its namespace mostly."""
    return head(tool) if dice.random() < 0.75 else words(tool.name)


def named_parameters(tool: Tool) -> str:
    return ", ".join(words(name) for name, _ in tool.parameters[:10])


def full(tool: Tool, dice: random.Random) -> str:
    """Write a whole document, in one of the forms a catalog may hold."""
    return written(
        head_of(tool, dice),
        tool.description,
        [name for name, _ in tool.parameters if dice.random() < 0.9] if dice.random() < 0.6 else [],
    )


def views(tool: Tool, dice: random.Random) -> list[tuple[str, str]]:
    """Make (request, document) texts from one tool; each view hides from one side what the other shows."""
    parts = sentences(tool.description)
    made = []
    if parts:
        made.append((request(parts[0], tool, dice), full(tool, dice)))
        asked = request(parts[0], tool, dice)
        made.append((asked, f"{head_of(tool, dice)} {named_parameters(tool)}".strip()))
        if len(parts) > 1:
            other = dice.choice(parts[1:])
            made.append((request(parts[0], tool, dice), f"{head_of(tool, dice)}: {' '.join(parts[1:])}"))
            if len(other.split()) > 4:
                made.append((request(other, tool, dice), f"{head_of(tool, dice)}: {parts[0]}"))
    named = words(tool.name)
    if len(named.split()) > 1:
        made.append((request(named, tool, dice), f"{tool.description} {named_parameters(tool)}".strip() or named))
    described = [text for _, text in tool.parameters if len(text.split()) > 4]
    if described:
        made.append((f"{named} {dice.choice(described)}", full(tool, dice)))
    return made


def trainable(folder: str, tool: Tool) -> bool:
    """Say whether a tool's text may be trained on: never one of a test half."""
    return folder not in HALVED or digit(tool.tool_id, 0) % 2 == 0


def made_pairs(data: Path, seed: int, per_tool: int) -> list[Pair]:
    """Make up to *per_tool* pairs from each tool of the clean catalogs."""
    dice = random.Random(seed)
    pairs = []
    for folder in ("toucan_mcp", "stabletoolbench", "bfcl", "metatool"):
        for tool in load_tools(data, folder):
            if not trainable(folder, tool):
                continue
            made = [view for view in views(tool, dice) if len(view[0].split()) > 2 and len(view[1].split()) > 1]
            for query, text in dice.sample(made, min(per_tool, len(made))):
                space = f"{folder}/{tool.namespace}"
                pairs.append(Pair(query=query, document=text, tool_id=tool.tool_id, namespace=space, source="made"))
    return pairs


def labelled_pairs(data: Path, seed: int, per_tool: int) -> list[Pair]:
    """Read labelled pairs of the training parts, at most *per_tool* requests a tool."""
    dice = random.Random(seed)
    pairs = []
    for folder in ("metatool", "sealtools", "stabletoolbench", "bfcl"):
        task_set = load_set(data, folder, "train")
        tool_of = {tool.tool_id: tool for tool in task_set.tools}
        counts: dict[str, int] = {}
        tasks = list(task_set.tasks)
        dice.shuffle(tasks)
        for task in tasks:
            for step in task.steps:
                tool = tool_of[next(iter(step))]
                counts[tool.tool_id] = counts.get(tool.tool_id, 0) + 1
                if counts[tool.tool_id] > per_tool:
                    continue
                query = task.query.strip('"')
                space = f"{folder}/{tool.namespace}"
                text = full(tool, dice)
                pairs.append(Pair(query=query, document=text, tool_id=tool.tool_id, namespace=space, source=folder))
    return pairs


def all_pairs(data: Path, seed: int) -> list[Pair]:
    """All pairs of one pass over the data; another seed gives other views and other requests."""
    return labelled_pairs(data, seed, per_tool=24) + made_pairs(data, seed, per_tool=2)
