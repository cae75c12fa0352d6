"""An issuer of tokens on the loopback address: real keys, real HTTP, and answers that a test scripts.

with serving(issuer := Issuer()) as url:
    token = issuer.token(url, sub="sam")
"""

import json
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

import httpx2
import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import get_default_algorithms

from pegboard.adapters.egress import Egress

__all__ = ["AUDIENCE", "NOW", "Issuer", "Key", "egress_to", "serving"]

AUDIENCE = "https://tools.example.com/mcp"
NOW = 1_000_000.0
# Made once: reading the trusted certificates takes longer than a test.
_TLS = httpx2.create_ssl_context()

Answer = tuple[int, dict[str, str], bytes]


class Key:
    """One signing key of an issuer."""

    def __init__(self, kid: str, algorithm: str = "ES256") -> None:
        self.kid = kid
        self.algorithm = algorithm
        self.private = _private(kid, algorithm if algorithm[:2] in ("ES", "Ed") else "RSA")

    def public(self, **changes: Any) -> dict[str, Any]:
        """Return the key as it stands in a set of keys; a change of None leaves a member out."""
        found = get_default_algorithms()[self.algorithm].to_jwk(self.private.public_key(), as_dict=True)
        said = {**found, "kid": self.kid, "alg": self.algorithm, "use": "sig", **changes}
        return {name: value for name, value in said.items() if value is not None and name != "key_ops"} | {
            name: value for name, value in changes.items() if name == "key_ops"
        }


@cache
def _private(kid: str, algorithm: str) -> Any:
    """Make a key once for all tests: RSA takes a while."""
    del kid
    if algorithm == "EdDSA":
        return ed25519.Ed25519PrivateKey.generate()
    if algorithm.startswith("ES"):
        curves = {"ES256": ec.SECP256R1(), "ES384": ec.SECP384R1(), "ES512": ec.SECP521R1()}
        return ec.generate_private_key(curves[algorithm])
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


class Issuer:
    """Signs tokens and says where its keys are. `answers` replaces what a path answers; None hangs."""

    def __init__(self, *keys: Key) -> None:
        self.keys = list(keys or [Key("one")])
        self.answers: dict[str, Answer | None] = {}
        self.asked: list[str] = []
        self.forms: list[tuple[str, str | None]] = []
        self.release = Event()
        self.url = ""

    def claims(self, **changes: Any) -> dict[str, Any]:
        """Return the claims of a good token; a change of None leaves a claim out."""
        said = {"iss": self.url, "aud": AUDIENCE, "sub": "sam", "iat": NOW - 10, "exp": NOW + 600, **changes}
        return {name: value for name, value in said.items() if value is not None}

    def token(self, key: Key | None = None, headers: Mapping[str, Any] | None = None, **changes: Any) -> str:
        """Sign a token."""
        key = key or self.keys[0]
        said = {"kid": key.kid, "typ": "at+jwt", **(headers or {})}
        return jwt.encode(
            self.claims(**changes),
            key.private,
            algorithm=key.algorithm,
            headers={name: value for name, value in said.items() if value is not None},
        )

    def jwks(self) -> bytes:
        """Return the document of the keys."""
        return json.dumps({"keys": [key.public() for key in self.keys]}).encode()

    def answer(self, path: str) -> Answer | None:
        """Return what a path answers."""
        usual: dict[str, Callable[[], bytes]] = {
            "/keys": self.jwks,
            "/.well-known/oauth-authorization-server": lambda: json.dumps(
                {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}
            ).encode(),
        }
        if path in self.answers:
            return self.answers[path]
        return (200, {}, usual[path]()) if path in usual else (404, {}, b"")


def egress_to(*operators: str, **given: Any) -> Egress:
    """Make an egress whose operator wrote these addresses."""
    return Egress(operators=operators, tls=_TLS, **given)


@contextmanager
def serving(issuer: Issuer, tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """Serve an issuer and give its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            issuer.asked.append(self.path)
            found = issuer.answer(self.path)
            if found is None:
                issuer.release.wait(5)
                return
            status, headers, body = found
            self.send_response(status)
            for name, value in {"content-length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            issuer.forms.append((body, self.headers.get("authorization")))
            self.do_GET()

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    issuer.url = f"http{'s' if tls else ''}://127.0.0.1:{server.server_address[1]}"
    try:
        yield issuer.url
    finally:
        issuer.release.set()
        server.shutdown()
        thread.join()
        server.server_close()
