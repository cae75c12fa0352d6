"""What pegboard.toml says of the gateway."""

import pytest

from pegboard.config.load import load_config
from pegboard.core.errors import ConfigError
from pegboard.gateway.listing import ListMode, ListSettings
from pegboard.gateway.settings import GatewaySettings, is_loopback

WHOLE = """\
[gateway]
host = "0.0.0.0"
port = 443
hosts = ["Tools.example.com"]
origins = ["https://console.example.com"]
profile = "me"
list = "all"
list_all_at_most = 40
requests_per_minute = 0
body_bytes = 2048
body_timeout_s = 5
connections = 10
drain_s = 0
"""


def loaded(tmp_path, text):
    path = tmp_path / "pegboard.toml"
    path.write_text(text)
    return load_config(path, {}).gateway


def test_every_key_is_taken(tmp_path):
    assert loaded(tmp_path, WHOLE) == GatewaySettings(
        host="0.0.0.0",
        port=443,
        hosts=frozenset({"tools.example.com"}),
        origins=frozenset({"https://console.example.com"}),
        profile="me",
        listing=ListSettings(mode=ListMode.ALL, all_at_most=40),
        requests_per_minute=0,
        body_bytes=2048,
        body_timeout_s=5.0,
        connections=10,
        drain_s=0.0,
    )


def test_unsaid_it_listens_on_this_machine_and_lets_in_nobody_unknown(tmp_path):
    unsaid = loaded(tmp_path, "")
    assert (is_loopback(unsaid.host), unsaid.profile, unsaid.hosts) == (True, None, frozenset())


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("port = 70000", "at most 65535"),
        ("port = -1", "at least 0"),
        ('hosts = ["https://tools.example.com"]', "no name of a host"),
        ('hosts = ["tools.example.com:443"]', "no name of a host"),
        ('origins = ["console.example.com"]', "no origin"),
        ('origins = ["https://console.example.com/"]', "no origin"),
        ('origins = ["null"]', "no origin"),
        ('list = "some"', "cannot be 'some'"),
        ("body_bytes = 1", "at least 1024"),
        ('profil = "me"', "unknown key 'profil'"),
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path, line, problem):
    with pytest.raises(ConfigError, match=problem):
        loaded(tmp_path, f"[gateway]\n{line}\n")


@pytest.mark.parametrize(
    ("host", "alone"),
    [
        ("127.0.0.1", True),
        ("127.8.9.10", True),
        ("::1", True),
        ("[::1]", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("::ffff:10.0.0.1", False),
        ("localhost.example.com", False),
        ("2130706433", False),
        ("", False),
    ],
)
def test_only_addresses_of_this_machine_are_loopback(host, alone):
    assert is_loopback(host) is alone
