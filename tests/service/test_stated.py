"""Stated contexts: what an application may state of its callers' work, for whom it holds, and until when."""

import math
from dataclasses import replace

import pytest

from pegboard.core.context import RuntimeContext
from pegboard.core.errors import StoreError
from pegboard.service.identity import Application, Refused, invalid_token
from pegboard.service.keys import KeyRole
from pegboard.service.stated import LONGEST_S, Bound, Stated
from tests.service.test_identity import Desk, Tokens, bearer
from tests.service.test_keys import Broken

pytestmark = pytest.mark.anyio

STATED = Stated(stage="resolution", flags=frozenset({"beta"}), clearance=3)


async def test_what_an_application_states_holds_for_that_credential_alone():
    desk = Desk()
    bound = await desk.identity.set_context(await desk.application(), bearer("sam"), STATED)
    assert bound == Bound(stated=STATED, by="application-app", at=1_000.0, expires_at=2_000.0)
    found = await desk.identity.context_of(bearer("sam"))
    assert isinstance(found, RuntimeContext)
    assert (found.user, found.stage, found.flags, found.clearance) == ("sam", "resolution", {"beta"}, 3)
    other = await desk.identity.context_of(bearer("eve"))
    assert isinstance(other, RuntimeContext)
    assert (other.stage, other.flags, other.clearance) == (None, frozenset(), None)


async def test_it_holds_until_the_credential_expires_and_for_a_day_at_most():
    desk = Desk()
    application = await desk.application()
    await desk.identity.set_context(application, bearer("sam"), STATED)
    desk.clock.time = 2_000.0
    found = await desk.identity.context_of(bearer("sam"))
    assert isinstance(found, RuntimeContext)
    assert found.stage is None
    desk.tokens.expires_at = math.inf
    again = await desk.identity.set_context(application, bearer("sam"), STATED)
    assert isinstance(again, Bound)
    assert again.expires_at == 2_000.0 + LONGEST_S


async def test_what_is_stated_again_replaces_what_was():
    desk = Desk()
    application = await desk.application()
    for stated in (STATED, Stated(stage="reply_draft")):
        await desk.identity.set_context(application, bearer("sam"), stated)
    found = await desk.identity.context_of(bearer("sam"))
    assert isinstance(found, RuntimeContext)
    assert (found.stage, found.flags, found.clearance) == ("reply_draft", frozenset(), None)


@pytest.mark.parametrize(("said", "stated", "found"), [(5, 3, 3), (2, 3, 2), (None, 3, 3), (2, None, 2)])
async def test_of_two_clearances_the_lower_one_holds_and_flags_are_joined(said, stated, found):
    desk = Desk(verifier=Tokens(sam={"sub": "sam", "clearance": said, "flags": ["pilot"]}))
    await desk.identity.set_context(await desk.application(), bearer("sam"), replace(STATED, clearance=stated))
    context = await desk.identity.context_of(bearer("sam"))
    assert isinstance(context, RuntimeContext)
    assert (context.clearance, context.flags) == (found, {"pilot", "beta"})


async def test_an_application_states_nothing_of_callers_of_another_tenant():
    desk = Desk()
    application = await desk.application("desk")
    found = await desk.identity.set_context(application, bearer("eve"), STATED)
    assert isinstance(found, Refused)
    assert found.status == 403
    assert await desk.contexts.bound(bearer("eve").digest) is None
    assert isinstance(await desk.identity.set_context(application, bearer("sam"), STATED), Bound)


@pytest.mark.parametrize("role", [KeyRole.AGENT, KeyRole.OPERATOR])
async def test_nobody_but_an_application_states_anything(role):
    desk = Desk()
    found = await desk.identity.set_context(Application(name="x", workload="x", role=role), bearer("sam"), STATED)
    assert isinstance(found, Refused)
    assert await desk.contexts.bound(bearer("sam").digest) is None


async def test_a_callers_bad_credential_is_not_told_as_the_applications_own():
    desk = Desk()
    found = await desk.identity.set_context(await desk.application(), bearer("no"), STATED)
    assert found == replace(invalid_token("no"), status=403)


async def test_what_was_stated_is_on_record_without_the_credential():
    desk = Desk()
    await desk.identity.set_context(await desk.application(), bearer("sam"), STATED)
    (event,) = await desk.stream.events(0, 9)
    assert (event.kind, event.body) == (
        "context_stated",
        {
            "by": "application-app",
            "principal": "sam@acme",
            "stage": "resolution",
            "flags": ["beta"],
            "clearance": 3,
            "expires_at": 2_000.0,
        },
    )


async def test_what_cannot_be_put_on_record_does_not_hold():
    desk = Desk(audit=Broken())
    with pytest.raises(StoreError):
        await desk.identity.set_context(await desk.application(), bearer("sam"), STATED)
    found = await desk.identity.context_of(bearer("sam"))
    assert isinstance(found, RuntimeContext)
    assert found.stage is None


@pytest.mark.parametrize(
    "value",
    [
        {"user": "root"},
        {"scopes": ["crm.admin"]},
        {"stage": 7},
        {"stage": ""},
        {"flags": "beta"},
        {"flags": [7]},
        {"flags": ["x"] * 101},
        {"clearance": True},
        {"clearance": -1},
        {"clearance": "3"},
        {"clearance": 10**9},
        {7: "x"},
    ],
)
def test_an_application_sends_stage_flags_and_clearance_and_nothing_else(value):
    with pytest.raises(ValueError, match=r"can|needs"):
        Stated.from_json(value)


def test_what_an_application_sends_is_taken_as_it_is():
    sent = {"stage": "resolution", "flags": ["beta"], "clearance": 3}
    assert Stated.from_json(sent) == STATED
    assert Stated.from_json({"stage": None}) == Stated.from_json({}) == Stated()
