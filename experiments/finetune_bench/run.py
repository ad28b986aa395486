"""The figures of finetune, both sides in one process, step by step in turn.

Training speed beside minGPT, span corruption beside a loop, memory of a step, checkpoints: docs/finetune_figures.md.
`python experiments/finetune_bench/run.py --mingpt FOLDER --write docs/finetune_figures.md` wants a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from peers import ItemByItem, MinGPT

from attention_core.bench.timing.clocks import clock_for
from attention_core.bench.timing.machine import processor, versions
from attention_core.bench.timing.roofline import matmul_peak
from finetune.data.corpus import documents, read_text
from finetune.data.span_corruption import CorruptedDocuments, Form
from finetune.data.vocabulary import Vocabulary
from finetune.data.world import world
from finetune.errors import BadInput
from finetune.models.gpt import GPT, GPTConfig, mean_loss, next_token_loss
from finetune.models.mingpt import from_mingpt, load_weights
from finetune.training.config import TrainConfig
from finetune.training.train import Trainer, order

RATE = 1e-3
SIDES = {
    "float32": {"precision": "float32"},
    "float32, 8 parts by width": {"precision": "float32", "accumulate": 8},
    "bfloat16, 8 parts by width": {"precision": "bfloat16", "accumulate": 8},
}
"""Our trainer's settings; minGPT's side is `minGPT`."""


def read_corpus(path: str | None) -> tuple[list[str], str]:
    """Documents, and what they are called: a file's, or made-up biographies of about the same lengths."""
    if path is not None:
        return documents(read_text(path), path), Path(path).name
    made = world(0, taught=400, asked=400, unknown=1, places=40, biographies=4).corpus
    return [" ".join(made[n : n + 5]) for n in range(0, len(made), 5)], "made-up biographies"


