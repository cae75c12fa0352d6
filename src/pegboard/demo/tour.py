"""The guided run: Pegboard's main job on real MCP servers, in a minute, with true figures only.

Everything it shows is done by the same verbs that the command line and the library use. Its files stay in
`pegboard-demo`, so that the reader can go on from there.
"""

import json
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
from rich.console import Console
from rich.markup import escape

from pegboard.adapters.run_files import FOLDER as RUNS
from pegboard.config.load import CALIBRATION
from pegboard.core.context import RuntimeContext
from pegboard.core.errors import ConfigError
from pegboard.core.text import one_line
from pegboard.engine.selection import Selection
from pegboard.engine.verdict import ProposedCall
from pegboard.service.answering import CallAnswer
from pegboard.service.refresher import ServerReport
from pegboard.service.selector import Request
from pegboard.wiring import System, build, read_config

__all__ = ["main"]

FOLDER = "pegboard-demo"
_CONFIG, _TASKS = "pegboard.toml", "tasks.jsonl"
_OURS = (
    *(_CONFIG, _TASKS, "pegboard.lock", "pegboard.db", "pegboard.db-wal", "pegboard.db-shm"),
    CALIBRATION,
)
REFUND = "create a refund of forty euros for the payment of order BF-10402"
ROTATE = "rotate the database password"


def main(folder: Path | None = None, console: Console | None = None) -> int:
    """Run the tour in *folder* and return an exit status."""
    out = console or Console(highlight=False, soft_wrap=True)
    place = _fresh(folder or Path(FOLDER))
    anyio.run(_Tour(place, out).run)
    return 0


class _Tour:
    """The steps in order; each says what it does, does it, and shows what came of it."""

    def __init__(self, place: Path, out: Console) -> None:
        self._place = place
        self._out = out

    async def run(self) -> None:
        """Walk through every step."""
        self._write_config(release=1)
        with self._system() as system:
            await self._start_servers(system)
            await self._count_all(system)
            first = await self._ask_as_two(system)
            await self._deny(system)
            await self._call(system)
        self._write_config(release=2)
        with self._system() as system:
            await self._change(system)
            await self._replay(system, first)
        self._next(first)

    async def _start_servers(self, system: System) -> None:
        self._step("Eleven MCP servers of Brackenfold, an invented maker of outdoor gear, start and are listed")
        self._say("  (+ new, ~ changed, - gone, = the same, ! waiting for a person)")
        report = await system.refresher.refresh(progress=self._listed)
        if report.failed:
            raise ConfigError(problem="a demo server did not start", fix="look at the reason above")
        self._say(f"Published as catalog version {report.catalog_version}. No tool is granted to anyone yet.")
        ready, rest = await system.keeper.classify(apply=True, by="demo")
        self._say(
            f"The configuration's globs propose access for {len(ready)} tools: locked, by id and content hash. "
            f"{len(rest)} waits for a person: {', '.join(one.tool_id for one in rest)}."
        )

    async def _count_all(self, system: System) -> None:
        self._step("What the prompt would cost with every tool in it")
        view = (await system.catalog.current()).view
        self._total = int(view.tokens.sum())
        self._say(f"{len(view.tokens)} tools take {self._total:,} tokens of definitions ({view.encoding}).")

    async def _ask_as_two(self, system: System) -> Selection:
        self._step("One request, asked for two people")
        self._say(f'  "{REFUND}"')
        selections = {}
        for name in ("clara", "hanne"):
            selections[name] = await self._select(system, name, REFUND)
        self._say("Clara may move money, Hanne may only look. No name or text of a tool she lacks reaches her model.")
        return selections["clara"]

    async def _deny(self, system: System) -> None:
        self._step("A capability that Hanne does not have")
        self._say(f'  "{ROTATE}"')
        selection = await self._select(system, "hanne", ROTATE)
        self._say(f"What the model is told: {selection.message}")

    async def _call(self, system: System) -> None:
        self._step("Calls through the gate")
        hanne = _context(self._place, "hanne")
        selection, _ = await system.selector.select(Request(tasks=("find order BF-10402",)), hanne)
        calls: tuple[tuple[str, dict[str, object]], ...] = (
            ("orders.find_order", {"order_id": "BF-10402"}),
            ("orders.find_order", {"order": "BF-10402"}),
            ("billing.create_refund", {"payment_id": "PAY-7402", "amount": 4000}),
        )
        for tool, arguments in calls:
            call = ProposedCall(tool=tool, arguments=arguments, selection_id=selection.selection_id)
            self._answer(tool, arguments, await system.gatekeeper.call(call, hanne))
        self._say(
            "The last one exists, and Hanne may not use it: the answer is the one for a tool that does not exist."
        )

    async def _change(self, system: System) -> None:
        self._step("Overnight, billing's server changes: a new schema for create_refund, one tool more, one less")
        report = await system.refresher.refresh(["billing"], progress=self._listed)
        tool = "billing.create_refund"
        self._say(f"Catalog version {report.catalog_version}. {tool} wants a reason now; calls without one would fail.")
        self._say("So it waits for a person, and until then nobody has it:")
        self._absent(await self._select(system, "clara", REFUND, show=False), tool)
        self._say("Someone reviews the change and approves it:")
        await system.keeper.approve([tool], by="demo")
        published = await system.catalog.current()
        self._say(f"  pegboard review approve {tool}  ->  catalog version {published.view.snapshot.version}")
        self._required(await self._select(system, "clara", REFUND, show=False), tool)

    async def _replay(self, system: System, first: Selection) -> None:
        self._step("The first selection, run again on the catalog and policy of that time")
        (replayed,) = await system.replayer.replay([first.trace_id])
        same = "the same bytes" if replayed.equal else f"something else: {replayed.to_json()}"
        self._say(f"  pegboard replay {first.trace_id}  ->  {same}")

    def _next(self, first: Selection) -> None:
        self._step("What to try next")
        config = self._place / "pegboard.toml"
        # Run by `make demo` of a checkout, the command is in the checkout's environment alone.
        pegboard = "pegboard" if shutil.which("pegboard") else ".venv/bin/pegboard"
        self._out.print(
            f"  On this company:  {pegboard} --config {config} select 'book a room for Friday' --as hanne\n"
            f"                    {pegboard} --config {config} explain 'restart the shop' --as hanne "
            "--tool infrastructure.restart_service\n"
            f"                    {pegboard} --config {config} review\n"
            f"                    {pegboard} --config {config} replay {first.trace_id}\n"
            f"                    {pegboard} --config {config} eval {self._place / 'tasks.jsonl'}\n"
            f"  On your own:      {pegboard} init --from ~/.cursor/mcp.json   (or any file with mcpServers)",
            markup=False,
        )

    async def _select(self, system: System, name: str, task: str, *, show: bool = True) -> Selection:
        context = _context(self._place, name)
        selection, _ = await system.selector.select(Request(tasks=(task,), limit=4), context)
        if show:
            found = await system.selector.explain(Request(tasks=(task,)), context)
            tokens = sum(one.tokens for one in selection.tools)
            self._say(
                f"{name}: {found.eligible} of {found.total} tools are eligible; outcome {selection.outcome}, "
                f"{tokens:,} tokens of definitions instead of {self._total:,}"
            )
            for one in selection.tools:
                self._say(f"    {one.rank}. {one.tool.tool_id:<28} {one_line(one.tool.description, 70)}")
        return selection

    def _absent(self, selection: Selection, tool: str) -> None:
        found = tool in {one.tool.tool_id for one in selection.tools}
        if found:
            raise ConfigError(problem=f"the demo expected {tool} to be revoked", fix="report this")
        self._say(f"  {tool} is not among the {len(selection.tools)} tools that Clara's model gets.")

    def _required(self, selection: Selection, tool: str) -> None:
        served = next((one.tool for one in selection.tools if one.tool.tool_id == tool), None)
        if served is None:
            raise ConfigError(problem=f"the demo expected {tool} among the first tools", fix="report this")
        self._say(f"  a model gets {tool} with required = {json.dumps(served.input_schema['required'])}")

    def _answer(self, tool: str, arguments: dict[str, object], answer: CallAnswer) -> None:
        self._say(f"  {tool} {json.dumps(arguments)}\n    -> {answer.verdict.kind}: {_said(answer)}")

    def _listed(self, report: ServerReport) -> None:
        counts = f"+{len(report.added)} ~{len(report.changed)} -{len(report.removed)} ={report.same} !{report.held}"
        self._say(f"  {report.server:<15} {counts:<18} {report.error or f'{report.seconds:.1f} s'}")

    def _step(self, title: str) -> None:
        self._out.print(f"\n[bold]{escape(title)}[/bold]")

    def _say(self, text: str) -> None:
        self._out.print(escape(text))

    def _write_config(self, release: int) -> None:
        python = json.dumps(sys.executable)[1:-1]
        text = _shipped("brackenfold.toml").replace("{python}", python).replace("{release}", str(release))
        (self._place / _CONFIG).write_text(text, encoding="utf-8")
        (self._place / _TASKS).write_text(_shipped(_TASKS), encoding="utf-8")

    @contextmanager
    def _system(self) -> Iterator[System]:
        system = build(read_config(self._place / "pegboard.toml"))
        try:
            yield system
        finally:
            system.close()


