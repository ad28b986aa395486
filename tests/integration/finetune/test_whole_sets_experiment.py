"""Studies on whole data sets, on a made-up set and an encoder of a moment.

experiments/encoders: dev chooses, other seeds read test, what failed is told, and the page's verdicts follow by rule.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.tiny_encoders import write_encoder, write_sst2

FOLDER = Path(__file__).parents[3] / "experiments" / "encoders"
NAMES = ("plan", "packages", "sharing", "recorded", "whole", "whole_page")
"""Modules of scripts, whose names others may use too."""


@pytest.fixture
def ours(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The modules of the experiment, by name."""
    monkeypatch.syspath_prepend(str(FOLDER))
    for name in NAMES:
        sys.modules.pop(name, None)
    yield SimpleNamespace(**{name: importlib.import_module(name) for name in NAMES})
    for name in NAMES:
        sys.modules.pop(name, None)


@pytest.fixture
def place(ours: Any, tmp_path: Path) -> Any:
    """Where the runs of a test are done."""
    write_encoder(tmp_path / "m")
    write_sst2(tmp_path / "sst")
    (tmp_path / "kept").mkdir()
    return ours.whole.Place(str(tmp_path), {"minilm": str(tmp_path / "m")}, tmp_path / "kept", "cpu", math.inf)


def study(ours: Any, **changes: Any) -> Any:
    """A study of two rates, of which the first learns nothing."""
    given = {
        "name": "sst", "data": "sst", "settings": {"epochs": 3, "batch_size": 12, "pool": "mean", "max_seq_length": 44},
        "candidates": {"none": {"learning_rate": 0.0}, "some": {"learning_rate": 0.02}}, "final": (10, 11, 12),
        "choosing": (0,), **changes,
    }  # fmt: skip
    return ours.plan.Study(**given)


def test_dev_chooses_and_other_seeds_read_test(ours: Any, place: Any) -> None:
    one = study(ours)
    again = study(ours, name="sst again", settings={"label_smoothing": 0.1}, candidates={"as sst": {}}, like="sst")
    results = ours.plan.Results(place.kept, (one, again))
    assert results.settings(ours.plan.Job(again, None, 10)) is None, "the choice that it depends on is not made"
    ours.whole.work(place, (one,))
    found = {path.stem: json.loads(path.read_text()) for path in place.kept.glob("*.json")}
    assert set(found) == {"sst-0-0", "sst-1-0", "sst-test-10", "sst-test-11", "sst-test-12"}
    assert {name for name, result in found.items() if "test" in result} == {name for name in found if "test" in name}
    assert results.choice(one) == "some" and found["sst-test-10"]["settings"]["learning_rate"] == 0.02
    assert results.settings(ours.plan.Job(again, None, 10)) == {
        **found["sst-test-10"]["settings"],
        "label_smoothing": 0.1,
    }
    before = {path: path.stat().st_mtime_ns for path in place.kept.glob("*.json")}
    ours.whole.work(place, (one,))
    assert {path: path.stat().st_mtime_ns for path in place.kept.glob("*.json")} == before


def test_the_predictions_are_those_of_the_file_in_its_order(ours: Any, place: Any) -> None:
    job = ours.plan.Job(study(ours), None, 3)
    found = ours.whole.train(job, {"learning_rate": 0.02, "epochs": 3, "pool": "mean", "max_seq_length": 44}, place)
    truth = ours.whole.read_sides(f"{place.data}/sst").test.labels
    right = sum(int(digit) == label for digit, label in zip(found["test"]["predictions"], truth, strict=True))
    assert right / len(truth) == found["test"]["accuracy"]
    source = SimpleNamespace(lengths=np.array([5, 1, 3]))
    assert ours.whole.in_order_of_the_file([7, 8, 9], source) == "978"  # scored by length: the second, third, first


def test_sides_are_cut_and_test_stays_shut_in_a_choice(ours: Any, place: Any) -> None:
    settings = {"train_size": 12, "dev_size": 7, "texts": 5, "max_seq_length": 20}
    config, sides = ours.whole.prepare(ours.plan.Job(study(ours), "some", 1), settings, place)
    assert (len(sides.train), len(sides.dev), sides.test) == (12, 7, None)
    assert config.block_size == 20 and len(Path(config.unlabelled).read_text().splitlines()) == 5
    others = [ours.whole.prepare(ours.plan.Job(study(ours), None, seed), settings, place)[1] for seed in (1, 2)]
    assert others[0].train.first == sides.train.first != others[1].train.first, "the seed draws the labels"
    assert others[0].dev.first == others[1].dev.first and len(others[0].test) == 20


