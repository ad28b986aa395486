r"""Displays whose form nothing else can be made of: read in part, and never decided by what was not read."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.effort import Effort

BRIEF = Effort(seconds=0.5)


def told(display: str, infer: bool = True) -> tuple[list[str], str]:
    """Return the verdicts of a display, and what was understood."""
    report = check_document(f"# A\n\nWe have\n\n$$ {display} $$\n", infer=infer, effort=BRIEF)
    return [str(step.verdict) for step in report.steps if step.text], " ".join(words for _, words in report.understood)


@pytest.mark.parametrize(
    ("display", "understood"),
    [
        (r"X \mid Y = y \sim \mathcal{N}(m, k)", "declared by the display"),
        (r"F := g \circ f : \mathbb{R}^n \to \mathbb{R}", "its sets unused"),
        (r"(x, y) \mapsto u = x y + 1", "its argument unused"),
        (r"q(x) = q_1(x_1) q_2(x_2) \cdots q_n(x_n)", "arrays with dots"),
        (r"p(x_n) = \sum_{x_1} \cdots \sum_{x_{n-1}} p(x_1, \dotsc, x_n)", "sums without a range"),
        (r"G = \sum_{k=0}^\infty \gamma^k R_k", "sums without a range"),
    ],
)
def test_what_states_nothing_is_told(display: str, understood: str) -> None:
    verdicts, words = told(display)
    assert understood in words and "UNREADABLE" not in verdicts, words


@pytest.mark.parametrize(
    "display",
    [
        r"\forall x \in \mathbb{R}: 2 p(x) = p(x) + 1",
        r"h_1: \quad x_1 + x_2 = 1.5 \qquad h_2: \quad x_1 - x_2 = 0.5",
        r"a + b = 2 c \text{ which resembles } d",
        r"\underbrace{u + v}_{= 1} + 2 = 3",
        r"KL(q \| p) \ge 1",
        r"a A^\top u^\top = u A u + \begin{bmatrix} 1 & 2 \\ 3 & 4 \end{bmatrix}",
        r"\mu_{1 \mid 2} + 0 = \Sigma_{1|2}",
    ],
)
def test_what_is_not_decided_is_undecided(display: str) -> None:
    verdicts, _ = told(display)
    assert verdicts and set(verdicts) == {"UNDECIDED"}, verdicts


@pytest.mark.parametrize(
    "display",
    [
        r"\sum_{t=1}^n x_{t|t-1} = n x_{t|t-1}",
        r"x + \underset{1}{x} = \underset{2}{x} + x",
        r"x = x \mid z",
        r"a \oplus b = b \oplus a",
        r"\sum_{i=1}^n x_i \foo = \foo \sum_{i=1}^n x_i",
    ],
)
def test_nothing_is_accepted_by_what_was_passed_over(display: str) -> None:
    verdicts, _ = told(display)
    assert verdicts and set(verdicts) == {"UNDECIDED"}, verdicts


def test_parts_that_are_known_are_decided() -> None:
    assert told(r"= a + b = b + a")[0] == ["PROVED"]
    assert told(r"\forall x \in \mathbb{R}: (x + 1)^2 = x^2 + 2 x + 1")[0] == ["PROVED"]
    assert told(r"f(\cdot, x) = f(\cdot, x)")[0] == ["PROVED"]


@pytest.mark.parametrize(
    "display", [r"a = b \text{ is violated by } c", r"a + b = b + a \text{ is false for } c", r"a = \not b"]
)
def test_words_that_deny_are_refused(display: str) -> None:
    assert told(display)[0] == ["UNREADABLE"]


@pytest.mark.parametrize(
    "display",
    [
        r"\text{We get} \quad a = b \text{ which resembles } c",
        r"X \mid Y = y \sim N",
        r"\underbrace{x^2}_{\ge 0} = x^2",
    ],
)
def test_strict_documents_stay_strict(display: str) -> None:
    assert "UNREADABLE" in told(display, infer=False)[0]


@pytest.mark.parametrize("display", ["x y = x^\\top y", "x A = A x", "(A + B) x = A + x"])
def test_shapes_of_declared_symbols_that_do_not_fit_are_refuted(display: str) -> None:
    head = "Let $n \\in \\mathbb{N}$, $x, y \\in \\mathbb{R}^n$ and $A, B \\in \\mathbb{R}^{n \\times n}$.\n\n"
    (step,) = check_document(f"{head}$$ {display} $$\n", infer=True, effort=BRIEF).steps
    assert step.verdict in ("REFUTED", "UNREADABLE"), step.evidence.text


BROKEN = r"$$ \rho = \frac{OPT}{C} = \frac{OPT}{E[\texttt{RAN}]} = 2 \cdot \frac{w(V)}{w(V)} = 2 $$"


def test_a_definition_is_not_a_step_where_the_rest_of_its_chain_is_read_otherwise() -> None:
    report = check_document(f"{BROKEN}\n", infer=True)
    ((_, note),) = report.unchecked_relations
    assert note.startswith(r"defined by the display: $\rho = ") and not any(
        step.text.startswith(r"\rho") for step in report.steps
    )
    assert len(report.steps) == 3 and report.steps[-1].verdict == "PROVED"
