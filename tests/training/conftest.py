"""The training scripts are run from their folder; tests of them import them the same way."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "training"))
