"""The encoders: what they give, and that whatever is wrong with a model or an answer is one typed error."""

import hashlib
import json
from pathlib import Path

import anyio
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from pegboard.adapters.callable_encoder import (
    CallableEncoder,
    from_fastembed,
    from_model2vec,
    from_sentence_transformers,
)
from pegboard.adapters.encoders import OnnxEncoder, StaticEncoder, int8_rows, model_id_of
from pegboard.core.errors import EncoderError
from pegboard.service.ports import Encoder

STATIC = StaticEncoder.open()
TOKENS = ("pay", "invoice", "##s", "weather")
ROWS = np.array([[127, 0], [0, 127], [1, 1], [-127, 0]], dtype=np.int8)
WEIGHTS = np.array([4000, 3000, 100, 10], dtype=np.uint16)


def write_table(folder: Path, **changed: bytes | None) -> Path:
    """Write a table of four tokens; *changed* files get other bytes (None: no file) after the manifest is written."""
    np.save(folder / "rows.npy", ROWS)
    np.save(folder / "weights.npy", WEIGHTS)
    (folder / "vocabulary.txt").write_text("\n".join(TOKENS) + "\n", encoding="utf-8")
    names = ("rows.npy", "weights.npy", "vocabulary.txt")
    listed = {name: {"sha256": hashlib.sha256((folder / name).read_bytes()).hexdigest()} for name in names}
    manifest = {"name": "pegboard-static", "dimensions": 2, "max_tokens": 8, "files": listed}
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    for name, content in changed.items():
        path = folder / name.replace("_", ".")
        path.unlink()
        if content is not None:
            path.write_bytes(content)
    return folder


def encode(encoder: Encoder, *texts: str) -> NDArray[np.int8]:
    return anyio.run(encoder.encode, texts)


def test_a_static_vector_is_the_weighted_sum_of_its_tokens_rows(tmp_path: Path) -> None:
    encoder = StaticEncoder.open(write_table(tmp_path))
    assert encode(encoder, "Pay invoice", "pay", "nothing known", "").tolist() == [[102, 76], [127, 0], [0, 0], [0, 0]]


def test_the_model_id_is_the_name_and_the_digest_of_the_manifest(tmp_path: Path) -> None:
    encoder = StaticEncoder.open(write_table(tmp_path))
    digest = hashlib.sha256((tmp_path / "manifest.json").read_bytes()).hexdigest()
    assert encoder.model_id == f"pegboard-static@{digest[:12]}"


MISSING, CUT, LISTED = None, ROWS.tobytes()[:3], json.dumps({"name": "pegboard-static", "files": {}}).encode()


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"manifest_json": MISSING}, "manifest.json cannot be read (FileNotFoundError)"),
        ({"manifest_json": b"{"}, "manifest.json is not a model's manifest"),
        ({"manifest_json": b"[]"}, "manifest.json is not a model's manifest"),
        ({"manifest_json": LISTED}, "manifest.json is not a model's manifest"),
        ({"rows_npy": MISSING}, "rows.npy cannot be read (FileNotFoundError)"),
        ({"rows_npy": CUT}, "the digest of rows.npy is not the one in manifest.json"),
        ({"vocabulary_txt": b"other\n"}, "the digest of vocabulary.txt is not the one in manifest.json"),
    ],
)
def test_a_missing_or_damaged_file_of_the_table_is_an_encoder_error(
    tmp_path: Path, changed: dict[str, bytes | None], problem: str
) -> None:
    with pytest.raises(EncoderError) as error:
        StaticEncoder.open(write_table(tmp_path, **changed))
    assert error.value.problem == problem
    assert error.value.where == str(tmp_path)


def test_a_manifest_of_another_model_is_an_encoder_error(tmp_path: Path) -> None:
    write_table(tmp_path)
    with pytest.raises(EncoderError, match="of the model 'pegboard-static'"):
        OnnxEncoder.open(tmp_path)


