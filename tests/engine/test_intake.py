"""Intake: a verdict for each tool; the large check runs over real listings where they are at hand."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.catalog import ALWAYS, CatalogEntry, Flow, Proposal, Reach, Risk
from pegboard.engine.intake import Refusal, relate, take_in, take_in_line, take_in_lines, take_in_listing
from tests.strategies import json_values

SHARED = Path(__file__).parents[2] / ".." / "shared" / "data"


def taken(raw: Any, namespace: str = "crm") -> CatalogEntry:
    entry = take_in(raw, server="crm-server", namespace=namespace)
    assert isinstance(entry, CatalogEntry), entry
    return entry


def refused(raw: Any) -> str:
    verdict = take_in(raw, server="crm-server", namespace="crm")
    assert isinstance(verdict, Refusal)
    return verdict.reason


def line(raw: Any, **more: Any) -> CatalogEntry:
    entry = take_in_line(raw, **more)
    assert isinstance(entry, CatalogEntry), entry
    return entry


def test_a_tool_is_taken_in_as_declared():
    schema = {"type": "object", "properties": {"b": True, "a": {"type": "string"}}}
    tool = {
        "name": "find",
        "title": "Find",
        "description": "Finds \u200bit.",
        "inputSchema": schema,
        "outputSchema": {"type": "array"},
        "annotations": {"readOnlyHint": True},
        "_meta": {"x": 1},
        "execution": {},
        "icons": [],
    }
    entry = taken(tool)
    assert (entry.tool_id, entry.namespace, entry.source_server, entry.name) == (
        "crm.find",
        "crm",
        "crm-server",
        "find",
    )
    assert (entry.title, entry.description) == ("Find", "Finds \u200bit.")
    assert list(entry.input_schema["properties"]) == ["b", "a"]  # type: ignore[arg-type]
    assert entry.output_schema == {"type": "array"}
    assert entry.annotations == {"readOnlyHint": True}
    assert entry.proposal == Proposal()


@pytest.mark.parametrize(
    ("name", "tool_id", "namespace"),
    [
        ("list", "crm.list", "crm"),
        ("orders.list", "crm.orders.list", "crm.orders"),
        ("a.b.c", "crm.a.b.c", "crm.a.b"),
        (".hidden", "crm..hidden", "crm"),
        ("what..", "crm.what..", "crm"),
        ("résumé-2", "crm.résumé-2", "crm"),
    ],
)
def test_dots_in_a_name_extend_the_namespace(name, tool_id, namespace):
    entry = taken({"name": name})
    assert (entry.tool_id, entry.namespace, entry.name) == (tool_id, namespace, name)


@pytest.mark.parametrize("raw", [{"name": "a"}, {"name": "a", "inputSchema": None}])
def test_a_tool_without_a_schema_takes_any_object_and_says_so(raw):
    assert taken(raw).undeclared_schema
    assert taken(raw).input_schema == {"type": "object"}


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (None, "a tool is a JSON object, not null"),
        ("x", "a tool is a JSON object, not a text"),
        ({}, "its name is missing"),
        ({"name": 7}, "its name is a number, not a text"),
        ({"name": ""}, "its name is empty"),
        ({"name": "a\nb"}, "its name holds the unprintable character U+000A at position 1"),
        ({"name": "a\u200bb"}, "its name holds a character that nobody can see"),
        ({"name": "a" * 257}, "its name has 257 characters, at most 256 are taken"),
        ({"name": "a" * 255}, "the tool id has 259 characters, at most 256 are taken"),
        ({"name": "a", "title": []}, "its title is an array, not a text"),
        ({"name": "a", "description": {}}, "its description is an object, not a text"),
        ({"name": "a", "description": "\ud800"}, "its description holds half a surrogate pair, which no JSON text can"),
        (
            {"name": "a", "description": "x" * 100_001},
            "its description has 100,001 characters, at most 100,000 are taken",
        ),
        ({"name": "a", "annotations": []}, "its annotations are an array, not an object"),
        (
            {"name": "a", "annotations": {"x": [[[[[[[[[1]]]]]]]]]}},
            "its annotations cannot be used: it is nested more than 8 levels deep",
        ),
        (
            {"name": "a", "inputSchema": {"type": "string"}},
            "its input schema cannot be used: its root admits no object, and arguments are an object",
        ),
        ({"name": "a", "inputSchema": []}, "its input schema cannot be used: a schema is a JSON object, not an array"),
        (
            {"name": "a", "outputSchema": {"minLength": -1}},
            "its output schema cannot be used: it is not valid JSON Schema at /minLength: "
            "-1 is less than the minimum of 0",
        ),
    ],
)
def test_what_cannot_be_taken_in_is_refused_with_its_reason(raw, reason):
    assert refused(raw) == reason


def test_one_broken_tool_hides_no_other():
    raws = [
        {"name": "int", "inputSchema": {"type": "object", "properties": {"a": {"type": "int"}}}},
        {"name": "none"},
        {"name": "odd", "inputSchema": {"type": "object", "properties": {"x": True}}},
        {"name": "text", "inputSchema": {"type": "string"}},
        17,
        {"name": "none", "description": "again"},
    ]
    entries, refusals = take_in_listing("crm", "crm", raws)
    assert [entry.name for entry in entries] == ["none", "odd"]
    assert [refusal.name for refusal in refusals] == ["int", "text", "(no name)", "none"]
    assert refusals[3].reason == "a tool with this name is listed before it; the first one stays"
    assert entries[0].description == ""


def test_the_name_of_a_refused_tool_is_fit_to_be_shown():
    (refusal,) = take_in_listing("crm", "crm", [{"name": "a\x1b[31m\n" + "b" * 500}])[1]
    assert refusal.name == "a " + "b" * 77 + "…"


def test_mentions_are_found_among_all_that_the_server_lists():
    entries, _ = take_in_listing(
        "crm",
        "crm",
        [
            {"name": "get_user", "description": "After drop_user, or `search`; see broken_one and get_user."},
            {"name": "drop_user", "inputSchema": {"properties": {"then": {"enum": ["get_user"]}}}},
            {"name": "search", "description": "Search and search."},
            {"name": "broken_one", "inputSchema": 7},
        ],
    )
    assert [entry.mentions for entry in entries] == [("broken_one", "drop_user", "search"), ("get_user",), ()]


def test_mentions_do_not_cross_servers():
    here, there = taken({"name": "a", "description": "b_c"}), line({"tool_id": "x.b_c", "source_server": "x"})
    assert [entry.mentions for entry in relate([here, there])] == [(), ()]


def test_a_changed_set_of_siblings_changes_mentions_and_nothing_declared():
    before = taken({"name": "a", "description": "see get_user"})
    (after,) = relate([before], ["get_user"])
    assert after.mentions == ("get_user",)
    assert after.schema_hash == before.schema_hash
    assert after.row != before.row
    assert relate([after], [])[0] == before


def test_a_catalog_line_keeps_its_id_and_only_proposes():
    entry = line(
        {
            "tool_id": "crm/refund",
            "namespace": "crm.refunds",
            "name": "refund",
            "description": "Refunds.",
            "input_schema": {"type": "object"},
            "summary": "Give money back",
            "examples": ["refund 40 dollars"],
            "keywords": ["money"],
            "enabled": False,
            "pinned": "always",
            "access": "crm-admin",
            "risk": "destructive",
            "reach": "bounded",
            "flow": ["sends_out"],
            "category": "unknown fields are nobody's business",
            "version": "computed anew",
            "mentions": ["computed_anew"],
        }
    )
    assert (entry.tool_id, entry.namespace, entry.source_server) == ("crm/refund", "crm.refunds", "crm")
    assert (entry.summary, entry.examples, entry.keywords) == ("Give money back", ("refund 40 dollars",), ("money",))
    assert (entry.enabled, entry.pinned, entry.mentions) == (False, (ALWAYS,), ())
    assert entry.proposal == Proposal(
        access="crm-admin", risk=Risk.DESTRUCTIVE, reach=Reach.BOUNDED, flow=frozenset({Flow.SENDS_OUT})
    )


@pytest.mark.parametrize(
    ("raw", "default", "expected"),
    [
        ({"tool_id": "a.b.c"}, None, ("a.b.c", "a.b", "a", "c")),
        ({"tool_id": "a.b.c"}, "srv", ("a.b.c", "a.b", "srv", "c")),
        ({"tool_id": "a/b", "namespace": "n.m", "name": "b"}, None, ("a/b", "n.m", "n", "b")),
        ({"namespace": "n", "name": "b.c"}, None, ("n.b.c", "n.b", "n", "b.c")),
        ({"name": "b"}, "srv", ("srv.b", "srv", "srv", "b")),
        ({"tool_id": "b"}, "srv", ("b", "srv", "srv", "b")),
        ({"namespace": "n", "name": "b", "source_server": "s"}, "srv", ("n.b", "n", "s", "b")),
    ],
)
def test_what_a_line_leaves_out_is_derived_by_the_stated_rule(raw, default, expected):
    entry = line(raw, default_server=default)
    assert (entry.tool_id, entry.namespace, entry.source_server, entry.name) == expected


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ({"name": "a"}, "it has no namespace, and no server that could give it one"),
        ({"namespace": "a"}, "its name is empty"),
        ({"tool_id": "a.b\n"}, "its name holds the unprintable character U+000A at position 1"),
        ({"tool_id": "a.b", "pinned": "sometimes"}, "its pinned must be never, always, or a list of stages"),
        ({"tool_id": "a.b", "pinned": [1]}, "an item of its pinned is a number, not a text"),
        ({"tool_id": "a.b", "enabled": "yes"}, "its enabled must be true or false"),
        ({"tool_id": "a.b", "examples": "one"}, "its examples must be a list of at most 100 texts"),
        ({"tool_id": "a.b", "risk": "low"}, "its risk must be one of read, write, destructive, and is 'low'"),
        (
            {"tool_id": "a.b", "flow": ["out"]},
            "its flow must be one of reads_private, ingests_untrusted, sends_out, and is 'out'",
        ),
        ({"tool_id": "a.b", "risk": "read", "reach": "open"}, "its reach is open, so its risk cannot be read"),
        ({"tool_id": "a.b", "access": "x" * 1_001}, "its access has 1,001 characters, at most 1,000 are taken"),
    ],
)
def test_a_wrong_line_is_refused_with_its_reason(raw, reason):
    verdict = take_in_line(raw)
    assert isinstance(verdict, Refusal)
    assert verdict.reason == reason


def test_the_first_line_of_a_tool_id_stays():
    entries, refusals = take_in_lines([{"tool_id": "a.b", "description": "1"}, {"tool_id": "a.b"}, {"tool_id": "a.c"}])
    assert [(entry.tool_id, entry.description) for entry in entries] == [("a.b", "1"), ("a.c", "")]
    assert len(refusals) == 1


@pytest.mark.parametrize(
    ("pinned", "stages"), [("never", ()), (None, ()), ("always", ("*",)), (["a", "b"], ("a", "b"))]
)
def test_pinned_is_never_always_or_stages(pinned, stages):
    assert line({"tool_id": "a.b", "pinned": pinned}).pinned == stages


fields = st.sampled_from(["name", "title", "description", "inputSchema", "annotations", "tool_id", "namespace", "flow"])


@given(st.lists(json_values | st.dictionaries(fields, json_values | st.sampled_from(["a", "b.c"]), max_size=6)))
def test_any_json_at_all_gets_a_verdict(raws):
    for entries, refusals in (take_in_listing("s", "n", raws), take_in_lines(raws, default_server="s")):
        assert len(entries) + len(refusals) == len(raws)
        assert len({entry.tool_id for entry in entries}) == len(entries)


def _listings() -> Iterator[tuple[str, list[Any]]]:
    for file in sorted((SHARED / "live-mcp" / "servers").glob("*.json")):
        saved = json.loads(file.read_text(encoding="utf-8"))
        yield saved["server"], saved["tools"]


@pytest.mark.skipif(not (SHARED / "live-mcp").is_dir(), reason="the saved listings of real servers are not at hand")
def test_every_tool_of_real_servers_is_taken_in():
    entries, refusals = [], []
    for server, raws in _listings():
        found = take_in_listing(server, server, raws)
        entries += found[0]
        refusals += found[1]
    assert (len(entries), refusals) == (2_583, [])
    assert sum(bool(entry.mentions) for entry in entries) == 610


@pytest.mark.skipif(not (SHARED / "toucan_mcp").is_dir(), reason="the catalog of crawled servers is not at hand")
def test_of_a_crawled_catalog_only_the_invalid_schemas_are_refused():
    lines = (SHARED / "toucan_mcp" / "tools.jsonl").read_text(encoding="utf-8").splitlines()
    entries, refusals = take_in_lines(map(json.loads, lines))
    assert (len(entries), len(refusals)) == (4_832, 7)
    assert all("it is not valid JSON Schema at /properties/" in refusal.reason for refusal in refusals)
