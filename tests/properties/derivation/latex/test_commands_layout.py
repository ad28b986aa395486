"""Commands that say how a formula looks: they fall away, unless they hide a relation."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document

HEAD = "Let $a, b \\in \\mathbb{R}$.\n\n"


@pytest.mark.parametrize(
    "formula",
    [
        r"\underbrace{a + b}_{\text{sum}} a = a^2 + \overbrace{a b}^{\text{rest}}",
        r"\underbrace{a + b}_\text{one sum} a = a^2 + \overbrace{a b}^\mathrm{rest}",
        r"\color{red} (a + b) a = \textcolor{blue}{a^2} + a b \hspace{1cm} \square",
        r"\colorbox{yellow}{$(a + b) a$} = a^2 + \cancel{a} b \phantom{x}",
        r"\therefore \mathop{a} b = b a \tag*{(3)}",
        r"\begin{aligned} a b &= b a \\ \intertext{and so} 2 a b &= 2 b a \end{aligned}",
    ],
)
def test_layout_falls_away(formula: str) -> None:
    for step in check_document(f"{HEAD}$$ {formula} $$\n").steps:
        assert step.verdict == "PROVED", (step.verdict, step.evidence.text)


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        (r"\underbrace{a + b}_{= 0} a = a^2 + a b", "holds a relation"),
        (r"a \square b = a b", "at the end of a row only"),
        (r"\mid a = a", r"\mid is not understood"),
    ],
)
def test_what_may_be_a_claim_is_not_passed_over(formula: str, said: str) -> None:
    (step,) = check_document(f"{HEAD}$$ {formula} $$\n").steps
    assert step.verdict == "UNREADABLE"
    assert said in step.evidence.text


@pytest.mark.parametrize(
    ("bar", "said"),
    [(bar, "p is not declared: if it is a function") for bar in (r"\mid", "|", r"\vert")]
    + [(bar, "a divergence") for bar in (r"\|", r"\parallel")],
)
def test_a_bar_between_arguments_is_not_the_start_of_a_magnitude(bar: str, said: str) -> None:
    (step,) = check_document(f"{HEAD}$$ p(a {bar} b) = |a| $$\n").steps
    assert step.verdict == "UNREADABLE"
    assert said in step.evidence.text
