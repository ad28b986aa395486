"""Laws of sizes: every length from 0 and 1 up, around the edges of blocks, all head sizes, other ranks.

Each derives problems from a case (prefixes, empty axes, other axes before the heads) and compares with the
truth; result shapes are checked by every call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import numpy as np

from attention_core.conformance.budgets.budget import round_to
from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.draw import EDGES
from attention_core.conformance.cases.space import Space, some
from attention_core.conformance.laws.gradients import INPUTS, NOT_DECLARED, differentiable, limits
from attention_core.conformance.subjects.evidence import NotApplicable, Violation, require_close
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.subject import Subject
from attention_core.conformance.worker.exchange import NDArray
from attention_core.declaration.implementation import Implementation

Check = Callable[[Subject, Case], int | None]
BEYOND = 150
"""A length that leaves several rows over in blocks of any usual size: a row alone hides where the others go."""
SWEEP = (1, 2, 3, *(edge + step for edge in EDGES for step in (-1, 0, 1)), BEYOND)
"""Lengths at which a kernel's blocks begin, are full, or have one row left over."""


def judge_output(subject: Subject, case: Case, remark: str) -> None:
    """The output agrees with the truth; dead rows as declared, where anything is declared."""
    truth = subject.truth(case)
    judged = ~truth.dead[..., None] | (subject.implementation.dead_rows != "unspecified")
    bound = subject.bounds(case).out
    assert bound is not None
    require_close(subject.forward(case).out, truth.out, bound, f"output {remark}", where=judged)


def judge_weights(subject: Subject, case: Case, remark: str) -> None:
    """Returned weights agree with the truth in rows with a key; nothing to judge where none are returned."""
    weights = subject.forward(case).weights
    if weights is None:
        return
    truth = subject.truth(case)
    # They are the output for the unit vectors as values.
    unit = np.broadcast_to(np.eye(case.sizes[1]), (*case.key.shape[:-1], case.sizes[1])).copy()
    bound = subject.bounds(case.with_(value=unit)).out
    assert bound is not None
    require_close(weights, truth.weights, bound, f"returned weights {remark}", where=~truth.dead[..., None])


def judge_gradients(subject: Subject, case: Case, remark: str) -> None:
    """The gradients of query, key and value agree with the closed form; skipped where none are declared."""
    if not differentiable(subject.implementation):
        return
    try:
        true, bounds = limits(subject, case)
    except NotApplicable:  # the contract leaves the gradient open; the output was judged
        return
    found = subject.backward(case)
    for name in INPUTS:
        what = f"gradient of {name} {remark}"
        require_close(found.gradients[name], getattr(true, name), getattr(bounds, name), what)


@contextmanager
def attribute_failures(problem: Case) -> Iterator[None]:
    """What fails within is a failure of this problem, which the law drew: it is shown and made smaller alone."""
    try:
        yield
    except Violation as violation:
        violation.case = problem.with_(given=True)
        raise


def prefix(case: Case, n_q: int, n_kv: int) -> Case:
    """The first n_q queries and n_kv keys of a case, its mask cut alike."""
    mask = case.mask
    if mask is not None and mask.shape[-2] != 1:
        mask = mask[..., :n_q, :]
    if mask is not None and mask.shape[-1] != 1:
        mask = mask[..., :n_kv]
    key, value = case.key[..., :n_kv, :], case.value[..., :n_kv, :]
    return case.with_(query=case.query[..., :n_q, :], key=key, value=value, mask=mask)


def sweep(subject: Subject, case: Case, purpose: str, count: int) -> list[Case]:
    """Up to `count` prefixes of a case whose lengths come from `SWEEP`, smallest first."""
    n_q, n_kv, *rest = case.sizes
    rng = case.rng(purpose)
    rows = rng.permutation([n for n in SWEEP if n <= n_q] or [n_q])
    columns = rng.permutation([n for n in SWEEP if n <= n_kv] or [n_kv])
    allows = subject.binding.profile().allows
    pairs = {(int(rows[i % len(rows)]), int(columns[i % len(columns)])) for i in range(count)} | {(n_q, n_kv)}
    declared = [prefix(case, *pair) for pair in sorted(pairs, key=sum) if allows((*pair, *rest))]
    return [*some(declared, case, subject.binding.profile())]


