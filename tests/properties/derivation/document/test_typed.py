"""Displays as people type them."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.document.typed import as_formula
from attention_core.derivation.effort import Effort


@pytest.mark.parametrize(
    ("typed", "formula"),
    [
        ("x₁² = α·y", r"x_1^2 = \alpha \cdot y"),
        (r"a_i = 0 \text{ for i=1,...,n}", r"a_i = 0 \text{ for } i=1, \dots, n"),
        (r"\min_w f(w) \quad s.t. \quad g(w) = 0", r"\min_w f(w) \quad \text{subject to} \quad g(w) = 0"),
        (r"\Big( a = b \Big)", r"      a = b "),
        (r"(a + b) = (b + a)", r"(a + b) = (b + a)"),
        (r"(a, b)", r"(a, b)"),
        (r"s.t + 1", r"s.t + 1"),
    ],
)
def test_what_is_typed_becomes_latex(typed: str, formula: str) -> None:
    assert as_formula(typed).strip() == formula.strip()


@pytest.mark.parametrize(
    "display",
    [
        r"\sum_{j = 1}^n p_{ij} = 1 \quad \text{ for i = 1,..., n}",
        r"s_i = 1 - f(X_i)_{Y_i} \quad \text{for } i = 1, \dots, n",
        r"g_i(w) \le 0,\ i=1,...,k",
        r"2 \max_{i: y_i = 1} x_i = \max_{i: y_i = 1} x_i",
        r"2 \underset{w}{max} f(w) = \underset{w}{argmax} f(w)",
        r"|t - \sum \hat{Y}'_i| \le w",
        r"2 \exp\{-x\} = \exp\{x\}",
    ],
)
def test_such_displays_are_read_and_not_decided(display: str) -> None:
    steps = check_document(f"# A\n\n$$ {display} $$\n", infer=True, effort=Effort(seconds=0.5)).steps
    assert steps and {str(step.verdict) for step in steps} == {"UNDECIDED"}, steps[0].evidence.text


def test_parts_by_their_subscripts_define_what_they_add_up_to() -> None:
    report = check_document("# A\n\n$$ y = y_s + y_{S^\\perp} $$\n", infer=True, effort=Effort(seconds=0.5))
    assert any("defined by the display" in words for _, words in report.understood)


def test_an_equivalence_with_a_remark_on_it_is_decided_both_ways() -> None:
    steps = check_document(r"$$ a = b \xLeftrightarrow{\text{by symmetry}} b = a $$", infer=True).steps
    assert [str(step.verdict) for step in steps] == ["PROVED", "PROVED"]
    (refused,) = check_document(r"$$ a = b \xRightarrow{a = 0} b = a $$", infer=True).steps
    assert refused.verdict == "UNREADABLE"
