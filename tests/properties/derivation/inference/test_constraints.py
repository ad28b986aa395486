"""What letters suggest by themselves."""

from __future__ import annotations

import pytest

from attention_core.derivation.inference.constraints import bold_letters, typographic_hint

BOLD = bold_letters(r"\mathbf{x}_i + \mathbf w - \boldsymbol{\mu} + \vec{K}_{j}")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a", "number"), (r"\beta", "number"), ("A", "matrix"), (r"\Sigma", "matrix"), (r"\mathcal{L}", "number"),
        ("L", "number"), ("x_{i}", "column"), ("x", "number"), ("w", "column"), (r"\mu", "column"), ("w_{1}", "number"),
        ("K_{j}", "matrix"), (r"\hat{w}", "column"), ("f(x)", "number"), (r"\Delta W", "matrix"),
    ],
)  # fmt: skip
def test_typography(name: str, kind: str) -> None:
    assert typographic_hint(name, BOLD).kind == kind
