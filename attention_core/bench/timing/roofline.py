"""What this machine can do at most, measured: matmul FLOP/s by dtype, exponentials and bytes a second.

The limit of a workload is the longest of three times: its FLOPs at the matmul peak, its exponentials at the exp rate
and its bytes at the bandwidth. No correct kernel of that dtype can be faster unless it beats the routine measured
here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import torch

from attention_core.bench.json_fields import Factor, Filled, parse_fields
from attention_core.bench.timing.clocks import Clock, clock_for
from attention_core.bench.workloads.workload import Workload
from attention_core.worker.frames import Tell

MATMUL = ((128, 4096), (512, 512), (1024, 1024), (2048, 512))
"""Sizes (m = n, k) of the matmuls tried; the fastest is the peak."""
MATMUL_DEVICE = ((4096, 4096), (8192, 8192))
"""The same on a GPU, which smaller ones leave half idle."""
COPIES = (2**17, 2**19, 2**21, 2**23, 2**25, 2**27)
"""Bytes of the tensors copied: from what lies in a cache to what lies in no cache."""
EXPONENTIALS = 2**14
"""Numbers of which the exponential is taken, in the first cache."""
REPEATS = 9
ENOUGH = 1.0
"""Seconds of samples after which no more are taken: one matmul in a dtype that the processor has no products of takes
some."""
HALVES = ("bfloat16", "float16")


@dataclass(frozen=True)
class Roofline:
    """Measured peaks.

    Args: flops, dtype -> FLOP/s; exponentials, a second; bandwidth, bytes of the working set -> bytes moved a second.
    """

    flops: Annotated[Mapping[str, float], dict[str, Factor]]
    exponentials: Factor
    bandwidth: Annotated[Mapping[int, float], dict[int, Factor], Filled()]

    def seconds(self, workload: Workload) -> tuple[float, str]:
        """The shortest time a workload can take here, and what binds it: "matmul", "exp" or "bandwidth"."""
        times = {
            "matmul": workload.flops / self.products(workload.dtype),
            "exp": workload.exponentials / self.exponentials,
            "bandwidth": workload.bytes / self.bandwidth_for(workload.bytes),
        }
        binding = max(times, key=lambda name: times[name])
        return times[binding], binding

    def without_exponentials(self, workload: Workload) -> float:
        """Seconds that products and bytes take at least, whichever takes longer."""
        products = workload.flops / self.products(workload.dtype)
        return max(products, workload.bytes / self.bandwidth_for(workload.bytes))

    def products(self, dtype: str) -> float:
        """FLOP/s of the matmuls that inputs of a dtype can be computed by: half precision also by those of float32,
        which are faster on a processor with AVX2 alone.
        """
        return max(self.flops[dtype], self.flops.get("float32", 0.0) if dtype in HALVES else 0.0)

    def bandwidth_for(self, size: int) -> float:
        """The best bandwidth seen with a working set of this size or a larger one: bytes a second."""
        fitting = [rate for most, rate in self.bandwidth.items() if most >= size]
        return max(fitting) if fitting else self.bandwidth[max(self.bandwidth)]

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        bandwidth = {str(size): rate for size, rate in self.bandwidth.items()}
        return {"flops": dict(self.flops), "exponentials": self.exponentials, "bandwidth": bandwidth}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Roofline:
        """The inverse of `to_json`. Raises: TargetError for anything but limits."""
        return Roofline(**parse_fields(Roofline, data))


def measure_limits(job: dict[str, Any], tell: Tell) -> None:
    """Answer {"event": "limits", ...} for the dtypes of the job."""
    clock, device = clock_for(job["device"]), job["device"]
    flops = {}
    for dtype in job["dtypes"]:
        flops[dtype] = matmul_peak(dtype, clock, device)
        tell({"event": "alive"})
    found = Roofline(flops, exp_rate(clock, device), {2 * s: copy_rate(s, clock, device) for s in COPIES})
    tell({"event": "limits", **found.to_json()})


def best(clock: Clock, function: Any, count: int = 1) -> float:
    """The shortest of some samples, in seconds a call; of one at least."""
    function()
    found: list[float] = []
    while len(found) < REPEATS and sum(found) < ENOUGH:
        found.append(clock.time(function, count))
    return min(found) / count


def matmul_peak(dtype: str, clock: Clock, device: str) -> float:
    """FLOP/s of the fastest matmul."""
    rates = []
    for n, k in MATMUL if device == "cpu" else MATMUL_DEVICE:
        a = torch.randn(n, k, device=device).to(getattr(torch, dtype))
        b = torch.randn(k, n, device=device).to(getattr(torch, dtype))
        out = torch.empty(n, n, device=device, dtype=a.dtype)
        rates.append(2 * n * n * k / best(clock, lambda a=a, b=b, out=out: torch.matmul(a, b, out=out)))
    return max(rates)


def exp_rate(clock: Clock, device: str) -> float:
    """float32 exponentials a second."""
    x = torch.randn(EXPONENTIALS if device == "cpu" else 2**24, device=device)
    out = torch.empty_like(x)
    return x.numel() / best(clock, lambda: torch.exp(x, out=out), 20)


def copy_rate(size: int, clock: Clock, device: str) -> float:
    """Bytes read and written a second by copying `size` bytes."""
    source = torch.ones(size, dtype=torch.int8, device=device)
    target = torch.empty_like(source)
    return 2 * size / best(clock, lambda: target.copy_(source), max(1, 2**23 // size))
