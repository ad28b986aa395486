"""Values that nothing in a document determines are symbols of their own, and not decided by what they look like."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document


@pytest.mark.parametrize(
    ("formula", "verdicts"),
    [
        (r"2 \max_{\pi} \mathbb{E}[\pi] = \max_\pi \mathbb{E}[\pi] + \max_\pi \mathbb{E}[\pi]", ["PROVED"]),
        (r"2 \max_{\pi} \mathbb{E}[\pi] = 2 \max_\rho \mathbb{E}[\rho]", ["UNDECIDED"]),
        (r"2 \max_{\pi} J(\pi) = 2 \max_\rho J(\rho)", ["EXACT"]),
        (r"2 P(X = j \mid Y = i) = P(X = j \mid Y = i) + P(X = j \mid Y = i)", ["PROVED"]),
        (r"2 \mathbb{E}[r \mid S = s] = \mathbb{E}[r \mid S = s] + \mathbb{E}[r \mid S = s]", ["PROVED"]),
        (r"2 \mathbb{E}[r \mid S = s] = 2 \mathbb{E}[r \mid S = t]", ["UNDECIDED"]),
        (r"2 \mathbb{P}(A) = 2 \mathbb{P}(B)", ["UNDECIDED"]),
        (r"T^+ + T^- = T^- + T^+", ["PROVED"]),
        (r"2 T^+ = 2 T^-", ["UNDECIDED"]),
        (r"2 I(X) = - 2 \log p", ["UNDECIDED"]),
        (r"2 H[P] = H[P] + H[P]", ["PROVED"]),
        (r"2 a^\top [u \| v] = a^\top [u \| v] + a^\top [u \| v]", ["PROVED"]),
        (r"\text{softmax}_j(e_{ij}) = \frac{\exp(e_{ij})}{\sum_{k} \exp(e_{ik})}", ["PROVED"]),
        (r"2 \text{softmax}_j(e_{ij}) = \frac{\exp(e_{ij})}{\sum_{k} \exp(e_{ik})}", ["UNDECIDED"]),
        (r"2 \|x\|_p = 2 \|x\|_q", ["UNDECIDED"]),
        (r"P(A \cup B) + c = c + P(A) + P(B) - P(A \cap B)", ["UNDECIDED"]),
        (r"\prod_{i=1}^n p(x_i \mid x_{<i}) = \prod_{j=1}^n p(x_j \mid x_{<j})", ["EXACT"]),
        (r"\prod_{i=1}^n p(x_{<i}) = p(x_{<1})^n", ["UNDECIDED"]),
    ],
)
def test_values_are_symbols(formula: str, verdicts: list[str]) -> None:
    found = check_document(f"$$ {formula} $$\n", infer=True).steps
    assert [str(one.verdict) for one in found] == verdicts, found[0].evidence.text


LOOSE = [
    (r"Y^k + B = B + Y^k", "PROVED", "powers of matrices"),
    (r"Y^k + Y^k = Y^{k+1} + Y^k", "UNDECIDED", "powers of matrices"),
    (r"\frac{\partial (A X)}{\partial X} + B = B + \frac{\partial (A X)}{\partial X}", "PROVED", "derivatives"),
    (r"\begin{bmatrix} a & \dots & b \end{bmatrix} + r = r + \begin{bmatrix} a & \dots & b \end{bmatrix}", "PROVED",
     "arrays with dots"),
    (r"\frac{\mathbf{y}}{\mathbf{s}} + c = c + \frac{\mathbf{y}}{\mathbf{s}}", "PROVED", "quotients of arrays"),
    (r"M^2 = \begin{pmatrix} A & B \\ 0 & A \end{pmatrix} \begin{pmatrix} A & B \\ 0 & A \end{pmatrix}", "UNDECIDED",
     "arrays of blocks"),
    (r"\text{softmax}(q^\top k) + 1 = 1 + \text{softmax}(q^\top k)", "PROVED", "functions of arrays"),
]  # fmt: skip


@pytest.mark.parametrize(("formula", "verdict", "form"), LOOSE)
def test_what_cannot_be_read_otherwise_is_a_symbol_and_says_so(formula: str, verdict: str, form: str) -> None:
    report = check_document(f"$$ {formula} $$\n", infer=True)
    assert any(f"read with {form} as symbols" in words for _, words in report.understood), report.understood
    (step,) = report.steps
    assert step.verdict in (verdict, "UNDECIDED"), step.evidence.text
    assert step.verdict != "UNREADABLE"
    assert "as it was read it is false" not in step.evidence.text


def test_a_function_between_sets_is_a_declaration() -> None:
    report = check_document(
        r"$$ f : \mathbb{R}^n \times \mathbb{R}^n \to \mathbb{R} $$" + "\n\n$$ 2 a = a + a $$\n", infer=True
    )
    assert [str(one.verdict) for one in report.steps] == ["PROVED"]


def test_entries_in_a_row_are_those_of_the_row() -> None:
    (step,) = check_document(
        r"$$ x = \begin{bmatrix} x_1 & x_2 & \dots & x_n \end{bmatrix} $$" + "\n", infer=True
    ).steps
    assert step.verdict in ("EXACT", "PROVED"), step.evidence.text


def test_a_function_of_fewer_things_is_another_one() -> None:
    text = "$$ f(x, W, b) = W x + b $$\n\n$$ f(x, W) + 1 = 1 + f(x, W) $$\n"
    assert [str(one.verdict) for one in check_document(text, infer=True).steps] == ["PROVED"]


def test_a_chain_may_end_in_a_law() -> None:
    text = r"$$ 2 u = u + u \sim \mathcal{N}(0, 1) $$" + "\n"
    assert [str(one.verdict) for one in check_document(text, infer=True).steps] == ["PROVED"]


def test_where_says_what_a_symbol_is() -> None:
    text = r"$$ 2 H = - 2 \sum_{i=1}^n p_i \log p_i \text{, where } p_i = P(X_i) $$" + "\n"
    (step,) = check_document(text, infer=True).steps
    assert step.verdict == "UNDECIDED", step.evidence.text


DEFINED = r"""Let $w \in \mathbb{R}^d$ and $p = w^\top w$.

