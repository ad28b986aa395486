"""Laws of block maps: which blocks of keys each block of queries attends to, and nothing else.

Each entry of a map stands for b_q x b_kv pairs of a sequence and head; the last blocks may be short. What a row without
any key gives is declared by `--dead-rows`; with fewer queries than keys `--causal` says which query faces which key.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from attention_core import oracle
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
from attention_core.conformance.subjects.block_subject import BlockCall, BlockSubject
from attention_core.conformance.subjects.evidence import NotApplicable
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

CONTRACT = "block-mask"
HUGE = {"float16": 1e3}
"""A number far from all others whose products stay finite: 1e30, and less in float16."""
SHORT = ("short last block of keys dropped", "map ignored", "map one block late")
"""Null models of calls whose lengths no block divides."""


# --- what each law compares ---------------------------------------------------------------------------------


def wrong_maps(call: BlockCall) -> dict[str, NDArray]:
    """Pairs of a call whose map is read wrongly, by what is wrong, before causality and a mask_mod."""
    n_q, n_kv = call.lengths
    (b_q, b_kv), blocks = call.block, call.blocks
    pairs = oracle.block_pairs(blocks, n_q, n_kv, call.block)
    found = {"map ignored": np.ones_like(pairs), "map inverted": ~pairs}
    moved = {
        "map transposed": blocks.swapaxes(-1, -2) if blocks.shape[-1] == blocks.shape[-2] else blocks,
        "map of the next head": np.roll(blocks, 1, 1), "map of the next sequence": np.roll(blocks, 1, 0),
        "map one block late": np.roll(blocks, 1, -1), "map of the next row": np.roll(blocks, 1, -2),
        "first block left out": blocks & (np.cumsum(blocks, -1) > 1),
        "last block left out": blocks & (np.cumsum(blocks[..., ::-1], -1)[..., ::-1] > 1),
    }  # fmt: skip
    found |= {name: oracle.block_pairs(other, n_q, n_kv, call.block) for name, other in moved.items()}
    i, j = np.arange(n_q)[:, None], np.arange(n_kv)
    found["blocks twice as large"] = blocks[..., i // (2 * b_q), j // (2 * b_kv)]
    rows, columns = (n - 1 for n in blocks.shape[-2:])
    found["sides of blocks swapped"] = blocks[..., np.minimum(i // b_kv, rows), np.minimum(j // b_q, columns)]
    found["short last block of keys dropped"] = pairs & (j < n_kv - n_kv % b_kv)
    return found


def null_models(subject: BlockSubject, call: BlockCall, mask: NDArray) -> dict[str, NDArray]:
    """What a call with one thing wrong gives, by the name of what it gets wrong; those that change nothing left out."""
    rest = np.ones(call.lengths, dtype=bool) if call.pairs is None else call.pairs
    causal = oracle.causal_mask(*call.lengths, subject.implementation.causal)
    kept = rest & causal if call.causal else rest
    maps = {name: pairs & kept for name, pairs in wrong_maps(call).items()}
    pairs = oracle.block_pairs(call.blocks, *call.lengths, call.block)
    maps |= {"causality ignored": pairs & rest} if call.causal else {}
    maps |= {"mask_mod ignored in its blocks": pairs} if call.pairs is not None else {}
    found = {name: subject.truth(call, one).out for name, one in maps.items() if (one != mask).any()}
    found |= wrong_scales(subject, call, mask)
    if call.bias is not None:
        found["score_mod ignored"] = subject.truth(call.with_(bias=None), mask).out
        found["score_mod before the scale"] = subject.truth(call.with_(bias=subject.scale(call) * call.bias), mask).out
    return found


check = partial(check_call, lambda subject, call: null_models(subject, call, subject.mask(call)))
"""One call agrees with the truth, with the null models of this contract."""


# --- laws ---------------------------------------------------------------------------------------------------


def blocks_of_a_map_agree_with_the_truth(subject: BlockSubject, case: ParameterCase) -> None:
    """A query attends to the keys of its map's blocks, of its own sequence and head, and to no others.

    Formula: |o_i - softmax over { j : M[i // b_q, j // b_kv] } of (scale q_i . k_j) v_j| <= E_o
    Source: derivations/features.md (block-map); Child et al., "Sparse Transformers" (2019)
    Fault: map_ignored
    """
    check(subject, case, subject.draw(case), "out under a map of blocks", "blocks_of_a_map_agree_with_the_truth")


def short_last_blocks_are_attended_whole(subject: BlockSubject, case: ParameterCase) -> None:
    """Lengths that blocks do not divide: the last block of queries or keys has as many rows as are left, and no more.

    Formula: |o - t| <= E_o for n_q mod b_q and n_kv mod b_kv in 1 .. b - 1
    Source: thunlp/TritonBench, attention_llama.py (padded keys keep the weight exp(0))
    Fault: short_last_block_dropped
    """
    block = subject.block(case)
    if not any(case[n] % b for n, b in zip(("n_q", "n_kv"), block, strict=True)):
        raise NotApplicable
    law = "short_last_blocks_are_attended_whole"
    what = f"out of {case['n_q']} queries and {case['n_kv']} keys"
    check(subject, case, subject.draw(case), what, law, about=SHORT)


def rows_without_any_block_are_as_declared(subject: BlockSubject, case: ParameterCase) -> None:
    """A block of queries whose row of the map is empty gives what --dead-rows says, beside rows that attend.

    Formula: M[r, :] = 0 implies o_i = 0 (or as declared) for i // b_q = r
    Source: derivations/features.md (block-map); pytorch/pytorch#141126
    Fault: dead_rows_are_means
    """
    if subject.implementation.dead_rows == "unspecified":
        raise NotApplicable("dead_rows=unspecified is declared")
    call = _with_empty_rows(case, subject.draw(case))
    judged, mean = subject.judge(case, call), call.value.mean(axis=2, keepdims=True)
    group = call.query.shape[1] // call.key.shape[1]
    none = judged.truth.dead[..., None]
    nulls = {"dead rows are means": np.where(none, np.repeat(mean, group, 1), judged.truth.out)}
    nulls["dead rows are NaN"] = np.where(none, np.nan, judged.truth.out)
    nulls["dead rows are zeros"] = np.where(none, 0.0, judged.truth.out)
    count_power(subject, "rows_without_any_block_are_as_declared", nulls, judged)
    compare(subject, case, subject.attend(case, call), judged, "out of rows of which some have no block")


def _with_empty_rows(case: ParameterCase, call: BlockCall) -> BlockCall:
    """The call with about half of the rows of its map empty, one of them in every head."""
    rng, blocks = case.rng("dead"), call.blocks.copy()
    dead = rng.random(blocks.shape[:-1]) < 0.5
    dead[..., int(rng.integers(blocks.shape[-2]))] = True
    blocks[dead] = False
    changed: BlockCall = call.with_(blocks=blocks)
    return changed


def every_head_has_its_own_map(subject: BlockSubject, case: ParameterCase) -> None:
    """Sequences and heads have maps of their own, also where several query heads share a key head.

    Formula: o_bh depends on M_bh, and on no other map
    Source: Guo et al., Block-Sparse-Attention, base_blockmask (B, H, rows, columns); Jiang et al., MInference (2024)
    Fault: map_of_the_first_head
    """
    if not {"b", "h"} & set(subject.map_axes):
        raise NotApplicable("one map is that of all sequences and heads")
    call = subject.draw(case)
    judged, blocks = subject.judge(case, call), call.blocks
    maps = {"map of the next sequence": np.roll(blocks, 1, 0), "map of the next head": np.roll(blocks, 1, 1)}
    maps |= {"map of the first sequence": blocks[:1], "map of the first head": blocks[:, :1]}
    maps = {name: np.broadcast_to(x, blocks.shape) for name, x in maps.items() if (x != blocks).any()}
    nulls = {name: subject.truth(call, subject.mask(call.with_(blocks=x))).out for name, x in maps.items()}
    count_power(subject, "every_head_has_its_own_map", nulls, judged)
    compare(subject, case, subject.attend(case, call), judged, "out of heads with maps of their own")


def causality_holds_within_blocks(subject: BlockSubject, case: ParameterCase) -> None:
    """A causal call leaves out later keys of the blocks that the map allows, and attends to no further block.

    Formula: j attended by i iff M[i // b_q, j // b_kv] and j <= i + o
    Source: derivations/features.md (block-map); Guo et al., Block-Sparse-Attention, is_causal
    Fault: causality_ignored
    """
    if "causal" not in subject.roles and not subject.implementation.always_causal:
        raise NotApplicable("it has no parameter for causality")
    case = case.with_(options={**case.options, "causal": True})
    law = "causality_holds_within_blocks"
    check(subject, case, subject.draw(case), "out of a causal call", law, about=["causality ignored"])


def a_scale_that_is_given_counts_under_a_map(subject: BlockSubject, case: ParameterCase) -> None:
    """A scale that is given takes the place of the usual one, 0 and 1 included.

    Formula: s_ij = c q_i . k_j for the scale c
    Source: parameter softmax_scale of every library
    Fault: given_scale_ignored
    """
    if "scale" not in subject.roles:
        raise NotApplicable("it takes no scale")
    scale = float(case.rng("scale").choice([0.3, 1.0, 0.0, -0.5]))
    case = case.with_(options={**case.options, "scale": scale})
    law, what = "a_scale_that_is_given_counts_under_a_map", f"out of a call with scale {scale:g}"
    check(subject, case, subject.draw(case), what, law, about=["scale ignored", "scaled twice"])


def many_blocks_are_attended_whole(subject: BlockSubject, case: ParameterCase) -> None:
    """Rows of dozens of blocks, all of them or most, are attended to the last one.

    Formula: |o - t| <= E_o for 17 to 40 blocks in a row of the map
    Source: lists of blocks of a fixed length; mit-han-lab/Block-Sparse-Attention
    Fault: sixteen_blocks_at_most
    """
    share = float(case.rng("share").choice([0.7, 0.9, 1.0]))
    call = subject.draw(case.with_(options={**case.options, "share": share}))
    law, what = "many_blocks_are_attended_whole", f"out under a map of {call.blocks.shape[-1]} blocks a row"
    check(subject, case, call, what, law, about=["first block left out", "last block left out"])


def large_scores_of_attended_blocks_stay_numbers(subject: BlockSubject, case: ParameterCase) -> None:
    """Scores of several hundred neither overflow nor vanish, whichever block holds a row's largest one.

    Formula: |o - t| <= E_o for scores far above log of the largest number, of either sign
    Source: derivations/online_softmax.md (shift); exp(s) without the row's maximum
    Fault: maximum_not_subtracted
    """
    call = subject.draw(case)
    query = round_to(call.query * factor_of_far(case), case.dtype)
    check(subject, case, call.with_(query=query), "out of large scores under a map")


def keys_outside_the_blocks_do_not_matter(subject: BlockSubject, case: ParameterCase) -> None:
    """Huge numbers, and NaN where that is declared, in a block of keys that no query attends change nothing.

    Formula: f(q, k', v', M) = f(q, k, v, M) where M[:, c] = 0 and k', v' differ in column c alone
    Source: derivations/features.md (block-map): the factor of these keys is 0
    Fault: other_blocks_weigh_little
    """
    call, rng = subject.draw(case), case.rng("poison")
    columns = call.blocks.shape[-1]
    if columns < 2:
        raise NotApplicable
    blocks, gone = call.blocks.copy(), int(rng.integers(columns))
    blocks[..., (gone + 1) % columns] |= ~np.delete(blocks, gone, axis=-1).any(axis=-1)
    blocks[..., gone] = False
    call = call.with_(blocks=blocks)
    nan = subject.implementation.masked_nan == "ignored" and case.seed % 3
    poison = np.nan if nan else round_to(np.asarray(HUGE.get(case.dtype, 1e30)), case.dtype).item()
    key, value = call.key.copy(), call.value.copy()
    keys = slice(gone * call.block[1], (gone + 1) * call.block[1])
    key[:, :, keys] = value[:, :, keys] = poison
    what = f"out beside a block of {poison:g} that is not attended"
    check(subject, case, call, what, sent=call.with_(key=key, value=value))


def another_map_of_the_same_shape_is_read_anew(subject: BlockSubject, case: ParameterCase) -> None:
    """A second call with another map of the same shape has the second map's output.

    Formula: f(x, M') after f(x, M) is the attention under M'
    Source: plans and lists of blocks that are kept by the shape of a map (flashinfer-ai/flashinfer, plan and run)
    Fault: first_map_kept
    """
    first, second = subject.draw(case), subject.draw(case, " again")
    if first.blocks.shape != second.blocks.shape:  # FlexAttention's maps may be those of all sequences or heads
        first, second = (call.with_(blocks=call.blocks[:1, :1]) for call in (first, second))
    judged = subject.judge(case, second)
    kept = {"the first call's map": subject.truth(second, subject.mask(second.with_(blocks=first.blocks))).out}
    count_power(subject, "another_map_of_the_same_shape_is_read_anew", kept, judged)
    earlier = subject.attend(case, first)
    out = subject.attend(case, second)
    with after([earlier]):
        compare(subject, case, out, judged, "out of a second call with another map")


def arrays_are_read_by_their_strides(subject: BlockSubject, case: ParameterCase) -> None:
    """Query, key, value and map may be views of larger or turned memory.

    Formula: f(views of x, view of M) = f(x, M)
    Source: heads split by a transpose; a map made by a transpose or cut out of a larger one
    Fault: map_read_in_order
    """
    view, map_view = draw_views(case)
    law = "arrays_are_read_by_their_strides"
    what = f"out of arrays whose memory is {view.replace('_', ' ')}, under a map whose memory is {map_view}"
    call = subject.draw(case)
    if not subject.is_flex:
        call = call.with_(blocks=repeat_rows(call.blocks, map_view))
    about = ["map ignored", "map one block late"]
    check(subject, case, call, what, law, about=about, view=view, map_view=map_view)


def a_mask_mod_holds_within_blocks(subject: BlockSubject, case: ParameterCase) -> None:
    """A mask_mod that is not made of whole blocks is applied pair by pair.

    Formula: j attended by i iff M[i // b_q, j // b_kv] and m(b, h, i, j)
    Source: Dong et al., "Flex Attention" (2024), partial blocks; pytorch/pytorch#141126
    Fault: whole_blocks_of_a_mask_mod
    """
    if not subject.is_flex:
        raise NotApplicable("it takes no mask_mod")
    call, rng = subject.draw(case), case.rng("pairs")
    n_q, n_kv = call.lengths
    pairs = rng.random((n_q, n_kv)) < 0.6 if case.seed % 2 else oracle.causal_mask(n_q, n_kv, "bottom_right")
    law, about = "a_mask_mod_holds_within_blocks", ["mask_mod ignored in its blocks"]
    check(subject, case, call.with_(pairs=pairs), "out under a mask_mod", law, about=about)


def a_score_mod_is_added_to_scaled_scores(subject: BlockSubject, case: ParameterCase) -> None:
    """What a score_mod gives stands for the scaled score, head by head, under the map.

    Formula: s_ij = scale q_i . k_j + t(b, h, i, j) where the map allows (i, j)
    Source: Dong et al., "Flex Attention" (2024), eq. of score_mod
    Fault: score_mod_before_the_scale
    """
    if "score_mod" not in subject.roles:
        raise NotApplicable("it takes no score_mod")
    call = subject.draw(case)
    bias = 2 * case.values("bias", 1, call.query.shape[1], *call.lengths)
    law, about = "a_score_mod_is_added_to_scaled_scores", ["score_mod ignored", "score_mod before the scale"]
    check(subject, case, call.with_(bias=bias), "out with a score_mod", law, about=about)


def gradients_under_a_map_are_true(subject: BlockSubject, case: ParameterCase) -> None:
    """Gradients of query, key and value are those of attention in the allowed blocks; no other pair gets any.

    A kernel that carries no gradient is left out, and the report says so. Where rows without any key are declared as
    zeros, about half of the cases have some: they pass no gradient, and no NaN to the keys that others attend.

    Formula: |d_x' - d_x| <= E_x for x of query, key, value
    Source: derivations/softmax_backward.md (d-query, d-key, d-value)
    Fault: backward_ignores_the_map
    """
    call, zeros = subject.draw(case), subject.implementation.dead_rows == "zeros"
    call = _with_empty_rows(case, call) if zeros and case.seed % 2 else call
    judged = subject.judge(case, call)
    if judged.truth.dead.any() and not zeros:
        raise NotApplicable
    compare_gradients(subject, case, call, judged)


def _differentiable(implementation: Implementation) -> bool:
    return implementation.gradients and implementation.array == "torch"


def _few_heads(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """Dozens of small blocks in a row of the map."""
    return {**sizes, "k_block": int(rng.integers(1, 4)), "n_kv": int(rng.integers(52, 80)), "q_block": 3}


def _short_ends(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """Lengths of which one at least is not a multiple of its block."""
    longer = {f"{x}_block": int(rng.integers(3, 9)) for x in "qk"}
    ends = {n: int(rng.integers(1, 4)) * longer[b] + int(rng.integers(1, longer[b])) for n, b in
            (("n_q", "q_block"), ("n_kv", "k_block"))}  # fmt: skip
    return {**sizes, **longer, **ends}


def _as_many(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """As many queries as keys, in most cases."""
    return {**sizes, "n_kv": sizes["n_q"]} if rng.random() < 0.7 else sizes


RANGES = {
    "B": (1, 3), "H_kv": (1, 3), "group": (1, 1), "q_block": (1, 5), "k_block": (1, 5), "n_q": (1, 18), "n_kv": (2, 18),
    "d": (1, 8), "d_v": (1, 8),
}  # fmt: skip
MODELS = {"d": (32, 64), "d_v": (32, 64), "q_block": (16, 16), "k_block": (8, 16), "n_q": (33, 70), "n_kv": (33, 70)}
OPTIONS = {"causal": (False, False, True), "share": (0.3, 0.5, 0.7)}
SPACE = Sizes(RANGES, OPTIONS, adjust=as_in_models(MODELS))
SMALL = Sizes(RANGES, OPTIONS, adjust=count_many(share=0.15))
FAR_SPACE = replace(SMALL, options={**SMALL.options, **FAR_SCORES})
PLAIN = Sizes(RANGES, {"share": (0.3, 0.5)})
ENDS = Sizes(RANGES, OPTIONS, adjust=_short_ends)
HEADS = Sizes(
    {**RANGES, "B": (1, 3), "H_kv": (1, 5), "group": (1, 8), "n_q": (2, 9), "n_kv": (4, 12)},
    {"share": (0.4,), **APART}, adjust=share_heads(share=0.6),
)  # fmt: skip
GRADED = Sizes({**RANGES, "H_kv": (1, 5)}, {"share": (0.3, 0.5)}, adjust=share_heads(share=0.7))
MANY = Sizes({**RANGES, "B": (1, 1), "H_kv": (1, 2), "n_kv": (17, 80)}, adjust=_few_heads)
VIEWS = Sizes(
    {
        **RANGES, "B": (2, 3), "H_kv": (2, 5), "group": (1, 8), "n_q": (4, 12), "n_kv": (4, 12), "d": (2, 8),
        "d_v": (2, 8),
    },
    adjust=share_heads(share=0.4),
)  # fmt: skip
CAUSAL = Sizes({**RANGES, "n_q": (3, 18)}, adjust=_as_many)
ROW: dict[str, Any] = {"contract": CONTRACT, "family": "block_mask", "large": 8, "small": 0, "space": SMALL}
LAWS = (
    Law(blocks_of_a_map_agree_with_the_truth, **{**ROW, "large": 24, "space": SPACE}, central=True),
    Law(short_last_blocks_are_attended_whole, **{**ROW, "large": 12, "space": ENDS}),
    Law(rows_without_any_block_are_as_declared, **ROW),
    Law(every_head_has_its_own_map, **{**ROW, "large": 16, "space": HEADS}),
    Law(causality_holds_within_blocks, **{**ROW, "space": CAUSAL}),
    Law(a_scale_that_is_given_counts_under_a_map, **ROW),
    Law(many_blocks_are_attended_whole, **{**ROW, "large": 6, "space": MANY}),
    Law(large_scores_of_attended_blocks_stay_numbers, **{**ROW, "large": 12, "space": FAR_SPACE}),
    Law(keys_outside_the_blocks_do_not_matter, **ROW),
    Law(another_map_of_the_same_shape_is_read_anew, **ROW),
    Law(arrays_are_read_by_their_strides, **{**ROW, "large": 16, "space": VIEWS}),
    Law(a_mask_mod_holds_within_blocks, **{**ROW, "space": PLAIN}),
    Law(a_score_mod_is_added_to_scaled_scores, **{**ROW, "space": PLAIN}),
    Law(
        gradients_under_a_map_are_true, **{**ROW, "large": 12, "space": GRADED}, declares=_differentiable,
        because="gradients are not declared, or not of torch's arrays", absent="gradients are not tested",
    ),
)  # fmt: skip
COMPARISONS = (
    "short_last_blocks_are_attended_whole", "rows_without_any_block_are_as_declared", "every_head_has_its_own_map",
    "causality_holds_within_blocks", "a_scale_that_is_given_counts_under_a_map", "many_blocks_are_attended_whole",
    "large_scores_of_attended_blocks_stay_numbers", "keys_outside_the_blocks_do_not_matter",
    "another_map_of_the_same_shape_is_read_anew",
    "arrays_are_read_by_their_strides", "a_mask_mod_holds_within_blocks", "a_score_mod_is_added_to_scaled_scores",
    "gradients_under_a_map_are_true",
)  # fmt: skip
