"""The pages of the documentation, read as their readers' tools read them: fenced blocks, prose, tables, headings.

A page speaks to the tests in comments that no reader sees, each on a line before the block that it is about:

    <!-- file: NAME -->      the block is written to NAME
    <!-- append: NAME -->    the block is added to the end of NAME
    <!-- exit: N -->         the last command of the block ends with N; unsaid, every command ends with 0
    <!-- trace: oldest -->   trace ids in the commands of the block stand for the oldest trace there is
    <!-- approval: waiting --> approval ids in the commands of the block stand for the one that waits
"""

import re
from dataclasses import dataclass
from pathlib import Path

__all__ = ["DOCS", "INDEX", "PAGES", "REFERENCE", "ROOT", "Block", "anchors", "blocks", "pages_with", "prose", "tables"]

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
INDEX = DOCS / "README.md"
REFERENCE = DOCS / "reference"
_FILES = sorted([*DOCS.rglob("*.md"), *ROOT.glob("*.md"), *(ROOT / "examples").rglob("*.md")])
PAGES = {str(page.relative_to(ROOT)): page for page in _FILES}
_FENCE = re.compile(r"((?:^<!--[^\n]*-->\n)*)^```([a-z]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NOTE = re.compile(r"<!-- (\w+): (.*?) -->")


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block of a page, and what the comments before it say."""

    language: str
    text: str
    notes: dict[str, str]


def blocks(page: Path, *languages: str) -> list[Block]:
    """Return the fenced blocks of a page, of all languages or of those named."""
    found = (
        Block(language, text, dict(_NOTE.findall(notes))) for notes, language, text in _FENCE.findall(page.read_text())
    )
    return [block for block in found if not languages or block.language in languages]


def prose(page: Path) -> str:
    """Return a page without its fenced blocks."""
    return _FENCE.sub("", page.read_text())


def pages_with(*languages: str) -> list[str]:
    """Name the pages that have a block of one of these languages."""
    return [name for name, page in PAGES.items() if blocks(page, *languages)]


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}


def tables(page: Path) -> dict[str, dict[str, list[str]]]:
    """Return the tables of a page by heading: of each row its cells, by the code in the first one."""
    found: dict[str, dict[str, list[str]]] = {}
    for part in re.split(r"^#+ ", page.read_text(), flags=re.MULTILINE)[1:]:
        heading, _, body = part.partition("\n")
        for row in re.findall(r"^\| (`.*) \|$", body, re.MULTILINE):
            cells = re.split(r" \| ", row)
            found.setdefault(heading.strip(" `"), {})[cells[0].strip("`")] = [cell.strip() for cell in cells[1:]]
    return found
