"""A trainer that knows no model: it is given one, a loss that returns (sum, tokens), and a source of batches.

Everything that decides the next step is in `state()`; a run that was interrupted goes on to the same bits.
The states of all random generators that a training step may draw from are values that a checkpoint can hold.

Ctrl-C and SIGTERM end the step that runs, and what there is goes into the checkpoint. A second signal ends at once.
The exit status is that of a program ended by the signal: 130 or 143.
"""

from __future__ import annotations

import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import Any, Protocol, cast

import click
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from finetune.errors import BadInput
from finetune.training import checkpoint
from finetune.training.config import TrainConfig
from finetune.training.optimizer import OPTIMIZERS, rate
from finetune.training.processes import OneProcess, leave_group, processes


def random_states() -> dict[str, Any]:
    """The states of the generators that a step may draw from: torch's, NumPy's and Python's."""
    kind, words, place, has_gauss, gauss = np.random.get_state(legacy=True)
    state = np.asarray(words).astype(np.int64)
    return {
        "torch": torch.get_rng_state(),
        "cuda": list(torch.cuda.get_rng_state_all()) if torch.cuda.is_available() else [],
        "numpy": (str(kind), torch.from_numpy(state), int(place), int(has_gauss), float(gauss)),
        "python": random.getstate(),
    }  # fmt: skip


def restore_random_states(states: Mapping[str, Any]) -> None:
    """Put the generators back where `random_states` found them."""
    torch.set_rng_state(states["torch"])
    if states["cuda"] and torch.cuda.is_available():
        torch.cuda.set_rng_state_all(states["cuda"])
    kind, words, *rest = states["numpy"]
    np.random.set_state((kind, words.numpy().astype(np.uint32), *rest))
    random.setstate(states["python"])


Batch = Mapping[str, Tensor]
Loss = Callable[[nn.Module, Batch], tuple[Tensor, Tensor]]
Sink = Callable[[Mapping[str, Any]], None]

PLACE = ("epoch", "position", "step", "tokens")
"""Where a run is in its data, in a checkpoint."""
STATE = ("model", "optimizer", "random", *PLACE)
"""What a checkpoint needs beside its configuration, for a run to go on to the same bits."""


class Source(Protocol):
    """Where batches come from: examples by number."""

    def __len__(self) -> int: ...
    def batch(self, epoch: int, indices: npt.NDArray[np.int64]) -> Batch:
        """The examples `indices` as they are in an epoch; a function of its arguments alone."""
        ...


def order(seed: int, epoch: int, count: int) -> npt.NDArray[np.int64]:
    """The order of the examples in an epoch: a permutation that seed and epoch decide."""
    return np.random.default_rng([seed, epoch]).permutation(count)


def parts_of(indices: npt.NDArray[np.int64], count: int, widths: Any = None) -> list[npt.NDArray[np.int64]]:
    """At most `count` parts of a step's examples, of nearly equal numbers; by width where widths are given.

    A step adds up its parts, so that it is the same step up to the order of sums.
    Example:
        >>> [part.tolist() for part in parts_of(np.array([4, 7, 9]), 2, [30, 5, 20])]
        [[7, 9], [4]]
    """
    if widths is not None and count > 1:
        indices = indices[np.argsort(np.asarray(widths), kind="stable")]
    return [part for part in np.array_split(indices, count) if len(part)]


