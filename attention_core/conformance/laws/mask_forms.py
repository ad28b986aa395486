"""Laws of masking: the forms a mask may have, and what each of them means.

Bool and additive, finite biases, every shape that broadcasts, padding of a batch, mask and causality.
"""

from __future__ import annotations

import numpy as np

from attention_core.conformance.budgets.rounding import round_to
from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.space import Space
from attention_core.conformance.laws.derived import more_keys, take_batch, take_keys, take_queries
from attention_core.conformance.laws.masking_gradients import NO_GRADIENTS
from attention_core.conformance.laws.pairs import Move, same_gradients, same_output
from attention_core.conformance.laws.visibility import hide, judged_rows, require_truth
from attention_core.conformance.subjects.evidence import NotApplicable, Refused
from attention_core.conformance.subjects.law import Law, needs
from attention_core.conformance.subjects.subject import Subject
from attention_core.conformance.worker.exchange import NDArray
from attention_core.oracle.masks import causal_mask

PLAIN = Space(masks=("none",), causal=(False,), min_kv=2)
MANY_KEYS = (32, 33, 48, 63, 64, 65, 128)  # of a step of decoding
SQUARE = 8  # up to so many heads or queries a case may get as many batch rows
ROW_SHIFT = 96.0  # exp(96) leaves float32: a constant of this size shows whether the maximum is taken out


def bool_and_additive_masks_agree(subject: Subject, case: Case) -> None:
    """A bool mask and the float mask with 0 where it is True and -inf where it is False give the same output.

    Formula: f(x, m) = f(x, log m), log True = 0 and log False = -inf
    Source: derivations/laws.md (additive-mask)
    Fault: additive_mask_cast_to_bool
    """
    assert case.mask is not None
    additive = case.with_(mask=np.where(case.mask, 0.0, -np.inf))
    where = judged_rows(subject, case)
    same_output(subject, case, additive, "output for an additive mask in place of a bool one", where=where)


def a_bias_is_added_to_scaled_scores(subject: Subject, case: Case) -> None:
    """A finite float mask is added to the scores after scaling, and is not scaled itself.

    Formula: f(x, b) = softmax(scale q k^T + b) v; at q = 0 it does not depend on scale
    Source: derivations/laws.md (constant-bias)
    Fault: bias_before_scaling
    """
    require_truth(subject, case, "output with a bias")
    blank = case.with_(query=np.zeros_like(case.query))
    require_truth(subject, blank, "output for zero queries, so for the bias alone")
    if "scale" in subject.binding.claims:
        wide = blank.with_(scale=2.0)
        same_output(subject, blank, wide, "output for zero queries and another scale")


def a_constant_added_to_a_row_changes_nothing(subject: Subject, case: Case) -> None:
    """A constant added to a whole row of the bias leaves the output as it is.

    Formula: f(x, b + c 1^T) = f(x, b), c one number per row
    Source: derivations/online_softmax.md (shift)
    Fault: no_maximum_taken_out_of_biased_scores
    """
    assert case.mask is not None
    n_q = case.sizes[0]
    constant = case.rng("constant").choice([-ROW_SHIFT, ROW_SHIFT], size=(n_q, 1))
    shifted = case.with_(mask=round_to(case.mask + constant, case.dtype))
    same_output(subject, case, shifted, "output after a constant was added to rows of the bias")


def forms(case: Case) -> dict[str, tuple[int, ...]]:
    """Shapes of masks that broadcast to the scores of a case, by name.

    One axis alone, (n_kv,), is left out: torch's own function reads two axes from the end and meets it with
    an IndexError, and (1, n_kv) means the same.
    """
    batch, heads = case.query.shape[:2]
    n_q, n_kv = case.sizes[:2]
    return {
        "matrix": (n_q, n_kv), "keys": (1, n_kv), "queries": (n_q, 1), "heads": (heads, n_q, n_kv),
        "padding": (batch, 1, 1, n_kv), "batch": (batch, 1, n_q, n_kv), "head": (1, heads, n_q, n_kv),
        "rows of keys": (batch, heads, 1, n_kv), "columns": (batch, heads, n_q, 1),
    }  # fmt: skip


