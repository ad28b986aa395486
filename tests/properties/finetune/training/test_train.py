"""The trainer, on models of a few numbers.

finetune.training.train: what a step does, that parts and processes do not matter, and that resuming changes no bit.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from finetune.errors import BadInput
from finetune.models.gpt import GPT, GPTConfig, next_token_loss
from finetune.training import checkpoint
from finetune.training.config import TrainConfig
from finetune.training.optimizer import rate
from finetune.training.train import PLACE, STATE, Trainer, multiply_in, order


class Texts:
    """Examples of random ids, of unequal numbers of targets; what was asked for is written down."""

    def __init__(self, count: int = 10, n: int = 6) -> None:
        generator = torch.Generator().manual_seed(0)
        self.x = torch.randint(1, 9, (count, n), generator=generator)
        self.y = torch.randint(1, 9, (count, n), generator=generator)
        for row in range(count):
            self.y[row, 1 + row % n :] = 0
        self.asked: list[tuple[int, list[int]]] = []

    def __len__(self) -> int:
        return len(self.x)

    def batch(self, epoch: int, indices: Any) -> dict[str, Tensor]:
        self.asked.append((epoch, indices.tolist()))
        return {"x": self.x[indices], "y": self.y[indices]}


def model(dropout: float = 0.0, seed: int = 0) -> GPT:
    torch.manual_seed(seed)
    return GPT(GPTConfig(9, 6, 1, 2, 8, dropout=dropout))


def config(**changes: Any) -> TrainConfig:
    return TrainConfig(**{"epochs": 3, "batch_size": 4, "learning_rate": 1e-2, "log_every": 1, **changes})


def weights(made: nn.Module) -> list[Tensor]:
    return [p.detach().clone() for p in made.parameters()]


def same(one: list[Tensor], other: list[Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def test_a_step_is_the_formulas() -> None:
    """Against torch's own AdamW on the mean loss over the step's tokens, clipped and at the rate of the schedule."""
    source, records = Texts(), list[Any]()
    made, peer = model().double(), model().double()
    settings = config(epochs=2, warmup_tokens=40, final_tokens=90, clip=0.5)
    Trainer(made, next_token_loss, source, settings, sinks=[records.append]).run()
    decayed = [p for p in peer.parameters() if p.ndim == 2 and p is not peer.tok_emb.weight]
    plain = [p for p in peer.parameters() if not any(p is q for q in decayed)]
    optimizer = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": 0.1}, {"params": plain, "weight_decay": 0.0}], 1e-2, (0.9, 0.95)
    )
    tokens, number = 0, 0
    for epoch in range(2):
        places = order(0, epoch, 10)
        for start in range(0, 10, 4):
            x, y = source.x[places[start : start + 4]], source.y[places[start : start + 4]]
            logits = peer(x)
            loss = nn.functional.cross_entropy(logits.reshape(-1, 9), y.reshape(-1), ignore_index=0)
            optimizer.zero_grad()
            loss.backward()
            norm = nn.utils.clip_grad_norm_(peer.parameters(), 0.5)
            tokens += int((y != 0).sum())
            for group in optimizer.param_groups:
                group["lr"] = 1e-2 * rate(tokens, 40, 90)
            optimizer.step()
            record = records[number]
            number += 1
            assert (record["step"], record["epoch"], record["tokens"]) == (number, epoch, tokens)
            assert record["learning_rate"] == 1e-2 * rate(tokens, 40, 90)
            # Two ways to a mean over at most 24 targets, after a few steps of a small model in float64.
            assert abs(record["loss"] - float(loss.detach())) < 1e4 * 24 * 2.0**-53
            assert abs(record["gradient_norm"] - float(norm)) < 1e4 * 24 * 2.0**-53
    for got, want in zip(made.parameters(), peer.parameters(), strict=True):
        # Adam divides by the root of a gradient's square: a gradient of 1e-8 knows 1e-8 of its digits less.
        assert (got - want).detach().abs().max() < 1e-8
    assert number == 6


@pytest.mark.parametrize("parts", [2, 3, 4])
def test_accumulated_parts_are_normalised_by_tokens(parts: int) -> None:
    """Rows have 1 to 6 targets, so a mean of the parts' means would be another gradient."""
    whole, cut = list[Any](), list[Any]()
    for records, accumulate in ((whole, 1), (cut, parts)):
        Trainer(
            model().double(), next_token_loss, Texts(), config(accumulate=accumulate, clip=0.0), sinks=[records.append]
        ).run()
    for a, b in zip(whole, cut, strict=True):
        assert abs(a["gradient_norm"] - b["gradient_norm"]) < 1e-9 * a["gradient_norm"]
        assert abs(a["loss"] - b["loss"]) < 1e-9 and a["tokens"] == b["tokens"]


