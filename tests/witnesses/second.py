"""For every fault of the second set: a call, made by hand, on which it leaves float64's answer further than rounding may.

`WITNESS[name]` is a function of a target and a correct one in its place: the error over its bound, and the correct one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from witnesses.calls import ratio

from attention_core import oracle
from attention_core.conformance.budgets import budget
from attention_core.faults import bias, lse, position_table, rotary, split_merge_heads
from attention_core.faults.bases.reference import build
from attention_core.faults.bases.tiles import Flash, Tiles
from attention_core.faults.kv_cache import Cache
from attention_core.faults.mask_builder import positions
from attention_core.faults.multi_head import MultiHead

BF16, F16 = torch.bfloat16, torch.float16


def normal(*shape: int, dtype: torch.dtype = torch.float32, size: float = 1.0, seed: int = 0) -> Tensor:
    """Normal values of a seed and a shape."""
    made = torch.Generator().manual_seed(seed + sum(n * 31**i for i, n in enumerate(shape)))
    return (size * torch.randn(shape, generator=made, dtype=torch.float64)).to(dtype)


def three(n_q: int = 5, n_kv: int = 7, d: int = 8, d_v: int = 8, H: int = 2, B: int = 2, **how: Any) -> list[Tensor]:
    """Query, key and value."""
    shapes = ((B, H, n_q, d), (B, how.pop("H_kv", H), n_kv, d), (B, how.pop("H_kv_v", H), n_kv, d_v))
    return [normal(*shape, **how, seed=i) for i, shape in enumerate(shapes)]


def excess(
    target: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, causal: bool = False,
    alignment: str = "top_left", cotangent: Tensor | None = None, out: Tensor | None = None,
) -> float:  # fmt: skip
    """The largest error over the derived budget of the output and, with a cotangent, of the gradients that are asked for."""
    named: dict[str, Any] = {"attn_mask": mask} if mask is not None else {}
    named |= {"is_causal": True} if causal else {}
    named |= {"enable_gqa": True} if k.shape[-3] != q.shape[-3] else {}
    out = target(q, k, v, **named) if out is None else out
    Q, K, V = (x.detach().double().numpy() for x in (q, k, v))
    M = None if mask is None else mask.detach().numpy() if mask.dtype == torch.bool else mask.detach().double().numpy()
    true = oracle.attention(Q, K, V, M, is_causal=causal, alignment=alignment)
    how: dict[str, Any] = {"mask": M, "dtype": str(q.dtype)[6:], "accumulate": "float32"}
    worst = ratio(out, true.out, budget.forward_bound(Q, K, V, true, **how).out)
    if cotangent is None:
        return worst
    C, asks = cotangent.double().numpy(), mask is not None and mask.requires_grad
    want = oracle.gradients(
        Q, K, V, C, M, is_causal=causal, alignment=alignment, scale=None, want_mask=asks, truth=true
    )
    bound = budget.backward_bound(Q, K, V, C, true, want, **how, want_mask=asks)
    leaves = {"query": q, "key": k, "value": v} | ({"mask": mask} if asks else {})
    if k is v:
        (got,) = torch.autograd.grad(out, [k], cotangent)
        return max(worst, ratio(got, want.key + want.value, bound.key + bound.value))
    found = torch.autograd.grad(out, list(leaves.values()), cotangent)
    return max(worst, *(ratio(g, getattr(want, n), getattr(bound, n)) for g, n in zip(found, leaves, strict=True)))


def leaves(*given: Tensor) -> list[Tensor]:
    """The same, asking for gradients."""
    return [x.requires_grad_() for x in given]


def off(got: Tensor, want: Tensor, bound: float) -> float:
    """max |got - want| / bound; inf for another shape or NaN."""
    if got.shape != want.shape or bool(got.isnan().any()):
        return math.inf
    return float((got.detach().double() - want.double()).abs().max() / bound)


# --- attention ------------------------------------------------------------------------------------


def saturating(target: Any) -> float:
    """Two scores beyond 65504, 1024 apart."""
    q, v = torch.full((1, 1, 1, 16), 64.0, dtype=F16), normal(1, 1, 2, 4, dtype=F16)
    return excess(target, q, torch.tensor([128.0, 127.0], dtype=F16)[:, None].expand(1, 1, 2, 16), v)


def open_inside(target: Any) -> float:
    """A mask that hides its four corners."""
    mask = torch.ones(5, 7, dtype=torch.bool)
    mask[[0, 0, -1, -1], [0, -1, 0, -1]] = False
    return excess(target, *three(), mask)


def hidden_from_the_first_head(target: Any) -> float:
    """Two heads, the first of which sees nothing of the second block of keys."""
    mask = torch.ones(1, 2, 5, 20, dtype=torch.bool)
    mask[:, 0, :, 16:] = False
    return excess(target, *leaves(*three(5, 20)), mask, cotangent=normal(2, 2, 5, 8))


def many_rows_share_a_mask(target: Any) -> float:
    """A bias of the keys in bfloat16, for 8 sequences, 4 heads and 16 queries, that all want more of the first key."""
    q, k, v = three(16, 9, B=8, H=4, dtype=BF16)
    v[..., 0, :] += 3
    mask = normal(1, 1, 1, 9, dtype=BF16)
    return excess(target, *leaves(q, k, v, mask), cotangent=torch.ones(8, 4, 16, 8, dtype=BF16))


def one_tensor_for_both(target: Any) -> float:
    """Keys that are the values."""
    q, k = leaves(*three()[:2])
    return excess(target, q, k, k, cotangent=normal(2, 2, 5, 8))


def causal_after_another(target: Any) -> float:
    """A backward over all keys, then a causal one of the same sizes."""
    cotangent = normal(2, 2, 5, 8)
    excess(target, *leaves(*three(5, 40)), cotangent=cotangent)
    return excess(target, *leaves(*three(5, 40)), causal=True, cotangent=cotangent)


def dead_after_alive(target: Any) -> float:
    """A call, then one of the same sizes whose first sequence sees nothing."""
    excess(target, *three())
    return excess(target, *three(), (torch.arange(2) > 0)[:, None, None, None].expand(2, 1, 5, 7))


def causal_after_masked(target: Any) -> float:
    """A causal call with a mask, then one without."""
    excess(target, *three(), torch.eye(5, 7, dtype=torch.bool), causal=True)
    return excess(target, *three(), causal=True)


def result_of_before(target: Any) -> float:
    """The output of a call, looked at after the next one."""
    given = three()
    out = target(*given)
    target(*(x + 1 for x in given))
    return excess(target, *given, out=out)


def overlapping(target: Any) -> float:
    """What rows drop, seen through equal weights and values that name their key: inf where rows share 16 keys further."""
    torch.manual_seed(0)
    out = target(torch.zeros(4, 4, 6, 2), torch.zeros(4, 4, 20, 2), torch.eye(20).expand(4, 4, 20, 20), dropout_p=0.5)
    return math.inf if torch.equal(out[..., :-1, 16:] > 0, out[..., 1:, :4] > 0) else 0.0


def difference_quotient(target: Any) -> float:
    """The query's gradient under dropout against a central difference with the same random numbers."""
    (q, k, v), u, c, step = three(dtype=torch.float64), normal(2, 2, 5, 8), normal(2, 2, 5, 8), 1e-5

    def loss(x: Tensor) -> Tensor:
        torch.manual_seed(3)
        return (target(x, k, v, dropout_p=0.5) * c).sum()

    slope = (loss(q + step * u) - loss(q - step * u)) / (2 * step)
    (g,) = torch.autograd.grad(loss(q.requires_grad_()), [q])
    return off((g * u).sum(), slope, 1e-7 * float((g * u).abs().sum()))


