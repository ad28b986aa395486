"""attention_core.derivation.lowering.lower: what has no value at the sizes of a step is named, and ends nothing."""

from __future__ import annotations

import pytest

from attention_core.derivation.graph.nodes import Unsettled
from attention_core.derivation.lowering.lower import Lowering
from attention_core.derivation.terms.context import Context, Symbol
from attention_core.derivation.terms.terms import ONE, SCALAR, Size


def test_a_family_that_ends_at_no_size_of_the_step_has_no_members_there() -> None:
    family = Symbol("x", "family", 1, 0, SCALAR, ONE, Size.symbol("k"))
    assert Lowering(Context(), {"k": 3}).span(family) == (1, 3)
    with pytest.raises(Unsettled, match="the members of x end at k, a size that the step does not have"):
        Lowering(Context(), {"n": 3}).span(family)
