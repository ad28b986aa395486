""" "Not known", its curve, and the split by the corpus.

finetune.characters.answer_provenance: withheld answers by their log-probability, and answers beside what the corpus tells.
"""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finetune.characters.answer_provenance import consider, curve, name_of, separation, split_table, threshold_for
from finetune.characters.evaluate import Answer
from finetune.errors import BadInput

PAIRS = st.lists(st.tuples(st.integers(-5, 0), st.booleans()), min_size=1, max_size=12)


@given(PAIRS)
def test_a_point_counts_what_is_at_or_above_its_threshold(pairs: list[tuple[int, bool]]) -> None:
    given_answers, marks = [Answer("x", float(s)) for s, _ in pairs], [m for _, m in pairs]
    points = curve(given_answers, marks)
    assert [p.threshold for p in points] == sorted({float(s) for s, _ in pairs}, reverse=True)
    for point in points:
        kept = [m for s, m in pairs if s >= point.threshold]
        assert (point.answered, point.right) == (len(kept), sum(kept))
        assert point.precision == sum(kept) / len(kept)
    for wanted in (0.0, 0.5, 1.0):
        t = threshold_for(points, wanted)
        fitting = [p.answered for p in points if p.precision >= wanted]
        assert (t == math.inf) == (not fitting)
        if fitting:
            assert sum(s >= t for s, _ in pairs) == max(fitting)


def test_no_answers_no_curve() -> None:
    for answers, marks in (([], []), ([Answer("x", 0.0)], [])):
        with pytest.raises(BadInput, match="0 marks"):
            curve(answers, marks)
    with pytest.raises(BadInput, match="both sides"):
        separation([], [Answer("x", 0.0)])


def test_separation_is_the_share_of_pairs() -> None:
    known, unknown = [Answer("a", -1.0), Answer("b", -3.0)], [Answer("c", -2.0), Answer("d", -3.0)]
    assert separation(known, unknown) == (1 + 1 + 0 + 0.5) / 4
    assert separation(known, unknown) + separation(unknown, known) == 1


def test_answers_are_split_by_what_the_corpus_tells() -> None:
    corpus = ["Ada Byron was born in London .", "Bob Ray is a painter .", "Rome is old ."]
    names, places = ["Ada Byron", "Bob Ray", "Cy Twain"], ["London", "Rome", "Rome"]
    questions = [f"Where was {n} born?" for n in names]
    given_answers = [Answer("London", -0.1), Answer("Paris", -0.2), Answer("Rome", -0.3)]
    rows = consider(questions, places, given_answers, corpus)
    assert [(r.name_in_corpus, r.place_with_name, r.right) for r in rows] == [
        (True, True, True), (True, False, False), (False, False, True),
    ]  # fmt: skip
    assert [(right, count) for _, right, count in split_table(rows)] == [(1, 1), (0, 1), (1, 1)]
    assert name_of("Who is it?") == "Who is it?"
