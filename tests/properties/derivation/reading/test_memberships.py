"""An array W and a symbol W_1 of its own are not declared together: below, W_1 could be either."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document

SIZES = "Let $n \\in \\mathbb{N}$ and "


@pytest.mark.parametrize("infer", [False, True])
@pytest.mark.parametrize(
    "words, step",
    [("$W_1, W_2, X \\in \\mathbb{R}^{n \\times n}$. Put $W := W_1 + W_2$.", "X W = X W_1 + X W_2"),
     ("$v_1, v_2 \\in \\mathbb{R}^n$. Put $v := v_1 + v_2$.", r"\|v\|^2 = \|v_1\|^2 + 2 v_1^\top v_2 + \|v_2\|^2"),
     ("$v_1, v_2 \\in \\mathbb{R}^n$. Put $v := v_1 + v_2$.", r"\|v_1\| \le \|v\|"),
     ("$W, X \\in \\mathbb{R}^{n \\times n}$. Let $W_1, W_2 \\in \\mathbb{R}^{n \\times n}$ with $W = W_1 + W_2$.",
      "X W = X W_1 + X W_2"),
     ("$A_1, A_2 \\in \\mathbb{R}^{n \\times n}$. Let $A \\in \\mathbb{R}^{n \\times n}$ with $A = A_1 A_2$.",
      r"\operatorname{tr}(A) = \operatorname{tr}(A_2 A_1)")],
)  # fmt: skip
def test_nothing_is_judged_where_a_part_is_a_symbol(words: str, step: str, *, infer: bool) -> None:
    declared, found = check_document(f"{SIZES}{words}\n\n$$ {step} $$\n", infer=infer).steps
    assert declared.verdict == "UNREADABLE" and "part of" in declared.evidence.text
    assert found.verdict in ("UNDECIDED", "UNREADABLE")


def test_a_number_has_no_parts() -> None:
    text = "Let $s_1, s_2 \\in \\mathbb{R}$ and put $s := s_1 + s_2$.\n\n$$ s^2 = s_1^2 + 2 s_1 s_2 + s_2^2 $$\n"
    assert [step.verdict for step in check_document(text).steps] == ["PROVED"]


def test_a_label_is_not_a_part() -> None:
    words = "$W_Q, W_K, X \\in \\mathbb{R}^{n \\times n}$. Put $W := W_Q W_K^\\top$."
    (found,) = check_document(f"{SIZES}{words}\n\n$$ X W X^\\top = (X W_Q)(X W_K)^\\top $$\n").steps
    assert found.verdict == "PROVED"


@pytest.mark.usefixtures("searched")
@pytest.mark.parametrize(
    "head, step, wrong",
    [
        (r"Let $x > 0$ and $x \in \mathbb{R}$.", "|x| = x", "|x| = -x"),
        (r"Let $x \in \mathbb{R}$. Let $x > 0$ and $x \in \mathbb{R}$.", "|x| = x", "x > 1"),
        (r"For $x > 0$ with $x \in \mathbb{R}$, we have", "|x| = x", "x > 1"),
        (r"Let $n \le 20$ and $n \in \mathbb{N}$.", r"n^2 \le 400", r"n^2 \le 399"),
        (r"For $n \le 20$, $n \in \mathbb{N}$, we have", r"n^2 \le 400", r"n^2 \le 399"),
    ],
)
def test_what_a_sentence_assumes_before_it_says_where_a_symbol_lives_is_kept(head: str, step: str, wrong: str) -> None:
    found = [check_document(f"{head}\n\n$$ {one} $$\n").steps[-1].verdict for one in (step, wrong)]
    assert found[0] in ("PROVED", "EXACT") and found[1] == "REFUTED"


def test_a_sentence_below_declares_anew() -> None:
    assert check_document("Let $x > 0$. Let $x \\in \\mathbb{R}$.\n\n$$ |x| = x $$\n").steps[-1].verdict == "REFUTED"


@pytest.mark.parametrize(
    "head, right, wrong",
    [
        (r"Let $x \ne 0$ be a vector in $\mathbb{R}^n$.", r"x^\top x > 0", r"x x^\top = x^\top x"),
        (r"Let $A \ne 0$ be a matrix in $\mathbb{R}^{n \times n}$.", r"\|A\|_F > 0", r"\operatorname{tr}(A) \ne 0"),
    ],
)
def test_a_bound_before_the_words_does_not_make_an_array_a_number(head: str, right: str, wrong: str) -> None:
    found = [check_document(f"{head}\n\n$$ {one} $$\n", infer=True).steps[-1].verdict for one in (right, wrong)]
    assert found[0] == "AGREES" and found[1] == "REFUTED"


@pytest.mark.parametrize(
    "head",
    [
        r"Let $x \ne 0$ be a vector.", "Let $0 < x < 1$ be a column vector.", r"Let $x \ne 0$ be in $\mathbb{R}^n$.",
        r"For every $x \ne 0$ in $\mathbb{R}^n$ we have", r"Let $x \ne 0$ and $y \ne 0$ be vectors in $\mathbb{R}^n$.",
        r"Fix $x \ne 0$, a vector in $\mathbb{R}^n$.", r"Let $x, y \ne 0$ be queries and keys.",
        r"Let $0 < x < 1$ and $x \in \mathbb{R}^n$.", r"Consider $x \ge 0$, $x \in \mathbb{R}^n$.",
    ],
)  # fmt: skip
def test_an_array_without_its_length_is_no_number(head: str) -> None:
    found = check_document(f"{head}\n\n$$ x x^\\top = x^\\top x $$\n", infer=True).steps[-1]
    assert found.verdict in ("UNDECIDED", "UNREADABLE")
    assert check_document("Let $x > 0$ be the key size.\n\n$$ |x| = x $$\n").steps[-1].verdict == "PROVED"
    text = "Let $x > 0$ and $y \\in \\mathbb{R}^n$ be a vector.\n\n$$ |x| \\, \\|y\\| = \\|x y\\| $$\n"
    assert check_document(text, infer=True).steps[-1].verdict in ("EXACT", "AGREES", "PROVED")
    assert check_document("Let $x > 0$ be a number of vectors.\n\n$$ |x| = x $$\n").steps[-1].verdict == "PROVED"


@pytest.mark.parametrize("infer", [False, True])
@pytest.mark.parametrize("words", ["Let $x \\ne 0$.", "Let $x \\ne 0$ be the input.", "Suppose $x \\neq 0$."])
def test_what_is_not_zero_may_be_a_vector_where_it_is_transposed(words: str, *, infer: bool) -> None:
    *_, found = check_document(f"{words}\n\n$$ x x^\\top = x^\\top x $$\n", infer=infer).steps
    assert found.verdict in ("UNDECIDED", "UNREADABLE") and "says only that it is not 0" in found.evidence.text
    *_, found = check_document(f"{words}\n\n$$ x / x = 1 $$\n", infer=infer).steps
    assert found.verdict == "PROVED"
    *_, found = check_document("Let $x > 0$.\n\n$$ x x^\\top = x^\\top x $$\n", infer=infer).steps
    assert found.verdict == "PROVED"


def test_an_array_with_the_name_of_its_size_is_not_read() -> None:
    """It ended in an internal error: the array took the place of the size."""
    declared, found = check_document("Let $q \\in \\mathbb{R}^q$.\n\n$$ \\|q\\|^2 = q^\\top q $$\n", infer=True).steps
    assert declared.verdict == "UNREADABLE" and "its size at once" in declared.evidence.text
    assert "internal error" not in found.evidence.text
