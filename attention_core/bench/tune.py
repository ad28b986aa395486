"""Measure the table by which `attention(kernel="auto")` chooses: `attention-core bench --tune`.

For every dtype and direction: from which work on the fused form beats torch's default where that would fall back, at
which lengths its unfused kernel or float32 do, what one rectangle of a mask costs beyond its pairs, and what pairs cost
where. Each number comes from functions timed side by side in one process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attention_core.bench.files import check_writable, write_text
from attention_core.bench.timing.clocks import Clock, WallClock
from attention_core.bench.timing.machine import describe_machine, versions
from attention_core.bench.timing.sampling import StoppingRule, sample
from attention_core.bench.timing.statistics import compare
from attention_core.declaration.implementation import TargetError
from attention_core.dispatch.tables import (
    BLOCKS,
    DEFAULT,
    HEADS,
    LEAST,
    SHORT,
    UNFUSED,
    UPCAST,
    WHY,
    as_json,
    forget,
    read_table,
    tuning_file,
    work_of,
)
from attention_core.kernels.block_sparse import block_sparse_attention
from attention_core.kernels.fused import fused_attention
from attention_core.kernels.upcast import HALVES, upcast_attention
from attention_core.masking import sliding_window
from attention_core.masking.pieces import plan
from attention_core.registry.load import load

Inputs = tuple[Tensor, Tensor, Tensor]
Call = Callable[[], Any]
DTYPES = ("float32", "bfloat16", "float16", "float64")
LADDER = (16, 32, 64, 128, 256, 512)
"""Lengths at which a fallback is measured: work grows fourfold from step to step."""
LONGEST = 1024
"""What is faster in float32 up to these is so beyond, too: both kernels' time is that of their products by then."""
WORTH = 0.97
"""Part of the time for which float32 is worth the memory of its copies."""
H, D = HEADS, 64
CACHE_LADDER = (16, 64, 256, 1024, 4096)
CACHE_H, CACHE_H_KV, CACHE_D = 32, 8, 128
"""Decoding is bound by the bytes of the cache: it is measured on heads as models have them, and fourfold from step to
step. One shared head of 64 numbers would lie in the core's own cache at any of these lengths."""
IN_FLOAT32 = "core:upcast"
NEVER = 1e300
"""Stands for "at no length that was measured"."""
ROWS, LENGTH = 512, 4096
"""The last queries of a sequence: all that a window leaves of them are rectangles with a mask, of one size."""
WINDOWS = (256, 2048)
"""Two windows: the time between them is that of pairs and of pieces."""


