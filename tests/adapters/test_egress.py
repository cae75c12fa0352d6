"""Egress: no name, spelling, redirect or second look-up leads a request into a network that is not public."""

import datetime
import ssl
from collections.abc import Iterator, Sequence
from ipaddress import ip_network
from pathlib import Path

import anyio
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from pegboard.adapters.egress import REFUSED, Egress, EgressError, address_problem
from tests.adapters.issuer import Issuer, egress_to, serving
from tests.strategies import cases

PUBLIC = "93.184.215.14"


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with serving(found := Issuer()):
        yield found


class Names:
    """Resolves every host to what is scripted, one answer after the other; the last one repeats."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, int]] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append((host, port))
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def problem_of(egress: Egress, url: str, **limits: float) -> str:
    with pytest.raises(EgressError) as error:
        anyio.run(lambda: egress.fetch(url, **limits))
    return str(error.value)


@pytest.mark.parametrize(("network", "what"), REFUSED, ids=str)
def test_both_ends_of_a_refused_range_are_refused_and_its_neighbours_are_judged_alone(network, what):
    assert address_problem(str(network[0])) == address_problem(str(network[-1])) == f"it belongs to {what}"


@pytest.mark.parametrize(
    "address",
    [
        *("0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.255.255.254", "168.63.129.16", "169.254.169.254"),
        *("172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.19.0.1"),
        *("198.51.100.1", "203.0.113.1", "224.0.0.1", "255.255.255.255"),
        *("::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1", "5f00::1"),
        *("::ffff:127.0.0.1", "::ffff:a9fe:a9fe", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::a00:1"),
        *("2002:7f00:1::", "2001:0:7f00:1::", "2001:db8::1", "3fff::1"),
        *("localhost", "", "1", "127.1", "0x7f000001", "2130706433", "::1]"),
    ],
)
def test_an_address_that_is_not_public_is_refused(address):
    assert address_problem(address) is not None


@pytest.mark.parametrize(
    "address", [PUBLIC, "1.1.1.1", "100.63.255.255", "172.32.0.1", "192.0.1.1", "223.255.255.255", "2606:4700::1111"]
)
def test_a_public_address_may_be_reached(address):
    assert address_problem(address) is None


@given(st.ip_addresses())
@cases(200, 5_000)
def test_what_the_standard_library_calls_private_is_refused(address):
    if not address.is_global or address.is_multicast or address.is_link_local or address.is_loopback:
        assert address_problem(str(address)) is not None


@given(st.ip_addresses(v=4), st.sampled_from(["::ffff:0:0/96", "::/96", "64:ff9b::/96", "2002::/16"]))
def test_no_ipv4_address_is_reached_as_an_ipv6_one(address, prefix):
    network = ip_network(prefix)
    inside = int(network[0]) | int(address) << (80 if prefix.startswith("2002") else 0)
    assert address_problem(str(type(network[0])(inside))) is not None


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "2130706433", "0x7f000001", "017700000001", "127.1", "0", "[::1]", "[::ffff:127.0.0.1]", "localhost"],
)
def test_no_spelling_of_this_machine_is_reached(issuer, host):
    port = issuer.url.rpartition(":")[2]
    # Looked up by the system, as everything is.
    said = problem_of(egress_to(), f"https://{host}:{port}/keys")
    assert "may not be reached" in said or "has no address" in said or "cannot be read" in said
    assert issuer.asked == []


def test_a_host_with_one_private_address_among_public_ones_is_refused():
    names = Names([PUBLIC, "169.254.169.254"])
    assert "may not be reached" in problem_of(egress_to(resolve=names), "https://rebind.example.com/keys")


def test_the_connection_goes_to_the_judged_address_under_the_name_that_was_asked_for(issuer):
    port = int(issuer.url.rpartition(":")[2])
    # Asked a second time, the name would mean another machine.
    names = Names(["127.0.0.1"], ["127.0.0.2"])
    url = f"http://keys.example.com:{port}/keys"
    assert anyio.run(lambda: egress_to(url, resolve=names).fetch(url)) == issuer.jwks()
    assert names.asked == [("keys.example.com", port)]


def test_an_address_that_takes_no_connection_is_passed_over(issuer):
    port = issuer.url.rpartition(":")[2]
    url = f"http://keys.example.com:{port}/keys"
    assert anyio.run(lambda: egress_to(url, resolve=Names(["127.0.0.2", "127.0.0.1"])).fetch(url)) == issuer.jwks()


def test_what_the_operator_wrote_holds_for_that_origin_alone(issuer):
    with serving(other := Issuer()):
        egress = egress_to(f"{issuer.url}/any/path")
        assert anyio.run(egress.fetch, f"{issuer.url}/keys") == issuer.jwks()
        assert "only https" in problem_of(egress, f"{other.url}/keys")
        assert "may not be reached" in problem_of(egress, f"{other.url}/keys".replace("http:", "https:"))
        assert other.asked == []


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("http://keys.example.com/", "only https addresses without a user name are reached"),
        ("https://user:secret@keys.example.com/", "only https addresses without a user name are reached"),
        ("ftp://keys.example.com/", "only https addresses without a user name are reached"),
        ("file:///etc/passwd", "only https addresses without a user name are reached"),
        ("/keys", "only https addresses without a user name are reached"),
        ("", "only https addresses without a user name are reached"),
        ("https://[::1", "the address cannot be read"),
        ("https://keys.example.com:port/", "the address cannot be read"),
        ("https://\x00/", "the address cannot be read"),
    ],
)
def test_an_address_of_another_form_is_refused_before_anything_is_looked_up(url, problem):
    names = Names([PUBLIC])
    assert problem_of(egress_to(resolve=names), url) == problem
    assert names.asked == []


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ((302, {"location": "http://169.254.169.254/"}, b""), "the answer has status 302; redirects are not followed"),
        ((404, {}, b"secret"), "the answer has status 404; redirects are not followed"),
        ((200, {"content-encoding": "gzip"}, b"x"), "the answer is compressed, which was not asked for"),
        ((200, {}, b"x" * 101), "the answer is longer than 100 bytes"),
    ],
)
def test_an_answer_of_another_kind_is_an_error(issuer, answer, problem):
    issuer.answers["/keys"] = answer
    assert problem_of(egress_to(issuer.url), f"{issuer.url}/keys", most_bytes=100) == problem
    assert issuer.asked == ["/keys"]


def test_an_answer_that_does_not_come_is_waited_for_as_long_as_was_said(issuer):
    issuer.answers["/keys"] = None
    said = problem_of(egress_to(issuer.url), f"{issuer.url}/keys", within_s=0.05)
    assert said == "no whole answer came from '127.0.0.1' within 0.05 s"


def test_a_server_that_hangs_up_and_one_that_is_not_there_are_errors(issuer):
    issuer.answers["/keys"] = (200, {"content-length": "9"}, b"x")
    assert "failed (RemoteProtocolError)" in problem_of(egress_to(issuer.url), f"{issuer.url}/keys", within_s=1.0)
    assert "takes no connection" in problem_of(egress_to("http://127.0.0.2:9/"), "http://127.0.0.2:9/")


def test_a_host_that_has_no_address_is_an_error():
    async def unknown(host: str, port: int) -> Sequence[str]:
        raise OSError(f"{host}:{port}")

    assert "has no address" in problem_of(egress_to(resolve=unknown), "https://nowhere.example.com/")


def test_a_server_without_a_trusted_certificate_is_not_believed(issuer):
    url = issuer.url.replace("http:", "https:")
    assert "takes no connection" in problem_of(egress_to(url), f"{url}/keys")


def test_the_certificate_must_be_of_the_name_and_not_of_the_address(tmp_path):
    server, trusting = _certified("keys.example.com", tmp_path)
    with serving(issuer := Issuer(), server):
        port = issuer.url.rpartition(":")[2]

        def fetch(host: str) -> bytes:
            url = f"https://{host}:{port}/keys"
            egress = Egress(operators=[url], resolve=Names(["127.0.0.1"]), tls=trusting)
            return anyio.run(egress.fetch, url)

        assert fetch("keys.example.com") == issuer.jwks()
        with pytest.raises(EgressError, match="takes no connection"):
            fetch("other.example.com")


def _certified(host: str, folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Make a certificate for a host; return what serves with it, and what trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    start = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, start, start.replace(year=2120))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / "certificate.pem"
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file.write_bytes(made.public_bytes(Encoding.PEM) + secret)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(file)
    return server, ssl.create_default_context(cafile=str(file))
