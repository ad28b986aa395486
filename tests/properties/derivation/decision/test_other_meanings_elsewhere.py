"""Words that only sound as if signs, numbers or sums had another meaning leave no false step open; those that say it do."""

from __future__ import annotations

from pathlib import Path

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.check import document_steps
from attention_core.derivation.decision.other_intents import is_meant_otherwise
from attention_core.derivation.reading.step import Step

WRONG = r"(a - b)^2 = a^2 - a b + b^2"
SIGN = r"-4 (5 - 2 w) = -(8 w - 20)"
MORE = r"\exp(\log \sigma) = \sigma + 1"
SOFTMAX = r"\operatorname{softmax}(z)_i = -\frac{e^{z_i}}{\sum_{j=1}^n e^{z_j}}"
NORM = r"\|b - A x\|_2 = -\sqrt{(b - A x)^\top (b - A x)}"
BITS = r"x^3 + 1 = (x + 1)(x^2 + x + 1)"
FAR = "\n\nSome words.\n\nMore words.\n\nMore of them.\n\n"


def verdict(formula: str, above: str = "", below: str = "") -> str:
    return str(check_document(f"{above}\n\n$$ {formula} $$\n\n{below}\n", infer=True).steps[-1].verdict)


@pytest.mark.parametrize(
    ("formula", "harmless", "meant"),
    [
        (WRONG, f"Words of the tropical rain forest are rare.{FAR}", "We work in the tropical semiring."),
        (WRONG, "The wall clock time is short.", "We add as on a clock."),
        (BITS, "Weights were tuned by hand for the XOR network.", "A plus is the XOR of bits."),
        (BITS, "Data of the XOR problem are drawn.", "A plus is the XOR function."),
        (WRONG, "The clock rate is high.", "Sums are those of clock times."),
        (WRONG, "It isn't restricted to small values.", "It isn't true that"),
        (WRONG, "We compute the first term of the loss.", "To first order,"),
        (NORM, "The norm is the square root of the sum of squares.", ""),
        (WRONG, "They perform approximate inference.", "This is approximate."),
        (WRONG, f"Quaternion-like layers are small.{FAR}", f"Here $a$ and $b$ are quaternions.{FAR}"),
        (SIGN, f"Always move in the opposite direction.{FAR}", f"A minus is always the opposite of what it was.{FAR}"),
        (MORE, "Once again, this is simple.", "Each term is counted once."),
        (MORE, "When the product is computed, we get", "The product is the largest factor."),
        (SIGN, "Using log subtraction:", "A minus means subtraction from ten."),
        (SOFTMAX, "Position numbering starts from 0.", ""),
        (SOFTMAX, f"Engineers use binary codes and error-correcting codes.{FAR}", ""),
        (SOFTMAX, f"This is ordinal regression on a countably infinite set.{FAR}", ""),
        (WRONG, f"The task is ordinal regression.{FAR}", f"Here $a$ and $b$ anticommute.{FAR}"),
        (WRONG, f"The set is countably infinite.{FAR}", "Equality signs mean that both have one limit."),
        (BITS, f"Words such as rain, forest and tropical come together.{FAR}", f"We work over the binary field.{FAR}"),
        (MORE, "Exact inference is not possible because of the sum.", "This is not possible."),
        (MORE, "We can drop it without any loss.", "Without any term of order two"),
        (WRONG, "We can do it without any loss.", "Without any loss term of $b$,"),
        (WRONG, "We can do it without any major change.", "Without any further factors,"),
        (WRONG, "This is what is not also represented in the first.", "We use a rule which is not always true."),
        (SIGN, f"Always move in the **opposite** direction.{FAR}", ""),
        (WRONG, '# Measuring "how wrong": loss functions', "# How wrong this is"),
        (WRONG, "Finding the approximation ratio:", "Within the approximation ratio of both,"),
        (MORE, "We solve the dual problem first:", "We solve the optimization problem:"),
        (
            WRONG,
            "To evaluate it exactly is not possible, because of the sum.",
            "It is not possible, because $a$ is positive.",
        ),
        (
            r"\frac{a + b}{2} = \frac{a}{2} + b",
            f"Next comes the XOR of bits.{FAR}",
            "",
        ),  # where 1 + 1 = 0, there is no half
    ],
)
def test_phrases_without_another_meaning_leave_nothing_open(formula: str, harmless: str, meant: str) -> None:
    assert verdict(formula, harmless) == "REFUTED"
    assert not meant or verdict(formula, meant) == "UNDECIDED"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("The carts move toward each other.", "UNDECIDED"),
        ("The carts meet head-on.", "UNDECIDED"),
        ("The carts move along a line.", "REFUTED"),
    ],
)
def test_a_picture_may_say_what_a_sign_is(words: str, expected: str) -> None:
    above = f"# Two carts\n\n{words}\n\n$$ p_1 = m v_1 $$\n\n$$ p_2 = m v_2 $$\n\nSo the total is"
    assert verdict("p_1 + p_2 = m v_1 - m v_2", above) == expected


