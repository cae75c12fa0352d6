"""Other people's clients against `pegboard serve`, a process: list, search, call, and what is refused.

A client's program (`programs/of_NAME.py`) runs under the Python of its own environment, which knows nothing of
Pegboard, and does what all of them do (`programs/deeds.py`). `make mcp-clients` makes the environments in .venvs and
says so in PEGBOARD_CLIENTS.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.adapters.sessions import SERVER
from tests.crm import schema
from tests.servers import tool

PROGRAMS = Path(__file__).with_name("programs")
ENVIRONMENTS = os.environ.get("PEGBOARD_CLIENTS")
INSPECTOR = ("bin/node", "node_modules/.bin/mcp-inspector")
# Client -> its environment, None where it is ours; its program; and what else that is told: files there, or a mode.
CLIENTS = {
    "mcp, present era": (None, "of_mcp.py", ("2026-07-28",)),
    "mcp, handshake era": (None, "of_mcp.py", ("legacy",)),
    "mcp before 2": ("client-mcp_1", "of_mcp_1.py", ()),
    "FastMCP": ("client-fastmcp", "of_fastmcp.py", ()),
    "LangChain": ("client-langchain", "of_langchain.py", ()),
    "OpenAI Agents": ("client-openai_agents", "of_openai_agents.py", ()),
    "Inspector": ("node", "of_inspector.py", INSPECTOR),
}
CRM = [
    tool(
        "list_open_orders",
        description="List the orders of a customer that are still open.",
        inputSchema=schema("customer_id", customer_id="Customer number"),
    ),
    tool("stop_all", description="Stop all automation at once."),
]
BILLING = [
    tool(
        "create_refund",
        description="Give money of a payment back to the customer.",
        inputSchema=schema("payment_id", payment_id="Payment to refund"),
    )
]
CONFIG = """\
environment = "development"
[dimensions]
used = ["scopes"]
[access.crm]
required_scopes = ["crm"]
[access.money]
required_scopes = ["crm", "money"]
[tools."crm.stop_all"]
pinned = "always"
[identity]
servers = ["crm", "billing"]
[identity.workloads.agent]
scopes = ["crm"]
[limits]
identical_refusals = 1000
[gateway]
requests_per_minute = 0
"""
BEHIND = """\
[servers.{name}]
command = {command}
[[servers.{name}.propose]]
match = ["*"]
access = "{access}"
risk = "read"
reach = "bounded"
flow = []
"""

pytestmark = pytest.mark.skipif(ENVIRONMENTS is None, reason="PEGBOARD_CLIENTS names no folder: `make mcp-clients`")


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A gateway in front of two servers, of which the caller may use one; give its address and the caller's header."""
    folder = tmp_path_factory.mktemp("clients")
    behind = ""
    for name, access, tools in (("crm", "crm", CRM), ("billing", "money", BILLING)):
        command = json.dumps([sys.executable, SERVER, json.dumps({"pages": [tools]})])
        behind += BEHIND.format(name=name, access=access, command=command)
    (folder / "pegboard.toml").write_text(CONFIG + behind)

    def pegboard(*words):
        line = [sys.executable, "-m", "pegboard", *words, "--json"]
        return json.loads(subprocess.run(line, cwd=folder, check=True, capture_output=True).stdout)

    pegboard("refresh")
    pegboard("classify", "--apply")
    key = pegboard("keys", "create", "agent", "--workload", "agent", "--role", "agent")["key"]
    line = [sys.executable, "-m", "pegboard", "serve", "--port", "0", "--json", "--quiet"]
    with subprocess.Popen(line, cwd=folder, stdout=subprocess.PIPE, text=True) as running:
        yield json.loads(running.stdout.readline())["mcp"], f"Bearer {key}"
        running.terminate()


@pytest.fixture(scope="module", params=CLIENTS)
def done(request, served):
    """What came of everything that one client did."""
    environment, program, words = CLIENTS[request.param]
    python = sys.executable
    if environment is not None:
        folder = Path(ENVIRONMENTS, environment).absolute()
        python, *words = (folder / name for name in ("bin/python", *words))
        if not all(file.exists() for file in (python, *words)):
            pytest.skip(f"{request.param} could not be installed in {ENVIRONMENTS}/{environment}")
    said = subprocess.run([python, PROGRAMS / program, *served, *words], capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr[-4_000:]
    return json.loads(said.stdout.splitlines()[-1])


def test_it_is_shown_the_search_and_what_is_pinned(done):
    assert sorted(done["listed"]) == ["call_tool", "crm.stop_all", "describe_tool", "search_tools"]


def test_it_finds_what_its_caller_may_use_and_nothing_else(done):
    failed, text = done["searched"]
    assert not failed
    assert [found["name"] for found in json.loads(text)["tools"]] == ["crm.list_open_orders"]


def test_what_it_found_runs_with_its_arguments(done):
    assert done["called"] == [False, '{"customer_id": "7"}']


def test_what_is_listed_runs_by_its_name(done):
    assert done["by_name"] == [False, "{}"]


def test_arguments_that_do_not_fit_are_answered_with_what_repairs_them(done):
    failed, text = done["invalid"]
    said = json.loads(text)
    assert failed
    assert (said["verdict"], said["input_schema"]["required"]) == ("invalid_arguments", ["customer_id"])


def test_what_is_denied_is_refused_as_what_is_not_there(done):
    failed, text = done["denied"]
    assert failed
    assert "unknown tool" in text
    assert done["unknown"] == done["denied"]
