"""The programs of FlashAttention in Triton: the forward pass, and the two of the backward pass.

A tensor is (B, H, n, d) with strides over its first three axes and features side by side. One program has one block
of rows of one head of one sequence; its number along axis 1 is b H + h. D and D_V are d and d_v, rounded up to powers
of two.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def rows_at(X, stride_b, stride_h, stride_n, b, h, rows, n, d, D: tl.constexpr):
    """The addresses of some rows of one head, and which of their elements exist."""
    columns = tl.arange(0, D)
    # An offset of 32 bits overflows in a large cache: b and the rows are widened before they are multiplied.
    start = X + b.to(tl.int64) * stride_b + h.to(tl.int64) * stride_h
    at = start + rows.to(tl.int64)[:, None] * stride_n + columns[None, :]
    return at, (rows[:, None] < n) & (columns[None, :] < d)


@triton.jit
def forward(
    Q, K, V, Out, Lse,
    q_b, q_h, q_n, k_b, k_h, k_n, v_b, v_h, v_n, o_b, o_h, o_n,
    H, group, n_q, n_kv, d, d_v, scale,
    IS_CAUSAL: tl.constexpr, BLOCK: tl.constexpr, D: tl.constexpr, D_V: tl.constexpr,
):  # fmt: skip
    """One block of queries: o and lse over all blocks of keys, with an online softmax."""
    # A name that a loop takes anew must keep its type on a GPU: the queries' addresses have names of their own.
    place = tl.program_id(1)
    b, h = place // H, place % H
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    q_at, q_there = rows_at(Q, q_b, q_h, q_n, b, h, rows, n_q, d, D)
    q = tl.load(q_at, mask=q_there, other=0.0)
    largest = tl.full([BLOCK], -float("inf"), tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    acc = tl.zeros([BLOCK, D_V], tl.float32)
    # Below the diagonal's block no key is seen by any of these queries.
    stop = tl.minimum(n_kv, (tl.program_id(0) + 1) * BLOCK) if IS_CAUSAL else n_kv
    for start in range(0, stop, BLOCK):
        keys = start + tl.arange(0, BLOCK)
        at, there = rows_at(K, k_b, k_h, k_n, b, h // group, keys, n_kv, d, D)
        k = tl.load(at, mask=there, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = keys[None, :] < n_kv
        if IS_CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        s = tl.where(seen, s, -float("inf"))
        new = tl.maximum(largest, tl.max(s, 1))
        # A row without a key so far has -inf - (-inf), which is NaN; any finite number will do.
        shift = tl.where(new == -float("inf"), 0.0, new)
        p = tl.exp(s - shift[:, None])
        correction = tl.exp(largest - shift)
        at, there = rows_at(V, v_b, v_h, v_n, b, h // group, keys, n_kv, d_v, D_V)
        v = tl.load(at, mask=there, other=0.0)
        total = total * correction + tl.sum(p, 1)
        acc = acc * correction[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        largest = new
    dead = total == 0.0
    o = acc / tl.where(dead, 1.0, total)[:, None]
    lse = tl.where(dead, -float("inf"), tl.where(dead, 0.0, largest) + tl.log(tl.where(dead, 1.0, total)))
    at, there = rows_at(Out, o_b, o_h, o_n, b, h, rows, n_q, d_v, D_V)
    tl.store(at, o.to(Out.dtype.element_ty), mask=there)
    tl.store(Lse + place.to(tl.int64) * n_q + rows, lse, mask=rows < n_q)


@triton.jit
def weights_again(q, k, lse, rows, keys, n_q, n_kv, scale, IS_CAUSAL: tl.constexpr):
    """The weights p = e^(s - lse) of a block, from the saved log-sum-exp of its rows."""
    s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
    seen = (rows[:, None] < n_q) & (keys[None, :] < n_kv)
    if IS_CAUSAL:
        seen = seen & (keys[None, :] <= rows[:, None])
    # A dead row has lse = -inf, and none of its pairs is seen.
    return tl.exp(tl.where(seen, s - lse[:, None], -float("inf")))


@triton.jit
def backward_queries(
    Q, K, V, Grad, Lse, Delta, GradQ,
    q_b, q_h, q_n, k_b, k_h, k_n, v_b, v_h, v_n, g_b, g_h, g_n, o_b, o_h, o_n,
    H, group, n_q, n_kv, d, d_v, scale,
    IS_CAUSAL: tl.constexpr, BLOCK: tl.constexpr, D: tl.constexpr, D_V: tl.constexpr,
):  # fmt: skip
    """One block of queries: dq_i = scale sum_j ds_ij k_j, with ds = p (do . v - delta)."""
    place = tl.program_id(1)
    b, h = place // H, place % H
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at, there = rows_at(Q, q_b, q_h, q_n, b, h, rows, n_q, d, D)
    q = tl.load(at, mask=there, other=0.0)
    at, there = rows_at(Grad, g_b, g_h, g_n, b, h, rows, n_q, d_v, D_V)
    grad = tl.load(at, mask=there, other=0.0)
    lse = tl.load(Lse + place.to(tl.int64) * n_q + rows, mask=rows < n_q, other=0.0)
    delta = tl.load(Delta + place.to(tl.int64) * n_q + rows, mask=rows < n_q, other=0.0)
    acc = tl.zeros([BLOCK, D], tl.float32)
    stop = tl.minimum(n_kv, (tl.program_id(0) + 1) * BLOCK) if IS_CAUSAL else n_kv
    for start in range(0, stop, BLOCK):
        keys = start + tl.arange(0, BLOCK)
        at, there = rows_at(K, k_b, k_h, k_n, b, h // group, keys, n_kv, d, D)
        k = tl.load(at, mask=there, other=0.0)
        at, there = rows_at(V, v_b, v_h, v_n, b, h // group, keys, n_kv, d_v, D_V)
        v = tl.load(at, mask=there, other=0.0)
        p = weights_again(q, k, lse, rows, keys, n_q, n_kv, scale, IS_CAUSAL)
        ds = p * (tl.dot(grad, tl.trans(v), input_precision="ieee") - delta[:, None])
        acc += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
    at, there = rows_at(GradQ, o_b, o_h, o_n, b, h, rows, n_q, d, D)
    tl.store(at, (acc * scale).to(GradQ.dtype.element_ty), mask=there)


@triton.jit
def backward_keys(
    Q, K, V, Grad, Lse, Delta, GradK, GradV,
    q_b, q_h, q_n, k_b, k_h, k_n, v_b, v_h, v_n, g_b, g_h, g_n, dk_b, dk_h, dk_n, dv_b, dv_h, dv_n,
    H_kv, group, n_q, n_kv, d, d_v, scale,
    IS_CAUSAL: tl.constexpr, BLOCK: tl.constexpr, D: tl.constexpr, D_V: tl.constexpr,
):  # fmt: skip
    """One block of keys, for all query heads that share them: dv_j = sum_i p_ij do_i and dk_j = scale sum_i ds_ij q_i.

    No two programs write one gradient, so that nothing is added atomically and the same call gives the same bits.
    """
    place = tl.program_id(1)
    b, h_kv = place // H_kv, place % H_kv
    keys = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at, there = rows_at(K, k_b, k_h, k_n, b, h_kv, keys, n_kv, d, D)
    k = tl.load(at, mask=there, other=0.0)
    at, there = rows_at(V, v_b, v_h, v_n, b, h_kv, keys, n_kv, d_v, D_V)
    v = tl.load(at, mask=there, other=0.0)
    grad_k = tl.zeros([BLOCK, D], tl.float32)
    grad_v = tl.zeros([BLOCK, D_V], tl.float32)
    first = tl.program_id(0) * BLOCK if IS_CAUSAL else 0  # earlier queries see none of these keys
    for member in range(group):
        h = h_kv * group + member
        line = (b * H_kv * group + h).to(tl.int64) * n_q
        for start in range(first, n_q, BLOCK):
            rows = start + tl.arange(0, BLOCK)
            at, there = rows_at(Q, q_b, q_h, q_n, b, h, rows, n_q, d, D)
            q = tl.load(at, mask=there, other=0.0)
            at, there = rows_at(Grad, g_b, g_h, g_n, b, h, rows, n_q, d_v, D_V)
            grad = tl.load(at, mask=there, other=0.0)
            lse = tl.load(Lse + line + rows, mask=rows < n_q, other=0.0)
            delta = tl.load(Delta + line + rows, mask=rows < n_q, other=0.0)
            p = weights_again(q, k, lse, rows, keys, n_q, n_kv, scale, IS_CAUSAL)
            grad_v += tl.dot(tl.trans(p.to(grad.dtype)), grad, input_precision="ieee")
            ds = p * (tl.dot(grad, tl.trans(v), input_precision="ieee") - delta[:, None])
            grad_k += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")
    at, there = rows_at(GradK, dk_b, dk_h, dk_n, b, h_kv, keys, n_kv, d, D)
    tl.store(at, (grad_k * scale).to(GradK.dtype.element_ty), mask=there)
    at, there = rows_at(GradV, dv_b, dv_h, dv_n, b, h_kv, keys, n_kv, d_v, D_V)
    tl.store(at, grad_v.to(GradV.dtype.element_ty), mask=there)
