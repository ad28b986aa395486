"""Where words count: around a display, in sentences about its symbols, and nowhere once all hypotheses are formulas."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import Verdict

PROMISE = "All hypotheses are declared as formulas."
HEAD = r"Let $n \in \mathbb{N}$, $s, t \in \mathbb{R}^n$ and $a \in \mathbb{R}$."
FALSE = r"$$ \operatorname{softmax}(s)_1 = \frac{1}{n} $$"


def verdict(*blocks: str) -> Verdict:
    return check_document("\n\n".join(blocks) + "\n").steps[-1].verdict


@pytest.mark.parametrize(
    "blocks",
    [
        (HEAD, "The scores tie, and so", FALSE),
        (HEAD, "Throughout this section the scores tie.", "We have", FALSE),
        (HEAD, "Here $s$ is tied.", "An unrelated paragraph.", FALSE),
        (HEAD, "We are done.", FALSE, "as the scores tie."),
        (HEAD, r"$$ \operatorname{softmax}(s)_1 = \frac{1}{n} \quad \text{(tied scores)} $$"),
        (HEAD, "## When the scores tie", "Then", FALSE),
        (f"{HEAD} All scores tie.", "Then", FALSE),
    ],
)
def test_words_in_scope_make_a_false_step_undecided(blocks: tuple[str, ...]) -> None:
    assert verdict(*blocks) is Verdict.UNDECIDED
    assert verdict(PROMISE, *blocks) is Verdict.REFUTED


@pytest.mark.parametrize(
    "blocks",
    [
        (HEAD, "Here $t$ is tied.", "We have", FALSE),  # of another symbol
        (HEAD, "The scores tie, and so", "$$ a = a $$", "Next comes the first weight.", FALSE),  # of another display
        ("## When the scores tie", "Nothing here.", "## In general", HEAD, FALSE),  # of another section
        (HEAD, "Why do the scores tie?", FALSE),  # a question
        (HEAD, 'We quote the words "tied scores" here.', FALSE),  # somebody else's words
        (HEAD, "We have", r"$$ \operatorname{softmax}(s)_1 = \frac{1}{n} \tag{tied} $$"),  # a name
    ],
)
def test_words_out_of_scope_do_not(blocks: tuple[str, ...]) -> None:
    assert verdict(*blocks) is Verdict.REFUTED


def test_the_promise_ends_with_its_section() -> None:
    blocks = ("# One", PROMISE, "# Two", HEAD, "When the scores tie,", FALSE)
    assert verdict(*blocks) is Verdict.UNDECIDED
    assert verdict(*blocks[:2], "## Two", *blocks[3:]) is Verdict.REFUTED


def test_a_step_without_symbols_depends_on_no_words() -> None:
    assert verdict("When the scores tie,", "$$ 1 + 1 = 3 $$") is Verdict.REFUTED


def test_reasons_that_name_what_is_assumed_are_known() -> None:
    head = r"Let $n \in \mathbb{N}$ and $x, y \in \mathbb{R}^n$ with $x^\top y = 0$."
    assert verdict(head, "By orthogonality,", r"$$ \|x + y\|^2 = \|x\|^2 + 2 \|y\|^2 $$") is Verdict.REFUTED
    assert (
        verdict(head.replace(" with $x^\\top y = 0$", ""), "By orthogonality,", r"$$ x^\top y = 0 $$")
        is Verdict.UNDECIDED
    )
