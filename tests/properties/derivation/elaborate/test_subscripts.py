"""Superscripts, and products that have two readings.

What stands above a letter: a power, a transpose, a label. T above a letter is a power where T is declared as a number.
What could be two of these is refused, with what to write instead.
"""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document

LETTERS = (
    "$x, \\gamma, \\beta \\in \\mathbb{R}$, $Q, K \\in \\mathbb{R}^{m \\times n}$, $A, B \\in \\mathbb{R}^{n \\times n}$, "
    "$u, v \\in \\mathbb{R}^{n}$"
)
DECLARED = f"Let $T, m, n \\in \\mathbb{{N}}$, {LETTERS}.\n\n"
BARE = f"Let $m, n \\in \\mathbb{{N}}$, {LETTERS}.\n\n"


def outcome(head: str, display: str) -> tuple[str, str]:
    (step,) = check_document(f"{head}$$ {display} $$\n").steps
    return str(step.verdict), step.evidence.text


@pytest.mark.parametrize("display", [r"\gamma^T = \gamma", r"\gamma^{T} = \gamma", r"\gamma^{-T} = \gamma", r"e^T = e"])
def test_a_declared_t_above_a_number_is_an_exponent(display: str) -> None:
    assert outcome(DECLARED, display)[0] == "REFUTED"
    verdict, words = outcome(BARE, display)
    assert verdict == "UNREADABLE" and "transposes a number" in words and "^\\top" in words


@pytest.mark.thorough(leave_out=("*sum*beta*",))
@pytest.mark.parametrize(
    "display",
    [r"\gamma^{T+1} = \gamma \gamma^T", r"\sum_{t=1}^T \beta^{T-t} = \sum_{t=1}^{T} \beta^{t-1}", r"\gamma^{-T} \gamma^T = 1",
     r"\prod_{t=1}^T \gamma = \gamma^T", r"(Q K^T)^\top = K Q^T", r"u^T v = v^\top u"],
)  # fmt: skip
def test_powers_and_transposes_with_a_declared_t(display: str) -> None:
    assert outcome(DECLARED, display)[0] in ("PROVED", "EXACT", "AGREES")


def test_t_above_a_matrix_is_a_transpose_unless_it_could_be_a_power() -> None:
    assert outcome(BARE, "(A B)^T = B^T A^T")[0] == "PROVED"
    assert outcome(BARE, "(A B)^T = B^T A^\\mathsf{T}")[0] == "PROVED"
    verdict, words = outcome(DECLARED, "(A B)^T = B^T A^T")
    assert verdict == "UNREADABLE" and "a transpose or a power" in words
    assert outcome(DECLARED, "(A B)^\\top = B^\\top A^\\top")[0] == "PROVED"
    array = "Let $T \\in \\mathbb{R}^{2 \\times 2}$.\n\n"
    assert outcome(array, "(T T)^T = T^T T^T")[0] == "PROVED"


def test_no_message_shows_a_name_of_the_reader() -> None:
    for display in (r"\sum_{t=1}^\top \beta = 1", r"\log^T(x) = 1"):
        verdict, words = outcome(DECLARED, display)
        assert verdict == "UNREADABLE" and "TRANS" not in words, words


@pytest.mark.parametrize("display", ["x^{(1)} x^{(2)} = x^3", "x^{[2]} = x^2", "x^{(n)} = x^n"])
def test_a_superscript_in_brackets_is_a_label(display: str) -> None:
    verdict, words = outcome(BARE, display)
    assert verdict == "UNREADABLE" and "it is a label" in words


def test_a_declared_label_is_a_symbol_of_its_own() -> None:
    head = "Let $x, x^{(1)}, x^{(2)} \\in \\mathbb{R}$.\n\n"
    assert outcome(head, "x^{(1)} x^{(2)} = x^{(2)} x^{(1)}")[0] == "PROVED"
    assert outcome(head, "x^{(1)} x^{(2)} = x^3")[0] == "REFUTED"
    assert outcome(BARE, "2^{(n)} = 2^n")[0] == "AGREES"
    assert outcome(BARE, "e^{(x)} = e^x")[0] == "PROVED"


@pytest.mark.parametrize("display", ["A * B = A B", r"A \ast B = A \odot B", r"A \times B = A B", "u * v = v * u"])
def test_a_star_between_matrices_has_two_readings(display: str) -> None:
    verdict, words = outcome(BARE, display)
    assert verdict == "UNREADABLE" and r"\odot" in words
    assert outcome(BARE, r"\gamma * A = A * \gamma")[0] == "PROVED"
    assert outcome(BARE, r"2 \times 3 * x = 6 x")[0] == "PROVED"