def fallback(why: str, n: int, dtype: torch.dtype) -> Inputs:
    """Inputs of length n for which torch takes its unfused kernel, for one of the reasons `WHY`.

    Example:
        >>> fallback("width", 16, torch.float32)[2].shape
        torch.Size([1, 4, 16, 32])
    """
    generator = torch.Generator().manual_seed(n)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator).to(dtype)

    if why == "decoding":
        cache = (1, CACHE_H_KV, n, CACHE_D)
        return draw(1, CACHE_H, 1, CACHE_D), draw(*cache), draw(*cache)
    query, key, value = (draw(1, H, n, D) for _ in range(3))
    if why == "groups":
        key, value = key[:, : H // 4], value[:, : H // 4]
    elif why == "axes":
        query, key, value = query[0], key[0], value[0]
    elif why == "width":
        value = value[..., : D // 2].contiguous()
    elif why == "stride":
        query, key, value = (draw(1, H, n, 2 * D)[..., ::2] for _ in range(3))
    elif why == "broadcast":
        query = draw(2, H, n, D)
    return query, key, value


def call(function: Callable[..., Tensor], inputs: Inputs, gradients: bool, *args: Any, **options: Any) -> Call:
    """A call without arguments, forward alone or with its gradients."""
    if not gradients:
        return lambda: function(*inputs, *args, **options)
    # Views keep their strides: a leaf made by `detach` has those of its base.
    leaves = [x.detach().requires_grad_() for x in inputs]

    def both() -> Any:
        out = function(*leaves, *args, **options)
        return torch.autograd.grad(out, leaves, torch.ones_like(out))

    return both


def crossover(why: str, dtype: torch.dtype, gradients: bool, clock: Clock, timing: StoppingRule) -> float:
    """The smallest work from which on the fused form is faster at every length of the ladder."""
    least = LEAST
    lengths = CACHE_LADDER if why == "decoding" else LADDER
    options = {"enable_gqa": True} if why in ("decoding", "groups") else {}
    for n in lengths:
        inputs = fallback(why, n, dtype)
        functions = {
            name: call(function, inputs, gradients, **options)
            for name, function in (("default", scaled_dot_product_attention), ("fused", fused_attention))
        }
        found = sample(functions, clock, timing)
        if found.failed:  # a dtype that one of them does not take
            return NEVER
        if compare(found.times["fused"], found.times["default"]).low >= 1:
            least = NEVER if n == lengths[-1] else max(least, 1.01 * work_of(*inputs))
    return least


def short_lengths(dtype: torch.dtype, gradients: bool, clock: Clock, timing: StoppingRule) -> tuple[float, float]:
    """The smallest and the largest length of the ladder at which torch's unfused kernel is faster than its default.

    Returns: both; (0, 0) where it never is.
    """
    found = _lengths(UNFUSED, LADDER, dtype, gradients, clock, timing)
    return (found[0], found[-1]) if found else (0.0, 0.0)


def upcast_lengths(dtype: torch.dtype, gradients: bool, clock: Clock, timing: StoppingRule) -> tuple[float, float]:
    """The smallest and the largest length at which inputs of half precision are faster in float32, by torch's default.

    Returns: both; the largest is `NEVER` where the longest that is measured is one, (0, 0) where it never is.
    """
    found = _lengths(IN_FLOAT32, (*LADDER, LONGEST), dtype, gradients, clock, timing, WORTH, (UNFUSED,))
    if not found:
        return 0.0, 0.0
    return found[0], NEVER if found[-1] == LONGEST else found[-1]


def _lengths(
    name: str, lengths: Sequence[int], dtype: torch.dtype, gradients: bool, clock: Clock, timing: StoppingRule,
    worth: float = 1.0, beside: tuple[str, ...] = (),
) -> list[float]:  # fmt: skip
    """The lengths at which a kernel is faster than torch's default, and than none of `beside` slower for certain.

    The first is one at which it is faster for certain; after it what is likely is enough, as calls are longer and
    samples fewer. A length at which it is slower for certain ends the range; one at which that is not certain does not.
    """
    found: list[float] = []
    for n in lengths:
        inputs = fallback("", n, dtype)
        rivals = [rival for rival in beside if n <= LADDER[-1]]  # memory of the unfused kernel is quadratic
        functions = {name_: call(_kernel(name_), inputs, gradients) for name_ in (DEFAULT, name, *rivals)}
        times = sample(functions, clock, timing).times
        if name not in times or DEFAULT not in times:
            break
        ratio = compare(times[name], times[DEFAULT])
        beaten = any(compare(times[name], times[rival]).low > 1 for rival in rivals if rival in times)
        faster = (ratio.ratio if found else ratio.high) < worth
        if faster and not beaten and work_of(*inputs) >= LEAST:
            found.append(float(n))
        elif found and (ratio.low > 1 or beaten):
            break
    return found


def _kernel(name: str) -> Callable[..., Tensor]:
    return partial(upcast_attention, inner=scaled_dot_product_attention) if name == IN_FLOAT32 else load(name)


def piece_costs(dtype: torch.dtype, gradients: bool, clock: Clock, timing: StoppingRule) -> dict[str, float]:
    """What rectangles cost, beside a call with the mask of all pairs written out, every one attended.

    Two windows are cut, seconds = a pairs + b pieces, for each size of rectangles; the windows differ in width, as
    rectangles do. A window that is written out tells what a masked pair costs, a call without a mask what an open one.
    Returns: "piece" and "wide_piece" in work, at least `LEAST`, and `choice.PAIRS`.
    """
    query, key, value = fallback("", LENGTH, dtype)
    inputs = query[:, :, -ROWS:].contiguous(), key, value
    masks = {W: sliding_window(W, "bottom_right") for W in WINDOWS}
    narrow = masks[WINDOWS[0]].dense(ROWS, LENGTH, query.device)
    functions = {
        f"{block} {W}": call(block_sparse_attention, inputs, gradients, mask, block=block)
        for block in BLOCKS for W, mask in masks.items()
    } | {
        DEFAULT: call(scaled_dot_product_attention, inputs, gradients, torch.ones_like(narrow)),
        "masked": call(scaled_dot_product_attention, inputs, gradients, narrow),
        "open": call(scaled_dot_product_attention, inputs, gradients),
    }  # fmt: skip
    timing = replace(timing, seconds=timing.seconds * len(functions))
    times = sample(functions, clock, timing, baseline=DEFAULT).times
    ratio = {name: compare(times[name], times[DEFAULT]).ratio for name in functions}
    each = work_of(*inputs) / (ROWS * LENGTH)  # of one pair
    attended = float(narrow.sum()) / (ROWS * LENGTH)
    found = {"open": ratio["open"], "masked": min(1.0, max(0.0, (ratio["masked"] - attended) / (1 - attended)))}
    for block, begin in BLOCKS.items():
        plans = [plan(mask, ROWS, LENGTH, block) for mask in masks.values()]
        took = [ratio[f"{block} {W}"] * ROWS * LENGTH for W in WINDOWS]
        pair, piece = _pair_and_piece([(cut.pairs, len(cut.pieces)) for cut in plans], took)
        found |= {f"{begin}rate": pair, f"{begin}piece": max(LEAST, piece * each)}
    return found


def _pair_and_piece(numbers: Sequence[tuple[float, int]], took: Sequence[float]) -> tuple[float, float]:
    """What a pair and a piece cost, of two calls with these numbers of pairs and pieces that took so long."""
    pair, piece = np.linalg.solve(np.array(numbers, dtype=float), np.array(took))
    if pair <= 0 or piece <= 0:  # noise: the difference between pieces is below their noise
        return took[0] / numbers[0][0], 0.0
    return float(pair), float(piece)


def tune(
    device: str, clock: Clock, seconds: float = 0.3, dtypes: tuple[str, ...] = DTYPES
) -> Iterator[tuple[str, Mapping[str, float]]]:
    """Every class of the processor with its numbers, as they are measured.

    Args: device, "cpu" (other devices keep torch's choice); clock; seconds, for each pair of functions.
    Yields: (class, numbers as `choice.read_table` gives them). Raises: ValueError for another device.
    """
    if device != "cpu":
        raise ValueError(f"only the processor is tuned, got {device!r}: elsewhere auto is torch's own choice")
    timing = StoppingRule(seconds=seconds, least=8, width=0.02)
    for name in dtypes:
        dtype: torch.dtype = getattr(torch, name)
        for gradients in (False, True):
            numbers = {why: crossover(why, dtype, gradients, clock, timing) for why in WHY}
            numbers |= dict(zip(SHORT, short_lengths(dtype, gradients, clock, timing), strict=True))
            if dtype in HALVES:
                numbers |= dict(zip(UPCAST, upcast_lengths(dtype, gradients, clock, timing), strict=True))
            numbers |= piece_costs(dtype, gradients, clock, timing)
            yield (
                f"{device}/{name}/{'both' if gradients else 'forward'}",
                {k: float(f"{v:.3g}") for k, v in numbers.items()},
            )


def keep_tuning(device: str, dtypes: Sequence[str], show: Callable[[str], None] = lambda text: None) -> Path:
    """Measure the classes of these dtypes and keep them in this machine's own table, beside those that it has.

    Each class is written as soon as it is known: what is measured stays, whatever ends the run.

    Returns: the file (`choice.tuning_file`). Raises: TargetError for another device, a file that cannot be written.
    """
    torch.set_num_threads(1)
    try:
        path = tuning_file()
    except RuntimeError:
        raise TargetError("cannot tune: there is no home folder; name a file by ATTENTION_CORE_TUNING") from None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TargetError(f"cannot tune: {path} cannot be written: {error.strerror}") from None
    check_writable(path, f"cannot tune: {path}")
    try:
        kept = dict(read_table(path)) if path.exists() else {}
    except (OSError, ValueError) as error:
        raise TargetError(f"cannot tune: {error}; remove that file first") from None
    try:
        show(f"tuning {', '.join(dtypes)}: for each dtype and direction half a minute, with gradients up to four")
        for name, numbers in tune(device, WallClock(), dtypes=tuple(dtypes)):
            show(f"tuned {name}")
            kept[name] = numbers
            write_text(path, as_json(kept, describe_machine(device) | {"versions": versions()}))
    except (OSError, ValueError) as error:
        raise TargetError(f"cannot tune: {error}") from None
    forget()
    return path
