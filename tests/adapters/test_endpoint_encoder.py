"""The embeddings endpoint: what is sent, what is tried again, and every way an answer can be wrong."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

import anyio
import numpy as np
import pytest
from numpy.typing import NDArray

from pegboard.adapters.endpoint_encoder import EndpointEncoder
from pegboard.core.errors import EncoderError


class Script:
    """Answers one request after another: each a (status, headers, body); a body of None hangs until released."""

    def __init__(self, *answers: tuple[int, dict[str, str], bytes | None]) -> None:
        self.answers = list(answers)
        self.requests: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.keys: list[str | None] = []
        self.release = Event()


@contextmanager
def serving(script: Script) -> Iterator[str]:
    """Serve *script* on the loopback address and give its base URL; the last answer repeats."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["content-length"]))
            script.requests.append(json.loads(content))
            script.paths.append(self.path)
            script.keys.append(self.headers.get("authorization"))
            status, headers, body = script.answers.pop(0) if len(script.answers) > 1 else script.answers[0]
            if body is None:
                script.release.wait(5)
                return
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
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


def answer(*vectors: object, indexes: list[int] | None = None) -> tuple[int, dict[str, str], bytes]:
    rows = [
        {"object": "embedding", "index": index, "embedding": vector}
        for index, vector in zip(indexes or range(len(vectors)), vectors, strict=True)
    ]
    return 200, {}, json.dumps({"object": "list", "data": rows}).encode()


def ask(script: Script, texts: list[str], **given: Any) -> NDArray[np.int8]:
    async def run(url: str) -> NDArray[np.int8]:
        settings = {"dimensions": 2, "first_pause_s": 0.001, "key": "sk-secret", **given}
        async with EndpointEncoder(url, "small-model", **settings) as encoder:
            return await encoder.encode(texts)

    with serving(script) as url:
        return anyio.run(run, url)


def test_texts_go_in_batches_and_vectors_come_back_in_their_order() -> None:
    script = Script(answer([0.0, 2.0], [3.0, 0.0], indexes=[1, 0]), answer([-1.0, 0.0]))
    assert ask(script, ["a", "b", "c"], batch=2).tolist() == [[127, 0], [0, 127], [-127, 0]]
    assert [request["input"] for request in script.requests] == [["a", "b"], ["c"]]
    assert {request["model"] for request in script.requests} == {"small-model"}
    assert set(script.paths) == {"/v1/embeddings"}
    assert set(script.keys) == {"Bearer sk-secret"}


def test_no_texts_ask_nothing() -> None:
    script = Script(answer())
    assert ask(script, []).shape == (0, 2)
    assert script.requests == []


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
def test_a_failure_that_may_pass_is_tried_again(status: int) -> None:
    script = Script((status, {"retry-after": "0"}, b""), answer([1.0, 0.0]))
    assert ask(script, ["a"]).tolist() == [[127, 0]]
    assert len(script.requests) == 2


@pytest.mark.parametrize("status", [301, 400, 401, 404, 422])
def test_a_failure_that_will_not_pass_is_not_tried_again(status: int) -> None:
    script = Script((status, {"location": "/elsewhere"}, b"sk-secret"), answer([1.0, 0.0]))
    with pytest.raises(EncoderError) as error:
        ask(script, ["a"])
    assert error.value.problem == f"the endpoint answered with status {status}"
    assert len(script.requests) == 1


def test_tries_are_bounded() -> None:
    script = Script((503, {}, b""))
    with pytest.raises(EncoderError, match="status 503, 3 times"):
        ask(script, ["a"])
    assert len(script.requests) == 3


def test_an_endpoint_that_hangs_is_given_up() -> None:
    script = Script((200, {}, None))
    with pytest.raises(EncoderError, match=r"no whole answer within 0\.05 s, 2 times"):
        ask(script, ["a"], timeout_s=0.05, attempts=2)


def test_an_endpoint_that_is_not_there_is_an_encoder_error() -> None:
    script = Script(answer([1.0, 0.0]))
    with serving(script) as url:
        gone = url

    async def run() -> None:
        async with EndpointEncoder(gone, "m", dimensions=2, attempts=2, first_pause_s=0.001) as encoder:
            await encoder.encode(["a"])

    with pytest.raises(EncoderError, match="the connection failed"):
        anyio.run(run)


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (answer([1.0, 0.0]), "2 texts were sent and 1 vectors"),
        (answer([1.0, 0.0], [1.0, 0.0], indexes=[0, 2]), "2 texts were sent and 2 vectors"),
        (answer([1.0, 0.0], [1.0, 0.0], indexes=[0, 0]), "2 texts were sent and 1 vectors"),
        (answer([1.0, 0.0], [1.0]), "not a list of vectors"),
        (answer([1.0, 0.0, 0.0], [1.0, 0.0, 0.0]), "expected 2 vectors of length 2"),
        (answer([1.0, 0.0], [float("nan"), 0.0]), "NaN"),
        (answer([1.0, 0.0], "base64"), "not a list of vectors"),
        ((200, {}, b"<html>"), "not of the embeddings form"),
        ((200, {}, b'{"data": 3}'), "not of the embeddings form"),
        ((200, {}, b'{"data": [{"embedding": [1, 2]}]}'), "not of the embeddings form"),
        ((200, {}, b"[" * 60_000), "not of the embeddings form"),
        ((200, {}, b" " * 200_000), "longer than"),
    ],
)
def test_a_wrong_answer_is_an_encoder_error_and_gives_no_part_of_it(
    reply: tuple[int, dict[str, str], bytes], problem: str
) -> None:
    with pytest.raises(EncoderError) as error:
        ask(Script(reply), ["a", "b"])
    assert problem in error.value.problem
    assert "sk-secret" not in str(error.value)


def test_the_model_id_tells_endpoints_models_and_lengths_apart() -> None:
    made = {
        EndpointEncoder(url, model, dimensions=size).model_id
        for url, model, size in [
            ("http://a/v1", "m", 2),
            ("http://b/v1", "m", 2),
            ("http://a/v1", "n", 2),
            ("http://a/v1", "m", 3),
        ]
    }
    assert len(made) == 4
    assert EndpointEncoder("http://a/v1/", "m", dimensions=2).model_id in made
