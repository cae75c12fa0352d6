"""pegboard.toml is read strictly: each wrong key is named with its place, and nothing that is written is ignored."""

from pathlib import Path

import pytest

from pegboard.config.evaluation import Calls, Evaluation
from pegboard.config.load import load_config, problems_of
from pegboard.config.values import Config, RankingChoice, Trust
from pegboard.core.catalog import Flow, Proposal, Reach, Risk
from pegboard.core.context import RuntimeContext
from pegboard.core.errors import ConfigError
from pegboard.core.policy import DIMENSIONS, AccessTemplate, Reason, Switch
from pegboard.engine.asking import NamespaceNote, SelectionSettings
from pegboard.engine.compose import Curation
from pegboard.engine.fallback import Action, Cause, FallbackRow
from pegboard.engine.proposals import ProposeRule
from pegboard.engine.trace import Record
from pegboard.providers.capabilities import Api

WHOLE = """
environment = "staging"
store = "sqlite:///data/board.db"
lock = "board.lock"

[dimensions]
used = ["scopes", "environment", "stage"]

[access.crm-read]
required_scopes = ["crm.read"]
environments = ["production", "staging"]
allowed_stages = ["*"]

[servers.crm]
command = ["python", "-m", "acme_crm"]
credential = { env = "CRM_TOKEN" }
namespace = "customers"
cwd = "servers"
call_timeout_s = 5
refresh_timeout_s = 90

[[servers.crm.propose]]
match = ["*delete*", "*refund*"]
access = "crm-read"
risk = "destructive"
flow = ["sends_out"]
[[servers.crm.propose]]
match = "get_*"
risk = "read"
reach = "bounded"

[servers.web]
url = "https://tools.example.com/mcp?key=${WEB_KEY}"
headers = { X-Team = "blue" }
credential = { file = "secret.txt" }

[namespaces."customers.refunds"]
description = "Refunds"
advertise = "Refunds. Ask the payments team."
approved = true

[tools."customers.stop_all"]
pinned = "always"
[tools."customers.get"]
enabled = false
pinned = "never"
summary = "Look a customer up."
keywords = ["client"]
examples = ["who is Dana?"]
[tools."customers.draft"]
pinned = ["reply_draft"]

[selection]
safe_set = ["customers.get"]
limit = 5
budget_tokens = 6000
minimum_confidence = 0.4
[[selection.fallback]]
cause = "weak"
risk = "read"
environment = "*"
do = "weak"
[[selection.fallback]]
cause = "none_fits"
environment = "development"
do = "all_tools"

[profiles.agent]
user = "sam"
tenant = "acme"
scopes = ["crm.read"]
roles = ["support"]
servers = ["crm"]
stage = "investigation"
clearance = 2
approved_namespaces = ["customers.refunds"]
[profiles.tester]
workload = "ci"
environment = "development"

[traces]
record = "task"
[evaluation]
principal = "agent"
calls = "servers"
[arms.other]
catalog = "other.jsonl"
access.crm-read.required_scopes = ["x"]
retrieval.endpoint = { url = "http://127.0.0.1:9/v1", model = "e", dimensions = 8, credential = { env = "WEB_KEY" } }
model = { api = "anthropic", url = "http://127.0.0.1:9/v1", model = "m", credential = { env = "CRM_TOKEN" } }
[arms.wide]
selection = { limit = 16 }
retrieval = { ranking = "words" }
catalog = 3
lock = "main.lock"
target = "openai"
"""
ENVIRON = {"CRM_TOKEN": "s3cret-crm", "WEB_KEY": "s3cret-web"}


def load(folder: Path, content: str) -> Config:
    (folder / "pegboard.toml").write_text(content, encoding="utf-8")
    return load_config(folder / "pegboard.toml", ENVIRON)


def refused(folder: Path, content: str) -> ConfigError:
    with pytest.raises(ConfigError) as error:
        load(folder, content)
    return error.value


