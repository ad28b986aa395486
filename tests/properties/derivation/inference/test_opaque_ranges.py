"""Undeclared symbols as the field writes them: layers, labels, open ranges, products with a circle."""

from __future__ import annotations

import pytest

from attention_core.derivation import StepReport, check_document
from attention_core.derivation.inference.opaque import Opaque, layers_in
from attention_core.derivation.inference.usage import usage_of
from attention_core.derivation.latex.parse import parse_statement
from attention_core.derivation.latex.printer import to_latex
from attention_core.derivation.latex.syntax import Name
from attention_core.derivation.terms.context import Context


def inferred(document: str) -> list[StepReport]:
    return list(check_document(document, infer=True).steps)


@pytest.mark.parametrize(
    ("formula", "read"),
    [
        (r"\sum_{i \in \mathcal{B}} x_i", r"\sum_{i \in \mathcal{B}} x_{i}"),
        (r"\max_{\|u\| = 1} u^\top x", r"\max_{\|u\| = 1} u^\top x"),
        (r"\sup_x g(x) + \inf_x g(x)", None),
        (r"\arg\max_y h(y)", None),
        (r"E[g^2]_t", r"\operatorname{E}(g^{2})_{t}"),
        (r"a \otimes b", r"a \otimes b"),
        (r"\operatorname{Attention}(X)", None),
    ],
)
def test_what_nothing_determines_is_one_symbol(formula: str, read: str | None) -> None:
    chain = parse_statement(formula).chains[0]
    (found,) = Opaque(Context(), usage_of([chain]), [chain]).chains([chain])
    parts = getattr(found.exprs[0], "terms", found.exprs)
    assert all(isinstance(part, Name) for part in parts), found
    assert read is None or to_latex(found).replace(" ", "")[:12] == read.replace(" ", "")[:12]


@pytest.mark.parametrize(
    ("formulas", "letters"),
    [
        (("z^l = W^l a^{l - 1} + b^l", r"\delta^L = c"), {"l", "L"}),
        (("z^l = a^l",), set()),  # two symbols: powers
        (("z^l = a^l b^l",), set()),  # none of them is a matrix
        (("z^k = W^k a^{k - 1} + b^k",), set()),
    ],
)
def test_letters_above_weights_number_layers(formulas: tuple[str, ...], letters: set[str]) -> None:
    assert layers_in([parse_statement(one).chains[0] for one in formulas]) == letters


def test_layers_are_no_powers() -> None:
    document = "$$ z^l = W^l a^{l - 1} + b^l $$\n\n$$ z^l - b^l = W^l a^{l - 1} $$\n"
    (step,) = inferred(document)
    assert step.verdict in ("PROVED", "EXACT"), step.evidence.text


def test_a_circle_takes_products_first() -> None:
    declared = r"Let $n, d \in \mathbb{N}$ and $Q, K \in \mathbb{R}^{n \times d}$."
    (step,) = inferred(f"{declared}\n\n$$ Q K^\\top \\odot M = M \\odot Q K^\\top $$\n")
    assert step.verdict in ("PROVED", "EXACT"), step.evidence.text


def test_a_mask_with_infinity_is_defined() -> None:
    mask = r"M_{ij} = \begin{cases} 0 & \text{if } j \le i \\ -\infty & \text{otherwise} \end{cases}"
    report = check_document(f"$$ {mask} $$\n\n$$ P = \\operatorname{{softmax}}(S + M) $$\n", infer=True)
    assert [line for line, words in report.understood if words.startswith("defined by")] == [1, 3]


