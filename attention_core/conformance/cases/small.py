"""Small cases: sizes up to 4, every element drawn by Hypothesis from friendly numbers, so Hypothesis shrinks them.

What fails here is already a case a person can read.
"""

from __future__ import annotations

from functools import cache, lru_cache
from itertools import product
from typing import Any

import numpy as np
from hypothesis import strategies as st

from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.space import Profile, Space, small_members
from attention_core.conformance.worker.exchange import NDArray

Sizes = tuple[int, int, int, int, int, int]
"""n_q, n_kv, d, d_v, H, H_kv."""

FRIENDLY = (0.0, 1.0, -1.0, 2.0, -2.0, 0.5, 3.0, -3.0, 4.0, 8.0)
"""Exact in every dtype, ordered from plain to less plain (Hypothesis shrinks towards the front)."""
BIASES = (0.0, 1.0, -1.0, 2.0, -2.0, 0.5)
STRATEGIES = 16
"""Strategies that are kept; the cases drawn from one are kept as long as it is."""


_EITHER = st.booleans()


@cache
def _one_of(options: tuple[Any, ...]) -> Any:
    """Hypothesis's strategy, made once: making and checking one takes longer than a draw from it."""
    return st.sampled_from(options)


@cache
def _number(low: int, high: int) -> Any:
    return st.integers(low, high)


@cache
def _bytes(count: int) -> Any:
    return st.binary(min_size=count, max_size=count)


@lru_cache(maxsize=STRATEGIES)
def small_cases(space: Space, profile: Profile) -> Any:
    """The strategy of cases of `space` (already restricted to `profile`) with sizes up to 4, one for equal wishes."""
    return _small_case(space, profile)


@st.composite
def _small_case(draw: Any, space: Space, profile: Profile) -> Case:
    """One case."""
    if small_members(space):
        return _of_pool(draw, space, profile)
    dtype = draw(_one_of(space.dtypes or profile.dtypes))
    batch = draw(_number(space.min_batch, max(2, space.min_batch))) if profile.axes > 2 else 1
    n_q, n_kv, d, d_v, heads, kv_heads = sizes = _sizes(draw, space)
    if not profile.allows(sizes):
        n_q, n_kv, d, d_v, heads, kv_heads = draw(_one_of(declared_sizes(space, profile)))
    causal = draw(_one_of(space.causal))
    kind = draw(_one_of(space.masks))
    scale = draw(_one_of((None, 1.0, 2.0, 0.5))) if space.scales else None
    query = _array(draw, (batch, heads, n_q, d), FRIENDLY)
    key = _array(draw, (batch, kv_heads, n_kv, d), FRIENDLY)
    value = _array(draw, (batch, kv_heads, n_kv, d_v), FRIENDLY)
    dead = space.dead > 0 and draw(_EITHER)
    mask = _mask(draw, kind, (batch, heads, n_q, n_kv), dead)
    seed = draw(_number(0, 3))
    return Case(dtype, query, key, value, mask, causal, scale, seed, default_scale=profile.default_scale)


def _of_pool(draw: Any, space: Space, profile: Profile) -> Case:
    """A case of a small member of the pool: its numbers alone are drawn one by one."""
    member = draw(_one_of(small_members(space)))
    n_q, n_kv, d, d_v, heads, kv_heads = member.sizes
    choices, (kind, causal, form) = member.choices(space), member.flags(space)
    scale = (None, 1.0, 2.0, 0.5)[int(choices.integers(4))] if space.scales else None
    query = _array(draw, (member.batch, heads, n_q, d), FRIENDLY)
    key = _array(draw, (member.batch, kv_heads, n_kv, d), FRIENDLY)
    value = _array(draw, (member.batch, kv_heads, n_kv, d_v), FRIENDLY)
    dead = space.dead > 0 and draw(_EITHER)
    mask = _mask(draw, kind, (member.batch, heads, n_q, n_kv), dead, form % 3)
    dtype, seed = member.dtype, member.number
    return Case(dtype, query, key, value, mask, causal, scale, seed, default_scale=profile.default_scale)


