"""Manifests: what a model is, and the digests of its files; its id ends in the manifest's own digest."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["sha256_of", "write_manifest"]


def sha256_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_manifest(path: Path, facts: Mapping[str, object], files: Sequence[Path]) -> str:
    """Write the manifest and return the model id it gives."""
    listed = {file.name: {"bytes": file.stat().st_size, "sha256": sha256_of(file)} for file in files}
    text = json.dumps({**facts, "files": listed}, indent=2, sort_keys=True) + "\n"
    path.write_text(text, encoding="utf-8")
    return f"{facts['name']}@{hashlib.sha256(text.encode()).hexdigest()[:12]}"
