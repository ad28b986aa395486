"""attention_core.derivation.decision.out_of_date: a display may give a symbol a new value."""

from __future__ import annotations

from typing import Any

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.decision import out_of_date
from attention_core.derivation.records import Verdict

FIRST = "The first vector is\n\n$$ v_1 = \\begin{pmatrix} 1 \\\\ -1 \\end{pmatrix} $$\n\n"
STEP = "The axes are\n\n$$ %s c v_1 = c \\begin{pmatrix} 2 \\\\ -1 \\end{pmatrix} $$\n"


def check(between: str, promise: str = "") -> str:
    return str(check_document(f"{promise}{FIRST}{between}{STEP % ''}", infer=True).steps[-1].verdict)


@pytest.mark.parametrize(
    ("between", "verdict"),
    [
        ("", "REFUTED"),
        ("They are found to be\n\n$$ v_1 = \\begin{pmatrix} 2 \\\\ -1 \\end{pmatrix} $$\n\n", "UNDECIDED"),
        ("As above,\n\n$$ v_1 = \\begin{pmatrix} 1 \\\\ -1 \\end{pmatrix} $$\n\n", "REFUTED"),  # the same value
        ("They are found to be\n\n$$ v_2 = \\begin{pmatrix} 2 \\\\ -1 \\end{pmatrix} $$\n\n", "REFUTED"),
    ],
)
def test_a_value_that_another_display_may_have_replaced_refutes_nothing(between: str, verdict: str) -> None:
    assert check(between) == verdict


def test_no_likely_slip_rests_on_a_value_that_may_be_old() -> None:
    between = "They are found to be\n\n$$ v_1 = \\begin{pmatrix} 2 \\\\ -1 \\end{pmatrix} $$\n\n"
    step = check_document(f"{FIRST}{between}{STEP % ''}", infer=True).steps[-1]
    assert not step.likely_slip and str(step.verdict) == "UNDECIDED"


@pytest.mark.parametrize(
    "words",
    [
        "The loss is $L = a + b$ in training and $L = a$ in testing.",
        "We start with $L = a + b$. Then we replace $L$ by $L = a - b$.",
        "One might be tempted to set $L = a + b$. Here\n\n$$ L = a - b $$",
        "# First\n\nLet $L = a + b$.\n\n# Second\n\nNow $L$ has a penalty: $L = a + b + c$.",
        "In contrast to others, where $L = a + b$, here we look at $L = a b$.",
        "Let $a, b \\in \\mathbb{R}$. The loss is $L = a + b$ in training and $L = a$ in testing.",
    ],
)
@pytest.mark.parametrize("step", ["2 L = 2 a + 2 b", "3 L = 2 a + 2 b"])
@pytest.mark.parametrize("as_read", [False, True])
def test_a_symbol_with_two_values_has_neither(words: str, step: str, as_read: bool) -> None:
    found = check_document(f"{words}\n\n$$ {step} $$\n", infer=True, as_read=as_read).steps[-1]
    assert str(found.verdict) == "UNDECIDED", found.evidence.text


@pytest.mark.parametrize(
    "words",
    [
        "The loss is $L = a + b$, and so $L = b + a$.",  # the same value
        "The loss is $L = a + b$. If $b = 0$, it is $L = a$.",  # in a case
        "# First\n\nLet $L = a - b$.\n\n# Second\n\nLet $L = a + b$.",  # the newer one
        "Let $f(x) = x + 1$. Then $f(x) = 1 + x$, and let $L = a + b + f(a) - f(a)$.",
        "Let $A \\in \\mathbb{R}^{n \\times n}$, $u \\in \\mathbb{R}^n$ and $a, b \\in \\mathbb{R}$. Put $f(x) := x^\\top A x$ "
        "and $L = a + b + f(u) - f(u)$.",
    ],
)
def test_a_value_that_follows_from_the_first_is_not_another_one(words: str) -> None:
    found = check_document(f"{words}\n\n$$ 2 L = 2 a + 2 b $$\n", infer=True).steps[-1]
    assert str(found.verdict) == "PROVED", found.evidence.text


def test_where_all_hypotheses_are_formulas_a_display_replaces_no_value() -> None:
    between = "They are found to be\n\n$$ v_1 = \\begin{pmatrix} 2 \\\\ -1 \\end{pmatrix} $$\n\n"
    assert check(between, "All hypotheses are declared as formulas.\n\n") == "REFUTED"


def test_a_display_that_gives_a_defined_symbol_a_number_says_so() -> None:
    text = f"{FIRST}They are found to be\n\n$$ v_1 = \\begin{{pmatrix}} 2 \\\\ -1 \\end{{pmatrix}} $$\n"
    step = check_document(text, infer=True).steps[-1]
    assert "it may give v_{1} a new value, after the one of line 3" in step.evidence.text


def test_a_display_that_cannot_be_read_gives_no_new_value() -> None:
    assert check("They are found to be\n\n$$ v_1 = \\frac{2 $$\n\n") == "REFUTED"


@pytest.mark.parametrize("as_read", [False, True])
def test_a_function_that_a_display_may_define_anew_is_neither_accepted_nor_refuted_by_the_old_one(
    as_read: bool,
) -> None:
    above = "The gate is $f(x) = \\max(0, x)$.\n\n$$ f(2) = 2 $$\n\n"
    text = f"{above}Now let\n\n$$ f(x) = x^2 $$\n\n$$ f(2) = 4 $$\n\n$$ f(3) = 3 $$\n"
    first, *rest = check_document(text, infer=True, as_read=as_read).steps
    assert first.verdict is Verdict.AGREES or first.verdict is Verdict.PROVED
    assert [step.verdict for step in rest] == [Verdict.UNDECIDED] * 3
    plain = f"{above}$$ f(2) = 4 $$\n"
    assert check_document(plain, infer=True, as_read=as_read).steps[-1].verdict is Verdict.REFUTED


def test_what_a_sentence_says_of_a_defined_symbol_is_decided_once(monkeypatch: pytest.MonkeyPatch) -> None:
    decided: list[str] = []
    follows = out_of_date._follows

    def count(*given: Any) -> bool:
        decided.append(given[1].formula)
        return follows(*given)

    monkeypatch.setattr(out_of_date, "_follows", count)
    text = (
        "Let $a, b \\in \\mathbb{R}$. Put $s := a + b$.\n\nNote that $s = b + a$.\n\n" + "$$ 2 s = 2 a + 2 b $$\n\n" * 4
    )
    assert all(step.passed for step in check_document(text, infer=True).steps) and len(decided) == 1
    section = "# Two\n\nPut $s := a - b$.\n\nWe have $s = b + a$.\n\n$$ 2 s = 2 a - 2 b $$\n"
    assert not check_document(text + section, infer=True).steps[-1].passed  # of another value it does not follow
