"""Nodes as sums of pieces of one variable: what they are for both kinds, and what they refuse."""

from __future__ import annotations

import pytest

from attention_core.derivation.graph.nodes import Graph, TooLarge, Unsettled
from attention_core.derivation.lowering.expansions import Expansion
from attention_core.derivation.lowering.integral_forms import Integrand
from attention_core.derivation.lowering.series_forms import Summand


@pytest.mark.parametrize("kind", [Integrand, Summand])
def test_a_square_has_its_pieces(kind: type[Expansion]) -> None:
    graph = Graph()
    x, a = graph.leaf(("x", (1, 1))), graph.leaf(("a", (1, 1)))
    made = kind(graph, x)
    pieces = made.expand(graph.power(graph.add((x, a)), graph.const(2)))
    rest = made.plain[1:]
    assert pieces == {
        (2, *rest): graph.one,
        (1, *rest): graph.add((a, a)),
        made.plain: graph.mul((a, a)),
    }


@pytest.mark.parametrize("kind", [Integrand, Summand])
def test_what_does_not_depend_on_the_variable_is_one_factor(kind: type[Expansion]) -> None:
    graph = Graph()
    x, a = graph.leaf(("x", (1, 1))), graph.leaf(("a", (1, 1)))
    node = graph.call("log", a)
    made = kind(graph, x)
    assert made.expand(node) == {made.plain: node}


@pytest.mark.parametrize("kind", [Integrand, Summand])
def test_a_logarithm_of_the_variable_has_no_pieces(kind: type[Expansion]) -> None:
    graph = Graph()
    x = graph.leaf(("x", (1, 1)))
    with pytest.raises(Unsettled, match="log has no closed form here"):
        kind(graph, x).expand(graph.call("log", x))


@pytest.mark.parametrize(("kind", "words"), [(Integrand, "an integral"), (Summand, "a sum without end")])
def test_too_many_pieces_are_refused(kind: type[Expansion], words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kind, "max_terms", 2)
    graph = Graph()
    x, a = graph.leaf(("x", (1, 1))), graph.leaf(("a", (1, 1)))
    with pytest.raises(TooLarge, match=f"{words} of more than 2 terms"):
        kind(graph, x).expand(graph.power(graph.add((x, a)), graph.const(2)))
