"""All runs of an experiment, each kept in a file of its own under a key of its settings.

Seeds are the outer loop: an experiment that is cut off leaves whole pairs, and a machine that gets slower slows all
variants alike.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from finetune.errors import BadInput
from finetune.experiments.experiment import Experiment, Setting
from finetune.experiments.texts import Text
from finetune.training import checkpoint

Progress = Callable[[int, int, str], None]


def key_of(experiment: Experiment, variant: str, seed: int, setting: Setting, text: Text) -> str:
    """Return the name of a run: a digest of everything that decides its result.

    The number of seeds is left out: a run is the same one among five and among ten.
    """
    numbers = {name: value for name, value in asdict(setting).items() if name != "seeds"}
    settings = [
        experiment.name, experiment.revision, variant, seed, numbers, text.digest, torch.__version__,
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]


def run_all(
    experiment: Experiment, setting: Setting, text: Text, folder: Path, progress: Progress | None = None
) -> dict[str, list[dict[str, Any]]]:
    """Return the results of all runs by variant, one a seed; what the folder holds is not run again.

    Args:
        experiment: what is run.
        setting: its numbers.
        text: what it is trained on.
        folder: where results are kept; it is made if it does not exist.
        progress: called with the number of runs done, of all runs, and the name of the next one.
    Raises:
        BadInput: if the folder cannot be written.
    """
    make_folder(folder / experiment.name)  # before the first run: minutes would be lost
    results: dict[str, list[dict[str, Any]]] = {variant: [] for variant in experiment.variants}
    pairs = [(seed, variant) for seed in range(setting.seeds) for variant in experiment.variants]
    for done, (seed, variant) in enumerate(pairs):
        if progress is not None:
            progress(done, len(pairs), f"{variant}, seed {seed}")
        path = folder / experiment.name / f"{key_of(experiment, variant, seed, setting, text)}.json"
        result = read_result(path)
        if result is None:
            result = run_one(experiment, variant, seed, setting, text)
            write_result(path, result)
        results[variant].append(result)
    if progress is not None:
        progress(len(pairs), len(pairs), "done")
    return results


def run_one(experiment: Experiment, variant: str, seed: int, setting: Setting, text: Text) -> dict[str, Any]:
    """Return the result of one run, with the seconds of the processor that it took."""
    start = time.process_time()
    found = experiment.run(variant, seed, setting, text)
    return {"variant": variant, "seed": seed, **found, "seconds": round(time.process_time() - start, 2)}


def read_result(path: Path) -> dict[str, Any] | None:
    """Return a kept result; None if there is none, or a file that is not one, which is then made again."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and "seed" in found else None


def make_folder(folder: Path) -> None:
    """Make a folder for results. Raises: BadInput if it cannot be made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{folder} cannot be written: {error.strerror}") from None


def write_result(path: Path, result: Mapping[str, Any]) -> None:
    """Keep a result, all or nothing. Raises: BadInput if it cannot be written."""
    make_folder(path.parent)
    checkpoint.replace_file(path, (json.dumps(plain(result)) + "\n").encode())


def plain(value: Any) -> Any:
    """Return a value as JSON has it: a number that is not finite becomes null.

    >>> plain({"loss": float("nan"), "steps": (1, 2)})
    {'loss': None, 'steps': [1, 2]}
    """
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
