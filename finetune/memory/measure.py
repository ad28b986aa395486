"""What a training step holds in memory, by method: measured by torch's profiler and by hooks, beside the formula.

Also the largest batch that fits: doubled until it does not, then halved and bisected, running out of memory survived.

How many bytes a training step of our encoder holds, by method: activations for the backward pass, gradients, states.

Derived from what each operation saves: a linear module its input where its weight is trained, a norm its input and two
numbers a token, attention query, key, value, output and a number for each query and head, GELU its input.
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
from finetune.memory.out_of_memory import attempt
from finetune.models.classifier import Classifier, classification_loss
from finetune.models.encoder import Encoder, EncoderConfig
from finetune.peft import inject
from finetune.training.optimizer import OPTIMIZERS

FLOAT, INDEX = 4, 8


def saved_activations(config: EncoderConfig, run: ClassifyConfig, B: int, n: int, *, training: bool = True) -> int:
    """Bytes that the forward pass of a classifier on our encoder keeps for the backward pass, in float32.

    With N = B n tokens, E features, h hidden, L layers, H heads:

        head    B E
        bias    L (6 N E + N h + 4 N + a) + N E + 2 N + B E
        prompt  the same with n + P tokens
        prefix  L (4 N E + 2 B (P + n) E + N h + 4 N + a) + B E
        lora    L (7 N E + N h + 2 N r + 4 N + a) + B E; with dropout in A's input L 3 N E - 2 N E more
        full    L (8 N E + 2 N h + 4 N + a) + N E + 2 N + B E, and the ids of tokens and positions

    where a is B H n + B n_kv, the log-sum-exp and the mask of fused attention. With dropout on weights attention is not
    fused on a processor: a is 3 B H n n_kv, and N E for a copy of the output where a trained weight reads it; the first
    layer, whose keys (lora) or queries (prefix) need no gradient, then saves B n E or B n_kv E less. Dropout keeps its
    mask in float32: 2 L N E, N E of the embeddings where they are trained, and B E of the head's input.

    Args: config; run, for method, length, rank and dropouts; B, n; training: with dropout.
    Returns: bytes, for pooling over the first token, with a mask in which everything is real, on a processor.
    Raises: BadInput for a method without a formula.
    """
    E, h, L, H = config.n_embd, config.n_hidden, config.n_layer, config.n_head
    method = run.method
    P = run.prompt_positions
    tokens = n + P if method == "prompt" else n
    keys = n + P if method == "prefix" else tokens
    N = B * tokens
    drop = training and config.dropout > 0
    weights = training and config.attention_dropout > 0
    if method == "head":
        return FLOAT * B * E
    floats = B * E * (2 if training and run.dropout > 0 else 1)
    layer = N * h + 4 * N  # GELU's input, and two numbers a token of each norm
    layer += 2 * N * E + 2 * B * keys * E  # query and output, key and value
    layer += 2 * N * E  # what the two norms read
    layer += 3 * B * H * tokens * keys - (N * E if method != "full" else 0) if weights else B * H * tokens + B * keys
    layer += 2 * N * E if drop else 0
    indices = 2 * B  # the places of the first tokens
    whole = {"full": True, "bias": True, "prompt": True}.get(method, False)
    floats += N * E + 2 * N + (N * E if drop else 0) if whole else 0  # the norm of the embeddings
    if method == "full":
        layer += 2 * N * E + N * h  # what the linear modules read
        indices += 2 * N
    elif method == "lora":
        layer += 2 * N * run.rank
        dropped = training and run.dropout > 0
        layer += 4 * N * E if dropped else N * E  # two dropped inputs with their masks, or the one they share
        floats -= 2 * N * E if dropped else 0  # the first layer's input needs no gradient, nor its masks
        floats -= N * E if weights else 0  # nor do its keys
    elif method == "prefix":
        floats -= B * keys * E if weights else 0  # the queries of the first layer need none
    elif method not in ("bias", "prompt"):
        raise BadInput(f"there is no formula for the method {method!r}")
    return FLOAT * (L * layer + floats) + INDEX * indices


def gradients(trained: int) -> int:
    """Bytes of the gradients: one float32 for each number that is trained; frozen ones have none."""
    return FLOAT * trained


def optimizer_state(optimizer: str, trained: int, tensors: int) -> int:
    """Bytes of an optimizer's state: AdamW two numbers for each trained one, Adagrad one, and a count for each tensor.

    Raises: BadInput for another optimizer.
    """
    numbers = {"adamw": 2, "adagrad": 1, "sgd": 0}.get(optimizer)
    if numbers is None:
        raise BadInput(f"there is no formula for the optimizer {optimizer!r}")
    return FLOAT * (numbers * trained + (tensors if numbers else 0))


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
    """Within, what autograd saves is put down: bytes by storage, each storage once, parameters and buffers left out."""
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


def largest_batch(
    step: Callable[[int], object], start: int = 32, most: int = 2**16,
    finished: Callable[[int, str | None], object] = lambda size, message: None,
) -> Largest:  # fmt: skip
    """Double a batch until it does not fit, or halve it until it does; then bisect.

    Args: step, one step of training with so many examples, an error where memory runs out (another error goes its way);
        start, tried first; most, the largest that is tried; finished, called after each with its size and None or the
        message.
    Returns: the largest size that fits, if all smaller ones do. Raises: BadInput where start is none.

    Example:
        >>> largest_batch(lambda size: None, start=2, most=8).size
        8

    Source: the assignment, section 3.1, question 2.
    """
    if not 1 <= start <= most:
        raise BadInput(f"a batch from 1 to {most} can be tried first, got {start}")
    tried: list[tuple[int, str | None]] = []

    def fits(size: int) -> bool:
        _, message = attempt(lambda: (step(size), True)[1])
        tried.append((size, message))
        finished(size, message)
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
