"""Optimization problems claim nothing, and what restricts them may restrict what follows."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.document.optimization import is_problem

PROBLEMS = [
    r"\min_{w} \|w\|^2 \quad \text{s.t. } X w = y",
    r"\text{minimize} \quad \|w\|^2 \quad \text{subject to} \quad X w = y",
    r"\begin{aligned} \textrm{minimize} & & \|w\|^2 \\ \textrm{subject to} & & \|w\| \le r \end{aligned}",
    r"\begin{aligned} \min_{w \in \mathbb{R}^n, b = 1} \quad & \frac{1}{2} \|w\|^2 \\ \text{such that} \quad & w_1 \ge 1 \end{aligned}",
    r"\operatorname{maximize} \; x \quad \mathrm{s.t.} \quad x \le 1",
]


@pytest.mark.parametrize("formula", PROBLEMS)
def test_a_problem_claims_nothing(formula: str) -> None:
    report = check_document(f"$$ {formula} $$\n\n$$ 1 + 1 = 2 $$\n", infer=True)
    assert [step.line for step in report.steps] == [3]
    assert [(line, text[:18]) for line, text in report.unchecked_relations] == [(1, "nothing to check: ")]


@pytest.mark.parametrize(
    "formula",
    [
        r"p = \min_w \|w\| \quad \text{s.t. } X w = y",
        r"\min_w \|w\| = 0",
        r"x = 1 \text{ subject to } \min_w w = x",
        r"f(x) \le 1 \quad \text{such that} \quad x > 0",
        r"\min_w \|w\| \le \max_w \|w\| \quad \text{subject to } w_1 = 1",
    ],
)
def test_a_relation_in_front_of_the_constraints_is_read(formula: str) -> None:
    assert not is_problem(formula)


def test_a_false_step_below_a_problem_may_hold_under_its_constraints() -> None:
    text = "Let $a, b \\in \\mathbb{R}$.\n\n$$ \\min_{a, b} a b \\quad \\text{s.t. } a = b $$\n\nHence\n\n$$ a + b = 2 a $$\n"
    for promised in ("", "All hypotheses are declared as formulas. "):
        (step,) = check_document(promised + text, infer=True).steps
        assert str(step.verdict) == "UNDECIDED", step.evidence.text
    other = text.replace("s.t. } a = b", "small}")
    assert str(check_document(other, infer=True).steps[-1].verdict) == "REFUTED"
