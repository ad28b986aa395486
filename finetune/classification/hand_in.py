"""Mark a whole `train` and `evaluate_model` of an assignment's skeleton as they stand, whatever optimizer they make.

They train a model whose gradients are known in closed form: every step is compared with the mean cross entropy of its
own batch, and the evaluation with the share of right answers. The truth is computed in NumPy, and shares nothing with
autograd. Sources: source 000, 3.1.1 and 3.2.1 (`base_classification.py`, `classification.py`); source 001, step 3.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.optim.optimizer import register_optimizer_step_pre_hook
from torch.utils.data import DataLoader

from attention_core.conformance.budgets.rounding import UNIT_ROUNDOFF
from finetune.errors import BadInput

Array = npt.NDArray[np.float64]
TRAIN, DEV, BATCH, LENGTH, WIDTH, CLASSES = 11, 7, 4, 5, 3, 2
"""Examples, examples of a batch (the last one is smaller), tokens, features, classes."""
EPOCHS = 20
"""60 steps: more than the 50 of warm-up that the skeleton has."""
RATE = 2.0**-7
WORDS = {
    "model": ("model",), "device": ("device",), "epochs": ("epoch",), "train": ("train",),
    "dev": ("valid", "dev", "eval", "test", "loader"), "rate": ("lr", "rate"),
}  # fmt: skip
"""What a parameter's name holds, by what it is given; the first that fits counts."""


@dataclass(frozen=True)
class Check:
    """One thing that was judged: whether it is right, None where it is a matter of cost and not of right."""

    name: str
    right: bool | None
    why: str = ""


@dataclass
class Pass:
    """One call of the model: the examples' numbers, the modes of its modules, how it was called, what became of it."""

    examples: list[int]
    training: list[bool]
    gradients: bool
    masked: bool
    used: bool = False
    """Whether a backward pass has reached it since the last step."""


@dataclass
class Step:
    """One step of an optimizer: the calls that backward passes went through since the last one, and what it found."""

    passes: list[Pass]
    weights: Array
    gradients: Array | None
    frozen: bool
    rate: float


@dataclass
class Record:
    """What was seen while a function ran."""

    passes: list[Pass] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)


class Output(dict[Any, Any]):
    """Logits, and a loss where labels were given, by attribute, by name and by number, as transformers gives them."""

    def __init__(self, logits: Tensor, loss: Tensor | None) -> None:
        named = {"logits": logits} if loss is None else {"loss": loss, "logits": logits}
        super().__init__(named | dict(enumerate(named.values())))

    def __getattr__(self, name: str) -> Tensor:
        try:
            found: Tensor = self[name]
            return found
        except KeyError:
            raise AttributeError(name) from None


class Known(nn.Module):
    """A classifier on the mean of fixed features of the tokens that the mask keeps; head trained, base frozen."""

    def __init__(self, record: Record, kind: str = "full") -> None:
        super().__init__()
        draw = torch.Generator().manual_seed(0)
        self.record = record
        vars(self)["type"] = kind  # as the skeleton's model has it, over nn.Module's method of this name
        self.features = torch.randn(2 * (TRAIN + DEV) + 1, WIDTH, generator=draw, dtype=torch.float64) / 8
        self.base = nn.Sequential(nn.Dropout(0.5), nn.Linear(WIDTH, WIDTH, dtype=torch.float64))
        self.base.requires_grad_(False)
        self.classifier = nn.Linear(WIDTH, CLASSES, dtype=torch.float64)
        with torch.no_grad():
            self.classifier.weight.copy_(torch.randn(CLASSES, WIDTH, generator=draw, dtype=torch.float64) / 8)
            self.classifier.bias.zero_()

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, labels: Tensor | None = None, **_: Any
    ) -> Output:
        """Logits of a batch, and its mean cross entropy where labels are given."""
        ids = input_ids.detach()
        right = (ids != 0).to(torch.int64)
        given = torch.ones_like(right) if attention_mask is None else attention_mask
        masked = bool(torch.equal(given.to(torch.int64), right))
        modes = [module.training for module in self.modules()]
        call = Pass((ids[:, 0] - 1).tolist(), modes, torch.is_grad_enabled(), masked)
        self.record.passes.append(call)
        weights = given.to(torch.float64)[..., None]
        means = (self.features[ids] * weights).sum(1) / weights.sum(1)
        logits = self.classifier(means)
        if logits.requires_grad:
            logits.register_hook(lambda _: setattr(call, "used", True))
        return Output(logits, None if labels is None else nn.functional.cross_entropy(logits, labels))

    def numbers(self) -> Array:
        """The trained numbers in a row."""
        return np.concatenate([p.detach().numpy().ravel() for p in self.classifier.parameters()])

    def slopes(self) -> Array | None:
        """Their gradients in a row; None where one has none."""
        found = [p.grad for p in self.classifier.parameters()]
        whole = [g for g in found if g is not None]
        return np.concatenate([g.numpy().ravel() for g in whole]) if len(whole) == len(found) else None


