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
