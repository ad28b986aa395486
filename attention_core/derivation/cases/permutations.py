r"""Square matrices whose rows and columns have given sums, as mixtures of permutations.

Entries that are drawn one by one seldom leave room for the last row and the last column, and those that do are mostly
symmetric. Every doubly stochastic matrix is a mixture of permutations (Birkhoff), so that is how it is drawn.
"""

from __future__ import annotations

from flint import fmpq

from attention_core.derivation.graph.choices import Choices
from attention_core.derivation.graph.numbers import Case
from attention_core.derivation.lowering.plans import CasePlan

Square = list[list[int]]  # the nodes of its entries, row by row
MOST_MIXED = 3
HEAVIEST = 4


def find_squares(made: CasePlan) -> list[Square]:
    """The square matrices of three rows or more of which an equation holds each row alone, and each column alone."""
    places: dict[str, dict[tuple[int, ...], int]] = {}
    for node, (_, (name, place)) in made.entries.items():
        places.setdefault(name, {})[place] = node
    held = {frozenset(c.leaves) for c in made.constraints if c.op == "="}
    fixed = set(made.assigned) | made.gram.leaves()
    out = []
    for cells in places.values():
        count = round(len(cells) ** 0.5)
        grid = [(i, j) for i in range(1, count + 1) for j in range(1, count + 1)]
        if count < 3 or set(cells) != set(grid) or fixed & set(cells.values()):
            continue
        rows = [[cells[i, j] for j in range(1, count + 1)] for i in range(1, count + 1)]
        if all(frozenset(line) in held for line in (*rows, *zip(*rows, strict=True))):
            out.append(rows)
    return out


def mix_permutations(square: Square, choices: Choices) -> Case:
    """The entries of one mixture; the identity is the simplest."""
    count, mixed = len(square), 1 + choices.draw(MOST_MIXED)
    weights = [1 + choices.draw(HEAVIEST) for _ in range(mixed)]
    values: Case = {node: fmpq(0) for row in square for node in row}
    for weight in weights:
        left = list(range(count))
        for row in square:
            values[row[left.pop(choices.draw(len(left)))]] += fmpq(weight, sum(weights))
    return values
