"""An operator's desk: a folder with a configuration, and the `pegboard` command run in it.

    desk.writes("tools.jsonl", ...)
    desk.runs("catalog", "import", "tools.jsonl").status

The store is real SQLite, the lock and the configuration are real files. The catalog is a small one of ours.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from pegboard.cli import pegboard

__all__ = ["CONFIG", "Answer", "Desk", "listing", "tool"]

CONFIG = """\
environment = "development"
[dimensions]
used = ["scopes", "environment"]
[access.crm]
required_scopes = ["crm"]
environments = ["development"]
[access.money]
required_scopes = ["crm", "money"]
environments = ["development"]
[profiles.sam]
user = "sam"
scopes = ["crm"]
servers = ["crm", "billing"]
[profiles.dana]
user = "dana"
scopes = ["crm", "money"]
servers = ["crm", "billing"]
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a command printed, and its exit status."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Read stdout as the one document that it must be."""
        return json.loads(self.out)


@dataclass(frozen=True, slots=True)
class Desk:
    """A working directory that the command runs in."""

    folder: Path

    def runs(self, *words: str, answers: str | None = None, **environment: str) -> Answer:
        """Run one command line."""
        result = CliRunner(env=environment).invoke(pegboard, list(words), input=answers)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Answer(status=result.exit_code, out=result.stdout, err=result.stderr)

    def asks(self, *words: str) -> Any:
        """Run one command line with --json and return its document."""
        return self.runs(*words, "--json").json

    def writes(self, name: str, content: str | bytes | Iterable[Mapping[str, Any]]) -> str:
        """Write a file: text, bytes, or values as JSON Lines; return its name."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif isinstance(content, str):
            path.write_text(content)
        else:
            path.write_text("".join(f"{json.dumps(one)}\n" for one in content))
        return name

    def reads(self, name: str) -> str:
        """Return a file's text."""
        return (self.folder / name).read_text()


def tool(name: str, description: str, **properties: str) -> dict[str, Any]:
    """Declare a tool as a server lists it; every parameter is a text."""
    return {
        "name": name,
        "description": description,
        "inputSchema": {
            "type": "object",
            "properties": {key: {"type": "string", "description": text} for key, text in properties.items()},
            "required": list(properties)[:1],
        },
    }


CRM = (
    tool(
        "list_open_orders", "List the orders of a customer that are not delivered yet.", customer_id="Customer number"
    ),
    tool("cancel_order", "Cancel an order before it ships.", order_id="Order number"),
)
BILLING = (
    tool("create_refund", "Give money of a payment back to the customer.", payment_id="Payment number"),
    tool("get_payment", "Read one payment.", payment_id="Payment number"),
)


def listing(server: str, tools: Iterable[Mapping[str, Any]]) -> str:
    """Write what one server lists as a saved listing."""
    return json.dumps({"server": server, "serverInfo": {"name": server}, "tools": list(tools)})
