"""What `--sweep` may say."""

import pytest

from pegboard.cli.arms import points_of


@pytest.mark.parametrize(
    ("said", "setting", "points"),
    [
        ("limit=1..4", "limit", (1, 2, 3, 4)),
        ("limit=4,8,16", "limit", (4, 8, 16)),
        ("limit=2..8..3", "limit", (2, 5, 8)),
        ("budget=500,2000", "budget_tokens", (500, 2000)),
        ("confidence=0..0.4", "minimum_confidence", (0.0, 0.1, 0.2, 0.3, 0.4)),
        ("confidence=0..1..0.5", "minimum_confidence", (0.0, 0.5, 1.0)),
    ],
)
def test_a_sweep_is_a_list_or_a_span(said, setting, points):
    assert points_of(said) == (setting, points)


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("limit=0", "takes whole 1 to 1000"),
        ("budget=0.5", "takes whole"),
        ("confidence=1.5", "takes 0 to 1"),
        ("limit=1..1000", "no list of numbers"),
        ("limit=1..9..0", "no list of numbers"),
        ("limit=1..2..3..4", "no list of numbers"),
        ("size=1..9", "names none of"),
    ],
)
def test_what_is_neither_is_refused_with_what_it_takes(said, problem):
    with pytest.raises(ValueError, match=problem):
        points_of(said)
