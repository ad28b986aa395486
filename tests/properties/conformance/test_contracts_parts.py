"""The parts of the built-in contracts.

What a contract hands to the search: cases within what is declared, plain ones for its core, and its own laws.
No target runs here: a subject is a binding alone, and contracts of sizes get a stand-in for theirs.
"""

from __future__ import annotations

import importlib
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis.strategies import SearchStrategy

from attention_core.conformance import contracts as module
from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.draw import draw
from attention_core.conformance.cases.space import Space
from attention_core.conformance.contracts import (
    attention_contract,
    built_in,
    contracts,
    lse_contract,
    parameter_contract,
)
from attention_core.conformance.laws import laws_of, position_table
from attention_core.conformance.subjects import core
from attention_core.conformance.subjects.binding import bind
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.conformance.worker.executor import Executor
from attention_core.conformance.worker.runner import LocalRunner
from attention_core.declaration.implementation import Implementation

ATTENTION = attention_contract()


def kernel(query: Any, key: Any, value: Any, attn_mask: Any = None, is_causal: bool = False) -> Any:
    """Never called."""


def subject(**record: Any) -> Any:
    """What a contract asks of a subject before anything is called."""
    return SimpleNamespace(binding=bind(Implementation(kernel, name="f", **record), Executor(kernel).describe()))


def test_the_core_of_attention_is_plain_calls_at_aligned_and_other_sizes_of_every_dtype() -> None:
    cases = dict(ATTENTION.core(subject(dtypes=("float32", "bfloat16"))))
    assert set(cases) == {f"{d}/{kind}" for d in ("float32", "bfloat16") for kind in ("aligned", "unaligned")}
    for label, case in cases.items():
        dtype, kind = label.split("/")
        assert case.dtype == dtype and (case.mask, case.is_causal, case.scale, case.group) == (None, False, None, 1)
        n_q, n_kv = case.sizes[:2]
        assert (n_q % 8 == 0 and n_kv % 8 == 0) is (kind == "aligned") and max(n_q, n_kv) <= 65
        assert 0.1 < np.abs(case.query).mean() < 3  # normal numbers
    again = dict(ATTENTION.core(subject(dtypes=("float32", "bfloat16"))))
    assert [case.to_json() for case in again.values()] == [case.to_json() for case in cases.values()]


def test_the_core_is_found_where_few_sizes_are_declared() -> None:
    # One length in eight and one head size: many draws are in vain before both kinds have come.
    cases = dict(ATTENTION.core(subject(dtypes=("float32",), sizes=lambda n_q, n_kv, d, d_v, H, H_kv: n_q == n_kv)))
    assert set(cases) == {"float32/aligned", "float32/unaligned"}
    assert all(case.sizes[0] == case.sizes[1] for case in cases.values())


def test_the_core_gives_up_where_no_size_is_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Space] = []
    monkeypatch.setattr(module, "draw", lambda space, profile, rng: asked.append(space))
    assert ATTENTION.core(subject(dtypes=("float32", "float64"))) == []
    assert len(asked) == module.CORE_MISSES + 1


def test_two_kinds_are_asked_four_hundred_times_each_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.zeros((1, 1, 8, 8))
    asked: list[Space] = []

    def aligned_alone(space: Space, profile: Any, rng: Any) -> Case:
        asked.append(space)
        return Case(str((space.dtypes or ("none",))[0]), x, x, x)

    monkeypatch.setattr(module, "draw", aligned_alone)
    assert [label for label, _ in ATTENTION.core(subject(dtypes=("float32", "float64")))] == [
        "float32/aligned", "float64/aligned",
    ]  # fmt: skip
    assert len(asked) == 2 * (1 + 400)


def test_cases_are_drawn_within_what_is_declared() -> None:
    one = subject(dtypes=("float32",), sizes=lambda n_q, n_kv, d, d_v, H, H_kv: n_q <= 9)
    space = one.binding.profile().restrict(Space())
    case = ATTENTION.draw(one, space, np.random.default_rng(3))
    same = draw(space, one.binding.profile(), np.random.default_rng(3))
    assert case.to_json() == same.to_json() and case.sizes[0] <= 9 and case.group == 1
    assert ATTENTION.from_json(case.to_json()).to_json() == case.to_json()


def test_a_law_is_restricted_to_what_is_claimed() -> None:
    law = next(law for law in ATTENTION.laws if law.name == "agrees_with_truth")
    space = ATTENTION.restrict(subject(dtypes=("float64",)), law)
    assert space.dtypes == ("float64",) and not space.grouped and not space.scales
    half = replace(law, space=Space(dtypes=("float16",)))
    assert ATTENTION.restrict(subject(dtypes=("float64",)), half) is None


