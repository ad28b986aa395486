"""attention_core.derivation.lowering.lower: what has no value at the sizes of a step is named, and ends nothing."""

from __future__ import annotations

import pytest

from attention_core.derivation.graph.nodes import Unsettled
from attention_core.derivation.lowering.lower import Lowering
from attention_core.derivation.terms.context import Context, Symbol
from attention_core.derivation.terms.terms import ONE, SCALAR, Size, matrix


def test_a_family_that_ends_at_no_size_of_the_step_has_no_members_there() -> None:
    family = Symbol("x", "family", 1, 0, SCALAR, ONE, Size.symbol("k"))
    assert Lowering(Context(), {"k": 3}).span(family) == (1, 3)
    with pytest.raises(Unsettled, match="k is a size of an array here, and the step reads it otherwise"):
        Lowering(Context(), {"n": 3}).span(family)
    with pytest.raises(Unsettled, match="k is a size"):
        Lowering(Context(), {"n": 3}).shape(matrix(ONE, Size.symbol("k")))
