"""Fine-tuning on a GPU whose steps are recorded once for each length and replayed, without waiting between them.

A step of MiniLM is a thousand kernels of a few microseconds each, and a processor takes longer to launch than a GPU to
compute them. A CUDA graph launches all of them at once. What is trained is what `Run` trains: order of examples, loss,
clipping, schedule, evaluations and choice of the best are its own; batches are padded to one of a few lengths, and the
last one of an epoch is filled up with examples that do not count, since a graph has fixed sizes.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from finetune.classification.classify import Run, class_weights, logits_of
from finetune.classification.frozen_features import Features, OnFeatures
from finetune.classification.monitor import Monitor
from finetune.classification.pretrained import masked_lm_of
from finetune.classification.scores import Tally
from finetune.data.collate import LabelledTexts, pad_rows
from finetune.errors import BadInput
from finetune.models.classifier import IGNORED, TEXTS, vectors_of
from finetune.models.gpt import at_least_single
from finetune.peft import prompt
from finetune.training.optimizer import decay_groups, rate
from finetune.training.train import multiplies_in_bfloat16, order

WIDTHS = (16, 32, 48, 64, 96, 128, 192, 256, 384, 512)
"""The lengths that batches are padded to: a step is recorded for each that occurs."""


class Update:
    """A step of an optimizer whose rate is a tensor, so that it can be recorded; formulas as in `finetune.training`.

    Args: name; model; betas; decay; rate, a tensor.
    """

    def __init__(self, name: str, model: nn.Module, betas: tuple[float, float], decay: float, rate: Tensor) -> None:
        groups, self.rate, self.name = decay_groups(model, decay), rate, name
        if name == "adamw":
            self.adamw = torch.optim.AdamW(groups, lr=rate, betas=betas, fused=True, capturable=rate.is_cuda)
        elif name not in ("sgd", "adagrad"):
            raise BadInput(f"steps with {name} are not recorded")
        self.groups = [(group["params"], group["weight_decay"]) for group in groups]
        self.sums = [[torch.zeros_like(p) for p in params] for params, _ in self.groups]

    @torch.no_grad()
    def step(self) -> None:
        """One step of all parameters that have a gradient."""
        if self.name == "adamw":
            self.adamw.step()
            return
        for (params, decay), sums in zip(self.groups, self.sums, strict=True):
            for weight, total in zip(params, sums, strict=True):
                if weight.grad is None:
                    continue
                gradient = weight.grad.add(weight, alpha=decay)
                if self.name == "adagrad":
                    total.addcmul_(gradient, gradient)
                    gradient = gradient / total.sqrt().add_(1e-10)
                weight.sub_(gradient * self.rate)


class Table:
    """All examples of a source on a device, and behind them one that does not count, so that a step takes numbers.

    Args: source; device.
    """

    def __init__(self, source: LabelledTexts | Features, device: torch.device) -> None:
        self.source = source
        count = len(source)
        labels = torch.as_tensor(source.labels)
        self.labels = torch.cat([labels, torch.tensor([IGNORED])]).to(device)
        if isinstance(source, Features):
            self.columns = {"features": torch.cat([source.vectors, source.vectors[:1]]).to(device)}
            self.lengths = np.zeros(count, np.int64)
            return
        rows = [*source.encoded.ids, source.encoded.ids[0][:1]]
        found = {"input_ids": pad_rows(rows, source.pad_id)}
        found["attention_mask"] = pad_rows([[1] * len(row) for row in rows], 0)
        if source.types:
            found["token_type_ids"] = pad_rows([*source.encoded.types, [0]], 0)
        self.lengths = source.lengths
        widest = width_of(int(self.lengths.max()))
        self.columns = {
            name: torch.from_numpy(np.pad(value, ((0, 0), (0, widest - value.shape[1])),
                                          constant_values=source.pad_id if name == "input_ids" else 0)).to(device)
            for name, value in found.items()
        }  # fmt: skip

    def take(self, places: Tensor, width: int) -> tuple[dict[str, Tensor], Tensor]:
        """The examples at some places, and their labels."""
        cut = {name: value if width == 0 else value[:, :width] for name, value in self.columns.items()}
        return {name: value.index_select(0, places) for name, value in cut.items()}, self.labels[places]

    def order(self, seed: int, epoch: int, size: int) -> Any:
        """The order of an epoch, as the trainer has it."""
        own = getattr(self.source, "order", None)
        return order(seed, epoch, len(self.source)) if own is None else own(seed, epoch, size)


def width_of(length: int) -> int:
    """The least of `WIDTHS` that has room; 0 for vectors.

    >>> width_of(33)
    48
    """
    return 0 if length == 0 else min(width for width in WIDTHS if width >= length)


class Steps:
    """The steps of a run on a device, each recorded at its second time where the device is a GPU.

    Args: run, prepared; monitor, which says how it is trained; source.
    """

    def __init__(self, run: Run, source: LabelledTexts | Features, *, recorded: bool = True) -> None:
        self.run, self.device = run, run.device
        self.recorded = recorded and self.device.type == "cuda"
        self.config = run.config.training(len(source))
        self.model: nn.Module = OnFeatures(run.classifier) if isinstance(source, Features) else run.classifier
        self.table = Table(source, self.device)
        self.size = self.config.batch_size
        self.places = torch.zeros(self.size, dtype=torch.int64, device=self.device)
        self.rate = torch.zeros((), device=self.device)
        self.counts = torch.zeros(4, dtype=torch.float64, device=self.device)
        """Right answers, examples, the sums of losses and of their squares."""
        weights = class_weights(run.config.class_weights, list(run.sides.train.counts().values()))
        self.weights = None if weights is None else torch.tensor(weights, device=self.device)
        self.norm = torch.zeros((), device=self.device)
        self.masked = None
        trained = self.model
        if run.config.mlm_alpha and isinstance(source, LabelledTexts):
            self.masked = Masked(run, source, self.size)
            trained = self.masked.together
        self.trained = trained.to(self.device)
        settings = self.config
        self.update = Update(settings.optimizer, trained, settings.betas, settings.weight_decay, self.rate)
        self.half = settings.precision == "bfloat16" or (
            settings.precision == "auto" and multiplies_in_bfloat16(self.device)
        )
        self.seen: set[int] = set()
        self.graphs: dict[int, Callable[[], None]] = {}
        self.pool: Any = None

    def one_step(self, width: int) -> None:
        """Gradients of the examples at `places`, padded to a width, and a step of the optimizer."""
        for parameter in self.trained.parameters():
            parameter.grad = None
        batch, labels = self.table.take(self.places, width)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.half, cache_enabled=False):
            if "features" in batch:
                logits = self.model(batch["features"])
            else:
                logits = self.model(**{name: batch[name] for name in TEXTS if name in batch})
            hidden = None if self.masked is None else self.masked.loss(width)
        loss = self.loss(at_least_single(logits), labels)
        if hidden is not None:
            loss = loss + self.run.config.mlm_alpha * hidden
        loss.backward()  # type: ignore[no-untyped-call]
        bound = self.config.clip or torch.finfo(torch.float32).max
        norm = nn.utils.clip_grad_norm_([p for p in self.trained.parameters() if p.grad is not None], bound)
        self.norm.copy_(norm)
        self.update.step()

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """The mean loss that is trained on; right answers and plain losses are counted on the way."""
        real = labels != IGNORED
        wanted = labels.clamp(min=0)
        logs = torch.log_softmax(logits, -1)
        plain = -logs.gather(-1, wanted[:, None])[:, 0]
        losses, smoothing = plain, self.run.config.label_smoothing
        if smoothing:
            losses = (1 - smoothing) * losses - smoothing * logs.mean(-1)
        if self.weights is not None:
            losses = losses * self.weights[wanted]
        with torch.no_grad():
            right = ((logits.argmax(-1) == wanted) & real).sum()
            exact = plain.double().masked_fill(~real, 0.0)
            self.counts += torch.stack((right.double(), real.sum().double(), exact.sum(), exact.square().sum()))
        # Filled, not chosen by torch.where: a number there is copied to the GPU, which no recording allows.
        return losses.masked_fill(~real, 0.0).sum() / real.sum()

    def take_step(self, width: int) -> None:
        """A step: the first of its width as it is, the second is recorded, and all from there on are replayed."""
        if width in self.graphs:
            self.graphs[width]()
        elif width in self.seen and self.recorded:
            self.graphs[width] = self.record_step(width)
            self.graphs[width]()
        else:
            self.seen.add(width)
            self.one_step(width)

    def record_step(self, width: int) -> Callable[[], None]:
        """A step as one launch. Recording it computes nothing."""
        graph = torch.cuda.CUDAGraph()
        if self.pool is None:
            self.pool = torch.cuda.graph_pool_handle()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, pool=self.pool, stream=torch.cuda.current_stream()):
            self.one_step(width)
        return graph.replay

    def train(self, monitor: Monitor) -> None:
        """All epochs, with the evaluations that `Trainer` has: at the end of each, and after `log_every` steps."""
        settings, count = self.config, len(self.table.source)
        torch.manual_seed(settings.seed)
        self.trained.train()
        step = tokens = 0
        for epoch in range(settings.epochs):
            examples = np.asarray(self.table.order(settings.seed, epoch, self.size), np.int64)
            starts = range(0, count, self.size)
            filled = np.concatenate([examples, np.full(-count % self.size, count)])
            rows = torch.from_numpy(filled.reshape(-1, self.size)).to(self.device)
            seen = [tokens + min(start + self.size, count) for start in starts]
            factors = [
                rate(n, settings.warmup_tokens, settings.final_tokens, settings.floor, settings.schedule) for n in seen
            ]  # fmt: skip
            rates = torch.tensor(factors, device=self.device) * settings.learning_rate
            for number, start in enumerate(starts):
                width = width_of(int(self.table.lengths[examples[start : start + self.size]].max()))
                self.places.copy_(rows[number])
                self.rate.copy_(rates[number])
                if self.masked is not None:
                    width = self.masked.fill(step, width)
                self.take_step(width)
                step += 1
                if step % settings.log_every == 0 or start + self.size >= count:
                    self.tell(monitor, step, seen[number], settings.learning_rate * factors[number])
            tokens += count

    def tell(self, monitor: Monitor, step: int, tokens: int, learning_rate: float) -> None:
        """An evaluation. Raises: BadInput where loss or gradients are not finite."""
        right, count, loss, square = self.counts.tolist()
        norm = float(self.norm)
        self.counts.zero_()
        if not math.isfinite(loss) or not math.isfinite(norm):
            raise BadInput(f"step {step}: the loss is {loss}, the gradients' norm {norm}")
        monitor.training = Tally(round(right), round(count), loss, square)
        monitor({"step": step, "tokens": tokens, "learning_rate": learning_rate, "gradient_norm": norm})
        if self.masked is not None:
            monitor.records[-1]["masked_lm_loss"] = float(self.masked.last)
        self.trained.train()


class Masked:
    """The masked-LM half of joint training: blocks of text, and the places of hidden tokens in a table of fixed size.

    Args: run; source, of the labels; size, blocks of a step.
    """

    def __init__(self, run: Run, source: LabelledTexts, size: int) -> None:
        self.size, self.seed, self.device = size, run.config.seed, run.device
        self.head = masked_lm_of(run.pretrained, run.say).to(run.device)
        self.together = nn.ModuleDict({"classifier": run.classifier, "masked_lm": self.head})
        self.texts = run._make_masked_texts(source)
        self.pad_id = run.pretrained.tokenizer.pad_id
        widest = width_of(max(int(source.lengths.max()), max(map(len, self.texts.encoded.ids))))
        names = ("input_ids", "attention_mask", *(("token_type_ids",) if self.texts.types else ()))
        self.blocks = {name: torch.zeros(size, widest, dtype=torch.int64, device=run.device) for name in names}
        share, most = self.texts.rate, size * widest
        # Six standard deviations above the mean: more hidden tokens than that do not come up.
        self.room = min(most, math.ceil(share * most + 6 * math.sqrt(share * (1 - share) * most)))
        self.where = torch.zeros(2, self.room, dtype=torch.int64, device=run.device)
        """Row and column of each hidden token."""
        self.wanted = torch.full((self.room,), IGNORED, device=run.device)
        self.last = torch.zeros((), device=run.device)

    def fill(self, step: int, width: int) -> int:
        """Put the blocks of a step where the recorded step reads them; the width that has room for all."""
        count = len(self.texts)
        places = [divmod(place, count) for place in range(step * self.size, (step + 1) * self.size)]
        orders = {epoch: order(self.seed + 1, epoch, count) for epoch in {epoch for epoch, _ in places}}
        row, ids, labels = 0, [], []
        for value in self.blocks.values():
            value.zero_()
        self.blocks["input_ids"].fill_(self.pad_id)
        for epoch, numbers in orders.items():
            chosen = np.array([numbers[at] for e, at in places if e == epoch])
            batch = self.texts.batch(epoch, chosen)
            n = batch["input_ids"].shape[1]
            for name, value in self.blocks.items():
                value[row : row + len(chosen), :n] = batch[name].to(self.device)
            at = (batch["labels"] != IGNORED).nonzero()
            labels.append(batch["labels"][at[:, 0], at[:, 1]])
            ids.append(at + torch.tensor([row, 0]))
            row, width = row + len(chosen), max(width, width_of(n))
        where, wanted = torch.cat(ids)[: self.room], torch.cat(labels)[: self.room]
        self.where.zero_()
        self.wanted.fill_(IGNORED)
        self.where[:, : len(where)] = where.T.to(self.device)
        self.wanted[: len(wanted)] = wanted.to(self.device)
        return width

    def loss(self, width: int) -> Tensor:
        """The mean loss of the hidden tokens."""
        head: Any = self.head
        x = vectors_of(head.encoder, {name: value[:, :width] for name, value in self.blocks.items()})
        x = x.flatten(0, 1).index_select(0, self.where[0] * width + self.where[1])
        logits = linear(head.norm(head.act(head.dense(x))), head._table(), head.bias)
        real = self.wanted != IGNORED
        logs = torch.log_softmax(at_least_single(logits), -1)
        losses = -logs.gather(-1, self.wanted.clamp(min=0)[:, None])[:, 0]
        found = losses.masked_fill(~real, 0.0).sum() / real.sum().clamp(min=1)
        self.last.copy_(found.detach())
        return found


def join_in_front(front: Tensor, text: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """As `prompt.join`, for padding on the right alone, which it would ask the device for in each step."""
    return torch.cat((front, text), 1), None


def train_recorded(run: Run, *, recorded: bool = True) -> Monitor:
    """Train a run with recorded steps; what was seen, the best put back into the model.

    Raises: BadInput as `Run.train`; RuntimeError where a step cannot be recorded.
    """
    run.sides.check_trainable()
    run.source("dev", run.sides.dev)
    source, dev = run.source("train", run.sides.train), run.source("dev", run.sides.dev)
    # Recording collects garbage first, and would look through all texts each time; the run before lies in cycles.
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    steps = Steps(run, source, recorded=recorded)
    monitor = Monitor(steps.model, logits_of, lambda: run.score_together(dev), len(source), None)
    join, prompt.join = prompt.join, join_in_front
    try:
        with on_a_stream(run.device):
            steps.train(monitor)
    finally:
        prompt.join = join
    monitor.put_best()
    return monitor


@contextmanager
def on_a_stream(device: torch.device) -> Iterator[None]:
    """On a GPU, do everything on a stream of its own.

    What is recorded must have run on the same stream before, and the default stream cannot be recorded.
    """
    if device.type != "cuda":
        yield
        return
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        yield
        stream.synchronize()
