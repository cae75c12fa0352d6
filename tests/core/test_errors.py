"""Errors are values: equal by their fields, named for a machine, and said in one sentence for a person."""

import inspect

import pytest

from pegboard.core import errors
from pegboard.core.errors import (
    CatalogError,
    ConfigError,
    DuplicateToolError,
    OutcomeUnknownError,
    PegboardError,
    RetrievalError,
    StoreError,
    UnknownToolError,
    UnreachableServerError,
    UpstreamError,
)

BRANCHES = {CatalogError, UpstreamError, RetrievalError}
RAISED = [
    each
    for _, each in inspect.getmembers(errors, inspect.isclass)
    if issubclass(each, PegboardError) and each not in BRANCHES | {PegboardError}
]


def example(kind: type[PegboardError], filling: str = "x") -> PegboardError:
    parameters = inspect.signature(kind).parameters.values()
    needed = [each for each in parameters if each.default is inspect.Parameter.empty]
    return kind(*((filling, filling) if each.name == "servers" else filling for each in needed))


@pytest.mark.parametrize("kind", RAISED)
def test_errors_are_equal_by_their_fields(kind: type[PegboardError]):
    assert example(kind) == example(kind)
    assert hash(example(kind)) == hash(example(kind))
    assert example(kind) != example(kind, "y")
    assert example(kind) not in [example(other) for other in RAISED if other is not kind]


@pytest.mark.parametrize("kind", RAISED)
def test_a_message_is_one_lower_case_sentence_without_class_names(kind: type[PegboardError]):
    message = str(example(kind))
    assert message == message.strip()
    assert message[0].islower()
    assert not message.endswith(".")
    assert not any(other.__name__ in message for other in RAISED)


@pytest.mark.parametrize("kind", RAISED)
def test_every_error_says_who_must_act(kind: type[PegboardError]):
    assert issubclass(kind, (ConfigError, StoreError, *BRANCHES))
    assert kind.__name__ in errors.__all__
    assert (example(kind).where, example(kind).fix) == (None, None)


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (ConfigError("no such file", "a.toml", "write it"), "config", "no such file"),
        (OutcomeUnknownError("crm", "it went away"), "outcome-unknown", None),
        (
            UnknownToolError("crm.lst", ("crm.list",)),
            "unknown-tool",
            "no tool 'crm.lst' in the catalog; nearest: crm.list",
        ),
        (
            DuplicateToolError("crm.list", ("a", "b")),
            "duplicate-tool",
            "tool id 'crm.list' is claimed by 'a' and 'b'; give one of them another namespace",
        ),
        (UnreachableServerError("crm", "no answer"), "unreachable-server", "server 'crm' cannot be reached: no answer"),
    ],
)
def test_an_error_names_itself_for_machines_and_people(error: PegboardError, kind: str, message: str | None):
    assert error.kind == kind
    assert message in (None, str(error))
