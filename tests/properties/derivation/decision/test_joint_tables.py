r"""A step with joint tables in the place of its laws gives the verdict only where it holds."""

from __future__ import annotations

import pytest

from attention_core.derivation.check import check_document, document_steps
from attention_core.derivation.decision.joint_tables import read_by_tables
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import Evidence, Finding, Verdict

OPEN = Finding(Verdict.UNDECIDED, Evidence("open"))


def step_of(display: str, words: str = "We have") -> Step:
    (step,) = document_steps(f"{words}\n\n$$ {display} $$\n", infer=True)[1]
    assert isinstance(step, Step)
    return step


def test_what_is_false_of_tables_leaves_the_step_open() -> None:
    step = step_of("p(x|z) p(z) = p(z|x) p(x)")
    assert step.tables is not None
    assert read_by_tables(step, OPEN, lambda _: Finding(Verdict.REFUTED, Evidence("false"))) is OPEN
    held = read_by_tables(step, OPEN, lambda _: Finding(Verdict.PROVED, Evidence("true")))
    assert held.verdict is Verdict.PROVED and held.evidence.text == "with its laws as probabilities: true"


@pytest.mark.parametrize(("slip", "verdict"), [("with $+$", Verdict.REFUTED), ("without $Z$", Verdict.UNDECIDED)])
def test_a_slip_is_refuted_and_a_constant_too_many_is_not(slip: str, verdict: Verdict) -> None:
    step = step_of("p(x|z) p(z) = -p(z|x) p(x)")
    false = Finding(Verdict.REFUTED, Evidence("false", {"slip": slip}))
    assert read_by_tables(step, OPEN, lambda _: false).verdict is verdict


@pytest.mark.parametrize(
    ("display", "verdict"),
    [
        (r"p(z \mid x) = -\frac{p(x \mid z) p(z)}{p(x)}", Verdict.REFUTED),
        (r"p(z \mid x) = \frac{1}{Z} p(x \mid z) p(z)", Verdict.UNDECIDED),  # one without a norm
        (r"p(x, y) = p(x) p(y)", Verdict.UNDECIDED),  # independence, which is assumed
        (r"p(x \mid y) = p(y \mid x)", Verdict.UNDECIDED),
        (r"\log p(x, z) = \log p(x \mid z) + \log p(z) + 1", Verdict.REFUTED),
    ],
)
def test_what_is_false_of_all_laws_is_refuted_by_a_slip_alone(display: str, verdict: Verdict) -> None:
    (step,) = check_document(f"We have\n\n$$ {display} $$\n", infer=True).steps
    assert step.verdict is verdict, step.evidence.text


def test_sums_are_over_finitely_many_values() -> None:
    step = step_of(r"1 - \int p(z|x) dz = 0")
    held = read_by_tables(step, OPEN, lambda _: Finding(Verdict.PROVED, Evidence("true")))
    assert held.verdict is Verdict.AGREES and "finitely many values" in held.evidence.text


def test_a_step_without_laws_is_left_alone() -> None:
    step = step_of("a + b = b + c")
    assert step.tables is None and read_by_tables(step, OPEN, lambda _: OPEN) is OPEN


@pytest.mark.parametrize(
    ("words", "display"),
    [
        ("# Von Neumann entropy", r"I(A; B) \ge 0"),
        ("# Rényi entropy", r"H(X, Y) = H(X) + H(Y | X)"),
        ("# The min-entropy", r"H(X, Y) \le H(X) + H(Y)"),
        ("# Entropy and cross-entropy", r"H(T, S) = H(S, T)"),
        ("# Unnormalised densities", r"\sum_x p(x) = 1"),
    ],
)
def test_words_by_which_letters_mean_something_else(words: str, display: str) -> None:
    step = step_of(display, words)
    assert step.tables is not None
    assert read_by_tables(step, OPEN, lambda _: Finding(Verdict.PROVED, Evidence("true"))) is OPEN
    other = step_of(display, "# Entropy")
    assert read_by_tables(other, OPEN, lambda _: Finding(Verdict.PROVED, Evidence("true"))) is not OPEN


def test_a_cross_entropy_elsewhere_does_not_concern_a_condition() -> None:
    step = step_of(r"H(X, Y) = H(X) + H(Y | X)", "# Entropy and cross-entropy")
    assert read_by_tables(step, OPEN, lambda _: Finding(Verdict.PROVED, Evidence("true"))) is not OPEN
    step = step_of(r"H(X, Y) = H(X) + H(Y | X)", "# Entropy and Kolmogorov's axioms")
    assert read_by_tables(step, OPEN, lambda _: Finding(Verdict.PROVED, Evidence("true"))) is not OPEN


def test_one_change_of_laws_that_words_leave_open_is_a_likely_slip() -> None:
    text = "Up to an additive constant,\n\n$$ p(z | x) = \\frac{p(x | z) p(z)}{p(x)} + 1 $$\n"
    step = check_document(text, infer=True).steps[0]
    assert step.verdict is Verdict.UNDECIDED and step.likely_slip.startswith("with $")
