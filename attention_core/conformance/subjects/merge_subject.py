"""Functions that merge attention over parts of the keys: how they are called, the parts, their truth and its budget.

Parts are (parts, B, H, n, d) with log-sum-exps (parts, B, H, n), in natural logarithm; a target has its own order of
axes and its own base.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from attention_core import oracle
from attention_core.conformance.budgets.budget import round_to
from attention_core.conformance.budgets.merge_bound import GivenErrors, MergeBounds, lse_dtype, merge_bound
from attention_core.conformance.subjects.axes import Arrangement
from attention_core.conformance.subjects.evidence import Evidence, Result, Shown, Violation
from attention_core.conformance.subjects.parameter_case import ParameterCase, ParameterSubject
from attention_core.conformance.worker.exchange import Array, NDArray, Request, Response, array
from attention_core.conformance.worker.runner import Runner
from attention_core.declaration.implementation import Implementation, TargetError

OUTS, LSES = "pbhnd", "pbhn"
"""The canonical axes of the parts."""


@dataclass(frozen=True)
class MergeForm:
    """How a target takes its parts and gives the result.

    Args:
        kind: "pair" f(out_a, lse_a, out_b, lse_b), "stacked" f(outs, lses), "in_place" a pair whose first part becomes
            the result, "into" f(out, out_a, lse_a, out_b, lse_b, lse), which writes into the first and the last.
        out, lse: own axes of one part; of stacked ones with "p" for the axis of parts.
        base: of the logarithm.
    """

    kind: str
    out: str = "bhnd"
    lse: str = "bhn"
    base: float = math.e


KNOWN: Mapping[tuple[str, ...], MergeForm] = {
    ("v_a", "s_a", "v_b", "s_b"): MergeForm("pair", "nhd", "nh", 2.0),  # flashinfer.merge_state
    ("v", "s", "v_other", "s_other"): MergeForm("in_place", "nhd", "nh", 2.0),  # flashinfer.merge_state_in_place
    ("v", "s"): MergeForm("stacked", "nphd", "nph", 2.0),  # flashinfer.merge_states
    ("output", "prefix_output", "prefix_lse", "suffix_output", "suffix_lse", "output_lse"): MergeForm(
        "into", "nhd", "hn"
    ),  # vllm, merge_attn_states
    ("v_a", "s_a", "v_b", "s_b", "v_merged", "s_merged"): MergeForm("pair", "nhd", "nh"),  # sgl_kernel.merge_state_v2
}
"""Names of the first parameters -> how a library's function is called; the longest that fits counts."""
REGIMES = ("normal", "equal", "apart", "attention")
FAR = 100.0
"""A distance of log-sum-exps whose exponential no float32 holds."""
GAPS = (-FAR, -15.0, -3.0, 0.0, 3.0, 15.0, FAR)
"""How far parts lie apart: at 30 one of them weighs 1e-13, which float64 sees; at FAR nothing sees it."""


def form_of(names: list[str] | None, implementation: Implementation) -> MergeForm:
    """How a target is called: as declared, as its library's function of these names is, or by its number of parameters.

    Args: names of its parameters; None, or fewer than two, where they say nothing.

    Raises: TargetError where the base of the logarithm is not above 1.
    """
    declared = implementation.parameters.get("form")
    known = [one for one in KNOWN if names is not None and tuple(names[: len(one)]) == one]
    if declared is None and known:
        form = KNOWN[max(known, key=len)]
    else:
        kind = declared or ("stacked" if names is not None and len(names) in (2, 3) else "pair")
        out = implementation.layout
        form = MergeForm(kind, f"p{out}" if kind == "stacked" else out, "pbhn" if kind == "stacked" else "bhn")
    base = float(implementation.parameters.get("base", form.base))
    if base <= 1:
        raise TargetError(f"--parameter base={base:g}: the base of a log-sum-exp is above 1")
    return replace(form, base=base)


TAKEN: Mapping[str, int] = {"pair": 4, "in_place": 4, "stacked": 2, "into": 6}
"""Arguments of a call of each form."""
ONE_OF_TWO = ("_a", "_1", "_0", "_x", "_left", "_first", "_prev", "_old", "_prefix", "1", "0")
"""Ends of names that say of which of two parts a parameter is."""
FORMS = (
    "merging takes two parts, f(out_a, lse_a, out_b, lse_b), or all of them stacked, f(outs, lses) with --parameter "
    "form=stacked"
)


