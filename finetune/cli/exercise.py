"""The command line of hand-ins: `finetune exercise` marks `train` and `evaluate_model` of an assignment's file."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from types import ModuleType
from typing import Any, cast

import click

from finetune.errors import BadInput


@click.command()
@click.argument("path", metavar="FILE.py")
@click.option("--train", "train_name", default="train", show_default=True, metavar="NAME", help="The training loop.")
@click.option(
    "--evaluate", "evaluate_name", default="evaluate_model", show_default=True, metavar="NAME", help="The evaluation."
)
@click.option("--classifier", "classifier_name", metavar="NAME", help="A classifier (model_name_or_path, num_labels).")
@click.option("--joint", "joint_name", metavar="NAME", help="A classifier that has a masked-LM loss as well.")
@click.option("--labels", default="labels", show_default=True, metavar="KEY", help="Key of the labels in a batch.")
@click.option("--arg", "arguments", multiple=True, metavar="NAME=VALUE", help="Value of a further parameter.")
def exercise(
    path: str, train_name: str, evaluate_name: str, classifier_name: str | None, joint_name: str | None, labels: str,
    arguments: tuple[str, ...],
) -> None:  # fmt: skip
    """Mark the training loop and the evaluation of FILE.py as they stand; exit status 0 means right.

    They run on eleven small examples with a model whose gradients are known. `train(model, epochs, train_loader,
    dev_loader, device, lr)` makes its own optimizer; parameters are recognised by their names, in any order. Of the two
    functions, one may be missing. With --classifier or --joint these classes are marked in their place.

    Example: finetune exercise mymodel.py --classifier BertForSequenceClassification --joint BertForCLSMLM
    """
    from finetune.classification import class_hand_in, hand_in

    extra = dict(read_argument(text) for text in arguments)
    marks: list[tuple[str | None, Callable[[Any], list[Any]]]]
    if classifier_name or joint_name:
        marks = [(classifier_name, class_hand_in.mark_classifier), (joint_name, class_hand_in.mark_joint)]
    else:
        given = extra | {"labels": labels}
        marks = [
            (train_name, lambda function: hand_in.mark_training(function, **given)),
            (evaluate_name, lambda function: hand_in.mark_evaluation(function, **given)),
        ]
    names = [name for name, _ in marks if name]
    click.echo(f"finetune exercise: {' and '.join(names)} of {path}")
    with metrics_here():
        made = [(name, load_member(path, name), mark) for name, mark in marks if name]
        if not any(target for _, target, _ in made):
            raise BadInput(f"{path} has no {' and no '.join(names)}: give their names (--help)")
        checks = [(name, check) for name, target, mark in made if target is not None for check in run(target, mark)]
    for name, check in checks:
        word = {True: "yes", False: "no", None: "costs"}[check.right]
        shown = f"{name}: {check.name}" if classifier_name or joint_name else check.name
        click.echo(f"{shown}: {word}{f' ({check.why})' if check.right is not True else ''}")
    if any(check.right is False for _, check in checks):
        raise SystemExit(1)


def run(target: Callable[..., Any], mark: Callable[[Any], list[Any]]) -> list[Any]:
    """Return the checks of one target, without what it prints; an exception of it is a check that is not right."""
    from finetune.classification.hand_in import Check

    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            return mark(target)
    except BadInput:
        raise
    except Exception as error:
        line = " ".join(str(error).split())[:300]
        return [Check(f"{target.__name__} runs", False, f"{type(error).__name__}: {line}")]


def load_member(path: str, name: str) -> Callable[..., Any] | None:
    """Return what a file has under a name, None where it has nothing. Raises: BadInput for a broken file."""
    from attention_core.declaration.implementation import TargetError
    from attention_core.worker.target import load_target

    try:
        return cast(Callable[..., Any], load_target(f"{path}:{name}"))
    except TargetError as error:
        if f"{name!r}" in str(error) or f" {name}" in str(error):
            return None
        raise BadInput(str(error)) from None


def read_argument(text: str) -> tuple[str, Any]:
    """Read NAME=VALUE: True, False, None and numbers are what they say, all else is text. Raises: BadInput.

    >>> read_argument("small_subset=True")
    ('small_subset', True)
    """
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise BadInput(f"--arg {text!r}: write NAME=VALUE")
    words = {"True": True, "False": False, "None": None}
    if value in words:
        return name, words[value]
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            continue
    return name, value


class Accuracy:
    """The metric `accuracy` of the library `evaluate`: the share of predictions that are their references."""

    def __init__(self) -> None:
        self.right: list[bool] = []

    def add_batch(self, *, predictions: Any, references: Any) -> None:
        """Add a batch."""
        self.right += [int(a) == int(b) for a, b in zip(predictions, references, strict=True)]

    def add(self, *, prediction: Any, reference: Any) -> None:
        """Add one."""
        self.add_batch(predictions=[prediction], references=[reference])

    def compute(self, **given: Any) -> dict[str, float]:
        """Return the share, and begin anew."""
        if given:
            self.add_batch(**given)
        found = {"accuracy": sum(self.right) / len(self.right)}
        self.right = []
        return found


@contextmanager
def metrics_here() -> Iterator[None]:
    """Within, `import evaluate` gives a module whose metric `accuracy` is counted here: the library's is downloaded."""

    def load(name: str, *_: Any, **__: Any) -> Accuracy:
        if name != "accuracy":
            raise BadInput(f"evaluate.load({name!r}): a hand-in is marked with the metric accuracy alone")
        return Accuracy()

    module, before = ModuleType("evaluate"), sys.modules.get("evaluate")
    vars(module)["load"] = load
    sys.modules["evaluate"] = module
    try:
        yield
    finally:
        if before is None:
            del sys.modules["evaluate"]
        else:
            sys.modules["evaluate"] = before
