"""Power and false alarms of the laws of key-value caches.

Laws of key-value caches: each refutes the fault it names, every fault is refuted; ours conform with any window.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from judging import judged, refuted
from judging_contracts import conforming, named_faults, refuting
from torch import Tensor

from attention_core.conformance import Implementation, check_implementation
from attention_core.conformance.engine.second_judgement import judge_further
from attention_core.conformance.engine.session import Session, select_laws
from attention_core.conformance.laws import cache_changes, kv_cache
from attention_core.conformance.laws.kv_cache import CONTRACT
from attention_core.conformance.report.results import Report
from attention_core.declaration.implementation import TargetError
from attention_core.declaration.options import check_applies
from attention_core.declaration.sizes import SizeCondition
from attention_core.faults import cache_state
from attention_core.faults import kv_cache as faults
from attention_core.faults.bases.cache import Cache
from attention_core.modules.cache import KeyValueCache
from attention_core.peers.transformers_functions import DynamicCacheStep

WINDOW = {"window": 4}
DECLINED = "a_declined_step_leaves_the_cache_as_it_was"
SEEN_BY = {  # one law that must see it
    "last_1024_tokens_kept": "thousands_of_tokens_are_kept_whole",
    "first_output_is_the_store": "outputs_may_be_written_into",
    "cached_heads_shared_in_turn": "query_heads_share_cached_key_heads_in_order",
    "shared_heads_in_turn_when_decoding": "query_heads_share_cached_key_heads_in_order",
    "later_tokens_lowered_by_ten_thousand": "no_row_sees_a_later_token_of_its_step",
    "new_tokens_partly_detached": "a_step_has_true_gradients",
    "long_texts_not_reset": "a_reset_cache_is_empty",
    "newest_token_overwritten_after_twenty_steps": "many_single_steps_equal_the_full_pass",
    "square_mask_with_cache": "chunks_equal_the_full_pass",
    "no_mask_with_cache": "chunks_equal_the_full_pass",
    "offset_grows_by_the_prompt_twice": "chunks_equal_the_full_pass",
    "offset_from_the_head_axis": "chunks_equal_the_full_pass",
    "position_not_reset": "a_reset_cache_is_empty",
    "tokens_not_reset": "a_reset_cache_is_empty",
    "smaller_batch_after_reset": "a_reset_cache_is_empty",
    "pages_beyond_a_size_skipped": "long_sequences_are_kept_whole",
    "last_256_tokens_kept": "long_sequences_are_kept_whole",
    "last_step_attends_to_itself_alone": "single_steps_equal_the_full_pass",
    "values_one_step_late": "single_steps_equal_the_full_pass",
    "cache_shared_by_instances": "two_caches_do_not_mix",
    "buffers_belong_to_the_class": "two_caches_do_not_mix",
    "newest_cache_takes_the_slot": "two_caches_do_not_mix",
    "callers_arrays_are_kept": "tokens_outlive_the_callers_arrays",
    "decoding_reads_the_first_sequence": "decoding_after_a_long_prompt",
    "batch_of_the_first_sequence": "single_steps_equal_the_full_pass",
    "output_of_the_last_step": "steps_outlive_the_next_step",
    "offset_is_what_is_kept": "single_steps_equal_the_full_pass",
    "mask_not_cropped_to_what_is_kept": "single_steps_equal_the_full_pass",
    "window_one_wider": "single_steps_equal_the_full_pass",
    "window_one_shorter": "single_steps_equal_the_full_pass",
    "window_ignored": "single_steps_equal_the_full_pass",
    "window_evicts_before_the_chunk": "chunks_equal_the_full_pass",
    "single_value_detached": "a_step_has_true_gradients",
    "dtype_of_the_first_text": "a_reset_cache_is_empty",
    "declined_keys_are_kept": DECLINED,
    "declined_keys_stop_the_next_step": DECLINED,
    "first_page_of_a_declined_step": DECLINED,
    "values_beyond_32_heads_by_the_last": "single_steps_equal_the_full_pass",
}


@pytest.mark.parametrize("law", kv_cache.LAWS, ids=lambda law: law.name)
def test_every_law_refutes_the_fault_it_names(law: kv_cache.Law) -> None:
    fault = getattr(faults if hasattr(faults, law.fault) else cache_state, law.fault)
    refuted(law.name, fault, effort="quick", contract=CONTRACT)


def test_a_store_that_belongs_to_the_class_is_refuted_though_it_refuses_every_other_size() -> None:
    class Listed(Cache):
        chunks: list[tuple[Tensor, Tensor]] = []  # noqa: RUF012 (the fault)

        def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
            missing = sum(k.shape[-2] for k, _ in self.chunks) - len(self.places)
            self.places = torch.cat([torch.zeros(missing, dtype=torch.int64), self.places])
            self.chunks.append((key, value))
            k, v = zip(*self.chunks, strict=True)
            return torch.cat(k, -2), torch.cat(v, -2)

    refuted("a_second_cache_of_the_same_size_is_new", Listed, "quick", contract=CONTRACT)


@pytest.mark.thorough(leave_out=named_faults(kv_cache.LAWS, [*faults.FAULTY, *cache_state.FAULTY, *faults.WINDOWED]))
@pytest.mark.parametrize("fault", [*faults.FAULTY, *cache_state.FAULTY, *faults.WINDOWED])
def test_every_fault_is_refuted(fault: Callable[..., Any]) -> None:
    parameters = WINDOW if fault in faults.WINDOWED else {}
    refuted(SEEN_BY[fault.__name__], fault, "quick", contract=CONTRACT, parameters=parameters)


@pytest.mark.thorough(keep=("KeyValueCache-{}", "Cache-{'window': 4}", "Cache-{}"))
@pytest.mark.parametrize("parameters", [{}, {"window": 1}, {"window": 4}, {"window": 40}], ids=str)
@pytest.mark.parametrize("target", [Cache, KeyValueCache])
def test_correct_caches_conform(target: Callable[..., Any], parameters: dict[str, int]) -> None:
    results = conforming(target, CONTRACT, parameters=parameters, accumulate="float32")
    absent = (*CHANGES, SHARE, DECLINED) if target is Cache else CHANGES[2:]
    shared = dict.fromkeys(absent, "not_applicable")
    assert all(r.status == shared.get(name, "held") for name, r in results.items())


class Restarting:
    """Takes a step as long as the first one, some steps later, for the prompt of a new text."""

    def __init__(self) -> None:
        self.keys: list[Tensor] = []
        self.values: list[Tensor] = []

    def __call__(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        if len(self.keys) > 3 and self.keys[0].shape[-2] == key.shape[-2] > 1:
            self.keys, self.values = [], []
        self.keys.append(key.clone())
        self.values.append(value.clone())
        k, v = torch.cat(self.keys, -2), torch.cat(self.values, -2)
        seen = torch.ones(query.shape[-2], k.shape[-2], dtype=torch.bool).tril(k.shape[-2] - query.shape[-2])
        return torch.nn.functional.scaled_dot_product_attention(query, k, v, seen)


@pytest.mark.parametrize("seed", range(3))
def test_a_step_as_long_as_the_first_goes_on_with_the_text(seed: int) -> None:
    assert judged("chunks_equal_the_full_pass", Restarting, seed=seed, contract=CONTRACT).status == "refuted"


class Stepwise:
    """A cache whose objects cannot be called: it has a method."""

    def __init__(self) -> None:
        self.cache = KeyValueCache()

    def step(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return self.cache(query, key, value)

    def reset(self) -> None:
        self.cache.reset()


class Shifted(Stepwise):
    def step(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return super().step(query, key, value.roll(1, -2))


class Store:
    def update(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        return key, value


def test_a_cache_is_judged_by_its_method() -> None:
    results = conforming(Stepwise, CONTRACT, accumulate="float32")
    assert all(r.status == "held" for name, r in results.items() if name not in (*CHANGES, SHARE))
    result = refuted("chunks_equal_the_full_pass", Shifted, "quick", contract=CONTRACT)
    assert result.counterexample is not None and ".step(" in result.counterexample.snippet
    with pytest.raises(
        TargetError, match=r"cannot be called, .* name a class with step\(query, key, value\), which calls update"
    ):
        conforming(Store, CONTRACT)


class HalfReset:
    """Keys are forgotten by reset(), values are not; the next step then cannot be computed."""

    def __init__(self) -> None:
        self.keys: list[Tensor] = []
        self.values: list[Tensor] = []

    def reset(self) -> None:
        self.keys.clear()

    def __call__(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        self.keys.append(key.clone())
        self.values.append(value.clone())
        k, v = torch.cat(self.keys, -2), torch.cat(self.values, -2)
        seen = torch.ones(query.shape[-2], k.shape[-2], dtype=torch.bool).tril(k.shape[-2] - query.shape[-2])
        scores = (query @ k.mT * query.shape[-1] ** -0.5).masked_fill(~seen, -torch.inf)
        return scores.softmax(-1) @ v


def test_a_step_that_only_a_reset_cache_declines_is_refuted() -> None:
    result = judged("a_reset_cache_is_empty", HalfReset, contract=CONTRACT)
    assert result.status == "refuted"
    assert "a step after reset() was declined, which a new cache takes: RuntimeError" in result.message
    assert result.counterexample is not None and "reset()" in result.counterexample.snippet


def test_the_program_of_a_declined_step_goes_on_after_it() -> None:
    result = refuted(DECLINED, cache_state.declined_keys_are_kept, "quick", contract=CONTRACT)
    assert result.counterexample is not None
    *_, declined = result.counterexample.snippet.partition("try:\n    ")
    assert "    print('declined:', error)\n" in declined and "assert abs(got - want)" in declined


def test_a_cache_that_fails_by_accident_is_not_asked_for_declined_steps() -> None:
    assert judged(DECLINED, DynamicCacheStep, contract=CONTRACT).status == "not_applicable"


def test_a_store_of_one_dtype_may_decline_another_after_reset() -> None:
    class Static(KeyValueCache):
        dtype: torch.dtype | None = None

        def __call__(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
            self.dtype = self.dtype or key.dtype
            if key.dtype != self.dtype:
                raise ValueError(f"the store is of {self.dtype}")
            return super().__call__(query, key, value)

    assert judged("a_reset_cache_is_empty", Static, contract=CONTRACT, accumulate="float32").status == "held"


def test_a_cache_without_reset_is_left_in_peace() -> None:
    def factory() -> Callable[..., Tensor]:
        cache = KeyValueCache()
        return lambda query, key, value: cache(query, key, value)

    result = judged("a_reset_cache_is_empty", factory, contract=CONTRACT, accumulate="float32")
    assert (result.status, result.message) == ("not_applicable", "it has no reset()")


def test_a_cache_may_keep_the_callers_arrays_where_that_is_declared() -> None:
    law = "tokens_outlive_the_callers_arrays"
    told = refuted(law, cache_state.callers_arrays_are_kept, "quick", contract=CONTRACT).message
    assert "if nobody may, declare --parameter inputs=kept" in told
    results = conforming(
        cache_state.callers_arrays_are_kept, CONTRACT, parameters={"inputs": "kept"}, accumulate="float32"
    )
    assert results[law].status == "not_applicable"
    for value in ("copied", 3):
        with pytest.raises(TargetError, match=rf"inputs={value}: inputs is kept, or not declared"):
            check_applies(CONTRACT, {"parameters": {"inputs": value}})


class DecodingAlone(Cache):
    """What it gives carries no gradient."""

    def __call__(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        with torch.no_grad():
            return super().__call__(query, key, value)


class StoredDetached(Cache):
    """Keys and values are read from a store that carries no gradient, queries are not."""

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        return super().append(key.detach(), value.detach())


@pytest.mark.usefixtures("fewest_cases")
@pytest.mark.parametrize("gradients", [True, False])
@pytest.mark.parametrize("target", [DecodingAlone, StoredDetached])
def test_a_cache_for_decoding_alone_is_not_refuted_and_its_gradients_are_named(
    target: type[Cache], gradients: bool
) -> None:
    record = Implementation(target, "f", CONTRACT, gradients=gradients, accumulate="float32", untested=("window",))
    report = check_implementation(record, "quick")
    assert report.verdict == "conforms", report.reason()
    told = [note for note in report.notes if note.startswith("gradients are not tested: its steps pass no gradient")]
    assert bool(told) is gradients


@pytest.mark.usefixtures("fewest_cases")
def test_gradients_of_our_cache_are_tested() -> None:
    report = check_implementation(Implementation(KeyValueCache, "f", CONTRACT, untested=("window",)), "quick")
    status = {r.law: r.status for r in report.laws}
    assert report.verdict == "conforms" and status["a_step_has_true_gradients"] == "held"
    assert not any(note.startswith("gradients are not tested") for note in report.notes)


@pytest.mark.thorough(keep=("buffers*",))
@pytest.mark.parametrize("fault", ["buffers_belong_to_the_class", "newest_cache_takes_the_slot"])
def test_both_of_two_live_caches_are_judged(fault: str) -> None:
    """One of the two alone would be right throughout."""
    assert refuting(getattr(cache_state, fault), CONTRACT) == {"two_caches_do_not_mix"}


class Shared:
    """A cache of grouped heads."""

    def __init__(self) -> None:
        self.parts: list[tuple[Tensor, Tensor]] = []

    def __call__(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        self.parts.append((key.clone(), value.clone()))
        keys, values = (torch.cat(x, -2) for x in zip(*self.parts, strict=True))
        keys, values = (x.repeat_interleave(query.shape[1] // x.shape[1], 1) for x in (keys, values))
        lead = keys.shape[-2] - query.shape[-2]
        seen = torch.ones(query.shape[-2], keys.shape[-2], dtype=torch.bool).tril(lead)
        return torch.nn.functional.scaled_dot_product_attention(query, keys, values, attn_mask=seen)


SHARE = "query_heads_share_cached_key_heads_in_order"
CHANGES = [law.name for law in cache_changes.LAWS]


class Unshared(Shared):
    def __call__(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        if query.shape[1] != key.shape[1]:
            raise ValueError("as many key heads as query heads, please")
        return super().__call__(query, key, value)


class InTurnWhenDecoding(Shared):
    """Shares heads in one way in steps of one token, and in another in longer ones."""

    def __call__(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        if query.shape[-2] > 1:
            return super().__call__(query, key, value)
        group = query.shape[1] // key.shape[1]
        turned = query.unflatten(1, (group, -1)).transpose(1, 2).flatten(1, 2)
        return super().__call__(turned, key, value).unflatten(1, (-1, group)).transpose(1, 2).flatten(1, 2)


class InTurn(Shared):
    """h mod H_kv, as a convention."""

    def __call__(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        group = query.shape[1] // key.shape[1]
        turned = query.unflatten(1, (group, -1)).transpose(1, 2).flatten(1, 2)
        return super().__call__(turned, key, value).unflatten(1, (-1, group)).transpose(1, 2).flatten(1, 2)


def judge_shared_heads(target: Callable[..., Any], **record: Any) -> Report:
    implementation = Implementation(target, contract=CONTRACT, name="c", dtypes=("float32",), **record)
    return check_implementation(implementation, "quick", laws=[SHARE, "a_step_has_true_gradients"])


def test_fewer_key_heads_that_a_cache_takes_are_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attention_core.conformance.engine.session.SHRINK_CALLS", 0)

    def statuses(target: Callable[..., Any], **record: Any) -> list[str]:
        return [result.status for result in judge_shared_heads(target, **record).laws]

    assert statuses(Shared) == ["held", "held"] and statuses(InTurn)[0] == "refuted"
    assert statuses(InTurnWhenDecoding)[0] == statuses(InTurnWhenDecoding, grouping="modular")[0] == "refuted"
    assert statuses(InTurn, grouping="modular") == ["held", "held"]
    assert statuses(Shared, grouping="modular")[0] == "refuted"
    assert statuses(Shared, sizes=SizeCondition("H == H_kv")) == ["not_applicable", "held"]
    assert statuses(Unshared) == ["not_applicable", "held"]


def test_heads_shared_in_turn_are_found_in_the_same_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attention_core.conformance.engine.session.SHRINK_CALLS", 0)
    with Session(Implementation(InTurn, "c", CONTRACT, dtypes=("float32",)), effort="quick") as session:
        report = session.report([session.run(law) for law in select_laws(session.laws, [SHARE])])
        judge_further(session, report, [SHARE])
    assert report.under_found is not None and report.under_found.with_status("held")
    assert report.advice[0].endswith("consistent with --grouping modular")
