"""The documentation is true: what it shows runs, what it names exists, what it links to is there.

A page speaks to this file in comments that no reader sees, each before the block that it is about:

    <!-- file: NAME -->      the block is written to NAME
    <!-- append: NAME -->    the block is added to the end of NAME
    <!-- exit: N -->         the last command of the block ends with N; unsaid, every command ends with 0
    <!-- trace: oldest -->   trace ids shown in the block stand for the oldest one there is

In a `console` block each `$` line is run and the lines below it are compared with what it prints: digits, ids and
hashes may differ, `…` stands for anything, blanks are blanks. `python` blocks of a page run one after another.
"""

import inspect
import json
import os
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import pegboard
from pegboard.adapters.files import read_catalog_file
from pegboard.cli import pegboard as command
from pegboard.config.load import load_config
from pegboard.config.parsers import At, Problems
from pegboard.config.sections import FILE
from pegboard.core import errors
from pegboard.core.lock import parse_lock
from pegboard.engine.asking import SelectionSettings
from pegboard.engine.fallback import DEFAULT_ROWS, Action, Cause
from pegboard.engine.intake import take_in_lines
from tests.cli.answers import ANSWERS, shape_of

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
INDEX = DOCS / "README.md"
REFERENCE = DOCS / "reference"
PAGES = sorted([*DOCS.rglob("*.md"), *ROOT.glob("*.md"), *(ROOT / "examples").rglob("*.md")])
PAGES_BY_NAME = {str(page.relative_to(ROOT)): page for page in PAGES}
_FENCE = re.compile(r"((?:^<!--[^\n]*-->\n)*)^```([a-z]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NOTE = re.compile(r"<!-- (\w+): (.*?) -->")
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block of a page, and what the comments before it say."""

    language: str
    text: str
    notes: dict[str, str]


def blocks(page: Path, *languages: str) -> list[Block]:
    found = (
        Block(language, text, dict(_NOTE.findall(notes))) for notes, language, text in _FENCE.findall(page.read_text())
    )
    return [block for block in found if not languages or block.language in languages]


def prose(page: Path) -> str:
    return _FENCE.sub("", page.read_text())


def pages_with(*languages: str) -> list[str]:
    return [name for name, page in PAGES_BY_NAME.items() if blocks(page, *languages)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder, which is the working directory and the home of the operator dana."""
    environment = {
        "HOME": str(tmp_path),
        "LOGNAME": "dana",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    for name in ("PEGBOARD_CONFIG", "PEGBOARD_DEBUG", "APPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", pages_with("console", "python"))
def test_what_a_page_shows_is_what_happens(name, folder):
    names = {"__name__": "page"}
    for block in blocks(PAGES_BY_NAME[name]):
        if file := block.notes.get("file"):
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(block.text)
        elif file := block.notes.get("append"):
            with (folder / file).open("a") as opened:
                opened.write(block.text)
        elif block.language == "console":
            session(block)
        elif block.language == "python":
            exec(compile(block.text, f"{name}: {block.text.splitlines()[0]}", "exec"), names)


def session(block: Block) -> None:
    steps = re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]
    for number, step in enumerate(steps, start=1):
        line, _, shown = step.partition("\n")
        if block.notes.get("trace") == "oldest":
            line = re.sub(r"\btr_[0-9a-f]{32}", oldest_trace, line)
        status, printed = run(line)
        wanted = int(block.notes.get("exit", 0)) if number == len(steps) else 0
        assert status == wanted, f"$ {line}\n{printed}"
        compare(line, shown, printed)


def run(line: str) -> tuple[int, str]:
    """Run one command line; ours in this process, since starting thirty interpreters takes long."""
    words = shlex.split(line)
    if words[0] == "pegboard" and not set("|><;&$") & set(line):
        result = CliRunner().invoke(command, words[1:])
        return result.exit_code, result.output
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr


def oldest_trace(_: re.Match[str]) -> str:
    status, printed = run("pegboard traces list --limit 1000 --json")
    assert status == 0, printed
    return json.loads(printed)["traces"][-1]["trace_id"]


def compare(line: str, shown: str, printed: str) -> None:
    """Find the shown lines in what was printed, in their order, with nothing between them but where `…` stands."""
    real, place, loose = [plain(one) for one in printed.splitlines()], 0, False
    for wanted in filter(None, map(plain, shown.splitlines())):
        if wanted == "…":
            loose = True
            continue
        pattern = re.compile(".*".join(map(re.escape, wanted.split("…"))).replace("\\ ", " ").replace(" .*", ".*"))
        while place < len(real) and (not real[place] or (loose and not pattern.fullmatch(real[place]))):
            place += 1
        found = real[place] if place < len(real) else "nothing"
        assert pattern.fullmatch(found), f"$ {line}\nshown:   {wanted}\nprinted: {found}\n\n{printed}"
        place, loose = place + 1, False


def plain(line: str) -> str:
    """Return a line without what differs from run to run."""
    line = re.sub(r"\b(tr|sel|call)_[0-9a-f]{32}\b", r"\1", line)
    line = re.sub(r"\b\d+-[0-9a-f]{12}\b", "VERSION", line)
    line = re.sub(r"\b[0-9a-f]{12,64}\b", "HASH", line)
    line = re.sub(r"\d{4}-\d\d-\d\dT[0-9:]+Z", "TIME", line)
    line = re.sub(r"-?\d+\.\d+", "N", line)
    return " ".join(line.split())


@pytest.mark.parametrize("name", sorted(str(one.relative_to(ROOT)) for one in (ROOT / "examples").glob("*.py")))
def test_an_example_runs(name, folder, capsys):
    runpy.run_path(str(ROOT / name), run_name="__main__")
    assert capsys.readouterr().out


@pytest.mark.parametrize("name", PAGES_BY_NAME)
def test_every_link_leads_somewhere(name):
    page = PAGES_BY_NAME[name]
    for link in _LINK.findall(prose(page)):
        if "://" in link or link.startswith("mailto:"):
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}


