"""Benchmarks on a GPU.

The benchmark on a CUDA device: events, cache flush, memory and limits. Skipped where there is none; by hand:
`attention-core bench --device cuda --shapes Llama-3-8B:4096 --dtype bfloat16`.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

from attention_core.bench import run as module
from attention_core.bench.run import Settings, device_memory, run_benchmark
from attention_core.bench.timing.clocks import CudaClock, clock_for
from attention_core.bench.timing.roofline import measure_limits
from attention_core.bench.workloads.masks import read_mask
from attention_core.bench.workloads.workload import Workload
from attention_core.declaration.implementation import TargetError

needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device here")


@needs_cuda
def test_events_time_what_was_called() -> None:
    clock, calls = clock_for("cuda"), []
    assert isinstance(clock, CudaClock)
    x = torch.randn(512, 512, device="cuda")
    assert clock.time(lambda: calls.append(x @ x), 7) > 0
    assert len(calls) == 7
    assert clock.flush.element_size() * clock.flush.numel() >= torch.cuda.get_device_properties(0).L2_cache_size


@needs_cuda
@pytest.mark.parametrize("direction", ["fwd", "bwd"])
def test_a_cell_on_the_device(direction: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"verdict": "conforms", "reason": "", "effort": "quick"}
    monkeypatch.setattr(module, "verdict", lambda *rest: told)
    workload = Workload(B=2, n_q=128, n_kv=128, dtype="bfloat16", mask=read_mask("causal"), direction=direction)
    settings = Settings(device="cuda", seconds=0.5)
    kernels = ["torch:default", "torch:math", "torch:flash", "core:dot_product", "auto"]
    (cell,) = run_benchmark(kernels, [workload], settings).cells
    for name, column in cell.kernels.items():
        assert column.status == "timed", (name, column.message)
        assert column.share is not None and 0 < column.share < 1
        assert column.probe["allocator"] > 0 and column.probe["operators"]
        assert not any(error["refuted"] for error in column.errors.values())


@needs_cuda
def test_limits_of_the_device() -> None:
    found: list[dict[str, Any]] = []
    measure_limits({"device": "cuda", "dtypes": ["float32", "bfloat16"]}, found.append)
    limits = found[-1]
    assert limits["flops"]["bfloat16"] > limits["flops"]["float32"] > 1e11


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device here")
def test_without_a_device_one_line_says_so() -> None:
    with pytest.raises(TargetError, match="--device cuda: "):
        device_memory("cuda")
    with pytest.raises(TargetError, match="--device cuda: "):
        run_benchmark([], [Workload(n_q=8, n_kv=8)], Settings(device="cuda"))


def test_a_device_nobody_knows_is_told() -> None:
    with pytest.raises(TargetError, match="--device abacus: "):
        run_benchmark([], [Workload(n_q=8, n_kv=8)], Settings(device="abacus"))
