"""The companion's model: the same vectors alone, in company and from threads, and every damage one typed error."""

import hashlib
import json
import sys
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import anyio
import numpy as np
import pytest
from numpy.typing import NDArray

from pegboard.adapters.encoders import OnnxEncoder
from pegboard.core.errors import EncoderError

IN_CHECKOUT = Path(__file__).parents[2] / "models/pegboard-minilm/src/pegboard_minilm"
TEXTS = [
    "Give the checkout service five replicas instead of two.",
    "",
    "支付发票",
    "stripe create refund: Refund a charge. Parameters: charge, amount, reason",
    "word " * 2_000,
]


@cache
def folder() -> Traversable:
    """Find the companion, installed or in the checkout, or skip."""
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed (the extra `accurate`)")
    if (IN_CHECKOUT / "model.onnx").is_file():
        return IN_CHECKOUT
    try:
        return files("pegboard_minilm")
    except ModuleNotFoundError:
        pytest.skip("the companion distribution models/pegboard-minilm is not installed and not in the checkout")


@cache
def shipped() -> OnnxEncoder:
    return OnnxEncoder.open(folder(), threads=2)


def encode(encoder: OnnxEncoder, texts: list[str]) -> NDArray[np.int8]:
    return anyio.run(encoder.encode, texts)


def test_a_vector_is_the_same_bytes_alone_in_company_and_in_another_order() -> None:
    texts = TEXTS * 8
    together = encode(shipped(), texts)
    assert together.shape == (len(texts), shipped().dimensions)
    assert np.array_equal(encode(shipped(), texts[::-1])[::-1], together)
    assert all(np.array_equal(encode(shipped(), [text])[0], row) for text, row in zip(TEXTS, together, strict=False))


def test_no_texts_give_no_vectors() -> None:
    assert encode(shipped(), []).shape == (0, shipped().dimensions)


def test_a_request_stands_nearest_to_its_tool() -> None:
    tools = encode(shipped(), ["create refund: refund a payment", "get forecast: weather of a city", "send email"])
    tasks = encode(
        shipped(), ["give the money for this charge back", "will it rain in Osaka tomorrow", "mail the team"]
    )
    assert (tasks.astype(int) @ tools.T.astype(int)).argmax(axis=1).tolist() == [0, 1, 2]


def test_the_shipped_tokenizer_is_cut_as_the_tokenizers_package_cuts_it() -> None:
    tokenizers = pytest.importorskip("tokenizers", reason="the tokenizers package is not installed")
    reference = tokenizers.Tokenizer.from_str((folder() / "tokenizer.json").read_text(encoding="utf-8"))
    encoder = shipped()
    for text in [*TEXTS, "Zürich's [SEP] \u200b fee: 5$ naïve 한국어"]:
        ids = [encoder._first, *encoder._words.ids(text, encoder._limit - 2), encoder._last]
        assert ids == reference.encode(text).ids


def copied(target: Path, **changed: bytes | None) -> Path:
    """Write a folder whose manifest is sound, then change files (None: leave one out)."""
    vocabulary = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "pay": 3}
    body = {"tokenizer_json": json.dumps({"model": {"vocab": vocabulary}}).encode(), "model_onnx": b"no model"}
    body |= {name: content for name, content in changed.items() if name in body and content is not None}
    listed = {}
    for name, content in body.items():
        listed[name.replace("_", ".")] = {"sha256": hashlib.sha256(content).hexdigest()}
        if changed.get(name, b"") is not None:
            (target / name.replace("_", ".")).write_bytes(content)
    manifest = {"name": "pegboard-minilm", "dimensions": 384, "max_tokens": 256, "files": listed}
    (target / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return target


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"model_onnx": None}, "model.onnx cannot be read"),
        ({"tokenizer_json": None}, "tokenizer.json cannot be read"),
        ({"tokenizer_json": b"{}"}, "tokenizer.json holds no BERT vocabulary"),
        ({"model_onnx": b"not a graph"}, "model.onnx cannot be loaded"),
    ],
)
def test_a_damaged_model_is_an_encoder_error(tmp_path: Path, changed: dict[str, bytes | None], problem: str) -> None:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed (the extra `accurate`)")
    with pytest.raises(EncoderError) as error:
        OnnxEncoder.open(copied(tmp_path, **changed))
    assert problem in error.value.problem
    assert error.value.model.startswith("pegboard-minilm@")


@pytest.mark.parametrize("texts", [1, 100])
def test_a_model_that_gives_vectors_of_another_length_than_its_manifest_says_is_an_encoder_error(
    tmp_path: Path, texts: int
) -> None:
    for name in ("model.onnx", "tokenizer.json"):
        (tmp_path / name).write_bytes((folder() / name).read_bytes())
    manifest = json.loads((folder() / "manifest.json").read_text(encoding="utf-8"))
    (tmp_path / "manifest.json").write_text(json.dumps({**manifest, "dimensions": 383}), encoding="utf-8")
    with pytest.raises(EncoderError, match="the runtime failed"):
        encode(OnnxEncoder.open(tmp_path, threads=2), ["pay"] * texts)


def test_a_truncated_model_is_told_by_its_digest(tmp_path: Path) -> None:
    copied(tmp_path, model_onnx=b"a whole graph")
    (tmp_path / "model.onnx").write_bytes(b"a whole gr")
    with pytest.raises(EncoderError, match=r"the digest of model\.onnx is not the one"):
        OnnxEncoder.open(tmp_path)


def test_a_companion_that_is_not_installed_is_an_encoder_error_that_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pegboard_minilm", None)
    with pytest.raises(EncoderError) as error:
        OnnxEncoder.open()
    assert error.value.problem == "the companion distribution that holds it is not installed"
    assert error.value.fix == "install models/pegboard-minilm of the Pegboard repository"


def test_a_missing_runtime_is_an_encoder_error_that_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(EncoderError) as error:
        OnnxEncoder.open(copied(tmp_path))
    assert error.value.fix == "install pegboard[accurate]"
