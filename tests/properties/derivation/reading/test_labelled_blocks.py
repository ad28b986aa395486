"""What a labelled block assumes ends with it, and a proof behind a theorem goes on with what the theorem assumes."""

from __future__ import annotations

import pytest

from attention_core.derivation.check import check_document
from attention_core.derivation.reading.labelled_blocks import find_labels
from attention_core.derivation.records import GOOD, Verdict

STEP = "\n\n$$x^2 > x$$\n\n"
LEMMA = f"**Lemma.** Let $x > 1$. Then{STEP}"
ENVIRONMENT = "\\begin{lemma}\nLet $x > 1$. Then\n$$x^2 > x$$\n\\end{lemma}\n"


def verdicts(text: str) -> list[Verdict]:
    """The verdicts of the steps of a document."""
    return [one.verdict for one in check_document(text, infer=True).steps]


@pytest.mark.parametrize(
    "text",
    [
        "Let $n \\in \\mathbb{N}$.\n\n**Example.** Let $n = 1$. Then\n\n$$n^2 = n$$\n\n**Theorem.** We have\n\n$$n^2 = n$$",
        "**Example.** Let $a = 2$. Then\n\n$$a^2 = 4$$\n\n**Theorem.** We have\n\n$$a^2 = 2a$$",
        f"{LEMMA}**Theorem.** We have{STEP}",
        f"{LEMMA}**Theorem 2 (Growth).** Let $x > 0$. Then{STEP}",
        f"{LEMMA}*Corollary:* For all $x > 0$ we have{STEP}",
        f"<b>Lemma.</b> Let $x > 1$. Then{STEP}<b>Theorem.</b> We have{STEP}",
        f"{LEMMA}**Main Theorem.** We have{STEP}",
        f"Lemma 1. Let $x > 1$. Then{STEP}Theorem 2. We have{STEP}",
        f"Case 1: $x > 1$. Then{STEP}**Theorem.** We have{STEP}",
        f"{ENVIRONMENT}\\begin{{theorem}}\nFor all $x > 0$,\n$$x^2 > x$$\n\\end{{theorem}}",
        f"{ENVIRONMENT.replace('lemma', 'example')}\nWe have\n$$x^2 > x$$\n",
        "\\begin{lemma}Let $x > 1$. Then $$x^2 > x$$\\end{lemma}\\begin{theorem}For all $x > 0$, $$x^2 > x$$\\end{theorem}",
    ],
)
def test_what_a_block_assumes_ends_at_the_next_label(text: str) -> None:
    first, second = verdicts(text)
    assert first in GOOD
    assert second is Verdict.UNDECIDED


@pytest.mark.parametrize(
    "text",
    [
        f"{LEMMA}**Theorem.** Let $x > 2$. Then{STEP}",
        f"{LEMMA}**Theorem.** Let $x > 1$. Then{STEP}",
        f"Let $x > 1$.\n\n**Lemma.** Let $y > 0$. Then\n\n$$y + 1 > 1$$\n\n**Theorem.** We have{STEP}",
        f"{LEMMA}**Proof.** We have\n\n$$x^2 - x > 0$$\n\n",
        f"{LEMMA.replace('Lemma', 'Exercise')}**Solution.** We have\n\n$$x^2 - x > 0$$\n\n",
        f"{LEMMA.replace('Lemma', 'Assumption')}**Theorem.** We have{STEP}",
        f"{ENVIRONMENT}\\begin{{proof}}\nWe have\n$$x^2 - x > 0$$\n\\end{{proof}}",
        f"{LEMMA}Theorem 2 says more. We have{STEP}",
    ],
)
def test_what_still_holds_is_used(text: str) -> None:
    first, second = verdicts(text)
    assert {first, second} <= set(GOOD)


def test_a_proof_ends_what_its_theorem_assumes() -> None:
    text = f"{ENVIRONMENT}\\begin{{proof}}\nWe have\n$$x^2 - x > 0$$\n\\end{{proof}}\n\nWe have\n$$x^2 > x$$\n"
    assert verdicts(text)[1] in GOOD
    assert verdicts(text)[2] is Verdict.UNDECIDED


def test_a_claim_within_a_proof_is_a_block_of_its_own() -> None:
    claims = "**Claim 1.** Let $y > 1$. Then\n\n$$y^2 > y$$\n\n**Claim 2.** We have"
    text = f"{LEMMA}**Proof.** As follows.\n\n{claims}{STEP}We have\n\n$$y^2 > y$$\n\n"
    _, first, kept, ended = verdicts(text)
    assert {first, kept} <= set(GOOD)
    assert ended is Verdict.UNDECIDED


def test_what_a_section_below_the_block_assumes_stays() -> None:
    text = f"{LEMMA}# Growth\n\nLet $y > 1$.\n\n**Theorem.** We have\n\n$$y^2 > y$$\n\nand{STEP}"
    _, kept, ended = verdicts(text)
    assert kept in GOOD
    assert ended is Verdict.UNDECIDED


def test_labels_are_found_where_they_begin_a_line() -> None:
    text = "**Lemma.** So\nLemma 2 says\n\\textbf{Example 3.} Let\n\\begin{thm} So\n\\end{thm}\nProof of Theorem 2. By"
    assert [(one.line, one.kind) for one in find_labels(text)] == [
        (1, "block"),
        (3, "block"),
        (4, "block"),
        (6, "proof"),
    ]
