"""Laws of causality: no row sees a later one, at any row, in the output and in the gradients.

Which key is a row's last, where n_q differs from n_kv, is a declared convention: top_left or bottom_right.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.space import Space
from attention_core.conformance.laws.masking_gradients import (
    NO_GRADIENTS,
    no_gradient_at,
    unchanged_gradients,
)
from attention_core.conformance.laws.pairs import Move, same_output
from attention_core.conformance.laws.visibility import (
    CLEAR,
    WINNING,
    Planting,
    attractive_keys,
    blind_rows,
    far_values,
    judged_rows,
    require_truth,
)
from attention_core.conformance.subjects.evidence import NotApplicable
from attention_core.conformance.subjects.law import Law, needs
from attention_core.conformance.subjects.subject import Subject
from attention_core.conformance.worker.exchange import NDArray
from attention_core.oracle.masks import causal_mask

CAUSAL = Space(masks=("none",), causal=(True,), min_kv=2)
STRENGTHS = (CLEAR, WINNING, 2.0**17)
"""Scores of keys that no row may see: some weight, all of it, and more than the lowest number of float16 takes away."""
CUTS = 16  # all cuts of up to this many keys are tried; longer sequences get this many, block edges preferred
BLOCK = 16


def shift(subject: Subject, case: Case) -> int:
    """o in: row i sees the keys j <= i + o."""
    n_q, n_kv = case.sizes[:2]
    return n_kv - n_q if subject.implementation.causal == "bottom_right" else 0


def cuts_of(subject: Subject, case: Case) -> NDArray:
    """Positions c at which some row sees keys before c alone, so that keys from c on may change: (K,).

    Raises: NotApplicable where every row sees every key, or none.
    """
    n_kv = case.sizes[1]
    candidates = np.arange(max(shift(subject, case), 0) + 1, n_kv)
    if not candidates.size:
        raise NotApplicable("no row has an earlier and a later key")
    if candidates.size <= CUTS:
        return candidates
    edges = candidates[candidates % BLOCK == 0]
    rest = candidates[candidates % BLOCK != 0]
    rng = case.rng("cuts")
    chosen = rng.permutation(edges)[: CUTS // 2]
    return np.sort(np.concatenate([chosen, rng.permutation(rest)[: CUTS - chosen.size]]))


def plant_later(subject: Subject, case: Case) -> Planting:
    """One drawn slice as a batch, one copy per cut; in each the keys from its cut on are chosen."""
    rng = case.rng("slice")
    row, head = int(rng.integers(case.query.shape[0])), int(rng.integers(case.key.shape[1]))
    cuts = cuts_of(subject, case)
    heads = slice(head * case.group, (head + 1) * case.group)
    copies: Move = lambda x: np.repeat(x[None], cuts.size, axis=0)  # noqa: E731
    tiled = case.with_(
        query=copies(case.query[row, heads]),
        key=copies(case.key[row, head : head + 1]),
        value=copies(case.value[row, head : head + 1]),
    )
    if not subject.binding.profile().allows(tiled.sizes):
        raise NotApplicable("a single key head lies outside the declared sizes")
    keys = (np.arange(case.sizes[1]) >= cuts[:, None])[:, None, :]
    return Planting(tiled, keys, blind_rows(subject, tiled, keys))


def declared_throughout(subject: Subject, planting: Planting) -> Planting:
    """The planting, if it has no row whose NaN, as declared or as may be, would reach gradients of others.

    Raises: NotApplicable.
    """
    if subject.implementation.dead_rows in ("nan", "unspecified") and subject.truth(planting.case).dead.any():
        raise NotApplicable("a row without a key may spoil gradients")
    return planting


def later_contents(planting: Planting) -> Iterator[Case]:
    """Other keys and values from each cut on: keys that earlier rows would attend, more or less strongly.

    One case has all strengths, by cut. Beside plain inputs they come one after the other, the weakest first: what a
    person reads then is a score of 12, not of 131072, where that is enough.
    """
    first = planting.case.rng("strength").integers(len(STRENGTHS))
    kinds = (first + np.arange(planting.keys.shape[0])) % len(STRENGTHS)
    values = far_values(planting, "later")
    strengths = [attractive_keys(planting, "later", strength) for strength in STRENGTHS]
    if planting.case.is_plain:
        yield from (planting.with_contents(keys, values) for keys in strengths)
        return
    keys = np.select([(kinds == k)[:, None, None, None] for k in range(len(STRENGTHS))], strengths)
    yield planting.with_contents(keys, values)


def no_row_sees_a_later_one(subject: Subject, case: Case) -> int:
    """A later key and value leave a row's output as it is: through the value, the score, and the normaliser.

    Formula: k', v' differ from k, v at j >= c alone: f(q, k', v')_i = f(q, k, v)_i for i + o < c, at every c
    Source: derivations/laws.md (masked)
    Fault: sees_one_later_key
    """
    planting = plant_later(subject, case)
    where = planting.rows[..., None]
    for other in later_contents(planting):
        same_output(subject, planting.case, other, "output after later keys changed", where=where)
    return planting.case.slices


def later_rows_get_no_gradient(subject: Subject, case: Case) -> int:
    """Later keys and values get no gradient from an earlier row.

    Formula: d f(x)_i / d k_j = d f(x)_i / d v_j = 0 for all j > i + o
    Source: derivations/laws.md (masked-value-gradient)
    Fault: backward_ignores_causality
    """
    planting = declared_throughout(subject, plant_later(subject, case))
    no_gradient_at(subject, planting, "a later")
    return planting.case.slices


def later_rows_leave_gradients_alone(subject: Subject, case: Case) -> int:
    """A later key and value change no gradient that comes from an earlier row.

    Formula: k', v' differ from k, v at j >= c alone: d f(q, k', v')_i = d f(q, k, v)_i for all i + o < c
    Source: derivations/laws.md (masked-value-gradient)
    Fault: backward_normaliser_sees_later_keys
    """
    planting = declared_throughout(subject, plant_later(subject, case))
    for other in later_contents(planting):
        unchanged_gradients(subject, planting, other, "after later keys changed")
    return planting.case.slices


def causal_alignment_is_as_declared(subject: Subject, case: Case) -> None:
    """Where n_q differs from n_kv, row i sees keys up to i (top_left) or i + n_kv - n_q (bottom_right).

    Formula: f(x)_i = softmax over j <= i + o, o = 0 or n_kv - n_q; also for n_q = 1 and for n_q > n_kv
    Source: derivations/laws.md (masked)
    Fault: aligned_bottom_right
    """
    n_q, n_kv = case.sizes[:2]
    if n_q == n_kv:
        case = case.with_(key=case.key[..., : n_kv - 1, :], value=case.value[..., : n_kv - 1, :])
    for call in (case, case.with_(query=case.query[..., :1, :])):
        if call.sizes[0] == call.sizes[1] or not subject.binding.profile().allows(call.sizes):
            continue
        n_q, n_kv = call.sizes[:2]
        what = f"causal output where n_q={n_q} and n_kv={n_kv} ({subject.implementation.causal})"
        require_truth(subject, call, what, where=judged_rows(subject, call))


def rows_of_steps(subject: Subject, case: Case) -> NDArray:
    """Up to two drawn rows with a key of their own, to be computed step by step.

    Raises: NotApplicable where every row is dead.
    """
    rows = np.arange(max(0, -shift(subject, case)), case.sizes[0])
    if not rows.size:
        raise NotApplicable("no row has a key")
    return np.asarray(case.rng("steps").permutation(rows)[:2])


def rows_only(rows: slice) -> Move:
    """Some rows of an output."""
    return lambda x: x[..., rows, :]


def prefill_equals_step_by_step(subject: Subject, case: Case) -> None:
    """A row of a causal call is what it was when its own position was the last one.

    Formula: f(q, k, v)_i = f(q_i, k_{<= i + o}, v_{<= i + o}) without a mask = the last row of the causal
        call on the prefix; bottom_right also in chunks: q_{i-m+1..i} against k_{<= i + o}
    Source: derivations/laws.md (masked)
    Fault: chunk_treated_as_square
    """
    o, n_kv = shift(subject, case), case.sizes[1]
    compared = 0
    for i in rows_of_steps(subject, case):
        end = min(int(i) + o + 1, n_kv)
        past = case.with_(key=case.key[..., :end, :], value=case.value[..., :end, :])
        chunk = min(int(case.rng("chunk").integers(1, 5)), int(i) + 1)
        first = int(i) + 1 - chunk if subject.implementation.causal == "bottom_right" else 0
        steps = (
            (f"row {i} alone, without causality", int(i), past.with_(is_causal=False)),
            (f"rows {first} to {i} with the keys so far", first, past),
        )
        for what, start, step in steps:
            rows = slice(start, int(i) + 1)
            step = step.with_(query=case.query[..., rows, :])
            if not subject.binding.profile().allows(step.sizes):
                continue
            where = judged_rows(subject, step)
            same_output(subject, case, step, what, move=rows_only(rows), where=where)
            compared += 1
    if not compared:
        raise NotApplicable("single steps lie outside the declared sizes")


def the_flag_equals_the_mask(subject: Subject, case: Case) -> None:
    """is_causal without a mask means the same as the causal mask given explicitly.

    Formula: f(x, causal) = f(x, c), c_ij = (j <= i + o)
    Source: derivations/laws.md (masked)
    Fault: causal_needs_a_mask
    """
    explicit = causal_mask(*case.sizes[:2], subject.implementation.causal)
    if case.rng("form").random() < 0.5:
        mask: NDArray = np.where(explicit, 0.0, -np.inf)
    else:
        mask = explicit
    masked = case.with_(mask=mask, is_causal=False)
    where = judged_rows(subject, case)
    same_output(subject, masked, case, "output for is_causal in place of the causal mask", where=where)


def causal_holds_at_any_scale(subject: Subject, case: Case) -> None:
    """A causal call is right at a negative scale and at scale 0 too: what is later is masked after scaling.

    Formula: f(x, causal, s)_i = softmax over j <= i + o of (s q_i k_j), s of either sign; for s = 0 a mean
    Source: derivations/laws.md (masked)
    Fault: causal_filled_before_scaling
    """
    default = case.factor
    for scale in (-float(np.float32(default)), 0.0):
        scaled = case.with_(scale=scale)
        require_truth(subject, scaled, f"causal output at scale {scale:g}", where=judged_rows(subject, scaled))


LAWS = (
    Law(
        no_row_sees_a_later_one, "causality", needs=needs("is_causal"), space=CAUSAL.with_(min_q=2, max_n=65),
    ),
    Law(
        later_rows_get_no_gradient, "causality", needs=needs("is_causal"),
        space=CAUSAL.with_(min_q=2, max_n=65), declares=lambda i: bool(i.gradients), because=NO_GRADIENTS,
        large=3, small=8,
    ),
    Law(
        later_rows_leave_gradients_alone, "causality", needs=needs("is_causal"),
        space=CAUSAL.with_(min_q=2, max_n=33), declares=lambda i: bool(i.gradients), because=NO_GRADIENTS,
        large=3, small=8,
    ),
    Law(causal_alignment_is_as_declared, "causality", needs=needs("is_causal"), space=CAUSAL),
    Law(
        prefill_equals_step_by_step, "causality", needs=needs("is_causal"), space=CAUSAL.with_(max_n=130),
        small=8,
    ),
    Law(
        causal_holds_at_any_scale, "causality", needs=needs("is_causal", "scale"), space=CAUSAL,
        large=2, small=6,
    ),
    Law(the_flag_equals_the_mask, "causality", needs=needs("is_causal", "attn_mask"), space=CAUSAL),
)  # fmt: skip
