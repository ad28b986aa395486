"""Reachability and bounds of the seeded source.

Large cases: how often each rare event that hides bugs is reached, and that no case is drawn beyond the wish.
A share below the stated one is a defect of the generator: a fault that needs the event would be found too rarely.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import pytest

from attention_core import oracle
from attention_core.conformance.budgets.budget import round_to
from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.draw import SCORES_PER_CASE, WORK_PER_CASE, draw, values
from attention_core.conformance.cases.space import REGIMES, Profile, Space
from attention_core.conformance.worker.exchange import NDArray
from attention_core.declaration.implementation import CLAIMS, DTYPES

DRAWS = 400
EVERYTHING = Profile(DTYPES, frozenset(CLAIMS), "top_left", "zeros")


@cache
def drawn(space: Space, alignment: str = "top_left", count: int = DRAWS) -> tuple[Case, ...]:
    profile = Profile(DTYPES, frozenset(CLAIMS), alignment, "zeros")
    restricted = profile.restrict(space)
    assert restricted is not None
    rng = np.random.default_rng(20)
    found = [draw(restricted, profile, rng) for _ in range(count)]
    assert all(case is not None for case in found)
    return tuple(case for case in found if case is not None)


def closed(case: Case) -> NDArray:
    """Where the mask closes a key, over the full scores."""
    n_q, n_kv, _, _, heads, _ = case.sizes
    shape = (case.query.shape[0], heads, n_q, n_kv)
    if case.mask is None:
        return np.zeros(shape, dtype=bool)
    return np.broadcast_to(~case.mask if case.mask.dtype == bool else case.mask == -np.inf, shape)


def form(case: Case) -> str:
    """Which broadcastable form a mask has; "" where sizes coincide so that it could be several."""
    assert case.mask is not None
    n_q, n_kv, _, _, heads, _ = case.sizes
    batch = case.query.shape[0]
    forms = {
        "full": (batch, heads, n_q, n_kv), "batch": (batch, 1, n_q, n_kv), "matrix": (n_q, n_kv),
        "key": (batch, 1, 1, n_kv), "head": (1, heads, n_q, n_kv),
    }  # fmt: skip
    fitting = [name for name, shape in forms.items() if shape == case.mask.shape]
    assert fitting
    return fitting[0] if len(fitting) == 1 else ""


def events(case: Case) -> set[str]:
    """The names of what a case shows."""
    n_q, n_kv, d, d_v, heads, kv_heads = case.sizes
    batch, mask = case.query.shape[0], case.mask
    found = {f"dtype {case.dtype}", *(f"regime {r}" for r in case.label.split("/"))}
    shut = closed(case)
    facts: dict[str, Any] = {
        "B = 1": batch == 1, "B > 1": batch > 1, "H = 1": heads == 1, "H_kv = H > 1": 1 < kv_heads == heads,
        "H_kv = 1 < H": kv_heads == 1 < heads, "1 < H_kv < H": 1 < kv_heads < heads,
        "n_q < n_kv": n_q < n_kv, "n_q > n_kv": n_q > n_kv, "n_q = n_kv": n_q == n_kv, "n_q = 1": n_q == 1,
        "n_kv = 1": n_kv == 1, "n_kv > 64": n_kv > 64, "n_kv > 128": n_kv > 128, "n_kv > 500": n_kv > 500, "n_q > 500": n_q > 500, "H > 11": heads > 11, "d > 100": d > 100,
        "n_q = 2 n_kv": n_q == 2 * n_kv, "n_kv = 2 n_q": n_kv == 2 * n_q, "scale > 1": (case.scale or 0) > 1,
        "n_kv unaligned": n_kv % 8 > 0, "n_kv aligned": n_kv % 8 == 0,
        "d no perfect square": math.isqrt(d) ** 2 != d, "d != d_v": d != d_v, "d odd": d % 2 == 1, "d = d_v": d == d_v,
        "scale given": case.scale is not None, "scale negative": (case.scale or 0) < 0, "causal": case.is_causal,
        "mask and causal": mask is not None and case.is_causal,
        "no mask": mask is None, "bool mask": mask is not None and mask.dtype == bool,
        "finite bias": mask is not None and mask.dtype != bool and bool((np.isfinite(mask) & (mask != 0)).any()),
        "bias of -inf": mask is not None and mask.dtype != bool and bool((mask == -np.inf).any()),
        "mask differs across the batch": bool((shut != shut[:1]).any()),
        "mask differs across heads": bool((shut != shut[:, :1]).any()),
        "padding": bool(shut.any() and not (shut[..., :-1] & ~shut[..., 1:]).any()),
        "causal, n_q != n_kv": case.is_causal and n_q != n_kv,
    }  # fmt: skip
    found |= {name for name, holds in facts.items() if holds}
    return found | ({f"mask form {form(case)}"} if mask is not None else set())


STATED = {
    "B = 1": 0.15, "B > 1": 0.5, "H = 1": 0.1, "H_kv = H > 1": 0.12, "H_kv = 1 < H": 0.1, "1 < H_kv < H": 0.3,
    "n_q < n_kv": 0.25, "n_q > n_kv": 0.25, "n_q = n_kv": 0.2, "n_q = 1": 0.04, "n_kv = 1": 0.04, "n_kv > 64": 0.04,
    "n_kv > 128": 0.04, "n_kv > 500": 0.03, "n_q > 500": 0.02, "H > 11": 0.03, "d > 100": 0.04,
    "n_q = 2 n_kv": 0.02, "n_kv = 2 n_q": 0.02, "scale > 1": 0.03, "n_kv unaligned": 0.6, "n_kv aligned": 0.1, "d no perfect square": 0.5, "d != d_v": 0.25,
    "d odd": 0.3, "d = d_v": 0.4, "scale given": 0.3, "scale negative": 0.015, "causal": 0.33, "mask and causal": 0.2,
    "no mask": 0.25, "bool mask": 0.25, "finite bias": 0.25, "bias of -inf": 0.2, "mask differs across the batch": 0.2,
    "mask differs across heads": 0.15, "padding": 0.04, "causal, n_q != n_kv": 0.25,
    **{f"mask form {name}": 0.03 for name in ("full", "batch", "matrix", "key", "head")},
    **{f"dtype {name}": 0.15 for name in DTYPES},
    **{f"regime {name}": 0.3 for name in REGIMES},
}  # fmt: skip
"""Event -> the share of draws in which it must be seen, about two thirds of what the generator intends."""


@cache
def shares() -> Counter[str]:
    return Counter(event for case in drawn(Space()) for event in events(case))


@pytest.mark.parametrize("event", STATED)
def test_rare_events_are_reached(event: str) -> None:
    assert shares()[event] >= STATED[event] * DRAWS, f"{event}: {shares()[event]} of {DRAWS}"


def test_every_length_edge_is_reached() -> None:
    for axis in (0, 1):
        lengths = {case.sizes[axis] for case in drawn(Space())}
        assert lengths >= {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65}
        assert lengths & {127, 128, 129, 200, 257}


def test_a_pack_holds_many_problems() -> None:
    sizes = [case.slices for case in drawn(Space())]
    assert np.mean(sizes) >= 8
    assert max(sizes) >= 60


def test_slices_of_a_pack_differ() -> None:
    # several rows and keys, so that two slices agree by chance in no regime (one_hot repeats keys)
    case = next(c for c in drawn(Space()) if c.slices > 8 and len(c.label.split("/")) > 2 and min(c.sizes[:3]) >= 5)
    flat = case.query.reshape(case.slices, -1)
    assert len({row.tobytes() for row in flat}) == case.slices


@pytest.mark.parametrize("alignment", ["top_left", "bottom_right"])
@pytest.mark.parametrize("kind", ["bool", "float"])
def test_live_rows_keep_a_key_unless_dead_ones_are_asked_for(kind: str, alignment: str) -> None:
    for case in drawn(Space(masks=(kind,), max_n=40), alignment, 150):
        options: dict[str, Any] = {"is_causal": case.is_causal, "alignment": alignment, "scale": case.scale}
        truth = oracle.attention(case.query, case.key, case.value, case.mask, **options)
        by_causality = oracle.attention(case.query, case.key, case.value, **options).dead
        np.testing.assert_array_equal(truth.dead, by_causality)


def test_dead_rows_are_reached_when_asked_for() -> None:
    dead = 0
    for case in drawn(Space(masks=("bool", "float"), dead=0.5, max_n=40), count=150):
        shut = closed(case)
        dead += bool(shut.all(-1).any() and not shut.all())
    assert dead >= 0.3 * 150


@pytest.mark.parametrize("kind", ["none", "bool", "float", "finite"])
def test_masks_are_of_the_kind_asked_for(kind: str) -> None:
    masks = [case.mask for case in drawn(Space(masks=(kind,), max_n=17), count=40)]
    for mask in masks:
        assert (mask is None) == (kind == "none")
        assert mask is None or (mask.dtype == bool) == (kind == "bool")
        assert kind != "finite" or (mask is not None and np.isfinite(mask).all())
    if kind == "float":
        assert sum(bool((m == -np.inf).any()) for m in masks if m is not None) >= 20


NARROW = [
    (Space(min_q=5, min_kv=9, max_n=33), lambda n_q, n_kv, d, d_v, H, H_kv: 5 <= n_q <= 33 and 9 <= n_kv <= 33),
    (Space(square=True, min_kv=3), lambda n_q, n_kv, d, d_v, H, H_kv: n_q == n_kv >= 3),
    (Space(min_heads=3), lambda n_q, n_kv, d, d_v, H, H_kv: H >= 3),
    (Space(grouped=False), lambda n_q, n_kv, d, d_v, H, H_kv: H_kv == H),
]


@pytest.mark.parametrize(("space", "holds"), NARROW)
def test_no_case_lies_outside_the_wish(space: Space, holds: Any) -> None:
    for case in drawn(space, count=80):
        assert holds(*case.sizes), case.describe()
        assert case.sizes[4] % case.sizes[5] == 0
        assert space.contains(case)


def test_cases_are_bounded_and_exact_in_their_dtype() -> None:
    for case in drawn(Space()):
        n_q, n_kv, d, d_v, _, _ = case.sizes
        assert case.slices * n_q * n_kv <= SCORES_PER_CASE[case.dtype] or case.slices <= 3
        assert case.slices * n_q * n_kv * (d + d_v) <= WORK_PER_CASE[case.dtype] or case.slices <= 3
        for array in (case.query, case.key, case.value):
            assert np.isfinite(array).all()
            np.testing.assert_array_equal(array, round_to(array, case.dtype))


def test_the_same_seed_draws_the_same_case() -> None:
    first, again = (draw(Space(), EVERYTHING, np.random.default_rng(5)) for _ in range(2))
    assert first is not None
    assert again is not None
    assert first.to_json() == again.to_json()
    other = draw(Space(), EVERYTHING, np.random.default_rng(6))
    assert other is not None
    assert other.to_json() != first.to_json()


def test_declared_sizes_are_kept_or_given_up() -> None:
    some = Profile(DTYPES, frozenset(CLAIMS), "top_left", "zeros", lambda n_q, n_kv, d, d_v, H, H_kv: d == d_v)
    rng = np.random.default_rng(0)
    found = [draw(Space(max_n=9), some, rng) for _ in range(20)]
    assert all(case is not None and case.sizes[2] == case.sizes[3] for case in found)
    none = Profile(DTYPES, frozenset(CLAIMS), "top_left", "zeros", lambda *sizes: False)
    assert draw(Space(), none, rng) is None


@pytest.mark.parametrize("regime", REGIMES)
def test_every_regime_is_what_it_says(regime: str) -> None:
    group, n_q, n_kv, d, d_v = 2, 40, 40, 16, 7
    query, key, value = values(regime, (group, n_q, n_kv, d, d_v), np.random.default_rng(0))
    assert (query.shape, key.shape, value.shape) == ((group, n_q, d), (n_kv, d), (n_kv, d_v))
    scores = query @ key.T / math.sqrt(d)
    spread, share = float(scores.std()), float(np.exp(scores - scores.max(-1, keepdims=True)).sum(-1).mean())
    whole = all(np.array_equal(a, np.rint(a)) for a in (query, key, value))
    facts = {
        "normal": 0.7 < spread < 1.4,
        "peaked": 5 < spread < 12,
        "one_hot": share < 1.2,  # one key has nearly all the weight of every row
        "near_ties": spread < 5 and float(np.ptp(scores, axis=-1).max()) < 0.5,
        "offset": bool((np.abs(key.mean(0)) > 4 * key.std(0)).any()),
        "tiny": float(np.abs(value).max()) < 2.0**-14 and spread < 1e-4,
        "mixed": float(np.abs(value[value != 0]).max() / np.abs(value[value != 0]).min()) > 2.0**6,
        "integers": whole,
    }
    assert facts[regime], (spread, share)
    assert not whole or regime == "integers"
