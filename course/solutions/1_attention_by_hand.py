"""Answers to the exercises of notebook 1."""

from __future__ import annotations

import torch

# %% pick
pick = "20*k_0"

# %% mix
mix = "10*k_0 + 10*k_1"

# %% new_key
new_key = "0.693 0.718 0.006"  # the direction of k_0 + k_1: of all keys of length 1 it has the largest score

# %% lead
lead = r"\frac{1}{1 + (n - 1) e^{-g}}"

# %% extract
extract = r"2 A A^\top"


# %% pairwise_similarities
def pairwise_similarities(Q, K):
    """Return the products of every query with every key, (B, H, n, n)."""
    return Q @ K.transpose(-1, -2)


# %% attn_scaled
def attn_scaled(A, n_embd, n_heads):
    """Return the scores divided by the square root of the size of one head."""
    return A / (n_embd / n_heads) ** 0.5


# %% attn_softmax
def attn_softmax(A):
    """Return the weights, which add up to 1 for every query."""
    return torch.softmax(A, -1)


# %% compute_outputs
def compute_outputs(A, V):
    """Return the means of the values under the weights, (B, H, n, d)."""
    return A @ V


# %% make_causal_mask
def make_causal_mask(n_tok):
    """Return (n_tok, n_tok) of bools: True in row i and column j where token i may look at token j."""
    return torch.ones(n_tok, n_tok, dtype=torch.bool).tril()


# %% apply_causal_mask
def apply_causal_mask(mask, A):
    """Return the scores (B, H, n, n) with those that the mask hides replaced."""
    return A.masked_fill(~mask, -torch.inf)


# %% split_heads
def split_heads(Q, n_heads):
    """Return (B, n, E) as (B, n_heads, n, E / n_heads)."""
    B, n, E = Q.shape
    return Q.reshape(B, n, n_heads, E // n_heads).transpose(1, 2)


# %% merge_heads
def merge_heads(y):
    """Return (B, H, n, d) as (B, n, H d)."""
    B, H, n, d = y.shape
    return y.transpose(1, 2).reshape(B, n, H * d)


# %% self_attention
def self_attention(Q, K, V, n_heads, causal):
    """Return causal (or not) multi-head self-attention, (B, n, E)."""
    q, k, v = (split_heads(x, n_heads) for x in (Q, K, V))
    A = attn_scaled(pairwise_similarities(q, k), Q.shape[-1], n_heads)
    if causal:
        A = apply_causal_mask(make_causal_mask(Q.shape[-2]), A)
    return merge_heads(compute_outputs(attn_softmax(A), v))
