"""The pool of shapes: what it holds, that cases keep to it, and that what a law derives from a member has one shape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from attention_core.conformance.cases.draw import draw
from attention_core.conformance.cases.space import POOL, SMALL, Profile, Space, members, pool_for, some
from attention_core.conformance.engine.session import Session
from attention_core.conformance.search.minimise import NEW_SHAPES, shape_of
from attention_core.conformance.worker.exchange import Array, Request
from attention_core.conformance.worker.runner import LocalRunner
from attention_core.declaration.implementation import CLAIMS, DTYPES, Implementation
from attention_core.declaration.sizes import SizeCondition

EVERYTHING = Profile(DTYPES, frozenset(CLAIMS), "top_left", "zeros", pool=True)


def restricted(space: Space, profile: Profile = EVERYTHING, family: str = "") -> Space:
    found = profile.restrict(space, family)
    assert found is not None
    return found


def test_the_pool_has_what_hides_behind_sizes() -> None:
    n_q, n_kv, d, d_v, heads, kv_heads = zip(*(one.sizes for one in POOL), strict=True)
    assert 10 <= len(POOL) <= 16
    assert {63, 65, 127, 129} & {*n_q, *n_kv} and 1 in n_q and 257 in n_kv
    assert any(a < b for a, b in zip(n_q, n_kv, strict=True)) and any(a > b for a, b in zip(n_q, n_kv, strict=True))
    assert any(a != b for a, b in zip(d, d_v, strict=True)) and any(width % 2 for width in d)
    assert any(1 < b < a for a, b in zip(heads, kv_heads, strict=True))
    assert {one.dtype for one in POOL} == set(DTYPES)
    assert sum(max(one.sizes) <= SMALL for one in POOL) >= 4


def test_cases_have_the_shapes_of_the_pool_alone() -> None:
    space = restricted(Space())
    rng = np.random.default_rng(0)
    cases = [draw(space, EVERYTHING, rng) for _ in range(200)]
    shapes = {(case.query.shape[0], case.sizes, case.dtype) for case in cases if case is not None}
    assert shapes <= {(one.batch, one.sizes, one.dtype) for one in POOL}
    assert len({shape_of(case) for case in cases}) <= 3 * len(POOL)
    assert len({case.query.tobytes() for case in cases if case is not None}) == 200  # the numbers are drawn


def test_equal_shapes_have_equal_seeds() -> None:
    space, rng = restricted(Space(), family="masking"), np.random.default_rng(1)
    seeds: dict[Any, set[int]] = {}
    for _ in range(60):
        case = draw(space, EVERYTHING, rng)
        assert case is not None
        seeds.setdefault(shape_of(case), set()).add(case.seed)
    assert all(len(found) == 1 for found in seeds.values())


@pytest.mark.parametrize(
    "condition", ["d == d_v", "d % 8 == 0", "n_q == n_kv", "d == 64 and d_v == 64", "n_kv >= 300 and d == 128"]
)
def test_declared_sizes_are_kept(condition: str) -> None:
    profile = Profile(DTYPES, frozenset(CLAIMS), "top_left", "zeros", SizeCondition(condition), pool=True)
    space, rng = restricted(Space(), profile), np.random.default_rng(0)
    cases = [draw(space, profile, rng) for _ in range(30)]
    assert all(case is not None and profile.allows(case.sizes) for case in cases)
    assert len({case.sizes for case in cases if case is not None}) <= len(POOL)


def test_the_wish_of_a_law_is_kept() -> None:
    space = restricted(Space(min_q=150, min_kv=150, max_n=150, square=True))
    case = draw(space, EVERYTHING, np.random.default_rng(0))
    assert case is not None and case.sizes[:2] == (150, 150)
    assert all(one.sizes[0] == one.sizes[1] for one in members(restricted(Space(square=True)), EVERYTHING))


def test_all_families_together_meet_the_whole_pool() -> None:
    space = restricted(Space())
    with Session(Implementation(scaled_dot_product, shapes="pool"), effort="quick") as session:
        families = {law.family for law in session.laws}
    met = {one.sizes for family in families for one in pool_for(space, EVERYTHING, family)}
    assert met == {one.sizes for one in POOL}


def test_problems_of_other_sizes_are_few() -> None:
    case = draw(restricted(Space()), EVERYTHING, np.random.default_rng(0))
    free = Profile(DTYPES, frozenset(CLAIMS), "top_left", "zeros")
    assert len(some(range(17), case, EVERYTHING)) == 3 and len(some(range(17), case, free)) == 17


WISHES = [Space(), Space(masks=("bool", "float"), causal=(False,), min_kv=2), Space(causal=(False,), min_kv=2)]


@pytest.mark.parametrize("family", ["masking", "state", "causality", ""])
@pytest.mark.parametrize("wish", WISHES, ids=range(len(WISHES)))
def test_members_take_turns_with_the_kinds_of_masks(wish: Space, family: str) -> None:
    space, rng = restricted(wish, family=family), np.random.default_rng(0)
    flags = [one.flags(space) for one in space.pool]
    assert {kind for kind, _, _ in flags} == set(space.masks)
    assert all(any(kind == one and form == 0 for kind, _, form in flags) for one in space.masks)  # a whole one of each
    assert {causal for _, causal, _ in flags} == set(space.causal) or len(flags) < 4
    drawn = [draw(space, EVERYTHING, rng) for _ in range(30)]
    kinds = {"none" if c.mask is None else "bool" if c.mask.dtype == bool else "float" for c in drawn if c is not None}
    assert len(kinds) >= min(2, len(space.masks))


def test_laws_of_masks_judge_a_target_that_declines_all_masks_but_bool_ones_of_four_axes() -> None:
    def bool_masks(query: Any, key: Any, value: Any, attn_mask: Any = None) -> Any:
        if attn_mask is not None and (attn_mask.ndim != 4 or attn_mask.dtype != torch.bool):
            raise ValueError("bool masks of four axes")
        return torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask)

    record = Implementation(bool_masks, name="f", shapes="pool", dtypes=("float32",))
    with Session(record, effort="quick", looks=False) as session:
        laws = [law for law in session.laws if law.name.startswith("huge_masked_keys")]
        results = [session.run(law) for law in laws]
    assert len(results) == 2 and all(result.status == "held" and result.cases for result in results)


class Counting(LocalRunner):
    """A runner that notes the shapes of all calls."""

    def __init__(self, target: Any) -> None:
        super().__init__(target, factory=False, array="torch", device="cpu")
        self.shapes: set[Any] = set()

    def run(self, request: Request, meanwhile: Any = None) -> Any:
        arrays = (*request.args, *request.kwargs.values())
        self.shapes.add(tuple((a.shape, a.dtype) if isinstance(a, Array) else a for a in arrays))
        return super().run(request, meanwhile)


def counted(function: Any, shapes: str) -> tuple[int, list[Any]]:
    runner = Counting(function)
    implementation = Implementation(function, name="f", shapes=shapes, dtypes=("float32",), gradients=False)
    with Session(implementation, effort="quick", runner=runner, looks=False) as session:
        return len(runner.shapes), list(session.results(session.laws)) and [len(runner.shapes), *session.notes]


def scaled_dot_product(query: Any, key: Any, value: Any) -> Any:
    scores = query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5
    return scores.softmax(-1) @ value


def test_a_run_asks_for_a_quarter_of_the_shapes() -> None:
    _, (free, *_) = counted(scaled_dot_product, "free")
    _, (few, *notes) = counted(scaled_dot_product, "pool")
    assert 3 * few < free
    assert any("sizes are drawn from a pool of 14 shapes" in note for note in notes)


def test_few_shapes_are_tried_for_a_small_counterexample() -> None:
    def off(query: Any, key: Any, value: Any) -> Any:
        if key.shape[-2] > 64:  # its last block is lost
            key, value = key[..., :64, :], value[..., :64, :]
        return scaled_dot_product(query, key, value)

    runner = Counting(off)
    implementation = Implementation(off, name="off", shapes="pool", dtypes=("float32",))
    with Session(implementation, effort="quick", runner=runner, looks=False) as session:
        (law,) = (law for law in session.laws if law.name == "agrees_with_truth")
        before = len(runner.shapes)
        result = session.run(law)
    assert result.status == "refuted" and result.counterexample is not None
    assert "n_kv=65" in result.counterexample.case
    assert len(runner.shapes) - before <= len(POOL) * 3 + 2 * NEW_SHAPES
