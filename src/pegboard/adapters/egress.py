"""Egress: one request to an address that somebody else may have chosen, so that it cannot be aimed at our own network.

A host is resolved once, every address that it has is judged, and the connection goes to a judged address: a name that
means another machine a moment later (DNS rebinding) changes nothing. What is judged is the address and not how it was
written, so decimal, octal, hexadecimal and IPv6 spellings need no rules of their own. No redirect is followed; no
proxy, cookie or credential is taken from the environment; answers are bounded in bytes and in time.

An operator may name a private address. That holds for the origin that the operator wrote and for no other.

Source: the IANA registries of special-purpose addresses (RFC 6890, RFC 8190); OWASP, "Server-Side Request Forgery".
"""

import ssl
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from socket import SOCK_STREAM
from typing import TypeAlias

import anyio
import httpx2

__all__ = ["REFUSED", "Egress", "EgressError", "Resolve", "address_problem"]

Resolve: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
"""Turns a host and a port into addresses."""

_WITHIN_S = 10.0
# The largest set of keys of a public issuer has about 60 KB.
_MOST_BYTES = 512 * 1024

# One row a range, and what lies there. Of IPv6 only 2000::/3 is given out to anybody (IANA, IPv6 address space), so
# everything outside is refused without a row: loopback, private, link-local, and IPv4 written as IPv6.
REFUSED: tuple[tuple[IPv4Network | IPv6Network, str], ...] = tuple(
    (ip_network(network), what)
    for network, what in (
        ("0.0.0.0/8", "this host"),
        ("10.0.0.0/8", "a private network"),
        ("100.64.0.0/10", "a carrier's network"),
        ("127.0.0.0/8", "this machine"),
        ("168.63.129.16/32", "a cloud's metadata"),  # Azure's, the one that lies in public space
        ("169.254.0.0/16", "a link, or a cloud's metadata"),
        ("172.16.0.0/12", "a private network"),
        ("192.0.0.0/24", "protocols"),
        ("192.0.2.0/24", "documentation"),
        ("192.88.99.0/24", "a relay to IPv6"),
        ("192.168.0.0/16", "a private network"),
        ("198.18.0.0/15", "benchmarks"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "many receivers"),
        ("240.0.0.0/4", "nobody"),
        ("2001::/23", "protocols, and IPv4 inside"),
        ("2001:db8::/32", "documentation"),
        ("2002::/16", "IPv4 inside"),
        ("3fff::/20", "documentation"),
    )
)
_GIVEN_OUT = IPv6Network("2000::/3")


class EgressError(Exception):
    """Nothing usable came back. The text holds no header, no body and no query of either side."""


def address_problem(address: str) -> str | None:
    """Say why no request may go to this address by somebody else's word, None where it may."""
    try:
        found: IPv4Address | IPv6Address = ip_address(address.partition("%")[0])
    except ValueError:
        return "it is no address"
    if isinstance(found, IPv6Address) and found not in _GIVEN_OUT:
        return "it belongs to no public network"
    return next((f"it belongs to {what}" for network, what in REFUSED if found in network), None)


class Egress:
    """Sends requests under these rules."""

    def __init__(
        self, *, operators: Collection[str] = (), resolve: Resolve | None = None, tls: ssl.SSLContext | None = None
    ) -> None:
        """Prepare requests.

        Args:
            operators: Addresses that the operator wrote; their origins may be private, and http.
            resolve: How hosts are looked up; the system's way where it is not said.
            tls: Whose certificates are trusted; as the library does by default where it is not said.
        """
        self._own = {_origin(httpx2.URL(url)) for url in operators}
        self._resolve = resolve or _addresses
        self._tls = tls or httpx2.create_ssl_context()

    async def fetch(
        self,
        url: str,
        *,
        form: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        most_bytes: int = _MOST_BYTES,
        within_s: float = _WITHIN_S,
    ) -> bytes:
        """GET a URL, or POST a form to it, and return the body of an answer with status 200.

        Raises:
            EgressError: The address may not or cannot be reached, or answered anything else, too much or too late.
        """
        try:
            target = httpx2.URL(url)
            request = httpx2.Request(
                "GET" if form is None else "POST",
                target,
                # A compressed body could unpack to any size.
                headers={"accept": "application/json", "accept-encoding": "identity", **(headers or {})},
                data=None if form is None else dict(form),
            )
        except (httpx2.InvalidURL, ValueError, TypeError):
            raise EgressError("the address cannot be read") from None
        try:
            with anyio.fail_after(within_s):
                return await self._sent(request, await self._judged(target), most_bytes)
        except TimeoutError:
            raise EgressError(f"no whole answer came from {target.host!r} within {within_s:g} s") from None

    async def _judged(self, url: httpx2.URL) -> Sequence[str]:
        """Resolve a host, once, and return its addresses, all of which may be reached."""
        own = _origin(url) in self._own
        if url.userinfo or not url.host or (url.scheme != "https" and not own):
            raise EgressError("only https addresses without a user name are reached")
        try:
            addresses = await self._resolve(url.host, _port(url))
        except (OSError, UnicodeError):
            addresses = ()
        if not addresses:
            raise EgressError(f"the host {url.host!r} has no address")
        # One bad address refuses them all: whoever answers for the name chooses which of them comes first.
        for address in addresses:
            if not own and (problem := address_problem(address)):
                raise EgressError(f"the host {url.host!r} may not be reached: {problem}")
        return addresses

    async def _sent(self, request: httpx2.Request, addresses: Sequence[str], most_bytes: int) -> bytes:
        """Send to the first of these addresses that takes the connection."""
        for address in addresses:
            # A transport of its own for each request: its connections are known by their address, and one made for
            # another host on the same address must not be used again.
            async with httpx2.AsyncHTTPTransport(verify=self._tls, trust_env=False) as transport:
                try:
                    response = await transport.handle_async_request(_pinned(request, address))
                    try:
                        return await _body(response, most_bytes)
                    finally:
                        await response.aclose()
                except httpx2.ConnectError:
                    continue
                except (httpx2.RequestError, httpx2.StreamError) as error:
                    host = request.url.host
                    raise EgressError(f"the exchange with {host!r} failed ({type(error).__name__})") from None
        raise EgressError(f"the host {request.url.host!r} takes no connection")


def _pinned(request: httpx2.Request, address: str) -> httpx2.Request:
    """Return the request to this address; its host stays the one that is named in it and in the certificate."""
    assert isinstance(request.stream, httpx2.AsyncByteStream)
    return httpx2.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={"sni_hostname": request.url.host, "timeout": {}},
    )


async def _body(response: httpx2.Response, most_bytes: int) -> bytes:
    if response.status_code != 200:
        raise EgressError(f"the answer has status {response.status_code}; redirects are not followed")
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise EgressError("the answer is compressed, which was not asked for")
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    body = bytearray()
    async for piece in response.stream:
        body += piece
        if len(body) > most_bytes:
            raise EgressError(f"the answer is longer than {most_bytes:,} bytes")
    return bytes(body)


async def _addresses(host: str, port: int) -> Sequence[str]:
    found = await anyio.getaddrinfo(host, port, type=SOCK_STREAM)
    return tuple(dict.fromkeys(str(address[0]) for *_, address in found))


def _origin(url: httpx2.URL) -> tuple[str, str, int]:
    return url.scheme, url.host, _port(url)


def _port(url: httpx2.URL) -> int:
    return url.port or (443 if url.scheme == "https" else 80)
