"""The reference pages say what the code says: every key, error, public name, answer and file, and no other."""

import inspect
import json
import re
from collections.abc import Iterator
from dataclasses import fields

import pytest

import pegboard
from pegboard import AccessTemplate, RuntimeContext
from pegboard.adapters.files import read_catalog_file
from pegboard.config.parsers import At, Problems
from pegboard.config.sections import FILE
from pegboard.core import errors
from pegboard.core.lock import parse_lock
from pegboard.engine.asking import SelectionSettings
from pegboard.engine.fallback import DEFAULT_ROWS, Action, Cause
from pegboard.engine.intake import take_in_lines
from pegboard.engine.selection import Candidate, Selection
from pegboard.engine.verdict import Verdict
from pegboard.evaluation.fixtures import read_fixture
from pegboard.service.answering import CallAnswer
from tests.cli.answers import ANSWERS, shape_of
from tests.pages import DOCS, REFERENCE, blocks, tables


def sections(parse=FILE, path: str = "", wrap=lambda inner: inner) -> Iterator[tuple[str, set[str]]]:
    """Yield every section of the configuration with its keys, asked of the parser itself."""
    keys = refused_keys(parse, wrap)
    if keys is None:
        return
    yield path, keys
    for key in sorted(keys):
        inside = f"{path}.{key}".lstrip(".")
        for name, shape in (
            (inside, lambda inner, key=key: wrap({key: inner})),
            (f"{inside}.NAME", lambda inner, key=key: wrap({key: {"x": inner}})),
            (f"[{inside}]", lambda inner, key=key: wrap({key: [inner]})),
        ):
            yield from sections(parse, name, shape)


def refused_keys(parse, wrap) -> set[str] | None:
    """Return the keys that a section names when it is given one it cannot know; None where there is no section."""
    probe = "\N{SNOWMAN}"
    try:
        parse(wrap({probe: 1}), At(""))
    except Problems as problems:
        for error in problems.errors:
            if error.problem == f"unknown key {probe!r}" and error.fix:
                return set(error.fix.removeprefix("known here: ").split(", "))
    return None


def test_the_configuration_page_has_every_key_and_no_other():
    shown = {heading: set(rows) for heading, rows in tables(REFERENCE / "configuration.md").items()}
    found = dict(sections())
    wanted = {f"[{path}]" if path else "At the top": keys for path, keys in found.items()}
    for path in filter(None, found):
        # A key whose value is a section has a heading in place of a row.
        parent, _, key = path.strip("[]").removesuffix(".NAME").rpartition(".")
        wanted[f"[{parent}]" if parent else "At the top"].discard(key)
    assert shown == wanted


def test_the_configuration_page_has_the_true_defaults_of_selection():
    rows = tables(REFERENCE / "configuration.md")["[selection]"]
    for key in ("limit", "all_tools_at_most"):
        assert rows[key][1] == f"`{getattr(SelectionSettings(), key)}`"


def test_the_fallback_table_is_the_default_one():
    page = DOCS / "how-to" / "tune-selection.md"
    part = page.read_text().partition("## When the ranking cannot be trusted")[2]
    rows = re.findall(r"^\| `(\w+)` \| (?:any|`(\w+)`) \| `(\w+)` \|", part, re.MULTILINE)
    wanted = [(str(row.cause), str(row.risk or ""), str(row.do)) for row in DEFAULT_ROWS]
    assert rows == wanted
    assert {*map(str, Cause)} == {cause for cause, _, _ in rows}
    assert {*map(str, Action)} <= set(re.findall(r"`(\w+)`", part))


def test_the_error_page_has_every_kind_and_no_other():
    # The branches of the tree are never raised themselves.
    kinds = {
        one().kind if one is errors.PegboardError else one.__new__(one).kind
        for one in map(errors.__dict__.get, errors.__all__)
        if not one.__subclasses__()
    }
    rows = {key for heading in tables(REFERENCE / "errors.md").values() for key in heading}
    assert {*kinds, "usage", "system", "interrupted", "unexpected"} <= rows
    assert rows <= {*kinds, "usage", "system", "interrupted", "unexpected", *map(str, (0, 1, 2, 3, 130, 141))}


def test_the_library_page_has_every_verb_with_its_signature():
    text = (REFERENCE / "library.md").read_text()
    board = pegboard.Board
    verbs = [name for name in vars(board) if not name.startswith("_")]
    assert re.findall(r"^### `(.*)`$", text, re.MULTILINE) == [
        f"Board.{name}{bare_signature(getattr(board, name))}" for name in verbs
    ]


def bare_signature(verb) -> str:
    parameters = [
        one.replace(annotation=one.empty) for one in inspect.signature(verb).parameters.values() if one.name != "self"
    ]
    return str(inspect.Signature(parameters))


@pytest.mark.parametrize("value", [RuntimeContext, AccessTemplate, Selection, Candidate, CallAnswer, Verdict])
def test_the_library_page_has_every_field_of_what_is_returned(value):
    assert list(tables(REFERENCE / "library.md")[value.__name__]) == [one.name for one in fields(value)]


def test_the_library_page_has_every_public_name():
    headings = re.findall(r"^## `(\w+)`$", (REFERENCE / "library.md").read_text(), re.MULTILINE)
    assert set(pegboard.__all__) <= set(headings)


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_an_answer_shown_has_the_shape_that_the_command_gives(name):
    part = (REFERENCE / "json.md").read_text().partition(f"\n## `{name}`")[2].partition("\n## ")[0]
    if shown := re.search(r"^```json\n(.*?)^```$", part, re.MULTILINE | re.DOTALL):
        assert shape_of(json.loads(shown[1]), ANSWERS[name]) == ANSWERS[name]


def test_the_files_shown_are_read_as_they_stand(tmp_path):
    catalog, lock, tasks = (block.text for block in blocks(REFERENCE / "files.md", "jsonl"))
    (tmp_path / "catalog.jsonl").write_text(catalog)
    entries, refused = take_in_lines([one.value for one in read_catalog_file(tmp_path / "catalog.jsonl").tools])
    assert entries
    assert not refused
    assert len(parse_lock(lock))
    for number, line in enumerate(tasks.splitlines()):
        _, ignored = read_fixture(json.loads(line), number)
        assert not ignored
