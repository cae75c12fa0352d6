"""Curation files: joined with what the configuration says, and refused where a text holds what it must not."""

import pytest

from pegboard.config.load import load_config, problems_of
from pegboard.core.errors import ConfigError


@pytest.fixture
def config(tmp_path):
    """Write files and load the configuration among them."""

    def load(**files: str):
        for name, text in files.items():
            path = tmp_path / name.replace("__", "/").replace("_toml", ".toml")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        return load_config(tmp_path / "pegboard.toml", {})

    load.folder = tmp_path  # type: ignore[attr-defined]
    return load


ONE = '[tools."crm.find"]\nsummary = "Find a customer."\nkeywords = ["client"]\n'


def test_a_file_beside_the_configuration_is_read_and_written_by_the_command(config):
    found = config(curation_toml=ONE)
    assert found.tools["crm.find"].summary == "Find a customer."
    assert found.deployment().curation["crm.find"].keywords == ("client",)
    assert found.curation == config.folder / "curation.toml"


def test_globs_are_read_in_order_and_the_first_plain_name_is_written(config):
    found = config(
        pegboard_toml='curation = ["texts/*.toml", "own.toml"]',
        texts__b_toml=ONE.replace("find", "b"),
        texts__a_toml=ONE.replace("find", "a"),
    )
    assert list(found.tools) == ["crm.a", "crm.b"]
    assert found.curation == config.folder / "own.toml"
    assert config(pegboard_toml='curation = ["texts/*.toml"]').curation is None


def test_what_the_configuration_says_comes_first_and_the_file_fills_the_rest(config):
    found = config(pegboard_toml='[tools."crm.find"]\nsummary = "Mine."\nenabled = false', curation_toml=ONE)
    one = found.tools["crm.find"]
    assert (one.summary, one.keywords, one.enabled) == ("Mine.", ("client",), False)


@pytest.mark.parametrize(
    ("files", "where"),
    [
        ({"curation_toml": ONE + "enabled = true"}, "curation.toml: tools.'crm.find'.enabled"),
        ({"curation_toml": "tools = 7"}, "curation.toml: tools"),
        ({"curation_toml": "["}, "curation.toml"),
        (
            {"pegboard_toml": 'curation = ["a.toml", "b.toml"]', "a_toml": ONE, "b_toml": ONE},
            "b.toml: tools.'crm.find'",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_an_error_at_its_place(config, files, where):
    with pytest.raises(ConfigError) as error:
        config(**files)
    assert str(error.value.where).endswith(where)


TENANT = '[access.a]\ntenants = ["acme"]\n[profiles.p]\ntenant = "umbrella"\n'


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('summary = "Orders of Acme."', "summary"),
        ('keywords = ["order", "umbrella"]', "keywords[2]"),
        ('examples = ["log in with password=hunter22x"]', "examples[1]"),
    ],
)
@pytest.mark.parametrize("file", ["curation_toml", "pegboard_toml"])
def test_a_text_with_a_secret_or_a_tenants_name_is_refused_and_not_repeated(config, file, text, where):
    files = {"pegboard_toml": TENANT}
    files[file] = f'{files.get(file, "")}[tools."crm.find"]\n{text}\n'
    with pytest.raises(ConfigError) as error:
        config(**files)
    assert str(error.value.where).endswith(f"tools.'crm.find'.{where}")
    assert not any(word in str(error.value).casefold() for word in ("acme", "umbrella", "hunter22x"))


def test_every_problem_of_every_file_is_told(config):
    config(pegboard_toml=TENANT)
    (config.folder / "curation.toml").write_text('[tools.a]\nsummary = "Acme"\n[tools.b]\nkeywords = ["acme"]\n')
    assert len(problems_of(config.folder / "pegboard.toml", {})) == 2