$$ L(w) = p^2 $$

$$ %s $$
"""


@pytest.mark.parametrize(
    ("formula", "verdict"),
    [
        (r"\nabla_w L(w) = 4 p w", "PROVED"),
        (r"\frac{\partial L(w)}{\partial w} = 4 p w", "PROVED"),
        (r"\nabla_w L(w) = 2 p w", "REFUTED"),  # p depends on w
        (r"\frac{\partial L(w)}{\partial p} = 2 p", "UNDECIDED"),
    ],
)
def test_a_value_that_a_display_defines_is_differentiated_through_definitions(formula: str, verdict: str) -> None:
    found = check_document(DEFINED % formula, infer=True).steps[-1]
    assert str(found.verdict) == verdict, found.evidence.text


@pytest.mark.parametrize("verb", ["We minimize", "We want to minimize the loss", "The goal is to maximize"])
def test_what_is_minimized_is_defined(verb: str) -> None:
    head = rf"Let $X \in \mathbb{{R}}^{{n \times d}}$, $y \in \mathbb{{R}}^n$ and $w \in \mathbb{{R}}^d$. {verb} $L = \|X w - y\|^2$."
    for formula, right in ((r"\nabla_w L = 2 X^\top (X w - y)", True), (r"\nabla_w L = X^\top (X w - y)", False)):
        found = check_document(f"{head}\n\n$$ {formula} $$\n", infer=True).steps[-1]
        assert str(found.verdict) == ("EXACT" if right else "UNDECIDED"), found.evidence.text  # at a minimum both are 0
