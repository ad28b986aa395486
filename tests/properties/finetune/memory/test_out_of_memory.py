"""Out of memory.

finetune.memory.out_of_memory: running out of memory is told from other errors, and leaves nothing behind.
"""

from __future__ import annotations

import gc
import resource
import sys
import weakref

import pytest
import torch

from finetune.errors import BadInput
from finetune.memory.out_of_memory import attempt, is_out_of_memory, limit_memory


def test_what_says_that_there_is_no_memory() -> None:
    for error in (MemoryError(), torch.OutOfMemoryError("x"), RuntimeError("[enforce fail at alloc_cpu.cpp:1] no")):
        assert is_out_of_memory(error)
    for other in (RuntimeError("shapes differ"), ValueError("out of memory")):
        assert not is_out_of_memory(other)


def test_an_allocation_that_cannot_be_is_survived_and_let_go() -> None:
    kept: list[weakref.ref[torch.Tensor]] = []

    def step() -> None:
        tensor = torch.zeros(10)
        kept.append(weakref.ref(tensor))
        torch.empty(2**58)

    found, told = attempt(step)
    gc.collect()
    assert found is None and told and kept[0]() is None
    assert attempt(lambda: 7) == (7, None)


def test_other_errors_go_their_way() -> None:
    def wrong() -> None:
        raise RuntimeError("shapes differ")

    with pytest.raises(RuntimeError, match="shapes differ"):
        attempt(wrong)


def test_a_limit_is_felt_and_taken_away() -> None:
    """64 MiB more than now: 16 go, 256 do not, and afterwards they do."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    with limit_memory(64 * 2**20):
        assert attempt(lambda: len(torch.zeros(2**22)))[1] is None
        found, told = attempt(lambda: torch.zeros(2**26))
        assert found is None and told is not None
    assert resource.getrlimit(resource.RLIMIT_AS) == before
    assert attempt(lambda: len(torch.zeros(2**26)))[0] == 2**26


def test_without_limits_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resource", None)
    with pytest.raises(BadInput, match="no limits of memory"), limit_memory(1):
        pass
