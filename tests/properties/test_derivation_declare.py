# One declaration that cannot be read leaves the others of its paragraph; a hypothesis that cannot be read stops it.
# A symbol whose new declaration cannot be read does not keep its old one.
"""Paragraphs that are read in part."""

from __future__ import annotations

from attention_core.derivation import check_document
from attention_core.derivation.declare import MAX_FORMULAS


def outcomes(text: str) -> list[tuple[str, str]]:
    """Verdict and evidence of every step."""
    return [(str(step.verdict), step.evidence.text) for step in check_document(text).steps]


def test_what_stands_beside_a_bad_declaration_is_declared() -> None:
    paragraph = r"Let $\Delta W \in \mathbb{R}$, $x \in \mathbb{R}, u \in \mathbb{Q}$, $\foo \in \mathbb{R}$ and $y \in \mathbb{R}$."
    (first, (verdict, words)) = outcomes(paragraph + "\n\n$$ x + y = y + x $$\n")
    assert first[0] == "UNREADABLE" and "such as W_\\Delta" in first[1]
    assert verdict == "PROVED", words


def test_a_symbol_that_is_restated_badly_is_not_declared_any_more() -> None:
    text = "Let $x \\in \\mathbb{R}$.\n\nLet $x \\in \\mathbb{Q}$ and $y \\in \\mathbb{R}$.\n\n$$ x = 1 $$\n\n$$ y = y $$\n"
    found = outcomes(text)
    assert [verdict for verdict, _ in found] == ["UNREADABLE", "UNREADABLE", "PROVED"]
    assert "line 3 restates x" in found[1][1]


def test_a_hypothesis_that_cannot_be_read_is_not_passed_over() -> None:
    found = outcomes("Let $x \\in \\mathbb{R}$ with $x \\foo 3$ and $y \\in \\mathbb{R}$.\n\n$$ y = 1 $$\n")
    assert [verdict for verdict, _ in found] == ["UNREADABLE", "UNREADABLE"]


def test_a_paragraph_of_very_many_formulas_is_to_be_split() -> None:
    for text in ("Let $x \\in \\mathbb{R}$. " * (MAX_FORMULAS + 1), "Let $x" + "$x" * (2 * MAX_FORMULAS + 2) + "$"):
        found = outcomes(text + "\n\nEnd.\n")
        assert found[0] == (
            "UNREADABLE",
            f"the paragraph has more than {MAX_FORMULAS} formulas: split it above this line",
        )