def every_length_around_blocks_is_right(subject: Subject, case: Case) -> int:
    """Lengths 1, 2, 3, 150 and one less, equal to and one more than 8, 16, 32, 64 and 128 give the true output.

    Formula: |f(q[:n], k[:m], v[:m]) - t| <= E_o for n, m around every block edge
    Source: derivations/error_budget.md (output)
    Fault: tail_of_block_dropped
    """
    cases = sweep(subject, case, "lengths", len(SWEEP))
    for one in cases:
        judge_output(subject, one, f"for n_q={one.sizes[0]} n_kv={one.sizes[1]}")
    return len(cases) * case.slices


def every_length_around_blocks_has_true_gradients(subject: Subject, case: Case) -> int:
    """Lengths around the edges of blocks give true gradients.

    Formula: |d_x' - d_x| <= E_x for n, m around every block edge
    Source: derivations/softmax_backward.md (softmax-vjp)
    Fault: gradient_tail_of_block_dropped
    """
    cases = sweep(subject, case, "gradient lengths", 6)
    for one in cases:
        judge_gradients(subject, one, f"for n_q={one.sizes[0]} n_kv={one.sizes[1]}")
    return len(cases) * case.slices


def head_sizes_may_be_odd_and_differ(subject: Subject, case: Case) -> None:
    """Odd head sizes, and values wider or narrower than keys, give the true output and gradients.

    Formula: |f(x) - t(x)| <= E_o(x) with d odd, d_v != d; each gradient has the shape of its input
    Source: derivations/error_budget.md (output)
    Fault: output_of_head_size
    """
    rng = case.rng("head sizes")
    n_q, n_kv, d, _, heads, kv_heads = case.sizes
    d -= 1 - d % 2
    wide = int(rng.choice([n for n in (1, 2, 3, d + 1, d + 2, 2 * d) if n != d]))
    allows = subject.binding.profile().allows
    widths = [w for w in (wide, d) if allows((n_q, n_kv, d, w, heads, kv_heads))]
    if not widths:
        raise NotApplicable
    wide = widths[0]  # equal head sizes where no others are declared
    value = round_to(rng.standard_normal((*case.value.shape[:-1], wide)), case.dtype)
    other = case.with_(query=case.query[..., :d], key=case.key[..., :d], value=value)
    judge_output(subject, other, f"for d={d} d_v={wide}")
    judge_gradients(subject, other, f"for d={d} d_v={wide}")


def _judge_empty(subject: Subject, case: Case, what: str) -> None:
    if not subject.binding.profile().allows(case.sizes):
        raise NotApplicable
    judge_output(subject, case, f"for {what}")
    judge_gradients(subject, case, f"for {what}")


def no_queries_give_an_empty_output(subject: Subject, case: Case) -> int:
    """Without queries the output has no rows, and the gradients of key and value are zeros.

    Formula: n_q = 0: f(x) has shape (B, H, 0, d_v), dK = dV = 0
    Source: design of the contract: every size from 0 up
    Fault: at_least_one_row
    """
    _judge_empty(subject, prefix(case, 0, case.sizes[1]), "n_q=0")
    return case.slices


def an_empty_batch_gives_an_empty_output(subject: Subject, case: Case) -> int:
    """A batch of no problems gives an output of no problems, and empty gradients.

    Formula: B = 0: f(x) has shape (0, H, n_q, d_v)
    Source: design of the contract: every size from 0 up
    Fault: largest_of_the_batch
    """
    mask = case.mask
    if mask is not None and mask.ndim == 4 and mask.shape[0] != 1:
        mask = mask[:0]
    arrays = {name: getattr(case, name)[:0] for name in INPUTS}
    _judge_empty(subject, case.with_(mask=mask, **arrays), "B=0")
    return case.slices


def values_without_channels_give_an_empty_output(subject: Subject, case: Case) -> int:
    """Values of width 0 give an output of width 0, and zero gradients of query and key.

    Formula: d_v = 0: f(x) has shape (B, H, n_q, 0), dQ = dK = 0
    Source: design of the contract: every size from 0 up
    Fault: width_divides
    """
    _judge_empty(subject, case.with_(value=case.value[..., :0]), "d_v=0")
    return case.slices


def _first_batch(case: Case) -> Case:
    mask = case.mask
    arrays = {name: getattr(case, name)[0] for name in INPUTS}
    return case.with_(mask=mask[0] if mask is not None and mask.ndim == 4 else mask, **arrays)


