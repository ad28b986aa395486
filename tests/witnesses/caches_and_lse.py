"""Witnesses of faults of key-value caches and of the log-sum-exp.

`WITNESS` has, by the name of a fault, how far a target is off on the call that shows it, and a correct target in its place.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from witnesses.measures import Witness, distance, leaves, normal, off, three, truth

from attention_core.faults import lse
from attention_core.faults.bases.cache import Cache


def loss_on_lse_alone(target: Any) -> float:
    """d(sum lse)/dQ = scale P K."""
    q, k, v = three()
    (g,) = torch.autograd.grad(target(q.requires_grad_(), k, v)[1].sum(), [q])
    s = q.detach().double() @ k.double().mT / math.sqrt(8)
    return distance(g, s.softmax(-1) @ k.double() / math.sqrt(8), 1e-5)


def lse_of_five_rows(target: Any) -> float:
    """Two heads, five rows."""
    q, k, v = three()
    return distance(target(q, k, v)[1], torch.logsumexp(q.double() @ k.double().mT / math.sqrt(8), -1), 1e-5)


def chunked(target: Any, chunks: tuple[int, ...], window: int | None) -> float:
    """A cache, chunk by chunk, against the formula for the whole."""
    n = sum(chunks)
    q, k, v = three(n, n)
    step = target() if window is None else target(window)
    got = torch.cat([step(*part) for part in zip(*(x.split(chunks, -2) for x in (q, k, v)), strict=True)], -2)
    i, j = torch.arange(n)[:, None], torch.arange(n)
    s = (q.double() @ k.double().mT / math.sqrt(8)).masked_fill((j > i) | (j <= i - (window or n)), -math.inf)
    return distance(got, s.softmax(-1) @ v.double(), 1e-5)


BF16 = torch.bfloat16


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


def second_cache(target: Any) -> float:
    """A cache after another one that was never reset."""
    target()(*three(2, 2))
    return in_chunks(target, (3, 2), None)


def in_float64(target: Any) -> float:
    """Chunks of float64."""
    q, k, v = three(5, 5, dtype=torch.float64)
    step = target()
    parts = zip(*(x.split((3, 2), -2) for x in (q, k, v)), strict=True)
    got = torch.cat([step(*part) for part in parts], -2)
    return off(got, truth(q, k, v, torch.ones(5, 5, dtype=torch.bool).tril())[0])


def two_in_turn(target: Any) -> float:
    """A second cache between the steps of a first one."""
    q, k, v = three(2, 2)
    first = target()
    first(*(x[..., :1, :] for x in (q, k, v)))
    target()(*three(1, 1))
    return off(first(*(x[..., 1:, :] for x in (q, k, v))), truth(q[..., 1:, :], k, v)[0])


def gradient_of_lse(target: Any) -> float:
    """dQ and dK of the sum of the log-sum-exp."""
    q, k, v = leaves(*three())
    got = torch.autograd.grad(target(q, k, v)[1].sum(), [q, k])
    want = torch.autograd.grad(torch.logsumexp(q.double() @ k.double().mT / math.sqrt(8), -1).sum(), [q, k])
    return max(off(a, b.double()) for a, b in zip(got, want, strict=True))


def empty_row(target: Any) -> float:
    """inf where the log-sum-exp of a row without keys is not -inf."""
    mask = (torch.arange(5) != 2)[:, None].expand(5, 7)
    return 0.0 if bool((target(*three(), attn_mask=mask)[1][..., 2] == -math.inf).all()) else math.inf


def lse_with(target: Any, **named: Any) -> float:
    """The log-sum-exp with a scale, or with grouped heads."""
    q, k, v = three(H=4, H_kv=2, H_kv_v=2) if named.get("enable_gqa") else three()
    return off(target(q, k, v, **named)[1], truth(q, k, v, scale=named.get("scale"))[1])


WITNESS: dict[str, Witness] = {
    "lse_gradient_needs_that_of_the_output": (loss_on_lse_alone, lse.build_lse),
    "lse_read_without_its_padding": (lse_of_five_rows, lse.build_lse),
    "prefill_longer_than_the_window": (lambda t: chunked(t, (6, 1), 4), lambda: Cache),
    "keys_smoothed_by_each_chunk": (lambda t: chunked(t, (8, 3), None), lambda: Cache),
    "lse_of_smoothed_keys": (lambda t: of_lse(t, *(x + 2 for x in three(dtype=BF16))), lse.build_lse),
    "lse_of_two_bases_in_decoding": (lambda t: of_lse(t, *three(1, 40)), lse.build_lse),
    "lse_by_rows_where_keys_are_values": (shared_memory, lse.build_lse),
    "lse_gradient_added_to_delta": (loss_on_both, lse.build_lse),
    "page_of_zeros_at_its_end": (lambda t: in_chunks(t, (7, 1), None), lambda: Cache),
    "chunk_rows_see_the_whole_ring": (lambda t: in_chunks(t, (6, 3), 4), lambda: Cache),
    "ring_joined_as_it_lies": (lambda t: in_chunks(t, (1, 1, 1, 1, 1, 1, 3), 4), lambda: Cache),
    "rolled_one_step_early": (lambda t: in_chunks(t, (1,) * 6, 4), lambda: Cache),
    "evicted_before_a_chunk_attends": (lambda t: in_chunks(t, (6, 3), 4), lambda: Cache),
    "chunk_clamped_to_the_end": (lambda t: in_chunks(t, (14, 4), None), lambda: Cache),
    "list_of_the_class": (second_cache, lambda: Cache),
    "lse_of_the_maximum_not_applied": (lambda t: of_lse(t, *three(5, 20)), lse.build_lse),
    "evicted_before_the_step_attends": (lambda t: in_chunks(t, (3, 2, 2), 4), lambda: Cache),
    "long_chunks_keep_two_windows": (lambda t: in_chunks(t, (12,), 4), lambda: Cache),
    "growth_loses_the_values": (lambda t: in_chunks(t, (14, 4), None), lambda: Cache),
    "buffers_of_the_default_dtype": (in_float64, lambda: Cache),
    "forgets_after_256": (lambda t: in_chunks(t, (200, 100), None), lambda: Cache),
    "one_store_for_all_caches": (two_in_turn, lambda: Cache),
    "lse_gradient_is_zero": (gradient_of_lse, lse.build_lse),
    "lse_of_dead_rows_is_minus_46": (empty_row, lse.build_lse),
    "lse_at_the_default_scale": (lambda t: lse_with(t, scale=0.3), lse.build_lse),
    "lse_of_groups_in_the_other_order": (lambda t: lse_with(t, enable_gqa=True), lse.build_lse),
}
