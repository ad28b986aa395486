"""Which symbol has a fixed index where one that runs makes a step an identity, and which words may say why."""

from __future__ import annotations

import pytest

from attention_core.derivation.check import check_document, document_steps
from attention_core.derivation.decision.slip_sites import find_fixed_index
from attention_core.derivation.reading.step import Step


def read(formula: str) -> Step:
    (step,) = document_steps(f"$$ {formula} $$\n", infer=True)[1]
    assert isinstance(step, Step)
    return step


@pytest.mark.parametrize(
    ("wrong", "right", "symbol"),
    [
        (r"\sum_{i=1}^m y_1 x_i = q", r"\sum_{i=1}^m y_i x_i = q", "y"),
        (r"\sum_{i=1}^m y_i x_i = q", r"\sum_{i=1}^m y_1 x_i = q", "y"),  # the other side has it fixed
        (r"\nabla_b [\sum_{i=1}^m (y_1 - b)^2] = q", r"\nabla_b [\sum_{i=1}^m (y_i - b)^2] = q", "y"),
        (r"\sum_{i=1}^m y_i x_i = q", r"\sum_{i=1}^m z_i x_i = q", ""),  # another symbol
        (r"\sum_{i=1}^{m} y_i = q", r"\sum_{i=1}^{m - 1} y_i = q", ""),  # an end
        (r"(W_1 + W_2) x = q", r"(W_1 + W_1) x = q", ""),  # no index runs
        (r"q = q", r"q = q", ""),
    ],
)
def test_a_fixed_index_is_found_where_another_runs(wrong: str, right: str, symbol: str) -> None:
    assert find_fixed_index(read(wrong), read(right)) == symbol


WRONG = r"\sum_{i=1}^m (y_i - w)^2 = \sum_{i=1}^m y_i^2 - 2 w \sum_{i=1}^m y_1 + m w^2"


@pytest.mark.parametrize(
    ("above", "verdict"),
    [
        ("Feature vectors are gathered by optimal sensors.", "REFUTED"),  # a word that restricts, and nothing alike
        ("The sensors $w$ are symmetric.", "REFUTED"),  # of another symbol
        ("The labels $y_i$ are the same for every town.", "UNDECIDED"),
        ("All labels are alike.", "UNDECIDED"),
        ("In these notes all labels are alike.\n\nText.\n\nText.\n\nText.\n\nText.\n\nText.", "UNDECIDED"),
        ("The towns are alike.\n\nText.\n\nText.\n\nText.\n\nText.\n\nText.", "REFUTED"),  # far, and of something else
        ("Here $y_1 = y_2$ as it is for all others.", "UNDECIDED"),
    ],
)
def test_words_make_a_fixed_index_good_where_they_say_what_is_alike(above: str, verdict: str) -> None:
    (step,) = check_document(f"{above}\n\n$$ {WRONG} $$\n", infer=True).steps
    assert step.verdict == verdict, step.evidence.text
