"""A step that is true under a convention in use is not REFUTED; one that is false under all of them is."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document

D = "Let $d, m \\in \\mathbb{N}$, $x, a \\in \\mathbb{R}^d$, $B \\in \\mathbb{R}^{m \\times d}$."
S = "Let $n \\in \\mathbb{N}$, $t \\in \\mathbb{R}$, $A \\in \\mathbb{R}^{n \\times n}$ and $x \\in \\mathbb{R}^n$."
INDEXED = "Let $n \\in \\mathbb{N}$, $A \\in \\mathbb{R}^{n \\times n}$, $x, y \\in \\mathbb{R}^n$ with $y = A x$, $i, j, k \\in \\{1, \\dots, n\\}$."


@pytest.mark.parametrize(
    ("declared", "formula", "words"),
    [
        (D, r"\frac{\partial}{\partial x} (a^\top x) = a^\top", "numerator layout"),
        (D, r"\nabla_x (x^\top x) = 2 x^\top", "numerator layout"),
        (D, r"\frac{\partial}{\partial x} (B x) = B^\top", "denominator layout"),
        (S, r"e^{A} e^{-A} = I_n", "power series"),
        (S, r"\frac{d}{dt} e^{t A} = A e^{t A}", "power series"),
        (S, r"\|I_n\| = 1", "largest singular value"),
        (S, r"\|A A^\top\| = \|A\|^2", "largest singular value"),
        (S, r"x A = (A^\top x^\top)^\top", "vectors as rows"),
        (INDEXED, r"y_i = A_{ij} x_j", "Einstein"),
        (INDEXED, r"x_i x_i = \|x\|^2", "Einstein"),
        (r"Let $\sigma > 0$ and $z \sim \mathcal{N}(0, \sigma)$.", r"\operatorname{Var}[z] = \sigma^2", "as the deviation"),
        ("", r"\log 8 = 3", "base 2"),
        ("", r"\log 100 \le 2", "base 10"),
        (r"Let $x \in \mathbb{R}$ with $x > 0$.", r"\log(10 x) = 1 + \log x", "base 10"),
        (INDEXED, r"(A A)_{ij} = A_{ik} A_{kj}", "Einstein"),
        (S, r"\sum_{i=1}^n \operatorname{softmax}(A)_{i 1} = 1", "over columns"),
    ],
)  # fmt: skip
def test_another_convention_is_named(declared: str, formula: str, words: str) -> None:
    (step,) = check_document(f"{declared}\n\n$$ {formula} $$\n").steps
    tried = words not in ("power series", "largest singular value")
    assert step.verdict == ("AMBIGUOUS" if tried else "UNDECIDED"), step.evidence.text
    assert words in step.evidence.text and (step.evidence.figures.get("reading", "") != "") == tried


@pytest.mark.usefixtures("searched")
@pytest.mark.parametrize(
    ("declared", "formula"),
    [
        (D, r"\frac{\partial}{\partial x} (a^\top x) = 2 a"),
        (D, r"\frac{\partial}{\partial x} (a^\top x) = 2 a^\top"),
        (D, r"\frac{\partial}{\partial x} (B x) = 2 B"),
        (S, r"\|A x\| \ge 2 \|A\| \|x\|"),
        (S, r"\|A\|_F = 1"),
        (S, r"x^\top A x = x^\top x"),
        (INDEXED, r"y_i = A_{ij} x_i"),
        (r"Let $\sigma > 0$ and $z \sim \mathcal{N}(0, \sigma)$.", r"\operatorname{Var}[z] = 3 \sigma^2"),
        ("", r"\log 8 = 4"),
        (r"Let $x \in \mathbb{R}$ with $x > 0$.", r"x \log x \ge -0.36787944"),  # a bound with no power of ten
        (S, r"\log n \le \sqrt[8]{n} + 3"),
        (INDEXED, r"x_i (1 - x_i) > 0"),  # i stands once in x_i, and twice in x_i x_i: not summed
        (INDEXED, r"x_i + x_i x_i > 0"),
        (S, r"\sum_{i=1}^n \operatorname{softmax}(A)_{i 1} = 2"),
    ],
)
def test_what_is_false_under_every_convention_is_refuted(declared: str, formula: str) -> None:
    (step,) = check_document(f"{declared}\n\n$$ {formula} $$\n").steps
    assert step.verdict == "REFUTED", step.evidence.text


def test_a_letter_that_is_a_size_in_another_section_is_no_column_there() -> None:
    text = (
        "# Attention\n\nLet $d \\in \\mathbb{N}$ and $p, x \\in \\mathbb{R}^d$.\n\n$$ x^\\top p = 2 x^\\top p $$\n\n"
        "# Notes\n\nLet $p \\in \\mathbb{N}$.\n\n$$ p + p = 2 p $$\n"
    )
    assert check_document(text).steps[0].verdict == "REFUTED"


SCORES = r"Let $n, m \in \mathbb{N}$ and $S \in \mathbb{R}^{n \times m}$."


@pytest.mark.parametrize(
    "words",
    [
        r"Let $P = \operatorname{softmax}(S)$ column-wise.",
        r"Put $P := \operatorname{softmax}(S)$ over columns.",
        r"Let $P = \operatorname{softmax}(S)$. The softmax is applied to each column.",
        r"Let $P = \operatorname{softmax}(S)$, where the softmax is over the first axis.",
    ],
)
def test_a_softmax_that_is_said_to_run_over_columns_is_tried_so(words: str) -> None:
    """Neither is a step about columns refuted then, nor one about rows accepted; what holds of both is."""
    columns, rows, both = check_document(
        f"{SCORES} {words}\n\n$$ \\mathbf{{1}}_n^\\top P = \\mathbf{{1}}_m^\\top $$\n\n"
        "$$ P \\mathbf{1}_m = \\mathbf{1}_n $$\n\n$$ P \\odot P + P = P \\odot (P + \\mathbf{1}_n \\mathbf{1}_m^\\top) $$\n",
        infer=True,
    ).steps
    assert columns.verdict == "AMBIGUOUS" and "it holds with the softmax over columns" in columns.evidence.text
    assert rows.verdict == "AMBIGUOUS" and "it is false with the softmax over columns" in rows.evidence.text
    assert str(both.verdict) in ("PROVED", "EXACT", "AGREES"), both.evidence.text


@pytest.mark.parametrize("where", ["row-wise", "over the keys", "along the last axis"])
@pytest.mark.parametrize("sign", ["=", ":="])
def test_a_softmax_of_rows_is_read_as_it_is(where: str, sign: str) -> None:
    """The same words beside `:=` and beside `=`: what holds of rows is accepted, what is false of them refuted."""
    text = f"{SCORES} Put $P {sign} \\operatorname{{softmax}}(S)$, with the softmax taken {where}."
    text = text.replace(", with the softmax taken row-wise", " row-wise")
    rows, columns = check_document(
        f"{text}\n\n$$ P \\mathbf{{1}}_m = \\mathbf{{1}}_n $$\n\n$$ \\mathbf{{1}}_n^\\top P = \\mathbf{{1}}_m^\\top $$\n",
        infer=True,
    ).steps
    assert str(rows.verdict) == "PROVED" and str(columns.verdict) == "REFUTED", columns.evidence.text
