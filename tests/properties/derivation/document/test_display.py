"""Displays cut into statements.

Displays whose environments do not match, that begin with a relation, that are boxed, or that are too long a chain.
Each message names the line and says what to write.
"""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.document.blocks import Display
from attention_core.derivation.document.display import KEPT_LENGTH, MAX_RELATIONS, relation_lines, statements_of
from attention_core.derivation.latex.syntax import Unreadable

HEAD = "Let $x, y \\in \\mathbb{R}$, $n \\in \\mathbb{N}$ and $p, q \\in \\mathbb{R}^n$.\n\n"


@pytest.mark.parametrize(
    ("display", "line", "words"),
    [
        ("$$\n\\begin{aligned} x &= x\n$$", 4, "\\end{aligned} is missing"),
        ("$$\nx = x\n\\end{aligned} $$", 5, "has no \\begin before it"),
        ("$$ \\begin{aligned} x &= x\n\\end{gathered} $$", 4, "\\end{gathered} closes \\begin{aligned}"),
        ("$$ \\begin{pmatrix} x \\end{bmatrix} = x $$", 3, "\\end{bmatrix} closes \\begin{pmatrix}"),
        ("$$ = x $$", 3, "begins with '='"),
        ("$$ D_{KL}(p \\| q) \\ge 0 $$", 3, "\\sum_i p_i \\log(p_i / q_i)"),
        ("$$ p^\\top \\mathbf{1} = x $$", 3, "write \\mathbf{1}_n"),
        ("$$ 2 \\Delta x = y $$", 3, "such as x_\\Delta"),
        ("$$ y + \\boxed{x = x} $$", 3, "its row to itself"),
        ("$$ " + " = ".join(["x"] * (MAX_RELATIONS + 2)) + " $$", 3, f"more than {MAX_RELATIONS} relations"),
    ],
)
def test_what_is_not_understood_names_its_line(display: str, line: int, words: str) -> None:
    (step,) = check_document(HEAD + display + "\n").steps
    assert str(step.verdict) == "UNREADABLE" and step.line == line and words in step.evidence.text


@pytest.mark.parametrize(
    ("formula", "verdict"),
    [
        (r"\boxed{x + y} x = x^2 + x y", "PROVED"),
        (r"\boxed{x + y} x = x + x y", "REFUTED"),
        (r"\boxed{x = x}", "PROVED"),
        (r"\boxed{x = 2 x}", "REFUTED"),
        ("x = x % \\begin{aligned}\n", "PROVED"),
    ],
)
def test_boxes_and_comments_change_nothing(formula: str, verdict: str) -> None:
    (step,) = check_document(f"{HEAD}$$ {formula} $$\n").steps
    assert str(step.verdict) == verdict, step.evidence.text


@pytest.mark.parametrize(
    ("display", "names", "texts"),
    [
        (r"x + x &= 2 x \tag{a} \\ &= x \cdot 2 \tag{b}", ["a", "b"], ["x + x = 2 x", r"2 x = x \cdot 2"]),
        (r"x + x &= 2 x \tag{a} \\ x &= x \tag{b}", ["a", "b"], ["x + x = 2 x", "x = x"]),
        (r"x = x, \quad \boxed{x + x = 2 x}.", ["line-3[1]", "line-3[2]"], ["x = x", "x + x = 2 x"]),
        (r"\boxed{x + x = 2 x}", ["line-3"], ["x + x = 2 x"]),
    ],
)
def test_each_relation_of_a_line_has_its_tag_and_its_text(display: str, names: list[str], texts: list[str]) -> None:
    steps = check_document(f"{HEAD}$$ {display} $$\n").steps
    assert [one.id for one in steps] == names and [one.text for one in steps] == texts


def test_a_display_that_is_read_again_is_read_alike() -> None:
    short, long = "a = b, \\quad c = d", "a = " + " + ".join(["b"] * (KEPT_LENGTH // 3))
    for text in (short, long):
        first, second = statements_of(Display(3, text)), statements_of(Display(3, text))
        assert first == second and first is not second
        assert {line for one in first for line in relation_lines(one.statement)} == {3}
    assert all(a is b for a, b in zip(statements_of(Display(3, short)), statements_of(Display(3, short)), strict=True))
    for line in (1, 7):  # what cannot be read says in which line
        for _ in range(2):
            with pytest.raises(Unreadable) as caught:
                statements_of(Display(line, "a = \\frac{b}"))
            assert caught.value.line == line
