r"""Moments of the usual laws: the right ones hold, others are refuted."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import GOOD, Verdict

ROWS = [
    (r"Let $x \sim \operatorname{Exponential}(\lambda)$.", r"\mathbb{E}[x^3] = \frac{6}{\lambda^3}", r"\mathbb{E}[x] = \lambda^2"),
    (r"Let $x \sim \operatorname{Poisson}(\lambda)$.", r"\mathbb{E}[x^3] = \lambda^3 + 3 \lambda^2 + \lambda",
     r"\mathbb{E}[x^2] = \lambda"),
    (r"Let $x \sim \operatorname{Binomial}(n, p)$.", r"\operatorname{Var}[x] = n p (1 - p)", r"\operatorname{Var}[x] = n p"),
    (r"Let $x \sim \operatorname{Rademacher}$.", r"\mathbb{E}[x^4] = 1", r"\mathbb{E}[x^3] = 1"),
]  # fmt: skip


@pytest.mark.parametrize(("law", "right", "wrong"), ROWS, ids=["exponential", "poisson", "binomial", "rademacher"])
def test_moments(law: str, right: str, wrong: str) -> None:
    found = [check_document(f"{law}\n\n$$ {one} $$\n", infer=True).steps[-1].verdict for one in (right, wrong)]
    assert found[0] in GOOD and found[1] is Verdict.REFUTED
