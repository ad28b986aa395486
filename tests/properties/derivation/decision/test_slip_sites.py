"""Which symbol has a fixed index where one that runs makes a step an identity, and which words may say why."""

from __future__ import annotations

import pytest

from attention_core.derivation.check import check_document, document_steps
from attention_core.derivation.decision.slip_sites import find_fixed_index, keeps_running_index, pulls_out_of_sum
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
        ("All beads have the label $y_1$.", "UNDECIDED"),
        ("All labels are the constant $c$.", "UNDECIDED"),  # of no other symbol of the step
        ("All weights are the constant $w$.", "REFUTED"),
        ("The labels do not vary.", "UNDECIDED"),
        ("# Setting\n\nThe label is constant.\n\n# Result\n\nText.\n\nText.\n\nText.\n\nText.", "UNDECIDED"),
        ("# Introduction\n\nThe label is constant.\n\n# Result\n\nText.\n\nText.\n\nText.\n\nText.", "REFUTED"),
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


@pytest.mark.parametrize(
    ("wrong", "right", "keeps", "pulls"),
    [
        (r"\sum_{i=1}^m y_i x_i = y_1 \sum_{i=1}^m x_i", r"\sum_{i=1}^m y_1 x_i = y_1 \sum_{i=1}^m x_i", False, True),
        (r"y_1 \sum_{i=1}^m x_i = \sum_{i=1}^m y_i x_i", r"y_1 \sum_{i=1}^m x_i = \sum_{i=1}^m y_1 x_i", False, True),
        (r"\sum_{i=1}^m y_i x_i = \sum_{i=1}^m y_1 x_i", r"\sum_{i=1}^m y_i x_i = \sum_{i=1}^m y_i x_i", False, False),
        (
            r"\sum_{i=1}^m y_i x_i = \sum_{i=1}^m (y_1 x_i + y_i - y_i)",
            r"\sum_{i=1}^m y_i x_i = \sum_{i=1}^m (y_i x_i + y_i - y_i)",
            True,
            False,
        ),
    ],
)
def test_where_the_fixed_index_stands(wrong: str, right: str, keeps: bool, pulls: bool) -> None:
    assert keeps_running_index(read(wrong), read(right), "y") is keeps
    assert pulls_out_of_sum(read(wrong), read(right)) is pulls


@pytest.mark.parametrize(
    ("formula", "words", "verdict"),
    [
        (r"\sum_{k=1}^n R_k I_k = I_1 \sum_{k=1}^n R_k", "In a loop:", "UNDECIDED"),  # the claim that they are alike
        (r"\sum_{k=1}^n q_k^\top p_k v_k = \sum_{k=1}^n q_k^\top p_1 v_k", "Keys are of the shared kind.", "UNDECIDED"),
        (r"\sum_{k=1}^n q_k^\top p_k v_k = \sum_{k=1}^n q_k^\top p_1 v_k", "We have", "REFUTED"),
    ],
)
def test_entries_that_are_pulled_out_of_a_sum_are_claimed_to_be_alike(formula: str, words: str, verdict: str) -> None:
    (step,) = check_document(f"{words}\n\n$$ {formula} $$\n", infer=True).steps
    assert step.verdict == verdict, step.evidence.text


@pytest.mark.parametrize(
    ("stated", "verdict"),
    [
        ("$x = e_1$.", "UNDECIDED"),  # a unit vector: one term is left
        (r"$\nabla w = 0$.", "UNDECIDED"),
        ("$x = u_1$.", "REFUTED"),  # a new name
        (r"$\ell = \sum_i x_i$.", "REFUTED"),
    ],
)
def test_a_relation_with_a_unit_vector_or_a_gradient_speaks_of_the_symbols_alone(stated: str, verdict: str) -> None:
    formula = r"\sum_{i=1}^n w_i x_i = \sum_{i=1}^n w_1 x_i"
    (step,) = check_document(f"{stated}\n\n$$ {formula} $$\n", infer=True, formulas=True).steps
    assert step.verdict == verdict, step.evidence.text
