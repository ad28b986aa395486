"""Cases near a written size: what is near it, in which turn, and that no case is too dear."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.draw import SCORES_NEAR, draw
from attention_core.conformance.cases.features import Features, draw_lengths, draw_window
from attention_core.conformance.cases.near import (
    MOST_WORK,
    Near,
    neighbours,
    options_near,
    sizes_near,
    sizes_to_draw,
    work_of,
)
from attention_core.conformance.cases.space import Profile, Space
from attention_core.conformance.contracts import find_contract
from attention_core.conformance.subjects.parameter_case import ParameterSubject, draw_parameters
from attention_core.conformance.worker.runner import LocalRunner
from attention_core.declaration.implementation import CLAIMS, DTYPES, Implementation

PROFILE = Profile(DTYPES, frozenset(CLAIMS), "top_left", "zeros")


def drawn(size: int, count: int = 28, **wish: object) -> list[Case]:
    rng = np.random.default_rng(3)
    space = PROFILE.restrict(Space().with_(**wish))
    assert space is not None
    cases = [draw(space.with_(near=Near(size, turn)), PROFILE, rng) for turn in range(count)]
    return [case for case in cases if case is not None]


@pytest.mark.parametrize("size", [5, 40, 128, 700])
def test_lengths_widths_heads_and_problems_are_near_in_turn(size: int) -> None:
    around, cases = {*neighbours(size)}, drawn(size)
    assert len(cases) == 28
    near = {
        "keys": sum(case.sizes[1] in around for case in cases), "queries": sum(case.sizes[0] in around for case in cases),
        "width": sum(case.sizes[2] in around for case in cases),
        "count": sum(bool({case.sizes[4], case.query.shape[0]} & around) for case in cases),
    }  # fmt: skip
    assert min(near.values()) >= 2, near
    assert all(case.slices * case.sizes[0] * case.sizes[1] <= 2 * SCORES_NEAR for case in cases)
    assert all(case.near == size and Case.from_json(case.to_json()).near == size for case in cases)


def test_a_wish_holds_near_a_written_size_too() -> None:
    for case in drawn(64, max_n=129, square=True, min_heads=2, min_batch=2, masks=("bool",)):
        n_q, n_kv, *_, heads, _ = case.sizes
        assert n_q == n_kv <= 129 and heads >= 2 and case.query.shape[0] >= 2 and case.mask is not None


def test_windows_and_lengths_of_keys_are_near_it() -> None:
    (case,) = drawn(32, 1)
    rng, sides = np.random.default_rng(0), {0, *(n - step for n in neighbours(32) for step in (0, 1))}
    assert {side for _ in range(20) for side in draw_window(case, "bounded_sides", rng)} <= sides
    assert {*map(int, np.concatenate([draw_lengths(case, rng) for _ in range(40)]))} & {31, 32, 33, 34}
    assert Features().window is None


@pytest.mark.parametrize(
    "contract", ["mask-builder", "linear-attention", "kv-cache", "rotary", "merge", "position-table"]
)
def test_parameters_are_near_it_and_cheap(contract: str) -> None:
    law = next(law for law in find_contract(contract).laws if law.central)
    implementation = Implementation(len, contract=contract)
    runner = LocalRunner(len, factory=False, array="torch", device="cpu")
    subject = ParameterSubject(runner, implementation, {**runner.describe(), "callable": True})
    rng, around = np.random.default_rng(1), {*neighbours(64)}
    cases = [draw_parameters(subject, replace(law.space, near=Near(64, turn)), rng) for turn in range(12)]
    near = [case for case in cases if case is not None and around & {*case.sizes.values()}]
    assert len(near) >= 10 and all(work_of(case.sizes) <= MOST_WORK for case in near)


def test_a_law_of_fixed_sizes_or_of_texts_of_its_own_has_no_such_case() -> None:
    rng = np.random.default_rng(0)
    assert sizes_near({"n": (3, 3)}, Near(64), rng, first=True) is None
    assert options_near({"lengths": ("long", "many")}, {"lengths": "long"}, Near(64), rng) is None
    options = options_near({"lengths": ("any", "long")}, {"lengths": "long", "sides": (2, 0)}, Near(64), rng)
    assert options is not None and options["lengths"] == "any" and options["near"] == 64


def test_what_a_worker_tells_is_taken_for_sizes_or_left() -> None:
    assert sizes_to_draw([64, True, "7", 3, 1 << 60, [9]], {"chunk": 32, "word": "8"}) == (32, 64)
    assert sizes_to_draw(None, {}) == sizes_to_draw("128", {}) == ()
    assert len(sizes_to_draw([*range(5, 1000)], {})) == 8
