"""A relation that stands anywhere near a step and is no hypothesis: the step is not REFUTED if it holds under it."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import StepReport

HEAD = "Let $x \\in \\mathbb{R}$."
PROMISE = "All hypotheses are declared as formulas."


def decide(*paragraphs: str) -> list[StepReport]:
    return list(check_document("\n\n".join(paragraphs) + "\n").steps)


BESIDE = (
    r"{} \text{{, since }} x \ge 0", r"\text{{Since }} x \ge 0, \quad {}", r"\begin{{aligned}} &{} && x \ge 0 \end{{aligned}}",
    r"\begin{{aligned}} {} \\ x \ge 0 \end{{aligned}}", r"x \ge 0, \qquad {}", r"{} \tag{{$x \ge 0$}}", r"{} \quad [x \ge 0]",
)  # fmt: skip


@pytest.mark.parametrize("inside", BESIDE)
def test_what_stands_in_the_display_is_tried(inside: str) -> None:
    found = decide(HEAD, f"$$ {inside.format(chr(92) + 'sqrt{x^2} = x')} $$")
    assert "REFUTED" not in [str(one.verdict) for one in found], inside
    false = decide(PROMISE, HEAD, f"$$ {inside.format(chr(92) + 'sqrt{x^2} = 2 x')} $$")
    assert "REFUTED" in [str(one.verdict) for one in false], inside


@pytest.mark.parametrize(
    "inside", [r"{}, \quad x \ge 0", r"{} \tag{{if $x \ge 0$}}", r"{} \tag{{x > 0}}", r"{} \qquad x \ge 0"]
)
def test_a_promise_covers_no_relation_in_the_row_of_a_step(inside: str) -> None:
    found = decide(PROMISE, HEAD, f"$$ {inside.format(chr(92) + 'sqrt{x^2} = x')} $$")
    assert [str(one.verdict) for one in found] == ["UNDECIDED"] * len(found), inside
    found = decide(PROMISE, HEAD, f"$$ {inside.format(chr(92) + 'sqrt{x^2} = 2 x')} $$")
    assert str(found[0].verdict) == "REFUTED", inside


def test_a_claim_of_a_promising_section_is_refuted_if_nothing_rests_on_it() -> None:
    found = decide(PROMISE, HEAD, "$$ x + 1 = x + 1 \\qquad x \\ge 0 $$")
    assert [str(one.verdict) for one in found] == ["PROVED", "REFUTED"]


@pytest.mark.parametrize(
    "words", ["Suppose, for the sake of argument, that $x \\ge 0$.", "Assume as in the lecture that $x \\ge 0$."]
)
def test_a_promise_covers_no_sentence_that_assumes(words: str) -> None:
    (step,) = decide(PROMISE, HEAD, words, "$$ \\sqrt{x^2} = x $$")
    assert str(step.verdict) == "UNDECIDED" and "x \\ge 0" in step.evidence.text, step.evidence.text
    (step,) = decide(PROMISE, HEAD, words, "$$ \\sqrt{x^2} = 2 x $$")
    assert str(step.verdict) == "REFUTED", step.evidence.text


@pytest.mark.parametrize(
    ("words", "display"),
    [
        ("This is [the case $x \\ge 0$](tied.md) of the result.", "\\sqrt{x^2} = x"),
        ("Recall $x = t^2$.", "\\sqrt{x^2} = x"),
        ("The number $x$ is taken from $[0, \\infty)$.", "\\sqrt{x^2} = x"),
        ("Here $x$ >= 0.", "\\sqrt{x^2} = x"),
        ("The value of $|x|$ = 1.", "x^2 = 1"),
        ("", "\\sqrt{x^2} = x \\quad\\text{on } [0, \\infty)"),
    ],
)
def test_a_promise_covers_no_formula_behind_a_declaration_and_none_that_ends_early(words: str, display: str) -> None:
    for between in (" ", "\n\n"):
        step = decide(PROMISE, f"Let $x, t \\in \\mathbb{{R}}$.{between}{words}", f"$$ {display} $$")[0]
        assert str(step.verdict) == "UNDECIDED", (between, step.evidence.text)
    step = decide(PROMISE, "Let $x, t \\in \\mathbb{R}$.", words, "$$ \\sqrt{x^2} = 2 x + 1 $$")[0]
    assert str(step.verdict) == "REFUTED", step.evidence.text


def test_a_promise_covers_no_words_between_two_symbols_in_html() -> None:
    (step,) = decide(PROMISE, HEAD, '<p title="sign">Here $x$ is at least $0$.</p>', "$$ \\sqrt{x^2} = x $$")
    assert str(step.verdict) == "UNDECIDED", step.evidence.text


@pytest.mark.parametrize("words", ["Suppose $x \\ge 0$ fails.", "Assume the contrary of $x \\ge 0$."])
def test_a_promise_covers_what_is_denied(words: str) -> None:
    (step,) = decide(PROMISE, HEAD, words, "$$ \\sqrt{x^2} = x $$")
    assert str(step.verdict) == "REFUTED", step.evidence.text


@pytest.mark.parametrize("display", ["1 = 1 \\tag{$1 + 1 = 2$}", "1 = 1 \\tag{so $x = x^2$}"])
def test_a_relation_in_a_tag_is_named_as_not_checked(display: str) -> None:
    (step,) = decide(HEAD, f"$$ {display} $$")
    assert "not checked: the reason 'tag" in step.evidence.text


def test_a_relation_in_brackets_is_not_skipped() -> None:
    text = f"{HEAD}\n\n$$ x = x \\quad [x = x + 1] $$\n"
    assert [str(one.verdict) for one in check_document(text, infer=True).steps] == ["PROVED", "UNREADABLE"]


def test_a_condition_of_another_display_counts_under_a_promise_until_its_symbol_is_declared_anew() -> None:
    before = (PROMISE, HEAD, "For $x \\ge 0$:", "$$ |x| = x $$")
    assert [str(one.verdict) for one in decide(*before, "$$ \\sqrt{x^2} = x $$")] == ["PROVED", "UNDECIDED"]
    expected = decide(*before, "% expect: refuted", "$$ \\sqrt{x^2} = x $$")
    assert [str(one.verdict) for one in expected] == ["PROVED", "REFUTED"]
    assert [str(one.verdict) for one in decide(*before, HEAD, "$$ \\sqrt{x^2} = x $$")] == ["PROVED", "REFUTED"]


ABSOLUTE = "\\sqrt{x^2} = x"
# Words with a formula that no declaration reads, and a step that is true under it.
NOT_READ = [
    ("Here $x \\ge 0$.", ABSOLUTE),
    ("Only $x \\ge 0$ matters.", ABSOLUTE),
    ("As $x \\ge 0$,", ABSOLUTE),
    ("Unless $x < 0$,", ABSOLUTE),
    ("(A1) $x \\ge 0$.", ABSOLUTE),
    ("| symbol | range |\n|---|---|\n| $x$ | $x \\ge 0$ |", ABSOLUTE),
    ("[^1]: $x \\ge 0$.", ABSOLUTE),
    ("## The case $x \\ge 0$", ABSOLUTE),
    ("Set $x = |y|$ for $y \\in \\mathbb{R}$.", ABSOLUTE),
    ("This is a statement about $x \\in [0, 7]$.", ABSOLUTE),
    ("Picture the half-line $\\{x : x \\ge 0\\}$.", ABSOLUTE),
    ("On $(0, \\infty)$ we have", ABSOLUTE),
    ("Only $\\mathbb{R}_{\\ge 0}$ is of interest.", ABSOLUTE),
    ("Note that $x \\not< 0$.", ABSOLUTE),
    ("Now $x := 1$.", ABSOLUTE),
    ("Say $x$ is $1$.", ABSOLUTE),
    ("We look at $x \\to 0$.", "e^x = 1 + x"),
    ("This is for $x \\in \\{0, 1\\}$.", "x^2 = x"),
    ("Here $n \\bmod 2 = 0$.", "(-1)^n = 1"),
    ("Here $p \\in \\Delta_n$.", "\\sum_{i=1}^n p_i = 1"),
    ("$\\mathbf{1}^\\top p = 1$ here.", "\\sum_{i=1}^n p_i = 1"),
    ("$\\sum p_i = 1$ here.", "\\sum_{i=1}^n p_i = 1"),
    ("Here $A \\in S^n$.", "A^\\top = A"),
    ("Here $A \\succeq 0$.", "\\operatorname{tr}(A) \\ge 0"),
    ("$A = Q \\Lambda Q^\\top$ with $\\Lambda$ diagonal.", "A^\\top = A"),
    ("This is for $x = t^2$.", ABSOLUTE),
    ("$0$ bounds $x$ from below.", ABSOLUTE),
    ("$A$ commutes with $B$.", "A B = B A"),
]
MORE = (
    "Let $x \\in \\mathbb{R}$, $n \\in \\mathbb{N}$, $p \\in \\mathbb{R}^n$ and $A, B \\in \\mathbb{R}^{n \\times n}$."
)


@pytest.mark.parametrize(("words", "formula"), NOT_READ)
def test_a_promise_covers_no_formula_that_was_not_read(words: str, formula: str) -> None:
    step = decide(PROMISE, MORE, words, f"$$ {formula} $$")[-1]
    assert str(step.verdict) == "UNDECIDED" and words.split()[0].strip("#|") in step.evidence.text, step.evidence.text


@pytest.mark.parametrize("behind", ["($x \\ge 0$).", "on $[0, \\infty)$.", "It fails for $x < 0$.", "\\* $x \\ge 0$"])
def test_nor_one_behind_the_step(behind: str) -> None:
    (step,) = decide(PROMISE, HEAD, f"$$ {ABSOLUTE} $$", behind)
    assert str(step.verdict) == "UNDECIDED", step.evidence.text
    (step,) = decide(PROMISE, HEAD, "$$ \\sqrt{x^2} = 2 x $$", "It fails for $x = 1$.")
    assert str(step.verdict) == "REFUTED", step.evidence.text


@pytest.mark.parametrize("scene", ["# Text", "# Text\n\n## Notation"])
def test_a_formula_of_the_section_around_counts_under_a_promise(scene: str) -> None:
    text = (PROMISE, scene, "In all of this, $x \\ge 0$.", "## Roots", HEAD, f"$$ {ABSOLUTE} $$")
    assert str(decide(*text)[-1].verdict) == "UNDECIDED"
    text = (PROMISE, "# Text", "## First", "Here $x \\ge 0$.", "## Roots", HEAD, f"$$ {ABSOLUTE} $$")
    assert str(decide(*text)[-1].verdict) == "REFUTED"


@pytest.mark.parametrize(
    "words",
    [
        "Here $x$ is the input and $n$ the number of tokens.", "For $x$ and $n$ we find:",
        "With $x = \\gamma + 2 n$ of the budget.", "Could $x$ exceed $n$?", "$x$ needs no root where $n$ is small.", "So far we know that $x^2 \\ge 0$.", "Here $x \\in \\mathbb{R}$ is what the sensor shows.",
        "With $\\lambda = 2 x$ for the eigenvalue.", "In the limit $p \\to \\infty$ nothing changes.", "We have $x \\gg 1$.",
    ],
)  # fmt: skip
def test_formulas_that_are_no_excuse(words: str) -> None:
    step = decide(PROMISE, MORE, words, "$$ (x + 1)^2 = x^2 + 1 $$")[-1]
    assert str(step.verdict) == "REFUTED", step.evidence.text


def test_a_promise_says_nothing_of_how_numbers_are_written() -> None:
    (step,) = decide(PROMISE, "$$ \\frac{2}{3} = 0.7 + 0 $$", "Numbers are rounded.")
    assert str(step.verdict) == "UNDECIDED"
    (step,) = decide(PROMISE, "$$ \\frac{2}{3} = 0.7 + 0 $$", "Numbers are nice.")
    assert str(step.verdict) == "REFUTED"


def test_a_relation_that_no_case_satisfies_exactly_is_quoted() -> None:
    for words in ("We have $a \\gg b$.", "Here $a \\approx b$."):
        step = decide("Let $a, b \\in \\mathbb{R}$.", words, "$$ a + b = a $$")[-1]
        assert str(step.verdict) == "UNDECIDED" and "internal" not in step.evidence.text, step.evidence.text
