"""The reference page of measures says what the tables say."""

from pegboard.evaluation.checks import CHECKS
from pegboard.evaluation.measures import MEASURES
from tests.pages import REFERENCE

PAGE = (REFERENCE / "measures.md").read_text()


def test_every_measure_stands_there_as_it_is_defined():
    rows = [f"| `{m.name}` | {m.unit} | {m.better} | {m.definition} |" for m in MEASURES]
    assert [line for line in PAGE.splitlines() if line.startswith("| `") and line.count("|") == 5] == rows


def test_every_rule_for_labels_stands_there_with_its_kind():
    for rule, (error, _) in CHECKS.items():
        assert f"| `{rule}` | {'error' if error else 'warning'} |" in PAGE
