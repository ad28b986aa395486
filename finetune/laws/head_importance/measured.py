"""What the laws of attention heads hold in their hands: losses in closed form, a layer, and their float64 truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attention_core import oracle
from attention_core.conformance.budgets import budget
from attention_core.conformance.budgets.rounding import UNIT_ROUNDOFF
from attention_core.conformance.subjects.evidence import (
    Evidence,
    NotApplicable,
    Refused,
    Result,
    Shown,
    Violation,
    require_close,
)
from attention_core.conformance.subjects.parameter_case import ParameterCase, ParameterSubject
from attention_core.conformance.worker.exchange import NDArray, Response

MEASURES = ("gradient", "ablation")
KINDS = (*MEASURES, "agreement", "choose", "gate", "prune")
MAPS = ("query", "key", "value", "proj")
SINGLE = UNIT_ROUNDOFF["float32"]
Batches = list[list[int]]


@dataclass(frozen=True)
class Losses:
    """loss_i(g) = c_i + <b_i, g> + q_i / 2 <w_i, g>^2 for texts i and gates g (L, H).

    Args: constants (N,); slopes, (N, L, H), the b; bends (N,), the q; directions, (N, L, H), the w.
    """

    constants: NDArray
    slopes: NDArray
    bends: NDArray
    directions: NDArray

    def arrays(self) -> tuple[NDArray, ...]:
        """What the target is given."""
        return self.constants, self.slopes, self.bends, self.directions

    @property
    def along(self) -> NDArray:
        """<w_i, 1>, (N, 1, 1)."""
        return np.asarray(self.directions.sum((1, 2), keepdims=True))

    @property
    def gradients(self) -> NDArray:
        """d loss_i / d g at g = 1: b + q <w, 1> w, (N, L, H)."""
        return np.asarray(self.slopes + self.bends[:, None, None] * self.along * self.directions)

    @property
    def rises(self) -> NDArray:
        """loss_i(1 - e_lh) - loss_i(1) = -(b + q <w, 1> w) + q w^2 / 2, (N, L, H)."""
        return np.asarray(self.bends[:, None, None] / 2 * self.directions**2 - self.gradients)

    def truth(self, kind: str, numbers: Sequence[int]) -> tuple[NDArray, NDArray]:
        """The importance of each head over some texts, and how far a computed one may be from it.

        With K gates, a sum over them has a relative error of K u of the sum of absolute values (in any order; drawn
        numbers and gates of 0 and 1 are exact), and the products, the map that multiplies by 1 and a division by the
        number N of texts add 8 u; the mean over texts N u. A slope is b + q s w, so its terms are at most
        |b| + |q| |w| sum |w|. A rise is a difference of two losses, of at most M = |c| + sum |b| + |q| / 2 (sum |w|)^2
        each. First order, doubled. The unit is that of float32 whatever the losses are: gates of torch.ones have it.
        """
        chosen = list(numbers)
        u, count = SINGLE, self.slopes[0].size + len(chosen) + 8
        w = np.abs(self.directions)
        whole, q = w.sum((1, 2), keepdims=True), np.abs(self.bends)[:, None, None]
        if kind == "gradient":
            found, terms = np.abs(self.gradients), np.abs(self.slopes) + q * w * whole
        else:
            M = (
                np.abs(self.constants)[:, None, None]
                + np.abs(self.slopes).sum((1, 2), keepdims=True)
                + q / 2 * whole**2
            )
            found, terms = self.rises, 2 * np.broadcast_to(M, self.slopes.shape)
        return found[chosen].mean(0), 2 * count * u * terms[chosen].mean(0)


@dataclass(frozen=True)
class Taken:
    """A measure that was taken twice: both results; rows of `calls`: any module in training mode, gradients enabled,
    texts; rows of `facts`: the batches are as they were, the parameters are."""

    first: Result
    again: Result
    calls: NDArray
    facts: NDArray

    def as_evidence(self) -> Evidence:
        """The call alone."""
        return Evidence((Shown(self.first.request),), kind="crash")


class Measured(ParameterSubject):
    """A function of arrays made by `finetune.laws.head_importance.head_probe.make_target` of the functions given.

    Declared with `--parameter`: `absolute=batch` (the gradient's importance is sum over batches |sum over their texts|
    / N, as in scripts that take one gradient a batch), `numbers=old` (a second pruning counts heads as the layer had
    them at first, as transformers' prune_heads did; by default as it has them now).
    """

    @property
    def absolute(self) -> str:
        """What a slope's absolute value is taken of: the slope of a text, or their sum over a batch."""
        return str(self.parameters.get("absolute", "text"))

    # --- drawn arguments ------------------------------------------------------------------------------

    def losses(self, case: ParameterCase) -> Losses:
        """Losses of N texts under L H gates: slopes of both signs, a part of the heads that hurt."""
        shape = (case["N"], case["L"], case["H"])
        drawn = {name: grid(case.rng(name), *shape[: 1 if name[0] in "cq" else 3]) for name in ("c", "b", "q", "w")}
        return Losses(drawn["c"], drawn["b"], drawn["q"], drawn["w"])

    def weights(self, case: ParameterCase) -> list[NDArray]:
        """Weight and bias of query, key, value and proj: whole numbers over 32, so small that the softmax is spread."""
        E = case["H"] * case["d"]
        shapes = [shape for _ in MAPS for shape in ((E, E), (E,))]
        return [grid(case.rng(f"weight {n}"), *shape) / 4 for n, shape in enumerate(shapes)]

    def x(self, case: ParameterCase) -> NDArray:
        """The input of a layer, (B, n, E)."""
        return grid(case.rng("x"), case["B"], case["n"], case["H"] * case["d"])

    # --- calls ----------------------------------------------------------------------------------------

    def ask(self, kind: str, *arrays: Any, dtype: str, **settings: Any) -> Response:
        """One call. Raises: NotApplicable where the function was not given."""
        try:
            return self.send(self.request(kind, *arrays, dtype=dtype, **settings))
        except Refused as refusal:
            if "NothingGiven" in str(refusal):
                raise NotApplicable(f"make_target() was given no {kind}") from None
            raise

    def outputs(self, kind: str, count: int, *arrays: Any, dtype: str, **settings: Any) -> list[Result]:
        """All results of a call. Raises: Violation where there are not so many."""
        request = self.request(kind, *arrays, dtype=dtype, **settings)
        found = self.ask(kind, *arrays, dtype=dtype, **settings).outputs
        if len(found) != count:
            message = f"got {len(found)} results: is the target made by head_probe.make_target?"
            raise Violation(message, Evidence((Shown(request),), kind="crash"))
        return [
            Result(o.values.astype(np.float64), request, "out" if n == 0 else f"out{n}", None, {"shape": o.shape})
            for n, o in enumerate(found)
        ]

    def measure(self, case: ParameterCase, kind: str, batches: Batches, *, training: bool = False) -> Taken:
        """A measure of the case's losses over some batches, taken twice."""
        losses = self.losses(case)
        made = self.outputs(kind, 4, *losses.arrays(), dtype=case.dtype, batches=batches, training=training)
        for result in made[:2]:
            if result.values.shape != (case["L"], case["H"]):
                message = f"{kind}: got shape {result.values.shape}, but should be {(case['L'], case['H'])}"
                raise Violation(message, Evidence((Shown(result.request, result.quantity),), kind="shape"))
        return Taken(made[0], made[1], made[2].values, made[3].values)

    def plain(self, case: ParameterCase) -> None:
        """A call of every function that was given."""
        for kind in KINDS:
            try:
                self.call_plainly(case, kind)
            except NotApplicable:
                continue

    def call_plainly(self, case: ParameterCase, kind: str) -> None:
        """A call of one function. Raises: NotApplicable where it was not given."""
        dtype, losses = case.dtype, self.losses(case)
        if kind in MEASURES:
            self.measure(case, kind, [list(range(case["N"]))])
        elif kind == "agreement":
            self.ask(kind, losses.slopes[0], losses.directions[0], dtype=dtype)
        elif kind == "choose":
            self.ask(kind, losses.slopes[0], 1, dtype=dtype)
        else:
            extra = {"gone": [[0]]} if kind == "prune" else {}
            given = (self.x(case), *([np.ones(case["H"])] if kind == "gate" else []))
            self.ask(kind, *given, *self.weights(case), dtype=dtype, heads=case["H"], **extra)

    # --- truths ---------------------------------------------------------------------------------------

    def require_importance(self, case: ParameterCase, kind: str, batches: Batches, what: str) -> Taken:
        """Raise where a measure is not what the losses say, text by text.

        With `absolute=batch` the slopes of a batch are added before their absolute value is taken.
        """
        found, losses = self.measure(case, kind, batches), self.losses(case)
        numbers = [n for batch in batches for n in batch]
        want, bound = losses.truth(kind, numbers)
        if kind == "gradient" and self.absolute == "batch":
            sums = [np.abs(losses.gradients[batch].sum(0)) for batch in batches]
            want = np.asarray(sum(sums)) / len(numbers)
        require_close(found.first, want, bound, what)
        return found

    def layer_truth(self, case: ParameterCase, gates: NDArray) -> tuple[NDArray, NDArray]:
        """A layer's output with gates on its heads in float64, and how far a computed one may be from it.

        Inputs and weights are whole numbers over 8 and 32, so queries, keys and values are exact in float32; then comes
        the budget e of attention (derivations/error_budget.md), which a gate passes on as |g| e + 2 u |g| |o|, and proj
        as |W| (..) with gamma_{E + 2} of its own, as for a whole module.
        """
        weights, x = self.weights(case), self.x(case)
        H, d = case["H"], case["d"]
        q, k, v = (
            (x @ weights[2 * n].T + weights[2 * n + 1]).reshape(*x.shape[:2], H, d).swapaxes(1, 2) for n in range(3)
        )
        true = oracle.attention(q, k, v, None, scale=d**-0.5)
        bound = budget.forward_bound(q, k, v, true, scale=d**-0.5, dtype=case.dtype).out
        assert bound is not None
        u, size = UNIT_ROUNDOFF[case.dtype], gates[:, None, None]
        out = true.out * size
        error = np.abs(size) * np.broadcast_to(bound, out.shape) + 2 * u * np.abs(out)
        flat, spread = (a.swapaxes(1, 2).reshape(*x.shape[:2], H * d) for a in (out, error))
        gamma = u * (H * d + 2) / (1 - u * (H * d + 2))
        W, b = weights[6], weights[7]
        passed = spread @ np.abs(W).T + gamma * ((np.abs(flat) + spread) @ np.abs(W).T + np.abs(b))
        return flat @ W.T + b, passed

    def gate(self, case: ParameterCase, gates: NDArray) -> list[Result]:
        """The output of a gated layer, and what the layer gives afterwards."""
        x = self.x(case)
        found = self.outputs("gate", 2, x, gates, *self.weights(case), dtype=case.dtype, heads=case["H"])
        return [require_shape(result, x.shape) for result in found]

    def prune(self, case: ParameterCase, gone: Batches, **settings: Any) -> list[Result]:
        """The output of a layer without heads, taken out list by list, and numbers: all, trained, reached."""
        x = self.x(case)
        found = self.outputs(
            "prune", 2, x, *self.weights(case), dtype=case.dtype, heads=case["H"], gone=gone, **settings
        )
        require_shape(found[0], x.shape)
        return found


def require_shape(result: Result, shape: tuple[int, ...]) -> Result:
    """The result. Raises: Violation where it has another shape."""
    if result.values.shape != shape:
        message = f"got shape {result.values.shape}, but should be {shape}"
        raise Violation(message, Evidence((Shown(result.request, result.quantity),), kind="shape"))
    return result


def grid(rng: np.random.Generator, *shape: int) -> NDArray:
    """Drawn whole numbers over 8 from -2 to 2, none of them 0: products of two and their sums are exact in float32."""
    drawn = np.clip(np.rint(8 * rng.standard_normal(shape)), -16, 16)
    return np.asarray(np.where(drawn == 0, 1.0, drawn)) / 8


def mean_ranks(values: NDArray) -> NDArray:
    """The rank of each number from 1, the mean of the ranks where several are equal."""
    flat = values.reshape(-1)
    below = (flat[None] < flat[:, None]).sum(1)
    return np.asarray(below + ((flat[None] == flat[:, None]).sum(1) + 1) / 2, float)


def spearman(first: NDArray, second: NDArray) -> float:
    """The correlation of the ranks."""
    a, b = (mean_ranks(side) - (side.size + 1) / 2 for side in (first, second))
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


def kept_gates(count: int, gone: Sequence[int]) -> NDArray:
    """Gates of 0 for the heads that are gone, of 1 for the others."""
    gates = np.ones(count)
    gates[list(gone)] = 0.0
    return gates


def split(case: ParameterCase, *, even: bool) -> Batches:
    """The texts in two or three batches, of one size (each text once, the rest left out) or of different ones."""
    N = case["N"]
    if even:
        return [[2 * n, 2 * n + 1] for n in range(N // 2)]
    first = int(case.rng("cut").integers(1, (N + 1) // 2))
    return [list(range(first)), list(range(first, N))]
