"""The one table of the catalogue: every fault, and every correct target that only looks odd."""

from __future__ import annotations

from attention_core.faults import beside_laws
from finetune.faults import classifier_contracts
from attention_core.faults import fifth_sight
from attention_core.faults import fifth_sight_backward
from attention_core.faults import fifth_sight_caches
from attention_core.faults import fifth_sight_masks
from attention_core.faults import fifth_sight_others
from attention_core.faults import fifth_sight_state
from attention_core.faults import fifth_sight_tiles
from finetune.faults import finetune_contracts
from attention_core.faults import first_sight
from attention_core.faults import first_sight_others
from attention_core.faults import fourth_sight
from attention_core.faults import fourth_sight_backward
from attention_core.faults import fourth_sight_caches
from attention_core.faults import fourth_sight_masks
from attention_core.faults import fourth_sight_others
from attention_core.faults import hard_backward
from attention_core.faults import hard_contracts
from attention_core.faults import hard_inputs
from attention_core.faults import hard_state
from attention_core.faults import hard_tiles
from attention_core.faults import known
from attention_core.faults import second_sight
from attention_core.faults import second_sight_others
from attention_core.faults import third_sight
from attention_core.faults import third_sight_backward
from attention_core.faults import third_sight_others
from finetune.faults import tuning_contracts
from attention_core.faults import reduced as reductions
from attention_core.faults.row import Row

FAULTS: tuple[Row, ...] = (
    *known.ROWS, *reductions.ROWS, *hard_tiles.ROWS, *hard_inputs.ROWS, *hard_backward.ROWS, *hard_state.ROWS,
    *hard_contracts.ROWS, *first_sight.ROWS, *first_sight_others.ROWS, *second_sight.ROWS,
    *second_sight_others.ROWS, *third_sight.ROWS, *third_sight_backward.ROWS, *third_sight_others.ROWS,
    *fourth_sight.ROWS, *fourth_sight_backward.ROWS, *fourth_sight_caches.ROWS,
    *fourth_sight_masks.ROWS, *fourth_sight_others.ROWS, *fifth_sight.ROWS, *fifth_sight_tiles.ROWS,
    *fifth_sight_masks.ROWS, *fifth_sight_backward.ROWS, *fifth_sight_state.ROWS, *fifth_sight_caches.ROWS,
    *fifth_sight_others.ROWS, *beside_laws.ROWS, *finetune_contracts.ROWS,
    *classifier_contracts.ROWS,
    *tuning_contracts.ROWS,
)  # fmt: skip


def named(name: str) -> Row:
    """The row of a name.

    Raises: KeyError for an unknown one.
    """
    return {row.name: row for row in FAULTS}[name]
