"""What training may see: the parts of each set, and that nothing it must not see is in what it sees."""

import hashlib
import random
from pathlib import Path

import pytest
from pairs import all_pairs, base_form, request
from sources import HALVED, Tool, document, load_set, load_tools, part_of, words

DATA = Path(__file__).parents[2] / "../shared/data"
here = pytest.mark.skipif(not (DATA / "metatool").is_dir(), reason="the public sets of ../shared/data are not here")

INVOICES = Tool(
    tool_id="billing/list_invoices",
    namespace="billing",
    name="listInvoices_v2",
    description="Lists the invoices of a customer. Paged.",
    parameters=(("customerId", "Whose invoices."), ("limit", "")),
)


def row(relevant: list[str], split: str = "dev", query_id: str = "1") -> dict[str, object]:
    return {"query_id": query_id, "query": "q", "relevant": relevant, "split": split}


def named(first: str, second: str) -> str:
    """Find a name whose digest begins with a digit of *first* and one of *second*."""
    digests = ((name, hashlib.sha256(name.encode()).hexdigest()) for name in map(str, range(10_000)))
    return next(name for name, digest in digests if digest[0] in first and digest[1] in second)


EVEN, ODD, LOW, HIGH = "02468ace", "13579bdf", "0123", "456789abcdef"


@pytest.mark.parametrize(
    ("folder", "labelled", "part"),
    [
        ("bfcl", row([named(EVEN, HIGH)]), "train"),
        ("bfcl", row([named(EVEN, LOW)]), "dev"),
        ("stabletoolbench", row([named(EVEN, HIGH), named(EVEN, LOW)]), "dev"),
        ("bfcl", row([named(ODD, LOW)]), "test"),
        ("stabletoolbench", row([named(EVEN, HIGH), named(ODD, HIGH)]), "none"),
        ("bfcl", row([]), "none"),
        ("sealtools", row(["x"], query_id=named(EVEN, LOW)), "dev"),
        ("sealtools", row(["x"], query_id=named(ODD, LOW)), "train"),
        ("sealtools", row(["x"], split="test_in_domain"), "test"),
        ("metatool", row(["x"], split="train"), "train"),
        ("metatool", row(["x"], split="multi"), "test"),
        ("tau2", row(["x"], split="train"), "test"),
        ("agentdojo", row(["x"], split="dev"), "test"),
    ],
)
def test_each_labelled_row_belongs_to_one_part(folder: str, labelled: dict[str, object], part: str) -> None:
    assert part_of(folder, labelled) == part


def test_a_document_is_namespace_name_description_and_parameter_names_as_words() -> None:
    expected = "billing list invoices v2: Lists the invoices of a customer. Paged. Parameters: customer id, limit"
    assert document(INVOICES) == expected


@pytest.mark.parametrize(
    ("name", "split"),
    [("getUser_v2", "get user v2"), ("HTTPServer-list", "http server list"), ("Пример_имя", "пример имя"), ("__", "")],
)
def test_an_identifier_becomes_words(name: str, split: str) -> None:
    assert words(name) == split


def test_a_request_is_made_the_same_way_from_the_same_seed() -> None:
    first, again = (request("Lists the invoices of a customer", INVOICES, random.Random(4)) for _ in range(2))
    assert first == again


@pytest.mark.parametrize(
    ("word", "base"),
    [("Lists", "list"), ("Fetches", "fetch"), ("Queries", "query"), ("Status", "status"), ("This", "this")],
)
def test_a_verb_takes_its_base_form(word: str, base: str) -> None:
    assert base_form(word) == base


@here
def test_no_pair_holds_a_tool_or_a_request_of_a_test_part() -> None:
    pairs = all_pairs(DATA, 0)
    hidden_tools = {
        tool.tool_id
        for folder in HALVED
        for tool in load_tools(DATA, folder)
        if int(hashlib.sha256(tool.tool_id.encode()).hexdigest()[0], 16) % 2
    }
    hidden_tasks = {
        task.query.strip('"')
        for folder in ("metatool", "sealtools", "stabletoolbench", "bfcl", "tau2", "agentdojo", "live-mcp")
        for part in ("dev", "test")
        for task in load_set(DATA, folder, part).tasks
    }
    seen_tasks = {pair.query for pair in pairs if pair.source != "made"}
    allowed = {"metatool", "sealtools", "stabletoolbench", "bfcl", "toucan_mcp"}
    assert {pair.namespace.split("/")[0] for pair in pairs} <= allowed
    assert not {(pair.namespace.split("/")[0], pair.tool_id) for pair in pairs} & {
        (folder, tool) for folder in HALVED for tool in hidden_tools
    }
    # Two texts that the sets themselves hold in more than one part, under several ids.
    assert len(seen_tasks & hidden_tasks) <= 60, sorted(seen_tasks & hidden_tasks)[:5]


@here
def test_the_digests_of_the_sets_are_the_ones_their_sources_state() -> None:
    for folder in ("metatool", "sealtools", "stabletoolbench", "bfcl", "toucan_mcp"):
        digest = hashlib.sha256((DATA / folder / "tools.jsonl").read_bytes()).hexdigest()
        assert digest in (DATA / folder / "SOURCE.md").read_text(encoding="utf-8")
