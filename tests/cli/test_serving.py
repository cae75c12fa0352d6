"""`pegboard serve` before it serves: what it refuses, and what it says helps."""

import socket

import pytest

from tests.cli.desk import CONFIG


@pytest.mark.parametrize(
    ("gateway", "words", "problem"),
    [
        ("", ("--host", "0.0.0.0"), "nobody could show who they are"),
        ("", ("--host", "::"), "nobody could show who they are"),
        ("", ("--host", "10.1.2.3"), "nobody could show who they are"),
        ('host = "0.0.0.0"', (), "nobody could show who they are"),
        ('profile = "sam"', ("--host", "0.0.0.0"), "others would be let in as it"),
        ('profile = "sam"\nhosts = ["tools.example.com"]', (), "others would be let in as it"),
        ('profile = "nobody"', (), "there is no profile 'nobody'"),
        ("", ("--stdio",), "--stdio and --as PROFILE go together"),
        ("", ("--as", "sam"), "--stdio and --as PROFILE go together"),
        ("", ("--stdio", "--as", "sam", "--port", "1"), "--stdio takes no address"),
        ("", ("--stdio", "--as", "nobody"), "there is no profile 'nobody'"),
    ],
)
def test_what_would_let_in_anyone_is_refused_before_anything_listens(desk, gateway, words, problem):
    desk.writes("pegboard.toml", f"{CONFIG}\n[gateway]\n{gateway}\n")
    answer = desk.runs("serve", *words)
    assert (answer.status, problem in answer.err) == (2, True), answer.err


def test_a_key_that_nobody_can_use_any_more_lets_it_listen_no_wider(desk):
    desk.asks("keys", "create", "bot", "--workload", "bot")
    desk.asks("keys", "revoke", "bot")
    assert "nobody could show who they are" in desk.runs("serve", "--host", "0.0.0.0").err


def test_a_port_that_is_taken_is_named(desk):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        answer = desk.runs("serve", "--port", str(taken.getsockname()[1]))
    assert (answer.status, "in use" in answer.err) == (2, True), answer.err
