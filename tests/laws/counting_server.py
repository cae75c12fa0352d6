"""A tool server that counts: `python -m tests.laws.counting_server FILE SEED`, which prints its port.

It appends each call that it receives to FILE before it answers, so the file is what really arrived. It answers as a
bad network and a bad server do, by dice: late, with an error, or not at all, before or after it has counted.
"""

import json
import os
import random
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SCHEMA = {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]}
TOOLS = [
    {"name": name, "description": f"{name.capitalize()} an order.", "inputSchema": SCHEMA}
    for name in ("refund", "erase")
]
DONE = {"content": [{"type": "text", "text": "done"}]}
# What becomes of a call, each as likely: whether it is counted, and what is answered (None: the connection breaks).
FATES: tuple[tuple[bool, dict[str, Any] | None], ...] = (
    *[(True, {"result": DONE})] * 3,
    (True, {"result": {**DONE, "isError": True}}),
    (True, {"error": {"code": -32000, "message": "no"}}),
    *[(True, None)] * 4,
    (False, None),
)
LATEST_S = 0.02


class Handler(BaseHTTPRequestHandler):
    """Speaks the handshake era, one answer a request."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    counted: int
    dice: random.Random

    def do_POST(self) -> None:
        """Answer one message."""
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        method = message.get("method")
        if method == "initialize":
            info = {"name": "counting", "version": "1"}
            said = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
            self._answer(200, {"result": said}, message)
        elif method == "tools/list":
            self._answer(200, {"result": {"tools": TOOLS}}, message)
        elif method == "tools/call":
            self._call(message)
        else:
            self._answer(202 if "id" not in message else 400, None, message)

    def do_GET(self) -> None:
        """Offer no stream."""
        self._answer(405, None, {})

    do_DELETE = do_GET  # noqa: N815

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def _call(self, message: dict[str, Any]) -> None:
        counts, answer = self.dice.choice(FATES)
        if counts:
            asked = message["params"]
            os.write(self.counted, f"{asked['name']} {asked['arguments']['order']}\n".encode())
        # The answer waits; what was counted is counted.
        threading.Event().wait(self.dice.uniform(0, LATEST_S))
        if answer is None:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        else:
            self._answer(200, answer, message)

    def _answer(self, status: int, said: dict[str, Any] | None, message: dict[str, Any]) -> None:
        body = b"" if said is None else json.dumps({"jsonrpc": "2.0", "id": message["id"], **said}).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main() -> None:
    """Serve until killed."""
    path, seed = sys.argv[1:]
    Handler.counted = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    Handler.dice = random.Random(int(seed))
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *_: None  # type: ignore[method-assign] -- callers are killed while it answers
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
