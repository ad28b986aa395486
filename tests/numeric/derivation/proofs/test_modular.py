"""Evaluation modulo a prime.

Large sizes modulo a prime: what fails only at large sizes is found there and shown at a point.
The bound on a missed difference is checked against the degrees it comes from.
"""

from __future__ import annotations

import random

import pytest
from flint import fmpq

from attention_core.derivation import check_document
from attention_core.derivation.decision import decide
from attention_core.derivation.graph.nodes import Graph
from attention_core.derivation.proofs.modular import PRIME, SIZE, degrees, residues

HEAD = "Let $n \\in \\mathbb{N}$, $x \\in \\mathbb{R}^{n}$, $t \\in [0, 1]$, $k \\in \\mathbb{R}^{n}$ with $k^\\top k = 1$.\n\n"


@pytest.mark.parametrize("formula", [r"\prod_{i=1}^{n} (1 + x_i)(1 - x_i) = \prod_{i=1}^{n} (1 - x_i^2)",
                                     r"\prod_{i=1}^{n} \frac{1}{1 + t x_i} = \frac{1}{\prod_{i=1}^{n} (1 + t x_i)}"])  # fmt: skip
def test_agreement_at_a_large_size_is_evidence_with_its_probability(formula: str) -> None:
    (step,) = check_document(HEAD + f"$$ {formula} $$\n").steps
    assert step.verdict == "AGREES"  # a product over n entries has no degree in n: nothing is said of all sizes
    assert step.evidence.figures["modular"]["sizes"] == {"n": SIZE}
    assert step.evidence.figures["modular"]["missed"] < 1e-40


def test_what_fails_only_at_large_sizes_is_refuted_at_a_point(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        decide, "search_larger_sizes", lambda decider: None
    )  # which would find it at 7, and so would the others
    monkeypatch.setattr("attention_core.derivation.search.huge_search.huge", lambda decider: None)
    monkeypatch.setattr("attention_core.derivation.search.larger_sizes.large_frames", lambda decider: None)
    formula = r"\prod_{i=1}^{n} (1 + x_i) = \prod_{i=1}^{n} (1 + x_i) + \prod_{i=1}^{6} (n - i)"
    (step,) = check_document(HEAD + f"$$ {formula} $$\n").steps
    assert step.verdict == "REFUTED"
    assert step.counterexample is not None and step.counterexample.values["n"] == SIZE


def test_a_hypothesis_on_the_entries_keeps_the_method_away() -> None:
    (step,) = check_document(HEAD + r"$$ \prod_{i=1}^{n} k_i^2 = \left(\prod_{i=1}^{n} k_i\right)^2 $$" + "\n").steps
    assert step.verdict == "AGREES" and "modular" not in step.evidence.figures


def test_numbers_alone_have_no_probability() -> None:
    head = "Let $m, k \\in \\mathbb{N}$ with $k \\le m$.\n\n"
    (step,) = check_document(head + r"$$ \binom{m + 1}{k} = \binom{m}{k} + \binom{m}{k - 1} $$" + "\n").steps
    assert step.verdict == "AGREES" and "modular" not in step.evidence.figures


def test_residues_are_those_of_the_rationals() -> None:
    graph = Graph()
    x, y = graph.leaf(("x", (1, 1))), graph.leaf(("y", (1, 1)))
    left = graph.div(
        graph.sub(graph.power(x, graph.const(fmpq(2))), graph.power(y, graph.const(fmpq(2)))), graph.add((x, y))
    )
    order = graph.reachable([left, graph.sub(x, y)])
    values = residues(graph, order, random.Random(1))
    assert values is not None
    assert values[left] == values[graph.sub(x, y)] == (values[x] - values[y]) % PRIME
    assert degrees(graph, order)[left] == 3
    zero = graph.inv(graph.sub(x, x)) if graph.sub(x, x) != graph.zero else graph.inv(graph.zero)
    assert residues(graph, graph.reachable([zero]), random.Random(1)) is None


def test_degrees_are_counted_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph()
    x = graph.leaf(("x", (1, 1)))
    node = x
    for k in range(1, 300):
        node = graph.add((graph.mul((node, x)), graph.leaf(("x", (k + 1, 1)))))
    order = graph.reachable([node])
    monkeypatch.setattr(Graph, "reachable", None)  # once it was asked for every node: a determinant took a minute
    assert degrees(graph, order)[node] == 300
