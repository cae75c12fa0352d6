"""The HTTP API: the service's verbs as JSON under `/v1`, for agents, applications and operators.

A request is known before it is read: first whose credential it has, then how many it made, then its body. What is
asked is checked against the door's model, and whatever goes wrong is one document with one shape.
"""

import json
import math
from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router

from pegboard.core.errors import PegboardError
from pegboard.core.names import Json, parse_json
from pegboard.gateway.asked import asked
from pegboard.gateway.callers import Caller, Callers
from pegboard.gateway.doors import DOORS, Door, Role
from pegboard.gateway.limits import read_body
from pegboard.gateway.openapi import description
from pegboard.gateway.refusals import Refusal, failed, refused
from pegboard.gateway.running import Running
from pegboard.gateway.settings import GatewaySettings
from pegboard.service.acting import presenting
from pegboard.service.identity import Application, Refused, presented
from pegboard.service.keys import KeyRole

__all__ = ["ROUTE", "HttpApi"]

ROUTE = "pegboard.route"
"""Where the scope of a request holds the door that it came through, for counting."""
_NO_STORE = {"cache-control": "no-store"}
_KINDS = {404: "not-found", 405: "method-not-allowed"}


class HttpApi:
    """Answers what is asked under `/v1`."""

    def __init__(self, running: Running, callers: Callers, settings: GatewaySettings) -> None:
        self._running = running
        self._callers = callers
        self._identity = running.identity
        self._settings = settings
        self._description = description()
        published = Route("/v1/openapi.json", self._published, methods=["GET"])
        self._router = Router([published, *map(self._route, DOORS)], redirect_slashes=False)

    async def asgi(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        try:
            scope["app"] = self  # without it the router would answer in another shape than ours
            await self._router(scope, receive, send)
        except HTTPException as error:
            kind = _KINDS.get(error.status_code, "bad-request")
            answer = Refusal(
                status=error.status_code, kind=kind, message=error.detail.lower(), headers=error.headers or {}
            )
            await answer.response()(scope, receive, send)

    def _route(self, door: Door) -> Route:
        async def endpoint(request: Request) -> Response:
            request.scope[ROUTE] = door.path
            try:
                return await self._answer(door, request)
            except Refusal as refusal:
                return refusal.response()
            except PegboardError as error:
                return failed(error, operator=door.role is Role.OPERATOR).response()

        route = Route(door.path, endpoint, methods=[door.method])
        # A HEAD would do all the work of its GET for nothing.
        route.methods = {door.method}
        return route

    async def _answer(self, door: Door, request: Request) -> Response:
        who = await self._who(door, request)
        said = asked(door.said, await self._said(door, request), "query" if door.method == "GET" else "body")
        named = {name: _text(value) for name, value in request.path_params.items()}
        if isinstance(who, Application):
            return _json(await door.verb(self._running, who, said, **named))
        with presenting(who.credential, who.context):
            return _json(await door.verb(self._running, who.context, said, **named))

    async def _who(self, door: Door, request: Request) -> Caller | Application:
        """Return who asks.

        Raises:
            Refusal: Its credential does not open this door.
        """
        written = request.headers.getlist("authorization")
        found: Application | Caller | Refused
        if door.role is Role.AGENT:
            found = await self._callers.of(written)
        else:
            one = presented(written)
            role = KeyRole(door.role)
            found = one if isinstance(one, Refused) else await self._identity.application_of(one, role)
        if isinstance(found, Refused):
            raise refused(found, self._identity.settings)
        return found

    async def _said(self, door: Door, request: Request) -> object:
        """Return what the request says, as JSON.

        Raises:
            Refusal: It is not JSON, too large, too slow, or says something twice.
        """
        body = await read_body(request.receive, self._settings.body_bytes)
        if door.method == "GET":
            return _query(request)
        if not body and not any(one.is_required() for one in door.said.model_fields.values()):
            return {}
        if (request.headers.get("content-type") or "").partition(";")[0].strip().lower() != "application/json":
            fix = "send Content-Type: application/json"
            raise Refusal(status=415, kind="not-json", message="the body must be application/json", fix=fix)
        try:
            return parse_json(body)
        except ValueError as error:
            raise Refusal(status=400, kind="not-json", message=f"the body is not JSON: {_brief(error)}") from None

    async def _published(self, request: Request) -> Response:
        request.scope[ROUTE] = "/v1/openapi.json"
        return _json(self._description)


def _json(answer: Mapping[str, Json]) -> Response:
    """Write an answer, without what JSON has no word for: a server's result may hold that, and its tool has run."""
    try:
        text = json.dumps(answer, allow_nan=False, separators=(",", ":"))
    except ValueError:
        text = json.dumps(_finite(answer), separators=(",", ":"))
    return Response(text, media_type="application/json", headers=_NO_STORE)


def _finite(value: Json) -> Json:
    if isinstance(value, Mapping):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _query(request: Request) -> dict[str, str]:
    pairs = request.query_params.multi_items()
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Refusal(status=400, kind="invalid-request", message="a parameter is said twice", where="query")
    return found


def _text(value: str) -> str:
    """Take a text out of a path; half a surrogate pair cannot be looked up."""
    return value.encode("utf-8", "replace").decode()


def _brief(error: ValueError) -> str:
    return str(error)[:200]
