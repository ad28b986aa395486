"""Undeclared symbols that have two readings: a step that holds by one of them is AMBIGUOUS, and says by which."""

from __future__ import annotations

from dataclasses import replace

import pytest

from attention_core.derivation import StepReport, check_document
from attention_core.derivation.check import document_steps
from attention_core.derivation.decision.inferred_readings import settle_kinds
from attention_core.derivation.effort import Effort
from attention_core.derivation.judge import decide_step
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import GOOD, Finding, Verdict
from attention_core.derivation.terms.terms import ShapeMismatch


def inferred(formula: str, declared: str = "") -> StepReport:
    (step,) = check_document(f"{declared}\n\n$$ {formula} $$\n", infer=True).steps
    return step


@pytest.mark.parametrize(
    ("formula", "reading"),
    [
        (r"\operatorname{softmax}(x + c) = \operatorname{softmax}(x)", r"with $c \in \mathbb{R}$"),
        (r"\nabla_x x^\top A x = x^\top (A + A^\top)", "with gradients of numbers as rows"),
        (r"(A + B)^2 = A^2 + 2 A B + B^2", r"with $A, B \in \mathbb{R}$"),
    ],
)
def test_a_step_that_holds_in_another_reading_says_which(formula: str, reading: str) -> None:
    step = inferred(formula)
    assert step.verdict == "AMBIGUOUS" and step.evidence.text.startswith(f"it holds {reading}")
    assert "read as: " in step.evidence.text and step.evidence.figures["reading"].startswith(reading)


def test_what_is_false_in_every_reading_stays_open_with_its_point() -> None:
    step = inferred(r"\operatorname{softmax}(x + 2 c) = 2 \operatorname{softmax}(x)")
    assert step.verdict == "UNDECIDED" and step.evidence.text.startswith("as it was read it is false")


def test_a_declaration_leaves_one_reading() -> None:
    declared = r"Let $n \in \mathbb{N}$ and $x, c \in \mathbb{R}^n$."
    assert inferred(r"\operatorname{softmax}(x + c) = \operatorname{softmax}(x)", declared).verdict == "REFUTED"


def test_a_reading_that_the_formulas_ask_for_is_not_replaced() -> None:
    step = inferred(r"c^\top c + \operatorname{softmax}(x + c)_1 = c^\top c + \operatorname{softmax}(x)_1")
    assert step.verdict != "AMBIGUOUS", step.evidence.text  # a transpose says that c is a vector


@pytest.mark.parametrize(
    ("formula", "reading"),
    [
        (r"T L = L T", r"with $L, T \in \mathbb{R}^{n \times n}$: 1 is not 0"),
        (r"\sqrt{m} \le m", r"with $m \in \mathbb{R}$: "),
        (r"\frac{\partial}{\partial x} (x + c) (x - c) = x - c", "if $"),
    ],
)
def test_a_step_that_is_false_in_another_reading_says_which(formula: str, reading: str) -> None:
    step = inferred(formula)
    assert step.verdict == "AMBIGUOUS" and step.evidence.text.startswith(f"it is false {reading}"), step.evidence.text
    assert "read as: " in step.evidence.text and step.counterexample is None


@pytest.mark.parametrize(
    "document",
    [
        r"$$ T L = L T $$" + "\n\n" + r"$$ T + x = x + T $$",  # a matrix and a number are not added
        r"Let $T, L \in \mathbb{R}$." + "\n\n" + r"$$ a T L = L T a $$",
        r"$$ \sqrt{m} \sum_{i=1}^m a_i^2 \le m \sum_{i=1}^m a_i^2 $$",  # a bound of a sum is a whole number
    ],
)
def test_a_reading_that_the_document_rules_out_is_not_tried(document: str) -> None:
    steps = check_document(document, infer=True).steps
    assert all(step.verdict in ("PROVED", "AGREES") for step in steps), [step.evidence.text for step in steps]


def test_what_is_taken_back_is_not_assumed_beside_an_undeclared_symbol() -> None:
    document = "Suppose $x \\ge 0$.\n\n$$ y + 1 = 1 + y $$\n\nWe drop this assumption.\n\n$$ |x| + y = x + y $$\n"
    _, step = check_document(document, infer=True).steps
    assert step.verdict == "UNDECIDED" and "line 5 may take back" in step.evidence.text


@pytest.mark.parametrize("formula", [r"W^{(2)} W^{(1)} x = W^{(1)} W^{(2)} x", r"H^{(1)} H^{(2)} = H^{(2)} H^{(1)}"])
def test_capitals_with_labels_may_be_matrices(formula: str) -> None:
    step = inferred(formula)
    assert step.verdict == "AMBIGUOUS" and r"^{(2)} \in \mathbb{R}$" in step.evidence.text, step.evidence.text


def test_nothing_is_refuted_by_a_reading_of_symbols_with_labels() -> None:
    step = inferred(r"W^{(2)\top} W^{(1)} = W^{(1)\top} W^{(2)}")
    assert step.verdict == "UNDECIDED" and "read as: " in step.evidence.text, step.evidence.text


@pytest.mark.parametrize("beside", [r"[A B, C] = A [B, C] + [A, C] B", r"(A B)^\dagger = B^\dagger A^\dagger"])
def test_a_commutator_or_an_adjoint_rules_out_no_matrices(beside: str) -> None:
    steps = check_document(f"$$ {beside} $$\n\n$$ e^{{A}} e^{{B}} = e^{{A + B}} $$\n", infer=True).steps
    assert steps[-1].verdict == "AMBIGUOUS"


