"""The author's own commands."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.document.macros import MAX_GROWTH, Circular, expand_document, expand_macros

HEAD = "Let $n \\in \\mathbb{N}$ and $x \\in \\mathbb{R}^n$.\n\n"


@pytest.mark.parametrize(
    ("definition", "formula"),
    [
        (r"\newcommand{\norm}[1]{\left\| #1 \right\|}", r"\norm{x}^2 = x^\top x"),
        (r"\newcommand*\sq[2][2]{#2^{#1}}", r"\sq{\|x\|} = x^\top x = \sq[2]{\|x\|}"),
        (r"\def\inner#1#2{#1^\top #2}", r"\inner{x}x = \|x\|^2"),
        (r"\DeclareMathOperator{\trc}{tr}\DeclareMathOperator*{\tr}{tr}", r"\trc(x x^\top) = x^\top x = \tr(x x^\top)"),
        (r"\newcommand{\xx}{x}\newcommand{\nn}{\|\xx\|}", r"\nn^2 = \xx^\top\xx"),
        (r"\def\<{\langle}\def\>{\rangle}", r"\<x, x\> = x^\top x"),
        (r"\newcommand{\+}[1]{#1}\newcommand\1{x}", r"\1^\top \+x = x^\top x"),
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
        r"\newcommand{\|}{x} $\|$",
        r"\def\^{x} $\^$",
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


@pytest.mark.parametrize(
    ("text", "circular"),
    [
        ("A\n\n\\newcommand{\\foo}{\\foo x} $\\foo$ and $\\foo$", [Circular(3, "foo")]),
        ("```\ncode\n```\n\\def\\ax{\\bx + 1}\n\\def\\bx{\\ax + 1}\n$\\bx$, $\\ax$", [Circular(5, "bx", ("ax",))]),
        ("\\newcommand{\\foo}{\\foo x} $1$", []),  # nothing calls it
        ("\\newcommand{\\foo}{a} \\renewcommand{\\vec}{\\foo} $\\foo \\vec \\foo$", []),
        ("\\let\\old\\vec \\renewcommand{\\vec}{\\old} $\\vec$", []),
    ],
)
def test_a_command_that_calls_itself_is_named_where_it_is_defined(text: str, circular: list[Circular]) -> None:
    expanded, found = expand_document(text)
    assert found == circular
    assert not found or expanded.rpartition("\n")[2].strip() == text.rpartition("\n")[2].rpartition("}")[2].strip()


def test_one_message_stands_at_its_definition() -> None:
    text = "\\newcommand{\\foo}{\\foo x}\n\n$$ \\foo + 1 = 1 + \\foo $$\n\n$$ 1 + 1 = 2 $$\n"
    first, second, third = check_document(text, infer=True).steps
    assert str(first.verdict) == "UNREADABLE" and first.line == 1 and second.text == "\\foo + 1 = 1 + \\foo"
    assert first.evidence.text.startswith("the definition of \\foo leads back to itself")
    assert str(second.verdict) == "UNDECIDED" and str(third.verdict) == "PROVED"
