"""Runs shared by several machines: which targets are whose, and their reports as one.

Shard I of N judges every N-th target from the I-th on. A target is judged whole by one machine, so its report is the
same for every N.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attention_core.conformance.first_look.findings import FirstLook
from attention_core.conformance.report.law_result import law_result_from_dict
from attention_core.conformance.report.results import SCHEMA_VERSION, Report
from attention_core.declaration.implementation import TargetError

TRIALS = "attention-core trials"
"""The kind of a file of trials."""
NUMBERS = ("got", "want", "bound")
"""Of a counterexample; JSON has no infinity and no NaN, so these may be texts."""


@dataclass(frozen=True)
class Shard:
    """One part of a run.

    Args:
        index: from 1.
        of: how many parts there are.
        targets: of the whole run, in its order.
    """

    index: int
    of: int
    targets: tuple[str, ...] = ()

    def choose(self) -> list[str]:
        """Return the targets of this part.

        >>> Shard(2, 2, ("a", "b", "c")).choose()
        ['b']
        """
        return list(self.targets[self.index - 1 :: self.of])

    def __str__(self) -> str:
        return f"{self.index}/{self.of}"


def read_shard(text: str, targets: Sequence[str]) -> Shard:
    """Return the shard that `I/N` names.

    Args:
        text: such as 2/4.
        targets: of the whole run.

    Raises:
        TargetError: it is not I/N with I from 1 to N.

    >>> read_shard("2/4", ["a"]).index
    2
    """
    found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
    index, of = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= index <= of:
        raise TargetError(f"--shard {text} is not I/N with I from 1 to N, such as 1/4")
    return Shard(index, of, tuple(targets))


def shard_to_json(shard: Shard, reports: Sequence[Report]) -> str:
    """Return the reports of one shard as a JSON text that `merge_files` reads."""
    about = {"index": shard.index, "of": shard.of, "targets": list(shard.targets)}
    written = [json.loads(report.to_json()) for report in reports]
    return json.dumps({"schema_version": SCHEMA_VERSION, "shard": about, "reports": written}, indent=2) + "\n"


def merge_files(paths: Sequence[Path]) -> list[Report]:
    """Return the reports of several files as those of one run.

    Args:
        paths: what `verify --json` wrote: all shards of one run, or files without shards.

    Returns:
        Reports in the order of the run's targets; without shards, in the order of the files.

    Raises:
        TargetError: a file cannot be read, a shard is missing or there twice, shards are of different runs, or two
            reports are on one target.
    """
    files = [(path, _read(path)) for path in paths]
    shards = [(path, shard_of(path, data)) for path, data in files]
    order = check_shards([(path, shard) for path, shard in shards if shard is not None], len(files))
    found: dict[str, Report] = {}
    origins: dict[str, Path] = {}
    for path, data in files:
        for one in _dicts(path, data):
            report = _report(path, one)
            if report.target in found:
                raise TargetError(f"{origins[report.target]} and {path} both report on {report.target}: leave one out")
            found[report.target], origins[report.target] = report, path
    _check_alike(found, origins)
    missing = [target for target in order if target not in found]
    if missing:
        raise TargetError(f"no report on {missing[0]}: the run of its shard did not end")
    return [found[target] for target in order or found]


def trials_to_json(trials: Sequence[Mapping[str, Any]], shard: Shard | None = None) -> str:
    """Return trials, each with its "key", as a JSON text that `merge_trials` reads; a shard's targets are all keys."""
    about = {} if shard is None else {"shard": {"index": shard.index, "of": shard.of, "targets": list(shard.targets)}}
    data = {"schema_version": SCHEMA_VERSION, "kind": TRIALS, **about, "trials": list(trials)}
    return json.dumps(data, indent=1) + "\n"


