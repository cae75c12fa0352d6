"""What pegboard.toml says of identity: whose tokens, what their claims mean, and what workloads may do."""

import pytest

from pegboard.adapters.token_settings import ALGORITHMS, IntrospectionSettings, JwtSettings
from pegboard.config.load import load_config
from pegboard.core.errors import ConfigError
from pegboard.service.claims import FIELDS, IdentitySettings, Workload

JWT = """\
[identity.jwt]
issuer = "https://login.example.com"
audience = "https://tools.example.com/mcp"
"""
WHOLE = f"""\
environment = "staging"
[identity]
servers = ["crm"]
required_scopes = ["mcp"]
{JWT}
algorithms = ["ES256", "RS256"]
jwks_url = "https://login.example.com/keys"
clock_skew_s = 30
[identity.claims]
tenant = "org_id"
roles = "realm_access.roles"
[identity.workloads.desk]
tenant = "acme"
scopes = ["crm.read"]
roles = ["support"]
servers = ["crm"]
[identity.workloads.bare]
"""
ASKING = """\
[identity.introspection]
issuer = "https://login.example.com"
audience = "https://tools.example.com/mcp"
url = "https://login.example.com/introspect"
client_id = "pegboard"
credential = { env = "ISSUER_SECRET" }
clock_skew_s = 5
kept_s = 0
"""


@pytest.fixture
def load(tmp_path):
    def loaded(content: str, **environ: str):
        path = tmp_path / "pegboard.toml"
        path.write_text(content)
        return load_config(path, environ)

    return loaded


def test_without_the_section_no_token_is_taken_and_nobody_has_a_server(load):
    config = load("")
    assert (config.tokens, config.identity) == (None, IdentitySettings())


def test_the_whole_section_is_read(load):
    config = load(WHOLE)
    assert config.tokens == JwtSettings(
        issuer="https://login.example.com",
        audience="https://tools.example.com/mcp",
        algorithms=frozenset({"ES256", "RS256"}),
        jwks_url="https://login.example.com/keys",
        skew_s=30.0,
    )
    desk = Workload(
        tenant="acme", scopes=frozenset({"crm.read"}), roles=frozenset({"support"}), servers=frozenset({"crm"})
    )
    assert config.identity == IdentitySettings(
        issuer="https://login.example.com",
        audience="https://tools.example.com/mcp",
        environment="staging",
        servers=frozenset({"crm"}),
        required_scopes=frozenset({"mcp"}),
        claims={"tenant": ("org_id",), "roles": ("realm_access.roles",)},
        workloads={"desk": desk, "bare": Workload()},
    )


def test_keys_may_be_in_a_file_beside_the_configuration(load, tmp_path):
    tokens = load(JWT + 'jwks_file = "keys.json"').tokens
    assert isinstance(tokens, JwtSettings)
    assert (tokens.jwks_file, tokens.algorithms) == (tmp_path / "keys.json", frozenset(ALGORITHMS))


def test_the_issuer_is_asked_with_a_credential_from_the_environment(load):
    tokens = load(ASKING, ISSUER_SECRET="s3cret").tokens
    assert tokens == IntrospectionSettings(
        issuer="https://login.example.com",
        audience="https://tools.example.com/mcp",
        url="https://login.example.com/introspect",
        client_id="pegboard",
        secret="s3cret",
        skew_s=5.0,
        kept_s=0.0,
    )
    assert "s3cret" not in repr(load(ASKING, ISSUER_SECRET="s3cret"))


@pytest.mark.parametrize("name", FIELDS)
def test_every_field_can_be_given_a_claim(load, name):
    assert load(f'[identity.claims]\n{name} = "x"').identity.claims == {name: ("x",)}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('[identity]\nserver = ["crm"]', "unknown key 'server'"),
        ('[identity.claims]\nstage = "stage"', "unknown key 'stage'"),
        ('[identity.claims]\nenvironment = "env"', "unknown key 'environment'"),
        ("[identity.claims]\ntenant = 7", "must be a text"),
        ('[identity.jwt]\nissuer = "https://x.example.com"', "'audience' is missing"),
        (JWT + "algorithms = []", "names none"),
        (JWT + 'algorithms = ["none"]', "'none' is none of the algorithms"),
        (JWT + 'algorithms = ["HS256"]', "'HS256' is none of the algorithms"),
        (JWT + "clock_skew_s = 601", "from 0 to 600"),
        (JWT + 'jwks_file = "k"\njwks_url = "https://x.example.com/k"', "exclude each other"),
        (JWT + 'jwks_url = "http://login.example.com/keys"', "'jwks_url' must be https"),
        (JWT.replace("https://login", "http://login"), "'issuer' must be https"),
        (JWT.replace("login.example.com", "a@login.example.com"), "'issuer' must be https"),
        (JWT.replace("login.example.com", "[::1"), "'issuer' must be https"),
        (JWT.replace("login.example.com", "login.example.com/#x"), "'issuer' must be https"),
        (JWT.replace("login.example.com", ""), "'issuer' must be https"),
        (JWT + ASKING, "'jwt' and 'introspection' exclude each other"),
        (ASKING, "'ISSUER_SECRET' is not set"),
        ('[identity.workloads.desk]\nuser = "sam"', "unknown key 'user'"),
    ],
)
def test_what_is_wrong_is_refused_and_named(load, content, problem):
    with pytest.raises(ConfigError, match=problem):
        load(content)


def test_an_issuer_is_not_asked_over_http_from_afar(load):
    with pytest.raises(ConfigError, match="'url' must be https"):
        load(ASKING.replace("https://login.example.com/introspect", "http://login.example.com/"), ISSUER_SECRET="x")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8080", "[::1]:9"])
def test_an_issuer_on_this_machine_may_speak_http(load, host):
    tokens = load(JWT.replace("https://login.example.com", f"http://{host}")).tokens
    assert tokens is not None
    assert tokens.issuer == f"http://{host}"
