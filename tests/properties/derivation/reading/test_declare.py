"""Paragraphs that are read in part.

One declaration that cannot be read leaves the others of its paragraph; a hypothesis that cannot be read stops it.
A symbol whose new declaration cannot be read does not keep its old one.
"""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.reading.declare import MAX_FORMULAS
from attention_core.derivation.records import GOOD


def outcomes(text: str) -> list[tuple[str, str]]:
    """Verdict and evidence of every step."""
    return [(str(step.verdict), step.evidence.text) for step in check_document(text).steps]


def test_what_stands_beside_a_bad_declaration_is_declared() -> None:
    paragraph = r"Let $\Delta W \in \mathbb{R}$, $x \in \mathbb{R}, u \in \mathbb{Q}$, $\foo \in \mathbb{R}$ and $y \in \mathbb{R}$."
    (first, (verdict, words)) = outcomes(paragraph + "\n\n$$ x + y = y + x $$\n")
    assert first[0] == "UNREADABLE" and "such as W_\\Delta" in first[1]
    assert verdict == "PROVED", words


def test_a_symbol_that_is_restated_badly_is_not_declared_any_more() -> None:
    text = "Let $x \\in \\mathbb{R}$.\n\nLet $x \\in \\mathbb{Q}$ and $y \\in \\mathbb{R}$.\n\n$$ x = 1 $$\n\n$$ y = y $$\n"
    found = outcomes(text)
    assert [verdict for verdict, _ in found] == ["UNREADABLE", "UNREADABLE", "PROVED"]
    assert "line 3 restates x" in found[1][1]


@pytest.mark.parametrize(
    "words", ["We show that", "Below we prove that", "It turns out later that", "We will see that", "It follows that"]
)
def test_what_is_to_be_shown_is_no_hypothesis(words: str) -> None:
    head = "Let $n \\in \\mathbb{N}$, $A \\in \\mathbb{R}^{n \\times n}$ and $x, y \\in \\mathbb{R}^n$."
    *_, (verdict, _) = outcomes(f"{head} {words} $A$ is symmetric.\n\n$$ x^\\top A y = y^\\top A x $$\n")
    assert verdict == "UNDECIDED"


def test_what_is_assumed_to_show_something_is_a_hypothesis() -> None:
    head = "Let $n \\in \\mathbb{N}$, $A \\in \\mathbb{R}^{n \\times n}$ and $x, y \\in \\mathbb{R}^n$."
    words = "To show this we assume that $A$ is symmetric."
    ((verdict, _),) = outcomes(f"{head} {words}\n\n$$ x^\\top A y = y^\\top A x $$\n")
    assert verdict in GOOD


def test_a_hypothesis_that_cannot_be_read_is_not_passed_over() -> None:
    found = outcomes("Let $x \\in \\mathbb{R}$ with $x \\foo 3$ and $y \\in \\mathbb{R}$.\n\n$$ y = 1 $$\n")
    assert [verdict for verdict, _ in found] == ["UNREADABLE", "UNREADABLE"]


@pytest.mark.parametrize(
    "law", [r"\sim \mathcal{N}(0, 2^{I_d})", r"\sim \text{Bernoulli}(2^{I_d})", r"\in [0, 2^{I_d}]"]
)
def test_a_declaration_without_a_shape_cannot_be_read(law: str) -> None:
    found = outcomes(f"Let $d \\in \\mathbb{{N}}$ and $z {law}$.\n\n$$ d = d $$\n")
    assert [verdict for verdict, _ in found] == ["UNREADABLE", "PROVED"]
    assert "a d x d matrix cannot be an exponent" in found[0][1]


def test_a_paragraph_of_very_many_formulas_is_to_be_split() -> None:
    for text in ("Let $x \\in \\mathbb{R}$. " * (MAX_FORMULAS + 1), "Let $x" + "$x" * (2 * MAX_FORMULAS + 2) + "$"):
        found = outcomes(text + "\n\nEnd.\n")
        assert found[0] == (
            "UNREADABLE",
            f"the paragraph has more than {MAX_FORMULAS} formulas: split it above this line",
        )


DRAWN = "Let $d, n \\in \\mathbb{N}$ and let $q, k \\sim \\mathcal{N}(0, I_d)$ be independent"
VARIANCE = "$$ \\operatorname{Var}[q^\\top k] = d $$\n"


@pytest.mark.parametrize("said", [", with $q, k \\in \\mathbb{R}^{d}$.", ", where $q \\in \\mathbb{R}^d$.", "."])
def test_a_domain_behind_a_law_keeps_the_law(said: str) -> None:
    (step,) = check_document(DRAWN + said + "\n\n" + VARIANCE).steps
    assert step.verdict in GOOD, step.evidence.text


