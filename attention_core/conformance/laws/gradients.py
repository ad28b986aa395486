"""Laws of the gradients of every differentiable input, a float mask where declared.

Against the float64 closed forms, and in relation to each other: linear in the cotangent, zero for a zero
cotangent, none where masked, the same for one input alone as for all together.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from attention_core.conformance.budgets.budget import BackwardBounds
from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.space import Space
from attention_core.conformance.laws.pairs import require_multiple
from attention_core.conformance.subjects.evidence import NotApplicable, require_close, require_same
from attention_core.conformance.subjects.law import Law, needs
from attention_core.conformance.subjects.subject import Subject
from attention_core.conformance.worker.exchange import NDArray
from attention_core.declaration.implementation import Implementation
from attention_core.oracle import Gradients

INPUTS = ("query", "key", "value")
NOT_DECLARED = "gradients not declared"
ANY = Space()
BEYOND_A_BLOCK = 33
CHEAP = 1 << 13


def differentiable(implementation: Implementation) -> bool:
    """Whether the target declares gradients that its array library can give."""
    return implementation.gradients and implementation.array != "numpy"


def limits(
    subject: Subject, case: Case, cotangent: NDArray | None = None, masked: bool = False
) -> tuple[Gradients, BackwardBounds]:
    """The true gradients of a case and their budget.

    Raises NotApplicable where the contract leaves the gradient open: dead rows that are not declared as zeros
    or uniform, and scores beyond the range of the dtype.
    """
    truth = subject.truth(case)
    if truth.dead.any() and subject.implementation.dead_rows not in ("zeros", "uniform"):
        raise NotApplicable
    down = case.cotangent() if cotangent is None else cotangent
    true = subject.true_gradients(case, down, masked)
    bounds = subject.gradient_bounds(case, down, true, masked)
    if not bounds.finite.all():
        raise NotApplicable
    return true, bounds


def judge(
    subject: Subject, case: Case, judged: tuple[str, ...], want: tuple[str, ...] = INPUTS, *, remark: str = ""
) -> None:
    """The gradients of `judged` agree with the closed form when those of `want` are requested."""
    true, bounds = limits(subject, case, masked="mask" in want)
    found = subject.backward(case, None, want)
    for name in judged:
        what = f"gradient of {name}{remark} against the float64 closed form"
        ratio = require_close(found.gradients[name], getattr(true, name), getattr(bounds, name), what)
        subject.record_ratio(case, name, ratio)


def query_gradient_is_true(subject: Subject, case: Case) -> None:
    """The gradient of the query agrees with the float64 closed form.

    Formula: |dQ' - scale dS K| <= E_dQ(x), dS = P (dP - D)
    Source: derivations/softmax_backward.md (d-query)
    Fault: stale_first_chunk
    """
    judge(subject, case, ("query",))


def key_gradient_is_true(subject: Subject, case: Case) -> None:
    """The gradient of the key agrees with the float64 closed form, summed over its group of query heads.

    Formula: |dK' - scale dS^T Q| <= E_dK(x)
    Source: derivations/softmax_backward.md (d-key)
    Fault: key_without_scale
    """
    judge(subject, case, ("key",))


def value_gradient_is_true(subject: Subject, case: Case) -> None:
    """The gradient of the value agrees with the float64 closed form, summed over its group of query heads.

    Formula: |dV' - P^T dO| <= E_dV(x)
    Source: derivations/softmax_backward.md (d-value)
    Fault: value_of_first_group_member
    """
    judge(subject, case, ("value",))


def mask_gradient_is_true(subject: Subject, case: Case) -> None:
    """The gradient of a float mask is that of the scores, summed over broadcast axes, zero where masked.

    Formula: |db' - sum dS| <= E_db(x)
    Source: derivations/softmax_backward.md (d-bias)
    Fault: mask_not_summed
    """
    judge(subject, shared_by_rows(subject, case), ("mask",), (*INPUTS, "mask"))


def shared_by_rows(subject: Subject, case: Case) -> Case:
    """Half of the time a case whose mask (..., 1, n_kv) is shared by all rows, of which there are more than a block.

    Queries are repeated for that, where the target allows such sizes and the case stays cheap.
    """
    n_q, n_kv, *_ = case.sizes
    if case.mask is None or case.mask.ndim < 2 or not n_q or case.rng("shared by rows").random() < 0.5:
        return case
    shared = case.with_(mask=case.mask[..., :1, :])
    long = shared.with_(query=case.query[..., np.arange(BEYOND_A_BLOCK) % n_q, :], is_causal=False)
    cheap = case.slices * BEYOND_A_BLOCK * n_kv <= CHEAP
    return long if n_q < BEYOND_A_BLOCK and cheap and subject.allows(long) else shared


def one_gradient_alone_is_the_same(subject: Subject, case: Case) -> None:
    """The gradient of one input does not depend on which other inputs ask for theirs.

    Formula: |d_x' - d_x| <= E_x for each x of query, key, value (and mask) computed alone, or with one other
    Source: derivations/softmax_backward.md (softmax-vjp)
    Fault: gradients_in_order_of_asking
    """
    rng = case.rng("alone")
    bias = case.mask is not None and case.mask.dtype != bool and subject.implementation.mask_gradient
    names = [*INPUTS, "mask"] if bias else list(INPUTS)
    wanted = [names[i] for i in sorted(rng.permutation(len(names))[: 1 if rng.random() < 0.6 else 2])]
    judge(
        subject, case, tuple(wanted), tuple(wanted), remark=f" asked {'alone' if len(wanted) == 1 else 'as one of two'}"
    )


def output_is_the_same_with_gradients(subject: Subject, case: Case) -> None:
    """The call that keeps what a gradient needs returns the same output as the call that does not.

    Formula: |f_train(x) - f(x)| <= 2 E_o(x)
    Source: derivations/error_budget.md (output)
    Fault: causal_lost_in_training
    """
    plain, kept = subject.forward(case).out, subject.backward(case).out
    live = ~subject.truth(case).dead[..., None] | (subject.implementation.dead_rows != "unspecified")
    bound = subject.bounds(case).out
    assert bound is not None
    require_same(kept, plain, 2 * bound, "output of the call with gradients", where=live)


def zero_cotangent_gives_zero(subject: Subject, case: Case) -> None:
    """A cotangent of zeros gives gradients that are exactly zero.

    Formula: dO = 0 implies dQ = dK = dV = 0
    Source: derivations/softmax_backward.md (softmax-vjp)
    Fault: uninitialised_query_gradient
    """
    cotangent = np.zeros_like(case.cotangent())
    limits(subject, case, cotangent)
    found = subject.backward(case, cotangent)
    for name in INPUTS:
        require_close(found.gradients[name], np.zeros(()), 0.0, f"gradient of {name} for a zero cotangent")


def gradient_is_linear_in_the_cotangent(subject: Subject, case: Case) -> None:
    """A cotangent times a power of two gives gradients times that power of two.

    Formula: |d_x(c dO) - c d_x(dO)| <= E_x(c dO) + |c| E_x(dO), c in {-1, 2, -2, 4}
    Source: derivations/softmax_backward.md (softmax-vjp)
    Fault: clipped_gradient
    """
    factor = float(case.rng("factor").choice([-1.0, 2.0, -2.0, 4.0]))
    down = case.cotangent()
    _, bounds = limits(subject, case, down)
    _, other = limits(subject, case, factor * down)
    first, second = subject.backward(case), subject.backward(case, factor * down)
    for name in INPUTS:
        bound = getattr(other, name) + abs(factor) * getattr(bounds, name)
        what = f"gradient of {name} for {factor:g} times the cotangent"
        require_multiple(second.gradients[name], first.gradients[name], factor, bound, what)


def one_row(case: Case) -> tuple[NDArray, NDArray]:
    """One query row per head, as bool (*batch, H, n_q), and the case's cotangent with zeros at all others."""
    rows = case.rng("row").integers(case.query.shape[-2], size=case.query.shape[:-2])
    chosen = np.arange(case.query.shape[-2]) == rows[..., None]
    return chosen, np.where(chosen[..., None], case.cotangent(), 0.0)


