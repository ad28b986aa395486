r"""The imaginary unit by its square: steps with it are read as complex, and never as steps of real numbers."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document

SAID = [
    "Let $i^2 = -1$ and $x, y \\in \\mathbb{R}$.",
    "Let $x, y \\in \\mathbb{R}$ and let $i = \\sqrt{-1}$.",
    "Let $i$ be the imaginary unit and $x, y \\in \\mathbb{R}$.",
    "Let $i$ be a number such that $i^2 = -1$ and $x, y \\in \\mathbb{R}$.",
    "Let $i$ be the imaginary unit, $i^2 = -1$, and $x, y \\in \\mathbb{R}$.",
]


def last(head: str, formula: str) -> str:
    return str(check_document(f"{head}\n\n$$ {formula} $$\n", infer=True).steps[-1].verdict)


@pytest.mark.parametrize("head", SAID)
def test_a_letter_with_the_square_minus_one_is_the_imaginary_unit(head: str) -> None:
    assert last(head, "(x + i y) (x - i y) = x^2 + y^2") == "PROVED"
    assert last(head, "(x + i y) (x - i y) = x^2 - y^2") == "REFUTED"
    assert last(head, "(1 + i)^2 = 2 i") == "PROVED"
    assert last(head, "(1 + i)^2 = 3 i") == "REFUTED"


DEFINED = [
    "Let $i^2 = -1$ and $z = x + iy$ with $x, y \\in \\mathbb{R}$.",
    "Let $i^2 = -1$. Let $z = x + iy$ with $x, y \\in \\mathbb{R}$.",
    "Let $i$ be the imaginary unit and $z = x + yi$ with $x, y \\in \\mathbb{R}$.",
    "Let $i$ be the imaginary unit and $x, y \\in \\mathbb{R}$. Put $z = x + iy$.",
]


@pytest.mark.parametrize("head", DEFINED)
def test_a_complex_number_may_be_defined_by_the_unit(head: str) -> None:
    assert last(head, "z^2 = x^2 - y^2 + 2ixy") == "PROVED"
    assert last(head, "z^2 = x^2 + y^2 + 2ixy") == "REFUTED"
    assert last(head, "z \\bar{z} = x^2 + y^2") == "PROVED"
    assert last(head, "z \\bar{z} = x^2 - y^2") == "REFUTED"


def test_a_number_of_modulus_one_may_be_defined_by_the_unit() -> None:
    head = "Let $i$ be the imaginary unit and $w = e^{i\\theta}$ with $\\theta \\in \\mathbb{R}$."
    assert last(head, "w^2 = e^{2i\\theta}") == "PROVED"
    assert last(head, "w^2 = e^{3i\\theta}") == "REFUTED"


@pytest.mark.parametrize("where", ["and $i^2 = -1$", ", where $i$ is the imaginary unit", ", where $i^2 = -1$"])
def test_a_unit_behind_what_it_defines_refutes_nothing(where: str) -> None:
    head = f"Let $z = x + iy$ with $x, y \\in \\mathbb{{R}}$ {where}."
    assert last(head, "z^2 = x^2 - y^2 + 2ixy") not in ("REFUTED", "VACUOUS")


def test_it_may_be_another_letter_or_be_said_in_a_sentence() -> None:
    assert last("Let $j^2 = -1$ and $x \\in \\mathbb{R}$.", "e^{j x} = \\cos x + j \\sin x") == "PROVED"
    assert last("Let $j^2 = -1$ and $x \\in \\mathbb{R}$.", "e^{j x} = \\cos x - j \\sin x") == "REFUTED"
    assert last("We write $i^2 = -1$. Then", "(1 + i)^2 = 2 i") == "PROVED"
    assert last("Let $\\mathrm{i}^2 = -1$.", "(1 + \\mathrm{i})^2 = 2 \\mathrm{i}") == "PROVED"


@pytest.mark.parametrize("formula", ["\\sum_{k=1}^n i^2 \\ge 0", "\\sum_{k=1}^n i^2 = -n"])
def test_a_formula_without_known_parts_stays_open(formula: str) -> None:
    assert last("Let $i^2 = -1$ and $n \\in \\mathbb{N}$.", formula) == "UNDECIDED"


def test_a_real_number_or_an_index_is_not_the_unit() -> None:
    assert last("Let $i \\in \\mathbb{R}$ with $i^2 = -1$.", "i + 1 = 2 i + i") == "VACUOUS"
    assert last("Let $i^2 = -1$ and $x \\in \\mathbb{R}^n$.", "\\sum_{i=1}^n x_i = \\sum_{j=1}^n x_j") == "PROVED"


@pytest.mark.parametrize("head", ["Let $c^2 = -4$.", "Let $J^2 = -1$.", "Let $q^2 = -1$."])
def test_another_square_below_zero_defines_no_real_number(head: str) -> None:
    letter = head[5]
    verdicts = {last(head, f"{letter} + 1 = 2 + {letter}"), last(head, f"{letter} + {letter} = 2 {letter}")}
    assert not verdicts & {"VACUOUS", "REFUTED"}
