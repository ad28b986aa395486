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
