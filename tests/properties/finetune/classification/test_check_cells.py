"""Check cells of a training loop and an evaluation: as `finetune exercise` marks them, and no check raises."""

from __future__ import annotations

from typing import Any

from finetune.classification.check_cells import check_evaluation, check_training


def train(model: Any, epochs: int, train_loader: Any, dev_loader: Any, device: Any, lr: float) -> None:
    raise KeyError("labels")


def evaluate(model: Any, loader: Any, device: Any) -> float:
    return 0.5


def test_mistakes_are_listed_and_not_raised() -> None:
    assert "It raises KeyError" in str(check_training(train))
    assert "what is the parameter 'wish'" in str(check_training(lambda model, wish: model + wish))
    wrong = str(check_evaluation(evaluate))
    assert wrong.startswith("evaluate: not yet right") and "4 of 7 answers are right" in wrong


def test_what_is_empty_is_said() -> None:
    def later(model: Any, loader: Any, device: Any) -> Any: ...

    assert "later is not written yet" in str(check_evaluation(later))