def _fresh(place: Path) -> Path:
    """Make the folder anew; one that holds anything that is not the demo's, or no longer is, is left alone."""
    place.mkdir(parents=True, exist_ok=True)
    if strange := sorted(path.name for path in place.iterdir() if path.name not in (*_OURS, RUNS)):
        raise ConfigError(
            problem=f"the folder {place} holds files that are not the demo's: {', '.join(strange[:3])}",
            fix="move them, or run the demo from another folder",
        )
    if edited := [name for name in (_CONFIG, _TASKS) if (place / name).exists() and not _as_written(place / name)]:
        raise ConfigError(
            problem=f"{place / edited[0]} differs from what the demo writes there, and would be written over",
            fix="move it away, or run the demo from another folder",
        )
    # An interrupted evaluation of the demo's tasks leaves what it had finished.
    shutil.rmtree(place / RUNS, ignore_errors=True)
    for name in _OURS:
        (place / name).unlink(missing_ok=True)
    return place


def _as_written(path: Path) -> bool:
    """Say whether a file is what the demo writes, with whichever Python and release."""
    shipped = re.escape(_shipped(path.name if path.name == _TASKS else "brackenfold.toml"))
    form = shipped.replace(re.escape("{python}"), r'[^"\n]*').replace(re.escape("{release}"), "[12]")
    return re.fullmatch(form, path.read_text(encoding="utf-8", errors="replace")) is not None


def _shipped(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def _context(place: Path, name: str) -> RuntimeContext:
    return read_config(place / "pegboard.toml").context(name)


def _said(answer: CallAnswer) -> str:
    if answer.result is None:
        where = f" (at {answer.verdict.path or '/'}, {answer.verdict.constraint})" if answer.verdict.constraint else ""
        return f"{answer.verdict.message}{where}"
    content = answer.result.get("content")
    first = content[0] if isinstance(content, list) and content else {}
    return one_line(str(first.get("text", "")) if isinstance(first, dict) else "", 110)
