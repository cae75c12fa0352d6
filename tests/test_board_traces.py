"""A board writes what it owes when it is closed, and its spans join the program's own."""

import anyio
import pytest
from opentelemetry.sdk.trace import TracerProvider

from pegboard import AccessTemplate, Board, RuntimeContext, wiring
from pegboard.core.errors import StoreError
from tests.service.test_telemetry import Listening

SAM = RuntimeContext(user="sam", scopes=frozenset({"crm"}), servers=frozenset({"local"}))
TOOLS = [
    {"tool_id": "crm.get_order", "description": "Read an order.", "access": "crm", "risk": "read", "input_schema": {}}
]


def board():
    return Board.from_tools(TOOLS, {"crm": AccessTemplate(required_scopes=frozenset({"crm"}))})


def test_a_closed_board_has_written_its_traces():
    opened = board()
    selection = opened.select("read the order", SAM)
    opened.close()
    assert anyio.run(opened._system.store.trace, selection.trace_id) is not None
    opened.close()


def test_a_board_that_cannot_write_its_traces_says_so_and_is_closed_all_the_same(monkeypatch):
    async def refused(traces):
        raise StoreError("the disk is full")

    opened = board()
    monkeypatch.setattr(opened._system.store, "save_traces", refused)
    opened.select("read the order", SAM)
    with pytest.raises(StoreError):
        opened.close()
    with pytest.raises(RuntimeError, match="closed"):
        opened.select("read the order", SAM)


def test_the_spans_of_a_board_stand_below_the_span_that_is_current_where_it_is_called(monkeypatch):
    listening = Listening()
    monkeypatch.setattr(wiring, "_telemetry", lambda: listening.telemetry)
    with board() as opened, TracerProvider().get_tracer("app").start_as_current_span("app") as outer:
        opened.select("read the order", SAM)
    assert listening.span("retrieval").parent.span_id == outer.get_span_context().span_id
