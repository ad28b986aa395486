"""Undeclared symbols: what they are read as, and which verdicts such a reading allows."""

from __future__ import annotations

import pytest

from attention_core.derivation import DocumentReport, check_document
from attention_core.derivation.effort import Effort

QUICK = Effort(seconds=2)


def check(text: str) -> DocumentReport:
    """Return the report on a text whose symbols are inferred."""
    return check_document(f"{text}\n", effort=QUICK, infer=True)


def readings(text: str) -> str:
    """Return what the symbols of the first step are read as."""
    return "; ".join(check(text).steps[0].evidence.figures["read_as"])


@pytest.mark.parametrize(
    ("formula", "read_as"),
    [
        (r"(Q K^\top)^\top = K Q^\top", [r"Q \in \mathbb{R}^{n \times d}", r"K \in \mathbb{R}^{m \times d}"]),
        (r"\|x\|^2 = x^\top x", [r"x \in \mathbb{R}^{n} (a norm)"]),
        (r"\mathbf{w} + \mathbf{b} = \mathbf{b} + \mathbf{w}", [r"w \in \mathbb{R}^{n} (bold letters)"]),
        (r"(\lambda A)^\top = \lambda A^\top", [r"\lambda \in \mathbb{R} (a small letter)", r"A \in \mathbb{R}^{n \times d}"]),
        (r"\sum_{i=1}^{n} 2 x_i = 2 \sum_{j=1}^{n} x_j", [r"n \in \mathbb{N} (\sum_{i=1}^{n})", r"x_1, \dots, x_{n} \in \mathbb{R} "]),
        (r"\frac{q^\top k}{\sqrt{d_k}} = \frac{k^\top q}{\sqrt{d_k}}", [r"d_{k} \in \mathbb{N}", r"q \in \mathbb{R}^{n}"]),
        (r"x^\top (A + A^\top) x = 2 x^\top A x", [r"A \in \mathbb{R}^{n \times n}"]),
        (r"S_{t-1} + v k^\top = v k^\top + S_{t-1}", [r"S_{t - 1} \in \mathbb{R}^{n \times d}", r"v \in \mathbb{R}^{n}"]),
    ],
)  # fmt: skip
def test_a_right_step_holds_under_the_reading_that_it_names(formula: str, read_as: list[str]) -> None:
    step = check(f"$$ {formula} $$").steps[0]
    assert step.passed, step.evidence.text
    said = "; ".join(step.evidence.figures["read_as"])
    assert all(one in said for one in read_as), said
    assert said in step.evidence.text


@pytest.mark.parametrize(
    ("first", "step", "read_as"),
    [
        (r"y = b_0 + b_1 x_1 + \dots + b_p x_p", r"2 y = 2 b_0 + 2 \sum_{j=1}^p b_j x_j", r"b_0, \dots, b_{p} \in"),
        (r"f(x) = w_0 + \sum_{j=1}^d w_j x_j", r"f(x) - w_0 = \sum_{j=1}^d w_j x_j", r"w_0, \dots, w_{d} \in"),
        (r"p = \sum_{k=0}^n a_k x^k", r"p = a_0 + \sum_{k=1}^n a_k x^k", r"a_0, \dots, a_{n} \in"),
        (r"s = \sum_{k=0}^{n-1} q^k a_k", r"q s = \sum_{k=1}^n q^k a_{k-1}", r"a_0, \dots, a_{-1 + n} \in"),
    ],
)
def test_entries_are_counted_from_0_where_a_formula_has_that_entry(first: str, step: str, read_as: str) -> None:
    found = check(f"$$ {first} $$\n\n$$ {step} $$").steps[0]
    assert found.passed, found.evidence.text
    assert read_as in found.evidence.text


def test_a_polynomial_without_its_first_term_is_refuted() -> None:
    found = check("$$ p(x) = \\sum_{k=0}^n a_k x^k $$\n\nHence\n\n$$ p(x) = \\sum_{k=1}^n a_k x^k $$").steps[0]
    assert found.verdict == "REFUTED", found.evidence.text
    assert "with $0$ in place of $1$" in found.evidence.text


