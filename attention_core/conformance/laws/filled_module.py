"""A multi-head module with known numbers in its parameters, its float64 truth, and how far a correct one may be off.

Every parameter is filled with small whole numbers over a power of two. Where the projections are recognised, queries,
keys and values are then exact, so that the budget begins at the attention inside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from attention_core import oracle
from attention_core.conformance import budget
from attention_core.conformance.budget import UNIT_ROUNDOFF
from attention_core.conformance.evidence import (
    NotApplicable,
    Refused,
    Result,
    Violation,
    excess,
)
from attention_core.conformance.exchange import Array, NDArray, array
from attention_core.conformance.laws.projections import LAYOUTS, Layout, Projections, find_projections
from attention_core.conformance.parameter_case import ParameterCase, ParameterSubject

SINGLE = UNIT_ROUNDOFF["float32"]
PROBE = ParameterCase({"B": 2, "n": 4, "H": 2, "d": 3}, seed=5)
"""Sizes at which every layout gives another module."""


@dataclass(frozen=True)
class Filled:
    """A fresh module: the number of the instance, its parameters, and its projections where they are recognised."""

    instance: int
    values: Mapping[str, NDArray]
    parameters: Mapping[str, Array]
    parts: Projections | None = None


class MultiHead(ParameterSubject):
    """A multi-head factory; modules are built anew for every case."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._layout: Layout | None = None

    def module(
        self, case: ParameterCase, filled: Filled, x: NDArray, *, mode: str = "eval", **kwargs: Any
    ) -> Result:  # fmt: skip
        """The module's output (first result) for an input."""
        built = (filled.instance, (case["H"] * case["d"], case["H"]))
        filling = filled.parameters or None
        return self.call(x, shape=x.shape, instance_=built, mode_=mode, parameters_=filling, **kwargs)

    def input(self, case: ParameterCase, purpose: str = "x") -> NDArray:
        """A drawn input (B, n, E) of whole numbers between -2 and 2."""
        x = case.values(purpose, case["B"], case["n"], case["H"] * case["d"])
        return np.clip(np.rint(x), -2, 2)

    def filled(self, case: ParameterCase) -> Filled:
        """A fresh module with its own numbers in every parameter."""
        size, number = case["H"] * case["d"], self.fresh_instance()
        built, x = (number, (size, case["H"])), self.input(case)
        request = self.request(x, instance_=built, mode_="eval", load_parameters_=True)
        # Rows of about unit length: larger ones would make every softmax one-hot, which hides its scale.
        step = 2.0 ** -np.ceil(np.log2(size) / 2)
        values, parameters = {}, {}
        for name, value in self.send(request).parameters.items():
            values[name] = step * case.rng(name).integers(-2, 3, size=value.shape)
            parameters[name] = array(values[name], value.dtype)
        return Filled(number, values, parameters)

    def recognised(self, case: ParameterCase) -> Filled:
        """A module whose projections are known; raises NotApplicable, saying why, where they are not."""
        found = self.filled(case)
        parts = find_projections(found.values, case["H"] * case["d"], case["H"], self.layout())
        return Filled(found.instance, found.values, found.parameters, parts)

    def layout(self) -> Layout:
        """The layout that explains the module on one fixed case; the usual one where none does."""
        if self._layout is None:
            self._layout, x = LAYOUTS[0], self.input(PROBE)
            try:
                found = self.filled(PROBE)
                got = self.module(PROBE, found, x).values
            except (Refused, Violation):
                return self._layout
            for layout in LAYOUTS:
                parts = find_projections(found.values, PROBE["H"] * PROBE["d"], PROBE["H"], layout)
                want, bound = self.truth(PROBE, parts, x)
                if excess(got, want, bound).max() <= 1:
                    self._layout = layout
                    break
        return self._layout

    def truth(
        self, case: ParameterCase, parts: Projections, x: NDArray, mask: NDArray | None = None, causal: bool = False
    ) -> tuple[NDArray, NDArray]:
        """The module's output in float64, and how far a correct one may be from it.

        Inputs and weights are whole numbers over powers of two, so projections are exact; then comes the budget of
        attention in float32, and the output projection passes it on as |W| e, with gamma_{E+2} (|o| + e) |W| + |b| of
        its own.
        """
        out, error = (_joined(a) for a in self.inside(case, parts, x, mask, causal))
        if "out" not in parts.weights:
            return out, error
        weight, bias = parts.weights["out"], parts.biases.get("out", np.zeros(out.shape[-1]))
        gamma = SINGLE * (weight.shape[1] + 2) / (1 - SINGLE * (weight.shape[1] + 2))
        size = (np.abs(out) + error) @ np.abs(weight).T + np.abs(bias)
        return out @ weight.T + bias, error @ np.abs(weight).T + gamma * size

    def inside(
        self, case: ParameterCase, parts: Projections, x: NDArray, mask: NDArray | None, causal: bool,
        unit: bool = False,
    ) -> tuple[NDArray, NDArray]:  # fmt: skip
        """The heads' outputs (B, H, n, d) in float64, and their budget in float32.

        With `unit` the values are the unit vectors, so that the outputs are the weights (B, H, n, n): a returned weight
        has seen the roundings of its score and of the softmax, and what the budget adds for the sum over values, of
        which all but one are 0, is more than it can have seen.
        """
        shape = (case["B"], case["n"], case["H"], case["d"])
        flat = {p: x @ parts.weights[p].T + parts.biases.get(p, 0.0) for p in "qkv"}
        q, k, v = (flat[p].reshape(shape).swapaxes(1, 2) for p in "qkv")
        if unit:
            v = np.broadcast_to(np.eye(case["n"]), (*k.shape[:-1], case["n"]))
        true = oracle.attention(q, k, v, mask, is_causal=causal)
        if causal:
            later = oracle.causal_mask(case["n"], case["n"])
            mask = later if mask is None else mask & later
        bounds = budget.forward_bound(q, k, v, true, mask=mask, dtype="float32", accumulate="float32")
        assert bounds.out is not None
        return true.out, np.broadcast_to(bounds.out, true.out.shape)

    def prepared(self, case: ParameterCase) -> Filled:
        """A module with its projections where they are recognised and explain it, else without."""
        try:
            found = self.recognised(case)
        except NotApplicable:
            return self.filled(case)
        assert found.parts is not None
        x = self.input(case)
        want, bound = self.truth(case, found.parts, x)
        explained = excess(self.module(case, found, x).values, want, bound).max(initial=0.0) <= 1
        return found if explained else Filled(found.instance, found.values, found.parameters)

    def rounding(
        self, case: ParameterCase, filled: Filled, *inputs: NDArray, mask: NDArray | None = None, causal: bool = False
    ) -> NDArray:
        """How far two float32 evaluations for inputs with the same truth (where they are compared) may be apart."""
        if filled.parts is not None:
            errors = [self.truth(case, filled.parts, x, mask, causal)[1] for x in inputs]
            return np.asarray(2 * np.maximum.reduce(errors))
        return np.full(inputs[0].shape, 2 * rough_error(case, filled, inputs))


