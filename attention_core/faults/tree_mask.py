"""Faults of attention in a tree of draft tokens, one each: token by token with one step replaced.

`build()` gives f(query, key, value, parents, context_lens, scale); `by_mask()` takes a mask (B, n, n) instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases.one_row import read_behind_the_row
from attention_core.faults.row import row

Attend = Callable[..., Any]


# --- steps -----------------------------------------------------------------------------


def path(parents: list[int], i: int) -> list[int]:
    """A token and its ancestors, from the root on."""
    found: list[int] = []
    while i >= 0:
        found, i = [i, *found], parents[i]
    return found


def weigh(scores: Tensor, v: Tensor, context: int) -> Tensor:
    """Attention of one token to the keys that it sees, those of the context first."""
    return scores.softmax(-1) @ v


def read_tree(parents: Tensor, b: int) -> list[int]:
    """The parents of a sequence."""
    found: list[int] = parents[b].tolist()
    return found


STEPS: dict[str, Callable[..., Any]] = {
    "path": path, "weigh": weigh, "read_tree": read_tree,
    "context": lambda ends, b: range(int(ends[b])), "behind": lambda ends, b: int(ends[b]),
    "scaled": lambda scale, d: d**-0.5 if scale is None else scale,
    "key_head": lambda h, heads, kv_heads: h // (heads // kv_heads),
    "widen": lambda x: x.to(torch.promote_types(x.dtype, torch.float32)),
}  # fmt: skip


def build(**replaced: Callable[..., Any]) -> Attend:
    """Attention in a tree of draft tokens, with some steps replaced."""
    step = STEPS | replaced

    def attend(
        query: Tensor, key: Tensor, value: Tensor, parents: Tensor, context_lens: Tensor | None = None,
        scale: float | None = None,
    ) -> Tensor:  # fmt: skip
        (B, H, n, d), n_kv = query.shape, key.shape[2]
        q, k, v = (step["widen"](x) for x in (query, key, value))
        ends = torch.full((B,), n_kv - n) if context_lens is None else context_lens
        out = q.new_zeros(B, H, n, value.shape[3])
        for b in range(B):
            tree, start = step["read_tree"](parents, b), step["behind"](ends, b)
            context = [*step["context"](ends, b)]
            for i in range(n):
                at = torch.tensor([*context, *(start + j for j in step["path"](tree, i))])
                for h in range(H):
                    g = step["key_head"](h, H, key.shape[1])
                    scores = step["scaled"](scale, d) * (k[b, g, at] @ q[b, h, i])
                    out[b, h, i] = step["weigh"](scores, v[b, g, at], len(context))
        return out.to(query.dtype)

    return attend


def by_mask(read: Callable[[Tensor], Tensor] = lambda mask: mask, fill: float = -torch.inf) -> Attend:
    """Attention under a mask (B, n, n) of draft tokens behind the context; what it hides gets `fill` added."""

    def attend(
        query: Tensor, key: Tensor, value: Tensor, tree_mask: Tensor, scale: float | None = None
    ) -> Tensor:  # fmt: skip
        wide = torch.promote_types(query.dtype, torch.float32)
        group = query.shape[1] // key.shape[1]
        k, v = (x.to(wide).repeat_interleave(group, 1) for x in (key, value))
        scores = (query.to(wide) @ k.mT) * (query.shape[-1] ** -0.5 if scale is None else scale)
        tree = read(tree_mask)
        context = torch.ones(len(tree), tree.shape[1], key.shape[2] - tree.shape[2], dtype=torch.bool)
        seen = torch.cat([context, tree], -1)[:, None]
        scores = scores + torch.where(seen, 0.0, fill).to(wide)
        return (scores.softmax(-1) @ v).to(query.dtype)

    return attend


# --- the tree --------------------------------------------------------------------------


def tree_taken_for_causal() -> Attend:
    """Every draft token sees all before it, other branches included (sgl-project/sglang-jax PR1569)."""
    return build(path=lambda parents, i: [*range(i + 1)])


def all_draft_tokens_seen() -> Attend:
    """The draft tokens are masked not at all (vllm-project/speculators PR897)."""
    return build(path=lambda parents, i: [*range(len(parents))])


def parent_alone() -> Attend:
    """A token sees its parent and itself, and no earlier ancestor."""
    return build(path=lambda parents, i: path(parents, i)[-2:])


def itself_left_out() -> Attend:
    """A token below a root sees its ancestors and not itself."""
    return build(path=lambda parents, i: path(parents, i)[:-1] or [i])


def root_left_out() -> Attend:
    """The walk to the root stops at its child: `while parents[i] > 0`."""
    return build(path=lambda parents, i: [j for j in path(parents, i) if parents[j] >= 0] or [i])


def descendants_seen() -> Attend:
    """The mask is read with rows for columns."""
    return build(path=lambda parents, i: [j for j in range(len(parents)) if i in path(parents, j)])


def siblings_seen() -> Attend:
    """A token sees the other children of its parent that come before it."""

    def family(parents: list[int], i: int) -> list[int]:
        return sorted({*path(parents, i), *(j for j in range(i) if parents[j] == parents[i])})

    return build(path=family)


def eight_ancestors_at_most() -> Attend:
    """The walk to the root takes eight steps at most (krishichawda/FST-Attention, MAX_ANCESTORS)."""
    return build(path=lambda parents, i: path(parents, i)[-9:])


def tokens_beyond_32_unseen() -> Attend:
    """The mask of a token is one number of 32 bits: later ancestors are lost (NVIDIA/TensorRT-LLM PR13006)."""
    return build(path=lambda parents, i: [j for j in path(parents, i) if j < 32] or [i])


def tokens_beyond_64_wrap() -> Attend:
    """The bit of a token is its number modulo 64."""

    def wrapped(parents: list[int], i: int) -> list[int]:
        bits = {j % 64 for j in path(parents, i)}
        return [j for j in range(len(parents)) if j % 64 in bits and j <= i]

    return build(path=wrapped)


def first_token_is_everyones_root() -> Attend:
    """Column 0 of the mask is switched on: other roots see the first token."""
    return build(path=lambda parents, i: sorted({0, *path(parents, i)}))


def tree_of_the_first_sequence() -> Attend:
    """All sequences have the first one's tree."""
    return build(read_tree=lambda parents, b: read_tree(parents, 0))


