"""Encoders behind the ranking: made once for each text, and never missed by more than their channel."""

import numpy as np
import pytest

from pegboard.adapters.memory import MemoryStore
from pegboard.core.errors import EncoderError
from pegboard.engine.fallback import Cause
from pegboard.engine.selection import Outcome
from pegboard.retrieval.index import Index
from pegboard.retrieval.query import read
from pegboard.service.encoding import Encoders
from pegboard.service.selector import Request
from tests.crm import AGENT, ENTRIES
from tests.servers import ScriptedToolServer, ScriptedToolServers, tool
from tests.service.made import system

pytestmark = pytest.mark.anyio

GET, PAY = tool("get_order", description="Read an order."), tool("pay_invoice", description="Pay an invoice.")


class Letters:
    """An encoder that counts letters, remembers what it was given, and fails when it is told to."""

    model_id, dimensions = "letters@1", 26

    def __init__(self) -> None:
        self.given: list[str] = []
        self.broken = False

    async def encode(self, texts):
        if self.broken:
            raise EncoderError(model=self.model_id, problem="a vector holds NaN")
        self.given += texts
        return np.array([[min(127, text.lower().count(chr(97 + n))) for n in range(26)] for text in texts], np.int8)


def index(*channels):
    return Index.build(ENTRIES, {channel: np.ones((len(ENTRIES), 26), np.int8) for channel in channels})


async def test_a_text_is_encoded_once_whatever_becomes_of_the_catalog():
    letters, store = Letters(), MemoryStore()
    encoders = Encoders({"letters": letters}, store)
    first, models = await encoders.documents(ENTRIES, ["letters"])
    assert (first["letters"].shape, models) == ((len(ENTRIES), 26), {"letters": "letters@1"})
    given = len(letters.given)
    again, _ = await encoders.documents(ENTRIES[:3], ["letters"])
    assert len(letters.given) == given
    assert (again["letters"] == first["letters"][:3]).all()


async def test_a_failing_encoder_costs_its_channel_and_nothing_else():
    letters, good = Letters(), Letters()
    letters.broken = True
    encoders = Encoders({"letters": letters, "good": good}, MemoryStore())
    matrices, models = await encoders.documents(ENTRIES, ["letters", "good"])
    assert (set(matrices), set(models)) == ({"good"}, {"good"})
    assert set((await encoders.query(["cancel an order"], index("letters", "good"))).vectors) == {"good"}


class Short(Letters):
    """An encoder that answers with one vector too few."""

    async def encode(self, texts):
        return (await super().encode(texts))[1:]


async def test_an_encoder_that_answers_with_another_number_of_vectors_has_failed():
    encoders = Encoders({"letters": Short()}, MemoryStore())
    assert await encoders.documents(ENTRIES, ["letters"]) == ({}, {})
    assert (await encoders.query(["cancel an order"], index("letters"))).vectors == {}


async def test_a_request_has_a_vector_for_each_of_its_texts():
    tasks = ["find the invoice, and then pay the supplier"]
    found = await Encoders({"letters": Letters()}, MemoryStore()).query(tasks, index("letters"))
    assert len(found.vectors["letters"]) == len(read(tasks).texts) == 3


async def crm(letters):
    made = system(ScriptedToolServers(crm=ScriptedToolServer([GET, PAY])))
    made.catalog.encoders._channels = {"letters": letters}
    await made.refresher.refresh()
    await made.keeper.approve(["crm.get_order", "crm.pay_invoice"], access="sales", by="tests")
    return made


async def test_when_the_encoder_fails_at_a_request_the_words_still_rank_and_no_more_tools_come():
    letters = Letters()
    made = await crm(letters)
    assert set((await made.catalog.current()).view.index.channels) == {"letters"}
    letters.broken = True
    selection, _ = await made.selector.select(Request(tasks=("read an order",), limit=1), AGENT)
    assert [one.tool.tool_id for one in selection.tools] == ["crm.get_order"]


class Long(Letters):
    """An encoder whose vectors are longer than exact arithmetic allows."""

    model_id, dimensions = "long@1", 2_000

    async def encode(self, texts):
        return np.ones((len(texts), self.dimensions), np.int8)


async def test_when_no_index_can_be_built_the_fallback_table_answers():
    made = await crm(Long())
    selection, _ = await made.selector.select(Request(tasks=("read an order",), require=("crm.pay_invoice",)), AGENT)
    assert (selection.outcome, selection.cause) == (Outcome.PAUSED, Cause.INDEX_DOWN)
    assert [one.tool.tool_id for one in selection.tools] == ["crm.pay_invoice"]
