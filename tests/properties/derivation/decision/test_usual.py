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
    ("In the lecture all vectors are orthogonal.", VECTORS, RIGHT),
    ("Below, queries and keys have length one.", VECTORS, UNIT),
    ("In the next section the matrix is symmetric.", MATRICES, SYMMETRIC),
    ("The rest is about rotations.", MATRICES, ROTATED),
    ("All of the following is for commuting matrices.", MATRICES, COMMUTING),
    ("Weights: nonnegative numbers with sum one.", VECTORS, SUM),
    ("The norm exercise is about right triangles.", VECTORS, RIGHT),
    ("Where did we use that $x$ and $y$ are orthogonal?", VECTORS, RIGHT),
    ("Signs are ignored.", NUMBERS, r"\sqrt{a^2} + b = a + b"),
    ("The norm of a vector follows.", NUMBERS, r"\sqrt{a^2} + b = a + b"),
    ("Losses are computed next.", NUMBERS, r"\sqrt{a^2} + b = a + b"),
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


@pytest.mark.thorough(  # of each hypothesis one sentence or two
    leave_out=(
        "In the lecture*", "The norm*", "Where did*", "Losses are*", "The covariance*", "A diagonal matrix*",
    )
)  # fmt: skip
@pytest.mark.parametrize(("words", "declared", "display"), FAR)
def test_words_of_other_sections_may_be_a_hypothesis(words: str, declared: str, display: str) -> None:
    step = ("## Step", declared, f"$$ {display} $$")
    other = ("## Start", "$$ 1 = 1 $$", words)
    for blocks in ((*other, *step), (*step, "## End", "$$ 1 = 1 $$", words)):
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


@pytest.mark.parametrize(
    "words",
    [
        "In these parts, $A^\\top = A$.",
        "Our matrices satisfy $A = A^\\top$.",
        "Note that $A_{ij} = A_{ji}$, by the way.",
        "The letter $A$ is kept for matrices with $A = A^\\top$.",
        "| symbol | property |\n|---|---|\n| $A$ | $A = A^\\top$ |",
        "- (H1) $A = A^\\top$\n- (H2) nothing",
    ],
)
def test_relations_that_another_section_states_may_be_hypotheses(words: str) -> None:
    blocks = ("# First", "$$ 1 = 1 $$", words, "# Second", "$$ 1 = 1 $$", "# Third", MATRICES)
    found = last(*blocks, f"$$ {SYMMETRIC} $$")
    assert found.verdict is Verdict.UNDECIDED and "Assume $A" in found.evidence.text
    assert last(*blocks, f"$$ {ROTATED} $$").verdict is Verdict.REFUTED  # no hypothesis makes it true


def test_a_goal_of_another_section_is_no_hypothesis() -> None:
    goal = "We show that $A B = B A$, and prove that $x^\\top A B x = x^\\top A^\\top B x$."
    blocks = ("# First", "$$ 1 = 1 $$", goal, "# Third", MATRICES)
    assert last(*blocks, f"$$ {COMMUTING} $$").verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    ("title", "declared", "display"),
    [
        ("Large scores", NUMBERS, r"a^2 \ge a"),
        ("Long queries", VECTORS, r"\|x\|^2 \ge \|x\|"),
        ("Short keys", VECTORS, r"\|x\|^2 \le \|x\|"),
        ("Different tokens", VECTORS, r"\|x - y\| > 0"),
        ("The first token", r"Let $t \in \mathbb{N}$.", "t^2 = t"),
        ("The softmax of a score", VECTORS, r"\|\operatorname{softmax}(x)\| = 1"),
        ("The linear part", NUMBERS, r"\exp(a) = 1 + a"),
        ("Linear parts", NUMBERS, r"(1 + a)^2 = 1 + 2 a"),
        ("The main terms", NUMBERS, r"(1 + a)^2 = 1 + 2 a"),
        ("Roots", NUMBERS, "a^2 - a = 0"),
        ("Simple functions", NUMBERS, "a^2 - a = 0"),
    ],
)
def test_titles_with_an_adjective_that_restricts_are_not_read(title: str, declared: str, display: str) -> None:
    assert last("# Notes", f"## {title}", declared, f"$$ {display} $$").verdict is Verdict.UNDECIDED
    plain = "norm" if title in ("Roots", "The first token") else title.split()[-1].rstrip("s")
    assert last("# Notes", f"## The {plain}", declared, f"$$ {display} $$").verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    "words",
    [
        "The general case is left to the reader.",
        "We leave the general case to the reader.",
        "The general case is analogous.",
        "The general statement is proved below.",
        "The other cases are similar.",
        "We now turn to the general case.",
    ],
)
def test_words_behind_a_display_may_say_that_it_is_a_special_case(words: str) -> None:
    assert last(NUMBERS, "We get", "$$ a^2 = a $$", words).verdict is Verdict.UNDECIDED
    assert last(NUMBERS, "In the general case, we get", "$$ a^2 = a $$").verdict is Verdict.REFUTED


@pytest.mark.parametrize("title", ["Shifted scores", "Cubes", "Notes by the pool"])
def test_the_title_of_a_document_names_it_unless_a_word_of_it_may_restrict(title: str) -> None:
    text = f"{VECTORS}\n\n$$ {ONE} $$"
    assert last(f"# {title}", text).verdict is Verdict.REFUTED
    of_section = last(f"## {title}", text).verdict  # an adjective of a section, or a kind of numbers, may say which
    assert of_section is (Verdict.REFUTED if title.startswith("Notes") else Verdict.UNDECIDED)
    for restricting in (
        f"# {title}: $y = x$",
        f"# {title} of unit length",
        "# Tied scores",
        "# One key",
    ):
        assert last(restricting, text).verdict is Verdict.UNDECIDED, restricting
    assert last(f"# {title}", "$$ 1 = 1 $$", "# Another", text).verdict is Verdict.REFUTED  # it is of its section
