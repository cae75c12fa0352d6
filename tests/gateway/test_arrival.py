"""Under which names a request may arrive, from which pages, and when it counts as this machine's own."""

import pytest

from pegboard.gateway.arrival import Arrival

LOOPBACK, WIDE, V6 = ("127.0.0.1", 8700), ("10.0.0.5", 8700), ("::1", 8700)


def scope(server=LOOPBACK, client="127.0.0.1", **headers):
    pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return {"server": server, "client": (client, 5000), "headers": pairs}


ARRIVAL = Arrival(["Tools.example.com"], ["https://console.example.com"])


@pytest.mark.parametrize(
    ("server", "host", "known"),
    [
        (LOOPBACK, "127.0.0.1:8700", True),
        (LOOPBACK, "localhost:8700", True),
        (LOOPBACK, "LOCALHOST:8700", True),
        (LOOPBACK, "[::1]:8700", True),
        (V6, "[::1]:8700", True),
        (WIDE, "10.0.0.5:8700", True),
        (WIDE, "tools.example.com", True),
        (WIDE, "tools.example.com:443", True),
        (("10.0.0.5", 80), "10.0.0.5", True),
        (LOOPBACK, "127.0.0.1", False),
        (LOOPBACK, "127.0.0.1:8701", False),
        (WIDE, "localhost:8700", False),
        (LOOPBACK, "10.0.0.5:8700", False),
        (LOOPBACK, "evil.example:8700", False),
        (LOOPBACK, "tools.example.com.evil.example", False),
        (LOOPBACK, "127.0.0.1:8700@evil.example", False),
        (LOOPBACK, "evil.example#127.0.0.1:8700", False),
        (LOOPBACK, "127.0.0.1:8700/x", False),
        (LOOPBACK, "localhost.:8700", False),
        (LOOPBACK, "127.0.0.1:port", False),
        (LOOPBACK, "", False),
    ],
)
def test_a_request_arrives_under_a_name_of_ours_or_not_at_all(server, host, known):
    assert ARRIVAL.knows_host(scope(server, host=host)) is known


def test_a_request_without_a_host_or_with_two_is_to_nobody():
    assert not ARRIVAL.knows_host(scope())
    twice = {**scope(), "headers": [(b"host", b"127.0.0.1:8700"), (b"Host", b"127.0.0.1:8700")]}
    assert not ARRIVAL.knows_host(twice)


@pytest.mark.parametrize(
    ("origin", "known"),
    [
        (None, True),
        ("http://127.0.0.1:8700", True),
        ("http://localhost:8700", True),
        ("https://console.example.com", True),
        ("https://tools.example.com", True),
        ("http://localhost:3000", False),
        ("http://console.example.com", False),
        ("https://evil.example", False),
        ("null", False),
        ("file://", False),
        ("", False),
        ("chrome-extension://tools.example.com", False),
    ],
)
def test_a_web_page_may_ask_only_where_it_is_ours_or_configured(origin, known):
    headers = {} if origin is None else {"origin": origin}
    assert ARRIVAL.knows_origin(scope(host="127.0.0.1:8700", **headers)) is known


@pytest.mark.parametrize(
    ("client", "headers", "local"),
    [
        ("127.0.0.1", {}, True),
        ("::1", {}, True),
        ("10.0.0.9", {}, False),
        ("127.0.0.1", {"host": "tools.example.com"}, False),
        *(
            ("127.0.0.1", {name: "203.0.113.9"}, False)
            for name in (
                "forwarded",
                "via",
                "x_forwarded_for",
                "x_forwarded_host",
                "x_forwarded_proto",
                "x_real_ip",
                "X_Forwarded_For",
            )
        ),
    ],
)
def test_only_what_came_straight_from_this_machine_is_its_own(client, headers, local):
    assert ARRIVAL.is_local(scope(client=client, **{"host": "127.0.0.1:8700", **headers})) is local


def test_a_request_of_no_known_client_is_not_this_machines_own():
    assert not ARRIVAL.is_local({**scope(host="127.0.0.1:8700"), "client": None})
