"""Large cases: drawn from a seed, many problems packed in one call, sizes around block edges, values in regimes.

A pack's slices share sizes, dtype, scale and causality and differ in values, regime and (mostly) mask. Rare events
that hide bugs when missed (unaligned sizes, n_q != n_kv, masks that differ across the batch, grouped heads, ...) are
drawn on purpose; tests state how often each is reached.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from attention_core.conformance.budgets.budget import round_to
from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.fitting import fit_sizes, list_numbers
from attention_core.conformance.cases.near import MOST_WORK, Near
from attention_core.conformance.cases.space import FALLBACK, Member, Profile, Space, large_member
from attention_core.conformance.worker.exchange import NDArray

EDGES = (8, 16, 32, 48, 64, 96, 128)
LENGTHS = (1, 2, 3, 4, 5, 7, *(e + k for e in EDGES for k in (-1, 0, 1)), 200, 257)
LONG = (300, 511, 512, 513, 777, 1024, 1025, 2048, 2049)
"""Lengths of one side while the other is short: beyond a few blocks, at and around powers of two."""
SHAPES = {
    "usual": 0.7, "long keys": 0.09, "long queries": 0.06, "many heads": 0.06, "wide heads": 0.05,
    "many sequences": 0.04,
}  # fmt: skip
"""What is large in a case, with its share: few large things at a time keep a case cheap."""
HEAD_SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 24, 32, 33, 48, 64, 65, 80, 96, 128)
WIDE_HEADS = (128, 129, 160, 192, 256)
MANY_HEADS = (12, 16, 17, 24, 32, 33, 40)
MANY_SEQUENCES = (9, 12, 16, 17, 33, 65)
FORMS = ("full", "full", "batch", "matrix", "key", "head")
"""Forms of a mask that is broadcast to the scores, the whole one more often."""
SCORES_PER_CASE = {"float64": 1 << 15, "float32": 1 << 15, "bfloat16": 1 << 15, "float16": 1 << 13}
"""Bound on B*H*n_q*n_kv of one case; float16 products are slow on processors."""
WORK_PER_CASE = {"float64": 1 << 20, "float32": 1 << 20, "bfloat16": 1 << 20, "float16": 1 << 17}
"""Bound on B*H*n_q*n_kv*(d + d_v)."""
NEAR = ("both", "both", "keys", "width", "both", "queries", "heads")
"""What is near a written size, in turn."""
SCORES_NEAR = 1 << 17
"""Bound on the scores of a case near a written size: two blocks of 128 and a row fit."""
MOST_FITTING = 16
"""So many times `SCORES_PER_CASE` a case of whole blocks may have: with less, every head would be alone."""
FEW, NARROW, MOST_NEAR = 9, 16, 4
"""Other lengths, widths and numbers of such a case are no larger."""


def draw(space: Space, profile: Profile, rng: np.random.Generator) -> Case | None:
    """One case of `space` (already restricted to `profile`); None if the declared sizes were not met in 50 tries."""
    if profile.pool and (member := _choose_member(space, profile, rng)) is not None:
        return _fill_member(space, profile, member, rng)
    for _ in range(50):
        dtype = str(rng.choice(space.dtypes or profile.dtypes))
        if space.near is None:
            sizes = _sizes(space, dtype, rng, profile.axes)
        else:
            sizes = _sizes_near(space, space.near, rng, profile.axes)
        batch, (n_q, n_kv, d, d_v, heads, kv_heads) = sizes
        if profile.allows((n_q, n_kv, d, d_v, heads, kv_heads)):
            case = _fill(space, profile, dtype, batch, (n_q, n_kv, d, d_v, heads, kv_heads), rng)
            return case if space.near is None else case.with_(near=space.near.size)
    return _draw_fitting(space, profile, rng) if space.near is None and profile.sizes is not None else None


def _draw_fitting(space: Space, profile: Profile, rng: np.random.Generator) -> Case | None:
    """A case of sizes that were moved to the numbers of the declaration; None where these are not met either."""
    numbers = list_numbers(profile.sizes)
    for _ in range(50):
        dtype = str(rng.choice(space.dtypes or profile.dtypes))
        batch, drawn = _sizes(space, dtype, rng, profile.axes)
        n_q, n_kv, d, d_v, heads, kv_heads = fit_sizes(drawn, numbers, rng)
        scores = max(n_q * n_kv, n_q * n_kv * (d + d_v) * SCORES_PER_CASE[dtype] // WORK_PER_CASE[dtype])
        room = MOST_FITTING * SCORES_PER_CASE[dtype] // max(1, scores)
        if batch * heads > room:
            batch = max(1, min(batch, room // heads), space.min_batch)
        if batch * heads > room:
            heads = kv_heads = max(1, min(2, room // batch), space.min_heads)
        wanted = n_q >= space.min_q and n_kv >= space.min_kv and max(n_q, n_kv) <= max(space.max_n, numbers[-1])
        wanted = wanted and batch * heads <= room and (n_q == n_kv or not space.square)
        if wanted and profile.allows((n_q, n_kv, d, d_v, heads, kv_heads)):
            return _fill(space, profile, dtype, batch, (n_q, n_kv, d, d_v, heads, kv_heads), rng)
    return None


def _choose_member(space: Space, profile: Profile, rng: np.random.Generator) -> Member | None:
    """A member of the pool; where none fits, one that is drawn, of the same sizes for the same wish."""
    if (member := large_member(space, rng)) is None and (member := _other_member(space, profile)) is not None:
        member = replace(member, turn=int(rng.integers(len(space.masks))))
    return member


@lru_cache
def _other_member(space: Space, profile: Profile) -> Member | None:
    dtypes, fixed = space.dtypes or profile.dtypes, np.random.default_rng([space.min_q, space.min_kv, space.max_n])
    for _ in range(FALLBACK):
        batch, sizes = _sizes(space, dtypes[0], fixed, profile.axes)
        if profile.allows(sizes):
            return Member(batch, sizes, dtypes[0])
    return None


def _fill_member(space: Space, profile: Profile, member: Member, rng: np.random.Generator) -> Case:
    """A case of a member: only its numbers are drawn."""
    case = _fill(space, profile, member.dtype, member.batch, member.sizes, rng, member)
    return case.with_(seed=member.number)


def _sizes(
    space: Space, dtype: str, rng: np.random.Generator, axes: int = 4
) -> tuple[int, tuple[int, int, int, int, int, int]]:
    shape = str(rng.choice(list(SHAPES), p=list(SHAPES.values())))
    n_q, n_kv = _lengths(space, shape, SCORES_PER_CASE[dtype], rng)
    d = int(rng.choice(WIDE_HEADS if shape == "wide heads" else HEAD_SIZES))
    d_v = d if rng.random() < 0.6 else int(rng.choice(HEAD_SIZES))
    group = int(rng.choice([1, 2, 3, 4, 8] if shape == "many heads" else [1, 2, 3, 4])) if space.grouped else 1
    if shape == "many heads":
        kv_heads = -(-int(rng.choice(MANY_HEADS)) // group)
    else:
        kv_heads = int(rng.choice([1, 2, 3, 5])) if group > 1 or rng.random() < 0.9 else 1
    kv_heads = max(kv_heads, -(-space.min_heads // group))
    if axes == 2:
        return 1, (n_q, n_kv, d, d_v, 1, 1)
    room = SCORES_PER_CASE[dtype] // max(1, n_q * n_kv)
    room = min(room, WORK_PER_CASE[dtype] // max(1, n_q * n_kv * (d + d_v)))
    if kv_heads * group > max(room, space.min_heads):
        kv_heads, group = max(1, space.min_heads), 1
    some = MANY_SEQUENCES if shape == "many sequences" else (1, 2, 3, 5, 8)
    batches = [b for b in some if b * kv_heads * group <= room] or [1]
    batch = max(int(rng.choice(batches)), space.min_batch)
    return batch, (n_q, n_kv, d, d_v, kv_heads * group, kv_heads)


def _sizes_near(
    space: Space, near: Near, rng: np.random.Generator, axes: int = 4
) -> tuple[int, tuple[int, int, int, int, int, int]]:
    """Sizes of a small case, of which one or both lengths, the width, or the number of heads or problems is near."""
    batch, sizes = _sizes(space.with_(max_n=FEW, near=None), "float32", rng, axes)
    n_q, n_kv, d, d_v, heads, kv_heads = sizes
    batch, d, d_v = min(batch, MOST_NEAR), min(d, NARROW), min(d_v, NARROW)
    if heads > MOST_NEAR:
        heads = kv_heads = max(1, space.min_heads)
    what, first = near.choose(NEAR)
    if what == "both" and first**2 > SCORES_NEAR:
        what = "keys"
    if space.square and what in ("keys", "queries"):
        what = "both" if first**2 <= SCORES_NEAR else "width"
    fits = first <= space.max_n
    if what == "both" and fits:
        n_q = n_kv = first
        other = near.another(rng)
        if not space.square and rng.random() < 0.5 and first * other <= SCORES_NEAR and other <= space.max_n:
            n_q, n_kv = (other, n_kv) if rng.random() < 0.5 else (n_q, other)
    elif what == "keys" and fits:
        n_q, n_kv = 1 if space.min_q <= 1 and rng.random() < 0.4 else n_q, first
    elif what == "queries" and fits:
        n_q = first
    elif what == "heads" and axes > 2:
        batch, heads, kv_heads = (batch, first, first) if rng.random() < 0.5 else (first, heads, kv_heads)
    else:
        d, d_v = first, first if d_v == d else d_v
    room = min(SCORES_NEAR // max(1, n_q * n_kv), MOST_WORK // max(1, n_q * n_kv * (d + d_v)))
    if batch * heads > max(room, 1):
        batch, heads, kv_heads = max(1, space.min_batch), max(1, space.min_heads), max(1, space.min_heads)
    return batch, (max(n_q, space.min_q), max(n_kv, space.min_kv), d, d_v, heads, kv_heads)


def _lengths(space: Space, shape: str, scores: int, rng: np.random.Generator) -> tuple[int, int]:
    """n_q and n_kv: now and then a long and a short one, else both drawn alike, some equal or one twice the other."""
    n_q, n_kv = (_length(max(low, 1), space.max_n, rng) for low in (space.min_q, space.min_kv))
    if space.square:
        n = max(n_q, space.min_q, space.min_kv)
        return n, n
    if shape.startswith("long"):
        short = space.min_q if shape == "long keys" else space.min_kv
        fit = [n for n in LONG if n <= space.max_n and n * max(short, 1) <= scores]
        if fit:
            long = int(rng.choice(fit))
            other = _length(max(short, 1), max(short, 1, scores // long), rng)
            if shape == "long keys" and space.min_q <= 1 and rng.random() < 0.4:
                other = 1  # a step of decoding
            return (other, long) if shape == "long keys" else (long, other)
    if shape.startswith("many"):
        n_q, n_kv = (max(min(n, 17), low) for n, low in ((n_q, space.min_q), (n_kv, space.min_kv)))
    ratio = rng.random()
    if ratio < 0.25:
        n_q = n_kv = max(n_q, space.min_q, space.min_kv)
    elif ratio < 0.3 and 2 * n_kv <= space.max_n and 2 * n_kv >= space.min_q:
        n_q = 2 * n_kv
    elif ratio < 0.35 and 2 * n_q <= space.max_n and 2 * n_q >= space.min_kv:
        n_kv = 2 * n_q
    return n_q, n_kv


def _length(low: int, high: int, rng: np.random.Generator) -> int:
    """A length between two bounds, short ones more often; the lower bound where no usual length lies between them."""
    lengths = [n for n in LENGTHS if low <= n <= high] or [low]
    weights = np.array([1.0 / (1 + n / 24) for n in lengths])
    return int(rng.choice(lengths, p=weights / weights.sum()))


def _fill(
    space: Space, profile: Profile, dtype: str, batch: int, sizes: tuple[int, ...], rng: np.random.Generator,
    member: Member | None = None,
) -> Case:  # fmt: skip
    """A case of these sizes; a `member` decides what a compiled program depends on: form of the mask, flags, scale."""
    choices = rng if member is None else member.choices(space)
    n_q, n_kv, d, d_v, heads, kv_heads = sizes
    regimes = rng.choice(space.regimes, size=(batch, kv_heads))
    query = np.empty((batch, heads, n_q, d))
    key, value = np.empty((batch, kv_heads, n_kv, d)), np.empty((batch, kv_heads, n_kv, d_v))
    group = heads // kv_heads
    for b, h in np.ndindex(batch, kv_heads):
        members = slice(h * group, (h + 1) * group)
        query[b, members], key[b, h], value[b, h] = values(str(regimes[b, h]), (group, n_q, n_kv, d, d_v), rng)
    flags = None if member is None else member.flags(space)
    causal = bool(choices.choice(space.causal)) if flags is None else flags[1]
    if n_kv > 4 * n_q and profile.alignment == "top_left" and choices.random() < 0.8:
        causal = causal and False not in space.causal  # it would hide nearly all of the keys
    kind, _, form = flags or (str(choices.choice(space.masks)), causal, None)
    mask = draw_mask(space, profile, kind, (batch, heads, n_q, n_kv), causal, rng, form)
    scale = None
    if space.scales and choices.random() < 0.4:
        # Causal cases keep a positive scale: kernels that scale after masking turn -inf to +inf or NaN, and one law
        # of its own (causal_holds_at_any_scale) says so; the others would only repeat it.
        factor = choices.choice([1.0, 0.5, 0.125, 0.3, 0.25 if causal else -0.25, 2.0])
        scale = float(np.float32(factor / np.sqrt(d)))
        if choices.random() < 0.15:
            scale = 1.5  # above 1, whatever the head size
    return Case(
        dtype, round_to(query, dtype), round_to(key, dtype), round_to(value, dtype),
        mask if mask is None or mask.dtype == bool else round_to(mask, dtype),
        causal, scale, int(rng.integers(2**31)), "/".join(sorted(set(map(str, regimes.reshape(-1))))),
        default_scale=profile.default_scale,
    )  # fmt: skip


def values(regime: str, sizes: tuple[int, ...], rng: np.random.Generator) -> tuple[NDArray, NDArray, NDArray]:
    """Queries (group, n_q, d), keys (n_kv, d) and values (n_kv, d_v) of one regime.

    normal: standard normal. peaked: scores of size about 8. one_hot: a few keys match exactly. near_ties: keys differ
    by little. offset: a common vector in every key. tiny: down to float16 subnormals. mixed: magnitudes over 6 octaves.
    integers: small whole numbers.
    """
    group, n_q, n_kv, d, d_v = sizes
    query, key = rng.standard_normal((group, n_q, d)), rng.standard_normal((n_kv, d))
    value = rng.standard_normal((n_kv, d_v))
    if regime == "peaked":
        query *= 4.0
        key *= 2.0
    elif regime == "one_hot":
        key = np.rint(3 * key)
        query = 2.0 * key[rng.integers(n_kv, size=(group, n_q))]
    elif regime == "near_ties":
        key = key[:1] + 2.0**-6 * key
    elif regime == "offset":
        key = 0.5 * key + 4.0 * rng.standard_normal((1, d))
    elif regime == "tiny":
        query, key, value = query * 2.0**-9, key * 2.0**-9, value * 2.0**-18
    elif regime == "mixed":
        query, key = query * 2.0 ** rng.integers(-3, 2, query.shape), key * 2.0 ** rng.integers(-3, 2, key.shape)
        value = value * 2.0 ** rng.integers(-3, 4, value.shape)
    elif regime == "integers":
        query, key, value = np.rint(query), np.rint(key), np.rint(2 * value)
    return query, key, value


def draw_mask(
    space: Space, profile: Profile, kind: str, shape: tuple[int, ...], causal: bool, rng: np.random.Generator,
    number: int | None = None,
) -> NDArray | None:  # fmt: skip
    """A mask of `kind` for scores of `shape`, in a broadcastable form; rows keep a key unless dead ones are drawn.

    `number`: of the form among `FORMS`; else it is drawn.
    """
    if kind == "none":
        return None
    batch, heads, n_q, n_kv = shape
    form = str(rng.choice(list(FORMS))) if number is None else FORMS[number % len(FORMS)]
    small = {
        "full": (batch, heads, n_q, n_kv), "batch": (batch, 1, n_q, n_kv), "matrix": (n_q, n_kv),
        "key": (batch, 1, 1, n_kv), "head": (1, heads, n_q, n_kv),
    }[form]  # fmt: skip
    dead = rng.random() < space.dead
    keep = rng.random(small) < rng.choice([0.3, 0.7, 0.9])
    if rng.random() < 0.3:  # padding: a run of keys is left, on either side or between, another in every batch row
        lengths = rng.integers(0 if dead else 1, n_kv + 1, size=(*small[:-1], 1))
        lengths = lengths if small[-2:-1] != (n_q,) else lengths[..., :1, :]
        side = rng.random()
        start = 0 if side < 0.5 else n_kv - lengths if side < 0.8 else rng.integers(n_kv - lengths + 1)
        keep = (np.arange(n_kv) >= start) & (np.arange(n_kv) < start + lengths)
    if kind == "finite":
        return np.where(rng.random(small) < 0.3, 0.0, 2.0 * rng.standard_normal(small))
    if not dead:
        keep = np.asarray(keep | _one_key_each(small, (n_q, n_kv), causal, profile.alignment, rng))
    elif n_q > 0:
        keep = np.broadcast_to(keep, small).copy()
        keep[..., rng.integers(small[-2]), :] = False
    if kind == "bool":
        return np.asarray(keep)
    bias = np.where(rng.random(small) < 0.5, 0.0, 2.0 * rng.standard_normal(small))
    return np.where(keep, bias, -np.inf)


def _one_key_each(
    small: tuple[int, ...], lengths: tuple[int, int], causal: bool, alignment: str, rng: np.random.Generator
) -> NDArray:
    """True at one key per row that causality allows too, so that no row is dead."""
    n_q, n_kv = lengths
    rows = small[-2] if len(small) > 1 else 1
    last = np.full(rows, n_kv - 1)
    if causal:
        shift = n_kv - n_q if alignment == "bottom_right" else 0
        last = np.minimum(np.arange(n_q) + shift, n_kv - 1) if rows == n_q else np.array([0])
    last = np.maximum(last, 0)
    chosen = np.minimum((rng.random((*small[:-2], rows)) * (last + 1)).astype(int), last)
    if rows != n_q or rows == 1:
        chosen = np.zeros_like(chosen)
    return np.asarray(np.arange(n_kv) == chosen[..., None])