# --- other contracts ------------------------------------------------------------------------------


def loss_on_lse_alone(target: Any) -> float:
    """d(sum lse)/dQ = scale P K."""
    q, k, v = three()
    (g,) = torch.autograd.grad(target(q.requires_grad_(), k, v)[1].sum(), [q])
    s = q.detach().double() @ k.double().mT / math.sqrt(8)
    return off(g, s.softmax(-1) @ k.double() / math.sqrt(8), 1e-5)


def lse_of_five_rows(target: Any) -> float:
    """Two heads, five rows."""
    q, k, v = three()
    return off(target(q, k, v)[1], torch.logsumexp(q.double() @ k.double().mT / math.sqrt(8), -1), 1e-5)


def in_chunks(target: Any, chunks: tuple[int, ...], window: int | None) -> float:
    """A cache, chunk by chunk, against the formula for the whole."""
    n = sum(chunks)
    q, k, v = three(n, n)
    step = target() if window is None else target(window)
    got = torch.cat([step(*part) for part in zip(*(x.split(chunks, -2) for x in (q, k, v)), strict=True)], -2)
    i, j = torch.arange(n)[:, None], torch.arange(n)
    s = (q.double() @ k.double().mT / math.sqrt(8)).masked_fill((j > i) | (j <= i - (window or n)), -math.inf)
    return off(got, s.softmax(-1) @ v.double(), 1e-5)


