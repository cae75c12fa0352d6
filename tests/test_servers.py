"""The fake behind the `ToolServer` port does as its script says."""

import anyio
import pytest

from pegboard.core.errors import OutcomeUnknownError
from tests.adapters.sessions import walk
from tests.servers import ScriptedToolServer, tool


def test_the_fake_pages_changes_stalls_and_lies() -> None:
    async def scene() -> None:
        crm = ScriptedToolServer([tool("a")], [tool("b")])
        crm.changes_after(1, [tool("a")], [tool("c")])
        assert [page.tools[0]["name"] for page in await walk(crm)] == ["a", "c"]
        crm.never_ends()
        page = await crm.list_page("page-7")
        assert (page.tools, page.next_cursor) == ([tool("c")], "page-8")
        crm.repeats_its_cursor()
        assert {(await crm.list_page(cursor)).next_cursor for cursor in (None, "again")} == {"again"}
        crm.fails("call", OutcomeUnknownError("crm", "gone"))
        with pytest.raises(OutcomeUnknownError):
            await crm.call_tool("a", {"x": 1})
        crm.recovers("call")
        crm.answers("a", {"content": [1]})
        assert await crm.call_tool("a", {"x": 2}) == {"content": [1]}
        assert crm.calls == [("a", {"x": 1}), ("a", {"x": 2})]
        crm.stalls("list")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(crm.list_page, None)
            await crm.reached("list")
            crm.recovers("list")

    anyio.run(scene)