def tree_of_the_next_sequence() -> Attend:
    """Sequences have the tree of their neighbour."""
    return build(read_tree=lambda parents, b: read_tree(parents, b - 1))


def first_tree_kept() -> Attend:
    """The tree of the first call of a size serves all later ones."""
    kept: dict[Any, Tensor] = {}
    return build(read_tree=lambda parents, b: read_tree(kept.setdefault(tuple(parents.shape), parents.clone()), b))


def tree_read_in_order() -> Attend:
    """A tree that is a view is read as if it were whole (NVIDIA/TensorRT-LLM PR13006)."""

    def flat(mask: Tensor) -> Tensor:
        own = mask if mask.is_contiguous() else mask.as_strided(mask.shape, torch.empty(mask.shape).stride(), 0)
        return own | torch.eye(mask.shape[-1], dtype=torch.bool)

    return by_mask(flat)


def other_branches_weigh_little() -> Attend:
    """Tokens of other branches get -10,000 added: a huge one comes through."""
    return by_mask(fill=-1e4)


def mask_added_as_a_number() -> Attend:
    """The mask, 1 and 0, is added to the scores (vllm-project/speculators PR897)."""

    def attend(query: Tensor, key: Tensor, value: Tensor, tree_mask: Tensor) -> Tensor:
        group = query.shape[1] // key.shape[1]
        k, v = (x.repeat_interleave(group, 1) for x in (key, value))
        scores = query @ k.mT * query.shape[-1] ** -0.5
        scores[..., key.shape[2] - query.shape[2] :] += tree_mask[:, None].to(scores.dtype)
        return scores.softmax(-1) @ v

    return attend


# --- the context -----------------------------------------------------------------------


def context_left_out() -> Attend:
    """The draft tokens alone are attended to."""
    return build(context=lambda ends, b: range(0))


def last_key_of_the_context_left_out() -> Attend:
    """The context ends one key early."""
    return build(context=lambda ends, b: range(max(int(ends[b]) - 1, 0)))


