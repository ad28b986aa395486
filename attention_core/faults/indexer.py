"""Faults of indexers, one each: the choice of keys with one step replaced.

`build()` gives f(q, k, weights, topk, is_causal, lengths) as DeepSeek's lightning indexer is called, `of_scores()` a
function f(scores, topk, is_causal, lengths) of scores that are there already.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.row import row

Choose = Callable[..., Any]


# --- steps -----------------------------------------------------------------------------


def score(q: Tensor, k: Tensor, weights: Tensor) -> Tensor:
    """s_ij = sum_h w_ih max(q_ih . k_j, 0), (B, n_q, n_kv), in float32 at least."""
    wide = torch.promote_types(q.dtype, torch.float32)
    products = torch.einsum("bqhd,bkd->bqhk", q.to(wide), k.to(wide))
    return torch.einsum("bqh,bqhk->bqk", weights.to(wide), products.relu())


def see(n_q: int, n_kv: int, is_causal: bool, lengths: Tensor | None) -> Tensor:
    """The keys that may be chosen, bool (B or 1, n_q, n_kv): the queries are the last tokens."""
    seen = torch.ones(1, n_q, n_kv, dtype=torch.bool)
    if is_causal:
        seen = seen.tril(n_kv - n_q)
    if lengths is not None:
        seen = seen & (torch.arange(n_kv) < lengths[:, None, None])
    return seen


def pick(scores: Tensor, seen: Tensor, topk: int) -> Tensor:
    """The indices of the highest scores, and -1 behind them."""
    values, indices = scores.masked_fill(~seen, -torch.inf).topk(min(topk, scores.shape[-1]), -1)
    return torch.where(values == -torch.inf, -1, indices)


STEPS: dict[str, Callable[..., Any]] = {
    "score": score, "see": see, "pick": pick, "read": lambda scores: scores, "done": lambda indices: indices,
    "end": lambda indices, scores, seen: indices,
}  # fmt: skip


def of_scores(**replaced: Callable[..., Any]) -> Choose:
    """A choice by scores, with some steps replaced."""
    step = STEPS | replaced

    def choose(scores: Tensor, topk: int, is_causal: bool = False, lengths: Tensor | None = None) -> Tensor:
        scores = step["read"](scores)
        seen = step["see"](*scores.shape[1:], is_causal, lengths).expand(scores.shape)
        indices: Tensor = step["done"](step["end"](step["pick"](scores, seen, topk), scores, seen))
        return indices

    return choose


def build(**replaced: Callable[..., Any]) -> Choose:
    """A lightning indexer, with some steps replaced."""
    step = STEPS | replaced

    def choose(
        q: Tensor, k: Tensor, weights: Tensor, topk: int, is_causal: bool = False, lengths: Tensor | None = None
    ) -> Tensor:
        indices: Tensor = of_scores(**replaced)(step["score"](q, k, weights), topk, is_causal, lengths)
        return indices

    return choose


# --- scores ----------------------------------------------------------------------------


def rectifier_left_out() -> Choose:
    """Products below 0 count, too."""
    return build(score=lambda q, k, w: torch.einsum("bqh,bqhd,bkd->bqk", w.double(), q.double(), k.double()))


def rectified_behind_the_sum() -> Choose:
    """The rectifier takes the sum over heads."""
    return build(score=lambda q, k, w: torch.einsum("bqh,bqhd,bkd->bqk", w.double(), q.double(), k.double()).relu())


def heads_not_weighed() -> Choose:
    """Heads are added up without their weights."""
    return build(score=lambda q, k, w: score(q, k, torch.ones_like(w)))


def weights_of_the_next_query() -> Choose:
    """The weights of heads are those of the query before, where there is one."""
    return build(score=lambda q, k, w: score(q, k, torch.cat([w[:, :1], w[:, :-1]], 1)))


def last_head_left_out() -> Choose:
    """The loop over heads ends one early, where there are several."""
    return build(score=lambda q, k, w: score(q, k, w) if q.shape[2] == 1 else score(q[:, :, :-1], k, w[:, :, :-1]))


def scores_of_two_bytes() -> Choose:
    """Queries and keys are rounded to bfloat16 before they meet."""
    return build(score=lambda q, k, w: score(q.bfloat16(), k.bfloat16(), w.float()))


# --- which keys ------------------------------------------------------------------------


def causality_ignored() -> Choose:
    """Later keys are chosen, too."""
    return build(see=lambda n_q, n_kv, is_causal, lengths: see(n_q, n_kv, False, lengths))


def own_key_left_out() -> Choose:
    """A causal query does not see its own key."""

    def before(n_q: int, n_kv: int, is_causal: bool, lengths: Tensor | None) -> Tensor:
        seen = see(n_q, n_kv, is_causal, lengths)
        return seen & torch.ones(n_q, n_kv, dtype=torch.bool).tril(n_kv - n_q - 1) if is_causal else seen

    return build(see=before)


def causality_from_the_first_key() -> Choose:
    """Queries are taken for the first tokens, where they are the last."""

    def first(n_q: int, n_kv: int, is_causal: bool, lengths: Tensor | None) -> Tensor:
        seen = see(n_q, n_kv, False, lengths)
        return seen & torch.ones(n_q, n_kv, dtype=torch.bool).tril() if is_causal else seen

    return build(see=first)


def hidden_scores_are_zero() -> Choose:
    """Hidden keys have the score 0, which is above every score below 0."""

    def zeros(scores: Tensor, seen: Tensor, topk: int) -> Tensor:
        return pick(scores * seen, torch.ones_like(seen), topk)

    return of_scores(pick=zeros)


def lengths_ignored() -> Choose:
    """Keys behind the length of a sequence are chosen, too."""
    return of_scores(see=lambda n_q, n_kv, is_causal, lengths: see(n_q, n_kv, is_causal, None))


def one_key_behind_the_length() -> Choose:
    """The first key behind the length of a sequence counts."""
    return of_scores(
        see=lambda n_q, n_kv, is_causal, lengths: see(n_q, n_kv, is_causal, None if lengths is None else lengths + 1)
    )


def columns_behind_the_keys() -> Choose:
    """Scores fill blocks of eight keys, and the columns behind the last key hold 0."""

    def blocks(scores: Tensor, seen: Tensor, topk: int) -> Tensor:
        more = -scores.shape[-1] % 8
        pad = torch.nn.functional.pad
        return pick(pad(scores, (0, more)), pad(seen, (0, more), value=True), topk)[..., : min(topk, scores.shape[-1])]

    return of_scores(pick=blocks)


# --- choosing --------------------------------------------------------------------------


def lowest_scores_chosen() -> Choose:
    """The lowest scores are taken."""
    return of_scores(pick=lambda scores, seen, topk: pick(-scores, seen, topk))


def bits_compared() -> Choose:
    """Numbers are compared by their bits: those below 0 are above all others, the lowest first."""

    def by_bits(scores: Tensor, seen: Tensor, topk: int) -> Tensor:
        top = scores.abs().max() + 1
        return pick(torch.where(scores < 0, top - scores, scores), seen, topk)

    return of_scores(pick=by_bits)


def halves_share_a_key() -> Choose:
    """The best of both halves of the keys are put together, and the key between them is in both."""

    def halves(scores: Tensor, seen: Tensor, topk: int) -> Tensor:
        n = scores.shape[-1]
        keys = torch.cat([torch.arange(n // 2 + 1), torch.arange(n // 2, n)])
        found = pick(scores[..., keys], seen[..., keys], min(topk, n))
        return torch.where(found < 0, -1, keys[found])

    return of_scores(pick=halves)


def only_scores_above_the_threshold() -> Choose:
    """Keys whose score is above that of the last place are taken, so that equal ones leave places empty."""

    def above(scores: Tensor, seen: Tensor, topk: int) -> Tensor:
        values = scores.masked_fill(~seen, -torch.inf)
        top, found = values.topk(min(topk + 1, scores.shape[-1]), -1)
        kept = (top > top[..., -1:]) if scores.shape[-1] > topk else (top > -torch.inf)
        return torch.where(kept, found, -1)[..., : min(topk, scores.shape[-1])]

    return of_scores(pick=above)


def last_of_equal_scores() -> Choose:
    """Of equal scores the last keys are taken, though the first are promised."""
    return of_scores(pick=lambda scores, seen, topk: pick_stable(scores, seen, topk, last=True))


def pick_stable(scores: Tensor, seen: Tensor, topk: int, last: bool = False) -> Tensor:
    """The indices of the highest scores, of equal ones the first (or the last)."""
    values = scores.masked_fill(~seen, -torch.inf)
    values = values.flip(-1) if last else values
    top, found = values.sort(dim=-1, descending=True, stable=True)
    found = scores.shape[-1] - 1 - found if last else found
    topk = min(topk, scores.shape[-1])
    return torch.where(top == -torch.inf, -1, found)[..., :topk]


def one_key_too_few() -> Choose:
    """The last place stays empty, where there are several."""

    def fewer(indices: Tensor, scores: Tensor, seen: Tensor) -> Tensor:
        if indices.shape[-1] > 1:
            indices[..., -1] = -1
        return indices

    return of_scores(end=fewer)


def last_key_left_out() -> Choose:
    """The last key is never looked at, where there are several."""

    def without(scores: Tensor, seen: Tensor, topk: int) -> Tensor:
        n = scores.shape[-1]
        found = pick(scores[..., : max(n - 1, 1)], seen[..., : max(n - 1, 1)], topk)
        return torch.nn.functional.pad(found, (0, min(topk, n) - found.shape[-1]), value=-1)

    return of_scores(pick=without)


def keys_behind_the_first_block_left_out() -> Choose:
    """The first 128 keys are chosen from."""
    return of_scores(
        see=lambda n_q, n_kv, is_causal, lengths: see(n_q, n_kv, is_causal, lengths) & (torch.arange(n_kv) < 128)
    )


def choice_of_the_first_sequence() -> Choose:
    """All sequences have the first one's keys."""
    return of_scores(done=lambda indices: indices[:1].expand(indices.shape).clone())


