"""Laws of heads and batch: what stands beside a problem in one call changes nothing.

Slices alone and together, sizes that coincide, and key heads that several query heads share.
"""

from __future__ import annotations

from itertools import islice

import numpy as np

from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.space import Space
from attention_core.conformance.laws.derived import (
    NO_GRADIENTS,
    has_gradients,
    output_bound,
    require_declared_sizes,
    require_live,
    take_batch,
    take_heads,
    take_keys,
    take_queries,
)
from attention_core.conformance.laws.pairs import same_gradients, same_output
from attention_core.conformance.laws.visibility import judged_rows
from attention_core.conformance.subjects.evidence import NotApplicable, require_close
from attention_core.conformance.subjects.law import Law, needs
from attention_core.conformance.subjects.subject import Subject

PER_BATCH = (("B", 1, 1, "n_kv"), ("B", 1, "n_q", "n_kv"))
PER_HEAD = (("H", "n_q", "n_kv"), ("H", "n_q", "n_kv"), (1, "H", 1, "n_kv"))  # the first is likelier mistaken
MATRIX = (("n_q", "n_kv"),)
QUERIES = (("n_q", 1), ("B", 1, "n_q", 1))  # a row that attends to all, or to nothing
Form = tuple[str | int, ...]
COINCIDENCES: tuple[tuple[tuple[str, ...], tuple[Form, ...]], ...] = (
    (("B", "H"), PER_BATCH), (("B", "H"), PER_HEAD), (("B", "n_q"), MATRIX + QUERIES[:1]),
    (("H", "n_q"), MATRIX + PER_HEAD), (("n_q", "n_kv"), PER_BATCH[:1] + MATRIX), (("n_q", "n_kv"), QUERIES),
    (("B", "n_kv"), ()), (("H", "n_kv"), ()), (("n_kv", "d"), ()), (("n_q", "n_kv", "d", "d_v"), MATRIX),
    (("B", "H", "n_q", "n_kv", "d", "d_v"), PER_BATCH + PER_HEAD + MATRIX),
)  # fmt: skip
"""Axes that get one size, and the masks whose axes can then be mistaken.

Code that finds an axis by its size, or lets an array broadcast unseen, takes the wrong one there alone.
"""


# --- slices and the batch around them ------------------------------------------------------------


