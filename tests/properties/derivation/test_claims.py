r"""A number with printed decimals behind \approx claims half a unit in the last place."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import Verdict


def verdict_of(step: str) -> Verdict:
    return check_document(f"Let $x \\in \\mathbb{{R}}$.\n\n$$ {step} $$\n").steps[-1].verdict


@pytest.mark.parametrize(
    ("step", "verdict"),
    [
        (r"\sqrt{2} \approx 1.41421", Verdict.EXACT),
        (r"\frac{2}{3} \approx 0.67", Verdict.EXACT),
        (r"\frac{1}{3000} \approx 3.33 \times 10^{-4}", Verdict.EXACT),
        (r"\sqrt{2} \approx 1.41422", Verdict.REFUTED),
        (r"\pi \approx 3.15", Verdict.REFUTED),
        (r"-\pi \approx -3.1415", Verdict.AMBIGUOUS),
        (r"2^{10} \approx 1000", Verdict.UNDECIDED),
        (r"x \approx 0.5", Verdict.UNDECIDED),
    ],
)
def test_printed_decimals_say_how_close(step: str, verdict: Verdict) -> None:
    assert verdict_of(step) is verdict
