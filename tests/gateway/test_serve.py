"""`pegboard serve` as a process: it says where it is, serves real clients, and ends when it is told to."""

import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager, suppress

import anyio
import httpx2
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.subscriptions import SubscriptionLost

from tests.adapters.sessions import SERVER
from tests.cli.desk import CONFIG, Desk
from tests.servers import tool

# What the one server behind it lists and answers, a little late.
SCRIPT = {"pages": [[tool("list_open_orders", description="List the open orders of a customer.")]]}
GATEWAY = """
[gateway]
profile = "sam"
[servers.crm]
command = {command}
[[servers.crm.propose]]
match = ["*"]
access = "crm"
risk = "read"
reach = "bounded"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A deployment with one server, refreshed and locked."""
    desk = Desk(tmp_path_factory.mktemp("served"))
    command = json.dumps([sys.executable, SERVER, json.dumps(SCRIPT)])
    desk.writes("pegboard.toml", CONFIG + GATEWAY.format(command=command))
    before = os.getcwd()
    os.chdir(desk.folder)
    try:
        assert desk.runs("refresh").status == 0
        assert desk.runs("classify", "--apply").status == 0
        desk.writes("ops.key", desk.asks("keys", "create", "ops", "--workload", "ops", "--role", "operator")["key"])
    finally:
        os.chdir(before)
    return desk.folder


@contextmanager
def process(folder, *words):
    """Run `pegboard serve`; give the process and what it says when it is ready."""
    line = [sys.executable, "-m", "pegboard", "serve", "--port", "0", "--json", *words]
    with subprocess.Popen(line, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        try:
            yield running, json.loads(running.stdout.readline() or "{}")
        finally:
            running.kill()


@pytest.fixture(scope="module")
def served(folder):
    with process(folder) as (_, ready):
        yield ready["url"]


def test_it_is_ready_and_selects_and_calls_for_the_profile(served):
    with httpx2.Client(base_url=served) as http:
        assert http.get("/readyz").text == "ready\n"
        found = http.post("/v1/select", json={"task": "list the open orders"}).json()
        said = {"tool": "crm.list_open_orders", "selection": found["selection_id"]}
        assert http.post("/v1/call", json=said).json()["verdict"] == "allowed"
        assert http.get("/v1/operator/servers").status_code == 401


def test_an_operator_sees_the_servers_with_a_key(served, folder):
    key = (folder / "ops.key").read_text()
    answer = httpx2.get(f"{served}/v1/operator/servers", headers={"authorization": f"Bearer {key}"})
    assert [one["server"] for one in answer.json()["servers"]] == ["crm"]


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_an_mcp_client_of_either_era_finds_and_calls_a_tool(served, mode):
    async with Client(f"{served}/mcp", mode=mode) as client:
        found = await client.call_tool("search_tools", {"task": "list the open orders"})
        said = {"tool": "crm.list_open_orders", "arguments": {}, "selection": found.structured_content["selection"]}
        answer = await client.call_tool("call_tool", said)
        assert not answer.is_error


@pytest.mark.anyio
async def test_the_program_that_started_it_is_served_over_stdio(folder):
    words = ["-m", "pegboard", "--config", str(folder / "pegboard.toml"), "serve", "--stdio", "--as", "sam"]
    with anyio.fail_after(30):
        async with Client(StdioServerParameters(command=sys.executable, args=words)) as client:
            assert "search_tools" in [one.name for one in (await client.list_tools()).tools]


def test_a_thousand_connections_that_are_opened_and_left_keep_nobody_out(served):
    host, port = served.removeprefix("http://").split(":")
    left = []
    try:
        count = 1_000 if os.environ.get("PEGBOARD_SOAK") == "1" else 100
        left.extend(socket.create_connection((host, int(port))) for _ in range(count))
        assert httpx2.get(f"{served}/healthz").status_code == 200
    finally:
        for one in left:
            one.close()


@pytest.mark.anyio
async def test_a_client_that_only_listens_does_not_hold_up_the_end(folder):
    with process(folder, "--quiet") as (running, ready):
        async with Client(ready["mcp"], mode="2026-07-28") as client:
            with suppress(MCPError, SubscriptionLost):
                async with client.listen(tools_list_changed=True):
                    running.send_signal(signal.SIGTERM)
                    # Less than `drain_s`, for which a request that works would be waited for.
                    assert await anyio.to_thread.run_sync(running.wait, 20) == 0
        assert running.returncode == 0


@pytest.mark.parametrize(("end", "status"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_it_ends_in_order_when_it_is_told_to(folder, end, status):
    with process(folder, "--quiet") as (running, ready):
        assert httpx2.post(f"{ready['api']}/select", json={"task": "list the open orders"}).status_code == 200
        running.send_signal(end)
        out, err = running.communicate(timeout=20)
        assert (running.returncode, out, err) == (status, "", "")
