"""The spaces of cases.

What laws ask for and what a target allows, put together: nothing is asked that was not claimed or declared.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.space import Profile, Space
from attention_core.declaration.implementation import CLAIMS, DTYPES


def profile(*claims: str, dtypes: tuple[str, ...] = DTYPES, **changes: Any) -> Profile:
    return Profile(dtypes, frozenset(claims), "top_left", "zeros", **changes)


def test_everything_claimed_leaves_the_wish_as_it_is() -> None:
    wish = Space(dtypes=DTYPES)
    assert profile(*CLAIMS).restrict(wish) == wish


def test_what_is_not_claimed_is_not_asked() -> None:
    left = profile().restrict(Space())
    assert left is not None
    assert (left.masks, left.causal, left.scales, left.grouped) == (("none",), (False,), False, False)
    assert left.dtypes == DTYPES


LEFT = [
    ("attn_mask", {"masks": ("none", "bool", "float")}),
    ("is_causal", {"causal": (False, True)}),
    ("scale", {"scales": True}),
    ("enable_gqa", {"grouped": True}),
]


@pytest.mark.parametrize(("claim", "expected"), LEFT)
def test_one_claim_opens_one_wish(claim: str, expected: dict[str, Any]) -> None:
    plain = profile().restrict(Space())
    assert plain is not None
    assert profile(claim).restrict(Space()) == plain.with_(**expected)


@pytest.mark.parametrize(
    ("wish", "claims", "dtypes"),
    [
        (Space(masks=("bool", "float")), ("is_causal",), DTYPES),
        (Space(causal=(True,)), ("attn_mask",), DTYPES),
        (Space(dtypes=("bfloat16",)), CLAIMS, ("float32", "float64")),
    ],
)
def test_a_wish_that_cannot_be_had_is_none(wish: Space, claims: tuple[str, ...], dtypes: tuple[str, ...]) -> None:
    assert profile(*claims, dtypes=dtypes).restrict(wish) is None


def test_dtypes_are_those_wished_and_declared() -> None:
    left = profile(dtypes=("float32", "bfloat16")).restrict(Space(dtypes=("bfloat16", "float16")))
    assert left is not None
    assert left.dtypes == ("bfloat16",)


def case(batch: int = 2, heads: int = 4, kv_heads: int = 2, n_q: int = 3, n_kv: int = 5, **changes: Any) -> Case:
    zeros = lambda h, n: np.zeros((batch, h, n, 2))  # noqa: E731
    return Case("float32", zeros(heads, n_q), zeros(kv_heads, n_kv), zeros(kv_heads, n_kv)).with_(**changes)


OPEN, CLOSED = np.zeros((3, 5)), np.full((3, 5), -np.inf)
CONTAINS = [
    (Space(), case(), True),
    (Space(min_q=4), case(), False),
    (Space(min_q=3), case(), True),
    (Space(min_kv=6), case(), False),
    (Space(min_heads=5), case(), False),
    (Space(min_batch=3), case(), False),
    (Space(square=True), case(), False),
    (Space(square=True), case(n_q=5), True),
    (Space(causal=(False,)), case(is_causal=True), False),
    (Space(causal=(True,)), case(), False),
    (Space(masks=("bool",)), case(), False),
    (Space(masks=("none",)), case(mask=OPEN == 0), False),
    (Space(masks=("bool",)), case(mask=OPEN == 0), True),
    (Space(masks=("bool",)), case(mask=OPEN), False),
    (Space(masks=("float",)), case(mask=OPEN), True),
    (Space(masks=("finite",)), case(mask=OPEN), True),
    (Space(masks=("finite",)), case(mask=CLOSED), False),
    (Space(scales=False), case(scale=2.0), False),
    (Space(grouped=False), case(), False),
    (Space(grouped=False), case(kv_heads=4), True),
    (Space(dtypes=("float64",)), case(), False),
    (Space(min_q=129, min_kv=129), case(), False),
    (Space(min_q=129, min_kv=129, floor=False), case(), True),
    (Space(min_heads=99, floor=False), case(), False),
]


@pytest.mark.parametrize(("wish", "one", "expected"), CONTAINS)
def test_a_shrunk_case_must_still_be_one_that_was_wished(wish: Space, one: Case, expected: bool) -> None:
    assert wish.contains(one) is expected


def test_declared_sizes() -> None:
    some = profile(sizes=lambda n_q, n_kv, d, d_v, heads, kv_heads: d == d_v and heads % 2 == 0)
    assert some.allows((3, 5, 8, 8, 4, 2))
    assert not some.allows((3, 5, 8, 4, 4, 2))
    assert profile().allows((0, 1, 2, 3, 4, 5))


def test_laws_with_like_wishes_share_small_cases() -> None:
    assert Space(max_n=64, regimes=("normal",), dead=0.3).for_small() == Space(dead=0.5).for_small()
    assert Space(dead=0.3).for_small() != Space().for_small()
    assert Space(min_q=2).for_small() != Space().for_small()
