"""Distances of counts: what every distance obeys, and numbers that were computed elsewhere."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finetune.errors import BadInput
from finetune.standardise.outcome import bootstrap, compare_counts

COUNTS = st.lists(st.integers(0, 50), min_size=3, max_size=6).filter(any)


@given(COUNTS, st.data())
def test_it_is_a_distance(a: list[int], data: st.DataObject) -> None:
    from scipy.spatial.distance import jensenshannon  # here, since importing it takes a third of a second

    b = data.draw(st.lists(st.integers(0, 50), min_size=len(a), max_size=len(a)).filter(any))
    there, back, self_ = compare_counts(a, b), compare_counts(b, a), compare_counts(a, a)
    assert (self_.l1, self_.total_variation, self_.jensen_shannon) == (0, 0, 0)
    assert there.l1 == back.l1 == sum(abs(x - y) for x, y in zip(a, b, strict=True))
    for value in (there.total_variation, there.jensen_shannon):
        assert -1e-12 <= value <= 1 + 1e-12
    # scipy's distance is the root of the divergence, and squares of it lose half of the digits near 0.
    assert there.jensen_shannon == pytest.approx(jensenshannon(a, b, base=2) ** 2, abs=1e-9)
    assert there.jensen_shannon == pytest.approx(back.jensen_shannon, abs=1e-12)


@given(COUNTS, st.integers(2, 9))
def test_shares_do_not_depend_on_the_number_of_labels(a: list[int], times: int) -> None:
    b = list(reversed(a))
    once, often = compare_counts(a, b), compare_counts([times * n for n in a], [times * n for n in b])
    assert often.total_variation == pytest.approx(once.total_variation, abs=1e-12)
    assert often.jensen_shannon == pytest.approx(once.jensen_shannon, abs=1e-12)
    assert often.l1 == times * once.l1


@pytest.mark.parametrize(
    ("a", "b", "line"), [([1], [1, 2], "go together"), ([-1, 2], [1, 0], "below 0"), ([0, 0], [1, 0], "nothing")]
)
def test_what_cannot_be_compared_is_one_line(a: list[int], b: list[int], line: str) -> None:
    with pytest.raises(BadInput, match=line):
        compare_counts(a, b)


def test_the_bootstrap_contains_the_distance_and_narrows_with_labels() -> None:
    answers, truth = [0, 1, 1, None, 2, 2, 0, 1] * 5, [0, 1, 0, 0, 2, 1, 0, 1] * 5
    few, many = bootstrap(answers, truth, 3), bootstrap(answers * 16, truth * 16, 3)
    low, high = many["total_variation"]
    counts = [[row.count(n) for n in range(3)] for row in (answers, truth)]
    assert low <= compare_counts(*counts).total_variation <= high
    # The widths of means fall as 1 / sqrt(labels): four times narrower with 16 times as many.
    widths = [high - low for low, high in (few["total_variation"], many["total_variation"])]
    assert widths[1] < widths[0] / 2
    assert bootstrap(answers, truth, 3) == few
    assert bootstrap(answers, truth, 3, seed=1) != few


@pytest.mark.parametrize(("answers", "truth"), [([0], [0, 1]), ([None, None], [0, 1]), ([], [])])
def test_a_bootstrap_of_nothing_is_one_line(answers: list[int | None], truth: list[int]) -> None:
    with pytest.raises(BadInput):
        bootstrap(answers, truth, 2)
