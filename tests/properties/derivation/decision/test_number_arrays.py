r"""Arrays of numbers that are calculated with in another way: which false equations they can make good, and which not."""

from __future__ import annotations

import pytest

from attention_core.derivation.check import check_document, document_steps
from attention_core.derivation.decision.number_arrays import find_entries, has_array
from attention_core.derivation.decision.other_arithmetics import may_hold_otherwise
from attention_core.derivation.reading.step import Step


def write(*rows: list[float]) -> str:
    cells = r" \\ ".join(" & ".join(map(str, row)) for row in rows)
    return rf"\begin{{pmatrix}} {cells} \end{{pmatrix}}"


LEFT, RIGHT = write([1, 2], [3, 4]), write([5, 6], [7, 8])
COLUMN = write([5], [7])
OTHERWISE = {
    "elementwise": LEFT + RIGHT + "=" + write([5, 12], [21, 32]),
    "from the other side": LEFT + RIGHT + "=" + write([23, 34], [31, 46]),
    "the right one transposed": LEFT + RIGHT + "=" + write([17, 23], [39, 53]),
    "the left one transposed": LEFT + RIGHT + "=" + write([26, 30], [38, 44]),
    "both ways": write([1, 0], [0, 2]) + write([1, 1], [0, 1]) + "=" + write([1, 1.5], [0, 2]),
    "powers of entries": LEFT + "^2=" + write([1, 4], [9, 16]),
    "least tolls": write([1, 2], [3, 1]) + write([1, 4], [2, 1]) + "=" + write([2, 3], [3, 2]),
    "largest shares": write([3, 2], [1, 4]) + write([2, 0], [3, 1]) + "=" + write([6, 2], [12, 4]),
    "weakest links": write([2, 3], [4, 1]) + write([1, 2], [2, 2]) + "=" + write([2, 2], [1, 2]),
    "bits": write([1, 1], [0, 1]) + write([1, 1], [1, 1]) + "=" + write([0, 0], [1, 1]),
    "bytes": write([2, 3, 1], [1, 2, 3], [1, 1, 2]) + write([219], [19], [83]) + "=" + write([203], [8], [110]),
    "products without a carry": write([1, 2], [0, 3]) + write([1, 0], [0, 3]) + "=" + write([1, 6], [0, 5]),
    "modulo 48": LEFT + RIGHT + "=" + write([19, 22], [43, 2]),
    "modulo 26": write([3, 3], [2, 5]) + write([7], [4]) + "=" + write([7], [8]),
    "in base 8": write([1, 2], [3, 2]) + write([1], [3]) + "=" + write([7], [11]),
    "rounded": write([1.5, 2], [3, 4]) + COLUMN + "=" + write([22], [43]),
    "in even numbers": write([1, 3], [3, 4]) + COLUMN + "=" + write([26], [44]),
    "cut off": r"\frac{1}{2}" + write([4], [7]) + "=" + write([2], [3]),
    "at most 40": LEFT + COLUMN + "=" + write([19], [40]),
    "at least 20": LEFT + RIGHT + "=" + write([20, 22], [43, 50]),
    "a neuron that leaks": write([1, -2], [3, 4]) + COLUMN + "=" + write([-9], [43]).replace("-9", "-1"),
    "a blank": LEFT + RIGHT + "=" + write([0, 22], [43, 50]),
    "a mirrored half": LEFT + RIGHT + "=" + write([19, 22], [22, 50]),
    "hours and minutes": "2" + write([2, 20, 45]) + "=" + write([4, 41, 30]),
    "legs": write([3], [0], [0]) + "+" + write([4], [2], [1]) + "=" + write([5], [2], [1]),
    "lengths with a sign": write([1, 2, 3], [1, 2, 0]) + write([1], [1], [1]) + "=" + write([0], [3]),
    "lengths with a sign, of large vectors": write([2, 3, 1], [2, 3, 0])
    + write([4], [2], [3])
    + "="
    + write([11], [14]),
    "products of another kind": write([1, 1], [1, 4]) + write([2, 9], [3, 1]) + "=" + write([5, 10], [8, 13]),
    "a field of 32 elements": write([3, 7], [4, 24]) + write([8], [1]) + "=" + write([31], [29]),
    "joined bits": write([2, 1], [2, 3], [2, 9]) + write([2], [2]) + "=" + write([6], [6], [22]),
    "binomial coefficients": write([5], [2]) + "+" + write([5], [3]) + "=" + write([6], [3]),
    "permutations": write([1, 2], [2, 1]) + write([1, 2], [2, 1]) + "=" + write([1, 2], [1, 2]),
    "operations on rows": LEFT + "=" + write([1, 2], [3, 5]),
    "a running total": LEFT + COLUMN + "=" + write([19], [43]) + "+" + write([0], [1]) + "=" + write([19], [44]),
    "another scale": LEFT + COLUMN + "=" + write([38], [86]),
    "an inverse": LEFT + "^{-1}=" + write([-2, 1], [1.5, -1.5]),
    "shapes that do not fit": write([1, 2, 3]) + write([1, 2]) + "=" + write([1, 3]),
    "roughly": LEFT + COLUMN + r"\approx" + write([19], [44]),
}
NEVER = [
    LEFT + RIGHT + "=" + write([19, 22], [43, 51]),
    LEFT + RIGHT + "=" + write([19, 22], [44, 50]),
    LEFT + COLUMN + "=" + write([19], [44]),
    write([1, 2, 3], [4, 5, 6]) + write([7], [8], [9]) + "=" + write([50], [123]),
    LEFT + r"^\top" + COLUMN + "=" + write([26], [41]),
    LEFT + COLUMN + "+" + write([2], [3]) + "=" + write([21], [47]),
    "3" + write([4, 5], [6, 7]) + "=" + write([12, 15], [19, 21]),
    r"\frac{1}{2} ("
    + LEFT
    + RIGHT
    + ")("
    + LEFT
    + ")="
    + write([42.5, 63], [96.5, 145]).replace(".5", r" + \frac{1}{2}"),
    write([19], [44]) + "=" + LEFT + COLUMN,
    write([2, -3], [4, 5]) + write([3, 1], [2, 6]) + "=" + write([0, -16], [22, 35]),
]


