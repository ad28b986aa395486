"""Undeclared symbols: a false step that one small change makes an identity is REFUTED; one that may mean more is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from attention_core.derivation import StepReport, check_document
from attention_core.derivation.check import document_steps, report_step
from attention_core.derivation.decision.slips import _further, is_value
from attention_core.derivation.effort import Effort
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import GOOD, Verdict


def inferred(formula: str, above: str = "", below: str = "") -> StepReport:
    (step,) = check_document(f"{above}\n\n$$ {formula} $$\n\n{below}\n", infer=True).steps
    return step


SLIPS = [
    (r"\nabla_x x^\top A x = (A + A^\top) x", r"\nabla_x x^\top A x = (A - A^\top) x", "$A + A^\\top$ in place of"),
    (r"(Q K^\top)^\top = K Q^\top", r"(Q K^\top)^\top = K^\top Q^\top", ""),  # two changes away
    (r"\operatorname{softmax}(z)_i = \frac{e^{z_i}}{\sum_j e^{z_j}}", r"\operatorname{softmax}(z)_i = \frac{e^{z_i}}{\sum_j e^{-z_j}}", "$z_{j}$ in place of $-z_{j}$"),
    (r"\operatorname{softmax}(z)_i = \frac{e^{z_i}}{\sum_j e^{z_j}}", r"\operatorname{softmax}(z)_i = \frac{e^{z_j}}{\sum_j e^{z_j}}", "$z_{i}$ in place of $z_{j}$"),
    (r"(a + b)^2 = a^2 + 2 a b + b^2", r"(a + b)^2 = a^2 + a b + b^2", "$2 a b$ in place of $a b$"),
    (r"\sum_{j=1}^n (x_j + c) = \sum_{j=1}^n x_j + n c", r"\sum_{j=1}^n (x_j + c) = \sum_{j=1}^{n-1} x_j + n c", "$n$ in place of $n - 1$"),
    (r"\operatorname{tr}(A^\top B) = \sum_{i,j} A_{ij} B_{ij}", r"\operatorname{tr}(A^\top B) = \sum_{i,j} A_{ij} B_{ji}", ""),  # of symmetric matrices
    (r"x_1 (x_1 + x_2) = x_1^2 + x_1 x_2", r"x_1 (x_1 + x_2) = x_1^2 + x_1 x_1", "$x_{2}$ in place of $x_{1}$"),
]  # fmt: skip


@pytest.mark.parametrize(("right", "wrong", "change"), SLIPS, ids=range(len(SLIPS)))
def test_a_slip_is_refuted_and_the_right_step_accepted(right: str, wrong: str, change: str) -> None:
    assert inferred(right).verdict in ("PROVED", "EXACT", "AGREES")
    step = inferred(wrong)
    assert step.verdict == ("REFUTED" if change else "UNDECIDED")
    if change:
        assert step.counterexample is not None
        assert step.evidence.text.startswith("as it was read it is false")
        assert f"and it holds with {change}" in step.evidence.text and "read as: " in step.evidence.text


@pytest.mark.parametrize(
    ("formula", "above"),
    [
        (r"P P x = P x", ""),  # P may be a projection; $P x$ in place of $P P x$ would be the change
        (r"P^2 - 2 P + I = I - P", ""),
        (r"\|x\|^2 = \|x\|", ""),  # of a unit vector
        (r"x^\top A y = y^\top A x", ""),  # of a symmetric matrix
        (r"y^2 + y z = y + y z", "The label $y$ is binary."),  # 0 or 1
        (r"\sum_i a_i y_i^2 + \sum_i b_i y_i = \sum_i (a_i + b_i) y_i", "Here $y_i \\in \\{0, 1\\}$."),
        (r"2 (p + q)^2 = 2 p + 2 q", ""),  # of shares
        (r"(-1)^n x = x", ""),  # of an even n
        (r"\frac{\partial}{\partial w} (w - y)^2 = w - y", "Ignoring constant factors, we get"),
        (r"\log N(x) = -\frac{x^2}{2}", "Up to a constant,"),
        (r"\mathbb{E}(Z^2) - (\mathbb{E} Z)^2 = \mathbb{E}(Z^2)", "We standardise $Z$."),  # its mean is 0
        (r"\frac{d}{dx} \frac{1}{2} x^2 = 2 x", "Up to a constant factor,"),
        (r"k = 2 q", ""),  # a definition
        (r"Q_\pi(s, a) = Q_\pi(s, a) + \frac{1}{n} (G - Q_\pi(s, a))", ""),  # an update of a value
        (r"V = V + \frac{1}{n} (G - V)", "We update the estimate."),
        (r"\delta x^2 = 2 x \delta x", ""),  # a differential
        (r"D x y = x D y - y D x", ""),
        (r"\mathcal{L} x^2 = 2 x \mathcal{L} x", ""),
        (r"x y = -y x", ""),  # numbers that do not commute
        (r"a \times b = -b \times a", ""),
        (r"y = y + 1", ""),  # a new value
        (r"w = w - 2 (w - v)", ""),
        (r"x = x + 2 y - y", ""),
        (r"x^2 = 4", ""),  # an equation
        (r"\frac{\partial}{\partial x} \frac{x}{r} = \frac{1}{r} - 1 \cdot \frac{x^2}{r^3}", ""),  # r depends on x
        (r"Q^\top Q = I", "Let $Q$ be a frobnicated matrix."),
        (r"(Q + Q^\top) x = 2 Q^\top x - 2 Q x", "Let $Q$ be a frobnicated matrix."),
    ],
)
def test_what_may_mean_more_is_not_refuted(formula: str, above: str) -> None:
    assert inferred(formula, above).verdict in ("UNDECIDED", "UNREADABLE", "AMBIGUOUS")


def test_numbers_are_zero_or_one_only_where_the_document_may_say_so() -> None:
    labels = r"\sum_i a_i y_i^2 + \sum_i b_i y_i = \sum_i (a_i + b_i) y_i"
    assert inferred(labels, "We find").verdict == "REFUTED"


SQUARES = r"\|x + y\|^2 = \|x\|^2 - 2 x^\top y + \|y\|^2"


@pytest.mark.parametrize(
    ("formula", "verdict"),
    [
        (SQUARES, "REFUTED"),  # who knows that x and y are orthogonal leaves that term out
        (r"\|x + y\|^2 = \|x - y\|^2", "UNDECIDED"),  # and may write this
        (r"\|x + y\|^2 + z^2 = \|x - y\|^2 + z^2", "UNDECIDED"),  # a sign within a term, which is not zero
    ],
)
def test_of_a_wrong_term_no_usual_hypothesis_is_meant(formula: str, verdict: str) -> None:
    assert inferred(formula, "We find").verdict == verdict


@pytest.mark.parametrize(
    "formula",
    [
        r"\sum_{i=1}^n y_i x_i = \sum_{i=1}^n y_j x_i",  # an index that nothing sums over
        r"x^2 e^x = -x^2 e^x",
    ],
)
def test_a_promise_of_formulas_leaves_nothing_to_solve(formula: str) -> None:
    promise = "All hypotheses are declared as formulas."
    assert inferred(formula, "We find").verdict == "UNDECIDED"
    assert inferred(formula, promise).verdict == "REFUTED"
    assert (
        inferred(r"\|x\|^2 = \|x\|", promise).verdict == "UNDECIDED"
    )  # of a unit vector: some call it so all the same
    assert inferred("x y = -y x", promise).verdict == "UNDECIDED"  # which need not commute
    assert inferred("k = 2 q", promise).verdict != "REFUTED"  # a definition is no hypothesis
    assert inferred(r"p(x_t | x_0) = p(x_t | x_0, 0)", promise).verdict == "UNDECIDED"  # two symbols, and no slip


@pytest.mark.parametrize(
    ("above", "formula", "by_author", "by_reader"),
    [
        (
            "Let $X \\in \\mathbb{R}^{2 \\times 2}$.",
            r"X = \begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}",
            "REFUTED",
            "UNDECIDED",
        ),
        ("Let $x, y \\in \\mathbb{R}$.", "(x + y)^2 = x^2 + y^2", "REFUTED", "REFUTED"),
        ("Frobs of $t$.", r"2 x_{t+1} = 2 x_t", "REFUTED", "UNDECIDED"),
    ],
)
def test_a_reader_promises_nothing_of_what_displays_define(
    above: str, formula: str, by_author: str, by_reader: str
) -> None:
    text = f"{above}\n\nAll frobs are gizmos.\n\n$$ {formula} $$\n"
    promise = f"All hypotheses are declared as formulas.\n\n{text}"
    assert check_document(promise, infer=True).steps[-1].verdict == by_author
    assert check_document(text, infer=True, formulas=True).steps[-1].verdict == by_reader


@pytest.mark.parametrize(("words", "verdict"), [("Here $x_n = 0$.", "UNDECIDED"), ("Here $x_n = c$.", "REFUTED")])
def test_under_a_promise_a_relation_in_prose_counts_where_it_makes_the_step_good(words: str, verdict: str) -> None:
    text = f"All hypotheses are declared as formulas.\n\n{words}\n\nWe find"
    assert inferred(r"\sum_{j=1}^n (x_j + c) = \sum_{j=1}^{n-1} x_j + n c", text).verdict == verdict


@pytest.mark.parametrize(("words", "verdict"), [("Here $b = 0$.", "UNDECIDED"), ("Here $b \\star b = b$.", "REFUTED")])
def test_under_a_promise_a_wrong_sign_is_open_only_where_a_relation_makes_it_good(words: str, verdict: str) -> None:
    text = f"All hypotheses are declared as formulas.\n\n{words}\n\nWe find"
    assert inferred(r"(a + b)^2 = a^2 - 2 a b + b^2", text).verdict == verdict


def test_a_step_that_is_no_change_away_from_an_identity_stays_open() -> None:
    step = inferred(r"\operatorname{softmax}(x + 2 c) = 2 \operatorname{softmax}(x)")
    assert step.verdict == "UNDECIDED" and "and it holds" not in step.evidence.text


@pytest.mark.parametrize(
    ("wrong", "verdict"),
    [
        (r"1 + x \ge e^x", "REFUTED"),
        (r"(a + b)^2 \le 2 a b", "REFUTED"),
        (r"x^2 \ge x", "UNDECIDED"),  # of whole numbers
        (r"2^n \le 10 n^2", "UNDECIDED"),  # of small sizes
        (r"\|x\| \le 1", "UNDECIDED"),
        (r"a + 1 \le a + b", "UNDECIDED"),
    ],
)
def test_an_inequality_that_holds_the_other_way_round_is_refuted(wrong: str, verdict: str) -> None:
    assert inferred(wrong).verdict == verdict


def test_a_change_with_which_both_sides_vanish_says_nothing() -> None:
    assert inferred(r"x + y - x - y = z + z").verdict == "UNDECIDED"


def test_a_symbol_that_is_defined_may_be_defined_anew_but_not_as_a_result() -> None:
    text = "$$ s = x^\\top y $$\n\n{}\n\n$$ s = 2 x^\\top y $$\n"
    anew, result = (check_document(text.format(words), infer=True).steps for words in ("", "Hence we obtain"))
    assert [one.verdict for one in (*anew, *result)] == ["UNDECIDED", "REFUTED"]
    lines = "$$ s = x^\\top y $$\n$$ s = y^\\top x $$\n$$ s = 2 y^\\top x $$\n"
    assert [one.verdict for one in check_document(lines, infer=True).steps] == ["PROVED", "REFUTED"]


@pytest.mark.parametrize(
    ("above", "sign", "end"),
    [
        ("Frobnicated notes on gizmos.\n\nNow we find\n", "REFUTED", "REFUTED"),
        ("Frobnicated notes on gizmos.", "REFUTED", "REFUTED"),
        ("Let $x$ be a frobnicated vector.", "REFUTED", "UNDECIDED"),
        ("The last entry is a copy of $-c$.", "REFUTED", "UNDECIDED"),
        ("Consider the last gizmo: $x_n + c = 0$.", "REFUTED", "UNDECIDED"),
        ("Here $A$ and $x$ are frobnicated.\n\nNow we find\n", "REFUTED", "UNDECIDED"),
        ("All arithmetic is modulo 2.\n\nNow we find\n", "UNDECIDED", "UNDECIDED"),
    ],
)
def test_words_make_good_where_a_sum_ends_and_no_sign(above: str, sign: str, end: str) -> None:
    assert inferred(r"\nabla_x x^\top A x = (A - A^\top) x", above).verdict == sign
    assert inferred(r"\sum_{j=1}^n (x_j + c) = \sum_{j=1}^{n-1} x_j + n c", above).verdict == end


@pytest.mark.parametrize(
    ("above", "verdict"),
    [
        ('<p align="center">\n  <img src="a.svg" width="100%" alt="A picture"/>\n</p>', "REFUTED"),
        ("<b>Let $A$ be a frobnicated matrix.</b>", "UNDECIDED"),  # words within tags stay words
    ],
)
def test_tags_that_place_a_picture_are_no_sentence(above: str, verdict: str) -> None:
    text = f"{above}\n\nLet $A, B \\in \\mathbb{{R}}^{{2 \\times 2}}$.\n\n$$ A B = B A $$\n"
    (step,) = check_document(text, infer=True).steps
    assert step.verdict == verdict


def test_words_about_norms_matter_where_there_is_a_norm() -> None:
    words = "The nuclear norm is another matter.\n\nSome words.\n\nMore words.\n\nWe find"
    assert inferred(r"2 (a + b) = 2 a + 3 b", words).verdict == "REFUTED"
    assert inferred(r"\|x\|^2 + \|y\|^2 = x^\top x + 2 y^\top y", words).verdict == "UNDECIDED"
    assert inferred(r"\|x\|^2 + \|y\|^2 = x^\top x + 2 y^\top y", "We find").verdict == "REFUTED"


@pytest.mark.parametrize(
    ("wrong", "verdict"),
    [
        (r"(A + A^\top) x + b = A x + A^\top x - b", "REFUTED"),
        (r"\sum_{j=1}^n (x_j + c) = \sum_{j=1}^{n-1} x_j + n c", "REFUTED"),
        (r"1 + x \ge e^x", "UNDECIDED"),
    ],
)
def test_a_wrong_sign_tells_even_where_its_section_uses_the_symbols_in_another_way(wrong: str, verdict: str) -> None:
    (step,) = document_steps(f"We find\n\n$$ {wrong} $$\n", infer=True)[1]
    assert isinstance(step, Step)
    assert report_step(step, Effort()).verdict == "REFUTED"
    assert report_step(replace(step, strange="x is a family"), Effort()).verdict == verdict


def test_numbers_alone_stay_open_beside_a_sentence_that_was_not_read() -> None:
    assert inferred("6 + 6 = 13", "Gizmos come in dozens of another size.").verdict == "UNDECIDED"
    assert inferred("6 + 6 = 13", "We find").verdict == "REFUTED"
    far = "Gizmos come in dozens of another size.\n\nSome words.\n\nMore words.\n\nWe find"
    assert inferred("6 + 6 = 13", far).verdict == "REFUTED"
    assert inferred("(x + 3)^2 = x^2 + 3 x + 9", "Gizmos come in dozens of another size.").verdict == "REFUTED"


UNREAD = "The labels come from a survey whose answers are alike in some towns."


@pytest.mark.parametrize(
    ("wrong", "slip"),
    [
        (r"\sum_{i=1}^m (y_i - w)^2 = \sum_{i=1}^m y_i^2 - 2 w \sum_{i=1}^m y_1 + m w^2", "with $y_{i}$ in place of"),
        (r"- t + y = - (y - t)", "with $(y - t)$ in place of $-(y - t)$"),  # an equation to be solved, or a wrong sign
        (r"2^a 2^b = 2^{2 a + b}", "with $a$ in place of $2 a$"),
    ],
)
def test_a_step_that_words_leave_open_is_likely_to_have_a_slip(wrong: str, slip: str) -> None:
    step = inferred(wrong, UNREAD)
    assert step.verdict == "UNDECIDED" and step.likely_slip.startswith(slip), (step.likely_slip, step.evidence)
    assert step.title == "UNDECIDED, likely a slip" and step.as_dict()["evidence"]["slip"] == step.likely_slip


@pytest.mark.parametrize(
    "formula",
    [
        "y = y + 1",
        "k = 2 q",
        r"p(x) = 2 \, p(y)",  # of values that nothing defines one change says little
        r"x = 2 x",
        r"\delta x^2 = 2 x \delta x",  # the letter may act on what is behind it
        r"x p = p x + 1",  # the letters may not commute
        r"L_{\text{batch}} = \frac{1}{B} \sum_{i=1}^{B} L_i",  # a mean, and not one of them
        r"I - 2 P + P^2 = I - P",  # of a projection
        r"\theta^{(t+1)} = \theta^{(t)} - \eta \frac{\partial L}{\partial \theta}",  # what the next one is
        r"(a + b)^2 = a^2 + b^2",  # true of what is orthogonal, and no change of a sign or a number away
        r"\sum_{i=1}^m y_i = \sum_{i=1}^m y_i",
    ],
)
def test_what_defines_restricts_or_holds_has_no_likely_slip(formula: str) -> None:
    assert inferred(formula, UNREAD).likely_slip == ""


def test_a_value_that_nothing_defines_is_not_put_for_another() -> None:
    average = r"\mathbb{E}_q[\log q(z \mid x) - \log p(x, z) + \log p(x)]"
    text = rf"$$ D(q, p) = \mathbb{{E}}_q[\log q(z \mid x) - \log p(z \mid x)] $$" f"\n\n$$ D(q, p) = {average} $$\n"
    assert [step.likely_slip for step in check_document(text, infer=True).steps][-1] == ""
    one = r"w_{jk} g_j'(z_j) \frac{\partial}{\partial b_j} (b_j + \sum_i a_i w_{ij}) = w_{jk} g_j'(z_j)(1)"
    assert inferred(one).likely_slip == ""


def test_numbers_that_another_arithmetic_makes_good_have_no_likely_slip() -> None:
    words = "The hours of a clock are added."
    assert inferred("11 + 2 = 1", words).likely_slip == ""
    assert inferred("11 + 2 = 12", words).likely_slip == ""
    total = check_document("$$ 12 + 8 = 20 / 4 = 5 $$\n", infer=True, formulas=True).steps[0]
    assert total.verdict == "UNDECIDED" and total.likely_slip == ""


@pytest.mark.parametrize(
    "formula",
    [
        r"(1 + 2^{2 z})^{-2} 2^{z} = \frac{2^{z}}{(1 + 2^{z})^2}",  # true at z = 0
        r"\frac{\langle x, b \rangle}{\langle b, b \rangle} = - \frac{\langle b, x \rangle}{\langle b, b \rangle}",
    ],
)
def test_a_value_that_makes_a_step_good_and_the_orders_of_inner_products_leave_a_likely_slip(formula: str) -> None:
    step = inferred(formula, UNREAD)
    assert step.verdict == "UNDECIDED" and step.likely_slip
    assert inferred(r"\|x\| \, x^\top y = y^\top x", UNREAD).likely_slip == ""  # of unit vectors


def test_no_sentence_makes_good_a_factor_in_an_exponential() -> None:
    for formula in (r"e^a e^b = e^{2 a + b}", r"\exp(a) \exp(b) = \exp(2 a + b)"):
        assert inferred(formula, UNREAD).verdict == "REFUTED"  # an author who knows that a is 0 leaves it out


def test_only_a_bare_symbol_has_a_value() -> None:
    assert all(map(is_value, ["x = 0", r"\mu_{t} = 1", "x_1 = -1"]))
    assert not any(map(is_value, [r"\|x\| = 1", "a + b = 1", r"\sum_i p_i = 1", "P^2 = P", "x = y"]))


def test_a_refuted_step_names_its_slip_and_is_not_left_open() -> None:
    step = inferred(r"(a + b)^2 = a^2 + a b + b^2")
    assert step.verdict == "REFUTED" and step.likely_slip == "" and step.title == "REFUTED"
    assert step.evidence.figures["slip"] == "with $2 a b$ in place of $a b$"


def test_what_is_put_together_from_parts_is_no_new_value() -> None:
    parts = r"\frac{S + S^\top}{2} + \frac{S - S^\top}{2}"
    assert inferred(f"S = {parts}").verdict == "PROVED"
    assert inferred(f"S = 2 ({parts})").verdict == "REFUTED"
    assert inferred(r"S = \frac{S + S^\top}{2}").verdict == "UNDECIDED"  # it may be made symmetric
    assert inferred("x = 2 x").verdict == "UNDECIDED"


@pytest.mark.parametrize(
    ("formula", "verdict"),
    [
        (r"\delta x^2 = 3 x \delta x", "UNDECIDED"),
        (r"\Delta_t x^2 = 2 x \Delta_t x", "UNDECIDED"),  # a difference, to first order
        (r"(a + b) \delta = a \delta - b \delta", "REFUTED"),  # the last factor acts on nothing
        (r"\delta_k (a + b) = \delta_k a - \delta_k b", "REFUTED"),  # an error that is passed back
    ],
)
def test_a_letter_may_be_an_operator_where_it_stands_in_front(formula: str, verdict: str) -> None:
    assert inferred(formula).verdict == verdict


def test_a_size_acts_on_nothing() -> None:
    sizes = r"The factors are $A \in \mathbb{R}^{d \times r}$ and $B \in \mathbb{R}^{r \times k}$."
    assert inferred("d (r + k) = d r + 2 d k", sizes).verdict == "REFUTED"


def test_a_mean_is_not_one_of_what_it_is_a_mean_of() -> None:
    mean = r"L_{\text{batch}} = \frac{1}{B} \sum_{i=1}^{B} L_i"
    assert (
        check_document(f"Let $B \\in \\mathbb{{N}}$.\n\n$$ {mean} $$\n", infer=True, formulas=True).steps[0].verdict
        == "UNDECIDED"
    )


def test_an_equation_to_be_solved_is_no_slip_of_zero() -> None:
    rows = r"X = \begin{bmatrix} 1 & x_1 \\ \vdots & \vdots \\ 1 & x_n \end{bmatrix}"
    solved = r"\nabla_\theta J(\theta) = \frac{1}{n} X^T (X \theta - y) = 0"
    document = f"# A\n\n$$ {rows} $$\n\nWe find\n\n$$ {solved} $$\n"
    assert check_document(document, as_read=True).steps[-1].verdict is Verdict.UNDECIDED


@pytest.mark.parametrize("defined", ["Put $s := 3$.", "Let\n\n$$ s := 3 $$"])
@pytest.mark.parametrize("as_read", [False, True])
def test_the_value_of_a_section_that_has_ended_is_no_slip(as_read: bool, defined: str) -> None:
    document = f"# One\n\n{defined}\n\n$$ s + 1 = 4 $$\n\n# Two\n\nNow another one.\n\n$$ 2 s + a = 5 + a $$\n"
    first, second = check_document(document, infer=True, as_read=as_read).steps
    assert first.verdict in GOOD and second.verdict is Verdict.UNDECIDED, second.evidence.text
    kept = document.replace("# Two\n\n", "")
    assert check_document(kept, infer=True, as_read=as_read).steps[1].verdict is Verdict.REFUTED


FUNCTION = "The loss is\n\n$$ L(w) = (w - a)^2 + 3 $$\n\n"


@pytest.mark.parametrize("as_read", [False, True])
@pytest.mark.parametrize("words", ["For the second experiment it is", "With weight decay the loss becomes"])
def test_a_function_that_is_defined_anew_has_no_slip(words: str, as_read: bool) -> None:
    text = f"{FUNCTION}{words}\n\n$$ L(w) = (w - a)^2 - 3 $$\n"
    assert check_document(text, infer=True, as_read=as_read).steps[-1].verdict == "UNDECIDED"
    for result in ("Hence", "Expanding, it becomes"):
        text = f"{FUNCTION}{result}\n\n$$ L(w) = (w - a)^2 - 3 $$\n"
        assert check_document(text, infer=True, as_read=as_read).steps[-1].verdict == "REFUTED"


def test_a_number_too_much_under_one_quotient_is_not_solved() -> None:
    assert inferred(r"\frac{2 - a}{(1 - b) c} = \frac{1 - a}{(1 - b) c}").verdict == "REFUTED"
    assert inferred(r"\frac{2 a}{(1 - b) c} = \frac{a}{(1 - b) c}").verdict == "UNDECIDED"  # a may be zero


def test_the_value_of_a_function_at_a_formula_does_not_define_it_anew() -> None:
    above = "Let $f(x) = e^{-x}$.\n\nSome words.\n\nMore words."
    assert inferred(r"f(a + b) = e^{-(a + b)}", above).verdict in GOOD
    assert inferred(r"f(a + b) = e^{-(a + b)} + 1", above).verdict == "REFUTED"
    assert inferred(r"f(x) = e^{-x} + 1", above).verdict == "UNDECIDED"


def test_an_equation_of_two_values_may_be_one_of_another_function() -> None:
    above = "Let $f(x) = x^2$.\n\nSome words.\n\n# Odd functions\n\nOdd functions have another symmetry."
    assert inferred("f(-x) = -f(x)", above).verdict == "UNDECIDED"
    assert inferred("f(-x) = -x^2", above).verdict == "REFUTED"


@pytest.mark.parametrize(
    ("formula", "verdict"),
    [
        (r"1 + \sum_j e^{z_j} = \sum_j e^{z_j}", "UNDECIDED"),  # the sum with one more, and the old one
        (r"\|x\|^2 = \|x\|^2 + 1", "UNDECIDED"),
        (r"\|x\|^2 = x^\top x + 1", "REFUTED"),
        (r"(x + 1)^2 = x^2 + 2 x + 1 = x^2 + 2 x + 1 + 1", "REFUTED"),  # in a chain nothing changes
    ],
)
def test_a_formula_that_grows_by_a_term_may_be_another_one(formula: str, verdict: str) -> None:
    text = f"We append a one to each input, and it changes to\n\n$$ {formula} $$\n"
    assert check_document(text, infer=True).steps[-1].verdict == verdict
    assert check_document(f"It holds that\n\n$$ {formula} $$\n", infer=True).steps[-1].verdict == "REFUTED"


def test_a_variable_of_a_derivative_that_is_an_exponent_is_neither_even_nor_odd() -> None:
    above = "Let $f(x) = x^2 e^x$ for $x \\in \\mathbb{R}$. Then"
    text = f"{above}\n\n$$ f'(x) = 2 x e^x - x^2 e^x $$\n\nand at zero\n\n$$ f(0) = 0 $$\n"
    step = check_document(text, infer=True).steps[0]
    assert step.verdict is Verdict.REFUTED and "$+ x^{2} e^{x}$ in place of" in step.evidence.text


FAR = "\n\nSome words.\n\nMore words.\n\nMore of them.\n\nAll of them.\n\nWe expand and find"


def test_an_operator_is_no_number_whose_square_is_not_new() -> None:
    formula = r"2 (\nabla f(x) + \nabla^2 f(x) (x - y)) = 2 \nabla f(x) + 2 \nabla^3 f(x) (x - y)"
    words = "The labels are binary."
    steps = [one for one in document_steps(f"{words}{FAR}\n\n$$ {formula} $$", infer=True)[1] if isinstance(one, Step)]
    assert not any(one.startswith((r"\nabla^", r"\nabla +", r"\nabla \le")) for one in _further(steps[-1]))
    assert "q^2 = q" in _further(_read(f"{words}{FAR}\n\n$$ 2 q^2 + q = q + 2 q $$"))


def _read(text: str) -> Step:
    return [one for one in document_steps(text, infer=True)[1] if isinstance(one, Step)][-1]


@pytest.mark.parametrize(("above", "wrong"), [("Scatter matrices are sums.", True), ("Both are identities.", False)])
def test_two_matrices_are_no_identities_where_no_words_say_so(above: str, wrong: bool) -> None:
    formula = r"-(S_w + S_b^\top) w + \mu (S_w + S_w^\top) w = -S_b w - S_b^\top w + \mu (S_w + S_w^\top) w"
    assert (inferred(formula, above).verdict == "REFUTED") is wrong


def test_no_relation_makes_good_what_no_values_make_good() -> None:
    formula = r"-\log \frac{e^{z_y}}{\sum_{j=1}^K e^{z_j}} = -z_y + \log \sum_{j=1}^{K-1} e^{z_j}"
    above = r"The loss of class $y$ (where $y \in \{1, 2, \ldots, K\}$ is the frobnicated one) is:"
    assert inferred(formula, above).verdict == "REFUTED"
    assert inferred(formula, above + r" The last score is $z_K = -\infty$.").verdict == "UNDECIDED"
    ends = r"\sum_{j=1}^K (x_j + c_j) = \sum_{j=1}^{K-1} x_j + \sum_{j=1}^K c_j"
    assert inferred(ends, r"The last entry $x_K$ is frobnicated.").verdict == "UNDECIDED"


AGAIN = r"\sigma(x) = -\frac{1}{1 + e^{-x}}"


@pytest.mark.parametrize(
    ("above", "formula", "wrong"),
    [
        ("Recall that", AGAIN, True),
        ("We rewrite it in terms of the logistic function:", AGAIN, True),
        ("With another sign, let", AGAIN, False),
        ("Recall that in the signed setting", AGAIN, False),
        ("In the second experiment, we rewrite the function as", AGAIN, False),
        ("The other way to squash numbers is", AGAIN, False),
        ("Recall that", "\\begin{aligned}\n\n\n\n" + AGAIN.replace("=", "&=") + "\n\\end{aligned}", True),
    ],
)
def test_what_is_recalled_is_no_new_definition(above: str, formula: str, wrong: bool) -> None:
    first = "The logistic function is\n\n$$ \\sigma(x) = \\frac{1}{1 + e^{-x}} $$\n\nIt is smooth.\n\nIt grows."
    step = check_document(f"{first}\n\n{above}\n\n$$ {formula} $$\n", infer=True).steps[-1]
    assert (step.verdict is Verdict.REFUTED) is wrong
