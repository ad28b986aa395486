"""Which kernel `attention(kernel="auto")` takes: a small table of numbers, and the rules that read it.

`attention-core bench --tune` measures the table for a machine. Two ship, each measured so on one core of an AMD EPYC
with nothing beside: one with AVX-512 and bfloat16 products, and one with AVX2 alone. A device that no table names gets
torch's own choice.
"""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from attention_core.kernels.upcast import HALVES
from attention_core.masking import Causal, Mask, SlidingWindow
from attention_core.masking.pieces import MOST_PLANS, keep, plan

DEFAULT, FUSED, SPARSE, UNFUSED = "torch:default", "core:fused", "core:block_sparse", "torch:math"
FLEX = "core:flex"
"""Never chosen: it compiles for seconds. By name alone."""
BLOCKS = {128: "", 256: "wide_"}
"""About how many queries a rectangle may have, and how its numbers begin in a table."""
HEADS = 4
"""The heads on which the cost of a rectangle is measured; more heads cost in proportion."""
WHY = ("decoding", "groups", "axes", "width", "stride", "broadcast")
"""Why torch would take its unfused kernel: shared key heads with one query, with more; the others by their names."""
SHORT = ("short_from", "short_to")
"""The lengths from and up to which torch's unfused kernel is faster, with no mask; (0, 0) where it never is."""
NUMBERS = (*WHY, *SHORT, "piece")
UPCAST = ("upcast_from", "upcast_to")
"""The lengths from and up to which half precision is faster in float32, whatever kernel; where a table does not name
them, nowhere."""
PAIRS = {"rate": 1.0, "wide_rate": 1.0, "open": 1.0, "masked": 1.0}
"""What a pair costs beside an attended one of a mask written out: in a rectangle of 128 queries with a mask, in one of
256, in one without, and where it is masked out of a mask written out. 1 where a table does not tell."""
OPTIONAL = (*PAIRS, *UPCAST, "wide_piece")
"""Where a table does not name the last, there are no rectangles of 256 queries."""
SHIPPED = {name: Path(__file__).parent / f"tuning_{name.lower()}.json" for name in ("AVX2", "AVX512")}
"""The tables that ship, by the instructions that torch uses (`torch.backends.cpu.get_cpu_capability`)."""
PRODUCTS = {
    "bfloat16": ("amx_bf16", "bf16", "sve_bf16"),
    "float16": ("avx512_fp16", "amx_fp16", "fp16_arith"),
}
"""Instructions for products of half precision with which neither shipped table was measured: `UPCAST` of theirs does
not hold for a processor that has one of them."""
FORMAT = 2
PLANS: dict[tuple[Any, ...], Any] = {}
"""What was decided by the tables, by the form of the call; `plans.py` fills it."""
LEAST = 1e5
"""Below this work, some ten microseconds, nothing is looked at: choosing would cost more than it saves."""


def tuning_file() -> Path:
    """Where this machine's own table lies: $ATTENTION_CORE_TUNING, or tuning.json in the user's cache folder.

    With XDG_CACHE_HOME=/c it is /c/attention-core/tuning.json.
    """
    if named := os.environ.get("ATTENTION_CORE_TUNING"):
        return Path(named)
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "attention-core" / "tuning.json"


def read_table(path: Path) -> dict[str, Mapping[str, float]]:
    """The classes of a table: "cpu/float32/forward" -> {"groups": ..., ..., "piece": ...}.

    Each of `WHY` is the smallest work (multiply-adds) from which `core:fused` is faster than torch's default there;
    between the lengths `SHORT` torch's unfused kernel is faster (in bfloat16, with gradients: it has fewer passes);
    "piece" is the work that one rectangle of 128 queries costs beyond its pairs, "wide_piece", which may be left out,
    that of one of 256; `PAIRS` says what pairs cost.

    Raises: ValueError for a file that is not such a table, OSError where it cannot be read.
    Example:
        >>> sorted(read_table(find_shipped_table()))[0]
        'cpu/bfloat16/both'
    """
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON: {error}") from None
    if not isinstance(table, dict) or table.get("format") != FORMAT or not isinstance(table.get("classes"), dict):
        raise ValueError(
            f"{path} is not a tuning table of format {FORMAT}: write it again with attention-core bench --tune"
        )
    for name, entry in table["classes"].items():
        numbers: list[Any] = [entry.get(key) for key in NUMBERS] if isinstance(entry, dict) else [None]
        numbers += [entry[key] for key in OPTIONAL if key in entry] if isinstance(entry, dict) else []
        if not all(type(number) in (int, float) and 0 <= number < math.inf for number in numbers):
            every = ", ".join(NUMBERS)
            raise ValueError(f"{path}: class {name!r} needs a number for each of {every}; all finite, none below 0")
    classes: dict[str, Mapping[str, float]] = table["classes"]
    return classes


