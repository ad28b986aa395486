"""Signals in a run of training, raised within a step in this process.

finetune.training.train: a signal ends a run between two steps, what it did is kept, and going on changes no bit.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from finetune.training import checkpoint
from finetune.training.config import TrainConfig
from finetune.training.processes import OneProcess
from finetune.training.train import Trainer, stopped_by_signals


@pytest.fixture(autouse=True)
def heard() -> Iterator[None]:
    """Signals as a terminal's programs have them: what runs in the background of a shell ignores Ctrl-C from the start."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler), signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGINT, before[0])
    signal.signal(signal.SIGTERM, before[1])


class Rows:
    """Ten examples; while a chosen step asks for its batch, signals come."""

    def __init__(self, step: int = 0, signals: tuple[int, ...] = ()) -> None:
        self.x = torch.randn(10, 3, generator=torch.Generator().manual_seed(0))
        self.step, self.signals, self.asked = step, signals, 0

    def __len__(self) -> int:
        return len(self.x)

    def batch(self, epoch: int, indices: Any) -> dict[str, Tensor]:
        self.asked += 1
        if self.asked == self.step:
            for number in self.signals:
                signal.raise_signal(number)
        return {"x": self.x[indices]}


def loss(model: nn.Module, batch: Any) -> tuple[Tensor, Tensor]:
    return model(batch["x"]).square().sum(), torch.tensor(len(batch["x"]))


def trainer(source: Rows, path: Path | None = None) -> Trainer:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 1))
    settings = TrainConfig(epochs=3, batch_size=4, learning_rate=0.1, save_every=3)
    return Trainer(model, loss, source, settings, path=path, team=OneProcess("cpu"))


def numbers(made: Trainer) -> Tensor:
    return torch.cat([p.detach().reshape(-1) for p in made.model.parameters()])


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("step", [1, 2, 3, 5, 8])
def test_the_step_is_ended_and_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], step: int, number: int, status: int
) -> None:
    """Within an epoch, at its end (3) and in the last one; nine steps in all, by themselves kept at the end alone."""
    before = signal.getsignal(number)
    first = trainer(Rows(step, (number,)), tmp_path / "c")
    with pytest.raises(SystemExit) as ended, stopped_by_signals(first):
        first.run(resume=True)
    assert ended.value.code == status and signal.getsignal(number) is before
    line = f"finetune: interrupted after step {step}, which is kept in {tmp_path / 'c'} (--checkpoint_path); "
    assert capsys.readouterr().err == line + "the same command continues from there\n"
    assert checkpoint.load(tmp_path / "c")["step"] == step == first.step
    torch.manual_seed(99)
    second, whole = trainer(Rows(), tmp_path / "c"), trainer(Rows())
    with stopped_by_signals(second):
        second.run(resume=True)
    assert second.step == 9 and second.seconds > first.seconds > 0
    whole.run()
    assert torch.equal(numbers(second), numbers(whole))


def test_without_a_checkpoint_nothing_is_kept_and_the_option_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    made = trainer(Rows(2, (signal.SIGINT,)))
    with pytest.raises(SystemExit) as ended, stopped_by_signals(made):
        made.run()
    assert ended.value.code == 130 and made.step == 2
    told = capsys.readouterr().err
    assert (
        told.count("\n") == 1 and "interrupted after step 2, and nothing was kept; with --checkpoint_path FILE" in told
    )


@pytest.mark.parametrize(("second", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_second_signal_ends_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], second: int, status: int
) -> None:
    made = trainer(Rows(2, (signal.SIGINT, second)), tmp_path / "c")
    with pytest.raises(SystemExit) as ended, stopped_by_signals(made):
        made.run()
    assert ended.value.code == status and made.step == 1 and not (tmp_path / "c").exists()
    assert capsys.readouterr().err == "finetune: interrupted at once, nothing more was kept\n"


def test_a_run_that_is_over_is_not_interrupted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = trainer(Rows(9, (signal.SIGINT,)), tmp_path / "c")
    with stopped_by_signals(made):
        made.run()
    assert made.step == 9 and not capsys.readouterr().err


def test_what_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        made = trainer(Rows(2, (signal.SIGINT,)))
        with stopped_by_signals(made):
            made.run()
        assert made.step == 9 and signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_one_of_several_processes_stops_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sum over two processes, of which the other one was told."""
    made = trainer(Rows())
    monkeypatch.setattr(made.team, "world", 2)
    monkeypatch.setattr(made.team, "all_reduce", lambda value: value + 1)
    assert made.run() == {} and made.stop and made.step == 0