@dataclass(frozen=True)
class Data:
    """Examples: tokens (0 is padding, the first tells the number), means of features, labels."""

    first: int
    ids: Tensor
    means: Array
    labels: list[int]

    def loader(self, labels: str) -> DataLoader[Any]:
        """Batches in order, as dictionaries."""
        mask = (self.ids != 0).to(torch.int64)
        rows = [
            {"input_ids": i, "attention_mask": m, labels: torch.tensor(y)}
            for i, m, y in zip(self.ids, mask, self.labels, strict=True)
        ]
        return DataLoader(rows, batch_size=BATCH)  # type: ignore[arg-type]

    def batches(self) -> list[list[int]]:
        """The numbers of each batch's examples."""
        numbers = list(range(self.first, self.first + len(self.labels)))
        return [numbers[start : start + BATCH] for start in range(0, len(numbers), BATCH)]


def make_data(model: Known, first: int, count: int, labels: Sequence[int] | None = None) -> Data:
    """Draw texts of 2 to LENGTH tokens; without labels, those that are right for all but four of seven."""
    rng = np.random.default_rng(first)
    ids = np.zeros((count, LENGTH), dtype=np.int64)
    for row, number in enumerate(range(first, first + count)):
        size = int(rng.integers(2, LENGTH + 1))
        ids[row, :size] = [number + 1, *rng.integers(TRAIN + DEV + 1, 2 * (TRAIN + DEV) + 1, size - 1)]
    table, kept = model.features.numpy(), (ids != 0)[..., None]
    means = (table[ids] * kept).sum(1) / kept.sum(1)
    found = list(labels) if labels is not None else rng.integers(CLASSES, size=count).tolist()
    return Data(first, torch.from_numpy(ids), means, found)


def softmax_slope(weights: Array, data: Data, examples: Sequence[int]) -> Array:
    """Return the gradient of the mean cross entropy of some examples along weight and bias.

    dL/dW = (P - Y)^T X / B, dL/db = sum of (P - Y) / B.
    """
    rows = [number - data.first for number in examples]
    x, y = data.means[rows], np.eye(CLASSES)[[data.labels[row] for row in rows]]
    logits = x @ weights[: CLASSES * WIDTH].reshape(CLASSES, WIDTH).T + weights[CLASSES * WIDTH :]
    raised = np.exp(logits - logits.max(1, keepdims=True))
    off = raised / raised.sum(1, keepdims=True) - y
    return np.concatenate([(off.T @ x).ravel(), off.sum(0)]) / len(rows)


ALLOWED = 64 * UNIT_ROUNDOFF["float64"]
"""A gradient is a mean of at most four products of numbers below 1, after a softmax of two logits that are sums of at
most five tokens' features and three products: fewer than 32 roundings of numbers below 1, doubled."""


