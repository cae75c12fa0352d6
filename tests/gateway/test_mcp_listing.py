"""What a client is listed: by its authorization alone, the same bytes each time, in both eras."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as some
from mcp import Client, MCPError

from pegboard.core.aliases import mark
from pegboard.core.catalog import Risk
from pegboard.core.context import RuntimeContext
from pegboard.core.lock import Lock
from pegboard.core.names import compact_json
from pegboard.core.policy import AccessTemplate, Policy, Reason, decide_tool
from pegboard.core.revocations import NO_REVOCATIONS, Revocation
from pegboard.engine.asking import SelectionSettings
from pegboard.gateway.listing import Listed, Lister, ListMode, ListSettings, at_any_stage
from tests.crm import AGENT, ENTRIES, line, schema
from tests.gateway.made import BILLING_TOOLS, CRM_TOOLS, LEGACY, MODERN, Desk, client
from tests.servers import ScriptedToolServer, tool

BOTH = pytest.mark.parametrize("mode", [MODERN, LEGACY])
OWN = ["search_tools", "describe_tool", "call_tool"]
CRM = ["crm.close_case", "crm.find_customer", "crm.list_open_orders", "crm.stop_all"]
DANAS = ["billing.create_refund", "billing.get_payment", *sorted([*CRM, "crm.merge_cases"])]
WHOLE = ListSettings(mode=ListMode.ALL)


def asked(desk: Desk, deed: Callable[[Client], Awaitable[Any]], token: str = "sam", mode: str = MODERN) -> Any:
    """Do one thing as a client."""

    async def scene() -> Any:
        await desk.start()
        async with desk.streams(token, mode) as made:
            return await deed(made)

    return anyio.run(scene)


async def names(made: Client) -> list[str]:
    return [one.name for one in (await made.list_tools()).tools]


def listed(desk: Desk, token: str = "sam", settings: ListSettings | None = None) -> Listed:
    """Make one caller's list without a client."""

    async def scene() -> Listed:
        await desk.start()
        caller = await desk.identity.context_of(desk.credential(token))
        return await Lister(desk.system.catalog, settings or ListSettings()).listed(caller)  # type: ignore[arg-type]

    return anyio.run(scene)


@BOTH
def test_the_list_is_what_is_pinned_and_our_own_three(mode: str):
    assert asked(Desk(), names, "sam", mode) == [*OWN, "crm.stop_all"]


@BOTH
def test_by_configuration_every_eligible_tool_is_listed(mode: str):
    assert asked(Desk(WHOLE), names, "sam", mode) == CRM
    assert asked(Desk(WHOLE), names, "dana", mode) == DANAS


def test_in_shadow_the_list_is_as_without_us():
    assert list(listed(Desk(), settings=ListSettings(mode=ListMode.SHADOW)).ids) == CRM


def test_a_small_catalog_is_listed_whole_and_a_larger_one_is_not():
    assert list(listed(Desk(), settings=ListSettings(all_at_most=4)).ids) == CRM
    assert list(listed(Desk(), settings=ListSettings(all_at_most=3)).ids) == ["crm.stop_all"]


def test_stage_and_flags_are_not_in_the_list():
    """`close_case` is for a stage that sam is not in, and is listed."""
    desk = Desk(WHOLE)

    async def scene() -> list[bytes]:
        await desk.start()
        lister, found = Lister(desk.system.catalog, WHOLE), []
        for stage, flags in [(None, ()), ("resolution", ("f",)), ("investigation", ())]:
            caller = await desk.identity.context_of(desk.credential("sam"))
            caller = replace(caller, stage=stage, flags=frozenset(flags))  # type: ignore[type-var]
            found.append(compact_json(list((await lister.listed(caller)).tools)).encode())
        return found

    assert len(set(anyio.run(scene))) == 1


