"""Laws 1, 4, 9 and 10 at the gate: nothing is dispatched that a reference decision denies.

The references are written in another form than the gate: objections are counted, from the test's own log of what its
server received, and not from a ledger.
"""

from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.catalog import Flow, Reach, Risk
from pegboard.core.lock import Lock
from pegboard.core.names import digest
from pegboard.core.revocations import Revocation, Revocations
from pegboard.engine.approvals import ApprovalRules
from pegboard.engine.facts import CallDecision, GateFacts
from pegboard.engine.flow import FlowAction, FlowRow
from pegboard.engine.gate import judge
from pegboard.engine.ledger import Ended, Standing
from pegboard.engine.limits import Limits
from pegboard.engine.verdict import VerdictKind
from tests.crm import AGENT, CASHIER, line, policy
from tests.engine.made import CANCEL, NOW, ORDERS, approval, call, facts, past, standing
from tests.servers import tool
from tests.service.calls import Crm
from tests.strategies import cases

# A world in which everything stands well, and what else each part of it may be.
GOOD: dict[str, Any] = {
    "locked": True,
    "risk": Risk.WRITE,
    "reach": Reach.BOUNDED,
    "flow": frozenset(),
    "hash": None,
    "halted": (),
    "context": AGENT,
    "age": 5.0,
    "selected": True,
    "per_minute": None,
    "a_day": None,
    "decision": ...,
    "row": None,
    "key": None,
    "recorded": ...,
    "like": False,
    "calls": 1,
    "spent": 1.0,
    "touched": frozenset(),
    "covered": None,
    "given": "7",
}
LABELS = [frozenset(labels) for count in range(4) for labels in combinations(Flow, count)]
WHYS = ("risk", "reach", "flow", "repeat")
OTHERWISE: dict[str, tuple[Any, ...]] = {
    "locked": (False,),
    "risk": (Risk.READ, Risk.DESTRUCTIVE, Risk.DESTRUCTIVE),
    "reach": (Reach.OPEN,),
    "flow": (frozenset(Flow), *LABELS),
    "hash": ("sha256:" + "0" * 64,),
    "halted": ((CANCEL.tool_id,), ("all",), ("principal:sam",), ("server:crm",), (ORDERS.tool_id,)),
    "context": (CASHIER, replace(AGENT, scopes=frozenset()), replace(AGENT, servers=frozenset())),
    "age": (30.0, 30.1, -30.1, float("nan")),
    "selected": (False, "changed"),
    "per_minute": (0, 1, 2),
    "a_day": (0.5, 1.5, 2.0),
    "decision": (CallDecision(allowed=True), CallDecision(allowed=False), True),
    "row": tuple(FlowAction),
    "key": ("k",),
    "recorded": (*Ended, None),
    "like": (True,),
    "calls": (0, 2),
    "spent": (0.0,),
    "touched": (frozenset(Flow), *LABELS),
    "covered": (frozenset(WHYS), *(frozenset(one) for one in combinations(WHYS, 1)), frozenset(("risk", "flow"))),
    "given": (7, ...),
}


# Parts that count together; what is not drawn is as in `GOOD`.
THEMES: tuple[tuple[str, ...], ...] = (
    *((part,) for part in ("locked", "hash", "halted", "context", "age", "selected", "given", "decision")),
    ("per_minute", "calls"),
    ("a_day", "spent"),
    ("risk", "covered"),
    ("reach", "covered"),
    ("flow", "touched"),
    ("flow", "touched", "row", "covered"),
    ("key", "recorded", "risk"),
    ("key", "like", "risk", "covered"),
)


@st.composite
def worlds(draw: st.DrawFn) -> dict[str, Any]:
    """Draw what a call is judged on: a lock, halts, a caller, settings, and what the ledger knows of the caller."""
    parts = {part for theme in draw(st.lists(st.sampled_from(THEMES), max_size=2)) for part in theme}
    found = {**GOOD, **{part: draw(st.sampled_from(OTHERWISE[part])) for part in sorted(parts)}}
    if found["risk"] is Risk.READ:
        found["reach"] = Reach.BOUNDED
    return found


