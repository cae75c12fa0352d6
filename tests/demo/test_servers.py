"""The demo company's servers, started for real and spoken to over stdio with the official client."""

import json
import subprocess
import sys
from collections.abc import Awaitable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio
import jsonschema_rs
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.types import INVALID_PARAMS, CallToolResult, TextContent, Tool

from pegboard.demo.servers.company import Company, open_company
from pegboard.demo.servers.roster import SERVERS, command
from pegboard.demo.servers.serving import RELEASE_VARIABLE, answer, page, release_asked

# One worker starts the servers, once.
pytestmark = pytest.mark.xdist_group("demo-servers")

# One valid call for every tool, with a piece of the answer it must give. The calls of a server run in this order on one
# memory; those of tools that only read work on a fresh one too.
CALLS: dict[str, list[tuple[str, dict[str, Any], str]]] = json.loads(
    Path(__file__).with_name("calls.json").read_text(encoding="utf-8")
)
DEPARTMENTS = sorted(SERVERS)
EVERY_TOOL = [(name, tool) for name in DEPARTMENTS for tool in SERVERS[name][1].tools]
EVERY_READ = [(name, tool) for name, tool in EVERY_TOOL if tool.effect == "read"]
EVERY_CHANGE = [(name, tool) for name, tool in EVERY_TOOL if tool.effect != "read"]
# One changes a database of its own, which is not compared; the other lifts a freeze that is not on at the start.
SEEN_CHANGES = [row for row in EVERY_CHANGE if row[1].name not in {"run_query", "unfreeze_deployments"}]