def find_shipped_table() -> Path:
    """The table that ships for this processor: that of AVX-512 where none was measured for its instructions.

    Example:
        >>> find_shipped_table().name.startswith("tuning")  # tuning_avx2.json on a processor without AVX-512
        True
    """
    return SHIPPED.get(torch.backends.cpu.get_cpu_capability(), SHIPPED["AVX512"])


def forget() -> None:
    """Read the tables again at the next call: after a tuning, or when the environment has changed."""
    table.cache_clear()
    _entry.cache_clear()
    PLANS.clear()


@cache
def table() -> dict[str, Mapping[str, float]]:
    """The shipped table, with this machine's own classes in place of its where there are any."""
    classes = {name: _held_here(name, entry) for name, entry in read_table(find_shipped_table()).items()}
    try:
        with suppress(FileNotFoundError, NotADirectoryError):
            classes = {**classes, **read_table(tuning_file())}
    except (ValueError, OSError) as error:
        warnings.warn(f"the shipped tuning is used: {error}", stacklevel=2)
    except RuntimeError:  # a user without a home, as in a container, has no cache folder, and no table in it
        pass
    return classes


def _held_here(name: str, entry: Mapping[str, float]) -> Mapping[str, float]:
    """A class of the shipped table, without `UPCAST` where this processor has products it was not measured with."""
    dtype = name.split("/")[1]
    getter = getattr(torch.cpu, "get_capabilities", None)  # which older versions of torch lack
    if dtype not in PRODUCTS or (getter is None and torch.backends.cpu.get_cpu_capability() == "AVX2"):
        return entry
    if getter is not None and not any(getter().get(instruction) for instruction in PRODUCTS[dtype]):
        return entry
    return {key: number for key, number in entry.items() if key not in UPCAST}


@cache
def _entry(device: str, dtype: torch.dtype, gradients: bool) -> Mapping[str, float] | None:
    return table().get(f"{device}/{str(dtype)[6:]}/{'both' if gradients else 'forward'}")


def entry_of(query: Tensor, key: Tensor, value: Tensor) -> Mapping[str, float] | None:
    """The numbers of the class of a call, by the dtype it is computed in; None for a class without measurements.

    Example:
        >>> x = torch.zeros(1, 1, 2, 4)
        >>> entry_of(x, x, x) is table().get("cpu/float32/forward")
        True
    """
    return _entry(query.device.type, computed_in(query, key, value), wants_gradients(query, key, value))


def computed_in(query: Tensor, key: Tensor, value: Tensor) -> torch.dtype:
    """The dtype that a call is fastest in: that of its inputs, or float32 for half precision of certain lengths.

    Both lengths must lie between those that were measured, with as many queries as keys: one query pays for turning
    all keys.
    """
    if query.dtype not in HALVES:
        return query.dtype
    entry = _entry(query.device.type, query.dtype, wants_gradients(query, key, value))
    if entry is None or UPCAST[0] not in entry or work_of(query, key, value) < LEAST:
        return query.dtype
    n_q, n_kv = query.shape[-2], key.shape[-2]
    between = entry[UPCAST[0]] <= min(n_q, n_kv) and max(n_q, n_kv) <= entry.get(UPCAST[1], 0.0)
    return torch.float32 if between else query.dtype


def wants_gradients(query: Tensor, key: Tensor, value: Tensor) -> bool:
    """Whether a call may need gradients."""
    return torch.is_grad_enabled() and (query.requires_grad or key.requires_grad or value.requires_grad)


def work_of(query: Tensor, key: Tensor, value: Tensor) -> float:
    """Multiply-adds of the two products: B H n_q n_kv (d + d_v)."""
    return float(math.prod(query.shape[:-1]) * key.shape[-2] * (query.shape[-1] + value.shape[-1]))


def falls_back(query: Tensor, key: Tensor, value: Tensor) -> str | None:
    """Why torch's default would take its unfused kernel for these inputs, one of `WHY`; None where it would not.

    Example:
        >>> x = torch.zeros(1, 4, 2, 8)
        >>> falls_back(x, x, x), falls_back(x[0], x[0], x[0]), falls_back(x, x, x[..., :4])
        (None, 'axes', 'width')
    """
    if query.ndim != 4:
        return "axes"
    if query.shape[1] != key.shape[1]:
        return "decoding" if query.shape[2] == 1 else "groups"
    if query.shape[-1] != value.shape[-1]:
        return "width"
    if not query.shape[0] == key.shape[0] == value.shape[0]:
        return "broadcast"
    strided = query.stride(-1) != 1 or key.stride(-1) != 1 or value.stride(-1) != 1
    return "stride" if strided else None


def is_short(query: Tensor, key: Tensor, value: Tensor, n: int) -> bool:
    """Whether n tokens, the longer sequence of a call, are so few that torch's unfused kernel is faster.

    With bfloat16 and gradients it has fewer passes.
    """
    entry = entry_of(query, key, value)
    return entry is not None and entry["short_from"] <= n <= entry["short_to"]