def tree_at_the_front() -> Attend:
    """The tree is that of the first keys, and the context stands behind it."""

    def moved(query: Tensor, key: Tensor, value: Tensor, parents: Tensor, scale: float | None = None) -> Tensor:
        n = query.shape[2]
        key, value = (torch.cat([x[:, :, n:], x[:, :, :n]], 2) for x in (key, value))
        out: Tensor = build()(query, key, value, parents, None, scale)
        return out

    return moved


def context_of_the_longest() -> Attend:
    """Every sequence has as long a context as the longest, whose tail is padding; its draft tokens are found."""
    return build(context=lambda ends, b: range(int(ends.max())))


def draft_tokens_behind_the_longest() -> Attend:
    """The draft tokens of every sequence are looked for behind the longest context."""
    return build(behind=lambda ends, b: int(ends.max()))


def blocks_below_the_diagonal_unmasked() -> Attend:
    """Blocks of 16 keys that lie below the causal diagonal are not masked (PaddlePaddle/FastDeploy PR3514)."""

    def attend(query: Tensor, key: Tensor, value: Tensor, tree_mask: Tensor) -> Tensor:
        n, context = query.shape[2], key.shape[2] - query.shape[2]
        whole = (torch.arange(n) + context) // 16 * 16  # keys of blocks before that of the token
        unmasked = torch.arange(context, context + n) < whole[:, None]
        out: Tensor = by_mask()(query, key, value, tree_mask | unmasked)
        return out

    return attend


# --- weights, heads, scale -------------------------------------------------------------


def maximum_of_the_context_alone() -> Attend:
    """The largest score is looked for in the context: a draft token's may overflow."""

    def lowered(scores: Tensor, v: Tensor, context: int) -> Tensor:
        top = scores[:context].max() if context else 0.0
        weights = (scores - top).exp()
        return weights @ v / weights.sum()

    return build(weigh=lowered)


def parts_averaged() -> Attend:
    """Context and tree are attended to apart, and their outputs averaged without their log-sum-exps."""

    def halves(scores: Tensor, v: Tensor, context: int) -> Tensor:
        parts = [x for x in ((scores[:context], v[:context]), (scores[context:], v[context:])) if len(x[0])]
        outs = [s.softmax(-1) @ own for s, own in parts]
        return torch.stack(outs).mean(0)

    return build(weigh=halves)


def key_heads_in_turn() -> Attend:
    """Query head h has the key head h mod H_kv."""
    return build(key_head=lambda h, heads, kv_heads: h % kv_heads)


def given_scale_ignored() -> Attend:
    """Scores are always divided by sqrt(d)."""
    return build(scaled=lambda scale, d: d**-0.5)


def scale_of_zero_taken_for_none() -> Attend:
    """`scale or d**-0.5`."""
    return build(scaled=lambda scale, d: scale or d**-0.5)


def key_heads_of_large_groups_in_turn() -> Attend:
    """Query head h has the key head h mod H_kv where three or more share one."""
    return build(key_head=lambda h, heads, keys: h % keys if heads >= 3 * keys else h // (heads // keys))


def trees_behind_the_first() -> Attend:
    """Parents that are expanded from those of one sequence are read as if each sequence had memory of its own."""

    def limited(parents: list[int], i: int) -> list[int]:
        return path([min(parent, child - 1) for child, parent in enumerate(parents)], i)  # parents come first

    return build(read_tree=lambda parents, b: read_tree(read_behind_the_row(parents), b), path=limited)


FAULTY = (
    tree_taken_for_causal, all_draft_tokens_seen, parent_alone, itself_left_out, root_left_out, descendants_seen,
    siblings_seen, eight_ancestors_at_most, tokens_beyond_32_unseen, tokens_beyond_64_wrap,
    first_token_is_everyones_root, tree_of_the_first_sequence, tree_of_the_next_sequence, first_tree_kept,
    tree_read_in_order, other_branches_weigh_little, mask_added_as_a_number, context_left_out,
    last_key_of_the_context_left_out, tree_at_the_front, context_of_the_longest, draft_tokens_behind_the_longest,
    blocks_below_the_diagonal_unmasked, maximum_of_the_context_alone, parts_averaged, key_heads_in_turn,
    given_scale_ignored, scale_of_zero_taken_for_none,
    key_heads_of_large_groups_in_turn, trees_behind_the_first,
)  # fmt: skip
ROWS = tuple(row(fault, "law", contract="tree-mask", accumulate="float32") for fault in FAULTY)
