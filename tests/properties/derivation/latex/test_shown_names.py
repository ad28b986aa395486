"""Names in reports are those of the document."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.latex.shown_names import show_names, show_names_in
from attention_core.derivation.report import page


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (r"x^{(\cdot)}_{i} + x^{(\cdot)}_12", "x^{(i)} + x^{(12)}"),
        (r"\hat{y}^{(\cdot)}_{n - 1,j}", r"\hat{y}^{(n - 1)}_{j}"),
        ("x^{(i§12)} and x_{k§1}", "x^{(i)} and x_{k}"),
        (r"x^{(\cdot)} \in \mathbb{R}^n", r"x^{(i)} \in \mathbb{R}^n"),
        ("W^{(2)} x_{i,j}", "W^{(2)} x_{i,j}"),
        (r"w^\top x^{(\cdot)}[] and A x[]", r"w^\top x^{(i)} and A x_i"),
    ],
)
def test_names_of_ours_are_written_as_in_documents(ours: str, theirs: str) -> None:
    assert show_names(ours) == theirs
    assert show_names_in({ours: [(ours, 1)]}) == {theirs: [(theirs, 1)]}


@pytest.mark.parametrize(
    "text",
    [
        "$$ \\sum_{i=1}^n x^{(i)} = n x^{(1)} $$\n",
        "Let $n, d \\in \\mathbb{N}$ and $x^{(1)}, \\dots, x^{(n)} \\in \\mathbb{R}^d$.\n\n"
        "$$ \\sum_{i=1}^n x^{(i)\\top} x^{(i)} = n x^{(1)} $$\n\n$$ \\sum_i (x_1^{(i)})^2 = 2 x^{(1)} $$\n",
        "Let $d \\in \\mathbb{N}$ and $w \\in \\mathbb{R}^d$. Put $f(w) := \\sum_{i=1}^3 w^\\top x^{(i)}$.\n\n$$ f(w) = 0 $$\n",
    ],
)
@pytest.mark.parametrize("infer", [False, True])
def test_no_name_of_ours_is_in_a_report(text: str, infer: bool) -> None:
    report = check_document(text, infer=infer)
    shown = [str(step.as_dict()) for step in report.steps] + [words for _, words in report.understood]
    shown.append(page([(report, text)], infer))
    assert not [one for one in shown if "cdot" in one or "§" in one]
    assert "x^{(" in str(shown)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (r"\int_{0}^{1} (f (x),x) = 2", r"\int_{0}^{1} f (x) \, dx = 2"),
        (r"\int_{x} (\int (g(x, y),y) + 1,x)", r"\int_{x} \int g(x, y) \, dy + 1 \, dx"),
        (r"\int (p,x_{t},y)", r"\int p \, dx_{t} \, dy"),
        (r"\int_{0}^{1} (f", r"\int_{0}^{1} (f"),
        (r"\int (a, b) dx and \int_0^1 x dx", r"\int (a, b) dx and \int_0^1 x dx"),
        (r"\int (f,2)", r"\int (f,2)"),
    ],
)
def test_an_integral_has_its_differential(ours: str, theirs: str) -> None:
    assert show_names(ours) == theirs


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (r"\partial(L) / \partial(y_{i j}) = 1", r"\frac{\partial L}{\partial y_{i j}} = 1"),
        (r"\partial(g (z)) / \partial(a, b)", r"\frac{\partial g (z)}{\partial a \partial b}"),
        (
            r"\partial(\partial(L) / \partial(x)) / \partial(y)",
            r"\frac{\partial \frac{\partial L}{\partial x}}{\partial y}",
        ),
        (r"\partial(x) y", r"\partial(x) y"),
    ],
)
def test_a_derivative_is_a_fraction(ours: str, theirs: str) -> None:
    assert show_names(ours) == theirs
