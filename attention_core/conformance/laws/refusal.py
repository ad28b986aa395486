"""Laws of refusal: calls that contradict themselves must raise, and in a way that says so.

ValueError, TypeError, NotImplementedError, AssertionError and RuntimeError are refusals; a result, an
IndexError or a crash is not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.space import Space
from attention_core.conformance.subjects.evidence import (
    Evidence,
    NotApplicable,
    Refused,
    Shown,
    Violation,
    require_close,
)
from attention_core.conformance.subjects.law import Law, needs
from attention_core.conformance.subjects.subject import Subject
from attention_core.conformance.worker.exchange import NDArray, Request
from attention_core.declaration.implementation import Implementation


def must_raise(subject: Subject, request: Request, contradiction: str, mend: str = "") -> None:
    """Send a contradictory call; anything but a refusal is a Violation, whose message ends with `mend`."""
    try:
        subject.send(request)
    except Refused:
        return
    except Violation as violation:
        if violation.evidence.kind == "crash":
            reason = violation.message.removeprefix("a valid call raised ")
            # A lost process is dear to shrink; any other exception is shown by the same lines as a result.
            kind = "crash" if reason.startswith("the call did not return") else "must_raise"
            raise Violation(
                f"{contradiction}: got {reason}, but should be refused by a ValueError or TypeError",
                Evidence((Shown(request),), kind=kind, event=violation.evidence.event),
            ) from None
    message = f"{contradiction}: got a result, but should be refused{mend}"
    raise Violation(message, Evidence((Shown(request),), kind="must_raise"))


def draw_integers(case: Case, shape: tuple[int, ...], purpose: str) -> NDArray:
    """Small whole numbers in some shape, exact in every dtype."""
    return case.rng(purpose).integers(-3, 4, size=shape).astype(float)


def other_than(n: int, rng: np.random.Generator, broadcasts: bool) -> int:
    """A size near n that is not n: one less, one more, or 1.

    With `broadcasts` neither of the two is 1: of such axes array libraries make the size of the other, and a function
    that leaves the check to them (an einsum) has not promised more.
    """
    found = [m for m in (n - 1, n + 1, 1) if m >= (2 if broadcasts else 1) and m != n]
    if not found or (broadcasts and n == 1):
        raise NotApplicable(f"{n} and another size that no broadcasting makes equal")
    return int(rng.choice(found))


def head_sizes_of_query_and_key_must_agree(subject: Subject, case: Case) -> None:
    """A query and a key of different head sizes are refused.

    Formula: d(query) != d(key) must raise (one of them 1, which broadcasts, where `validates` is declared)
    Source: design of the contract: contradictions must raise
    Fault: head_size_cut_to_shorter
    """
    d = other_than(case.sizes[2], case.rng("head size"), not subject.implementation.validates)
    bad = case.with_(key=draw_integers(case, (*case.key.shape[:-1], d), "key"))
    must_raise(subject, subject.binding.request(bad), f"query of head size {case.sizes[2]} with key of {d}")


def lengths_of_key_and_value_must_agree(subject: Subject, case: Case) -> None:
    """A key and a value of different lengths are refused.

    Formula: n(key) != n(value) must raise (one of them 1, which broadcasts, where `validates` is declared)
    Source: design of the contract: contradictions must raise
    Fault: lengths_cut_to_shorter
    """
    n_kv = case.sizes[1]
    n = other_than(n_kv, case.rng("length"), not subject.implementation.validates)
    bad = case.with_(value=draw_integers(case, (*case.value.shape[:-2], n, case.value.shape[-1]), "value"))
    must_raise(subject, subject.binding.request(bad), f"{n_kv} keys with {n} values")


def mask_must_broadcast_to_the_scores(subject: Subject, case: Case) -> None:
    """A mask with an axis that is neither 1 nor that of the scores is refused.

    Formula: n of an axis of the mask not in {1, n of the scores} must raise, where the scores' n is not 1
    Source: design of the contract: contradictions must raise
    Fault: long_mask_cut
    """
    _wrong_mask(subject, case, [n > 1 for n in (*case.query.shape[:-1], case.sizes[1])])


def mask_must_not_enlarge_the_result(subject: Subject, case: Case) -> None:
    """A mask with more than one row, key, head or batch where the scores have one is refused, not broadcast.

    Only for targets that are declared to validate: such a mask is a caller's mistake, and array libraries broadcast it.

    Formula: n of an axis of the mask > 1 where the scores have 1 must raise
    Source: the declaration `validates`
    Fault: large_mask_broadcasts_the_scores
    """
    if 1 not in (*case.query.shape[:-1], case.sizes[1]):
        case = _one_of_something(case)
    library = {"torch": "torch", "numpy": "np", "jax": "jnp"}[subject.implementation.array]
    mend = (
        "; declared to validate, so a mask may not make the result larger than the query does: before adding it write "
        f"if {library}.broadcast_shapes(mask.shape, scores.shape) != scores.shape: raise ValueError"
    )
    _wrong_mask(subject, case, [n == 1 for n in (*case.query.shape[:-1], case.sizes[1])], mend)


def _one_of_something(case: Case) -> Case:
    """The case with one batch row, one head or one query, so that some axis of the scores is 1."""
    way = int(case.rng("one").integers(3))
    q, k, v = case.query, case.key, case.value
    if way == 0:
        return case.with_(query=q[:1], key=k[:1], value=v[:1])
    if way == 1:
        return case.with_(query=q[:, :1], key=k[:, :1], value=v[:, :1])
    return case.with_(query=q[..., :1, :])


def _wrong_mask(subject: Subject, case: Case, axes: list[bool], mend: str = "") -> None:
    """Send a mask that is wrong along one of the chosen axes of the scores (B, H, n_q, n_kv)."""
    if not any(axes):
        raise NotApplicable
    rng = case.rng("mask shape")
    scores = (*case.query.shape[:-1], case.sizes[1])
    axis = int(rng.choice(np.flatnonzero(axes)))
    shape = list(scores)
    shape[axis] = int(rng.choice([n for n in (shape[axis] - 1, shape[axis] + 1, shape[axis] + 8) if n > 1]))
    if rng.random() < 0.5:  # the ranks below 4 that people pass
        shape = shape[min(axis, 2) :]
    floats = case.mask is not None and case.mask.dtype != bool
    mask = draw_integers(case, tuple(shape), "mask") if floats else np.ones(shape, bool)
    request = subject.binding.request(case.with_(mask=mask))
    must_raise(subject, request, f"mask {tuple(shape)} for scores {scores}", mend)


def with_flag(subject: Subject, case: Case, grouped: bool) -> Request:
    """The call for a case with the flag for grouped heads as given, whatever the numbers of heads."""
    name = subject.binding.names.get("enable_gqa")
    request = subject.binding.request(case)
    kwargs = {k: v for k, v in request.kwargs.items() if k != name}
    return replace(request, kwargs=kwargs | {name: True} if grouped and name else kwargs)


def query_heads_must_be_a_multiple_of_key_heads(subject: Subject, case: Case) -> None:
    """Query heads that are not a multiple of the key heads are refused, with and without enable_gqa.

    Formula: H mod H_kv != 0 must raise
    Source: design of the contract: contradictions must raise
    Fault: heads_filled_up
    """
    rng = case.rng("heads")
    heads, kv_heads = (int(n) for n in rng.choice([(3, 2), (2, 3), (5, 2), (4, 3), (5, 3), (2, 4)]))
    batch, n_q, n_kv = case.query.shape[0], *case.sizes[:2]
    bad = case.with_(
        query=draw_integers(case, (batch, heads, n_q, case.sizes[2]), "query"), mask=None,
        key=draw_integers(case, (batch, kv_heads, n_kv, case.sizes[2]), "key"),
        value=draw_integers(case, (batch, kv_heads, n_kv, case.sizes[3]), "value"),
    )  # fmt: skip
    grouped = "enable_gqa" in subject.binding.claims and rng.random() < 0.5
    must_raise(subject, with_flag(subject, bad, grouped), f"{heads} query heads with {kv_heads} key heads")


def broadcast_keys_are_refused_or_right(subject: Subject, case: Case) -> int:
    """One key head, or one batch row of keys, for all queries raises or gives what its repetition gives.

    Formula: f(q, k of 1, v of 1) raises, or |f - t(q, repeated k, repeated v)| <= E_o
    Source: design of the contract: broadcasting may raise or be right
    Fault: broadcast_batch_lost
    """
    axis = int(case.rng("axis").integers(2))
    count = case.query.shape[axis]
    if count == 1:
        raise NotApplicable
    one = {name: np.take(getattr(case, name), [0], axis=axis) for name in ("key", "value")}
    full = case.with_(**{name: np.repeat(x, count, axis=axis) for name, x in one.items()})
    if axis == 0 and case.group > 1:
        raise NotApplicable
    request = with_flag(subject, full.with_(**one), False)
    truth, bound = subject.truth(full), subject.bounds(full).out
    assert bound is not None
    try:
        response = subject.send(request)
    except Refused:
        return case.slices
    except Violation as violation:
        if violation.message.startswith("a valid call raised"):  # any way to decline what need not work
            return case.slices
        raise
    out = subject._output(full, request, response.outputs[0])
    live = ~truth.dead[..., None]
    what = f"output for keys of one {'batch row' if axis == 0 else 'head'}"
    require_close(out, truth.out, bound, what, where=live)
    return case.slices


SHORT = Space(max_n=17, grouped=False, masks=("none",), causal=(False,), scales=False, regimes=("normal",))
MASKED = SHORT.with_(masks=("bool", "finite"))


NOT_DECLARED = "validates is not declared, so a mask too large for the scores need not be refused"
UNSPECIFIED = "what is done with arrays that do not fit each other is declared to be unspecified (--misfits)"


def _law(check: Callable[[Subject, Case], int | None], space: Space = SHORT, claim: str = "", **fields: Any) -> Law:
    fields = {"declares": _refuses, "because": UNSPECIFIED, **fields}
    return Law(check, "refusal", needs=needs(claim) if claim else needs(), space=space, large=4, small=12, **fields)


def _refuses(implementation: Implementation) -> bool:
    return implementation.misfits == "refused"


def _validates(implementation: Implementation) -> bool:
    return implementation.validates and _refuses(implementation)


LAWS = (
    _law(head_sizes_of_query_and_key_must_agree),
    _law(lengths_of_key_and_value_must_agree),
    _law(mask_must_broadcast_to_the_scores, MASKED, "attn_mask"),
    _law(mask_must_not_enlarge_the_result, MASKED, "attn_mask", declares=_validates, because=NOT_DECLARED),
    _law(query_heads_must_be_a_multiple_of_key_heads),
    _law(broadcast_keys_are_refused_or_right, SHORT.with_(causal=(False, True), min_batch=2, min_heads=2)),
)