def row_cotangent_moves_its_query_alone(subject: Subject, case: Case) -> None:
    """A cotangent at one row gives no gradient to the queries of other rows.

    Formula: dO_i = 0 implies dQ_i = 0
    Source: derivations/softmax_backward.md (d-query)
    Fault: query_gradient_of_next_row
    """
    chosen, cotangent = one_row(case)
    _, bounds = limits(subject, case, cotangent)
    found = subject.backward(case, cotangent).gradients["query"]
    what = "gradient of a query whose row has a zero cotangent"
    require_close(found, np.zeros(()), bounds.query, what, where=~chosen[..., None])


def with_a_mask(subject: Subject, case: Case) -> Case:
    """A case that masks something where it may: one that hides no pair gets a bool mask in place of what it has."""
    claims = subject.binding.claims
    if bool((subject.truth(case).scores == -np.inf).any()):
        return case
    if "attn_mask" not in claims:
        plain = case.scale is None or case.scale >= 0  # a negative scale under causality is not a case of the suite
        return case.with_(is_causal=True) if "is_causal" in claims and plain else case
    n_q, n_kv, *_ = case.sizes
    rng = case.rng("mask")
    keep = (rng.random((n_q, n_kv)) < 0.5) | (np.arange(n_kv) == rng.integers(n_kv, size=(n_q, 1)))
    return case.with_(mask=keep, is_causal=False)


