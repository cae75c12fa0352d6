"""A real child process that speaks MCP and means harm, or is broken past hope.

Run as `python hostile_server.py FILE`: FILE holds the name of a row of `DEEDS`, read at each start, so that one server
can be good first and turn hostile later. Only the standard library, so that it starts in a few hundredths of a second.
"""

import json
import os
import sys
import threading
import time
from pathlib import Path

GOOD = [{"name": "get_order", "inputSchema": {"type": "object"}}, {"name": "pay", "inputSchema": {"type": "object"}}]


def tool(name, **declared):
    return {"name": name, "inputSchema": {"type": "object"}, **declared}


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def answer(number, result):
    send({"id": number, "result": result})


def notify(times=1):
    sys.stdout.write('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n' * times)
    sys.stdout.flush()


def page(tools, cursor=None):
    return {"tools": tools, **({"nextCursor": cursor} if cursor else {})}


# What is done on `tools/list`: each gets the request's number and cursor.


def good(number, cursor):
    answer(number, page(GOOD))


def pages_for_ever(number, cursor):
    at = int(cursor or 0)
    answer(number, page([tool(f"t{at}")], str(at + 1)))


def loops(number, cursor):
    answer(number, page([tool("t")], {None: "a", "a": "b", "b": "a"}[cursor]))


def changes_between_pages(number, cursor):
    if cursor is None:
        answer(number, page([tool("get_order"), tool("moves")], "2"))
        notify()
    else:
        answer(number, page([tool("moves"), tool("pay")]))


def changes_once(number, cursor):
    if cursor is None:
        answer(number, page([tool("get_order")], "2"))
    else:
        if not WALKS:
            notify()
        WALKS.append(1)
        answer(number, page([tool("pay"), *([tool("late")] if len(WALKS) > 1 else [])]))


def duplicates(number, cursor):
    answer(number, page([*GOOD, tool("pay", description="the other one"), tool("PAY"), tool("refund")]))


def hundred_thousand(number, cursor):
    answer(number, page([tool(f"t{at}") for at in range(100_000)]))


def hundred_thousand_on_pages(number, cursor):
    at = int(cursor or 0)
    answer(number, page([tool(f"t{at}_{one}") for one in range(10_000)], str(at + 1) if at < 9 else None))


def huge_description(number, cursor):
    sys.stdout.write(f'{{"jsonrpc":"2.0","id":{number},"result":{{"tools":[{{"name":"get_order","description":"')
    for _ in range(50):
        sys.stdout.write("x" * 1_000_000)
    sys.stdout.write('"}]}}\n')
    sys.stdout.flush()


def nested_schemas(number, cursor):
    deep = '{"properties":{"a":' * 10_000 + "{}" + "}}" * 10_000
    start = f'{{"jsonrpc":"2.0","id":{number},"result":{{"tools":[{{"name":"get_order","inputSchema":'
    sys.stdout.write(start + deep + "}]}}\n")
    sys.stdout.flush()


def nested_less(number, cursor):
    deep = {"type": "object"}
    for _ in range(200):
        deep = {"type": "object", "properties": {"a": deep}}
    answer(number, page([*GOOD, tool("deep", inputSchema=deep)]))


def odd_names(number, cursor):
    odd = ["a\nb", "a\x1b[31mb", "a\x00b", "x" * 4_000, "", " ", "a\u202eb", "a\U000e0041b", "\ud800"]
    answer(number, page([*GOOD, *[tool(name) for name in odd]]))


def other_ids(number, cursor):
    for other in (number + 1, number - 1, str(number) + "x", None, True, 1.5, [], {"id": number}):
        send({"id": other, "result": page([tool("not_yours")])})


def stalls_mid_line(number, cursor):
    sys.stdout.write(f'{{"jsonrpc":"2.0","id":{number},"result":{{"tools":[')
    sys.stdout.flush()


def trickles(number, cursor):
    while True:
        sys.stdout.write(" ")
        sys.stdout.flush()
        time.sleep(0.01)


def restarts(number, cursor):
    answer(number, page([tool("get_order")], "2"))
    os._exit(0)


def notifies(number, cursor):
    notify(5_000)
    answer(number, page(GOOD))
    notify(5_000)


def notifies_without_end(number, cursor):
    while True:
        notify(1_000)


def floods_stderr(number, cursor):
    def flood():
        while True:
            os.write(2, b"noise " * 10_000)

    threading.Thread(target=flood, daemon=True).start()
    answer(number, page(GOOD))


def floods_stdout(number, cursor):
    while True:
        sys.stdout.write("noise " * 10_000 + "\n")


def grows(number, cursor):
    answer(number, page([*GOOD, *[tool(f"grown_{at}") for at in range(len(CALLS))]]))


def exits(number, cursor):
    os._exit(7)


def no_answer(number, cursor):
    pass


def answers_twice(number, cursor):
    answer(number, page(GOOD))
    answer(number, page([tool("second")]))


def error_of_a_megabyte(number, cursor):
    send({"id": number, "error": {"code": -32603, "message": "x" * 1_000_000}})


WALKS = []
CALLS = []
DEEDS = {deed.__name__: deed for deed in (
    good, pages_for_ever, loops, changes_between_pages, changes_once, duplicates, hundred_thousand,
    hundred_thousand_on_pages, huge_description, nested_schemas, nested_less, odd_names, other_ids, stalls_mid_line,
    trickles, restarts, notifies, notifies_without_end, floods_stderr, floods_stdout, grows, exits, no_answer,
    answers_twice, error_of_a_megabyte,
)}  # fmt: skip
# What is done on the other methods; the list is then as `good`.
PROBES = {"refuses_the_probe", "ignores_the_probe", "dies_of_the_probe", "exits_at_once"}


def main(name):
    if name == "exits_at_once":
        sys.exit(1)
    for line in sys.stdin:
        request = json.loads(line)
        number, method, params = request.get("id"), request.get("method"), request.get("params", {})
        if method == "server/discover":
            if name == "dies_of_the_probe":
                os._exit(2)
            if name != "ignores_the_probe":
                send({"id": number, "error": {"code": -32601, "message": "never heard of it"}})
        elif method == "initialize":
            info = {"name": "hostile", "version": "1"}
            answer(number, {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info})
        elif method == "tools/list":
            DEEDS.get(name, good)(number, params.get("cursor"))
        elif method == "tools/call":
            CALLS.append(params["name"])
            answer(number, {"content": [{"type": "text", "text": params["name"]}]})
            notify()


if __name__ == "__main__":
    main(Path(sys.argv[1]).read_text())
