"""Arrays of three dimensions: their slices are matrices, their entries have three indices."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import GOOD, Verdict

DECLARED = (
    r"Let $b, n, m, d \in \mathbb{N}$, $Q \in \mathbb{R}^{b \times n \times d}$, $K \in \mathbb{R}^{b \times m \times d}$, "
    r"$W \in [0, 1]^{2 \times n \times n}$, $h \in \{1, \dots, b\}$, $i \in \{1, \dots, n\}$ and "
    r"$j \in \{1, \dots, m\}$. Put $S_h := Q_h K_h^\top$."
)
STEPS = [
    (r"\sum_{h=1}^{b} \sum_{i=1}^{n} \sum_{c=1}^{d} Q_{hic}^2 = \sum_{h=1}^{b} \|Q_h\|^2", True),
    (r"(S_h)_{ij} = \sum_{c=1}^{d} Q_{hic} K_{hjc}", True),
    (r"S_{h,i,j} = \sum_{c=1}^{d} Q_{h,i,c} K_{h,j,c}", True),
    (r"\operatorname{softmax}(S_h) \mathbf{1}_m = \mathbf{1}_n", True),
    (r"W_{2,i,n} \le 1", True),
    (r"S_{hij} = \sum_{c=1}^{d} Q_{hic} K_{1jc}", False),
    (r"\sum_{h=1}^{b} Q_{hi1} = Q_{1i1}", False),
    (r"W_{1,i,n} \le \frac{1}{2}", False),
    (r"Q_h K_h = S_h", False),
]


@pytest.mark.parametrize(("formula", "right"), STEPS)
def test_slices_and_entries(formula: str, right: bool) -> None:
    found = check_document(f"{DECLARED}\n\n$$ {formula} $$\n").steps[-1]
    assert found.verdict in GOOD if right else found.verdict is Verdict.REFUTED, found.evidence.text


def test_einsteins_sums_of_them() -> None:
    text = f"{DECLARED}\n\nRepeated indices are summed.\n\n$$ S_{{hij}} = Q_{{hic}} K_{{hjc}} $$\n"
    assert check_document(text, infer=True).steps[-1].verdict in GOOD
    assert check_document(text.replace("= Q_{h", "= 2 Q_{h"), infer=True).steps[-1].verdict is Verdict.REFUTED


def test_four_dimensions_are_refused() -> None:
    (found, *_) = check_document(
        "Let $n \\in \\mathbb{N}$ and $T \\in \\mathbb{R}^{n \\times n \\times n \\times n}$.\n\n$$ n = n $$\n"
    ).steps
    assert found.verdict is Verdict.UNREADABLE and "three dimensions at most" in found.evidence.text