class Bench:
    """The data and the sides; each side is a function that takes one step."""

    def __init__(self, told: argparse.Namespace, dropout: float = 0.1) -> None:
        self.told = told
        self.documents, self.name = read_corpus(told.corpus)
        self.vocabulary = Vocabulary.from_text("\n".join(self.documents))
        ids, lengths = self.vocabulary.encode_batch([d[: Form().longest] for d in self.documents])
        self.source = CorruptedDocuments(ids, lengths)
        self.config = GPTConfig(len(self.vocabulary), gelu="tanh", dropout=dropout)  # minGPT's GELU
        torch.manual_seed(0)
        self.start = GPT(self.config).state_dict()
        self.peer = None
        if told.mingpt is not None:
            self.peer = MinGPT(Path(told.mingpt), self.config, RATE)
            self.start = {name: w.clone() for name, w in from_mingpt(self.peer.model.state_dict()).items()}

    def trainer(self, side: str) -> Trainer:
        """Our trainer with the weights that all sides start from."""
        model = GPT(self.config)
        load_weights(model, self.start)
        settings = TrainConfig(epochs=10**6, batch_size=self.told.batch, learning_rate=RATE, log_every=10**6)
        return Trainer(model, next_token_loss, self.source, TrainConfig(**{**vars(settings), **SIDES[side]}))

    def peer_batch(self, step: int) -> dict[str, torch.Tensor]:
        """The batch of that step in the order of our trainer: the same examples."""
        size, count = self.told.batch, len(self.source)
        steps = -(-count // size)
        epoch, place = divmod(step, steps)
        return self.source.batch(epoch, order(0, epoch, count)[place * size : (place + 1) * size])

    def steps(self, sides: Sequence[str] = tuple(SIDES)) -> dict[str, Callable[[], Any]]:
        """A function a side that takes its next step; minGPT's where there is a checkout."""
        self.trainers = {side: self.trainer(side) for side in sides if side in SIDES}
        found: dict[str, Callable[[], Any]] = {
            side: lambda t=trainer: t.run(stop_after=1) for side, trainer in self.trainers.items()
        }
        if self.peer is not None:
            peer, numbers = self.peer, iter(range(10**9))
            found = {"minGPT": lambda: peer.step(self.peer_batch(next(numbers)))} | found
        return found

    def losses(self) -> dict[str, float]:
        """The loss of every side on the same 256 examples of an epoch nobody trains on, by one judge."""
        held = [self.source.batch(10**6, np.arange(n, min(n + 64, len(self.source)))) for n in range(0, 256, 64)]
        models: dict[str, Any] = {side: t.model for side, t in self.trainers.items()}
        if self.peer is not None:
            models["minGPT"] = GPT(self.config)
            load_weights(models["minGPT"], from_mingpt(self.peer.model.state_dict()))
        return {side: mean_loss(model, held) for side, model in models.items()}


def losses_alike(told: argparse.Namespace) -> dict[str, float]:
    """What the sides come to after five steps on the same examples without dropout, where nothing is left to chance."""
    bench = Bench(told, dropout=0.0)
    steps = bench.steps()
    for _ in range(5):
        for step in steps.values():
            step()
    return bench.losses()


def speed(bench: Bench) -> dict[str, Any]:
    """Seconds of each side's steps, taken in turn, and their tokens; and that all sides learn the same."""
    told, steps = bench.told, bench.steps()
    seconds: dict[str, list[float]] = {side: [] for side in steps}
    tokens = []
    for number in range(told.steps + 1):
        before = bench.trainers["float32"].tokens
        for side, step in steps.items():
            start = time.perf_counter()
            step()
            seconds[side].append(time.perf_counter() - start)
        tokens.append(bench.trainers["float32"].tokens - before)
        print(f"step {number}: " + ", ".join(f"{k} {v[-1]:.2f} s" for k, v in seconds.items()), file=sys.stderr)
    return {
        "seconds": {side: values[1:] for side, values in seconds.items()},  # the first one is for warming up
        "tokens": tokens[1:], "losses": losses_alike(told),
        "peaks": {d: matmul_peak(d, clock_for("cpu"), "cpu") for d in ("float32", "bfloat16")},
    }  # fmt: skip


def resident(name: str) -> int:
    """Bytes of this process's memory: VmRSS now, VmHWM at the most since the mark was set back."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(name))


def memory(bench: Bench, side: str) -> None:
    """Print by how many bytes the process grows at most in two steps of a side (Linux tells)."""
    steps = bench.steps([side])
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # the high-water mark starts anew
    steps[side]()
    steps[side]()
    print(resident("VmHWM") - before)


def memories(told: argparse.Namespace, sides: list[str]) -> dict[str, int]:
    """The same for every side, each in a process of its own."""
    found = {}
    for side in sides:
        again = [sys.executable, __file__, "--memory", side, "--batch", str(told.batch), "--threads", str(told.threads)]
        for name in ("corpus", "mingpt"):
            again += [f"--{name}", getattr(told, name)] if getattr(told, name) else []
        found[side] = int(subprocess.run(again, check=True, capture_output=True, text=True).stdout.split()[-1])
    return found


def corruption(bench: Bench) -> tuple[float, float]:
    """Examples a second of our batches, and of the loop over items; the best of five turns each."""
    ids = {c: n for n, c in enumerate(bench.vocabulary.characters)}
    loop = ItemByItem(bench.documents, ids, 128)
    chosen = np.arange(min(1024, len(bench.source)))
    ours, theirs = [], []
    for turn in range(5):
        start = time.perf_counter()
        bench.source.batch(turn, chosen)
        ours.append(len(chosen) / (time.perf_counter() - start))
        start = time.perf_counter()
        items = [loop[n] for n in chosen[:128]]
        torch.stack([x for x, _ in items]), torch.stack([y for _, y in items])
        theirs.append(len(items) / (time.perf_counter() - start))
    return max(ours), max(theirs)


def checkpoints(bench: Bench) -> tuple[float, float, int]:
    """Seconds to save all of a run's state and to go on from it, medians of five, and the file's size."""
    saves, loads = [], []
    with tempfile.TemporaryDirectory() as folder:
        trainer = bench.trainer("float32")
        trainer.path = Path(folder) / "run.checkpoint"
        for p in trainer.model.parameters():
            p.grad = torch.zeros_like(p)
        trainer.optimizer.step()  # now the optimizer has its state
        for _ in range(5):
            start = time.perf_counter()
            trainer.save()
            saves.append(time.perf_counter() - start)
            start = time.perf_counter()
            trainer.load()
            loads.append(time.perf_counter() - start)
        return statistics.median(saves), statistics.median(loads), trainer.path.stat().st_size


def flops_a_token(config: GPTConfig, columns: float) -> float:
    """Of the products that a target needs: 6 for each weight that multiplies, and 12 L E times half the columns."""
    E, L = config.n_embd, config.n_layer
    weights = L * 12 * E * E + E * config.vocab_size
    return 6 * weights + 12 * L * E * columns / 2


def page(bench: Bench, found: dict[str, Any]) -> str:
    """The figures as a page."""
    told, seconds, tokens = bench.told, found["seconds"], found["tokens"]
    rates = {side: [n / s for n, s in zip(tokens, values, strict=True)] for side, values in seconds.items()}
    base = rates.get("minGPT")
    rows = []
    for side, values in rates.items():
        ratio = [a / b for a, b in zip(values, base, strict=True)] if base else []
        low, middle, high = np.quantile(ratio, (0.25, 0.5, 0.75)) if ratio else (0, 0, 0)
        over = f"{middle:.2f} ({low:.2f} to {high:.2f})" if ratio else "no checkout was given"
        peak = found["peaks"]["bfloat16" if side.startswith("bfloat16") else "float32"] * told.threads
        used = statistics.median(values) * flops_a_token(bench.config, 64) / peak
        told_of = (f"{statistics.median(values):,.0f}", over, f"{100 * used:.0f} %", f"{found['losses'][side]:.4f}")
        rows.append(f"| {side} | {' | '.join(told_of)} | {found['memory'][side] / 2**20:,.0f} MiB |")
    ours, theirs = found["corruption"]
    save, load, size = found["checkpoint"]
    count = sum(p.numel() for p in GPT(bench.config).parameters())
    machine = f"{processor()}, {told.threads} thread(s) of {os.cpu_count()} cores"
    peaks = ", ".join(f"{name} {rate / 1e9:.0f} GFLOP/s" for name, rate in found["peaks"].items())
    head = f"""# Figures of finetune

Regenerated by `python experiments/finetune_bench/run.py --mingpt FOLDER --write docs/finetune_figures.md`, FOLDER being
a checkout of karpathy/minGPT.

{machine}; load {found["load"]:.1f} at the start; {", ".join(f"{k} {v}" for k, v in versions().items())}.
Matmul peak of one thread: {peaks}.

## Training: {count:,} parameters, batches of {told.batch}, block 128, {bench.name}

{len(tokens)} steps of each side, taken in turn from the same weights on the same examples, dropout 0.1. Tokens are
targets; padding is none. The ratio is the median over the steps, with its quartiles. The share of the peak counts only
products that targets need. The loss, in nats, is on the same held-out corruptions after five steps without dropout,
where all sides should do the same. Memory is what two steps add to a process.

| side | tokens a second | over minGPT | of the matmul peak | loss | memory |
|---|---|---|---|---|---|
"""
    rest = f"""

## The rest

| what | asked | measured |
|---|---|---|
| span corruption, examples a second over a loop over items | >= 20 | {ours / theirs:.0f} ({ours:,.0f}, {theirs:,.0f}) |
| a checkpoint of everything, {size / 2**20:.0f} MiB: write | < 1 s | {save:.2f} s |
| the same: go on from it | < 1 s | {load:.2f} s |
"""
    return head + "\n".join(rows) + rest


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--mingpt", metavar="FOLDER", help="a checkout of karpathy/minGPT; without one its side is left out"
    )
    parser.add_argument("--corpus", metavar="FILE", help="documents, one a line  [default: made-up biographies]")
    parser.add_argument("--steps", type=int, default=20, help="of each side")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--memory", metavar="SIDE", help="measure only what a step of this side adds to the process")
    parser.add_argument("--write", metavar="FILE", help="where the page goes  [default: the terminal]")
    told = parser.parse_args()
    torch.set_num_threads(told.threads)
    try:
        bench = Bench(told)
    except BadInput as error:
        sys.exit(f"finetune_bench: {error}")
    if told.memory:
        memory(bench, told.memory)
        return
    load = os.getloadavg()[0]
    found = speed(bench) | {"corruption": corruption(bench), "checkpoint": checkpoints(bench), "load": load}
    found["memory"] = memories(told, list(found["seconds"]))
    text = page(bench, found)
    if told.write:
        Path(told.write).write_text(text, encoding="utf-8")
        Path("build").mkdir(exist_ok=True)
        Path("build/finetune_bench.json").write_text(json.dumps(found), encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