@pytest.fixture
def whole(tmp_path: Path) -> Config:
    (tmp_path / "secret.txt").write_text("s3cret-file\n")
    return load(tmp_path, WHOLE)


def test_policy_and_selection_are_read_as_values(whole: Config):
    made = whole.deployment()
    assert made.templates == {
        "crm-read": AccessTemplate(
            required_scopes=frozenset({"crm.read"}),
            environments=frozenset({"production", "staging"}),
            allowed_stages=frozenset({"*"}),
        )
    }
    assert made.used == {Reason.SCOPE, Reason.ENVIRONMENT, Reason.STAGE}
    assert made.switches == {
        "customers.stop_all": Switch(pinned=("*",)),
        "customers.get": Switch(enabled=False, pinned=()),
        "customers.draft": Switch(pinned=("reply_draft",)),
    }
    assert made.curation == {
        "customers.get": Curation(summary="Look a customer up.", keywords=("client",), examples=("who is Dana?",))
    }
    refunds = NamespaceNote(description="Refunds", advertise="Refunds. Ask the payments team.", approved=True)
    assert made.selection == SelectionSettings(
        limit=5,
        budget_tokens=6000,
        minimum_confidence=0.4,
        safe_set=("customers.get",),
        fallback=(
            FallbackRow(cause=Cause.WEAK, risk=Risk.READ, do=Action.WEAK),
            FallbackRow(cause=Cause.NONE_FITS, environment="development", do=Action.ALL_TOOLS),
        ),
        namespaces={"customers.refunds": refunds},
    )
    assert made.record is Record.TASK
    assert made.propose == {
        "crm": (
            ProposeRule(
                match=("*delete*", "*refund*"),
                proposal=Proposal(access="crm-read", risk=Risk.DESTRUCTIVE, flow=frozenset({Flow.SENDS_OUT})),
            ),
            ProposeRule(match=("get_*",), proposal=Proposal(risk=Risk.READ, reach=Reach.BOUNDED)),
        )
    }
    assert (made.namespaces_of, made.deadlines_s) == ({"crm": "customers"}, {"crm": 90.0})
    assert whole.evaluation == Evaluation(principal="agent", calls=Calls.SERVERS)
    other, wide = whole.arms.values()
    assert other.catalog == whole.file.parent / "other.jsonl"
    assert other.access == {"crm-read": AccessTemplate(required_scopes=frozenset({"x"}))}
    assert (other.retrieval["endpoint"].key, other.model.key) == ("s3cret-web", "s3cret-crm")
    assert other.said["retrieval"] == {"endpoint": {"model": "e", "dimensions": 8}}
    assert other.said["model"] == {"api": "anthropic", "model": "m"}
    assert (wide.selection, wide.retrieval) == ({"limit": 16}, {"ranking": RankingChoice.WORDS})
    assert (wide.catalog, wide.lock, wide.target) == (3, whole.file.parent / "main.lock", Api.OPENAI)
    assert wide.said["lock"] == "main.lock"


def test_servers_get_their_credentials_and_nothing_else(whole: Config, tmp_path: Path):
    crm, web = whole.reachable()["crm"], whole.reachable()["web"]
    assert (crm.command, crm.env, crm.url) == (("python", "-m", "acme_crm"), {"CRM_TOKEN": "s3cret-crm"}, None)
    assert (crm.cwd, crm.call_timeout_s) == (str(tmp_path / "servers"), 5.0)
    assert web.url == "https://tools.example.com/mcp?key=s3cret-web"
    assert web.headers == {"X-Team": "blue", "Authorization": "Bearer s3cret-file"}
    assert whole.servers["crm"].trust is Trust.REVIEW


def test_no_secret_is_in_the_repr_of_a_configuration(whole: Config):
    assert "s3cret" not in repr(whole)
    assert "crm-read" in repr(whole)


def test_paths_are_relative_to_the_file(whole: Config, tmp_path: Path):
    assert (whole.store, whole.lock) == (tmp_path / "data/board.db", tmp_path / "board.lock")
    absolute = load(tmp_path, f'store = "sqlite:///{tmp_path}/x.db"')
    assert absolute.store == tmp_path / "x.db"


