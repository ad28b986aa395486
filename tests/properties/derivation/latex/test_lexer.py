"""Arguments with and without braces.

What LaTeX means by an argument without braces: one character. Inside braces a number keeps all its digits.
The readings are seen through the values of closed formulas.
"""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document


@pytest.mark.parametrize(
    "formula",
    [
        r"\frac{25}{30} = 0.8333 + \frac{1}{30000}", r"\frac12 = 0.5", r"\frac{1}23 = 1.5", r"\frac{24}23 = 36",
        r"\frac{\frac{24}{12}}{10} = 0.2", r"\sqrt{16} = 4", r"\sqrt16 = 6", r"2^{10} = 1024", r"2^10 = 0",
        r"\frac{\sqrt{49}}{14} = \frac{10 + 15}{50}", r"\frac{0.25}{12} = \frac{1}{48}",
    ],
)  # fmt: skip
def test_a_number_in_braces_keeps_its_digits_and_one_without_gives_the_first(formula: str) -> None:
    (step,) = check_document(f"$$ {formula} $$\n").steps
    assert step.passed, step.evidence.text
    left, _, right = formula.partition("=")
    (wrong,) = check_document(f"$$ {left} = {right} + 1 $$\n").steps
    assert wrong.verdict == "REFUTED"
