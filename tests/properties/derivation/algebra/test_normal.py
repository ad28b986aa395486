"""Normal forms: how many variables a ring has to spare changes its cost, and nothing that is concluded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from attention_core.derivation.algebra import normal
from attention_core.derivation.algebra.normal import ROOM, Facts, Normal, is_nonnegative, is_zero
from attention_core.derivation.graph.nodes import Graph


def exponentials(count: int) -> tuple[Graph, int]:
    """exp(2 s) - exp(s)^2 for a sum s of so many leaves: two functions, an atom for each leaf."""
    graph = Graph()
    total = graph.add([graph.leaf(("x", (1, k))) for k in range(count)])
    twice = graph.call("exp", graph.add([total, total]))
    once = graph.call("exp", total)
    return graph, graph.add([twice, graph.neg(graph.mul([once, once]))])


@pytest.fixture
def rooms(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How much room each normal form was given."""
    given: list[int] = []

    class Noted(Normal):
        def __init__(self, *args: Any) -> None:
            given.append(args[-1])
            super().__init__(*args)

    monkeypatch.setattr(normal, "Normal", Noted)
    yield given


@pytest.mark.parametrize(("leaves", "expected"), [(3, [1]), (12, [1, ROOM])])
def test_a_ring_has_more_variables_where_its_atoms_need_them(
    leaves: int, expected: list[int], rooms: list[int]
) -> None:
    graph, root = exponentials(leaves)
    assert is_zero(graph, [root], Facts())
    assert rooms == expected


def test_more_atoms_than_a_ring_may_have_prove_nothing(rooms: list[int]) -> None:
    graph, root = exponentials(40)
    assert not is_zero(graph, [root], Facts())
    assert rooms == [1, ROOM]


def test_what_is_not_zero_is_not_in_any_ring() -> None:
    graph, root = exponentials(12)
    other = graph.add([root, graph.one])
    assert not is_zero(graph, [other], Facts())
    assert is_nonnegative(graph, graph.add([other, graph.one]), Facts())
    assert not is_nonnegative(graph, graph.add([root, graph.minus]), Facts())