@pytest.mark.parametrize(
    "said",
    [
        ", with $q, k \\in \\mathbb{R}^{2 \\times d}$.",
        ", with $q_1, \\dots, q_n \\in \\mathbb{R}$.",
    ],
)
def test_another_domain_behind_a_law_is_refused(said: str) -> None:
    first = check_document(DRAWN + said + "\n\n" + VARIANCE).steps[0]
    assert first.verdict == "UNREADABLE" and "is drawn from a law in line 1" in first.evidence.text


def test_a_law_of_an_earlier_paragraph_gives_way() -> None:
    text = DRAWN + ".\n\nLet $q, k \\in \\mathbb{R}^{d}$.\n\n$$ q^\\top k = k^\\top q $$\n\n" + VARIANCE
    assert [str(s.verdict) for s in check_document(text).steps] == ["PROVED", "REFUTED"]


@pytest.mark.parametrize(
    ("formula", "expected"),
    [(r"\mathbb{E}[q q^\top] = h", True), (r"\mathbb{E}[q q^\top] = 2 h", False), (r"\mathbb{E}[q] = q", False)],
)
def test_a_law_without_a_mean_of_its_own_draws_rows_as_well(formula: str, expected: bool) -> None:
    text = "Let $h \\in \\mathbb{N}$, $q \\in \\mathbb{R}^{1 \\times h}$ with $q \\sim \\mathcal{N}(0, I_h)$."
    (step,) = check_document(f"{text}\n\n$$ {formula} $$\n").steps
    assert (step.verdict in GOOD) is expected and step.verdict != "UNREADABLE", step.evidence.text


@pytest.mark.parametrize(
    ("declared", "display", "verdict"),
    [
        (r"Let $n \in \mathbb{N}$ and $x_1, \dots, x_n > 0$.", r"\sum_{i=1}^n x_i > 0", "AGREES"),
        (r"Let $n \in \mathbb{N}$ and $x_1, \dots, x_n > 0$.", r"\sum_{i=1}^n x_i^2 > 1", "REFUTED"),
        (r"Let $x_1, \dots, x_n > 0$ with $n \in \mathbb{N}$.", "x_1 > 0", "AGREES"),
        (r"Let $n \in \mathbb{N}$, $x \in \mathbb{R}^n$ with $x_1, \dots, x_n \ge 0$.", r"\mathbf{1}_n^\top x \ge 0", "AGREES"),
        (
            r"Let $n \in \mathbb{N}$, $x_1, \dots, x_n \in \mathbb{R}$ with $x_1, x_2, \dots, x_n \ge 1$.",
            r"\sum_{i=1}^n x_i \ge n", "AGREES",
        ),
        (r"Let $n, i \in \mathbb{N}$ and $x_1, \dots, x_n < 0$.", r"\sum_{j=1}^n x_j < 0", "AGREES"),
        (r"Let $x_1, x_2, \dots, x_4 \ne 0$.", "x_1^2 x_4^2 > 0", "AGREES"),
    ],
)  # fmt: skip
def test_a_run_with_a_sign_is_a_family_of_numbers(declared: str, display: str, verdict: str) -> None:
    (found,) = outcomes(f"{declared}\n\n$$ {display} $$\n")
    assert found[0] == verdict, found


def test_a_part_of_a_run_is_not_taken_for_all_of_it() -> None:
    text = r"Let $n \in \mathbb{N}$, $x \in \mathbb{R}^n$ with $x_2, \dots, x_n \ge 0$."
    assert outcomes(text + "\n\n$$ \\mathbf{1}_n^\\top x \\ge 0 $$\n")[-1][0] == "UNDECIDED"


@pytest.mark.parametrize(
    ("declared", "verdict"),
    [
        (r"Draw independent $x \sim \mathcal{N}(0, 1)$ and $y \sim \mathcal{N}(0, 1)$.", "PROVED"),
        (r"Draw $x \sim \mathcal{N}(0, 1)$ and independent $y \sim \mathcal{N}(0, 1)$.", "PROVED"),
        (r"Draw independent $x \sim \mathcal{N}(0, 1)$. Draw $y \sim \mathcal{N}(0, 1)$.", "UNDECIDED"),
    ],
)
def test_the_word_independent_may_stand_before_what_it_is_about(declared: str, verdict: str) -> None:
    (step,) = check_document(declared + "\n\n$$ \\mathbb{E}[x^2 y^2] = 1 $$\n").steps
    assert str(step.verdict) == verdict