def a_slice_alone_equals_itself_in_the_batch(subject: Subject, case: Case) -> int:
    """One (batch, head) problem computed alone gives what it gives inside its batch.

    Formula: f(x)[b, h] = f(x[b, h])
    Source: Vaswani et al., "Attention Is All You Need" (2017), section 3.2.2: heads are computed in parallel
    Fault: first_mask_for_the_whole_batch
    """
    batch, heads = case.query.shape[:2]
    if batch * heads == 1:
        raise NotApplicable("a slice alone is the whole batch")
    rng = case.rng("slice")
    b, h = int(rng.integers(batch)), int(rng.integers(heads))
    if rng.random() < 0.4:  # the last slice is the first to be missed by what covers too few
        b, h = batch - 1, heads - 1
    alone = take_batch(take_heads(case, np.array([h]), np.array([h // case.group])), np.array([b]))
    require_declared_sizes(subject, alone)
    here = np.zeros((batch, heads, 1, 1), bool)
    here[b, h] = True
    into = lambda a: np.broadcast_to(a, (batch, heads, *a.shape[2:]))  # noqa: E731
    what = "output of one slice inside the batch, against the slice alone"
    same_output(subject, alone, case, what, move=into, where=here & judged_rows(subject, case))
    return 1


def a_slice_alone_has_the_gradients_of_its_batch(subject: Subject, case: Case) -> int:
    """The gradients of one batch element computed alone are those it has inside its batch.

    Formula: (dQ, dK, dV)(x, dO)[b] = (dQ, dK, dV)(x[b], dO[b])
    Source: derivations/softmax_backward.md (softmax-vjp)
    Fault: gradient_of_the_first_batch_element
    """
    batch = case.query.shape[0]
    if batch == 1:
        raise NotApplicable("a batch element alone is the whole batch")
    require_live(subject, case)
    b = int(case.rng("slice").integers(batch))
    alone, down = take_batch(case, np.array([b])), case.cotangent()
    here = np.zeros((batch, 1, 1, 1), bool)
    here[b] = True
    names = ("query", "key", "value")
    into = lambda a: np.broadcast_to(a, (batch, *a.shape[1:]))  # noqa: E731
    what = "one batch element inside the batch, against it alone"
    same_gradients(
        subject, alone, case, what, cotangent=down[b : b + 1], other_cotangent=down,
        moves=dict.fromkeys(names, into),
        where=dict.fromkeys(names, here),
    )  # fmt: skip
    return int(case.query.shape[1])


def coinciding(case: Case, which: int, masked: bool) -> Case:
    """The case cut so that the axes of one coincidence get one size; if `masked`, with a mask to mistake."""
    rng = case.rng("coincidence")
    axes, forms = COINCIDENCES[which]
    if "H" in axes:
        own = np.arange(case.key.shape[1])
        case = take_heads(case, own * case.group, own)
    sizes = dict(zip(("B", "H", "n_q", "n_kv"), (*case.query.shape[:3], case.key.shape[2]), strict=True))
    keep = np.arange(min(sizes[a] for a in axes if a in sizes))
    case = take_batch(case, keep) if "B" in axes else case
    case = take_heads(case, keep, keep) if "H" in axes else case
    case = take_queries(case, keep) if "n_q" in axes else case
    case = take_keys(case, keep) if "n_kv" in axes else case
    if "d" in axes:  # head sizes are made, not cut: they may be smaller than the rest
        features = keep % case.query.shape[-1]
        case = case.with_(query=case.query[..., features], key=case.key[..., features])
    case = case.with_(value=case.value[..., keep % case.value.shape[-1]]) if "d_v" in axes else case
    if not (masked and forms):
        return case
    sizes |= dict.fromkeys(axes, len(keep))
    form = forms[int(rng.integers(len(forms)))]
    allow = rng.random([a if isinstance(a, int) else sizes[a] for a in form]) < 0.5
    if allow.shape[-1] > 1:
        allow[..., 0] = True
    else:  # some rows attend, others do not
        allow[..., :1, :], allow[..., 1:2, :] = True, False
    return case.with_(mask=allow if rng.random() < 0.5 else np.where(allow, 0.0, -np.inf), is_causal=False)


def coinciding_sizes_are_not_confused(subject: Subject, case: Case) -> int:
    """No axis is taken for another one of the same size: B = H, B = n_q, n_q = n_kv = d = d_v and so on.

    Formula: |f(x) - t(x)| <= E_o(x) where sizes of x coincide
    Source: derivations/error_budget.md (output)
    Fault: batch_mask_on_heads
    """
    masked = "attn_mask" in subject.binding.claims and case.rng("masked").random() < 0.8
    drawn = (coinciding(case, int(i), masked) for i in case.rng("which").permutation(len(COINCIDENCES)))
    alike = list(islice((c for c in drawn if subject.binding.profile().allows(c.sizes)), 2))
    if not alike:
        raise NotApplicable("no coinciding sizes are declared")
    for one in alike:
        truth, bound = subject.truth(one), output_bound(subject, one)
        live = ~truth.dead[..., None]  # what rows without a key give has laws of its own
        require_close(subject.forward(one).out, truth.out, bound, "output where sizes coincide", where=live)
    return sum(one.slices for one in alike)


# --- grouped-query attention ------------------------------------------------------------


def group_heads(case: Case) -> Case:
    """A case with several query heads per key head; surplus key heads are left out where there is none."""
    heads = case.query.shape[1]
    if case.group > 1:
        return case
    if heads == 1:
        raise NotApplicable("one head has no group")
    group = next(g for g in (2, 3, heads) if heads % g == 0)
    return take_heads(case, np.arange(heads), np.arange(heads // group))


def grouped_query_equals_repeated_keys(subject: Subject, case: Case) -> None:
    """Query head h uses key head h // (H / H_kv): the same as writing key heads out for every query head.

    Formula: f(q, k, v) = f(q, k', v'), k'_h = k_(h // g), g = H / H_kv
    Source: Ainslie et al., "GQA" (2023), section 2.2
    Fault: tiled_keys
    """
    shared = require_declared_sizes(subject, group_heads(case))
    whose = np.arange(shared.query.shape[1]) // shared.group
    written = require_declared_sizes(subject, take_heads(shared, np.arange(len(whose)), whose))
    what = "output of grouped heads, against keys and values repeated for every query head"
    same_output(subject, written, shared, what, move=lambda a: a, where=judged_rows(subject, shared))


def grouped_gradients_are_summed_over_the_group(subject: Subject, case: Case) -> None:
    """The gradient of a shared key or value is the sum over the query heads that share it.

    Formula: dK_j = sum_(h : h // g = j) dK'_h, likewise dV, with k'_h = k_(h // g)
    Source: derivations/softmax_backward.md (d-key)
    Fault: group_gradient_of_the_last_head
    """
    shared = require_declared_sizes(subject, group_heads(case))
    require_live(subject, shared)
    (batch, heads), group = shared.query.shape[:2], shared.group
    written = require_declared_sizes(subject, take_heads(shared, np.arange(heads), np.arange(heads) // group))
    fold = lambda a: a.reshape(batch, heads // group, group, *a.shape[2:]).sum(axis=2)  # noqa: E731
    same_gradients(subject, written, shared, "grouped heads", moves={"key": fold, "value": fold})


SEVERAL = Space(min_batch=2, min_heads=2, max_n=129)

LAWS = (
    Law(a_slice_alone_equals_itself_in_the_batch, "heads_and_batch", space=SEVERAL, large=6),
    Law(
        a_slice_alone_has_the_gradients_of_its_batch, "heads_and_batch", declares=has_gradients,
        because=NO_GRADIENTS, space=SEVERAL.with_(max_n=65), large=3, small=6,
    ),
    Law(
        coinciding_sizes_are_not_confused, "heads_and_batch", large=12, small=16,
        space=Space(masks=("none",), min_batch=2, min_heads=2, min_q=2, min_kv=2, max_n=33),
    ),
    Law(
        grouped_query_equals_repeated_keys, "heads_and_batch", needs=needs("enable_gqa"),
        space=SEVERAL.with_(min_heads=4), large=3, small=8,
    ),
    Law(
        grouped_gradients_are_summed_over_the_group, "heads_and_batch", needs=needs("enable_gqa"),
        declares=has_gradients, because=NO_GRADIENTS,
        space=SEVERAL.with_(min_heads=4, max_n=65), large=3, small=6,
    ),
)  # fmt: skip