def test_a_smaller_case_is_allowed_where_it_is_declared_and_wished() -> None:
    one = subject(dtypes=("float32",), sizes=lambda n_q, n_kv, d, d_v, H, H_kv: n_q > 2)
    few, some = (Case("float32", np.ones((1, 1, n, 4)), np.ones((1, 1, 5, 4)), np.ones((1, 1, 5, 4))) for n in (2, 3))
    assert ATTENTION.allows(one, Space(), some) and not ATTENTION.allows(one, Space(), few)
    assert not ATTENTION.allows(one, Space(min_kv=6), some)


def test_small_cases_are_shared_through_the_widest_space() -> None:
    one = subject(dtypes=("float32",))
    widest = ATTENTION.widest(one, Space(masks=("none",)))
    assert widest == one.binding.profile().restrict(Space()) and widest.masks == Space().masks
    assert ATTENTION.widest(one, Space(dead=0.5)) is None


def test_small_cases_come_where_they_are_wished_and_declared() -> None:
    one = subject(dtypes=("float32",))
    space = one.binding.profile().restrict(Space())
    assert isinstance(ATTENTION.small(one, space), SearchStrategy)
    assert ATTENTION.small(one, space.with_(small=False)) is None
    large = subject(dtypes=("float32",), sizes=lambda n_q, n_kv, d, d_v, H, H_kv: n_q > 1000)
    assert ATTENTION.small(large, space) is None


def test_the_seed_and_the_runner_reach_the_subject() -> None:
    implementation = Implementation(kernel, name="f", dtypes=("float32",))
    runner = LocalRunner(kernel, factory=False, array="torch", device="cpu")
    plain = ATTENTION.subject(runner, implementation, runner.describe(), 7)
    both = lse_contract().subject(runner, implementation, runner.describe(), 8)
    assert plain.runner is runner and both.runner is runner and (plain.seed, both.seed) == (7, 8)
    assert plain.binding.implementation.returns == "out" and both.binding.implementation.returns == "out,lse"


def test_every_contract_has_its_name_and_the_laws_of_its_name() -> None:
    assert set(built_in()) <= set(contracts())
    for name, contract in built_in().items():
        assert (
            contract.name == name and contract.laws and len({law.name for law in contract.laws}) == len(contract.laws)
        )
        assert {law.contract for law in contract.laws} == {name}
    for contract in (lse_contract(), ATTENTION):
        own = laws_of(contract.name)
        both = list(zip(own, contract.laws, strict=True))
        assert [replace(law, compares=mine.compares, role=mine.role) for law, mine in both] == list(contract.laws)
        assert all(mine.compares for law, mine in both if law.central or law.compares)


@pytest.mark.parametrize(
    "name",
    [
        "mask-builder",
        "heads",
        "multi-head",
        "rotary",
        "bias",
        "position-table",
        "kv-cache",
        "merge",
        "linear-attention",
        "quantised",
        "block-mask",
        "mla",
        "tree-mask",
        "topk-index",
        "indexer",
        "variant-attention",
        "cross-cache",
    ],
)
def test_a_contract_of_sizes_has_its_own_parts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    contract = built_in()[name]
    stand_in: Any = SimpleNamespace(
        implementation=SimpleNamespace(dtypes=("float32", "float64"), sizes=None, contract=name), form=SimpleNamespace(grouped=False),
        adapt_case=lambda case: case, allows=lambda case: True,
    )  # fmt: skip
    cases = [(label, case.to_json()) for label, case in contract.core(stand_in)]
    assert cases == [(label, case.to_json()) for label, case in core.plain_cases(name, stand_in)] != []
    asked: list[Any] = []
    monkeypatch.setitem(core.PLAIN, name, lambda *call: asked.append(call))  # type: ignore[misc]
    case = ParameterCase({"n": 3}, {"n": 1})
    contract.ask(stand_in, case)
    assert asked == [(stand_in, case)]
    assert contract.from_json(case.to_json()).to_json() == case.to_json()
    assert contract.small(stand_in, None) is None and contract.widest(stand_in, None) is None
    for law in contract.laws:
        space = contract.restrict(stand_in, law)
        if space is not None:
            drawn = contract.draw(stand_in, space, np.random.default_rng(0))
            assert drawn is not None and contract.allows(stand_in, space, drawn) is bool(space.related(drawn.sizes))


def test_a_contract_of_sizes_takes_its_subject() -> None:
    assert (
        parameter_contract(position_table).subject
        is importlib.import_module("attention_core.conformance.subjects.parameter_case").ParameterSubject
    )
    mine = object()
    assert parameter_contract(position_table, mine).subject is mine  # type: ignore[arg-type]
