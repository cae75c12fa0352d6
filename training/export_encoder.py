"""Export MiniLM to int8 ONNX: `python export_encoder.py --out FOLDER [--weights W]`.

Writes model.onnx, tokenizer.json and manifest.json, then checks the written model, run one text at a time as the
adapter runs it: the cosine to the float model on a sample of texts, and both models' figures on the development sets.
Exits with 1 if the mean cosine is under 0.98 or the figures fall by more than half a point.
"""

import argparse
import json
import random
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from manifest import sha256_of, write_manifest
from measures import Scores, measure, similarities
from minilm import HIDDEN, MAX_TOKENS, WEIGHTS_SHA256, encode, open_model, open_tokenizer, weights_directory
from numpy.typing import NDArray
from onnx_graph import build
from onnxruntime import InferenceSession, SessionOptions
from sources import DEV_SETS, TaskSet, document, load_set
from tokenizers import Tokenizer

LEAST_COSINE = 0.98
MOST_LOSS = 0.5


class Exported:
    """The written model, run one text at a time in one thread."""

    def __init__(self, folder: Path) -> None:
        options = SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.session = InferenceSession(folder / "model.onnx", options, providers=["CPUExecutionProvider"])
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.empty((len(texts), HIDDEN), dtype=np.float32)
        for place, text in enumerate(texts):
            ids = np.array([self.tokenizer.encode(text).ids], dtype=np.int64)
            vectors[place] = self.session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0][0]
        return vectors


def write_tokenizer(source: Path, target: Path) -> None:
    """Write the published tokenizer with our length, no padding, and no special tokens that a text could hold."""
    body = json.loads((source / "tokenizer.json").read_text(encoding="utf-8"))
    body["padding"] = None
    body["truncation"] = {"max_length": MAX_TOKENS, "strategy": "LongestFirst", "stride": 0, "direction": "Right"}
    body["added_tokens"] = []
    target.write_text(json.dumps(body, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")


def reduced(task_set: TaskSet, tasks: int) -> TaskSet:
    kept = random.Random(3).sample(task_set.tasks, min(tasks, len(task_set.tasks)))
    return TaskSet(name=task_set.name, tools=task_set.tools, tasks=tuple(kept))


def compare(
    weights: Path, folder: Path, data: Path, tasks: int
) -> tuple[float, float, dict[str, tuple[Scores, Scores]]]:
    """Return mean and least cosine between both models' vectors, and each development set's figures (float, int8)."""
    whole, tokenizer = open_model(weights), open_tokenizer(weights_directory())
    written = Exported(folder)
    cosines, scores = [], {}
    for key in DEV_SETS:
        task_set = reduced(load_set(data, *key), tasks)
        texts = [document(tool) for tool in task_set.tools], [task.query for task in task_set.tasks]
        floats = [encode(whole, tokenizer, part) for part in texts]
        levels = [written.encode(part) for part in texts]
        cosines += [(one * other).sum(1) for one, other in zip(floats, levels, strict=True)]
        stored = [np.rint(part * 127).astype(np.int8) for part in levels]
        scores[task_set.name] = (
            measure(similarities(floats[1], floats[0]), task_set),
            measure(similarities(stored[1], stored[0]), task_set),
        )
    every = np.concatenate(cosines)
    return float(every.mean()), float(every.min()), scores


def main() -> None:
    parser = argparse.ArgumentParser(description="Export MiniLM to int8 ONNX.")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--weights", type=Path, help="a checkpoint; without it the published weights")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tasks", type=int, default=300, help="tasks of each development set in the check; 0 skips it")
    given = parser.parse_args()
    torch.set_num_threads(1)
    source = weights_directory()
    published = source / "model.safetensors"
    if sha256_of(published) != WEIGHTS_SHA256:
        raise SystemExit(f"{published} is not all-MiniLM-L6-v2 as published")
    weights = given.weights or published
    given.out.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    build(open_model(weights), given.out / "model.onnx")
    write_tokenizer(source, given.out / "tokenizer.json")
    facts = {
        "name": "pegboard-minilm",
        "dimensions": HIDDEN,
        "max_tokens": MAX_TOKENS,
        "pooling": "mean",
        "weights_sha256": sha256_of(weights),
        "published_weights_sha256": WEIGHTS_SHA256,
    }
    files = [given.out / "model.onnx", given.out / "tokenizer.json"]
    print(
        json.dumps(
            {
                "model_id": write_manifest(given.out / "manifest.json", facts, files),
                "s": round(time.monotonic() - begun, 1),
            }
        )
    )
    if given.tasks:
        mean, least, scores = compare(weights, given.out, given.data, given.tasks)
        falls = [one.choice - other.choice for one, other in scores.values()]
        print(
            json.dumps(
                {
                    "cosine_mean": round(mean, 4),
                    "cosine_least": round(least, 4),
                    "mean_fall": round(float(np.mean(falls)), 2),
                }
            )
        )
        for name, (one, other) in scores.items():
            print(json.dumps({"set": name, "float": round(one.choice, 2), "int8": round(other.choice, 2)}))
        if mean < LEAST_COSINE or np.mean(falls) > MOST_LOSS:
            raise SystemExit(1)


if __name__ == "__main__":
    main()
