"""Values by cases, which become sums of indicators."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.latex.case_values import end_of_cases, with_indicators


@pytest.mark.parametrize(
    "inner",
    [
        r"a \\ b & \text{otherwise}",
        r"a & \text{if nothing else is said}\\ b & i = j",
        r"a & i = j",
        "",
        r"a & & b \\ c & i = j",
    ],
)
def test_what_is_not_a_value_with_a_condition_is_left_alone(inner: str) -> None:
    assert with_indicators(inner) == ""


def test_without_otherwise_the_value_is_undefined_where_no_case_holds() -> None:
    assert with_indicators(r"a & \text{if } i < j \\ b, & i > j.").startswith(r"\frac{")


def test_the_environment_ends_where_its_own_end_is() -> None:
    text = r"a \begin{cases} b \end{cases} \end{cases} c"
    found = end_of_cases(text, 0)
    assert found is not None and text[found[1] :] == " c"
    assert end_of_cases("a", 0) is None


@pytest.mark.parametrize(
    ("cases", "verdict"),
    [
        (r"1 & \text{if } i = j, \\ 0 & \text{otherwise}", "EXACT"),
        (r"0 & \text{if } i \ne j \\ 1 & \text{if } i = j", "EXACT"),
        (r"1 & \text{if } i = j \\ 1 & \text{if } i = j + 1 \\ 0 & \text{otherwise}", "REFUTED"),
    ],
)
def test_a_relation_with_cases_is_decided(cases: str, verdict: str) -> None:
    head = r"Let $n \in \mathbb{N}$ and $i, j \in \{1, \dots, n\}$ and $x \in \mathbb{R}^n$."
    display = rf"$$ \frac{{\partial x_i}}{{\partial x_j}} = \begin{{cases}} {cases} \end{{cases}} $$"
    (step,) = check_document(f"{head}\n\nHence\n\n{display}\n").steps
    assert step.verdict in (verdict, "PROVED" if verdict == "EXACT" else verdict), step.evidence.text


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        (r"|a| = \begin{cases} a & a > 0 \\ -a & \text{otherwise} \end{cases}", "AGREES"),
        (r"|a| = \begin{cases} a & a > 1 \\ -a & a \le 1 \end{cases}", "REFUTED"),
        (r"\max(0, a) = \begin{cases} a & (a \geq 0) \\ 0 & (a < 0) \end{cases}", "AGREES"),
    ],
)
def test_conditions_may_compare_numbers(claim: str, verdict: str) -> None:
    (step,) = check_document(f"Let $a \\in \\mathbb{{R}}$.\n\n$$ {claim} $$\n").steps
    assert step.verdict == verdict, step.evidence.text
