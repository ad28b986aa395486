"""Laws of the gradients of linear attention: of inputs, gates and first states, for outputs or the last state."""

from __future__ import annotations

import numpy as np

from attention_core.conformance.laws.linear_attention import CONTRACT
from attention_core.conformance.laws.linear_texts import draw_lengths, draw_start, pack
from attention_core.conformance.subjects.evidence import NotApplicable, Result, require_close
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.linear_gradients import TrueGradient, true_gradients
from attention_core.conformance.subjects.linear_subject import Lengths, LinearAttention
from attention_core.conformance.subjects.parameter_case import ParameterCase, Sizes, as_argument, as_in_models
from attention_core.conformance.worker.exchange import Request
from attention_core.declaration.implementation import Implementation

THE = {
    "query": "the query", "key": "the key", "value": "the value", "log_decay": "the log decays", "decay": "the decays",
    "beta": "beta", "step": "the step", "state": "the initial state",
}  # fmt: skip
FIXED = ("log_decay", "decay")
"""What a retention may keep fixed: its decays are numbers of the model, which nobody trains."""


def gradients_of_linear_attention_are_true(subject: LinearAttention, case: ParameterCase) -> None:
    """Query, key, value, decays, beta and the first state have true gradients, for outputs and for the last state.

    Packed texts are among the cases where a target takes them. One that carries no gradient is left out, and the report
    says so; so are the decays of a retention that keeps them fixed.

    Formula: |d_x' - d_x| <= E_x for L = <o, c> or L = <S_n, c>
    Source: derivations/linear_attention.md (d-token, d-fade); state-spaces/mamba PR537; QwenLM/FlashQLA PR28
    Fault: decays_gradient_of_the_next_token
    """
    lengths = draw_lengths(case) if case.options.get("packed") and subject.call_form.takes_packs else None
    tokens = subject.tokens(case) if lengths is None else pack(subject, case, lengths)
    if lengths is not None:
        start = draw_start(subject, case)
    else:
        start = subject.start(case) if "state" in subject.roles and case.seed % 2 else None
    of = 1 if case.options.get("of") == "state" and "asks" in subject.roles and "texts" not in subject.roles else 0
    shape = (case["B"], case["H"], case["d"], case["d_v"])
    down = (np.zeros(tokens.value.shape), case.values("cotangent", *shape))
    if not of:
        down = (case.values("cotangent", *tokens.value.shape), np.zeros(shape))
    true = true_gradients(subject, case, tokens, start, down, lengths)
    axes, dtype = (subject.own_state, "float32") if of else (subject.own, case.dtype)
    dtype = case.dtype if case.dtype == "float64" else dtype
    sent = as_argument(np.ascontiguousarray(axes.to_target(down[of])), dtype)
    request = subject.request_of(
        case, tokens, start, lengths=lengths, ask=bool(of or case.seed // 4 % 2), wrt=_places(subject, true),
        cotangent=sent, of=of,
    )  # fmt: skip
    compare(subject, case, request, true, of, lengths)


def _places(subject: LinearAttention, true: dict[str, TrueGradient]) -> tuple[str, ...]:
    """What the gradients are asked by: inputs by their place, others by their names."""
    return tuple(_place(subject, name) for name in true)


def _place(subject: LinearAttention, name: str) -> str:
    inputs = subject.call_form.inputs
    return str(inputs.index(name)) if name in inputs else subject.roles[name]


def compare(
    subject: LinearAttention, case: ParameterCase, request: Request, true: dict[str, TrueGradient], of: int,
    lengths: Lengths,
) -> None:  # fmt: skip
    """One call with derivatives, held against the true ones.

    Raises: NotApplicable where the call carries no gradient.
    """
    response = subject.send(request)
    if not response.has_graph:
        raise NotApplicable("it carries no gradient")
    for name, gradient in true.items():
        place = _place(subject, name)
        value, axes = response.gradients.get(place), gradient.axes
        if value is None and subject.kind == "retention" and name in FIXED:
            continue
        if value is None and not gradient.values.any():
            continue  # nothing of the loss depends on it
        got = Result(np.zeros(gradient.values.shape), request, f"grad:{place}", axes.place, back=axes.back)
        got.extra["missing"] = value is None
        if value is not None:
            got.values = axes.from_target(value.values.astype(np.float64))
        packed = "" if lengths is None else f" of texts of {', '.join(map(str, lengths))} tokens"
        by = dict(zip(subject.call_form.inputs, subject.call_form.names, strict=False)).get(name, THE[name])
        what = f"gradient of {'the last state' if of else 'out'} by {by}{packed}"
        ratio = require_close(got, gradient.values, gradient.bound, what)
        key = (case.dtype, f"{name} of linear attention")
        subject.ratios[key] = max(subject.ratios.get(key, 0.0), ratio)


def _differentiable(implementation: Implementation) -> bool:
    return implementation.gradients and implementation.array == "torch"


RANGES = {"B": (1, 3), "H": (1, 3), "n": (1, 9), "d": (1, 8), "d_v": (1, 8)}
LONGER = {"B": (1, 2), "n": (17, 40), "H": (1, 2), "d": (2, 12), "d_v": (2, 12)}
GRADED = Sizes(
    RANGES, {"of": ("out", "out", "state"), "packed": (False, False, True)}, adjust=as_in_models(LONGER)
)  # fmt: skip
LAWS = (
    Law(
        gradients_of_linear_attention_are_true, "linear_gradients", CONTRACT, large=18, small=0, space=GRADED,
        declares=_differentiable, because="gradients are not declared, or not of torch's arrays",
        absent="gradients are not tested",
    ),
)  # fmt: skip
COMPARISONS = tuple(law.name for law in LAWS)
