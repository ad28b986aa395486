"""Power and false alarms of the laws of features inside packed texts and over pages, and their null models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from judging import judged, refuted
from judging_contracts import conforming
from torch import Tensor

from attention_core.conformance import Implementation
from attention_core.conformance.engine.session import Session
from attention_core.conformance.laws import packed_features
from attention_core.conformance.subjects.packed_case import PackedCase
from attention_core.declaration.features import PAIRS, WINDOW_KINDS, sides_of
from attention_core.faults import packed_features as faults
from attention_core.kernels.packed import packed_attention, paged_attention

WIDE: dict[str, Any] = {"accumulate": "float32"}
SINGLE: dict[str, Any] = {**WIDE, "dtypes": ("float32",)}
RIGHT: dict[str, tuple[str, Any]] = {
    "steps": ("varlen", faults.build()), "pages by steps": ("paged", faults.build_paged()),
    "ours": ("varlen", packed_attention), "our pages": ("paged", paged_attention),
}  # fmt: skip
CENTRAL = {
    "window": "windows_are_the_texts_own",
    "sinks": "sinks_take_their_weight",
    "slope": "scores_fall_with_distance",
}
SEEN_BY = {  # one law that must see it, where its name does not say so
    "packed_cap_of_5_at_most": "packed_features_of_nothing_change_nothing",
    "paged_cap_of_5_at_most": "paged_features_of_nothing_change_nothing",
    "window_before_new_tokens": "new_tokens_are_appended",
    "sink_gradient_of_the_first_text": "packed_gradients_with_features_are_true",
    "packed_sinks_without_a_gradient": "packed_gradients_with_features_are_true",
    "packed_backward_without_the_cap": "packed_gradients_with_features_are_true",
}


def law_that_sees(fault: Callable[..., Any]) -> str:
    """The law that must refute a fault: that of the feature in its name."""
    contract = "packed" if fault in faults.PACKED else "paged"
    ends = (end for word, end in CENTRAL.items() if word in fault.__name__)
    end = next(ends, "sinks_take_their_weight" if "sink" in fault.__name__ else "scores_are_capped")
    return SEEN_BY.get(fault.__name__, f"{contract}_{end}")


def contract_of(fault: Callable[..., Any]) -> str:
    return "varlen" if fault in faults.PACKED else "paged"


@pytest.mark.parametrize("law", packed_features.LAWS, ids=lambda law: law.name)
def test_every_law_refutes_the_fault_it_names(law: packed_features.Law) -> None:
    refuted(law.name, getattr(faults, law.fault)(), effort="quick", contract=law.contract, **SINGLE)


@pytest.mark.thorough(table=True)
@pytest.mark.parametrize("fault", faults.FAULTY)
def test_every_fault_is_refuted(fault: Callable[..., Any]) -> None:
    refuted(law_that_sees(fault), fault(), "quick", contract=contract_of(fault), **SINGLE)


@pytest.mark.thorough(keep=("ours", "our pages"))
@pytest.mark.parametrize("name", RIGHT)
def test_right_kernels_conform(name: str) -> None:
    contract, target = RIGHT[name]
    results = conforming(target, contract, **WIDE)
    own = [law.name for law in packed_features.LAWS if law.contract == contract]
    assert {results[name].status for name in own} == {"held"}


@pytest.mark.parametrize("kind", WINDOW_KINDS)
def test_a_window_is_passed_as_it_is_declared(kind: str) -> None:
    def varlen(q: Tensor, k: Tensor, v: Tensor, cu_seqlens: Tensor, causal: bool = False, window: Any = None) -> Tensor:
        sides = (-1, -1) if window is None else window if kind in PAIRS else sides_of(kind, window)
        return faults.build()(q, k, v, cu_seqlens, cu_seqlens, 0, 0, causal=causal, window_size=sides)

    law = "packed_windows_are_the_texts_own"
    result = judged(law, varlen, contract="varlen", window=kind, **SINGLE)
    assert (result.status, result.minimum_met) == ("held", True), result.message


def test_a_parameter_without_a_default_is_given_a_value() -> None:
    def unified(
        q: Tensor, k: Tensor, v: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor, window_size: tuple[int, int],
        softcap: float, sinks: Tensor, alibi_slopes: Tensor, causal: bool = False,
    ) -> Tensor:  # fmt: skip
        assert softcap > 0 and len(sinks) == len(alibi_slopes) == q.shape[1]
        how: dict[str, Any] = {"window_size": window_size, "alibi_slopes": alibi_slopes, "sinks": sinks}
        return faults.build()(q, k, v, cu_seqlens_q, cu_seqlens_k, 0, 0, causal=causal, softcap=softcap, **how)

    for law in ("packed_texts_agree_with_the_truth", "empty_texts_take_no_rows", "packed_scores_are_capped"):
        result = judged(law, unified, contract="varlen", **SINGLE)
        assert (result.status, result.minimum_met) == ("held", True), result.message


def test_a_log_sum_exp_beside_sinks_is_not_compared() -> None:
    with Session(Implementation(faults.build(), name="f", contract="varlen")) as session:
        options = {"texts": [[2, 3], [0, 1]], "sinks": True}
        case = PackedCase({"H_kv": 1, "group": 2, "d": 2, "d_v": 2}, options=options)
        subject: Any = session.subject
        found = subject.judge(case, subject.pack(case), subject.setting(case))
        assert not found.has_lse and found.declared.all() and not found.dead.any()
        plain = case.with_(options={**options, "sinks": False})
        assert subject.judge(plain, subject.pack(plain), subject.setting(plain)).has_lse


def test_the_gradient_of_sinks_is_the_sum_over_texts() -> None:
    options = {"texts": [[2, 3], [1, 4]], "sinks": True, "softcap": 1.0}
    case = PackedCase({"H_kv": 1, "group": 2, "d": 2, "d_v": 2}, options=options, dtype="float64")
    with Session(Implementation(faults.build(), name="f", contract="varlen")) as session:
        subject: Any = session.subject
        pack, setting = subject.pack(case), subject.setting(case)
        down = case.values("cotangent", 3, 2, 2)
        true, bound = subject.true_gradients(case, pack, setting, down)["sinks"]
    sinks = torch.tensor(setting.features.sinks, requires_grad=True)
    ends = [torch.tensor([0, *np.cumsum([pair[i] for pair in pack.texts])]) for i in (0, 1)]
    arrays = [torch.tensor(x) for x in (pack.query, pack.key, pack.value)]
    faults.build()(*arrays, *ends, 0, 0, softcap=1.0, sinks=sinks).backward(torch.tensor(down))
    assert sinks.grad is not None
    assert (np.abs(true - sinks.grad.numpy()) <= bound).all() and 0 < bound.max() < 1e-13


def test_shrinking_drops_features() -> None:
    case = PackedCase(
        {"H_kv": 1, "group": 1, "d": 1, "d_v": 1}, options={"texts": [[1, 1]], "sinks": True, "softcap": 1.0}
    )
    dropped = [[name for name in ("sinks", "softcap") if not one.options.get(name)] for one in case.smaller()]
    assert ["softcap"] in dropped and ["sinks"] in dropped
