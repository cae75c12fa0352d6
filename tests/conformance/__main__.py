"""Run the suite: `python -m tests.conformance NODE SUITE`, the program and the suite's entry file.

Server scenarios go against the gateway, client scenarios against the client that talks to tool servers. Scenarios of
authorization are not run against that client: its credentials are configured, and it asks no authorization server.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

BASELINE = str(Path(__file__).with_name("baseline.yml"))
# What is asked of a server, as options of the suite: all that each revision has.
SERVER_RUNS = (("--requirements", "2026-07-28"), ("--spec-version", "2025-11-25", "--suite", "all"))
# Scenario -> the revision that it is run at.
CLIENT_RUNS = {
    "initialize": "2025-11-25",
    "tools_call": "2026-07-28",
    "sse-retry": "2025-11-25",
    "request-metadata": "2026-07-28",
    "http-standard-headers": "2026-07-28",
    "http-custom-headers": "2026-07-28",
    "http-invalid-tool-headers": "2026-07-28",
    "json-schema-ref-no-deref": "2026-07-28",
    "json-schema-2020-12-preservation": "2026-07-28",
    "sep-2322-client-request-state": "2026-07-28",
}


def main(node: str, suite: str) -> int:
    """Run everything; 1 where anything came out that the baseline does not say."""
    failed = []

    def run(*options: str) -> None:
        if subprocess.run([node, suite, *options], check=False).returncode:
            failed.append(" ".join(options))

    with tempfile.TemporaryDirectory() as results:
        common = ("--expected-failures", BASELINE, "--output-dir", results)
        gateway = [sys.executable, "-m", "tests.conformance.gateway"]
        with subprocess.Popen(gateway, stdout=subprocess.PIPE, text=True) as serving:
            try:
                assert serving.stdout is not None
                url = serving.stdout.readline().strip()
                for options in SERVER_RUNS:
                    run("server", *options, "--url", url, *common)
            finally:
                serving.terminate()
        client = f"{sys.executable} -m tests.conformance.client"
        for scenario, revision in CLIENT_RUNS.items():
            run("client", "--scenario", scenario, "--spec-version", revision, "--command", client, *common)
    print("\n".join(["", *(f"not as the baseline says: {one}" for one in failed)]) if failed else "\nAll as expected.")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