def test_every_page_is_reached_from_the_index():
    reached, waiting = set(), [INDEX]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        links = (link.partition("#")[0] for link in _LINK.findall(prose(page)))
        waiting += [path for link in links if link and (path := (page.parent / link).resolve()).is_file()]
    assert {page for page in PAGES if page.is_relative_to(DOCS)} <= reached


def mentioned(page: Path) -> Iterator[list[str]]:
    """Yield the words of every `pegboard` command line that a page mentions."""
    lines = [line for block in blocks(page, "sh", "console") for line in block.text.splitlines()]
    spans = re.findall(r"(?<!`)`([^`\n]+)`(?!`)", prose(page))
    for text in (*(line.removeprefix("$ ").partition(" # ")[0] for line in lines), *spans):
        if re.match(r"pegboard( |$)", text):
            yield shlex.split(text.replace("…", "").partition("|")[0])[1:]


@pytest.mark.parametrize("name", PAGES_BY_NAME)
def test_a_page_names_no_command_and_no_option_that_does_not_exist(name):
    for words in mentioned(PAGES_BY_NAME[name]):
        found: click.Command = command
        for word in [word for word in words if not word.startswith("-")]:
            if not isinstance(found, click.Group):
                break
            # Options of the program itself may stand before the command, with their value.
            found = found.commands.get(word, found if words[:1] == ["--config"] else None)
            assert found is not None, f"{words}: no command {word!r}"
        known = {name for one in (found, command) for parameter in one.params for name in parameter.opts}
        known |= {"--help", "-h"}
        assert {word.partition("=")[0] for word in words if word.startswith("-")} <= known, words


@pytest.mark.parametrize("name", PAGES_BY_NAME)
def test_a_page_names_no_file_of_the_project_that_is_not_there(name):
    for path in re.findall(r"`((?:src|tests|docs|examples|bench|training|models)/[^`\s]*)`", prose(PAGES_BY_NAME[name])):
        assert list(ROOT.glob(path.rstrip("/"))), path


