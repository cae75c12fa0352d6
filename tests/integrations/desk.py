"""What the tests of this folder share: the examples' shop, a door that is written out, and how an example is run."""

import runpy
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from pegboard.core.context import RuntimeContext
from pegboard.engine.rollout import left_to_production
from pegboard.engine.selection import Selection
from pegboard.engine.verdict import Verdict, VerdictKind
from pegboard.service.answering import CallAnswer
from tests.crm import pick

EXAMPLES = Path(__file__).parents[2] / "examples" / "frameworks"
sys.path.insert(0, str(EXAMPLES))

import shop

__all__ = ["CASHIER", "CLERK", "EXAMPLES", "TASK", "WrittenOut", "leaving", "opened", "runs", "shows_the_script"]

CLERK, TASK = shop.CLERK, shop.TASK
CASHIER = replace(CLERK, user="dana", scopes=frozenset({"orders", "money"}))


@contextmanager
def opened() -> Iterator[Any]:
    """Open the shop as a door."""
    with shop.open_shop() as board:
        yield shop.door(board)


def runs(name: str) -> None:
    """Run an example as it stands."""
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")


def shows_the_script(printed: str) -> None:
    """Hold an example to what every adapter has to do: select, deny, call, refuse, and only append."""
    lines = printed.splitlines()
    offered = [line for line in lines if line.startswith("offered:")]
    lists = [line.removesuffix("]") for line in offered]
    assert len(offered) == 4
    assert "shop__find_order" in offered[0]
    assert "office__reserve_desk" not in offered[1]
    assert "office__reserve_desk" in offered[2]
    assert all(after.startswith(before) for before, after in pairwise(lists))
    answers = [line for line in lines if "->" in line]
    assert len(answers) == 5
    assert "refund" not in "".join(line for line in lines if "shop__refund_order" not in line)
    assert "invalid_arguments" in said(answers, "shop__find_order", 0)
    assert "a tent, shipped on Monday" in said(answers, "shop__find_order", 1)
    assert "They can be called now: office__reserve_desk" in said(answers, "search_tools")
    assert "a desk is reserved for Friday" in said(answers, "office__reserve_desk")
    assert any(word in said(answers, "shop__refund_order") for word in ("no such tool", "not found", "Unknown tool"))
    assert "done" in lines


def said(answers: Sequence[str], name: str, place: int = 0) -> str:
    """Return what the calls of one name were answered."""
    return [line for line in answers if name in line.partition("->")[0]][place]


@dataclass
class WrittenOut:
    """A door whose answers are written out; it notes what it was asked."""

    selections: Callable[..., Selection] = pick
    verdict: Verdict = field(default_factory=lambda: Verdict(kind=VerdictKind.ALLOWED))
    asked: list[Any] = field(default_factory=list)

    def select(
        self,
        task: str,
        context: RuntimeContext,
        *,
        limit: int | None = None,
        loaded: Sequence[str] = (),
        conversation: str | None = None,
    ) -> Selection:
        self.asked.append((task, limit, tuple(loaded), conversation))
        return self.selections(task, context, limit=limit, loaded=tuple(loaded))

    def call(
        self, tool: str, arguments: Any, context: RuntimeContext, selection: Any = None, **more: Any
    ) -> CallAnswer:
        self.asked.append((tool, arguments, selection, more))
        ran = {"content": [{"type": "text", "text": f"{tool} ran"}]} if self.verdict.allowed else None
        return CallAnswer(verdict=self.verdict, trace_id="tr_2", result=ran)


def leaving(production: Sequence[str]) -> WrittenOut:
    """Return a door whose selections leave these namespaces to production; the list may change under it."""

    def selections(task: str, context: RuntimeContext, **more: Any) -> Selection:
        found = pick(task, context, **more)
        tools = [*(one.tool.tool_id for one in found.tools), *more.get("loaded", ())]
        namespaces = {tool: tool.rpartition(".")[0] for tool in tools}
        return left_to_production(found, production, namespaces, more.get("loaded", ()))

    return WrittenOut(selections=selections)