def bind(function: Callable[..., Any], given: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments for a function by the names of its parameters.

    Raises:
        BadInput: if a parameter without a default is none that is known, naming it.
    """
    found: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        name = parameter.name
        if name in extra:
            found[name] = extra[name]
            continue
        kinds = [kind for kind, words in WORDS.items() if any(word in name.lower() for word in words)]
        kind = "model" if name.lower() in ("model", "mymodel", "my_model", "net") else (kinds or [""])[0]
        if name.lower().endswith("_name") or kind not in given:
            kind = ""
        if kind:
            found[name] = given[kind]
        elif parameter.default is parameter.empty and parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
            raise BadInput(f"what is the parameter {name!r} of {function.__name__}? give it with --arg {name}=VALUE")
    return found


@contextmanager
def recording(model: Known, record: Record) -> Iterator[None]:
    """Within, every step of any optimizer is kept."""

    def before(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        passes = [each for each in record.passes if each.used]
        for each in passes:
            each.used = False
        frozen = any(p.grad is not None and bool(p.grad.any()) for p in model.base.parameters())
        rate = max(float(group["lr"]) for group in optimizer.param_groups)
        record.steps.append(Step(passes, model.numbers(), model.slopes(), frozen, rate))

    handle = register_optimizer_step_pre_hook(before)
    try:
        yield
    finally:
        handle.remove()


def mark_training(train: Callable[..., Any], *, labels: str = "labels", **extra: Any) -> list[Check]:
    """Run a `train(model, epochs, train_loader, dev_loader, device, rate)` and judge every step of it.

    Args:
        train: makes its own optimizer; its parameters are recognised by their names.
        labels: the key of a batch's labels.
        extra: further arguments by name; `type` is the model's attribute of this name.
    Raises:
        BadInput: if a parameter is not known.
    """
    record = Record()
    model = Known(record, str(extra.pop("type", "full")))
    data, dev = make_data(model, 0, TRAIN), make_data(model, TRAIN, DEV)
    before, base = model.numbers(), [p.clone() for p in model.base.parameters()]
    given = {
        "model": model, "epochs": EPOCHS, "train": data.loader(labels), "dev": dev.loader(labels),
        "device": torch.device("cpu"), "rate": RATE,
    }  # fmt: skip
    with recording(model, record):
        train(**bind(train, given, extra))
    if not record.steps:
        return [Check("train: an optimizer is stepped", False, "no optimizer made a step")]
    same = all(torch.equal(a, b) for a, b in zip(base, model.base.parameters(), strict=True))
    return [
        check_order(record.steps, data),
        Check(
            "train: dropout is on", all(all(p.training) for s in record.steps for p in s.passes),
            "the model was not in training mode: call model.train() in every epoch, after the evaluation",
        ),
        Check(
            "train: the mask is passed on", all(p.masked for s in record.steps for p in s.passes),
            "the model was called without the batch's attention_mask: padding counts as text",
        ),
        check_slopes(record.steps, data),
        Check(
            "train: what is frozen stays", same and not any(s.frozen for s in record.steps),
            "parameters that ask for no gradient were changed",
        ),
        check_rates(record.steps),
        Check("train: the head is trained", bool((before != model.numbers()).any()), "no number of the head moved"),
    ]  # fmt: skip


def check_order(steps: Sequence[Step], data: Data) -> Check:
    """Judge whether every example of train, and no other, is in one step of each epoch."""
    name = "train: every example is in one step of each epoch"
    wanted = sorted(number for batch in data.batches() for number in batch)
    each = len(data.batches())
    if len(steps) != EPOCHS * each:
        return Check(name, False, f"{len(steps)} steps in {EPOCHS} epochs of {each} batches, but should be one a batch")
    for epoch in range(EPOCHS):
        seen = sorted(n for step in steps[epoch * each : (epoch + 1) * each] for p in step.passes for n in p.examples)
        if any(number >= TRAIN for number in seen):
            return Check(name, False, f"epoch {epoch + 1} trained on examples of dev")
        if seen != wanted:
            return Check(name, False, f"epoch {epoch + 1} trained on the examples {seen}, but should be {wanted}")
    return Check(name, True)


def check_slopes(steps: Sequence[Step], data: Data) -> Check:
    """Judge whether each step follows the mean cross entropy of its own batch; where it does not, say what it does."""
    name = "train: each step follows the mean cross entropy of its own batch"
    total = np.zeros(CLASSES * WIDTH + CLASSES)
    for number, step in enumerate(steps, 1):
        examples = [n for p in step.passes for n in p.examples]
        if not examples or step.gradients is None:
            why = "zeroed between backward() and step()" if examples else "none: loss.backward() comes before the step"
            return Check(name, False, f"step {number}: the gradients are {why}")
        if max(examples) >= TRAIN:
            return Check(name, False, f"step {number} follows examples of dev")
        right = softmax_slope(step.weights, data, examples)
        total = total + right
        if np.abs(step.gradients - right).max() <= ALLOWED:
            continue
        if not step.gradients.any():
            why = "the gradients are zeroed between backward() and step()"
        elif number > 1 and np.abs(step.gradients - total).max() <= number * ALLOWED:
            why = "those of all batches so far are added up: optimizer.zero_grad() is missing"
        elif np.abs(step.gradients - right * len(examples)).max() <= len(examples) * ALLOWED:
            why = "the loss is a sum over the batch, not its mean"
        else:
            why = f"the largest gradient is {np.abs(step.gradients).max():.6g}, but should be {np.abs(right).max():.6g}"
        return Check(name, False, f"step {number}: {why}")
    return Check(name, True)


def check_rates(steps: Sequence[Step]) -> Check:
    """Judge whether the largest rate of the run is the one that was given."""
    largest = max(step.rate for step in steps)
    if np.isclose(largest, RATE, rtol=1e-9):
        return Check("train: the largest rate is the given one", True)
    why = f"the largest rate is {largest:.4g}, but {RATE:.4g} was given"
    if largest < RATE:
        why += ": lr_scheduler.step() belongs after every step, not after every epoch"
    return Check("train: the largest rate is the given one", False, why)


def mark_evaluation(evaluate: Callable[..., Any], *, labels: str = "labels", **extra: Any) -> list[Check]:
    """Run an `evaluate_model(model, loader, device)` and judge what it returns.

    Args:
        evaluate: returns the accuracy: a number, a dictionary that has it, or a tuple that does.
        labels: the key of a batch's labels.
        extra: further arguments by name.
    Raises:
        BadInput: if a parameter is not known.
    """
    record = Record()
    model = Known(record, str(extra.pop("type", "full"))).train()
    data = make_data(model, TRAIN, DEV)
    chosen = choices(model.numbers(), data)
    # Right are three of the first four and one of the last three: a mean of the batches' shares is another number.
    answers = [c if row in (0, 1, 2, 4) else 1 - c for row, c in enumerate(chosen)]
    data = Data(data.first, data.ids, data.means, answers)
    before = model.numbers()
    loader = data.loader(labels)
    returned = evaluate(
        **bind(evaluate, {"model": model, "train": loader, "dev": loader, "device": torch.device("cpu")}, extra)
    )
    seen = sorted(number for each in record.passes for number in each.examples)
    return [
        Check(
            "evaluate: every example is judged once", seen == sorted(n for batch in data.batches() for n in batch),
            f"judged {seen}",
        ),
        Check(
            "evaluate: dropout is off", not any(any(each.training) for each in record.passes),
            "the model was in training mode: call model.eval()",
        ),
        Check(
            "evaluate: the mask is passed on", all(each.masked for each in record.passes),
            "the model was called without the batch's attention_mask: padding counts as text",
        ),
        check_accuracy(returned, 4 / 7, [3 / 4, 1 / 3]),
        Check("evaluate: no number of the model changes", bool((before == model.numbers()).all()), "numbers changed"),
        Check(
            "evaluate: no graph is kept", None if any(each.gradients for each in record.passes) else True,
            "without torch.no_grad() it gives the same, with the memory of training",
        ),
    ]  # fmt: skip


def choices(weights: Array, data: Data) -> list[int]:
    """Return the class with the largest logit of each example."""
    logits = data.means @ weights[: CLASSES * WIDTH].reshape(CLASSES, WIDTH).T + weights[CLASSES * WIDTH :]
    return [int(row.argmax()) for row in logits]


def check_accuracy(returned: Any, right: float, batches: Sequence[float]) -> Check:
    """Judge whether what was returned holds the share of right answers."""
    name = "evaluate: the accuracy is the share of right answers"
    numbers = [float(value) for value in flatten(returned)]
    if any(abs(number - right) < 1e-6 for number in numbers):
        return Check(name, True)
    if not numbers:
        return Check(name, False, f"it returned {type(returned).__name__}, in which there is no number")
    mean = float(np.mean(batches))
    why = f"it returned {numbers[0]:.6g}, but 4 of 7 answers are right: {right:.6g}"
    if any(abs(number - mean) < 1e-6 for number in numbers):
        why += f"; {mean:.6g} is the mean of the batches' accuracies, of which the last is shorter"
    return Check(name, False, why)


def flatten(returned: Any) -> Iterator[float]:
    """Yield every number of a result, of its dictionaries, lists and tuples too."""
    if isinstance(returned, Mapping):
        for value in returned.values():
            yield from flatten(value)
    elif isinstance(returned, (list, tuple)):
        for value in returned:
            yield from flatten(value)
    elif isinstance(returned, (int, float, np.number)) or (
        isinstance(returned, (Tensor, np.ndarray)) and returned.size == 1
    ):
        yield float(returned)
    elif isinstance(returned, Tensor) and returned.numel() == 1:
        yield float(returned.detach())