def one_problem_needs_no_batch_axis(subject: Subject, case: Case) -> None:
    """Inputs of rank 3, heads without a batch axis before them, give what the same problem in a batch gives.

    Formula: f(q[0], k[0], v[0]) = t(q, k, v)[0]
    Source: design of the contract: query (*batch, H, n_q, d)
    Fault: batch_axis_added
    """
    other = _first_batch(case)
    try:
        judge_output(subject, other, "for inputs without a batch axis")
        judge_gradients(subject, other, "for inputs without a batch axis")
    except Violation:
        with suppress(Violation):
            subject.forward(case)  # what declines the batch means other axes by rank 3, such as (B, n, E)
        raise


def _split_batch(x: NDArray, outer: int) -> NDArray:
    return x.reshape(outer, x.shape[0] // outer, *x.shape[1:])


def two_batch_axes_are_a_batch(subject: Subject, case: Case) -> None:
    """Inputs of rank 5, with two axes before the heads, give what one batch axis gives.

    Now and then with a mask that each of the outer axis has for itself, (2, 1, 1, n_q, n_kv), or that they share,
    (B, 1, n_q, n_kv).

    Formula: f of (B1, B2, H, n, d) = f of (B1 B2, H, n, d)
    Source: design of the contract: query (*batch, H, n_q, d)
    Fault: second_batch_axis_lost
    """
    batch = case.query.shape[0]
    often = 0.75 if batch > 1 else 0.25  # only beside an inner axis does it matter which axis a mask varies along
    if "attn_mask" in subject.binding.claims and not case.is_causal and case.rng("outer mask").random() < often:
        _judge_masks_of_one_axis(subject, case)
        return
    outer = int(case.rng("axes").choice([b for b in (1, 2, batch) if batch % b == 0]))
    mask = case.mask
    if mask is not None and mask.ndim == 4:
        mask = mask[None] if mask.shape[0] == 1 else _split_batch(mask, outer)
    arrays = {name: _split_batch(getattr(case, name), outer) for name in INPUTS}
    other = case.with_(mask=mask, **arrays)
    judge_output(subject, other, "for inputs with two batch axes")
    judge_gradients(subject, other, "for inputs with two batch axes")


def _judge_masks_of_one_axis(subject: Subject, case: Case) -> None:
    """The case and its queries turned round, one after the other on a new outer axis, with masks of one axis alone."""
    n_q, n_kv = case.sizes[:2]
    rng = case.rng("allow")
    inner = rng.random() < 0.5
    allow = rng.random((case.query.shape[0], 1, n_q, n_kv) if inner else (2, 1, 1, n_q, n_kv)) < 0.6
    allow[..., 0] = True
    turned = {"query": case.query[..., ::-1, :], "key": case.key, "value": case.value}
    both = {name: np.stack([getattr(case, name), turned[name]]) for name in INPUTS}
    other = case.with_(mask=allow, **both)
    what = f"for two batch axes and a mask of the {'inner' if inner else 'outer'} one"
    judge_output(subject, other, what)
    judge_gradients(subject, other, what)


LONG = Space(min_q=BEYOND, min_kv=BEYOND, max_n=BEYOND, small=False, floor=False)
SHORT = Space(max_n=33)


def any_rank(i: Implementation) -> bool:
    """Whether the record has room for other than one batch axis."""
    return i.layout == "bhnd" and i.out_layout in (None, "bhnd") and i.batch_axes == "any"


def _law(check: Check, space: Space = SHORT, large: int = 3, small: int = 8) -> Law:
    return Law(check, "shapes", space=space, large=large, small=small)


def _rank(check: Check, space: Space = SHORT) -> Law:
    because = "exactly one batch axis is declared: only layout bhnd has others, without --batch-axes one"
    return Law(check, "shapes", space=space, large=6, small=8, declares=any_rank, because=because)


LAWS = (
    _law(every_length_around_blocks_is_right, LONG, 4, 0),
    Law(
        every_length_around_blocks_has_true_gradients, "shapes", space=LONG, large=4, small=0,
        declares=differentiable, because=NOT_DECLARED,
    ),
    _law(head_sizes_may_be_odd_and_differ),
    _law(no_queries_give_an_empty_output),
    _law(an_empty_batch_gives_an_empty_output),
    _law(values_without_channels_give_an_empty_output),
    _rank(one_problem_needs_no_batch_axis),
    _rank(two_batch_axes_are_a_batch, SHORT.with_(min_batch=2)),
)  # fmt: skip
