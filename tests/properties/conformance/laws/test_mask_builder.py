"""Power and false alarms of the laws of mask builders.

Laws of mask builders: every fault of every kind is refuted, correct builders of either alignment are not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from judging import held, refuted
from judging_contracts import conforming
from torch import Tensor

from attention_core.conformance.engine.session import Session
from attention_core.conformance.laws import mask_builder
from attention_core.conformance.laws.mask_builder import CONTRACT, KINDS, MaskBuilder
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.declaration.implementation import Implementation, TargetError
from attention_core.faults import mask_builder as faults
from attention_core.masking import builders

FAULTY = [(kind, fault) for kind, all_of in faults.KINDS.items() for fault in all_of]
NAMED = [
    ("mask_is_the_exact_set", "sliding_window", "window_one_wider"),
    ("rows_count_what_they_may_see", "sliding_window", "window_one_wider"),
    ("mask_alignment_is_as_declared", "causal", "causal_aligned_top_left"),
    ("batch_order_is_kept", "padding", "lengths_shared_by_the_batch"),
    ("sizes_may_change_between_calls", "causal", "mask_built_once"),
    ("masks_outlive_the_next_call", "padding", "masks_share_one_buffer"),
]
FACTORIES = ("mask_built_once", "masks_share_one_buffer")
OURS: dict[str, Callable[..., Tensor]] = {
    "causal": builders.causal_mask, "sliding_window": builders.sliding_window_mask,
    "prefix": builders.prefix_mask, "padding": builders.padding_mask, "segments": builders.segments_mask,
}  # fmt: skip


def record(kind: str, fault: str) -> dict[str, Any]:
    align = "bottom_right" if fault == "causal_aligned_top_left" else "top_left"
    return {"parameters": {"kind": kind}, "causal": align, "factory": fault in FACTORIES}


@pytest.mark.parametrize(("law", "kind", "fault"), NAMED)
def test_refutes(law: str, kind: str, fault: str) -> None:
    refuted(law, getattr(faults, fault), effort="quick", contract=CONTRACT, **record(kind, fault))


def test_every_law_names_a_fault_that_it_refutes() -> None:
    assert {(law.name, law.fault) for law in mask_builder.LAWS} == {(law, fault) for law, _, fault in NAMED}


@pytest.mark.parametrize(("kind", "fault"), FAULTY, ids=[f"{k}-{m.__name__}" for k, m in FAULTY])
def test_every_fault_is_refuted(kind: str, fault: Callable[..., Any]) -> None:
    refuted("mask_is_the_exact_set", fault, "quick", contract=CONTRACT, **record(kind, fault.__name__))


@pytest.mark.parametrize("align", ["top_left", "bottom_right"])
@pytest.mark.parametrize("kind", KINDS)
def test_ours_conform(kind: str, align: str) -> None:
    results = conforming(OURS[kind], CONTRACT, parameters={"kind": kind}, causal=align)
    silent = {r.law for r in results.values() if r.status == "not_applicable"}
    assert silent == ({"mask_alignment_is_as_declared"} if kind == "padding" else
                      set() if kind == "segments" else {"batch_order_is_kept", "masks_outlive_the_next_call"})  # fmt: skip


def test_other_forms_that_are_allowed() -> None:
    def four_axes_true_on_masked(q_len: int, k_len: int, window: int) -> Tensor:
        return ~builders.sliding_window_mask(q_len, k_len, window)[None, None]

    conforming(four_axes_true_on_masked, CONTRACT, mask_true="ignore", parameters={"kind": "sliding_window"})


def test_an_alignment_that_a_parameter_names_is_tested_beside_the_declared_one() -> None:
    for fault, kind in (
        (faults.far_edge_without_offset, "sliding_window"),
        (faults.causal_aligned_top_left, "causal"),
    ):
        found = refuted("mask_is_the_exact_set", fault, "quick", contract=CONTRACT, parameters={"kind": kind})
        assert found.message.startswith(f"{kind} mask aligned bottom_right: ")


def test_a_parameter_that_speaks_another_language_is_asked_for_what_is_declared() -> None:
    def switched(n_q: int, n_kv: int, align: bool = True) -> Tensor:
        return builders.causal_mask(n_q, n_kv)

    def worded(n_q: int, n_kv: int, align: str = "left") -> Tensor:
        return builders.causal_mask(n_q, n_kv, "bottom_right" if align == "right" else "top_left")

    def refusing(n_q: int, n_kv: int, align: str = "top_left") -> Tensor:
        if align != "top_left":
            raise ValueError(align)
        return builders.causal_mask(n_q, n_kv)

    for target in (switched, worded, refusing):
        held("mask_is_the_exact_set", target, contract=CONTRACT, parameters={"kind": "causal"})
    held(
        "mask_is_the_exact_set", faults.causal_aligned_top_left, contract=CONTRACT, parameters={"kind": "causal"},
        arguments={"align": "top_left"},
    )  # fmt: skip


def test_a_builder_of_square_masks_alone_is_judged_on_them() -> None:
    def square(n_q: int, n_kv: int, ids: Tensor) -> Tensor:
        if n_q != n_kv or ids.shape[-1] != n_q:
            raise ValueError("self-attention only")
        return (ids[:, None] == ids[:, :, None])[:, None]

    assert held("mask_is_the_exact_set", square, contract=CONTRACT, parameters={"kind": "segments"}).refused


def test_without_the_comparison_with_the_truth_there_is_no_verdict() -> None:
    def sixteen_or_thirteen(n_q: int, n_kv: int) -> Tensor:  # the calls of the core, and others by chance
        if (n_q, n_kv) not in ((16, 16), (13, 13)):
            raise ValueError("only these sizes")
        return builders.causal_mask(n_q, n_kv)

    target = Implementation(sixteen_or_thirteen, "under test", CONTRACT, parameters={"kind": "causal"})
    with Session(target, effort="quick") as session:
        report = session.report([session.run(law) for law in session.laws])
    assert report.verdict == "incomplete"
    assert "the comparison with the truth: all 24 cases were declined: ValueError: only these sizes" in report.reason()


def test_wrong_forms_are_told() -> None:
    def one_too_many(n_q: int, n_kv: int) -> Tensor:
        return torch.ones(n_q + 1, n_kv, dtype=torch.bool)

    shape = refuted("mask_is_the_exact_set", one_too_many, "quick", contract=CONTRACT, parameters={"kind": "causal"})
    assert "got shape" in shape.message
    parameters = {"kind": "causal"}
    dtype = refuted("mask_is_the_exact_set", faults.additive_mask, "quick", contract=CONTRACT, parameters=parameters)
    assert dtype.message == "got dtype float32, but should be bool"


def test_documents_that_are_causal_inside() -> None:
    def causal_inside(n_q: int, n_kv: int, ids: Tensor) -> Tensor:
        return builders.segments_mask(n_q, n_kv, ids) & builders.causal_mask(n_q, n_kv)

    parameters = {"kind": "segments", "segments_causal": True}
    held("mask_is_the_exact_set", causal_inside, contract=CONTRACT, parameters=parameters)
    refuted("mask_is_the_exact_set", causal_inside, contract=CONTRACT, parameters={"kind": "segments"})


def nameless(n_q: int, n_kv: int, c: int) -> Tensor:
    return builders.sliding_window_mask(n_q, n_kv, c)


@pytest.mark.parametrize(("builder", "kind"), [(nameless, ""), (builders.causal_mask, "diagonal")])
def test_a_kind_that_names_do_not_tell_must_be_declared(builder: Any, kind: str) -> None:
    with pytest.raises(TargetError, match=r"say which masks it builds: --kind causal\|sliding_window"):
        held("mask_is_the_exact_set", builder, contract=CONTRACT, parameters={"kind": kind})


def test_the_kind_is_read_from_the_names_of_parameters() -> None:
    for builder in (builders.causal_mask, builders.sliding_window_mask, builders.padding_mask):
        held("mask_is_the_exact_set", builder, contract=CONTRACT)


def test_lengths_of_a_batch_differ() -> None:
    """Equal lengths would hide whose length is whose."""
    subject = object.__new__(MaskBuilder)
    subject.kind, subject.implementation = "padding", Implementation(None, "padding")
    for seed in range(40):
        lengths = subject.parameter(ParameterCase({"n_q": 2, "n_kv": 1 + seed % 3, "B": 2, "size": 0}, seed=seed))
        assert len(np.unique(lengths)) == 2 and lengths.min() >= 0 and lengths.max() <= 1 + seed % 3
