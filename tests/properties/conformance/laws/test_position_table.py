"""Power and false alarms of the laws of position tables.

Laws of position tables: each refutes the fault it names, every fault is refuted; the columns' order is free.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from judging import held, judged, refuted
from judging_contracts import conforming
from torch import Tensor

from attention_core.conformance.laws import position_table
from attention_core.conformance.laws.position_table import CONTRACT
from attention_core.faults import position_table as faults
from attention_core.modules import positions

SEEN_BY = {  # one law that must see it
    "exponent_by_column": "inner_products_depend_on_the_distance",
    "exponent_by_half_column": "inner_products_depend_on_the_distance",
    "even_sizes_only": "every_size_is_served",
    "odd_sizes_one_wider": "every_size_is_served",
    "odd_sizes_by_the_even_ones_frequencies": "inner_products_are_sums_of_cosines",
    "table_repeats_after_256": "long_tables_go_on",
    "table_repeats_after_512": "long_tables_go_on",
    "table_repeats_after_4096": "long_tables_go_on",
    "scaled_by_length": "a_table_is_a_prefix_of_a_longer_one",
    "positions_in_half_precision": "inner_products_are_sums_of_cosines",
    "constant_table": "positions_are_told_apart",
    "sines_alone": "inner_products_depend_on_the_distance",
    "grows_with_the_size": "every_size_is_served",
    "in_degrees": "inner_products_are_sums_of_cosines",
    "wide_long_positions_in_bfloat16": "long_tables_go_on",
}


@pytest.mark.parametrize("law", position_table.LAWS, ids=lambda law: law.name)
def test_every_law_refutes_the_fault_it_names(law: position_table.Law) -> None:
    refuted(law.name, getattr(faults, law.fault), effort="quick", contract=CONTRACT)


@pytest.mark.parametrize("fault", faults.FAULTY)
def test_every_fault_is_refuted(fault: Callable[..., Any]) -> None:
    refuted(SEEN_BY[fault.__name__], fault, "quick", contract=CONTRACT)


def test_rows_up_to_8192_are_looked_at() -> None:
    def ends_at_8000(n: int, d: int) -> Tensor:
        return faults.correct(n, d)[torch.arange(n).clamp(max=8000)]

    refuted("long_tables_go_on", ends_at_8000, "quick", contract=CONTRACT)


@pytest.mark.parametrize("target", [faults.correct, faults.sines_then_cosines, positions.sinusoidal])
def test_correct_tables_conform(target: Callable[..., Any]) -> None:
    results = conforming(target, CONTRACT)
    assert {r.status for r in results.values()} == {"held"}


def test_odd_sizes_may_be_refused_in_so_many_words() -> None:
    result = judged("every_size_is_served", faults.even_only_and_says_so, contract=CONTRACT)
    assert result.status == "refused" and "d must be even" in result.message
    broken = refuted("every_size_is_served", faults.even_sizes_only, contract=CONTRACT)
    assert "raised RuntimeError" in broken.message


@pytest.mark.parametrize("last", [torch.sin, torch.cos, torch.zeros_like])
def test_the_last_column_of_an_odd_size_is_a_sine_a_cosine_or_zero(last: Callable[[Tensor], Tensor]) -> None:
    def table(n: int, d: int) -> Tensor:
        return torch.cat([faults.correct(n, d)[:, : d - d % 2], last(faults.angles(n, d)[:, d // 2 :])], 1)

    held("inner_products_are_sums_of_cosines", table, contract=CONTRACT)


def test_frequencies_are_a_convention() -> None:
    conforming(faults.in_degrees, CONTRACT, compared=False, parameters={"frequencies": "other"})