def test_a_template_that_admits_no_stage_lists_for_nobody():
    desk = Desk(WHOLE)
    desk.crm.lists([tool("find_sometimes"), tool("find_never")])

    async def scene() -> list[str]:
        await desk.system.refresher.refresh()
        await desk.lock("closing", "crm.find_sometimes")
        await desk.lock("never", "crm.find_never")
        async with desk.streams() as made:
            return await names(made)

    assert anyio.run(scene) == ["crm.find_sometimes"]


ENTRY = ENTRIES[0]
SOME = some.frozensets(some.sampled_from(["crm", "x"]))
STATED = some.builds(
    AccessTemplate,
    required_scopes=some.none() | SOME,
    allowed_stages=some.none() | some.frozensets(some.sampled_from(["*", "a", "b"])),
    required_flags=some.none() | SOME,
)


def allowed(template: AccessTemplate, caller: RuntimeContext, *, listing: bool) -> bool:
    """Say whether one tool under this template is for this caller, as it is called or as it is listed."""
    rules = Policy(
        lock=Lock.of([line(ENTRY, access="t")]),
        templates={"t": template},
        used=frozenset({Reason.SCOPE, Reason.STAGE, Reason.FLAG}),
    )
    return decide_tool(ENTRY, at_any_stage(rules) if listing else rules, caller, NO_REVOCATIONS).allowed


@given(STATED, SOME)
def test_a_tool_is_listed_where_some_stage_and_some_flags_would_do_and_nowhere_else(
    template: AccessTemplate, scopes: frozenset[str]
):
    holder = replace(AGENT, scopes=scopes)
    work = [replace(holder, stage=stage, flags=frozenset({"crm", "x"})) for stage in ("a", "b")]
    somewhere = any(allowed(template, one, listing=False) for one in work)
    assert allowed(template, replace(holder, stage="listed"), listing=True) == somewhere


def test_the_list_is_private_and_says_how_long_it_holds():
    async def hints(made: Client) -> Any:
        page = await made.list_tools()
        return page.cache_scope, page.ttl_ms

    assert asked(Desk(), hints) == ("private", 60_000)


@BOTH
def test_the_list_is_the_same_bytes_however_its_servers_are_ordered(mode: str):
    async def whole(made: Client) -> str:
        return (await made.list_tools()).model_dump_json()

    shuffled = Desk(WHOLE)
    shuffled.crm.lists(*[[one] for one in reversed(CRM_TOOLS)])
    assert asked(shuffled, whole, "dana", mode) == asked(Desk(WHOLE), whole, "dana", mode)


@BOTH
def test_a_client_of_either_era_reads_a_long_list_page_by_page(mode: str):
    async def pages(made: Client) -> list[list[str]]:
        found, cursor = [], None
        while True:
            page = await made.list_tools(cursor=cursor)
            found.append([one.name for one in page.tools])
            cursor = page.next_cursor
            if cursor is None:
                return found

    found = asked(Desk(replace(WHOLE, page=3)), pages, "sam", mode)
    assert found == [CRM[:3], CRM[3:]]


@pytest.mark.parametrize("cursor", ["x", "", "0000000000000000-3", "-3", "٣"])
def test_a_cursor_of_another_list_is_refused(cursor: str):
    async def deed(made: Client) -> Any:
        with pytest.raises(MCPError) as refused:
            await made.list_tools(cursor=cursor)
        return refused.value.error.code

    assert asked(Desk(WHOLE), deed) == -32602


def test_a_text_names_no_tool_that_its_reader_is_not_listed():
    """`close_case` speaks of `merge_cases`, which sam may not see."""
    assert "merge_cases" not in str(listed(Desk(), "sam", WHOLE).tools)
    assert "Not for `merge_cases`" in str(listed(Desk(), "dana", WHOLE).tools)


def test_hints_are_the_locks_and_not_the_servers():
    desk = Desk(WHOLE)
    desk.crm.lists([tool("find_customer", annotations={"readOnlyHint": True, "title": "Free money"})])

    async def scene() -> Any:
        await desk.system.refresher.refresh()
        await desk.lock("sales", "crm.find_customer", risk=Risk.DESTRUCTIVE)
        async with desk.streams() as made:
            return (await made.list_tools()).tools[0].annotations

    found = anyio.run(scene)
    assert (found.read_only_hint, found.destructive_hint, found.title) == (False, True, None)


