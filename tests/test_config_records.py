"""What pegboard.toml says of how long calls and events are kept."""

import pytest

from pegboard.config.load import load_config
from pegboard.core.errors import ConfigError

DAY_S = 86_400.0


def loaded(folder, text):
    (folder / "pegboard.toml").write_text(text)
    return load_config(folder / "pegboard.toml", {})


def test_how_long_records_are_kept_reaches_the_service(tmp_path):
    found = loaded(tmp_path, "[ledger]\nkeep_days = 400\n[audit]\nkeep_days = 1.5\n")
    deployment = found.deployment()
    assert (deployment.ledger_kept_s, deployment.audit_kept_s) == (400 * DAY_S, 1.5 * DAY_S)
    assert (found.ledger_kept_s, found.audit_kept_s) == (400 * DAY_S, 1.5 * DAY_S)


def test_unsaid_they_are_kept_for_ever(tmp_path):
    found = loaded(tmp_path, "").deployment()
    assert (found.ledger_kept_s, found.audit_kept_s) == (None, None)


@pytest.mark.parametrize("section", ["ledger", "audit"])
@pytest.mark.parametrize("row", ["", "keep_days = 0.5", "keep_days = inf", "keep = 9"])
def test_less_than_a_day_and_nothing_at_all_are_refused(tmp_path, section, row):
    with pytest.raises(ConfigError):
        loaded(tmp_path, f"[{section}]\n{row}\n")
