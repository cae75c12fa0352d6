"""The desks that the command's tests sit at. Each is laid out once and copied for every test."""

import os
import shutil
from contextlib import contextmanager

import pytest

from tests.cli.desk import BILLING, CONFIG, CRM, Desk, listing, tool
from tests.cli.labelled import ARMS, TASKS


@pytest.fixture
def empty(tmp_path, monkeypatch):
    """A folder with nothing in it, which is the working directory and the home of the operator dana."""
    for name, value in (("HOME", str(tmp_path)), ("LOGNAME", "dana")):
        monkeypatch.setenv(name, value)
    for name in ("PEGBOARD_CONFIG", "PEGBOARD_DEBUG", "APPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return Desk(tmp_path)


@pytest.fixture
def desk(empty):
    """A folder with a configuration and the saved listings of two servers."""
    return _laid_out(empty)


@pytest.fixture
def stocked(empty, stocked_folder):
    """The same, imported and locked under the template crm."""
    return _copied(stocked_folder, empty)


@pytest.fixture
def labelled(stocked):
    """The same, with labelled tasks and arms to compare."""
    stocked.writes("tasks.jsonl", TASKS)
    stocked.writes("pegboard.toml", stocked.reads("pegboard.toml") + ARMS)
    return stocked


@pytest.fixture
def busy(empty, busy_folder):
    """A catalog in which one tool has changed and one is new, with a trace."""
    return _copied(busy_folder, empty)


@pytest.fixture(scope="session")
def stocked_folder(tmp_path_factory):
    with _at(_laid_out(Desk(tmp_path_factory.mktemp("stocked")))) as desk:
        answer = desk.runs("catalog", "import", "listings", "--approve", "crm", LOGNAME="dana")
        assert answer.status == 0, answer.err
    return desk.folder


@pytest.fixture(scope="session")
def busy_folder(stocked_folder, tmp_path_factory):
    with _at(_copied(stocked_folder, Desk(tmp_path_factory.mktemp("busy")))) as desk:
        changed = tool("cancel_order", "Cancel an order at any time.", order_id="Order number")
        desk.writes("listings/crm.json", listing("crm", [CRM[0], changed, tool("close_case", "Close a case.")]))
        desk.writes("bad.jsonl", '{"name": "x", "namespace": "y"}\nnot json\n')
        desk.runs("catalog", "import", "listings", LOGNAME="dana")
        desk.runs("select", "give Dana her money back", "--as", "sam")
    return desk.folder


def _laid_out(desk):
    desk.writes("pegboard.toml", CONFIG)
    desk.writes("listings/crm.json", listing("crm", CRM))
    desk.writes("listings/billing.json", listing("billing", BILLING))
    return desk


def _copied(folder, desk):
    shutil.copytree(folder, desk.folder, dirs_exist_ok=True)
    return desk


@contextmanager
def _at(desk):
    before = os.getcwd()
    os.chdir(desk.folder)
    try:
        yield desk
    finally:
        os.chdir(before)
