"""Power and false alarms of the laws of caches that take tokens back or go on with other rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from judging import judged, refuted
from torch import Tensor

from attention_core.conformance.laws import cache_changes
from attention_core.conformance.laws.kv_cache import CONTRACT
from attention_core.faults import cache_changes as faults
from attention_core.modules.cache import KeyValueCache

TAKEN, ROWS, COPIES = (law.name for law in cache_changes.LAWS)
OF_ROWS = {fault.__name__: ROWS for fault in faults.CHANGED if "order" in fault.__name__}
FAULTS = [*faults.CHANGED, faults.ring_rolled_back_over_lost_tokens]
DECLARED: dict[str, Any] = {"contract": CONTRACT, "accumulate": "float32"}


@pytest.mark.thorough(
    keep=("crop_leaves_the_position", "ring_rolled_back_over_lost_tokens", "reordered_by_the_inverse")
)
@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_is_refuted(fault: Callable[..., Any]) -> None:
    law = {**OF_ROWS, "rows_repeated_in_turn": COPIES}.get(fault.__name__, TAKEN)
    window = {"parameters": {"window": 4}} if fault.__name__.startswith("ring") else {}
    result = refuted(law, fault, "quick", **DECLARED, **window)
    assert result.counterexample is not None and "after " in result.message


@pytest.mark.parametrize(
    ("target", "window"),
    [(faults.Changing, {}), (faults.Rolling, {"window": 1}), (KeyValueCache, {}), (KeyValueCache, {"window": 4})],
    ids=str,
)
def test_correct_caches_hold(target: Callable[..., Any], window: dict[str, int]) -> None:
    status = {law.name: judged(law.name, target, **DECLARED, parameters=window).status for law in cache_changes.LAWS}
    rows = "not_applicable" if target is faults.Rolling else "held"
    assert status == {TAKEN: "held", ROWS: rows, COPIES: "held" if target is faults.Changing else "not_applicable"}


class Truncating(faults.Changing):
    """Its number is found by a trial: neither the method's name nor the parameter's says what it means."""

    crop = None  # type: ignore[assignment]

    def truncate(self, n: int) -> Truncating:
        faults.Changing.crop(self, self.seen - n)
        return self


class Negative(faults.Changing):
    """As transformers 5: crop(-n) takes n tokens back."""

    def crop(self, n: int) -> None:
        if n > 0:
            raise ValueError("give a negative number")
        super().crop(self.seen + n)


class NegativeWrong(Negative):
    def crop(self, n: int) -> None:
        super().crop(n if n in (0, -1) else n + 1)


def test_what_the_number_means_is_found_or_declared() -> None:
    for target in (Truncating, Negative):
        assert judged(TAKEN, target, **DECLARED).status == "held"
    wrong = judged(TAKEN, Truncating, **DECLARED, parameters={"trim": "keeps"})
    assert wrong.status == "refuted" and "which keeps" in wrong.message
    assert "which takes back" in refuted(TAKEN, NegativeWrong, "quick", **DECLARED).message


class Layered(faults.Changing):
    """A method that wants more than a number is not called."""

    def crop(self, length: int, layer: int) -> None:  # type: ignore[override]
        raise AssertionError("never called")


class Functional(faults.Changing):
    """A method gives a new cache, and leaves the old one as it is."""

    def crop(self, length: int) -> Functional:  # type: ignore[override]
        other = Functional()
        other.kept, other.places = [x[..., :length, :] for x in self.kept], self.places[:length]
        other.seen = length
        return other


class Evicting(faults.Changing):
    """A window cut by hand: the newest tokens stay."""

    crop = None  # type: ignore[assignment]

    def trim(self, n: int) -> None:
        start = max(len(self.places) - n, 0)
        self.kept, self.places = [x[..., start:, :] for x in self.kept], self.places[start:]


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (Layered, "crop(length, layer) (it is called with one argument)"),
        (Functional, "crop, which gives an object of type Functional (changes in place are)"),
        (Evicting, "trim(n), which keeps the newest n tokens"),
    ],
)
def test_what_is_not_judged_is_said(target: Callable[..., Any], said: str) -> None:
    result = judged(TAKEN, target, **DECLARED)
    assert (result.status, result.unjudged) == ("not_applicable", said)


class HalfCropped(faults.Changing):
    """Values are not cut: the next step cannot be computed."""

    def crop(self, length: int) -> None:
        values = self.kept[1]
        super().crop(length)
        self.kept[1] = values

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        key, value = super().append(key, value)
        if key.shape[2] != value.shape[2]:
            raise RuntimeError("shapes differ")
        return key, value


def test_a_step_that_only_a_changed_cache_declines_is_refuted() -> None:
    result = judged(TAKEN, HalfCropped, **DECLARED)
    assert result.status == "refuted" and "which a new cache of these tokens takes: RuntimeError" in result.message