def test_parts_of_a_step_have_like_widths() -> None:
    """The same steps in parts whose examples pad each other least: no example is wider than one of the next part."""

    class Measured(Texts):
        def widths(self, epoch: int, indices: Any) -> Any:
            return (self.y[indices] != 0).sum(1).numpy()

    plain, sorted_records, source = list[Any](), list[Any](), Measured()
    settings = config(accumulate=2, clip=0.0, epochs=1, batch_size=8)
    Trainer(model().double(), next_token_loss, Texts(), settings, sinks=[plain.append]).run()
    Trainer(model().double(), next_token_loss, source, settings, sinks=[sorted_records.append]).run()
    assert source.widths(0, source.asked[0][1]).max() <= source.widths(0, source.asked[1][1]).min()
    for a, b in zip(plain, sorted_records, strict=True):
        # Two orders of a sum of 48 terms, each of them a few roundings of float64 away from the truth.
        assert abs(a["gradient_norm"] - b["gradient_norm"]) < 1e-9 * a["gradient_norm"]
        assert abs(a["loss"] - b["loss"]) < 1e-9 and a["tokens"] == b["tokens"]


def test_the_widths_are_those_of_the_epoch() -> None:
    """A corpus is corrupted anew in every epoch: what was short in the first may be long in the next."""

    class Changing(Texts):
        def widths(self, epoch: int, indices: Any) -> Any:
            return (np.asarray(indices) + 5 * epoch) % 10

    source = Changing()
    Trainer(model(), next_token_loss, source, config(accumulate=2, batch_size=10)).run()
    halves = [sorted(source.widths(epoch, part).tolist()) for epoch, part in source.asked]
    assert [epoch for epoch, _ in source.asked] == [0, 0, 1, 1, 2, 2]
    assert halves == 3 * [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]


def test_every_epoch_has_every_example_once_in_an_order_of_its_own() -> None:
    source = Texts()
    Trainer(model(), next_token_loss, source, config()).run()
    epochs = [[i for e, part in source.asked if e == epoch for i in part] for epoch in range(3)]
    assert all(sorted(found) == list(range(10)) for found in epochs)
    assert len({tuple(found) for found in epochs}) == 3
    assert (order(1, 0, 10) != order(0, 0, 10)).any() and (order(0, 0, 10) == order(0, 0, 10)).all()


def test_a_source_may_order_its_own_examples() -> None:
    class Sorted(Texts):
        def order(self, seed: int, epoch: int, batch_size: int) -> Any:
            assert batch_size == 4
            return [(n + seed + epoch) % 10 for n in range(10)]

    source = Sorted()
    Trainer(model(), next_token_loss, source, config(epochs=2, seed=3)).run()
    assert [n for epoch, part in source.asked if epoch == 1 for n in part] == [(n + 4) % 10 for n in range(10)]


def test_the_optimizer_and_the_schedule_are_those_asked_for() -> None:
    """SGD, unclipped, goes by the rate of the schedule times the mean gradient."""
    source, records = Texts(), list[Any]()
    made = model().double()
    before = weights(made)
    settings = config(
        epochs=1, batch_size=10, optimizer="sgd", schedule="linear", floor=0.0, clip=0.0, weight_decay=0.0
    )
    tokens = int((source.y != 0).sum())
    trainer = Trainer(made, next_token_loss, source, replace(settings, final_tokens=2 * tokens), sinks=[records.append])
    trainer.run()
    assert isinstance(trainer.optimizer, torch.optim.SGD) and records[0]["learning_rate"] == 1e-2 * 0.5
    moved = sum(float(((a - b) ** 2).sum()) for a, b in zip(before, weights(made), strict=True)) ** 0.5
    # Each of n weights of at most 2 is rounded once, and so is each of n squares and sums on either side.
    n = sum(p.numel() for p in before)
    assert moved == pytest.approx(5e-3 * records[0]["gradient_norm"], abs=n**0.5 * 2.0**-52, rel=2 * n * 2.0**-53)


def test_a_checkpoint_from_before_a_setting_had_its_default(tmp_path: Path) -> None:
    first = Trainer(model(), next_token_loss, Texts(), config(epochs=1), path=tmp_path / "c")
    first.run()
    state = first.state()
    for name in ("optimizer", "schedule"):
        del state["config"][name]
    Trainer(model(), next_token_loss, Texts(), config(epochs=2)).restore(state)
    with pytest.raises(BadInput, match="made with optimizer='adamw', this run has 'sgd'"):
        Trainer(model(), next_token_loss, Texts(), config(epochs=2, optimizer="sgd")).restore(state)


