"""Keeping the lock: proposals become lines only when someone says so."""

from contextlib import suppress

import pytest

from pegboard.adapters.files import LockFileAt
from pegboard.core.catalog import Proposal, Reach, Risk
from pegboard.core.errors import ConfigError, StoreError, UnknownToolError
from pegboard.engine.proposals import ProposeRule
from pegboard.service.audit import AuditKind
from tests.servers import ScriptedToolServer, ScriptedToolServers, tool
from tests.service.made import system

pytestmark = pytest.mark.anyio

RULES = {"crm": (ProposeRule(match=("get_*",), proposal=Proposal(access="sales", risk=Risk.READ)),)}


async def refreshed(*tools, **deployment):
    crm = ScriptedToolServer(list(tools))
    made = system(ScriptedToolServers(crm=crm), **deployment)
    await made.refresher.refresh()
    return made, crm


async def test_classify_shows_and_applies_only_new_tools_whose_proposal_is_complete():
    made, crm = await refreshed(tool("get_order"), tool("pay"), propose=RULES)
    ready, rest = await made.keeper.classify(apply=False, by="tests")
    assert [one.tool_id for one in ready] == ["crm.get_order"]
    assert [one.tool_id for one in rest] == ["crm.pay"]
    assert len(made.keeper.show()) == 0
    await made.keeper.classify(apply=True, by="tests")
    (line,) = made.keeper.show()
    assert (line.tool, line.access, line.risk, line.by) == ("crm.get_order", "sales", Risk.READ, "tests")
    crm.lists([tool("get_order", description="changed")])
    await made.refresher.refresh()
    assert await made.keeper.classify(apply=True, by="tests") == ((), tuple(await made.keeper.drafts()))


async def test_approving_takes_what_is_said_before_what_is_proposed():
    made, _ = await refreshed(tool("get_order"), propose=RULES)
    (line,) = await made.keeper.approve(["crm.get_order"], risk=Risk.WRITE, reach=Reach.OPEN, access="money", by="me")
    assert (line.access, line.risk, line.reach, line.at) == ("money", Risk.WRITE, Reach.OPEN, "1970-01-01T00:16:40Z")


@pytest.mark.parametrize(
    ("tools", "said", "error"),
    [
        (["crm.no_such"], {"access": "sales"}, UnknownToolError),
        (["crm.pay"], {}, ConfigError),
        (["crm.pay"], {"access": "no-such-template"}, ConfigError),
        (["crm.pay", "crm.no_such"], {"access": "sales"}, UnknownToolError),
        (["crm.pay"], {"access": "sales", "risk": Risk.READ, "reach": Reach.OPEN}, ConfigError),
    ],
)
async def test_an_approval_that_cannot_be_made_whole_locks_nothing(tools, said, error):
    made, _ = await refreshed(tool("pay"))
    with pytest.raises(error):
        await made.keeper.approve(tools, by="tests", **said)
    assert len(made.keeper.show()) == 0


async def test_a_rejected_content_waits_no_longer_until_it_changes_and_can_still_be_approved():
    made, crm = await refreshed(tool("pay"))
    await made.keeper.reject(["crm.pay"])
    assert await made.keeper.drafts() == ()
    crm.lists([tool("pay", description="Pay.")])
    await made.refresher.refresh()
    assert [one.tool_id for one in await made.keeper.drafts()] == ["crm.pay"]
    await made.keeper.reject(["crm.pay"])
    await made.keeper.approve(["crm.pay"], access="sales", by="tests")
    assert [line.tool for line in made.keeper.show()] == ["crm.pay"]


async def test_check_names_lines_without_template_tool_or_content():
    made, crm = await refreshed(tool("pay"), tool("get_order"), tool("list"))
    await made.keeper.approve(["crm.pay", "crm.get_order", "crm.list"], access="sales", by="tests")
    assert (await made.keeper.check()).problems == ()
    crm.lists([tool("get_order", description="changed"), tool("list")])
    await made.refresher.refresh()
    found = await made.keeper.check()
    assert [(tool_id, problem.split(",")[0]) for tool_id, problem in found.problems] == [
        ("crm.get_order", "has changed since it was locked; the locked content is served"),
    ]
    assert found.gone == ("crm.pay",)


async def test_a_removed_line_is_on_the_audit_and_takes_the_tool_and_its_revocation_away():
    made, crm = await refreshed(tool("pay"), tool("get_order"))
    await made.keeper.approve(["crm.pay", "crm.get_order"], access="sales", by="tests")
    crm.lists([tool("get_order")])
    await made.refresher.refresh()
    assert [one.target for one in await made.catalog.policies.suspended()] == ["crm.pay"]
    await made.keeper.remove(["crm.pay"])
    assert [line.tool for line in made.keeper.show()] == ["crm.get_order"]
    assert await made.catalog.policies.suspended() == ()
    assert (await made.keeper.check()).gone == ()
    last = [one.body async for one in made.audit.events() if one.kind == AuditKind.LOCK_CHANGED][-1]
    assert last == {"added": {}, "changed": {}, "removed": ["crm.pay"]}


async def test_removing_what_is_not_locked_removes_nothing():
    made, _ = await refreshed(tool("pay"))
    await made.keeper.approve(["crm.pay"], access="sales", by="tests")
    with pytest.raises(UnknownToolError):
        await made.keeper.remove(["crm.pay", "crm.paid"])
    assert [line.tool for line in made.keeper.show()] == ["crm.pay"]


async def test_a_changed_tool_that_is_revoked_is_said_to_be_until_someone_has_looked():
    made, crm = await refreshed(tool("get_order"), tool("pay"))
    await made.keeper.approve(["crm.get_order", "crm.pay"], access="sales", by="tests")
    narrower = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
    crm.lists([tool("get_order", inputSchema=narrower), tool("pay", description="changed")])
    await made.refresher.refresh()
    assert (await made.keeper.check()).problems == (
        ("crm.get_order", "has changed since it was locked; it is revoked until you have looked"),
        ("crm.pay", "has changed since it was locked; the locked content is served"),
    )
    assert {one.tool_id: one.revoked for one in await made.keeper.drafts()} == {"crm.get_order": True, "crm.pay": False}


class Interrupted(LockFileAt):
    """A lock file of which another process takes a line out, right after it was read so many times."""

    def __init__(self, path, tool, reads):
        super().__init__(path)
        self._other, self._tool, self._left = LockFileAt(path), tool, reads

    def read(self):
        found = super().read()
        self._left -= 1
        if self._left == 0:
            self._other.write(self._other.read().without([self._tool]))
        return found


@pytest.mark.parametrize("reads", [1, 2, 3])
async def test_an_approval_brings_nothing_back_that_was_taken_out_of_the_lock_meanwhile(reads, tmp_path, monkeypatch):
    made, _ = await refreshed(tool("get_order"), tool("pay"), propose=RULES)
    await made.keeper.classify(apply=True, by="tests")
    path = tmp_path / "pegboard.lock"
    LockFileAt(path).write(made.keeper.show())
    monkeypatch.setattr(made.catalog, "lock_file", Interrupted(path, "crm.get_order", reads))
    with suppress(StoreError):
        await made.keeper.approve(["crm.pay"], access="money", by="me")
    with suppress(StoreError):
        await made.keeper.approve(["crm.pay"], access="money", by="me")
    assert set(LockFileAt(path).read().lines) == {"crm.pay"}
