"""Every key of pegboard.toml: a table of sections, each a table of keys with the parser of its value.

Source: SURFACE "pegboard.toml".
"""

from pathlib import Path
from typing import Any

from pegboard.config.credentials import credential_section, located, secret_section
from pegboard.config.evaluation import Calls, ModelApi, arm
from pegboard.config.gateway import gateway_section
from pegboard.config.identity import identity_section
from pegboard.config.parsers import (
    At,
    Parser,
    by_name,
    choice,
    flag,
    integer,
    listing,
    name,
    names,
    nearest,
    number,
    section,
    text,
    texts,
    wrong,
)
from pegboard.config.reading import placed
from pegboard.config.servers import EndpointPart, ModelPart, ServerPart
from pegboard.config.values import RankingChoice, ToolConfig, Trust
from pegboard.core.aliases import MCP
from pegboard.core.catalog import ALWAYS, Flow, Proposal, Reach, Risk
from pegboard.core.context import RuntimeContext
from pegboard.core.names import Json
from pegboard.core.policy import DIMENSIONS, AccessTemplate, Reason
from pegboard.engine.approvals import ApprovalRules, ArgumentRule
from pegboard.engine.asking import NamespaceNote
from pegboard.engine.fallback import ANYWHERE, DEVELOPMENT, Action, Cause, FallbackRow
from pegboard.engine.flow import FlowAction, FlowRow
from pegboard.engine.guards import Guards
from pegboard.engine.limits import Limits
from pegboard.engine.proposals import ProposeRule
from pegboard.engine.trace import Naming, Record
from pegboard.service.inputs import Kind

__all__ = ["FILE"]

_DAY_S = 24 * 3600
_seconds = number(0.001, _DAY_S)
# What is larger has no meaning that a double keeps exactly.
_MOST = 2.0**53
_number = number(-_MOST, _MOST)


def _plain_text(value: Any, at: At) -> str:
    """Take a text that may be empty."""
    return "" if value == "" else text(value, at)


def _client_prefix(value: Any, at: At) -> str:
    """Take what a client puts before names: it counts as far as the client's wire takes it."""
    prefix = text(value, at)
    if MCP.foreign.search(prefix):
        raise wrong(at, f"no name may hold {prefix!r}", "a prefix has letters, digits, '_', '-' and '.'")
    try:
        MCP.after(prefix)
    except ValueError as error:
        raise wrong(at, str(error), "give the server a shorter name in the client") from None
    return prefix


def _file(value: Any, at: At) -> Path:
    """Take a path, relative to the file that says it."""
    written = text(value, at)
    try:
        return placed(Path(at.file).parent, written)
    except ValueError as error:
        raise wrong(at, f"{written!r} cannot be used: {error}", "name another file") from None


def _dimension(value: Any, at: At) -> Reason:
    found = text(value, at)
    if found not in list(DIMENSIONS):
        raise wrong(at, f"{found!r} is no dimension", nearest(found, map(str, DIMENSIONS)))
    return Reason(found)


def _used(value: Any, at: At) -> frozenset[Reason]:
    return frozenset(listing(_dimension)(value, at))


def _risks(value: Any, at: At) -> frozenset[Risk]:
    return frozenset(listing(choice(Risk))(value, at))


def _reaches(value: Any, at: At) -> frozenset[Reach]:
    return frozenset(listing(choice(Reach))(value, at))


def _kinds(value: Any, at: At) -> frozenset[Kind]:
    return frozenset(listing(choice(Kind))(value, at))


def _globs(value: Any, at: At) -> tuple[str, ...]:
    """Take one glob or a list of them."""
    return (text(value, at),) if isinstance(value, str) else texts(value, at)


def _scalar(value: Any, at: At) -> Json:
    """Take a text that may be empty, a number, or true or false."""
    if isinstance(value, bool):
        return value
    return _plain_text(value, at) if isinstance(value, str) else _number(value, at)


def _flow(value: Any, at: At) -> frozenset[Flow]:
    return frozenset(listing(choice(Flow))(value, at))


def _propose(*, match: tuple[str, ...], **proposal: Any) -> ProposeRule:
    if proposal.get("risk") is Risk.READ and proposal.get("reach") is Reach.OPEN:
        raise ValueError("a tool of open reach runs what it is given, so its risk cannot be read")
    return ProposeRule(match=match, proposal=Proposal(**proposal))


def _pinned(value: Any, at: At) -> tuple[str, ...]:
    """Take `never`, `always`, or the stages in which the tool is loaded without ranking."""
    if isinstance(value, str):
        words = {"never": (), "always": (ALWAYS,)}
        if value not in words:
            raise wrong(at, f"'pinned' cannot be {value!r}", "write never, always or a list of stages")
        return words[value]
    stages = texts(value, at)
    if ALWAYS in stages:
        raise wrong(at, "'*' is no stage", 'write pinned = "always"')
    return stages


def _confidence(value: Any, at: At) -> float | None:
    """Take a number from 0 to 1, or `calibrated` for the calibration that is served."""
    if isinstance(value, str):
        if value != "calibrated":
            raise wrong(at, f"{at.path.rpartition('.')[2]!r} cannot be {value!r}", 'write "calibrated" or a number')
        return None
    return number(0, 1)(value, at)


def _row_risk(value: Any, at: At) -> Risk | None:
    return None if value == ANYWHERE else choice(Risk)(value, at)


