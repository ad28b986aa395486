"""Differentials: an equation of changes, in a document that speaks of them, and a product elsewhere."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import GOOD, Verdict

LINEAR = (
    r"Let $X \in \mathbb{R}^{n \times d}$, $W \in \mathbb{R}^{d \times k}$, $T \in \mathbb{R}^{n \times k}$ and $Y = X W$. "
    r"Put $f = \frac{1}{2} \operatorname{tr}((Y - T)^\top (Y - T))$."
)
WORDS = "We take differentials."
NORM = (
    r"Let $x \in \mathbb{R}^d$ and $\gamma \in \mathbb{R}^d$. Define the scalar $\rho = \sqrt{\frac{1}{d} x^\top x}$ and "
    r"the output $y = \frac{1}{\rho} \gamma \odot x$. All hypotheses are declared as formulas."
)


def verdicts(text: str, *steps: str) -> list[Verdict]:
    body = "\n\n".join(f"$$ {step} $$" for step in steps)
    return [one.verdict for one in check_document(f"{text}\n\n{body}\n", infer=True).steps]


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (r"dY = dX\, W + X\, dW", r"dY = dX\, W + dW\, X"),
        (r"\mathrm{d}Y = \mathrm{d}X\, W + X\, \mathrm{d}W", r"\mathrm{d}Y = \mathrm{d}X\, W - X\, \mathrm{d}W"),
        (r"df = \operatorname{tr}((Y - T)^\top dY)", r"df = \operatorname{tr}(Y^\top dY)"),
        (r"dY_{ij} = \sum_{l=1}^d (dX_{il} W_{lj} + X_{il}\, dW_{lj})", r"dY_{ij} = \sum_{l=1}^d dX_{il}\, dW_{lj}"),
    ],
)
def test_products_and_traces(right: str, wrong: str) -> None:
    (found,) = verdicts(f"{LINEAR} {WORDS}", right)
    assert found in GOOD
    (found,) = verdicts(f"{LINEAR} {WORDS} All hypotheses are declared as formulas.", wrong)
    assert found is Verdict.REFUTED


def test_a_size_d_stays_a_number_in_a_denominator() -> None:
    right = r"dy = \frac{1}{\rho}\operatorname{diag}(\gamma)(I - \frac{x x^\top}{d\rho^2}) dx"
    assert verdicts(f"{NORM} {WORDS}", right)[0] in GOOD
    assert verdicts(f"{NORM} {WORDS}", right.replace(r"d\rho^2", r"d\rho"))[0] is Verdict.REFUTED


def test_without_words_a_differential_is_not_refuted_as_a_product() -> None:
    for step in (r"dY = dX\, W + X\, dW", r"dY = dX\, W + dW\, X"):
        assert verdicts(LINEAR, step)[0] in (Verdict.UNDECIDED, Verdict.UNREADABLE)


def test_what_varies_elsewhere_and_is_held_here_leaves_a_false_step_open() -> None:
    both = verdicts(f"{LINEAR} {WORDS}", r"dY = dX\, W + X\, dW", r"dY = dX\, W")
    assert both[0] in GOOD and both[1] is Verdict.UNDECIDED
    assert verdicts(f"{LINEAR} {WORDS}", r"dY = dX\, W")[0] in GOOD


def test_the_differential_of_a_transpose_is_that_of_its_entries() -> None:
    text = "We take differentials. Let $X \\in \\mathbb{R}^{n \\times d}$ and $Y = X^\\top X$.\n\n$$ dY = %s $$\n"
    found = [
        str(check_document(text % one, infer=True).steps[-1].verdict)
        for one in (r"dX^\top X + X^\top dX", r"dX^\top X - X^\top dX")
    ]
    assert found[0] == "EXACT" and found[1] in ("REFUTED", "UNDECIDED")
