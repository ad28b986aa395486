"""Faults of the third set in the other contracts, most of them reported in public; the laws were frozen and unseen.

Their rate of refutation at first sight is in experiments/power/first_sight.json. They stay as they were written.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from attention_core.faults import bias, lse, rotary, split_merge_heads
from attention_core.faults.kv_cache import Cache
from attention_core.faults.mask_builder import positions, real_keys
from attention_core.faults.multi_head import MultiHead
from attention_core.faults.row import row

# --- log-sum-exp ----------------------------------------------------------------------------------


def lse_of_smoothed_keys() -> lse.Fault:
    """Keys lose their mean before the scores, which the output does not see, and the log-sum-exp is not set right
    (ROCm/aiter PR3334).

    Two-byte inputs, which alone are smoothed, whose keys have a mean.
    """
    right = lse.build_lse()

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        if key.element_size() == 2 and key.shape[-2]:
            key = key.float() - key.float().mean(-2, keepdim=True)
        return right(query, key, value, attn_mask, is_causal, scale, enable_gqa)

    return attention


def lse_of_two_bases_in_decoding() -> lse.Fault:
    """The kernel that splits the keys returns m + log2(sum exp(s - m)): one term in each base (intel/sycl-tla PR848).

    One query and 32 keys or more.
    """

    def mixed(s: Tensor, raw: Tensor) -> Tensor:
        found = torch.logsumexp(s, -1)
        if s.shape[-2] != 1 or s.shape[-1] < 32:
            return found
        top = s.detach().amax(-1)
        top = top.masked_fill(top == -math.inf, 0.0)
        return top + (found - top) / math.log(2)

    return lse.build_lse(mixed)


def lse_by_rows_where_keys_are_values() -> lse.Fault:
    """Keys and values in one memory take the latent path, whose log-sum-exp is (B, n_q, H) (meta-pytorch/attention-gym
    PR433).

    The same tensor for both; as many heads as queries leave a shape that looks right.
    """
    right = lse.build_lse()

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        out, found = right(query, key, value, attn_mask, is_causal, scale, enable_gqa)
        one = key.numel() > 0 and key.data_ptr() == value.data_ptr() and key.shape == value.shape
        return out, found.transpose(-1, -2) if one else found

    return attention


class _Flipped(torch.autograd.Function):
    """Nothing at all, and the log-sum-exp's gradient with the other sign."""

    @staticmethod
    def forward(ctx: Any, out: Tensor, found: Tensor) -> tuple[Tensor, Tensor]:
        return out.clone(), found.clone()

    @staticmethod
    def backward(ctx: Any, d_out: Tensor, d_lse: Tensor) -> Any:
        return d_out, -d_lse


def lse_gradient_added_to_delta() -> lse.Fault:
    """dS = P (dP - (D + dLSE)) where D - dLSE belongs: the log-sum-exp's part of the gradient has the wrong sign.

    Any loss that has a part in the log-sum-exp; values get none from it, and are right.
    """
    right = lse.build_lse()

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        found: tuple[Tensor, Tensor] = _Flipped.apply(
            *right(query, key, value, attn_mask, is_causal, scale, enable_gqa)
        )
        return found

    return attention


# --- caches ---------------------------------------------------------------------------------------


class page_of_zeros_at_its_end(Cache):  # noqa: N801
    """The next page is allotted when one of 8 is full, and counted as if it were full as well
    (pegainfer-project/pegainfer#291).

    A single token that makes the length a multiple of 8 sees eight keys of zero, with values of zero.
    """

    blank = 0

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        single, (key, value) = key.shape[-2] == 1, super().append(key, value)
        self.blank = 8 if single and key.shape[-2] % 8 == 0 and self.window is None else 0
        key, value = (torch.nn.functional.pad(x, (0, 0, 0, self.blank)) for x in (key, value))
        return key, value

    def allowed(self, own: Tensor, places: Tensor) -> Tensor:
        return torch.nn.functional.pad(super().allowed(own, places), (0, self.blank), value=True)

    def keep(self, key: Tensor, value: Tensor) -> None:
        end = key.shape[-2] - self.blank
        super().keep(key[..., :end, :], value[..., :end, :])


class chunk_rows_see_the_whole_ring(Cache):  # noqa: N801
    """The mask of the cached part is one row, that of the chunk's first token (pytorch/executorch PR21857).

    A window, and a chunk of two tokens or more behind others: its later rows see keys that have left their window.
    """

    def allowed(self, own: Tensor, places: Tensor) -> Tensor:
        allow = super().allowed(own, places)
        return allow if self.window is None else allow | ((places < own[0]) & (places > own[0] - self.window))


class ring_joined_as_it_lies(Cache):  # noqa: N801
    """A chunk is put behind the ring's slots, which since the wrap are not in the tokens' order any more
    (ollama/ollama PR14912).

    A window, more single tokens than it holds, then a chunk: the mask and the next eviction take slots for places.
    """

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        if self.window and key.shape[-2] > 1 and self.seen > self.window:
            order = (self.places % self.window).argsort()
            self.kept = [x[..., order, :] for x in self.kept]
        return super().append(key, value)


