"""A model's folder: a manifest that names its files with their digests, checked before a byte of them is used.

`manifest.json` holds `name`, `dimensions`, `max_tokens` and `files` (name to `bytes` and `sha256`). The model id is
the name and the first 12 hex digits of the manifest's own digest, so two folders with one id hold the same bytes.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources.abc import Traversable

from pegboard.core.errors import EncoderError

__all__ = ["ModelFiles"]

MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFiles:
    """A folder whose manifest was read."""

    folder: Traversable
    model_id: str
    dimensions: int
    max_tokens: int
    digests: Mapping[str, str]

    @classmethod
    def open(cls, folder: Traversable, name: str) -> "ModelFiles":
        """Read the manifest of the model *name* in *folder*.

        Raises:
            EncoderError: There is no manifest, it is no manifest, or it is another model's.
        """
        try:
            content = (folder / MANIFEST).read_bytes()
        except OSError as error:
            raise _damaged(name, folder, f"{MANIFEST} cannot be read ({type(error).__name__})") from error
        try:
            facts = json.loads(content)
            found = str(facts["name"])
            digests = {str(file): str(row["sha256"]) for file, row in facts["files"].items()}
            dimensions, max_tokens = int(facts["dimensions"]), int(facts["max_tokens"])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise _damaged(name, folder, f"{MANIFEST} is not a model's manifest") from error
        if found != name:
            raise _damaged(name, folder, f"{MANIFEST} is of the model {found!r}")
        return cls(
            folder=folder,
            model_id=f"{name}@{hashlib.sha256(content).hexdigest()[:12]}",
            dimensions=dimensions,
            max_tokens=max_tokens,
            digests=digests,
        )

    def read(self, name: str) -> bytes:
        """Return the bytes of one file.

        Raises:
            EncoderError: The file is missing, or its digest is not the manifest's (truncated, changed, another
            version).
        """
        try:
            content = (self.folder / name).read_bytes()
        except OSError as error:
            raise _damaged(self.model_id, self.folder, f"{name} cannot be read ({type(error).__name__})") from error
        if hashlib.sha256(content).hexdigest() != self.digests.get(name):
            raise _damaged(self.model_id, self.folder, f"the digest of {name} is not the one in {MANIFEST}")
        return content


def _damaged(model: str, folder: Traversable, problem: str) -> EncoderError:
    return EncoderError(model=model, problem=problem, where=str(folder), fix="install the model's distribution again")
