"""Failures that users of other gateways and frameworks reported, each with its whole kind.

The number is that of the public report's kind in our collection; the name says what must not happen here.
"""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.aliases import MCP, alias
from pegboard.core.catalog import declare
from pegboard.core.policy import AccessTemplate, Policy, Reason
from pegboard.core.revocations import NO_REVOCATIONS
from pegboard.engine.asking import SelectionSettings
from pegboard.engine.facts import GateFacts
from pegboard.engine.gate import judge
from pegboard.engine.intake import Refusal, take_in, take_in_listing
from pegboard.engine.limits import EMPTY_STANDING
from pegboard.engine.selection import Outcome
from pegboard.engine.verdict import ProposedCall, VerdictKind
from tests.crm import AGENT, ENTRIES, ids, line, lock, pick, policy, schema, tool, view
from tests.strategies import cases

# 1 overload: one server with very many tools, and a task that needs two of them.

MANY = [
    tool(f"crm.things.{verb}_{noun}", f"{verb.title()} {noun.replace('_', ' ')}.", schema("id", id="Number"))
    for verb in ("create", "list", "update", "archive", "share", "tag")
    for noun in ("card", "board", "lane", "comment", "checklist", "member", "label", "webhook", "report", "space",
                 "time_log", "custom_field", "automation", "template", "attachment", "sprint", "release", "milestone")
]  # fmt: skip


@given(
    st.integers(0, 12), st.sampled_from(["create a card and then tag the release", "board", "everything everywhere"])
)
@cases(20, 500)
def test_1_never_more_schemas_than_the_limit_however_many_tools_there_are(limit, task):
    assert len(MANY) > 100
    assert len(pick(task, over=view(MANY), limit=limit).tools) <= limit


def test_1_both_tools_that_the_task_needs_are_among_the_few_and_their_tokens_are_told():
    over = view(MANY)
    selection = pick("create a card and then tag the release", over=over, limit=8)
    assert {"crm.things.create_card", "crm.things.tag_release"} <= set(ids(selection))
    every_tool = sum(len(entry.description) + len(entry.input_schema_json) for entry in MANY) // 4
    assert 0 < selection.to_json()["tokens"]["definitions"] < every_tool / 5


# 2 exposure: see also tests/laws/test_exposure.py, which holds for any hidden tool.


@pytest.mark.parametrize(
    "task", ["admin tool", "admin_tool", "`admin_tool`", "crm.admin.admin_tool", "use admin_tool now"]
)
def test_2_the_denied_tool_leaves_no_byte_in_what_a_caller_gets(task):
    admin = tool("crm.admin.admin_tool", "Zygote administration.")
    weather = tool(
        "crm.weather.weather", "Tell the weather. Unlike `admin_tool`, it is harmless.", mentions=("admin_tool",)
    )
    over = view([admin, weather], policy(lock([weather])))
    answer = str(pick(task, over=over).to_json())
    assert "admin_tool" not in answer
    assert "Zygote" not in answer
    assert answer == str(pick(task, over=view([weather], policy(lock([weather])))).to_json())


# 7 retrieval: tools that the task names come first, however many and whatever else ranks.

NAMED = ("search_graph", "trace_path", "get_code_snippet")


@given(st.permutations(NAMED), st.integers(3, 8))
@cases(20, 500)
def test_7_every_exactly_named_eligible_tool_comes_before_ranked_ones(names, limit):
    rivals = [tool(f"crm.graph.search_graph_{n}", "search graph trace path get code snippet " * 5) for n in range(20)]
    named = [tool(f"crm.code.{name}", "x") for name in NAMED]
    selection = pick(" ".join(names), over=view([*rivals, *named]), limit=limit)
    assert set(ids(selection)[:3]) == {f"crm.code.{name}" for name in NAMED}


# 9 fallback: nothing matches, or there is no index: a typed answer, never every tool.


@pytest.mark.parametrize("environment", ["production", "staging", "development", None])
@pytest.mark.parametrize("index", [True, False])
@pytest.mark.parametrize("task", ["what's the weather in Lisbon?", "", "qwzx"])
def test_9_whatever_fails_the_set_is_not_enlarged(environment, index, task):
    context = replace(AGENT, environment=environment)
    selection = pick(task, context, view(index=index), SelectionSettings(limit=3))
    assert selection.outcome in {Outcome.NO_TOOL, Outcome.PAUSED}
    assert selection.cause is not None
    assert selection.tools == ()


# 12 tenants: two tenants own tools of one bare name.


def two_tenants():
    entries = [tool(f"{tenant}.stock.getinventory", f"Stock of {tenant}.") for tenant in ("alpha", "beta")]
    templates = {tenant: AccessTemplate(tenants=frozenset({tenant})) for tenant in ("alpha", "beta")}
    locked = lock(entries).granting(line(entry, access=entry.source_server) for entry in entries)
    return view(entries, Policy(lock=locked, templates=templates, used=frozenset({Reason.TENANT})))


