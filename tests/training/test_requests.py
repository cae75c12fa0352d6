"""Our own requests, on which parameters are chosen: the tools they ask for are there, and no task that only judges."""

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DATA = ROOT / "../shared/data"
here = pytest.mark.skipif(not (DATA / "toucan_mcp").is_dir(), reason="the public sets of ../shared/data are not here")


def rows(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


REQUESTS = rows(ROOT / "bench" / "requests.jsonl")


def test_each_request_has_its_own_id_and_text_and_a_right_tool_for_each_step():
    assert len({one["query_id"] for one in REQUESTS}) == len({one["query"] for one in REQUESTS}) == len(REQUESTS)
    assert all(one["acceptable"] and all(one["acceptable"]) for one in REQUESTS)


@here
def test_every_tool_that_a_request_asks_for_is_published():
    published = {row["tool_id"] for row in rows(DATA / "toucan_mcp" / "tools.jsonl")}
    assert {tool for one in REQUESTS for step in one["acceptable"] for tool in step} <= published


@here
def test_no_request_is_a_task_that_only_judges():
    judging = {row["query"] for row in rows(DATA / "live-mcp" / "tasks.jsonl")}
    assert judging.isdisjoint(one["query"] for one in REQUESTS)
