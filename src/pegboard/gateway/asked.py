"""What may be asked over HTTP: one model a request, each key with its kind and its bounds.

A key that is not known is refused with the nearest one that is, since what was asked must not be left out in silence.
The published description is made of these models, so it says what is checked.
"""

from difflib import get_close_matches
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from pegboard.engine.rollout import setting_of
from pegboard.gateway.refusals import Refusal

__all__ = [
    "Approve",
    "Asked",
    "Call",
    "Compare",
    "Context",
    "Decide",
    "Describe",
    "Halt",
    "Listed",
    "Named",
    "Nothing",
    "Refresh",
    "Reject",
    "Release",
    "Replay",
    "Reported",
    "Requests",
    "Resume",
    "Rollback",
    "Select",
    "Showing",
    "Traced",
    "asked",
]

_Model = TypeVar("_Model", bound="Asked")

# As `core.names.MAX_TOOL_ID`.
_Name = Annotated[str, StringConstraints(min_length=1, max_length=256)]
_Id = Annotated[str, StringConstraints(min_length=1, max_length=128)]
# A task is what a person wrote, at most with what they pasted.
_Task = Annotated[str, StringConstraints(max_length=50_000)]
_Token = Annotated[str, StringConstraints(min_length=1, max_length=16 * 1024)]
_Why = Annotated[str, StringConstraints(min_length=1, max_length=1_000)]
_Names = Annotated[list[_Name], Field(max_length=1_000)]


def _whole(value: object) -> object:
    """Take 3.0 for 3, as JSON Schema does: JSON has one kind of number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _released(value: str) -> str:
    """Take what `setting_of` reads."""
    try:
        setting_of(value)
    except ValueError as error:
        raise PydanticCustomError("setting", "{problem}", {"problem": str(error)}) from None
    return value


_Setting = Annotated[
    str,
    StringConstraints(max_length=64),
    AfterValidator(_released),
    Field(json_schema_extra={"pattern": "^(off|shadow|live|canary=0\\.[0-9]*[1-9])$"}),
]
# It stands last, so that it comes first and the bounds are still published.
_WHOLE = BeforeValidator(_whole)
_Count = Annotated[int, Field(ge=1, le=1_000), _WHOLE]


class Asked(BaseModel):
    """What every request has: known keys alone, no value of another kind, and no input in its errors."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)


class Nothing(Asked):
    """A request that says nothing."""


class Select(Asked):
    """The body of `select`."""

    task: _Task | Annotated[list[_Task], Field(max_length=50)] = Field(
        description="What is to be done; several texts are sub-tasks, none asks for `require` alone."
    )
    limit: Annotated[int, Field(ge=0, le=1_000), _WHOLE] | None = Field(None, description="How many tools at most.")
    budget_tokens: Annotated[int, Field(ge=0, le=10_000_000), _WHOLE] | None = Field(
        None, description="How many tokens of definitions at most."
    )
    require: _Names = Field(default_factory=list, description="Ids of tools that this step has in any case.")
    loaded: _Names = Field(default_factory=list, description="Ids of tools that the conversation has already.")
    answer_without_tool: bool = Field(False, description="Whether the agent may answer by itself where no tool fits.")
    conversation: _Id | None = Field(
        None, description="The application's own name of the conversation; calls name it again."
    )
    target: Literal["openai", "openai-chat", "openai-compatible", "anthropic", "gemini", "mcp"] | None = Field(
        None, alias="for", description="Also shape the tools for this model API, and say what is lost."
    )


class Describe(Asked):
    """The body of `describe`."""

    tool: _Name = Field(description="A tool's id.")


class Call(Asked):
    """The body of `call`."""

    tool: _Name = Field(description="An alias of the selection, or a tool's id.")
    arguments: dict[str, Any] = Field(default_factory=dict, description="What the model gave.")
    selection: _Id | None = Field(None, description="The selection that the tool comes from.")
    conversation: _Id | None = Field(None, description="The application's own name of the conversation.")
    key: _Name | None = Field(None, description="For idempotency: under one key a call runs once.")
    approval: _Id | None = Field(None, description="The approval that this call has, where it needs one.")
    caller: Literal["direct", "program"] = Field(
        "direct", description="Whether a model proposes it by itself, or a program that a model wrote."
    )
    dry_run: bool = Field(False, description="Judge the call; send nothing, record nothing.")


class Listed(Asked):
    """The query of `tools`."""

    namespace: _Name | None = Field(None, description="Only tools of this namespace or one below it.")
    after: _Name | None = Field(None, description="The `next` of the page before.")
    limit: _Count = Field(100, description="How many tools a page has at most.")


class Context(Asked):
    """The body of `context`."""

    token: _Token = Field(description="The credential that the caller presents.")
    stage: _Name | None = Field(None, description="The step of the work.")
    flags: Annotated[list[_Name], Field(max_length=100)] = Field(
        default_factory=list, description="What holds of it besides."
    )
    clearance: Annotated[int, Field(ge=0, le=1_000_000), _WHOLE] | None = Field(None, description="At most so high.")


