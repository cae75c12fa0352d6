"""Distil an encoder into a table of token vectors: `python distill_static.py --data DATA --weights W --out DIR`.

A text's vector is the sum of its tokens' rows, at unit length. Rows begin as the encoder's own vectors of single
tokens, projected to 256 dimensions and weighed by how rare a token is (model2vec); then gradient descent fits them so
that sums come near the encoder's vectors of whole texts, and so that requests stand near their tools. The rows are
stored in int8 with an integer weight a row, so the run-time sum is exact on every processor. Encoder vectors are kept
in `--cache`, since they take most of the time.

Source: model2vec, Tulkens and van Dongen 2024; smooth inverse frequency, Arora et al., ICLR 2017.
"""

import argparse
import hashlib
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from manifest import sha256_of, write_manifest
from measures import Scores, measure, similarities
from minilm import encode, open_model, open_tokenizer, weights_directory
from numpy.typing import NDArray
from pairs import Pair, all_pairs, labelled_pairs, sentences, trainable
from sources import DEV_SETS, document, load_set, load_tools
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

DIMENSIONS = 256
MAX_TOKENS = 128
TEACHER_TOKENS = 96
ROW_LIMIT = 127
# With up to 256 tokens of at most 127 * 4095 a sum stays under 2^27 and its squared length under 2^63: exact in int64.
WEIGHT_LIMIT = 4095
RARITY = 3e-4  # `a` of smooth inverse frequency
TEMPERATURE = 0.05
BATCH = 512

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The student: int8 rows and their integer weights."""

    rows: NDArray[np.int8]
    weights: NDArray[np.uint16]

    def encode(self, ids: Sequence[Sequence[int]]) -> NDArray[np.int8]:
        """Encode token ids exactly as `pegboard.adapters.encoders.StaticEncoder` does."""
        vectors = np.zeros((len(ids), self.rows.shape[1]), dtype=np.int8)
        for place, row in enumerate(ids):
            picked = np.asarray(row[:MAX_TOKENS], dtype=np.intp)
            total = self.weights[picked].astype(np.int64) @ self.rows[picked].astype(np.int64)
            length = np.sqrt(np.float64((total * total).sum()))
            if length > 0:
                vectors[place] = np.rint(total * 127 / length)
        return vectors


def vocabulary_of(tokenizer: Tokenizer) -> tuple[list[str], NDArray[np.int64]]:
    """List the tokens that text can give, and map each published id to its place (-1: dropped)."""
    ids = tokenizer.get_vocab(with_added_tokens=True)
    places = np.full(len(ids), -1, dtype=np.int64)
    tokens = []
    for token, number in sorted(ids.items(), key=lambda item: item[1]):
        if not (token.startswith("[") and token.endswith("]") and len(token) > 2):
            places[number] = len(tokens)
            tokens.append(token)
    return tokens, places


def pieces(tokenizer: Tokenizer, places: NDArray[np.int64], texts: Sequence[str]) -> list[list[int]]:
    """Cut texts to places in the table; unknown words leave nothing."""
    rows = tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
    return [[int(place) for place in places[row.ids] if place >= 0] if row.ids else [] for row in rows]


def texts_of(data: Path) -> list[str]:
    """Collect the texts to imitate: documents and first sentences of clean tools, and labelled requests."""
    found: list[str] = []
    for folder in ("toucan_mcp", "stabletoolbench", "bfcl", "metatool"):
        for tool in load_tools(data, folder):
            if trainable(folder, tool):
                found += [document(tool), *sentences(tool.description)[:1]]
    found += [pair.query for pair in labelled_pairs(data, seed=0, per_tool=32)]
    return sorted(set(found))


class Teacher:
    """The encoder, with its vectors kept in a folder by the digest of weights and texts."""

    def __init__(self, weights: Path, cache: Path) -> None:
        self.model = open_model(weights)
        self.tokenizer = open_tokenizer(weights_directory(), TEACHER_TOKENS)
        self.weights, self.cache = sha256_of(weights), cache
        cache.mkdir(parents=True, exist_ok=True)

    def encode(self, texts: Sequence[str]) -> Floats:
        key = hashlib.sha256("\0".join([self.weights, *texts]).encode()).hexdigest()[:16]
        path = self.cache / f"{key}.npy"
        if not path.exists():
            np.save(path, encode(self.model, self.tokenizer, texts, 64).astype(np.float16))
        return np.load(path).astype(np.float32)


def projection(vectors: Floats) -> Floats:
    """Find the 256 directions that hold most of the texts' lengths; not centred, since cosines are what counts."""
    values, directions = np.linalg.eigh(vectors.T.astype(np.float64) @ vectors)
    return directions[:, np.argsort(-values)[:DIMENSIONS]].astype(np.float32)


