"""Laws of the step functions of the seed's exercise: `--kind` says which step the target is.

split_heads(Q, n_heads), merge_heads(y), pairwise_similarities(Q, K), attn_scaled(A, n_embd, n_heads), attn_softmax(A),
compute_outputs(A, V), make_causal_mask(n_tok) and apply_causal_mask(mask, A), on (B, H, n, d) and (B, H, n, n).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from attention_core.conformance.budgets.budget import UNIT_ROUNDOFF, round_to
from attention_core.conformance.subjects.evidence import (
    Evidence,
    NotApplicable,
    Result,
    Shown,
    Violation,
    require_close,
)
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.parameter_case import ParameterCase, ParameterSubject, Sizes, as_in_models
from attention_core.conformance.worker.exchange import NDArray
from attention_core.declaration.implementation import TargetError
from attention_core.declaration.scales import DEFAULT, scale_of

CONTRACT = "self-attention-steps"
TINY = 2.0**-126
"""The least normal number of float32: what lies below may be 0."""
FAR = {"float32": 150.0, "float64": 1200.0}
"""Scores whose exponential is infinite, and 0 with the other sign."""
Step = tuple[tuple[Any, ...], NDArray, NDArray | float]
"""The arguments of a step, its result, and how far a correct one may be from it."""


def gamma(roundings: int, dtype: str) -> float:
    """gamma_n = n u / (1 - n u): the relative error of n roundings."""
    nu = roundings * UNIT_ROUNDOFF[dtype]
    return nu / (1 - nu)


def _heads(case: ParameterCase, name: str) -> NDArray:
    return case.values(name, case["B"], case["H"], case["n"], case["d"])


def _scores(case: ParameterCase) -> NDArray:
    return 4 * case.values("A", case["B"], case["H"], case["n"], case["n"])


def _split(case: ParameterCase) -> Step:
    x = case.values("Q", case["B"], case["n"], case["H"] * case["d"])
    return (x, case["H"]), x.reshape(case["B"], case["n"], case["H"], case["d"]).swapaxes(1, 2), 0.0


def _merge(case: ParameterCase) -> Step:
    y = _heads(case, "y")
    return (y,), y.swapaxes(1, 2).reshape(case["B"], case["n"], -1), 0.0


def _similarities(case: ParameterCase) -> Step:
    """A sum of d products has at most d + 1 roundings a term: gamma_{d+1} |q| |k|."""
    q, k = _heads(case, "Q"), _heads(case, "K")
    back = k.swapaxes(-1, -2)
    return (q, k), q @ back, gamma(case["d"] + 1, case.dtype) * (np.abs(q) @ np.abs(back)) + TINY * case["d"]


def _make_scaling_step(case: ParameterCase) -> Step:
    """A quotient, a root, a reciprocal and a product, whichever way it is written: gamma_6 |a|."""
    a = _scores(case)
    want = a * scale_of(str(case.options.get("scale", DEFAULT)), case["d"])
    return (a, case["H"] * case["d"], case["H"]), want, gamma(6, case.dtype) * np.abs(want) + TINY


def _scores_of_softmax(case: ParameterCase) -> NDArray:
    """Scores as any, or beyond what exp can take, of either sign, or with -inf where a causal mask forbids."""
    a, kind = _scores(case), case.options.get("scores")
    if kind == "large":
        far = FAR[case.dtype] * (1 if case.rng("sign").random() < 0.5 else -1)
        return np.asarray(round_to(a + far, case.dtype))
    return np.where(np.tri(case["n"], dtype=bool), a, -np.inf) if kind == "masked" else a


def _softmax(case: ParameterCase) -> Step:
    """s - max rounds by u |s - max|, which exp makes relative; exp, the sum and the quotient round n + 10 times."""
    a = _scores_of_softmax(case)
    away = a.max(-1, keepdims=True) - a
    p = np.exp(-away)
    p /= p.sum(-1, keepdims=True)
    farthest = np.where(np.isinf(away), 0.0, away).max(-1, keepdims=True)
    moved = np.expm1(2 * UNIT_ROUNDOFF[case.dtype] * farthest)
    relative = (1 + moved) * (1 + gamma(case["n"] + 10, case.dtype)) - 1
    return (a,), p, relative * p + case["n"] * TINY


def _outputs(case: ParameterCase) -> Step:
    """As the similarities, with the n weights of a token: gamma_{n+1} |a| |v|."""
    _, p, _ = _softmax(case)
    weights = np.asarray(p, np.float32 if case.dtype == "float32" else np.float64).astype(np.float64)
    v = _heads(case, "V")
    return (weights, v), weights @ v, gamma(case["n"] + 1, case.dtype) * (weights @ np.abs(v)) + TINY * case["n"]


def _mask(case: ParameterCase) -> Step:
    return (case["n"],), np.tri(case["n"], dtype=bool), 0.0


def _apply(case: ParameterCase) -> Step:
    mask, a = np.tri(case["n"], dtype=bool), _scores(case)
    return (mask, a), np.where(mask, a, -np.inf), 0.0


STEPS: Mapping[str, Callable[[ParameterCase], Step]] = {
    "split_heads": _split, "merge_heads": _merge, "pairwise_similarities": _similarities,
    "attn_scaled": _make_scaling_step, "attn_softmax": _softmax, "compute_outputs": _outputs,
    "make_causal_mask": _mask, "apply_causal_mask": _apply,
}  # fmt: skip
"""The steps by the names of the exercise."""


class StepFunction(ParameterSubject):
    """One of the steps, called by place."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.kind = str(self.parameters.get("kind", ""))
        if self.kind not in STEPS:
            raise TargetError(f"say which step it is: --kind {', '.join(STEPS)}")
        if self.implementation.scale != DEFAULT and self.kind != "attn_scaled":
            raise TargetError(f"--scale says nothing about {self.kind}, but about attn_scaled")

    def step(self, case: ParameterCase) -> tuple[Result, NDArray, NDArray | float]:
        """One call, what it should give, and how far from that a correct one may be."""
        scaled = case.with_(options={**case.options, "scale": self.implementation.scale})
        arguments, want, bound = STEPS[self.kind](scaled)
        return self.call(*arguments, dtype=case.dtype, shape=want.shape), want, bound


