"""A multi-head module with known numbers in its parameters, its float64 truth, and how far a correct one may be off.

Every parameter is filled with small whole numbers over a power of two. Where the projections are recognised, queries,
keys and values are then exact, so that the budget begins at the attention inside.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from attention_core import oracle
from attention_core.conformance.budgets import budget
from attention_core.conformance.budgets.budget import UNIT_ROUNDOFF
from attention_core.conformance.modules.form import Form, Mask, Size
from attention_core.conformance.modules.normalised_heads import layer_normalise, rms_normalise, through_scores
from attention_core.conformance.modules.projections import (
    LAYOUTS,
    Layout,
    Projections,
    Shape,
    find_projections,
    is_norm,
)
from attention_core.conformance.subjects.evidence import (
    Evidence,
    NotApplicable,
    Refused,
    Result,
    Shown,
    Violation,
    excess,
)
from attention_core.conformance.subjects.parameter_case import (
    ParameterCase,
    ParameterSubject,
    find_nearest_sizes,
    supports,
)
from attention_core.conformance.worker.exchange import Array, NDArray, Request, array
from attention_core.declaration.scales import scale_of

SINGLE = UNIT_ROUNDOFF["float32"]
DECLARED_PARTS = ("q_proj", "k_proj", "v_proj", "out_proj")
"""What `--parameter` can name where names do not tell the projections."""

PROBE = ParameterCase({"B": 2, "n": 5, "H": 3, "d": 4}, seed=5)
"""Sizes of which no two are equal, and at which every layout gives another module."""


@dataclass(frozen=True)
class Filled:
    """A fresh module: the number of the instance, its parameters, and its projections where they are recognised."""

    instance: int
    values: Mapping[str, NDArray]
    parameters: Mapping[str, Array]
    parts: Projections | None = None


Called = tuple[Filled, NDArray]
"""A filled module, and what it gave."""


class ModuleSubject(ParameterSubject):
    """A multi-head factory; modules are built anew for every case, and called in their form."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.layout, self.unseen = LAYOUTS[0], ""
        self.agrees: Mapping[str, Any] | None = None  # changes of what is declared under which the plain call is right
        self.form: Form = Form()
        self.widens: bool | None = None

    # --- what is declared ------------------------------------------------------------

    @property
    def always_causal(self) -> bool:
        """Whether every call is declared to be causal, without a flag that asks for it."""
        return self.implementation.always_causal

    @property
    def batch_second(self) -> bool:
        """Whether inputs are declared to be (n, B, E)."""
        return self.parameters.get("batch_first") is False

    def fields_of(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Changed conventions as fields of the record; those without a field are parameters of the contract."""
        declared = self.implementation
        own = {k: v for k, v in changes.items() if k in declared.__dataclass_fields__}
        others = {k: v for k, v in changes.items() if k not in own}
        return {**own, "parameters": {**declared.parameters, **others}} if others else own

    def to_target_axes(self, values: NDArray) -> NDArray:
        """(B, n, E) in the order of axes that the module takes (its own inverse)."""
        return values.swapaxes(0, 1) if self.batch_second else values

    # --- calls -----------------------------------------------------------------------

    def adapt_case(self, case: ParameterCase) -> ParameterCase:
        """A case of sizes that the module's form allows: as many heads as it wants, the rotated part of a head even."""
        sizes: dict[str, int] = {"H": case["H"] * self.form.multiple}
        if self.form.rotation:  # the next multiple: the least common one of 39 and 8 is 312, and no head is so wide
            sizes["d"] = -(-case["d"] // self.form.even) * self.form.even
        case = case.with_(**sizes) if any(case[name] != size for name, size in sizes.items()) else case
        return find_nearest_sizes(self.implementation, case) or case

    def allows(self, case: ParameterCase) -> bool:
        """Whether a smaller case still has sizes that the module's form allows."""
        heads = case["H"] % self.form.multiple == 0 and case["H"] % case.sizes.get("H_kv", case["H"]) == 0
        return heads and not (self.form.rotation and case["d"] % self.form.even)

    def widen(self, case: ParameterCase) -> ParameterCase:
        """A third of the cases with another number of features than H d, where a module is built with both.

        Whether it is, and gives an output of that size, is found by a call.
        """
        own = (*self.form.construction.places, *self.form.construction.names.values())
        if self.widens is None:
            self.widens = any(isinstance(a, Size) and a.name == "d" for a in own)
            probe = self.adapt_case(PROBE)
            self.widens = self.widens and self.plain_call(probe.with_(more=probe["H"])) is not None
        step = int(case.rng("more").choice([1, 2, 4, 1 - case["d"]]))
        wider, keys = case.with_(more=step * case["H"]), 2 * heads_of_keys(case) * case["d"]
        differs = features_of(wider) not in (
            keys,
            keys + case["H"] * case["d"],
        )  # from joined keys and values by its shape
        chosen = self.widens and differs and case.seed % 3 == 0
        return wider if chosen and supports(self.implementation, wider) else case

    def grouped_probe(self) -> ParameterCase:
        """The probe with two heads of queries for each of keys."""
        case = self.adapt_case(PROBE)
        return case.with_(H_kv=case["H"], H=2 * case["H"])

    def plan_instance(self, case: ParameterCase, number: int) -> tuple[Any, ...]:
        """The instance of a case under a number, with the constructor's arguments."""
        sizes = {"E": features_of(case), "H": case["H"], "H_kv": heads_of_keys(case), "d": case["d"]}
        places, names = self.form.construction.arguments(sizes)
        return (number, places, names) if names else (number, places)

    def describe_call(self, case: ParameterCase) -> Mapping[str, Any]:
        """How a module of a case is called; empty where it cannot be built."""
        try:
            return self.send(Request(instance=self.plan_instance(case, self.fresh_instance()), describe=True)).described
        except (Refused, Violation):
            return {}

    def make_request(
        self, case: ParameterCase, filled: Filled, x: NDArray, *, context: NDArray | None = None,
        values: NDArray | None = None, mask: Mask | None = None, causal: bool = False, also: Mask | None = None,
        **kwargs: Any,
    ) -> Request:  # fmt: skip
        """The request of a call; `causal` asks for causality, which a module that always is so needs no flag for.

        `also` is a mask for another parameter than that of `mask`; `values` is an input of its own for the values.
        """
        form, other = self.form, x if context is None else context
        inputs: dict[str, Any] = {}
        for role, name in form.inputs.items():
            if role == "context" and context is None and form.places < 2:
                continue
            own = values if role == "value" and values is not None else other
            inputs[name] = self.to_target_axes(x if role in ("x", "query") else own)
        places = list(inputs)[: form.places]
        named: dict[str, Any] = {name: value for name, value in inputs.items() if name not in places}
        named |= dict.fromkeys(form.required)
        masks = [one for one in (mask, also) if one is not None]
        named |= {one.form.name: self._lay_out(one) for one in masks}
        if causal and not self.always_causal:
            named[form.causal] = True
        fields: dict[str, Any] = {"mode_": "eval", "parameters_": filled.parameters or None, "loose_": True, **kwargs}
        request = self.request(*(inputs[name] for name in places), instance_=self.plan_instance(case, filled.instance),
                               **named, **fields)  # fmt: skip
        return self._add_rotation(request, case, x)

    def _lay_out(self, mask: Mask) -> Array:
        """A mask as the module takes it, in the memory that it asks for."""
        values = mask.argument(self.implementation.mask_true)
        kind = "bool" if values.dtype == bool else "int64" if values.dtype.kind == "i" else "float32"
        return array(values, kind, mask.view)

    def _add_rotation(self, request: Request, case: ParameterCase, x: NDArray) -> Request:
        """The request with a rotation that turns nothing, where the module takes one."""
        if not self.form.rotation:
            return request
        if self.form.rotation == "position_ids":
            return _with_kwarg(request, self.form.rotation, array(np.zeros(x.shape[:2], dtype=np.int64), "int64"))
        shape = (1, x.shape[1], int(case["d"] * self.form.rotated))
        pair = (array(np.ones(shape), "float32"), array(np.zeros(shape), "float32"))
        return _with_kwarg(request, self.form.rotation, pair)

    def module(self, case: ParameterCase, filled: Filled, x: NDArray, **kwargs: Any) -> Result:
        """The module's output for an input; options are those of `make_request`."""
        if "mode" in kwargs:
            kwargs["mode_"] = kwargs.pop("mode")
        request = self.make_request(case, filled, x, **kwargs)
        response, number = self.send(request), self.form.output
        shape = self.to_target_axes(x).shape
        if len(response.outputs) <= number:
            got = f"{len(response.outputs)} results that are arrays"
            raise Violation(f"got {got}, but the output is result {number}", Evidence((Shown(request),), kind="crash"))
        value, quantity = response.outputs[number], f"out{number or ''}"
        if value.shape != shape:
            shown = Evidence((Shown(request, quantity),), kind="shape")
            raise Violation(f"got shape {value.shape}, but should be {shape}", shown)
        axes = (lambda index: (index[1], index[0], index[2])) if self.batch_second else None
        found = Result(self.to_target_axes(value.values.astype(np.float64)), request, quantity, axes)
        found.extra = {"dtype": value.dtype, "response": response}
        return found

    def mask(self, case: ParameterCase, wish: str = "", keys: int | None = None) -> Mask:
        """A drawn mask in one of the module's forms, of the wished shape where it takes that.

        Raises:
            NotApplicable: the module takes no mask.
        """
        if not self.form.masks:
            raise NotApplicable("the module has no parameter for a mask")
        rng = case.rng("mask form")
        form = self.form.masks[int(rng.integers(len(self.form.masks)))]
        shape = wish if wish in form.shapes else form.shapes[int(rng.integers(len(form.shapes)))]
        return Mask(drawn_pairs(case, shape, keys), form, shape)

    def key_heads(self, case: ParameterCase) -> NDArray:
        """The key head that each query head attends to."""
        keys, heads = heads_of_keys(case), np.arange(case["H"])
        return heads % keys if self.implementation.grouping == "modular" else heads // (case["H"] // keys)

    def order(self, case: ParameterCase) -> NDArray:
        """The query heads of the first key head, then those of the second, and so on."""
        return np.argsort(self.key_heads(case), kind="stable")

    def require_causality(self) -> None:
        """Raise NotApplicable unless the module can be made causal, or always is."""
        if not self.form.causal and not self.always_causal:
            raise NotApplicable("the module has no parameter that asks for causality")

    # --- numbers ---------------------------------------------------------------------

    def input(self, case: ParameterCase, purpose: str = "x", tokens: int | None = None) -> NDArray:
        """A drawn input (B, n, E) of whole numbers between -2 and 2."""
        x = case.values(purpose, case["B"], case["n"] if tokens is None else tokens, features_of(case))
        return np.clip(np.rint(x), -2, 2)

    def fill(self, case: ParameterCase) -> Filled:
        """A fresh module with its own numbers in every parameter."""
        number, empty = self.fresh_instance(), dict[str, Array]()
        fresh = Filled(number, {}, empty)
        request = self.make_request(case, fresh, self.input(case), load_parameters_=True)
        # Rows of about unit length: larger ones would make every softmax one-hot, which hides its scale.
        step = 2.0 ** -np.ceil(np.log2(features_of(case)) / 2)
        values, parameters = {}, {}
        for name, value in self.send(request).parameters.items():
            rng = case.rng(name)
            drawn = rng.integers(1, 4, value.shape) / 2 if is_norm(name) else step * rng.integers(-2, 3, value.shape)
            values[name] = np.asarray(drawn, dtype=np.float64)
            parameters[name] = array(values[name], value.dtype)
        return Filled(number, values, parameters)

    def with_other_numbers(self, case: ParameterCase, found: Filled) -> Filled:
        """The same module with the numbers of all its parameters, or of one, in another order: their sums stay."""
        rng, names = case.rng("changed"), [name for name, value in found.values.items() if value.ndim]
        chosen = names if rng.random() < 0.5 else [names[int(rng.integers(len(names)))]]
        others = {name: np.roll(found.values[name], 1, axis=0) for name in chosen}
        parameters = {**found.parameters, **{n: array(x, found.parameters[n].dtype) for n, x in others.items()}}
        values = {**found.values, **others}
        return Filled(found.instance, values, parameters, self.parts(case, Filled(found.instance, values, {})))

    def parts(self, case: ParameterCase, found: Filled, layout: Layout | None = None) -> Projections:
        """The projections of a filled module; raises NotApplicable, saying why, where they are not known."""
        if self.unseen:
            raise NotApplicable(self.unseen)
        shape = Shape(case["H"], heads_of_keys(case), case["d"], features_of(case))
        named = {name: str(self.parameters[name]) for name in DECLARED_PARTS if name in self.parameters}
        return find_projections(found.values, shape, layout or self.layout, named)

    def recognise(self, case: ParameterCase) -> Filled:
        """A module whose projections are known; raises NotApplicable, saying why, where they are not."""
        found = self.fill(case)
        return Filled(found.instance, found.values, found.parameters, self.parts(case, found))

    @contextmanager
    def under(self, changes: Mapping[str, Any]) -> Iterator[None]:
        """Calls inside follow changed conventions."""
        declared = self.implementation
        self.implementation = declared.with_(**self.fields_of(changes))
        try:
            yield
        finally:
            self.implementation = declared

    def plain_call(self, probe: ParameterCase) -> Called | None:
        """A filled module and its output without any option; None where it gives none."""
        try:
            found = self.fill(probe)
            return found, self.module(probe, found, self.input(probe)).values
        except (Refused, Violation):
            return None

    def agreeing_layout(self, probe: ParameterCase, called: Called | None) -> Layout | None:
        """The layout under which a plain call agrees with the truth; None where none does."""
        if called is None:
            return None
        x, (found, got) = self.input(probe), called
        for layout in LAYOUTS:
            try:
                want, bound = self.truth(probe, self.parts(probe, found, layout), x)
            except NotApplicable:
                continue
            if excess(got, want, bound).max() <= 1:
                return layout
        return None

    def truth(
        self, case: ParameterCase, parts: Projections, x: NDArray, mask: NDArray | None = None, causal: bool = False,
        context: NDArray | None = None, values: NDArray | None = None,
    ) -> tuple[NDArray, NDArray]:  # fmt: skip
        """The module's output in float64, and how far a correct one may be from it.

        Inputs and weights are whole numbers over powers of two, so projections are exact; then comes the budget of
        attention in float32, and the output projection passes it on as |W| e, with gamma_{E+2} (|o| + e) |W| + |b| of
        its own.
        """
        out, error = (join_heads(a) for a in self.inside(case, parts, x, mask, causal, False, context, values))
        if "out" not in parts.weights:
            return out, error
        weight, bias = parts.weights["out"], parts.biases.get("out", np.zeros(parts.weights["out"].shape[0]))
        gamma = SINGLE * (weight.shape[1] + 2) / (1 - SINGLE * (weight.shape[1] + 2))
        with np.errstate(invalid="ignore"):
            size = (np.abs(out) + error) @ np.abs(weight).T + np.abs(bias)
            passed = error @ np.abs(weight).T + gamma * size
        return out @ weight.T + bias, np.where(np.isnan(passed), np.inf, passed)  # 0 times an error that is not known

    @staticmethod
    def project(parts: Projections, inputs: Mapping[str, NDArray]) -> dict[str, NDArray]:
        """Queries, keys and values before any norm, from the input of each; exact in float32 as they are drawn."""
        return {p: inputs[p] @ parts.weights[p].T + parts.biases.get(p, 0.0) for p in "qkv"}

    def inside(
        self, case: ParameterCase, parts: Projections, x: NDArray, mask: NDArray | None, causal: bool,
        unit: bool = False, context: NDArray | None = None, values: NDArray | None = None,
    ) -> tuple[NDArray, NDArray]:  # fmt: skip
        """The heads' outputs (B, H, n, d) in float64, and their budget in float32.

        With `unit` the values are the unit vectors, so that the outputs are the weights (B, H, n, n): a returned weight
        has seen the roundings of its score and of the softmax, and what the budget adds for the sum over values, of
        which all but one are 0, is more than it can have seen.
        """
        causal = causal or self.always_causal
        other = x if context is None else context
        flat = self.project(parts, {"q": x, "k": other, "v": other if values is None else values})
        (q, q_error), (k, k_error) = (
            layer_normalise(flat[p], parts.norms[p], parts.shifts[p])
            if p in parts.shifts
            else rms_normalise(flat[p], parts.norms.get(p), case["d"])
            for p in "qk"
        )
        q, k, v, q_error, k_error = (split_heads(a, case["d"]) for a in (q, k, flat["v"], q_error, k_error))
        shared = self.key_heads(case)
        k, v, k_error = (a[:, shared] for a in (k, v, k_error))
        if unit:
            v = np.broadcast_to(np.eye(k.shape[-2]), (*k.shape[:-1], k.shape[-2]))
        scale = scale_of(self.implementation.scale, case["d"])
        dead_rows = self.implementation.dead_rows
        true = oracle.attention(q, k, v, mask, scale=scale, is_causal=causal, dead_rows=dead_rows)
        if causal:
            later = oracle.causal_mask(q.shape[-2], k.shape[-2])
            mask = later if mask is None else mask & later
        bounds = budget.forward_bound(
            q, k, v, true, mask=mask, scale=scale, dtype="float32", accumulate="float32", dead_rows=dead_rows
        )
        assert bounds.out is not None
        bound = np.broadcast_to(bounds.out, true.out.shape)
        return true.out, through_scores(bound, (q, q_error), (k, k_error), true.weights @ np.abs(v), mask, scale)

    def prepare(self, case: ParameterCase) -> Filled:
        """A module with its projections where they are recognised and explain it, else without."""
        try:
            found = self.recognise(case)
        except NotApplicable:
            return self.fill(case)
        assert found.parts is not None
        x = self.input(case)
        want, bound = self.truth(case, found.parts, x)
        explained = excess(self.module(case, found, x).values, want, bound).max(initial=0.0) <= 1
        return found if explained else Filled(found.instance, found.values, found.parameters)

    @staticmethod
    def average_heads(weights: NDArray, bound: NDArray) -> tuple[NDArray, NDArray]:
        """The mean over the heads of weights (B, H, n, m), and its budget after H more roundings."""
        heads = weights.shape[1]
        gamma = SINGLE * (heads + 1) / (1 - SINGLE * (heads + 1))
        return weights.mean(axis=1), (bound + gamma * (weights + bound)).mean(axis=1)

    def rounding(
        self, case: ParameterCase, filled: Filled, *inputs: NDArray, mask: NDArray | None = None, causal: bool = False
    ) -> NDArray:
        """How far two float32 evaluations for inputs with the same truth (where they are compared) may be apart."""
        if filled.parts is not None:
            errors = [self.truth(case, filled.parts, x, mask, causal)[1] for x in inputs]
            return np.asarray(2 * np.maximum.reduce(errors))
        return np.full(inputs[0].shape, 2 * rough_error(case, filled, inputs))


def drawn_pairs(case: ParameterCase, shape: str, keys: int | None = None) -> NDArray:
    """Allowed pairs of a case, of the kind that a shape of masks can say; no token is without a key of its past."""
    n = case["n"]
    m = n if keys is None else keys
    rng = case.rng("mask")
    if shape in ("keys", "wide keys"):
        return np.asarray((rng.random((case["B"], 1, 1, m)) < 0.5) | (np.arange(m) == 0))
    size = (n, m) if shape == "shared" else (case["B"], 1, n, m)
    own = np.eye(n, m, dtype=bool) | ((np.arange(n) >= m)[:, None] & (np.arange(m) == 0))
    return np.asarray((rng.random(size) < 0.5) | own)


def heads_of_keys(case: ParameterCase) -> int:
    """How many heads keys and values have."""
    return case.sizes.get("H_kv", case["H"])


def _with_kwarg(request: Request, name: str, value: Any) -> Request:
    return replace(request, kwargs={**request.kwargs, name: value})


def ways(subject: ModuleSubject, case: ParameterCase) -> list[tuple[dict[str, Any], NDArray | None, bool]]:
    """The options of a plain, a causal and a masked call, with the mask (True attends) and causality they mean.

    Those that the module has no parameter for are left out.
    """
    found: list[tuple[dict[str, Any], NDArray | None, bool]] = [({}, None, False)]
    if subject.form.causal:
        found.append(({"causal": True}, None, True))
    if subject.form.masks:
        mask = subject.mask(case)
        found.append(({"mask": mask}, mask.pairs, False))
    return found


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


def features_of(case: ParameterCase) -> int:
    """E, the features of a token: H d, unless the heads of a case are wider or narrower together."""
    return case["H"] * case["d"] + case.sizes.get("more", 0)


def split_heads(a: NDArray, d: int) -> NDArray:
    """(B, n, H d) to (B, H, n, d)."""
    return np.asarray(a.reshape(*a.shape[:2], -1, d).swapaxes(1, 2))


def join_heads(a: NDArray) -> NDArray:
    """(B, H, n, d) to (B, n, H d)."""
    return np.asarray(a.swapaxes(1, 2).reshape(a.shape[0], a.shape[2], -1))
