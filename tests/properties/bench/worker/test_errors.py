"""Errors of benchmarked kernels.

Errors on the very inputs: right kernels are within their budget in every cell, wrong ones are refuted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from attention_core import oracle
from attention_core.bench.targets import load, prepare, read_target
from attention_core.bench.worker import errors
from attention_core.bench.worker.errors import Errors, Judge
from attention_core.bench.workloads.inputs import Inputs, draw
from attention_core.bench.workloads.masks import read_mask
from attention_core.bench.workloads.workload import Workload
from attention_core.registry.table import implementation

OURS = implementation("core:dot_product")
SIZES = {"B": 2, "H": 4, "H_kv": 2, "n_q": 13, "n_kv": 17, "d": 8, "d_v": 5}


def results_of(text: str, inputs: Inputs) -> dict[str, Tensor]:
    named = read_target(text)
    return prepare(named, *load(named), inputs).results()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "float64"])
@pytest.mark.parametrize("mask", ["none", "causal", "bool", "bias", "window:4", "segments:3", "bias+window:3"])
def test_right_kernels_are_within_their_budget(mask: str, dtype: str) -> None:
    inputs = draw(Workload(**SIZES, mask=read_mask(mask), dtype=dtype, direction="bwd"))
    judge = Judge(inputs)
    for text in ("core:dot_product", "torch:default"):
        found = judge.judge(results_of(text, inputs), read_target(text).implementation)
        assert set(found) == {"out", "query", "key", "value"}
        for told in found.values():
            assert not told["refuted"]
            assert 0 < told["over_bound"] <= 1
            assert told["judged"] == told["of"]
            assert 0 < told["rms"] <= told["max"]


def test_the_figures_are_those_of_the_definition() -> None:
    inputs = draw(Workload(H=2, n_q=5, n_kv=7, d=4))
    out = results_of("core:dot_product", inputs)["out"]
    truth = oracle.attention(inputs.query.double(), inputs.key.double(), inputs.value.double()).out
    error = out.double().numpy() - truth
    told = Judge(inputs).judge({"out": out}, OURS)["out"]
    scale = np.sqrt(np.mean(truth**2))
    assert told["rms"] == pytest.approx(np.sqrt(np.mean(error**2)) / scale)
    assert told["max"] == pytest.approx(np.abs(error).max() / scale)


def one_wrong_row(out: Tensor) -> None:
    out[1, 3, 12] *= 1.001


def a_nan(out: Tensor) -> None:
    out[0, 0, 0, 0] = torch.nan


def an_infinity(out: Tensor) -> None:
    out[0, 1, 3, 2] = torch.inf


def swapped_heads(out: Tensor) -> None:
    out[:] = out.flip(1)


@pytest.mark.parametrize("spoil", [one_wrong_row, a_nan, an_infinity, swapped_heads])
@pytest.mark.parametrize("name", ["out", "query"])
def test_wrong_results_are_refuted(spoil: Callable[[Tensor], None], name: str) -> None:
    inputs = draw(Workload(**SIZES, direction="bwd"))
    results = results_of("core:dot_product", inputs)
    judge = Judge(inputs)
    assert not judge.judge(results, OURS)[name]["refuted"]
    results[name] = results[name].clone()
    spoil(results[name])
    found = judge.judge(results, OURS)
    assert found[name]["refuted"]
    assert sum(told["refuted"] for told in found.values()) == 1


def test_a_shifted_mask_is_refuted() -> None:
    inputs = draw(Workload(**SIZES, mask=read_mask("window:4")))
    other = draw(Workload(**SIZES, mask=read_mask("window:5")))
    assert Judge(inputs).judge(results_of("core:dot_product", other), OURS)["out"]["refuted"]


@pytest.mark.parametrize(("name", "change"), [("shape", lambda x: x[:, :1]), ("dtype", lambda x: x.double())])
def test_another_shape_or_dtype_is_told(name: str, change: Callable[[Tensor], Tensor]) -> None:
    inputs = draw(Workload(**SIZES))
    with pytest.raises(ValueError, match="out: got shape"):
        Judge(inputs).judge({"out": change(results_of("core:dot_product", inputs)["out"])}, OURS)


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the sizes of these tests be large ones."""
    monkeypatch.setattr(errors, "PAIRS", 500)
    monkeypatch.setattr(errors, "GRADIENT_PAIRS", 450)
    monkeypatch.setattr(errors, "BLOCK", 100)


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("mask", ["none", "window:4", "bias"])
def test_large_problems_are_judged_in_part(mask: str) -> None:
    inputs = draw(Workload(**SIZES, mask=read_mask(mask), direction="bwd"))
    results = results_of("core:dot_product", inputs)
    found = Judge(inputs).judge(results, OURS)
    out = found["out"]
    assert 0 < out["judged"] < out["of"] and not out["refuted"] and out["over_bound"] > 0
    for name in ("query", "key", "value"):  # summed over blocks of rows, without a bound
        assert 0 < found[name]["judged"] < found[name]["of"]
        assert found[name]["over_bound"] is None
        assert found[name]["rms"] < 1e-5
    wrong: dict[str, Any] = {name: tensor * 1.01 for name, tensor in results.items()}
    again = Judge(inputs).judge(wrong, OURS)
    assert again["out"]["refuted"]
    assert again["key"]["rms"] == pytest.approx(0.01, rel=0.01)


