"""The files of `pegboard policy test`: `[[test]]` tables, each one question to policy and the answer that is right."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from pegboard.config.parsers import At, Parser, Problems, at_most_one_of, choice, listing, names, section, text, wrong
from pegboard.config.reading import is_there, read_toml
from pegboard.config.values import Config
from pegboard.core.context import RuntimeContext
from pegboard.core.errors import ConfigError
from pegboard.engine.policy_tests import Action, Expected, PolicyTest

__all__ = ["read_tests"]


def read_tests(file: Path, config: Config) -> tuple[PolicyTest, ...]:
    """Read the tests of a file, each asked as one of the configured profiles or as the principal that it spells out.

    Raises:
        ConfigError: The file is not there, cannot be read, holds no test, or the first thing that is wrong in it.
    """
    if not is_there(file):
        raise ConfigError("there is no such file", str(file), "name one that is there")
    try:
        rows = _FILE(read_toml(file), At(str(file))).get("test", ())
    except Problems as problems:
        raise problems.errors[0] from None
    if not rows:
        raise ConfigError("there is no test in this file", str(file), "write one as a [[test]] table")
    at = At(str(file), "test")
    return tuple(_test(row, config, at.item(place)) for place, row in enumerate(rows, start=1))


def _test(row: dict[str, Any], config: Config, at: At) -> PolicyTest:
    profile, context, stage = row.pop("as", None), row.pop("principal", None), row.pop("stage", None)
    if profile is not None:
        context = config.context(profile)
    if context is None:
        raise ConfigError("it does not say as whom it is asked", str(at), 'add as = "PROFILE", or a principal')
    if context.environment is None:
        context = replace(context, environment=config.environment)
    context = context if stage is None else replace(context, stage=stage)
    name = row.pop("name", None) or f"{row['tool']} {row.get('action', Action.CONSIDER)}"
    return PolicyTest(name=name, context=context, **row)


def _principal(value: Any, at: At) -> RuntimeContext:
    try:
        return RuntimeContext.from_json(value)
    except (TypeError, AttributeError) as error:
        raise wrong(at, f"'principal' cannot be used: {error}", "write it as a profile's fields") from None


def _arguments(value: Any, at: At) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise wrong(at, "'arguments' must be a table")
    return value


def _row(**said: Any) -> dict[str, Any]:
    at_most_one_of(said, "as", "principal")
    return said


_FILE: Parser[dict[str, Any]] = section(
    dict,
    test=listing(
        section(
            _row,
            required=("tool", "expect"),
            name=text,
            **{"as": text},
            principal=_principal,
            stage=text,
            tool=text,
            action=choice(Action),
            arguments=_arguments,
            expect=choice(Expected),
            by=names,
        )
    ),
)
