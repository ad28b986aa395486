"""What a training step holds in memory, by method: measured by torch's profiler and by hooks, beside the formula.

Also the largest batch that fits: doubled until it does not, then halved and bisected, running out of memory survived.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn

from finetune.classification.config import ClassifyConfig, method_of, recompute_layers
from finetune.errors import BadInput
from finetune.memory.formula import gradients, optimizer_state, saved_activations
from finetune.memory.out_of_memory import attempt
from finetune.models.classifier import Classifier, classification_loss
from finetune.models.encoder import Encoder
from finetune.peft import inject
from finetune.training.optimizer import OPTIMIZERS


@dataclass(frozen=True)
class Step:
    """Bytes of one training step of a method.

    saved: of the tensors kept for the backward pass, by hooks; forward, backward: what is allocated and not given back
    in each of the passes, by the profiler; peak: the most that was held at once, beyond weights, states and batch;
    gradients, state: of the gradients, and of the optimizer; formula: what `memory_formula` says of the first, the
    sixth and the seventh, None where it has nothing to say; parameters: (trained, all). With gradient_checkpointing the
    inputs of the layers are held beside autograd, so that `forward` has them and `saved` has not.
    """

    method: str
    saved: int
    forward: int
    backward: int
    peak: int
    gradients: int
    state: int
    parameters: tuple[int, int]
    formula: dict[str, int] | None

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)


@contextmanager
def saved_tensors(model: nn.Module) -> Iterator[dict[int, int]]:
    """Within, what autograd saves is put down: bytes by storage, each storage once, parameters and buffers left out.

    Example: with saved_tensors(model) as saved: loss = model(**batch).sum(); then sum(saved.values()).
    """
    own = {tensor.untyped_storage().data_ptr() for tensor in (*model.parameters(), *model.buffers())}
    saved: dict[int, int] = {}
    held: list[Tensor] = []  # a storage that is let go could give its address to another

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            saved.setdefault(storage.data_ptr(), storage.nbytes())
            held.append(tensor.detach())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        yield saved


def batch_of(encoder: nn.Module, B: int, n: int, device: torch.device) -> dict[str, Tensor]:
    """Texts of drawn ids, all n long, with labels of two classes: memory does not depend on what they say."""
    table: Any = encoder.get_input_embeddings()  # type: ignore[operator]  # a method of every encoder
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(table.num_embeddings, (B, n), generator=generator)
    labels = torch.randint(2, (B,), generator=generator)
    found = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": labels}
    return {name: value.to(device) for name, value in found.items()}


def prepare(encoder: nn.Module, config: ClassifyConfig, device: torch.device) -> Classifier:
    """A classifier of two classes on an encoder, with the method in it, in training mode."""
    model = Classifier(encoder, 2, pool=config.pool, dropout=config.dropout)
    method = method_of(config)
    if method is not None:
        inject(model, method)
    recompute_layers(encoder, config)
    return model.to(device).train()


def measure_step(make: Callable[[], nn.Module], config: ClassifyConfig, B: int, n: int) -> Step:
    """One step of a method, measured twice on equal models: with hooks, and with the profiler.

    Args: make, gives the encoder anew; config, for method, options and device; B, n, sizes of the batch.
    """
    device = torch.device(config.device or ("cuda" if torch.cuda.is_available() else "cpu"))
    torch.manual_seed(0)
    encoder = make()
    model = prepare(encoder, config, device)
    batch = batch_of(encoder, B, n, device)
    trained = [p for p in model.parameters() if p.requires_grad]
    count = sum(p.numel() for p in trained), sum(p.numel() for p in model.parameters())
    optimizer = OPTIMIZERS[config.optimizer](model, 1e-4, (0.9, 0.999), config.weight_decay)
    with saved_tensors(model) as saved:
        model(**{name: value for name, value in batch.items() if name != "labels"})
    # What the caller handed in is there already.
    given = {value.untyped_storage().data_ptr() for value in batch.values()}
    activations = sum(size for place, size in saved.items() if place not in given)
    forward, backward, peak = profile(model, batch)
    optimizer.step()
    state = sum(
        value.numel() * value.element_size() for row in optimizer.state.values() for value in row.values()
        if isinstance(value, Tensor)
    )  # fmt: skip
    formula = None
    if isinstance(encoder, Encoder) and config.pool == "first" and not config.gradient_checkpointing:
        formula = {
            "saved": saved_activations(encoder.config, config, B, n) - len(given & set(saved)) * 8 * B * n,
            "gradients": gradients(count[0]), "state": optimizer_state(config.optimizer, count[0], len(trained)),
        }  # fmt: skip
    held = sum(p.grad.numel() * p.grad.element_size() for p in model.parameters() if p.grad is not None)
    return Step(config.method, activations, forward, backward, peak, held, state, count, formula)


@contextmanager
def pause_collector() -> Iterator[None]:
    """Within, Python's collector of cycles waits."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def profile(model: nn.Module, batch: Mapping[str, Tensor]) -> tuple[int, int, int]:
    """Bytes by torch.profiler: held after the forward pass, added by the backward pass, and the most at once."""
    from torch.profiler import ProfilerActivity, profile, record_function

    cuda = next(model.parameters()).is_cuda
    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if cuda else [])
    gc.collect()  # what goes while the profiler looks would count as given back by the step
    with pause_collector(), profile(activities=activities, profile_memory=True) as profiler:
        with record_function("forward"):
            loss, count = classification_loss(model, batch)
        with record_function("backward"):
            (loss / count).backward()  # type: ignore[no-untyped-call]
    kind = torch.profiler.DeviceType.CUDA if cuda else torch.profiler.DeviceType.CPU
    events = profiler.profiler.kineto_results.events()
    end = {event.name(): event.end_ns() for event in events if event.name() in ("forward", "backward")}
    start = next(event.start_ns() for event in events if event.name() == "forward")
    memory = sorted(
        (event.start_ns(), event.nbytes()) for event in events
        if event.name() == "[memory]" and event.device_type() == kind and start <= event.start_ns() <= end["backward"]
    )  # fmt: skip
    forward = sum(size for time, size in memory if time <= end["forward"])
    total = most = 0
    for _, size in memory:
        total += size
        most = max(most, total)
    return forward, total - forward, most