REFUND = {"payment_id": "PAY-7405", "amount": 3900}
# Server, tool, arguments, what the message must name.
REFUSED: list[tuple[str, str, dict[str, Any], str]] = [
    ("orders", "find_order", {"order_id": "10412"}, "order_id"),
    ("orders", "find_order", {"order_id": "BF-99999"}, "BF-10401"),
    ("orders", "cancel_order", {"order_id": "BF-10405", "reason": "fraud"}, "only open or held or packed"),
    ("orders", "create_order", {"customer_id": "C-101", "lines": [{"sku": "LMP-120"}]}, "lines.0"),
    ("billing", "create_refund", {"payment_id": "PAY-7401", "amount": 99_999}, "32900 cents"),
    ("billing", "email_invoice", {"invoice_id": "INV-10405", "to": "nobody"}, "to"),
    ("helpdesk", "find_customer", {}, "find_customer"),
    ("helpdesk", "assign_ticket", {"ticket_id": "T-502", "agent_id": "P-17"}, "support team"),
    ("calendar", "list_events", {"first_day": "tomorrow"}, "first_day"),
    ("calendar", "book_room", {"event_id": "E-703", "room_id": "room-9"}, "room-1"),
    ("warehouse", "reserve_stock", {"sku": "TNT-310", "site": "arnhem", "quantity": 500}, "free at arnhem"),
    ("people", "approve_leave", {"leave_id": "L-202"}, "already approved"),
    ("infrastructure", "deploy_service", {"service": "shop", "version": "5", "environment": "staging"}, "version"),
    ("infrastructure", "run_query", {"statement": "SELECT * FROM nowhere"}, "nowhere"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """What one server said, from its first page to its last answer."""

    protocol: str
    pages: list[list[Tool]]
    answers: list[CallToolResult]
    refusals: list[CallToolResult]
    broken: list[MCPError]

    @property
    def tools(self) -> dict[str, Tool]:
        return {tool.name: tool for tools in self.pages for tool in tools}


@pytest.fixture(scope="module")
def spoken() -> dict[str, Spoken]:
    """Start every server of release 1, billing of release 2, and orders once more over the older handshake."""
    said: dict[str, Spoken] = {}

    async def speak(label: str, name: str, release: int, mode: str) -> None:
        async with Client(_launch(name, release), mode=mode, read_timeout_seconds=20) as client:
            said[label] = await _converse(client, [] if release == 2 else CALLS[name], name)

    async def speak_to_all() -> None:
        async with anyio.create_task_group() as group:
            for name in DEPARTMENTS:
                group.start_soon(speak, name, name, 1, "auto")
            group.start_soon(speak, "billing 2", "billing", 2, "auto")
            group.start_soon(speak, "orders, handshake", "orders", 1, "legacy")

    anyio.run(speak_to_all)
    return said


async def _converse(client: Client, calls: list[tuple[str, dict[str, Any], str]], name: str) -> Spoken:
    pages, cursor = [], None
    while True:
        listing = await client.list_tools(cursor=cursor)
        pages.append(listing.tools)
        if (cursor := listing.next_cursor) is None:
            break
    refused = [(tool, arguments) for server, tool, arguments, _ in REFUSED if server == name and calls]
    return Spoken(
        protocol=client.protocol_version,
        pages=pages,
        refusals=[await client.call_tool(tool, arguments) for tool, arguments in refused],
        answers=[await client.call_tool(tool, arguments) for tool, arguments, _ in calls],
        broken=[await _failure(client.call_tool("no_such_tool")), await _failure(client.list_tools(cursor="nowhere"))],
    )


async def _failure(request: Awaitable[object]) -> MCPError:
    with pytest.raises(MCPError) as error:
        await request
    return error.value


def _launch(name: str, release: int = 1) -> StdioServerParameters:
    program, *arguments = command(name)
    return StdioServerParameters(command=program, args=arguments, env={RELEASE_VARIABLE: str(release)})


def _text(result: CallToolResult) -> str:
    return "".join(block.text for block in result.content if isinstance(block, TextContent))


def _call_of(server: str, tool: str) -> dict[str, Any]:
    return next(arguments for name, arguments, _ in CALLS[server] if name == tool)


@pytest.mark.parametrize("name", DEPARTMENTS)
def test_what_a_server_declares_arrives_complete_and_unchanged(spoken, name):
    declared = page(replace(SERVERS[name][1], page_size=None), None).tools
    assert [tool.model_dump() for tool in spoken[name].tools.values()] == [tool.model_dump() for tool in declared]


def test_together_they_list_120_tools_of_which_some_share_a_name(spoken):
    names = [tool.name for department in DEPARTMENTS for tools in spoken[department].pages for tool in tools]
    assert len(names) == 120
    assert names.count("get_status") == 3


@pytest.mark.parametrize("name", DEPARTMENTS)
def test_no_server_lists_a_name_twice(spoken, name):
    names = [tool.name for tools in spoken[name].pages for tool in tools]
    assert len(names) == len(set(names))


def test_orders_and_people_need_three_pages_and_the_others_one(spoken):
    sizes = {name: len(spoken[name].pages) for name in DEPARTMENTS}
    assert sizes == {**dict.fromkeys(DEPARTMENTS, 1), "orders": 3, "people": 3}


@pytest.mark.parametrize("label", [*DEPARTMENTS, "billing 2"])
def test_every_schema_is_valid_closed_on_itself_and_of_an_object(spoken, label):
    for tool in spoken[label].tools.values():
        for schema in filter(None, (tool.input_schema, tool.output_schema)):
            jsonschema_rs.meta.validate(schema)
            jsonschema_rs.validator_for(schema, offline=True)
            assert schema["type"] == "object", tool.name


@pytest.mark.parametrize("label", [*DEPARTMENTS, "billing 2"])
def test_every_tool_and_every_parameter_is_described(spoken, label):
    for tool in spoken[label].tools.values():
        assert tool.description
        bare = [name for name, schema in _parameters(tool.input_schema) if not schema.get("description")]
        assert not bare, tool.name


def _parameters(schema: object) -> Iterator[tuple[str, dict[str, Any]]]:
    """Walk the properties of a schema, at any depth."""
    if isinstance(schema, dict):
        yield from schema.get("properties", {}).items()
    for part in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from _parameters(part)


@pytest.mark.parametrize("name", DEPARTMENTS)
def test_every_tool_has_a_call_here(name):
    assert {tool for tool, _, _ in CALLS[name]} == {tool.name for tool in SERVERS[name][1].tools}


@pytest.mark.parametrize("label", [*DEPARTMENTS, "orders, handshake"])
def test_every_tool_answers_a_valid_call(spoken, label):
    for (tool, _, expected), result in zip(CALLS[label.split(",")[0]], spoken[label].answers, strict=True):
        assert not result.is_error, (tool, _text(result))
        assert expected in _text(result), tool


@pytest.mark.parametrize("name", DEPARTMENTS)
def test_a_wrong_call_is_an_error_result_that_says_what_was_wrong(spoken, name):
    expected = [(tool, hint) for server, tool, _, hint in REFUSED if server == name]
    for (tool, hint), result in zip(expected, spoken[name].refusals, strict=True):
        assert result.is_error, tool
        assert hint in _text(result), tool


@pytest.mark.parametrize("name", DEPARTMENTS)
def test_an_unknown_tool_and_an_unknown_cursor_are_errors_of_the_protocol(spoken, name):
    assert [error.code for error in spoken[name].broken] == [INVALID_PARAMS, INVALID_PARAMS]


def test_both_eras_of_the_protocol_list_the_same_tools(spoken):
    new, old = spoken["orders"], spoken["orders, handshake"]
    assert (new.protocol, old.protocol) == ("2026-07-28", "2025-11-25")
    assert list(new.tools) == list(old.tools)


def test_release_2_of_billing_changes_one_tool_adds_one_and_drops_one(spoken):
    old, new = spoken["billing"].tools, spoken["billing 2"].tools
    assert set(new) - set(old) == {"preview_refund"}
    assert set(old) - set(new) == {"apply_discount_code"}
    assert [name for name in old if name in new and old[name] != new[name]] == ["create_refund"]
    assert old["create_refund"].input_schema["required"] == ["payment_id", "amount"]
    assert new["create_refund"].input_schema["required"] == ["payment_id", "amount", "reason"]
    assert old["create_refund"].description != new["create_refund"].description


def test_a_refund_without_a_reason_passes_release_1_and_fails_release_2():
    tools = {number: {tool.name: tool for tool in server.tools} for number, server in SERVERS["billing"].items()}
    assert not answer(tools[1]["create_refund"], open_company(), REFUND).is_error
    assert "reason" in _text(answer(tools[2]["create_refund"], open_company(), REFUND))
    assert not answer(tools[2]["create_refund"], open_company(), {**REFUND, "reason": "faulty"}).is_error


@pytest.mark.parametrize(("said", "release"), [({}, 1), ({RELEASE_VARIABLE: "2"}, 2), ({RELEASE_VARIABLE: "9"}, 9)])
def test_the_release_comes_from_the_environment(said, release):
    assert release_asked(said) == release


@pytest.mark.parametrize("said", ["", "0", "-1", "two", "2.0"])
def test_a_release_that_is_no_number_is_refused(said):
    with pytest.raises(ValueError, match=RELEASE_VARIABLE):
        release_asked({RELEASE_VARIABLE: said})


@pytest.mark.parametrize(("server", "tool"), EVERY_READ, ids=lambda row: getattr(row, "name", row))
def test_a_tool_that_reads_changes_nothing(server, tool):
    company = open_company()
    assert not answer(tool, company, _call_of(server, tool.name)).is_error
    assert company == open_company()


@pytest.mark.parametrize(("server", "tool"), SEEN_CHANGES, ids=lambda row: getattr(row, "name", row))
def test_a_tool_that_does_not_only_read_changes_something(server, tool):
    company = open_company()
    assert not answer(tool, company, _call_of(server, tool.name)).is_error
    assert company != open_company()


def test_a_freeze_stops_deployments_until_it_is_lifted():
    company, tools = open_company(), {tool.name: tool for tool in SERVERS["infrastructure"][1].tools}
    deploy = {"service": "shop", "version": "4.19.0", "environment": "production"}
    answer(tools["freeze_deployments"], company, {"reason": "slow payments"})
    assert "unfreeze_deployments" in _text(answer(tools["deploy_service"], company, deploy))
    answer(tools["unfreeze_deployments"], company, {})
    assert not answer(tools["deploy_service"], company, deploy).is_error


def test_hints_are_absent_on_some_tools_and_untrue_on_others():
    silent = {tool.name for _, tool in EVERY_TOOL if tool.annotations is None}
    false_reads = {tool.name for _, tool in EVERY_CHANGE if (tool.annotations or {}).get("readOnlyHint")}
    destroyers = [tool for _, tool in EVERY_CHANGE if tool.effect == "destructive" and tool.annotations is not None]
    meek = {tool.name for tool in destroyers if not tool.annotations["destructiveHint"]}
    assert silent == {"release_order", "apply_discount_code", "delete_ticket", "book_room", "run_query"}
    assert (false_reads, meek) == ({"email_invoice"}, {"cancel_shipment"})


def test_a_query_reads_what_the_tool_for_it_would_not_give_and_its_changes_stay():
    company = open_company()
    _query(company, "UPDATE people SET salary_cents = 1 WHERE id = 'P-14'")
    assert '"rows": [[1]]' in _text(_query(company, "SELECT salary_cents FROM people WHERE id = 'P-14'"))


@pytest.mark.parametrize("statement", [
    "ATTACH DATABASE '{file}' AS other",
    "VACUUM INTO '{file}'",
    "PRAGMA writable_schema = 1",
    "SELECT 1; SELECT 2",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
    "SELECT randomblob(1000000000)",
    "SELECT load_extension('{file}')",
])  # fmt: skip
def test_a_query_reaches_no_file_and_ends_soon(tmp_path, statement):
    file = tmp_path / "out.db"
    assert _query(open_company(), statement.format(file=file)).is_error
    assert not file.exists()


def _query(company: Company, statement: str) -> CallToolResult:
    tools = {tool.name: tool for tool in SERVERS["infrastructure"][1].tools}
    return answer(tools["run_query"], company, {"statement": statement})


@pytest.mark.parametrize(("arguments", "status", "complaint"), [
    (["people"], 0, b""),
    (["payroll"], 1, b"usage"),
])  # fmt: skip
def test_a_server_ends_cleanly_with_its_input_and_prints_nothing(arguments, status, complaint):
    line = [sys.executable, "-m", "pegboard.demo.servers", *arguments]
    run = subprocess.run(line, input=b"", capture_output=True, timeout=20, check=False)
    assert (run.returncode, run.stdout) == (status, b"")
    assert run.stderr.partition(b":")[0] == complaint
