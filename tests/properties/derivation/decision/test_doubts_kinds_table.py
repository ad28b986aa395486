r"""Words that say that an inferred symbol is no real number leave a step UNDECIDED that holds of real numbers."""

from __future__ import annotations

import pytest

from attention_core.derivation.check import check_document
from attention_core.derivation.effort import Effort

LIGHT = Effort(small=2, tuples=1, large=1, altered=4, climb=1, total=20)
OTHERS = [
    ("Here $a$ and $b$ denote square matrices of the same size.", "a b = b a"),
    ("Let $a$ and $b$ be matrices.", "a b = b a"),
    ("| symbol | meaning |\n|---|---|\n| c | a square matrix |\n| b | a square matrix |", "c b - b c = 0"),
    ("Notation:\n\n- $g$, $h$: rotations of space.", "g h = h g"),
    ("## Products of matrices a and b", "a b = b a"),
    ("# The noncommuting case", "p q = q p"),
    ("Here a star is convolution with a shift, which does not commute.", "a * b = b * a"),
    ("Let $f$ and $g$ be functions, and $f g$ their composition.", "f g = g f"),
    ("Let $u$ and $v$ be quaternions.", "u v = v u"),
    ("The amplitudes $z$ are complex.", "|z|^2 = z^2"),
    (r"Let $r, s \in R$ for a ring $R$.", "r s = s r"),
    ("The score $s$ may be infinite.", "s - s = 0"),
    ("Let $x$ and $y$ be elements of an algebra.", "(x + y) (x - y) = x^2 - y^2"),
    (r"For $g, h \in G$ we find", "(g h)^2 = g^2 h^2"),
    (r"Let $g, h \in SO(3)$ be given.", "(g h)^2 = g^2 h^2"),
    ("The variables $a$ and $b$ are fermionic.", "(a + b)^2 = a^2 + 2 a b + b^2"),
]


@pytest.mark.parametrize(("words", "formula"), OTHERS)
def test_what_is_not_a_real_number_is_not_read_as_one(words: str, formula: str) -> None:
    step = check_document(f"{words}\n\n$$ {formula} $$\n", effort=LIGHT, infer=True).steps[-1]
    assert str(step.verdict) == "UNDECIDED", step.evidence.text


@pytest.mark.parametrize(
    ("words", "formula"),
    [
        ("The loss $\\ell$ is the smaller, the closer the two are.", "a (b + a) = a b + a^2"),
        ("Let $A$ and $B$ be matrices.", "a (b + a) = a b + a^2"),
        ("The vector $x$ is given.", "c + 1 = 1 + c"),
        ("A more complex model has more parameters.", "c + 1 = 1 + c"),
        (r"The scalar $a \in \mathbb{R}$ scales the matrix.", "a b = b a"),
    ],
)
def test_words_about_other_things_leave_it_alone(words: str, formula: str) -> None:
    step = check_document(f"{words}\n\n$$ {formula} $$\n", effort=LIGHT, infer=True).steps[-1]
    assert str(step.verdict) in ("PROVED", "EXACT", "AGREES"), step.evidence.text
