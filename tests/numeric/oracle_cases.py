"""Cases shared by the tests of the oracle.

Small problems for the oracle, and the rounding argument that bounds a weight in float64.
Sizes are distinct, so that swapped axes cannot pass; masks are spelled out pair by pair.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

U = 2.0**-53


H, H_KV, N_Q, N_KV, D, D_V = 2, 1, 3, 5, 2, 3


def gamma(k: float) -> float:
    return k * U / (1 - k * U)


def draw(seed: int, size: float = 1.0) -> tuple[np.ndarray, ...]:
    """query, key, value, cotangent with distinct sizes, so that swapped axes cannot pass."""
    rng = np.random.default_rng(seed)
    shapes = [(H, N_Q, D), (H_KV, N_KV, D), (H_KV, N_KV, D_V), (H, N_Q, D_V)]
    return tuple(rng.normal(size=s) * (size if a < 2 else 1.0) for a, s in enumerate(shapes))


def masks(seed: int) -> dict[str, tuple[np.ndarray | None, dict[str, object]]]:
    """Every way of forbidding pairs; the random ones leave each row a key."""
    rng = np.random.default_rng(seed)
    some = rng.random((H, N_Q, N_KV)) < 0.6
    some[..., 2] = True
    bias = rng.normal(size=(1, N_Q, N_KV))
    return {
        "none": (None, {}),
        "bool": (some, {}),
        "bias": (bias, {}),
        "bias with -inf": (np.where(some, bias, -np.inf), {}),
        "causal": (None, {"is_causal": True}),
        "causal to the right": (None, {"is_causal": True, "alignment": "bottom_right"}),
        "both": (some, {"is_causal": True, "alignment": "bottom_right"}),
        "a finite bias of -1e9": (np.where(some, 0.0, -1e9), {}),
    }


KINDS = list(masks(0))


def spelled_out(mask: np.ndarray | None, options: dict[str, object]) -> tuple[np.ndarray, np.ndarray]:
    """Allowed pairs and bias as full arrays, pair by pair from the definitions."""
    allow, bias = np.zeros((H, N_Q, N_KV), dtype=bool), np.zeros((H, N_Q, N_KV))
    full = None if mask is None else np.broadcast_to(mask, allow.shape)
    shift = N_KV - N_Q if options.get("alignment") == "bottom_right" else 0
    for h, i, j in itertools.product(range(H), range(N_Q), range(N_KV)):
        ok = not options.get("is_causal") or j <= i + shift
        if full is not None and full.dtype == bool:
            ok = ok and bool(full[h, i, j])
        elif full is not None:
            ok = ok and full[h, i, j] != -np.inf
            bias[h, i, j] = full[h, i, j] if ok else 0.0
        allow[h, i, j] = ok
    return allow, bias


def weight_error(q: np.ndarray, k: np.ndarray, allow: np.ndarray, bias: np.ndarray) -> float:
    """Relative error of any weight.

    A score is off by Delta <= gamma(d + 4) S + 3u (|s| + |b|) (products, scale with its own rounding, bias),
    s - m rounds to u (m - s), exp is within 4u, its sum within gamma(n): a weight is a quotient of such
    exponentials, so 1 + r = e^(2 Delta) (1 + gamma(2n + 8)). Keys below float64's range weigh nothing.
    """
    S = np.abs(q) @ np.abs(k).swapaxes(-1, -2) / math.sqrt(D)
    s = np.where(allow, q @ k.swapaxes(-1, -2) / math.sqrt(D) + bias, -np.inf)
    near = s - s.max(axis=-1, keepdims=True) > -700.0
    top, low = np.where(near, np.abs(s), 0.0).max(), np.abs(bias[near]).max()
    delta = gamma(D + 4) * S.max() + 3 * U * (top + low) + 2 * U * top + 4 * U
    return float(np.exp(2 * delta) * (1 + gamma(2 * N_KV + 8)) - 1)


def positive(p: np.ndarray, q: np.ndarray, k: np.ndarray, v: np.ndarray, c: np.ndarray) -> dict[str, np.ndarray]:
    """The gradients' formulas with every term positive."""
    q, k, v, c = (np.abs(x) for x in (q, k, v, c))
    dp = c @ v.swapaxes(-1, -2)
    ds = p * (dp + (p * dp).sum(-1, keepdims=True))
    turned = ds.swapaxes(-1, -2)
    return {
        "query": ds @ k / math.sqrt(D),
        "key": (turned @ q).sum(0, keepdims=True) / math.sqrt(D),
        "value": (p.swapaxes(-1, -2) @ c).sum(0, keepdims=True),
        "mask": ds.sum(0, keepdims=True),
    }