def test_a_table_of_another_size_than_its_vocabulary_is_an_encoder_error(tmp_path: Path) -> None:
    write_table(tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8"))
    (tmp_path / "manifest.json").write_text(json.dumps({**manifest, "dimensions": 3}), encoding="utf-8")
    with pytest.raises(EncoderError, match="not of one size"):
        StaticEncoder.open(tmp_path)


@given(st.lists(st.sampled_from(["pay an invoice", "", "what's the weather?", "支付 счёт", "x" * 300]), max_size=40))
def test_a_static_vector_never_depends_on_the_texts_beside_it(texts: list[str]) -> None:
    together = encode(STATIC, *texts)
    assert together.shape == (len(texts), STATIC.dimensions)
    assert together.tolist() == [encode(STATIC, text)[0].tolist() for text in texts]


def test_a_long_list_of_texts_gives_the_same_vectors_from_worker_threads() -> None:
    texts = [f"pay invoice number {number} of the customer in Lisbon" for number in range(300)]
    assert np.array_equal(encode(STATIC, *texts), STATIC.rows_of(texts))


def test_the_shipped_table_puts_a_request_nearest_to_its_tool() -> None:
    tools = encode(STATIC, "create refund: refund a payment", "get forecast: weather of a city", "send email message")
    tasks = encode(STATIC, "give the money for this charge back", "will it rain in Osaka tomorrow", "mail the team")
    assert (tasks.astype(int) @ tools.T.astype(int)).argmax(axis=1).tolist() == [0, 1, 2]


def test_the_sums_of_the_shipped_table_cannot_pass_what_int64_holds() -> None:
    # 256 tokens at full size in all dimensions: the bound that the encoder's exactness rests on.
    assert 256 * (256 * 127 * 4095) ** 2 < 2**63
    assert int(STATIC._weights.max()) <= 4095


@pytest.mark.parametrize(
    ("vectors", "problem"),
    [
        ([[1.0, float("nan")]], "a vector holds NaN or an infinite number"),
        ([[1.0, float("inf")]], "a vector holds NaN or an infinite number"),
        ([[0.0, 0.0]], "a vector has length zero"),
        ([[1.0, 2.0, 3.0]], "expected 1 vectors of length 2, the answer has the shape (1, 3)"),
        ([[1.0, 2.0], [1.0, 2.0]], "expected 1 vectors of length 2, the answer has the shape (2, 2)"),
        ([], "expected 1 vectors of length 2, the answer has the shape (0,)"),
        ([[1.0], [1.0, 2.0]], "the answer is not a list of vectors of numbers"),
        ([["a", "b"]], "the answer is not a list of vectors of numbers"),
        (None, "a vector holds NaN or an infinite number"),
    ],
)
def test_an_answer_that_is_no_set_of_vectors_is_an_encoder_error(vectors: object, problem: str) -> None:
    encoder = CallableEncoder(lambda texts: vectors, model_id="given@1", dimensions=2)  # type: ignore[arg-type,return-value]
    with pytest.raises(EncoderError) as error:
        encode(encoder, "pay")
    assert error.value.model == "given@1"
    assert problem in error.value.problem or vectors is None


def test_vectors_are_brought_to_unit_length_and_rounded_half_to_even() -> None:
    assert int8_rows([[3e200, 4e200], [1e-300, 0], [-5, 0]], 3, 2, "m").tolist() == [[76, 102], [127, 0], [-127, 0]]
    assert int8_rows([], 0, 2, "m").shape == (0, 2)


def test_a_function_is_called_in_batches_and_its_rows_keep_their_order() -> None:
    seen: list[int] = []

    def lengths(texts: list[str]) -> list[list[float]]:
        seen.append(len(texts))
        return [[float(len(text)), 1.0] for text in texts]

    encoder = CallableEncoder(lengths, model_id="lengths@1", dimensions=2, batch=2)
    texts = ["a", "bb", "ccc", "dddd", "eeeee"]
    assert encode(encoder, *texts).tolist() == int8_rows(lengths(texts), 5, 2, "m").tolist()
    assert seen[:3] == [2, 2, 1]


def test_whatever_a_function_raises_is_an_encoder_error() -> None:
    def broken(texts: list[str]) -> list[list[float]]:
        raise LookupError("no weights")

    with pytest.raises(EncoderError, match="no weights"):
        encode(CallableEncoder(broken, model_id="broken@1", dimensions=2), "pay")


def test_a_function_that_hangs_is_given_up() -> None:
    from threading import Event

    release = Event()

    def hanging(texts: list[str]) -> list[list[float]]:
        release.wait(5)
        return [[1.0, 0.0]]

    encoder = CallableEncoder(hanging, model_id="slow@1", dimensions=2, timeout_s=0.02)
    try:
        with pytest.raises(EncoderError, match=r"no answer within 0\.02 s"):
            encode(encoder, "pay")
    finally:
        release.set()


class Library:
    """Answers as the three libraries do."""

    def encode(self, sentences: list[str]) -> NDArray[np.float32]:
        return np.array([[len(text), 1.0, 2.0] for text in sentences], dtype=np.float32)

    def embed(self, documents: list[str]):  # type: ignore[no-untyped-def]
        yield from self.encode(documents)


@pytest.mark.parametrize("wrap", [from_sentence_transformers, from_model2vec, from_fastembed])
def test_a_librarys_object_becomes_an_encoder(wrap) -> None:  # type: ignore[no-untyped-def]
    encoder = wrap(Library(), name="some-model", revision="r1")
    assert encoder.dimensions == 3
    assert encoder.model_id == model_id_of("some-model", "r1") != model_id_of("some-model", "r2")
    assert encode(encoder, "pay", "refund").shape == (2, 3)
