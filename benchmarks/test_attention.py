"""Kernels by pytest-benchmark, over workloads of `attention-core bench`: `pytest benchmarks/test_attention.py`.

Its JSON works with `pytest-benchmark compare`. Each kernel's error on the very inputs is judged first, and kept in the
JSON; a wrong kernel fails, one that cannot take the workload is skipped with its reason. Ratios with intervals, taken
in one run, are what `attention-core bench` is for: these numbers are taken one kernel after the other.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

from attention_core.bench.cli_validation import default_kernels
from attention_core.bench.targets import CannotRun, load, prepare, read_target
from attention_core.bench.worker.errors import Judge
from attention_core.bench.workloads.inputs import draw
from attention_core.bench.workloads.shapes import read_shapes, workloads
from attention_core.bench.workloads.workload import Workload
from attention_core.declaration.implementation import TargetError, Unavailable

KERNELS = [*default_kernels("cpu"), "auto"]
WORKLOADS = [
    *workloads(read_shapes(["BERT-base:128", "GPT-2:256"]), ["float32"], [], ["fwd", "bwd"]),
    *workloads(read_shapes(["GPT-2:512"]), ["float32", "bfloat16"], ["window:64", "segments:4", "bool"], ["fwd"]),
    *workloads(read_shapes(["Llama-3-8B:1024"]), ["bfloat16"], ["none"], ["fwd"], decode=True),
]


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Any:
    """One thread, and torch's own number again afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("workload", WORKLOADS, ids=Workload.name)
def test_kernel(workload: Workload, kernel: str, benchmark: Any) -> None:
    named, inputs = read_target(kernel), draw(workload)
    try:
        call = prepare(named, *load(named), inputs)
    except (CannotRun, TargetError, Unavailable) as reason:
        pytest.skip(str(reason))
    errors = Judge(inputs).judge(call.results(), named.implementation)
    assert not any(error["refuted"] for error in errors.values()), errors
    benchmark.group = workload.name()
    benchmark.extra_info |= {"errors": errors, "counts": workload.to_json()["counts"]}
    benchmark(call.run)
