"""The page on schemas says what the table does."""

import re

from pegboard.providers.targets import FORMATS, LIMITS, TABLE, Take
from tests.pages import REFERENCE, tables

PAGE = REFERENCE / "provider-schemas.md"


def test_the_page_has_the_table_row_by_row():
    shown = tables(PAGE)["The table"]
    assert list(shown.items()) == [(topic, [*map(str, row.values())]) for topic, row in TABLE.items()]


def test_the_page_explains_every_word_of_the_table_and_no_other():
    part = PAGE.read_text().partition("| word |")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| ([^|`]+?) \|", part, re.MULTILINE)) == {*map(str, Take)}


def test_the_page_has_every_format_and_every_limit():
    formats = {target: set(re.findall("`([^`]+)`", cells[0])) for target, cells in tables(PAGE)["Formats"].items()}
    assert formats == {str(target): set(names) for target, names in FORMATS.items()}
    limits = {target: cells[0] for target, cells in tables(PAGE)["Limits"].items()}
    assert limits == {
        str(target): ", ".join(f"{most:,} {limit}" for limit, most in found.items()) for target, found in LIMITS.items()
    }
