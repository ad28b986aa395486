"""Laws of `self_attention(Q, K, V, n_heads, causal)`, the function that the seed's exercise builds.

Its arrays are (B, n, E), or (n, E) where `--axes 2` says so.

Q, K and V are projected already; the function cuts them into heads, attends in each, and joins them. No output
projection follows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from attention_core import oracle
from attention_core.conformance.budgets import budget
from attention_core.conformance.budgets.budget import round_to
from attention_core.conformance.cases.counts import count_many, single_tokens
from attention_core.conformance.laws.gradients import NOT_DECLARED, differentiable
from attention_core.conformance.subjects.evidence import (
    Evidence,
    NotApplicable,
    Result,
    Shown,
    Violation,
    require_close,
    require_same,
)
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.parameter_case import (
    LARGE_SCORES,
    ParameterCase,
    ParameterSubject,
    Sizes,
    as_in_models,
)
from attention_core.conformance.worker.exchange import NDArray, Request, array
from attention_core.declaration.implementation import ALIASES, CLAIMS
from attention_core.declaration.scales import scale_of

CONTRACT = "self-attention"
FITTING = 2.0**15
"""A score of the last token, which outweighs every number that people add in place of -inf but those below -1e7."""
INPUTS = ("0", "1", "2")
HEADS, CAUSAL = ("n_heads", "num_heads", "n_head", "heads", "h"), ("causal", "is_causal")
OTHERS = frozenset({*ALIASES, *CLAIMS}.difference(CAUSAL))
"""Names of parameters that mean something else."""


class SelfAttention(ParameterSubject):
    """A function of projected tokens, called with the number of heads and with causality on or off."""

    @property
    def alone(self) -> bool:
        """Whether it takes one sequence (n, E), without an axis of batches."""
        return self.implementation.axes == 2

    @property
    def has_flag(self) -> bool:
        """Whether a call can be made causal: by a parameter of that name, or by a fifth of an unknown name."""
        parameters = self.description["parameters"]
        if parameters is None or self.find_name(*CAUSAL) is not None:
            return True
        fifth = next(iter(parameters[4:]), None)
        if fifth is None:
            return any(p["kind"].startswith("VAR") for p in parameters)
        return fifth["name"] not in OTHERS and (not fifth["default"] or isinstance(fifth.get("value"), bool))

    def draw_causality(self, case: ParameterCase) -> bool:
        """Whether a case is causal: half of them are, where the function has a flag for that."""
        return self.has_flag and bool(case.rng("causal").random() < 0.5)

    def adapt_case(self, case: ParameterCase) -> ParameterCase:
        """The case, of one sequence where the target takes no more."""
        return case.with_(B=1) if self.alone else case

    def inputs(self, case: ParameterCase, purpose: str = "") -> list[NDArray]:
        """Drawn Q, K and V, each (B, n, E)."""
        shape = (case["B"], case["n"], case["H"] * case["d"])
        query = case.queries(f"Q{purpose}", *shape)
        return [query, case.keys(f"K{purpose}", *shape), case.values(f"V{purpose}", *shape)]

    def make_request(self, case: ParameterCase, inputs: list[NDArray], causal: bool, **fields: Any) -> Request:
        """The request; heads and causality go by name where the signature has one, else by place.

        Raises: NotApplicable where the call is to be causal, and the function has no flag for that.
        """
        heads, flag = self.find_name(*HEADS), self.find_name(*CAUSAL)
        inputs = [x[0] for x in inputs] if self.alone else inputs
        if heads is not None and not self.has_flag:
            if causal:
                raise NotApplicable("it has no parameter for causality")
            return self.request(*inputs, dtype=case.dtype, **{heads: case["H"]}, **fields)
        if heads is None or flag is None:
            return self.request(*inputs, case["H"], causal, dtype=case.dtype, **fields)
        return self.request(*inputs, dtype=case.dtype, **{heads: case["H"], flag: causal}, **fields)

    def attend(self, case: ParameterCase, inputs: list[NDArray], causal: bool, **fields: Any) -> Result:
        """The output."""
        shape = inputs[0].shape[1:] if self.alone else inputs[0].shape
        found = self.result(self.make_request(case, inputs, causal, **fields), shape)
        if not self.alone:
            return found
        return replace(found, values=found.values[None], place=lambda i: i[1:], back=lambda i: (0, *i))

    def gradients(self, case: ParameterCase, inputs: list[NDArray], causal: bool, cotangent: NDArray) -> list[Result]:
        """The gradients of Q, K and V, each (B, n, E)."""
        down = array(cotangent[0] if self.alone else cotangent, case.dtype)
        request = self.make_request(case, inputs, causal, wrt_=INPUTS, cotangent_=down)
        response, crash = self.send(request), Evidence((Shown(request),), kind="crash")
        if not response.has_graph:
            raise Violation(
                "the output carries no gradient although its inputs ask for one (if it is forward only, declare "
                "--no-gradients, in Python gradients=False)", crash,
            )  # fmt: skip
        found = list[Result]()
        for name, x in zip(INPUTS, inputs, strict=True):
            value, shape = response.gradients.get(name), x.shape[1:] if self.alone else x.shape
            values = np.zeros(shape) if value is None else value.values.astype(np.float64)
            if values.shape != shape:
                raise Violation(f"gradient: got shape {values.shape}, but should be {shape}", crash)
            result = Result(values, request, f"grad:{name}", extra={"missing": value is None})
            if self.alone:
                result = replace(result, values=values[None], place=lambda i: i[1:], back=lambda i: (0, *i))
            found.append(result)
        return found

    def true_gradients(
        self, case: ParameterCase, inputs: list[NDArray], causal: bool, cotangent: NDArray
    ) -> list[tuple[NDArray, NDArray]]:
        """The gradients of Q, K and V in float64, each with how far a correct one may be from it.

        Raises:
            NotApplicable: scores beyond the range of the dtype.
        """
        q, k, v, down = (_split_heads(x, case) for x in (*inputs, cotangent))
        declared = self.implementation
        how: dict[str, Any] = {"scale": scale_of(declared.scale, case["d"]), "is_causal": causal}
        true = oracle.attention(q, k, v, **how)
        found = oracle.gradients(q, k, v, down, truth=true, **how)
        bounds = budget.backward_bound(
            q, k, v, down, true, found, mask=oracle.causal_mask(case["n"], case["n"]) if causal else None,
            scale=how["scale"], dtype=case.dtype, accumulate=declared.accumulate,
        )  # fmt: skip
        if not bounds.finite.all():
            raise NotApplicable
        names = ("query", "key", "value")
        return [(_join_heads(getattr(found, name)), _join_heads(getattr(bounds, name))) for name in names]

    def truth(self, case: ParameterCase, inputs: list[NDArray], causal: bool) -> tuple[NDArray, NDArray]:
        """The output in float64, and how far a correct one may be from it."""
        q, k, v = (_split_heads(x, case) for x in inputs)
        declared = self.implementation
        scale = scale_of(declared.scale, case["d"])
        true = oracle.attention(q, k, v, scale=scale, is_causal=causal)
        mask = oracle.causal_mask(case["n"], case["n"]) if causal else None
        bounds = budget.forward_bound(
            q, k, v, true, mask=mask, scale=scale, dtype=case.dtype, accumulate=declared.accumulate
        )
        assert bounds.out is not None
        bound = np.broadcast_to(bounds.out, true.out.shape)
        return _join_heads(true.out), _join_heads(bound)


def _split_heads(x: NDArray, case: ParameterCase) -> NDArray:
    """(B, n, E) to (B, H, n, d)."""
    return np.asarray(x.reshape(*x.shape[:2], case["H"], case["d"]).swapaxes(1, 2))


def _join_heads(a: NDArray) -> NDArray:
    """(B, H, n, d) to (B, n, H d)."""
    return np.asarray(a.swapaxes(1, 2).reshape(a.shape[0], a.shape[2], -1))


def self_attention_is_multi_head_attention(subject: SelfAttention, case: ParameterCase) -> None:
    """Without causality every token attends to all, in each head with its own slice of the features.

    Formula: concat_h softmax(Q_h K_h^T / sqrt(E/H)) V_h
    Source: the seed's exercise, "Implementing Attention from Scratch", step 3; Vaswani et al., section 3.2.2
    Fault: scaled_by_embedding
    """
    inputs = subject.inputs(case)
    want, bound = subject.truth(case, inputs, False)
    require_close(subject.attend(case, inputs, False), want, bound, "self-attention")


def causal_self_attention_masks_before_its_softmax(subject: SelfAttention, case: ParameterCase) -> None:
    """With causality every token attends to itself and to those before it, and its weights sum to 1.

    Formula: concat_h softmax(S_h) V_h with S_ij = -inf for j > i
    Source: the seed's exercise, step 2 ("why it doesn't work to mask attention entries to 0 after the softmax")
    Fault: masked_after_softmax
    """
    inputs, rows = subject.inputs(case), None
    if case.options.get("last") == "fits":  # every query: a mask that lowers scores by a number lets it through
        scale = scale_of(subject.implementation.scale, case["d"])
        inputs[0][:], inputs[1][:, -1] = 1.0, round_to(np.asarray(FITTING / (scale * case["d"])), case.dtype)
        rows = np.arange(case["n"])[:, None] < case["n"] - 1
    want, bound = subject.truth(case, inputs, True)
    require_close(subject.attend(case, inputs, True), want, bound, "causal self-attention", where=rows)


def gradients_of_every_head_are_true(subject: SelfAttention, case: ParameterCase) -> None:
    """The gradients of Q, K and V are those of their heads, joined again, causal or not.

    Formula: dV_h = P_h^T dO_h, dQ_h = scale dS_h K_h, dK_h = scale dS_h^T Q_h, dS_h = P_h (dO_h V_h^T - D_h)
    Source: derivations/softmax_backward.md (d-query, d-key, d-value)
    Fault: scores_detached
    """
    inputs, causal = subject.inputs(case), subject.draw_causality(case)
    cotangent = case.values("cotangent", case["B"], case["n"], case["H"] * case["d"])
    true = subject.true_gradients(case, inputs, causal, cotangent)
    for name, got, (want, bound) in zip("QKV", subject.gradients(case, inputs, causal, cotangent), true, strict=True):
        require_close(got, want, bound, f"gradient of {name}")


def later_inputs_change_no_earlier_output(subject: SelfAttention, case: ParameterCase) -> None:
    """With causality the output of a token does not depend on the tokens after it.

    Formula: f(Q, K, V)[:, :t] = f(Q', K', V')[:, :t] whenever they agree before t
    Source: the seed's exercise, step 2; karpathy/minGPT#54
    Fault: causal_ignored
    """
    inputs, others = subject.inputs(case), subject.inputs(case, " later")
    cut = int(case.rng("cut").integers(1, case["n"]))
    changed = [np.concatenate([x[:, :cut], y[:, cut:]], axis=1) for x, y in zip(inputs, others, strict=True)]
    bound = subject.truth(case, inputs, True)[1] + subject.truth(case, changed, True)[1]
    early = np.arange(case["n"])[:, None] < cut
    first, second = subject.attend(case, inputs, True), subject.attend(case, changed, True)
    require_same(second, first, bound, f"tokens before {cut} after later ones changed", where=early)


def tokens_written_into_are_read_anew(subject: SelfAttention, case: ParameterCase) -> None:
    """A call reads its arrays as they are then, also where an earlier call got the same arrays with other numbers.

    Formula: f(y), then x's numbers into the arrays of y, then |f(x) - t(x)| <= E(x)
    Source: the definition of a function
    Fault: heads_kept_by_identity
    """
    inputs, causal = subject.inputs(case), subject.draw_causality(case)
    want, bound = subject.truth(case, inputs, causal)
    earlier = subject.make_request(case, [0.0 - x[:, ::-1] for x in inputs], causal)
    got = subject.attend(case, inputs, causal, earlier_=earlier)
    what = "output after the caller wrote other numbers into the arrays of the call before"
    require_close(got, want, bound, what)


RANGES = {"B": (1, 3), "n": (1, 9), "H": (1, 4), "d": (1, 8)}
LARGER = count_many(as_in_models({"B": (1, 2), "n": (65, 72), "H": (1, 3), "d": (17, 40)}), 0.15)
SHORT = single_tokens(LARGER)
CAUSAL_SPACE = Sizes({**RANGES, "n": (2, 9)}, {**LARGE_SCORES, "last": (None, None, None, "fits")}, LARGER)
ROW: dict[str, Any] = {"contract": CONTRACT, "family": "seed_attention", "large": 16, "small": 0}
LAWS = (
    Law(self_attention_is_multi_head_attention, space=Sizes(RANGES, LARGE_SCORES, SHORT), **ROW, central=True),
    Law(causal_self_attention_masks_before_its_softmax, space=CAUSAL_SPACE, **ROW),
    Law(later_inputs_change_no_earlier_output, space=Sizes({**RANGES, "n": (2, 9)}), **ROW),
    Law(
        gradients_of_every_head_are_true,
        space=Sizes(RANGES, adjust=SHORT),
        **ROW,
        declares=differentiable,
        because=NOT_DECLARED,
        compares=True,
    ),
    Law(
        tokens_written_into_are_read_anew,
        space=Sizes(RANGES),
        **{**ROW, "large": 6},
        declares=lambda i: i.array != "jax",
        because="arrays of JAX cannot be written into",
    ),
)