@pytest.mark.parametrize(
    ("said", "formula"),
    [
        ("$x \\in \\mathbb{R}^n$ with $x_i = 2$", "\\sum_{i=1}^n x_i = 2 n"),
        ("$A \\in \\mathbb{R}^{n \\times n}$ with $A_{ii} = 1$", "\\operatorname{tr}(A) = n"),
        ("$A \\in \\mathbb{R}^{n \\times n}$ be diagonal with $A_{ii} = 2$ for all $i$", "A = 2 I"),
        ("$A \\in \\mathbb{R}^{n \\times n}$ with $A_{ij} = A_{ji}$", "A = A^\\top"),
        ("$A \\in \\mathbb{R}^{n \\times n}$ where $A_{ij} = 0$ for $i \\ne j$",
         "\\operatorname{tr}(A) = \\sum_{i=1}^n \\sum_{j=1}^n A_{ij}"),
    ],
)  # fmt: skip
def test_an_equation_of_entries_behind_a_declaration_speaks_of_all_of_them(said: str, formula: str) -> None:
    (step,) = check_document(f"Let $n \\in \\mathbb{{N}}$ and let {said}.\n\n$$ {formula} $$\n").steps
    assert step.verdict in GOOD, step.evidence.text


def test_let_with_one_entry_may_mean_one_or_all() -> None:
    text = "Let $n \\in \\mathbb{N}$ and $x \\in \\mathbb{R}^n$. Let $x_k = 0$. Hence\n\n$$ \\|x\\| = 0 $$\n"
    first, second = outcomes(text)
    assert first[0] == "UNREADABLE" and "for all $k$" in first[1]
    assert second[0] == "UNDECIDED"


@pytest.mark.parametrize("some", ["at least one", "all but one", "some", "exactly one", "almost all"])
def test_what_is_said_of_some_entries_is_not_assumed_of_all(some: str) -> None:
    text = f"Let $n \\in \\mathbb{{N}}$ and $p \\in \\mathbb{{R}}^n$ with $p_i = 0$ for {some} $i \\in [n]$."
    found = outcomes(f"{text}\n\n$$ \\|p\\| = 0 $$\n")
    assert [verdict for verdict, _ in found] == ["UNREADABLE", "UNDECIDED"], found


@pytest.mark.parametrize("words", ["for all", "for every", "for each"])
@pytest.mark.parametrize("hypothesis, step", [(r"c \ge \frac{n}{n+1}", r"c \ge 1"), (r"c \le \frac{1}{n}", r"c \le 0")])
def test_what_is_said_of_all_sizes_is_not_said_of_one(words: str, hypothesis: str, step: str) -> None:
    text = f"Let $c \\in \\mathbb{{R}}$ with ${hypothesis}$ {words} $n \\in \\mathbb{{N}}$.\n\n$$ {step} $$\n"
    assert [str(one.verdict) for one in check_document(text).steps] == ["UNREADABLE", "UNDECIDED"]


def test_all_sizes_may_be_named_where_no_hypothesis_is_about_them() -> None:
    text = "Let $c \\in \\mathbb{R}$ with $c \\ge 2$, for all $n \\in \\mathbb{N}$.\n\n$$ c n \\ge 2 n $$\n"
    assert check_document(text).steps[-1].passed


@pytest.mark.parametrize("words", ["with", "where", "and"])
def test_a_number_may_be_declared_behind_the_hypothesis_that_names_it(words: str) -> None:
    text = (
        f"Let $u \\in \\mathbb{{R}}^4$ with $\\|u\\| = \\beta$, {words} $\\beta > 0$.\n\n$$ u^\\top u = \\beta^2 $$\n"
    )
    (step,) = check_document(text).steps
    assert step.verdict in GOOD


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        ("Assume that for all $i$, $x_i \\ge 0$.", "AGREES"),
        ("Suppose that for every $i \\in \\{1, \\dots, n\\}$, $x_i \\ge 0$.", "AGREES"),
        ("For each $i$, assume $x_i \\ge 0$.", "AGREES"),
        ("Assume that for all $m \\in \\mathbb{N}$, $a \\le \\frac{1}{m}$.", "UNDECIDED"),
        ("Suppose for all $t \\in \\mathbb{R}$, $a t \\le 0$.", "UNDECIDED"),
        ("For all $m \\in \\mathbb{N}$, assume $a \\le 1 / m$.", "UNDECIDED"),
    ],
)
def test_a_quantifier_may_stand_first(words: str, verdict: str) -> None:
    head = f"Let $n \\in \\mathbb{{N}}$, $x \\in \\mathbb{{R}}^n$ and $a \\in \\mathbb{{R}}$. {words}"
    claim = "\\sum_{i=1}^n x_i \\ge 0" if verdict == "AGREES" else "a \\le 0"
    assert str(check_document(f"{head}\n\n$$ {claim} $$\n").steps[-1].verdict) == verdict


def test_a_number_between_two_bounds_is_declared_by_them() -> None:
    found = check_document("Let $0 < p < 1$.\n\n$$ p (1 - p) \\le \\frac{1}{4} $$\n\n$$ p \\ge 1 $$\n").steps
    assert [str(step.verdict) for step in found] == ["AGREES", "REFUTED"]
    (step,) = check_document("Let $1 \\le k \\le 5$.\n").steps
    assert str(step.verdict) == "UNREADABLE"
