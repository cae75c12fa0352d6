"""Law 2 for what is told beside an answer: no span, measurement or trace names a tool that its caller may not see."""

import json

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard import wiring
from pegboard.core.catalog import Reach, Risk
from pegboard.engine.trace import Record
from pegboard.engine.verdict import ProposedCall
from pegboard.service.selector import Request
from pegboard.service.traces import Wanted
from tests.crm import AGENT
from tests.servers import ScriptedToolServer, ScriptedToolServers, tool
from tests.service.made import system
from tests.service.test_telemetry import Listening
from tests.strategies import cases

WORDS = ["order", "customer", "refund", "pay", "kanarienvogel"]
CANARY = "kanarienvogel"
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
# A denied tool can be asked for by its name, its id and by what it is said to be; an unknown one by anything.
calls = st.sampled_from(
    ["crm.get_order", "people.canary_1", "canary_1", "people/canary_1", "people.no_such_canary", "canary \u202e"]
)


@pytest.mark.parametrize("record", list(Record))
@given(texts, st.lists(calls, max_size=3), st.lists(texts, min_size=1, max_size=3))
@cases(6, 1_000)
def test_nothing_that_is_told_of_a_caller_names_a_denied_tool(record, task, asked, descriptions):
    listening = Listening()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(wiring, "_telemetry", lambda: listening.telemetry)
        told = anyio.run(_told, listening, record, task.replace(CANARY, "order"), asked, descriptions)
    assert "canary" not in told
    assert CANARY not in told


async def _told(listening, record, task, asked, descriptions):
    """Select and call, and return everything that spans, measurements and traces say."""
    hidden = [tool(f"canary_{number}", description=f"{text} {CANARY}") for number, text in enumerate(descriptions, 1)]
    people = ScriptedToolServer(hidden)
    crm = ScriptedToolServer([tool("get_order", description="Read an order.")])
    made = system(ScriptedToolServers(crm=crm, people=people), record=record)
    await made.refresher.refresh()
    for one in await made.keeper.drafts():
        access = "staff" if one.tool_id.startswith("people.") else "sales"
        await made.keeper.approve([one.tool_id], access=access, by="t", risk=Risk.READ, reach=Reach.BOUNDED)
    selection, _ = await made.selector.select(Request(tasks=(task,)), AGENT)
    for name in asked:
        call = ProposedCall(tool=name, arguments={}, selection_id=selection.selection_id)
        await made.gatekeeper.call(call, AGENT)
        await made.gatekeeper.call(ProposedCall(tool=name, arguments={}), AGENT, all_listed=True)
    spans = [(span.name, dict(span.attributes), [event.name for event in span.events]) for span in listening.spans]
    traces = [one async for one in made.traces.newest(Wanted())]
    return json.dumps([spans, listening.measured, traces], ensure_ascii=False, default=str)
