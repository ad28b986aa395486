"""Displays that restrict a symbol are hypotheses on a line of their own, not claims about all of its values."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.effort import Effort
from attention_core.derivation.latex.parse import parse_statement
from attention_core.derivation.reading.display_roles import may_constrain
from attention_core.derivation.records import Verdict

HEAD = r"Let $n \in \mathbb{N}$, $A \in \mathbb{R}^{n \times n}$ and $x, y, p \in \mathbb{R}^n$."
SYMMETRIC = r"$$ x^\top A y = y^\top A x $$"


def verdicts(*blocks: str) -> list[str]:
    return [one.verdict.name for one in check_document("\n\n".join(blocks) + "\n").steps]


@pytest.mark.parametrize(
    ("display", "step"),
    [
        (r"A_{ij} = A_{ji} \text{ for all } i, j", SYMMETRIC),
        (r"A^\top = A", SYMMETRIC),
        (r"A = -A^\top", r"$$ x^\top A x = 0 $$"),
        (r"\|x\| = 1", r"$$ x^\top x + n = n + 1 $$"),
        (r"\sum_{i=1}^n p_i = 1", r"$$ \sum_{i=1}^n (p_i + 1) = n + 1 $$"),
        (r"x^\top y = 0", r"$$ \|x + y\|^2 = \|x\|^2 + \|y\|^2 $$"),
        (r"x_i \ge 0 \text{ for all } i", r"$$ \sum_{i=1}^n |x_i| = \sum_{i=1}^n x_i $$"),
    ],
)
def test_a_constraint_on_a_line_of_its_own_is_a_hypothesis(display: str, step: str) -> None:
    assert verdicts(HEAD, f"$$ {display} $$", step) == ["UNDECIDED", "UNDECIDED"]
    assert verdicts(HEAD, f"$$ {display} $$", r"$$ \|x + y\| = \|x\| + \|y\| + 1 $$")[1] == "REFUTED"


@pytest.mark.usefixtures("searched")
@pytest.mark.parametrize(
    "display",
    [
        r"p_1 = 1",
        r"\|x\|^2 = n",
        r"x^\top A y = y^\top A x",
        r"\|x + y\| = \|x\|",
        r"x_1 \le 10^9",
        r"x^\top y = 1 + n",
        r"x_i = 0 \text{ for } i = 2, 3",
        r"x_i = 0 \text{ for } i \in \{2\}",
        r"\sum_{i=400}^n x_i = 0",
    ],
)
def test_what_people_claim_is_refuted(display: str) -> None:
    assert verdicts(HEAD, f"$$ {display} $$") == ["REFUTED"]


def test_words_that_claim_lead_to_no_constraint() -> None:
    assert verdicts(HEAD, "Hence", r"$$ \|x\| = 1 $$") == ["REFUTED"]


@pytest.mark.parametrize("aside", [r"(A \text{ nice})", r"[A \text{ nice}]", r"(\mathrm{psd})", r"(A\ \mathrm{nice})"])
def test_a_side_condition_that_is_not_read_bars_refuted(aside: str) -> None:
    steps = check_document(f"{HEAD}\n\n$$ x^\\top A x \\ge 0 \\quad {aside} $$\n").steps
    assert steps[0].verdict is Verdict.UNDECIDED and "(line 3:" in steps[0].evidence.text
    assert verdicts(HEAD, rf"$$ x^\top A x \ge 0 \quad {aside} $$", r"$$ x^\top A x \ge 0 $$")[-1] == "REFUTED"


@pytest.mark.parametrize(
    ("relation", "may"),
    [
        ("a + b = 1", True),
        (r"\|x\| = \|y\|", True),
        (r"\sum_{i=1}^n x_i = \sum_{i=1}^n y_i", True),
        (r"\operatorname{tr}(A) = \operatorname{tr}(B)", True),
        (r"\operatorname{tr}(A) = \prod_{i=1}^n \lambda_i(A)", False),
        (r"\det(A) = \sum_{i=1}^n \lambda_i(A)", False),
    ],
)
def test_relations_that_may_be_demanded(relation: str, may: bool) -> None:
    (chain,) = parse_statement(relation).chains
    assert may_constrain(chain.exprs[0], chain.exprs[1]) == may


def test_a_false_step_below_unread_words_is_no_hypothesis_of_the_next() -> None:
    """The first step, if it were assumed, makes the second one hold."""
    head = r"Let $A \in \mathbb{R}^{n \times n}$ be symmetric and positive definite."
    first, second = r"\operatorname{tr}(A) = \prod_{i=1}^n \lambda_i(A)", r"\det(A) = \sum_{i=1}^n \lambda_i(A)"
    text = f"{head}\n\nIn the blue notebook it says\n\n$$ {first} $$\n\n$$ {second} $$\n"
    evidence = check_document(text, effort=Effort(seconds=3.0), infer=True).steps[-1].evidence.text
    assert "it holds under" not in evidence