def test_a_hypothesis_about_what_is_read_as_a_size_holds_of_any_number() -> None:
    root = "The norm is $y_i = w_i x_i / \\sqrt{m}$ with $m$ the mean.\n\nText.\n\nLet $m > 0$ and $e \\ge 0$.\n\n"
    bound = r"\frac{1}{\sqrt{m}} - \frac{1}{\sqrt{m + e}} \le \frac{e}{2 m} \frac{1}{\sqrt{m}}"
    assert check_document(f"{root}$$ {bound} $$\n", infer=True).steps[-1].verdict == "AGREES"
    assert (
        check_document(f"{root}$$ \\sqrt{{m}} \\le m $$\n", infer=True).steps[-1].verdict == "UNDECIDED"
    )  # not of 1/4
    other = "$$ \\sqrt{m} \\sqrt{m} = m $$\n\nLet $2 m > 1$ and $e \\ge 0$.\n\n"
    twice = check_document(f"{other}$$ {bound} $$\n", infer=True).steps[-1]
    assert twice.verdict == "AGREES", twice.evidence.text


@pytest.mark.parametrize(
    ("display", "settled"),
    [
        ("M^3 = M^2 M", True),
        ("2 (a + b) - a = a + 2 b", True),
        ("u^\\top (v + w) = u^\\top v + u^\\top w", True),
        ("a b = b a", False),  # not of matrices
        ("(a + b)^2 = a^2 + 2 a b + b^2", False),
        ("a < a + 1", False),  # an inequality is of numbers
    ],
)
def test_what_holds_of_all_kinds_of_arrays_is_settled(display: str, settled: bool) -> None:
    (step,) = document_steps(f"$$ {display} $$\n", infer=True)[1]
    assert isinstance(step, Step)
    effort = Effort(seconds=60)
    found = settle_kinds(replace(step, strange="why"), True, lambda one, _: decide_step(one, effort))
    assert (found.strange == "", found.of_all_kinds) == (settled, settled)


def test_what_has_no_meaning_with_matrices_stays_in_doubt() -> None:
    def refuse(*_: object) -> Finding:
        raise ShapeMismatch("a number and a matrix cannot be added")

    (step,) = document_steps("$$ (a + 1)^2 = a^2 + 2 a + 1 $$\n", infer=True)[1]
    assert isinstance(step, Step)
    found = settle_kinds(replace(step, strange="why"), True, refuse)
    assert found.strange == "" and not found.of_all_kinds


@pytest.mark.parametrize(
    ("display", "verdict"),
    [
        ("A^{-1} dA + B dA = dA \\, (A^{-1} + B)", Verdict.AMBIGUOUS),  # dA is a matrix as A is
        (
            "\\operatorname{tr}(A^{-1} dA) + \\operatorname{tr}(B dA) = \\operatorname{tr}((A^{-1} + B) dA)",
            Verdict.EXACT,
        ),
    ],
)
def test_the_change_of_a_matrix_is_a_matrix(display: str, verdict: Verdict) -> None:
    step = check_document(f"$$ {display} $$\n", infer=True).steps[-1]
    assert step.verdict is verdict, step.evidence.text


@pytest.mark.parametrize(
    ("formula", "good"),
    [
        (r"e^{i x} = \cos x + i \sin x", True),
        (r"e^{i x} e^{i y} = \cos(x + y) + i \sin(x + y)", True),
        (r"|e^{i x}| = 1", True),
        (r"(a + b i) (a - b i) = a^2 + b^2", True),
        (r"e^{i x} = \cos x - i \sin x", False),
        (r"\sum_{i=1}^n e^{i x} = \cos x + \sum_{i=1}^n i \sin x", False),  # here i is an index
    ],
)
@pytest.mark.parametrize("as_read", [False, True])
def test_an_undeclared_i_may_be_the_imaginary_unit(formula: str, good: bool, as_read: bool) -> None:
    (step,) = check_document(f"$$ {formula} $$\n", infer=True, as_read=as_read).steps
    assert (step.verdict is Verdict.AMBIGUOUS) is good and step.verdict not in GOOD, step.evidence.text
    assert ("where $i$ is the imaginary unit" in step.evidence.text) is good


@pytest.mark.parametrize("formula", ["L U = U L", "U^{-1} L^{-1} = L^{-1} U^{-1}", "S T = T S", "N A = A N"])
def test_a_capital_that_is_a_number_by_its_letter_may_be_a_matrix_beside_one(formula: str) -> None:
    (step,) = check_document(f"$$ {formula} $$\n", infer=True).steps
    assert step.verdict == "AMBIGUOUS" and "it is false with" in step.evidence.text


@pytest.mark.parametrize("formula", ["(L U)^{-1} = U^{-1} L^{-1}", "N (A + B) = N A + N B"])
def test_what_holds_of_such_matrices_too_is_accepted(formula: str) -> None:
    (step,) = check_document(f"$$ {formula} $$\n", infer=True).steps
    assert step.verdict in ("PROVED", "EXACT", "AGREES")


def test_such_a_letter_is_a_number_where_the_section_divides_by_it() -> None:
    text = "$$ T A = A T $$\n\n$$ A \\frac{1}{T} = \\frac{1}{T} A $$\n"
    assert [step.verdict for step in check_document(text, infer=True).steps] == ["PROVED", "PROVED"]