def a_step_is_as_the_exercise_defines_it(subject: StepFunction, case: ParameterCase) -> None:
    """Each step gives what its line of the exercise says, for every token and head of every sequence.

    Formula: A = Q K^T; A / sqrt(E/H); softmax over keys; A V; j <= i; -inf where the mask forbids;
        (B, n, E) to (B, H, n, d) and back
    Source: the seed's exercise, "Implementing Attention from Scratch", steps 1 to 3
    Fault: softmax_over_tokens
    """
    got, want, bound = subject.step(case)
    require_close(got, want, bound, subject.kind)


def a_causal_mask_is_of_bools(subject: StepFunction, case: ParameterCase) -> None:
    """The causal mask holds True and False, as `torch.where` and `masked_fill` need it.

    Formula: dtype(make_causal_mask(n)) = bool
    Source: the seed's exercise, step 2
    Fault: mask_of_ones
    """
    if subject.kind != "make_causal_mask":
        raise NotApplicable("the step is not make_causal_mask")
    got, _, _ = subject.step(case)
    if got.extra["dtype"] != "bool":
        shown = Evidence((Shown(got.request),), kind="shape")
        raise Violation(f"the mask: got dtype {got.extra['dtype']}, but should be bool", shown)


RANGES = {"B": (1, 3), "n": (1, 9), "H": (1, 4), "d": (1, 8)}
MODELS = {"n": (33, 40), "H": (5, 12), "d": (8, 20)}
SCORES = {"scores": (None, None, "large", "masked")}
SPACE = Sizes(RANGES, SCORES, adjust=as_in_models(MODELS), dtypes=("float32", "float64"))
ROW: dict[str, Any] = {"contract": CONTRACT, "family": "seed_steps", "small": 0}
LAWS = (
    Law(a_step_is_as_the_exercise_defines_it, space=SPACE, large=32, **ROW, central=True),
    Law(a_causal_mask_is_of_bools, space=SPACE, large=4, **ROW),
)
