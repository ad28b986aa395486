"""One cell's problem: shape, dtype, mask and direction; its work is counted before anything is allocated.

FLOPs and bytes are what no correct kernel can do without; memory is what a run of the cell needs at least.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any

from attention_core.bench.json_fields import DIGITS, Within, parse_fields
from attention_core.bench.workloads.masks import MaskSpec, read_mask
from attention_core.declaration.implementation import DTYPES, TargetError

DIRECTIONS = ("fwd", "bwd")
"""fwd: the forward pass, without a graph. bwd: forward and backward, what a training step pays."""
FORMS = ("plain", "3d", "5d", "strided")
"""How tensors are handed over: (B, H, n, d) contiguous; (H, n, d); (1, B, H, n, d); last axis with a stride of 2. For
all but the first torch changes to its unfused kernel without a word."""
ITEM = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2}
MEMORY_SHARE = 0.75
"""Of the machine's memory, what one cell may need."""
Size = Annotated[int, Within(1, 10**DIGITS)]
SIZES = ("B", "H", "H_kv", "n_q", "n_kv", "d", "d_v")


@dataclass(frozen=True)
class Workload:
    """An attention problem to time.

    Args:
        B, H, H_kv, n_q, n_kv, d, d_v: sizes; H_kv and d_v default to H and d.
        dtype: of query, key, value and output. mask: as words, see `masks`. direction: "fwd" or "bwd".
        label: what people call the shape, e.g. "Llama-3-8B 4096". seed: of the drawn values.
        form: how the tensors are laid out, one of `FORMS`.

    Raises:
        TargetError: sizes that contradict each other, an unknown dtype, mask or direction.

    Example:
        >>> Workload(n_q=4, n_kv=4, mask=MaskSpec((("causal", 0),))).pairs
        80
    """

    B: Size = 1
    H: Size = 8
    H_kv: Size = 0
    n_q: Size = 1024
    n_kv: Size = 1024
    d: Size = 64
    d_v: Size = 0
    dtype: str = "float32"
    mask: Annotated[MaskSpec, str] = field(default_factory=MaskSpec)
    direction: str = "fwd"
    label: str = ""
    seed: Annotated[int, Within(0, 2**32 - 1)] = 0
    form: str = "plain"

    def __post_init__(self) -> None:
        for name, stands_for in (("H_kv", self.H), ("d_v", self.d)):
            if getattr(self, name) == 0:
                object.__setattr__(self, name, stands_for)
        for name in SIZES:
            size = getattr(self, name)
            if not isinstance(size, int) or isinstance(size, bool) or size < 1:
                raise TargetError(f"{name}={size!r} is not a whole number of at least 1")
        if self.H % self.H_kv:
            raise TargetError(f"H={self.H} query heads are not a multiple of H_kv={self.H_kv} key heads")
        if self.dtype not in DTYPES:
            raise TargetError(f"dtype {self.dtype!r} is not one of {', '.join(DTYPES)}")
        if self.direction not in DIRECTIONS:
            raise TargetError(f"direction {self.direction!r} is not one of {', '.join(DIRECTIONS)}")
        if self.form not in FORMS:
            raise TargetError(f"form {self.form!r} is not one of {', '.join(FORMS)}")
        if self.form == "3d" and self.B != 1:
            raise TargetError(f"form 3d has no batch axis, and B={self.B}")
        if self.n_q > self.n_kv and any(name in ("causal", "window", "segments") for name, _ in self.mask.parts):
            raise TargetError(f"mask {self.mask} with n_q={self.n_q} > n_kv={self.n_kv} leaves queries without a key")

    # --- counting ------------------------------------------------------------------------------------

    @property
    def pairs(self) -> int:
        """Attended (query, key) pairs over all batches and heads."""
        return self.B * self.H * self.mask.pairs(self.n_q, self.n_kv, self.seed)

    @property
    def flops(self) -> int:
        """Of the matmuls: 2 pairs (d + d_v) forward, twice as much again backward (dP, dV, dQ, dK; no recomputing)."""
        forward = 2 * self.pairs * (self.d + self.d_v)
        return forward if self.direction == "fwd" else 3 * forward

    @property
    def exponentials(self) -> int:
        """One a pair."""
        return self.pairs

    @property
    def bytes(self) -> int:
        """Every input read and every result written once (gradients too), and a mask that is a tensor."""
        q, k, v, out = self.elements
        moved = q + k + v + out
        if self.direction == "bwd":
            moved += 2 * out + 2 * (q + k + v)  # the backward reads them, out and its gradient again; three results
        return ITEM[self.dtype] * moved + self.mask_bytes

    @property
    def elements(self) -> tuple[int, int, int, int]:
        """Numbers in query, key, value and output."""
        rows, keys = self.B * self.H * self.n_q, self.B * self.H_kv * self.n_kv
        return rows * self.d, keys * self.d, keys * self.d_v, rows * self.d_v

    @property
    def mask_bytes(self) -> int:
        """Of a bool or bias tensor (n_q, n_kv), which all heads share; 0 for masks that are a rule."""
        if self.mask.kind not in ("bool", "bias"):
            return 0
        return self.n_q * self.n_kv * (1 if self.mask.kind == "bool" else ITEM[self.dtype])

    @property
    def memory(self) -> int:
        """Bytes that a run needs at least: inputs drawn in float64, one output, gradients, the mask written out."""
        q, k, v, out = self.elements
        need = (q + k + v) * (ITEM[self.dtype] + 8) + out * ITEM[self.dtype]
        if self.direction == "bwd":
            need += (q + k + v + 2 * out) * ITEM[self.dtype]
        if self.mask.kind != "none":  # kernels without a flag for the mask get it as a tensor
            need += self.n_q * self.n_kv * (ITEM[self.dtype] if self.mask.kind == "bias" else 1)
        return need

    def check_memory(self, available: int | None = None) -> None:
        """Refuse what cannot fit before anything of it is allocated.

        Raises: TargetError with the figure.
        """
        limit = int(MEMORY_SHARE * machine_memory()) if available is None else available
        if self.memory > limit:
            raise TargetError(
                f"{self.name()} needs at least {as_gib(self.memory)}, and {as_gib(limit)} may be filled here"
            )

    # --- words and JSON --------------------------------------------------------------------------------

    def shape(self) -> str:
        """The sizes in one line."""
        heads = f"H={self.H}" + (f"/{self.H_kv}" if self.H_kv != self.H else "")
        lengths = f"n={self.n_q}" if self.n_q == self.n_kv else f"n_q={self.n_q} n_kv={self.n_kv}"
        return f"B={self.B} {heads} {lengths} d={self.d}" + (f" d_v={self.d_v}" if self.d_v != self.d else "")

    def name(self) -> str:
        """The workload in one line."""
        form = "" if self.form == "plain" else self.form
        words = [f"{self.label}:" if self.label else "", self.shape(), self.dtype, self.direction, form]
        return " ".join([w for w in words if w] + ([f"mask {self.mask}"] if self.mask.parts else []))

    def key(self) -> str:
        """What tells one workload from another in a file of results."""
        sizes = ",".join(f"{n}={getattr(self, n)}" for n in SIZES)
        return f"{sizes},{self.dtype},{self.mask},{self.direction},{self.form},seed={self.seed}"

    def to_json(self) -> dict[str, Any]:
        """The workload as JSON values, with its counts."""
        counts = {n: getattr(self, n) for n in ("pairs", "flops", "exponentials", "bytes", "memory")}
        return {**asdict(self), "mask": str(self.mask), "name": self.name(), "counts": counts}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Workload:
        """The inverse of `to_json`. Raises: TargetError for anything but a workload."""
        known = parse_fields(Workload, data)
        return Workload(**{**known, "mask": read_mask(known["mask"])})


def machine_memory() -> int:
    """Bytes of memory of this machine; of this container where it is held to less."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        with open("/sys/fs/cgroup/memory.max", encoding="ascii") as stream:
            text = stream.read().strip()
    except OSError:
        return total
    return min(total, int(text)) if text.isdecimal() else total


def as_gib(number: float) -> str:
    """Bytes for people."""
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if number >= size:
            return f"{number / size:.1f} {unit}"
    return f"{number:.0f} B"
