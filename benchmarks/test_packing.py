"""How many more problems a second are judged when they share a call: packed cases against one case a call."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import torch

from attention_core.conformance.cases.case import Case
from attention_core.conformance.laws.value import agrees_with_truth
from attention_core.conformance.subjects.binding import bind
from attention_core.conformance.subjects.subject import Subject
from attention_core.conformance.worker.runner import LocalRunner
from attention_core.declaration.implementation import Implementation

BATCH, HEADS, LENGTH, SIZE = 64, 8, 5, 4
ASKED = 20.0


def attention(query: Any, key: Any, value: Any) -> Any:
    """The target: torch's own kernel."""
    return torch.nn.functional.scaled_dot_product_attention(query, key, value)


def subject() -> Subject:
    """A fresh subject, so that nothing is remembered."""
    runner = LocalRunner(attention, factory=False, array="torch", device="cpu")
    return Subject(runner, bind(Implementation(attention, name="sdpa"), runner.describe()))


def pack(seed: int) -> Case:
    """One call with BATCH x HEADS problems."""
    rng = np.random.default_rng(seed)
    shape = (BATCH, HEADS, LENGTH, SIZE)
    query, key, value = (np.float32(rng.standard_normal(shape)).astype(np.float64) for _ in range(3))
    return Case("float32", query, key, value)


def singles(case: Case, count: int) -> list[Case]:
    """`count` of the same problems, one a call."""
    cut = [(b, h) for b in range(BATCH) for h in range(HEADS)][:count]
    arrays = [{n: getattr(case, n)[b : b + 1, h : h + 1] for n in ("query", "key", "value")} for b, h in cut]
    return [Case("float32", **a) for a in arrays]


def test_packed_problems_per_second(benchmark: Any) -> None:
    target, ratios = subject(), []
    agrees_with_truth(target, pack(0))
    for seed in range(9):  # interleaved, so that both sides see the same machine
        whole = pack(seed)
        start = time.perf_counter()
        agrees_with_truth(target, whole)
        packed = whole.slices / (time.perf_counter() - start)
        alone = singles(pack(seed), 64)
        start = time.perf_counter()
        for case in alone:
            agrees_with_truth(target, case)
        ratios.append(packed / (len(alone) / (time.perf_counter() - start)))
    ratio = float(np.median(ratios))
    benchmark.extra_info["packed_over_single"] = {"median": ratio, "smallest": min(ratios), "largest": max(ratios)}
    benchmark(lambda: agrees_with_truth(target, pack(1)))
    print(f"packed over single: {ratio:.1f} ({min(ratios):.1f} to {max(ratios):.1f}); asked: {ASKED:.0f}")
    assert ratio >= ASKED
