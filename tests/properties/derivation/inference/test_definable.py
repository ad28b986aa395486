"""What a display may define: new symbols side by side, deviations by their squares, and nothing that may be negative."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import GOOD


@pytest.mark.parametrize(
    ("display", "right", "wrong"),
    [
        (r"S = Q K^\top, \qquad P = \operatorname{softmax}(S)", r"P \mathbf{1} = \mathbf{1}", r"P = P^\top"),
        (r"m = \frac{1}{n} \sum_{i=1}^n x_i, \quad \sigma^2 = \frac{1}{n} \sum_{i=1}^n (x_i - m)^2, \quad "
         r"y_i = \frac{x_i - m}{\sigma}", r"\sum_{i=1}^n y_i = 0", r"\sum_{i=1}^n y_i = n"),
        (r"\sigma^2 = x^\top x", r"\sigma = \|x\|", r"\sigma = x^\top x"),
    ],
)  # fmt: skip
def test_definitions_side_by_side(display: str, right: str, wrong: str) -> None:
    head = r"Let $Q, K \in \mathbb{R}^{n \times d}$ and $x \in \mathbb{R}^n$. Put"
    for step, good in ((right, True), (wrong, False)):
        found = check_document(f"{head}\n\n$$ {display} $$\n\n$$ {step} $$\n", infer=True)
        assert len(found.steps) == 1, [one.text for one in found.steps]
        assert (found.steps[0].verdict in GOOD) is good, found.steps[0].evidence.text


def test_what_the_statement_holds_for_is_not_defined_beside_it() -> None:
    text = "Let $a, b \\in \\mathbb{R}$.\n\n$$ a + t = b, \\quad t = b - a $$\n\n$$ t = b - a $$\n"
    assert all(step.verdict not in GOOD for step in check_document(text, infer=True).steps[:1])


def test_a_square_of_what_may_be_negative_defines_no_root() -> None:
    text = "Let $x \\in \\mathbb{R}^n$.\n\n$$ c^2 = x^\\top x $$\n\n$$ c = \\|x\\| $$\n"
    assert all(step.verdict not in GOOD for step in check_document(text, infer=True).steps)


def test_what_has_a_number_may_be_defined_by_it() -> None:
    head = "Let $W_0 \\in \\mathbb{R}^{m \\times n}$, $B \\in \\mathbb{R}^{m \\times r}$, $A \\in \\mathbb{R}^{r \\times n}$."
    found = check_document(f"{head}\n\n$$ W = W_0 + B A $$\n\n$$ W - B A = W_0 $$\n", infer=True)
    assert [step.verdict in GOOD for step in found.steps] == [True]


@pytest.mark.parametrize("said", ["Set $u = 3x$ and $g(x) = u^2$. Then", "Put $u = 3x$. Define $g(x) = u^2$. Then"])
def test_a_function_whose_value_is_defined_is_not_defined_again(said: str) -> None:
    for display, verdicts in (("g(x) = 9 x^2", GOOD), ("g(x) = 6 x^2", {"REFUTED"}), ("g(y) = 6 y^2", {"UNDECIDED"})):
        found = check_document(f"Let $x, y \\in \\mathbb{{R}}$. {said}\n\n$$ {display} $$\n", infer=True)
        assert found.steps[-1].verdict in verdicts, (display, found.steps[-1].evidence.text)


def test_a_value_at_a_number_leaves_a_function_to_be_defined() -> None:
    text = "Let $x \\in \\mathbb{R}$.\n\n$$ f(0) = 1 $$\n\n$$ f(x) = x^2 + 1 $$\n\n$$ f(2) = 5 $$\n"
    found = check_document(text, infer=True)
    assert found.steps[-1].verdict in GOOD


@pytest.mark.parametrize(
    "display", ["A^k = A", "A^k = P A", "A = A^k", "A^{k + 1} = P A^k", "A^k = A$$\n\n$$ P = A^k"]
)  # fmt: skip
def test_no_display_defines_a_power_of_what_is_declared(display: str) -> None:
    head = "Let $A, P \\in \\mathbb{R}^{n \\times n}$ and $k \\in \\mathbb{N}$."
    found = check_document(f"{head}\n\n$$ {display} $$\n\n$$ A^k + P = P + A $$\n", infer=True)
    assert {step.verdict for step in found.steps} == {"UNDECIDED"}
    assert not any("is defined" in words for _, words in found.understood)


def test_a_label_above_a_letter_is_defined() -> None:
    head = "Let $A \\in \\mathbb{R}^{n \\times n}$ and $x \\in \\mathbb{R}^n$."
    found = check_document(f"{head}\n\n$$ A^{{(1)}} = 2 A $$\n\n$$ A^{{(1)}} x = A x + A x $$\n", infer=True)
    assert found.steps[-1].verdict in GOOD
