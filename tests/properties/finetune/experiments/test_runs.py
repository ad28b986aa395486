"""Runs are kept and found again: nothing is run twice, and what decides a result is a part of its key."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from finetune.errors import BadInput
from finetune.experiments.experiment import Experiment, Measure, Setting
from finetune.experiments.runs import key_of, read_result, run_all
from finetune.experiments.texts import NO_TEXT, as_text


class Counted:
    """A run that counts its calls, and is cut off at one of them."""

    def __init__(self, cut_off_at: int | None = None) -> None:
        self.calls: list[tuple[str, int]] = []
        self.cut_off_at = cut_off_at

    def __call__(self, variant: str, seed: int, setting: Setting, text: Any) -> dict[str, Any]:
        if len(self.calls) == self.cut_off_at:
            raise KeyboardInterrupt
        self.calls.append((variant, seed))
        return {"loss": float("nan") if seed == 1 else 1.5}


def experiment(run: Any) -> Experiment:
    return Experiment(
        "counted", "", "", "", {"a": "", "b": ""}, "a", (Measure("loss", "loss"),), (), run, Setting(seeds=3),
        uses_text=False,
    )  # fmt: skip


def test_an_experiment_goes_on_where_it_was_cut_off(tmp_path: Path) -> None:
    first, second = Counted(cut_off_at=3), Counted()
    with pytest.raises(KeyboardInterrupt):
        run_all(experiment(first), Setting(seeds=3), NO_TEXT, tmp_path)
    results = run_all(experiment(second), Setting(seeds=3), NO_TEXT, tmp_path)
    assert first.calls + second.calls == [(v, s) for s in range(3) for v in "ab"]
    assert [run["seed"] for run in results["a"]] == [0, 1, 2]
    third = Counted()
    again = run_all(experiment(third), Setting(seeds=3), NO_TEXT, tmp_path)
    assert not third.calls and [run["loss"] for run in again["b"]] == [1.5, None, 1.5]


def test_more_seeds_keep_the_earlier_ones(tmp_path: Path) -> None:
    run_all(experiment(Counted()), Setting(seeds=2), NO_TEXT, tmp_path)
    more = Counted()
    run_all(experiment(more), Setting(seeds=3), NO_TEXT, tmp_path)
    assert more.calls == [("a", 2), ("b", 2)]


def test_a_file_that_was_cut_short_is_made_again(tmp_path: Path) -> None:
    run_all(experiment(Counted()), Setting(seeds=2), NO_TEXT, tmp_path)
    path = next(iter((tmp_path / "counted").glob("*.json")))
    path.write_text(path.read_text(encoding="utf-8")[:10], encoding="utf-8")
    assert read_result(path) is None
    again = Counted()
    run_all(experiment(again), Setting(seeds=2), NO_TEXT, tmp_path)
    assert len(again.calls) == 1


def test_everything_that_decides_a_run_is_in_its_key() -> None:
    one, setting = experiment(Counted()), Setting()
    text, other = as_text("abcde " * 2000, "x"), as_text("abcdf " * 2000, "x")
    keys = [
        key_of(one, "a", 0, setting, text), key_of(one, "b", 0, setting, text), key_of(one, "a", 1, setting, text),
        key_of(one, "a", 0, setting.with_numbers(steps=7), text), key_of(one, "a", 0, setting, other),
        key_of(replace(one, revision=2), "a", 0, setting, text), key_of(one, "a", 0, replace(setting, more={"x": 1}), text),
    ]  # fmt: skip
    assert len(set(keys)) == len(keys)
    assert key_of(one, "a", 0, setting.with_numbers(seeds=9), text) == keys[0]


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "counted").write_text("", encoding="utf-8")
    with pytest.raises(BadInput, match="cannot be written"):
        run_all(experiment(Counted()), Setting(), NO_TEXT, tmp_path)
