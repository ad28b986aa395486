"""Choose models, methods and hyperparameters by dev alone, through a study of Optuna that survives a kill.

Trials see train and dev; the test set is sealed until every trial is done, and is then read once for each candidate.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from finetune.classification.classify import Run, data_of
from finetune.classification.config import ClassifyConfig
from finetune.classification.data import Sides
from finetune.classification.pretrained import load_pretrained
from finetune.errors import BadInput
from finetune.memory.out_of_memory import attempt
from finetune.selection.study import DONE, Study
from finetune.training.locks import lock_file

Range = tuple[float, float]


@dataclass(frozen=True)
class Space:
    """What is tried: candidates (model and method), and for each the values of three hyperparameters.

    Args: models; methods; learning_rates, values, or one (low, high) for a search on a logarithmic scale; epochs;
        batch_sizes; trials, of a search, None for every combination.
    Raises: BadInput where one of them is empty, or a range is given without a number of trials.
    """

    models: tuple[str, ...]
    methods: tuple[str, ...] = ("full",)
    learning_rates: tuple[float, ...] | Range = (1e-4, 5e-4, 1e-3)
    epochs: tuple[int, ...] = (7, 9)
    batch_sizes: tuple[int, ...] = (64,)
    trials: int | None = None
    is_range: bool = False

    def __post_init__(self) -> None:
        for name in ("models", "methods", "learning_rates", "epochs", "batch_sizes"):
            values = getattr(self, name)
            if not values or len(set(values)) != len(values):
                raise BadInput(
                    f"{name} should be different values, and at least one, got {', '.join(map(str, values))}"
                )
        if self.is_range and (self.trials is None or not 0 < self.learning_rates[0] < self.learning_rates[-1]):
            raise BadInput("a range of learning rates goes from above 0 to more, and needs a number of trials")
        if self.trials is not None and self.trials < 1:
            raise BadInput(f"a search needs at least one trial, got {self.trials}")

    def combinations(self) -> list[dict[str, Any]]:
        """Every combination, candidates outermost; nothing for a search."""
        if self.trials is not None:
            return []
        return [
            {"model": model, "method": method, "learning_rate": rate, "epochs": epochs, "batch_size": size}
            for model in self.models for method in self.methods for rate in self.learning_rates
            for epochs in self.epochs for size in self.batch_sizes
        ]  # fmt: skip


class Selection:
    """One selection in a folder; several processes, on several machines, may work on it at once.

    Args: base, everything that is not searched; space; folder; storage, a database of Optuna (SQLite in the folder
        where None); say, called with lines for a person.
    Example: Selection(ClassifyConfig(""), Space(("distilbert-base-uncased",)), "runs/grid").work().finish().
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
            from finetune.selection.result import results

            return results(self)
