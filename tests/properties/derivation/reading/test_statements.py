"""Sentences that say what symbols are: assumed where they assume, and left open where they may claim."""

from __future__ import annotations

from collections import Counter

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.effort import Effort
from attention_core.derivation.reading.statements import statement_of
from attention_core.derivation.records import GOOD, Verdict
from tests.properties.derivation_as_written import FOURTH, THIRD

SQUARE = r"Let $n \in \mathbb{N}$, $A, B \in \mathbb{R}^{n \times n}$ and $x \in \mathbb{R}^n$."
ISOMETRY = r"\|A x\|^2 = \|x\|^2"


def judge(symbols: str, sentence: str, steps: tuple[str, str]) -> str:
    """What becomes of the right and of the wrong step beside a sentence; "where" stands behind the display."""
    frame = "{0}\n\n$$ {2} $$\n\n{1}\n" if sentence.startswith("where") else "{0}\n\n{1}\n\n$$ {2} $$\n"
    right, wrong = (
        check_document(frame.format(symbols, sentence, one), effort=Effort(seconds=4.0)).steps[-1].verdict
        for one in steps
    )
    if right is Verdict.REFUTED or wrong in GOOD:
        return "against the author"
    return "read" if right in GOOD and wrong is Verdict.REFUTED else "quoted"


@pytest.mark.thorough
@pytest.mark.parametrize("sentences", [THIRD, FOURTH], ids=["third", "fourth"])
def test_the_sentences_of_mathematicians_are_read_or_quoted(
    sentences: list[tuple[str, str, str, tuple[str, str]]],
) -> None:
    found = {one[2]: judge(*one[1:]) for one in sentences}
    counts = Counter(found.values())
    assert counts["against the author"] == 0
    assert counts["read"] >= 0.95 * len(sentences), [one for one, what in found.items() if what == "quoted"]


def test_what_sentences_state() -> None:
    found = statement_of(("Here ", "A", " and ", "B", " are real rotation matrices"))
    assert found is not None and found.symbols == ("A", "B") and found.assumes
    found = statement_of(("Since ", "A", " is symmetric, we get"), True)
    assert found is not None and found.reason and not found.assumes
    for parts in (
        ("Here ", "A", " is a matrix of scores"),
        ("Here ", "A", " is symmetric up to rounding"),
        ("Then ", "A", " is symmetric"),
        ("Hence ", "A", " is orthogonal"),
        ("The inverse of ", "A", " is symmetric"),
    ):
        assert statement_of(parts) is None


def verdict(*paragraphs: str, step: str = ISOMETRY) -> Verdict:
    text = "\n\n".join((SQUARE, *paragraphs, f"$$ {step} $$"))
    return check_document(f"{text}\n", effort=Effort(seconds=4.0)).steps[-1].verdict


@pytest.mark.parametrize(
    "sentence",
    [
        "Here $A$ and $B$ are rotation matrices.",
        "Both matrices $A$ and $B$ are orthogonal.",
        "Since $A$ is orthogonal, we have",
        "$A$ is assumed to be orthogonal.",
    ],
)
def test_statements_are_assumed(sentence: str) -> None:
    assert verdict(sentence) in GOOD
    assert verdict(sentence, step=f"{ISOMETRY} + 1") is Verdict.REFUTED


@pytest.mark.parametrize(
    "paragraphs",
    [
        ("Assume that $A = A^\\top$.", "Since $A$ is orthogonal, we have"),  # a reason that does not hold
        ("We show two facts. The matrix $A$ is orthogonal.",),
        ("Put $M := B B^\\top$.", "Since $M$ is orthogonal, we have"),
        ("Is it true that $A$ is orthogonal?",),
    ],
)
def test_what_may_be_claimed_is_not_assumed(paragraphs: tuple[str, ...]) -> None:
    step = ISOMETRY.replace("A", "M") if "Put" in paragraphs[0] else ISOMETRY
    assert verdict(*paragraphs, step=step) not in GOOD


@pytest.mark.parametrize("part", ["exercise", "lecture", "problem", "appendix"])
def test_what_holds_in_a_part_of_a_text_is_assumed(part: str) -> None:
    head = f"In this {part} $a$ and $b$ are positive real numbers."
    verdicts = [
        check_document(f"{head}\n\n$$ {step} $$\n", infer=True).steps[-1].verdict
        for step in (r"a + b \ge 2 \sqrt{a b}", r"a + b \le 2 \sqrt{a b}")
    ]
    assert verdicts[0] in GOOD and verdicts[1] is Verdict.REFUTED
