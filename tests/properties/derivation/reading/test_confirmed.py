"""Readings that are confirmed: what is false as it was read is refuted, and what no declaration says stays open."""

from __future__ import annotations

from dataclasses import replace

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.reading.confirmed import confirm_readings
from attention_core.derivation.reading.step import Step
from attention_core.derivation.reading.steps import steps_of
from attention_core.derivation.records import GOOD, Verdict

WORDS = "Suppose that everything here is frobnicated, and that the first of them is the last."
"""What may restrict anything: beside it nothing is refuted as the document stands."""


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (
            r"\sum_{i=1}^n x_i y_i + A = A + \sum_{i=1}^n y_i x_i",
            r"\sum_{i=1}^n x_i y_i + A = A + \sum_{i=1}^n y_i x_1",
        ),
        (r"(A B)^\top = B^\top A^\top", r"(A B)^\top = A^\top B^\top"),
        (r"(a + b)^2 = a^2 + 2 a b + b^2", r"(a + b)^2 = a^2 + 2 a b + b^3"),
        (r"x^\top A^\top y = y^\top A x", r"x^\top A^\top y = x^\top A y"),
    ],
)
def test_what_is_false_as_it_was_read_is_refuted(right: str, wrong: str) -> None:
    document = f"{WORDS}\n\n$$ {right} $$\n\n$$ {wrong} $$\n"
    plain = check_document(document, infer=True).steps
    assert plain[0].verdict in GOOD and plain[1].verdict is not Verdict.REFUTED
    good, bad = check_document(document, as_read=True).steps
    assert good.verdict == plain[0].verdict and bad.verdict is Verdict.REFUTED
    assert bad.evidence.figures["confirmed"] and "(taken as declared)" in bad.evidence.text


def test_values_of_functions_that_nothing_defines_are_not_confirmed() -> None:
    (step,) = check_document("$$ 2 g(x) + h(x) = g(x) + 3 h(x) $$\n", as_read=True).steps
    assert step.verdict is Verdict.UNDECIDED and "define the functions" in step.evidence.text


def test_what_was_read_loosely_or_in_another_way_than_its_section_is_not_confirmed() -> None:
    (step,) = steps_of("$$ u + v = v + u $$\n", infer=True)[0]
    assert isinstance(step, Step)
    loose = step.context.copy()
    loose.loose = frozenset(["terms"])
    for one in (replace(step, context=loose), replace(step, strange="u is a matrix in line 1")):
        assert confirm_readings(one) is None
    assert confirm_readings(step) is not None


@pytest.mark.parametrize(
    "formula",
    [
        r"\frac{\partial L}{\partial x} = 2 x",  # nothing says how L depends on x
        r"\mathbb{E}[x + y] = 2 \mathbb{E}[x] + \mathbb{E}[y] + a",  # nor which laws these have
        r"k = 2 q",  # it may define k
    ],
)
def test_what_no_reading_says_stays_open(formula: str) -> None:
    (step,) = check_document(f"$$ {formula} $$\n", as_read=True).steps
    assert step.verdict is not Verdict.REFUTED, step.evidence.text


def test_words_that_are_set_aside_are_quoted() -> None:
    text = f"Let $n \\in \\mathbb{{N}}$ and $x \\in \\mathbb{{R}}^n$.\n\n{WORDS}\n\n$$ x_1 x_n = x_1 x_1 $$\n"
    (step,) = check_document(text, as_read=True).steps
    assert step.verdict is Verdict.REFUTED and "--as-read sets aside what was not read" in step.evidence.text
    assert "frobnicated" in step.evidence.text and "read as" not in step.evidence.text.split("--as-read")[0]


def test_sentences_that_are_set_aside_are_quoted_beside_undeclared_symbols() -> None:
    (step,) = check_document(f"{WORDS}\n\n$$ (a + b)^2 = a^2 + 3 b^2 $$\n", as_read=True).steps
    assert step.verdict is Verdict.REFUTED and "frobnicated" in step.evidence.text
    many = " ".join(f"The {one} is frobnicated." for one in ("first", "second", "third", "fourth", "fifth"))
    (step,) = check_document(f"{many}\n\n$$ (a + b)^2 = a^2 + 3 b^2 $$\n", as_read=True).steps
    assert step.verdict is Verdict.REFUTED and " and 2 more" in step.evidence.text


def test_a_formula_in_the_prose_is_a_hypothesis() -> None:
    text = "We use tied weights, $W_K = W_Q$.\n\n$$ Q W_Q (K W_K)^\\top = Q W_Q W_Q^\\top K^\\top $$\n"
    (step,) = check_document(text, as_read=True).steps
    assert step.verdict is Verdict.UNDECIDED


