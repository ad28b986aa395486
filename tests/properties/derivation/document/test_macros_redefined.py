"""Commands that authors define in other ways: `let`, delimiters, macros of a page, and commands of LaTeX anew."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.document.macros import expand_macros

HEAD = "Let $n \\in \\mathbb{N}$, $x \\in \\mathbb{R}^n$ and $\\epsilon > 0$.\n\n"


@pytest.mark.parametrize(
    ("definition", "formula"),
    [
        (r"\DeclarePairedDelimiter{\nrm}{\lVert}{\rVert}", r"\nrm{x}^2 = \nrm*{x}^2 = \nrm[\big]{x}^2 = x^\top x"),
        (r"\let\eps\epsilon", r"\eps + 1 = 1 + \epsilon"),
        (r"\let\eps=\epsilon", r"\eps + 1 = 1 + \epsilon"),
        (r"\newcommand{\two}{2}\let\zwei\two\renewcommand{\two}{3}", r"\zwei + \two = 5"),
        (r"\NewDocumentCommand{\sq}{m m}{#1^\top #2}", r"\sq{x}{x} = \|x\|^2"),
        (r"\gdef\sq#1{#1^\top #1}", r"\sq{x} = \|x\|^2"),
        (r"\renewcommand{\vec}[1]{\mathbf{#1}}", r"\vec{x}^\top x = \|x\|^2"),
        (r"\newcommand{\tr}[1]{\operatorname{tr}\left(#1\right)}", r"\tr{x x^\top} = x^\top x"),
        (r"\DeclareMathOperator{\softmax}{\textrm{softmax}}", r"\sum_{i=1}^n \softmax(x)_i = 1"),
    ],
)
def test_definitions_hold(definition: str, formula: str) -> None:
    steps = check_document(f"{definition}\n\n{HEAD}$$ {formula} $$\n").steps
    assert {step.verdict for step in steps} <= {"PROVED", "EXACT"}, [step.evidence.text for step in steps]


@pytest.mark.parametrize(
    "table",
    [
        'macros: {nrm: ["\\\\lVert #1 \\\\rVert", 1], half: "\\\\frac{1}{2}"}',
        "Macros: {\n  nrm: ['\\\\lVert #1 \\\\rVert', 1],\n  half: '\\\\frac{1}{2}',\n}",
        '---\ntitle: x\nmacros:\n  "\\\\half": "\\\\frac{1}{2}"\n  nrm: ["\\\\lVert #1 \\\\rVert", 1]\nother: 1\n---',
    ],
)
def test_macros_of_a_page_hold_for_all_of_it(table: str) -> None:
    steps = check_document(f"<script>\n{table}\n</script>\n\n{HEAD}$$ 2 \\half \\nrm{{x}}^2 = x^\\top x $$\n").steps
    assert [step.verdict for step in steps] == ["PROVED"], steps[0].evidence.text


@pytest.mark.parametrize(
    "definition", [r"\renewcommand{\frac}[2]{#2}", r"\let\le\ge", r"\newcommand{\log}{\log_2}", r"\def\sum{\prod}"]
)
def test_relations_and_forms_of_latex_stay_what_they_are(definition: str) -> None:
    assert expand_macros(f"{definition} $x$") == f"{definition} $x$"
