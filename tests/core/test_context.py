"""A context is what was verified, and holds nothing that was not said."""

from typing import Any

import pytest
from hypothesis import given

from pegboard.core.context import RuntimeContext
from pegboard.core.names import canonical_json, parse_json
from tests.strategies import contexts


@given(contexts)
def test_a_context_reads_back_as_it_was_written(context: RuntimeContext):
    stored = parse_json(canonical_json(context.to_json()))
    assert isinstance(stored, dict)
    assert RuntimeContext.from_json(stored) == context


def test_what_is_unsaid_is_empty():
    assert RuntimeContext().to_json() == {}
    assert RuntimeContext.from_json({}) == RuntimeContext()


@pytest.mark.parametrize(
    "stored",
    [
        {"admin": True},
        {"scopes": "crm.read"},
        {"scopes": 5},
        {"scopes": None},
        {"delegation": "sam"},
        {"stage": ["investigation"]},
        {"stage": 1},
        {"clearance": True},
        {"clearance": "9"},
        {"clearance": 2.5},
        {"minimum_confidence": "high"},
    ],
)
def test_a_field_of_another_kind_is_refused(stored: dict[str, Any]):
    with pytest.raises(TypeError):
        RuntimeContext.from_json(stored)


@pytest.mark.parametrize("servers", ["crm-admin", ["crm"], {"crm"}, None])
def test_rights_are_given_as_a_frozen_set(servers: Any):
    """`"crm" in "crm-admin"` is true: a text given for a set would admit to what it merely contains."""
    with pytest.raises(TypeError, match="servers cannot be"):
        RuntimeContext(servers=servers)


@pytest.mark.parametrize(
    ("context", "principal", "principals"),
    [
        (RuntimeContext(), "anonymous", {"anonymous"}),
        (RuntimeContext(user="sam"), "sam", {"sam"}),
        (RuntimeContext(user="sam", tenant="acme"), "sam@acme", {"sam", "sam@acme"}),
        (RuntimeContext(workload="bot", tenant="acme"), "bot@acme", {"bot", "bot@acme"}),
        (
            RuntimeContext(user="sam", workload="bot", delegation=("dana", "")),
            "sam+bot",
            {"sam", "bot", "dana", "sam+bot"},
        ),
        (RuntimeContext(user="", tenant=""), "anonymous", {"anonymous"}),
    ],
)
def test_a_caller_is_named_by_what_is_known(context: RuntimeContext, principal: str, principals: set[str]):
    assert context.principal == principal
    assert context.principals == principals
