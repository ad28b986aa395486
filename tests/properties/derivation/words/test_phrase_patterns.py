"""The grammar of harmless sentences: each pattern has a sentence of its own, and a twin that restricts and is unread."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import Verdict
from attention_core.derivation.words.phrase_patterns import PATTERNS, TALK, is_pattern, is_title, leads_to_value

HEAD = r"Let $n \in \mathbb{N}$ and $x, y \in \mathbb{R}^n$."
FALSE = r"$$ x^\top y = x^\top y + n $$"

# pattern: (a sentence that matches it, its twin: words of the same kind that may restrict a symbol)
TWINS: dict[str, tuple[str, str]] = {
    "interjection": ("Sure!", "Surely the same vectors!"),
    "here is": ("Here is a step-by-step derivation.", "Here is a vector of norm one."),
    "people": ("Bernoulli and friends:", "Bernoulli and equal friends:"),
    "connectives": ("Hence,", "On average,"),
    "known fact": ("It is a classical fact that", "It is a classical case that"),
    "checked": ("One checks easily that", "One assumes easily that"),
    "follows at once": ("It follows immediately that", "It holds on average that"),
    "plugging in": ("Plugging this in yields", "Plugging equal vectors in yields"),
    "to see this": ("To see this, expand the square.", "To see this, centre the square."),
    "what was wanted": ("This is the identity we wanted.", "This is the vector we wanted."),
    "start with": ("Let us start with the simplest identity.", "Let us start with the simplest vector."),
    "by computation": ("The proof is by direct computation.", "The proof is by equal vectors."),
    "used again": ("We will use this repeatedly below.", "We will use this on unit vectors."),
    "the heart": ("The next lemma is the heart of the matter.", "The next vector is the heart of the matter."),
    "once more": ("For the record, we state it once more.", "For the record, we keep it equal."),
    "to the reader": ("I leave the details to the reader.", "I leave the vectors equal."),
    "own work": ("My solution:", "My two vectors:"),
    "as a check": ("As a sanity check, we compute", "As a special case, we compute"),
    "by definition of": ("By the definition of the norm,", "By the definition of our vectors,"),
    "taking derivatives": ("Taking the gradient with respect to $x$ gives", "Taking the mean with respect to $x$ gives"),
    "key observation": ("The key observation is the following:", "The key assumption is the following:"),
    "numbered fact": ("Fact 1.", "Case 1."),
    "about": ("This section is about the next inequality.", "This section is about equal vectors."),
    "the claim is": ("The inequality to prove is", "The condition to keep is"),
    "in a notation": ("Written out,", "Averaged out,"),
    "put differently": ("Or, what is the same,", "Or, what is small,"),
    "as follows": ("We can bound this as follows:", "We can tie this as follows:"),
    "is easy": ("The upper bound is easy.", "The upper vector is zero."),
    "in code": ("In code this is one line.", "In code this is one vector."),
    "numerically": ("This is numerically stable.", "This is numerically zero."),
    "closing": ("Hence the name.", "Hence the same."),
    "exercises": ("Easy exercise.", "Equal vectors."),
    "the lecture": ("See also the previous lecture.", "See also the same vectors."),
    "can be written": ("which can be written more compactly as", "which can be averaged more compactly as"),
    "we write": ("We can also express $x$ as", "We can also fix $x$ as"),
    "note that we": ("Note that we can write", "Note that we assume"),
    "compute": ("Compute $x$:", "Normalise $x$:"),
    "gradient by": ("Gradient with respect to $x$:", "Gradient equal to $x$:"),
    "with a rule": ("Using integration by parts, we get", "Using arithmetic modulo 7, we get"),
    "imprint": ("Copyright 2023 by the authors.", "Copied vectors by the authors."),
    "we get": ("Thus we obtain", "Thus we require"),
    "it follows": ("From the chain rule it follows that", "From the symmetry it follows that"),
    "which gives": ("which gives the following result", "which gives the other vector"),
    "which yields a formula": ("which yields the update rule used in gradient descent", "which yields equal vectors"),
    "recall that": ("Recall that", "Recall our convention that"),
    "in a form": ("In matrix form this reads", "In orthogonal form this reads"),
    "sides": ("Therefore, the two sides are related by", "Therefore, the two vectors are the same"),
    "an idea": ("The trick is to multiply and divide by the same factor", "The trick is to make both vectors equal"),
    "quantified": ("For all $x$ and $y$ we have", "For some $x$ and $y$ we have"),
    "uses a rule": ("The second line uses the product rule.", "The second line uses the independence."),
    "used next": ("The next display uses it.", "The next display uses unit vectors."),
    "follows below": ("The squared norm follows.", "The second vector follows the first."),
    "easy to see": ("It is not difficult to check the following.", "It is necessary to tie the following."),
    "order of transposes": (
        "Transposing a product reverses the order of the factors:", "Transposing a product reverses the vector:",
    ),
    "names": ("Proof of the lemma.", "Proof for equal vectors."),
    "of others": (
        "This is the formula used in the paper of Vaswani et al. (2017):",
        "This is the formula used for equal vectors:",
    ),
    "notation of a part": ("We use the notation from the previous section.", "We use the vectors from the cache."),
    "general case": ("Let us look at the general case.", "Let us look at the special case."),
    "second term": ("Next, consider the second term.", "Next, consider equal vectors."),
    "claim": ("Our claim is", "Our wish is"),
    "obvious": ("Clearly", "Ideally"),
    "by a result": ("By the chain rule,", "By symmetry,"),
    "see": ("See Figure 3.8 for an illustration.", "See the values as copies."),
    "reference": ("(lemma 3)", "(equal vectors)"),
    "as claimed": ("as claimed.", "as required."),
    "manipulations": ("Expanding the square and collecting terms:", "Swapping both vectors:"),
    "we manipulate": ("We can now differentiate both sides", "We can now identify both vectors"),
    "aims": ("It remains to show that", "We want"),
    "author": ("Next, we compute the squared norm of the output.", "Next, we normalise the output."),
    "backpropagating": ("Backpropagating through the softmax:", "Backpropagating through equal vectors:"),
    "passive": ("The gradient of the loss is computed below.", "The gradient of the loss is removed before."),
    "analogous": ("The proof of the other formula is analogous:", "The other vector is analogous:"),
    "a standard fact": ("This is a standard fact, see [3, Section 2.1].", "This is a unit vector, see [3]."),
    "notation of others": ("We follow the notation of Vaswani et al. and derive every formula by hand.", "We follow NumPy here."),
    "audience": ("They are meant for students of the second year.", "They are meant for unit vectors."),
    "prerequisites": ("No framework is needed.", "No offset is needed."),
    "origin": ("LoRA was proposed by Hu et al. [1] and is now the most popular method.", "The vector was copied by the layer."),
    "opinion": ("The softmax is one of the most important functions.", "The softmax is one of the vectors."),
    "fixed functions": ("The softmax is invariant under shifts of its argument.", "The mask is invariant under shifts."),
    "comment": ("which is an upper bound in general.", "which is a unit vector in general."),
    "frobenius": (
        "The squared Frobenius norm is the sum of the squares of the entries.",
        "The squared vector is the sum of the entries.",
    ),
    "broadcast": ("Sums are broadcast.", "Sums are means."),
    "repeated indices": ("We use Einstein's summation convention.", "Repeated indices are equal."),
    "letters": ("Matrices are written in capital letters.", "Matrices are written as products of others."),
    "computed from": ("The Hessian is the derivative of the gradient.", "The second vector is the derivative of the first."),
    "end of a proof": ("This completes the proof of the first identity.", "This completes the vector to a unit vector."),
    "on to": ("Here comes the proof.", "Here come unit vectors."),
    "as others compute": ("This is exactly what PyTorch computes in its backward pass.", "This is exactly what the cache returns."),
    "note": ("Note the order of the factors.", "Note that the factors are equal."),
    "to be studied": ("Next we consider the squared norm of the scores.", "Next we consider the tied norm of the scores."),
    "used here": (
        "This section collects a few identities that are used in our implementation.",
        "This section collects a few vectors that are equal in our implementation.",
    ),
    "used somewhere": ("The softmax is used in attention.", "The softmax is used on equal vectors."),
    "seen how": ("We have seen how to compute the gradient of the loss.", "We have seen how to tie the vectors."),
    "closing words": ("Thanks for reading!", "Thanks for normalising!"),
    "exercise": ("Repeat the computation of the gradient.", "Swap the factors."),
    "picture": ("Figure 2 shows the attention scores.", "Figure 2 shows that the scores tie."),
}  # fmt: skip


def verdict(*blocks: str) -> Verdict:
    return check_document("\n\n".join(blocks) + "\n").steps[-1].verdict


def test_every_pattern_has_its_sentences() -> None:
    assert set(TWINS) == set(PATTERNS) | set(TALK)


@pytest.mark.parametrize("name", TWINS)
def test_a_sentence_of_the_grammar_is_harmless_and_its_twin_is_not(name: str) -> None:
    harmless, twin = TWINS[name]
    masked = [" ".join("$$".join(words.split("$")[::2]).split()) for words in (harmless, twin)]
    assert is_pattern(masked[0]) and not is_pattern(masked[1])
    assert verdict(HEAD, harmless, "We have", FALSE) is Verdict.REFUTED
    assert verdict(HEAD, twin, "We have", FALSE) is Verdict.UNDECIDED


@pytest.mark.parametrize("name", TALK)
def test_talk_sets_nothing_unless_a_display_follows(name: str) -> None:
    assert not is_pattern(TWINS[name][0], leads=True)


@pytest.mark.parametrize(
    ("title", "twin"),
    [
        ("Lecture 7: attention, by hand", "Lecture 7: orthogonal attention"),
        ("Step 3: the backward pass", "Step 3: the merged pass"),
        ("Low-rank adaptation", "Low-rank weights"),
        ("Computing the norm of the output", "Averaging the output"),
        ("Deriving Adam's loss by hand", "The code"),
        ("Proof of the lemma", "The solution"),
        ("Layers and heads", "One head"),
        (r"\section{Gradients}", r"\section{Assignments}"),
    ],
)
def test_titles_are_topics(title: str, twin: str) -> None:
    assert is_title(title) and not is_title(twin)
    assert verdict(f"## {title}", HEAD, "We have", FALSE) is Verdict.REFUTED
    assert verdict(f"## {twin}", HEAD, "We have", FALSE) is Verdict.UNDECIDED


@pytest.mark.parametrize(
    "title",
    [
        "Log-sum-exp and temperature scaling",
        "Ordinary least squares",
        "Notes on layer normalisation",
        "The softmax Jacobian",
    ],
)
def test_a_title_that_says_what_a_symbol_may_be_is_a_topic_and_not_harmless(title: str) -> None:
    """The step below computes none of these."""
    assert is_title(title)
    assert verdict(f"## {title}", HEAD, "We have", FALSE) is Verdict.UNDECIDED


def test_what_a_computation_gives_may_be_a_condition_where_a_side_is_constant() -> None:
    lead = "The gradient of the loss is"
    assert leads_to_value(lead) and not leads_to_value("The norm of the vector is")
    assert verdict(HEAD, lead, r"$$ x^\top y = 2 x^\top y $$") is Verdict.REFUTED
    assert verdict(HEAD, lead, r"$$ x - y = 0 $$") is Verdict.UNDECIDED


@pytest.mark.parametrize(
    ("declared", "words", "expected"),
    [
        (HEAD, "Here $x$ is the query and $y$ is the key.", Verdict.REFUTED),
        (HEAD, "Here $x$ is the query and $y$ is the norm.", Verdict.UNDECIDED),
        (HEAD, "Here $n$ is the number of tokens.", Verdict.REFUTED),
        (HEAD, "Here $x$ is the number of tokens.", Verdict.UNDECIDED),
        (HEAD, "Here $x$ is the output of the layer.", Verdict.UNDECIDED),
        (r"Let $n \in \mathbb{N}$, $y \in \mathbb{R}^n$. Put $x := 2 y$.", "Here $x$ is the output.", Verdict.REFUTED),
        (HEAD, "It does not depend on $x$.", Verdict.REFUTED),
        (HEAD, "It does not depend on $n$.", Verdict.UNDECIDED),
    ],
)
def test_a_role_restricts_nothing_where_it_may_be_anything(declared: str, words: str, expected: Verdict) -> None:
    assert verdict(declared, words, "We have", FALSE) is expected


def test_a_sentence_farther_down_that_speaks_of_the_whole_section_counts() -> None:
    shared = "(As always, encoder and decoder share weights here.)"
    assert verdict(HEAD, "We have", FALSE, "This is the claim.", shared) is Verdict.UNDECIDED
    assert verdict(HEAD, "We have", FALSE, "This is the claim.", "Next:") is Verdict.REFUTED
    example = (HEAD, "We have", FALSE, "which is an upper bound.", "## Example", shared, "$$ n = n $$")
    assert check_document("\n\n".join(example)).steps[0].verdict is Verdict.REFUTED


def test_long_sentences_are_matched_in_little_time() -> None:
    for words in (
        "and so ",
        "the key of the ",
        "key ",
        "the gradient of the loss and ",
        "we can now then ",
        "by hand, ",
    ):
        assert not is_pattern(words * 60 + "tie") and not is_title(words * 60 + "tie")
        assert not leads_to_value(words * 20 + "tie")


def test_titles_that_name_a_subject_restrict_nothing_and_adjectives_do() -> None:
    harmless = "Inverse|Cosine|Jensen|Least squares|Trace|Proof|Setup|Polarization|Geometric series|Variance|Step 1"
    assert all(is_title(title) for title in harmless.split("|"))
    restricting = (
        "Large scores|Long queries|Many keys|Few tokens|First token|Different keys|Linear parts|Roots|Minimum|"
        "The softmax of a score|Main terms|Unit vectors|Projections|Simple functions|General case|Ties|Zero mean"
    )
    assert not [title for title in restricting.split("|") if is_title(title)]


@pytest.mark.parametrize(
    ("words", "twin"),
    [
        ("Conversely", "Hence"),
        ("Dividing by the norm gives", "Dividing by two gives"),
        ("Subtracting the sum, we get", "Adding and subtracting $x^\\top y$, we get"),
        ("Substituting $y$ gives", "Substituting the definitions gives"),
        ("The inner product is never negative.", "The euclidean norm is never negative."),
    ],
)
def test_words_that_change_what_is_computed_are_unread(words: str, twin: str) -> None:
    assert verdict(HEAD, words, FALSE) is Verdict.UNDECIDED
    assert verdict(HEAD, twin, FALSE) is Verdict.REFUTED


def test_a_title_with_a_name_that_makes_a_matrix_special_is_unread() -> None:
    assert not is_title("The Pauli matrices") and is_title("The Bahdanau attention")
