"""Every command and every option has help, and stands on the reference page as it is."""

import click
import pytest

from pegboard.cli import SECTIONS, pegboard
from tests.cli.answers import ANSWERS
from tests.cli.page import PAGE, commands, page

ALL = dict(commands())


@pytest.mark.parametrize("path", ALL)
def test_every_command_has_help(path):
    command = ALL[path]
    assert command.help
    first = command.get_short_help_str(limit=200)
    assert len(first) <= 80, "it has to fit the list of commands"


@pytest.mark.parametrize("path", ALL)
def test_every_option_has_help(path):
    for parameter in ALL[path].params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{path} {parameter.opts}"


@pytest.mark.parametrize("path", ALL)
def test_every_command_takes_config_and_json(path):
    names = {name for parameter in ALL[path].params for name in parameter.opts}
    assert {"--config", "--json"} <= names


@pytest.mark.parametrize("path", ALL)
def test_help_is_shown_and_ends_well(path, empty):
    answer = empty.runs(*path.split(), "--help")
    assert answer.status == 0
    assert answer.out.startswith("Usage: pegboard")


def test_every_command_stands_under_a_heading():
    assert {command.name for _, members in SECTIONS for command in members} == set(pegboard.commands)


def test_every_command_that_answers_has_a_stated_shape():
    leaves = {path for path, command in ALL.items() if not isinstance(command, click.Group)}
    assert leaves - {"demo"} == set(ANSWERS)


def test_the_page_is_that_of_the_commands():
    assert PAGE.read_text() == page(), "write it anew: python -m tests.cli.page"


def test_the_program_says_its_version(empty):
    assert empty.runs("--version").out.startswith("pegboard, version ")
