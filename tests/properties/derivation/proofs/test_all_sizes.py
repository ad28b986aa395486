"""Proofs at all sizes, and their soundness.

PROVED for all sizes: true equations are closed by the index normal form, near misses never are.
The near misses are made to catch captured indices, lost ranges and sums of things that depend on the index.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.cases.problem import Problem
from attention_core.derivation.claims import claim_of
from attention_core.derivation.decision.decide import decide, search
from attention_core.derivation.effort import Effort
from attention_core.derivation.latex.syntax import Minus, Num, Plus, Times, Transpose
from attention_core.derivation.proofs.all_sizes import holds_at_all_sizes
from attention_core.derivation.reading.step import Step
from attention_core.derivation.reading.steps import steps_of
from attention_core.derivation.terms.terms import ShapeMismatch

HEAD = (
    "Let $d, m, n, p \\in \\mathbb{N}$, $n \\ge 2$, $A \\in \\mathbb{R}^{d \\times m}$, $B \\in \\mathbb{R}^{d \\times p}$, "
    "$C, D \\in \\mathbb{R}^{d \\times d}$, $x, y \\in \\mathbb{R}^{d}$, $s \\in \\mathbb{R}^{n}$, $t \\in \\mathbb{R}$, "
    "$v_1, \\dots, v_n \\in \\mathbb{R}^{d}$, $c_1, \\dots, c_n \\in \\mathbb{R}$, $a, b \\in \\{1, \\dots, n\\}$, $a \\ne b$, "
    "with $A^\\top A = I_m$ and $A^\\top B = 0$.\n\n"
)

TRUE = [
    r"A A^\top A = A",
    r"(I_d - A A^\top)^2 = I_d - A A^\top",
    r"A^\top (I_d - A A^\top) = 0",
    r"(A A^\top + C) B = C B",
    r"(C D)^\top = D^\top C^\top",
    r"\operatorname{tr}(C D) = \operatorname{tr}(D C)",
    r"\operatorname{tr}(x y^\top) = x^\top y",
    r"\sum_{i=1}^{n} \sum_{j=1}^{n} c_i c_j = \left(\sum_{i=1}^{n} c_i\right)^2",
    r"\sum_{i \ne a} c_i = \sum_{i=1}^{n} c_i - c_a",
    r"\sum_{i \ne a, b} c_i v_i = \sum_{i=1}^{n} c_i v_i - c_a v_a - c_b v_b",
    r"\sum_{i=1}^{n} (c_i + t) = n t + \sum_{i=1}^{n} c_i",
    r"\operatorname{softmax}(s + t \mathbf{1}_n) = \operatorname{softmax}(s)",
    r"\mathbf{1}_n^\top \operatorname{softmax}(s) = 1",
    r"\nabla_x (x^\top C x) = (C + C^\top) x",
    r"\frac{\partial}{\partial x} (C x) = C",
    r"\nabla_s \log \sum_{i=1}^{n} e^{s_i} = \operatorname{softmax}(s)",
    r"\|x - y\|^2 = \|x\|^2 - 2 x^\top y + \|y\|^2",
    r"\operatorname{diag}(x) y = x \odot y",
]

FALSE = [
    r"A A^\top C = C",
    r"A A^\top = I_d",
    r"A^\top A = 0",
    r"(C D)^\top = C^\top D^\top",
    r"C D = D C",
    r"\operatorname{tr}(C D) = \operatorname{tr}(C) \operatorname{tr}(D)",
    r"\sum_{i=1}^{n} c_i^2 = \left(\sum_{i=1}^{n} c_i\right)^2",
    r"\sum_{i \ne a} c_i = \sum_{i=1}^{n} c_i - c_b",
    r"\sum_{i \ne a, b} c_i = \sum_{i=1}^{n} c_i - c_a",
    r"\sum_{i=1}^{n} i = n a",
    r"\sum_{i=1}^{n} i c_i = a \sum_{i=1}^{n} c_i",
    r"\sum_{i=1}^{n} t = t",
    r"\sum_{i=1}^{n-1} c_i = \sum_{i=1}^{n} c_i",
    r"\sum_{i=1}^{d} e^{\sum_{j=1}^{d} x_j C_{ij}} = \sum_{i=1}^{d} e^{\sum_{j=1}^{d} x_j C_{ji}}",
    r"\sum_{i=1}^{d} e^{\sum_{j=1}^{d} x_j C_{ij}} = \sum_{i=1}^{d} e^{\sum_{j=1}^{d} x_i C_{ij}}",
    r"\sum_{i=1}^{d} \left(\sum_{j=1}^{d} C_{ij}\right)^2 = \sum_{i=1}^{d} \left(\sum_{j=1}^{d} C_{ji}\right)^2",
    r"\sum_{i=1}^{d} \sum_{j=1}^{d} C_{ij} D_{ij} = \sum_{i=1}^{d} \sum_{j=1}^{d} C_{ij} D_{ji}",
    r"\operatorname{softmax}(2 s) = \operatorname{softmax}(s)",
    r"\nabla_x (x^\top C x) = 2 C x",
    r"\frac{\partial}{\partial x} (C x) = C^\top",
    r"v_a^\top v_b = 0",
    r"c_a = c_b",
]


def the_step(formula: str) -> Step:
    (step,) = steps_of(HEAD + f"$$ {formula} $$\n")[0]
    assert isinstance(step, Step)
    return step


@pytest.mark.parametrize("formula", TRUE)
def test_true_equations_are_proved(formula: str) -> None:
    (step,) = check_document(HEAD + f"$$ {formula} $$\n").steps
    assert step.verdict == "PROVED", (step.verdict, step.evidence.text)
    assert "index normal form" in step.evidence.figures["rule"]


@pytest.mark.parametrize("formula", FALSE)
def test_near_misses_are_refuted_and_never_proved(formula: str) -> None:
    context, claim, extra = claim_of(the_step(formula))
    problem = Problem(context, claim, extra)
    assert not holds_at_all_sizes(context, claim, problem.hypotheses, problem.tuples)
    assert decide(problem).verdict == "REFUTED"


def test_what_is_proved_of_a_changed_equation_is_never_refuted() -> None:
    """Factors are left out, signs are changed and transposes dropped; whatever is still proved must survive the search."""
    proved = 0
    for formula in TRUE:
        step = the_step(formula)
        right = step.right
        changed: list[object] = [Minus(right), Plus((right, Num(right.value))) if isinstance(right, Num) else right]
        if isinstance(right, Times):
            changed += [Times(right.factors[:-1], right.ops[:-1]) if len(right.factors) > 2 else right.factors[0]]
        if isinstance(right, Plus):
            changed += [right.terms[0], Plus((*right.terms, right.terms[-1]))]
        if isinstance(right, Transpose):
            changed.append(right.base)
        for new in changed:
            try:
                context, claim, extra = claim_of(replace(step, right=new))  # type: ignore[arg-type]
            except ShapeMismatch:
                continue
            problem = Problem(context, claim, extra, Effort(small=4, tuples=1, large=1))
            if holds_at_all_sizes(context, claim, problem.hypotheses, problem.tuples):
                proved += 1
                assert search(problem) is None, (formula, new)
    assert proved >= len(TRUE) // 2


def test_the_hypotheses_decide_whether_it_is_proved() -> None:
    formula = "$$ A^\\top (A + B) = I_m $$\n"
    text = HEAD.replace("$B \\in \\mathbb{R}^{d \\times p}$", "$B \\in \\mathbb{R}^{d \\times m}$") + formula
    assert check_document(text).steps[0].verdict == "PROVED"
    assert check_document(text.replace(" and $A^\\top B = 0$", "")).steps[0].verdict == "REFUTED"


def test_a_proof_is_given_up_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attention_core.derivation.proofs.all_sizes.SHARE", 0.0)
    text = "Let $n \\in \\mathbb{N}$, $x, y \\in \\mathbb{R}^{n}$.\n\n$$ x^\\top y = \\sum_{i=1}^n y_i x_i $$\n"
    (step,) = check_document(text).steps
    assert step.verdict == "EXACT"
    monkeypatch.undo()
    (step,) = check_document(text).steps
    assert step.verdict == "PROVED"
