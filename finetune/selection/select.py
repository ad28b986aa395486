"""Choose models, methods and hyperparameters by dev alone, through a study of Optuna that survives a kill.

Trials see train and dev; the test set is sealed until every trial is done, and is then read once for each candidate.
What comes of it is a table, bars, and what each method trains.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from torch import nn

from finetune.classification.classify import Run, data_of
from finetune.classification.config import ClassifyConfig
from finetune.classification.data import Sides
from finetune.classification.pretrained import load_pretrained
from finetune.classification.sealed_test_set import SealedTest
from finetune.data.examples import Examples
from finetune.errors import BadInput
from finetune.memory.out_of_memory import attempt
from finetune.pictures import bars, parts
from finetune.selection.optuna_study import DONE, Space, Study
from finetune.training import checkpoint
from finetune.training.locks import lock_file


class Selection:
    """One selection in a folder; several processes, on several machines, may work on it at once.

    Args: base, everything that is not searched; space; folder; storage, a database of Optuna (SQLite in the folder
        where None); say, called with lines for a person.
    """

    def __init__(
        self, base: ClassifyConfig, space: Space, folder: str | Path, storage: str | None = None,
        say: Callable[[str], None] = print,
    ) -> None:  # fmt: skip
        self.base, self.space, self.folder, self.say = base, space, Path(folder), say
        try:
            (self.folder / "trials").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(f"{self.folder} cannot be made: {error.strerror}") from None
        self.data = data_of(base)
        self.study = Study(self.folder, storage, self.identity(), space)
        self.gone: dict[str, str] = {}

    def identity(self) -> dict[str, Any]:
        """What the selection is of: space, data and all settings that are not searched."""
        free = (
            "model", "method", "learning_rate", "epochs", "batch_size", "data", "output_dir", "cache_dir", "device",
            "overwrite_output_dir",
        )  # fmt: skip
        settings = {
            "space": {**asdict(self.space), "trials": self.space.trials is not None},
            "data": {side: e.digest() for side, e in self.data.by_name().items()},
            "settings": {name: value for name, value in asdict(self.base).items() if name not in free},
        }  # fmt: skip
        found: dict[str, Any] = json.loads(json.dumps(settings))
        return found

    def config(self, params: Mapping[str, Any]) -> ClassifyConfig:
        """The run of a trial; its folder is named by its hyperparameters, so that a trial begun again goes on."""
        name = hashlib.sha256(json.dumps(dict(params), sort_keys=True).encode()).hexdigest()[:16]
        return replace(
            self.base, **params, output_dir=str(self.folder / "trials" / name), cache_dir=str(self.folder / "features"),
            overwrite_output_dir=False,
        )  # fmt: skip

    # --- trials ---------------------------------------------------------------------------------------

    def work(self, most: int | None = None) -> Selection:
        """Run trials until none is left to begin, or `most` of them.

        A trial that cannot be, because its model cannot be had or does not fit into memory, fails with the reason.

        Raises: BadInput where the test set has been read: a study is closed then.
        """
        done = 0
        while most is None or done < most:
            taken = self.study.take(lambda params: Path(self.config(params).output_dir or "") / "lock")
            if taken is None:
                break
            if self.ledgers():
                raise BadInput(
                    f"{self.folder}: the test set has been read, and the study is closed: begin another folder"
                )
            number, params, lock = taken
            with lock:
                self._trial(number, params)
            done += 1
        return self

    def _trial(self, number: int, params: Mapping[str, Any]) -> None:
        message = f"trial {number}: " + ", ".join(f"{name} {value}" for name, value in params.items())
        start = time.perf_counter()
        found, reason = self._dev(params)
        if found is None:
            self.study.record_failure(number, reason or "")
            self.say(f"{message}: failed, {reason}")
            return
        self.study.record_result(number, found["dev_accuracy"], {**found, "seconds": time.perf_counter() - start})
        self.say(f"{message}: dev accuracy {found['dev_accuracy']:.4f}")

    def _dev(self, params: Mapping[str, Any]) -> tuple[dict[str, Any] | None, str | None]:
        """The best on dev of one run, or why there is none; the test set is out of its reach."""
        model = str(params["model"])
        if model in self.gone:
            return None, self.gone[model]
        sides = Sides(self.data.train, self.data.dev, None, [])

        def train() -> dict[str, Any]:
            run = self.run(params, sides)
            best = run.train().best
            assert best is not None  # training ends with an evaluation
            return {"dev_accuracy": best["dev_accuracy"], "dev_loss": best["dev_loss"], "parameters": run.parameters()}

        try:
            found, words = attempt(train)
        except BadInput as error:
            return None, str(error)
        return found, None if words is None else f"it does not fit into memory ({words[:120]})"

    def run(self, params: Mapping[str, Any], sides: Sides) -> Run:
        """The run of some hyperparameters. Raises: BadInput where the model cannot be had, which is remembered."""
        config = self.config(params)
        try:
            pretrained = load_pretrained(config.model, config.backend)
        except BadInput as error:
            self.gone[config.model] = str(error)
            raise
        return Run(config, sides, pretrained, lambda _: None)

    # --- the choice -----------------------------------------------------------------------------------

    def ledgers(self) -> list[Path]:
        """What the test set was read for."""
        return sorted(self.folder.glob("test-*.json"))

    def candidates(self) -> list[dict[str, Any]]:
        """For each model and method the trial that is best on dev, the first of equal ones; or why there is none."""
        trials = self.study.trials()
        found = []
        for model in self.space.models:
            for method in self.space.methods:
                own = [t for t in trials if t["params"]["model"] == model and t["params"]["method"] == method]
                good = [t for t in own if t["state"] == DONE]
                best = max(good, key=lambda t: (t["value"], -t["number"])) if good else None
                reason = None if good else next((t["reason"] for t in own if t["reason"]), "no trial was run")
                found.append({"model": model, "method": method, "best": best, "reason": reason, "trials": len(own)})
        return found

    def finish(self) -> dict[str, Any] | None:
        """Read the test set, once for each candidate's choice, and write the results; None while trials are running."""
        with lock_file(self.folder / "finish.lock"):
            waiting, running = self.study.open()
            if waiting or running:
                self.say(f"{waiting} trials wait and {running} run elsewhere: the last one to end reads the test set")
                return None

            return results(self)


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
