"""Hand-ins of the selection exercise: the errors of the notebook, by arithmetic that shares no code, and what is refused."""

from __future__ import annotations

from decimal import Decimal

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from attention_core.cli import main
from attention_core.declaration.implementation import TargetError
from attention_core.teaching.selection import KEYS, VALUES, mark, read_matrix, read_vector
from tests.numeric.exercise_truth import KEY_TEXT, VALUE_TEXT, decimal_attention, decimals, largest_error


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["exercise", "selection", *arguments])
    return result.exit_code, result.output


def test_keys_and_values_are_those_of_the_exercise() -> None:
    assert KEYS.tolist() == [[float(n) for n in row] for row in decimals(KEY_TEXT)]
    assert VALUES.tolist() == [[float(n) for n in row] for row in decimals(VALUE_TEXT)]


@given(st.lists(st.integers(-900, 900), min_size=3, max_size=3))
def test_errors_are_those_of_exact_arithmetic(hundredths: list[int]) -> None:
    query = [Decimal(n) / 100 for n in hundredths]
    keys, values = decimals(KEY_TEXT), decimals(VALUE_TEXT)
    output, _ = decimal_attention(query, keys, values)
    targets = [values[0], [sum(c) / 4 for c in zip(*values, strict=True)],
               [sum(c) / 2 for c in zip(*values[:2], strict=True)]]  # fmt: skip
    for marked, target in zip(mark(q=" ".join(map(str, query))), targets, strict=True):
        # Scores of at most 3 * 9 are rounded to 2^-53 each, and the exponential passes that on: far below this.
        assert abs(marked.error - float(largest_error(output, target))) < 1e-12


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (("--q", "10*k_0"), 0, "1.2.1  q selects v_0: yes (error 0.0004"),
        (("--q", "5 k0 + 5 k1", "--part", "1.3.2"), 0, "yes (error 0.0029"),
        (("--q", "0 0 0", "--part", "1.3.1"), 0, "yes (error 0.0000"),
        (("--q", "k_0", "--part", "1.2.1"), 1, "no (error 0."),
        (("--Q", "100*k_0; 100*k_1; 100*k_2; 100*k_3"), 0, "1.2.2  Q selects each value: yes"),
        (("--Q", "100*k_0; 100*k_1; 100*k_3; 100*k_2"), 1, "1.2.2  Q selects each value: no"),
        (("--q", "10*k_0 + 10*k_1", "--k2", "0.5*k_0 + 0.5*k_1", "--part", "1.4.1"), 0, "yes"),
        (("--q", "10*k_0 + 10*k_1", "--k2", "0.695 0.72 0.006", "--part", "1.4.2"), 0, "1.4.2"),
        (
            ("--q", "10*k_0 + 10*k_1", "--k2", "6.95 7.2 0.06", "--part", "1.4.2"),
            1,
            "its length is 10.007, and should be 1",
        ),
        (("--part", "1.2.1"), 2, "hand in --q, --Q, or --q with --k2"),
        (("--k2", "1 0 0"), 2, "give it as --q"),
        (("--q", "1 2"), 2, "has 2 numbers"),
        (("--q", "nan 0 0"), 2, "is not finite"),
        (("--q", "__import__('os')"), 2, "neither three numbers nor a sum"),
        (("--q", "10*k_0", "--part", "1.2.2"), 2, "part 1.2.2 is answered by Q"),
        (("--q", "10*k_0", "--part", "9"), 2, "is not one of 1.2.1"),
        (("--Q", "k_0; k_1"), 2, "has 2 rows"),
    ],
)
def test_what_is_handed_in_is_marked(arguments: tuple[str, ...], status: int, words: str) -> None:
    code, output = run(*arguments)
    assert code == status and words in output, output


def test_sums_are_read_with_their_signs() -> None:
    assert read_vector("-2*k_0 + 0.5v_3 - k2").tolist() == pytest.approx(
        (-2 * KEYS[0] + 0.5 * VALUES[3] - KEYS[2]).tolist(), abs=1e-15
    )
    assert read_matrix("1 0 0; 0 1 0; 0 0 1; 1 1 1").shape == (4, 3)
    for text in ("k_0 k_1", "k_4", "1..2*k_0", "k_0 +", ""):
        with pytest.raises(TargetError):
            read_vector(text)