def _fallback(*, cause: Cause, do: Action, risk: Risk | None = None, environment: str = ANYWHERE) -> FallbackRow:
    if do is Action.ALL_TOOLS and environment != DEVELOPMENT:
        raise ValueError(f"all_tools is for development: add environment = {DEVELOPMENT!r}")
    return FallbackRow(cause=cause, do=do, risk=risk, environment=environment)


def _traces(*, principal: Naming = Naming.NAME, keep_days: float = 30.0, **record: Record) -> dict[str, Any]:
    return {**record, "naming": principal, "traces_kept_s": keep_days * _DAY_S}


def _kept(*, keep_days: float) -> float:
    return keep_days * _DAY_S


_ACCESS = section(
    AccessTemplate,
    required_scopes=names,
    required_roles=names,
    required_flags=names,
    tenants=names,
    environments=names,
    allowed_stages=names,
    minimum_clearance=integer(),
)
_PROPOSE = section(
    _propose,
    required=("match",),
    match=_globs,
    access=text,
    risk=choice(Risk),
    reach=choice(Reach),
    flow=_flow,
)
_SERVER = section(
    ServerPart,
    command=texts,
    cwd=located,
    env=by_name(_plain_text),
    url=text,
    headers=by_name(_plain_text),
    credential=credential_section(),
    namespace=name,
    trust=choice(Trust),
    propose=listing(_PROPOSE),
    connect_timeout_s=_seconds,
    list_timeout_s=_seconds,
    call_timeout_s=_seconds,
    refresh_timeout_s=_seconds,
    poll_s=number(0, _DAY_S),
    shared=flag,
    may_ask=_kinds,
)
_NAMESPACE = section(NamespaceNote, description=_plain_text, advertise=_plain_text, approved=flag)
_TOOL = section(
    ToolConfig,
    enabled=flag,
    pinned=_pinned,
    summary=text,
    keywords=texts,
    examples=texts,
    cost=number(0, _MOST),
    key_argument=text,
)
_APPROVALS = section(
    ApprovalRules,
    risk=_risks,
    reach=_reaches,
    when=listing(
        section(ArgumentRule, required=("tools",), tools=_globs, arguments=by_name(listing(_scalar))),
    ),
    flow=listing(section(FlowRow, required=("do",), environment=text, do=choice(FlowAction))),
    lifetime_s=_seconds,
    conversation_s=number(1, _MOST),
)
_SELECTION: Parser[dict[str, Any]] = section(
    dict,
    limit=integer(1),
    budget_tokens=integer(1),
    minimum_confidence=_confidence,
    safe_set=listing(name),
    all_tools_at_most=integer(1),
    fallback=listing(
        section(
            _fallback,
            required=("cause", "do"),
            cause=choice(Cause),
            risk=_row_risk,
            environment=text,
            do=choice(Action),
        )
    ),
)
_PROFILE = section(
    RuntimeContext,
    user=text,
    tenant=text,
    workload=text,
    delegation=texts,
    roles=names,
    scopes=names,
    stage=text,
    environment=text,
    flags=names,
    servers=names,
    approved_namespaces=names,
    clearance=integer(),
    minimum_confidence=_confidence,
)
_RETRIEVAL: Parser[dict[str, Any]] = section(
    dict,
    ranking=choice(RankingChoice),
    endpoint=section(
        EndpointPart,
        required=("url", "model", "dimensions"),
        url=text,
        model=text,
        dimensions=integer(1),
        credential=secret_section(),
    ),
)
_MODEL = section(
    ModelPart,
    required=("api", "url", "model"),
    api=choice(ModelApi),
    url=text,
    model=text,
    credential=secret_section(),
    timeout_s=_seconds,
    turns=integer(1),
)

# The whole file. What is unsaid is left to `Config`'s defaults.
FILE: Parser[dict[str, Any]] = section(
    dict,
    environment=text,
    store=text,
    lock=_file,
    dimensions=section(dict, used=_used),
    access=by_name(_ACCESS),
    mcp_config=listing(_file),
    servers=by_name(_SERVER),
    namespaces=by_name(_NAMESPACE),
    tools=by_name(_TOOL),
    curation=texts,
    selection=_SELECTION,
    profiles=by_name(_PROFILE),
    evaluation=section(dict, principal=text, model=_MODEL, calls=choice(Calls)),
    names=section(dict, client_prefix=_client_prefix),
    traces=section(_traces, record=choice(Record), principal=choice(Naming), keep_days=number(0.001, 36_500)),
    ledger=section(_kept, required=("keep_days",), keep_days=number(1, 36_500)),
    audit=section(_kept, required=("keep_days",), keep_days=number(1, 36_500)),
    identity=identity_section(_file),
    gateway=gateway_section(),
    approvals=_APPROVALS,
    limits=section(
        Limits,
        calls_per_minute=integer(0),
        calls_per_day=integer(0),
        spend_per_day=number(0, _MOST),
        identical_refusals=integer(1),
        repeat_window_s=number(0, _MOST),
        reads_without_ledger=flag,
    ),
    policy=section(dict, cedar=texts),
    rollout=section(
        Guards,
        sample=number(0, 1),
        samples=integer(1),
        recall=number(0, 1),
        validity=number(0, 1),
        latency=number(0, 1),
        latency_ms=number(0, _MOST),
        completion=number(0, 1),
    ),
    arms=by_name(arm(_file, selection=_SELECTION, retrieval=_RETRIEVAL, access=by_name(_ACCESS), model=_MODEL)),
    retrieval=_RETRIEVAL,
)
