"""Text that others wrote is shown and never acts: not on a terminal, not as markup, not in JSON."""

import io
import json
import sys

from hypothesis import given
from hypothesis import strategies as st

from pegboard.cli.printing import facts, json_text, note, progress, safe, say, table, visible
from pegboard.core.text import hidden


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


def terminal(monkeypatch):
    """Make stdout and stderr one terminal of 80 columns and return it."""
    screen = Terminal()
    for name, value in (("COLUMNS", "80"), ("TERM", "xterm-256color")):
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setattr(sys, "stderr", screen)
    return screen


HOSTILE = "a\x1b]0;title\x07b \x9b31mred [bold]x[/] :warning: \u202eright\rover"


@given(st.text())
def test_json_keeps_every_value_and_no_character_acts(text):
    written = json_text({"text": text})
    assert json.loads(written) == {"text": text}
    assert not hidden(written)


def test_json_writes_what_it_has_no_word_for_as_null():
    assert json.loads(json_text({"n": [float("nan"), 1.5]})) == {"n": [None, 1.5]}


@given(st.text())
def test_what_is_safe_has_no_character_that_acts_and_stays_so(text):
    shown = safe(text)
    assert not hidden(shown)
    assert "\r" not in shown
    assert safe(shown) == shown


@given(st.text())
def test_what_is_visible_hides_nothing(text):
    assert not hidden(visible(text))


def test_markup_and_emoji_codes_of_others_stay_text(monkeypatch):
    screen = terminal(monkeypatch)
    say(HOSTILE)
    shown = screen.getvalue()
    assert "[bold]x[/] :warning:" in shown
    assert "\x1b]" not in shown
    assert "\x9b" not in shown
    assert "\u202e" not in shown


def test_colour_is_for_terminals(monkeypatch):
    screen = terminal(monkeypatch)
    say(("good", "green"))
    assert "\x1b[32m" in screen.getvalue()
    piped = io.StringIO()
    monkeypatch.setattr(sys, "stdout", piped)
    monkeypatch.setenv("FORCE_COLOR", "1")
    say(("good", "green"))
    table(("A", "N"), [(("x", "red"), "1")], right=("N",))
    facts([("name", ("value", "bold"))])
    assert piped.getvalue() == "good\nA  N\nx  1\nname  value\n"


def test_what_is_piped_is_never_folded(capsys):
    table(("TOOL", "WHAT"), [("x" * 150, "y" * 150)])
    assert f"{'x' * 150}  {'y' * 150}\n" in capsys.readouterr().out


def test_a_terminal_folds_a_long_id_and_loses_none_of_it(monkeypatch):
    screen = terminal(monkeypatch)
    table(("TOOL", "RISK"), [("x" * 150, "read")])
    assert screen.getvalue().count("x") == 150


def test_progress_is_for_terminals_and_goes_to_stderr(monkeypatch):
    out, err = Terminal(), Terminal()
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    with progress("listing", 2) as steps:
        steps.done("crm")
    assert "listing" in err.getvalue()
    assert out.getvalue() == ""
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress("listing", 2) as steps:
        steps.done("crm")
    assert sys.stderr.getvalue() == ""


def test_notes_go_to_stderr(capsys):
    note("beside", "it")
    assert capsys.readouterr() == ("", "beside it\n")
