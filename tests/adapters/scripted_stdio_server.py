"""A real child process that speaks MCP from a script and can misbehave at every step of it.

Run as `python scripted_stdio_server.py SCRIPT`, the script being one JSON object:

    era        "handshake" (default: answers the probe with an error), "modern", or "both"
    pages      lists of raw tools, one list a page; the cursor is the page's number
    results    tool name -> raw result; a tool without one answers with its arguments
    on         what is done before the ordinary answer to a method, or at "start" and "end": a list of deeds
    diary      a file that gets a line for each thing that happened: `pid N`, `child N`, and each method received

A deed is a list, its name first; see `DEEDS`. `silence` and `instead` keep the ordinary answer back.
Only the standard library, so that it starts in a few hundredths of a second.
"""

import json
import os
import signal
import subprocess
import sys
import time

MODERN = "2026-07-28"
HANDSHAKE = "2025-11-25"
SLEEP = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"


class Silence(Exception):
    """The ordinary answer is kept back."""


class Server:
    def __init__(self, script):
        self.script = script
        self.number = None
        self.diary = open(script.get("diary", os.devnull), "a", buffering=1)  # noqa: SIM115

    def run(self):
        self.note(f"pid {os.getpid()}")
        self.do("start")
        for line in sys.stdin.buffer:
            self.answer(json.loads(line))
        self.do("end")

    def answer(self, request):
        method, self.number = request.get("method", "answer"), request.get("id")
        self.note(method)
        try:
            self.do(method)
            if self.number is not None and method != "answer":
                self.send(self.ordinary(method, request.get("params", {})))
        except Silence:
            pass

    def ordinary(self, method, params):
        era = self.script.get("era", "handshake")
        stamped = params.get("_meta", {}).get("io.modelcontextprotocol/protocolVersion")
        if method == "server/discover" and era != "handshake":
            return {"result": {"supportedVersions": [MODERN], "capabilities": {"tools": {}}, "ttlMs": 0,
                               "cacheScope": "public", "resultType": "complete"}}  # fmt: skip
        if method == "initialize" and era == "modern":
            refused = {"supported": [MODERN], "requested": params["protocolVersion"]}
            return {"error": {"code": -32022, "message": "unsupported protocol version", "data": refused}}
        if method == "initialize":
            info = {"name": "scripted", "version": "1"}
            return {"result": {"protocolVersion": HANDSHAKE, "capabilities": {"tools": {}}, "serverInfo": info}}
        if era == "modern" and stamped != MODERN:
            return {"error": {"code": -32602, "message": "the request carries no protocol version"}}
        if method == "tools/list":
            return {"result": self.page(int(params.get("cursor", 0)))}
        if method == "tools/call":
            said = [{"type": "text", "text": json.dumps(params["arguments"])}]
            return {"result": self.script.get("results", {}).get(params["name"], {"content": said})}
        return {"error": {"code": -32601, "message": f"no method {method}"}}

    def page(self, at):
        pages = self.script.get("pages", [[]])
        more = {"nextCursor": str(at + 1)} if at + 1 < len(pages) else {}
        return {"tools": pages[at], **more}

    def do(self, occasion):
        for name, *rest in self.script.get("on", {}).get(occasion, []):
            DEEDS[name](self, *rest)

    def send(self, message):
        self.write(json.dumps({"jsonrpc": "2.0", "id": self.number, **message}) + "\n")

    def write(self, text):
        sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
        sys.stdout.buffer.flush()

    def note(self, text):
        self.diary.write(text + "\n")

    # Deeds

    def say(self, text):
        self.write(text + "\n")

    def instead(self, text):
        self.say(text.replace("$ID", json.dumps(self.number)))
        raise Silence

    def half(self, text):
        self.write(text)
        raise Silence

    def silence(self):
        raise Silence

    def other_ids(self):
        for number in (999, "no-such", None, True, -1):
            self.write(json.dumps({"jsonrpc": "2.0", "id": number, "result": {"tools": ["not yours"]}}) + "\n")

    def big_page(self, size):
        tool = json.dumps({"name": "big", "description": "x" * 1_000_000})
        self.write(f'{{"jsonrpc":"2.0","id":{self.number},"result":{{"tools":[{tool}')
        for _ in range(size // 1_000_000):
            self.write("," + tool)
        self.write("]}}\n")
        raise Silence

    def nested(self, depth):
        self.instead('{"jsonrpc":"2.0","id":$ID,"result":' + "[" * depth + "]" * depth + "}")

    def flood(self, stream, size):
        block = (stream + " noise" * 10_000 + "\n").encode()
        pipe = sys.stdout.buffer if stream == "stdout" else sys.stderr.buffer
        for _ in range(size // len(block) + 1):
            pipe.write(block)
        pipe.flush()

    def ask(self, method):
        self.write(json.dumps({"jsonrpc": "2.0", "id": "mine", "method": method}) + "\n")

    def notify(self, times):
        line = json.dumps({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}) + "\n"
        self.write(line * times)

    def complain(self, text):
        sys.stderr.write(text + "\n")
        sys.stderr.flush()

    def sleep(self, seconds):
        time.sleep(seconds)

    def leave(self, status):
        os._exit(status)

    def die(self):
        os.kill(os.getpid(), signal.SIGKILL)

    def ignore_sigterm(self):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def have_a_child(self):
        child = subprocess.Popen([sys.executable, "-c", SLEEP], stdin=subprocess.DEVNULL)
        self.note(f"child {child.pid}")

    def tell_environment(self):
        self.note("environment " + " ".join(sorted(os.environ)))


DEEDS = {
    name: getattr(Server, name)
    for name in (
        "say",
        "instead",
        "half",
        "silence",
        "other_ids",
        "big_page",
        "nested",
        "flood",
        "ask",
        "notify",
        "complain",
        "sleep",
        "leave",
        "die",
        "ignore_sigterm",
        "have_a_child",
        "tell_environment",
    )
}

if __name__ == "__main__":
    Server(json.loads(sys.argv[1])).run()