@pytest.mark.parametrize(
    "formula",
    [
        r"(A B)^\top = A^\top B^\top",
        r"A B = B A",
        r"\|x + y\|^2 = \|x\|^2 + \|y\|^2",
        r"\sum_i x_i^2 = (\sum_i x_i)^2",
        r"f(x + y) = f(x) + f(y)",
        r"g(2 a + 2 b) = 2 g(a + b)",
        r"p(x \mid z) = p(z \mid x)",
        r"\mathbb{E}[X^2] = \mathbb{E}[X]^2",
        r"\frac{\partial L}{\partial x} = 0",
        r"\frac{\partial f(x)}{\partial x} = 0",
        r"d (x^2) = x d x",
        r"\Delta (A B) = \Delta A \, B",
        r"x^\top A x = \operatorname{tr}(A x^\top x)",
        r"\mathbf{x} \mathbf{y} = \mathbf{y} \mathbf{x}",
        r"\nabla_{\mathbf{s}} \mathbf{y} \log \mathbf{s}^\top = \mathbf{y} \nabla_{\mathbf{s}} \log \mathbf{s} + 0 \frac{1}{\mathbf{s}}",
        r"(A + B)^{-1} = A^{-1} + B^{-1}",
        r"\nabla_w \frac{1}{2} (w^\top x - y)^2 = (w^\top x - y) w",
    ],
)
def test_what_may_be_wrong_is_neither_accepted_nor_refuted(formula: str) -> None:
    """An inferred reading refutes nothing, and does not make symbols independent of one another."""
    step = check(f"$$ {formula} $$").steps[0]
    assert step.verdict in ("UNDECIDED", "UNREADABLE", "AMBIGUOUS"), (step.verdict, step.evidence.text)


def test_one_line_that_declares_a_symbol_counts_instead() -> None:
    wrong = "$$ A B = B A $$"
    assert check(wrong).steps[0].verdict == "AMBIGUOUS"
    declared = r"Let $n \in \mathbb{N}$, $A, B \in \mathbb{R}^{n \times n}$." + f"\n\n{wrong}"
    assert check(declared).steps[0].verdict == "REFUTED"
    assert check(r"Let $A, B \in \mathbb{R}$." + f"\n\n{wrong}").steps[0].verdict == "PROVED"


def test_without_inference_a_step_asks_for_its_declarations() -> None:
    assert check_document("$$ A B = B A $$\n", effort=QUICK).steps[0].verdict == "UNREADABLE"


def test_what_any_sentence_says_of_a_symbol_is_its_reading() -> None:
    text = r"The weights $W \in \mathbb{R}^{d \times k}$ are learned." + "\n\n" + r"$$ (W x)^\top = x^\top W^\top $$"
    assert r"W \in \mathbb{R}^{d \times k} (line 1 says so)" in readings(text)


def test_an_undeclared_symbol_alone_on_the_left_is_defined_there() -> None:
    text = "$$ s = x^\\top y $$\n\nso that\n\n$$ 2 s = x^\\top y + y^\\top x $$\n\n$$ s = 2 x^\\top y $$"
    report = check(text)
    assert [step.verdict for step in report.steps] == ["PROVED", "UNDECIDED"]
    assert any("defined by the display" in said for _, said in report.understood)


def test_a_symbol_of_a_section_that_has_ended_is_read_as_it_was_there() -> None:
    text = "# One\n\nLet $n \\in \\mathbb{N}$ and $x \\in \\mathbb{R}^n$.\n\n# Two\n\n$$ x^\\top x = \\|x\\|^2 $$"
    assert "x as in line 3" in readings(text)


def test_a_display_that_says_where_a_symbol_lives_does_not_prove_itself() -> None:
    report = check(
        r"$$ O \in \mathbb{R}^{n \times d} $$"
        + "\n\nand\n\n"
        + r"$$ (2 O)^\top = 2 O^\top, \quad O^\top O \in \mathbb{R}^{d \times d} $$"
    )
    assert [(step.line, step.verdict) for step in report.steps] == [(5, "PROVED"), (5, "PROVED")]
    assert (1, r"declared by the display: O \in \mathbb{R}^{n \times d}") in report.understood


def test_what_is_written_out_with_dots_is_a_family() -> None:
    stack = r"$$ \mathbf{X} = \begin{bmatrix} \mathbf x_1^\top \\ \vdots \\ \mathbf x_m^\top \end{bmatrix} $$"
    report = check(
        stack + "\n\nso that\n\n" + r"$$ \mathbf{X}^\top \mathbf{X} = \sum_{i=1}^m \mathbf x_i \mathbf x_i^\top $$"
    )
    assert [step.verdict for step in report.steps] == ["EXACT"], report.steps[0].evidence.text


def test_letters_with_two_indices_are_matrices_however_small() -> None:
    text = "$$ z_j = b_j + \\sum_i a_i w_{ij} $$\n\nso\n\n$$ \\frac{\\partial z_j}{\\partial w_{ij}} = a_i $$"
    (step,) = check(text).steps
    assert step.passed and r"w \in \mathbb{R}^{d \times n}" in step.evidence.text, step.evidence.text


