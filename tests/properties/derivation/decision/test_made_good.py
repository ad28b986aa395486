r"""Which sentences that were not read may make good another index, exponent or end of a sum, and which cannot.

The step is one end of a sum away from an identity: true if the last entry is 0. Each sentence that keeps it open has a
neighbour that cannot say so.
"""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document

ENDS = r"\sum_{j=1}^n (x_j + c) = \sum_{j=1}^{n-1} x_j + n c"
ROOT = r"\sum_{j=1}^n (|x_j| + c) = \sum_{j=1}^{n-1} |x_j| + n c"
AVERAGE = r"\sum_{j=1}^n \mathbb{E}[x_j + c] = \sum_{j=1}^{n-1} \mathbb{E}[x_j] + n c"


def verdict(above: str, formula: str = ENDS) -> str:
    text = f"{above}\n\nSome words.\n\nMore words.\n\nNow we find\n\n$$ {formula} $$\n"
    return str(check_document(text, infer=True).steps[-1].verdict)


@pytest.mark.parametrize(
    ("open_", "refuted"),
    [
        ("Frobs have $x_n = c \\star c$.", "Frobs have $x_j \\ge c \\star c$."),
        ("Frobs have $x_1 = x_2 = g$.", "Frobs have $g = \\sum_j e^{x_j} + \\gamma(x)$."),
        ("Frobs have $x = (g; g; g)$.", "Frobs have $\\boldsymbol{x} = (x_1; x_2; \\dots; x_n)^\\top$."),
        ("Frobs have $x_n \\in \\{0, g\\}$.", "Frobs have $g \\in \\{x_1, \\dots, x_n\\}$."),
        ("Frobs have $x_n = g \\star c$.", "Frobs have $j = 1, \\dots, n$."),
        ("Frobs have $x_n = g \\star c$.", "Frobs go like $g : \\mathbb{R}^n \\to \\mathbb{R}$."),
        ("Suppose the frobs are duplicates.", "Suppose we have frobs at hand."),
        ("Suppose $x$ is a normalized frob.", "Suppose we have frobs of a multivariate normal distribution."),
        ("Frobs of $x$ are constant.", "Frobs of $x$ are smooth."),
        ("The frobs come first.", "The frobs follow from first principles."),
        ("One frob is all there is.", "One can see the frobs."),
        ("Suppose the frobs are tall vectors.", "Suppose the frobs are tall."),
        ("Suppose the frobs follow the gradient.", "Suppose the frobs follow gradient descent."),
        ("The frobs of $x$ are gizmos.", "The frobs of $x$ are not there."),
        ("Frobs are square.", "We complete the square of frobs."),
        ("Frobs have $x_n = c \\star c$.", "Frobs have $x_1 = c$."),  # false under it as well
        ("Frobs have $0 = g \\star x_n + g$.", "Frobs have $0 = g x_n + c \\star c$."),  # solved by g
        ("Frobs have $x_n = q(x_n) \\star c$.", "Frobs have $q(x_n | c) = q(c | x_n) q(x_n) / q(c)$."),  # laws
        ("Here one entry is enough.", "One approach to entries is enough."),
        ("All frobs give the same result.", "We find it by the same method of frobs."),
        ("The frobs are even in their distance.", "This is harder even if there are frobs."),
        ("Only frobs are there.", "Frobs are all that we are only able to see."),
        ("Frobs are simple.", "There is a simple way to frobs."),
        ("The value of a frob does not matter.", "We do not have to know the frobs."),
        ("A bit of a frob is missing.", "We look a bit better at frobs."),
        ("We start at the origin.", "First, we look at frobs."),
        ("The labels are a frob with one entry.", "The labels are one-hot encoded."),  # false of each one-hot vector
        ("$x$ is the one-hot vector of the first class.", "The labels are one-hot vectors."),
        ("The labels are zero.", "This is binary classification."),
    ],
)
def test_what_may_make_entries_vanish_and_what_cannot(open_: str, refuted: str) -> None:
    assert verdict(open_) == "UNDECIDED"
    assert verdict(refuted) == "REFUTED"


