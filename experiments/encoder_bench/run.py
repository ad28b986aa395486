"""Speed, losses, memory and files of encoder fine-tuning, side by side.

Full fine-tuning, LoRA, head tuning and memory beside transformers' Trainer with peft: docs/encoder_figures.md.
`python experiments/encoder_bench/run.py --write docs/encoder_figures.md`: some minutes; both sides in one process.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import peers
import torch

from attention_core.bench.timing.machine import processor, versions
from finetune.classification.config import ClassifyConfig
from finetune.classification.frozen_features import OnFeatures, features
from finetune.data.collate import LabelledTexts
from finetune.data.texts import Encoded
from finetune.errors import BadInput
from finetune.memory.measure import prepare, profile
from finetune.models.classifier import Classifier, classification_loss
from finetune.models.heads import load_classifier
from finetune.peft import Head, LoRA, Prefix, Prompt, inject
from finetune.training.config import TrainConfig
from finetune.training.train import Trainer

SIZES = {
    "vocab_size": 30522, "hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12,
    "intermediate_size": 1536, "max_position_embeddings": 512,
}  # fmt: skip
"""MiniLM's."""
RATE = 1e-4
FAST = 1e-3
"""Where losses are compared, so that eight steps move them."""
METHODS = ("full", "head", "lora", "prompt", "prefix")
PROMPT = 128
MIB = 2**20


@dataclass(frozen=True)
class Texts:
    """Ids of drawn words; the lengths are those of SST-2's sentences, about: 4 to 60 tokens, 25 in the mean."""

    ids: list[list[int]]
    labels: list[int]

    @staticmethod
    def drawn(count: int, words: int) -> Texts:
        """So many."""
        generator = np.random.default_rng(0)
        lengths = np.clip(generator.gamma(4.0, 6.25, count).astype(int), 4, 60)
        ids = [generator.integers(1000 % words, words, n).tolist() for n in lengths]
        return Texts(ids, generator.integers(0, 2, count).tolist())

    def source(self, grouped: bool = True) -> LabelledTexts:
        """As our trainer takes them."""
        kinds = [[0] * len(row) for row in self.ids]
        return LabelledTexts(Encoded(self.ids, kinds, 60, 0), self.labels, 0, types=False, grouped=grouped)

    def rows(self) -> peers.Rows:
        """As theirs does."""
        return peers.Rows(self.ids, self.labels)


class InOrder:
    """The same batches one after the other, as they stand: to compare losses."""

    def __init__(self, source: LabelledTexts) -> None:
        self.source, self.batch = source, source.batch

    def __len__(self) -> int:
        return len(self.source)

    def order(self, seed: int, epoch: int, batch_size: int) -> npt.NDArray[np.int64]:
        """As they stand."""
        return np.arange(len(self.source))


@dataclass
class Pair:
    """One model on both sides, from the same weights."""

    ours: Classifier
    theirs: Any


def pair(method: str, sizes: Mapping[str, int], dropout: float, folder: Path) -> Pair:
    """Full or LoRA: theirs is written, and ours is read from it."""
    torch.manual_seed(0)
    base = peers.bert(sizes, dropout)
    base.save_pretrained(folder / "base")
    ours, _ = load_classifier(folder / "base")
    theirs = peers.adapted(base, method, dropout=dropout)
    if method == "lora":
        inject(ours, LoRA(8, 16.0, dropout))
        put(theirs, ours)
    return Pair(ours, theirs)


def put(theirs: Any, ours: Classifier) -> None:
    """The library's A matrices into ours; its B are 0, as ours are."""
    found = {name: value for name, value in theirs.state_dict().items() if "lora_A" in name}
    own = {name: p for name, p in ours.named_parameters() if "lora_A" in name}
    layers = sorted(own, key=lambda name: [int(part) if part.isdigit() else part for part in name.split(".")])
    given = sorted(found, key=lambda name: [int(part) if part.isdigit() else part for part in name.split(".")])
    with torch.no_grad():
        for name, other in zip(layers, given, strict=True):
            own[name].copy_(found[other])


