"""Steps that define a symbol or restrict it are no claims, whatever words lead into them; claims stay refuted."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import StepReport, Verdict

KEYS = r"Let $d \in \mathbb{N}$, $q, k \in \mathbb{R}^d$, $A \in \mathbb{R}^{d \times d}$ and $b \in \mathbb{R}^d$."
PROMISE = "All hypotheses are declared as formulas."


def last(*blocks: str) -> StepReport:
    return check_document("\n\n".join(blocks) + "\n").steps[-1]


@pytest.mark.parametrize(
    ("words", "display"),
    [
        ("The definition is", "k = 2 q"),
        ("The new key is defined as", "k = 2 q"),
        ("We compute the key as", "k = 2 q"),
        ("The layer computes", "k = 2 q"),
        ("The model is", "k = A q + b"),
        ("The result is denoted by", "2 q = k"),
        ("The key is computed by", "k_1 = 2 q_1"),
        ("Find all $q$ with", "k = 2 q"),
        ("Does it hold that", "k = 2 q"),
        ("The equation to solve is", "A q = b"),
        ("We are looking for the $q$ with", "A q = b"),
        ("The unknown $q$ solves", "A q = b"),
        ("The question is when", "A q = b"),
        ("Here the output is", "A q = b"),
        ("The size is", "d = 4"),
    ],
)
def test_a_definition_or_an_equation_is_not_refuted(words: str, display: str) -> None:
    found = last(KEYS, words, f"$$ {display} $$")
    assert found.verdict is Verdict.UNDECIDED
    if not words.startswith(("Find", "We are looking", "The question")):  # there the words come first
        assert "reads as a definition of" in found.evidence.text and "Put $" in found.evidence.text
    assert last(PROMISE, KEYS, words, f"$$ {display} $$").verdict is Verdict.REFUTED


@pytest.mark.usefixtures("searched")
@pytest.mark.parametrize(
    ("declared", "display"),
    [
        (KEYS, r"\|q\|^2 = d"),  # a size of what stands on the other side
        (KEYS, r"q + k = q"),
        (KEYS + " Assume $k = 3 q$.", "k = 2 q"),
        (KEYS + " Put $k := 3 q$.", "k = 2 q"),
        (KEYS, r"k_1 \le 10^{9}"),
        (KEYS, r"q^\top k = \|q\|^2"),
        (r"Let $n \in \mathbb{N}$ and $s \in \mathbb{R}^n$. Put $p := \operatorname{softmax}(s)$.", r"p_1 = 1"),
        (r"Let $a, b \in \mathbb{R}$.", r"a = 2 b \implies b = a"),
        (KEYS + r" Let $c \in \mathbb{R}^4$ and $e \in \mathbb{R}^5$.", "c = e"),  # shapes that do not fit
    ],
)
def test_claims_are_still_refuted(declared: str, display: str) -> None:
    assert last(declared, "Hence", f"$$ {display} $$").verdict is Verdict.REFUTED


TWO = r"Let $n \in \mathbb{N}$ and $x, y \in \mathbb{R}^n$."
SOFT = r"Let $n \in \mathbb{N}$ and $s \in \mathbb{R}^n$. Put $p := \operatorname{softmax}(s)$."
SAME, ONE, FLAT, START = r"x^\top y = \|x\|^2", r"\|x\| = 1", "2 x_1 = x_1 + x_n", r"-\log p_1 = \log n"
# Words around a step that is true under them: (blocks above, display, blocks below).
AROUND: list[tuple[tuple[str, ...], str, tuple[str, ...]]] = [
    ((TWO, "With $x$ in place of $y$, the score is"), SAME, ()),
    ((TWO, "Taking $x$ for both query and key, the score is"), SAME, ()),
    ((TWO, "If we reuse $x$ as $y$, the inner product becomes"), SAME, ()),
    ((TWO, "The inner product of the vector with itself is then"), SAME, ()),
    ((TWO, "A token scores itself with"), SAME, ()),
    ((TWO, "Evaluating at the point $x$ gives"), SAME, ()),
    ((TWO, "Replacing $y$ by $x$,"), SAME, ()),
    ((TWO, "Substituting $x$ for $y$ yields"), SAME, ()),
    ((TWO, "Inserting the value of $y$, the product is"), SAME, ()),
    ((TWO, "Here, $y$ stands for $x$."), SAME, ()),
    ((TWO, "Here, $y$ and $x$ are two names for one thing."), SAME, ()),
    ((TWO, "We write $x$ also for $y$."), SAME, ()),
    ((TWO, "The key $y$ repeats the query $x$ throughout."), SAME, ()),
    ((TWO, "For the first token, whose key is its query,"), SAME, ()),
    ((TWO, "- copies: $y$ repeats $x$", "Then:"), SAME, ()),
    (("*Setting:* the key $y$ repeats the query $x$.", TWO), SAME, ()),
    (("### Equal arguments", TWO), SAME, ()),
    ((TWO, "This gives"), SAME, ("This is the special case $x = y$ of Cauchy's inequality.",)),
    ((TWO, "This gives"), SAME, ("This is the case $y = x$.",)),
    ((TWO, "This gives"), SAME, ("Equality occurs if $y = x$, which is what we use here.",)),
    ((TWO, "This gives"), SAME, (r"The general case, $y \ne x$, is similar and left to the reader.",)),
    ((TWO, "This gives"), SAME, ("(We took $y = x$.)",)),
    ((TWO, "This gives"), SAME, ("We have used $y = x$ here.",)),
    ((TWO, "This gives"), SAME, ("by $y = x$.",)),
    ((TWO, "This gives"), SAME, ("where the key is the query itself.",)),
    ((TWO, "The score is"), r"x^\top y = 0", ("Of course, we have assumed that the key is zero.",)),
    ((TWO, "> The entries agree.", "Hence"), FLAT, ()),
    ((TWO, "| symbol | meaning |\n|---|---|\n| $x$ | all entries alike |", "Hence"), FLAT, ()),
    (("### The constant vector", TWO), FLAT, ()),
    (("### One token", TWO), FLAT, ()),
    (("### No noise", TWO), "x + y = x", ()),
    (("# Without noise", "## A", TWO), "x + y = x", ()),
    (("# Attention with unit keys", "## A", TWO), ONE, ()),
    (("# Attention", "All vectors in these notes have length one.", "## A", TWO), ONE, ()),
    (("# Part two, on the sphere", "## A", TWO), ONE, ()),
    ((TWO, "The set of these points is"), ONE, ()),
    ((TWO, "It is enough to look at the case"), ONE, ()),
    ((TWO, "The result follows from the case"), ONE, ()),
    ((TWO, "Let us now turn to the second case, that is"), ONE, ()),
    ((TWO, "The condition reads"), ONE, ()),
    ((TWO, "The first query is"), ONE, ("as every row of the identity is.",)),
    ((TWO, "Find all $x$ with"), ONE, ()),
    ((TWO, "A common mistake is to write"), ONE, ()),
    ((TWO, "It is wrong that"), ONE, ()),
    ((TWO, "Suppose for contradiction that"), ONE, ()),
    ((TWO, "Here we use the max norm."), r"\|x\| \le \max_i |x_i|", ()),
    ((TWO, r"Norms are those of $\ell_1$."), r"\|x\| = \sum_i |x_i|", ()),
    ((TWO, "The norm is the one of the maximum."), r"\|x\| \le \max_i |x_i|", ()),
    ((TWO, "We leave out $y$ from now on."), "x + y = x", ()),
    ((TWO, "Only the first term remains:"), "x + y = x", ()),
    ((TWO, "The input has passed a ReLU, hence"), "|x_1| = x_1", ()),
    ((TWO, "The features come in pairs, so"), "(-1)^n = 1", ()),
    ((SOFT, "The model attends only to the first token,"), "p_1 = 1", ()),
    ((SOFT, "The loss at the start of training is"), START, ()),
    ((SOFT, "The loss is"), START, ("Indeed, all logits are the same.",)),
    ((SOFT, "The loss is"), START, ("Indeed, the logits start at zero.",)),
    ((SOFT, "The loss is"), START, ("To see this, note that nothing has been learned.",)),
    (("With angles in degrees,",), r"\sin(90) = 1", ()),
    (("Working modulo two,",), "1 + 1 = 0", ()),
    (("In binary,",), "1 + 1 = 10", ()),
    (("Arithmetic is that of clocks with twelve hours.",), "11 + 2 = 1", ()),
    (("In single precision,",), "1 + 2^{-30} = 1", ()),
    (("In bfloat16 arithmetic,",), "256 + 1 = 256", ()),
    (("Rounded to one digit,",), "0.26 = 0.3", ()),
    (("Numerically,",), r"\exp(1) = 2.718", ()),
    (("With integer division,",), "7 / 2 = 3", ()),
    (("In percent,",), r"\tfrac{1}{2} = 50", ()),
    ((r"Here $\exp$ is to the base two.",), r"\exp(3) = 8", ()),
]  # fmt: skip


@pytest.mark.parametrize(("above", "display", "below"), AROUND, ids=[" ".join((*a, *b))[-60:] for a, _, b in AROUND])
def test_no_step_is_refuted_that_holds_under_the_words_around_it(
    above: tuple[str, ...], display: str, below: tuple[str, ...]
) -> None:
    assert last(*above, f"$$ {display} $$", *below).verdict in (Verdict.UNDECIDED, Verdict.AMBIGUOUS)


@pytest.mark.parametrize(
    ("above", "below"),
    [
        ("The gradient of the loss is", ()),
        ("Hence", ("This completes the proof of the first identity.",)),
        ("Computing the derivative gives", ("The last line follows from the product rule.",)),
        (r"Backpropagating through $o = V^\top p$:", ()),
        ("The entries of the gradient sum to zero:", ()),
        ("By the chain rule,", ("as claimed. In the next section we use this formula for the backward pass.",)),
        ("Then we find", ("This is exactly what PyTorch computes in its backward pass.",)),
        ("For the general case, note that", ()),
        ("Dividing by the same factor,", ("The next display uses it.",)),
    ],
)
def test_ordinary_words_keep_false_steps_refuted(above: str, below: tuple[str, ...]) -> None:
    head = SOFT + r" Let $d \in \mathbb{N}$ and $V \in \mathbb{R}^{n \times d}$."
    for display in (r"\sum_i p_i = 2 \cdot \mathbf{1}_n^\top p", r"V^\top p = 2 V^\top p", r"s^\top s = s^\top p"):
        blocks = ("# Backpropagation through LoRA", "## The softmax Jacobian", head, above, f"$$ {display} $$", *below)
        assert last(*blocks).verdict is Verdict.REFUTED


def test_a_chain_and_what_is_expected_to_be_refuted_are_claims() -> None:
    assert check_document(f"{KEYS}\n\n$$ q + k = 2 q = k $$\n").steps[-1].verdict is Verdict.REFUTED
    assert check_document(f"{KEYS}\n\n% expect: refuted\n$$ k = 2 q $$\n").steps[-1].verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        ("The query is sharp with $S = 10$.", Verdict.REFUTED),  # another S: that of the limit goes to infinity
        ("The query is sharp with $S \\in \\mathbb{N}$.", Verdict.UNDECIDED),  # along whole numbers a limit may exist
        ("The query is sharp with $x = 0$.", Verdict.UNDECIDED),
        ("The query is sharp with $S = x$.", Verdict.UNDECIDED),
    ],
)
def test_a_value_of_what_moves_is_not_a_hypothesis_of_its_limit(words: str, verdict: Verdict) -> None:
    declared = r"Let $x \in \mathbb{R}$ and $S > 0$."
    found = last(PROMISE, declared, words, r"% as: S \to \infty", r"$$ \frac{x}{1 + e^{-S}} \approx 2 x $$")
    assert found.verdict is verdict, found.evidence.text


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        ("Suppose that we drew a ticket, and put it back.\n\nNext.\n\nHence we find", "REFUTED"),
        ("Suppose that we drew a ticket, and put it back.", "UNDECIDED"),
        ("All that follows is on the dial.\n\nNext.\n\nHence we find", "UNDECIDED"),
        ("Suppose that the units are doubled, and nothing else.", "UNDECIDED"),
        ("Assume that all is counted modulo five.", "UNDECIDED"),
        ("Assume a world in which two and two make five.", "UNDECIDED"),
        ("Suppose the contrary.", "UNDECIDED"),
    ],
)
def test_a_hypothesis_that_was_not_read_matters_to_numbers_where_it_is_about_numbers(words: str, verdict: str) -> None:
    text = f"{words}\n\n$$ 11 + 2 = 1 $$\n"
    assert str(check_document(text, infer=True).steps[-1].verdict) == verdict


def test_nothing_is_read_as_anything_in_a_step_without_symbols() -> None:
    (step,) = check_document(
        "Let $x$ be frobnicated.\n\nNext.\n\nHence we find\n\n$$ 2 \\cdot 3 = 7 $$\n", infer=True
    ).steps
    assert step.verdict is Verdict.REFUTED and "read as" not in step.evidence.text


@pytest.mark.parametrize(
    ("pi", "verdict"),
    [(r"\boldsymbol{\pi}", Verdict.UNDECIDED), (r"{\bf \pi}", Verdict.UNDECIDED), (r"\pi", Verdict.REFUTED)],
)
def test_a_bold_pi_may_be_a_vector(pi: str, verdict: Verdict) -> None:
    """Of a stationary distribution; without a bold letter a number and a matrix are compared."""
    text = f"All hypotheses are declared as formulas.\n\nLet $P \\in \\mathbb{{R}}^{{2 \\times 2}}$.\n\n$$ {pi} P = {pi} $$\n"
    (step,) = check_document(text, infer=True).steps
    assert step.verdict is verdict


@pytest.mark.parametrize("formula", ["a c + a^2 = b + b^2", "a c + a^2 c = b + b^2"])
def test_relations_that_make_it_hold_together_are_all_named_and_no_others(formula: str) -> None:
    prose = "Here $d = 3$ somewhere. There $c = 1$ is common for frobs. We see blobs $a = b$ there."
    found = last("Let $a, b, c, d \\in \\mathbb{R}$.", prose, f"$$ {formula} $$")
    assert found.verdict is Verdict.UNDECIDED
    assert "it holds under $c = 1, a = b$" in found.evidence.text and "'Assume $c = 1, a = b$'" in found.evidence.text


@pytest.mark.parametrize(
    "formula", [r"\sin^2(z) + \cos^2(z) = 1", r"\tanh'(z) + \tanh^2(z) = 1", r"\exp(z) \odot \exp(-z) = 1"]
)
def test_a_number_beside_an_array_of_entries_is_not_refuted(formula: str) -> None:
    found = check_document(f"Let $n \\in \\mathbb{{N}}$ and $z \\in \\mathbb{{R}}^n$.\n\n$$ {formula} $$\n").steps[-1]
    assert str(found.verdict) == "UNDECIDED" and "each entry" in found.evidence.text


def test_a_number_beside_an_array_is_refuted_elsewhere() -> None:
    text = "Let $n \\in \\mathbb{N}$ and $z \\in \\mathbb{R}^n$.\n\n$$ z^\\top z = z $$\n"
    assert str(check_document(text).steps[-1].verdict) == "REFUTED"


@pytest.mark.parametrize("infer", [True, False])
def test_what_holds_of_all_values_holds_where_no_case_of_its_hypotheses_was_found(infer: bool) -> None:
    head = ("" if infer else "Let $x \\in \\mathbb{R}$. ") + "Suppose $\\sin x = \\frac35$. Then"
    wrong = "UNDECIDED" if infer else "REFUTED"
    for formula, verdict in ((r"\cos^2 x = 1 - \sin^2 x", "PROVED"), (r"\cos^2 x = 2 - \sin^2 x", wrong)):
        found = check_document(f"{head}\n\n$$ {formula} $$\n", infer=infer).steps[-1]
        assert str(found.verdict) == verdict, found.evidence.text
