"""Indices that are missing, and indicators of indices.

Kronecker's delta and indicators are read; an entry whose index nothing declares is never made a number of its own.
The advice that a message gives is followed in a test: it must not turn a true statement into a refuted one.
"""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document

HEAD = (
    "Let $n \\in \\mathbb{N}$, $a, b \\in \\mathbb{R}$, $p, x \\in \\mathbb{R}^n$, $p_k \\ge 0$ for all $k \\in [n]$ and "
    "$\\mathbf{1}_n^\\top p = 1$. Let $v_1, \\dots, v_n \\in \\mathbb{R}^n$. Put $J := \\operatorname{diag}(p) - p p^\\top$."
)
GOOD = ("PROVED", "EXACT", "AGREES")


def outcomes(formula: str, more: str = "", before: str = HEAD) -> list[tuple[str, str]]:
    """Verdict and evidence of every step, after the declarations."""
    report = check_document(f"{before}\n\n{more}\n\n$$ {formula} $$\n")
    return [(str(step.verdict), step.evidence.text) for step in report.steps]


def test_an_entry_with_an_undeclared_index_names_the_index() -> None:
    formula = r"\sum_j |J_{ij}| = 2 p_i (1 - p_i)"
    ((verdict, words),) = outcomes(formula)
    assert verdict == "UNREADABLE" and words.startswith("i is not declared: write") and "\\dots, n" in words
    assert "\\mathbb{R}" not in words
    for more, behind in (("", r"\quad \text{for all } i"), (r"Let $i \in \{1, \dots, n\}$.", "")):
        ((verdict, words),) = outcomes(formula + behind, more)
        assert verdict in GOOD, words


@pytest.mark.parametrize("formula", ["x_i = x_i", "v_i = v_i", "J_{i} = J_{i}", "x_{i+1} = x_i", r"\delta_{ij} = 1"])
def test_the_missing_index_is_what_is_named(formula: str) -> None:
    ((verdict, words),) = outcomes(formula)
    assert verdict == "UNREADABLE" and ("i is not declared" in words or "'Let $i \\in" in words)


@pytest.mark.parametrize("declared", [r"J_{ij} \in \mathbb{R}", r"x_i \in \mathbb{R}", r"v_i \in \mathbb{R}^n"])
def test_an_entry_of_what_is_known_is_no_symbol_of_its_own(declared: str) -> None:
    used = declared.split(" ")[0]
    found = outcomes(f"{used} = 2 {used}", f"Let ${declared}$.")
    assert [verdict for verdict, _ in found] == ["UNREADABLE", "UNREADABLE"]
    assert "(line 1), not a symbol of its own" in found[0][1]


def test_a_number_is_no_entry_of_an_array_that_is_declared_after_it() -> None:
    ((verdict, words),) = outcomes("z_i = 3", r"Let $z_i \in \mathbb{R}$. Let $z \in \mathbb{R}^n$.")
    assert verdict == "UNREADABLE" and "give one of them another name" in words


def test_a_subscript_that_is_a_label_still_names_a_symbol() -> None:
    for formula, more in (
        ("J_k x = J_k x", r"Let $J_k \in \mathbb{R}^{n \times n}$."),
        (r"x_{\text{top}} a = a x_{\text{top}}", r"Let $x_{\text{top}} \in \mathbb{R}$."),
    ):
        ((verdict, words),) = outcomes(formula, more)
        assert verdict in GOOD, words


@pytest.mark.parametrize(
    "formula",
    [
        r"J_{ij} = p_i (\delta_{ij} - p_j)",
        r"J_{ij} = p_i (\delta_{i,j} - p_j)",
        r"J_{ij} = p_i (\mathbf 1[i = j] - p_j)",
        r"J_{ij} = p_i (\mathbb{1}_{i = j} - p_j)",
        r"J_{ij} = p_i (\mathbb{1}\{i = j\} - p_j)",
        r"\sum_k \delta_{ik} x_k = x_i",
        r"\mathbf{1}[i \ne j] = 1 - \delta_{ij}",
        r"\mathbf{1}[i < j] + \mathbf{1}[i > j] + \delta_{ij} = 1",
        r"\delta_{ij} = (I_n)_{ij}",
        r"\delta_{11} + \delta_{12} = 1",
    ],
)
def test_indicators_of_indices_are_read(formula: str) -> None:
    ((verdict, words),) = outcomes(formula, "Let $i, j \\in [n]$.")
    assert verdict in GOOD, words


@pytest.mark.parametrize("formula", [r"\sum_k \delta_{ik} x_k = 2 x_i", r"\delta_{ij} = 1", r"\mathbf{1}[i = j] = 0"])
def test_a_wrong_value_of_an_indicator_is_refuted(formula: str) -> None:
    ((verdict, words),) = outcomes(formula, "Let $i, j \\in [n]$.")
    assert verdict == "REFUTED", words


@pytest.mark.parametrize(
    ("formula", "verdict"),
    [
        (r"\mathbf{1}[a < b] = 1", "REFUTED"),
        (r"\mathbf{1}[a < b] + \mathbf{1}[b \le a] = 1", "AGREES"),
        (r"\mathbf{1}[a \le b] = \mathbf{1}[a < b]", "REFUTED"),  # where they are equal
        (r"\mathbf{1}[a \ge b] \mathbf{1}[a \le b] = \mathbf{1}[a = b]", "AGREES"),
        (r"\mathbf{1}[a \ne b] = 1 - \mathbf{1}[a = b]", "PROVED"),
        (r"\mathbf{1}[0 < a < b] \le \mathbf{1}[0 < b]", "AGREES"),
    ],
)
def test_an_indicator_compares_numbers(formula: str, verdict: str) -> None:
    assert [one for one, _ in outcomes(formula)] == [verdict]


def test_an_indicator_of_arrays_is_not_understood() -> None:
    ((verdict, words),) = outcomes(r"\mathbf{1}[x < y] = 1", r"Let $x, y \in \mathbb{R}^3$.")
    assert verdict == "UNREADABLE" and "compares numbers" in words


def test_a_letter_before_a_bracket_is_a_function_or_a_number() -> None:
    ((verdict, words),) = outcomes("h(a + 1) = h(a) + 1")
    assert verdict == "UNREADABLE" and "'Put $h(t) := ...$'" in words
    ((verdict, words),) = outcomes("f(a + 1) = f a + f", r"Let $f \in \mathbb{R}$.")
    assert verdict == "UNREADABLE" and "f \\cdot (a + 1)" in words
    for formula, more in (
        (r"f \cdot (a + 1) = f a + f", r"Let $f \in \mathbb{R}$."),
        ("b f (a + 1) = b f a + f b", r"Let $f > 0$."),
        ("f(a + 1) = f(a) + 2", "Put $f(t) := 2 t$."),
        ("a(b + 1) = a b + a", ""),
    ):
        ((verdict, words),) = outcomes(formula, more)
        assert verdict in GOOD, words


def test_indices_may_be_declared_with_brackets() -> None:
    ((verdict, words),) = outcomes("x_i x_j = x_j x_i", "Let $i, j \\in [n]$.")
    assert verdict in GOOD, words


def test_a_fractional_subscript_is_refused() -> None:
    text = "Let $n \\in \\mathbb{N}$ and $x \\in \\mathbb{R}^n$.\n\n$$ x_{10.5} = x_1 $$\n"
    (found,) = check_document(text).steps
    assert "internal error" not in found.evidence.text and not found.passed
