"""Power and false alarms of batch invariance: each law refutes its fault, every fault is refuted, invariant ones hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from judging import held, judged, refuted
from torch import Tensor

from attention_core.conformance import Implementation, check_implementation
from attention_core.conformance.cases.case import Case
from attention_core.conformance.laws import batch_invariance
from attention_core.conformance.laws.batch_invariance import CONTRACT, require_order_to_matter
from attention_core.conformance.subjects.evidence import NotApplicable
from attention_core.faults import batch_invariance as faults

RECORD: dict[str, Any] = {"contract": CONTRACT, "accumulate": "float32"}


@pytest.mark.thorough(table=True)
@pytest.mark.parametrize("law", batch_invariance.LAWS, ids=lambda law: law.name)
def test_every_law_refutes_the_fault_it_names(law: batch_invariance.Law) -> None:
    refuted(law.name, getattr(faults, law.fault)(), effort="quick", **RECORD)


@pytest.mark.thorough(keep=("sums_rounded_once-*", "keys_in_blocks-the_place*"))
@pytest.mark.parametrize("law", batch_invariance.LAWS, ids=lambda law: law.name)
@pytest.mark.parametrize("kernel", faults.INVARIANT, ids=lambda kernel: kernel.__name__)
def test_invariant_kernels_hold(law: batch_invariance.Law, kernel: Any) -> None:
    record = RECORD | faults.INVARIANT[kernel]
    if law.declares is None or law.declares(Implementation(kernel(), **record)):
        held(law.name, kernel(), **record)
    else:
        assert (kernel, record["array"]) == (faults.sums_rounded_once, "numpy")  # no threads of torch, no gradients
        assert judged(law.name, kernel(), "quick", **record).status == "not_applicable"


def test_every_fault_is_named_by_a_law() -> None:
    named = {law.fault for law in batch_invariance.LAWS}
    assert named == {fault.__name__ for fault in faults.FAULTY}


@pytest.mark.usefixtures("unshrunk")
def test_a_wrong_output_is_refuted_however_invariant_it_is() -> None:
    def wrong(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        if query.shape[-3] != key.shape[-3] or key.shape[-2] != value.shape[-2]:
            raise ValueError("heads or lengths differ")
        return torch.zeros(*query.shape[:-1], value.shape[-1], dtype=query.dtype)

    report = check_implementation(Implementation(wrong, gradients=False, **RECORD), "quick")
    assert {law.law for law in report.with_status("refuted")} == {"agrees_with_truth"}


@pytest.mark.thorough
@pytest.mark.usefixtures("fewest_cases")
def test_dropout_is_named_as_untested() -> None:
    kernel = faults.keys_one_by_one()

    def with_dropout(query: Tensor, key: Tensor, value: Tensor, dropout_p: float = 0.0) -> Tensor:
        return kernel(query, key, value)

    report = check_implementation(Implementation(with_dropout, **RECORD), "quick")
    assert (report.verdict, list(report.untested)) == ("incomplete", ["dropout_p"])
    assert report.claims["dropout_p"] == "not tested: no law of this contract asks for it"


def test_cases_that_could_not_fail_are_passed_over() -> None:
    ones = np.ones((1, 1, 4, 8))
    with pytest.raises(NotApplicable, match="every order of summation"):
        require_order_to_matter(Case("float32", ones, ones, ones))
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((2, 2, 40, 8)).astype(np.float32).astype(float) for _ in range(3))
    require_order_to_matter(Case("float32", q, k, v))
