"""Tests of attention_core.conformance.budgets.budget.

The error budget: no correct kernel beyond it, wrong ones beyond it, and the bound itself tried to its edge.
Figures over more seeds stand in docs/budget_figures.md; budget_kernels.py computes them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from attention_core import oracle
from attention_core.conformance.budgets import budget, error_rows
from tests.numeric import budget_kernels as kernels
from tests.numeric.budget_kernels import CORRECT, DTYPES, REGIMES


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("regime", REGIMES)
def test_correct_kernels_stay_within_the_bound(
    dtype: str, regime: str, record_property: Callable[[str, object], None]
) -> None:
    largest = 0.0
    for seed in (0, 1):
        problem = kernels.draw(regime, seed, dtype)
        for kernel, accumulate in CORRECT:
            found = kernels.ratios(kernels.run(kernel, problem), problem, accumulate)
            record_property(f"{kernel.__name__}/{accumulate}/{seed}", found)
            assert max(found.values()) <= 1, (kernel.__name__, accumulate, seed, found)
            largest = max(largest, *found.values())
    # An error of a thousandth of the bound at most would mean a bound that says nothing.
    assert largest > 1e-3


@pytest.mark.parametrize("accumulate", ["input", "float32"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", kernels.WRONG, ids=lambda k: k.__name__)
def test_wrong_kernels_exceed_the_bound(kernel: kernels.Kernel, dtype: str, accumulate: str) -> None:
    regime = "causal" if kernel is kernels.late else "normal"
    faint = kernel is kernels.too_steep and dtype in ("bfloat16", "float16") and accumulate == "input"
    for seed in range(3):
        problem = kernels.draw(regime, seed, dtype)
        found = kernels.ratios(kernels.run(kernel, problem), problem, accumulate)
        if faint:
            # One per cent of a score near 1 is a few roundings of these formats: within the budget, rightly.
            assert max(found.values()) <= 1
        else:
            assert max(found.values()) > 1, (seed, found)
            assert found["out"] > 1, (seed, found)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_float32_sums_give_the_smaller_bound(dtype: str) -> None:
    problem = kernels.draw("normal", 0, dtype)
    truth, gradients = kernels.truth_of(problem)
    rough = kernels.bounds_of(problem, truth, gradients, "input")
    fine = kernels.bounds_of(problem, truth, gradients, "float32")
    for name in ("out", "lse"):
        assert (getattr(fine[0], name) < getattr(rough[0], name)).all()
    for name in ("query", "key", "value"):
        assert (getattr(fine[1], name) < getattr(rough[1], name)).all()


@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_lse_within_its_bound(dtype: str, regime: str) -> None:
    problem = kernels.draw(regime, 2, dtype)
    truth, gradients = kernels.truth_of(problem)
    query, key, value = (torch.tensor(x).to(DTYPES[dtype]) for x in problem.arrays)
    key, _ = kernels.expand(query, key, value)
    mask = 0.0 if problem.mask is None else torch.tensor(problem.mask)
    for accumulate in ("input", "float32"):
        high = DTYPES[dtype] if accumulate == "input" else torch.float32
        scores = query.to(high) @ key.to(high).mT * problem.scale
        got = torch.logsumexp((scores + mask).to(high), -1).double().numpy()
        bound = kernels.bounds_of(problem, truth, gradients, accumulate)[0].lse
        assert (np.abs(got - truth.lse) <= bound).all()


@pytest.mark.parametrize("size", [1e-7, 1e-3, 0.1, 0.7, 3.0])
def test_any_errors_of_the_scores_stay_within_the_spread(size: float) -> None:
    """o moved by arbitrary score errors up to Delta, the worst signs included, obeys (spread), sharply."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(6, 0.5))
    v = rng.normal(size=6)
    o = p @ v
    delta = size * rng.random(6)
    L = p @ np.exp(-delta)
    bound = (p * np.expm1(delta)) @ np.abs(v - o) / L
    signs = [np.sign(v - o), -np.sign(v - o), *(rng.uniform(-1, 1, size=(200, 6)))]
    moved = [abs((p * np.exp(s * delta)) @ v / (p @ np.exp(s * delta)) - o) for s in signs]
    assert max(moved) <= bound
    # At the worst signs only L differs, by e^(2 Delta) at most.
    assert max(moved) >= bound * np.exp(-3 * delta.max())


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("regime", ["normal", "peaked", "one-hot", "mixed", "masked", "tiny"])
def test_cauchy_schwarz_is_never_below_the_exact_spread(
    dtype: str, regime: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = kernels.draw(regime, 3, dtype)
    truth, gradients = kernels.truth_of(problem)
    both = []
    for limit in (10**9, 0):
        monkeypatch.setattr(error_rows, "SMALL", limit)
        both.append(kernels.bounds_of(problem, truth, gradients, "float32")[0].out)
    exact, quick = both
    assert (exact <= quick * (1 + 1e-12)).all()  # the two are sums of the same terms in another order
    assert np.median(quick / exact) < 2


def test_the_error_of_the_truth_itself_is_in_the_bound() -> None:
    # The exact mean of 1, 2 and 4 under equal weights is 7/3, which float64 cannot hold.
    value = np.array([1.0, 2.0, 4.0]).reshape(1, 1, 3, 1)
    query, key = np.zeros((1, 1, 1, 1)), np.zeros((1, 1, 3, 1))
    truth = oracle.attention(query, key, value)
    bound = budget.forward_bound(query, key, value, truth, dtype="float64").out
    assert bound is not None and bound[0, 0, 0, 0] >= 2 * np.spacing(7 / 3)


def test_bad_accumulate_is_refused() -> None:
    x = np.ones((1, 1, 1, 1))
    with pytest.raises(ValueError, match="accumulate must be"):
        budget.forward_bound(x, x, x, oracle.attention(x, x, x), dtype="float32", accumulate="float16")


def test_every_formula_named_in_the_code_is_derived() -> None:
    root = Path(__file__).resolve().parents[4]
    documents = ("error_budget", "merged_parts", "features", "quantised", "latent", "variants")
    document = "".join((root / "derivations" / f"{name}.md").read_text() for name in documents)
    derived = set(re.findall(r"\\tag\{([\w-]+)\}|\(([a-zA-Z][\w-]*)\)", document))
    names = set()
    for module in ("budget", "error_rows", "error_backward", "merge_bound", "quantised_bound", "latent_bound"):
        code = (root / "attention_core" / "conformance" / "budgets" / f"{module}.py").read_text()
        for comment in re.findall(r'#.*|""".*', code):
            names |= set(re.findall(r"\(([a-zA-Z][\w-]*)\)", comment))
    assert len(names) > 15 and names <= {a or b for a, b in derived}
