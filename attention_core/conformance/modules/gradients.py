"""The true gradients of a module whose projections are recognised, and those that the module gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from attention_core import oracle
from attention_core.conformance.budgets import budget
from attention_core.conformance.budgets.linear_backward import (
    Judged,
    bias_gradient,
    exact,
    input_gradient,
    weight_gradient,
)
from attention_core.conformance.modules.filled_module import Filled, ModuleSubject, join_heads, split_heads
from attention_core.conformance.subjects.evidence import Evidence, NotApplicable, Result, Shown, Violation
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.conformance.worker.exchange import PARAMETER, NDArray, array
from attention_core.declaration.scales import scale_of

FORWARD_ONLY = (
    "the output carries no gradient although an input and the parameters ask for one (if the module is forward only, "
    "declare --no-gradients, in Python gradients=False)"
)


@dataclass(frozen=True)
class Call:
    """One call that is differentiated: its inputs (B, n, E), what it may attend to, and the output's cotangent.

    Args:
        x, context, values: inputs; keys and values come from x where there is no context.
        cotangent: (B, n, E), of whole numbers.
        mask: True where a token may attend, or None. causal: whether later tokens are hidden, too.
        flags: the options of `ModuleSubject.module` that say so.
    """

    x: NDArray
    cotangent: NDArray
    mask: NDArray | None = None
    causal: bool = False
    context: NDArray | None = None
    values: NDArray | None = None
    flags: Mapping[str, Any] | None = None

    def inputs(self) -> dict[str, NDArray]:
        """Part -> the input that it is projected from."""
        other = self.x if self.context is None else self.context
        return {"q": self.x, "k": other, "v": other if self.values is None else self.values}


@dataclass(frozen=True)
class ModuleGradients:
    """The truth of one call: cotangents of the parts, and what the output projection reads."""

    parts: Mapping[str, Judged]  # q, k, v: (B, n, features)
    joined: Judged  # the heads' outputs (B, n, E)


def true_gradients(subject: ModuleSubject, case: ParameterCase, filled: Filled, call: Call) -> ModuleGradients:
    """Cotangents of queries, keys and values in float64, and how far those of a correct module may be off.

    Raises:
        NotApplicable: queries or keys pass a norm, or scores beyond the range of float32.
    """
    parts = filled.parts
    assert parts is not None
    if parts.norms:
        raise NotApplicable("queries or keys pass a norm, whose gradient is not modelled")
    q, k, v = (split_heads(flat, case["d"]) for flat in subject.project(parts, call.inputs()).values())
    down = call.cotangent @ parts.weights["out"] if "out" in parts.weights else call.cotangent  # exact, as q, k and v
    order = subject.order(case)
    q, down = (a[:, order] for a in (q, split_heads(down, case["d"])))
    declared = subject.implementation
    scale, causal = scale_of(declared.scale, case["d"]), call.causal or subject.always_causal
    how: dict[str, Any] = {"scale": scale, "is_causal": causal}
    true = oracle.attention(q, k, v, call.mask, **how)
    found = oracle.gradients(q, k, v, down, call.mask, truth=true, **how)
    mask = call.mask
    if causal:
        later = oracle.causal_mask(q.shape[-2], k.shape[-2])
        mask = later if mask is None else mask & later
    rounding: dict[str, Any] = {"mask": mask, "scale": scale, "dtype": "float32", "accumulate": "float32"}
    forward = budget.forward_bound(q, k, v, true, **rounding)
    bounds = budget.backward_bound(q, k, v, down, true, found, forward_bounds=forward, **rounding)
    if not bounds.finite.all():
        raise NotApplicable
    back = np.argsort(order)
    cotangents = {}
    for part, name in (("q", "query"), ("k", "key"), ("v", "value")):
        both = (getattr(found, name), getattr(bounds, name))
        cotangents[part] = Judged(*(join_heads(a[:, back] if part == "q" else a) for a in both))
    return ModuleGradients(cotangents, Judged(*(join_heads(a[:, back]) for a in (true.out, forward.out))))


def parameter_gradients(
    subject: ModuleSubject, case: ParameterCase, filled: Filled, call: Call
) -> dict[str, Judged]:  # fmt: skip
    """Name of a parameter -> its true gradient, in its own shape."""
    true, inputs = true_gradients(subject, case, filled, call), call.inputs()
    parts = filled.parts
    assert parts is not None
    weights = {part: weight_gradient(true.parts[part], exact(inputs[part])) for part in "qkv"}
    biases = {part: bias_gradient(true.parts[part]) for part in "qkv"}
    if "out" in parts.weights:
        down = exact(call.cotangent)
        weights["out"], biases["out"] = weight_gradient(down, true.joined), bias_gradient(down)
    return _in_own_shapes(subject, case, filled, weights, biases)


def _in_own_shapes(
    subject: ModuleSubject, case: ParameterCase, filled: Filled, weights: Mapping[str, Judged],
    biases: Mapping[str, Judged],
) -> dict[str, Judged]:  # fmt: skip
    """The parts of parameters put where they lie: a second look at parameters that hold their own places says where."""
    sizes = [value.size for value in filled.values.values()]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    numbered = {
        name: np.arange(start, start + value.size).reshape(value.shape)
        for start, (name, value) in zip(starts, filled.values.items(), strict=False)
    }
    places = subject.parts(case, Filled(filled.instance, numbered, {}))
    want, bound = np.zeros(starts[-1]), np.zeros(starts[-1])
    for where, parts in ((places.weights, weights), (places.biases, biases)):
        for part, at in where.items():
            want[at], bound[at] = parts[part].want, parts[part].bound
    return {name: Judged(want[numbers], bound[numbers]) for name, numbers in numbered.items()}


def input_gradients(subject: ModuleSubject, case: ParameterCase, filled: Filled, call: Call) -> dict[str, Judged]:
    """Name of an input, as a request has it -> its true gradient (B, n, E)."""
    true = true_gradients(subject, case, filled, call)
    assert filled.parts is not None
    weights = filled.parts.weights
    return {
        name: input_gradient([true.parts[p] for p in read], [weights[p] for p in read])
        for name, read in inputs_by_part(subject, call.context is not None).items()
    }


def inputs_by_part(subject: ModuleSubject, crosses: bool) -> dict[str, str]:
    """Name of an input, as a request has it -> the parts that are projected from it."""
    form = subject.form
    roles = [role for role in form.inputs if role != "context" or crosses or form.places >= 2]
    others = {"key": "k", "value": "v", "context": "kv"}
    left = "".join(part for part in "qkv" if not any(part in others.get(role, "") for role in roles))
    return {(str(i) if i < form.places else form.inputs[role]): others.get(role, left) for i, role in enumerate(roles)}


def module_gradients(
    subject: ModuleSubject, case: ParameterCase, filled: Filled, call: Call, names: tuple[str, ...], mode: str,
    seed: int | None = None,
) -> dict[str, Result]:  # fmt: skip
    """Gradients of a call by inputs or parameters, of those that are not frozen.

    Raises:
        Violation: the output carries no gradient, or one of another shape.
    """
    down = array(subject.to_target_axes(call.cotangent), "float32")
    fields: dict[str, Any] = {
        "wrt_": names,
        "cotangent_": down,
        "of_": subject.form.output,
        "mode": mode,
        "seed_": seed,
    }
    out = subject.module(
        case, filled, call.x, context=call.context, values=call.values, **(call.flags or {}), **fields
    )  # fmt: skip
    response, crash = out.extra["response"], Evidence((Shown(out.request),), kind="crash")
    if not response.has_graph:
        raise Violation(FORWARD_ONLY, crash)
    found = dict[str, Result]()
    for name, value in response.gradients.items():
        shape = _shape_of(subject, filled, call, name)
        values = np.zeros(shape) if value is None else value.values.astype(np.float64)
        if values.shape != shape:
            raise Violation(f"gradient: got shape {values.shape}, but should be {shape}", crash)
        axes = None
        if subject.batch_second and not name.startswith(PARAMETER):
            values, axes = subject.to_target_axes(values), lambda index: (index[1], index[0], index[2])
        found[name] = Result(values, out.request, f"grad:{name}", axes, {"missing": value is None})
    return found


def _shape_of(subject: ModuleSubject, filled: Filled, call: Call, name: str) -> tuple[int, ...]:
    """The shape of what a request differentiates by."""
    if name.startswith(PARAMETER):
        return tuple(list(filled.values.values())[int(name.removeprefix(PARAMETER))].shape)
    part = inputs_by_part(subject, call.context is not None)[name][0]
    return tuple(subject.to_target_axes(call.inputs()[part]).shape)


def is_forward_only(subject: ModuleSubject, probe: ParameterCase) -> bool:
    """Whether a plain call is answered, but its output carries no gradient though gradients are declared."""
    if not subject.implementation.gradients:
        return False
    filled, x = subject.fill(probe), subject.input(probe)
    down = array(np.ones_like(subject.to_target_axes(x)), "float32")
    names = tuple(inputs_by_part(subject, False))
    request = subject.make_request(probe, filled, x, wrt_=names, cotangent_=down, of_=subject.form.output)
    subject.calls += 1
    answer = subject.runner.run(request)
    return answer.status == "ok" and not answer.has_graph
