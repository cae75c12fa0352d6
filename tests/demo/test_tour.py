"""The guided run: it runs through on real servers, shows true figures, and leaves a company to go on with."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from pegboard.adapters.run_files import FOLDER, RunFile
from pegboard.config.load import CALIBRATION
from pegboard.core.errors import ConfigError
from pegboard.demo.tour import _fresh, _Tour, main
from pegboard.evaluation.runs import Run


def test_the_tour_shows_every_step_with_its_true_outcome(tmp_path: Path):
    text = io.StringIO()
    status = main(tmp_path / "demo", Console(file=text, width=200, highlight=False, soft_wrap=True))
    shown = text.getvalue()
    assert status == 0
    for expected in (
        "120 tools take",
        "clara: 53 of 120 tools are eligible; outcome selected",
        "hanne: 35 of 120 tools are eligible; outcome selected",
        "outcome denied_capability",
        "Ask noor@brackenfold.example for access.",
        "-> allowed:",
        "-> invalid_arguments:",
        "-> unknown_or_denied:",
        "+1 ~1 -1 =9 !2",
        "billing.create_refund is not among the",
        'required = ["payment_id", "amount", "reason"]',
        "the same bytes",
        "pegboard.toml replay tr_",
        "pegboard init --from",
    ):
        assert expected in shown, expected
    for_hanne = shown.split("hanne: 35")[1].split("Clara may move")[0]
    assert "create_refund" not in for_hanne
    assert {"pegboard.toml", "pegboard.lock", "pegboard.db"} <= {path.name for path in (tmp_path / "demo").iterdir()}


def test_a_folder_with_other_peoples_files_is_left_alone(tmp_path: Path):
    (tmp_path / "thesis.txt").write_text("ten years of work")
    with pytest.raises(ConfigError, match="not the demo's"):
        main(tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "ten years of work"


@pytest.mark.parametrize("name", ["pegboard.toml", "tasks.jsonl"])
def test_a_file_of_the_demo_that_a_person_has_edited_is_left_alone(tmp_path: Path, name: str):
    _Tour(tmp_path, Console())._write_config(release=2)
    _fresh(tmp_path)
    _Tour(tmp_path, Console())._write_config(release=1)
    with (tmp_path / name).open("a") as file:
        file.write("# mine\n")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ConfigError, match=f"{name} differs from what the demo writes"):
        _fresh(tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_what_an_evaluation_of_the_demo_left_there_does_not_stop_the_next_one(tmp_path: Path):
    left = RunFile(tmp_path / FOLDER, "k", resume=False)
    left.keep("dynamic", Run(task_id="1", outcome="selected"))
    left.interrupt()
    (tmp_path / CALIBRATION).write_text("{}")
    assert _fresh(tmp_path) == tmp_path
    assert list(tmp_path.iterdir()) == []
