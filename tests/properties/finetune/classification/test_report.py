"""Figures of classes against a count that looks at every pair of a label and a prediction."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from finetune.classification.report import lines, report

PAIRS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1)


@given(PAIRS)
def test_figures_are_those_of_their_definitions(pairs: list[tuple[int, int]]) -> None:
    labels, predictions = zip(*pairs, strict=True)
    names = ("a", "b", "c", "d")
    found = report(labels, predictions, names)
    assert sum(map(sum, found["confusion"])) == len(pairs)
    for number, name in enumerate(names):
        both = sum(label == prediction == number for label, prediction in pairs)
        said, true = predictions.count(number), labels.count(number)
        row = found["classes"][name]
        assert row["examples"] == true
        assert row["precision"] == (both / said if said else None) and row["recall"] == (both / true if true else None)
        # The harmonic mean of precision and recall, where both are there and positive.
        if both:
            assert abs(row["f1"] - 2 / (1 / row["precision"] + 1 / row["recall"])) < 1e-12
        else:
            assert row["f1"] == (0 if said or true else None)


def test_a_figure_that_is_not_defined_is_a_dash() -> None:
    shown = list(lines(report([0, 0], [1, 0], ["no", "yes"])))
    assert shown[2].split() == ["yes", "0.000", "-", "0.000", "0"]
