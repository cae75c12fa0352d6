"""What `/v1/openapi.json` says is true: schemathesis asks every door whatever it allows, and what it does not.

Run by `make described`, in an environment of its own, against a process of ours; without `st` beside this Python it is
skipped.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ST = Path(sys.executable).with_name("st")
# The program under test may live in another environment than schemathesis.
PYTHON = os.environ.get("PEGBOARD_PYTHON", sys.executable)
EXAMPLES = "400" if os.environ.get("PEGBOARD_SOAK") == "1" else "20"
TOOLS = [
    {"tool_id": "crm.get_order", "description": "Get one order by its number.", "access": "crm", "risk": "read"},
    {"tool_id": "crm.cancel_order", "description": "Cancel an order.", "access": "crm", "risk": "write"},
]
# Each role, and the doors that its key opens.
ROLES = {"agent": "^/v1/(select|describe|call|tools)$", "application": "^/v1/context$", "operator": "^/v1/operator/"}
CONFIG = """\
environment = "development"
[dimensions]
used = ["scopes", "environment"]
[access.crm]
required_scopes = ["crm"]
environments = ["development"]
[identity]
servers = ["crm"]
[identity.workloads.agent]
scopes = ["crm"]
[gateway]
requests_per_minute = 0
"""

pytestmark = pytest.mark.skipif(not ST.exists(), reason="schemathesis is not installed here: `make described`")


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A gateway with two tools and a key of each role; give its address and the keys."""
    folder = tmp_path_factory.mktemp("described")
    (folder / "pegboard.toml").write_text(CONFIG)
    (folder / "tools.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in TOOLS))

    def pegboard(*words):
        line = [PYTHON, "-m", "pegboard", *words, "--json"]
        return json.loads(subprocess.run(line, cwd=folder, check=True, capture_output=True).stdout)

    pegboard("catalog", "import", "tools.jsonl", "--approve", "crm")
    keys = {role: pegboard("keys", "create", role, "--workload", role, "--role", role)["key"] for role in ROLES}
    line = [PYTHON, "-m", "pegboard", "serve", "--port", "0", "--json", "--quiet"]
    with subprocess.Popen(line, cwd=folder, stdout=subprocess.PIPE, text=True) as running:
        yield json.loads(running.stdout.readline())["url"], keys
        running.terminate()
        assert running.wait(timeout=60) == 0


@pytest.mark.parametrize("role", ROLES)
def test_every_door_does_what_the_description_says_and_nothing_fails(served, role, tmp_path):
    url, keys = served
    line = [str(ST), "run", f"{url}/v1/openapi.json", "--phases", "coverage,fuzzing", "--max-examples", EXAMPLES]
    line += [
        "-H",
        f"Authorization: Bearer {keys[role]}",
        "--include-path-regex",
        ROLES[role],
        "--no-color",
        "--seed",
        "1",
    ]
    found = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout[-4_000:]
