"""Power and false alarms of the laws of position biases.

Laws of position biases: each refutes the fault it names, every fault is refuted; row constants are free.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from judging import refuted
from judging_contracts import conforming, refuting

from attention_core.conformance import Implementation
from attention_core.conformance.engine.session import Session
from attention_core.conformance.laws import bias
from attention_core.conformance.laws.bias import CONTRACT
from attention_core.conformance.subjects.parameter_case import draw_parameters
from attention_core.faults import bias as faults
from attention_core.modules import positions

SEEN_BY = {  # one law that must see it
    "slopes_off_by_one": "bias_falls_by_its_slope",
    "slopes_geometric": "bias_falls_by_its_slope",
    "extra_slopes_in_sequence": "bias_falls_by_its_slope",
    "sign_flipped": "weight_falls_with_distance",
    "bias_built_over_query_length": "last_row_serves_decoding",
    "aligned_to_the_first_key": "last_row_serves_decoding",
    "bias_by_absolute_position": "bias_depends_on_distance_alone",
    "one_slope_for_all": "bias_falls_by_its_slope",
    "distance_clipped": "weight_falls_with_distance",
    "further_slopes_from_the_end": "bias_falls_by_its_slope",
    "distances_in_int8_of_few_heads": "bias_falls_by_its_slope",
}


@pytest.mark.parametrize("law", bias.LAWS, ids=lambda law: law.name)
def test_every_law_refutes_the_fault_it_names(law: bias.Law) -> None:
    refuted(law.name, getattr(faults, law.fault), effort="quick", contract=CONTRACT)


@pytest.mark.parametrize("fault", faults.FAULTY)
def test_every_fault_is_refuted(fault: Callable[..., Any]) -> None:
    refuted(SEEN_BY[fault.__name__], fault, "quick", contract=CONTRACT)


@pytest.mark.parametrize("target", [*faults.CORRECT, positions.alibi_bias])
def test_correct_biases_conform(target: Callable[..., Any]) -> None:
    results = conforming(target, CONTRACT)
    assert {r.status for r in results.values()} == {"held"}


def test_slopes_are_a_convention_that_is_verified() -> None:
    conforming(faults.slopes_geometric, CONTRACT, parameters={"slopes": "geometric"})
    found = refuting(faults.correct, CONTRACT, parameters={"slopes": "geometric"})
    assert found == {"bias_falls_by_its_slope", "an_earlier_call_of_another_kind_leaves_no_trace"}


def test_what_hides_faults_is_left_often_enough() -> None:
    """Powers of two hide other slopes, n_q = n_kv hides the alignment: half, and a quarter, of the cases avoid them."""
    rng, seen, count = np.random.default_rng(0), Counter[str](), 200
    with Session(Implementation(faults.correct, "b", CONTRACT)) as session:
        for _ in range(count):
            case = draw_parameters(session.subject, bias.SPACE, rng)
            assert case is not None and bias.SPACE.contains(case)
            seen["odd heads"] += case["H"] & (case["H"] - 1) > 0
            seen["decoding"] += case["n_q"] == 1 < case["n_kv"]
            seen["fewer queries"] += 1 < case["n_q"] < case["n_kv"]
    assert seen["odd heads"] > count // 3 and min(seen["decoding"], seen["fewer queries"]) > count // 5, seen
