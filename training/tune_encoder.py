"""Tune MiniLM on tool pairs: `python tune_encoder.py --data DATA --out RUN [--minutes 60]`.

Contrastive, in both directions, over batches drawn a few tools at a time from one namespace, so that the negatives in
a batch are the tools a request is most easily confused with. Word and position embeddings stay frozen: words no pair
holds keep their meaning. A run saves a checkpoint every `--every` steps and goes on from the last one when started
again with the same `--out`; the checkpoint with the best figures on the (reduced) development sets is
`best.safetensors`, and `averaged.safetensors` its mean with the published weights, which is what is exported.

Source: InfoNCE, van den Oord et al. 2018; in-batch negatives as in Karpukhin et al., EMNLP 2020.
"""

import argparse
import json
import random
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from measures import Scores, measure, similarities
from minilm import MiniLM, batch_of, encode, open_model, open_tokenizer, weights_directory
from numpy.typing import NDArray
from pairs import Pair, all_pairs
from safetensors.torch import load_file, save_file
from sources import DEV_SETS, TaskSet, document, load_set
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

RATE = 5e-5
WARM_STEPS = 40
TEMPERATURE = 0.05
BATCH = 48
GROUP = 6  # tools of one namespace drawn together
TRAIN_TOKENS = 64
# The shipped weights are this share of the tuned ones and the rest of the published ones: on the development sets it
# costs 0.3 points, and such a mean keeps more of what the published model can do elsewhere.
# Source: Wortsman et al., CVPR 2022.
TUNED_SHARE = 0.75
# Two documents this close under the published model may well serve the same request: not used as negatives.
TWIN_COSINE = 0.90


def reduced(task_set: TaskSet, tools: int, tasks: int) -> TaskSet:
    """Keep some tasks, their tools and some other tools, always the same ones, so that a check takes half a minute."""
    dice = random.Random(7)
    kept = dice.sample(task_set.tasks, min(tasks, len(task_set.tasks)))
    needed = {tool for task in kept for step in task.steps for tool in step}
    others = [tool for tool in task_set.tools if tool.tool_id not in needed]
    wanted = needed | {tool.tool_id for tool in dice.sample(others, min(tools, len(others)))}
    chosen = tuple(tool for tool in task_set.tools if tool.tool_id in wanted)
    return TaskSet(name=task_set.name, tools=chosen, tasks=tuple(kept))


def check(model: MiniLM, tokenizer: Tokenizer, sets: Sequence[TaskSet]) -> dict[str, Scores]:
    """Measure *model* on each set."""
    scores = {}
    for task_set in sets:
        documents = encode(model, tokenizer, [document(tool) for tool in task_set.tools])
        queries = encode(model, tokenizer, [task.query for task in task_set.tasks])
        scores[task_set.name] = measure(similarities(queries, documents), task_set)
    return scores


def choice(scores: dict[str, Scores]) -> float:
    return float(np.mean([row.choice for row in scores.values()]))


def batches(pairs: Sequence[Pair], dice: random.Random) -> list[list[int]]:
    """Cut one pass into batches of small groups of a namespace; pairs of one tool never share a group."""
    spaces: dict[str, list[int]] = defaultdict(list)
    for place in dice.sample(range(len(pairs)), len(pairs)):
        spaces[pairs[place].namespace].append(place)
    groups = []
    for places in spaces.values():
        groups += [places[start : start + GROUP] for start in range(0, len(places), GROUP)]
    dice.shuffle(groups)
    flat = [place for group in groups for place in group]
    return [flat[start : start + BATCH] for start in range(0, len(flat) - BATCH + 1, BATCH)]


def loss_of(queries: Tensor, documents: Tensor, negatives: Tensor) -> Tensor:
    """InfoNCE in both directions; *negatives* is True where another row may be used as a negative."""
    scores = queries @ documents.T / TEMPERATURE
    scores = scores.masked_fill(~(negatives | torch.eye(len(scores), dtype=torch.bool)), -1e4)
    right = torch.arange(len(scores))
    return (functional.cross_entropy(scores, right) + functional.cross_entropy(scores.T, right)) / 2


def negatives_of(pairs: Sequence[Pair], vectors: NDArray[np.float32]) -> Tensor:
    """Mark which rows are true negatives of which: another tool whose text is not a twin's."""
    ids = np.array([pair.tool_id for pair in pairs])
    return torch.from_numpy((ids[:, None] != ids[None, :]) & (vectors @ vectors.T < TWIN_COSINE))


def embed(model: MiniLM, tokenizer: Tokenizer, texts: Sequence[str], chunk: int = 12) -> Tensor:
    """Encode with gradients, in chunks of like length: a quarter less time than one padded batch."""
    rows = [encoded.ids for encoded in tokenizer.encode_batch_fast(list(texts))]
    order = sorted(range(len(rows)), key=lambda place: len(rows[place]))
    parts = [
        model(*batch_of([rows[place] for place in order[start : start + chunk]]))
        for start in range(0, len(order), chunk)
    ]
    return torch.cat(parts)[torch.tensor(order).argsort()]