def torch_skips(mask: Mask | Tensor | None, n_q: int, n_kv: int, scale: float | None = None) -> bool:
    """Whether a mask is the causality of torch's fused kernel, which leaves its empty half out itself.

    That kernel masks before it scales, so that a scale of 0 or less makes NaN of its -inf (docs/findings.md, 2); and
    its causality is top-left: the alignments agree where the lengths do. A window that reaches the first key from the
    last query is causality, too.
    Example:
        >>> from attention_core.masking import causal, sliding_window
        >>> torch_skips(causal(), 512, 512), torch_skips(sliding_window(4), 512, 512)
        (True, False)
    """
    if not isinstance(mask, (Causal, SlidingWindow)) or not (scale is None or scale > 0):
        return False
    if n_q != n_kv and mask.align != "top_left":
        return False
    return isinstance(mask, Causal) or n_q <= mask.W


def folds(mask: Tensor | Mask | None) -> bool:
    """Whether queries that share a key head can become queries of that head: no mask tells them apart.

    Where they cannot, torch's fused kernel is as good as `core:fused`: it shares key heads by itself.
    Example:
        >>> folds(torch.ones(1, 1, 1, 512, dtype=torch.bool))
        True
    """
    if mask is None:
        return True
    return isinstance(mask, Tensor) and mask.shape[-3:-1].count(1) == len(mask.shape[-3:-1])


def cheapest(query: Tensor, key: Tensor, value: Tensor, mask: Mask) -> tuple[int, float]:
    """The block of queries with which cutting a mask costs least, and that cost beside the mask written out.

    Kept with the mask.
    """
    entry = entry_of(query, key, value)
    if entry is None or not (query.numel() and key.numel() and value.numel()):
        return next(iter(BLOCKS)), math.inf
    known: dict[tuple[Any, ...], tuple[Any, tuple[int, float]]] = mask.__dict__.setdefault("_cheapest", {})
    what = query.shape, key.shape, value.shape
    found = known.get(what)
    if found is None or found[0] is not entry:  # another class, or another table by now
        costs = {block: _cost(query, key, value, mask, block, entry) for block in BLOCKS}
        block = min(costs, key=lambda block: costs[block])
        found = entry, (block, costs[block])
        keep(known, what, found, 4 * MOST_PLANS)
    return found[1]


def _cost(query: Tensor, key: Tensor, value: Tensor, mask: Mask, block: int, entry: Mapping[str, float]) -> float:
    """What rectangles of so many queries cost beside the mask written out, infinity where the table does not say."""
    begin = BLOCKS[block]
    rate, open_, masked = (entry.get(name, PAIRS[name]) for name in (f"{begin}rate", "open", "masked"))
    if f"{begin}piece" not in entry:
        return math.inf
    n_q, n_kv = query.shape[-2], key.shape[-2]
    cut = plan(mask, n_q, n_kv, block)
    heads = math.prod(query.shape[1 if cut.sequences > 1 else 0 : -2])
    pieces = len(cut.pieces) * entry[f"{begin}piece"] * max(1.0, heads / HEADS)
    each = work_of(query, key, value) / (n_q * n_kv)  # of a pair of all heads and sequences
    cost = each * (rate * cut.masked_pairs + open_ * (cut.pairs - cut.masked_pairs)) + pieces
    whole = each * (masked * n_q * n_kv + (1 - masked) * cut.mean_attended_pairs)
    return cost / whole if whole else math.inf


def choose(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | Mask | None) -> str:
    """The kernel for a checked call.

    A window of 256 among 4096 tokens goes to "core:block_sparse".
    """
    entry = entry_of(query, key, value)
    work = work_of(query, key, value)
    if entry is None or work < LEAST:
        return DEFAULT
    why = falls_back(query, key, value)
    unfused = why is not None and work >= entry[why] and (why != "groups" or folds(mask))
    n_q, n_kv = query.shape[-2], key.shape[-2]
    worth = isinstance(mask, Mask) and not torch_skips(mask, n_q, n_kv) and work >= 4 * entry["piece"]
    if worth and isinstance(mask, Mask) and query.ndim <= 4 and cheapest(query, key, value, mask)[1] < 1:
        return SPARSE
    gradient = isinstance(mask, Tensor) and mask.requires_grad
    if unfused and not gradient:
        return FUSED
    return UNFUSED if mask is None and why is None and is_short(query, key, value, max(n_q, n_kv)) else DEFAULT


def as_json(classes: Mapping[str, Mapping[str, float]], about: Mapping[str, Any]) -> str:
    """A table as it is stored, with what is known of the machine that it was measured on."""
    return json.dumps({"format": FORMAT, "about": dict(about), "classes": classes}, indent=1) + "\n"