def test_a_profile_is_a_context_in_this_environment_unless_it_names_another(whole: Config):
    assert whole.context("agent") == RuntimeContext(
        user="sam",
        tenant="acme",
        scopes=frozenset({"crm.read"}),
        roles=frozenset({"support"}),
        servers=frozenset({"crm"}),
        stage="investigation",
        environment="staging",
        clearance=2,
        approved_namespaces=frozenset({"customers.refunds"}),
    )
    assert whole.context("agent", stage="resolution").stage == "resolution"
    assert whole.context("tester").environment == "development"
    with pytest.raises(ConfigError) as error:
        whole.context("agnet")
    assert (error.value.problem, error.value.fix) == ("there is no profile 'agnet'", "did you mean 'agent'?")


@pytest.mark.parametrize("content", [None, "", "# nothing yet\n", "\ufeff"])
def test_an_absent_or_empty_file_is_valid(content: str | None, tmp_path: Path):
    path = tmp_path / "pegboard.toml"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    config = load_config(path, {})
    assert (config.environment, config.store, config.lock) == (
        "production",
        tmp_path / "pegboard.db",
        tmp_path / "pegboard.lock",
    )
    assert (config.used, config.servers, config.profiles, config.access) == (DIMENSIONS, {}, {}, {})
    assert config.deployment().selection == SelectionSettings()
    assert [notice.problem for notice in config.warnings] == (
        ["there is no such file; the defaults stand"] if content is None else []
    )