class Run:
    """One training run kept in a folder."""

    def __init__(self, out: Path, data: Path, steps: int) -> None:
        self.out, self.data, self.steps, self.step = out, data, steps, 0
        self.spent = 0.0  # share of the minutes
        out.mkdir(parents=True, exist_ok=True)
        directory = weights_directory()
        self.model = open_model(directory / "model.safetensors")
        self.published = open_model(directory / "model.safetensors")
        self.tokenizer = open_tokenizer(directory, TRAIN_TOKENS)
        self.sets = [reduced(load_set(data, *key), 700, 250) for key in DEV_SETS]
        for part in (self.model.words, self.model.positions, self.model.types):
            part.requires_grad_(False)
        trained = [weight for weight in self.model.parameters() if weight.requires_grad]
        self.optimiser = torch.optim.AdamW(trained, lr=RATE, weight_decay=0.01)
        if (out / "state.pt").exists():
            state = torch.load(out / "state.pt", weights_only=True)
            self.model.load_state_dict(state["model"])
            self.optimiser.load_state_dict(state["optimiser"])
            self.step = state["step"]

    def note(self, **facts: object) -> None:
        line = json.dumps({"step": self.step, **facts})
        print(line, flush=True)
        with (self.out / "log.jsonl").open("a", encoding="utf-8") as log:
            log.write(line + "\n")

    def rate(self) -> float:
        """Warm up, then fall to nothing as the steps or the minutes run out, whichever is sooner."""
        left = 1 - max(self.step / self.steps, self.spent)
        return RATE * min(1.0, (self.step + 1) / WARM_STEPS) * max(left, 0.02)

    def train_on(self, pairs: Sequence[Pair]) -> float:
        self.model.train()
        for group in self.optimiser.param_groups:
            group["lr"] = self.rate()
        vectors = encode(self.published, self.tokenizer, [pair.document for pair in pairs], BATCH)
        queries = embed(self.model, self.tokenizer, [pair.query for pair in pairs])
        documents = embed(self.model, self.tokenizer, [pair.document for pair in pairs])
        loss = loss_of(queries, documents, negatives_of(pairs, vectors))
        self.optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimiser.step()
        self.step += 1
        return float(loss.detach())

    def save(self) -> None:
        """Keep the state to go on from, the weights of this step, and the best weights so far."""
        state = {"model": self.model.state_dict(), "optimiser": self.optimiser.state_dict(), "step": self.step}
        torch.save(state, self.out / "state.tmp")
        (self.out / "state.tmp").replace(self.out / "state.pt")
        scores = check(self.model, self.tokenizer, self.sets)
        self.note(choice=choice(scores), sets={name: round(row.choice, 2) for name, row in scores.items()})
        save_file(self.model.state_dict(), self.out / f"step{self.step:05d}.safetensors")
        best = self.out / "best.json"
        if not best.exists() or json.loads(best.read_text(encoding="utf-8"))["choice"] < choice(scores):
            save_file(self.model.state_dict(), self.out / "best.safetensors")
            best.write_text(json.dumps({"step": self.step, "choice": choice(scores)}), encoding="utf-8")

    def go(self, every: int, minutes: float) -> None:
        """Train until the steps or the minutes are used up."""
        begun = time.monotonic()
        end = begun + 60 * minutes
        if self.step == 0:
            self.note(choice=choice(check(self.model, self.tokenizer, self.sets)))
        losses = []
        passes = 0
        while self.step < self.steps and time.monotonic() < end:
            seed = passes
            passes += 1
            pairs = all_pairs(self.data, seed)
            cut = batches(pairs, random.Random(seed))
            done = self.step - seed * len(cut)
            for places in cut[max(done, 0) :]:
                self.spent = (time.monotonic() - begun) / (60 * minutes)
                losses.append(self.train_on([pairs[place] for place in places]))
                if self.step % 20 == 0:
                    self.note(loss=round(float(np.mean(losses[-20:])), 4), left_s=round(end - time.monotonic()))
                if self.step % every == 0:
                    self.save()
                if self.step >= self.steps or time.monotonic() > end:
                    break
        self.save()
        self.average()

    def average(self) -> None:
        """Write the mean of the best and the published weights, which is what is exported."""
        tuned, first = load_file(self.out / "best.safetensors"), self.published.state_dict()
        mixed = {name: first[name] * (1 - TUNED_SHARE) + tuned[name] * TUNED_SHARE for name in first}
        save_file(mixed, self.out / "averaged.safetensors")


def main() -> None:
    parser = argparse.ArgumentParser(description="Tune MiniLM on tool pairs.")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, required=True, help="folder of the run; given again, the run goes on")
    parser.add_argument(
        "--steps", type=int, default=420, help="optimiser steps of 48 pairs; the rate falls to zero over them"
    )
    parser.add_argument("--every", type=int, default=60, help="steps between checkpoints")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    torch.manual_seed(0)
    Run(given.out, given.data, given.steps).go(given.every, given.minutes)


if __name__ == "__main__":
    main()