def test_half_of_an_index_is_no_half() -> None:
    words = "We fold codewords in the middle of linear codes."
    assert verdict(r"(x_{\frac{n}{2}} + y) z = x_{\frac{n}{2}} z - y z", words) == "UNDECIDED"


def test_an_item_below_may_say_how_a_formula_behaves_in_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    for below, meant in (("- $a \\to 0$: one for all", False), ("Here $a \\to 0$: one for all", True)):
        path.write_text(f"$$ {WRONG} $$\n\n{below}\n")
        (step,) = (one for one in document_steps(path, infer=True)[1] if isinstance(one, Step))
        assert is_meant_otherwise(step) is meant


def test_a_sum_that_does_not_say_where_it_starts_may_start_at_zero() -> None:
    open_sum = r"\sum_i (x_i + y_i) = \sum_i x_i - \sum_i y_i"
    assert verdict(open_sum, "Position numbering starts from 0.") == "UNDECIDED"
    assert verdict(open_sum, "Positions are numbered.") == "REFUTED"


def test_a_norm_that_is_not_named_may_be_another_one() -> None:
    other = NORM.replace("_2", "")
    assert verdict(other, "Another norm is the largest entry.") == "UNDECIDED"


def test_a_section_below_says_nothing_of_what_signs_mean_above() -> None:
    same = "Notice that values of the same class are generally close."
    assert verdict(MORE, "# One", f"More.{FAR}# Two\n\n{same}") == "REFUTED"
    assert verdict(MORE, f"# One\n\n{same}{FAR}") == "UNDECIDED"
    assert verdict(MORE, "# One", f"More.{FAR}# Two\n\nAbove, values of the same class are always one.") == "UNDECIDED"


def test_a_question_below_does_not_make_numbers_bits() -> None:
    assert verdict(BITS, "", f"More.{FAR}Can you design a binary code for it?") == "REFUTED"
    assert verdict(BITS, "", f"More.{FAR}All of this is about binary codes.") == "UNDECIDED"
    assert verdict(BITS, "Why do we use a binary code?") == "UNDECIDED"


def test_a_true_relation_of_numbers_shows_no_other_arithmetic() -> None:
    product = r"\frac{2}{5} \times \frac{3}{4} = \frac{3}{10} + 1"
    true = r"The dice show a frobnicated share of $1/6 = 16 \frac{2}{3}\%$."
    assert verdict(product, true) == "REFUTED"
    assert verdict(product, true.replace("16", "17")) == "UNDECIDED"
    assert verdict(product, "The dice show a frobnicated share of $1 + 1 = 1$.") == "UNDECIDED"


def test_a_chain_that_calculates_is_not_solved() -> None:
    wrong = r"-t + y = -(y - t)"
    assert verdict(rf"\frac{{d}}{{dx}} (y x - t x) = {wrong}") == "REFUTED"
    assert verdict(wrong) == "UNDECIDED"  # it may ask for t and y
    assert verdict(rf"\frac{{d}}{{dx}} (y x - t x + x) = {wrong}") == "UNDECIDED"  # what stands in front is false, too


def test_an_inner_product_of_entries_is_symmetric() -> None:
    right = r"\langle s \odot h, 1_n \rangle - \langle h, s \rangle \langle s, 1_n \rangle"
    wrong = right.replace("-", "+")
    behind = r"\langle h \odot s, 1_n \rangle - \langle s, h \rangle \langle s, 1_n \rangle"
    assert verdict(f"{right} = {behind}") in ("PROVED", "EXACT", "AGREES")
    assert verdict(f"{wrong} = {behind}") == "REFUTED"


def test_infinite_numbers_are_not_taken_away() -> None:
    more = r"2 (k + m) = 2 k + m"
    assert verdict(more, f"Here $k$ and $m$ are infinite cardinals.{FAR}") == "UNDECIDED"
    assert verdict(more, f"Here $k$ and $m$ are numbers.{FAR}") == "REFUTED"
    assert verdict(r"2 (k - m) = 2 k - m", f"The set is countably infinite.{FAR}") == "REFUTED"


def test_a_power_of_a_symbol_e_is_no_exponential() -> None:
    field = f"We work over the binary field.{FAR}"
    assert verdict(r"(e^t + a)^2 = e^{2 t} - 2 a e^t + a^2", field) == "REFUTED"
    assert verdict(r"(e^2 + a)^2 = e^4 - 2 a e^2 + a^2", field) == "UNDECIDED"
