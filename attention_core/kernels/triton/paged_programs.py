"""The programs of decoding over pages in Triton: parts of a text's keys, and the merge of these parts.

Queries are (B, n, H, d), pages (pages, page, H_kv, d), parts (splits, B, n, H, d_v) in float32. One program has all
query rows that share a key head, so that keys are read once: row r is token r // group, head h_kv group + r mod group.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def heads_of(place, H_kv, group, n, ROWS: tl.constexpr):
    """For a program's number: its text, its key head, and for every row its token, its head and whether it exists."""
    rows = tl.arange(0, ROWS)
    h_kv = place % H_kv
    return place // H_kv, h_kv, rows // group, h_kv * group + rows % group, rows < n * group


@triton.jit
def decode_part(
    Q, K, V, Table, Lengths, Out, Lse,
    q_b, q_n, q_h, k_page, k_row, k_h, v_page, v_row, v_h, columns,
    n, H, H_kv, group, d, d_v, page, scale, splits,
    IS_CAUSAL: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr, D: tl.constexpr, D_V: tl.constexpr,
):  # fmt: skip
    """One part of the keys of one text and key head: o and lse of its query rows over these keys."""
    part = tl.program_id(0)
    b, h_kv, token, head, there = heads_of(tl.program_id(1), H_kv, group, n, ROWS)
    length = tl.load(Lengths + b)
    blocks = tl.cdiv(tl.cdiv(length, BLOCK), splits)
    first = part * blocks * BLOCK
    features, channels = tl.arange(0, D), tl.arange(0, D_V)
    q_at = Q + b.to(tl.int64) * q_b + token[:, None] * q_n + head[:, None] * q_h + features[None, :]
    q = tl.load(q_at, mask=there[:, None] & (features[None, :] < d), other=0.0)
    largest = tl.full([ROWS], -float("inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    acc = tl.zeros([ROWS, D_V], tl.float32)
    for start in range(first, tl.minimum(first + blocks * BLOCK, length), BLOCK):
        keys = start + tl.arange(0, BLOCK)
        exists = keys < length
        # What stands in the table past the last page, and in a page past the last key, is not read.
        number = tl.load(Table + b.to(tl.int64) * columns + keys // page, mask=exists, other=0).to(tl.int64)
        at = K + (number * k_page + (keys % page) * k_row + h_kv * k_h)[:, None] + features[None, :]
        k = tl.load(at, mask=exists[:, None] & (features[None, :] < d), other=0.0)
        at = V + (number * v_page + (keys % page) * v_row + h_kv * v_h)[:, None] + channels[None, :]
        v = tl.load(at, mask=exists[:, None] & (channels[None, :] < d_v), other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = exists[None, :]
        if IS_CAUSAL:  # the queries are the last tokens of the text
            seen = seen & (keys[None, :] <= token[:, None] + length - n)
        s = tl.where(seen, s, -float("inf"))
        new = tl.maximum(largest, tl.max(s, 1))
        shift = tl.where(new == -float("inf"), 0.0, new)
        p = tl.exp(s - shift[:, None])
        correction = tl.exp(largest - shift)
        total = total * correction + tl.sum(p, 1)
        acc = acc * correction[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        largest = new
    dead = total == 0.0
    o = acc / tl.where(dead, 1.0, total)[:, None]
    lse = tl.where(dead, -float("inf"), largest + tl.log(tl.where(dead, 1.0, total)))
    line = ((part * tl.num_programs(1) // H_kv + b).to(tl.int64) * n + token) * H + head
    tl.store(Lse + line, lse, mask=there)
    tl.store(Out + line[:, None] * d_v + channels[None, :], o, mask=there[:, None] & (channels[None, :] < d_v))


@triton.jit
def merge_parts(
    Parts, Lses, Out, B, n, H, H_kv, group, d_v, splits, ROWS: tl.constexpr, D_V: tl.constexpr
):  # fmt: skip
    """The parts of the keys as one: o = sum_s e^(lse_s - lse) o_s with lse = log sum_s e^lse_s."""
    b, _, token, head, there = heads_of(tl.program_id(0), H_kv, group, n, ROWS)
    channels = tl.arange(0, D_V)
    line = (b.to(tl.int64) * n + token) * H + head
    exists = there[:, None] & (channels[None, :] < d_v)
    step = (
        (tl.zeros([ROWS], tl.int64) + B) * n * H
    )  # on a GPU an argument of 1 is a constant, which has no type to widen
    largest = tl.full([ROWS], -float("inf"), tl.float32)
    for part in range(splits):
        largest = tl.maximum(largest, tl.load(Lses + part * step + line, mask=there, other=-float("inf")))
    shift = tl.where(largest == -float("inf"), 0.0, largest)  # a row without a key in any part
    total = tl.zeros([ROWS], tl.float32)
    acc = tl.zeros([ROWS, D_V], tl.float32)
    for part in range(splits):
        weight = tl.exp(tl.load(Lses + part * step + line, mask=there, other=-float("inf")) - shift)
        o = tl.load(Parts + (part * step + line)[:, None] * d_v + channels[None, :], mask=exists, other=0.0)
        total += weight
        acc += weight[:, None] * o
    o = acc / tl.where(total == 0.0, 1.0, total)[:, None]
    tl.store(Out + line[:, None] * d_v + channels[None, :], o.to(Out.dtype.element_ty), mask=exists)
