"""Power and false alarms of the laws of few tokens.

Calls of few tokens: decoding over long caches and wide heads in views; each law refutes its fault, right ones conform.
"""

from __future__ import annotations

import pytest
from judging import held, judged, refuted

from attention_core.conformance.laws.decoding import LAWS, SHAPES
from attention_core.conformance.subjects.law import Law
from attention_core.faults import decoding as faults
from attention_core.faults.bases import reference
from attention_core.faults.value import correct_with_weights


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_every_law_refutes_the_fault_it_names(law: object) -> None:
    refuted(law.name, getattr(faults, law.fault)(), "quick")  # type: ignore[attr-defined]


def test_returned_weights_of_many_keys_are_judged() -> None:
    refuted("decoding_shapes_are_right", faults.weights_of_64_keys(), "quick", returns="out,weights")
    held("decoding_shapes_are_right", correct_with_weights(), returns="out,weights")
    held("round_sizes_and_sizes_beyond_are_right", correct_with_weights(), returns="out,weights")


@pytest.mark.parametrize("law", [law.name for law in LAWS])
def test_correct_attention_conforms(law: str) -> None:
    held(law, reference.build())


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_counterexamples_can_be_read(law: Law) -> None:
    found = judged(law.name, getattr(faults, law.fault)(), shrink=True).counterexample
    assert found is not None
    assert len(found.snippet) < 1500 and "zlib" not in found.snippet


def test_the_shapes_are_those_of_decoding() -> None:
    assert {n_q for n_q, _ in SHAPES} == {1, 4, 8} and {n_kv for _, n_kv in SHAPES} == {65, 147, 513}
