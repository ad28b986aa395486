"""The declarations that a document misses."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.effort import Effort
from attention_core.derivation.reading.scaffold import scaffold


@pytest.mark.parametrize(
    "formula",
    [
        r"(Q K^\top + \lambda B) x = Q K^\top x + \lambda B x",
        r"\sum_{i=1}^{n} p_i x_i = \sum_{j=1}^{n} x_j p_j",
        r"\|\mathbf{q} - \mathbf{k}_i\|^2 - \sum_j \|\mathbf{k}_j\|^2 = \|\mathbf{q}\|^2 - 2 \mathbf{q}^\top \mathbf{k}_i "
        r"+ \|\mathbf{k}_i\|^2 - \sum_j \|\mathbf{k}_j\|^2",
    ],
)
def test_a_document_with_its_scaffold_says_everything(formula: str) -> None:
    display = f"$$ {formula} $$\n"
    missing = scaffold(display)
    assert missing.startswith("Let $")
    (step,) = check_document(f"{missing}\n{display}", effort=Effort(seconds=2)).steps
    assert step.passed, step.evidence.text


def test_each_section_has_its_own_and_functions_are_named() -> None:
    text = "# One\n\n$$ a b = b a $$\n\n# Two\n\n$$ f(x) + A = A + f(x) $$\n"
    found = scaffold(text)
    assert (
        found.index("Below line 1, 'One':") < found.index(r"$b \in \mathbb{R}$") < found.index("Below line 5, 'Two':")
    )
    assert found.rstrip().endswith("Not defined: $f(x)$.")
    assert scaffold("Let $x \\in \\mathbb{R}$.\n\n$$ x = x $$\n") == ""


def test_what_no_let_could_declare_is_named_apart() -> None:
    text = r"$$ 2 \max_{\pi \in S} c + B = B + 2 \operatorname{argmin}_{f \in S} c + u|_{t = 0} $$" + "\n"
    found = scaffold(text)
    assert r"Let $B \in" in found
    declared, undefined = found.split("Not defined: ")
    assert "argmin" in undefined and "max" in undefined and "t = 0" in undefined
    assert "argmin" not in declared and "S" not in declared
    assert (
        r"$\mathbf{1}$"
        in scaffold("$$ x^\\top \\mathbf{1} + 1 = 1 + \\mathbf{1}^\\top x $$\n").split("Without a size: ")[1]
    )
