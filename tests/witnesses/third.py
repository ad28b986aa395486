"""For every fault of the third set: a call, made by hand, on which it is off by more than twenty roundings of its row.

`WITNESS[name]` is a function of a target and a correct one in its place: the error over twenty roundings, by float64
and the
formula alone, and the correct one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from witnesses.second import leaves, normal, three

from attention_core.faults import bias, lse, rotary, split_merge_heads
from attention_core.faults.bases.reference import build
from attention_core.faults.bases.tiles import Flash, Tiles
from attention_core.faults.kv_cache import Cache
from attention_core.faults.mask_builder import positions, real_keys
from attention_core.faults.multi_head import MultiHead

UNITS = 20
BF16 = torch.bfloat16


def off(got: Tensor, want: Tensor) -> float:
    """max |got - want| over twenty units of got's dtype of the row's largest entry; inf for another shape or NaN."""
    if got.shape != want.shape or bool(got.isnan().any()):
        return math.inf
    if not want.numel():
        return 0.0
    want = want.detach()
    # A row may cancel: its parts are as large as those of other rows.
    rows = want.abs().amax(-1, keepdim=True).clamp(min=float(want.abs().max()) / 8)
    error = (got.detach().double() - want).abs() / rows.clamp(min=1e-300)
    return float(error.max()) / (UNITS * torch.finfo(got.dtype).eps / 2)


def truth(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, causal: bool = False, shift: int = 0,
    scale: float | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Output and log-sum-exp by the formula, in float64; row i sees keys up to i + shift."""
    q, k, v = (x.double() for x in (q, k, v))
    k, v = (x.repeat_interleave(q.shape[-3] // x.shape[-3], -3) for x in (k, v))
    s = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None:
        s = s.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else s + mask.double()
    if causal:
        s = s.masked_fill(torch.arange(k.shape[-2]) > torch.arange(q.shape[-2])[:, None] + shift, -math.inf)
    dead = (s == -math.inf).all(-1, keepdim=True)
    return s.masked_fill(dead, 0.0).softmax(-1).masked_fill(dead, 0.0) @ v, torch.logsumexp(s.detach(), -1)


def called(target: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool, scale: float | None) -> Any:
    """The target's result; what is not given is not named."""
    named: dict[str, Any] = {"attn_mask": mask} if mask is not None else {}
    named |= {"is_causal": True} if causal else {}
    named |= {"scale": scale} if scale is not None else {}
    named |= {"enable_gqa": True} if k.shape[-3] != q.shape[-3] else {}
    return target(q, k, v, **named)


def forward(
    target: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, causal: bool = False,
    scale: float | None = None,
) -> float:  # fmt: skip
    """The output."""
    return off(called(target, q, k, v, mask, causal, scale), truth(q, k, v, mask, causal, scale=scale)[0])


def backward(target: Any, q: Tensor, k: Tensor, v: Tensor, causal: bool = False, shift: int = 0) -> float:
    """The output and three gradients for a normal cotangent."""
    q, k, v = leaves(q, k, v)
    out, c = called(target, q, k, v, None, causal, None), normal(*q.shape[:-1], v.shape[-1], seed=7)
    want = truth(q, k, v, None, causal, shift)[0]
    pairs = zip(
        torch.autograd.grad(out, (q, k, v), c), torch.autograd.grad(want, (q, k, v), c.double()), strict=True
    )  # fmt: skip
    return max(off(out, want), *(off(got, true.double()) for got, true in pairs))


def friendly(target: Any) -> float:
    """One packed sequence, one head, as many queries as keys, a full block: what every fault gets right."""
    q, k, v = three(16, 16, B=1, H=1)
    return max(forward(target, q, k, v), forward(target, q, k, v, causal=True), backward(target, q, k, v))


def low_scores(target: Any) -> float:
    """Causal, 20 keys, all scores near -128 and free of rounding: rows before the last block see it masked first."""
    q, k, v = three(20, 20, d=4)
    q, k = q.round(), k.round()
    q[..., 0], k[..., 0] = 16.0, -16.0
    return forward(target, q, k, v, causal=True)


def wide_negative(target: Any) -> float:
    """A scale of -1 and scores from -100 to 100."""
    q, k, v = three(3, 20)
    q[..., 0], k[..., 0] = 10.0, torch.linspace(-10, 10, 20)
    return forward(target, q, k, v, scale=-1.0)


def long_after_short(target: Any) -> float:
    """One query with 40 keys, then one with 100."""
    forward(target, *three(1, 40))
    return forward(target, *three(1, 100))


def heads_inside(x: Tensor) -> Tensor:
    """The same values, heads inside tokens."""
    return x.transpose(-3, -2).contiguous().transpose(-3, -2)


def second_features(x: Tensor) -> Tensor:
    """The same values, as every second feature of a wider tensor."""
    return torch.stack([x, normal(*x.shape, seed=9)], -1).flatten(-2)[..., ::2]


def two_batch_axes(target: Any) -> float:
    """Batch axes of 2 and 3; the first one's masks differ."""
    q, k, v = (normal(2, 3, 2, 5, 8, seed=i) for i in range(3))
    return forward(target, q, k, v, torch.tensor([[True] * 5, [True, True, False, False, False]])[:, None, None, None])


def one_projection(target: Any) -> float:
    """Queries, keys and values that are slices of one tensor (B, n, 3, H, d)."""
    return backward(target, *(x.transpose(1, 2) for x in normal(2, 5, 3, 2, 8).unbind(2)))


def dropped_after_another_seed(target: Any) -> float:
    """The value's gradient under dropout: with V -> V + U the output moves by P' U, and <P'^T C, U> is <C, P' U>."""
    (q, k, v), u, c = three(dtype=torch.float64), normal(2, 2, 7, 8, seed=5).double(), normal(2, 2, 5, 8).double()
    v.requires_grad_()

    def out(seed: int, x: Tensor) -> Tensor:
        torch.manual_seed(seed)
        found: Tensor = target(q, k, x, dropout_p=0.5)
        return found

    moved = out(3, (v + u).detach()) - out(3, v.detach())
    out(4, v.detach())
    (g,) = torch.autograd.grad(out(3, v), [v], c)
    return off((g * u).sum()[None], (moved * c).sum()[None])


def cross_after_causal(target: Any) -> float:
    """A causal call, then one with more keys than queries."""
    forward(target, *three(5, 5), causal=True)
    return forward(target, *three())


def default_scale_after_one(target: Any) -> float:
    """A call with scale 1, then one without."""
    forward(target, *three(), scale=1.0)
    return forward(target, *three())


# --- other contracts ------------------------------------------------------------------------------


def of_lse(target: Any, q: Tensor, k: Tensor, v: Tensor) -> float:
    """Output and log-sum-exp, which is judged by the roundings of the inputs."""
    out, found = target(q, k, v)
    want, true = truth(q, k, v)
    return max(off(out, want), off(found.to(q.dtype), true))


def shared_memory(target: Any) -> float:
    """Keys that are the values, two heads, two queries."""
    q, k, _ = three(2, 7)
    return of_lse(target, q, k, k)


def loss_on_both(target: Any) -> float:
    """dQ of <C, out> + sum lse."""
    (q, k, v), c = three(), normal(2, 2, 5, 8)
    q.requires_grad_()
    out, found = target(q, k, v)
    (g,) = torch.autograd.grad((out * c).sum() + found.sum(), [q])
    s = q.double() @ k.double().mT / math.sqrt(8)
    (true,) = torch.autograd.grad((s.softmax(-1) @ v.double() * c).sum() + torch.logsumexp(s, -1).sum(), [q])
    return off(g, true.double())


def in_chunks(target: Any, chunks: tuple[int, ...], window: int | None) -> float:
    """A cache, chunk by chunk, against the formula for the whole."""
    n = sum(chunks)
    q, k, v = three(n, n)
    step = target() if window is None else target(window)
    got = torch.cat([step(*part) for part in zip(*(x.split(chunks, -2) for x in (q, k, v)), strict=True)], -2)
    i, j = torch.arange(n)[:, None], torch.arange(n)
    return off(got, truth(q, k, v, (j <= i) & (j > i - (window or n)))[0])


def turned(target: Any, x: Tensor, places: Tensor) -> float:
    """A rotation by halves."""
    half = x.shape[-1] // 2
    angle = places[:, None].double() * 10000.0 ** (-torch.arange(half).double() / half)
    a, b = x.double().chunk(2, -1)
    want = torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1)
    return off(target(x, places), want)


def six_slopes(target: Any) -> float:
    """Six heads: those of four, then the first and third of eight."""
    m = torch.tensor([2.0**-e for e in (2, 4, 6, 8, 1, 3)], dtype=torch.float64)
    return off(target(6, 3, 3), -m[:, None, None] * (torch.arange(3)[:, None] - torch.arange(3)))


def same(got: Tensor, want: Tensor) -> float:
    """0 for equal masks, inf for others."""
    return 0.0 if got.shape == want.shape and torch.equal(got, want) else math.inf


def right_window(n_q: int, n_kv: int, W: int, align: str = "top_left") -> Tensor:
    """The correct window."""
    i, j = positions(n_q, n_kv, align)
    return (j <= i) & (j > i - W)


def right_documents(n_q: int, n_kv: int, ids: Tensor) -> Tensor:
    """The correct mask of documents."""
    return (ids[:, :n_q, None] == ids[:, None, :n_kv])[:, None]


def module(target: Any, embed: int) -> float:
    """A module of two heads in evaluation, with a mask for each sequence, against the formula with its weights."""
    torch.manual_seed(0)
    got, want, x = target(embed, 2).eval(), MultiHead(embed, 2), normal(2, 5, embed)
    mask = (torch.arange(50).reshape(2, 1, 5, 5) % 7 < 4) | torch.eye(5, dtype=torch.bool)
    want.load_state_dict(got.state_dict())
    with torch.no_grad():
        return off(got(x, mask), want.double()(x.double(), mask))


def rows_of_a_view(target: Any) -> float:
    """Three heads, four tokens, heads inside tokens."""
    return turned(target, heads_inside(normal(2, 3, 4, 8)), torch.arange(4))


def third_of_a_projection(target: Any) -> float:
    """The middle third of (B, n, 3 E), in three heads."""
    x = normal(2, 5, 18)[..., 6:12]
    return off(target[0](x, 3), x.double().unflatten(-1, (3, 2)).transpose(1, 2))


def bottom_right() -> Flash:
    """The correct tiles with causality at the last key."""

    class Right(Flash):
        def causal(self, start: int, stop: int, n_q: int, n_kv: int) -> Tensor:
            return torch.arange(start, stop) <= torch.arange(n_q)[:, None] + n_kv - n_q

    return Right()


ids = torch.tensor([[0, 1, 1, 2, 2]])
lengths = torch.tensor([2, 5, 3])
first_keys = (torch.arange(2 * 5 * 7).reshape(2, 1, 5, 7) % 3 > 0) | (torch.arange(7) == 0)
Witness = tuple[Callable[[Any], float], Callable[[], Any]]
WITNESS: dict[str, Witness] = {
    "masked_first_block_leaves_a_maximum_of_zero": (low_scores, Tiles),
    "masked_block_before_the_first_key": (lambda t: forward(t, *three(3, 40), torch.arange(40) >= 20), Tiles),
    "split_weights_of_the_last_key_head": (lambda t: forward(t, *three(1, 40)), Tiles),
    "split_count_of_the_first_long_call": (long_after_short, Tiles),
    "mask_skipped_below_the_diagonal": (
        lambda t: forward(t, *three(20, 20), torch.arange(20) % 3 == 0, causal=True), Tiles,
    ),
    "maximum_before_a_negative_scale": (wide_negative, Tiles),
    "decoding_tiles_cross_the_group": (lambda t: forward(t, *three(1, 7, H=6, H_kv=2, H_kv_v=2)), build),
    "head_offset_from_a_quotient_of_strides": (
        lambda t: forward(t, *(heads_inside(x) for x in three(H=3))), build,
    ),
    "innermost_stride_taken_for_one": (lambda t: forward(t, *(second_features(x) for x in three())), build),
    "values_of_the_first_group_of_positions": (lambda t: forward(t, *three(3, 40, d=8, d_v=32)), build),
    "mask_of_the_first_sequence_for_few_queries": (lambda t: forward(t, *three(), first_keys), build),
    "bias_scaled_in_decoding": (lambda t: forward(t, *three(1, 7), normal(1, 7)), build),
    "full_mask_turns_causality_off": (
        lambda t: forward(t, *three(5, 5), torch.ones(5, 5, dtype=torch.bool), causal=True), build,
    ),
    "masks_of_two_batch_axes_tiled": (two_batch_axes, build),
    "value_gradient_spills_into_the_next_head": (lambda t: backward(t, *three()), Flash),
    "delta_found_in_another_tile": (lambda t: backward(t, *three()), Flash),
    "value_gradient_in_chunks_of_the_key_width": (lambda t: backward(t, *three(d=16, d_v=12)), Flash),
    "keys_transposed_twice_in_the_backward": (lambda t: backward(t, *three(5, 3, H=3)), Flash),
    "nan_query_gradient_above_the_first_key": (lambda t: backward(t, *three(5, 3), True, -2), bottom_right),
    "no_queries_leave_key_gradients_unwritten": (lambda t: backward(t, *three(0, 7)), Flash),
    "value_gradient_of_a_fused_projection": (one_projection, Flash),
    "dropout_seed_of_the_call_before": (dropped_after_another_seed, build),
    "window_of_self_attention_stays": (cross_after_causal, build),
    "scale_of_one_compiled_in": (default_scale_after_one, build),
    "lse_of_smoothed_keys": (lambda t: of_lse(t, *(x + 2 for x in three(dtype=BF16))), lse.build_lse),
    "lse_of_two_bases_in_decoding": (lambda t: of_lse(t, *three(1, 40)), lse.build_lse),
    "lse_by_rows_where_keys_are_values": (shared_memory, lse.build_lse),
    "lse_gradient_added_to_delta": (loss_on_both, lse.build_lse),
    "page_of_zeros_at_its_end": (lambda t: in_chunks(t, (7, 1), None), lambda: Cache),
    "chunk_rows_see_the_whole_ring": (lambda t: in_chunks(t, (6, 3), 4), lambda: Cache),
    "ring_joined_as_it_lies": (lambda t: in_chunks(t, (1, 1, 1, 1, 1, 1, 3), 4), lambda: Cache),
    "single_token_rotation_of_the_first_sequence": (
        lambda t: turned(t, normal(2, 3, 1, 8), torch.tensor([3])), rotary.table_of_each_call,
    ),
    "rows_of_a_view_counted_by_heads": (rows_of_a_view, rotary.table_of_each_call),
    "slopes_sorted": (six_slopes, lambda: bias.correct),
    "window_cut_off_the_wrong_side": (lambda t: same(t(7, 7, 2), right_window(7, 7, 2)), lambda: right_window),
    "documents_read_as_a_mask": (lambda t: same(t(5, 5, ids), right_documents(5, 5, ids)), lambda: right_documents),
    "lengths_sorted_for_packing": (lambda t: same(t(5, 5, lengths), real_keys(5, 5, lengths)), lambda: real_keys),
    "split_of_a_chunk_reads_its_neighbours": (third_of_a_projection, split_merge_heads.correct),
    "scaled_by_one_half": (lambda t: module(t, 16), lambda: MultiHead),
    "fast_path_knows_padding_alone": (lambda t: module(t, 8), lambda: MultiHead),
}  # fmt: skip
