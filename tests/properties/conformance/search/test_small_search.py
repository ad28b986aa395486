"""The small source: what is drawn once is asked of every target that declares and claims the same."""

from __future__ import annotations

import importlib
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import Phase
from hypothesis import strategies as st
from hypothesis.configuration import storage_directory
from hypothesis.internal.conjecture import providers

from attention_core.conformance import Implementation
from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.small import small_cases
from attention_core.conformance.cases.space import Profile, Space
from attention_core.conformance.contracts import find_contract
from attention_core.conformance.engine.session import Session
from attention_core.conformance.search import small_search
from attention_core.conformance.search.small_search import draw_pool, pool, run_hypothesis, without_local_constants

PROFILE = Profile(("float32",), frozenset(), "top_left", "zeros")
CONTRACT = find_contract("attention")


def attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    return (query @ key.mT / query.shape[-1] ** 0.5).softmax(-1) @ value


def test_targets_that_declare_and_claim_the_same_get_the_same_cases() -> None:
    pools = []
    for dtypes in (("float32",), ("float32",), ("float64",)):
        with Session(Implementation(attention, name="mine", dtypes=dtypes), effort="quick") as session:
            space = CONTRACT.widest(session.subject, Space())
            pools.append(pool(session.contract, session.subject, space, 16, 0))
    first, same, other = pools
    assert [id(case) for case in first] == [id(case) for case in same]
    assert {case.dtype for case in first} == {"float32"} and {case.dtype for case in other} == {"float64"}


def test_what_is_remembered_is_what_would_be_drawn() -> None:
    space, drawn = Space(masks=("none",), causal=(False,), grouped=False), list[Case]()
    remembered = draw_pool(small_cases(space, PROFILE), 16, 5)
    run_hypothesis(drawn.append, small_cases(space, PROFILE), 16, 5, (Phase.generate,))
    assert [case.to_json() for case in remembered] == [case.to_json() for case in drawn]


def test_another_wish_profile_count_or_seed_is_drawn_anew() -> None:
    strategy = small_cases(Space(masks=("none",)), PROFILE)
    first = draw_pool(strategy, 16, 0)
    assert draw_pool(strategy, 16, 0) is first
    others = (
        draw_pool(strategy, 16, 1), draw_pool(strategy, 32, 0), draw_pool(small_cases(Space(), PROFILE), 16, 0),
        draw_pool(small_cases(Space(masks=("none",)), replace(PROFILE, always_causal=True)), 16, 0),
    )  # fmt: skip
    assert all(other is not first for other in others)


def test_hypothesis_writes_into_the_cache_and_nowhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("HYPOTHESIS_STORAGE_DIRECTORY", raising=False)
    before, seen = storage_directory("x").path, set[Path]()
    run_hypothesis(lambda case: seen.add(storage_directory("x").path), st.none(), 1, 0, (Phase.generate,))
    assert seen == {tmp_path / "attention-core" / "hypothesis" / "x"}
    assert storage_directory("x").path == before
    monkeypatch.setenv("HYPOTHESIS_STORAGE_DIRECTORY", str(tmp_path / "own"))
    run_hypothesis(lambda case: seen.add(storage_directory("x").path), st.none(), 1, 0, (Phase.generate,))
    assert before in seen  # what is set stays as it is


def test_hypothesis_of_the_lowest_version_gives_its_folder_as_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HYPOTHESIS_STORAGE_DIRECTORY", raising=False)
    monkeypatch.setattr(small_search, "storage_directory", lambda intent_to_write: tmp_path)
    restored: list[Any] = []
    monkeypatch.setattr(small_search, "set_hypothesis_home_dir", restored.append)
    with small_search.storage_in_cache():
        pass
    assert restored[-1] == tmp_path


def test_what_else_is_imported_changes_no_draw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hypothesis draws one number in twenty from the constants of loaded modules that are not installed."""
    drawn: list[list[bytes]] = []
    for name in ("", "many_constants"):
        if name:
            texts = [repr(bytes([7] * length)) for length in range(1, 9)]
            (tmp_path / f"{name}.py").write_text(f"constants = [{', '.join(texts)}]\n", encoding="utf-8")
            monkeypatch.syspath_prepend(tmp_path)
            importlib.import_module(name)
        strategy = st.integers(1, 8).flatmap(lambda n: st.binary(min_size=n, max_size=n))
        drawn.append(draw_pool(strategy, 256, 0))
    assert drawn[0] == drawn[1]


def test_threads_that_overlap_leave_hypothesis_as_it_was() -> None:
    """Without a lock the later thread found our constants, and gave them back for good."""
    before = providers._get_local_constants
    began, inside, left = threading.Event(), threading.Event(), threading.Event()

    def first() -> None:
        with without_local_constants():
            began.set()
            inside.wait(0.2)  # with the lock it waits in vain
        left.set()

    def second() -> None:
        began.wait()
        with without_local_constants():
            inside.set()
            left.wait()

    threads = [threading.Thread(target=run) for run in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert providers._get_local_constants is before
