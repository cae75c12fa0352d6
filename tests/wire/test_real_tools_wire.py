"""The tools of 63 published servers, rendered for every API: each is one of its SDK's types.

A tenth of them, all under `PEGBOARD_SOAK=1`. Run by `make adapters` in an environment of its own.
"""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openai", reason="the model APIs' SDKs are in an environment of their own: make adapters")

from anthropic.types.beta import BetaToolUnionParam
from google.genai import types
from openai.types.chat import ChatCompletionToolUnionParam
from openai.types.responses import ToolParam

from pegboard.engine.intake import take_in_listing
from pegboard.engine.rendering import served_tool
from pegboard.engine.selection import Candidate, Why
from pegboard.providers import gemini
from pegboard.providers.capabilities import Api
from pegboard.providers.rendering import SHAPES
from pegboard.providers.schemas import compile_schema
from pegboard.providers.targets import Target
from pegboard.providers.wired import wire
from tests.wire.shapes import misfit

SERVERS = Path(__file__).parents[2] / ".." / "shared" / "data" / "live-mcp" / "servers"
EVERY = 1 if os.environ.get("PEGBOARD_SOAK") == "1" else 10

pytestmark = pytest.mark.skipif(not SERVERS.is_dir(), reason="the published listings of ../shared/data are not here")


def candidates() -> list[Candidate]:
    found = []
    for file in sorted(SERVERS.glob("*.json")):
        entries, _ = take_in_listing(file.stem, file.stem, json.loads(file.read_text())["tools"])
        found += [served_tool(entry, entry.mentions) for entry in entries]
    return [
        Candidate(tool=tool, alias=tool.tool_id, why=Why.RANKED, rank=None, score=None, tokens=0)
        for tool in found[::EVERY]
    ]


def gemini_misfit(declared: Any) -> str | None:
    try:
        types.FunctionDeclaration.model_validate(declared)
    except ValueError as error:
        return str(error)
    return None


FITS = {
    Api.OPENAI: lambda declared: misfit(declared, ToolParam),
    Api.CHAT: lambda declared: misfit(declared, ChatCompletionToolUnionParam),
    Api.COMPATIBLE: lambda declared: misfit(declared, ChatCompletionToolUnionParam),
    Api.ANTHROPIC: lambda declared: misfit(declared, BetaToolUnionParam),
    Api.GEMINI: gemini_misfit,
}


@pytest.mark.parametrize("api", FITS)
def test_every_published_tool_is_one_of_the_sdks_or_held_back_with_a_reason(api):
    tools = candidates()
    wiring = wire(tools, api)
    held = [note for note in wiring.report if note.held]
    assert len(wiring.tools) + len(held) == len(tools)
    assert not [problem for one in wiring.tools if (problem := FITS[api](SHAPES[api].function(one)))]
    assert len({one.name for one in wiring.tools}) == len(wiring.tools)
    strict = sum(one.strict for one in wiring.tools)
    print(f"\n{api}: {len(tools)} tools, {strict} strict, {len(held)} held back")


def test_every_published_tool_is_one_of_geminis_schemas_where_the_live_api_takes_nothing_else():
    for one in wire(candidates(), Api.GEMINI).tools:
        live = replace(one, compiled=compile_schema(one.tool.input_schema, Target.GEMINI_PARAMETERS))
        assert gemini_misfit(gemini.function(live)) is None
