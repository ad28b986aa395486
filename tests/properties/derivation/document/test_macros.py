"""The author's own commands."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.document.macros import MAX_GROWTH, expand_macros

HEAD = "Let $n \\in \\mathbb{N}$ and $x \\in \\mathbb{R}^n$.\n\n"


@pytest.mark.parametrize(
    ("definition", "formula"),
    [
        (r"\newcommand{\norm}[1]{\left\| #1 \right\|}", r"\norm{x}^2 = x^\top x"),
        (r"\newcommand*\sq[2][2]{#2^{#1}}", r"\sq{\|x\|} = x^\top x = \sq[2]{\|x\|}"),
        (r"\def\inner#1#2{#1^\top #2}", r"\inner{x}x = \|x\|^2"),
        (r"\DeclareMathOperator{\trc}{tr}\DeclareMathOperator*{\tr}{tr}", r"\trc(x x^\top) = x^\top x = \tr(x x^\top)"),
        (r"\newcommand{\xx}{x}\newcommand{\nn}{\|\xx\|}", r"\nn^2 = \xx^\top\xx"),
    ],
)
def test_commands_of_the_author_are_expanded(definition: str, formula: str) -> None:
    """Defined in a display, which then claims nothing, in prose, or in a preamble; lines stay where they were."""
    for before in (f"$$\n{definition}\n$$\n\n", f"{definition}\n\n", f"\\section{{One}}\n{definition}\n\n"):
        steps = check_document(f"{before}{HEAD}$$ {formula} $$\n").steps
        assert {step.verdict for step in steps} == {"PROVED"}, steps[0].evidence.text
        assert {step.line for step in steps} == {before.count("\n") + 3}


@pytest.mark.parametrize(
    "text",
    [
        r"\newcommand{\x}{a \x} $\x$",
        r"\def\a{\b}\def\b{\a} $\a$",
        r"\newcommand{\le}{\ge} $1 \le 2$",
        r"\newcommand{\y}[1]{#2} $\y{1}$",
        r"\newcommand{\z $\z$",
    ],
)
def test_what_cannot_be_expanded_is_not_guessed(text: str) -> None:
    for step in check_document(f"{text}\n\n$$ \\{'xazyle'[0]} = 1 $$\n").steps:
        assert step.verdict == "UNREADABLE"


def test_growth_is_bounded_and_code_defines_nothing() -> None:
    doubling = "".join(rf"\newcommand{{\m{chr(98 + k)}}}{{\m{chr(97 + k)}\m{chr(97 + k)}}}" for k in range(24))
    assert len(expand_macros(rf"\newcommand{{\ma}}{{xxxxxxxx}}{doubling}$\my$")) < 20 * MAX_GROWTH
    fenced = "```latex\n\\newcommand{\\v}{w}\n```\n\n$\\v$\n"
    assert expand_macros(fenced) == fenced


def test_the_prefixes_of_a_definition_go_with_it() -> None:
    text = "\\global\\long\\def\\R{\\mathbb{R}}\n\\protected \\def\\N{\\mathbb{N}} $x \\in \\R$, $n \\in \\N$ \\long\\other"
    assert expand_macros(text) == "\n $x \\in \\mathbb{R}$, $n \\in \\mathbb{N}$ \\long\\other"
