r"""Shapes that fit entry by entry alone refute nothing."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import Verdict

HEAD = r"Let $z, w \in \mathbb{R}^n$."


@pytest.mark.parametrize(
    "formula",
    [
        r"\exp(z) \exp(w) = \exp(z + w)", r"\sin(z + w) = \sin z \cos w + \cos z \sin w", r"z \exp(z) = \exp(z) z",
        r"\frac{\sin z}{\cos z} = \tan z", r"\operatorname{sigmoid}(z) = \frac{1}{1 + e^{-z}}",
        r"\sin^2(z) + \cos^2(z) = 1",
    ],
)  # fmt: skip
def test_entries_may_be_meant(formula: str) -> None:
    (found,) = check_document(f"{HEAD}\n\n$$ {formula} $$\n", infer=True).steps
    assert found.verdict is Verdict.UNDECIDED, found.evidence.text
    assert "shapes do not fit" in found.evidence.text


@pytest.mark.parametrize("formula", [r"z w = \exp(z)", r"\exp(z) \odot w = z^\top"])
def test_other_shapes_that_do_not_fit_are_refuted(formula: str) -> None:
    (found,) = check_document(f"{HEAD}\n\n$$ {formula} $$\n", infer=True).steps
    assert found.verdict is Verdict.REFUTED, found.evidence.text
