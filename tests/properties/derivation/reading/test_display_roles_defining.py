"""A display may define what the text below goes on with; cases and rows that go on are no claims of their own."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document

X = "Let $d \\in \\mathbb{N}$, $x \\in \\mathbb{R}^d$."
SLOPE = "\n\nThen\n\n$$ \\frac{\\partial L}{\\partial x} = x $$\n"
LOSS = "\n\n$$ L = \\frac12 x^\\top x $$"


@pytest.mark.parametrize("declared", ["", " Let $L \\in \\mathbb{R}$."])
def test_a_display_defines_what_is_free_and_used_below(declared: str) -> None:
    report = check_document(X + declared + LOSS + SLOPE)
    assert [str(step.verdict) for step in report.steps] == ["PROVED"]
    assert any(text.startswith("defined by the display") for _, text in report.understood)
    (wrong,) = check_document(X + declared + LOSS + SLOPE.replace("= x", "= 2 x")).steps
    assert wrong.verdict == "REFUTED"


def test_a_chain_defines_by_its_first_equation_and_claims_the_rest() -> None:
    chain = "\n\n$$ L = \\frac12 x^\\top x = \\frac12 \\|x\\| $$"
    assert [str(s.verdict) for s in check_document(X + chain + SLOPE).steps] == ["REFUTED", "PROVED"]


@pytest.mark.parametrize(
    "declared", [" Let $L > 0$.", " Let $L \\in \\mathbb{R}$ with $L = 1$.", " Put $L := x^\\top x$."]
)
def test_what_is_determined_already_is_claimed(declared: str) -> None:
    assert check_document(X + declared + LOSS + "\n\n$$ L + 1 = 1 + L $$\n").steps[0].verdict == "REFUTED"


def test_what_is_not_used_below_is_not_defined() -> None:
    assert [str(s.verdict) for s in check_document(X + LOSS + "\n").steps] == ["UNREADABLE"]


def test_a_slope_of_what_is_given_by_an_equation_is_not_refuted() -> None:
    text = X + " Let $L \\in \\mathbb{R}$ with $L = \\frac12 x^\\top x$." + SLOPE
    (step,) = check_document(text).steps
    assert step.verdict == "UNDECIDED" and "write 'Put $L := ...$'" in step.evidence.text


ROWS = "Let $a, b, c \\in \\mathbb{R}$.\n\n$$\\begin{aligned} ROWS \\end{aligned}$$\n"


@pytest.mark.parametrize(
    "rows",
    [
        "a + b - c &= b + a \\\\ &\\qquad - c",
        "a + b - c &= b + a \\\\ &\\quad {} - c \\\\ &= b - c + a",
        "a + b - c &= b + a \\\\ & - c = b - c + a",
        "a + b + c &= b + a \\\\ &\\quad + c",
    ],
)
def test_rows_go_on_behind_room(rows: str) -> None:
    assert check_document(ROWS.replace("ROWS", rows)).passed
    wrong = check_document(ROWS.replace("ROWS", rows.replace("c", "2 c", 1))).steps
    assert "REFUTED" in [str(step.verdict) for step in wrong]


KEYS = (
    "Let $n \\in \\mathbb{N}$, $k_1, \\dots, k_n \\in \\mathbb{R}^n$ with $k_i^\\top k_j = 0$ for $i \\ne j$. "
    "Let $i, j \\in \\{1, \\dots, n\\}$ and $s \\in \\mathbb{R}$.\n\n"
)


@pytest.mark.thorough(leave_out=("*verdicts3",))
@pytest.mark.parametrize(
    ("formula", "verdicts"),
    [
        (r"k_i^\top k_j = 0, \quad i \ne j", ["AGREES"]),
        (r"k_i^\top k_j = 0 \quad (i \ne j)", ["AGREES"]),
        (r"k_i^\top k_j = \|k_i\|^2, \quad i = j", ["AGREES"]),
        (r"k_i^\top k_j = 1 + \|k_i\|^2, \quad i = j", ["REFUTED"]),
        (r"|s| = s, \quad s > 0", ["UNDECIDED", "UNDECIDED"]),
        (r"|s| = -2 s - 1, \quad s > 0", ["REFUTED", "UNDECIDED"]),
        (r"|s| \ge s, \quad s^2 \ge 0", ["AGREES", "PROVED"]),
        (r"|s| = s \quad (s > 0)", ["UNREADABLE"]),
        (r"|s| = s \quad \text{if } s > 0", ["PROVED"]),
    ],
)
def test_a_case_beside_a_statement_is_its_condition(formula: str, verdicts: list[str]) -> None:
    assert [str(step.verdict) for step in check_document(f"{KEYS}$$ {formula} $$\n").steps] == verdicts


@pytest.mark.parametrize(
    ("formula", "verdict"),
    [(r"X^TX = X^\top X", "PROVED"), (r"y^Ty = \|y\|^2", "PROVED"), (r"\|X\|^2 = \sum_{i,j} X^2_{ij}", "PROVED"),
     (r"y^Ty = 2 \|y\|^2", "REFUTED"), (r"\|X\|^2 = 2 \sum_{i,j} X^2_{ij}", "REFUTED")],
)  # fmt: skip
def test_scripts_are_read_as_they_are_printed(formula: str, verdict: str) -> None:
    head = "Let $n, d \\in \\mathbb{N}$, $X \\in \\mathbb{R}^{n \\times d}$, $y \\in \\mathbb{R}^n$.\n\n"
    assert check_document(f"{head}$$ {formula} $$\n").steps[0].verdict == verdict