@pytest.mark.parametrize(("optimizer", "stop"), [*(("adamw", n) for n in range(1, 9)), ("muon", 3), ("muon", 5)])
def test_resuming_changes_no_bit(tmp_path: Path, optimizer: str, stop: int) -> None:
    """Stopped after any step, within an epoch or between two; dropout draws from torch's generator all the while."""
    whole = Trainer(model(0.3), next_token_loss, Texts(), config(optimizer=optimizer))
    records = list[Any]()
    whole.sinks.append(records.append)
    whole.run()
    first = Trainer(model(0.3), next_token_loss, Texts(), config(optimizer=optimizer), path=tmp_path / "c")
    first.run(stop_after=stop)
    first.save()
    torch.manual_seed(999)
    later = list[Any]()
    second = Trainer(
        model(0.3, seed=5),
        next_token_loss,
        Texts(),
        config(optimizer=optimizer, log_every=1),
        path=tmp_path / "c",
        sinks=[later.append],
    )
    second.run(resume=True)
    assert same(weights(whole.model), weights(second.model))
    strip = lambda found: [{k: v for k, v in r.items() if k != "seconds"} for r in found]  # noqa: E731
    assert strip(later) == strip(records[stop:])
    one, two = whole.optimizer.state_dict(), second.optimizer.state_dict()
    for part in one if optimizer == "muon" else [None]:
        left, right = (one, two) if part is None else (one[part], two[part])
        for key, state in left["state"].items():
            assert state and all(torch.equal(state[k], right["state"][key][k]) for k in state)


def test_a_checkpoint_holds_everything_and_is_written_at_the_end_of_epochs(tmp_path: Path) -> None:
    made = Trainer(model(), next_token_loss, Texts(), config(save_every=2), path=tmp_path / "c")
    made.run(stop_after=3)
    assert not (tmp_path / "c").exists()
    made.run(stop_after=3)
    state = checkpoint.load(tmp_path / "c")
    assert (state["epoch"], state["position"], state["step"]) == (2, 0, 6)
    assert {"model", "optimizer", "random", "tokens", "config"} <= set(state)
    assert set(state["random"]) == {"torch", "cuda", "numpy", "python"}


def test_the_last_epoch_is_saved_whenever_it_comes(tmp_path: Path) -> None:
    """Three epochs, saved every second: without the third, a finished run would be gone on with from the second."""
    Trainer(model(), next_token_loss, Texts(), config(save_every=2), path=tmp_path / "c").run()
    state = checkpoint.load(tmp_path / "c")
    assert (state["epoch"], state["position"], state["step"]) == (3, 0, 9)


def test_every_epoch_ends_with_a_record() -> None:
    """Three steps an epoch, a record every four: beside steps 4 and 8 there are the last of each epoch."""
    records = list[Any]()
    last = Trainer(model(), next_token_loss, Texts(), config(log_every=4), sinks=[records.append]).run()
    assert [(r["step"], r["epoch"]) for r in records] == [(3, 0), (4, 1), (6, 1), (8, 2), (9, 2)]
    assert last == records[-1]


def test_every_step_is_told_with_the_number_of_all() -> None:
    told: list[tuple[int, int]] = []
    trainer = Trainer(model(), next_token_loss, Texts(10), config(epochs=2, log_every=100))
    trainer.steppers.append(lambda step, steps: told.append((step, steps)))
    trainer.run()
    assert told == [(step, 6) for step in range(1, 7)]


def test_a_finished_run_is_not_gone_on_with(tmp_path: Path) -> None:
    Trainer(model(), next_token_loss, Texts(), config(), path=tmp_path / "c").run()
    again = Trainer(model(seed=3), next_token_loss, Texts(), config(), path=tmp_path / "c")
    assert again.run(resume=True) == {} and again.step == 9
    longer = Trainer(model(seed=3), next_token_loss, Texts(), config(epochs=4), path=tmp_path / "c")
    longer.run(resume=True)
    assert longer.step == 12


def test_a_checkpoint_of_another_run_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "c"
    Trainer(model(), next_token_loss, Texts(), config(), path=path).run()
    torch.manual_seed(0)
    wider = GPT(GPTConfig(9, 6, 1, 2, 16))
    for made, source, settings, words in [
        (model(), Texts(), config(batch_size=5), "made with batch_size=4, this run has 5"),
        (model(), Texts(11), config(), "made with 10 examples, this run has 11"),
        (wider, Texts(), config(), "of another model"),
    ]:
        with pytest.raises(BadInput, match=words):
            Trainer(made, next_token_loss, source, settings, path=path).run(resume=True)
    checkpoint.save(path, {"model": model().state_dict()})
    with pytest.raises(BadInput, match="not a checkpoint of a training run"):
        Trainer(model(), next_token_loss, Texts(), config(), path=path).run(resume=True)


