"""Power and false alarms of the laws of ALiBi: every fault is refuted, right functions hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from judging import held, refuted

from attention_core.conformance.laws import alibi
from attention_core.faults import features as faults

WIDE: dict[str, Any] = {"accumulate": "float32"}
SEEN_BY = {
    "slope_of_zero_is_the_usual_one": "slopes_of_zero_change_nothing",
    "backward_without_slopes": "gradients_with_slopes_are_true",
}
"""One law that must see it, where that is not the comparison with the truth."""


@pytest.mark.parametrize("law", alibi.LAWS, ids=lambda law: law.name)
def test_every_law_refutes_the_fault_it_names(law: alibi.Law) -> None:
    refuted(law.name, getattr(faults, law.fault)(), effort="quick", **WIDE)


@pytest.mark.parametrize("fault", faults.SLOPES)
@pytest.mark.parametrize("seed", [0, 1])
def test_every_fault_is_refuted(fault: Callable[..., Any], seed: int) -> None:
    refuted(SEEN_BY.get(fault.__name__, "scores_fall_with_distance"), fault(), "quick", seed=seed, **WIDE)


@pytest.mark.thorough(keep=("0", "1"))
@pytest.mark.parametrize("seed", range(4))
def test_a_right_function_holds(seed: int) -> None:
    for law in alibi.LAWS:
        held(law.name, faults.build(), seed=seed, **WIDE)
