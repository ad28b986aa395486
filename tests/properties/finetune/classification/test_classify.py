"""Fine-tuning a classifier, on an encoder of a few thousand numbers.

finetune.classification.classify: every method learns ten examples by heart, on loss as well; a killed run goes on to the same bits.

What is trained on: smoothed cross-entropy against torch's own, and weights that keep the size of the loss.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from finetune.classification.classify import Run, class_weights, run_of, training_losses
from finetune.classification.config import DEFAULTS, ClassifyConfig
from finetune.classification.monitor import Monitor
from finetune.errors import BadInput
from tests.tiny_encoders import write_boolq, write_encoder, write_sst2


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    write_encoder(folder / "m", width=24, block=64)
    write_sst2(folder / "sst")
    write_boolq(folder / "boolq")
    return folder


def config(world: Path, **changes: Any) -> ClassifyConfig:
    options: dict[str, Any] = {
        "model": str(world / "m"), "data": str(world / "sst"), "batch_size": 10, "prompt_length": 6, "device": "cpu",
        "warmup_ratio": 0.0, **changes,
    }  # fmt: skip
    return ClassifyConfig(**options)


def silent(_: str) -> None:
    return


RATES = {"full": 3e-3, "head": 1.0, "prompt": 0.3, "prefix": 0.3, "lora": 0.03, "bias": 0.03}


def overfit(world: Path, **changes: Any) -> Monitor:
    """Ten examples, twenty epochs. Raises: AssertionError where they are not learnt."""
    method = changes["method"]
    options = {"learning_rate": RATES[method], "epochs": 20, "dropout": 0.0, "batch_size": 2, "pool": "mean", **changes}
    run = run_of(config(world, small_subset=True, **options), silent)
    for module in run.classifier.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
        if hasattr(module, "n_head"):
            module.dropout = 0.0
    seen = run.train()
    last = seen.records[-1]
    assert last["train_accuracy"] == 1.0, f"got an accuracy of {last['train_accuracy']}, but should be 1"
    assert last["train_loss"] < 0.1, f"got a loss of {last['train_loss']:.3f}, but should be below 0.1"
    return seen


@pytest.mark.thorough(keep=("full", "lora", "prefix"))
@pytest.mark.parametrize("method", DEFAULTS)
def test_ten_examples_are_learnt_by_heart(world: Path, method: str) -> None:
    """The check of the source: 10 examples, 20 epochs; of the loss too, which accuracy hides."""
    overfit(world, method=method)


def test_pairs_and_the_masked_lm_loss_beside_it(world: Path) -> None:
    seen = overfit(world, method="full", data=str(world / "boolq"), mlm_alpha=0.1)
    losses = [record["masked_lm_loss"] for record in seen.records]
    assert losses[-1] < losses[0]


def test_a_rate_that_never_gets_up_does_not_learn_them(world: Path) -> None:
    """Seen to fail: a warm-up fifty times as long as training ends at a fiftieth of the rate."""
    with pytest.raises(AssertionError, match="but should be"):
        overfit(world, method="full", learning_rate=RATES["full"] / 50)


class Killed(Exception):
    """A run that is broken off."""


def trained(world: Path, folder: Path | None, kill_at: int | None = None, **changes: Any) -> Monitor:
    run = run_of(
        config(
            world,
            epochs=4,
            train_size=23,
            logging_steps=2,
            output_dir=None if folder is None else str(folder),
            **changes,
        ),
        silent,
    )

    def kills(record: Mapping[str, Any]) -> None:
        if kill_at is not None and record["step"] >= kill_at:
            raise Killed

    return run.train(kills)


@pytest.mark.thorough(keep=("5-*",))
@pytest.mark.parametrize(
    "changes", [{"method": "lora"}, {"method": "full", "mlm_alpha": 0.5, "accumulate": 2}, {"method": "head"}]
)
@pytest.mark.parametrize("kill_at", [2, 5, 12])
def test_a_killed_run_goes_on_to_the_same_bits(
    world: Path, tmp_path: Path, changes: dict[str, Any], kill_at: int
) -> None:
    whole = trained(world, None, **changes)
    with pytest.raises(Killed):
        trained(world, tmp_path / "r", kill_at, **changes)
    again = trained(world, tmp_path / "r", **changes)
    assert again.records == whole.records and again.best == whole.best
    assert all(torch.equal(again.kept[name], value) for name, value in whole.kept.items())
    assert trained(world, tmp_path / "r", **changes).records == whole.records, "a finished run is read again"


def test_only_trained_parameters_change_and_they_do(world: Path) -> None:
    run = run_of(config(world, method="lora", epochs=1), silent)
    before = {name: p.detach().clone() for name, p in run.classifier.named_parameters()}
    assert run.adapter is not None
    own = set(run.adapter.trainable())
    run.train()
    changed = {name for name, p in run.classifier.named_parameters() if not torch.equal(p.detach(), before[name])}
    assert changed == own
    assert run.parameters() == (sum(before[n].numel() for n in own), sum(v.numel() for v in before.values()))


def test_head_tuning_runs_the_encoder_once(world: Path, tmp_path: Path) -> None:
    run = run_of(config(world, method="head", epochs=5, cache_dir=str(tmp_path)), silent)
    calls: list[int] = []
    run.pretrained.encoder.register_forward_hook(lambda *_: calls.append(1))
    first = run.train()
    assert len(calls) == 6 + 2, "60 and 20 examples in batches of 10, for all epochs together"
    said: list[str] = []
    again = run_of(config(world, method="head", epochs=5, cache_dir=str(tmp_path)), said.append)
    again.pretrained.encoder.register_forward_hook(lambda *_: calls.append(1))
    assert again.train().records == first.records and len(calls) == 8
    assert [line for line in said if "features" in line] == [
        "train: features of 60 texts were kept", "dev: features of 20 texts were kept"
    ]  # fmt: skip


def test_the_best_is_in_the_model_at_the_end(world: Path) -> None:
    """The last is another one: a run that kept the last would be seen."""
    run = run_of(config(world, method="full", epochs=6, learning_rate=0.02), silent)
    weights: list[torch.Tensor] = []

    def row() -> torch.Tensor:
        return torch.cat([p.detach().reshape(-1) for p in run.classifier.parameters()])

    seen = run.train(lambda record: weights.append(row()))
    accuracies = [record["dev_accuracy"] for record in seen.records]
    assert seen.best is not None and seen.best["dev_accuracy"] == max(accuracies)
    best = next(i for i, record in enumerate(seen.records) if record["step"] == seen.best["step"])
    assert best < len(accuracies) - 1 and not torch.equal(weights[best], weights[-1])
    assert torch.equal(row(), weights[best])
    assert run.score(run.source("dev", run.sides.dev)).accuracy == seen.best["dev_accuracy"]


def test_what_is_cut_is_counted_and_said(world: Path) -> None:
    said: list[str] = []
    run = run_of(config(world, max_seq_length=6), said.append)
    source = run.texts("train", run.sides.train)
    cut = sum(len(text.split()) + 2 > 6 for text in run.sides.train.first)
    assert run.cut == {"train": cut} and said[-1] == f"train: {cut} of 60 texts are cut to 6 tokens"
    assert int(source.lengths.max()) == 6


def test_texts_of_unknown_words_are_said_to_be(world: Path) -> None:
    said: list[str] = []
    run = run_of(config(world), said.append)
    run.texts("train", run.sides.train)
    assert not any("unknown" in line for line in said)
    foreign = replace(run.sides.train, first=["очень хорошо"] * len(run.sides.train))
    run.texts("train", foreign)
    assert said[-1] == "train: 100% of the tokens are unknown to the tokenizer: is it made for these texts?"


def test_a_prompt_takes_its_positions_from_the_text(world: Path) -> None:
    assert run_of(config(world, method="prompt", prompt_length=50), silent).max_length == 14
    with pytest.raises(BadInput, match="a prefix of 64 leaves no room in a model of 64 positions"):
        run_of(config(world, method="prefix", prompt_length=64), silent)


def test_a_folder_of_another_run_is_refused_and_overwritten_when_asked(world: Path, tmp_path: Path) -> None:
    first = trained(world, tmp_path / "r", method="head")
    with pytest.raises(BadInput, match="holds another run"):
        trained(world, tmp_path / "r", method="head", seed=1)
    other = trained(world, tmp_path / "r", method="head", seed=1, overwrite_output_dir=True)
    assert other.records != first.records
    run = tmp_path / "r" / "run.json"
    run.write_bytes(b"\xff\xfe")
    with pytest.raises(BadInput, match=r"run\.json, line 1: not UTF-8"):
        trained(world, tmp_path / "r", method="head")
    run.unlink()
    run.mkdir()
    with pytest.raises(BadInput, match=r"run\.json is a folder"):
        trained(world, tmp_path / "r", method="head")
    (tmp_path / "r" / "curves.png").unlink(missing_ok=True)
    (tmp_path / "r" / "curves.png").mkdir()
    with pytest.raises(BadInput, match=r"curves\.png cannot be removed"):
        trained(world, tmp_path / "r", method="head", overwrite_output_dir=True)
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="cannot be made"):
        trained(world, tmp_path / "file" / "r", method="head")


def test_the_identity_sees_data_weights_and_options(world: Path, tmp_path: Path) -> None:
    one = run_of(config(world), silent).identity()
    assert one == run_of(config(world, output_dir=str(tmp_path), device="cpu"), silent).identity()
    write_encoder(tmp_path / "m", width=24, block=64, seed=1)
    for changes in (
        {"learning_rate": 0.1},
        {"train_size": 59},
        {"model": str(tmp_path / "m")},
        {"data": str(world / "boolq")},
    ):
        assert run_of(config(world, **changes), silent).identity() != one


def test_one_class_alone_is_refused_before_training(world: Path) -> None:
    with pytest.raises(BadInput, match="of one class"):
        run_of(config(world, train_size=1), silent).train()


def test_a_run_is_prepared_without_training(world: Path) -> None:
    run = run_of(config(world), silent)
    assert isinstance(run, Run) and run.parameters()[0] == run.parameters()[1]


U = torch.finfo(torch.float64).eps


@given(st.integers(0, 10_000), st.integers(2, 7), st.floats(0, 0.9))
def test_smoothing_is_that_of_torch(seed: int, classes: int, smoothing: float) -> None:
    torch.manual_seed(seed)
    logits, labels = 5 * torch.randn(11, classes, dtype=torch.float64), torch.randint(classes, (11,))
    want = torch.nn.functional.cross_entropy(logits, labels, label_smoothing=smoothing, reduction="none")
    # Sums of `classes` terms, each at most the largest loss.
    bound = 8 * classes * U * (logits.max() - logits.min() + torch.log(torch.tensor(float(classes))))
    assert (training_losses(logits, labels, smoothing) - want).abs().max() <= bound


@given(st.lists(st.integers(1, 1000), min_size=2, max_size=6))
def test_balanced_weights_give_each_class_the_same_total_and_mean_one(counts: list[int]) -> None:
    weights = class_weights("balanced", counts)
    assert weights is not None
    totals = [w * n for w, n in zip(weights, counts, strict=True)]
    assert sum(totals) == pytest.approx(sum(counts), rel=8 * len(counts) * U)
    assert max(totals) == pytest.approx(min(totals), rel=8 * len(counts) * U)


def test_weights_are_those_of_an_examples_own_class() -> None:
    logits, labels = torch.zeros(2, 2, dtype=torch.float64), torch.tensor([0, 1])
    plain = training_losses(logits, labels)
    assert torch.equal(training_losses(logits, labels, weights=[1.0, 3.0]), plain * torch.tensor([1.0, 3.0]))
    assert class_weights("2,2", [5, 7]) == [1.0, 1.0] and class_weights("none", [1, 2]) is None


@pytest.mark.parametrize(
    ("wish", "words"),
    [("1", "names 1 weights for 2"), ("1,0", "positive numbers"), ("1,x", "positive numbers"), ("1,inf", "positive")],
)
def test_weights_that_cannot_be_are_one_line(wish: str, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        class_weights(wish, [3, 4])
    with pytest.raises(BadInput, match="no training example"):
        class_weights("balanced", [3, 0])