def a_broadcast_mask_equals_its_expansion(subject: Subject, case: Case) -> None:
    """A mask of a smaller shape means the same as the mask that it broadcasts to.

    Formula: f(x, m) = f(x, M), M_bhij = m broadcast to (B, H, n_q, n_kv)
    Source: NumPy's broadcasting rules, which the contract's signature names
    Fault: batch_axis_taken_for_heads
    """
    rng = case.rng("form")
    case = square(decoding(subject, case))  # more keys than a tile holds, axes of one size
    possible, declined = forms(case), list[Refused]()
    names = [str(rng.choice(some)) for some in (["batch", "padding"], [*possible], ["queries", "columns"])]
    batch, heads, n_q = case.query.shape[:3]
    if batch == heads:  # an axis of heads has the size of that of the batch
        names.append("heads")
    if batch == n_q:  # an axis of queries has
        names[1] = "matrix"
    for name in names:
        small = drawn_mask(possible[name], case, rng, subject.implementation.masks)
        expanded = case.with_(mask=np.broadcast_to(small, (*case.query.shape[:2], *case.sizes[:2])).copy())
        live = ~subject.truth(expanded).dead[..., None]  # what rows without a key give has laws of its own
        what = f"output for a mask {small.shape} expanded"
        try:
            same_output(subject, case.with_(mask=small), expanded, what, where=live)
        except Refused as refusal:  # of one form, or of masks that are added to the scores
            declined.append(refusal)
    if len(declined) == len(names):
        raise declined[0]


def square(case: Case) -> Case:
    """As many batch rows as heads, or as queries, more often than not: a mask on the wrong axis then fits.

    The case is left as it is where these are many, or one.
    """
    rng = case.rng("square")
    (batch, heads, n_q), share = case.query.shape[:3], rng.random()
    count = heads if share < 0.4 else n_q if share < 0.8 else batch
    if not 1 < count <= SQUARE:
        return case
    rows = np.arange(count) % batch
    return case.with_(query=case.query[rows], key=case.key[rows], value=case.value[rows])


def drawn_mask(shape: tuple[int, ...], case: Case, rng: np.random.Generator, kinds: str) -> NDArray:
    """A mask of a shape under which no row is dead, or rows are whole; half of the time one added to the scores."""
    keep = rng.random(shape) < 0.6
    if keep.shape[-1] > 1:
        keep[..., rng.integers(keep.shape[-1])] = True
    else:  # a row attends to all keys or to none, and some row to all
        keep[..., rng.integers(keep.shape[-2]), :] = True
    bias = round_to(2.0 * rng.standard_normal(shape), case.dtype)
    return keep if kinds in ("bool", "binary") or rng.random() < 0.5 else np.where(keep, bias, -np.inf)


def decoding(subject: Subject, case: Case) -> Case:
    """More often than not a step of decoding: one to four queries, and keys enough for kernels to split them."""
    rng = case.rng("decoding")
    few = take_queries(case, np.arange(min(case.sizes[0], int(rng.integers(1, 5)))))
    few = more_keys(few, max(0, int(rng.choice(MANY_KEYS)) - case.sizes[1]), rng)
    cheap = few.slices * few.sizes[0] * few.sizes[1] <= 1 << 15
    return few if rng.random() < 0.6 and cheap and subject.allows(few) else case


