"""What a selection comes to: test read once for each candidate, a table, bars, and what each method trains."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import nn

from finetune.classification.data import Sides
from finetune.classification.sealed_test_set import SealedTest
from finetune.data.examples import Examples
from finetune.errors import BadInput
from finetune.memory.out_of_memory import attempt
from finetune.pictures import bars, parts
from finetune.selection.select import Selection
from finetune.training import checkpoint


def results(selection: Selection) -> dict[str, Any]:
    """Everything that came out, as JSON values; written to results.json, results.md, accuracy.png and parts.png.

    Raises: BadInput where the test set has been read for another choice.
    """
    rows = [_row(selection, candidate) for candidate in selection.candidates()]
    good = [row for row in rows if row["dev"] is not None]
    best = max(good, key=lambda row: row["dev"]["accuracy"]) if good else None
    found = {
        "rows": rows, "best": best, "majority": selection.data.baselines(),
        "leaks": [str(leak) for leak in selection.data.leaks], "trials": selection.study.trials(),
    }  # fmt: skip
    folder = selection.folder
    checkpoint.replace_file(folder / "results.json", (json.dumps(found, indent=2) + "\n").encode())
    checkpoint.replace_file(folder / "results.md", table(found).encode())
    _pictures(found, folder)
    return found


def _row(selection: Selection, candidate: Mapping[str, Any]) -> dict[str, Any]:
    """One candidate: its choice by dev, and the test set's score for it."""
    row = {**{name: candidate[name] for name in ("model", "method", "reason", "trials")}, "dev": None, "test": None}
    best = candidate["best"]
    if best is None:
        return row
    row["params"], row["seconds"] = best["params"], best["found"]["seconds"]
    row["dev"] = {"accuracy": best["value"], "loss": best["found"]["dev_loss"]}
    row["parameters"] = dict(zip(("trained", "all"), best["found"]["parameters"], strict=True))
    run = selection.run(best["params"], Sides(selection.data.train, selection.data.dev, None, []))
    row["parts"] = parts_of(run.classifier)
    test = selection.data.test
    if test is not None:
        named = f"{candidate['model']}\0{candidate['method']}"
        name = f"test-{candidate['method']}-{hashlib.sha256(named.encode()).hexdigest()[:12]}.json"

        def measure(examples: Examples) -> dict[str, Any]:
            run.train()  # done already: it puts the best into the model
            found, words = attempt(lambda: run.score(run.source("test", examples)).to_json())
            if found is None:
                raise BadInput(f"the test set does not fit into memory ({words})")
            return found

        choice = {"params": best["params"], "dev_accuracy": best["value"], "identity": selection.identity()}
        row["test"] = SealedTest(test, selection.folder / name).read(choice, measure)
    return row


PARTS = ("embeddings", "prompt", "prefix", "layers", "LoRA", "head")


def parts_of(classifier: nn.Module) -> list[tuple[str, int, int]]:
    """The parts of a model from the input to the head: (part, trained, frozen), those without parameters left out."""
    found = {part: [0, 0] for part in PARTS}
    for name, parameter in classifier.named_parameters():
        found[part_of(name)][not parameter.requires_grad] += parameter.numel()
    return [(part, trained, frozen) for part, (trained, frozen) in found.items() if trained or frozen]


def part_of(name: str) -> str:
    """The part that a parameter belongs to, by its name in a `Classifier`, ours or transformers'."""
    words = name.split(".")
    if words[0] == "head":
        return "head"
    for mark, part in (
        ("prompt_vectors", "prompt"),
        ("prefix_table", "prefix"),
        ("lora_A", "LoRA"),
        ("lora_B", "LoRA"),
    ):
        if mark in words:
            return part
    return "embeddings" if any(word == "embeddings" or word.endswith("_emb") for word in words) else "layers"


def table(found: Mapping[str, Any]) -> str:
    """The results as a table of Markdown: the best by dev is marked, the majority class has a row of its own."""
    lines = [
        "| model | method | learning rate | epochs | batch | trained | dev | test (95 % interval) |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in found["rows"]:
        name = f"| {Path(str(row['model'])).name} | {row['method']} |"
        if row["dev"] is None:
            lines.append(f"{name} | | | | 0 | 0 ({str(row['reason'])[:100]}) |".replace("\n", " "))
            continue
        p = row["params"]
        test = "" if row["test"] is None else (
            f"{row['test']['accuracy']:.4f} ({row['test']['interval'][0]:.4f} to {row['test']['interval'][1]:.4f})"
        )  # fmt: skip
        mark = " (best)" if row is found["best"] else ""
        lines.append(
            f"{name} {p['learning_rate']:g} | {p['epochs']} | {p['batch_size']} | {row['parameters']['trained']:,} | "
            f"{row['dev']['accuracy']:.4f}{mark} | {test} |"
        )
    majority = found["majority"]
    lines.append(f"| majority class | | | | | 0 | {majority['dev']:.4f} | {majority.get('test', float('nan')):.4f} |")
    return "\n".join(lines) + "\n"


def _pictures(found: Mapping[str, Any], folder: Path) -> None:
    rows: Sequence[Mapping[str, Any]] = found["rows"]
    models = {str(row["model"]) for row in rows}
    same_name = len({Path(model).name for model in models}) < len(models)
    short = {model: model if same_name else Path(model).name for model in models}
    several = len({row["model"] for row in rows}) > 1, len({row["method"] for row in rows}) > 1
    names = [
        " ".join(part for part, shown in ((short[str(row["model"])], several[0] or not several[1]),
                                          (str(row["method"]), several[1])) if shown)
        for row in rows
    ]  # fmt: skip
    groups = {side: [row[side]["accuracy"] if row[side] else 0.0 for row in rows] for side in ("dev", "test")}
    reasons = {name: str(row["reason"]) for name, row in zip(names, rows, strict=True) if row["dev"] is None}
    bars(
        names, groups, folder / "accuracy.png", ylabel="accuracy", reasons=reasons,
        line=(found["majority"]["dev"], "majority class, dev"),
    )  # fmt: skip
    methods: dict[str, Sequence[tuple[str, int, int]]] = {}
    for row in rows:
        if row["dev"] is not None:
            methods.setdefault(str(row["method"]), row["parts"])
    if methods:
        parts(methods, folder / "parts.png")