def unit(vectors: Floats) -> Floats:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


class Bags:
    """Token ids of many texts, drawn as batches."""

    def __init__(self, ids: Sequence[Sequence[int]]) -> None:
        self.ids = [torch.tensor(row[:MAX_TOKENS] or [0], dtype=torch.long) for row in ids]

    def drawn(self, places: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Return the ids of some texts end to end, and where each text begins."""
        picked = [self.ids[place] for place in places]
        return torch.cat(picked), torch.tensor([0, *[len(row) for row in picked[:-1]]]).cumsum(0)


class Student:
    """Rows as a size times (the encoder's own vector of the token, mapped, plus what is learned for the token alone).

    The map is shared, so tokens that stand in no text follow the ones that do: fitting free rows instead cost 1.1
    points on sets whose texts were left out.
    """

    def __init__(self, tokens: Floats, basis: Floats, ids: Sequence[Sequence[int]], rate: float) -> None:
        # What all single tokens share comes from the marks around them, not from the token.
        self.own = torch.from_numpy(unit(tokens - tokens.mean(0)))
        counts = np.ones(len(tokens))
        for row in ids:
            np.add.at(counts, row, 1)
        rarity = RARITY / (RARITY + counts / counts.sum())
        self.map = nn.Parameter(torch.from_numpy(basis.copy()))
        self.sizes = nn.Parameter(torch.from_numpy(np.log(rarity).astype(np.float32))[:, None])
        self.offsets = nn.Parameter(torch.zeros(len(tokens), DIMENSIONS))
        self.rate = rate
        self.sparse = torch.optim.SparseAdam([self.offsets, self.sizes], lr=rate)
        self.dense = torch.optim.Adam([self.map], lr=rate)

    def sums(self, bags: Bags, places: Sequence[int]) -> Tensor:
        """Encode some texts: the sum of their tokens' rows at unit length."""
        ids, starts = bags.drawn(places)
        used, where = ids.unique(return_inverse=True)
        offsets = functional.embedding(used, self.offsets, sparse=True)
        rows = functional.embedding(used, self.sizes, sparse=True).exp() * (self.own[used] @ self.map + offsets)
        return functional.normalize(functional.embedding_bag(where, rows, starts, mode="sum"), dim=1)

    def learn(self, loss: Tensor, left: float) -> None:
        """Take one step, the rate falling with what is *left* of the run."""
        for optimiser, rate in ((self.sparse, self.rate), (self.dense, self.rate / 2)):
            for group in optimiser.param_groups:
                group["lr"] = rate * left
            optimiser.zero_grad()
        loss.backward()
        self.sparse.step()
        self.dense.step()

    @torch.no_grad()
    def table(self) -> Floats:
        found: Floats = (self.sizes.exp() * (self.own @ self.map + self.offsets)).numpy()
        return found


def imitation(sums: Tensor, wanted: Tensor) -> Tensor:
    """Distance to the encoder's vectors, and between the two ways of ranking the batch for each of its texts."""
    near = 1 - (sums * wanted).sum(1).mean()
    off = torch.eye(len(sums), dtype=torch.bool)
    theirs = (wanted @ wanted.T / TEMPERATURE).masked_fill(off, -1e4)
    ours = (sums @ sums.T / TEMPERATURE).masked_fill(off, -1e4)
    spread = functional.kl_div(functional.log_softmax(ours, 1), functional.softmax(theirs, 1), reduction="batchmean")
    return near + 0.3 * spread


def matching(queries: Tensor, documents: Tensor, ids: NDArray[np.str_]) -> Tensor:
    """InfoNCE in both directions; pairs of one tool are no negatives of each other."""
    scores = queries @ documents.T / TEMPERATURE
    same = torch.from_numpy(ids[:, None] == ids[None, :]) & ~torch.eye(len(ids), dtype=torch.bool)
    scores = scores.masked_fill(same, -1e4)
    right = torch.arange(len(ids))
    return (functional.cross_entropy(scores, right) + functional.cross_entropy(scores.T, right)) / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """What the student learns from: texts with their wanted vectors, and pairs."""

    texts: Bags
    wanted: Floats
    queries: Bags
    documents: Bags
    tools: NDArray[np.str_]


def fit(student: Student, lesson: Lesson, steps: int, pair_share: float) -> None:
    """Fit the student by Adam, the rate falling to zero."""
    dice = np.random.default_rng(0)
    for step in range(steps):
        places = dice.choice(len(lesson.wanted), BATCH, replace=False)
        loss = imitation(student.sums(lesson.texts, places), torch.from_numpy(lesson.wanted[places]))
        if pair_share:
            picked = dice.choice(len(lesson.tools), BATCH // 2, replace=False)
            pair = student.sums(lesson.queries, picked), student.sums(lesson.documents, picked)
            loss = loss + pair_share * matching(*pair, lesson.tools[picked])
        student.learn(loss, 1 - step / steps)
        if step % 200 == 0:
            print(json.dumps({"step": step, "loss": round(float(loss.detach()), 4)}), flush=True)


def quantised(rows: Floats) -> Table:
    """Store each row at full int8 range and its size as an integer weight."""
    size = np.maximum(np.abs(rows).max(axis=1), 1e-9)
    weights = np.rint(size / size.max() * WEIGHT_LIMIT)
    levels = np.rint(rows / size[:, None] * ROW_LIMIT)
    return Table(rows=levels.astype(np.int8), weights=weights.astype(np.uint16))


def check(table: Table, tokenizer: Tokenizer, places: NDArray[np.int64], data: Path) -> dict[str, Scores]:
    """Measure the stored form on the development sets."""
    scores = {}
    for key in DEV_SETS:
        task_set = load_set(data, *key)
        documents = table.encode(pieces(tokenizer, places, [document(tool) for tool in task_set.tools]))
        queries = table.encode(pieces(tokenizer, places, [task.query for task in task_set.tasks]))
        scores[task_set.name] = measure(similarities(queries, documents), task_set)
    return scores


def report(name: str, scores: dict[str, Scores]) -> float:
    mean = float(np.mean([row.choice for row in scores.values()]))
    print(
        json.dumps(
            {"table": name, "choice": round(mean, 2), "sets": {k: round(v.choice, 2) for k, v in scores.items()}}
        )
    )
    return mean


def write(table: Table, tokens: Sequence[str], out: Path, teacher: str) -> None:
    """Write the package data that `StaticEncoder` reads."""
    out.mkdir(parents=True, exist_ok=True)
    np.save(out / "rows.npy", table.rows, allow_pickle=False)
    np.save(out / "weights.npy", table.weights, allow_pickle=False)
    (out / "vocabulary.txt").write_text("\n".join(tokens) + "\n", encoding="utf-8")
    files = [out / name for name in ("rows.npy", "weights.npy", "vocabulary.txt")]
    facts = {"name": "pegboard-static", "dimensions": DIMENSIONS, "max_tokens": MAX_TOKENS, "teacher_sha256": teacher}
    write_manifest(out / "manifest.json", facts, files)


def lesson_of(teacher: Teacher, data: Path, places: NDArray[np.int64], pairs: Sequence[Pair]) -> tuple[Lesson, Floats]:
    """Encode the texts with the teacher and project what it says; returns the projection too."""
    texts = texts_of(data)
    print(json.dumps({"texts": len(texts), "pairs": len(pairs)}), flush=True)
    vectors = teacher.encode(texts)
    basis = projection(vectors)

    def bags(given: Sequence[str]) -> Bags:
        return Bags(pieces(teacher.tokenizer, places, given))

    lesson = Lesson(
        texts=bags(texts),
        wanted=unit(vectors @ basis),
        queries=bags([pair.query for pair in pairs]),
        documents=bags([pair.document for pair in pairs]),
        tools=np.array([pair.tool_id for pair in pairs]),
    )
    return lesson, basis


def main() -> None:
    parser = argparse.ArgumentParser(description="Distil an encoder into a static token table.")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--weights", type=Path, help="a checkpoint; without it the published weights")
    parser.add_argument("--cache", type=Path, required=True, help="folder for encoder vectors, outside the checkout")
    parser.add_argument("--out", type=Path, default=Path("src/pegboard/adapters/static_table"))
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--rate", type=float, default=4e-3)
    parser.add_argument(
        "--pair-share", type=float, nargs="+", default=[0.3], help="each is tried, and the development sets choose"
    )
    given = parser.parse_args()
    torch.set_num_threads(1)
    weights = given.weights or weights_directory() / "model.safetensors"
    teacher = Teacher(weights, given.cache)
    tokens, places = vocabulary_of(teacher.tokenizer)
    pairs = [pair for seed in (0, 1) for pair in all_pairs(given.data, seed)]
    random.Random(0).shuffle(pairs)
    lesson, basis = lesson_of(teacher, given.data, places, pairs)
    tokens_own = teacher.encode(tokens)
    best_choice = 0.0
    for share in given.pair_share:
        student = Student(tokens_own, basis, [row.tolist() for row in lesson.texts.ids], given.rate)
        fit(student, lesson, given.steps, share)
        table = quantised(student.table())
        mean = report(f"pairs {share}", check(table, teacher.tokenizer, places, given.data))
        if mean > best_choice:
            best_choice = mean
            write(table, tokens, given.out, sha256_of(weights))


if __name__ == "__main__":
    main()
