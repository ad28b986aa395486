"""A relation whose sides are defined only under an equation that nobody states is not accepted."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document

SIZES = "Let $n, m \\in \\mathbb{N}$.\nLet $a \\in \\mathbb{R}^{n \\times m}$ and $x \\in \\mathbb{R}^n$ and $y \\in \\mathbb{R}^m$."


@pytest.mark.parametrize(
    ("claim", "only"),
    [
        (r"\sum_{i=1}^{n} \sum_{j=1}^{m} a_{ij} = \sum_{i=1}^{m} \sum_{j=1}^{n} a_{ij}", "n = m"),
        (r"\sum_{i=1}^{m} \sum_{j=1}^{n} a_{ij} = \sum_{j=1}^{n} \sum_{i=1}^{m} a_{ij}", "n = m"),
        (r"\sum_{i=1}^{n} x_i y_i = \sum_{i=1}^{m} x_i y_i", "n = m"),
        (r"x_{m} y_{n} = x_n y_n", "n = m"),
    ],
)
def test_bounds_that_fit_at_equal_sizes_alone_are_undecided(claim: str, only: str) -> None:
    (step,) = check_document(f"{SIZES}\n\n$$ {claim} $$\n").steps
    assert (step.verdict, only in step.evidence.text) == ("UNDECIDED", True), step.evidence.text
    assert "does not exist" in step.evidence.text


def test_an_index_with_one_value_left_is_undecided() -> None:
    text = "Let $n \\in \\mathbb{N}$ and $i \\in \\{1, \\dots, n\\}$.\nLet $x \\in \\mathbb{R}^n$.\n\n$$ x_{i+n-1} = x_n $$\n"
    (step,) = check_document(text).steps
    assert (step.verdict, "only at i = 1" in step.evidence.text) == ("UNDECIDED", True), step.evidence.text


@pytest.mark.parametrize(
    "claim",
    [
        r"\sum_{i=1}^{n} \sum_{j=1}^{m} a_{ij} = \sum_{j=1}^{m} \sum_{i=1}^{n} a_{ij}",
        r"x_5 + x_4 = x_4 + x_5",
        r"\sum_{i=1}^{m} x_i = \sum_{k=1}^{m} x_k",
    ],
)
def test_sizes_at_which_an_entry_is_missing_are_left_out(claim: str) -> None:
    (step,) = check_document(f"{SIZES}\n\n$$ {claim} $$\n").steps
    assert step.verdict in ("PROVED", "EXACT", "AGREES"), step.evidence.text


@pytest.mark.parametrize(
    ("claim", "verdicts"),
    [
        (r"\sqrt{-x^2} = 5 x", ("UNDECIDED",)),
        (r"\sqrt{-(x - y)^2} = x - y", ("UNDECIDED",)),
        (r"\log(x) + \log(y) = \log(x y)", ("AGREES", "EXACT", "PROVED")),
    ],
)
def test_values_at_which_both_sides_are_defined_satisfy_no_further_equation(
    claim: str, verdicts: tuple[str, ...]
) -> None:
    (step,) = check_document(f"Let $x, y \\in \\mathbb{{R}}$.\n\n$$ {claim} $$\n").steps
    assert step.verdict in verdicts, step.evidence.text


@pytest.mark.parametrize(
    "formula",
    [
        r"\sum_{i=1}^K p_i \log \frac{p_i}{q_i} = \sum_{i=1}^K p_i (\log p_i - \log q_i)",
        r"\sqrt{a b c} = \sqrt{a} \sqrt{b} \sqrt{c}",
    ],
)
def test_of_logarithms_and_roots_most_cases_have_a_value(formula: str) -> None:
    (step,) = check_document(f"$$ {formula} $$\n", infer=True).steps
    assert step.verdict == "AGREES"
    assert step.evidence.figures["cases"] > step.evidence.figures["undefined"]
