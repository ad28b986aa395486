"""Demonstrations: balanced, in the order that was wanted, never a text that is judged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finetune.data.examples import Examples
from finetune.errors import BadInput
from finetune.prompting.template import ORDERS, choose_demonstrations


def examples(count: int, classes: int = 2, prefix: str = "text") -> Examples:
    names = tuple(f"class {n}" for n in range(classes))
    texts = [f"{prefix} {n}" for n in range(count)]
    return Examples(texts, None, [n % classes for n in range(count)], names, [f"line {n}" for n in range(count)])


TRAIN, JUDGED = examples(60), examples(9, prefix="judged")


@given(st.integers(0, 20), st.integers(0, 99), st.sampled_from(ORDERS))
def test_balanced_demonstrations_differ_by_one_at_most(count: int, seed: int, order: str) -> None:
    chosen = choose_demonstrations(TRAIN, JUDGED, count, seed=seed, order=order)
    zeros = list(chosen.labels).count(0)
    assert len(chosen) == count == len(set(chosen.first))
    assert zeros - (count - zeros) in (0, 1)


@given(st.integers(1, 10), st.integers(0, 99))
def test_interleaved_classes_take_turns(half: int, seed: int) -> None:
    chosen = choose_demonstrations(TRAIN, JUDGED, 2 * half, seed=seed)
    assert list(chosen.labels) == [0, 1] * half
    backwards = choose_demonstrations(TRAIN, JUDGED, 2 * half, seed=seed, order="reversed")
    assert list(backwards.first) == list(chosen.first)[::-1]
    blocked = choose_demonstrations(TRAIN, JUDGED, 2 * half, seed=seed, order="blocked")
    assert list(blocked.labels) == [0] * half + [1] * half
    assert set(blocked.first) == set(chosen.first)


@given(st.integers(0, 99), st.booleans())
def test_more_demonstrations_contain_fewer(seed: int, balanced: bool) -> None:
    few = choose_demonstrations(TRAIN, JUDGED, 4, seed=seed, balanced=balanced)
    many = choose_demonstrations(TRAIN, JUDGED, 10, seed=seed, balanced=balanced)
    assert set(few.first) <= set(many.first)


def test_another_seed_draws_others() -> None:
    draws = {tuple(choose_demonstrations(TRAIN, JUDGED, 8, seed=seed).first) for seed in range(20)}
    assert len(draws) == 20


def test_a_judged_text_is_never_shown() -> None:
    judged = TRAIN.take(range(40))
    for seed in range(10):
        chosen = choose_demonstrations(TRAIN, judged, 10, seed=seed)
        assert not set(chosen.first) & set(judged.first)


def test_a_judged_text_in_another_case_is_not_shown() -> None:
    judged = Examples(["TEXT  0"], None, [0], TRAIN.classes, ["line 1"])
    seen = {text for seed in range(60) for text in choose_demonstrations(TRAIN, judged, 20, seed=seed).first}
    assert "text 0" not in seen


def test_a_passage_of_a_judged_pair_is_not_shown() -> None:
    pairs = Examples(["a", "b", "c", "d"], ["p", "q", "r", "s"], [0, 1, 0, 1], TRAIN.classes, list("wxyz"))
    judged = Examples(["other"], ["p"], [0], TRAIN.classes, ["v"])
    assert set(choose_demonstrations(pairs, judged, 2).second or ()) <= {"q", "r", "s"}


def test_too_few_of_a_class_is_one_line() -> None:
    with pytest.raises(BadInput, match="'class 1' are wanted"):
        choose_demonstrations(TRAIN.take([0, 2, 4, 1]), JUDGED, 4)
    with pytest.raises(BadInput, match="100 demonstrations of 60"):
        choose_demonstrations(TRAIN, JUDGED, 100, balanced=False)
