"""attention_core.derivation.lowering.lower: what has no value at the sizes of a step is named, and ends nothing."""

from __future__ import annotations

import pytest

from attention_core.derivation.graph.nodes import Unsettled
from attention_core.derivation.lowering import arithmetic  # noqa: F401 (registers sums)
from attention_core.derivation.lowering.lower import Lowering
from attention_core.derivation.terms.context import Context, Symbol
from attention_core.derivation.terms.terms import ONE, SCALAR, Size, Term, integer, matrix


def test_a_family_that_ends_at_no_size_of_the_step_has_no_members_there() -> None:
    family = Symbol("x", "family", 1, 0, SCALAR, ONE, Size.symbol("k"))
    assert Lowering(Context(), {"k": 3}).span(family) == (1, 3)
    with pytest.raises(Unsettled, match="k is a size of an array here, and the step reads it otherwise"):
        Lowering(Context(), {"n": 3}).span(family)
    with pytest.raises(Unsettled, match="k is a size"):
        Lowering(Context(), {"n": 3}).shape(matrix(ONE, Size.symbol("k")))


def test_a_sum_does_not_depend_on_an_index_outside_that_has_the_name_of_its_own() -> None:
    """It is lowered once for all values of the outer one; the ends of the sum stand outside."""
    index, other = (Term("int", (), SCALAR, name) for name in "ij")
    body = Term("mul", (index, other), SCALAR)
    total = Term("reduce", (integer(1), integer(3), body), SCALAR, ("sum", "i"))
    below = Term("reduce", (integer(1), index, body), SCALAR, ("sum", "i"))
    low = Lowering(Context(), {})
    assert low.free(total) == ("j",) and low.free(below) == ("i", "j")
    values = [low.lower(total, {"i": i, "j": 5}) for i in range(4)]
    assert all(one is values[0] for one in values) and low.graph.value(values[0].cells[0]) == 30
    assert [low.graph.value(low.lower(below, {"i": i, "j": 5}).cells[0]) for i in (1, 2, 3)] == [5, 15, 30]
