"""What pegboard.toml says of releases: how much is observed, and what the guards ask for."""

import pytest

from pegboard.config.load import load_config
from pegboard.core.errors import ConfigError
from pegboard.engine.guards import Guards

WHOLE = """\
[rollout]
sample = 0.25
samples = 20
recall = 0.9
validity = 0.8
latency = 0.7
latency_ms = 100
completion = 0.6
"""


def loaded(folder, text):
    (folder / "pegboard.toml").write_text(text)
    return load_config(folder / "pegboard.toml", {})


def test_every_key_reaches_the_service(tmp_path):
    wanted = Guards(sample=0.25, samples=20, recall=0.9, validity=0.8, latency=0.7, latency_ms=100.0, completion=0.6)
    found = loaded(tmp_path, WHOLE)
    assert (found.guards, found.deployment().guards) == (wanted, wanted)


def test_unsaid_the_defaults_stand(tmp_path):
    assert loaded(tmp_path, "").guards == Guards()


@pytest.mark.parametrize("row", ["sample = 1.5", "samples = 0", "recall = nan", "latency_ms = -1", "exposure = 0.5"])
def test_what_no_guard_can_be_is_refused(tmp_path, row):
    with pytest.raises(ConfigError, match=row.partition(" ")[0]):
        loaded(tmp_path, f"[rollout]\n{row}\n")