def masked_pairs_pass_no_gradient(subject: Subject, case: Case) -> None:
    """A row passes no gradient to the keys and values that it may not attend.

    Formula: dO = 0 but for row i, and i may not attend j, imply dK_j = dV_j = 0 (a dead row that is declared
        uniform passes dO_i / n_kv to every value)
    Source: derivations/laws.md (masked-score-gradient)
    Fault: backward_without_mask
    """
    case = with_a_mask(subject, case)
    chosen, cotangent = one_row(case)
    attended = (subject.truth(case).scores != -np.inf) & chosen[..., None]
    unseen = {"key": find_unreached_keys(case, attended), "value": find_unreached_keys(case, attended)}
    if subject.implementation.dead_rows == "uniform":  # such a row is the mean of all values, and of no key
        averaged = subject.truth(case).dead[..., None] & chosen[..., None]
        unseen["value"] = find_unreached_keys(case, attended | averaged)
    if not any(where.any() for where in unseen.values()):
        raise NotApplicable
    _, bounds = limits(subject, case, cotangent)
    found = subject.backward(case, cotangent)
    for name, where in unseen.items():
        what = f"gradient of a {name} that the row with a cotangent may not attend"
        require_close(found.gradients[name], np.zeros(()), getattr(bounds, name), what, where=where)


def find_unreached_keys(case: Case, pairs: NDArray) -> NDArray:
    """Keys that no pair (*batch, H, n_q, n_kv) reaches through any head of their group: (*batch, H_kv, n_kv, 1)."""
    *batch, _, _, n_kv = pairs.shape
    reached = np.asarray(pairs.reshape(*batch, case.key.shape[-3], -1, n_kv).any(axis=-2))
    return ~reached[..., None]


MASKS = Space(masks=("float", "finite"), dead=0.3)
ROWS = Space(min_q=2)


def _mask(i: Implementation) -> bool:
    return differentiable(i) and i.mask_gradient


def _law(
    check: Callable[..., None], space: Space = ANY, large: int = 4, small: int = 12, *, near: bool = False
) -> Law:  # fmt: skip
    """A law for every target that declares gradients."""
    return Law(
        check, "gradients", declares=differentiable, because=NOT_DECLARED, space=space, large=large,
        small=small, near=near,
    )  # fmt: skip


LAWS = (
    _law(query_gradient_is_true, near=True),
    _law(key_gradient_is_true, near=True),
    _law(value_gradient_is_true, near=True),
    Law(
        mask_gradient_is_true, "gradients", needs=needs("attn_mask"), declares=_mask,
        because="a gradient of the mask is not declared", space=MASKS,
    ),
    _law(one_gradient_alone_is_the_same),
    _law(output_is_the_same_with_gradients),
    _law(zero_cotangent_gives_zero, large=3, small=8),
    _law(gradient_is_linear_in_the_cotangent, large=3, small=8),
    _law(row_cotangent_moves_its_query_alone, ROWS, large=3, small=8),
    _law(masked_pairs_pass_no_gradient),
)  # fmt: skip
