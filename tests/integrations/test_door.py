"""The door: who may stand behind it, whose identity counts, and what is on record of what ran."""

import anyio
import pytest

from pegboard.engine.ledger import Ended
from pegboard.integrations.door import InLoop, OwnTools, aside, replied, stated
from pegboard.providers.calls import ModelCall
from pegboard.providers.turns import Found, SearchAsked
from tests.crm import AGENT
from tests.integrations.desk import CASHIER, CLERK, TASK, WrittenOut, opened
from tests.service.calls import Crm

FIND = "shop.find_order"


def ended(door, call_id):
    """Return how a call ended, as the ledger has it."""
    board = door.board
    return board._run(lambda: board._system.ledger.call(call_id)).ended


def test_a_tool_of_the_programs_own_is_judged_run_and_reported():
    with opened() as door:
        selection = door.select(TASK, CLERK)
        answer = door.call(FIND, {"order_id": "BF-1"}, CLERK, selection.selection_id)
        assert answer.result == {"content": [{"type": "text", "text": "BF-1: a tent, shipped on Monday"}]}
        assert ended(door, answer.call_id) is Ended.DONE


def test_a_refused_call_runs_nothing():
    ran = []
    with opened() as door:
        own = OwnTools(board=door.board, runs={"shop.refund_order": lambda **given: ran.append(given)})
        selection = own.select(TASK, CLERK)
        answer = own.call("shop.refund_order", {"order_id": "BF-1"}, CLERK, selection.selection_id)
        assert (answer.verdict.kind, ran) == ("unknown_or_denied", [])


@pytest.mark.parametrize(
    ("runs", "raised", "outcome"),
    [
        ({FIND: lambda order_id: 1 / 0}, ZeroDivisionError, Ended.ERROR),
        ({}, LookupError, Ended.NOT_SENT),
    ],
)
def test_what_goes_wrong_is_raised_and_on_record(runs, raised, outcome):
    noted = []
    with opened() as door:
        own = OwnTools(board=Noting(door.board, noted), runs=runs)
        selection = own.select(TASK, CLERK)
        with pytest.raises(raised):
            own.call(FIND, {"order_id": "BF-1"}, CLERK, selection.selection_id)
        assert [ended(door, call_id) for call_id in noted] == [outcome]


class Noting:
    """A board that notes which calls were reported."""

    def __init__(self, board, noted):
        self.select, self.check_call = board.select, board.check_call
        self._report, self._noted = board.report, noted

    def report(self, call_id, outcome, result=None):
        self._noted.append(call_id)
        self._report(call_id, outcome, result)


async def slow(order_id):
    return order_id


def test_a_coroutine_runs_under_a_synchronous_agent_and_in_the_loop_of_an_asynchronous_one():
    with opened() as door:
        own = OwnTools(board=door.board, runs={FIND: slow})
        selection = own.select(TASK, CLERK)
        given = (FIND, {"order_id": "BF-1"}, CLERK, selection.selection_id)

        async def awaited():
            return await aside(own.call, *given)

        text = [{"type": "text", "text": "BF-1"}]
        assert own.call(*given).result == {"content": text}
        assert anyio.run(awaited).result == {"content": text}


def test_the_asynchronous_service_is_a_door_in_its_own_loop():
    async def asked():
        crm = await Crm().start()
        door = InLoop(selector=crm.system.selector, gatekeeper=crm.system.gatekeeper)
        selection = await aside(door.select, "read an order", AGENT, limit=1)
        return await aside(door.call, "crm.get_order", {"id": "7"}, AGENT, selection.selection_id, conversation="a")

    answer = anyio.run(asked)
    assert (answer.verdict.kind, answer.result["structuredContent"]) == ("allowed", {"n": 7})


@pytest.mark.parametrize("given", [None, {"user": "sam"}, "sam"])
def test_a_run_for_nobody_selects_nothing(given):
    with pytest.raises(TypeError, match="no RuntimeContext"):
        stated(given)


def test_the_context_of_the_run_is_the_callers():
    assert stated(CASHIER) is CASHIER


def test_a_search_asks_for_what_is_not_loaded_yet():
    door = WrittenOut()
    asked = SearchAsked(call=ModelCall(call_id=None, name="search_tools", arguments={}), task="a note", limit=3)
    reply = replied(door, asked, CLERK, loaded=["crm.notes.add_note"], conversation="talk 7")
    assert isinstance(reply, Found)
    assert door.asked == [("a note", 3, ("crm.notes.add_note",), "talk 7")]
