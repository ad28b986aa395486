"""Drawn sizes that are moved to the numbers of a narrow declaration."""

from __future__ import annotations

import numpy as np
import pytest

from attention_core.conformance.cases.draw import MOST_FITTING, SCORES_PER_CASE, draw
from attention_core.conformance.cases.fitting import BLOCKS, fit_sizes, list_numbers
from attention_core.conformance.cases.space import Profile, Space
from attention_core.declaration.sizes import SizeCondition

NARROW = (
    "d == 64 and n_q % 64 == 0 and n_kv % 64 == 0",
    "d in (32, 64, 128) and d == d_v and n_q % 128 == 0 and n_q == n_kv",
    "d % 16 == 0 and d <= 64 and d == d_v and n_q % 48 == 0 and n_kv % 48 == 0",
)


def profile_of(text: str) -> Profile:
    claims = frozenset({"is_causal"})
    return Profile(("float32", "float16"), claims, "top_left", "zeros", sizes=SizeCondition(text))


@pytest.mark.parametrize("text", NARROW)
def test_nearly_every_draw_meets_a_narrow_declaration(text: str) -> None:
    profile, rng = profile_of(text), np.random.default_rng(0)
    wish = profile.restrict(Space())
    assert wish is not None
    cases = [case for case in (draw(wish, profile, rng) for _ in range(40)) if case is not None]
    assert len(cases) >= 38
    assert all(profile.allows(case.sizes) for case in cases)
    assert len({case.sizes[:2] for case in cases}) >= 3
    assert sum(case.sizes[4] > 1 for case in cases) >= 10  # heads that are alone hide what others do
    assert sum(case.query.shape[0] > 1 for case in cases) >= 4
    for case in cases:
        n_q, n_kv, _, _, heads, _ = case.sizes
        assert case.query.shape[0] * heads * n_q * n_kv <= MOST_FITTING * SCORES_PER_CASE[case.dtype]


def test_a_law_gets_what_it_asks_for() -> None:
    profile, rng = profile_of(NARROW[0]), np.random.default_rng(0)
    wish = profile.restrict(Space(min_q=65, square=True, min_heads=2, min_batch=2))
    assert wish is not None
    cases = [case for case in (draw(wish, profile, rng) for _ in range(20)) if case is not None]
    assert cases and all(c.sizes[0] == c.sizes[1] >= 128 and c.sizes[4] >= 2 and c.query.shape[0] >= 2 for c in cases)


def test_what_no_sizes_meet_is_not_drawn() -> None:
    profile = profile_of("d == 64 and d == 32")
    wish = profile.restrict(Space())
    assert wish is not None and draw(wish, profile, np.random.default_rng(0)) is None


def test_numbers_are_those_of_the_text() -> None:
    assert list_numbers(SizeCondition("n_q == n_kv")) == BLOCKS
    assert list_numbers(lambda *sizes: True) == BLOCKS
    assert list_numbers(SizeCondition("d in (80, 96)")) == (80, 96)


def test_sizes_are_moved_to_multiples() -> None:
    rng = np.random.default_rng(0)
    found = [fit_sizes((130, 65, 7, 9, 2, 2), (64,), rng) for _ in range(200)]
    assert {sizes[0] for sizes in found} == {64, 128, 130, 192}
    assert {sizes[2] for sizes in found} == {7, 64, 128, 192}
    assert {sizes[4:] for sizes in found} == {(2, 2)}