@pytest.mark.parametrize(
    ("content", "path", "problem", "fix"),
    [
        ("limit = 5", "limit", "unknown key 'limit'", "did you mean 'limits'?"),
        ("[selection]\nlimt = 5", "selection.limt", "unknown key 'limt'", "did you mean 'limit'?"),
        ("[acess.x]", "acess", "unknown key 'acess'", "did you mean 'access'?"),
        (
            '[access.x]\nscopes = ["a"]',
            "access.x.scopes",
            "unknown key 'scopes'",
            "did you mean 'required_scopes'?",
        ),
        ('[servers."my crm"]\nurls = "x"', "servers.'my crm'.urls", "unknown key 'urls'", "did you mean 'url'?"),
        ('[[servers.x.propose]]\nrisk = "read"', "servers.x.propose[1]", "'match' is missing", "add match"),
        ('[[servers.x.propose]]\nmatch = "*"\naccss = "y"', "servers.x.propose[1].accss", "unknown key 'accss'", None),
        ("environment = 5", "environment", "'environment' must be a text, not a number", None),
        ("environment = true", "environment", "'environment' must be a text, not true or false", None),
        ('environment = ""', "environment", "'environment' is empty", None),
        ('[selection]\nlimit = "8"', "selection.limit", "'limit' must be a whole number, not a text", None),
        ("[selection]\nlimit = true", "selection.limit", "'limit' must be a whole number, not true or false", None),
        ("[selection]\nlimit = 0", "selection.limit", "'limit' must be at least 1, not 0", None),
        ("[selection]\nlimit = 2.0", "selection.limit", "'limit' must be a whole number, not a number", None),
        ("[selection]\nminimum_confidence = 1.5", "selection.minimum_confidence", None, None),
        ("[selection]\nminimum_confidence = nan", "selection.minimum_confidence", None, None),
        (
            '[selection]\nminimum_confidence = "high"',
            "selection.minimum_confidence",
            "'minimum_confidence' cannot be 'high'",
            'write "calibrated" or a number',
        ),
        ("access = []", "access", "'access' must be a table, not a list", None),
        ('[access.x]\nenvironments = "*"', "access.x.environments", "'environments' must be a list, not a text", None),
        ("[access.x]\ntenants = [1]", "access.x.tenants[1]", None, None),
        ("[access.x]\nminimum_clearance = 1.5", "access.x.minimum_clearance", None, None),
        ('[dimensions]\nused = ["scope"]', "dimensions.used[1]", "'scope' is no dimension", "did you mean 'scopes'?"),
        ('[dimensions]\nused = ["server"]', "dimensions.used[1]", "'server' is no dimension", None),
        ('[tools."a.b"]\npinned = "sometimes"', "tools.'a.b'.pinned", "'pinned' cannot be 'sometimes'", None),
        ('[tools."a.b"]\npinned = ["*"]', "tools.'a.b'.pinned", "'*' is no stage", 'write pinned = "always"'),
        ('[tools."a\\nb"]', "tools.'a\\nb'", None, None),
        ('[servers.x]\ntrust = "folow"', "servers.x.trust", "'trust' cannot be 'folow'", "did you mean 'follow'?"),
        ('[servers.x]\ncommand = "npx -y x"', "servers.x.command", "'command' must be a list, not a text", None),
        (
            '[servers.x]\ncommand = ["a"]\nurl = "https://a.example"',
            "servers.x",
            "'command' and 'url' exclude each other",
            None,
        ),
        (
            "[servers.x]\ncredential = {}",
            "servers.x.credential",
            "a credential needs one of 'env', 'file', 'per_user', 'oauth', 'exchange'",
            None,
        ),
        (
            '[servers.x]\ncredential = { env = "A", file = "b" }',
            "servers.x.credential",
            "'env' and 'file' exclude each other",
            None,
        ),
        (
            '[servers.x]\ncredential = "s3cret"',
            "servers.x.credential",
            "'credential' must be a table, not a text",
            None,
        ),
        (
            '[[servers.x.propose]]\nmatch = "*"\nrisk = "read"\nreach = "open"',
            "servers.x.propose[1]",
            "a tool of open reach runs what it is given, so its risk cannot be read",
            None,
        ),
        ("[servers.x]\nconnect_timeout_s = 0", "servers.x.connect_timeout_s", None, None),
        ('[[selection.fallback]]\ncause = "weak"', "selection.fallback[1]", "'do' is missing", "add do"),
        (
            '[[selection.fallback]]\ncause = "weak"\ndo = "all_tools"',
            "selection.fallback[1]",
            "all_tools is for development: add environment = 'development'",
            None,
        ),
        ('[traces]\nrecord = "all"', "traces.record", "'record' cannot be 'all'", None),
        (
            'store = "postgresql://u:s3cret@db/x"',
            "store",
            "a PostgreSQL store is not available in this version",
            "use sqlite:///pegboard.db",
        ),
        ('store = "mysql://u:s3cret@db/x"', "store", "a store is written as sqlite:/// and a file", None),
        ('store = "sqlite:///"', "store", None, None),
        ('store = "sqlite:///:memory:"', "store", None, None),
        ('store = "sqlite:///~nosuchuser/x"', "store", "there is no home folder '~nosuchuser'", "name another file"),
        ('lock = "~nosuchuser/x"', "lock", None, "name another file"),
        ('mcp_config = ["~nosuchuser/x"]', "mcp_config[1]", None, "name another file"),
        (f"selection.limit = 0x{'f' * 5000}", "selection.limit", "'limit' has too many digits", None),
        ("[profiles.x]\nclearance = true", "profiles.x.clearance", None, None),
        ('[profiles.x]\nscopes = "crm.read"', "profiles.x.scopes", None, None),
        ("environment = 2026-12-01", "environment", "'environment' must be a text, not a date or time", None),
    ],
)
def test_what_is_wrong_is_named_with_its_place(
    content: str, path: str, problem: str | None, fix: str | None, tmp_path: Path
):
    found = refused(tmp_path, content)
    assert found.where == f"{tmp_path / 'pegboard.toml'}: {path}"
    assert problem in (None, found.problem)
    assert fix in (None, found.fix)
    assert "s3cret" not in f"{found.problem} {found.fix}"


