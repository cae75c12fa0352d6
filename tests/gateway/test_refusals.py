"""How what failed inside is told: to operators with its words and a status that says who must act, to agents not."""

import pytest

from pegboard.core.errors import (
    ConfigError,
    IndexUnavailableError,
    LockError,
    PegboardError,
    StoreError,
    UnknownToolError,
    UnreachableServerError,
)
from pegboard.gateway.refusals import failed, refused
from pegboard.service.claims import IdentitySettings
from pegboard.service.identity import NO_CREDENTIAL, Refused, insufficient_scope, invalid_token

NOBODY = IdentitySettings()
ISSUED = IdentitySettings(issuer="https://login.example", audience="https://tools.example/mcp")


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (UnknownToolError(tool_id="crm.x"), 404),
        (ConfigError("it cannot be"), 409),
        (StoreError(problem="the disk is full"), 503),
        (IndexUnavailableError("the index is gone"), 503),
        (UnreachableServerError("crm", "it is down"), 502),
        (LockError(problem="line 3 is cut off"), 503),
        (PegboardError("whatever else"), 500),
    ],
)
def test_an_operator_reads_what_failed_with_a_status_that_says_who_must_act(error, status):
    told = failed(error, operator=True)
    assert (told.status, told.message) == (status, str(error))
    hidden = failed(error, operator=False)
    assert (hidden.status, hidden.message) == (503, "this cannot be answered now")


@pytest.mark.parametrize(
    ("why", "settings", "header"),
    [
        (NO_CREDENTIAL, NOBODY, "Bearer"),
        (NO_CREDENTIAL, ISSUED, "Bearer resource_metadata="),
        (invalid_token("it has expired"), ISSUED, 'error="invalid_token"'),
        (insufficient_scope(frozenset({"a", "b"})), ISSUED, 'scope="a b"'),
    ],
)
def test_a_refused_caller_learns_where_to_get_what_it_needs(why, settings, header):
    told = refused(why, settings)
    assert told.status == why.status
    assert header in told.headers["www-authenticate"]
    assert told.headers["www-authenticate"] == told.headers["www-authenticate"].strip()


def test_an_issuer_that_cannot_be_asked_is_no_reason_for_another_credential():
    told = refused(Refused(status=503, description="the issuer cannot be asked"), ISSUED)
    assert (told.kind, "www-authenticate" in told.headers, "retry-after" in told.headers) == (
        "unavailable",
        False,
        True,
    )
