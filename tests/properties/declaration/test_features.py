"""How a window is spelled: what a number means as sides, and back."""

from __future__ import annotations

import pytest

from attention_core.declaration.features import PAIRS, WINDOW_KINDS, sides_of, spell_window, window_kind
from attention_core.declaration.implementation import Implementation, TargetError


@pytest.mark.parametrize("kind", [kind for kind in WINDOW_KINDS if kind not in PAIRS])
@pytest.mark.parametrize("width", [1, 2, 7])
def test_a_number_comes_back_from_its_sides(kind: str, width: int) -> None:
    assert spell_window(kind, sides_of(kind, width)) == width


@pytest.mark.parametrize("kind", PAIRS)
def test_a_pair_is_its_sides(kind: str) -> None:
    assert spell_window(kind, (3, 0)) == (3, 0)


def test_a_name_says_what_a_window_is_given_as_unless_it_is_declared() -> None:
    assert [window_kind("", name) for name in ("window_size", "sliding_window", "window_left")] == [
        "sides", "last", "before",
    ]  # fmt: skip
    assert window_kind("within", "window_size") == "within"


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(TargetError, match="window='both' is not one of sides"):
        Implementation(len, window="both")