class Compare(Asked):
    """The query of `diff`."""

    from_: _Id = Field(alias="from", description="A version, or its number.")
    to: _Id = Field(description="A version, or its number.")


class Rollback(Asked):
    """The body of `rollback`."""

    version: _Id = Field(description="A version, or its number.")


class Refresh(Asked):
    """The body of `refresh`."""

    servers: Annotated[list[_Name], Field(max_length=1_000)] | None = Field(None, description="Unsaid: all.")
    dry_run: bool = Field(False, description="Fetch and compare; publish nothing.")


class Named(Asked):
    """The query of what is about one tool."""

    tool: _Name = Field(description="A tool's id.")


class Seen(Asked):
    """A tool and the content of it that was looked at."""

    tool: _Name = Field(description="A tool's id.")
    hash: Annotated[str, StringConstraints(pattern=r"^(sha256:)?[0-9a-f]{8,64}$")] = Field(
        description="The hash of the content that is approved, or its first digits."
    )


class Approve(Asked):
    """The body of `approve`."""

    tools: Annotated[list[Seen], Field(min_length=1, max_length=1_000)]
    access: _Name | None = Field(None, description="The access template; unsaid: as proposed.")
    risk: Literal["read", "write", "destructive"] | None = None
    reach: Literal["bounded", "open"] | None = None
    flow: list[Literal["reads_private", "ingests_untrusted", "sends_out"]] | None = None


class Reject(Asked):
    """The body of `reject`."""

    tools: Annotated[list[_Name], Field(min_length=1, max_length=1_000)]


class Requests(Asked):
    """The query of `approvals`."""

    state: Literal["asked", "granted", "denied", "used", "expired", "all"] = "asked"
    limit: _Count = 20


class Decide(Asked):
    """The body of `grant` and `deny`."""

    why: _Why | None = Field(None, description="The reason; it is put on record.")


class Halt(Asked):
    """The body of `halt`."""

    target: Annotated[str, StringConstraints(min_length=1, max_length=300)] = Field(
        description="A tool id, namespace:…, server:…, principal:… or all."
    )
    why: _Why
    seconds: Annotated[float, Field(gt=0, le=31_536_000)] | None = Field(None, description="Unsaid: until resumed.")


class Resume(Asked):
    """The body of `resume`."""

    target: Annotated[str, StringConstraints(min_length=1, max_length=300)]


class Release(Asked):
    """The body of a change of the rollout."""

    setting: _Setting = Field(description="off, shadow, canary=SHARE or live.")
    why: _Why = Field(description="The reason; it is put on record.")
    waive: Annotated[dict[_Name, _Why], Field(max_length=20)] = Field(
        default_factory=dict, description="Guard -> why it need not have enough samples."
    )


class Reported(Asked):
    """The query of a report on a shadow. Times are Unix seconds."""

    since: Annotated[float, Field(ge=0, le=1e11)] | None = Field(None, description="Unsaid: as far as it is kept.")


class Traced(Asked):
    """The query of `traces`. Times are Unix seconds."""

    principal: _Name | None = None
    outcome: _Id | None = Field(None, description="The outcome of a selection, or the verdict on a call.")
    since: Annotated[float, Field(ge=0, le=1e11)] = 0.0
    until: Annotated[float, Field(ge=0, le=1e11)] | None = None
    limit: _Count = 20


class Replay(Asked):
    """The body of `replay`."""

    traces: Annotated[list[_Id], Field(min_length=1, max_length=100)] = Field(description="Ids of traces.")
    against: _Id | None = Field(None, description="On this catalog version instead of its own.")


class Showing(Asked):
    """The query of the audit stream."""

    after: Annotated[int, Field(ge=0, le=2**53), _WHOLE] = 0
    limit: _Count = 100


def asked(model: type[_Model], value: object, place: str) -> _Model:
    """Take what was said in a body or a query.

    Raises:
        Refusal: Something in it is not known, or of another kind; the first thing that is.
    """
    try:
        # A query is text, so its numbers are; a body has numbers of its own.
        return model.model_validate(value, strict=place == "body")
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)
        # A slip of the pen leaves a key unknown and another missing; the unknown one says more.
        unknown = [one for one in problems if one["type"] == "extra_forbidden"]
        raise _refusal(model, (unknown or problems)[0], place) from None


def _refusal(model: type[Asked], problem: ErrorDetails, place: str) -> Refusal:
    where = ".".join([place, *map(str, problem["loc"])])
    message, fix = problem["msg"][:1].lower() + problem["msg"][1:], None
    if problem["type"] == "extra_forbidden":
        key, known = str(problem["loc"][-1])[:64], _keys(model)
        near = get_close_matches(key, known, n=1, cutoff=0.5)
        message = f"unknown key {key!r}"
        fix = f"did you mean {near[0]!r}?" if near else f"known here: {', '.join(known) or 'none'}"
    elif problem["type"] == "missing":
        message = f"{str(problem['loc'][-1])!r} is missing"
    return Refusal(status=422, kind="invalid-request", message=message, where=where[:200], fix=fix)


def _keys(model: type[Asked]) -> list[str]:
    return sorted(one.alias or name for name, one in model.model_fields.items())
