"""Ctrl-C and SIGTERM in a run of training: the step that runs is ended, what there is goes into the checkpoint.

A second signal ends at once. The exit status is that of a program ended by the signal: 130 or 143.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import click

from finetune.training.train import Trainer


class _Told:
    """What to do when a signal comes: ask the trainer to stop, and the second time break off."""

    def __init__(self, trainer: Trainer) -> None:
        self.trainer, self.number = trainer, signal.SIGINT

    def __call__(self, number: int, _: FrameType | None) -> None:
        again, self.number = self.trainer.stop, signal.Signals(number)
        self.trainer.stop = True
        if again:
            raise KeyboardInterrupt


@contextmanager
def stopped_by_signals(trainer: Trainer) -> Iterator[None]:
    """Within, a signal stops a trainer between two steps; then its state is saved, and the program ends.

    What a parent process had set to be ignored, as a shell does for its background jobs, stays ignored.
    Raises: SystemExit where a signal came and the run is not over.
    Example: with stopped_by_signals(trainer): trainer.run(resume=True)
    """
    notice = _Told(trainer)
    old = {}
    if threading.current_thread() is threading.main_thread():  # the only one that may set handlers
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) != signal.SIG_IGN:
                old[number] = signal.signal(number, notice)
    try:
        yield
        if trainer.stop and trainer.epoch < trainer.config.epochs:
            trainer.save()
            if trainer.team.rank == 0:
                click.echo(f"finetune: {_resume_hint(trainer)}", err=True)
            sys.exit(128 + notice.number)
    except KeyboardInterrupt:
        click.echo("finetune: interrupted at once, nothing more was kept", err=True)
        sys.exit(128 + notice.number)
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


def _resume_hint(trainer: Trainer) -> str:
    """One line: what was kept, and how to go on."""
    if trainer.path is None:
        return (
            f"interrupted after step {trainer.step}, and nothing was kept; with --checkpoint_path FILE all of it is, "
            "and the same command goes on from there"
        )
    return (
        f"interrupted after step {trainer.step}, which is kept in {trainer.path} (--checkpoint_path); the same command "
        "goes on from there"
    )
