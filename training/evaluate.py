"""Measure encoders by cosine alone: `python evaluate.py --part test static onnx published run/best.safetensors`.

`static` and `onnx` are the shipped models as the product runs them (needs Pegboard installed, and its companion for
`onnx`); `published` and a path are float weights (needs training/requirements.txt). No lexical score, clause or
namespace takes part: this compares encoders, and `bench/retrieval.py` measures ranking. Up to `--tasks` tasks a set,
always the same ones.
"""

import argparse
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
from measures import Scores, measure, similarities
from numpy.typing import NDArray
from sources import DEV_SETS, TEST_SETS, TaskSet, document, load_set

Encode = Callable[[Sequence[str]], NDArray[np.generic]]
# live-mcp's tasks are too few to say more than an order of size, and the two before it are small: the mean leaves
# them out.
REPORTED_ONLY = frozenset({"live-mcp test", "tau2 test", "agentdojo test"})


def shipped(name: str) -> Encode:
    from pegboard.adapters.encoders import OnnxEncoder, StaticEncoder

    return StaticEncoder.open().rows_of if name == "static" else OnnxEncoder.open().rows_of


def floats(name: str) -> Encode:
    import torch
    from minilm import encode, open_model, open_tokenizer, weights_directory

    torch.set_num_threads(1)
    directory = weights_directory()
    model = open_model(directory / "model.safetensors" if name == "published" else Path(name))
    tokenizer = open_tokenizer(directory)
    return lambda texts: encode(model, tokenizer, texts)


def opened(name: str) -> Encode:
    return shipped(name) if name in ("static", "onnx") else floats(name)


def kept(task_set: TaskSet, tasks: int) -> TaskSet:
    chosen = random.Random(3).sample(task_set.tasks, min(tasks, len(task_set.tasks)))
    return TaskSet(name=task_set.name, tools=task_set.tools, tasks=tuple(chosen))


def row_of(name: str, scores: Scores) -> str:
    figures = " ".join(f"{value:6.1f}" for value in asdict(scores).values())
    return f"{name:24} {figures}"


def mean_of(rows: Sequence[Scores]) -> Scores:
    mean = np.mean([list(asdict(row).values()) for row in rows], axis=0)
    return Scores(**dict(zip(asdict(rows[0]), (float(value) for value in mean), strict=True)))


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure encoders by cosine alone.")
    parser.add_argument("encoders", nargs="+", help="static, onnx, published, or a path to weights")
    parser.add_argument("--part", choices=("dev", "test"), required=True)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--tasks", type=int, default=400)
    parser.add_argument("--json", type=Path, help="write the figures there too")
    given = parser.parse_args()
    sets = [kept(load_set(given.data, *key), given.tasks) for key in (DEV_SETS if given.part == "dev" else TEST_SETS)]
    found: dict[str, dict[str, Scores]] = {}
    for name in given.encoders:
        encode = opened(name)
        found[name] = {}
        print(f"{name}\n{'':24}    R@1    R@8 nDCG10    C@8")
        for task_set in sets:
            documents = encode([document(tool) for tool in task_set.tools])
            queries = encode([task.query for task in task_set.tasks])
            scores = measure(similarities(queries, documents), task_set)
            found[name][task_set.name] = scores
            print(row_of(f"{task_set.name} ({len(task_set.tasks)})", scores), flush=True)
        print(
            row_of("mean", mean_of([row for key, row in found[name].items() if key not in REPORTED_ONLY])), flush=True
        )
    if given.json:
        plain = {name: {key: asdict(row) for key, row in rows.items()} for name, rows in found.items()}
        given.json.write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
