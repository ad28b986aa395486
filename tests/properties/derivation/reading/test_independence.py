r"""What is said to be independent, of what: a sentence is about the symbols that it names and about no others."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import GOOD, DocumentReport, StepReport, Verdict

N = r"\mathcal{N}(0, 1)"
THREE = rf"Let $X, Y, Z \sim {N}$"
TWO = rf"Let $X, Y \sim {N}$"
PRODUCT = r"\mathbb{E}[X^2 Y^2] = 1"
INNER = r"\operatorname{Var}(w^\top x) = d"


def check(head: str, display: str) -> DocumentReport:
    return check_document(f"{head}\n\n$$ {display} $$\n", infer=True)


def step_of(head: str, display: str) -> StepReport:
    return check(head, display).steps[-1]


@pytest.mark.parametrize(
    "head",
    [
        *(f"{TWO} {words}" for words in (
            "independent.", "independently.", "be independent.", "be i.i.d.", "be mutually independent.",
            "be two independent random variables.", "be independent of each other.", "be pairwise independent.",
            "be independent and identically distributed.", "with $X$ and $Y$ independent.",
        )),
        *(f"{TWO}{words}" for words in (
            ", independent.", ", all independent.", ", where $X$ and $Y$ are independent.", ", with $X$ independent of $Y$.",
            ". They are independent.", ". Both are independent.", ". The two are independent.", ". All variables are independent.",
            ". These random variables are independent.", ". Assume that $X$ and $Y$ are independent.",
            ". Suppose that they are independent.", ". We may assume that $X$ and $Y$ are independent.",
            ". Here $X$ and $Y$ are stochastically independent.", ". Let $X$ be independent of $Y$.",
        )),
        *(f"{TWO} {words}" for words in (
            "(independent).", "be independent noise terms.", "be independent components.", "be independent Gaussians.",
            "be independent throughout.", "be independent as usual.", "be drawn independently at random.", "be iid.",
            "be independent random variables with $t > 0$.",
        )),
        rf"Let the weight $X \sim {N}$ and the bias $Y \sim {N}$ be independent.",
        rf"Suppose that the measurement errors $X \sim {N}$ and $Y \sim {N}$ are independent.",
        rf"Let $X \sim {N}$ and let $Y \sim {N}$ be an independent draw.",
        rf"Let $X \sim {N}$ and let $Y \sim {N}$ be independent of it.",
        rf"Let $X \sim {N}$, and independently $Y \sim {N}$.",
        rf"Draw independent $X, Y \sim {N}$.",
        rf"Draw $X \sim {N}$ and $Y \sim {N}$ independently.",
        rf"Let $X \sim {N}$ and $Y \sim {N}$ be independent.",
        rf"Let $X \sim {N}$ and let $Y \sim {N}$ be independent.",
        rf"Let $X \sim {N}$, and let $Y \sim {N}$ be independent of $X$.",
        rf"Let $X \sim {N}$. Let $Y \sim {N}$ be independent of $X$.",
        rf"Let independent random variables $X, Y \sim {N}$ be given.",
        rf"Let $X$ and $Y$ be drawn independently from ${N}$.",
        rf"Suppose $X$ and $Y$ are independent with $X \sim {N}$ and $Y \sim {N}$.",
        "Let $X, Y$ be independent standard normal random variables.",
        "Let $X$ and $Y$ be independent normal random variables with mean $0$ and variance $1$.",
        "Let $X$ and $Y$ be i.i.d. with mean $0$ and variance $1$.",
        "Let $X$ and $Y$ be independent random signs.",
        f"{TWO}.\n\nAssume that $X$ and $Y$ are independent.",
    ],
)  # fmt: skip
def test_symbols_that_are_named_are_independent(head: str) -> None:
    assert step_of(head, PRODUCT).verdict in GOOD
    assert step_of(head, r"\mathbb{E}[X^2 Y^2] = 2").verdict not in GOOD


@pytest.mark.parametrize(
    ("head", "right", "open_"),
    [
        (f"{THREE}, where $X$ and $Y$ are independent.", r"\mathbb{E}[X Y] = 0", r"\mathbb{E}[X Z] = 0"),
        (f"{THREE}, with $X$ and $Y$ independent and $Z$ arbitrary.", r"\mathbb{E}[X Y] = 0", r"\mathbb{E}[X Z] = 0"),
        (f"{THREE}, $X$ and $Y$ independent.", r"\mathbb{E}[X Y] = 0", r"\mathbb{E}[Y Z] = 0"),
        (f"{THREE}, where $X$ is independent of $Y$ and $Z$.", r"\operatorname{Var}(X + Z) = 2", r"\operatorname{Var}(Y + Z) = 2"),
        (f"{THREE}, where $X$ and $Y$ are independent of $Z$.", r"\mathbb{E}[X Z] = 0", r"\mathbb{E}[X Y] = 0"),
        (f"{THREE} be pairwise independent.", r"\operatorname{Var}(X + Y + Z) = 3", r"\mathbb{E}[X^2 Y^2 Z^2] = 1"),
        (rf"{TWO} and let $Z \sim {N}$ be independent.", r"\mathbb{E}[X Z] = 0", r"\mathbb{E}[X Y] = 0"),
        (rf"{TWO} be independent. Let $Z \sim {N}$.", r"\mathbb{E}[X Y] = 0", r"\mathbb{E}[X Z] = 0"),
        (rf"{TWO} be independent. Let $Z, W \sim {N}$ be independent.", r"\mathbb{E}[Z W] = 0", r"\mathbb{E}[X Z] = 0"),
        (rf"Let $X_1, \dots, X_n \sim {N}$ be i.i.d. Let $Y_1, \dots, Y_n \sim {N}$ be i.i.d.", r"\mathbb{E}[X_1 X_2] = 0",
         r"\mathbb{E}[X_1 Y_1] = 0"),
        (rf"Let $X_1, \dots, X_n \sim {N}$ be pairwise independent.", r"\operatorname{Var}(\sum_{i=1}^n X_i) = n",
         r"\mathbb{E}[X_1^2 X_2^2 X_3^2] = 1"),
        (rf"Let $X_1, \dots, X_n \sim {N}$, and let $Y \sim {N}$ be independent of $X_1, \dots, X_n$.",
         r"\mathbb{E}[X_1 Y] = 0", r"\operatorname{Var}(\sum_{i=1}^n X_i) = n"),
        ("Let $X$ be normal with mean $0$ and variance $1$, $Y$ be normal with mean $0$ and variance $1$, and $Z$ be "
         "independent normal with mean $0$ and variance $1$.", r"\mathbb{E}[X Z] = 0", r"\mathbb{E}[X Y] = 0"),
    ],
)  # fmt: skip
def test_nothing_is_said_of_other_symbols(head: str, right: str, open_: str) -> None:
    assert step_of(head, right).verdict in GOOD
    found = step_of(head, open_)
    assert found.verdict is Verdict.UNDECIDED and "independent is not stated" in found.evidence.text


def test_statements_add_up() -> None:
    head = rf"{TWO} be independent, and let $Z \sim {N}$ be independent of $X$ and $Y$."
    assert step_of(head, r"\mathbb{E}[X^2 Y^2 Z^2] = 1").verdict in GOOD
    each = f"{THREE}. Assume $X$ and $Y$ are independent, $Y$ and $Z$ are independent and $X$ and $Z$ are independent."
    assert step_of(each, r"\mathbb{E}[X^2 Y^2 Z^2] = 1").verdict is Verdict.UNDECIDED


def test_a_symbol_that_is_drawn_anew_is_independent_no_more() -> None:
    head = f"{TWO} be independent.\n\nLet $X \\sim {N}$."
    assert step_of(head, PRODUCT).verdict is Verdict.UNDECIDED


@pytest.mark.parametrize(
    "words",
    [
        "nearly independent", "almost independent", "linearly independent", "conditionally independent given $T$",
        "independent given $T$", "independent to first order", "independent for small $t$", "independent with high probability",
        "independent on average", "independent only if $t = 0$", "independent conditional on $T$", "time-independent",
        "asymptotically independent", "independent after centering", "independent of the dimension", "independent enough",
        "independent across batches", "independent within classes", "independent up to errors", "independent besides tails",
        "independent despite correlations", "the independent variables", "independent functions of $Z$",
        "sums of independent random variables", "far from independent", "anything but independent",
    ],
)  # fmt: skip
def test_words_that_turn_independence_state_none(words: str) -> None:
    assert step_of(f"{TWO} be {words}.", PRODUCT).verdict is Verdict.UNDECIDED


@pytest.mark.parametrize(
    "sentence",
    [
        "Their squares are independent.", "Their signs are independent.", "The squares of $X$ and $Y$ are independent.",
        "It is unknown whether they are independent.", "We ask whether $X$ and $Y$ are independent.",
        "Are $X$ and $Y$ independent?", "If they were independent, all would be easy.", "When $t = 0$ they are independent.",
        "At $t = 0$, $X$ and $Y$ are independent.", "For $t = 0$, $X$ and $Y$ are independent.",
        "In this case, $X$ and $Y$ are independent.", "$X$ and $Y$ are independent under $Q$.",
        "The next problem is independent of this one.", "The result is independent of $X$ and $Y$.",
        "The variance of $X$ is independent of $Y$.", "The laws of $X$ and $Y$ are independent of $t$.",
        "$X$ and $Y^2$ are independent.", "$X + Y$ and $X - Y$ are independent.", "Some say they are independent.",
        "In the model of Section 2, they are independent.", "Later we assume that $X$ and $Y$ are independent.",
        "A common mistake is to assume that they are independent.", "Smith assumes that $X$ and $Y$ are independent.",
        "It is tempting to assume that $X$ and $Y$ are independent.", "Suppose first that they are independent.",
        "For a moment, assume that $X$ and $Y$ are independent.", "We do need that they are independent.",
        "Given $Z$, they are independent.", "In the case of independent $X$ and $Y$, this is easy.",
        "The noise is independent.", "This is independently known.", "Here $X$ is independent.", "The columns are independent.",
    ],
)  # fmt: skip
def test_sentences_about_something_else_state_nothing(sentence: str) -> None:
    assert step_of(f"{TWO}. {sentence}", PRODUCT).verdict is Verdict.UNDECIDED


@pytest.mark.parametrize(
    "words",
    [
        ", where the entries of $w$ are independent.", ", whose entries are independent.", ", each with independent entries.",
        " be vectors with independent entries.", " be processes with independent increments.", ". All entries are independent.",
    ],
)  # fmt: skip
def test_vectors_with_independent_entries_may_depend_on_each_other(words: str) -> None:
    assert step_of(rf"Let $w, x \sim \mathcal{{N}}(0, I_d)${words}", INNER).verdict is Verdict.UNDECIDED


def test_matrices_with_independent_entries_may_depend_on_each_other() -> None:
    head = (
        r"Let $A \in \mathbb{R}^{n \times n}$ and $B \in \mathbb{R}^{n \times n}$ be random matrices with independent"
    )
    assert step_of(f"{head} standard normal entries.", r"\mathbb{E}[A_{11} B_{11}] = 0").verdict is Verdict.UNDECIDED


@pytest.mark.parametrize(
    "head",
    [
        r"Let $w, x \sim \mathcal{N}(0, I_d)$, where all entries of $w$ and $x$ are independent.",
        r"Let $w, x \sim \mathcal{N}(0, I_d)$ be independent vectors with independent entries.",
        r"Assume the components of $w, x \in \mathbb{R}^d$ are independent random variables with mean $0$ and variance $1$.",
        r"Let $w, x \in \mathbb{R}^d$ be independent random vectors whose entries are i.i.d. with mean $0$ and variance $1$.",
    ],
)
def test_entries_of_named_vectors_are_independent(head: str) -> None:
    assert step_of(head, INNER).verdict in GOOD


def test_the_report_says_what_is_independent_of_what() -> None:
    understood = [text for _, text in check(f"{THREE}, where $X$ is independent of $Y$ and $Z$.", PRODUCT).understood]
    assert "X and (Y, Z) are independent of each other" in understood
    understood = [text for _, text in check(f"{TWO} be nearly independent.", PRODUCT).understood]
    assert any(
        "not read as a statement of independence" in text and "be nearly independent." in text for text in understood
    )


def verdicts(text: str) -> list[Verdict]:
    return [step.verdict for step in check_document(text, infer=True).steps]


def test_a_heading_ends_what_its_section_states() -> None:
    step = f"$$ {PRODUCT} $$"
    case = "Assume that $X$ and $Y$ are independent."
    found = verdicts(f"# Sums\n\n{TWO}.\n\n## A\n\n{case}\n\n{step}\n\n## B\n\n{step}\n")
    assert found[0] in GOOD and found[1:] == [Verdict.UNDECIDED]
    many = rf"Let $X_1, \dots, X_n \sim {N}$."
    step = r"$$ \mathbb{E}[X_1 X_2] = 0 $$"
    found = verdicts(f"# Sums\n\n{many}\n\n## A\n\nAssume the $X_i$ are independent.\n\n{step}\n\n## B\n\n{step}\n")
    assert found[0] in GOOD and found[1:] == [Verdict.UNDECIDED]


@pytest.mark.parametrize(
    "sentence",
    [
        "Now drop the assumption of independence.", "From now on $X$ and $Y$ are no longer independent.",
        "We no longer assume independence.", "Without independence we have", "If they are not independent,",
    ],
)  # fmt: skip
def test_independence_may_be_taken_back(sentence: str) -> None:
    head = f"{TWO} be independent.\n\n$$ {PRODUCT} $$\n\n{sentence}\n\n"
    found = verdicts(f"{head}$$ {PRODUCT} $$\n\n$$ \\mathbb{{E}}[X^2] = 1 $$\n")
    assert found[0] in GOOD and found[1] is Verdict.UNDECIDED and found[2] in GOOD, found