def is_trials(path: Path) -> bool:
    """Whether a file holds trials of faults, as `experiments/power/run.py --json` writes them."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(data, dict) and data.get("kind") == TRIALS


def merge_trials(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """Return the trials of all shards of a run, in its order.

    Args:
        paths: what `experiments/power/run.py --shard I/N --json` wrote.

    Raises:
        TargetError: a file is of something else, a shard or a trial is missing, or shards are of different runs.
    """
    files = [(path, _read(path)) for path in paths]
    shards = [(path, shard_of(path, data)) for path, data in files]
    order = check_shards([(path, shard) for path, shard in shards if shard is not None], len(files))
    if not order:
        raise TargetError(f"{paths[0]} is not a shard, or its run has no trials")
    found: dict[str, dict[str, Any]] = {}
    for path, data in files:
        trials = data.get("trials")
        if data.get("kind") != TRIALS or not isinstance(trials, list):
            raise TargetError(f"{path} does not hold trials, and {paths[0]} does")
        found |= {str(trial["key"]): trial for trial in trials}
    missing = [key for key in order if key not in found]
    if missing:
        raise TargetError(f"no trial {missing[0]}: the run of its shard did not end, or had other code")
    return [found[key] for key in order]


def _read(path: Path) -> Mapping[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TargetError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise TargetError(f"{path} is not valid JSON: the run that wrote it may have been cut off") from error
    if not isinstance(data, dict) or data.get("schema_version") != SCHEMA_VERSION:
        raise TargetError(f"{path} is not a report of `attention-core verify --json` (schema {SCHEMA_VERSION})")
    return data


def _dicts(path: Path, data: Mapping[str, Any]) -> Iterable[Any]:
    reports = data.get("reports", [data])
    if not isinstance(reports, list):
        raise TargetError(f"{path} is not a report of `attention-core verify --json`")
    return reports


def shard_of(path: Path, data: Mapping[str, Any]) -> Shard | None:
    """The shard that a file says it is; None for a whole run. Raises: TargetError."""
    about = data.get("shard")
    if about is None:
        return None
    try:
        return Shard(int(about["index"]), int(about["of"]), tuple(map(str, about["targets"])))
    except (TypeError, KeyError, ValueError) as error:
        raise TargetError(f"{path} does not say which shard it is") from error


def check_shards(shards: Sequence[tuple[Path, Shard]], files: int) -> tuple[str, ...]:
    """The targets of the whole run, in order; empty where no file is a shard.

    Args: shards, with the files that they come from; files, how many there are.
    Raises: TargetError: a shard is missing or there twice, or shards are of different runs.
    """
    if not shards:
        return ()
    path, first = shards[0]
    if len(shards) < files:
        raise TargetError(f"{path} is shard {first}, and others are whole runs: merge them apart")
    seen: dict[int, Path] = {}
    for other, shard in shards:
        if (shard.of, shard.targets) != (first.of, first.targets):
            raise TargetError(f"{path} and {other} are shards of different runs")
        if shard.index in seen:
            raise TargetError(f"{seen[shard.index]} and {other} are both shard {shard}")
        seen[shard.index] = other
    missing = [index for index in range(1, first.of + 1) if index not in seen]
    if missing:
        raise TargetError(f"shard {missing[0]}/{first.of} is missing: name its report, too")
    return first.targets


def _check_alike(reports: Mapping[str, Report], origins: Mapping[str, Path]) -> None:
    """Refuse reports of other seeds or efforts, which would not be those of one run."""
    for name in ("effort", "seed"):
        values = {getattr(report, name): origins[target] for target, report in reports.items()}
        if len(values) > 1:
            (one, here), (other, there), *_ = values.items()
            raise TargetError(f"{here} has {name} {one}, and {there} {name} {other}: they are not of one run")


def _report(path: Path, data: Any) -> Report:
    try:
        return report_from_dict(data)
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise TargetError(f"{path} holds a report that cannot be read: {error}") from error


def report_from_dict(data: Mapping[str, Any]) -> Report:
    """Return the report that `Report.to_dict` wrote.

    Raises:
        KeyError, TypeError, ValueError: it was not written so.

    >>> report_from_dict(Report("mine.py:attention", seed=3).to_dict()).seed
    3
    """
    look, under = data["first_look"], data["under_found"]
    copied = (
        "target", "declared", "claims", "versions", "seed", "effort", "problem", "failed", "isolated", "advice",
        "explained", "unavailable", "partial", "asked", "notes", "untested", "accepted_untested", "constructed",
        "fixed", "waived",
    )  # fmt: skip
    return Report(
        **{name: data[name] for name in copied},
        laws=[law_result_from_dict(_with_numbers(law)) for law in data["laws"]],
        ratios={name: float(ratio) for name, ratio in data["ratios"].items()},
        first_look=None if look is None else _first_look(look),
        under_found=None if under is None else report_from_dict(under),
    )


def _with_numbers(law: Mapping[str, Any]) -> dict[str, Any]:
    found = law["counterexample"]
    if found is None:
        return dict(law)
    numbers = {name: None if found[name] is None else float(found[name]) for name in NUMBERS}
    return {**law, "counterexample": {**found, **numbers}}


def _first_look(data: Mapping[str, Any]) -> FirstLook:
    return FirstLook(
        tuple(data["lines"]), {k: tuple(v) if isinstance(v, list) else v for k, v in data["found"].items()},
        agrees=data["agrees"], nearest=data["nearest"], calls=data["calls"], seconds=data["seconds"],
        unjudged=data["unjudged"],
    )  # fmt: skip
