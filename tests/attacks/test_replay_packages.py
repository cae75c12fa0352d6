"""A replay that differs because of a package that the trace does not name."""

import importlib.util

import pytest

from pegboard import wiring


@pytest.mark.skipif(importlib.util.find_spec("bpe_openai") is None, reason="the tokens extra is not installed")
def test_the_package_that_counts_tokens_is_among_the_versions_a_trace_names():
    # Without it tokens are estimated: another encoding, other numbers, another budget cut, and no word of why.
    assert any("bpe" in name for name in wiring.packages())
