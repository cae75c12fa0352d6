"""The command as a process: signals, odd words, no traceback, nothing left behind."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PEGBOARD = [str(Path(sys.executable).with_name("pegboard"))]
SCRIPTED = Path(__file__).parents[1] / "adapters" / "scripted_stdio_server.py"


def _desk(folder, script):
    diary = folder / "diary"
    command = json.dumps([sys.executable, str(SCRIPTED), json.dumps({**script, "diary": str(diary)})])
    (folder / "pegboard.toml").write_text(
        f'environment = "development"\n[dimensions]\nused = ["scopes"]\n[profiles.sam]\nuser = "sam"\n'
        f"[servers.s]\ncommand = {command}\n"
    )
    return diary


def _wait_for(diary, text):
    until = time.monotonic() + 40
    while time.monotonic() < until:
        if diary.exists() and text in diary.read_text():
            return
        time.sleep(0.05)
    pytest.fail(f"the server never came to {text!r}")


def _alive(diary):
    numbers = [int(line.split()[1]) for line in diary.read_text().splitlines() if line.startswith(("pid", "child"))]
    return [number for number in numbers if _runs(number)]


def _runs(number):
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_no_server_outlives_a_command_that_is_told_to_end(end, tmp_path):
    # Servers that do not read their input's end, as five of 63 real ones.
    script = {"on": {"start": [["have_a_child"]], "tools/list": [["sleep", 60]], "end": [["sleep", 600]]}}
    diary = _desk(tmp_path, script)
    with subprocess.Popen([*PEGBOARD, "refresh"], cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as run:
        _wait_for(diary, "tools/list")
        run.send_signal(end)
        _, err = run.communicate(timeout=30)
    time.sleep(1)
    left = _alive(diary)
    for number in left:
        os.kill(number, signal.SIGKILL)
    assert left == []
    assert b"Traceback" not in err
    assert run.returncode == 128 + end
    assert err.count(b"\n") == 1


def test_ctrl_c_while_the_command_is_still_loading_shows_no_traceback(tmp_path):
    _desk(tmp_path, {})
    begun = time.monotonic()
    subprocess.run([*PEGBOARD, "--version"], cwd=tmp_path, check=True, capture_output=True)
    usual = time.monotonic() - begun
    for share in (0.6, 0.75, 0.9):
        with subprocess.Popen(
            [*PEGBOARD, "catalog", "list"], cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE
        ) as run:
            time.sleep(usual * share)
            run.send_signal(signal.SIGINT)
            _, err = run.communicate(timeout=30)
        assert b"Traceback" not in err
        assert run.returncode in (0, 130)


@pytest.mark.parametrize(
    "words",
    [
        ("select", "read", "--as", "sam", "--require", b"\xff"),
        ("call", "x", "--as", "sam", "--selection", b"\xff"),
        ("halt", b"principal:\xff", "--why", "x"),
        ("halt", "all", "--why", b"\xff"),
        ("resume", b"\xff"),
        ("traces", "show", b"\xff"),
        ("replay", b"\xff"),
    ],
)
def test_a_word_that_is_no_utf_8_is_a_usage_error_and_no_fault_of_pegboard(words, tmp_path):
    _desk(tmp_path, {})
    run = subprocess.run([*PEGBOARD, *words], cwd=tmp_path, capture_output=True, check=False, timeout=60)
    assert b"fault of Pegboard" not in run.stderr
    assert run.returncode == 2
    place = 1 + next(at for at, word in enumerate(words) if b"\xff" in os.fsencode(word))
    assert b"error: argument %d, " % place in run.stderr


def test_a_credential_that_a_server_prints_is_not_printed_again(tmp_path):
    program = "import os, sys; sys.exit('invalid key ' + os.environ['TOKEN'])"
    (tmp_path / "pegboard.toml").write_text(
        f'[servers.s]\ncommand = {json.dumps([sys.executable, "-c", program])}\ncredential = {{ env = "TOKEN" }}\n'
    )
    run = subprocess.run(
        [*PEGBOARD, "refresh"],
        cwd=tmp_path,
        env={**os.environ, "TOKEN": "sk-3f9a77c1d2"},
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert b"sk-3f9a77c1d2" not in run.stdout + run.stderr
