"""Undeclared indices are those of the axis they stand at, and a step may be meant for some of them alone."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import GOOD, Verdict

SOFTMAX = "Let $z \\in \\mathbb{R}^n$ and $p = \\operatorname{softmax}(z)$.\n\n$$ %s $$\n"


@pytest.mark.parametrize(
    ("step", "verdict"),
    [
        (r"\frac{\partial p_i}{\partial z_j} = p_i (\delta_{ij} - p_j)", Verdict.EXACT),
        (r"\frac{\partial p_i}{\partial z_j} = p_j (\delta_{ij} - p_j)", Verdict.REFUTED),
        (r"\frac{\partial p_i}{\partial z_j} = p_i p_j", Verdict.REFUTED),
        (r"\frac{\partial p_i}{\partial z_j} = - p_i p_j", Verdict.AMBIGUOUS),  # for i \ne j
        (r"\frac{\partial p_i}{\partial z_j} = p_i (1 - p_j)", Verdict.AMBIGUOUS),  # for i = j
        (r"\sum_i p_i \log p_i \le -\log n", Verdict.REFUTED),
        (r"p_i \le \frac{1}{n}", Verdict.REFUTED),
        (r"p^\top \mathbf{1} = n", Verdict.REFUTED),
    ],
)
def test_verdicts(step: str, verdict: Verdict) -> None:
    found = check_document(SOFTMAX % step, infer=True).steps[-1]
    assert found.verdict is verdict, found.evidence.text


def test_what_is_meant_is_named() -> None:
    found = check_document(SOFTMAX % r"\frac{\partial p_i}{\partial z_j} = - p_i p_j", infer=True).steps[-1]
    assert r"\ne" in found.evidence.text and "alone" in found.evidence.text


def test_other_undeclared_symbols_refute_nothing() -> None:
    found = check_document(SOFTMAX % r"p_i \le \frac{w}{n}", infer=True).steps[-1]
    assert found.verdict is Verdict.UNDECIDED


def test_a_domain_that_a_sentence_states_is_certain() -> None:
    text = "For $a, b \\in \\mathbb{R}$ we have:\n\n$$ \\max(a, b) \\ge \\log(e^a + e^b) $$\n"
    assert check_document(text, infer=True).steps[-1].verdict is Verdict.REFUTED
    positive = "For $a, b \\in \\mathbb{R}$ that are positive we have:\n\n$$ a b \\ge 0 $$\n"
    assert check_document(positive, infer=True).steps[-1].verdict is not Verdict.REFUTED


@pytest.mark.parametrize("step", [r"x_{t+1} = x_t - \eta g_t", r"x_{k+1} = x_k - \eta g_k", r"x_t = \eta g_t"])
def test_iterates_of_a_vector_are_not_its_entries(step: str) -> None:
    text = f"Let $x, g \\in \\mathbb{{R}}^n$ and $\\eta > 0$.\n\n$$ {step} $$\n"
    assert check_document(text, infer=True).steps[-1].verdict is not Verdict.REFUTED


@pytest.mark.parametrize("words", ["For $i \\ne j$,", "If $i \\neq j$, then", "Second, for $i \\ne j$ we have:"])
def test_words_in_front_of_a_display_say_for_which_indices_it_is_meant(words: str) -> None:
    text = SOFTMAX.replace("$$ %s", f"{words}\n\n$$ %s")
    right = check_document(text % r"\frac{\partial p_i}{\partial z_j} = - p_i p_j", infer=True).steps[-1]
    wrong = check_document(text % r"\frac{\partial p_i}{\partial z_j} = p_i p_j", infer=True).steps[-1]
    assert right.verdict in GOOD and wrong.verdict in (Verdict.REFUTED, Verdict.UNDECIDED), right.evidence.text


def test_other_words_do_not() -> None:
    text = SOFTMAX.replace("$$ %s", "The case $i = j$ was above.\n\n$$ %s")
    found = check_document(text % r"\frac{\partial p_i}{\partial z_j} = p_i (1 - p_j)", infer=True).steps[-1]
    assert found.verdict not in GOOD


@pytest.mark.parametrize(
    ("formula", "verdict"),
    [
        (r"\sum_{i=1}^n \varianceof{X_i} = n \varianceof{X_i}", "UNDECIDED"),  # the index runs
        (r"\sum_{i=1}^n \varianceof{X_{i j}} = n \varianceof{X_{i j}}", "UNDECIDED"),
        (r"\sum_{i=1}^n \varianceof{X_k} = n \varianceof{X_k}", "PROVED"),
        (r"\sum_{i=1}^n \varianceof{X} = n \varianceof{X}", "PROVED"),
    ],
)
def test_an_index_in_a_command_that_nothing_defines_may_run(formula: str, verdict: str) -> None:
    assert check_document(f"$$ {formula} $$\n", infer=True).steps[-1].verdict == verdict


@pytest.mark.parametrize(
    ("formula", "verdict"),
    [
        (r"\lim_{n \to \infty} \frac{1}{n} H(X_1, \dots, X_n) = 0", "UNDECIDED"),
        (r"\lim_{n \to \infty} \frac{1}{n} f(n) = 0", "UNDECIDED"),
        (r"\lim_{n \to \infty} \frac{1}{n} R_n = 0", "UNDECIDED"),
        (r"\lim_{n \to \infty} \frac{1}{n} g(x) = 0", "AGREES"),
        (r"\lim_{n \to \infty} (1 + \frac{x}{n})^n = e^x", "AGREES"),
    ],
)
def test_what_nothing_defines_may_move_with_a_limit(formula: str, verdict: str) -> None:
    step = check_document(f"$$ {formula} $$\n", infer=True).steps[-1]
    assert step.verdict == verdict and ("depends on n" in step.evidence.text) is (verdict == "UNDECIDED")


def test_it_may_move_where_a_comment_says_what_tends() -> None:
    for value, verdict in (("R_n", "UNDECIDED"), ("R", "AGREES")):
        text = f"% as: n \\to \\infty\n$$ \\frac{{{value}}}{{n}} \\approx 0 $$\n"
        assert check_document(text, infer=True).steps[-1].verdict == verdict
