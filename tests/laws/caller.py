"""Processes that call tools, made to be killed: `python -m tests.laws.caller CONFIG KILLS SEED`.

Two callers at a time run on one store, as two replicas do, and begin the same deeds at once; each is killed at a
moment drawn from the seed, and the next ones take up the same work: the same keys, the same writes without a key, the
same requests for approval, each several times at once and over new selections. They are forked from a process that has
loaded everything already, so that most of a life is spent calling.
"""

import os
import random
import signal
import sys
import threading
import traceback
from dataclasses import replace

import anyio

import pegboard.adapters.mcp_client  # noqa: F401 -- the service imports it when it connects; no caller should wait
from pegboard.config.values import Config
from pegboard.core.context import RuntimeContext
from pegboard.core.errors import ConfigError
from pegboard.engine.verdict import ProposedCall, VerdictKind
from pegboard.service.selector import Request
from pegboard.wiring import System, build, read_config

SAM = RuntimeContext(user="sam", tenant="acme", scopes=frozenset({"crm"}), servers=frozenset({"crm"}))
# An order is always worked on by the same user; so many later orders are another's, before one user's requests that
# nobody decides have come to their limit.
ORDERS_OF_ONE = 20
AT_ONCE = 3
# A life works on so many orders, and so many lives on the same ones.
WIDTH, LIVES = 2, 8
# A life is measured in deeds, since a busy machine does fewer in the same time; it ends within one of them.
MOST_DEEDS = 3
LONGEST_DEED_S = 0.06


async def live(system: System, dice: random.Random, first: int, told: int) -> None:
    """Call until killed, and tell of each deed as it begins."""
    async with system.sessions():
        while True:
            os.write(told, b"!")
            order = first + dice.randrange(WIDTH)
            await DEEDS[dice.randrange(len(DEEDS))](system, order)


async def keyed(system: System, order: int) -> None:
    """Refund an order under its key, several times at once."""
    await _at_once(system, ProposedCall(tool="", arguments={"order": f"keyed-{order}"}, key=f"key-{order}"), "refund")


async def unkeyed(system: System, order: int) -> None:
    """Refund an order without a key, several times at once."""
    await _at_once(system, ProposedCall(tool="", arguments={"order": f"plain-{order}"}), "refund")


async def approved(system: System, order: int) -> None:
    """Erase an order, as someone else approves it, several times at once."""
    call = ProposedCall(tool="", arguments={"order": f"asked-{order}"})
    answers = await _at_once(system, call, "erase")
    for asked in sorted({answer.approval_id for answer in answers if answer.approval_id is not None}):
        try:
            await system.approver.grant(asked, by="dana")
        except ConfigError:
            continue  # the other process was quicker
    await _at_once(system, call, "erase")


DEEDS = (keyed, unkeyed, approved)


async def _at_once(system: System, call: ProposedCall, name: str) -> list:
    order = int(call.arguments["order"].rpartition("-")[2])
    caller = replace(SAM, user=f"sam-{order // ORDERS_OF_ONE}")
    selection, _ = await system.selector.select(Request(tasks=(f"{name} an order",)), caller)
    (alias,) = [one.alias for one in selection.tools if one.tool.tool_id == f"crm.{name}"]
    call = replace(call, tool=alias, selection_id=selection.selection_id)
    answers = []

    async def one() -> None:
        answers.append(await system.gatekeeper.call(call, caller))

    async with anyio.create_task_group() as tasks:
        for _ in range(AT_ONCE):
            tasks.start_soon(one)
    wrong = {answer.verdict.kind for answer in answers} - EXPECTED
    if wrong:
        raise AssertionError(f"a call of {name} was answered {sorted(wrong)}")
    return answers


EXPECTED = {
    VerdictKind.ALLOWED,
    VerdictKind.APPROVAL_REQUIRED,
    VerdictKind.CONFIRM_REPEAT,
    VerdictKind.OUTCOME_UNKNOWN,
    VerdictKind.UNAVAILABLE,
}


class Caller:
    """A caller in a process of its own: it prepares, waits for the start, and calls until it is killed."""

    def __init__(self, config: Config, seed: int, first: int, start: int, starter: int) -> None:
        self.told, tell = os.pipe()
        self.child = os.fork()
        if self.child:
            os.close(tell)
            return
        try:
            os.close(starter)
            system = build(config)
            os.write(tell, b"!")
            os.read(start, 1)
            anyio.run(live, system, random.Random(seed), first, tell)
        except BaseException:  # noqa: BLE001 -- whatever it is, it is said before the process ends
            traceback.print_exc()
        os._exit(1)

    def hear(self, times: int) -> None:
        """Wait until it told so often that it goes on."""
        for _ in range(times):
            os.read(self.told, 1)

    def kill(self) -> bool:
        """Kill it; False where it had ended by itself."""
        os.kill(self.child, signal.SIGKILL)
        os.close(self.told)
        return os.waitpid(self.child, 0)[1] == signal.SIGKILL


def main() -> None:
    """Start callers two at a time and kill each; end with 1 where one ended by itself."""
    path, kills, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    config, dice = read_config(path), random.Random(seed)
    for kill in range(0, kills, 2):
        start, starter = os.pipe()
        callers = [Caller(config, seed + kill, kill // LIVES, start, starter) for _ in range(2)]
        for caller in callers:
            caller.hear(1)
        os.close(starter)
        for caller in callers:
            caller.hear(dice.randint(1, MOST_DEEDS))
            threading.Event().wait(dice.uniform(0, LONGEST_DEED_S))
            if not caller.kill():
                raise SystemExit(1)
        os.close(start)
    print(kills)


if __name__ == "__main__":
    main()
