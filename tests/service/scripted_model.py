"""A model server over real HTTP that says what a test told it to say, one answer after another."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

__all__ = ["ModelScript", "chat", "claude", "serving"]


class ModelScript:
    """Answers in turn: bytes, a value that is sent as JSON, a status, or a function of the request; None hangs."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.release = Event()


@contextmanager
def serving(script: ModelScript) -> Iterator[str]:
    """Serve *script* on the loopback address and give its base URL; the last answer repeats."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            script.requests.append(request)
            script.headers.append({name.lower(): value for name, value in self.headers.items()})
            script.paths.append(self.path)
            answer = script.answers.pop(0) if len(script.answers) > 1 else script.answers[0]
            if isinstance(answer, Callable):
                answer = answer(request)
            if answer is None:
                script.release.wait(5)
                return
            status = answer if isinstance(answer, int) else 200
            body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        script.release.set()
        server.shutdown()
        thread.join()
        server.server_close()


def chat(*calls: tuple[str, Any], text: str = "", prompt: int = 100, cached: int | None = 40) -> dict[str, Any]:
    """Answer as chat completions do."""
    made = [
        {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for number, (name, arguments) in enumerate(calls)
    ]
    message = {"role": "assistant", "content": text, **({"tool_calls": made} if made else {})}
    details = {} if cached is None else {"prompt_tokens_details": {"cached_tokens": cached}}
    return {"choices": [{"message": message}], "usage": {"prompt_tokens": prompt, **details}}


def claude(*calls: tuple[str, Any], text: str = "") -> dict[str, Any]:
    """Answer as Anthropic's messages do."""
    blocks = [{"type": "text", "text": text}] if text else []
    blocks += [
        {"type": "tool_use", "id": f"t{number}", "name": name, "input": arguments}
        for number, (name, arguments) in enumerate(calls)
    ]
    usage = {"input_tokens": 50, "cache_read_input_tokens": 30, "cache_creation_input_tokens": 7}
    return {"role": "assistant", "content": blocks, "usage": usage}