def read(formula: str) -> Step:
    step = document_steps(f"$$ {formula} $$\n", infer=True)[1][0]
    assert isinstance(step, Step)
    return step


@pytest.mark.parametrize("formula", OTHERWISE.values(), ids=OTHERWISE)
def test_what_another_way_to_calculate_makes_good_may_hold(formula: str) -> None:
    assert has_array(read(formula)) and may_hold_otherwise(read(formula))


@pytest.mark.parametrize("formula", OTHERWISE.values(), ids=OTHERWISE)
def test_no_words_make_it_wrong(formula: str) -> None:
    text = f"The frobnicated snorkel gives\n\n$$ {formula} $$\n"
    assert "REFUTED" not in {str(step.verdict) for step in check_document(text, infer=True).steps}


@pytest.mark.parametrize("formula", NEVER)
def test_one_wrong_entry_is_false_in_every_arithmetic(formula: str) -> None:
    assert not may_hold_otherwise(read(formula))
    text = f"The frobnicated snorkel gives\n\n$$ {formula} $$\n"
    assert str(check_document(text, infer=True).steps[0].verdict) == "REFUTED"


@pytest.mark.parametrize("between", ["", "\n\nThe snorkel gives"])
def test_an_equation_of_arrays_beside_it_may_say_what_equality_means(between: str) -> None:
    words = f"Here ${write([43], [1])} = {write([44], [1])}$.{between}"
    text = f"{words}\n\n$$ {NEVER[2]} $$\n"
    assert str(check_document(text, infer=True).steps[-1].verdict) == "UNDECIDED"


def test_the_false_entry_stands_first() -> None:
    entries = find_entries(read(NEVER[1]))
    assert entries is not None and len(entries) == 4
    assert str(entries[0][1]) == "Num(value=Fraction(44, 1))"


def test_entries_that_are_not_numbers_are_left_alone() -> None:
    assert may_hold_otherwise(read(write([1, r"\sqrt{2}"], [3, 4]) + COLUMN + "=" + write([19], [44])))
    assert not has_array(read("28 \\times 28 = 2 (784)"))
