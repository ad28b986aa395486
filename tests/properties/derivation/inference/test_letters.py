"""What formulas together say of a letter."""

from __future__ import annotations

from attention_core.derivation.inference.letters import add_missing_index, layers_in, leads_everywhere
from attention_core.derivation.latex.parse import parse_statement
from attention_core.derivation.latex.printer import to_latex


def test_a_sum_runs_over_the_one_letter_that_is_free_in_it() -> None:
    read = [parse_statement(one).chains[0] for one in (r"\sum e^{x_j}", r"\sum x_j y_k", r"x_j \sum y_j")]
    assert [to_latex(add_missing_index(one)) == to_latex(one) for one in read] == [False, True, True]


def test_layers_stand_above_weights_and_other_symbols() -> None:
    weights = parse_statement("a^{l} = W^l a^{l - 1} + b^l").chains[0]
    assert layers_in([weights]) == {"l"}
    assert layers_in([parse_statement("a^l + b^l + c^l").chains[0]]) == set()


def test_the_d_of_differentials_leads_everywhere() -> None:
    assert leads_everywhere("d", [parse_statement("d V + d O").chains[0]])
    assert not leads_everywhere("d", [parse_statement("d V + d").chains[0]])