def test_expressions_without_a_relation_are_counted_not_checked() -> None:
    report = check("The vector $$x$$ has the norm\n\n$$ \\|x\\| = \\sqrt{x^\\top x} $$")
    assert len(report.steps) == 1
    assert (1, "nothing to check: x") in report.understood


def test_an_equation_defines_what_was_only_inferred() -> None:
    text = "$$ 2 z = z + z $$\n\n$$ z = x + y $$\n\n$$ 2 z = 2 x + 2 y $$\n\n$$ z = x $$\n"
    steps = [(step.line, str(step.verdict)) for step in check_document(text, infer=True).steps]
    assert [line for line, _ in steps] == [1, 5, 7]
    assert steps[1][1] in ("PROVED", "EXACT") and steps[2][1] == "UNDECIDED"


def test_a_value_of_an_unknown_function_is_defined_once_as_a_symbol() -> None:
    text = "$$ H(X) = \\int p(x) \\, dx $$\n\n$$ H(X) + 1 = 1 + \\int p(x) \\, dx $$\n\n$$ x := x - g $$\n"
    (step,) = check_document(text, infer=True).steps
    assert (step.line, step.verdict in ("PROVED", "EXACT")) == (3, True), step.evidence.text


@pytest.mark.parametrize("left", [r"\mathbb{E}_{x \sim p}[f(x)]", r"\frac{\partial L}{\partial h}"])
def test_what_has_a_meaning_of_its_own_is_not_defined(left: str) -> None:
    text = f"$$ h = 2 x $$\n\n$$ {left} = y + 1 $$\n"
    (step,) = check_document(text, infer=True).steps
    assert step.verdict == "UNDECIDED", step.evidence.text


def test_a_display_that_does_not_fit_its_section_is_accepted_where_it_holds_of_any_kind() -> None:
    for right, other in (("y_j^2", "y_i^2"), ("2 y_j^2", "y_i^2")):
        display = rf"$$ \sum_{{i=1}}^n {other} = \sum_{{j=1}}^n {right} $$"
        alone, number = check(f"{display}\n\n$$ y + 1 = 1 + y $$").steps
        assert number.passed and alone.passed is (right == "y_j^2"), alone.evidence.text
        assert alone.passed or ("as it was read it is false" in alone.evidence.text and alone.verdict == "UNDECIDED")
        assert check(display).steps[0].passed is alone.passed


def test_sums_are_broadcast_where_a_display_needs_it_and_that_is_said() -> None:
    report = check(r"$$ \mathbf{O} = \mathbf{X} \mathbf{W} + \mathbf{b}^\top $$")
    assert not any(step.verdict == "UNREADABLE" and step.text for step in report.steps)
    assert any(text.startswith("read with sums that are broadcast") for _, text in report.understood)


@pytest.mark.parametrize(
    ("formula", "index"),
    [
        (r"\frac{e^{x_i}}{\sum e^{x_j}} = \frac{e^{x_i} e^{c}}{\sum e^{x_j} e^{c}}", r"\sum_{j}"),
        (r"\sum 2 x_i = 2 \sum x_i", r"\sum_{i}"),
    ],
)
def test_a_sum_without_an_index_runs_over_the_letter_that_is_free_in_it(formula: str, index: str) -> None:
    report = check(f"$$ {formula} $$")
    assert report.steps[0].passed, report.steps[0].evidence.text
    assert any(index in text for _, text in report.understood), report.understood
    assert not check(r"$$ \sum a_i b_j = \sum b_j a_i $$").steps[0].passed  # one of two


def test_what_claims_nothing_by_itself_is_read_and_undecided() -> None:
    found = [str(step.verdict) for step in check(r"$$ e^x \approx 1 + x \\ a \gg b \\ x \to 0 $$").steps]
    assert found == ["UNDECIDED"] * 3


@pytest.mark.parametrize(
    "written", [r"\arg\max_i x_i", r"\arg\,\max_i x_i", r"\operatorname*{arg\,max}_i x_i", r"\mathop{\arg\max}_i x_i"]
)
def test_arg_max_is_one_operator_however_it_is_written(written: str) -> None:
    step = check(f"$$ {written} + 1 = 1 + {written} $$").steps[0]
    assert step.verdict in ("PROVED", "EXACT", "AGREES", "UNDECIDED"), step.evidence.text


@pytest.mark.parametrize(
    "formula",
    [
        r"Q \in \mathbb{R}^{B_q \times d}",
        r"d^\top \Sigma d = d^\top \Sigma^\top d",  # d is a vector, and no differential
        r"w \leftarrow w - \eta g",
        r"p \propto e^x",
        r"(x^T w - \mu^T w)^T = x^T w - \mu^T w",
    ],
)
def test_sizes_with_subscripts_vectors_named_d_updates_and_proportions_are_read(formula: str) -> None:
    assert not any(step.verdict == "UNREADABLE" and step.text for step in check(f"$$ {formula} $$").steps)