@cases(250, 40_000)
@given(worlds())
def test_the_gate_allows_what_no_reference_objection_stands_against_and_nothing_else(world):
    arguments = {} if world["given"] is ... else {"order_id": world["given"]}
    proposed = call("cancel", arguments, key=world["key"])
    objections = {name for name, stands in _objections(world).items() if stands}
    verdict = judge(proposed, _facts(world), _standing(world, arguments))
    assert verdict.allowed is (not objections), (verdict, objections)
    assert not judge(proposed, _facts(world), None).allowed
    assert not judge(replace(proposed, tool="nothing"), _facts(world), _standing(world, arguments)).allowed


def _facts(world) -> GateFacts:
    lines = [] if not world["locked"] else [line(CANCEL, risk=world["risk"], reach=world["reach"], flow=world["flow"])]
    lines = [replace(one, hash=world["hash"] or one.hash) for one in lines]
    was = "sha256:other" if world["selected"] == "changed" else CANCEL.schema_hash
    return facts(
        policy=policy(Lock.of(lines)),
        context=world["context"],
        selected={"cancel": (CANCEL.tool_id, was)} if world["selected"] else {},
        revocations=Revocations(targets=frozenset(world["halted"]), as_of=NOW - world["age"]),
        call_policy=None if world["decision"] is ... else lambda *_: world["decision"],
        approvals=ApprovalRules(flow=() if world["row"] is None else (FlowRow(do=world["row"]),)),
        limits=Limits(calls_per_minute=world["per_minute"], spend_per_day=world["a_day"]),
        costs={CANCEL.tool_id: 1.0},
    )


def _standing(world, arguments) -> Standing:
    covered = world["covered"]
    bound = {"identity": world["context"].identity, "arguments": arguments}
    return standing(
        recorded=None if world["recorded"] is ... else past(CANCEL, arguments, world["recorded"], key="k"),
        like=past() if world["like"] else None,
        calls=(world["calls"], 0),
        spent=(0.0, world["spent"]),
        touched={label: f"call_{label}" for label in world["touched"]},
        granted=() if covered is None else (approval(*covered, **bound),),
    )


def _objections(world) -> dict[str, bool]:
    """Say, one by one, what stands against the call."""
    context, labels = world["context"], {*world["touched"], *(world["flow"] & {Flow.READS_PRIVATE})}
    leaks = Flow.SENDS_OUT in world["flow"] and Flow.INGESTS_UNTRUSTED in world["touched"]
    leaks = leaks and Flow.READS_PRIVATE in labels
    needs = {
        "risk": world["risk"] is Risk.DESTRUCTIVE,
        "reach": world["reach"] is Reach.OPEN,
        "flow": leaks and world["row"] is not FlowAction.ALLOW,
        "repeat": world["key"] is None and world["risk"] is not Risk.READ and world["like"],
    }
    return {
        "old": not abs(world["age"]) <= 30,
        "unselected": world["selected"] is not True,
        "unlocked": not world["locked"] or world["hash"] is not None,
        "scopes": "crm" not in context.scopes,
        "server": "crm" not in context.servers,
        "halted": bool(set(world["halted"]) & {CANCEL.tool_id, "all", "server:crm", f"principal:{context.user}"}),
        "arguments": not isinstance(world["given"], str),
        "policy": world["decision"] not in (..., CallDecision(allowed=True)),
        "recorded": world["key"] is not None and world["recorded"] is not ...,
        "flow": leaks and world["row"] is FlowAction.DENY,
        "minute": world["per_minute"] is not None and world["calls"] + 1 > world["per_minute"],
        "spend": world["a_day"] is not None and world["spent"] + 1.0 > world["a_day"],
        "approval": not {why for why, need in needs.items() if need} <= (world["covered"] or set()),
    }


# Through the service: a world that changes between calls, and what its server received.

LETTER, MAIL = tool("send_letter"), tool("read_mail")
TOOLS = {
    "crm.get_order": (Risk.READ, frozenset({Flow.READS_PRIVATE})),
    "crm.read_mail": (Risk.READ, frozenset({Flow.INGESTS_UNTRUSTED})),
    "crm.send_letter": (Risk.WRITE, frozenset({Flow.SENDS_OUT})),
    "crm.delete_order": (Risk.DESTRUCTIVE, frozenset()),
}
PEOPLE = {
    "sam": AGENT,
    "eve": replace(AGENT, user="eve"),
    "mallory": replace(AGENT, user="mallory", scopes=frozenset()),
    "guest": replace(AGENT, user="guest", servers=frozenset()),
}
WINDOW_S, PER_MINUTE = 100.0, 6

