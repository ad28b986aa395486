"""The table of the catalogue: every fault of attention, and every correct target that only looks odd."""

from __future__ import annotations

from attention_core.faults import (
    beside_laws,
    fifth_sight,
    fifth_sight_backward,
    fifth_sight_caches,
    fifth_sight_masks,
    fifth_sight_others,
    fifth_sight_state,
    fifth_sight_tiles,
    first_sight,
    first_sight_others,
    fourth_sight,
    fourth_sight_backward,
    fourth_sight_caches,
    fourth_sight_masks,
    fourth_sight_others,
    hard_backward,
    hard_contracts,
    hard_inputs,
    hard_state,
    hard_tiles,
    known,
    second_sight,
    second_sight_others,
    third_sight,
    third_sight_backward,
    third_sight_others,
)
from attention_core.faults import reduced as reductions
from attention_core.faults.odd import CORRECT
from attention_core.faults.row import Row

__all__ = ["CORRECT", "FAULTS", "named"]
FAULTS: tuple[Row, ...] = (
    *known.ROWS, *reductions.ROWS, *hard_tiles.ROWS, *hard_inputs.ROWS, *hard_backward.ROWS, *hard_state.ROWS,
    *hard_contracts.ROWS, *first_sight.ROWS, *first_sight_others.ROWS, *second_sight.ROWS,
    *second_sight_others.ROWS, *third_sight.ROWS, *third_sight_backward.ROWS, *third_sight_others.ROWS,
    *fourth_sight.ROWS, *fourth_sight_backward.ROWS, *fourth_sight_caches.ROWS,
    *fourth_sight_masks.ROWS, *fourth_sight_others.ROWS, *fifth_sight.ROWS, *fifth_sight_tiles.ROWS,
    *fifth_sight_masks.ROWS, *fifth_sight_backward.ROWS, *fifth_sight_state.ROWS, *fifth_sight_caches.ROWS,
    *fifth_sight_others.ROWS, *beside_laws.ROWS,
)  # fmt: skip


def named(name: str) -> Row:
    """The row of a name.

    Raises: KeyError for an unknown one.
    """
    return {row.name: row for row in FAULTS}[name]
