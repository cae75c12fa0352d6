"""The files of the encoder that Pegboard's accurate ranking uses; nothing is downloaded and nothing runs.

`manifest.json` names the others with their digests. Pegboard checks them when it opens the model.
"""

import json
from importlib.resources import files
from importlib.resources.abc import Traversable

__all__ = ["FILES", "digests", "path"]

FILES = ("model.onnx", "tokenizer.json")


def path(name: str) -> Traversable:
    """Return where a file of the model lies: one of `FILES`, or `manifest.json`."""
    return files(__name__) / name


def digests() -> dict[str, str]:
    """Return the sha-256 of each file as the manifest states it."""
    manifest = json.loads(path("manifest.json").read_text(encoding="utf-8"))
    return {name: manifest["files"][name]["sha256"] for name in FILES}
