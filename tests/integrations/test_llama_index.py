"""LlamaIndex: the retriever in an agent, with the framework's mock of a model.

Run by `make adapters` in an environment of its own.
"""

import asyncio
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="agent frameworks are in environments of their own: make adapters")

from llama_index.core.schema import QueryBundle
from llama_index.core.tools import FunctionTool

from pegboard.integrations.llama_index import PegboardRetriever
from tests.crm import AGENT
from tests.integrations.desk import CASHIER, CLERK, WrittenOut, leaving, opened, runs, shows_the_script

OPEN = "crm__orders__list_open_orders"


def offered(retriever: Any, said: str = "list open orders") -> dict[str, Any]:
    return {one.metadata.name: one for one in retriever.retrieve(said)}


# The framework asks itself for what its own library deprecates.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_example_does_what_an_adapter_has_to_do(capsys):
    runs("llama_index_agent.py")
    shows_the_script(capsys.readouterr().out)


def test_each_retriever_has_the_tools_of_its_caller():
    with opened() as door:
        for caller, wanted in ((CLERK, False), (CASHIER, True)):
            assert ("shop__refund_order" in offered(PegboardRetriever(door, caller), "refund an order")) is wanted


@pytest.mark.parametrize("name", [OPEN, "billing__refunds__create_refund", "search_tools"])
def test_the_name_of_a_tool_is_nothing_that_the_user_said(name):
    door = WrittenOut()
    retriever = PegboardRetriever(door, AGENT)
    before = list(offered(retriever))
    assert list(offered(retriever, name)) == before
    assert len(door.asked) == 1


def test_a_schema_goes_to_the_model_whole_and_a_long_description_ends_nothing():
    tool = offered(PegboardRetriever(WrittenOut(), AGENT))["search_tools"]
    assert tool.metadata.get_parameters_dict()["additionalProperties"] is False
    tool.metadata.description = "x" * 5000
    assert tool.metadata.to_openai_tool()["function"]["name"] == "search_tools"


def test_a_call_runs_awaited_or_not_whatever_its_parameters_are_called():
    door = WrittenOut()
    tool = offered(PegboardRetriever(door, AGENT, called="talk 7"))[OPEN]
    one, two = tool.call(self="x"), asyncio.run(tool.acall(self="x"))
    assert one.content == two.content == "crm.orders.list_open_orders ran"
    assert [(asked[1], asked[3]["conversation"]) for asked in door.asked[1:]] == [({"self": "x"}, "talk 7")] * 2


def test_a_query_may_come_as_the_frameworks_bundle():
    retriever = PegboardRetriever(WrittenOut(), AGENT, own=[OPEN])
    names = [one.metadata.name for one in asyncio.run(retriever.aretrieve(QueryBundle("list open orders")))]
    assert len(names) > 1
    assert OPEN not in names


@pytest.mark.parametrize("left", [True, False])
def test_the_agents_former_tools_stand_in_while_a_rollout_leaves_their_namespace_to_them(left):
    own = FunctionTool.from_defaults(lambda customer_id: "as before", name=OPEN)
    door = leaving(["crm.orders"] if left else [])
    retriever = PegboardRetriever(door, AGENT, production={"crm.orders": [own]})
    found = offered(retriever)
    assert (found[OPEN] is own) is left
    assert list(offered(retriever, OPEN)) == list(found)
    assert len(door.asked) == 1