def _sizes(draw: Any, space: Space) -> Sizes:
    """Sizes of a space, each drawn on its own."""
    n_kv = draw(_number(max(space.min_kv, 1), 4))
    n_q = n_kv if space.square else draw(_number(max(space.min_q, 1), 4))
    d, d_v = draw(_number(1, 4)), draw(_number(1, 4))
    group = draw(_one_of((1, 2, 2, 3))) if space.grouped else 1
    fewest = -(-space.min_heads // group)
    kv_heads = draw(_number(fewest, max(4 // group if group > 1 else 2, fewest)))
    return n_q, n_kv, d, d_v, kv_heads * group, kv_heads


@lru_cache
def declared_sizes(space: Space, profile: Profile) -> tuple[Sizes, ...]:
    """All the sizes up to 4 that a space asks for and the target declares, the smallest first."""
    lengths = product(range(max(space.min_q, 1), 5), range(max(space.min_kv, 1), 5), range(1, 5), range(1, 5))
    heads = [(g * h, h) for g in ((1, 2) if space.grouped else (1,)) for h in range(1, max(2, space.min_heads) + 1)]
    heads += [(3, 1)] if space.grouped else []
    sizes = [(*n, *h) for n in lengths if n[0] == n[1] or not space.square for h in heads]
    fit = [s for s in sizes if s[4] >= space.min_heads and profile.allows(s)]
    return tuple(sorted(fit, key=sum))


def plain_case(profile: Profile, dtype: str) -> Case | None:
    """A small unmasked problem of whole numbers, at declared sizes; None where no sizes up to 4 are declared.

    Example:
        >>> plain_case(Profile(("float32",), frozenset(), "top_left", "zeros"), "float32").sizes
        (2, 3, 2, 2, 1, 1)
    """
    fits = [sizes for sizes in declared_sizes(Space(min_q=2, min_kv=3, grouped=False), profile) if min(sizes[2:4]) > 1]
    if not fits:
        return None
    n_q, n_kv, d, d_v, heads, kv_heads = fits[0]
    rng = np.random.default_rng(0)
    query, key, value = (
        rng.integers(-3, 4, (1, *shape)).astype(float)
        for shape in ((heads, n_q, d), (kv_heads, n_kv, d), (kv_heads, n_kv, d_v))
    )
    return Case(dtype, query, key, value, is_causal=profile.always_causal, default_scale=profile.default_scale)


def _array(draw: Any, shape: tuple[int, ...], elements: tuple[float, ...]) -> NDArray:
    """Elements by index, one byte each: a single draw for Hypothesis, which shrinks it byte by byte."""
    count = int(np.prod(shape))
    indices = np.frombuffer(draw(_bytes(count)), np.uint8)
    drawn: NDArray = np.array(elements)[indices % len(elements)].reshape(shape)
    return drawn


def _mask(draw: Any, kind: str, shape: tuple[int, ...], dead: bool, of: int | None = None) -> NDArray | None:
    """A mask of `kind`, in the form that is drawn, or number `of` of the three."""
    if kind == "none":
        return None
    forms = (shape, shape[-2:], (shape[0], 1, 1, shape[-1]))
    form = draw(_one_of(forms)) if of is None else forms[of]
    if kind == "finite":
        return _array(draw, form, BIASES)
    keep = _array(draw, form, (1.0, 0.0)) == 1.0
    if dead:  # left to chance, a row would lose every key in one case of fifteen
        keep[..., draw(_number(0, form[-2] - 1)), :] = False
    else:
        keep[..., 0] = True  # key 0 is allowed by every causal alignment unless n_q > n_kv bottom-right
    if kind == "bool":
        return np.asarray(keep)
    return np.where(keep, _array(draw, form, BIASES), -np.inf)
