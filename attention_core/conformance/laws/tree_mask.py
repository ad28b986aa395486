"""Laws of draft tokens in a tree: a token attends to the whole context, to its ancestors and to itself alone.

This is how the drafts of speculative decoding are verified in one call. Gradients are not judged.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from attention_core.conformance.budgets.budget import round_to
from attention_core.conformance.cases.counts import count_many, share_heads, single_tokens
from attention_core.conformance.laws.masked_calls import (
    check_call,
    compare,
    count_power,
    draw_views,
    factor_of_far,
    repeat_rows,
    wrong_scales,
)
from attention_core.conformance.subjects.evidence import NotApplicable
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.parameter_case import (
    APART,
    FAR_SCORES,
    ParameterCase,
    Sizes,
    after,
    as_in_models,
    choose_sizes,
)
from attention_core.conformance.subjects.tree_subject import TreeCall, TreeSubject
from attention_core.conformance.worker.exchange import NDArray

CONTRACT = "tree-mask"
GRADIENTS = False
HUGE = {"float16": 1e3}
"""A number far from all others whose products stay finite: 1e30, and less in float16."""
BRANCHES = ("causal instead of the tree", "all draft tokens seen")
"""Null models of calls that see other branches."""


# --- what each law compares ---------------------------------------------------------------------------------


def wrong_trees(call: TreeCall) -> dict[str, NDArray]:
    """Trees of a call that is read wrongly, bool (B, n, n), by what is wrong."""
    tree, n = call.ancestors, call.query.shape[2]
    own = np.broadcast_to(np.eye(n, dtype=bool), tree.shape)
    parent = own | (np.arange(n) == call.parents[..., None])
    return {
        "causal instead of the tree": np.broadcast_to(np.tri(n, dtype=bool), tree.shape),
        "all draft tokens seen": np.ones_like(tree), "no ancestor seen": own, "parent seen alone": parent,
        "the token itself left out": tree & ~own, "descendants instead of ancestors": tree.swapaxes(-1, -2),
        "tree of the next sequence": np.roll(tree, 1, 0), "tree of the first sequence": tree[:1].repeat(len(tree), 0),
        "columns one late": np.roll(tree, 1, -1), "rows one late": np.roll(tree, 1, -2),
        "first token everyone's ancestor": tree | (np.arange(n) == 0),
    }  # fmt: skip


def null_models(subject: TreeSubject, call: TreeCall) -> dict[str, NDArray]:
    """What a call with one thing wrong gives, by the name of what it gets wrong; those that change nothing left out."""
    right = call.ancestors
    found = {
        name: subject.truth_of(call, tree).out for name, tree in wrong_trees(call).items() if (tree != right).any()
    }
    ends = call.contexts
    if call.room:
        contexts = {
            "context left out": 0 * ends, "last key of the context left out": np.maximum(ends - 1, 0),
            "context of the longest": 0 * ends + ends.max(), "context of the first": 0 * ends + ends[0],
        }  # fmt: skip
        for name, other in contexts.items():
            if (other != ends).any():
                found[name] = subject.truth_of(call.with_(contexts=other), right).out
        mask = subject.mask(call)
        front = np.concatenate([mask[..., call.room :], np.ones_like(mask[..., : call.room])], -1)
        found["tree in the first columns"] = subject.truth(call, front).out
    found |= wrong_scales(subject, call, subject.mask(call))
    heads, group = call.query.shape[1], call.query.shape[1] // call.key.shape[1]
    if 1 < group < heads:
        order = np.arange(heads) % call.key.shape[1]
        spread = call.with_(key=call.key[:, order], value=call.value[:, order])
        found["key heads in turn"] = subject.truth(spread, subject.mask(call)).out
    return found


check = partial(check_call, null_models)
"""One call agrees with the truth, with the null models of this contract."""


# --- laws ---------------------------------------------------------------------------------------------------


def draft_tokens_attend_to_context_and_ancestors(subject: TreeSubject, case: ParameterCase) -> None:
    """A draft token attends to all keys of the context, to its ancestors in the tree and to itself, and to no others.

    Formula: |o_i - softmax over context and { j : j = i or j an ancestor of i } of (scale q_i . k_j) v_j| <= E_o
    Source: derivations/chosen_keys.md (tree-path); Miao et al., "SpecInfer" (2024), section 4
    Fault: tree_taken_for_causal
    """
    check(subject, case, subject.draw(case), "out of a tree", "draft_tokens_attend_to_context_and_ancestors")


def every_sequence_has_its_own_tree(subject: TreeSubject, case: ParameterCase) -> None:
    """Sequences of one batch have trees of their own.

    Formula: o_b depends on the parents of sequence b, and on no others
    Source: Li et al., "EAGLE-2" (2024), dynamic draft trees; NVIDIA/TensorRT-LLM PR13006 (strides of packed masks)
    Fault: tree_of_the_first_sequence
    """
    if "b" not in subject.tree_axes or subject.unbatched:
        raise NotApplicable("one tree is that of all sequences")
    law, about = "every_sequence_has_its_own_tree", ("tree of the first sequence", "tree of the next sequence")
    check(subject, case, subject.draw(case), "out of sequences with trees of their own", law, about=about)


def deep_branches_reach_their_root(subject: TreeSubject, case: ParameterCase) -> None:
    """A token dozens of steps below its root attends to every ancestor; a chain is causal attention.

    Formula: |o - t| <= E_o for depths up to 40
    Source: loops over ancestors of a fixed length (krishichawda/FST-Attention, MAX_ANCESTORS)
    Fault: eight_ancestors_at_most
    """
    law, about = "deep_branches_reach_their_root", ("no ancestor seen", "parent seen alone")
    check(subject, case, subject.draw(case), "out of a deep tree", law, about=about)


def trees_of_many_tokens_are_read_whole(subject: TreeSubject, case: ParameterCase) -> None:
    """A tree of more tokens than a number has bits is as right as a small one.

    Formula: |o - t| <= E_o for n from 33 to 80
    Source: masks packed into numbers of 32 or 64 bits; NVIDIA/TensorRT-LLM PR13006
    Fault: tokens_beyond_32_unseen
    """
    law = "trees_of_many_tokens_are_read_whole"
    check(subject, case, subject.draw(case), f"out of {case['n']} draft tokens", law)


def roots_have_no_ancestor(subject: TreeSubject, case: ParameterCase) -> None:
    """Several tokens may follow the context at once: each is a root, and sees no other; there may be no context.

    Formula: parent(i) = -1 implies that i attends to the context and to itself
    Source: Cai et al., "Medusa" (2024), section 2.3.1; sgl-project/sglang-jax PR1569 (branches exclude each other)
    Fault: first_token_is_everyones_root
    """
    if subject.parameters.get("roots") == "one":
        raise NotApplicable("roots=one is declared")
    law, about = "roots_have_no_ancestor", ("first token everyone's ancestor", *BRANCHES)
    check(subject, case, subject.draw(case), "out of several roots", law, about=about)


def the_tree_holds_behind_a_context_of_any_length(subject: TreeSubject, case: ParameterCase) -> None:
    """Contexts of a block of keys, one fewer and one more, leave the tree where it is.

    Formula: |o - t| <= E_o for contexts of 15 .. 17, 31 .. 33, 63 .. 65 and 127 .. 129 keys
    Source: PaddlePaddle/FastDeploy PR3514 (blocks below the causal diagonal are not masked)
    Fault: blocks_below_the_diagonal_unmasked
    """
    contexts = [near + case["context"] - 2 for near in (16, 32, 64, 128)]
    case = choose_sizes(subject.implementation, case, [{"context": c} for c in contexts], case.rng("near"))
    law = "the_tree_holds_behind_a_context_of_any_length"
    check(subject, case, subject.draw(case), f"out after {case['context']} keys", law, about=BRANCHES)


def contexts_have_their_own_lengths(subject: TreeSubject, case: ParameterCase) -> None:
    """The draft tokens of a sequence stand after its own context, whatever other sequences have.

    Formula: keys 1 .. c_b and the tree are attended to in sequence b; numbers after them do not matter
    Source: derivations/features.md (first-keys); sgl-project/sglang-jax#1611 (one length contract)
    Fault: context_of_the_longest
    """
    if not subject.has_lengths:
        raise NotApplicable("contexts have no lengths of their own")
    call = subject.draw(case)
    if (call.contexts == call.room).all():
        raise NotApplicable
    padding = (np.arange(call.key.shape[2]) >= call.contexts[:, None]) & (np.arange(call.key.shape[2]) < call.room)
    sent = poison(subject, case, call, padding)
    law, about = "contexts_have_their_own_lengths", ("context of the longest", "context of the first")
    check(subject, case, call, "out of contexts of several lengths", law, about=about, sent=sent)


def other_branches_do_not_matter(subject: TreeSubject, case: ParameterCase) -> None:
    """Huge numbers in a draft token, and NaN where that is declared, leave the rows as they are that do not see it.

    Formula: o_i(k', v') = o_i(k, v) where k', v' differ in a token that is neither i nor an ancestor of i
    Source: vllm-project/speculators PR897 (additive masks that leave other tokens seen); masks of -1e4
    Fault: other_branches_weigh_little
    """
    call = subject.draw(case)
    hidden = ~call.ancestors
    tokens = np.flatnonzero(hidden.any(axis=(0, 1)))
    gone = int(case.rng("gone").choice(tokens)) if len(tokens) else 0
    rows = hidden[:, :, gone]
    if not rows.any():
        raise NotApplicable
    keys = np.arange(call.key.shape[2]) == call.room + gone
    sent = poison(subject, case, call, np.broadcast_to(keys, (len(rows), len(keys))))
    check(subject, case, call, "out of tokens beside a huge one", sent=sent, where=rows[:, None, :, None])


def large_scores_in_a_tree_stay_numbers(subject: TreeSubject, case: ParameterCase) -> None:
    """Scores of several hundred neither overflow nor vanish, in the context or in the tree.

    Formula: |o - t| <= E_o for scores far above log of the largest number, of either sign
    Source: derivations/online_softmax.md (shift); exp(s) without the row's maximum
    Fault: maximum_of_the_context_alone
    """
    call = subject.draw(case)
    query = round_to(call.query * factor_of_far(case), case.dtype)
    check(subject, case, call.with_(query=query), "out of large scores in a tree")


def another_tree_of_the_same_size_is_read_anew(subject: TreeSubject, case: ParameterCase) -> None:
    """A second call with another tree of as many tokens has the second tree's output.

    Formula: f(x, T') after f(x, T) is the attention in T'
    Source: static trees that are prepared once (FasterDecoding/Medusa, generate_medusa_buffers), and dynamic ones
    Fault: first_tree_kept
    """
    first, second = subject.draw(case), subject.draw(case, " again")
    judged = subject.judge(case, second)
    kept = {"the first call's tree": subject.truth_of(second, first.ancestors).out}
    count_power(subject, "another_tree_of_the_same_size_is_read_anew", kept, judged)
    earlier = subject.attend(case, first)
    out = subject.attend(case, second)
    with after([earlier]):
        compare(subject, case, out, judged, "out of a second call with another tree")


def strides_of_a_tree_are_followed(subject: TreeSubject, case: ParameterCase) -> None:
    """Query, key, value and tree may be views of larger or turned memory.

    Formula: f(views of x, view of T) = f(x, T)
    Source: NVIDIA/TensorRT-LLM PR13006 (the mask's row length is that of a larger buffer)
    Fault: tree_read_in_order
    """
    view, tree_view = draw_views(case)
    what = f"out of arrays whose memory is {view.replace('_', ' ')}, with a tree whose memory is {tree_view}"
    law = "strides_of_a_tree_are_followed"
    about = ("causal instead of the tree", "columns one late", "descendants instead of ancestors")
    call = subject.draw(case)
    call = call.with_(parents=repeat_rows(call.parents, tree_view))
    check(subject, case, call, what, law, about=about, view=view, tree_view=tree_view)


def a_scale_that_is_given_counts_in_a_tree(subject: TreeSubject, case: ParameterCase) -> None:
    """A scale that is given takes the place of the usual one, 0 and 1 included.

    Formula: s_ij = c q_i . k_j for the scale c
    Source: parameter sm_scale of every library
    Fault: given_scale_ignored
    """
    if "scale" not in subject.roles:
        raise NotApplicable("it takes no scale")
    scale = float(case.rng("scale").choice([0.3, 0.0, 1.0, 0.0, -0.5]))
    case = case.with_(options={**case.options, "scale": scale})
    law, what = "a_scale_that_is_given_counts_in_a_tree", f"out of a call with scale {scale:g}"
    check(subject, case, subject.draw(case), what, law, about=("scale ignored", "scaled twice"))


def query_heads_share_key_heads_in_a_tree(subject: TreeSubject, case: ParameterCase) -> None:
    """Where there are fewer key heads, query heads share them one group after the other.

    Formula: query head h attends to key head h // (H / H_kv)
    Source: Ainslie et al., GQA (2023); rows of a tree and heads of a group that are folded into one axis
    Fault: key_heads_in_turn
    """
    law, about = "query_heads_share_key_heads_in_a_tree", ("key heads in turn",)
    check(subject, case, subject.draw(case), "out of shared key heads", law, about=about)


def poison(subject: TreeSubject, case: ParameterCase, call: TreeCall, keys: NDArray) -> TreeCall:
    """The call with huge numbers, or NaN where that is declared, in some keys and values, bool (B, n_kv)."""
    nan = subject.implementation.masked_nan == "ignored" and case.seed % 3
    number = np.nan if nan else round_to(np.asarray(HUGE.get(case.dtype, 1e30)), case.dtype).item()
    changed = {name: np.where(keys[:, None, :, None], number, getattr(call, name)) for name in ("key", "value")}
    poisoned: TreeCall = call.with_(**changed)
    return poisoned


def _many(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """More tokens than a number has bits: beyond 64 once in two."""
    return {**sizes, "n": int(rng.integers(66, 81) if rng.random() < 0.5 else rng.integers(33, 45))}


RANGES = {
    "B": (1, 3), "H_kv": (1, 3), "group": (1, 1), "n": (2, 12), "context": (1, 12), "d": (1, 8), "d_v": (1, 8)
}  # fmt: skip
MODELS = {"d": (32, 64), "d_v": (32, 64), "n": (17, 30), "context": (33, 80)}
SHAPES = {"shape": ("any", "any", "deep")}
SPACE = Sizes({**RANGES, "n": (1, 12)}, SHAPES, adjust=single_tokens(as_in_models(MODELS), 0.1))
SMALL = Sizes({**RANGES, "n": (3, 12)}, SHAPES, adjust=count_many(share=0.15))
FAR_SPACE = replace(SMALL, options={**SMALL.options, **FAR_SCORES})
SEVERAL = Sizes({**RANGES, "B": (2, 3), "n": (4, 12)}, SHAPES)
DEEP = Sizes({**RANGES, "B": (1, 2), "H_kv": (1, 2), "n": (20, 40)}, {"shape": ("deep", "chain")})
MANY = Sizes({**RANGES, "B": (1, 2), "H_kv": (1, 2), "n": (33, 80), "d": (1, 4), "d_v": (1, 4)}, SHAPES, adjust=_many)
ROOTS = Sizes({**RANGES, "context": (0, 4), "n": (3, 12)}, {"shape": ("roots",)})
EDGES = Sizes({**RANGES, "context": (1, 3), "n": (3, 20), "B": (1, 2), "H_kv": (1, 2)}, SHAPES)
HEADS = Sizes({**RANGES, "H_kv": (2, 5), "group": (2, 8)}, {**SHAPES, **APART}, adjust=share_heads())
VIEWS = Sizes({**RANGES, "B": (2, 3), "H_kv": (2, 3), "n": (4, 12), "d": (2, 8), "d_v": (2, 8)}, SHAPES)
ROW: dict[str, Any] = {"contract": CONTRACT, "family": "tree_mask", "large": 8, "small": 0, "space": SMALL}
LAWS = (
    Law(draft_tokens_attend_to_context_and_ancestors, **{**ROW, "large": 20, "space": SPACE}, central=True),
    Law(every_sequence_has_its_own_tree, **{**ROW, "space": SEVERAL}),
    Law(deep_branches_reach_their_root, **{**ROW, "large": 6, "space": DEEP}),
    Law(trees_of_many_tokens_are_read_whole, **{**ROW, "large": 6, "space": MANY}),
    Law(roots_have_no_ancestor, **{**ROW, "space": ROOTS}),
    Law(the_tree_holds_behind_a_context_of_any_length, **{**ROW, "large": 12, "space": EDGES}),
    Law(contexts_have_their_own_lengths, **{**ROW, "space": SEVERAL}),
    Law(other_branches_do_not_matter, **ROW),
    Law(large_scores_in_a_tree_stay_numbers, **{**ROW, "large": 12, "space": FAR_SPACE}),
    Law(another_tree_of_the_same_size_is_read_anew, **{**ROW, "space": SEVERAL}),
    Law(strides_of_a_tree_are_followed, **{**ROW, "large": 14, "space": VIEWS}),
    Law(a_scale_that_is_given_counts_in_a_tree, **{**ROW, "large": 12}),
    Law(query_heads_share_key_heads_in_a_tree, **{**ROW, "large": 16, "space": HEADS}),
)
COMPARISONS = tuple(law.name for law in LAWS[1:])
