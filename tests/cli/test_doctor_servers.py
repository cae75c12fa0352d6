"""What `doctor` says of servers: how old each listing is, and what serves while one cannot be reached."""

import json
import sys

from tests.adapters.sessions import SERVER
from tests.servers import tool


def with_server(desk, **script):
    """Configure one server that plays a script."""
    command = json.dumps([sys.executable, SERVER, json.dumps(script)])
    desk.writes("pegboard.toml", f"[servers.crm]\ncommand = {command}\n[servers.mail]\nurl = 'http://127.0.0.1:9/x'\n")
    return desk


def said(desk, check, *more):
    return [one for one in desk.asks("doctor", *more)["findings"] if one["check"] == check]


def test_the_doctor_says_how_old_each_listing_is_and_which_server_was_never_listed(empty):
    desk = with_server(empty, pages=[[tool("get_order"), tool("pay")]])
    assert desk.runs("refresh").status == 3
    crm, mail = said(desk, "listings", "--offline")
    assert crm["message"].startswith("crm: 2 tools, listed 20")
    assert crm["level"] == "ok"
    assert (mail["message"], mail["level"], mail["fix"]) == ("mail was never listed", "note", "pegboard refresh mail")


def test_a_server_that_broke_keeps_its_listing_and_the_doctor_says_both(empty):
    with_server(empty, pages=[[tool("get_order")]]).runs("refresh")
    desk = with_server(empty, on={"start": [["leave", 3]]})
    problems = {one["where"]: one["message"] for one in said(desk, "servers") if one["level"] == "problem"}
    assert "exited with status 3" in problems["crm"]
    assert said(desk, "listings", "--offline")[0]["message"].startswith("crm: 1 tool, listed 20")
