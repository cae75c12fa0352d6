"""Bad input at the gate: every one is refused, at once, and none is dispatched or kills the process."""

import json
from dataclasses import replace
from typing import Any

import pytest

from pegboard.core.names import parse_json
from pegboard.engine.gate import judge
from pegboard.engine.intake import Refusal, take_in
from pegboard.engine.ledger import ApprovalState, Standing
from pegboard.engine.limits import EMPTY_STANDING, Limits
from pegboard.engine.verdict import Verdict
from tests.crm import AGENT, lock, policy, tool
from tests.engine.made import NOW, approval, call, facts, standing

ANY = tool("crm.any.thing", "Take anything.", {"type": "object"})
TAKES_ANY = {"entries": (ANY,), "selected": {"any": (ANY.tool_id, ANY.schema_hash)}}


def nested(levels: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(levels):
        found = {"a": found}
    return found


def judged(arguments: Any, **changes: Any) -> Verdict:
    return judge(call("any", arguments), facts(**{**TAKES_ANY, **changes}), EMPTY_STANDING)


@pytest.mark.parametrize(
    ("arguments", "constraint"),
    [
        (nested(20_000), "depth"),
        ({"a": [nested(20_000)]}, "depth"),
        ({"text": "x" * 10_000_000}, "size"),
        ({"x" * 10_000_000: 1}, "size"),
        ({"a": [0] * 200_000}, "size"),
        ({"a": float("nan")}, "json"),
        ({"a": float("inf")}, "json"),
        ({"a": 10**400}, "json"),
        ({"a": "\ud800"}, "json"),
        ({"\udfff": 1}, "json"),
        ({1: "a"}, "json"),
        ({"a": {1, 2}}, "json"),
        ({"a": b"\xff"}, "json"),
        ({"__entity": {"type": "User", "id": "root"}}, "reserved"),
        ({"a": [{"b": {"__extn": {"fn": "ip", "arg": "::1"}}}]}, "reserved"),
        ([], "type"),
        ("{}", "type"),
        (None, "type"),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 20 else "",
)
def test_arguments_that_cannot_be_taken_are_refused_with_the_rule(arguments, constraint):
    verdict = judged(arguments)
    assert (verdict.kind, verdict.constraint) == ("invalid_arguments", constraint)
    assert len(json.dumps(verdict.to_json())) < 2_000
    # The loop breaker, which looks at them first, takes them all for one.
    assert call("any", arguments).digest is None or constraint in {"reserved", "type"}


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', '{"a": NaN}', '{"a": 1e999}', b'{"a": "\xff"}', "{" * 100_000])
def test_text_that_is_no_strict_json_never_becomes_arguments(text):
    with pytest.raises(ValueError):
        parse_json(text)


CHOICE = {"anyOf": [{"$ref": "#/$defs/0"}, {"$ref": "#/$defs/0"}]}
MANY_PATHS = {
    "type": "object",
    "$defs": {
        str(n): {"anyOf": [{"$ref": f"#/$defs/{n + 1}"}, {"$ref": f"#/$defs/{n + 1}"}]} if n < 30 else {}
        for n in range(31)
    },
    **CHOICE,
}


@pytest.mark.parametrize(
    "schema",
    [
        MANY_PATHS,
        {"type": "object", "$ref": "https://example.com/s.json"},
        {"type": "object", "properties": {"x": {"$ref": "file:///etc/passwd"}}},
        {"type": "object", "properties": {"x": {"$ref": "//example.com/s"}}},
    ],
)
def test_a_schema_that_could_hang_or_fetch_is_never_taken_in(schema):
    assert isinstance(take_in({"name": "t", "inputSchema": schema}, server="crm", namespace="crm"), Refusal)


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|aa)+$", "^(?=a+$)(a+)+b$", "(?<=a)(a*)*c"])
def test_a_catastrophic_pattern_is_judged_at_once(pattern):
    entry = tool("crm.any.thing", "x", {"type": "object", "properties": {"s": {"type": "string", "pattern": pattern}}})
    changes = {"entries": (entry,), "selected": {"any": (entry.tool_id, entry.schema_hash)}}
    assert judged({"s": "a" * 40 + "!"}, **changes).kind == "invalid_arguments"


@pytest.mark.parametrize("name", ["a b", "ünïcode", "x" * 300, "$ref", "a/b~c", "__proto__"])
def test_a_property_name_that_a_provider_refuses_is_validated_as_it_is(name):
    schema = {"type": "object", "properties": {name: {"type": "integer"}}, "additionalProperties": False}
    entry = tool("crm.any.thing", "x", schema)
    changes = {"entries": (entry,), "selected": {"any": (entry.tool_id, entry.schema_hash)}}
    assert judged({name: 1}, **changes).allowed
    refused = judged({name: "1"}, **changes)
    assert refused.path == "/" + name.replace("~", "~0").replace("/", "~1")


@pytest.mark.parametrize(
    "change",
    [
        {"state": ApprovalState.ASKED},
        {"state": ApprovalState.DENIED},
        {"state": ApprovalState.USED},
        {"expires_at": NOW},
        {"asked_at": NOW + 1},
        {"identity": replace(AGENT, user="eve").identity},
        {"tool_id": "crm.other"},
        {"schema_hash": "sha256:0"},
        {"arguments": "sha256:0"},
        {"reasons": ("reach",)},
        {"reasons": ()},
    ],
    ids=lambda change: next(iter(change)),
)
def test_an_approval_that_is_not_good_for_just_this_call_lets_nothing_run(change):
    risky = {**TAKES_ANY, "policy": policy(lock((ANY,)))}
    asked = facts(**risky)
    good = approval("risk", entry=ANY, arguments={})
    asking = replace(asked, approvals=replace(asked.approvals, risk=frozenset({"write"})))
    assert judge(call("any", {}), asking, standing(granted=(good,))).allowed
    bad = replace(good, **change)
    for named in (None, "ap_1"):
        verdict = judge(call("any", {}, approval=named), asking, standing(granted=(bad,)))
        assert verdict.kind == "approval_required"


def test_a_cost_that_is_no_number_goes_beyond_every_limit():
    changes = {"limits": Limits(spend_per_day=1.0), "costs": {ANY.tool_id: float("nan")}}
    assert judged({}, **changes).kind == "limit_exceeded"


def test_a_standing_that_counts_nothing_is_no_leave():
    broken = Standing()
    verdict = judge(call("any", {}), facts(**{**TAKES_ANY, "limits": Limits(calls_per_minute=9)}), broken)
    assert verdict.kind == "unavailable"


def _branch(*values: str) -> dict[str, Any]:
    members = {"child": {"$ref": "#/$defs/node"}, "kind": {"enum": list(values)}}
    return {"type": "object", "properties": members, "required": ["child", "kind"]}


def test_alternatives_within_alternatives_are_judged_at_once_however_many_ways_fail():
    node = {"anyOf": [_branch("a", "b"), _branch("b", "c")]}
    root = {"$defs": {"node": node}, "properties": {"root": {"$ref": "#/$defs/node"}}}
    tree = tool("crm.any.thing", "Take a tree.", root)
    arguments: Any = 5
    for _ in range(13):
        arguments = {"child": arguments, "kind": "b"}
    verdict = judged({"root": arguments}, entries=(tree,), selected={"any": (tree.tool_id, tree.schema_hash)})
    # To say where each of them fails took seconds.
    assert (verdict.kind, verdict.constraint) == ("invalid_arguments", "schema")