BESIDE = "Let $d, r, k \\in \\mathbb{N}$, $B \\in \\mathbb{R}^{d \\times r}$, $A \\in \\mathbb{R}^{r \\times k}$, $x \\in \\mathbb{R}^k$ and "


@pytest.mark.parametrize("names", ["W, W_0", "W_0, W"])
def test_a_zero_makes_another_symbol_of_the_same_shape(names: str) -> None:
    given = f"{BESIDE}${names} \\in \\mathbb{{R}}^{{d \\times k}}$ with $W = W_0 + B A$.\n\n"
    assert outcome(given, "W x = W_0 x + B A x")[0] == "EXACT"
    assert outcome(given, "W x = W_0 x - B A x")[0] == "REFUTED"
    assert outcome(given, "(W_0)_{1,1} + (B A)_{1,1} = W_{1,1}")[0] in ("PROVED", "EXACT", "AGREES")


def test_a_zero_below_vectors_of_one_length_makes_another_vector() -> None:
    given = "Let $n \\in \\mathbb{N}$ and $x, x_0 \\in \\mathbb{R}^n$.\n\n"
    assert outcome(given, "\\|x - x_0\\|^2 = \\|x\\|^2 - 2 x_0^\\top x + \\|x_0\\|^2")[0] == "PROVED"
    assert outcome(given, "\\|x_0\\| = \\|x\\|")[0] == "REFUTED"


@pytest.mark.parametrize("kind", [r"\mathbb{R}", r"\mathbb{R}^{n \times n}", r"\mathbb{R}^m"])
def test_a_zero_below_another_shape_may_be_a_part(kind: str) -> None:
    given = f"Let $m, n \\in \\mathbb{{N}}$, $x \\in \\mathbb{{R}}^n$ and $x_0 \\in {kind}$.\n\n"
    (about, _) = check_document(given + "$$ x = x $$\n").steps
    assert "x_{0} is a part of x, which is declared already" in about.evidence.text


def test_another_numeral_stays_a_part() -> None:
    given = f"{BESIDE}$W, W_1 \\in \\mathbb{{R}}^{{d \\times k}}$.\n\n"
    (about, _) = check_document(given + "$$ W = W $$\n").steps
    assert "W_{1} is a part of W, which is declared already" in about.evidence.text


def test_a_zero_that_is_not_declared_says_what_to_declare() -> None:
    verdict, words = outcome("Let $n \\in \\mathbb{N}$ and $x \\in \\mathbb{R}^n$.\n\n", "x_0 + x_1 = x_1 + x_0")
    assert verdict == "UNREADABLE"
    assert "x_{0} would be a part of x, whose parts count from 1" in words


def test_a_set_is_not_to_be_declared() -> None:
    verdict, words = outcome("Let $x \\in \\mathbb{R}$.\n\n", "x + \\mathbb{R} = x")
    assert verdict == "UNREADABLE" and words == r"\mathbb{R} is a set of numbers, and is understood behind \in alone"


def test_two_functions_of_each_other_are_no_endless_definition() -> None:
    text = r"Put $y(x) := \sqrt{1 - x^2}$ and $x(y) := \sqrt{1 - y^2}$."
    (step,) = check_document(f"{text}\n\n$$ y^2 + 1 = 2 $$\n").steps
    assert step.verdict == "UNREADABLE" and "y is a function: write y(x)" in step.evidence.text


@pytest.mark.parametrize(
    "display", ["A_{01} = A_{01}", "A_{00} = 1", "A_{0,1} = 1", "A_{10} = A_{20}", "A_{1,0} = 0", "u_{1} = A_{10}"]
)
def test_entries_that_count_from_zero_are_refused(display: str) -> None:
    verdict, words = outcome(BARE, display)
    assert verdict == "UNREADABLE" and "count from 1 here" in words


def test_a_zero_in_front_is_an_index() -> None:
    """`W_{01}` was W_1, a symbol of its own and row 1 of a matrix."""
    (step,) = check_document("$$ W_{01} + W_{1} = W_{1} + W_{1} $$\n", infer=True).steps
    assert str(step.verdict) == "UNDECIDED" and "as it was read it is false" in step.evidence.text
    assert "W_{0 1}" in step.evidence.text
    assert {outcome(BARE, f"{one} = {one}")[0] for one in ("A_{12,:}", "A_{11}")} <= {"PROVED", "AGREES"}
