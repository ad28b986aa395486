"""Check cells for a training loop and an evaluation: marked as `finetune exercise` marks them, shown in a notebook."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attention_core.declaration.errors import summarize_error
from attention_core.teaching.check_cells import Answer, check_list, is_unwritten, say_unwritten
from finetune.classification.hand_in import Check, mark_evaluation, mark_training


def check_training(train: Any, **extra: Any) -> Answer:
    """Mark a training loop `train(model, epochs, train_loader, dev_loader, device, lr)`.

    Args:
        train: makes its own optimizer; its parameters are recognised by their names.
        extra: as for `mark_training`.

    >>> check_training(...).right
    False
    """
    return _check(train, mark_training, extra)


def check_evaluation(evaluate: Any, **extra: Any) -> Answer:
    """Mark an evaluation `evaluate_model(model, loader, device)`.

    Args:
        evaluate: returns the accuracy.
        extra: as for `mark_evaluation`.

    >>> check_evaluation(lambda model, loader, device: 0.5).right
    False
    """
    return _check(evaluate, mark_evaluation, extra)


def _check(function: Any, judge: Callable[..., list[Check]], extra: dict[str, Any]) -> Answer:
    name = str(getattr(function, "__name__", "answer"))
    if is_unwritten(function):
        return say_unwritten(name)
    try:
        checks = judge(function, **extra)
    except Exception as error:  # whatever a student's code raises is what is wrong with it
        return Answer(name, False, (f"It raises {summarize_error(error)}.",))
    return check_list(name, ((check.name.partition(": ")[2], check.right, check.why) for check in checks))