@pytest.mark.parametrize(
    ("words", "formula"),
    [
        ("Frobs have $x = (x_1, 0, \\dots, 0, x_n)$.", ENDS),  # a list that holds more than the entries
        ("Frobs have $x = -(x_1, x_2, \\dots, x_n)$.", ENDS),
        ("Frobs have $s = x_n + 1$.\n\nGizmos have $s = 1$.", ENDS),  # one more equation of the new symbol
        ("Frobs have $0 \\le x_n \\le 0$.", ENDS),
        ("Frobs of $x$ are not positive and not negative.", ENDS),
        ("The frobs are $x : \\{1, \\dots, n\\} \\to \\{0\\}$.", ENDS),
        ("The support is $\\operatorname{supp}(x) \\subset \\{1, \\dots, n - 1\\}$.", ENDS),
        ("Frobs have $x_j \\ge c \\star c$.", ROOT),  # an absolute value is not analytic
        ("Frobs have $n \\ge c \\star c$.", ENDS),  # nor does a size take all values
        ("Suppose we have frobs of a multivariate normal distribution.", AVERAGE),
    ],
)
def test_what_cannot_in_one_step_may_in_another(words: str, formula: str) -> None:
    assert verdict(words, formula) == "UNDECIDED"


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        ("The frobs come first.", "REFUTED"),  # of a section of its own, without a symbol of the step
        ("As said above, the frobs come first.", "UNDECIDED"),
        ("The frobs $x_j$ come first.", "UNDECIDED"),
        ("We supposed that the frobs come first.", "UNDECIDED"),
    ],
)
def test_a_later_section_is_about_itself_unless_it_points_back(words: str, verdict: str) -> None:
    text = f"# Claim\n\nNow we find\n\n$$ {ENDS} $$\n\n# Summary\n\n{words}\n"
    assert check_document(text, infer=True).steps[-1].verdict == verdict


def test_a_later_section_of_remarks_is_about_the_others() -> None:
    for title, verdict_there in (
        ("Caveats", "UNDECIDED"),
        ("Limitations of this", "UNDECIDED"),
        ("Summary", "REFUTED"),
    ):
        text = f"# Claim\n\nNow we find\n\n$$ {ENDS} $$\n\n# {title}\n\nThe frobs come first.\n"
        assert check_document(text, infer=True).steps[-1].verdict == verdict_there


def test_relations_that_make_good_together_stay_open() -> None:
    words = "Frobs have $c = x_n + x_1$.\n\nGizmos have $c = x_1$."
    assert verdict("Frobs have $c = x_n + x_1$.") == verdict("Gizmos have $c = x_1$.") == "REFUTED"
    assert verdict(words) == "UNDECIDED"


def test_a_table_of_contents_says_nothing() -> None:
    lines = "1. [The same for all](#same)\n2. [Vanishing entries](#vanishing)\n"
    assert verdict(f"## Contents\n\n{lines}") == "REFUTED"
    assert verdict("See [the same for all](#same) of the entries of $x$.") == "UNDECIDED"


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        ("The youngest gets nothing.", "UNDECIDED"),
        ("The output layer has no bias.", "UNDECIDED"),
        ("The signal has compact support.", "UNDECIDED"),
        ("The youngest gets a present.", "REFUTED"),
    ],
)
def test_a_word_that_says_that_something_is_absent_may_make_an_entry_zero(words: str, verdict: str) -> None:
    text = f"{words}\n\nAdding up we find\n\n$$ \\sum_{{j=1}}^n (x_j + c) = \\sum_{{j=1}}^{{n-1}} x_j + n c $$\n"
    assert check_document(text, infer=True).steps[-1].verdict == verdict
