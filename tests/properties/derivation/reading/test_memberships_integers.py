r"""Integers: `k \in \mathbb{Z}` is tried with negative values as well, and `\mathbb{N}_0` with 0."""

from __future__ import annotations

import pytest

from attention_core.derivation import StepReport, check_document


def judge(declared: str, formula: str, *, infer: bool = False) -> StepReport:
    (step,) = check_document(f"{declared}\n\n$$ {formula} $$\n", infer=infer).steps
    return step


@pytest.mark.usefixtures("searched")
@pytest.mark.parametrize(
    ("declared", "formula", "verdict", "said"),
    [
        (r"Let $k \in \mathbb{Z}$.", "k^2 \\ge k", "AGREES", ""),
        (r"Let $k \in \mathbb{Z}$.", "(k - 1)(k + 1) = k^2 - 1", "PROVED", ""),
        (r"Let $k \in \mathbb{Z}$.", r"\cos(2 \pi k) = 1", "AGREES", ""),
        (r"Let $k \in \mathbb{Z}$.", "|k| = k", "REFUTED", "1 is not -1 at k = -1"),
        (r"Let $k \in \mathbb{Z}$.", r"k \ge -100000", "REFUTED", "is below -100000 at k = -"),
        (r"Let $k \in \mathbb{Z}$ with $k \ne 0$.", r"k^2 \ge 1", "AGREES", ""),
        (r"Let $k \in \mathbb{Z}$ with $k \ge 0$.", r"|k| = k", "AGREES", ""),
        (r"Let $n, k \in \mathbb{Z}$ with $n = 2 k$.", "(-1)^n = 1", "AGREES", ""),
        (r"Let $k \in \mathbb{N}_0$.", "|k| = k", "AGREES", ""),
        (r"Let $k \in \mathbb{Z}_{\ge 0}$.", r"k \ge 1", "REFUTED", "0 is below 1 at k = 0"),
    ],
)
def test_an_integer_has_either_sign(declared: str, formula: str, verdict: str, said: str) -> None:
    step = judge(declared, formula)
    assert step.verdict == verdict and said in step.evidence.text, step.evidence.text


def test_an_equation_may_still_say_which_integer_is_meant() -> None:
    step = judge(r"Let $k \in \mathbb{Z}$.", "k = 3")
    assert step.verdict == "UNDECIDED" and "a definition of k" in step.evidence.text


def test_a_sum_to_a_negative_number_has_no_agreed_meaning() -> None:
    step = judge(r"Let $k \in \mathbb{Z}$.", r"\sum_{i=1}^{k} 1 = k")
    assert step.verdict == "UNREADABLE" and "k may be negative" in step.evidence.text


@pytest.mark.parametrize(
    ("words", "verdict"),
    [("an integer", "REFUTED"), ("a nonnegative integer", "AGREES"), ("a positive integer", "AGREES")],
)
def test_integers_in_words(words: str, verdict: str) -> None:
    assert judge(f"Let $k$ be {words}.", "|k| = k", infer=True).verdict == verdict


def test_an_even_integer_is_not_any_integer() -> None:
    text = "Let $k$ be an even integer.\n\n$$ (-1)^k = 1 $$\n\n$$ (-1)^k = -1 $$\n"
    assert [step.verdict for step in check_document(text, infer=True).steps] == ["AGREES", "REFUTED"]
