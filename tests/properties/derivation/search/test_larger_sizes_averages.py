"""Averages that small sizes agree on are refuted at larger ones: as polynomials in the size, or at sizes up to 64."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import GOOD, StepReport, Verdict

NORMAL = r"Let $d \in \mathbb{N}$ and $q, k \sim \mathcal{N}(0, I_d)$ independent."
VANISHES = "".join(f"(d - {k})" for k in range(1, 13))


def only(display: str) -> StepReport:
    (step,) = check_document(f"{NORMAL}\n\n$$ {display} $$\n").steps
    return step


@pytest.mark.parametrize(
    ("display", "size"),
    [
        (r"\mathbb{E}[(q^\top k)^2] \le 40", 41),
        (r"\mathbb{E}[(q^\top k)^4] \le 300 d", 99),
        (r"\mathbb{E}[\|q - k\|^2] \le 10^5", 50001),
        (r"\operatorname{Var}(q^\top k) \le 25", 26),
        (rf"\mathbb{{E}}[(q^\top k)^2] = d + {VANISHES}", 13),
        (r"\mathbb{E}[\|q\|^2] \le 10 + e^{d - 30}", 11),
    ],
)
def test_what_fails_at_larger_sizes_alone_is_refuted(display: str, size: int) -> None:
    step = only(display)
    assert step.verdict is Verdict.REFUTED, step.evidence.text
    assert f"at d = {size}" in step.evidence.text, step.evidence.text


@pytest.mark.parametrize(
    "display",
    [
        r"\mathbb{E}[(q^\top k)^4] \le 9 d^2",
        r"\mathbb{E}[\|q\|^4] \le d^2 + 2 d",
        r"\mathbb{E}[(q^\top k)^2] < d^2 + 1",
        r"\mathbb{E}[\|q\|^2] \ge d",
    ],
)
def test_what_holds_at_all_sizes_is_not(display: str) -> None:
    step = only(display)
    assert step.verdict in GOOD, step.evidence.text
    assert "as polynomials in d of degree" in step.evidence.text or step.verdict is Verdict.PROVED
