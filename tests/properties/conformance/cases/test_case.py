"""Cases: reductions, JSON, words.

A case knows how to get smaller: every step is smaller in a well-founded order, so minimising always ends.
The order is counted in steps here, on its own terms, not read from the code.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from attention_core.conformance.cases.case import Case

FINITE = st.sampled_from([0.0, 1.0, -1.0, 2.0, 0.5, -0.5, 0.3, -0.3, 1.4, 99.5, -99.5, 150.25, 1e30, -1e30, 7.0])
ANY = FINITE | st.sampled_from([np.nan, np.inf, -np.inf])


@st.composite
def cases(draw: Any) -> Case:
    batch, kv_heads, group = (draw(st.integers(1, 3)) for _ in range(3))
    n_q, n_kv, d, d_v = (draw(st.integers(1, 5)) for _ in range(4))
    numbers = lambda *shape: draw(hnp.arrays(np.float64, shape, elements=ANY, fill=FINITE))  # noqa: E731
    heads = kv_heads * group
    form = draw(st.sampled_from([(batch, heads, n_q, n_kv), (n_q, n_kv), (batch, 1, 1, n_kv), (1, heads, n_q, 1)]))
    kind = draw(st.sampled_from(["none", "bool", "float"]))
    mask = None if kind == "none" else numbers(*form) if kind == "float" else draw(hnp.arrays(np.bool_, form))
    return Case(
        draw(st.sampled_from(["float32", "float64", "bfloat16", "float16"])),
        numbers(batch, heads, n_q, d), numbers(batch, kv_heads, n_kv, d), numbers(batch, kv_heads, n_kv, d_v),
        mask, draw(st.booleans()), draw(st.sampled_from([None, 1.0, 2.0, 0.5, -0.25, 0.125])), draw(st.integers(0, 9)),
        draw(st.sampled_from(["", "normal"])), draw(st.sampled_from([{}, {"key": "padded", "mask": "sliced"}])),
    )  # fmt: skip


def plainness(values: np.ndarray[Any, Any]) -> int:
    """Steps left for the numbers: each number has a rank, zero the lowest; ranks only fall."""
    x = values.astype(float)
    finite = np.isfinite(x)
    whole = finite & (x == np.rint(x)) & (np.abs(x) < 100)
    rank = np.where(finite, 1000 + (x < 0), 2000)
    rank[whole] = 2 * np.abs(x[whole]) + (x[whole] < 0)
    return int(rank.sum())


def measure(case: Case) -> tuple[int, ...]:
    """What falls, in the lexicographic order of tuples of whole numbers, which has no infinite descent."""
    size = case.query.size + case.key.size + case.value.size
    options = (case.mask is not None) + case.is_causal + len(case.views) + bool(case.label)
    scale = {None: 0, 1.0: 1, 2.0: 2, 0.5: 3}.get(case.scale, 4)
    mask = case.mask
    closed = 0 if mask is None else int((~mask).sum()) if mask.dtype == bool else plainness(mask)
    numbers = sum(plainness(a) for a in (case.query, case.key, case.value))
    axes = 0 if mask is None else mask.ndim
    return size, options, axes, scale, closed, numbers


@settings(max_examples=25)
@given(cases())
def test_every_reduction_is_smaller_and_well_formed(case: Case) -> None:
    before = measure(case)
    for smaller in (*case.smaller(), *case.plainer()):
        assert measure(smaller) < before
        n_q, n_kv, d, _, heads, kv_heads = smaller.sizes
        batch = smaller.query.shape[0]
        assert smaller.key.shape == (batch, kv_heads, n_kv, d)
        assert smaller.value.shape[:3] == (batch, kv_heads, n_kv)
        assert heads % kv_heads == 0
        assert min(batch, heads, n_q, n_kv, d) >= 1
        if smaller.mask is not None:
            assert np.broadcast_shapes(smaller.mask.shape, (batch, heads, n_q, n_kv)) == (batch, heads, n_q, n_kv)
        assert smaller.dtype == case.dtype
        assert smaller.seed == case.seed


def smallest(case: Case, fails: Any) -> tuple[Case, int]:
    """Greedy descent, with the number of steps taken."""
    steps = 0
    while True:
        for smaller in (*case.smaller(), *case.plainer()):
            if fails(smaller):
                case, steps = smaller, steps + 1
                break
        else:
            return case, steps


@settings(max_examples=12)
@given(cases())
def test_what_always_fails_ends_at_the_plainest_case(case: Case) -> None:
    end, _ = smallest(case, lambda c: True)
    assert end.sizes == (1, 1, 1, 1, 1, 1)
    assert end.slices == 1
    assert end.mask is None
    assert not end.is_causal
    assert end.scale is None
    assert (end.label, dict(end.views)) == ("", {})
    assert not end.query.any()
    assert not end.key.any()
    assert not end.value.any()


PACK = Case(
    "float32", np.arange(96.0).reshape(2, 4, 4, 3), -np.arange(48.0).reshape(2, 2, 4, 3), np.ones((2, 2, 4, 5)),
    np.arange(128).reshape(2, 4, 4, 4) % 3 > 0, True, 0.3, 5, "normal", {"key": "padded"},
)  # fmt: skip
KEPT = [
    (lambda c: c.query.shape[0] >= 2, "B=2"),
    (lambda c: c.sizes[4] >= 2, "H=2"),
    (lambda c: c.group >= 2, "H=2 H_kv=1"),
    (lambda c: c.sizes[5] >= 2, "H=2"),
    (lambda c: c.sizes[0] >= 3, "n_q=3"),
    (lambda c: c.sizes[1] >= 3, "n_kv=3"),
    (lambda c: c.sizes[2] >= 2, "d=2"),
    (lambda c: c.sizes[3] >= 4, "d_v=4"),
    (lambda c: c.sizes[0] >= 3 and c.sizes[0] == c.sizes[1], "n_q=3 n_kv=3"),
    (lambda c: c.sizes[2] >= 2 and c.sizes[2] == c.sizes[3], "d=2"),
    (lambda c: c.is_causal, "causal"),
    (lambda c: c.scale not in (None, 1.0), "scale=2"),
    (lambda c: c.mask is not None and not c.mask.all(), "bool mask (1, 1)"),
]


@pytest.mark.parametrize(("fails", "words"), KEPT)
def test_what_a_failure_needs_is_kept_and_nothing_else(fails: Any, words: str) -> None:
    start = (
        PACK.with_(query=PACK.query[..., :2], key=PACK.key[..., :2], value=PACK.value[..., :2])
        if words == "d=2"
        else PACK
    )
    end, _ = smallest(start, fails)
    assert words in end.describe()
    assert end.query.size * end.key.size <= 4 * 9 * 2
    assert np.abs(end.query).sum() + np.abs(end.key).sum() + np.abs(end.value).sum() == 0


def test_a_group_loses_the_members_that_it_can_spare() -> None:
    start = PACK.with_(key=PACK.key[:, :1], value=PACK.value[:, :1])
    end, _ = smallest(start, lambda c: c.group >= 3)
    assert "H=3 H_kv=1" in end.describe()


def test_single_numbers_are_kept_as_plain_as_they_can_be() -> None:
    end, _ = smallest(PACK.with_(query=PACK.query + 0.3), lambda c: bool((c.query > 1).any() and (c.key < 0).any()))
    assert end.query.tolist() == [[[[2.0]]]]
    assert end.key.tolist() == [[[[-1.0]]]]


@settings(max_examples=40)
@given(cases())
def test_json_brings_the_same_case_back(case: Case) -> None:
    back = Case.from_json(json.loads(json.dumps(case.to_json())))
    for name in ("query", "key", "value"):
        assert getattr(back, name).tobytes() == getattr(case, name).tobytes()
        assert getattr(back, name).shape == getattr(case, name).shape
    if case.mask is None:
        assert back.mask is None
    else:
        assert back.mask is not None
        assert (back.mask.dtype, back.mask.shape) == (case.mask.dtype, case.mask.shape)
        assert back.mask.tobytes() == case.mask.tobytes()
    plain = ("dtype", "is_causal", "scale", "seed", "label", "views")
    assert [getattr(back, n) for n in plain] == [getattr(case, n) for n in plain]


DAMAGED = [
    ({"query": None}, "query"),
    ({"query": {"dtype": "object", "shape": [1], "base64": ""}}, "object"),
    ({"query": {"dtype": "float64", "shape": [1, 1, 1, 9], "base64": ""}}, "reshape"),
    ({"query": {"dtype": "float64", "shape": [2], "base64": "AAAAAAAAAAAAAAAAAAAAAA=="}}, "query"),
    ({"value": PACK.with_(value=np.ones((1, 2, 4, 5))).to_json()["value"]}, "value"),
    ({"mask": PACK.with_(mask=np.ones((3, 4), dtype=bool)).to_json()["mask"]}, "shape"),
    ({"dtype": "int8"}, "int8"),
]


@pytest.mark.parametrize(("changes", "words"), DAMAGED)
def test_a_damaged_case_is_a_value_error(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Case.from_json(PACK.to_json() | changes)


def test_draws_depend_on_the_seed_and_the_purpose() -> None:
    first, again = PACK.cotangent(), PACK.with_(scale=None).cotangent()
    np.testing.assert_array_equal(first, again)
    assert first.shape == (2, 4, 4, 5)
    assert (PACK.cotangent("other") != first).any()
    assert (PACK.with_(seed=6).cotangent() != first).any()


def test_a_case_in_one_line() -> None:
    assert PACK.describe() == (
        "float32 B=2 H=4 H_kv=2 n_q=4 n_kv=4 d=3 d_v=5 bool mask (2, 4, 4, 4) causal scale=0.3 normal"
    )
    plain = PACK.with_(mask=None, is_causal=False, scale=None, label="", key=PACK.query, value=PACK.query)
    assert plain.describe() == "float32 B=2 H=4 n_q=4 n_kv=4 d=3"
    assert (plain.group, plain.slices, PACK.group) == (1, 8, 2)


@pytest.mark.parametrize("key", [0, 57, 128])
def test_halving_finds_the_one_key_that_matters_in_an_array_too_large_to_go_through(key: int) -> None:
    rng = np.random.default_rng(0)
    draw = lambda *shape: rng.standard_normal((1, 1, *shape))  # noqa: E731
    case = Case("float64", draw(1, 3), draw(129, 3), draw(129, 2))
    end, steps = smallest(case.with_(key=draw(129, 3)), lambda c: c.sizes[1] == 129 and c.value[0, 0, key].any())
    assert np.flatnonzero(end.value.any(axis=-1)).tolist() == [key] and not end.query.any() and not end.key.any()
    assert steps < 30


def test_a_cotangent_beside_plain_inputs_is_whole_and_hides_nothing() -> None:
    plain = Case("float32", np.ones((1, 1, 40, 2)), np.zeros((1, 1, 3, 2)), np.full((1, 1, 3, 2), 0.5))
    assert plain.is_plain and set(plain.cotangent().reshape(-1)) == {-2.0, -1.0, 1.0, 2.0}
    other = plain.with_(value=plain.value + 0.3)
    assert not other.is_plain and not np.array_equal(other.cotangent(), np.rint(other.cotangent()))


@pytest.mark.parametrize("seed", [0, 1, 2**31 - 1, 2**32 - 1, 2**32, 2**70])
def test_what_a_case_draws_is_numpys_stream_of_its_seed_and_of_what_it_is_for(seed: int) -> None:
    one = np.ones((1, 1, 1, 1))
    drawn = Case("float64", one, one, one, seed=seed).rng("views").random(3)
    assert drawn.tolist() == np.random.default_rng([seed, *b"views"]).random(3).tolist()
