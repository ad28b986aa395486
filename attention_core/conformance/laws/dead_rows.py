"""Laws of dead rows: queries that mask and causality together leave no key, and empty sequences.

What such a row returns is a declared convention; that its neighbours and all gradients stay sound is not.
"""

from __future__ import annotations

import numpy as np

from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.space import Space
from attention_core.conformance.laws.expected import near_the_best
from attention_core.conformance.laws.pairs import same_gradients, same_output
from attention_core.conformance.laws.visibility import judged_rows, require_truth
from attention_core.conformance.subjects.evidence import NotApplicable, require_close, require_finite
from attention_core.conformance.subjects.law import Law, needs
from attention_core.conformance.subjects.subject import Subject
from attention_core.conformance.worker.exchange import NDArray
from attention_core.oracle.masks import causal_mask

MASKED = Space(masks=("bool", "float"), causal=(False,))
UNSPECIFIED = "dead_rows='unspecified' is declared"
NO_CLAIM = "dead_rows is declared as 'nan' or 'unspecified', or gradients=False is"
LESS_LOW = -(2.0**14)
"""A bias below what fills stand for -inf with, -10000, and within float16; twice as much is the bias of other keys."""
VERY_LOW = {"float16": -(2.0**15)}
"""A finite bias that looks like a mask and is none: -2**30, about -1e9, where the dtype holds it."""


def with_dead_rows(case: Case) -> tuple[Case, NDArray]:
    """The case with rows that lose every key, single ones and whole slices, and which: (B, H, n_q)."""
    assert case.mask is not None
    rng = case.rng("dead")
    batch, heads, n_q, _ = case.query.shape
    shape = (batch, heads if rng.random() < 0.5 else 1, n_q)
    dead = rng.random(shape) < rng.choice([0.1, 0.5])
    dead |= np.arange(n_q) == rng.integers(n_q, size=(*shape[:2], 1))
    dead &= ~(rng.random((*shape[:2], 1)) < 0.2)  # some slices without
    dead |= rng.random((*shape[:2], 1)) < 0.2  # some without anything else
    if not dead.any():
        dead[0, 0, 0] = True
    hidden = False if case.mask.dtype == bool else -np.inf
    killed = np.where(dead[..., None], hidden, case.mask)
    return case.with_(mask=killed), np.broadcast_to(dead, (batch, heads, n_q))


def dead_rows_are_as_declared(subject: Subject, case: Case) -> None:
    """A row that its mask leaves no key returns what is declared: zeros, NaN, or the mean of all values.

    Returned weights of such a row are numbers where its output is one.

    Formula: m_ij = 0 for all j implies f(x)_i = 0 (zeros), NaN (nan), sum_j v_j / n_kv (uniform)
    Source: derivations/laws.md (dead-row)
    Fault: dead_rows_are_nan
    """
    killed, dead = with_dead_rows(case)
    require_truth(subject, killed, "output of a dead row", where=dead[..., None])
    weights = subject.forward(killed).weights
    if weights is not None and subject.implementation.dead_rows in ("zeros", "uniform"):
        require_finite(weights, "returned weights of a dead row, whose output is a number", where=dead[..., None])


def dead_rows_leave_neighbours_alone(subject: Subject, case: Case) -> None:
    """A row that loses every key leaves all other rows as they were.

    Formula: f(x, m')_i = f(x, m)_i for every row i whose m_i is kept
    Source: derivations/laws.md (dead-row)
    Fault: dead_row_spoils_its_slice
    """
    killed, dead = with_dead_rows(case)
    same_output(subject, case, killed, "output beside a dead row", where=~dead[..., None])


def dead_rows_have_finite_gradients(subject: Subject, case: Case) -> None:
    """Gradients stay finite where a row has no key, and that row's query gets none.

    Formula: m_ij = 0 for all j implies d f(x)_i / d q_i = 0, and d f(x) is finite
    Source: derivations/laws.md (dead-row)
    Fault: dead_rows_patched_in_forward_only
    """
    killed, dead = with_dead_rows(case)
    down = killed.cotangent()
    gradients = subject.backward(killed).gradients
    for name in ("query", "key", "value"):
        require_finite(gradients[name], f"gradient of {name} beside a dead row")
    truth = subject.true_gradients(killed, down)
    bound = subject.gradient_bounds(killed, down, truth).query
    assert bound is not None
    require_close(gradients["query"], truth.query, bound, "gradient of a dead row's query", where=dead[..., None])


