"""Faults of mask builders, one each; `KINDS` says which masks each builds.

Each function is one faulty builder; its docstring tells the fault and a thread where people made it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.row import rows


def positions(n_q: int, n_kv: int, align: str) -> tuple[Tensor, Tensor]:
    """Positions of the queries as a column and of the keys as a row."""
    start = 0 if align == "top_left" else n_kv - n_q
    return torch.arange(n_q)[:, None] + start, torch.arange(n_kv)


# --- windows ------------------------------------------------------------------------


def window_one_wider(n_q: int, n_kv: int, W: int, align: str = "top_left") -> Tensor:
    """q - k <= W keeps W + 1 keys (huggingface/transformers#39408, zml/zml PR763, ml-explore/mlx-lm PR390)."""
    i, j = positions(n_q, n_kv, align)
    return (i - j <= W) & (j <= i)


def window_by_triu(n_q: int, n_kv: int, W: int) -> Tensor:
    """triu(diagonal=-W) keeps the key W steps back (huggingface/transformers PR26792, review)."""
    full = torch.ones(n_q, n_kv, dtype=torch.bool)
    return full.tril() & full.triu(-W)


def negative_window_is_everything(n_q: int, n_kv: int, W: int, align: str = "top_left") -> Tensor:
    """A window given as -W excludes nothing, so attention is full causal (proger/hippogriff#7)."""
    i, j = positions(n_q, n_kv, align)
    return (j - i > -n_kv - n_q - W) & (j <= i)


def far_edge_without_offset(n_q: int, n_kv: int, W: int, align: str = "top_left") -> Tensor:
    """The far edge forgets the offset of bottom right, which is not the default (compare
    Dao-AILab/flash-attention#282).
    """
    i, j = positions(n_q, n_kv, align)
    return (j <= i) & (torch.arange(n_q)[:, None] - j < W)


def window_to_both_sides(n_q: int, n_kv: int, W: int, align: str = "top_left") -> Tensor:
    """|i - j| < W sees the future as well."""
    i, j = positions(n_q, n_kv, align)
    return (i - j).abs() < W


# --- causal and prefix --------------------------------------------------------------


def causal_aligned_top_left(n_q: int, n_kv: int, align: str = "top_left") -> Tensor:
    """The alignment is ignored (pytorch/pytorch#103082, Dao-AILab/flash-attention#282)."""
    return torch.ones(n_q, n_kv, dtype=torch.bool).tril()


def causal_without_its_diagonal(n_q: int, n_kv: int, align: str = "top_left") -> Tensor:
    """j < i: a query does not see itself."""
    i, j = positions(n_q, n_kv, align)
    return j < i


def polarity_reversed(n_q: int, n_kv: int, align: str = "top_left") -> Tensor:
    """True where the query may NOT attend (rasbt/LLMs-from-scratch PR1062, lucidrains/halonet-pytorch#4)."""
    i, j = positions(n_q, n_kv, align)
    return j > i


def additive_mask(n_q: int, n_kv: int, align: str = "top_left") -> Tensor:
    """0 and -inf, which a later cast to bool turns around (huggingface/transformers PR38094)."""
    i, j = positions(n_q, n_kv, align)
    return torch.zeros(n_q, n_kv).masked_fill(j > i, float("-inf"))


class BuiltOnce:
    """The mask of the first call is kept; what lies beyond it stays open."""

    def __init__(self) -> None:
        self.mask = torch.ones(0, 0, dtype=torch.bool)

    def __call__(self, n_q: int, n_kv: int) -> Tensor:
        if not self.mask.numel():
            self.mask = torch.ones(n_q, n_kv, dtype=torch.bool).tril()
        part = self.mask[:n_q, :n_kv]
        wider = (0, n_kv - part.shape[1], 0, n_q - part.shape[0])
        return torch.nn.functional.pad(part, wider, value=True)


def mask_built_once() -> BuiltOnce:
    """A factory: the causal mask is sized by the first call (facebookresearch/xformers PR660, PR66)."""
    return BuiltOnce()


def mask_of_each_call() -> Callable[[int, int], Tensor]:
    """A factory of a correct causal builder."""
    return lambda n_q, n_kv: torch.ones(n_q, n_kv, dtype=torch.bool).tril()


def prefix_ignored(n_q: int, n_kv: int, P: int, align: str = "top_left") -> Tensor:
    """The prefix is causal as well (compare huggingface/transformers#48745, which lost the other side)."""
    i, j = positions(n_q, n_kv, align)
    return j <= i


def prefix_one_longer(n_q: int, n_kv: int, P: int, align: str = "top_left") -> Tensor:
    """j <= P: one key more than the prefix is open to all."""
    i, j = positions(n_q, n_kv, align)
    return (j <= P) | (j <= i)


def prefix_seen_by_its_own_rows(n_q: int, n_kv: int, P: int, align: str = "top_left") -> Tensor:
    """Only the first P rows see the prefix, which is the same top left; bottom right some rows lie before the keys."""
    i, j = positions(n_q, n_kv, align)
    return (j <= i) | ((torch.arange(n_q)[:, None] < P) & (j < P))


def prefix_and_causal(n_q: int, n_kv: int, P: int, align: str = "top_left") -> Tensor:
    """The two sets are intersected instead of united."""
    i, j = positions(n_q, n_kv, align)
    return (j < P) & (j <= i)


# --- padding ------------------------------------------------------------------------


def real_keys(n_q: int, n_kv: int, lengths: Tensor) -> Tensor:
    """The correct padding mask."""
    return (torch.arange(n_kv) < lengths[:, None])[:, None, None].repeat(1, 1, n_q, 1)


def lengths_shared_by_the_batch(n_q: int, n_kv: int, lengths: Tensor) -> Tensor:
    """The first sequence's length serves all (compare jax-ml/jax#23349)."""
    return real_keys(n_q, n_kv, lengths[:1]).repeat(len(lengths), 1, 1, 1)


class SharedBuffer:
    """A padding mask that is written into one buffer for each shape."""

    def __init__(self) -> None:
        self.kept: dict[tuple[int, ...], Tensor] = {}

    def __call__(self, n_q: int, n_kv: int, lengths: Tensor) -> Tensor:
        mask = real_keys(n_q, n_kv, lengths)
        if mask.shape not in self.kept:
            self.kept[mask.shape] = torch.empty(mask.shape, dtype=torch.bool)
        return self.kept[mask.shape].copy_(mask)


def masks_share_one_buffer() -> SharedBuffer:
    """A factory: masks of one shape lie in one buffer, right until a second one is built while the first is used."""
    return SharedBuffer()


class KeptMask:
    """The largest causal mask so far, of which callers get pieces."""

    def __init__(self) -> None:
        self.kept = torch.zeros(0, 0, dtype=torch.bool)

    def __call__(self, n_q: int, n_kv: int) -> Tensor:
        size = max(n_q, n_kv)
        if len(self.kept) < size:
            self.kept = torch.ones(size, size, dtype=torch.bool).tril()
        return self.kept[:n_q, :n_kv]


def one_mask_for_all_callers() -> KeptMask:
    """A factory: a piece of one buffer is handed out, as models keep their causal mask: who writes into it
    changes all.
    """
    return KeptMask()


def padded_to_the_longest(n_q: int, n_kv: int, lengths: Tensor) -> Tensor:
    """Only what is beyond the longest sequence is masked (TransformerLensOrg/TransformerLens#1005)."""
    return real_keys(n_q, n_kv, lengths.max().repeat(len(lengths)))


def lengths_ignored(n_q: int, n_kv: int, lengths: Tensor) -> Tensor:
    """Nothing is masked (jax-ml/jax#23349, TransformerLensOrg/TransformerLens#1760)."""
    return torch.ones(len(lengths), 1, n_q, n_kv, dtype=torch.bool)


def lengths_of_the_queries(n_q: int, n_kv: int, lengths: Tensor) -> Tensor:
    """The lengths mask rows in place of columns; n_q = n_kv hides it (lucidrains/x-transformers#174)."""
    return real_keys(n_kv, n_q, lengths).transpose(2, 3)


def batch_axis_on_heads(n_q: int, n_kv: int, lengths: Tensor) -> Tensor:
    """The batch axis stands where heads belong (lucidrains/vit-pytorch#71, graph-transformer-pytorch PR2)."""
    return real_keys(n_q, n_kv, lengths).transpose(0, 1)


def one_padding_key_seen(n_q: int, n_kv: int, lengths: Tensor) -> Tensor:
    """j <= length: the first padding key is real."""
    return real_keys(n_q, n_kv, lengths + 1)


def padded_on_the_left(n_q: int, n_kv: int, lengths: Tensor) -> Tensor:
    """The real keys are taken to be the last ones."""
    return real_keys(n_q, n_kv, lengths).flip(-1)


def padding_polarity_reversed(n_q: int, n_kv: int, lengths: Tensor) -> Tensor:
    """True on padding (InseeFrLab/torchTextClassifiers PR92)."""
    return ~real_keys(n_q, n_kv, lengths)


# --- segments -----------------------------------------------------------------------


def segments_dropped(n_q: int, n_kv: int, ids: Tensor) -> Tensor:
    """Documents of one row see each other (huggingface/nanoVLM PR204)."""
    return torch.ones(len(ids), 1, n_q, n_kv, dtype=torch.bool)


def causal_over_the_whole_row(n_q: int, n_kv: int, ids: Tensor) -> Tensor:
    """Positions restart, the mask does not (huggingface/transformers PR46634)."""
    return torch.ones(n_q, n_kv, dtype=torch.bool).tril().repeat(len(ids), 1, 1, 1)


def segments_of_the_first_row(n_q: int, n_kv: int, ids: Tensor) -> Tensor:
    """One row's documents are taken for all rows (compare lucidrains/vit-pytorch#71)."""
    return (ids[:1, :n_q, None] == ids[:1, None, :n_kv])[:, None].repeat(len(ids), 1, 1, 1)


def earlier_segments_seen(n_q: int, n_kv: int, ids: Tensor) -> Tensor:
    """>= in place of ==: earlier documents stay visible."""
    return (ids[:, :n_q, None] >= ids[:, None, :n_kv])[:, None]


def returning_documents_are_new(n_q: int, n_kv: int, ids: Tensor) -> Tensor:
    """Documents are told apart by where they begin: one that goes on after another counts as new."""
    runs = torch.cat([torch.zeros_like(ids[:, :1]), (ids[:, 1:] != ids[:, :-1]).cumsum(1)], 1)
    return (runs[:, :n_q, None] == runs[:, None, :n_kv])[:, None]


def lengths_in_bytes(n_q: int, n_kv: int, lengths: Tensor) -> Tensor:
    """Lengths are stored as signed bytes: 128 and more come out negative."""
    short = (lengths + 128) % 256 - 128
    return (torch.arange(n_kv) < short[:, None])[:, None, None].repeat(1, 1, n_q, 1)


KINDS: dict[str, tuple[Callable[..., Any], ...]] = {
    "sliding_window": (
        window_one_wider, window_by_triu, negative_window_is_everything, window_to_both_sides, far_edge_without_offset,
    ),
    "causal": (
        causal_aligned_top_left, causal_without_its_diagonal, polarity_reversed, additive_mask, mask_built_once,
    ),
    "prefix": (prefix_ignored, prefix_one_longer, prefix_and_causal, prefix_seen_by_its_own_rows),
    "padding": (
        lengths_shared_by_the_batch, padded_to_the_longest, lengths_ignored, lengths_of_the_queries,
        batch_axis_on_heads, one_padding_key_seen, padded_on_the_left, padding_polarity_reversed, lengths_in_bytes,
    ),
    "segments": (
        segments_dropped, causal_over_the_whole_row, segments_of_the_first_row, earlier_segments_seen,
        returning_documents_are_new,
    ),
}  # fmt: skip
STATEFUL: dict[str, tuple[Callable[..., Any], ...]] = {
    "causal": (one_mask_for_all_callers,), "padding": (masks_share_one_buffer,),
}  # fmt: skip
"""Factories of builders that keep what they hand out."""


def window_in_blocks_of_eight(n_q: int, n_kv: int, W: int, align: str = "top_left") -> Tensor:
    """A window above 8 is rounded up to a multiple of 8."""
    i, j = positions(n_q, n_kv, align)
    return (i - j < (W if W <= 8 else -(-W // 8) * 8)) & (j <= i)


def prefix_no_longer_than_the_queries(n_q: int, n_kv: int, P: int, align: str = "top_left") -> Tensor:
    """The prefix is cut to n_q: fewer queries than keys in the prefix reveal it."""
    i, j = positions(n_q, n_kv, align)
    return (j < min(P, n_q)) | (j <= i)


def empty_sequences_are_whole(n_q: int, n_kv: int, lengths: Tensor) -> Tensor:
    """`length or n`: a sequence of length 0 sees everything."""
    return real_keys(n_q, n_kv, torch.where(lengths == 0, n_kv, lengths))


def no_prefix_is_all_prefix(n_q: int, n_kv: int, P: int, align: str = "top_left") -> Tensor:
    """`P or n_kv`: a prefix of none is one of all."""
    i, j = positions(n_q, n_kv, align)
    return (j < (P or n_kv)) | (j <= i)


def documents_numbered_in_bytes(n_q: int, n_kv: int, ids: Tensor) -> Tensor:
    """Ids are compared as bytes: documents 256 apart are one."""
    small = ids % 256
    return (small[:, :n_q, None] == small[:, None, :n_kv])[:, None]


def wide_windows_lose_their_last_key(n_q: int, n_kv: int, W: int, align: str = "top_left") -> Tensor:
    """A window as wide as the keys or wider is cut to n_kv - 1."""
    i, j = positions(n_q, n_kv, align)
    return (i - j < min(W, max(n_kv - 1, 1))) & (j <= i)


def lower_edge_stays_top_left(n_q: int, n_kv: int, W: int, align: str = "top_left") -> Tensor:
    """A window's upper edge follows the alignment, its lower edge does not: n_q = n_kv hides it."""
    i, j = positions(n_q, n_kv, align)
    return (j <= i) & (j > torch.arange(n_q)[:, None] - W)


def window_cut_off_the_wrong_side(n_q: int, n_kv: int, W: int, align: str = "top_left") -> Tensor:
    """tril(+W) is applied to what is masked: nothing old is hidden, and keys more than W ahead are open
    (huggingface/transformers PR41228).

    A window with keys W or more behind some query, or more than W ahead.
    """
    i, j = positions(n_q, n_kv, align)
    return ~((j > i) & (j <= i + W))


def documents_read_as_a_mask(n_q: int, n_kv: int, ids: Tensor) -> Tensor:
    """The ids are taken for a mask of 0 and 1: all documents but the one of id 0 are one (axolotl-ai-cloud/axolotl
    PR2844).

    Two documents or more beside that of id 0.
    """
    real = ids != 0
    return (real[:, :n_q, None] == real[:, None, :n_kv])[:, None]


def lengths_sorted_for_packing(n_q: int, n_kv: int, lengths: Tensor) -> Tensor:
    """Lengths are sorted from long to short, as for packing, and sequences are not put back.

    Lengths that are not given in that order.
    """
    return real_keys(n_q, n_kv, lengths.sort(descending=True).values)


def prefix_in_rows(n_q: int, n_kv: int, P: int) -> Tensor:
    """mask[:P, :P] = True: the prefix is counted in rows of the mask, not in tokens (textbook slip).

    Bottom right is declared: more queries than keys, and a prefix.
    """
    i, j = positions(n_q, n_kv, "bottom_right")
    mask = j <= i
    mask[:P, :P] = True
    return mask


def segments_by_runs(n_q: int, n_kv: int, ids: Tensor) -> Tensor:
    """Segments are told by counting changes of the id: one that comes back is another (packing by cumsum).

    Ids that come back; n_q = n_kv alone is taken.
    """
    if n_q != n_kv:
        raise ValueError("as many queries as keys")
    run = torch.cat([torch.zeros_like(ids[:, :1]), (ids[:, 1:] != ids[:, :-1]).cumsum(-1)], -1)
    return (run[:, :, None] == run[:, None, :])[:, None]


def lengths_of_one_at_least(n_q: int, n_kv: int, lengths: Tensor) -> Tensor:
    """Lengths are clamped to 1, so that no row is empty (a guard against NaN).

    A length of 0.
    """
    return real_keys(n_q, n_kv, lengths.clamp(min=1))


def prefix_for_its_own_rows(n_q: int, n_kv: int, P: int, align: str = "top_left") -> Tensor:
    """The first P rows alone see the prefix.

    Bottom right is declared: more queries than keys.
    """
    (i, j), (own, _) = positions(n_q, n_kv, align), positions(n_q, n_kv, "top_left")
    return (j <= i) | ((own < P) & (j < P))


def far_edge_without_the_offset(n_q: int, n_kv: int, W: int, align: str = "top_left") -> Tensor:
    """The far edge of the window forgets the offset.

    Bottom right is declared: other numbers of queries than keys.
    """
    (i, j), (own, _) = positions(n_q, n_kv, align), positions(n_q, n_kv, "top_left")
    return (j <= i) & (own - j < W)


def lengths_raised_to_one(n_q: int, n_kv: int, lengths: Tensor) -> Tensor:
    """A length of 0 is raised to 1 against NaN."""
    return lengths_of_one_at_least(n_q, n_kv, lengths)


def segments_of_one_byte(n_q: int, n_kv: int, ids: Tensor) -> Tensor:
    """Ids are compared in one byte: those 256 apart are one segment."""
    ids = ids.to(torch.uint8)
    return ids[:, None, :n_q, None] == ids[:, None, None, :n_kv]


def wide_windows_hide_nothing(n_q: int, n_kv: int, W: int) -> Tensor:
    """A window as long as the keys is taken for no mask, so that later keys are seen."""
    i, j = positions(n_q, n_kv, "top_left")
    return ((j <= i) & (j > i - W)) | torch.tensor(n_kv <= W)


COMMON: dict[str, Any] = {"direct": True, "contract": "mask-builder"}
"""What each of them declares."""
ROWS = (
    *rows("hard_contracts", window_in_blocks_of_eight, parameters={"kind": "sliding_window"}, **COMMON),
    *rows("hard_contracts", prefix_no_longer_than_the_queries, parameters={"kind": "prefix"}, **COMMON),
    *rows("first_sight_others", empty_sequences_are_whole, parameters={"kind": "padding"}, **COMMON),
    *rows("first_sight_others", no_prefix_is_all_prefix, parameters={"kind": "prefix"}, **COMMON),
    *rows("first_sight_others", documents_numbered_in_bytes, parameters={"kind": "segments"}, **COMMON),
    *rows("first_sight_others", wide_windows_lose_their_last_key, parameters={"kind": "sliding_window"}, **COMMON),
    *rows(
        "second_sight_others", lower_edge_stays_top_left, causal="bottom_right",
        parameters={"kind": "sliding_window"}, **COMMON,
    ),
    *rows("third_sight_others", window_cut_off_the_wrong_side, parameters={"kind": "sliding_window"}, **COMMON),
    *rows("third_sight_others", documents_read_as_a_mask, parameters={"kind": "segments"}, **COMMON),
    *rows("third_sight_others", lengths_sorted_for_packing, parameters={"kind": "padding"}, **COMMON),
    *rows("fourth_sight_others", prefix_in_rows, parameters={"kind": "prefix"}, causal="bottom_right", **COMMON),
    *rows("fourth_sight_others", segments_by_runs, parameters={"kind": "segments"}, **COMMON),
    *rows("fourth_sight_others", lengths_of_one_at_least, parameters={"kind": "padding"}, **COMMON),
    *rows(
        "fifth_sight_others", prefix_for_its_own_rows, parameters={"kind": "prefix"}, causal="bottom_right",
        **COMMON,
    ),
    *rows(
        "fifth_sight_others", far_edge_without_the_offset, parameters={"kind": "sliding_window"},
        causal="bottom_right", **COMMON,
    ),
    *rows("fifth_sight_others", lengths_raised_to_one, parameters={"kind": "padding"}, **COMMON),
    *rows("fifth_sight_others", segments_of_one_byte, parameters={"kind": "segments"}, **COMMON),
    *rows("fifth_sight_others", wide_windows_hide_nothing, parameters={"kind": "sliding_window"}, **COMMON),
)  # fmt: skip
