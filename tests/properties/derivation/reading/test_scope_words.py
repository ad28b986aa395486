"""Where words count: around a display, in sentences about its symbols, and nowhere once all hypotheses are formulas."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import Verdict
from attention_core.derivation.words.leftovers import left_over

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
        (HEAD, "Why do the scores tie?", FALSE),  # a question may take for granted what it asks about
        (HEAD, 'We quote the words "tied scores" here.', FALSE),
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
        (HEAD, "The scores tie, and so", "$$ a = a $$", "Next, we have", FALSE),  # of another display
        ("## Sum", "$$ 1 = 1 $$", "When the scores tie.", "## Example", HEAD, FALSE),  # of another section
        (HEAD, "We have", r"$$ \operatorname{softmax}(s)_1 = \frac{1}{n} \tag{tied} $$"),  # a name
    ],
)
def test_words_out_of_scope_do_not(blocks: tuple[str, ...]) -> None:
    assert verdict(*blocks) is Verdict.REFUTED


def test_the_promise_ends_with_its_section() -> None:
    blocks = ("# One", PROMISE, "# Two", HEAD, "When the scores tie,", FALSE)
    assert verdict(*blocks) is Verdict.UNDECIDED
    assert verdict(*blocks[:2], "## Two", *blocks[3:]) is Verdict.REFUTED


def test_a_step_without_symbols_depends_on_sentences_alone() -> None:
    assert verdict("Bytes are added.", "$$ 255 + 1 = 0 $$") is Verdict.UNDECIDED
    assert verdict("## The chain rule", "By linearity,", "$$ 1 + 1 = 3 $$") is Verdict.REFUTED


def test_reasons_that_name_what_is_assumed_are_known() -> None:
    head = r"Let $n \in \mathbb{N}$ and $x, y \in \mathbb{R}^n$ with $x^\top y = 0$."
    assert verdict(head, "By orthogonality,", r"$$ \|x + y\|^2 = \|x\|^2 + 2 \|y\|^2 $$") is Verdict.REFUTED
    assert (
        verdict(head.replace(" with $x^\\top y = 0$", ""), "By orthogonality,", r"$$ x^\top y = 0 $$")
        is Verdict.UNDECIDED
    )


WEIGHTS = "Here $p$ is the vector of attention weights."
LARGE = r"$$ p^\top p \ge 1 $$"


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        (r"Let $n \in \mathbb{N}$, $x \in \mathbb{R}^n$ and put $p := \operatorname{softmax}(x)$.", Verdict.REFUTED),
        (
            r"Let $n \in \mathbb{N}$, $p \in \mathbb{R}^n$ with $p_i \ge 0$ and $\sum_i p_i = 1$.",
            Verdict.REFUTED,
        ),
        (r"Let $n \in \mathbb{N}$, $p \in \mathbb{R}^n$.", Verdict.UNDECIDED),
        (r"Let $n \in \mathbb{N}$, $p \in \mathbb{R}^n$ with $\sum_i p_i = 1$.", Verdict.UNDECIDED),
        (
            r"Let $n \in \mathbb{N}$, $A \in \mathbb{R}^{n \times n}$, $x \in \mathbb{R}^n$, $p := A x$.",
            Verdict.UNDECIDED,
        ),
    ],
)
def test_attention_weights_restrict_only_what_is_not_known_to_be_some(declared: str, said: Verdict) -> None:
    assert verdict(f"{declared} {WEIGHTS}", LARGE) is said


@pytest.mark.parametrize(
    "words", ["The update rule is the following.", "The squared norm follows.", "An update follows."]
)
def test_updates_and_squared_norms_restrict_nothing(words: str) -> None:
    assert verdict(f"{HEAD} {words}", FALSE) is Verdict.REFUTED


@pytest.mark.parametrize("relation", [r"s_i \ge t_i", "`s_i >= t_i`", "s \u2265 t", "s_i = t_i"])
def test_a_relation_without_dollar_signs_may_be_a_hypothesis(relation: str) -> None:
    blocks = (rf"Let $n \in \mathbb{{N}}$, $s, t \in \mathbb{{R}}^n$ with {relation}.", r"$$ s_1 \ge t_1 $$")
    step = check_document("\n\n".join(blocks) + "\n").steps[-1]
    assert step.verdict is Verdict.UNDECIDED
    assert "write it between dollar signs" in step.evidence.text


def test_code_links_and_tags_are_no_relations() -> None:
    words = "We call `f(x, dim=2)` and have <b class='c'>done</b> it, see [here](https://a.b/c?d=e)."
    assert left_over([words]) == ()


def test_of_declarations_that_could_not_be_read_the_first_is_named() -> None:
    blocks = (r"Put $q := \foo$.", "Put $r := 2 q$.", "Put $s := r^2$.", r"$$ s \ge 0 $$")
    steps = check_document("\n\n".join(blocks) + "\n").steps
    assert all("; line 1 had to be read first: " in step.evidence.text for step in steps[1:])
    assert r"\foo" in steps[-1].evidence.text


@pytest.mark.parametrize(
    ("declared", "words", "formula"),
    [
        (r"Let $n \in \mathbb{N}$, $x \in \mathbb{R}^n$ and $m \in \mathbb{R}$.",
         "The mean of the entries is called $m$.", r"\sum_{i=1}^n (x_i - m) = 0"),
        (r"Let $n \in \mathbb{N}$ and $p \in \mathbb{R}^n$.", "The outputs of the softmax are written $p$. We get",
         r"\sum_{i=1}^n p_i = 1"),
        (r"Let $a, b \in \mathbb{R}$.", "We want", "a + b = 1"),
        (r"Let $a, b \in \mathbb{R}$.", "What is needed is", r"a^2 + b^2 \le 1"),
        (r"Let $a, b \in \mathbb{R}$.", "At best,", "(a + b)^2 = 2 a^2 + 2 b^2"),
        (r"Let $n \in \mathbb{N}$.", "Eventually", "2^n > n^{10}"),
        (r"Let $n \in \mathbb{N}$ and $x \in \mathbb{R}^n$.", "The expected value is", r"\sum_{i=1}^n x_i = 0"),
        (r"Let $x, g \in \mathbb{R}$ and $\eta > 0$.", "Each step updates the weight:", r"x = x - \eta g"),
        (r"Let $n, m, d \in \mathbb{N}$, $Q \in \mathbb{R}^{n \times d}$ and $K \in \mathbb{R}^{m \times d}$.",
         "Query and key come from the same sequence, with tied weights, so", r"Q K^\top = K Q^\top"),
        ("", "Memory is given in kilobytes.", "2048 = 2"),
        ("", "In type uint8 we get", "255 + 1 = 0"),
    ],
)  # fmt: skip
def test_aims_names_averages_assignments_and_units_in_words_count(declared: str, words: str, formula: str) -> None:
    assert verdict(*[b for b in (declared, words, f"$$ {formula} $$") if b]) is Verdict.UNDECIDED


UNIT = r"Let $n \in \mathbb{N}$ and $u, x \in \mathbb{R}^n$."
SHORT = r"$$ u^\top x \le \|x\| $$"


@pytest.mark.parametrize(
    "words",
    [
        "where $u$ lives on the sphere.",
        "where $u$ is the direction of a token.",
        "where $u$ is $x$ divided by its norm.",
        "Let $u$ be short.",
        "Assume that $u$ is short.",
        "Suppose that $u$ satisfies the constraint.",
        "Draw $u$ from the sphere.",
        "Put $u$ on the sphere.",
        r"Assume $\|u\| = 1$.",
        r"Put $u := \frac{x}{\|x\|}$.",
    ],
)
def test_words_that_declare_count_on_both_sides_of_a_display(words: str) -> None:
    assert verdict(UNIT, SHORT, words) is Verdict.UNDECIDED
    assert verdict(UNIT, words, SHORT) is not Verdict.REFUTED


@pytest.mark.parametrize(
    "words",
    [
        "where $x$ is the query.",
        r"Let $m \in \mathbb{N}$ and $v \in \mathbb{R}^m$ with $\|v\| = 1$.",
        r"Let $m \in \mathbb{N}$ and $v \in \mathbb{R}^m$ be a short vector.",
        r"Put $w := \frac{x}{\|x\|}$.",
        r"where $x \in \mathbb{R}^n$.",
    ],
)
def test_what_a_display_does_not_depend_on_may_be_declared_behind_it(words: str) -> None:
    assert verdict(UNIT, SHORT, words) is Verdict.REFUTED


FREE = "Let $n \\in \\mathbb{N}$ and $p, s \\in \\mathbb{R}^n$.\n\n"


@pytest.mark.parametrize(
    ("before", "formula", "verdict"),
    [
        ("## Attention weights\n\n" + FREE, r"\sum_{i=1}^n p_i = 1", "UNDECIDED"),
        (FREE + "We study the attention weights.\n\n", r"\sum_{i=1}^n p_i = 1", "UNDECIDED"),
        ("## The softmax\n\n" + FREE, r"p_1 \le 1", "UNDECIDED"),
        ("## The softmax\n\n" + FREE, r"\sum_{i=1}^n \operatorname{softmax}(s)_i = 2", "REFUTED"),
        ("## RoPE\n\n" + FREE, r"\|p\| = \|s\|", "UNDECIDED"),
        ("## The scores\n\n" + FREE, r"\|p\| = \|s\|", "REFUTED"),
    ],
)
def test_a_topic_that_says_what_a_symbol_is_counts_where_the_step_does_not_compute_it(
    before: str, formula: str, verdict: str
) -> None:
    (step,) = check_document(f"{before}$$ {formula} $$\n").steps
    assert step.verdict == verdict, step.evidence.text


def test_weights_that_are_declared_need_no_topic() -> None:
    head = r"Let $n \in \mathbb{N}$, $p \in \mathbb{R}^n$ with $p_i \ge 0$ for all $i$ and $\sum_{i=1}^n p_i = 1$."
    (step,) = check_document(f"## Attention weights\n\n{head}\n\n$$ p_1 = 1 $$\n").steps
    assert step.verdict == "REFUTED", step.evidence.text


PAIR = "Let $n \\in \\mathbb{N}$ and $x, y \\in \\mathbb{R}^n$.\n\n"
SQUARES = r"\|x + y\|^2 = \|x\|^2 + \|y\|^2"


@pytest.mark.parametrize(
    ("between", "verdict"),
    [
        ("The two vectors are orthogonal.", "UNDECIDED"),
        ("Without orthogonality it fails.", "UNDECIDED"),
        ("- The legs form a right angle.", "UNDECIDED"),
        ("*Figure 1: a right triangle.*", "UNDECIDED"),
        ("We now compute the sum of the vectors.", "REFUTED"),
        ("The sum of the vectors is", "REFUTED"),
    ],
)
def test_a_closed_sentence_between_two_displays_is_about_both(between: str, verdict: str) -> None:
    steps = check_document(f"{PAIR}$$ {SQUARES} $$\n\n{between}\n\n$$ x + y = y + x $$\n").steps
    assert [step.verdict for step in steps] == [verdict, "PROVED"], steps[0].evidence.text


@pytest.mark.parametrize(
    ("tag", "verdict"),
    [("unit vectors", "UNDECIDED"), (r"$x \perp y$", "UNDECIDED"), ("orthogonal case", "UNDECIDED"), ("3", "REFUTED"), ("orthogonal", "REFUTED"),
     ("squares", "REFUTED"), ("A.1", "REFUTED")],
)  # fmt: skip
def test_a_tag_may_be_a_condition_or_a_name(tag: str, verdict: str) -> None:
    (step,) = check_document(f"{PAIR}$$ {SQUARES} \\tag{{{tag}}} $$\n").steps
    assert step.verdict == verdict, step.evidence.text


@pytest.mark.parametrize(
    "code",
    [
        "```python\ns = s.mean() * ones(n)  # the scores tie\n```",
        "~~~\nThe scores tie.\n~~~",
        "```{note}\nThe scores tie.\n```",
        "    s = zeros(n)",
    ],
)
def test_code_of_a_section_holds_words_about_its_steps(code: str) -> None:
    for blocks in ((HEAD, code, "We have", FALSE), (HEAD, FALSE, code), (code, HEAD, "## Norm", FALSE)):
        assert verdict(*blocks) is Verdict.UNDECIDED
        assert verdict(PROMISE, *blocks) is Verdict.REFUTED
    assert verdict(HEAD, "## Code", code, "$$ a = a $$", "## Norm", HEAD, FALSE) is Verdict.REFUTED


def test_code_in_a_step_list_is_quoted() -> None:
    (step,) = check_document(f"{HEAD}\n\n```python\ns = zeros(n)\n```\n\n{FALSE}\n").steps
    assert "s = zeros(n)" in step.evidence.text and "line 4" in step.evidence.text


@pytest.mark.parametrize("sentence", ["See [3, for tied scores].", "See [5, tied keys].", "Hence (\u27c2) we get"])
def test_a_citation_may_hold_a_condition(sentence: str) -> None:
    assert verdict(HEAD, sentence, FALSE) is Verdict.UNDECIDED


@pytest.mark.parametrize("key", ["3", "3, 4", "3-5", "12, Section 4", "Vaswani et al., 2017"])
def test_a_plain_citation_holds_none(key: str) -> None:
    assert verdict(HEAD, f"See [{key}].", FALSE) is Verdict.REFUTED


@pytest.mark.parametrize(
    "blocks",
    [
        (HEAD, FALSE, "## Assumptions", "All scores tie."),
        (HEAD, FALSE, "## Scope", "All scores above tie."),
        (HEAD, FALSE, "## More", "$$ a = a $$", "In the section above all scores tie."),
    ],
)
def test_sections_farther_down_may_speak_of_a_step(blocks: tuple[str, ...]) -> None:
    text = "\n\n".join(("# Notes", "## Softmax", *blocks)) + "\n"
    assert check_document(text).steps[0].verdict is Verdict.UNDECIDED


@pytest.mark.parametrize(
    ("words", "formula"),
    [
        ("There is an $x$ such that", "x + a = 0"), ("For some $x$ we have", "x + a = 0"),
        ("For every $a$ there exists $x$ with", "x > a"), ("It is false in general that", "x^2 = x"),
        ("For all large enough $x$,", r"x^2 \ge 10 x"),
    ],
)  # fmt: skip
def test_a_promise_about_hypotheses_says_nothing_of_what_is_claimed(words: str, formula: str) -> None:
    text = rf"{PROMISE} Let $a, x \in \mathbb{{R}}$. {words}" + f"\n\n$$ {formula} $$\n"
    assert str(check_document(text).steps[-1].verdict) == "UNDECIDED"
    assert str(check_document(text.replace(words, "Then")).steps[-1].verdict) == "REFUTED"


def test_a_condition_in_words_of_a_display_may_hold_for_those_below() -> None:
    text = "Let $x \\in \\mathbb{R}$.\n\n$$ x + 1 > x \\quad\\text{%s} $$\n\n$$ \\sqrt{x^2} = x $$\n"
    assert str(check_document(text % "for all prices").steps[-1].verdict) == "UNDECIDED"
    assert str(check_document(text % "by adding").steps[-1].verdict) == "REFUTED"


# (a heading or a word in front of a display, whether a false step of numbers is REFUTED below it)
COUNTS = [
    ("## Two classes", True),
    ("## Rotations", True),
    ("Rotations:", True),
    ("## Two equal numbers", False),
    ("## Large numbers", False),
    ("## Simplex", False),
]


@pytest.mark.parametrize(("words", "refuted"), COUNTS)
def test_numbers_and_kinds_of_arrays_say_nothing_of_a_step_of_numbers(words: str, refuted: bool) -> None:
    text = f"# Title\n\n{words}\n\nLet $u \\in \\mathbb{{R}}$ and $\\sigma(u) = u^2$.\n\n$$ \\sigma(u) = u $$\n"
    if words.endswith(":"):
        text = f"Let $u \\in \\mathbb{{R}}$.\n\n{words}\n\n$$ u^2 = u $$\n"
    assert (check_document(text, infer=True).steps[-1].verdict is Verdict.REFUTED) == refuted


def test_a_number_of_classes_may_be_a_size() -> None:
    text = "# Title\n\n## Two classes\n\nLet $p \\in \\mathbb{R}^n$.\n\n$$ \\sum_{i=1}^n p_i = p_1 + p_2 $$\n"
    assert check_document(text, infer=True).steps[-1].verdict is not Verdict.REFUTED
