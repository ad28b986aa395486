"""An equation of an infinite integral and a number is false; what may have a value otherwise stays open."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import Verdict

ROWS = [
    (r"\int_{-\infty}^{\infty} e^{z^2/2} \, dz = \sqrt{2 \pi}", Verdict.REFUTED),
    (r"\int_{-\infty}^{\infty} e^{-z^2/2} \, dz = \sqrt{2 \pi}", Verdict.AGREES),
    (r"1 = \int_0^\infty e^x \, dx", Verdict.REFUTED),
    (r"-2 \int_0^{2 \pi} \int_0^\infty e^u \, du \, d\theta = 2 \pi", Verdict.REFUTED),
    (r"\int_0^\infty x \, dx = 1", Verdict.REFUTED),
    (r"\int_{-\infty}^\infty x \, dx = 0", Verdict.UNDECIDED),  # as a principal value
    (r"\int_{-\infty}^\infty z e^{z^2/2} \, dz = 0", Verdict.UNDECIDED),
    (r"\int_0^\infty e^x \, dx = \int_0^\infty e^{2 x} \, dx", Verdict.UNDECIDED),
    (r"\int_0^\infty e^x \, dx - \int_0^\infty e^x \, dx = 0", Verdict.UNDECIDED),
    (r"(\sqrt{4} - 2) \int_0^\infty e^x \, dx = 0", Verdict.UNDECIDED),
    (r"\frac{1}{\int_0^\infty e^x \, dx} = 0", Verdict.UNDECIDED),
]


@pytest.mark.parametrize(("formula", "expected"), ROWS, ids=range(len(ROWS)))
def test_an_infinite_integral_is_no_number(formula: str, expected: Verdict) -> None:
    for infer in (False, True):
        (step,) = check_document(f"$$ {formula} $$\n", infer=infer).steps
        assert step.verdict is expected
        if expected is Verdict.REFUTED:
            assert "side is infinite" in step.evidence.text


def test_a_factor_that_may_vanish_says_nothing() -> None:
    text = r"Let $a \in \mathbb{R}$."
    (step,) = check_document(f"{text}\n\n$$ a \\int_0^\\infty e^x \\, dx = 0 $$\n").steps
    assert step.verdict is not Verdict.REFUTED
