"""Fresh inputs: none twice, none of another process, and parts that stay where they should deceive a cache."""

from __future__ import annotations

import numpy as np
import pytest

from attention_core.declaration.implementation import TargetError
from attention_core.grading.fresh_inputs import Draw, check_secret, mix, move, new_secret

SHAPES = {"query": (1, 2, 11, 3), "key": (1, 2, 13, 3), "value": (1, 2, 13, 5)}


def test_a_secret_gives_its_inputs_again_and_another_gives_others() -> None:
    secret = new_secret()
    first, again, other = (Draw(SHAPES, "float32", s, "submission") for s in (secret, secret, new_secret()))
    for _ in range(5):
        one, two, three = first.next(), again.next(), other.next()
        assert all(np.array_equal(one[n], two[n]) and not np.array_equal(one[n], three[n]) for n in SHAPES)


def test_no_process_sees_the_inputs_of_another() -> None:
    own, other = (Draw(SHAPES, "float32", "0" * 32, who).next() for who in ("submission", "reference"))
    assert not any(np.array_equal(own[name], other[name]) for name in SHAPES)


def test_every_kind_of_inputs_comes_and_none_comes_twice() -> None:
    draw = Draw(SHAPES, "float32", "0" * 32, "submission")
    seen, corners, sums = [], 0, 0
    before = draw.next()
    for _ in range(60):
        now = draw.next()
        corners += all(np.array_equal(now[n][..., [0, -1], :], before[n][..., [0, -1], :]) for n in SHAPES)
        sums += all(np.allclose(np.sort(now[n], axis=None), np.sort(before[n], axis=None)) for n in SHAPES)
        seen.append(tuple(now[name].tobytes() for name in SHAPES))
        before = now
    assert len(set(seen)) == 60
    assert corners >= 15 and sums >= 5 and corners - sums >= 5


def test_rows_that_stay_and_rows_that_move() -> None:
    rng = np.random.default_rng(0)
    last, fresh = np.zeros((2, 9, 1)), np.ones((2, 9, 1))
    mixed = mix(last, fresh, rng)
    assert (mixed[:, [0, -1]] == 0).all() and 0 < mixed.mean() < 1
    rows = np.arange(9.0)[:, None]
    moved = move(rows, rng)
    assert (moved[[0, -1]] == rows[[0, -1]]).all() and (moved != rows).any() and sorted(moved.ravel()) == list(range(9))


def test_inputs_of_one_row_are_new_each_time() -> None:
    draw = Draw({"query": (1, 1, 1, 2), "key": (1, 1, 1, 2)}, "float32", "1" * 32, "submission")
    seen = {draw.next()["query"].tobytes() for _ in range(30)}
    assert len(seen) == 30


@pytest.mark.parametrize("text", ["", "0" * 31, "G" * 32, "0" * 33])
def test_what_is_no_secret_is_refused(text: str) -> None:
    with pytest.raises(TargetError, match="32 hexadecimal digits"):
        check_secret(text)