def ways(subject: MultiHead, case: ParameterCase) -> tuple[tuple[dict[str, Any], NDArray | None, bool], ...]:
    """The arguments of a plain, a causal and a masked call, with the mask (True attends) and causality they mean."""
    mask = (case.rng("mask").random((case["n"], case["n"])) < 0.5) | np.eye(case["n"], dtype=bool)
    given = ~mask if subject.implementation.mask_true == "ignore" else mask
    return ({}, None, False), ({"is_causal": True}, None, True), ({"attn_mask": given}, mask, False)


def rough_error(case: ParameterCase, filled: Filled, inputs: tuple[NDArray, ...]) -> float:
    """Error of a module of two linear layers around an attention, whichever parameter belongs to which.

    With w the largest sum of absolute weights of a row or column, and b the largest bias, of any parameter: queries,
    keys and values are at most P = w |x| + b, scores at most S = sqrt(d) P^2, the output w P + b. Each stage adds
    relative errors of gamma, N = 2 E + d + n + 8 roundings in all; an error of a score enters the weights with a factor
    2, and the scores' own error is gamma S and as much again for each of queries and keys: 2 * 3 gamma S.
    """
    size = case["H"] * case["d"]
    matrices = [np.abs(v) for v in filled.values.values() if v.ndim >= 2]
    wide = max([1.0, *(float(m.sum(axis).max()) for m in matrices for axis in (0, -1))])
    bias = max([0.0, *(float(np.abs(v).max(initial=0.0)) for v in filled.values.values() if v.ndim < 2)])
    entry = wide * max(float(np.abs(x).max(initial=0.0)) for x in inputs) + bias
    scores = np.sqrt(case["d"]) * entry**2
    gamma = SINGLE * (2 * size + case["d"] + case["n"] + 8)
    return float(gamma * (2 + 6 * scores) * (wide * entry + bias))


def _joined(a: NDArray) -> NDArray:
    """(B, H, n, d) to (B, n, H d)."""
    return np.asarray(a.swapaxes(1, 2).reshape(a.shape[0], a.shape[2], -1))
