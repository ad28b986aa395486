"""Patterns of arrays.

Which plain arrays are tried: one-hot ones, large columns and rows, two-valued and geometric ones, members as rows.
Replacing the pattern of one symbol leaves the others as they are.
"""

from __future__ import annotations

import numpy as np

from attention_core.derivation.cases.problem import Problem, Site
from attention_core.derivation.claims import claim_of
from attention_core.derivation.reading.step import Step
from attention_core.derivation.reading.steps import steps_of
from attention_core.derivation.search.targeted import patterns


def site(declared: str, claim: str, **sizes: int) -> Site:
    (step,) = [s for s in steps_of(f"{declared}\n\n$$ {claim} $$\n")[0] if isinstance(s, Step)]
    found = Problem(*claim_of(step)).site(sizes)
    assert found is not None
    return found


def test_one_array_takes_all_patterns() -> None:
    made = site(r"Let $n \in \mathbb{N}$, $x \in \mathbb{R}^n$.", r"\|x\| \le n", n=4)
    found = {tuple(column) for column in patterns(made, made.plan.order, np.random.default_rng(0), 8).T}
    assert {(1, 0, 0, 0), (0, 0, 0, 10), (1, -1, -1, -1), (1, 0.5, 0.25, 0.125), (10, 1, 1, 1), (0, 0, 0, 0)} <= found


def test_members_are_rows_and_matrices_have_columns() -> None:
    made = site(r"Let $n, d \in \mathbb{N}$, $k_1, \dots, k_n \in \mathbb{R}^d$.", r"\|k_1\| \le \|k_2\|", n=2, d=2)
    found = {tuple(column) for column in patterns(made, made.plan.order, np.random.default_rng(0), 8).T}
    assert {(10, 0, 10, 0), (1, 1, 0, 0), (1, 1, -1, -1)} <= found


def test_one_symbol_is_replaced_at_a_time() -> None:
    made = site(r"Let $x, y \in \mathbb{R}^2$.", r"\|x\| \le \|y\|")
    start = np.array([[5.0], [6.0], [7.0], [8.0]])
    found = patterns(made, made.plan.order, np.random.default_rng(0), 8, start)
    kept = (found[:2] == start[:2]).all(axis=0), (found[2:] == start[2:]).all(axis=0)
    assert np.logical_or(*kept).all() and kept[0].any() and kept[1].any()
