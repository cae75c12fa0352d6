"""Imports only point down, and the pure rooms know no I/O: import-linter's contracts in pyproject.toml hold."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_every_contract_on_imports_is_kept():
    command = shutil.which("lint-imports", path=str(Path(sys.executable).parent))
    if command is None:
        pytest.skip("import-linter is not installed in this environment")
    found = subprocess.run([command, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert found.returncode == 0, found.stdout + found.stderr