@pytest.mark.parametrize(
    "formula",
    [
        r"\sum_{i=1}^n (x_i - \bar{x})^2 = \sum_{i=1}^n x_i^2 - n \bar{x}^2",  # a mean
        r"|z|^2 = z \bar{z}",  # or a conjugate
        r"\|y - \hat{y}\|^2 = \|y\|^2 - \|\hat{y}\|^2",  # a projection
        r"A A^+ A = A",
        r"e^{i x} + y = \cos x + i \sin x + y",
        r"(a + b i) (a - b i) = a^2 + b^2",
        r"\nabla^2 (f g) = f \nabla^2 g + 2 \nabla f \cdot \nabla g + g \nabla^2 f",
        r"|A \cup B| + |A \cap B| = |A| + |B|",
        r"F_{n+1} F_{n-1} = F_n (F_n + 1) - F_n + x - x",
        r"(2 T_n + n) n = n^3 + 2 n^2",
        r"\epsilon_{ijk} \epsilon_{imn} = \delta_{jm} \delta_{kn} - \delta_{jn} \delta_{km}",
        r"\frac{1}{n} \sum_i (x_i - \mu) = \frac{1}{n} \sum_i x_i - \mu",  # n may be how many there are
        r"1000 x \text{m} = x \text{km} + 0 \text{m}",
    ],
)
def test_names_that_say_more_than_a_domain_are_not_confirmed(formula: str) -> None:
    for step in check_document(f"$$ {formula} $$\n", as_read=True).steps:
        assert step.verdict is not Verdict.REFUTED, step.evidence.text


def test_the_step_itself_stays_as_it_was() -> None:
    (step,) = steps_of("$$ u + v = v + u $$\n", infer=True)[0]
    assert isinstance(step, Step)
    confirmed = confirm_readings(step)
    assert confirmed is not None and not confirmed.context.inferred and step.context.inferred


CENTRE = "We centre a vector: $\\mu = \\frac{1}{d} \\sum_{i=1}^d x_i$ is its mean."


@pytest.mark.parametrize(
    "words",
    [
        CENTRE,
        "# One\n\nLet $d \\in \\mathbb{N}$.\n\n$$ d = d $$\n\n# Two\n\n" + CENTRE,
        "Let $x \\in \\mathbb{R}^d$ and $\\mu \\in \\mathbb{R}$.\n\n" + CENTRE,
    ],
)
def test_a_formula_of_the_prose_is_not_set_aside(words: str) -> None:
    """A step that holds as the prose defines its symbols is not refuted, and the message has the formula."""
    document = f"{words}\n\n$$ \\sum_{{i=1}}^d (x_i - \\mu)^2 = \\sum_{{i=1}}^d x_i^2 - d \\mu^2 $$\n"
    step = check_document(document, as_read=True).steps[-1]
    assert step.verdict is Verdict.UNDECIDED, step.evidence.text
    assert "\\mu = \\frac{1}{d} \\sum_{i=1}^d x_i" in step.evidence.text and "Assume" in step.evidence.text


def test_what_is_false_under_the_formulas_of_the_prose_too_is_refuted() -> None:
    document = f"{CENTRE}\n\n$$ \\sum_{{i=1}}^d (x_i - \\mu)^2 = \\sum_{{i=1}}^d x_i^2 + d \\mu^2 $$\n"
    (step,) = check_document(document, as_read=True).steps
    assert step.verdict is Verdict.REFUTED, step.evidence.text


@pytest.mark.parametrize(
    "words",
    [
        "Put $p := \\operatorname{entmax}(x)$.",
        "Let $x \\in \\mathbb{R}^n$. Define $p_i := \\operatorname{entmax}(x)_i$.",
        "The projection onto the simplex is $p = \\arg\\min_q \\|q - x\\|^2$.",
    ],
)
def test_a_symbol_whose_definition_was_not_read_is_not_confirmed(words: str) -> None:
    document = f"{words}\n\n$$ 2 \\sum_{{i=1}}^n p_i^2 + \\sum_{{i=1}}^n p_i = 1 + 2 \\|p\\|^2 $$\n"
    step = check_document(document, as_read=True).steps[-1]
    assert step.verdict is Verdict.UNDECIDED, step.evidence.text


def test_a_declaration_that_was_not_read_leaves_a_step_of_its_symbols_open() -> None:
    found = [
        check_document(f"Suppose $a \\prec 0 < b$.\n\n$$ {one} $$\n", as_read=True).steps[-1].verdict
        for one in ("|a| + |b| = b - a", "(c + 1)^2 = c^2 + c + 1")
    ]
    assert found == [Verdict.UNDECIDED, Verdict.REFUTED]


@pytest.mark.parametrize(
    "formula", [r"\frac{1}{6} (20 \pm \sqrt{100}) = \frac{1}{3} (10 \pm 5)", r"a \frobs b = b \frobs c"]
)
def test_a_command_that_nothing_defines_confirms_nothing(formula: str) -> None:
    (step,) = check_document(f"# Zeros\n\n$$ {formula} $$\n", infer=True, as_read=True).steps
    assert step.verdict not in ("REFUTED", "PROVED") and not step.likely_slip