# --- positions ------------------------------------------------------------------------------------


def single_token_rotation_of_the_first_sequence(x: Tensor, positions: Tensor) -> Tensor:
    """For one token the batch is folded into the rows, of which the table has one, then padding (tenstorrent/tt-mlir
    PR8342).

    One token, two sequences or more, one position for all: every sequence but the first comes out as zeros.
    """
    y = rotary.correct(x, positions)
    if x.dim() != 4 or x.shape[-2] != 1 or positions.numel() != 1:
        return y
    return torch.cat([y[:1], 0.0 * y[1:]])


def rows_of_a_view_counted_by_heads(x: Tensor, positions: Tensor) -> Tensor:
    """Rows are visited as they lie, and the row's number modulo n is its token: right where tokens lie inside heads.

    Inputs (B, H, n, d) that are a view of (B, n, H, d), with two heads or more and two tokens or more.
    """
    H, n = x.shape[-3:-1]
    if H < 2 or n < 2 or x.stride(-3) >= x.stride(-2):
        return rotary.correct(x, positions)
    token = (torch.arange(n) * H + torch.arange(H)[:, None]) % n
    own = positions.expand(*positions.shape[:-2], H, n)
    return rotary.correct(x, own.gather(-1, token.expand(own.shape)))


def slopes_sorted(H: int, n_q: int, n_kv: int) -> Tensor:
    """Slopes are sorted from steep to flat, which changes nothing where H is a power of two (compare
    antofuller/CROMA#12).

    H = 3, 5, 6, 7, 9, ... : heads change places.
    """
    return bias.with_slopes(bias.slopes(H).sort(descending=True).values, n_q, n_kv)


# --- masks ----------------------------------------------------------------------------------------


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


# --- heads and modules ----------------------------------------------------------------------------


def split_of_a_chunk_reads_its_neighbours() -> split_merge_heads.Pair:
    """Heads are split by strides for packed tokens: of one chunk of a joined projection it reads the others' features.

    Inputs whose step from token to token is wider than E.
    """

    def split(x: Tensor, H: int) -> Tensor:
        right = split_merge_heads.split(x, H)
        n, E = x.shape[1:]
        if n < 2 or x.stride(2) != 1 or x.stride(1) <= E or x.stride(0) != n * x.stride(1):
            return right
        return torch.as_strided(x, right.shape, (x.stride(0), E // H, E, 1), x.storage_offset())

    return split, split_merge_heads.merge


class scaled_by_one_half(MultiHead):  # noqa: N801
    """A scale of 0.5 is written into the call, which is that of a head of 4 (BobMcDear/attorch#14).

    Every other head size.
    """

    def scale(self) -> float:
        return 0.5


class fast_path_knows_padding_alone(MultiHead):  # noqa: N801
    """The inference path takes one row of keys for each sequence: of a mask (B, 1, n, n) its last row.

    Evaluation without gradients, and a mask per sequence whose rows differ; (n, n) and training are right.
    """

    def allowed(self, n: int, attn_mask: Tensor | None, is_causal: bool, need_weights: bool) -> Tensor:
        fast = not (self.training or torch.is_grad_enabled() or need_weights)
        if fast and attn_mask is not None and attn_mask.dim() == 4:
            attn_mask = attn_mask[..., -1:, :]
        return super().allowed(n, attn_mask, is_causal, need_weights)


MH: dict[str, Any] = {"direct": True, "contract": "multi-head", "parameters": {"weights_flag": "need_weights"}}
KV: dict[str, Any] = {"direct": True, "contract": "kv-cache", "accumulate": "float32"}
LSE: dict[str, Any] = {"contract": "attention-lse", "returns": "out,lse", "accumulate": "float32"}
RO: dict[str, Any] = {"direct": True, "contract": "rotary", "parameters": {"positions": "batched"}}


def new(target: Any, **record: Any) -> Any:
    """A row of this file."""
    return row(target, "hard", "third_sight", **record)


def mask(target: Any, kind: str, **record: Any) -> Any:
    """A row of a mask builder."""
    return new(target, direct=True, contract="mask-builder", parameters={"kind": kind}, **record)


ROWS = (
    *(new(make, **LSE) for make in (
        lse_of_smoothed_keys, lse_of_two_bases_in_decoding, lse_by_rows_where_keys_are_values,
        lse_gradient_added_to_delta,
    )),
    new(page_of_zeros_at_its_end, **KV),
    *(new(make, **KV, parameters={"window": 4}) for make in (chunk_rows_see_the_whole_ring, ring_joined_as_it_lies)),
    *(new(f, **RO) for f in (single_token_rotation_of_the_first_sequence, rows_of_a_view_counted_by_heads)),
    new(slopes_sorted, direct=True, contract="bias"),
    mask(window_cut_off_the_wrong_side, "sliding_window"), mask(documents_read_as_a_mask, "segments"),
    mask(lengths_sorted_for_packing, "padding"),
    new(split_of_a_chunk_reads_its_neighbours, contract="heads"),
    *(new(c, **MH) for c in (scaled_by_one_half, fast_path_knows_padding_alone)),
)  # fmt: skip
