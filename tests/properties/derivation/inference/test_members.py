r"""attention_core.derivation.inference.members: a function at two indices is a member of a family, in their order."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.check import document_steps
from attention_core.derivation.inference.members import exchanges_indices, name_member, put_dots
from attention_core.derivation.latex.printer import to_latex
from attention_core.derivation.latex.syntax import Name
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import GOOD, Verdict

SUM = r"\sum_{i=1}^n \sum_{j=1}^n"


def last(display: str) -> Verdict:
    return check_document(f"We have\n\n$$ {display} $$\n", infer=True).steps[-1].verdict


def test_the_name_has_dots_in_the_place_of_its_letters() -> None:
    assert to_latex(put_dots((Name("i"), Name("k"))[0], {"i"})) == r"\cdot"
    assert name_member("f", set(), Name("x")) == Name("f")


def test_letters_stand_in_the_order_in_which_they_occur() -> None:
    one, other = (to_latex(name_member(r"f(\cdot, \cdot)", "ij", Name(a), Name(b))) for a, b in ("ij", "ji"))
    assert one.endswith("_{i,j}") and other.endswith("_{j,i}")


def test_a_letter_that_comes_twice_leaves_a_mark() -> None:
    first = name_member(r"k(\cdot, \cdot, \cdot)", "ij", Name("i"), Name("j"), Name("i"))
    second = name_member(r"k(\cdot, \cdot, \cdot)", "ij", Name("i"), Name("j"), Name("j"))
    alone = name_member(r"k(\cdot, \cdot)", "ij", Name("i"), Name("i"))
    assert first != second and "'" not in to_latex(alone)


@pytest.mark.parametrize(
    "display",
    [
        rf"{SUM} a_i b_j k(x_i, x_j) = {SUM} a_i b_j k(x_j, x_i)",
        rf"{SUM} a_i f(x_i, y_j) = {SUM} a_i f(x_j, y_i)",
        rf"{SUM} a_i b_j k(i, j, i) = {SUM} a_i b_j k(i, j, j)",
        rf"{SUM} a_i \|x_i - y_j\|_p = {SUM} a_i \|x_j - y_i\|_p",
    ],
)
def test_values_with_their_arguments_exchanged_are_others(display: str) -> None:
    assert last(display) not in GOOD


@pytest.mark.parametrize(
    ("display", "good"),
    [
        (rf"{SUM} a_i b_j k(x_i, x_j) = {SUM} a_j b_i k(x_j, x_i)", True),  # other names
        (rf"{SUM} f(x_i) g(x_j) = \sum_{{i=1}}^n f(x_i) \sum_{{j=1}}^n g(x_j)", True),
        (rf"{SUM} w_i d(x_i, x_j) = {SUM} w_i d(x_j, x_i)", False),  # of a distance
        (rf"{SUM} w_i \|x_i - x_j\|_p = {SUM} w_i \|x_j - x_i\|_p", False),
    ],
)
def test_a_function_may_be_symmetric(display: str, good: bool) -> None:
    verdict = last(display)
    assert (verdict in GOOD) is good and verdict is not Verdict.REFUTED


def test_exchanged_indices_are_found() -> None:
    for display, found in ((f"{SUM} d(i, j) = {SUM} d(j, i)", True), (f"{SUM} d(i, j) = {SUM} e(j, i)", False)):
        (step,) = document_steps(f"$$ {display} $$\n", infer=True)[1]
        assert isinstance(step, Step) and exchanges_indices((step.left, step.right)) is found