def test_the_server_offers_tools_and_neither_resources_nor_prompts():
    async def capabilities(made: Client) -> Any:
        found = made.session.server_capabilities
        return found.tools.list_changed, found.resources, found.prompts

    assert asked(Desk(), capabilities, "sam", "auto") == (True, None, None)
    assert asked(Desk(), capabilities, "sam", LEGACY) == (True, None, None)


def test_clients_that_connect_build_nothing():
    """Case 5: an index is made once for a version, off the path of requests; a list once for a kind of callers."""
    desk = Desk(WHOLE)

    async def scene() -> int:
        await desk.start()
        made: list[Listed] = []
        async with desk.serving() as url:
            async with client(url, "sam") as one:
                await names(one)
            published = await desk.system.catalog.current()

            async def connect() -> None:
                async with client(url, "sam") as one:
                    await names(one)

            async with anyio.create_task_group() as tasks:
                for _ in range(6):
                    tasks.start_soon(connect)
            assert await desk.system.catalog.current() is published
            lister = desk.gateway._lister
            assert lister._basis is not None
            made += lister._basis.lists.values()
        return len(made)

    assert anyio.run(scene) == 1


def test_a_definition_goes_only_to_who_may_use_the_tool_now_whatever_the_gate_said_before():
    """A halt may come between the gate's word and the definition."""

    async def scene() -> list[bool]:
        desk = await Desk().start()
        lister = Lister(desk.system.catalog, ListSettings())
        sam, dana = [await desk.identity.context_of(desk.credential(token)) for token in ("sam", "dana")]
        told = [await lister.definition("billing.create_refund", one) for one in (sam, dana)]
        halted = Revocation(target="billing.create_refund", why="booked twice", by="ops", since=0.0)
        await desk.system.catalog.policies.halt(halted)
        told += [await lister.definition(name, dana) for name in ("billing.create_refund", "billing.nothing")]
        return [one is not None for one in told]

    assert anyio.run(scene) == [False, True, False, False]


LONG = f"list_{'everything_' * 5}now"
LISTS_ALL = tool(LONG, description="List everything now.", inputSchema=schema("page", page="Which page"))


def test_10_a_long_name_leaves_room_for_what_the_client_puts_before_it_and_is_called_by_it():
    billing = ScriptedToolServer((*BILLING_TOOLS, LISTS_ALL))
    desk = Desk(WHOLE, billing=billing, selection=SelectionSettings(client_prefix="mcp__pegboard__"))

    async def deed(made: Client) -> tuple[str, bool]:
        await desk.lock("money", f"billing.{LONG}")
        (name,) = [one for one in await names(made) if one.endswith(mark(f"billing.{LONG}"))]
        return name, (await made.call_tool(name, {"page": "1"})).is_error

    name, failed = asked(desk, deed, "dana")
    assert (len(f"mcp__pegboard__{name}"), failed) == (64, False)


def test_11_what_a_search_finds_has_the_name_that_lists_have():
    billing = ScriptedToolServer((*BILLING_TOOLS, LISTS_ALL))
    desk = Desk(billing=billing, selection=SelectionSettings(client_prefix="mcp__pegboard__"))

    async def deed(made: Client) -> list[Any]:
        await desk.lock("money", f"billing.{LONG}")
        sought = {"task": "list everything now", "detail": "full"}
        answer = (await made.call_tool("search_tools", sought)).structured_content
        name = answer["tools"][0]["name"]
        meant = {"tool": name, "selection": answer["selection"]}
        described = (await made.call_tool("describe_tool", meant)).structured_content["tool"]["name"]
        return [name, described, (await made.call_tool("call_tool", {**meant, "arguments": {"page": "1"}})).is_error]

    name, described, failed = asked(desk, deed, "dana")
    assert name == described == SelectionSettings(client_prefix="mcp__pegboard__").alias_of(f"billing.{LONG}")
    assert not failed
