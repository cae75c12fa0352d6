"""The documentation is true: what it shows runs, what it names exists, what it links to is there.

In a `console` block each `$` line is run and the lines below it are compared with what it prints: scores, seconds,
token sums, times, ids and hashes may differ, `…` stands for anything, blanks are blanks. `python` blocks of a page run
one after another.
How a page speaks to these tests is said in `tests/pages.py`.
"""

import json
import os
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from pegboard.cli import pegboard as command
from pegboard.config.load import load_config
from tests.pages import DOCS, INDEX, PAGES, ROOT, Block, anchors, blocks, pages_with, prose

_PATH = re.compile(r"`((?:src|tests|docs|examples|bench|training|models)/[^`\s]*)`")
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


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
    for block in blocks(PAGES[name]):
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
        if block.notes.get("approval") == "waiting":
            line = re.sub(r"\bap_[0-9a-f]{32}", waiting_approval, line)
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


def waiting_approval(_: re.Match[str]) -> str:
    status, printed = run("pegboard approvals list --json")
    assert status == 0, printed
    (waiting,) = json.loads(printed)["approvals"]
    return waiting["approval_id"]


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
    line = re.sub(r"\b(tr|sel|call|ap)_[0-9a-f]{32}\b", r"\1", line)
    line = re.sub(r"\b\d+-[0-9a-f]{12}\b", "VERSION", line)
    line = re.sub(r"\b[0-9a-f]{12,64}\b", "HASH", line)
    line = re.sub(r"\d{4}-\d\d-\d\dT[0-9:]+Z", "TIME", line)
    # Scores, seconds, and what depends on which tools rank below the first.
    line = re.sub(r"-?\d+\.\d+|\b[\d,]+(?= tokens)", "N", line)
    return " ".join(line.split())


@pytest.mark.parametrize("name", sorted(str(one.relative_to(ROOT)) for one in (ROOT / "examples").glob("*.py")))
def test_an_example_runs(name, folder, capsys):
    runpy.run_path(str(ROOT / name), run_name="__main__")
    assert capsys.readouterr().out


@pytest.mark.parametrize("name", PAGES)
def test_every_link_leads_somewhere(name):
    page = PAGES[name]
    for link in _LINK.findall(prose(page)):
        if "://" in link or link.startswith("mailto:"):
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_every_page_is_linked_from_the_index():
    """Decisions are linked from their own index, which is linked from the first."""
    decisions = DOCS / "decisions"
    linked = {index: linked_from(index) for index in (INDEX, decisions / "README.md")}
    for page in (page for page in PAGES.values() if page.is_relative_to(DOCS) and page != INDEX):
        listed = page.parent == decisions and page.name != "README.md"
        assert page in linked[decisions / "README.md" if listed else INDEX], page


def linked_from(page: Path) -> set[Path]:
    return {(page.parent / link.partition("#")[0]).resolve() for link in _LINK.findall(prose(page))}


def mentioned(page: Path) -> Iterator[list[str]]:
    """Yield the words of every `pegboard` command line that a page mentions."""
    lines = [line for block in blocks(page, "sh", "console") for line in block.text.splitlines()]
    spans = re.findall(r"(?<!`)`([^`\n]+)`(?!`)", prose(page))
    for text in (*(line.removeprefix("$ ").partition(" # ")[0] for line in lines), *spans):
        if re.match(r"pegboard( |$)", text):
            yield shlex.split(text.replace("…", "").partition("|")[0])[1:]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_names_no_command_and_no_option_that_does_not_exist(name):
    for words in mentioned(PAGES[name]):
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


@pytest.mark.parametrize("name", PAGES)
def test_a_page_names_no_file_of_the_project_that_is_not_there(name):
    for path in _PATH.findall(prose(PAGES[name])):
        assert list(ROOT.glob(path.rstrip("/"))), path


@pytest.mark.parametrize("name", pages_with("toml"))
def test_a_shown_configuration_is_one(name, tmp_path):
    for block in blocks(PAGES[name], "toml"):
        (tmp_path / "pegboard.toml").write_text(re.sub(r"^mcp_config.*$", "", block.text, flags=re.MULTILINE))
        load_config(tmp_path / "pegboard.toml", {})


@pytest.mark.parametrize("name", [one for one in pages_with("json", "jsonl") if not one.endswith("cli.md")])
def test_shown_json_is_json(name):
    for block in blocks(PAGES[name], "json"):
        json.loads(block.text)
    for block in blocks(PAGES[name], "jsonl"):
        assert [json.loads(line) for line in block.text.splitlines()]
