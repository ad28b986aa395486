"""Power and false alarms of the law of the process.

A call leaves its process as it was: every fault is refuted and put back, and what loads, draws or restores is right.
"""

from __future__ import annotations

import os
import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from judging import held, judged, refuted
from judging_contracts import counterexample, outcomes

from attention_core.conformance import Implementation
from attention_core.conformance.contracts import built_in
from attention_core.conformance.engine.session import Session
from attention_core.conformance.laws.process_state import LAWS
from attention_core.conformance.search.search import run_law
from attention_core.conformance.worker.process_state import seed_generators
from attention_core.faults import mask_builder, position_table
from attention_core.faults import process_state as faults
from attention_core.faults.bases import multi_head
from attention_core.faults.bases.cache import Cache

LAW = "a_call_leaves_the_process_as_it_was"
WORDS = {
    "seeds_the_global_generator": "seeds the global generator of torch",
    "seeds_numpys_generator": "seeds the global generator of numpy",
    "seeds_pythons_generator": "seeds the global generator of random",
    "sets_the_default_dtype": "changes torch's default dtype: got torch.float64 after it, but should be torch.float32",
    "sets_the_number_of_threads": "changes torch's number of threads: got 2",
    "turns_gradients_off": "changes whether torch records gradients",
    "goes_to_another_folder": "changes the working directory",
    "sets_the_environment": "changes the environment: got with ATTENTION_KERNEL after it",
    "asks_for_determinism": "changes whether torch is deterministic: got True",
    "flushes_subnormal_numbers": "changes whether subnormal numbers are kept: got '0.0'",
    "turns_fused_kernels_off": "changes which of torch's attention kernels are allowed: got [False, True, True]",
    "silences_all_warnings": "changes the filters of warnings",
    "float32_products_in_ten_bits": "changes torch's precision of float32 products: got 'medium'",
    "settings_of_the_first_call": "changes torch's default dtype",
}


@pytest.fixture(autouse=True)
def own_environment() -> Iterator[None]:
    """What one target writes into the environment and the filters does not reach the next test."""
    environment = dict(os.environ)
    with warnings.catch_warnings():
        yield
    os.environ.clear()
    os.environ.update(environment)


def settings() -> list[Any]:
    return [
        torch.get_default_dtype(), torch.get_num_threads(), torch.is_grad_enabled(), os.getcwd(),
        torch.are_deterministic_algorithms_enabled(), torch.get_float32_matmul_precision(),
        torch.backends.cuda.flash_sdp_enabled(), repr(5e-324 * float(torch.ones(()))),
    ]  # fmt: skip


@pytest.mark.parametrize("fault", faults.FAULTY)
def test_every_fault_is_refuted_and_put_back(fault: Callable[[], Any]) -> None:
    before = settings()
    assert WORDS[fault.__name__] in refuted(LAW, fault(), "quick").message
    assert settings() == before


def test_watching_leaves_the_generators_where_they_were() -> None:
    states = torch.get_rng_state(), random.getstate(), np.random.get_state()
    with seed_generators(3, found := {}):
        pass
    assert torch.equal(torch.get_rng_state(), states[0]) and random.getstate() == states[1]
    assert np.array_equal(np.random.get_state()[1], states[2][1]) and found.keys() == {"torch", "numpy", "random"}


@pytest.mark.parametrize("fault", faults.CORRECT)
def test_what_loads_draws_or_restores_is_right(fault: Callable[[], Any]) -> None:
    held(LAW, fault())


def test_what_torch_writes_down_as_it_compiles_is_not_the_targets_doing(monkeypatch: pytest.MonkeyPatch) -> None:
    """FlexAttention compiles for every new mask_mod, and torch's compiler sets this variable each time."""
    right, name = faults.build(), "TORCHINDUCTOR_CACHE_DIR"
    monkeypatch.delenv(name, raising=False)

    def compiling(query: Any, key: Any, value: Any) -> Any:
        os.environ[name] = "cache"
        return right(query, key, value)

    held(LAW, compiling)
    assert os.environ[name] == "cache"  # torch counts on it


def test_the_law_names_a_fault_that_it_refutes() -> None:
    assert {law.fault for law in LAWS} == {"seeds_the_global_generator"}
    assert {law.contract for law in LAWS} == set(built_in())


def test_a_change_by_a_call_of_another_law_is_seen() -> None:
    """Here: with a mask alone."""
    right = faults.build()

    def masked(query: Any, key: Any, value: Any, attn_mask: Any = None) -> Any:
        if attn_mask is not None:
            torch.set_num_threads(2)
        return right(query, key, value, attn_mask=attn_mask)

    with Session(Implementation(masked, "under test"), effort="quick") as session:
        laws = {law.name: law for law in session.laws}
        for name in ("bool_and_additive_masks_agree", LAW):
            result = run_law(laws[name], session.contract, session.subject, "quick", shrink=0)
    assert result.status == "refuted" and "number of threads" in result.message
    assert torch.get_num_threads() == 1


OTHERS = [
    (position_table.correct, "position-table", {}),
    (mask_builder.mask_of_each_call(), "mask-builder", {"parameters": {"kind": "causal"}}),
    (Cache, "kv-cache", {"accumulate": "float32"}),
    (multi_head.MultiHead, "multi-head", {}),
]


@pytest.mark.parametrize(("target", "contract", "record"), OTHERS, ids=[c for _, c, _ in OTHERS])
def test_other_contracts_are_asked_too(target: Any, contract: str, record: dict[str, Any]) -> None:
    held(LAW, target, contract=contract, **record)

    def seeding(*args: Any) -> Any:
        torch.manual_seed(0)
        return target(*args)

    def setting(*args: Any) -> Any:
        try:
            return target(*args)
        finally:
            torch.set_default_dtype(torch.float16)

    assert "generator of torch" in refuted(LAW, seeding, "quick", contract=contract, **record).message
    assert "got torch.float16" in refuted(LAW, setting, "quick", contract=contract, **record).message
    assert torch.get_default_dtype() == torch.float32


@pytest.mark.parametrize("array", ["numpy", "jax"])
def test_arrays_of_other_libraries(array: str) -> None:
    library = np if array == "numpy" else pytest.importorskip("jax.numpy")

    def attention(query: Any, key: Any, value: Any) -> Any:
        s = library.einsum("...id,...jd->...ij", query, key) / query.shape[-1] ** 0.5
        p = library.exp(s - s.max(-1, keepdims=True))
        return (library.einsum("...ij,...jd->...id", p / p.sum(-1, keepdims=True), value)).astype(query.dtype)

    def seeding(query: Any, key: Any, value: Any) -> Any:
        np.random.seed(3)
        return attention(query, key, value)

    record: dict[str, Any] = {"array": array, "dtypes": ("float32",), "gradients": array == "jax"}
    assert judged(LAW, attention, **record).status == "held"
    refuted(LAW, seeding, "quick", **record)


@pytest.mark.thorough(keep=("goes_to_another_folder",))
@pytest.mark.parametrize("name", ["seeds_numpys_generator", "sets_the_default_dtype", "goes_to_another_folder"])
def test_counterexamples_run_alone(name: str) -> None:
    program = counterexample(LAW, f"attention_core.faults.process_state:{name}", "attention", factory=True)
    right = program.replace(name, "draws_without_seeding")
    found = outcomes({"right": right, "fault": program})
    assert found["right"] == "" and found["fault"].startswith("AssertionError"), program