@pytest.mark.parametrize(
    "formula",
    [
        r"\|\nabla f(x) - \nabla f(y)\| \le L \|x - y\|, \quad \forall x, y",
        r"\|x - x^*\|^2 = \|x^* - x\|^2",
        r"\eta_t = \eta_{\min} + \frac{1}{2} (\eta_{\max} - \eta_{\min})",
        r"u = \frac{\sum_i \exp(q^\top k_i) v_i}{\sum_i \exp(q^\top k_i)}",
        r"\|W x\| = \|x\| \quad \text{when } W^\top W = I",
        r"P(\text{choose } i) = 1 - P(\text{omit } i)",
        r"\text{statistical power} = 1 - \beta",
        r"g_k'(z_k) (t_k - y^{*2}) = (t_k - y^{*2}) g_k'(z_k)",
        r"L_i = \sum_{j \ne y_i} \max(0, s_j - s_{y_i} + 1)",
        r"h = \max(0, X W_1 + b_1) W_2 + b_2",
        r"c = y_i w^\top x_i + 1",
        r"\begin{pmatrix} q_{2i}' \\ q_{2i+1}' \end{pmatrix} = c \begin{pmatrix} q_{2i} \\ q_{2i+1} \end{pmatrix}",
        r"\text{where } \delta := \exp(m_1 - m_2)",
        r"&{} a + b = b + a",
        r"c_q W^{QB}_i = x W^{QA} W^{QB}_i",
        r"W^P_i = W^Q_i {W^K_i}^\top",
        r"p(x \lvert \theta) = \sum_t p(x \lvert t, \theta) p(t \lvert \theta)",
        r"L = \log p(x \lvert \theta) - \mathrm{KL}(q(t) \mid\mid p(t \lvert x))",
        r"C\_{ij} = \sum\_k A\_{ik} B\_{kj}",
        r"h_i = \text{Attention}(Q W_i^Q, K W_i^K, V W_i^V)",
        r"h_i = \text{Attention}(X W_Q^i, X W_K^{g(i)}, X W_V^{g(i)})",
    ],
)
def test_what_authors_write_is_read(formula: str) -> None:
    report = check_document(f"$$ {formula} $$\n", infer=True)
    words = [step.evidence.text for step in report.steps if step.verdict == "UNREADABLE"]
    assert not words or (report.understood and "no display claims" in words[0]), words
    assert not any(step.verdict == "REFUTED" for step in report.steps)


def test_the_label_of_a_sum_is_one_index() -> None:
    (step,) = inferred(r"$$ \frac{e^{f_{y_i}}}{\sum_j e^{f_j}} = \frac{e^{f_{y_i} + c}}{\sum_j e^{f_j + c}} $$")
    assert step.verdict == "PROVED", step.evidence.text


@pytest.mark.parametrize("formula", [r"f(\log^2(x)) + 1 = f(\log(x)) + 1", "f({a + b}^2) + 1 = f(a + b^2) + 1"])
def test_values_at_different_arguments_are_different_symbols(formula: str) -> None:
    (step,) = inferred(f"$$ {formula} $$")
    assert step.verdict == "UNDECIDED", step.evidence.text


def test_two_letters_of_one_name_do_not_meet() -> None:
    text = (
        "With $\\mathbf{q} \\in \\mathbb{R}^q$ we have\n\n$$ \\|\\mathbf{q}\\|^2 = \\mathbf{q}^\\top \\mathbf{q} $$\n"
    )
    (step,) = inferred(text)
    assert step.verdict in ("PROVED", "EXACT"), step.evidence.text


def test_a_circle_between_letters_of_functions_may_compose_them() -> None:
    free, declared = (
        check_document(f"{head}\n\n$$ {formula} $$\n", infer=True).steps[0]
        for head, formula in (
            ("", r"f \circ g = g \circ f"),
            (r"Let $f, g \in \mathbb{R}^n$.", r"f \circ g = g \circ f"),
        )
    )
    assert free.verdict == "UNDECIDED" and r"$\circ$ may compose f, g" in free.evidence.text
    assert declared.verdict in ("PROVED", "EXACT")
    (arrays,) = check_document(r"$$ A \circ B = B \circ A $$" + "\n", infer=True).steps
    assert arrays.verdict in ("PROVED", "EXACT")