def turned(x: Tensor, places: Tensor) -> Tensor:
    """The rotation by halves, in float64."""
    half = x.shape[-1] // 2
    angle = places[:, None].double() * 10000.0 ** (-torch.arange(half).double() / half)
    a, b = x.detach().double().chunk(2, -1)
    return torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1)


def float32_after_bfloat16(target: Any) -> float:
    """A rotation of bfloat16, then one of float32."""
    x, places = normal(1, 2, 5, 8), torch.arange(5)
    target(x.bfloat16(), places)
    return off(target(x, places), turned(x, places), 1e-5)


def rotation_gradient(target: Any) -> float:
    """The gradient of a rotation is the rotation back."""
    x, c, places = normal(1, 2, 5, 8).requires_grad_(), normal(1, 2, 5, 8, seed=1), torch.arange(5)
    (g,) = torch.autograd.grad(target(x, places), [x], c)
    return off(g, turned(c, -places), 1e-5)


def four_heads_after_eight(target: Any) -> float:
    """Slopes 1/4, 1/16, 1/64, 1/256, after a call with eight heads."""
    target(8, 3, 3)
    behind = torch.arange(3)[:, None] - torch.arange(3)
    return off(target(4, 3, 3), -(0.25 ** torch.arange(1, 5).double())[:, None, None] * behind, 1e-6)


def eight_rows_of_sines(target: Any) -> float:
    """Eight positions: angles up to 7, which float32 holds to 5e-7."""
    angle = torch.arange(8)[:, None] * 10000.0 ** (-torch.arange(0, 8, 2).double() / 8)
    return off(target(8, 8), torch.stack([angle.sin(), angle.cos()], -1).flatten(1), 2e-6)


def window_at_the_end(target: Any) -> float:
    """Three queries at the end of nine keys, a window of two."""
    want = torch.tensor([[6 + i - 2 < j <= 6 + i for j in range(9)] for i in range(3)])
    return 0.0 if torch.equal(target(3, 9, 2, align="bottom_right"), want) else math.inf


def input_of_the_merge(target: Any) -> float:
    """The tensor that was merged, afterwards."""
    x = normal(2, 3, 5, 4)
    before = x.clone()
    target[1](x)
    return 0.0 if x.shape == before.shape and torch.equal(x, before) else math.inf


def module(target: Any, batch: int, again: bool) -> float:
    """A module in evaluation against the correct one with its weights; `again`: after a call and other weights."""
    torch.manual_seed(0)
    got, want, x = target(8, 2).eval(), MultiHead(8, 2), normal(batch, 5, 8)
    mask = torch.arange(batch * 25).reshape(batch, 1, 5, 5) % 7 < 4
    mask = mask | torch.eye(5, dtype=torch.bool)
    with torch.no_grad():
        if again:
            got(x)
            got.load_state_dict({name: -given for name, given in got.state_dict().items()})
        want.load_state_dict(got.state_dict())
        return off(got(x, mask), want.double()(x.double(), mask), 1e-5)


def expanded() -> list[Tensor]:
    """Seventeen keys and values, each of one head for three."""
    q, k, v = three(5, 17, H=3)
    return [q, *(x[:, :1].expand(2, 3, 17, 8) for x in (k, v))]


def heads_last_keys() -> list[Tensor]:
    """Packed queries, keys whose heads lie last."""
    q, k, v = three(5, 5, H=3)
    return [q, k.transpose(1, 2).contiguous().transpose(1, 2), v]


def left_padded() -> Tensor:
    """Forty keys of which the first 25 are hidden."""
    return (torch.arange(40) >= 25).expand(1, 1, 3, 40)


def lower_window(n_q: int, n_kv: int, W: int, align: str = "top_left") -> Tensor:
    """The correct window."""
    i, j = positions(n_q, n_kv, align)
    return (j <= i) & (j > i - W)