acts = st.one_of(
    st.tuples(
        st.just("call"),
        st.sampled_from(sorted(PEOPLE)),
        st.sampled_from(sorted(TOOLS)),
        st.sampled_from([{"id": "1"}, {"id": "2"}]),
        st.none() | st.sampled_from(["k1", "k2"]),
    ),
    st.tuples(st.sampled_from(["halt", "resume", "unlock", "lock"]), st.sampled_from(sorted(TOOLS))),
    st.tuples(st.just("grant"), st.sampled_from(["dana", "sam", "eve"])),
    st.tuples(st.just("wait"), st.sampled_from([1.0, 61.0, WINDOW_S])),
)


class World:
    """What is true of the system under test, kept by the test: halts, locks, approvals, what the server received."""

    def __init__(self) -> None:
        self.halted: set[str] = set()
        self.unlocked: set[str] = set()
        self.granted: list[tuple[str, str, str]] = []
        self.sent: list[tuple[float, str, str, str, str | None]] = []

    def may(self, now: float, who: str, tool_id: str, arguments: str, key: str | None) -> bool:
        """Say whether this call may reach the server now, in the plainest form."""
        mine = [one for one in self.sent if one[1] == who]
        risk, flow = TOOLS[tool_id]
        touched = frozenset().union(*(TOOLS[one[2]][1] for one in mine if one[0] > now - 3600))
        repeat = key is None and any(one[2:4] == (tool_id, arguments) and one[0] > now - WINDOW_S for one in mine)
        asks = [
            risk is Risk.DESTRUCTIVE,
            Flow.SENDS_OUT in flow and {Flow.READS_PRIVATE, Flow.INGESTS_UNTRUSTED} <= touched,
            risk is not Risk.READ and repeat,
        ]
        refused = [
            who in ("mallory", "guest"),
            tool_id in self.halted or tool_id in self.unlocked,
            key is not None and any(one[4] == key for one in mine),
            sum(one[0] > now - 60 for one in mine) >= PER_MINUTE,
            any(asks) and (who, tool_id, arguments) not in self.granted,
        ]
        return not any(refused)


@pytest.mark.anyio
@cases(15, 2_000)
@given(st.lists(acts, min_size=1, max_size=14))
async def test_whatever_happens_between_calls_nothing_reaches_a_server_that_the_reference_denies(steps):
    crm = await Crm(LETTER, MAIL, limits=Limits(calls_per_minute=PER_MINUTE, repeat_window_s=WINDOW_S)).start()
    for tool_id, (risk, flow) in TOOLS.items():
        await crm.locks(tool_id.removeprefix("crm."), risk, Reach.BOUNDED, *flow)
    whole, world = crm.system.keeper.show(), World()
    for act, *what in steps:
        if act == "call":
            who, tool_id, arguments, key = what
            before = len(crm.server.calls)
            may = world.may(crm.clock.time, who, tool_id, digest(arguments), key)
            answer = await crm.call(tool_id, arguments, PEOPLE[who], all_listed=True, key=key)
            sent = len(crm.server.calls) - before
            assert sent == (answer.call_id is not None)
            assert sent <= may, (answer.verdict, what)
            if sent:
                world.sent.append((crm.clock.time, who, tool_id, digest(arguments), key))
                if answer.verdict.uses:
                    world.granted.remove((who, tool_id, digest(arguments)))
            else:
                # What the reference allows is refused only by the loop breaker, and by reasons an approval lacks.
                held = {VerdictKind.LIMIT_EXCEEDED, VerdictKind.APPROVAL_REQUIRED, VerdictKind.CONFIRM_REPEAT}
                assert not may or answer.verdict.kind in held
        elif act == "wait":
            crm.clock.time += what[0]
        elif act == "grant":
            for request in await crm.system.approver.requests(99):
                own = what[0] in request.principals
                try:
                    await crm.system.approver.grant(request.approval_id, by=what[0])
                except Exception:  # noqa: BLE001 - its own, or decided already
                    continue
                assert not own
                who = request.principal.partition("@")[0]
                world.granted.append((who, request.tool_id, request.arguments))
        elif act == "halt":
            await crm.system.store.halt(Revocation(target=what[0], why="x", by="tests", since=0.0))
            world.halted.add(what[0])
        elif act == "resume":
            await crm.system.store.resume(what[0])
            world.halted.discard(what[0])
        else:
            world.unlocked = (world.unlocked | {what[0]}) if act == "unlock" else (world.unlocked - {what[0]})
            await crm.system.keeper.replace(whole.without(world.unlocked))