@pytest.mark.parametrize("tenant", ["alpha", "beta"])
def test_12_a_bare_name_resolves_inside_the_callers_own_eligible_set(tenant):
    over = two_tenants()
    context = replace(AGENT, tenant=tenant, servers=frozenset({"alpha", "beta"}))
    other = {"alpha": "beta", "beta": "alpha"}[tenant]
    selection = pick("getinventory", context, over)
    assert ids(selection) == [f"{tenant}.stock.getinventory"]
    facts = GateFacts(
        context=context,
        snapshot=over.snapshot,
        policy=over.policy,
        revocations=NO_REVOCATIONS,
        now=0.0,
        selected={one.alias: (one.tool.tool_id, one.tool.schema_hash) for one in selection.tools},
    )
    for name, verdict in (
        (f"{tenant}.stock.getinventory", VerdictKind.ALLOWED),
        (f"{other}.stock.getinventory", VerdictKind.UNKNOWN_OR_DENIED),
        ("getinventory", VerdictKind.UNKNOWN_OR_DENIED),
    ):
        assert judge(ProposedCall(tool=name, arguments={}), facts, EMPTY_STANDING).kind is verdict


# 13 names: a second server changes no name of the first.


@given(st.lists(st.text("abAB_.-é 漢", min_size=1, max_size=90).filter(str.strip), unique=True, max_size=8))
@cases(60, 5_000)
def test_13_an_alias_depends_on_its_own_tool_id_alone_and_fits_the_wire(tool_ids):
    aliases = [alias(tool_id) for tool_id in tool_ids]
    assert aliases == [alias(tool_id) for tool_id in reversed(tool_ids)][::-1]
    assert len(set(aliases)) == len(aliases)
    for one in aliases:
        assert 0 < len(one) <= MCP.limit
        assert not MCP.foreign.search(one)


def test_13_an_id_that_looks_like_a_hashed_alias_cannot_take_its_place():
    hashed = alias("a tool with blanks")
    assert alias(hashed) != hashed


def test_13_a_clients_prefix_counts_in_the_final_name():
    prefix = "mcp__pegboard__"
    name = alias("my-company-observability." + "a" * 45, MCP.after(prefix))
    assert len(prefix + name) <= 64


# 15 schema: references are kept whole or not at all.

REFERRED = {
    "type": "object",
    "properties": {"f": {"$ref": "#/$defs/F"}, "g": {"$ref": "#/properties/f"}},
    "$defs": {"F": {"type": "string", "enum": ["a", "b"]}},
}


def test_15_a_reference_and_what_it_refers_to_are_served_and_checked_together():
    entry = take_in({"name": "t", "inputSchema": REFERRED}, server="crm", namespace="crm")
    served = pick("t", over=view([entry], policy(lock([entry])))).tools[0].tool.input_schema
    assert served == REFERRED
    over = view([entry], policy(lock([entry])))
    facts = GateFacts(context=AGENT, snapshot=over.snapshot, policy=over.policy, revocations=NO_REVOCATIONS, now=0.0,
                      listed={"crm.t"})  # fmt: skip
    for arguments, verdict in (
        ({"f": "a", "g": "b"}, VerdictKind.ALLOWED),
        ({"g": "c"}, VerdictKind.INVALID_ARGUMENTS),
    ):
        assert judge(ProposedCall(tool="crm.t", arguments=arguments), facts, EMPTY_STANDING).kind is verdict


# 16 schema: a verdict for each tool; valid but odd is taken; the rest of the list survives.


@pytest.mark.parametrize(
    ("declared", "taken"),
    [
        ({"inputSchema": {"type": "int"}}, False),
        ({}, True),
        ({"inputSchema": None}, True),
        ({"inputSchema": {"type": "object", "properties": {"x": True}}}, True),
        ({"inputSchema": {"type": "string"}}, False),
        ({"inputSchema": {"type": "object", "$ref": "https://example.com/s.json"}}, False),
        ({"inputSchema": {"type": "object", "properties": {"x": {"$ref": "file:///etc/passwd"}}}}, False),
        ({"inputSchema": []}, False),
        ({"inputSchema": "object"}, False),
        ({"inputSchema": {"type": "object", "x-unheard-of": 1}}, True),
    ],
)
def test_16_each_tool_has_its_own_verdict_and_the_rest_survives(declared, taken):
    fine = {"name": "fine", "inputSchema": {"type": "object"}}
    entries, refusals = take_in_listing("crm", "crm", [{"name": "odd", **declared}, fine])
    assert ("crm.odd" in {entry.tool_id for entry in entries}) is taken
    assert "crm.fine" in {entry.tool_id for entry in entries}
    assert [refusal.name for refusal in refusals] == ([] if taken else ["odd"])
    assert all(isinstance(refusal, Refusal) and refusal.reason for refusal in refusals)


def test_16_a_missing_schema_is_the_empty_object_and_is_told_apart():
    entry = take_in({"name": "t"}, server="crm", namespace="crm")
    assert (entry.input_schema, entry.undeclared_schema) == ({"type": "object"}, True)
    assert not declare(tool_id="a", namespace="a", source_server="a", name="a", input_schema={}).undeclared_schema
    assert ENTRIES[0].undeclared_schema is False
