"""What takes a condition back: no step is accepted that holds under it alone, and cases are no contradiction."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document

STEP = "$$ \\sqrt{x^2} = x $$"
GIVEN = "Let $x \\in \\mathbb{R}$ with $x \\ge 0$."


def last(*paragraphs: str, infer: bool = False) -> tuple[str, str]:
    step = check_document("\n\n".join(paragraphs) + "\n", infer=infer).steps[-1]
    return str(step.verdict), step.evidence.text


@pytest.mark.parametrize(
    "words", ["Not only for $x \\ge 0$:", "Not just when $x \\ge 0$, we have", "Even without $x \\ge 0$:"]
)
def test_a_condition_that_is_denied_is_not_assumed(words: str) -> None:
    assert last("Let $x \\in \\mathbb{R}$.", words, STEP)[0] == "UNDECIDED"


@pytest.mark.parametrize(
    "words",
    [
        "if $x \\ge 0$, and also otherwise.", "for $x \\ge 0$, and in general.", "if $x \\ge 0$, and in all other cases too.",
        "for $x \\ge 0$. The same is true for $x < 0$.",
    ],
)  # fmt: skip
def test_a_condition_with_more_behind_it_is_not_assumed(words: str) -> None:
    assert last("Let $x \\in \\mathbb{R}$.", STEP, words)[0] == "UNDECIDED"


@pytest.mark.parametrize(
    "words",
    [
        "We drop this assumption.", "We drop the assumption $x \\ge 0$.", "Without this assumption,", "In general,",
        "Now let $x \\in \\mathbb{R}$ be arbitrary.", "For all $x \\in \\mathbb{R}$:", "Fix $x \\in \\mathbb{R}$.",
        "Now $x$ may be negative.", "We no longer assume $x \\ge 0$.", "From now on, $x$ need not be positive.",
        "For every real $x$ we have",
        "Suppose instead that $x^2 \\ge 0$.", "Instead, assume $x \\le 1$ or nothing at all.",
    ],
)  # fmt: skip
def test_behind_words_that_take_back_nothing_rests_on_what_was_assumed(words: str) -> None:
    verdict, text = last(GIVEN, "$$ x + 1 \\ge 1 $$", words, STEP)
    assert verdict == "UNDECIDED" and "take back" in text, text
    assert last(GIVEN, "$$ x + 1 \\ge 1 $$", words, "$$ \\sqrt{x^2} = |x| $$")[0] == "PROVED"


@pytest.mark.parametrize(
    "words",
    [
        "Assume now that $x \\le 2$.",
        "Hence",
        "For all $x$ we have",
        "In general position this is",
        "Now we have",
        "Without further words, we get",
    ],
)
def test_other_words_take_nothing_back(words: str) -> None:
    assert last(GIVEN, "$$ x + 1 \\ge 1 $$", words, STEP)[0] == "PROVED"


@pytest.mark.parametrize(
    "words", ["Let $x \\in \\mathbb{R}$ be arbitrary.", "Let now $x \\in \\mathbb{R}$ be arbitrary."]
)
def test_what_is_declared_anew_has_lost_what_was_assumed(words: str) -> None:
    assert last(GIVEN, "$$ x + 1 \\ge 1 $$", words, STEP)[0] == "REFUTED"
    assert last(GIVEN, "$$ x + 1 \\ge 1 $$", words, "$$ \\sqrt{x^2} = |x| $$")[0] == "PROVED"


def test_a_subscript_is_not_declared_anew() -> None:
    head = "Let $n \\in \\mathbb{N}$ with $n \\ge 2$."
    family = "Let $v_1, \\dots, v_n \\in \\mathbb{R}$."
    assert last(head, "$$ n + 1 \\ge 3 $$", family, "$$ n \\ge 2 $$")[0] == "PROVED"


def test_what_the_same_sentence_assumes_is_not_taken_back() -> None:
    assert last("Let $x \\in \\mathbb{R}$.", "$$ x = x $$", "Now let $x \\ge 0$ be arbitrary.", STEP)[0] == "PROVED"


@pytest.mark.parametrize(
    "words",
    [
        "Let $a = 1$.", "Now assume $a = 1$.", "For $a = 1$ we get", "Assume now that $a = 1$.", "Let $a$ now be $1$.",
        "Let now $a = 1$.",
    ],
)  # fmt: skip
def test_another_case_contradicts_nothing(words: str) -> None:
    verdict, text = last("Let $a \\in \\mathbb{R}$. Assume $a = 0$.", "$$ a^2 = 0 $$", words, "$$ a^2 = 1 $$")
    assert verdict == "UNDECIDED", text


def test_one_paragraph_that_contradicts_itself_is_vacuous() -> None:
    assert last("Let $a \\in \\mathbb{R}$. Assume $a = 0$ and $a = 1$.", "$$ a^2 = 1 $$")[0] == "VACUOUS"


TRACES = r"$$ \operatorname{tr}(A^\top A) = \operatorname{tr}(A A) $$"
SYMMETRIC = r"Let $n \in \mathbb{N}$. Let $A$ be a symmetric $n \times n$ matrix."


@pytest.mark.parametrize(
    "words",
    [
        "If $A$ is not symmetric, we have", "Without symmetry we have", "For a nonsymmetric $A$, too,",
        "Symmetry was not used here, so", "## Dropping symmetry", "## Without the assumption", "## The general case",
    ],
)  # fmt: skip
def test_a_property_that_is_denied_is_taken_back(words: str) -> None:
    verdict, text = last("# Traces", SYMMETRIC, "## One", TRACES, words, TRACES, infer=True)
    assert verdict == "UNDECIDED" and "take back" in text, text


def test_a_heading_takes_back_for_its_own_section_alone() -> None:
    parts = ("# Traces", SYMMETRIC, "## Without symmetry", TRACES, "## With it", TRACES)
    assert last(*parts, infer=True)[0] == "EXACT"
    assert last("# Traces", SYMMETRIC, "## Non-diagonal entries", TRACES, infer=True)[0] == "EXACT"


@pytest.mark.parametrize(
    "words", ["If $A$ is symmetric, life is easy.", "When $A$ is symmetric, its eigenvalues are real."]
)
def test_the_premise_of_a_sentence_of_its_own_is_not_assumed(words: str) -> None:
    verdict, text = last(
        rf"Let $n \in \mathbb{{N}}$ and $A \in \mathbb{{R}}^{{n \times n}}$. {words}", TRACES, infer=True
    )
    assert verdict == "UNDECIDED" and "was not read" in text, text
    leads = r"Let $n \in \mathbb{N}$ and $A \in \mathbb{R}^{n \times n}$. If $A$ is symmetric, then"
    assert last(leads, TRACES, infer=True)[0] == "EXACT"


def test_what_is_assumed_for_the_moment_ends_behind_its_displays() -> None:
    text = (
        "Let $x \\in \\mathbb{R}$.\n\nFor the moment, let $x > 0$.\n\n$$ |x| = x $$\n\nHence\n\n$$ |x| + x = 2 x $$\n\n"
        "The square has a root.\n\n$$ \\sqrt{x^2} = x $$\n"
    )
    found = [str(one.verdict) for one in check_document(text).steps]
    assert found == ["PROVED", "PROVED", "UNDECIDED"]
    text = text.replace("The square has a root.", "Now we turn to squares.")
    assert str(check_document(text).steps[-1].verdict) == "UNDECIDED"


@pytest.mark.parametrize(
    "supposed", ["Suppose for contradiction that $x$ is zero.", "Suppose, to the contrary, that $x = 0$.",
                 "For the sake of contradiction, assume $x = 0$."]
)  # fmt: skip
@pytest.mark.parametrize(
    "end", ["This is a contradiction.", "This is absurd. Hence", "Hence we reach a contradiction, and"]
)
def test_what_is_supposed_for_contradiction_ends_with_it(supposed: str, end: str) -> None:
    """`x = 0` was PROVED under the very assumption that the text has shown to be false."""
    steps = check_document(
        f"Let $x, y \\in \\mathbb{{R}}$.\n\n{supposed}\n\n$$ x y = 0 $$\n\n{end}\n\n$$ x = 0 $$\n"
    ).steps
    assert str(steps[0].verdict) in (("PROVED",) if supposed.startswith("Suppose for") else ("PROVED", "UNDECIDED"))
    assert str(steps[1].verdict) == "UNDECIDED"


@pytest.mark.parametrize(
    "words",
    [
        "Then we get a contradiction.", "That is impossible.", "We will see that this cannot be.", "But this is false.",
        "Then\n\n$$ x - |x| = 0 $$\n\nwhich is a contradiction.", "Then\n\n$$ x - |x| = 0 $$\n\nThis contradicts the first line.",
    ],
)  # fmt: skip
def test_what_was_supposed_ends_where_it_is_absurd(words: str) -> None:
    assert last("Let $x \\in \\mathbb{R}$.", f"Suppose $x \\ge 0$. {words}", "Hence", STEP)[0] == "UNDECIDED"


def test_words_of_contradictions_elsewhere_take_back_nothing() -> None:
    assert last("Let $x \\in \\mathbb{R}$.", "Proofs by contradiction are short. Suppose $x \\ge 0$. Then", STEP)[
        0
    ] in ("AGREES", "PROVED")


REAL = "Let $x \\in \\mathbb{R}$."


@pytest.mark.parametrize(
    "words",
    [
        "Given $x > 0$, the function grows.", "Assuming that $x > 0$, this is a norm.",
        "But given $x > 0$, we see that the square grows.",
        "Given $x > 0$, the function grows. Given $x < 0$, it falls.",
    ],
)  # fmt: skip
def test_the_condition_of_a_sentence_ends_with_its_paragraph(words: str) -> None:
    for more in ([], ["Now to the absolute value."]):
        assert last(REAL, words, *more, "$$ |x| = x $$")[0] == "UNDECIDED"
        assert last(REAL, words, *more, "$$ |x|^2 = x^2 $$")[0] == "PROVED"


def test_the_condition_of_a_sentence_holds_of_the_display_that_its_paragraph_leads_into() -> None:
    words = "Given $x > 0$, this is clear. Then"
    assert last(REAL, words, "$$ |x| = x $$")[0] == "PROVED"
    assert last(REAL, words, "$$ |x| = 2 x $$")[0] == "REFUTED"
    assert last(REAL, words, "$$ x = |x| $$", "Now to the absolute value.", "$$ |x| = x $$")[0] == "UNDECIDED"


@pytest.mark.parametrize(
    "words",
    [
        "Given $x > 0$.", "Given $x > 0$, we want to show the bound.", "Given $x > 0$, the claim is the following.",
        "Given $x > 0$, let $y = \\sqrt{x}$.", "Given $x > 0$, consider the function.", "Assume $x > 0$, as always.",
    ],
)  # fmt: skip
def test_what_a_sentence_sets_out_from_is_assumed_for_what_follows(words: str) -> None:
    assert last(REAL, words, "Now to the absolute value.", "$$ |x| = x $$", infer=True)[0] == "PROVED"