def dead_rows_leave_gradients_alone(subject: Subject, case: Case) -> None:
    """A row that loses every key gives the gradients that a zero cotangent at that row would give.

    Formula: d f(x, m')(c) = d f(x, m)(c'), c' = c with zeros at the rows that m' kills
    Source: derivations/laws.md (dead-row)
    Fault: dead_row_cotangent_reaches_values
    """
    killed, dead = with_dead_rows(case)
    down = killed.cotangent()
    same_gradients(subject, case, killed, "beside a dead row", cotangent=down * ~dead[..., None], other_cotangent=down)


def killed_by_both(subject: Subject, case: Case) -> Case:
    """The case, causal, with a mask that leaves only later keys to some rows: neither alone kills them."""
    assert case.mask is not None
    rng = case.rng("dead")
    n_q, n_kv = case.sizes[:2]
    later: NDArray = np.logical_not(causal_mask(n_q, n_kv, subject.implementation.causal))
    some = np.asarray(later.any(-1, keepdims=True))
    chosen = (rng.random((case.query.shape[0], 1, n_q, 1)) < 0.4) & some
    if not chosen.any():
        raise NotApplicable("no row has a later key")
    additive = case.mask.dtype != bool
    only_later: NDArray = np.where(later, 0.0, -np.inf) if additive else later
    return case.with_(mask=np.where(chosen, only_later, case.mask))


def rows_dead_by_mask_and_causal_together(subject: Subject, case: Case) -> None:
    """A row to which the mask leaves only later keys is dead under causality, though neither alone kills it.

    Formula: m_ij = (j > i + o) for some rows i: f(x, m, causal)_i as declared, other rows by their own keys
    Source: derivations/laws.md (dead-row)
    Fault: dead_rows_of_mask_alone_are_found
    """
    both = killed_by_both(subject, case)
    what = "output where mask and causality together kill rows"
    require_truth(subject, both, what, where=judged_rows(subject, both))


def rows_dead_by_both_have_true_gradients(subject: Subject, case: Case) -> None:
    """A row that mask and causality kill together passes on no gradient; all others pass on theirs.

    Formula: m_ij = (j > i + o) for some rows i: dQ_i = 0, and |dX' - dX| <= E_dX for X of Q, K, V
    Source: derivations/softmax_backward.md (softmax-vjp)
    Fault: dead_by_both_patched_in_forward_only
    """
    both = killed_by_both(subject, case)
    down = both.cotangent()
    truth = subject.true_gradients(both, down)
    bounds = subject.gradient_bounds(both, down, truth)
    gradients = subject.backward(both).gradients
    judged = bounds.finite.all()
    for name in ("query", "key", "value"):
        what = f"gradient of {name} where mask and causality together kill rows"
        require_finite(gradients[name], what)
        if judged:
            require_close(gradients[name], getattr(truth, name), getattr(bounds, name), what)


def a_very_low_bias_is_not_dead(subject: Subject, case: Case) -> None:
    """A row whose bias is very low everywhere, but finite, still attends: to the least low key most.

    Beside causality, too, where that leaves every row a key.

    Formula: b_ij = -2^30 for all j and v_j = c imply f(x, b)_i = c; b_iJ = -2^14 and b_ij = -2^15 for j != J imply
        f(x, b)_i = v_J within its budget
    Source: derivations/laws.md (dead-row)
    Fault: low_bias_taken_for_dead
    """
    rng = case.rng("low")
    n_q, n_kv = case.sizes[:2]
    rows = (rng.random((n_q, 1)) < 0.5) | (np.arange(n_q)[:, None] == rng.integers(n_q))
    plain = case.scale is None or case.scale >= 0  # causal_holds_at_any_scale alone has negative ones beside causality
    if plain and "is_causal" in subject.binding.claims and n_q <= n_kv and case.rng("beside causality").random() < 0.5:
        case = case.with_(is_causal=True)
    assert case.mask is not None
    full = np.broadcast_to(case.mask, (*case.mask.shape[:-2], n_q, n_kv))
    mask = np.where(rows, VERY_LOW.get(case.dtype, -(2.0**30)), full)
    constant = rng.integers(1, 5, size=case.value.shape[-1]).astype(float)
    flat = case.with_(mask=mask, value=np.broadcast_to(constant, case.value.shape).copy())
    require_truth(subject, flat, "output for a very low finite bias and equal values")
    winner = rng.integers(n_kv, size=(n_q, 1))
    uneven = np.where(np.arange(n_kv) == winner, LESS_LOW, 2 * LESS_LOW)
    near_the_best(
        subject, case.with_(mask=np.where(rows, uneven, full)), "output where the bias of one key is less low"
    )


