"""Laws of indices: each query attends to the keys that its row of indices names, in any order, and to no others.

An index of -1 names no key. What a row without any gives is declared by `--dead-rows`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from attention_core.conformance.budgets.budget import round_to
from attention_core.conformance.cases.counts import count_many, share_heads
from attention_core.conformance.laws.masked_calls import (
    check_call,
    compare,
    compare_gradients,
    count_power,
    draw_views,
    factor_of_far,
    repeat_rows,
    wrong_scales,
)
from attention_core.conformance.subjects.evidence import NotApplicable
from attention_core.conformance.subjects.indexed_subject import PADDING, IndexedCall, IndexedSubject
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.parameter_case import (
    APART,
    FAR_SCORES,
    ParameterCase,
    Sizes,
    after,
    as_in_models,
)
from attention_core.conformance.worker.exchange import NDArray
from attention_core.declaration.implementation import Implementation

CONTRACT = "topk-index"
HUGE = {"float16": 1e3}
"""A number far from all others whose products stay finite: 1e30, and less in float16."""
HEADS = ("indices of the next head", "indices of the first head", "indices of the next sequence")
PADDED = ("padding names the last key", "padding names the first key", "rows end at their first padding")


# --- what each law compares ---------------------------------------------------------------------------------


def wrong_indices(call: IndexedCall) -> dict[str, NDArray]:
    """Indices of a call that are read wrongly, by what is wrong."""
    rows, valid = call.indices, call.indices >= 0
    columns = -(-call.key.shape[2] // call.block)
    order = np.cumsum(valid, axis=-1)
    falls = np.maximum.accumulate(rows, axis=-1) > rows
    places = np.arange(rows.shape[-1])
    return {
        "indices one late": np.where(valid, rows + 1, PADDING), "indices one early": np.where(valid, rows - 1, PADDING),
        "indices of the next query": np.roll(rows, 1, 2), HEADS[0]: np.roll(rows, 1, 1),
        HEADS[1]: rows[:, :1].repeat(rows.shape[1], 1), HEADS[2]: np.roll(rows, 1, 0),
        "first index left out": np.where(valid & (order == 1), PADDING, rows),
        "last index left out": np.where(valid & (order == order[..., -1:]), PADDING, rows),
        "indices beyond the sixteenth left out": np.where(places < 16, rows, PADDING),
        PADDED[0]: np.where(valid, rows, columns - 1), PADDED[1]: np.where(valid, rows, 0),
        PADDED[2]: np.where(np.cumsum(~valid, axis=-1) > 0, PADDING, rows),
        "rows end where they fall": np.where(np.cumsum(falls, axis=-1) > 0, PADDING, rows),
    }  # fmt: skip


def null_models(subject: IndexedSubject, call: IndexedCall) -> dict[str, NDArray]:
    """What a call with one thing wrong gives, by the name of what it gets wrong; those that change nothing left out."""
    right = subject.mask(call)
    masks = {name: subject.mask(call.with_(indices=rows)) for name, rows in wrong_indices(call).items()}
    masks["indices ignored"] = np.broadcast_to(subject.mask(call.with_(indices=every_block(call))), right.shape)
    if call.causal:
        masks["causality ignored"] = subject.mask(call.with_(causal=False))
    if call.counts is not None:
        masks["counts ignored"] = subject.mask(call.with_(counts=None))
    if call.block > 1:
        masks["blocks of one key"] = subject.mask(call.with_(block=1))
    found = {name: subject.truth(call, mask).out for name, mask in masks.items() if (mask != right).any()}
    return found | wrong_scales(subject, call, right)


def every_block(call: IndexedCall) -> NDArray:
    """Indices that name every key."""
    columns = -(-call.key.shape[2] // call.block)
    return np.broadcast_to(np.arange(columns), (1, 1, call.query.shape[2], columns))


check = partial(check_call, null_models)
"""One call agrees with the truth, with the null models of this contract."""


# --- laws ---------------------------------------------------------------------------------------------------


def queries_attend_to_the_keys_of_their_indices(subject: IndexedSubject, case: ParameterCase) -> None:
    """A query attends to the keys, or blocks of keys, that its row of indices names, and to no others.

    Formula: |o_i - softmax over { j : j in I_i } of (scale q_i . k_j) v_j| <= E_o
    Source: derivations/chosen_keys.md (gathered); DeepSeek-V3.2 (2025), section 2.1
    Fault: all_keys_attended
    """
    check(subject, case, subject.draw(case), "out of indices", "queries_attend_to_the_keys_of_their_indices")


def padding_names_no_key(subject: IndexedSubject, case: ParameterCase) -> None:
    """An index of -1 names no key, wherever in its row it stands.

    Formula: I_i with -1 at any place names the same keys as without
    Source: deepseek-ai/FlashMLA PR109 (-1 for invalid); HKUSTDial/flash-sparse-attention PR138 (invalid topk values)
    Fault: padding_is_the_last_key
    """
    case = case.with_(options={**case.options, "padding": "anywhere"})
    check(subject, case, subject.draw(case), "out of padded indices", "padding_names_no_key", about=PADDED)


def the_order_of_indices_is_free(subject: IndexedSubject, case: ParameterCase) -> None:
    """Indices of a row may come in any order, as a selection gives them.

    Formula: f(.., P I_i) = f(.., I_i) within the budget, for permutations P
    Source: derivations/chosen_keys.md (any-order); torch.topk(sorted=False)
    Fault: indices_taken_for_ascending
    """
    case = case.with_(options={**case.options, "order": "any"})
    law, about = "the_order_of_indices_is_free", ("rows end where they fall",)
    check(subject, case, subject.draw(case), "out of unordered indices", law, about=about)


def heads_and_sequences_have_their_own_indices(subject: IndexedSubject, case: ParameterCase) -> None:
    """Key heads and sequences have rows of their own, which the query heads of a group share.

    Formula: o_bhi depends on I_bgi for the key head g of query head h
    Source: Yuan et al., "Native Sparse Attention" (2025), section 3.3.2 (one selection a group)
    Fault: indices_of_the_first_head
    """
    if not {"b", "h"} & set(subject.index_axes):
        raise NotApplicable("one row of indices is that of all sequences and heads")
    law, what = "heads_and_sequences_have_their_own_indices", "out of heads with indices of their own"
    check(subject, case, subject.draw(case), what, law, about=HEADS)


def indices_of_all_keys_are_plain_attention(subject: IndexedSubject, case: ParameterCase) -> None:
    """Where every key is named the output is that of attention to all keys, for dozens of them.

    Formula: |o - softmax(scale Q K^T) V| <= E_o for I_i a permutation of all keys, n_kv up to 70
    Source: DeepSeek-V3.2 (2025), topk of 2,048 above the length of a text; rows that are read by sixteen or more
    Fault: sixteen_indices_at_most
    """
    case = case.with_(topk=-(-case["n_kv"] // case["block"]), options={**case.options, "order": "any"})
    law, about = "indices_of_all_keys_are_plain_attention", ("indices beyond the sixteenth left out",)
    check(subject, case, subject.draw(case), "out of indices of all keys", law, about=about)


def later_keys_of_a_causal_call_are_left_out(subject: IndexedSubject, case: ParameterCase) -> None:
    """A causal call leaves out the keys that its indices name beyond the query.

    Formula: j attended by i iff j in I_i and j <= i + o
    Source: parameter is_causal of kernels that also mask; Yuan et al. (2025), the query's own block
    Fault: causality_ignored
    """
    if "causal" not in subject.roles and not subject.implementation.always_causal:
        raise NotApplicable("it has no parameter for causality")
    options = {**case.options, "causal": True, "later": True, "order": "any"}
    case = case.with_(options=options)
    law, about = "later_keys_of_a_causal_call_are_left_out", ("causality ignored",)
    check(subject, case, subject.draw(case), "out of a causal call", law, about=about)


def rows_without_an_index_are_as_declared(subject: IndexedSubject, case: ParameterCase) -> None:
    """A row whose indices are all -1 gives what --dead-rows says, beside rows that attend.

    Formula: I_i = (-1, .., -1) implies o_i = 0 (or as declared)
    Source: deepseek-ai/FlashMLA, flash_mla_sparse_fwd (rows without a valid index give 0); exp(-inf + inf)
    Fault: rows_without_an_index_are_nan
    """
    if subject.implementation.dead_rows == "unspecified":
        raise NotApplicable("dead_rows=unspecified is declared")
    call, rng = subject.draw(case), case.rng("dead")
    rows = call.indices.copy()
    dead = rng.random(rows.shape[:3]) < 0.5
    dead[..., int(rng.integers(rows.shape[2]))] = True
    rows[dead] = PADDING
    call = call.with_(indices=rows)
    judged = subject.judge(case, call)
    none, group = judged.truth.dead[..., None], call.query.shape[1] // call.key.shape[1]
    wrong = {"NaN": np.full(1, np.nan), "zeros": np.zeros(1)}
    wrong["means"] = np.repeat(call.value.mean(axis=2, keepdims=True), group, 1)
    wrong["the last value"] = np.repeat(call.value[:, :, -1:], group, 1)
    nulls = {f"dead rows are {name}": np.where(none, out, judged.truth.out) for name, out in wrong.items()}
    count_power(subject, "rows_without_an_index_are_as_declared", nulls, judged)
    compare(subject, case, subject.attend(case, call), judged, "out of rows of which some have no index")


def counts_end_rows_of_indices(subject: IndexedSubject, case: ParameterCase) -> None:
    """Where a row has a number of indices, those after it name no key, whatever they are.

    Formula: I_i[c_i:] does not matter
    Source: parameter topk_length of FlashMLA, block_counts of flash-linear-attention
    Fault: counts_ignored
    """
    if "counts" not in subject.roles:
        raise NotApplicable("rows have no numbers of indices")
    call = subject.draw(case)
    shape, valid = call.indices.shape, (call.indices >= 0).sum(-1)
    drawn = case.rng("counts").integers(1, shape[3] + 1, size=(shape[0], 1, shape[2]))
    call = call.with_(counts=np.minimum(np.broadcast_to(drawn, shape[:3]), np.maximum(valid, 1)))
    check(subject, case, call, "out of rows that end early", "counts_end_rows_of_indices", about=("counts ignored",))


def indices_beyond_the_keys_name_none(subject: IndexedSubject, case: ParameterCase) -> None:
    """Where that is declared, an index of n_kv or more names no key, as -1 does.

    Formula: I_i with j >= n_kv at any place names the same keys as without
    Source: deepseek-ai/FlashMLA PR109 (indices of at least s_kv are invalid, too)
    Fault: indices_beyond_are_the_last_key
    """
    if subject.parameters.get("beyond") != "padding":
        raise NotApplicable("beyond=padding is not declared")
    case = case.with_(options={**case.options, "padding": "anywhere"})
    call = subject.draw(case)
    columns = -(-call.key.shape[2] // call.block)
    beyond = np.where(case.rng("beyond").random(call.indices.shape) < 0.5, columns, 2**31 - 1 - columns)
    sent = call.with_(indices=np.where(call.indices < 0, beyond, call.indices))
    law, about = "indices_beyond_the_keys_name_none", (PADDED[0],)
    check(subject, case, call, "out of indices beyond the keys", law, about=about, sent=sent)


def an_index_that_is_named_twice_counts_once(subject: IndexedSubject, case: ParameterCase) -> None:
    """Where that is declared, a key that a row names twice is attended to once.

    Formula: I_i with repeats names the same keys as without
    Source: selections of forced and of chosen blocks that overlap (Yuan et al., "Native Sparse Attention", 2025)
    Fault: repeated_indices_count_twice
    """
    if subject.parameters.get("repeats") != "once":
        raise NotApplicable("repeats=once is not declared")
    case = case.with_(options={**case.options, "padding": "anywhere"})
    call = subject.draw(case)
    first = np.take_along_axis(call.indices, (call.indices >= 0).argmax(-1)[..., None], -1)
    sent = call.with_(indices=np.where(call.indices < 0, first, call.indices))
    twice = subject.mask(call) & True
    named = subject.mask(call.with_(indices=first))
    repeats = (call.indices < 0).sum(-1)
    extra = np.repeat(np.log1p(repeats), call.query.shape[1] // repeats.shape[1], 1)[..., None]
    judged = subject.judge(case, call)
    weighed = subject.truth(call.with_(bias=np.where(named, extra, 0.0)), twice).out
    count_power(subject, "an_index_that_is_named_twice_counts_once", {"repeats count": weighed}, judged)
    compare(subject, case, subject.attend(case, sent), judged, "out of rows that name a key twice")


def keys_that_no_index_names_do_not_matter(subject: IndexedSubject, case: ParameterCase) -> None:
    """Huge numbers, and NaN where that is declared, in keys that no row names change nothing.

    Formula: f(q, k', v', I) = f(q, k, v, I) where k', v' differ in keys of no row
    Source: derivations/chosen_keys.md (gathered): these keys are in no sum
    Fault: other_keys_weigh_little
    """
    call = subject.draw(case)
    pairs = subject.mask(call)
    group = call.query.shape[1] // call.key.shape[1]
    named = pairs.any(axis=2).reshape(len(pairs), -1, group, call.key.shape[2])
    named = np.asarray(named.any(axis=2))
    if named.all():
        raise NotApplicable
    nan = subject.implementation.masked_nan == "ignored" and case.seed % 3
    number = np.nan if nan else round_to(np.asarray(HUGE.get(case.dtype, 1e30)), case.dtype).item()
    changed = {name: np.where(named[..., None], getattr(call, name), number) for name in ("key", "value")}
    check(subject, case, call, f"out beside keys of {number:g} that are not named", sent=call.with_(**changed))


def large_scores_of_named_keys_stay_numbers(subject: IndexedSubject, case: ParameterCase) -> None:
    """Scores of several hundred neither overflow nor vanish.

    Formula: |o - t| <= E_o for scores far above log of the largest number, of either sign
    Source: derivations/online_softmax.md (shift); exp(s) without the row's maximum
    Fault: maximum_not_subtracted
    """
    call = subject.draw(case)
    query = round_to(call.query * factor_of_far(case), case.dtype)
    check(subject, case, call.with_(query=query), "out of large scores of named keys")


def other_indices_of_the_same_shape_are_read_anew(subject: IndexedSubject, case: ParameterCase) -> None:
    """A second call with other indices of the same shape has the output of the second.

    Formula: f(x, I') after f(x, I) attends to the keys of I'
    Source: plans that are kept by the shape of what they are made of (flashinfer-ai/flashinfer, plan and run)
    Fault: first_indices_kept
    """
    first, second = subject.draw(case), subject.draw(case, " again")
    judged = subject.judge(case, second)
    kept = {"the first call's indices": subject.truth(second, subject.mask(second.with_(indices=first.indices))).out}
    count_power(subject, "other_indices_of_the_same_shape_are_read_anew", kept, judged)
    earlier = subject.attend(case, first)
    out = subject.attend(case, second)
    with after([earlier]):
        compare(subject, case, out, judged, "out of a second call with other indices")


def strides_of_indices_are_followed(subject: IndexedSubject, case: ParameterCase) -> None:
    """Query, key, value and indices may be views of larger or turned memory.

    Formula: f(views of x, view of I) = f(x, I)
    Source: indices that are cut out of a selection of more keys, I[..., :topk]
    Fault: indices_read_in_order
    """
    view, index_view = draw_views(case)
    what = f"out of arrays whose memory is {view.replace('_', ' ')}, by indices whose memory is {index_view}"
    law, about = "strides_of_indices_are_followed", ("indices of the next query", "first index left out")
    call = subject.draw(case)
    call = call.with_(indices=repeat_rows(call.indices, index_view))
    check(subject, case, call, what, law, about=about, view=view, index_view=index_view)


def a_scale_that_is_given_counts_beside_indices(subject: IndexedSubject, case: ParameterCase) -> None:
    """A scale that is given takes the place of the usual one, 0 and 1 included.

    Formula: s_ij = c q_i . k_j for the scale c
    Source: parameter sm_scale of every library
    Fault: given_scale_ignored
    """
    if "scale" not in subject.roles:
        raise NotApplicable("it takes no scale")
    scale = float(case.rng("scale").choice([0.3, 0.0, 1.0, 0.0, -0.5]))
    case = case.with_(options={**case.options, "scale": scale})
    law, what = "a_scale_that_is_given_counts_beside_indices", f"out of a call with scale {scale:g}"
    check(subject, case, subject.draw(case), what, law, about=("scale ignored", "scaled twice"))


def gradients_through_indices_are_true(subject: IndexedSubject, case: ParameterCase) -> None:
    """A key that several queries name gets the sum of their gradients, and padding passes none to any key.

    A kernel that carries no gradient is left out, and the report says so.

    Formula: |d_x' - d_x| <= E_x for x of query, key, value
    Source: derivations/softmax_backward.md (d-query, d-key, d-value); Dao-AILab/flash-attention PR2755
    Fault: gradients_overwritten
    """
    if subject.joined:
        raise NotApplicable("keys and values are one array")
    call = subject.draw(case.with_(options={**case.options, "padding": "anywhere", "order": "any"}))
    judged = subject.judge(case, call)
    compare_gradients(subject, case, call, judged)


def _differentiable(implementation: Implementation) -> bool:
    return implementation.gradients and implementation.array == "torch"


def _fit(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """No more indices in a row than there are blocks, and fewer once in two."""
    columns = -(-sizes["n_kv"] // sizes["block"])
    return {**sizes, "topk": int(rng.integers(1, columns + 1)) if rng.random() < 0.5 else min(sizes["topk"], columns)}


def _several(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """Rows of two indices at least, and fewer than there are blocks."""
    columns = int(rng.integers(4, 10))
    return {
        **sizes,
        "n_kv": columns * sizes["block"] - int(rng.integers(sizes["block"])),
        "topk": int(rng.integers(2, columns)),
    }


def _with_padding(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """Rows of three indices at least, and few keys more than they name."""
    sizes = {**sizes, "topk": max(sizes["topk"], 3)}
    return {**sizes, "n_kv": sizes["block"] * (sizes["topk"] + int(rng.integers(0, 4)))}


def _dense(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """More than sixteen blocks, and more than 64 once in two."""
    columns = int(rng.integers(65, 71) if rng.random() < 0.5 else rng.integers(17, 40))
    return {**sizes, "n_kv": columns * sizes["block"] - int(rng.integers(sizes["block"])), "topk": columns}


def _as_many(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """As many queries as keys."""
    return _fit({**sizes, "n_kv": sizes["n_q"]}, rng)


RANGES = {
    "B": (1, 3), "H_kv": (1, 3), "group": (1, 1), "n_q": (1, 8), "n_kv": (2, 16), "topk": (1, 8), "block": (1, 3),
    "d": (1, 8), "d_v": (1, 8),
}  # fmt: skip
MODELS = {"d": (32, 64), "d_v": (32, 64), "n_kv": (33, 70), "topk": (8, 30), "block": (1, 1)}
CAUSAL = {"causal": (False, False, True)}
SPACE = Sizes(RANGES, CAUSAL, adjust=as_in_models(MODELS, _fit))
SMALL = Sizes({**RANGES, "n_kv": (4, 27), "topk": (2, 8)}, adjust=count_many(_several, 0.15))
FAR_SPACE = replace(SMALL, options={**SMALL.options, **FAR_SCORES})
FEW = Sizes({**RANGES, "n_q": (1, 2), "n_kv": (4, 27), "topk": (2, 8)}, adjust=_several)
PADDING_SPACE = Sizes(RANGES, adjust=_with_padding)
GRADED = Sizes({**RANGES, "H_kv": (1, 5)}, adjust=share_heads(_with_padding, 0.7))
GROUPS = Sizes(
    {**RANGES, "H_kv": (2, 5), "group": (1, 8), "n_kv": (4, 27), "topk": (2, 8)},
    APART,
    adjust=share_heads(_several, 0.7),
)
DENSE = Sizes(
    {**RANGES, "B": (1, 2), "H_kv": (1, 2), "n_q": (1, 3), "n_kv": (17, 210), "topk": (17, 70)}, adjust=_dense
)
CAUSAL_SPACE = Sizes({**RANGES, "n_q": (3, 16), "n_kv": (3, 16)}, adjust=_as_many)
VIEWS = Sizes(
    {**RANGES, "B": (2, 3), "H_kv": (2, 3), "n_q": (3, 8), "n_kv": (4, 27), "topk": (2, 8), "d": (2, 8), "d_v": (2, 8)},
    adjust=_several,
)
ROW: dict[str, Any] = {"contract": CONTRACT, "family": "topk_index", "large": 8, "small": 0, "space": SMALL}
LAWS = (
    Law(queries_attend_to_the_keys_of_their_indices, **{**ROW, "large": 20, "space": SPACE}, central=True),
    Law(padding_names_no_key, **{**ROW, "space": PADDING_SPACE}),
    Law(the_order_of_indices_is_free, **{**ROW, "space": SMALL}),
    Law(heads_and_sequences_have_their_own_indices, **{**ROW, "large": 16, "space": GROUPS}),
    Law(indices_of_all_keys_are_plain_attention, **{**ROW, "large": 6, "space": DENSE}),
    Law(later_keys_of_a_causal_call_are_left_out, **{**ROW, "space": CAUSAL_SPACE}),
    Law(rows_without_an_index_are_as_declared, **ROW),
    Law(counts_end_rows_of_indices, **{**ROW, "space": SMALL}),
    Law(indices_beyond_the_keys_name_none, **{**ROW, "space": PADDING_SPACE}),
    Law(an_index_that_is_named_twice_counts_once, **{**ROW, "space": PADDING_SPACE}),
    Law(keys_that_no_index_names_do_not_matter, **{**ROW, "space": FEW}),
    Law(large_scores_of_named_keys_stay_numbers, **{**ROW, "large": 12, "space": FAR_SPACE}),
    Law(other_indices_of_the_same_shape_are_read_anew, **{**ROW, "space": SMALL}),
    Law(strides_of_indices_are_followed, **{**ROW, "large": 14, "space": VIEWS}),
    Law(a_scale_that_is_given_counts_beside_indices, **{**ROW, "large": 12}),
    Law(
        gradients_through_indices_are_true, **{**ROW, "large": 12, "space": GRADED}, declares=_differentiable,
        because="gradients are not declared, or not of torch's arrays", absent="gradients are not tested",
    ),
)  # fmt: skip
COMPARISONS = tuple(law.name for law in LAWS[1:])