@pytest.mark.thorough(keep=("mlm_alpha*",))
@pytest.mark.parametrize(
    "settings",
    [
        {"label_smoothing": 0.1, "class_weights": "1,3"},
        {"method": "head", "optimizer": "adagrad"},
        {"method": "prompt", "prompt_length": 4, "optimizer": "sgd"},
        {"mlm_alpha": 0.3, "logging_steps": 2},
    ],
    ids=lambda settings: "-".join(settings),
)
def test_recorded_steps_train_what_the_trainer_trains(ours: Any, place: Any, settings: dict[str, Any]) -> None:
    """On a processor they are not recorded: padding to fixed sizes, loss, optimizer and evaluations are the same."""
    config = json.loads((tell := Path(place.models["minilm"]) / "config.json").read_text())
    tell.write_text(json.dumps(config | {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}))
    given = {"epochs": 2, "batch_size": 12, "pool": "mean", "max_seq_length": 44, "learning_rate": 0.01, "dropout": 0.0}
    config, sides = ours.whole.prepare(ours.plan.Job(study(ours), None, 3), given | settings, place)
    seen = []
    for recorded in (False, True):
        run = ours.whole.SharedRun(config, sides, ours.whole.fresh(config.model), lambda _: None)
        seen.append(ours.whole.train_run(run, ours.whole.replace(place, recorded=recorded)).records)
    keys = ("step", "epochs", "train_loss", "train_accuracy", "dev_loss", "dev_accuracy", "gradient_norm")
    table = [[[record[key] for key in (*keys, *(["masked_lm_loss"] * ("mlm_alpha" in settings)))] for record in records]
             for records in seen]  # fmt: skip
    # float32 sums of 12 x 44 x 16 terms in another order: a relative 1e-5 at the first steps, which training amplifies.
    assert np.allclose(table[0], table[1], rtol=2e-3, atol=2e-4)


def test_reviews_of_three_stars_have_no_polarity(ours: Any) -> None:
    stars = ours.whole.Examples(list("abcde"), None, [0, 1, 2, 3, 4], tuple("12345"), list("vwxyz"))
    polar = ours.whole.polar(stars)
    assert (polar.first, polar.labels, polar.classes) == (list("abde"), [0, 0, 1, 1], ("negative", "positive"))


def test_what_fails_is_written_down_and_never_chosen(ours: Any, place: Any) -> None:
    wrong = {"method": "prompt", "prompt_length": 100}  # the encoder has 48 positions
    ours.whole.work(place, (study(ours, candidates={"wrong": wrong, "some": {"learning_rate": 0.02}}, final=(10,)),))
    failed = json.loads((place.kept / "sst-0-0.json").read_text())
    assert "leaves no room" in failed["failed"] and (place.kept / "sst-test-10.json").exists()


