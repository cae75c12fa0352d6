"""The HTTP API in front of two scripted tool servers, and whoever asks it.

    api = await Api().start()
    (await api.asks("POST", "/v1/select", {"task": "…"}, who="sam")).json()

People are those of `made.py`; the programs `app`, `ops` and `boss` have keys of their roles.
"""

from typing import Any

import httpx2

from pegboard.gateway.app import Gateway
from pegboard.gateway.settings import GatewaySettings
from pegboard.service.claims import IdentitySettings
from pegboard.service.identity import Identity
from pegboard.service.keys import ApiKey, KeyRole, digest_of
from tests.gateway.made import Desk, _Running

__all__ = ["Api", "key"]

ROLES = {"app": KeyRole.APPLICATION, "ops": KeyRole.OPERATOR, "boss": KeyRole.OPERATOR, "bot": KeyRole.AGENT}


def key(name: str) -> str:
    """Return the API key of a program."""
    return f"pgb_{digest_of(name)[7:19]}_{digest_of(name)[7:71]}"


class Api:
    """A gateway and its callers."""

    def __init__(
        self,
        host: str = "127.0.0.1:8700",
        desk: Desk | None = None,
        identity: IdentitySettings | None = None,
        **settings: Any,
    ) -> None:
        self.desk = desk or Desk()
        self.system = self.desk.system
        self.settings = GatewaySettings(**settings)
        own = self.desk.identity
        if identity is not None:
            made = self.system
            own = Identity(identity, made.keys, made.store.contexts, made.audit, self.desk.clock)
        running = _Running(self.system, own)
        self.gateway = Gateway(running, self.settings, self.desk.gateway.asgi())
        self.host = host

    async def start(self) -> "Api":
        """Refresh, lock, and make the keys."""
        await self.desk.start()
        for name, role in ROLES.items():
            text = key(name)
            made = ApiKey(
                key_id=text[4:16], name=name, workload=name, role=role, digest=digest_of(text), by="tests", made_at=0.0
            )
            assert await self.system.store.keys.add(made)
        return self

    async def asks(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        who: str | None = "sam",
        client: str = "127.0.0.1",
        **headers: str,
    ) -> httpx2.Response:
        """Make one request; a text or bytes go as they are, anything else as JSON."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if who is not None:
            sent.setdefault("authorization", f"Bearer {key(who) if who in ROLES else who}")
        said: dict[str, Any] = {"content": body} if isinstance(body, str | bytes) else {"json": body}
        if body is None:
            said = {}
        transport = httpx2.ASGITransport(app=self.gateway, client=(client, 5555), raise_app_exceptions=True)
        async with httpx2.AsyncClient(transport=transport, base_url=f"http://{self.host}") as http:
            return await http.request(method, path, headers=sent, **said)

    async def get(self, path: str, who: str | None = "sam", **headers: str) -> Any:
        """Ask and return the answer, which must be one."""
        return self._good(await self.asks("GET", path, who=who, **headers))

    async def post(self, path: str, body: Any = None, who: str | None = "sam") -> Any:
        """Likewise, with a body."""
        return self._good(await self.asks("POST", path, {} if body is None else body, who=who))

    def _good(self, answer: httpx2.Response) -> Any:
        assert answer.status_code == 200, answer.text
        return answer.json()