def an_empty_key_sequence_leaves_dead_rows(subject: Subject, case: Case) -> None:
    """Without any key every row is dead: zeros (a row declared as NaN may be either), and no gradient.

    Formula: n_kv = 0 implies f(x) = 0 and d f(x) / d q = 0
    Source: derivations/laws.md (dead-row)
    Fault: empty_keys_give_nan
    """
    empty = case.with_(key=case.key[..., :0, :], value=case.value[..., :0, :])
    if "attn_mask" in subject.binding.claims and case.rng("form").random() < 0.5:
        empty = empty.with_(mask=np.ones((case.sizes[0], 0), dtype=bool))
    allowed_here(subject, empty)
    declared = subject.implementation.dead_rows
    out = subject.forward(empty).out
    if declared in ("zeros", "uniform"):
        require_close(out, np.zeros_like(out.values), 0.0, "output without any key")
    elif declared == "nan":
        require_close(out, np.zeros_like(out.values), 0.0, "output without any key", where=~np.isnan(out.values))
    if subject.implementation.gradients and declared in ("zeros", "uniform"):
        query = subject.backward(empty).gradients["query"]
        require_close(query, np.zeros_like(query.values), 0.0, "gradient of query without any key")


def an_empty_query_sequence_moves_nothing(subject: Subject, case: Case) -> None:
    """Without any query the output is empty, and keys and values get no gradient.

    Formula: n_q = 0 implies f(x) of shape (*batch, H, 0, d_v) and d f(x) = 0
    Source: derivations/laws.md (dead-row)
    Fault: empty_queries_get_a_row
    """
    empty = case.with_(query=case.query[..., :0, :])
    allowed_here(subject, empty)
    subject.forward(empty)  # its shape is checked there
    if subject.implementation.gradients:
        for name, found in subject.backward(empty, want=("key", "value")).gradients.items():
            require_close(found, np.zeros_like(found.values), 0.0, f"gradient of {name} without any query")


def allowed_here(subject: Subject, case: Case) -> None:
    """Raise NotApplicable where the declared sizes leave a case out."""
    if not subject.binding.profile().allows(case.sizes):
        raise NotApplicable("empty sequences lie outside the declared sizes")


LAWS = (
    Law(
        dead_rows_are_as_declared, "masking", needs=needs("attn_mask"), space=MASKED,
        declares=lambda i: bool(i.dead_rows != "unspecified"), because=UNSPECIFIED,
    ),
    Law(dead_rows_leave_neighbours_alone, "masking", needs=needs("attn_mask"), space=MASKED.with_(min_q=2)),
    Law(
        dead_rows_have_finite_gradients, "masking", needs=needs("attn_mask"), space=MASKED,
        declares=lambda i: bool(i.gradients and i.dead_rows in ("zeros", "uniform")), because=NO_CLAIM,
    ),
    Law(
        dead_rows_leave_gradients_alone, "masking", needs=needs("attn_mask"), space=MASKED.with_(min_q=2),
        declares=lambda i: bool(i.gradients and i.dead_rows in ("zeros", "uniform")), because=NO_CLAIM,
        large=3, small=8,
    ),
    Law(
        rows_dead_by_mask_and_causal_together, "masking", needs=needs("attn_mask", "is_causal"),
        space=Space(masks=("bool", "float"), causal=(True,), min_kv=2),
    ),
    Law(
        rows_dead_by_both_have_true_gradients, "masking", needs=needs("attn_mask", "is_causal"),
        space=Space(masks=("bool", "float"), causal=(True,), min_kv=2, max_n=129), because=NO_CLAIM,
        declares=lambda i: bool(i.gradients and i.dead_rows in ("zeros", "uniform")),
    ),
    Law(
        a_very_low_bias_is_not_dead, "masking", needs=needs("attn_mask"),
        space=Space(masks=("finite",), causal=(False,)), large=3,
    ),
    Law(
        an_empty_key_sequence_leaves_dead_rows, "masking", large=2, small=6,
        space=Space(masks=("none",), causal=(False,), max_n=33),
    ),
    Law(
        an_empty_query_sequence_moves_nothing, "masking", large=2, small=6,
        space=Space(masks=("none",), causal=(False,), max_n=33),
    ),
)  # fmt: skip
