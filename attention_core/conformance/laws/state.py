"""Laws of state: attention is a function of its arguments, whatever was called before, in which order.

The same bits are required only of what is declared deterministic; everything else may differ by its rounding.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

import numpy as np

from attention_core.conformance.budgets.budget import round_to
from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.space import Space
from attention_core.conformance.laws.derived import (
    NO_GRADIENTS,
    has_gradients,
    output_bound,
    require_live,
    take_batch,
    take_heads,
    take_keys,
    take_queries,
)
from attention_core.conformance.laws.gradients import limits
from attention_core.conformance.laws.pairs import same_gradients, same_output
from attention_core.conformance.laws.visibility import judged_rows
from attention_core.conformance.subjects.evidence import (
    Evidence,
    NotApplicable,
    Refused,
    Result,
    Shown,
    Violation,
    require_close,
)
from attention_core.conformance.subjects.law import Law, needs
from attention_core.conformance.subjects.subject import Subject
from attention_core.declaration.implementation import Implementation


def in_turn(subject: Subject, cases: Iterable[Case], what: str) -> None:
    """Make the calls in this order: a repeated one answers as at first, a new one agrees with the truth.

    A call that was accepted once may not be refused later. Evidence holds all calls up to the failing one.
    """
    done: list[Shown] = []
    answers: dict[int, Result] = {}
    for case in cases:
        first = answers.get(id(case))
        try:
            got = subject.forward(case, fresh=True).out
        except Refused as refusal:
            if first is None:
                continue
            shown = Evidence((Shown(first.request),), kind="raises", before=tuple(done))
            raise Violation(f"{what}: refused a call that it had answered before: {refusal}", shown) from None
        limit, where = output_bound(subject, case), judged_rows(subject, case)
        want = subject.truth(case).out if first is None else first.values
        try:
            require_close(got, want, limit if first is None else 2 * limit, what, where=where)
        except Violation as violation:
            evidence = replace(violation.evidence, before=tuple(done))
            raise Violation(violation.message, evidence) from None
        answers.setdefault(id(case), got)
        done.append(Shown(got.request))


def relatives(subject: Subject, case: Case) -> list[Case]:
    """Calls that a cache could take for `case`: other values, lengths, head sizes, flags."""
    claims, allows = subject.binding.claims, subject.binding.profile().allows
    n_q, n_kv, d, _, heads, _ = case.sizes
    other = case.with_(query=case.query[..., ::-1, :], key=case.key[..., ::-1, :], value=-case.value)
    queries, keys = np.arange(2 * n_q) % n_q, np.arange(2 * n_kv) % n_kv
    found = [
        other,
        take_keys(take_queries(case, queries), keys),
        take_keys(case, keys),
        take_queries(case, np.arange(n_q)[: max(1, n_q // 2)]),
        take_keys(case, np.arange(max(1, n_kv - 1))),
        case.with_(query=case.query[..., : max(1, d // 2)], key=case.key[..., : max(1, d // 2)]),
    ]
    if case.group == 1 and heads > 1:
        found.append(take_heads(case, np.arange(heads - 1), np.arange(heads - 1)))
    if case.query.shape[0] > 1:
        found.append(take_batch(case, np.arange(1)))
    # A negative scale under causality is not a case of the suite (see `draw`).
    if "is_causal" in claims and not subject.implementation.always_causal and (case.scale is None or case.scale >= 0):
        found.append(case.with_(is_causal=not case.is_causal))
    if others := [dtype for dtype in subject.implementation.dtypes if dtype != case.dtype]:
        found.append(recast(case, str(case.rng("other dtype").choice(others))))
    if "scale" in claims:
        found.append(case.with_(scale=0.5 if case.scale is None else None))
    return [c for c in found if allows(c.sizes)]


def recast(case: Case, dtype: str) -> Case:
    """The case in another dtype, its numbers rounded to that."""
    arrays = {name: round_to(getattr(case, name), dtype) for name in ("query", "key", "value")}
    mask = case.mask if case.mask is None or case.mask.dtype == bool else round_to(case.mask, dtype)
    return case.with_(dtype=dtype, mask=mask, **arrays)


def the_same_call_twice_agrees(subject: Subject, case: Case) -> None:
    """The same call gives the same output, every time.

    Formula: |f(x) - f(x)'| <= 2 E_o(x)
    Source: derivations/error_budget.md (output)
    Fault: forward_race
    """
    for _ in range(2):
        what = "output of the same call, made again"
        same_output(subject, case, case, what, fresh=True, where=judged_rows(subject, case))


def the_same_gradients_twice_agree(subject: Subject, case: Case) -> None:
    """The same call gives the same gradients; another order of summation is within their budget.

    Formula: |dQ(x) - dQ(x)'| <= 2 E_dQ(x), likewise dK and dV
    Source: derivations/error_budget.md (output)
    Fault: backward_race
    """
    require_live(subject, case)
    for _ in range(2):
        same_gradients(subject, case, case, "the same call, made again")


def calls_in_between_leave_no_trace(subject: Subject, case: Case) -> int:
    """Calls of other values, sizes and flags change nothing for the call after them.

    Formula: f(x), f(y_1), ..., f(y_m), f(x)': f(x)' = f(x) and f(y_k) = t(y_k)
    Source: the definition of a function
    Fault: causal_sized_by_the_first_call
    """
    others = relatives(subject, case)
    order = case.rng("order of calls").permutation(len(others))[:5]
    drawn = [others[i] for i in order]
    in_turn(subject, [case, *drawn, case], "output after other calls")
    return 1 + len(drawn)


def the_order_of_calls_does_not_matter(subject: Subject, case: Case) -> int:
    """The same calls in the reverse order give the same outputs.

    Formula: f(x), f(y), f(z) and f(z)', f(y)', f(x)': each f' = f
    Source: the definition of a function
    Fault: padded_to_the_longest_so_far
    """
    others = relatives(subject, case)
    order = case.rng("order of calls").permutation(len(others))[:2]
    drawn = [case, *(others[i] for i in order)]
    in_turn(subject, [*drawn, *reversed(drawn)], "output of the same calls in another order")
    return len(drawn)


def graphs_alive_together_keep_their_own(subject: Subject, case: Case) -> None:
    """The backward of a call uses what that call saved, also when another call was made in between.

    Formula: f(x), f(y), then d f(x): |d_x' - d_x| <= E_x
    Source: the definition of a function; torch's save_for_backward is per call
    Fault: backward_of_the_last_call
    """
    true, bounds = limits(subject, case)
    rng, others = case.rng("between"), relatives(subject, case)
    other = others[0] if rng.random() < 0.75 else others[int(rng.integers(len(others)))]
    if other is others[0] and case.mask is not None:  # all shapes as in `case`, every number another one
        other = other.with_(mask=np.roll(case.mask, 1, axis=-1) if rng.random() < 0.5 else None)
    between = subject.binding.request(other, wrt=("0", "1", "2"))
    found = subject.backward(case, case.cotangent(), between=between)
    for name in ("query", "key", "value"):
        what = f"gradient of {name} of a call that another call followed"
        require_close(found.gradients[name], getattr(true, name), getattr(bounds, name), what)


def a_graph_gives_its_gradients_twice(subject: Subject, case: Case) -> None:
    """A second backward through the same graph gives the gradients of the first: it finds what the call saved.

    Formula: d f(x), d f(x)' of one graph (retain_graph=True): |d_x' - d_x| <= E_x
    Source: the definition of a function; torch keeps what a graph saved until it is released
    Fault: backward_destroys_what_it_saved
    """
    true, bounds = limits(subject, case)
    found = subject.backward(case, case.cotangent(), backwards=2)
    for name in ("query", "key", "value"):
        what = f"gradient of {name} by the second backward through one graph"
        require_close(found.gradients[name], getattr(true, name), getattr(bounds, name), what)


def earlier_masks_are_forgotten(subject: Subject, case: Case) -> int:
    """A call does not depend on the mask of a call before it: with none, another one, the first again.

    Formula: f(x, m), f(x), f(x, m'), f(x)', f(x, m)': each f' = f
    Source: the definition of a function
    Fault: mask_of_the_last_call
    """
    if case.mask is None:
        raise NotApplicable("no mask to forget")
    plain = case.with_(mask=None)
    turned = case.with_(mask=np.roll(case.mask, 1, axis=-1))
    in_turn(subject, [case, plain, turned, plain, case], "output after a call with another mask")
    return 3


def an_earlier_dtype_leaves_no_trace(subject: Subject, case: Case) -> int:
    """A call of sizes that were seen in another dtype alone is right: nothing keeps the numbers of the first dtype.

    Scores rise by 2^17 from the first key to the last, so that a later key which is masked too weakly takes over.

    Formula: f(x as float16), then f(x' as float32) of the same sizes: |f(x') - t(x')| <= E_o(x')
    Source: the definition of a function; a mask of the lowest number of a dtype, kept by its sizes
    Fault: causal_fill_of_the_first_dtype
    """
    profile, rng = subject.binding.profile(), case.rng("first dtype")
    narrow_first = [dtype for dtype in ("float16", "bfloat16", "float32", "float64") if dtype in profile.dtypes]
    count = 0
    for first, second in pairwise(narrow_first):
        one = unusual_sizes(case, first, rng)
        if profile.allows(one.sizes):
            other = rising(recast(one, second)) if rng.random() < 0.5 else recast(one, second)
            in_turn(subject, [one, other], f"output in {second} after a call in {first}")
            count += 2
    if not count:
        raise NotApplicable("one dtype is declared, or no such size")
    return count


def unusual_sizes(case: Case, dtype: str, rng: np.random.Generator) -> Case:
    """A problem of a dtype, of the causality and scale of a case, at lengths that no other law asks for."""
    n_q = int(rng.integers(18, 31))
    n_kv = int(rng.integers(n_q, 31))
    query, key, value = (np.resize(rng.permutation(FEW), (1, 1, n, 1)) for n in (n_q, n_kv, n_kv))
    return case.with_(dtype=dtype, query=query, key=key, value=value, mask=None)


def rising(case: Case) -> Case:
    """The case with scores that rise by about `RISE` from its first key to its last, exact in every dtype."""
    key = 8.0 * np.arange(case.sizes[1])[:, None]  # up to 240: five bits
    query = np.exp2(np.round(np.log2(RISE / 256 / abs(case.factor)))) * np.sign(case.factor)
    return case.with_(query=np.full_like(case.query, query), key=np.broadcast_to(key, case.key.shape).copy())


def declared_deterministic_gives_the_same_bits(subject: Subject, case: Case) -> None:
    """What is declared deterministic gives the same bits for the same call, on the same storage and threads.

    Formula: bits f(x) = bits f(x)', and likewise every gradient
    Source: the declaration `deterministic`
    Fault: sums_in_random_order
    """
    first_out, second_out = (subject.forward(case, fresh=True).out for _ in range(2))
    require_same_bits(second_out, first_out, "output")
    if not subject.implementation.gradients:
        return
    down = case.cotangent()
    first, second = (subject.backward(case, down).gradients for _ in range(2))
    for name, gradient in first.items():
        require_same_bits(second[name], gradient, f"gradient of {name}")


def require_same_bits(got: Result, other: Result, what: str) -> None:
    """Raise where two results differ in any bit, save that NaN is NaN."""
    a, b = got.values, other.values
    same = (a == b) & (np.signbit(a) == np.signbit(b)) | np.isnan(a) & np.isnan(b)
    if same.all():
        return
    index = tuple(int(i) for i in np.argwhere(~same)[0])
    g, w = float(a[index]), float(b[index])
    calls = (got.show(index), other.show(index))
    message = f"{what} of the same call: got {g!r} at {list(index)}, but should be {w!r} to the bit"
    raise Violation(message, Evidence(calls, g, w, 0.0, "pair"))


def _deterministic(implementation: Implementation) -> bool:
    return implementation.deterministic and implementation.array == "torch"


def _torch_gradients(implementation: Implementation) -> bool:
    return implementation.gradients and implementation.array == "torch"


NOT_DECLARED = "deterministic is not declared (or arrays are not torch's, whose storage is held alike)"
SMALL = Space(max_n=65)
RISE = 2.0**17
"""Twice the largest number of float16."""
FEW = (-2.0, -1.0, 0.5, 1.0, 2.0)
"""The numbers of a first call, again and again: a program writes them in a line."""

LAWS = (
    Law(the_same_call_twice_agrees, "state", space=SMALL, large=4, small=6),
    Law(
        the_same_gradients_twice_agree, "state", declares=has_gradients, because=NO_GRADIENTS,
        space=SMALL, large=2, small=4,
    ),
    Law(
        graphs_alive_together_keep_their_own, "state", declares=_torch_gradients, because=NO_GRADIENTS,
        space=Space(max_n=33), large=4, small=6,
    ),
    Law(
        a_graph_gives_its_gradients_twice, "state", declares=_torch_gradients, because=NO_GRADIENTS,
        space=Space(max_n=33), large=2, small=4,
    ),
    Law(calls_in_between_leave_no_trace, "state", space=Space(max_n=33), large=4, small=8),
    Law(the_order_of_calls_does_not_matter, "state", space=Space(max_n=33), large=2, small=4),
    Law(
        earlier_masks_are_forgotten, "state", needs=needs("attn_mask"),
        space=Space(masks=("bool", "float"), max_n=33), large=3, small=6,
    ),
    Law(
        an_earlier_dtype_leaves_no_trace, "state", space=Space(masks=("none",), grouped=False, max_n=8, small=False),
        large=4, small=0,
    ),
    Law(
        declared_deterministic_gives_the_same_bits, "state", declares=_deterministic, because=NOT_DECLARED,
        space=SMALL, large=4, small=4,
    ),
)  # fmt: skip