def test_a_law_that_a_display_says_is_listed_and_leaves_averages_undecided() -> None:
    report = check(r"$$ w \sim \mathcal{N}(0, b^{-1} I) $$" + "\n\n" + r"$$ \mathbb{E}[w] = 0 $$")
    assert any(text.startswith("declared by the display: w \\sim") for _, text in report.understood)
    assert [str(step.verdict) for step in report.steps] == ["UNDECIDED"]


def test_a_lone_preposition_between_two_displays_declares_nothing() -> None:
    assert [str(step.verdict) for step in check("$$ a + b = b + a $$\n\nfor $$c + 1 = 1 + c$$ and so on.").steps] == [
        "PROVED"
    ] * 2


@pytest.mark.parametrize(
    ("formula", "read_as"),
    [
        (r"\Sigma v = v \lambda", r"v \in \mathbb{R}^{n} (\Sigma v)"),
        (r"2 \nabla_\theta J(\theta) = \nabla_\theta J(\theta) + \nabla_\theta J(\theta)", r"\frac{\partial J (\theta)}{\partial \theta} \in"),
    ],
)  # fmt: skip
def test_eigenvectors_and_slopes_of_unknown_functions_are_read(formula: str, read_as: str) -> None:
    step = check(f"$$ {formula} $$").steps[0]
    assert read_as in step.evidence.text and step.verdict != "UNREADABLE", step.evidence.text


def test_an_entry_of_a_defined_vector_in_front_of_a_bracket_is_a_factor() -> None:
    head = r"Let $n \in \mathbb{N}$ and $x \in \mathbb{R}^n$. Put $p := \operatorname{softmax}(x)$."
    jacobian = r"\frac{\partial p_i}{\partial x_j} = p_i (\delta_{ij} - p_j) \quad \text{for all } i, j"
    assert check(f"{head}\n\n$$ {jacobian} $$").steps[0].passed


def test_a_definition_of_a_past_section_is_not_taken_up_with_other_symbols() -> None:
    text = (
        "# One\n\n$$ L = \\sum_{i=1}^n (y_i - w x_i)^2 $$\n\n# Two\n\n$$ y = W v + 0 y $$\n\n"
        "# Three\n\n$$ \\frac{\\partial L}{\\partial w} = 2 h $$\n"
    )
    steps = check_document(text, infer=True, effort=Effort(seconds=1)).steps
    assert all("internal error" not in one.evidence.text for one in steps), [one.evidence.text for one in steps]


@pytest.mark.parametrize(
    "formula", [r"h(x) = h(x + 1)", r"\operatorname{entmax}(x) = \operatorname{entmax}(x + \mathbf{1}_n)"]
)
def test_a_function_on_both_sides_is_claimed_about_and_not_defined(formula: str) -> None:
    report = check_document(f"Let $n \\in \\mathbb{{N}}$.\n\n$$ {formula} $$\n", infer=True)
    assert [str(step.verdict) for step in report.steps] == ["UNDECIDED"], report.understood


def test_a_declaration_of_a_later_section_has_not_ended() -> None:
    text = "## One\n\n$$ d + c = 0 $$\n\n## Two\n\nLet $d \\in \\mathbb{R}$.\n\n$$ d = d $$\n\n## Three\n\n$$ d + c = 0 $$\n"
    above, _, below = check_document(text, infer=True).steps
    assert "declare its symbols for a verdict" in above.evidence.text
    assert "declarations end with their section, and so do those of d " in below.evidence.text


def test_a_definition_is_kept_that_other_formulas_of_its_section_write_with_an_index() -> None:
    text = r"""Let $L \in \mathbb{N}$, $X \ge 0$, $y \in \mathbb{R}$ and $t_1, \dots, t_L \in [0, 1]$. Put $r_j := t_j X$.

$$ y + r_1 + \sum_{j=1}^{L-1} (r_j + r_{j+1}) \le y + 2 L X $$

Let $n \in \mathbb{N}$, $p_1, \dots, p_n \in \mathbb{R}$ and $x_1, \dots, x_n \in \mathbb{R}$.
Put $r := \sum_{j=1}^{n} p_j x_j$.

$$ \sum_{k=1}^{n} 2 p_k x_k = 2 r $$

## Another r

Let $d, r \in \mathbb{N}$.
"""
    step = check(text).steps[-1]
    assert step.passed, step.evidence.text
