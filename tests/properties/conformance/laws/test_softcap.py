"""Power and false alarms of the laws of soft caps: every fault is refuted, right functions hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from judging import held, refuted
from torch import Tensor

from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.features import draw_softcap
from attention_core.conformance.engine.session import Session
from attention_core.conformance.laws import softcap
from attention_core.conformance.worker.executor import described_parameters
from attention_core.declaration.implementation import Implementation
from attention_core.faults import features as faults

WIDE: dict[str, Any] = {"accumulate": "float32"}
SEEN_BY = {
    "cap_of_50_at_most": "a_cap_beyond_all_scores_is_none",
    "backward_without_the_cap": "gradients_through_the_cap_are_true",
}
"""One law that must see it, where that is not the comparison with the truth."""


@pytest.mark.parametrize("law", softcap.LAWS, ids=lambda law: law.name)
def test_every_law_refutes_the_fault_it_names(law: softcap.Law) -> None:
    refuted(law.name, getattr(faults, law.fault)(), effort="quick", **WIDE)


@pytest.mark.parametrize("fault", faults.CAPS)
@pytest.mark.parametrize("seed", [0, 1])
def test_every_fault_is_refuted(fault: Callable[..., Any], seed: int) -> None:
    refuted(SEEN_BY.get(fault.__name__, "scores_are_capped"), fault(), "quick", seed=seed, **WIDE)


@pytest.mark.thorough(keep=("0", "1"))
@pytest.mark.parametrize("seed", range(4))
def test_a_right_function_holds(seed: int) -> None:
    for law in softcap.LAWS:
        held(law.name, faults.build(), seed=seed, **WIDE)


@pytest.mark.thorough(keep=("0",))
@pytest.mark.parametrize("seed", range(4))
def test_gemma2_of_transformers_holds(seed: int) -> None:
    gemma2 = pytest.importorskip("transformers.models.gemma2.modeling_gemma2")

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, softcap: float | None = None
    ) -> Tensor:
        from types import SimpleNamespace

        module = SimpleNamespace(num_key_value_groups=1, training=False, head_dim=query.shape[-1], is_causal=False)
        out: Tensor = gemma2.eager_attention_forward(
            module, query, key, value, attn_mask, scaling=query.shape[-1] ** -0.5, softcap=softcap
        )[0].transpose(1, 2)
        return out

    for law in softcap.LAWS:
        held(law.name, attention, seed=seed, masks="additive", dead_rows="nan", dtypes=("float32", "bfloat16"))
    assert torch.is_grad_enabled()


# --- caps that are whole numbers, and caps that are declined ----------------------------------------------


def scores_of(q: Tensor, k: Tensor) -> Tensor:
    return q @ k.mT / q.shape[-1] ** 0.5


def capped(q: Tensor, k: Tensor, v: Tensor, softcap: int = 0) -> Tensor:
    if not isinstance(softcap, int):
        raise TypeError("softcap must be an int")
    scores = scores_of(q, k)
    return (softcap * torch.tanh(scores / softcap) if softcap else scores).softmax(-1) @ v


def ignored(q: Tensor, k: Tensor, v: Tensor, softcap: int = 0) -> Tensor:
    if not isinstance(softcap, int):
        raise TypeError("softcap must be an int")
    return scores_of(q, k).softmax(-1) @ v


def open_default(q: Tensor, k: Tensor, v: Tensor, softcap=0) -> Tensor:  # type: ignore[no-untyped-def]
    return ignored(q, k, v, softcap)


def high_alone(q: Tensor, k: Tensor, v: Tensor, softcap: float = 0.0) -> Tensor:
    if softcap not in (0, 8192):
        raise ValueError("no such cap")
    return scores_of(q, k).softmax(-1) @ v


def results(target: Any) -> tuple[dict[str, str], list[str], dict[str, str]]:
    """The status of the cap's laws, what is untested, and the claims."""
    record = Implementation(target, claims=("softcap",), dtypes=("float32",), gradients=False)
    with Session(record, effort="quick") as session:
        laws = [law for law in session.laws if "softcap" in law.needs and law.declares is None]
        found = list(session.results(laws))
        report = session.report(found)
    return {r.law: r.status for r in found}, report.untested, dict(report.claims)


def test_a_cap_of_whole_numbers_is_judged() -> None:
    status, untested, claims = results(capped)
    assert set(status.values()) == {"held"}
    assert (untested, claims["softcap"]) == ([], "tested")
    for target in (ignored, open_default):
        assert results(target)[0]["scores_are_capped"] == "refuted"


def test_a_feature_whose_every_comparison_is_declined_is_untested() -> None:
    """A cap beyond all scores was answered, and so the claim counted as tested."""
    status, untested, claims = results(high_alone)
    assert status == {"scores_are_capped": "refused", "a_cap_beyond_all_scores_is_none": "held"}
    assert (untested, claims["softcap"]) == (["softcap"], "refused")


@pytest.mark.parametrize(
    ("target", "whole"),
    [
        (lambda softcap: 0, False), (lambda softcap=0: 0, None), (lambda softcap=0.0: 0, False),
        (lambda softcap=False: 0, False), (capped, True), (high_alone, False),
    ],
)  # fmt: skip
def test_which_parameters_take_whole_numbers(target: Any, whole: bool | None) -> None:
    described = described_parameters(target)
    assert described is not None
    assert [p["whole"] for p in described if p["name"] == "softcap"] == [whole]


def test_caps_are_drawn_as_a_target_takes_them() -> None:
    rng = np.random.default_rng(0)
    case = Case("float32", *(rng.normal(size=(1, 1, 3, 4)) for _ in range(3)))
    drawn = {whole: [draw_softcap(case, rng, whole) for _ in range(20)] for whole in (True, False, None)}
    assert all(isinstance(cap, int) and cap >= 1 for cap in drawn[True])
    assert not any(isinstance(cap, int) for cap in drawn[False])
    assert {isinstance(cap, int) for cap in drawn[None]} == {True, False}