Witness = tuple[Callable[[Any], float], Callable[[], Any]]
RIGHT = "bottom_right"
grouped = lambda t: excess(  # noqa: E731
    t, *leaves(*three(H=6, H_kv=2, H_kv_v=2)), cotangent=normal(2, 6, 5, 8)
)
WITNESS: dict[str, Witness] = {
    "two_empty_splits_swallow_the_row": (lambda t: excess(t, *three(3, 40), left_padded()), Tiles),
    "trailing_split_reads_as_a_zero": (lambda t: excess(t, *three(5, 70)), Tiles),
    "bias_of_the_tail_in_base_two": (lambda t: excess(t, *three(5, 20), normal(5, 20)), Tiles),
    "last_chunk_slides_back": (lambda t: excess(t, *three(5, 20)), Tiles),
    "log2e_of_five_digits": (lambda t: excess(t, *three(5, 20, size=2, dtype=torch.float64)), Tiles),
    "unscaled_product_saturates_in_float16": (saturating, Tiles),
    "tiles_tested_at_their_corners": (open_inside, build),
    "mask_lowered_before_it_is_broadcast": (
        lambda t: excess(t, *three(), torch.ones(1, 1, 1, 7, dtype=torch.bool), causal=True), build,
    ),
    "bottom_right_for_each_chunk_of_queries": (
        lambda t: excess(t, *three(40, 40), causal=True, alignment=RIGHT),
        lambda: build(causal_allowed=lambda n_q, n_kv: torch.ones(n_q, n_kv, dtype=torch.bool).tril(n_kv - n_q)),
    ),
    "one_key_needs_no_mask": (lambda t: excess(t, *three(5, 1), torch.arange(5)[:, None] > 1), build),
    "scale_of_the_value_width": (lambda t: excess(t, *three(d_v=4)), build),
    "expanded_heads_lose_their_last_key": (lambda t: excess(t, *expanded()), build),
    "one_set_of_strides_for_query_and_key": (lambda t: excess(t, *heads_last_keys()), build),
    "group_found_by_the_number_of_key_heads": (grouped, Flash),
    "diagonal_rows_missing_from_key_gradients": (
        lambda t: excess(t, *leaves(*three(40, 40)), causal=True, cotangent=normal(2, 2, 40, 8)), Flash,
    ),
    "query_gradient_skips_blocks_by_the_first_head": (hidden_from_the_first_head, Flash),
    "mask_gradient_added_in_its_dtype": (many_rows_share_a_mask, Flash),
    "shared_key_and_value_counted_twice": (one_tensor_for_both, Flash),
    "unseen_keys_keep_an_old_gradient": (causal_after_another, Flash),
    "dead_sequences_are_not_written": (dead_after_alive, build),
    "cached_triangle_takes_up_masks": (causal_after_masked, build),
    "results_share_one_buffer": (result_of_before, build),
    "random_numbers_overlap_between_rows": (overlapping, build),
    "score_gradient_from_dropped_weights": (difference_quotient, build),
    "lse_gradient_needs_that_of_the_output": (loss_on_lse_alone, lse.build_lse),
    "lse_read_without_its_padding": (lse_of_five_rows, lse.build_lse),
    "prefill_longer_than_the_window": (lambda t: in_chunks(t, (6, 1), 4), lambda: Cache),
    "keys_smoothed_by_each_chunk": (lambda t: in_chunks(t, (8, 3), None), lambda: Cache),
    "table_cast_down_for_good": (float32_after_bfloat16, rotary.table_of_each_call),
    "backward_turns_forward_again": (rotation_gradient, rotary.table_of_each_call),
    "slopes_of_the_largest_model_so_far": (four_heads_after_eight, lambda: bias.correct),
    "sines_by_interpolation": (eight_rows_of_sines, lambda: position_table.correct),
    "lower_edge_stays_top_left": (window_at_the_end, lambda: lower_window),
    "merge_transposes_in_place": (input_of_the_merge, split_merge_heads.correct),
    "fused_weights_of_the_first_evaluation": (lambda t: module(t, 2, True), lambda: MultiHead),
    "mask_of_the_first_four_sequences": (lambda t: module(t, 5, False), lambda: MultiHead),
}  # fmt: skip