def test_a_run_that_cannot_be_recorded_is_done_again_step_by_step(
    ours: Any, place: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(run: Any) -> None:
        raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr(ours.whole, "train_recorded", fail)
    one = study(ours, candidates={"some": {"learning_rate": 0.02}}, choosing=(), final=(10,))
    with pytest.raises(RuntimeError, match="capturing"):
        ours.whole.work(ours.whole.replace(place, recorded=True), (one,))
    assert not list(place.kept.glob("*.json"))
    ours.whole.work(ours.whole.replace(place, recorded=True), (one,))
    found = json.loads((place.kept / "sst-test-10.json").read_text())
    assert "test" in found and not found["place"]["recorded"]


def test_nothing_begins_behind_the_deadline(ours: Any, place: Any) -> None:
    ours.whole.work(ours.whole.replace(place, deadline=time.monotonic()), (study(ours),))
    assert not list(place.kept.glob("*.json"))


def test_an_error_behind_the_deadline_marks_no_run(ours: Any, place: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(run: Any) -> None:
        raise RuntimeError("an illegal memory access was encountered")

    monkeypatch.setattr(ours.whole, "train_recorded", fail)
    late = ours.whole.replace(place, recorded=True, deadline=time.monotonic())
    with pytest.raises(RuntimeError, match="illegal"):
        ours.whole.do(ours.plan.Job(study(ours), "some", 0), {"learning_rate": 0.02}, late)
    assert not [path for path in place.kept.iterdir() if path.suffix in (".launched", ".json")]


def test_a_process_ends_when_the_device_has_done_its_work(
    ours: Any, place: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(*_: Any) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        pytest.fail("the signal ended nothing")

    done = []
    monkeypatch.setattr(ours.whole, "work", work)
    monkeypatch.setattr(ours.whole.torch.cuda, "synchronize", lambda: done.append("synchronized"))
    before = signal.getsignal(signal.SIGTERM)
    try:
        ours.whole.work_in_a_process(ours.whole.replace(place, device="cuda"), ())
    finally:
        signal.signal(signal.SIGTERM, before)
    assert done == ["synchronized"]


def test_processes_are_asked_to_end_and_only_the_deaf_are_killed(ours: Any) -> None:
    def process(name: str, deaf: bool) -> Any:
        tell = lambda what: lambda *_: told.append(f"{name} {what}")  # noqa: E731
        return SimpleNamespace(
            terminate=tell("terminate"), join=tell("join"), kill=tell("kill"), is_alive=lambda: deaf
        )  # fmt: skip

    told: list[str] = []
    ours.whole.end_processes([process("a", False), process("b", True)], 0.0)
    assert told == ["a terminate", "b terminate", "a join", "b join", "b kill", "b join"]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([0.92, 0.921, 0.922], "reached, with the whole interval"),
        ([0.90, 0.93, 0.92], "reached in the mean; its interval goes below"),
        ([0.88, 0.93, 0.90], "not reached; it lies within the interval"),
        ([0.88, 0.881, 0.882], "not reached"),
    ],
)
def test_a_verdict_follows_from_the_interval(ours: Any, values: list[float], told: str) -> None:
    assert ours.whole_page.verdict(values, 0.91, [0.0, 1.0]) == told


def test_one_seed_is_judged_by_the_interval_of_its_examples(ours: Any) -> None:
    words = "not reached (one seed, by Wilson's interval)"
    assert ours.whole_page.verdict([0.887], 0.91, [0.872, 0.901]) == words
    assert ours.whole_page.verdict([0.887], 0.90, [0.872, 0.901]).startswith("not reached; it lies within")


def test_one_pair_is_told_with_both_intervals_and_three_with_that_of_their_changes(ours: Any) -> None:
    def runs(*values: float) -> dict[str, Any]:
        tests = [{"accuracy": value, "interval": [value - 0.02, value + 0.02]} for value in values]
        return {"runs": [{"seed": seed, "test": test} for seed, test in enumerate(tests)]}

    told = ours.whole_page.told_of_pairs({"a": runs(0.88, 0.87), "b": runs(0.89)}, "a", "b")
    assert told.startswith("+1.0 points, one pair: each run has its own interval of sampling (86.0 to 90.0 without, ")
    told = ours.whole_page.told_of_pairs({"a": runs(0.8, 0.81, 0.8), "b": runs(0.9, 0.912, 0.899)}, "a", "b")
    assert told == "10.0 ± 0.4 points, 3 seeds: a gain."


def test_a_vote_takes_the_most_frequent_class_and_of_equal_ones_the_first(ours: Any) -> None:
    runs = [{"test": {"predictions": digits}} for digits in ("012", "121", "201")]
    assert ours.whole_page.vote(runs, [0, 2, 1])["accuracy"] == 2 / 3  # of three classes the first: 0, then 1; then 1
    assert ours.whole_page.vote(runs[:2], [0, 2, 1]) is None


def test_the_page_has_every_figure_and_says_what_is_missing(ours: Any, place: Any, tmp_path: Path) -> None:
    studies = (study(ours), study(ours, name="yelp"))
    ours.whole.work(place, studies[:1])
    for folder in ("pictures", "data"):
        (tmp_path / "docs" / folder).mkdir(parents=True)
    results = ours.plan.Results(place.kept, studies)
    (place.kept / "sst-test-12.json").unlink()
    ours.whole_page.write_page(results, tmp_path / "docs", {})
    page = (tmp_path / "docs" / "whole_sets.md").read_text()
    runs = [json.loads((place.kept / f"sst-test-{seed}.json").read_text()) for seed in (10, 11)]
    mean = 100 * sum(run["test"]["accuracy"] for run in runs) / 2
    assert f"| [SST-2](#sst-2) | MiniLM | {mean:.1f} ± " in page and "**Not run** as far as test: Yelp." in page
    assert "With fewer seeds than planned: SST-2 (2 of 3 seeds)." in page and "| some (chosen) | " in page
    assert (tmp_path / "docs" / "pictures" / "whole_sst.png").exists()
    kept = json.loads((tmp_path / "docs" / "data" / "whole_sets.json").read_text())
    assert [run["test"]["predictions"] for run in kept["sst"]["runs"]] == [run["test"]["predictions"] for run in runs]
    assert str(tmp_path) not in json.dumps(kept)


def test_runs_of_the_page_are_put_back_and_not_done_again(ours: Any, place: Any, tmp_path: Path) -> None:
    one = study(ours, candidates={"some": {"learning_rate": 0.02}}, choosing=(), final=(10,))
    ours.whole.work(place, (one,))
    docs = tmp_path / "docs"
    for folder in ("pictures", "data"):
        (docs / folder).mkdir(parents=True)
    written = docs / "data" / "whole_sets.json"
    ours.whole_page.write_page(ours.plan.Results(place.kept, (one,)), docs, {})
    (first,) = json.loads(written.read_text())["sst"]["runs"]
    (place.kept / "sst-test-10.json").unlink()
    longer = replace(one, final=(10, 11))
    other = replace(longer, settings={**longer.settings, "epochs": 4})
    assert ours.plan.put_back(written, ours.plan.Results(place.kept, (other,))) == [], (
        "of other settings nothing counts"
    )
    assert ours.plan.put_back(written, ours.plan.Results(place.kept, (longer,))) == ["sst-test-10"]
    assert ours.plan.put_back(written, ours.plan.Results(place.kept, (longer,))) == [], "what is kept stays"
    kept = (place.kept / "sst-test-10.json").read_bytes()
    (place.kept / "sst-test-10.claim").unlink()
    ours.whole.work(place, (longer,))
    assert (place.kept / "sst-test-10.json").read_bytes() == kept
    ours.whole_page.write_page(ours.plan.Results(place.kept, (longer,)), docs, {})
    runs = json.loads(written.read_text())["sst"]["runs"]
    assert [run["seed"] for run in runs] == [10, 11] and runs[0] == first
