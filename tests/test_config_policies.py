"""`[policy] cedar`: which files are policies, what becomes of a name that leads nowhere, and files of policy tests."""

from pathlib import Path

import pytest

from pegboard.config.load import load_config, problems_of
from pegboard.config.policy_tests import read_tests
from pegboard.config.values import Config
from pegboard.core.errors import ConfigError
from tests.policy.made import CONSIDERS, EVERYTHING


def load(folder: Path, *written: str, more: str = "") -> Config:
    listed = ", ".join(f'"{one}"' for one in written)
    (folder / "pegboard.toml").write_text(f"[policy]\ncedar = [{listed}]\n{more}")
    return load_config(folder / "pegboard.toml", {})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("policies/a.cedar", "policies/deep/b.cedar", "more.cedar"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(EVERYTHING)
    return tmp_path


@pytest.mark.parametrize(
    ("written", "files"),
    [
        ((), []),
        (("policies/*.cedar",), ["policies/a.cedar"]),
        (("policies/**/*.cedar",), ["policies/a.cedar", "policies/deep/b.cedar"]),
        (("more.cedar", "policies/*"), ["more.cedar", "policies/a.cedar"]),
        (("more.cedar", "*.cedar"), ["more.cedar"]),
    ],
)
def test_names_and_globs_lead_to_files(written: tuple[str, ...], files: list[str], folder: Path):
    config = load(folder, *written)
    assert list(config.policies) == files
    assert config.warnings == ()
    assert (config.deployment().layer is None) is (files == [])


def test_a_file_elsewhere_is_named_in_full(folder: Path):
    inner = folder / "policies"
    assert list(load(inner, str(folder / "more.cedar")).policies) == [(folder / "more.cedar").as_posix()]
    assert list(load(inner, f"{folder}/*.cedar").policies) == [(folder / "more.cedar").as_posix()]


def test_an_empty_file_is_a_file(folder: Path):
    (folder / "more.cedar").write_text("")
    assert load(folder, "more.cedar").deployment().layer is not None


def test_a_file_that_is_named_and_not_there_is_an_error(folder: Path):
    with pytest.raises(ConfigError) as error:
        load(folder, "policies/*.cedar", "typo.cedar")
    assert error.value.problem == "there is no policy file 'typo.cedar'"


def test_a_glob_that_matches_nothing_is_a_warning(folder: Path):
    config = load(folder, "rules/*.cedar", "more.cedar")
    assert [one.problem for one in config.warnings] == [
        "no file matches 'rules/*.cedar', so no policy of it is in force"
    ]


def test_a_policy_that_cannot_be_used_is_a_problem_of_the_configuration(folder: Path):
    (folder / "more.cedar").write_text("permit(principal, action, resource);")
    load(folder, "more.cedar")
    (problem,) = problems_of(folder / "pegboard.toml", {})
    assert problem.where == "more.cedar: more.cedar#1"


def test_what_is_no_glob_is_an_error(folder: Path):
    with pytest.raises(ConfigError) as error:
        load(folder, "a**b")
    assert error.value.problem.startswith("'a**b' cannot be used")


def test_policies_over_names_do_not_go_with_traces_that_keep_digests(folder: Path):
    (folder / "more.cedar").write_text(f'permit(principal == Pegboard::User::"sam", {CONSIDERS}, resource);')
    assert load(folder, "more.cedar").deployment().layer is not None
    with pytest.raises(ConfigError) as error:
        load(folder, "more.cedar", more='[traces]\nprincipal = "digest"\n').deployment()
    assert error.value.where == f"{folder / 'pegboard.toml'}: traces.principal"
    assert load(folder, "policies/*.cedar", more='[traces]\nprincipal = "digest"\n').deployment().layer is not None


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "there is no test in this file"),
        ('[[test]]\ntool = "x"\nexpect = "maybe"\nas = "sam"', "'expect' cannot be 'maybe'"),
        ('[[test]]\ntool = "x"\nexpect = "deny"', "it does not say as whom it is asked"),
        ('[[test]]\ntool = "x"\nexpect = "deny"\nas = "sam"\nprincipal = {user = "x"}', "'as' and 'principal' exclude"),
        ('[[test]]\ntool = "x"\nexpect = "deny"\nas = "nobody"', "there is no profile 'nobody'"),
        ('[[test]]\ntool = "x"\nexpect = "deny"\nprincipal = {use = "x"}', "'principal' cannot be used"),
        ('[[test]]\ntool = "x"\nexpect = "deny"\nas = "sam"\narguments = [1]', "'arguments' must be a table"),
        ('[[tests]]\ntool = "x"', "unknown key 'tests'"),
    ],
)
def test_a_file_of_policy_tests_that_is_wrong_is_an_error(content: str, problem: str, folder: Path):
    config = load(folder, more='[profiles.sam]\nuser = "sam"\n')
    (folder / "tests.toml").write_text(content)
    with pytest.raises(ConfigError, match=problem):
        read_tests(folder / "tests.toml", config)


def test_a_policy_test_has_the_deployments_environment_and_its_own_stage(folder: Path):
    config = load(folder, more='[profiles.sam]\nuser = "sam"\nstage = "first"\n')
    rows = ('as = "sam"', 'principal = { user = "x", environment = "lab" }', 'as = "sam"\nstage = "last"')
    (folder / "tests.toml").write_text("".join(f'[[test]]\ntool = "x"\nexpect = "deny"\n{row}\n' for row in rows))
    found = [(one.context.environment, one.context.stage) for one in read_tests(folder / "tests.toml", config)]
    assert found == [("production", "first"), ("lab", None), ("production", "last")]


def test_a_file_of_policy_tests_that_is_not_there_is_an_error(folder: Path):
    with pytest.raises(ConfigError, match="there is no such file"):
        read_tests(folder / "tests.toml", load(folder))