def check_parameters(name: str, form: MergeForm, parameters: list[dict[str, Any]] | None, declared: Any) -> None:
    """Refuse a target that cannot be given the parts of its form, or has parameters that nothing fills.

    Args: parameters: of the target without those that are given a value otherwise; declared: its form, if it is.

    Raises: TargetError, which says what is missing.
    """
    if parameters is None or any(p["kind"] == "VAR_POSITIONAL" for p in parameters):
        return
    places = [p["name"] for p in parameters if p["kind"] in ("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD")]
    needed, listed = TAKEN[form.kind], ", ".join(places) or "no parameter by position"
    half = len(places) == 2 and not declared and all(place.lower().endswith(ONE_OF_TWO) for place in places)
    if len(places) < needed or half or (not declared and len(places) == 3 and not parameters[2]["default"]):
        raise TargetError(f"{name} takes {listed}, which is not all that a merge is given: {FORMS}")
    others = [p for p in parameters if p["name"] not in places[:needed] and p["kind"] != "VAR_KEYWORD"]
    if unfilled := [p["name"] for p in others if not p["default"]]:
        give = " ".join(f"--arg {one}=VALUE" for one in unfilled)
        raise TargetError(f"what {name} is given for {', '.join(unfilled)} is not known: give {give}")


@dataclass(frozen=True)
class Parts:
    """Parts to merge: outs (parts, B, H, n, d), lses (parts, B, H, n) in natural log, as a target reads them."""

    outs: NDArray
    lses: NDArray

    def part(self, index: slice | list[int]) -> Parts:
        """Some of them, in an order."""
        return Parts(self.outs[index], self.lses[index])


