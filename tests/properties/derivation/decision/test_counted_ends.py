"""Numbers that count both of their ends are not refuted where words beside them name what is counted so."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import Verdict


def verdict(above: str, formula: str) -> Verdict:
    return check_document(f"{above}\n\n$$ {formula} $$\n", as_read=True).steps[-1].verdict


@pytest.mark.parametrize(
    ("above", "right", "wrong"),
    [
        ("A fence of 100 m with a post each 10 m has", "100 / 10 = 11", "100 / 10 = 12"),
        ("The chapter has pages 20 to 35, which are", "35 - 20 = 16", "35 - 20 = 17"),
        ("From day 3 to day 10, both inclusive, there are", r"\frac{21}{7} = 4", r"\frac{21}{7} = 5"),
        ("Between 5 trees there are gaps:", "5 - 2 = 4", "5 - 2 - 1 = 3"),  # a sum of three is not such a count
    ],
)
def test_a_result_that_is_off_by_one_stays_open_where_ends_are_counted(above: str, right: str, wrong: str) -> None:
    assert verdict(above, right) is Verdict.UNDECIDED
    assert verdict(above, wrong) is Verdict.REFUTED
    assert verdict("We calculate", right) is Verdict.REFUTED


def test_a_promise_of_formulas_leaves_no_other_count() -> None:
    text = "All hypotheses are declared as formulas. The fence has posts:\n\n$$ 100 / 10 = 11 $$\n"
    assert check_document(text, infer=True).steps[-1].verdict is Verdict.REFUTED