def test_a_loss_that_is_no_number_is_told() -> None:
    with pytest.raises(BadInput, match=r"step \d+: the loss is (nan|inf).*smaller learning rate"):
        Trainer(model(), next_token_loss, Texts(), config(learning_rate=1e30, clip=0.0)).run()


def test_bfloat16_computes_in_two_bytes_and_keeps_weights_in_four() -> None:
    seen = list[torch.dtype]()

    def loss(made: nn.Module, batch: Any) -> tuple[Tensor, Tensor]:
        made.head.register_forward_hook(lambda _, __, out: seen.append(out.dtype))  # type: ignore[union-attr]
        return next_token_loss(made, batch)

    trainer = Trainer(model(), loss, Texts(), config(precision="bfloat16"))
    trainer.run(stop_after=1)
    assert set(seen) == {torch.bfloat16} and {p.dtype for p in trainer.model.parameters()} == {torch.float32}


@pytest.mark.parametrize(
    ("precision", "has_instructions", "wanted"),
    [
        ("float32", True, torch.float32), ("bfloat16", False, torch.bfloat16), ("auto", True, torch.bfloat16),
        ("auto", False, torch.float32),
    ],
)  # fmt: skip
def test_auto_is_what_the_device_has_instructions_for(
    monkeypatch: pytest.MonkeyPatch, precision: str, has_instructions: bool, wanted: torch.dtype
) -> None:
    monkeypatch.setattr("finetune.training.train.multiplies_in_bfloat16", lambda device: has_instructions)
    with multiply_in(precision, torch.device("cpu")):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == wanted


def test_a_model_is_trained_in_training_mode_and_learns() -> None:
    records = list[Any]()
    trainer = Trainer(model().eval(), next_token_loss, Texts(), config(epochs=60), sinks=[records.append])
    trainer.run()
    assert trainer.model.training
    # From about log 9 = 2.2: ten examples of a few targets are learnt by heart.
    assert records[0]["loss"] > 1.5 and np.mean([r["loss"] for r in records[-3:]]) < 0.3


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"epochs": 0}, "epochs must be at least 1"),
        ({"learning_rate": -1.0}, "learning_rate must not be negative"),
        ({"learning_rate": float("nan")}, "learning_rate must not be negative"),
        ({"precision": "float16"}, "precision 'float16'"),
        ({"optimizer": "adam"}, "optimizer 'adam' is not one of adamw, muon, sgd, adagrad"),
        ({"schedule": "step"}, "schedule 'step' is not one of cosine, linear, constant"),
        ({"accumulate": 5}, "4 examples cannot be computed in 5 parts"),
        ({"warmup_tokens": 9, "final_tokens": 9}, "warm-up of 9 tokens"),
    ],
)
def test_bad_settings_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        config(**changes)


def test_no_examples_are_refused() -> None:
    with pytest.raises(BadInput, match="nothing to train on"):
        Trainer(model(), next_token_loss, Texts(0), config())


# The tracer looks at the gradient of what is no leaf; it means to hide that warning, which an error cannot be.
@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning")
@pytest.mark.compiles
def test_a_compiled_model_takes_the_same_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch.compile with its tracer and without its code generator, which would take minutes to build."""
    compiled = torch.compile
    called = list[nn.Module]()

    def traced(module: nn.Module) -> Any:
        called.append(module)
        return compiled(module, backend="eager")

    monkeypatch.setattr(torch, "compile", traced)
    records = [list[Any](), list[Any]()]
    for compile_it, found in zip((False, True), records, strict=True):
        Trainer(model(), next_token_loss, Texts(), config(compile=compile_it), sinks=[found.append]).run()
    assert len(called) == 1
    strip = lambda found: [{k: v for k, v in r.items() if k != "seconds"} for r in found]  # noqa: E731
    assert strip(records[0]) == strip(records[1])


@pytest.mark.parametrize("value", [None, 7, "text", [], {}, [{"a": 1}]], ids=repr)
@pytest.mark.parametrize("name", [*STATE, "config", "examples", "about", "random.numpy", "random.torch"])
def test_a_checkpoint_with_something_else_in_it_is_refused(tmp_path: Path, name: str, value: Any) -> None:
    """Whatever a file holds under a name, it is one line, or a run that goes on."""
    trainer = Trainer(model(), next_token_loss, Texts(), config(epochs=1), path=tmp_path / "c")
    trainer.run()
    state: Any = checkpoint.load(tmp_path / "c")
    inner = state
    *path, last = name.split(".")
    for part in path:
        inner = inner[part]
    inner[last] = value
    checkpoint.save(tmp_path / "c", state)
    again = Trainer(model(), next_token_loss, Texts(), config(epochs=1), path=tmp_path / "c")
    kept = (value == 7 and name in PLACE) or (not value and name == "about")
    with nullcontext() if kept else pytest.raises(BadInput):
        again.load()
