"""What a run is watched by.

finetune.classification.monitor: the first of the best by dev is kept, on the disk before anything else happens, and comes back.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from finetune.classification.monitor import Monitor
from finetune.classification.scores import Tally
from finetune.errors import BadInput
from finetune.training import checkpoint


def monitor(path: Path | None, accuracies: Sequence[int], model: nn.Module | None = None) -> Monitor:
    """One that finds so many of 10 right on dev, one after the other."""
    dev = iter(accuracies)
    model = model or nn.Linear(2, 2)
    return Monitor(model, lambda m, batch: m(batch["x"]), lambda: Tally(next(dev), 10, 5.0), 4, path)


def record(step: int) -> dict[str, Any]:
    return {"step": step, "tokens": step * 2, "learning_rate": 0.1, "gradient_norm": 1.0, "loss": 9.0}


def run(of: Monitor, steps: Sequence[int]) -> None:
    for step in steps:
        with torch.no_grad():
            for parameter in of.model.parameters():
                parameter.fill_(float(step))
        of(record(step))


def test_the_first_of_the_best_is_kept_and_put_back(tmp_path: Path) -> None:
    of = monitor(tmp_path / "best", [3, 7, 7, 5])
    run(of, [1, 2, 3, 4])
    assert of.best is not None and of.best["step"] == 2 and of.best["epochs"] == 1.0
    there = checkpoint.load(tmp_path / "best")
    assert there["best"] == of.best and float(there["trained"]["bias"][0]) == 2.0
    of.put_best()
    assert {float(p.detach().min()) for p in of.model.parameters()} == {2.0}


class Stoppable:
    stop = False


def test_patience_ends_training_after_so_many_that_are_not_better() -> None:
    of = monitor(None, [3, 7, 7, 6, 8, 5, 5, 5])
    of.patience, of.trainer = 3, Stoppable()  # type: ignore[assignment]
    ended = []
    for step in range(1, 9):
        run(of, [step])
        ended.append(of.trainer.stop)
    # Step 5 is better than step 2; three more are not.
    assert ended == [False] * 7 + [True] and of.best is not None and of.best["step"] == 5


def records(first: float, last: float, error: float) -> Monitor:
    of = monitor(None, [])
    of.records = [
        {"train_loss": first, "train_loss_error": error}, {"train_loss": last, "train_loss_error": error}
    ]  # fmt: skip
    return of


def test_a_run_has_diverged_where_it_ends_above_guessing_and_above_its_beginning() -> None:
    assert "its loss rose from 0.700 to 5.000, and guessing has 0.693" in str(
        records(0.7, 5.0, 0.1).describe_divergence(2)
    )
    for first, last, error in ((0.7, 0.71, 0.05), (6.0, 5.0, 0.1), (0.3, 0.6, 0.01), (0.7, 5.0, 2.0)):
        assert records(first, last, error).describe_divergence(2) is None, (
            "noise, a fall, below guessing, or too uncertain"
        )


def test_weights_that_have_run_away_end_the_run() -> None:
    of = Monitor(nn.Linear(2, 2), lambda m, batch: m(batch["x"]), lambda: Tally(5, 10, float("nan")), 4, None)
    with pytest.raises(BadInput, match=r"step 3: the loss on dev is nan: .* take a smaller --lr"):
        run(of, [3])
    assert of.best is None and not of.records


def test_only_what_is_trained_is_kept(tmp_path: Path) -> None:
    model = nn.Linear(2, 2)
    model.weight.requires_grad_(False)
    of = monitor(tmp_path / "best", [3], model)
    run(of, [1])
    assert list(checkpoint.load(tmp_path / "best")["trained"]) == ["bias"]


def test_training_is_counted_between_records() -> None:
    of = monitor(None, [5, 5])
    x, labels = torch.tensor([[9.0, 0.0], [0.0, 9.0], [9.0, 0.0]]), torch.tensor([0, 0, 0])
    with torch.no_grad():
        of.model.weight.copy_(torch.eye(2))
        of.model.bias.zero_()
    loss, count = of.loss(of.model, {"x": x, "labels": labels})
    assert int(count) == 3 and loss.requires_grad
    of(record(1))
    assert of.records[0]["train_accuracy"] == pytest.approx(2 / 3, abs=0)
    # Its three losses are added in float64, the loss that is trained on in float32: two roundings of the latter.
    assert of.records[0]["train_loss"] == pytest.approx(
        float(loss.detach()) / 3, rel=2 * torch.finfo(torch.float32).eps
    )
    of(record(2))
    assert of.records[1]["train_loss"] == 0, "counted anew"


def written(of: Monitor, path: Path) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in of.records))


def test_a_run_that_goes_on_knows_its_best(tmp_path: Path) -> None:
    of = monitor(tmp_path / "best", [3, 8, 5])
    run(of, [1, 2, 3])
    written(of, tmp_path / "m")
    again = monitor(tmp_path / "best", [6])
    again.recall(3, tmp_path / "m")
    run(again, [4])
    assert again.best is not None and again.best["step"] == 2 and len(again.records) == 4
    again.put_best()
    assert float(next(again.model.parameters()).detach().min()) == 2.0


def test_a_best_that_is_still_to_come_again(tmp_path: Path) -> None:
    """The file is of step 2, the checkpoint of step 1: the best comes about again."""
    of = monitor(tmp_path / "best", [3, 8])
    run(of, [1, 2])
    of.records.pop()
    written(of, tmp_path / "m")
    again = monitor(tmp_path / "best", [8, 4])
    again.recall(1, tmp_path / "m")
    run(again, [2, 3])
    assert again.best is not None and again.best["step"] == 2
    again.put_best()
    assert float(next(again.model.parameters()).detach().min()) == 2.0


def test_a_best_of_another_run_is_refused(tmp_path: Path) -> None:
    of = monitor(tmp_path / "best", [3])
    run(of, [1])
    (tmp_path / "m").write_text(json.dumps({**of.records[0], "step": 2, "dev_accuracy": 0.9}) + "\n")
    with pytest.raises(BadInput, match="is not the best of"):
        monitor(tmp_path / "best", []).recall(2, tmp_path / "m")


def test_without_an_evaluation_there_is_no_best() -> None:
    with pytest.raises(BadInput, match="there is no best"):
        monitor(None, []).put_best()


def test_records_of_which_none_is_left_are_named(tmp_path: Path) -> None:
    """What cannot be read of them was left out where they were opened."""
    (tmp_path / "m").write_text("")
    of = monitor(tmp_path / "best", [])
    of.recall(1, tmp_path / "m")
    with pytest.raises(BadInput, match=r"m is damaged: no evaluation .*--overwrite_output_dir"):
        of.put_best()


@pytest.mark.parametrize(
    "line", ["", "{", "7", "{}", '{"step": 1}', '{"step": 1, "dev_accuracy": "high"}', "[" * 10_000]
)
def test_a_line_of_something_else_is_named(tmp_path: Path, line: str) -> None:
    good = json.dumps({"step": 1, "dev_accuracy": 0.5})
    (tmp_path / "m").write_text(f"{good}\n{line}\n")
    with pytest.raises(BadInput, match="m, line 2 is not an evaluation of a run"):
        monitor(tmp_path / "best", []).recall(2, tmp_path / "m")


@pytest.mark.parametrize(
    "tree", [3, {}, {"best": 1, "trained": {}}, {"best": {"step": 1}}, {"best": {}, "trained": {}}]
)
def test_a_best_that_is_something_else_is_refused(tmp_path: Path, tree: Any) -> None:
    (tmp_path / "m").write_text(json.dumps({"step": 1, "dev_accuracy": 0.5}) + "\n")
    checkpoint.save(tmp_path / "best", tree)
    with pytest.raises(BadInput, match=r"does not hold the best weights of a run|is not the best of"):
        monitor(tmp_path / "best", []).recall(1, tmp_path / "m")


def test_best_weights_of_another_model_are_refused(tmp_path: Path) -> None:
    (tmp_path / "m").write_text(json.dumps({"step": 1, "dev_accuracy": 0.5}) + "\n")
    for trained in ({"bias": torch.zeros(5)}, {"other": torch.zeros(2)}):
        checkpoint.save(tmp_path / "best", {"best": {"step": 1}, "trained": trained})
        of = monitor(tmp_path / "best", [])
        of.recall(1, tmp_path / "m")
        with pytest.raises(BadInput, match="does not fit this model"):
            of.put_best()