def test_the_clients_prefix_is_counted_in_the_names_of_selections(tmp_path: Path):
    (tmp_path / "pegboard.toml").write_text('[names]\nclient_prefix = "mcp__pegboard__"\n')
    settings = load_config(tmp_path / "pegboard.toml", {}).deployment().selection
    assert settings.client_prefix == "mcp__pegboard__"
    assert len(settings.client_prefix + settings.alias_of("crm." + "x" * 60)) == 64


@pytest.mark.parametrize(
    ("prefix", "problem"),
    [("x" * 52, "is too long"), ("mcp x", "no name may hold"), ("mcp:x", "no name may hold"), ("", "is empty")],
)
def test_a_prefix_that_no_name_could_have_is_refused(prefix: str, problem: str, tmp_path: Path):
    found = refused(tmp_path, f'[names]\nclient_prefix = "{prefix}"\n')
    assert problem in found.problem
    assert str(found.where).endswith("names.client_prefix")


def test_approvals_are_asked_before_the_named_risks_and_reaches(tmp_path: Path):
    (tmp_path / "pegboard.toml").write_text('[approvals]\nrisk = ["write"]\nreach = []\n')
    deployment = load_config(tmp_path / "pegboard.toml", {}).deployment()
    assert (deployment.approvals.risk, deployment.approvals.reach) == ({Risk.WRITE}, frozenset())
    unsaid = load_config(tmp_path / "nothing.toml", {}).deployment()
    assert (unsaid.approvals.risk, unsaid.approvals.reach) == ({Risk.DESTRUCTIVE}, {Reach.OPEN})


def test_an_endpoint_takes_its_key_from_the_environment_and_never_shows_it(tmp_path: Path):
    (tmp_path / "pegboard.toml").write_text(
        '[retrieval]\nranking = "accurate"\n[retrieval.endpoint]\nurl = "https://models.example/v1"\n'
        'model = "m"\ndimensions = 3\ncredential = { env = "MODELS_KEY" }\n'
    )
    found = load_config(tmp_path / "pegboard.toml", {"MODELS_KEY": "s3cret"}).retrieval
    assert (found.ranking, found.endpoint.key) == (RankingChoice.ACCURATE, "s3cret")
    assert "s3cret" not in repr(found)
    with pytest.raises(ConfigError, match="MODELS_KEY"):
        load_config(tmp_path / "pegboard.toml", {})


def test_everything_that_is_wrong_is_found_at_once(tmp_path: Path):
    path = tmp_path / "pegboard.toml"
    path.write_text(
        'limt = 1\n[selection]\nlimit = "x"\n[profiles.a]\nscope = []\nroles = [1, 2]\n[names]\nprefix = 1\n'
    )
    found = [str(error.where).partition(": ")[2] for error in problems_of(path, {})]
    assert found == [
        "limt",
        "selection.limit",
        "profiles.a.scope",
        "profiles.a.roles[1]",
        "profiles.a.roles[2]",
        "names.prefix",
    ]
    with pytest.raises(ConfigError) as error:
        load_config(path, {})
    assert str(error.value.fix).endswith("(and 5 more: pegboard doctor)")
    assert problems_of(tmp_path / "absent.toml", {}) == ()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"a = ", "this file is not TOML: "),
        (b"a = 1\na = 2", "this file is not TOML: "),
        (b"\xff\xfe", "this file is not UTF-8: byte 0 cannot be read"),
        (b"a = " + b"[" * 100_000, "this file is not TOML: "),
        (b"a = " + b"9" * 5000, "this file is not TOML: a number in it has too many digits"),
    ],
)
def test_a_file_that_is_no_toml_says_so(content: bytes, problem: str, tmp_path: Path):
    path = tmp_path / "pegboard.toml"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as error:
        load_config(path, {})
    assert error.value.problem.startswith(problem)
    assert error.value.where == str(path)
    assert problems_of(path, {}) == (error.value,)


def test_a_folder_is_no_configuration(tmp_path: Path):
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        load_config(tmp_path, {})


def test_a_complete_configuration_has_no_warnings(whole: Config):
    assert whole.warnings == ()