def choice_of_the_last_query() -> Choose:
    """All queries have the last one's keys."""
    return of_scores(done=lambda indices: indices[:, -1:].expand(indices.shape).clone())


# --- padding, order, memory ------------------------------------------------------------


def rows_are_filled_up_with_the_first_key() -> Choose:
    """Places without a key hold 0."""
    return build(done=lambda indices: indices.clamp(min=0))


def hidden_keys_fill_up() -> Choose:
    """Places without a key hold keys that are hidden, which is what topk of -inf gives."""
    return of_scores(
        pick=lambda scores, seen, topk: scores.masked_fill(~seen, -torch.inf).topk(min(topk, scores.shape[-1])).indices
    )


def order_of_the_heap() -> Choose:
    """The lowest of the chosen scores come first, though the highest are promised there."""
    return of_scores(done=lambda indices: indices.flip(-1))


def first_choice_kept() -> Choose:
    """The choice of the first call of a shape serves all later ones."""
    kept: dict[Any, Tensor] = {}
    return of_scores(done=lambda indices: kept.setdefault(tuple(indices.shape), indices).clone())


def scores_read_in_order() -> Choose:
    """Scores that are a view are read as if they were whole."""

    def flat(scores: Tensor) -> Tensor:
        if scores.is_contiguous():
            return scores
        return scores.as_strided(scores.shape, torch.empty(scores.shape).stride(), 0).nan_to_num(0.0)

    return of_scores(read=flat)


FAULTY = (
    rectifier_left_out, rectified_behind_the_sum, heads_not_weighed, weights_of_the_next_query, last_head_left_out,
    scores_of_two_bytes, causality_ignored, own_key_left_out, causality_from_the_first_key, hidden_scores_are_zero,
    lengths_ignored, one_key_behind_the_length, columns_behind_the_keys, lowest_scores_chosen, bits_compared,
    halves_share_a_key, only_scores_above_the_threshold, last_of_equal_scores, one_key_too_few, last_key_left_out,
    keys_behind_the_first_block_left_out, choice_of_the_first_sequence, choice_of_the_last_query,
    rows_are_filled_up_with_the_first_key, hidden_keys_fill_up, order_of_the_heap, first_choice_kept,
    scores_read_in_order,
)  # fmt: skip
DECLARED = {"last_of_equal_scores": {"ties": "first"}, "order_of_the_heap": {"order": "scores"}}
"""Parameters that a fault declares."""
ROWS = tuple(
    row(fault, "law", contract="indexer", accumulate="float32", parameters=DECLARED.get(fault.__name__, {}))
    for fault in FAULTY
)