@pytest.mark.parametrize("name", pages_with("toml"))
def test_a_shown_configuration_is_one(name, tmp_path):
    for block in blocks(PAGES_BY_NAME[name], "toml"):
        (tmp_path / "pegboard.toml").write_text(re.sub(r"^mcp_config.*$", "", block.text, flags=re.MULTILINE))
        load_config(tmp_path / "pegboard.toml", {})


@pytest.mark.parametrize("name", [one for one in pages_with("json", "jsonl") if not one.endswith("cli.md")])
def test_shown_json_is_json(name):
    for block in blocks(PAGES_BY_NAME[name], "json"):
        json.loads(block.text)
    for block in blocks(PAGES_BY_NAME[name], "jsonl"):
        assert [json.loads(line) for line in block.text.splitlines()]


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


def later_keys() -> set[str]:
    """Return the parts of the file that this version refuses."""
    found = set()
    for key in refused_keys(FILE, lambda inner: inner) or ():
        try:
            FILE({key: {}}, At(""))
        except Problems as problems:
            found |= {key for error in problems.errors if "not available in this version" in error.problem}
    return found


def tables(page: Path) -> dict[str, dict[str, list[str]]]:
    """Return the tables of a page by heading: of each row its cells, by the code in the first one."""
    found: dict[str, dict[str, list[str]]] = {}
    for part in re.split(r"^#+ ", page.read_text(), flags=re.MULTILINE)[1:]:
        heading, _, body = part.partition("\n")
        for row in re.findall(r"^\| (`.*) \|$", body, re.MULTILINE):
            cells = re.split(r" \| ", row)
            found.setdefault(heading.strip(" `"), {})[cells[0].strip("`")] = [cell.strip() for cell in cells[1:]]
    return found


def test_the_configuration_page_has_every_key_and_no_other():
    shown = {heading: set(rows) for heading, rows in tables(REFERENCE / "configuration.md").items()}
    later = later_keys()
    wanted = {f"[{path}]" if path else "At the top": keys for path, keys in sections()}
    wanted["At the top"] -= later | {key for key in wanted["At the top"] if any(f"[{key}" in one for one in wanted)}
    wanted["Not in this version"] = later
    assert shown == {heading: keys for heading, keys in wanted.items() if keys}


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


def test_the_library_page_has_every_public_name_with_its_signature():
    text = (REFERENCE / "library.md").read_text()
    for name in pegboard.__all__:
        assert f"`{name}" in text, name
    board = pegboard.Board
    for name in (name for name in vars(board) if not name.startswith("_")):
        signature = " ".join(str(inspect.signature(getattr(board, name))).split())
        bare = re.sub(r": [^,()=]+(\[[^=]*?\])?(?=[,)= ])", "", signature.partition(" -> ")[0])
        parameters = [one for one in inspect.signature(getattr(board, name)).parameters if one != "self"]
        shown = re.search(rf"^### `Board\.{name}\((.*)\)`$", text, re.MULTILINE)
        assert shown, f"{name}{bare}"
        assert re.findall(r"(\w+)(?==|,|$)", shown[1].replace(" ", "")) == parameters or [
            one.partition("=")[0].strip() for one in shown[1].split(",") if one.strip() not in ("*", "")
        ] == parameters


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_an_answer_shown_has_the_shape_that_the_command_gives(name):
    part = (REFERENCE / "json.md").read_text().partition(f"\n## `{name}`")[2].partition("\n## ")[0]
    if shown := re.search(r"^```json\n(.*?)^```$", part, re.MULTILINE | re.DOTALL):
        assert shape_of(json.loads(shown[1]), ANSWERS[name]) == ANSWERS[name]


def test_the_files_shown_are_read_as_they_stand(tmp_path):
    catalog, lock = (block.text for block in blocks(REFERENCE / "files.md", "jsonl"))
    (tmp_path / "catalog.jsonl").write_text(catalog)
    entries, refused = take_in_lines([one.value for one in read_catalog_file(tmp_path / "catalog.jsonl").tools])
    assert entries
    assert not refused
    assert len(parse_lock(lock))