def multiplies_in_bfloat16(device: torch.device) -> bool:
    """Whether a device has instructions for products of bfloat16; elsewhere they are emulated, and slow."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())


def multiply_in(precision: str, device: torch.device) -> AbstractContextManager[Any]:
    """Return a context in which a model multiplies in a precision; weights stay as they are.

    Args:
        precision: float32, bfloat16, or auto: bfloat16 where the device has instructions for it.
        device: where the model is.
    """
    half = precision == "bfloat16" or (precision == "auto" and multiplies_in_bfloat16(device))
    return torch.autocast(device.type, torch.bfloat16) if half else nullcontext()


class Trainer:
    """Trains a model on a source.

    Args:
        model: any module; it is moved to the device.
        loss: `loss(model, batch) -> (sum over the batch's targets, their number)`.
        source: the examples.
        config: how.
        path: where checkpoints go, or None. If it is there already, `run(resume=True)` goes on from it.
        sinks: called with each record of metrics, in the first process.
        team: the processes; found out where None.
        about: what else decides the run and must not change when it goes on, by name; what is too long to tell, such as
            the data, as a digest that begins with "sha256:" under a name like "another corpus".

    Its attribute `stop`, where it is set (by a signal, say), ends `run` between two steps, in all processes; `seconds`
    is what the steps took, those before an interruption included; `watchers` are called with each record in all
    processes.

    Raises: BadInput where the source is empty.
    """

    def __init__(
        self, model: nn.Module, loss: Loss, source: Source, config: TrainConfig, *, path: str | Path | None = None,
        sinks: Sequence[Sink] = (), team: OneProcess | None = None, about: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        if not len(source):
            raise BadInput("there is nothing to train on")
        self.team = team or processes()
        self.model = model.to(self.team.device)
        self.loss, self.source, self.config, self.sinks = loss, source, config, list(sinks)
        self.beginnings: list[Callable[[], None]] = []
        """Called by each run before its first step, after what a checkpoint is refused for."""
        self.path, self.about = None if path is None else Path(path), dict(about or {})
        self.optimizer = OPTIMIZERS[config.optimizer](model, config.learning_rate, config.betas, config.weight_decay)
        self.wrapped = self.team.wrap(model)
        self.called = cast(nn.Module, torch.compile(self.wrapped)) if config.compile else self.wrapped
        self.epoch = self.position = self.step = self.tokens = 0
        self.seconds, self.stop = 0.0, False
        self.seconds_before = 0.0
        """What the steps took before this run went on from a checkpoint."""
        self.watchers: list[Sink] = []
        self.steppers: list[Callable[[int, int], None]] = []
        """Called after each step in the first process, with its number and that of all steps."""

    # --- state ----------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Everything that decides what comes next: weights, optimizer, generators, and the place in the data."""
        return {
            "model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(), "random": random_states(),
            "epoch": self.epoch, "position": self.position, "step": self.step, "tokens": self.tokens,
            "config": asdict(self.config), "examples": len(self.source), "about": self.about,
        }  # fmt: skip

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state.

        Raises: BadInput where it is of another configuration (only `epochs` and what is logged and saved may
            differ), of other data or another model, or about something else.
        """
        free = {"epochs", "log_every", "save_every"}
        if not {*STATE, "config", "examples"} <= set(state):
            raise BadInput("this is not a checkpoint of a training run: it holds parameters only")
        if not isinstance(state["config"], dict) or not isinstance(state.get("about") or {}, dict):
            raise BadInput("the checkpoint is damaged: its configuration is not a table of values")
        # Before the numbers: some follow from what the run is about, and would be reported in its place.
        before = state.get("about") or self.about  # one that tells nothing was made without the command line
        for name, value in self.about.items():
            old = before.get(name)
            if old != value:
                message = name if "sha256:" in f"{old} {value}" else f"{name}={old!r}, this run has {value!r}"
                raise BadInput(f"the checkpoint was made with {message}; use another checkpoint for another run")
        if state["examples"] != len(self.source):
            raise BadInput(
                f"the checkpoint was made with {state['examples']} examples, this run has {len(self.source)}"
            )
        for name, value in asdict(self.config).items():
            old = state["config"].get(name, getattr(TrainConfig, name))  # a field may be younger than the checkpoint
            if name not in free and old != value:
                raise BadInput(f"the checkpoint was made with {name}={old!r}, this run has {value!r}")
        try:
            self.model.load_state_dict(state["model"])
        except (RuntimeError, TypeError) as error:  # other names and shapes, or not a table of tensors at all
            line = str(error).splitlines()[-1].strip()
            raise BadInput(f"the checkpoint is of another model: {line[:120]}") from None
        try:
            self.optimizer.load_state_dict(state["optimizer"])
            restore_random_states(state["random"])
            self.epoch, self.position, self.step, self.tokens = (int(state[name]) for name in PLACE)
            self.seconds = self.seconds_before = float(state.get("seconds", 0.0))
        except (KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:
            raise BadInput(f"the checkpoint cannot be gone on from ({type(error).__name__}: {error})") from None

    def save(self) -> None:
        """Write a checkpoint where there is a path; with several processes the first one does.

        Raises: BadInput if a weight is not finite; the file written before stays.
        """
        if not all(bool(torch.isfinite(p).all()) for p in self.model.parameters()):
            raise BadInput(
                f"step {self.step} made weights that are infinite or no numbers, and are not kept; a smaller "
                f"learning rate than {self.config.learning_rate}, or a longer warm-up, may help"
            )
        states = [{"torch": s} for s in self.team.all_gather(torch.get_rng_state())]
        if self.path is not None and self.team.rank == 0:
            checkpoint.save(self.path, {**self.state(), "others": states, "seconds": self.seconds})
        self.team.barrier()

    def load(self) -> None:
        """Go on from the checkpoint at the path. Raises: BadInput as `restore` and `checkpoint.load`."""
        assert self.path is not None
        state = checkpoint.load_record(self.path, {}, "the checkpoint of a training run")
        self.restore(state)
        if self.team.world > 1:
            others = state.get("others")
            if not isinstance(others, list) or len(others) != self.team.world:
                count = len(others) if isinstance(others, list) else "an unknown number of"
                raise BadInput(f"the checkpoint is of {count} processes, these are {self.team.world}")
            torch.set_rng_state(others[self.team.rank]["torch"])

    # --- training -------------------------------------------------------------------------------------

    def run(self, *, resume: bool = False, stop_after: int | None = None) -> dict[str, Any]:
        """Train to the last epoch; returns the last record of metrics.

        Args: resume: go on from the checkpoint at the path where there is one; stop_after: so many steps of this call.
        Raises: BadInput once the loss is NaN.
        """
        if not self.step:  # one that goes on keeps its generators, wherever its state came from
            torch.manual_seed(self.config.seed + self.team.rank)
        if resume and self.path is not None and self.path.exists():
            self.load()
        for begin in self.beginnings:
            begin()
        self.model.train()
        record: dict[str, Any] = {}
        count, first = len(self.source), self.step
        while self.epoch < self.config.epochs:
            examples = self._order(count)
            while self.position < count:
                if (stop_after is not None and self.step - first >= stop_after) or self._stops():
                    return record
                record = self._step(examples[self.position : self.position + self.config.batch_size]) or record
                for show in self.steppers if self.team.rank == 0 else ():
                    show(self.step, self.config.epochs * -(-count // self.config.batch_size))
            self.epoch, self.position = self.epoch + 1, 0
            if self.epoch % self.config.save_every == 0 or self.epoch == self.config.epochs:
                self.save()
        return record

    def _stops(self) -> bool:
        """Whether any process got a signal to stop; they must agree, or some would wait for others' gradients."""
        if self.team.world > 1:
            self.stop = bool(self.team.all_reduce(torch.tensor(int(self.stop), device=self.team.device)))
        return self.stop

    def _order(self, count: int) -> npt.NDArray[np.int64]:
        """The order of this epoch: the source's own where it has one, as to put texts of like lengths together."""
        own = getattr(self.source, "order", None)
        if own is None:
            return order(self.config.seed, self.epoch, count)
        return np.asarray(own(self.config.seed, self.epoch, self.config.batch_size), np.int64)

    def _step(self, indices: npt.NDArray[np.int64]) -> dict[str, Any] | None:
        """One step of the optimizer; a record of metrics where one is due."""
        start = time.perf_counter()
        self.optimizer.zero_grad(set_to_none=True)
        total, tokens = self._gradients(indices)
        # Averaged over the processes, summed over everything else; now a mean over all tokens of the step.
        scale = self.team.world / torch.clamp(tokens, min=1).double()
        gradients = [p.grad for p in self.model.parameters() if p.grad is not None]
        torch._foreach_mul_(gradients, scale.to(gradients[0].dtype))
        # The largest finite number as a bound measures without clipping.
        bound = self.config.clip or torch.finfo(torch.float32).max
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), bound)
        self.tokens += int(tokens)
        factor = self._factor()
        for group in self.optimizer.param_groups:
            group["lr"] = self.config.learning_rate * factor
        self.optimizer.step()
        self.step += 1
        self.position += len(indices)
        seconds = time.perf_counter() - start
        self.seconds += seconds
        if self.step % self.config.log_every and self.position < len(self.source):
            return None
        return self._record(float(total / torch.clamp(tokens, min=1)), float(norm), factor, seconds)

    def _gradients(self, indices: npt.NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        """Add up the gradients of one step's examples; the summed loss and the number of tokens, over all processes."""
        mine = indices[self.team.rank :: self.team.world]
        widths = getattr(self.source, "widths", None)
        parts = parts_of(mine, self.config.accumulate, None if widths is None else widths(self.epoch, mine))
        total = torch.zeros((), dtype=torch.float64, device=self.team.device)
        tokens = torch.zeros((), dtype=torch.int64, device=self.team.device)
        # A process without an example of its own takes part all the same: the others wait for its gradients.
        idle = not parts
        for number, part in enumerate(parts or [indices[:1]]):
            batch = {k: v.to(self.team.device) for k, v in self.source.batch(self.epoch, part).items()}
            more = number + 1 < len(parts)
            with self.team.no_sync(self.wrapped) if more else nullcontext():
                with self._autocast():
                    loss, targets = self.loss(self.called, batch)
                self.team.backward(loss * 0.0 if idle else loss)
            if not idle:
                total, tokens = total + loss.detach(), tokens + targets
        return self.team.all_reduce(total), self.team.all_reduce(tokens)

    def _factor(self) -> float:
        """The factor of the learning rate in this step, whose targets are counted already."""
        settings = self.config
        return rate(self.tokens, settings.warmup_tokens, settings.final_tokens, settings.floor, settings.schedule)

    def _autocast(self) -> AbstractContextManager[Any]:
        return multiply_in(self.config.precision, self.team.device)

    def _record(self, loss: float, norm: float, factor: float, seconds: float) -> dict[str, Any]:
        record = {
            "step": self.step, "epoch": self.epoch, "tokens": self.tokens, "loss": loss, "gradient_norm": norm,
            "learning_rate": self.config.learning_rate * factor, "seconds": seconds,
        }  # fmt: skip
        if not np.isfinite([loss, norm]).all():
            raise BadInput(
                f"step {self.step}: the loss is {loss}, the gradients' norm {norm}; a smaller learning rate than "
                f"{self.config.learning_rate}, or a longer warm-up, may help"
            )
        for sink in (*self.watchers, *(self.sinks if self.team.rank == 0 else ())):
            sink(record)
        return record


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
            leave_group()
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
            "and the same command continues from there"
        )
    return (
        f"interrupted after step {trainer.step}, which is kept in {trainer.path} (--checkpoint_path); the same command "
        "continues from there"
    )