def pad(case: Case) -> tuple[Case, int, NDArray]:
    """The batch padded to different lengths, one drawn row of it, and the real keys of that row.

    Padding lies left, right, on both sides, or as a gap between keys; of half of the rows little is left.
    """
    rng = case.rng("padding")
    batch, n_kv, n_q = case.query.shape[0], case.sizes[1], case.sizes[0]
    lengths: NDArray = rng.integers(1, n_kv + 1, size=(batch,))
    row = int(rng.integers(batch))
    lengths[row] = max(1, int(lengths[row]) - 1)  # the row that is compared has padding, if it can
    little = -(-n_kv // rng.integers(2, 6, size=(batch,)))
    lengths = np.where(rng.random(batch) < 0.5, np.minimum(lengths, little), lengths)
    side = str(rng.choice(["left", "left", "right", "both", "gap"]))
    before: NDArray = rng.integers(n_kv - lengths + 1, size=(batch,))
    # where the real keys begin; those around a gap go on after the last one at the first
    begin: dict[str, NDArray] = {"left": n_kv - lengths, "right": 0 * before, "both": before, "gap": n_kv - before}
    hidden = ((np.arange(n_kv) - begin[side][:, None]) % n_kv >= lengths[:, None])[:, None, None]
    real = np.flatnonzero(~hidden[row, 0, 0])
    if rng.random() < 0.5:
        hidden = np.broadcast_to(hidden, (batch, 1, n_q, n_kv)).copy()
    return case.with_(mask=hide(None, hidden, additive=bool(rng.random() < 0.5))), row, real


def alone(case: Case, row: int, keys: NDArray) -> Case:
    """One row of a batch by itself, with its real keys and without a mask."""
    return take_keys(take_batch(case.with_(mask=None), np.array([row])), keys)


def padding_changes_nothing(subject: Subject, case: Case) -> None:
    """A sequence in a batch padded on any side, or within, has the output that it has alone and without padding.

    Formula: f(q, k, v, j in real_b)_b = f(q_b, k_b[real_b], v_b[real_b])
    Source: derivations/laws.md (masked)
    Fault: right_padding_assumed
    """
    whole, row, keys = pad(decoding(subject, case))
    single = alone(whole, row, keys)
    if not subject.binding.profile().allows(single.sizes):
        raise NotApplicable("the sequence without its padding lies outside the declared sizes")
    same_output(
        subject,
        whole,
        single,
        f"output of batch row {row} alone, without padding",
        move=lambda o: o[row : row + 1],
    )
    require_truth(subject, whole, "output of a padded batch")


def padding_changes_no_gradient(subject: Subject, case: Case) -> None:
    """A sequence in a batch padded on any side, or within, has the gradients that it has alone and without padding.

    Formula: d f(q, k, v, j in real_b)_b = d f(q_b, k_b[real_b], v_b[real_b])
    Source: derivations/laws.md (masked-value-gradient)
    Fault: backward_ignores_mask
    """
    whole, row, keys = pad(decoding(subject, case))
    single = alone(whole, row, keys)
    if not subject.binding.profile().allows(single.sizes):
        raise NotApplicable("the sequence without its padding lies outside the declared sizes")
    cut: Move = lambda g: g[row : row + 1][:, :, keys]  # noqa: E731
    down = whole.cotangent()
    same_gradients(
        subject, whole, single, f"batch row {row} alone, without padding", cotangent=down,
        other_cotangent=down[row : row + 1],
        moves={"query": lambda g: g[row : row + 1], "key": cut, "value": cut},
    )  # fmt: skip


def mask_and_causal_mean_both(subject: Subject, case: Case) -> None:
    """A mask and is_causal together allow what both allow: the same as one mask of their intersection.

    Formula: f(x, m, causal) = f(x, m and c), c_ij = (j <= i + o)
    Source: derivations/laws.md (masked)
    Fault: causal_dropped_beside_mask
    """
    n_q, n_kv = case.sizes[:2]
    later = ~causal_mask(n_q, n_kv, subject.implementation.causal)
    one = case.with_(mask=hide(case.mask, later), is_causal=False)
    where = judged_rows(subject, case)
    same_output(subject, case, one, "output for mask and causality in one mask", where=where)


LAWS = (
    Law(
        bool_and_additive_masks_agree, "masking", needs=needs("attn_mask"),
        space=Space(masks=("bool",), causal=(False,), dead=0.2),
    ),
    Law(
        a_bias_is_added_to_scaled_scores, "masking", needs=needs("attn_mask"),
        space=Space(masks=("finite",), causal=(False,)), large=3,
    ),
    Law(
        a_constant_added_to_a_row_changes_nothing, "masking", needs=needs("attn_mask"),
        space=Space(masks=("finite",), causal=(False,)),
    ),
    Law(
        a_broadcast_mask_equals_its_expansion, "masking", needs=needs("attn_mask"),
        space=PLAIN.with_(min_batch=2, min_heads=2), small=16,
    ),
    Law(padding_changes_nothing, "masking", needs=needs("attn_mask"), space=PLAIN.with_(min_batch=2), large=6),
    Law(
        padding_changes_no_gradient, "masking", needs=needs("attn_mask"), space=PLAIN.with_(min_batch=2),
        declares=lambda i: bool(i.gradients), because=NO_GRADIENTS, large=3, small=8,
    ),
    Law(
        mask_and_causal_mean_both, "masking", needs=needs("attn_mask", "is_causal"),
        space=Space(masks=("bool", "float", "finite"), causal=(True,), min_kv=2, dead=0.2),
    ),
)  # fmt: skip
