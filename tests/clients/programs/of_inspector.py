"""The Inspector's command line, one process a request: URL, AUTHORIZATION, Node, and its file."""

import asyncio
import json
import subprocess
import sys

from deeds import deeds


async def main(url: str, authorization: str, *command: str) -> None:
    common = [*command, "--cli", url, "--transport", "http", "--header", f"Authorization: {authorization}"]

    def run(*words):
        return subprocess.run([*common, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)

    async def asked(name, arguments):
        pairs = [f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in arguments.items()]
        options = ["--tool-arg", *pairs] if pairs else []
        ended = run("--method", "tools/call", "--tool-name", name, *options)
        if not ended.stdout.strip():
            return True, ended.stderr.strip()
        answer = json.loads(ended.stdout)
        return answer.get("isError", False), answer["content"][0]["text"]

    listed = run("--method", "tools/list")
    await deeds([tool["name"] for tool in json.loads(listed.stdout)["tools"]], asked)


asyncio.run(main(*sys.argv[1:]))
