r"""`\mathbf{1}` that nobody declares is the vector of ones that fits, at each place one of its own."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document


@pytest.mark.parametrize(
    ("document", "verdicts"),
    [
        (r"$$ \mathbf{1}^\top x = \sum_i x_i $$", ["PROVED"]),
        (r"$$ \operatorname{softmax}(x + c \mathbf{1}) = \operatorname{softmax}(x) $$", ["PROVED"]),
        (r"Let $A \in \mathbb{R}^{n \times d}$." + "\n\n" + r"$$ \mathbf{1}^\top A \mathbf{1} = \sum_{i=1}^n \sum_{j=1}^d A_{ij} $$",
         ["PROVED"]),
        (r"$$ \operatorname{diag}(\mathbf{1}) = I $$", ["PROVED"]),
        (r"$$ A \mathbf{1} \mathbf{1}^\top A^\top = A \mathbf{1} (A \mathbf{1})^\top $$", ["PROVED"]),
        (r"$$ \mathbf{1}^\top x = 2 \sum_i x_i $$", ["REFUTED"]),
        ("# One\n\n" + r"$$ \mathbf{1}^\top x = \sum_i x_i $$" + "\n\n# Two\n\n" + r"$$ B^\top \mathbf{1} = (\mathbf{1}^\top B)^\top $$",
         ["PROVED", "PROVED"]),
    ],
)  # fmt: skip
def test_ones_have_the_size_that_fits(document: str, verdicts: list[str]) -> None:
    steps = check_document(document, infer=True).steps
    assert [step.verdict for step in steps] == verdicts, [step.evidence.text for step in steps]
    assert all(r"\mathbf{1} \in \mathbb{R}" in step.evidence.text for step in steps)


def test_an_indicator_is_no_vector_of_ones() -> None:
    (step,) = check_document(r"$$ \mathbf{1}[i = j] = \delta_{ij} $$", infer=True).steps
    assert step.verdict == "EXACT" and "a vector of ones" not in step.evidence.text


@pytest.mark.parametrize(
    ("formula", "verdict"),
    [
        (r"\mathbf{1}[x > 0] = 1", "UNDECIDED"),  # x is a number, and not a whole one from 1 on
        (r"\mathbf{1}[a \ge 1] = 1", "UNDECIDED"),
        (r"\mathbf{1}[x > y] + \mathbf{1}[x \le y] = 1", "PROVED"),
        (r"\mathbf{1}[i \le j] + \mathbf{1}[i > j] = 1", "EXACT"),
    ],
)
def test_what_an_indicator_orders_is_a_number_unless_its_letter_is_that_of_an_index(formula: str, verdict: str) -> None:
    (step,) = check_document(f"$$ {formula} $$", infer=True).steps
    assert step.verdict == verdict and ("\\in \\mathbb{N}" in step.evidence.text) == (verdict == "EXACT")


def test_a_size_is_asked_for_where_nothing_is_inferred() -> None:
    (step,) = check_document(
        "Let $n \\in \\mathbb{N}$ and $x \\in \\mathbb{R}^n$.\n\n$$ \\mathbf{1}^\\top x = x^\\top \\mathbf{1} $$\n"
    ).steps
    assert step.verdict == "UNREADABLE" and "needs its size" in step.evidence.text