def settings(batch: int, **others: Any) -> TrainConfig:
    """A constant rate, clipping at 1, no decay, as theirs."""
    plain: dict[str, Any] = {
        "epochs": 10**6, "batch_size": batch, "learning_rate": RATE, "betas": (0.9, 0.999), "weight_decay": 0.0,
        "schedule": "constant", "log_every": 10**9, "save_every": 10**9,
    }  # fmt: skip
    return TrainConfig(**plain | others)


# --- steps a second, and losses -----------------------------------------------------------------------


def speeds(told: argparse.Namespace, texts: Texts, sizes: Mapping[str, int]) -> dict[str, dict[str, list[float]]]:
    """Seconds of one pass over the texts, by method and side, in turns A B B A."""
    found: dict[str, dict[str, list[float]]] = {}
    steps = -(-len(texts.ids) // told.batch)
    for method in ("full", "lora"):
        with tempfile.TemporaryDirectory() as folder:
            both = pair(method, sizes, 0.1, Path(folder))
            trainer = Trainer(both.ours, classification_loss, texts.source(), settings(told.batch))
            sides = ["ours", "Trainer and peft", "the same, grouped by length"]
            seconds: dict[str, list[float]] = {side: [] for side in sides}
            for number in range(told.blocks):
                for side in sides if number % 2 else sides[::-1]:
                    if side == "ours":
                        trainer.run(stop_after=1)
                        start = time.perf_counter()
                        trainer.run(stop_after=steps)
                        seconds[side].append(time.perf_counter() - start)
                    else:
                        order = "random" if side == sides[1] else "group_by_length"
                        spent, _ = peers.train(
                            both.theirs, texts.rows(), folder, steps + 1, batch=told.batch, rate=RATE, seed=number,
                            order=order,
                        )  # fmt: skip
                        seconds[side].append(spent)
                say(f"{method}: block {number + 1} of {told.blocks}")
            found[method] = seconds
    return found


def losses(told: argparse.Namespace, texts: Texts, sizes: Mapping[str, int], steps: int = 8) -> dict[str, float]:
    """The largest relative difference of the losses of so many steps on the same batches, without dropout."""
    found = {}
    for method in ("full", "lora"):
        with tempfile.TemporaryDirectory() as folder:
            both = pair(method, sizes, 0.0, Path(folder))
            records: list[Mapping[str, Any]] = []
            trainer = Trainer(
                both.ours, classification_loss, InOrder(texts.source(False)),
                settings(told.batch, log_every=1, learning_rate=FAST), sinks=[records.append],
            )  # fmt: skip
            trainer.run(stop_after=steps)
            _, theirs = peers.train(
                both.theirs, texts.rows(), folder, steps, batch=told.batch, rate=FAST, order="sequential"
            )
            mine = [record["loss"] for record in records]
            assert len(mine) == len(theirs) == steps and len(set(mine)) > 1
            found[method] = max(abs(a / b - 1) for a, b in zip(mine, theirs, strict=True))
            say(f"{method}: losses {mine[0]:.4f} to {mine[-1]:.4f}, {found[method]:.1e} apart")
    return found


def heads(told: argparse.Namespace, texts: Texts, sizes: Mapping[str, int], epochs: int = 10) -> tuple[float, float]:
    """Seconds of ten epochs of head tuning: ours with its features computed, theirs with a frozen base."""
    with tempfile.TemporaryDirectory() as folder:
        both = pair("full", sizes, 0.1, Path(folder))
        inject(both.ours, Head())
        start = time.perf_counter()
        vectors, _ = features(
            both.ours, texts.source(), "drawn", folder=None, device=torch.device("cpu"), batch_size=told.batch
        )
        model = OnFeatures(both.ours)
        Trainer(model, vector_loss, vectors, settings(told.batch, epochs=epochs)).run()
        ours = time.perf_counter() - start
        theirs, _ = peers.train(
            peers.adapted(both.theirs, "head"), texts.rows(), folder, 0, batch=told.batch, rate=RATE, epochs=epochs
        )
    return ours, theirs


def vector_loss(model: torch.nn.Module, batch: Mapping[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    """The loss on features."""
    loss = torch.nn.functional.cross_entropy(model(batch["features"]), batch["labels"], reduction="sum")
    return loss, torch.tensor(len(batch["labels"]))


# --- memory and files ---------------------------------------------------------------------------------


def peaks(
    sizes: Mapping[str, int], B: int = 8, n: int = 128, methods: Sequence[str] = METHODS
) -> dict[str, dict[str, int | str]]:  # fmt: skip
    """Bytes at once in a step of B texts of n tokens, by the profiler: by method and side, or why there is none."""
    found: dict[str, dict[str, int | str]] = {}
    for method in methods:
        config = ClassifyConfig("", method=method, prompt_length=PROMPT, device="cpu")
        recomputed = ClassifyConfig("", method=method, prompt_length=PROMPT, device="cpu", gradient_checkpointing=True)
        found[method] = {"ours": our_peak(config, sizes, B, n)}
        if method != "head":
            found[method]["ours, gradient_checkpointing"] = our_peak(recomputed, sizes, B, n)
        model = peers.adapted(peers.bert(sizes, 0.1), method, PROMPT)
        found[method]["peft"] = peak(peers.Logits(model), B, n, sizes)
        if method == "prompt":
            found[method]["the assignment's"] = peak(peers.OpenPrompt(peers.bert(sizes, 0.1), PROMPT), B, n, sizes)
        say(f"memory of {method}: {found[method]}")
    return found


def our_peak(config: ClassifyConfig, sizes: Mapping[str, int], B: int, n: int) -> int | str:
    """One step's, of our encoder."""
    with tempfile.TemporaryDirectory() as folder:
        peers.bert(sizes, 0.1).save_pretrained(folder)
        encoder = load_classifier(folder)[0].encoder
    return peak(prepare(encoder, config, torch.device("cpu")), B, n, sizes)


def peak(model: torch.nn.Module, B: int, n: int, sizes: Mapping[str, int]) -> int | str:
    """One step's, of any model; its error where it has none to give."""
    ids = torch.randint(1, sizes["vocab_size"], (B, n), generator=torch.Generator().manual_seed(0))
    batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": torch.zeros(B, dtype=torch.long)}
    try:
        return profile(model.train(), batch)[2]
    except Exception as error:  # of the library's own: what it cannot do is said in its cell
        return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:60]}"


def files(sizes: Mapping[str, int]) -> dict[str, int]:
    """Bytes of an adapter's folder, by method; a prompt and a prefix are 20 long, which is their default."""
    found = {}
    for method in (Head(), LoRA(8), Prompt(20), Prompt(PROMPT), Prefix(20), Prefix(PROMPT)):
        with tempfile.TemporaryDirectory() as folder:
            peers.bert(sizes, 0.1).save_pretrained(folder)
            model = Classifier(load_classifier(folder)[0].encoder, 2)
            inject(model, method).save(f"{folder}/adapter")
            size = sum(path.stat().st_size for path in Path(folder, "adapter").iterdir())
        length = getattr(method, "length", None)
        found[f"{method.name}, {length}" if length else method.name] = size
    return found


# --- the page -----------------------------------------------------------------------------------------


def ratios(ours: Sequence[float], theirs: Sequence[float]) -> str:
    """Theirs over ours, block by block: the median with the smallest and the largest."""
    found = np.array(theirs) / np.array(ours)
    return f"{np.median(found):.2f} ({found.min():.2f} to {found.max():.2f})"


def mib(value: int | str) -> str:
    """Bytes in MiB; words as they are."""
    return f"{value / MIB:,.0f}" if isinstance(value, int) else value


def page(told: argparse.Namespace, found: Mapping[str, Any]) -> Iterator[str]:
    """The figures as a page, line by line."""
    steps = -(-told.texts // told.batch)
    yield "# Figures of encoders and adapters, beside transformers' Trainer and the library peft"
    yield ""
    yield "Regenerated by `python experiments/encoder_bench/run.py --write docs/encoder_figures.md`."
    yield ""
    yield f"{processor()}, {told.threads} thread(s) of {os.cpu_count()} cores, load {found['load']:.1f} at the start;"
    yield ", ".join(f"{k} {v}" for k, v in {**versions(), "peft": version("peft")}.items()) + "."
    yield "BERT of MiniLM's sizes (6 layers of 384) with drawn weights, the same on both sides;"
    yield f"{told.texts} texts of 4 to 60 tokens in batches of {told.batch}, dropout 0.1."
    yield ""
    yield f"## Steps a second: {told.blocks} blocks of {steps} steps, the sides in turn"
    yield ""
    yield "The ratio is of the same block: the median, with the smallest and the largest. Ours puts texts of like"
    yield "lengths together by itself; their Trainer does when it is asked. Losses are of 8 steps on the same batches,"
    yield f"at a rate of {FAST:g}, without dropout."
    yield ""
    yield "| method | ours, steps/s | over Trainer | over Trainer, grouped by length | losses apart, relative |"
    yield "|---|---|---|---|---|"
    for method, seconds in found["speeds"].items():
        ours, plain, grouped = seconds.values()
        rate = f"{steps / np.median(ours):.2f}"
        yield f"| {method} | {rate} | {ratios(ours, plain)} | {ratios(ours, grouped)} | {found['losses'][method]:.1e} |"
    ours, theirs = found["heads"]
    yield ""
    yield f"Head tuning, 10 epochs: {ours:.1f} s with the frozen encoder run once, {theirs:.1f} s by their Trainer with"
    yield f"a frozen base: {theirs / ours:.1f} times (asked: 10)."
    yield ""
    yield "## Memory: the most that a step of 8 texts of 128 tokens holds at once beyond weights, MiB"
    yield ""
    yield "By torch.profiler; prompt and prefix of 128. *The assignment's* prompt stands before a base that only the"
    yield "optimizer leaves alone."
    yield ""
    sides = list(dict.fromkeys(side for row in found["peaks"].values() for side in row))
    yield f"| method | {' | '.join(sides)} |"
    yield "|---" * (len(sides) + 1) + "|"
    for method, row in found["peaks"].items():
        yield f"| {method} | {' | '.join(mib(row[side]) if side in row else '' for side in sides)} |"
    yield ""
    yield "## An adapter on the disk, with its head"
    yield ""
    yield ", ".join(f"{name}: {size / 1e6:.2f} MB" for name, size in found["files"].items()) + " (asked: under 1 MB)."


def say(text: str) -> None:
    """Progress."""
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=256)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--blocks", type=int, default=6)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--write", metavar="FILE", help="where the page goes  [default: the terminal]")
    told = parser.parse_args()
    torch.set_num_threads(told.threads)
    texts = Texts.drawn(told.texts, SIZES["vocab_size"])
    try:
        print("\n".join(measured(told, texts, SIZES)))
    except BadInput as error:
        sys.exit(f"encoder_bench: {error}")


def measured(told: argparse.Namespace, texts: Texts, sizes: Mapping[str, int]) -> list[str]:
    """All of it; the page is written where it is asked for."""
    found: dict[str, Any] = {"load": os.getloadavg()[0]}
    with contextlib.redirect_stdout(io.StringIO()):  # their Trainer prints its summary
        found |= {"losses": losses(told, texts, sizes), "speeds": speeds(told, texts, sizes)}
        found |= {"heads": heads(told, texts, sizes), "peaks": peaks(sizes), "files": files(sizes)}
    lines = list(page(told, found))
    if told.write:
        Path(told.write).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return lines


if __name__ == "__main__":
    main()
