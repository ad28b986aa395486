"""Selection on an encoder of a few thousand numbers.

finetune.selection.select: chosen by dev alone, test out of reach until all is done, a killed worker's trials gone on with.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from finetune.classification.classify import Run
from finetune.classification.config import ClassifyConfig
from finetune.errors import BadInput
from finetune.selection.optuna_study import DONE, FAILED, Space
from finetune.selection.select import Selection
from tests.tiny_encoders import write_encoder, write_sst2


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    write_encoder(folder / "m", layers=1)
    write_sst2(folder / "sst", train=24, dev=12, test=12)
    return folder


def selection(world: Path, folder: Path, space: Space | None = None, **changes: Any) -> Selection:
    base = ClassifyConfig("", str(world / "sst"), device="cpu", **changes)
    space = space or Space((str(world / "m"),), ("head", "bias"), (0.01, 0.1), (1, 2), (8,))
    return Selection(base, space, folder, say=lambda _: None)


def test_the_choice_is_the_best_of_dev_for_each_candidate(world: Path, tmp_path: Path) -> None:
    made = selection(world, tmp_path).work()
    trials = made.study.trials()
    assert len(trials) == 8 and all(t["state"] == DONE for t in trials)
    for candidate in made.candidates():
        own = [t for t in trials if t["params"]["method"] == candidate["method"]]
        assert candidate["best"]["value"] == max(t["value"] for t in own)
        first = min(t["number"] for t in own if t["value"] == candidate["best"]["value"])
        assert candidate["best"]["number"] == first, "the first of equal ones"
    assert not made.ledgers(), "test has not been read"


def test_a_trial_cannot_see_test(world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    real = Run.train

    def train(self: Run, *arguments: Any) -> Any:
        seen.append((self.sides.test, [name for name, value in vars(self).items() if value is made.data.test]))
        return real(self, *arguments)

    monkeypatch.setattr(Run, "train", train)
    made = selection(world, tmp_path)
    made.work(2)
    assert seen == [(None, []), (None, [])]


@pytest.mark.thorough
def test_a_worker_that_was_killed_is_gone_on_with(world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken off in the third trial, after an epoch of training; the next worker has the same eight results."""
    whole = selection(world, tmp_path / "whole").work().study.trials()

    class Killed(BaseException):
        pass

    count: list[int] = []
    real = Selection._trial

    def dies(self: Selection, number: int, params: Any) -> None:
        count.append(number)
        if len(count) == 3:
            raise Killed
        real(self, number, params)

    monkeypatch.setattr(Selection, "_trial", dies)
    with pytest.raises(Killed):
        selection(world, tmp_path / "cut").work()
    made = selection(world, tmp_path / "cut")
    assert made.study.open() == (5, 1)
    found = made.work().study.trials()

    def told(trials: list[dict[str, Any]]) -> list[Any]:
        return sorted((tuple(t["params"].items()), t["value"], t["state"]) for t in trials)

    assert told(found) == told(whole) and made.study.open() == (0, 0)


def test_a_model_that_cannot_be_had_or_does_not_fit_fails_with_its_reason(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = Space((str(world / "m"), str(world / "none")), ("head", "full"), (0.01,), (1,), (8,))
    real = Run.train

    def train(self: Run, *arguments: Any) -> Any:
        if self.config.method == "full":
            raise MemoryError("no more")
        return real(self, *arguments)

    monkeypatch.setattr(Run, "train", train)
    made = selection(world, tmp_path, space).work()
    states = {(Path(c["model"]).name, c["method"]): (c["best"] is not None, c["reason"]) for c in made.candidates()}
    assert states[("m", "head")] == (True, None)
    assert states[("m", "full")] == (False, "it does not fit into memory (no more)")
    assert states[("none", "head")][1] == states[("none", "full")][1] and "no such folder" in str(
        states[("none", "head")][1]
    )
    assert [t["state"] for t in made.study.trials()] == [DONE, FAILED, FAILED, FAILED]


def test_an_error_that_is_a_defect_is_none_of_a_trial(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def train(self: Run, *arguments: Any) -> Any:
        raise RuntimeError("shapes differ")

    monkeypatch.setattr(Run, "train", train)
    with pytest.raises(RuntimeError, match="shapes differ"):
        selection(world, tmp_path).work()


def test_while_others_work_test_stays_sealed(world: Path, tmp_path: Path) -> None:
    said: list[str] = []
    made = selection(world, tmp_path)
    made.say = said.append
    made.work(3)
    assert made.finish() is None and said[-1].startswith("5 trials wait and 0 run elsewhere") and not made.ledgers()


def test_after_test_the_study_is_closed(world: Path, tmp_path: Path) -> None:
    space = Space((str(world / "m"),), ("head",), (0.01, 1.0), (1,), (8,), trials=2, is_range=True)
    made = selection(world, tmp_path, space).work()
    first = made.finish()
    assert first is not None and made.ledgers()
    again = selection(world, tmp_path, space).work().finish()
    assert again is not None and again["best"]["test"] == first["best"]["test"]
    more = Space(space.models, space.methods, space.learning_rates, space.epochs, space.batch_sizes, 3, True)
    with pytest.raises(BadInput, match="the study is closed"):
        selection(world, tmp_path, more).work()


def test_another_selection_in_the_folder_is_refused(world: Path, tmp_path: Path) -> None:
    selection(world, tmp_path)
    for changes in ({"seed": 1}, {"train_size": 20}):
        with pytest.raises(BadInput, match="take another folder"):
            selection(world, tmp_path, **changes)
    with pytest.raises(BadInput, match="cannot be made"):
        selection(world, tmp_path / "study.db" / "x")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"models": ()}, "models should be different values, and at least one"),
        ({"epochs": (1, 1)}, "epochs should be different values"),
        ({"learning_rates": (0.1, 0.2), "is_range": True}, "needs a number of trials"),
        ({"learning_rates": (0.0, 0.2), "is_range": True, "trials": 2}, "from above 0 to more"),
        ({"trials": 0}, "at least one trial"),
    ],
)
def test_spaces_that_cannot_be(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        Space(**{"models": ("m",), **changes})


def test_a_grid_has_every_combination() -> None:
    found = Space(("a", "b"), ("full", "lora"), (1e-4, 5e-4, 1e-3), (7, 9), (32,)).combinations()
    assert len(found) == 24 == len({tuple(params.values()) for params in found})
