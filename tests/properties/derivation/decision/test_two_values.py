"""What holds of labels, masks and signs stays open with --as-read where the document speaks of such numbers."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.check import document_steps
from attention_core.derivation.decision.two_values import mentions_two_values
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import Verdict


def verdict(formula: str, above: str) -> Verdict:
    return check_document(f"{above}\n\n$$ {formula} $$\n", as_read=True).steps[-1].verdict


PAIRS = [
    ("With mask $m$,", "(m x)^2 + b = m x^2 + b", "(m x)^2 + b = 2 m x^2 + b"),
    ("A hard gate chooses one of the two inputs.", "(g x + (1 - g) y)^2 = g x^2 + (1 - g) y^2", "(g x + (1 - g) y)^2 = g x^2 + (1 + g) y^2"),
    ("The label is a sign, so", "(y - f)^2 = 1 - 2 y f + f^2", "(y - f)^2 = 1 - 3 y f + f^2"),
    ("Labels are $\\pm 1$.", "(y - h)^2 = 2 - 2 y h", "(y - h)^2 = 2 - 3 y h"),
    ("One-hot labels cancel:", r"(\sum_{c \ne j} y_c + y_j) p_j - y_j = p_j - y_j", r"(\sum_{c \ne j} y_c + y_j) p_j - y_j = 2 p_j - y_j"),
    ("The hinge loss has", r"(1 - y f)^2 = (y - f)^2", r"(1 - y f)^2 = (y - 2 f)^2"),
    ("We normalize both.", r"\|x - y\|^2 = 2 - 2 x^\top y", r"\|x - y\|^2 = 2 - 3 x^\top y"),
    ("For $y = 1$ the loss is $-\\log p$ and for $y = 0$ it is $-\\log(1 - p)$:", "y^2 p + (1 - y)^2 (1 - p) = y p + (1 - y) (1 - p)", "y^2 p + (1 - y)^2 (1 - p) = y p + y (1 - p)"),
]  # fmt: skip


@pytest.mark.parametrize(("above", "right", "wrong"), PAIRS, ids=range(len(PAIRS)))
def test_two_values_leave_open_what_holds_of_them(above: str, right: str, wrong: str) -> None:
    assert verdict(right, above) is not Verdict.REFUTED
    assert verdict(wrong, above) is Verdict.REFUTED
    assert verdict(right, "We expand and find") is Verdict.REFUTED


ONE_HOT = [
    (r"-\sum_k y_k \log p_k = -\log p_c", r"-\sum_k p_k \log p_k = -\log p_c"),
    (r"\sum_k y_k z_k - \log \sum_k e^{z_k} = z_c - \log \sum_k e^{z_k}", r"\sum_k z_k z_k - \log \sum_k e^{z_k} = z_c - \log \sum_k e^{z_k}"),
    (r"\sum_k z_k \log \pi_k = \log \pi_k", r"\sum_k \pi_k \log \pi_k = \log \pi_k"),
]  # fmt: skip


@pytest.mark.parametrize(("right", "wrong"), ONE_HOT, ids=range(len(ONE_HOT)))
def test_a_symbol_that_picks_a_term_of_a_sum_is_said_by_the_step(right: str, wrong: str) -> None:
    assert verdict(right, "The loss is") is Verdict.UNDECIDED
    assert verdict(wrong, "The loss is") is Verdict.REFUTED


def test_another_index_alone_says_nothing() -> None:
    formula = r"\frac{\partial}{\partial z_j} \log \sum_k e^{z_k} = \frac{e^{z_i}}{\sum_k e^{z_k}}"
    assert verdict(formula, "We differentiate and find") is Verdict.REFUTED


FAR = "\n\nSome words.\n\nMore words.\n\nMore of them.\n\nAll of them.\n\nWe expand and find"


@pytest.mark.parametrize(
    ("above", "open_"),
    [
        ("The labels $y_i$ are binary.", False),  # not x
        ("The inputs $x_i$ are binary.", True),
        ("All inputs are binary.", True),
        ("Here $y_i \\in \\{0, 1\\}$.", False),
        ("The mean is $\\sum_{i = 1}^m x_i$.", False),
        ("We have $x_i^2 = x_i$.", True),
    ],
)
def test_of_a_symbol_words_of_another_one_say_nothing(above: str, open_: bool) -> None:
    wrong = r"2 (w \sum_{i=1}^m x_i^2 + b \sum_{i=1}^m y_i) = 2 (w \sum_{i=1}^m x_i + b \sum_{i=1}^m y_i)"
    (step,) = (
        one for one in document_steps(f"{above}{FAR}\n\n$$ {wrong} $$\n", infer=True)[1] if isinstance(one, Step)
    )
    assert mentions_two_values(step, "x") is open_
    assert mentions_two_values(step) or "sum" in above
