r"""Laws known by mean and variance alone decide what two moments decide, and nothing else."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.document.blocks import Paragraph
from attention_core.derivation.reading.spelled_domains import spell_out
from attention_core.derivation.records import GOOD, StepReport, Verdict

TWO = r"Let $X$ and $Y$ be independent random variables with mean zero and unit variance."
MANY = r"Let $X_1, \dots, X_n$ be i.i.d. with mean $\mu$ and variance $\sigma^2$."
ENTRIES = r"Let the entries of $q, k \in \mathbb{R}^d$ be independent with zero mean and unit variance."
TYPED = "Q2. q and k are independent random vectors whose entries are i.i.d. with mean 0 and variance 1, dimension d."
NOISE = r"Suppose the noise $\epsilon$ has mean zero and variance $\sigma^2$."
VECTOR = (
    "Let $x \\in \\mathbb{R}^d$ be a random vector.\n\nSuppose $\\mathbb{E}[x] = 0$ and $\\operatorname{Cov}(x) = I$."
)
RIGHT_AND_WRONG = [
    (TWO, r"\operatorname{Var}[X + 2 Y] = 5", r"\operatorname{Var}[X + 2 Y] = 3"),
    (MANY, r"\operatorname{Var}[\frac1n \sum_{i=1}^n X_i] = \frac{\sigma^2}{n}", r"\operatorname{Var}[\sum_{i=1}^n X_i] = \sigma^2"),
    (ENTRIES, r"\operatorname{Var}[q^\top k] = d", r"\operatorname{Var}[q^\top k] = 2 d"),
    (NOISE, r"\operatorname{Var}[2 \epsilon] = 4 \sigma^2", r"\operatorname{Var}[2 \epsilon] = 2 \sigma^2"),
    (VECTOR, r"\mathbb{E}[\|x\|^2] = d", r"\mathbb{E}[\|x\|^2] = 1"),
]  # fmt: skip


def step_of(head: str, step: str) -> StepReport:
    return check_document(f"{head}\n\n$$ {step} $$\n", infer=True).steps[-1]


@pytest.mark.parametrize(
    ("head", "right", "wrong"), RIGHT_AND_WRONG, ids=["two", "many", "entries", "noise", "formulas"]
)
def test_two_moments_decide(head: str, right: str, wrong: str) -> None:
    assert step_of(head, right).verdict in GOOD
    assert step_of(head, wrong).verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    "words",
    [
        "independent random vectors whose components are independent with mean 0 and variance 1. Then",
        "independent random vectors whose entries are i.i.d. random variables with zero mean and unit variance.",
    ],
)
def test_vectors_that_a_clause_describes_have_its_moments(words: str) -> None:
    head = rf"Let $d \in \mathbb{{N}}$ and let $q, k \in \mathbb{{R}}^d$ be {words}"
    assert step_of(head, r"\operatorname{Var}[q^\top k] = d").verdict in GOOD
    assert step_of(head, r"\operatorname{Var}[\frac{q^\top k}{\sqrt d}] = \sqrt d").verdict is Verdict.REFUTED


@pytest.mark.parametrize("clause", [
    "whose components are uncorrelated", "whose components are", "with components", "with independent components",
    "whose components are independent",
])  # fmt: skip
def test_vectors_of_which_no_independence_is_said_stay_open(clause: str) -> None:
    head = rf"Let $d \in \mathbb{{N}}$ and let $q, k \in \mathbb{{R}}^d$ be random vectors {clause} with mean 0 and variance 1."
    assert step_of(head, r"\operatorname{Var}[q^\top k] = d").verdict is Verdict.UNDECIDED


def test_what_a_student_types_of_entries_decides_what_is_right() -> None:
    assert step_of(TYPED, r"Var(\frac{q^Tk}{\sqrt d}) = 1").verdict in GOOD
    assert step_of(TYPED, r"Var(q^T k) = 1").verdict not in GOOD
    each = "Q2. q and k have independent entries with mean 0 and variance 1, dimension d."
    assert step_of(each, r"Var(\frac{q^Tk}{\sqrt d}) = 1").verdict is Verdict.UNDECIDED  # q may be k


@pytest.mark.parametrize("step", [r"\mathbb{E}[X^4] = 3", r"\mathbb{E}[|X|] = 1", r"\mathbb{E}[X^2 Y^3] = 0"])
def test_what_depends_on_more_of_the_law_stays_open(step: str) -> None:
    found = step_of(TWO, step)
    assert found.verdict is Verdict.UNDECIDED and "only mean and variance" in found.evidence.text


@pytest.mark.parametrize(
    "head",
    [
        r"Let $x \in \mathbb{R}^n$ be a random vector with mean $0$ and variance $1$.",
        r"Let $x, y \in \mathbb{R}^n$ be independent random vectors with mean zero and unit variance.",
        r"Let $x \in \mathbb{R}^n$. Suppose that $x$ is a random variable with zero mean and unit variance.",
        "Let $x \\in \\mathbb{R}^n$.\n\nAssume that $\\mathbb{E}[x] = 0$ and $\\operatorname{Var}(x) = 1$.",
    ],
)
def test_a_variance_does_not_say_how_entries_of_a_vector_depend_on_each_other(head: str) -> None:
    assert step_of(head, r"\mathbb{E}[(\sum_{i=1}^n x_i)^2] = n").verdict is Verdict.UNDECIDED


@pytest.mark.parametrize("names", ["$X$ and $Y$", "$X, Y$", r"$X, Y \in \mathbb{R}$"])
def test_a_covariance_of_two_numbers_is_not_the_variance_of_each(names: str) -> None:
    head = rf"Let {names} be random variables with mean $0$ and covariance $\rho$."
    assert step_of(head, r"\mathbb{E}[X^2] = \rho").verdict is Verdict.UNDECIDED


@pytest.mark.parametrize(
    ("head", "step"),
    [
        (r"Let $X$ be a random variable with mean $1$ and variance $-1$.", r"\mathbb{E}[X^2] = 0"),
        (r"Let $X \sim \mathcal{N}(1, -1)$.", r"\mathbb{E}[X^2] = 0"),
        (r"Let $x \in \mathbb{R}^n$ and $x \sim \mathcal{N}(0, -2 I_n)$.", r"\mathbb{E}[x^\top x] = -2 n"),
        (r"Let $x \in \mathbb{R}^n$ and $x \sim \mathcal{N}(0, -I_n)$.", r"\mathbb{E}[x^\top x] = -n"),
    ],
)
def test_nothing_has_a_negative_variance(head: str, step: str) -> None:
    assert step_of(head, step).verdict is Verdict.VACUOUS


def test_an_identity_covariance_says_it() -> None:
    head = r"Let $x \in \mathbb{R}^n$ be a random vector with mean zero and identity covariance."
    assert step_of(head, r"\mathbb{E}[(\sum_{i=1}^n x_i)^2] = n").verdict in GOOD
    assert step_of(head, r"\mathbb{E}[(\sum_{i=1}^n x_i)^2] = n^2").verdict is Verdict.REFUTED


def test_independence_is_not_assumed() -> None:
    head = r"Let $X$ and $Y$ be random variables with mean zero and unit variance."
    assert step_of(head, r"\mathbb{E}[X Y] = 0").verdict is Verdict.UNDECIDED


@pytest.mark.parametrize(
    "text",
    [
        r"Let $x$ be a vector with mean $0$ and variance $1$.",
        r"Here $x$ has mean $\mu$ and variance $\sigma^2$.",
        r"Let $X$ be a random variable with mean $0$ and variance $1$ for $X > 0$.",
    ],
)
def test_what_may_mean_something_else_is_left_alone(text: str) -> None:
    assert r"\sim" not in spell_out([Paragraph(1, text)])[0].text


@pytest.mark.parametrize("words", [r"Suppose $\mathbb{E}[x] = 0$.", "Here $x$ is random."])
def test_averages_of_a_symbol_without_a_law_are_not_those_of_a_constant(words: str) -> None:
    head = f"Let $x \\in \\mathbb{{R}}$.\n\n{words}"
    assert step_of(head, r"\mathbb{E}[x^2] = \mathbb{E}[x]^2").verdict is Verdict.UNDECIDED


BOTH = r"with means $\mu_X, \mu_Y$ and variances $\sigma_X^2, \sigma_Y^2$."


@pytest.mark.parametrize(
    ("head", "right", "wrong"),
    [
        (rf"Let $X$ and $Y$ be independent random variables {BOTH}", r"\operatorname{Var}(X + Y) = \sigma_X^2 + \sigma_Y^2",
         r"\operatorname{Var}(X + Y) = \sigma_X^2 - \sigma_Y^2"),
        (rf"Let $X, Y$ be random variables {BOTH}", r"\mathbb{E}[X + Y] = \mu_X + \mu_Y", r"\mathbb{E}[X + Y] = \mu_X - \mu_Y"),
        (r"Let $X$ and $Y$ be independent random variables with means $0$ and $1$ and variances $2$ and $3$, respectively.",
         r"\operatorname{Var}(X Y) = 8", r"\operatorname{Var}(X Y) = 6"),
        ("Let $a > 0$.\n\nLet $X$ and $Y$ be independent random variables with means $a, 2$ and variances $1, a$.",
         r"\mathbb{E}[X Y] = 2 a", r"\mathbb{E}[X Y] = a"),
    ],
)  # fmt: skip
def test_each_symbol_has_the_values_at_its_place(head: str, right: str, wrong: str) -> None:
    assert step_of(head, right).verdict in GOOD
    assert step_of(head, wrong).verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    "head",
    [
        rf"Let $X$ and $Y$ be random variables {BOTH}",  # not independent
        r"Let $X$ and $Y$ be independent random variables with means $\mu_X, \mu_Y$ and variances $\sigma_X^2$.",
    ],
)
def test_other_lists_of_values_leave_a_variance_open(head: str) -> None:
    assert step_of(head, r"\operatorname{Var}(X + Y) = \sigma_X^2 + \sigma_Y^2").verdict not in (*GOOD, Verdict.REFUTED)


def test_a_deviation_is_not_negative() -> None:
    head = r"Let $X$ be a random variable with mean $\mu$ and variance $\sigma^2$."
    assert step_of(head, r"\sqrt{\operatorname{Var}(X)} = \sigma").verdict in GOOD
    assert step_of(head, r"\sqrt{\operatorname{Var}(X)} = \sigma^2").verdict is Verdict.REFUTED