# --- the largest batch --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Largest:
    """The largest batch that fits, 0 for none, and what was tried: (size, None or the message)."""

    size: int
    tried: tuple[tuple[int, str | None], ...]


def largest_batch(step: Callable[[int], object], start: int = 32, most: int = 2**16) -> Largest:
    """Double a batch until it does not fit, or halve it until it does; then bisect.

    Args: step, one step of training with so many examples, an error where memory runs out (another error goes its way);
        start, tried first; most, the largest that is tried.
    Returns: the largest size that fits, if all smaller ones do. Raises: BadInput where start is none.
    Example: largest_batch(lambda size: train_step(size)).size.
    Source: the assignment, section 3.1, question 2.
    """
    if not 1 <= start <= most:
        raise BadInput(f"a batch from 1 to {most} can be tried first, got {start}")
    tried: list[tuple[int, str | None]] = []

    def fits(size: int) -> bool:
        _, message = attempt(lambda: (step(size), True)[1])
        tried.append((size, message))
        return message is None

    low, high = 0, most + 1
    size = start
    while low < size < high:
        if fits(size):
            low, size = size, min(2 * size, most) if high > most else (low + high) // 2
        else:
            high, size = size, size // 2 if low == 0 else (low + size) // 2
        if low and high <= most:
            size = (low + high) // 2
    return Largest(low, tuple(tried))


def training_step(make: Callable[[], nn.Module], config: ClassifyConfig, n: int) -> Callable[[int], None]:
    """A step of training as `largest_batch` asks for: forward, backward and the optimizer, on texts of n tokens."""
    device = torch.device(config.device or ("cuda" if torch.cuda.is_available() else "cpu"))
    encoder = make()
    model = prepare(encoder, config, device)
    optimizer = OPTIMIZERS[config.optimizer](model, 0.0, (0.9, 0.999), 0.0)

    def step(size: int) -> None:
        optimizer.zero_grad(set_to_none=True)
        try:
            loss, count = classification_loss(model, batch_of(encoder, size, n, device))
            (loss / count).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            if device.type == "cuda":
                torch.cuda.synchronize(device)
        finally:
            optimizer.zero_grad(set_to_none=True)

    return step
