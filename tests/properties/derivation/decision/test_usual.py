"""A false step that holds under a usual hypothesis, which the document mentions far from it, is not refuted."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import StepReport, Verdict

VECTORS = r"Let $n \in \mathbb{N}$ and $x, y \in \mathbb{R}^n$."
MATRICES = r"Let $n \in \mathbb{N}$, $A, B \in \mathbb{R}^{n \times n}$ and $x \in \mathbb{R}^n$."
NUMBERS = r"Let $a, b \in \mathbb{R}$."
RIGHT = r"\|x + y\|^2 = \|x\|^2 + \|y\|^2"
UNIT = r"\|x - y\|^2 = 2 - 2 x^\top y"
SYMMETRIC = r"x^\top A B x = x^\top A^\top B x"
ROTATED = r"\|A x\|^2 = x^\top x"
COMMUTING = "A B x = B A x"
SUM = r"\mathbf{1}_n^\top x + n = n + 1"
SAME = r"\|x\|^2 + \|y\|^2 = 2 x^\top y"
ONE = r"x x^\top x + \operatorname{softmax}(x) = x x^\top x + \mathbf{1}_n"
# Words in another section, the declaration and the step.
FAR = [
    ("The vectors of the next section are orthogonal.", VECTORS, RIGHT),
    ("In this lecture all vectors are orthogonal.", VECTORS, RIGHT),
    ("Below, queries and keys have length one.", VECTORS, UNIT),
    ("In the next section the matrix is symmetric.", MATRICES, SYMMETRIC),
    ("The rest is about rotations.", MATRICES, ROTATED),
    ("All of the following is for commuting matrices.", MATRICES, COMMUTING),
    ("Weights: nonnegative numbers with sum one.", VECTORS, SUM),
    ("The norm exercise is about right triangles.", VECTORS, RIGHT),
    ("Where did we use that $x$ and $y$ are orthogonal?", VECTORS, RIGHT),
    ("Signs are ignored.", NUMBERS, r"\sqrt{a^2} + b = a + b"),
    ("The two coincide.", VECTORS, SAME),
    ("One matrix undoes what the other does: it is the inverse.", MATRICES, "x + A B x = 2 x"),
    ("The covariance is written as a matrix.", MATRICES, SYMMETRIC),
    ("All means are centred.", VECTORS, r"\mathbf{1}_n^\top x + n = n"),
    ("A projection is meant.", MATRICES, "A A x = A x"),
    ("A diagonal matrix has few entries.", MATRICES, COMMUTING),
]


def last(*blocks: str) -> StepReport:
    steps = check_document("\n\n".join(blocks) + "\n").steps
    return next(s for s in reversed(steps) if s.text != "1 = 1" and s.verdict is not Verdict.UNREADABLE)


@pytest.mark.parametrize(("words", "declared", "display"), FAR)
def test_words_of_other_sections_may_be_a_hypothesis(words: str, declared: str, display: str) -> None:
    step = ("## Norm", declared, f"$$ {display} $$")
    other = ("## Start", "$$ 1 = 1 $$", words)
    for blocks in ((*other, *step), (*step, "## End", words)):
        found = last("# Notes", *blocks)
        assert found.verdict is Verdict.UNDECIDED, found.evidence.text
        assert "Assume $" in found.evidence.text and words.split()[0] in found.evidence.text
    assert last("# Notes", *step).verdict is Verdict.REFUTED
    assert last("# Notes", "All hypotheses are declared as formulas.", *other, *step).verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    ("words", "declared", "display"),
    [
        ("Rotations and orthogonal vectors are treated elsewhere.", VECTORS, r"\|x + y\|^2 = \|x\|^2 + 1"),
        ("The vectors of the next section are orthogonal.", VECTORS, r"\nabla_x \|x\|^2 = x"),
        ("In the next section the matrix is symmetric.", MATRICES, ROTATED),
        ("Unit vectors are common.", VECTORS, RIGHT),
        ("The next section is about gradients.", VECTORS, RIGHT),
    ],
)
def test_words_that_are_no_excuse(words: str, declared: str, display: str) -> None:
    found = last("# Notes", "## Start", "$$ 1 = 1 $$", words, "## Norm", declared, f"$$ {display} $$")
    assert found.verdict is Verdict.REFUTED, found.evidence.text


@pytest.mark.parametrize(
    ("title", "declared", "display"),
    [
        ("A token", VECTORS, ONE),
        ("The last key", VECTORS, ONE),
        ("Softmax over a key", VECTORS, ONE),
        ("Softmax of a number", VECTORS, ONE),
        ("Attention of a token to itself", VECTORS, ONE),
        ("Product of the numbers", MATRICES, COMMUTING),
        ("A matrix and its transpose", MATRICES, r"x^\top A B x = x^\top A A^\top x"),
        ("The query and its transpose", VECTORS, r"x^\top y + n = \|x\|^2 + n"),
        ("Query and query", VECTORS, r"x^\top y + n = \|x\|^2 + n"),
        ("Rows and their sums", VECTORS, SUM),
        ("Matrices and their transposes", MATRICES, SYMMETRIC),
        ("Norm {#orthogonal-vectors}", VECTORS, RIGHT),
    ],
)
def test_a_topic_may_be_a_hypothesis(title: str, declared: str, display: str) -> None:
    found = last("# Notes", f"## {title}", declared, f"$$ {display} $$")
    assert found.verdict is Verdict.UNDECIDED, found.evidence.text


@pytest.mark.parametrize("title", ["The scores", "Norm", "Product", "Root"])
def test_other_topics_are_none(title: str) -> None:
    assert last("# Notes", f"## {title}", VECTORS, f"$$ {ONE} $$").verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    ("roles", "declared", "display"),
    [
        ("Here $x$ is the query and $y$ is the query.", VECTORS, SAME),
        ("Here $x$ is the key. Here $y$ is the key.", VECTORS, SAME),
        ("Here $x$ and $y$ are the query.", VECTORS, SAME),
        ("We write $x$ for the query and $y$ for the query.", VECTORS, SAME),
        ("Here $A$ and $B$ are the weight matrix.", MATRICES, COMMUTING),
    ],
)
def test_two_symbols_of_one_role_may_be_the_same(roles: str, declared: str, display: str) -> None:
    assert last("# Notes", declared, roles, f"$$ {display} $$").verdict is Verdict.UNDECIDED
    plain = "Here $x$ is the query and $y$ is the key."
    assert last("# Notes", VECTORS, plain, f"$$ {SAME} $$").verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    "hidden",
    ["<!-- x and y are orthogonal -->\n", "% orthogonal\n"],
)
def test_comments_may_be_a_hypothesis(hidden: str) -> None:
    assert last("# Notes", hidden + VECTORS, f"$$ {RIGHT} $$").verdict is Verdict.UNDECIDED


@pytest.mark.parametrize("tag", [r"\tag{right triangle}", r"\label{eq:orthogonal-vectors}"])
def test_a_tag_of_more_words_may_be_a_hypothesis(tag: str) -> None:
    assert last("# Notes", VECTORS, f"$$ {RIGHT} {tag} $$").verdict is Verdict.UNDECIDED


@pytest.mark.parametrize("tag", [r"\tag{norm}", r"\tag{perpendicular}"])
def test_a_tag_of_one_word_is_a_name(tag: str) -> None:
    assert last("# Notes", VECTORS, f"$$ {RIGHT} {tag} $$").verdict is Verdict.REFUTED