class Merger(ParameterSubject):
    """A function that merges parts."""

    def __init__(
        self, runner: Runner, implementation: Implementation, description: Mapping[str, Any], seed: int = 0
    ) -> None:
        if implementation.dead_rows == "uniform":
            raise TargetError("dead_rows=uniform says nothing of parts without keys: declare zeros, nan or unspecified")
        super().__init__(runner, implementation.with_(returns="out,lse"), description, seed)
        self.call_form = form_of(self.names(), implementation)
        given = description["parameters"]
        open_ones = None if given is None else [p for p in given if p["name"] not in implementation.arguments]
        check_parameters(implementation.name, self.call_form, open_ones, implementation.parameters.get("form"))
        self.outs, self.lses = (
            Arrangement(full if self.call_form.kind == "stacked" else full[1:], own)
            for full, own in ((OUTS, self.call_form.out), (LSES, self.call_form.lse))
        )
        self.out, self.lse = (
            Arrangement(full[1:], own.replace("p", ""))
            for full, own in ((OUTS, self.call_form.out), (LSES, self.call_form.lse))
        )

    @property
    def converts(self) -> bool:
        """Whether its log-sum-exps are of another base than e."""
        return self.call_form.base != math.e

    def adapt_case(self, case: ParameterCase) -> ParameterCase:
        """The case with as many parts and batch axes as the target takes."""
        sizes = {} if self.call_form.kind == "stacked" else {"parts": 2}
        sizes |= {} if "b" in self.call_form.out else {"B": 1}
        minimum = {**case.minimum, **sizes}
        return case.with_(**sizes, minimum=minimum) if sizes else case

    # --- parts ------------------------------------------------------------------------------------------

    def parts(self, case: ParameterCase, regime: str = "", number: int | None = None) -> Parts:
        """The parts of a case: drawn in a regime, or attention over unequal runs of keys."""
        number, regime = number or case["parts"], regime or str(case.options.get("regime", "normal"))
        shape = (number, case["B"], case["H"], case["n"])
        if regime == "attention":
            return self.round_parts(case, *_attend(case, shape))
        rng, values = case.rng(f"lse of {regime}"), case.values("lse", *shape)
        if regime == "equal":
            values = values[:1] + np.zeros(shape)
        elif regime == "apart":
            values = values + rng.choice(GAPS, size=shape)
        elif regime == "large":
            values = values + rng.choice([-1e4, -1e3, -200.0, 200.0, 1e3, 1e4], size=shape[1:])
        return self.round_parts(case, case.values("outs", *shape, case["d"]), values)

    def round_parts(self, case: ParameterCase, outs: NDArray, lses: NDArray) -> Parts:
        """The parts as the target reads them: outputs in the case's dtype, log-sum-exps in theirs and in its base."""
        to_base = np.log(self.call_form.base)
        return Parts(round_to(outs, case.dtype), round_to(lses / to_base, lse_dtype(case.dtype)) * to_base)

    # --- calls ------------------------------------------------------------------------------------------

    def request_of(self, case: ParameterCase, parts: Parts, view: str = "contiguous", **extra: Any) -> Request:
        """The call that merges some parts; `view` is how outputs and log-sum-exps lie in memory."""
        wide, kind = lse_dtype(case.dtype), self.call_form.kind

        def out(values: NDArray) -> Array:
            return array(self.outs.to_target(values), case.dtype, view)

        def lse(values: NDArray) -> Array:
            own = round_to(values / np.log(self.call_form.base), wide)
            return array(self.lses.to_target(own), wide, view)

        fields = {k[:-1]: v for k, v in extra.items()}
        if kind == "stacked":
            return Request((out(parts.outs), lse(parts.lses)), dict(self.implementation.arguments), **fields)
        pair = [make(x[i]) for i in (0, 1) for make, x in ((out, parts.outs), (lse, parts.lses))]
        if kind == "into":
            empty = np.full(parts.outs.shape[1:], np.nan)
            pair = [out(empty), *pair, lse(empty[..., 0])]
            fields["written"] = ("0", "5")
        if kind == "in_place":
            fields["written"] = ("0", "1")
        return Request(tuple(pair), dict(self.implementation.arguments), **fields)

    def merge(self, case: ParameterCase, parts: Parts, view: str = "contiguous") -> tuple[Result, Result]:
        """(out, lse) of one call, canonical, lse in natural log."""
        request = self.request_of(case, parts, view)
        return self.read(request, self.send(request), parts)

    def read(self, request: Request, response: Response, parts: Parts) -> tuple[Result, Result]:
        """The two results of a call.

        Raises: Violation where there are not two, or of other shapes.
        """
        if len(response.outputs) != 2:
            message = f"the call returns {len(response.outputs)} value(s), but should return (out, lse)"
            raise Violation(message, Evidence((Shown(request),), kind="shape"))
        shape = parts.outs.shape[1:]
        out = self.out.result(response.outputs[0], shape, request, "out", "out")
        lse = self.lse.result(response.outputs[1], shape[:-1], request, "out1", "lse")
        if self.converts:
            lse.values = lse.values * np.log(self.call_form.base)
            factor = float(np.log(self.call_form.base))
            place = self.lse.place
            lse.expression = lambda *at: f"{{out}}[1][{', '.join(map(str, place(at)))}].item() * {factor!r}"
        return out, lse

    # --- truth ------------------------------------------------------------------------------------------

    def truth(self, parts: Parts) -> tuple[NDArray, NDArray]:
        """(out, lse) in float64; out is NaN where no part has a key and that is declared."""
        out, lse = oracle.merge(parts.outs, parts.lses)
        if self.implementation.dead_rows == "nan":
            out = np.where((lse == -np.inf)[..., None], np.nan, out)
        return out, lse

    def bounds(
        self, case: ParameterCase, parts: Parts, truth: tuple[NDArray, NDArray], given: GivenErrors | None = None
    ) -> MergeBounds:
        """The budget of a call."""
        declared = self.implementation.accumulate
        how: dict[str, Any] = {"dtype": case.dtype, "accumulate": declared, "converts": self.converts}
        return merge_bound(parts.outs, parts.lses, truth, **how, given=given)


def _attend(case: ParameterCase, shape: tuple[int, ...]) -> tuple[NDArray, NDArray]:
    """(outs, lses) of attention over runs of keys, of 0 to 6 keys each: what a merge is for."""
    number, B, H, n = shape
    q = case.values("query", B, H, n, 4)
    outs, lses = np.zeros((*shape, case["d"])), np.zeros(shape)
    for i, keys in enumerate(case.rng("keys").integers(0, 7, size=number)):
        k, v = case.values(f"key{i}", B, H, int(keys), 4), case.values(f"value{i}", B, H, int(keys), case["d"])
        found = oracle.attention(2 * q, k, v)
        outs[i], lses[i] = found.out, found.lse
    return outs, lses
