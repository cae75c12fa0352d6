"""`import pegboard` is light: it loads no optional dependency and no server, and neither do the pure rooms."""

import subprocess
import sys

import pytest

HEAVY = ("mcp", "onnxruntime", "tokenizers", "bpe_openai", "starlette", "pydantic", "httpx", "uvicorn")
HEAVY += ("openai", "cedarpy", "numkong")
PURE = ("pegboard.core.policy", "pegboard.core.snapshot", "pegboard.policy.table")


@pytest.mark.parametrize("module", ["pegboard", *PURE])
def test_importing_loads_no_optional_dependency(module: str):
    loaded = f"import {module}, sys; print(*sorted(set({HEAVY!r}) & sys.modules.keys()))"
    found = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True, timeout=60)
    assert found.stdout.split() == []


@pytest.mark.parametrize("module", ["pegboard.core.policy", "pegboard.core.snapshot"])
def test_the_core_runs_on_the_standard_library_alone(module: str):
    """Found by what is loaded, since a linter cannot see an import that is hidden in a library."""
    code = (
        f"import sys; before = set(sys.modules); import {module}; "
        "print(*sorted({name.split('.')[0] for name in set(sys.modules) - before} - sys.stdlib_module_names))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert found.stdout.split() == ["pegboard"]