@pytest.mark.usefixtures("large")
def test_the_first_and_the_last_row_are_always_judged() -> None:
    inputs = draw(Workload(**SIZES))
    for row in (0, 12):
        out = results_of("core:dot_product", inputs)["out"].clone()
        out[:, :, row] += 0.01
        assert Judge(inputs).judge({"out": out}, OURS)["out"]["refuted"]


def test_rows_without_a_key_are_not_judged() -> None:
    inputs = draw(Workload(H=2, n_q=40, n_kv=40, d=4, mask=read_mask("bool+window:2")))
    judge = Judge(inputs)
    out = results_of("core:dot_product", inputs)["out"].clone()
    told = judge.judge({"out": out}, OURS)["out"]
    assert 0 < told["judged"] < told["of"]
    dead = torch.from_numpy(judge.parts[0].truth.dead[0, 0])
    out[:, :, dead] = torch.nan
    assert judge.judge({"out": out}, OURS)["out"] == told
    out[0, 0, int((~dead).nonzero()[0])] = torch.nan
    assert judge.judge({"out": out}, OURS)["out"]["refuted"]


def test_every_kernel_has_the_budget_of_its_own_sums() -> None:
    """Whoever was judged before it on the same truth."""
    inputs = draw(Workload(**SIZES, dtype="bfloat16", direction="bwd"))
    results, judge = results_of("core:dot_product", inputs), Judge(inputs)
    wide = judge.judge(results, OURS)
    rough = judge.judge(results, replace(OURS, accumulate="input"))
    for name, told in wide.items():
        assert rough[name]["over_bound"] < told["over_bound"]
        assert rough[name]["rms"] == told["rms"]


@pytest.mark.parametrize(("error", "refuted"), [(0.0, False), (0.1, False), (0.11, True), (np.nan, True)])
def test_an_error_is_refuted_beyond_its_bound(error: float, refuted: bool) -> None:
    """The second entry has no room for an error, and none."""
    found, truth = Errors(), np.array([3.0, 4.0])
    found.add(truth + np.array([error, 0.0]), truth, np.array([0.1 + 1e-12, 0.0]))
    told = found.summarize(of=8)
    assert told["refuted"] is refuted
    assert (told["judged"], told["of"]) == (2, 8)
    size = math.inf if math.isnan(error) else error
    assert told["max"] == pytest.approx(size / math.sqrt(12.5)) and told["over_bound"] == pytest.approx(10 * size)
