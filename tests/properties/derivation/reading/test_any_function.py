"""Steps about any differentiable or convex function: they agree at best, and what refutes them is one function."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import Verdict

DECLARED = r"Let $f : \mathbb{R} \to \mathbb{R}$ be %s and $x, y, a \in \mathbb{R}$."
SMOOTH = [
    (r"\frac{d}{dx} f(a x) = a f'(a x)", True),
    (r"\frac{d}{dx} f(x)^2 = 2 f(x) f'(x)", True),
    (r"\frac{d}{dx} f'(x) = f''(x)", True),
    (r"f(x) + f(y) = f(y) + f(x)", True),
    (r"\frac{d}{dx} f(a x) = f'(a x)", False),
    (r"f(x + y) = f(x) + f(y)", False),
    (r"f'(x) \ge 0", False),
    (r"\frac{d}{dx} \frac{d}{dx} f''(x) = 0", False),  # true of polynomials of degree 3
    (r"\frac{d}{dx} f''(x) = \frac{d}{dx} \frac{d}{dx} f''(x)", False),  # true of polynomials and e^t
]
CONVEX = [
    (r"f\left(\frac{x + y}{2}\right) \le \frac{f(x) + f(y)}{2}", True),
    (r"f(y) \ge f(x) + f'(x) (y - x)", True),
    (r"f''(x) \ge 0", True),
    (r"f(x + a) + f(x - a) \ge 2 f(x)", True),
    (r"(f'(x) - f'(y)) (x - y) \ge 0", True),
    # true of sums of a square and exponentials, false of others
    (r"f(x + 2 a) - 4 f(x + a) + 6 f(x) - 4 f(x - a) + f(x - 2 a) \ge 0", False),
    (r"f''\left(\frac{x + y}{2}\right) \le \frac{f''(x) + f''(y)}{2}", False),
    (r"f''(x) f''(y) \ge f''\left(\frac{x + y}{2}\right)^2", False),
    (r"f\left(\frac{x + y}{2}\right) \ge \frac{f(x) + f(y)}{2}", False),
    (r"f(x) \ge 0", False),
    (r"f'(x) \ge 0", False),
]


def last(words: str, formula: str) -> tuple[Verdict, str]:
    found = check_document(f"{DECLARED % words}\n\n$$ {formula} $$\n").steps[-1]
    return found.verdict, found.evidence.text


@pytest.mark.parametrize(
    ("words", "formula", "right"),
    [("differentiable", *one) for one in SMOOTH] + [("convex", *one) for one in CONVEX],
)
def test_a_step_about_any_function_agrees_or_is_refuted_by_one(words: str, formula: str, right: bool) -> None:
    verdict, text = last(words, formula)
    assert verdict is (Verdict.AGREES if right else Verdict.REFUTED), text
    assert not right or "with f(t) = " in text


def test_words_that_restrict_the_function_further_are_not_passed_over() -> None:
    for words in ("increasing", "a bounded differentiable function", "Lipschitz", "differentiable and odd"):
        assert last(words, r"f(x) \le f(x + 1)")[0] is not Verdict.REFUTED
    assert last("a twice continuously differentiable function", r"f(x) \le f(x + 1)")[0] is Verdict.REFUTED


def test_a_display_that_says_which_function_it_is_is_not_refuted() -> None:
    for formula in (r"f(x) = x^2", r"f(0) = 1", r"x^2 + 1 = f(x)"):
        assert last("smooth", formula)[0] is Verdict.UNDECIDED, formula


def test_hypotheses_about_its_values_hold_of_the_functions_that_are_tried() -> None:
    text = DECLARED % "differentiable" + " Assume $f(0) = 0$.\n\n$$ f(0) + x = x $$\n\n$$ f(1) + x = x $$\n"
    right, wrong = check_document(text).steps
    assert right.verdict is Verdict.AGREES and wrong.verdict is Verdict.REFUTED


def test_what_the_tried_functions_do_not_decide_is_not_accepted() -> None:
    """The second derivatives that are tried never fall faster than they curve; others do."""
    formula = r"f''(x) f''(y) + 3 (f''(x) - f''(y))^2 (1 + x^2 + y^2)^3 \ge - f''(a)"
    assert last("convex", formula)[0] is Verdict.AGREES
    assert last("convex", r"f''(x) \le f''(y) (1 + (x - y)^2)^3 + f''(a) (1 + (a - x)^2)^3 + 3 |x - y|")[0] is not (
        Verdict.AGREES
    )


@pytest.mark.parametrize("words", ["strictly convex", "non-decreasing", "bounded", "monotone"])
@pytest.mark.parametrize("step", [r"f''(x) \ge 0", r"f'(x) \ge 0"])
def test_words_of_a_function_that_are_not_read_may_be_about_its_derivatives(words: str, step: str) -> None:
    text = (
        f"Let $f : \\mathbb{{R}} \\to \\mathbb{{R}}$ be {words} and $x \\in \\mathbb{{R}}$.\n\nThen\n\n$$ {step} $$\n"
    )
    assert check_document(text).steps[-1].verdict is Verdict.UNDECIDED


def test_each_of_two_words_that_and_joins_is_read() -> None:
    text = "Let $f : \\mathbb{R} \\to \\mathbb{R}$ be smooth and convex and $x \\in \\mathbb{R}$.\n\nThen\n\n$$ %s $$\n"
    assert check_document(text % r"f''(x) \ge 0").steps[-1].verdict is Verdict.AGREES
    assert check_document(text % r"f'(x) \ge 0").steps[-1].verdict is Verdict.REFUTED
