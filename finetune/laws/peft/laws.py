"""Laws of parameter-efficient fine-tuning: a class derived from `peft.adapted.Adapted`, a model with a method in it.

What is trained, what is computed, what merging, disabling and saving do, asked of one method in one model.
"""

from __future__ import annotations

from typing import Any

from attention_core.conformance.laws.process_state import law_of
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.parameter_case import Sizes
from finetune.laws.peft.files import (
    a_merged_adapter_is_saved_as_it_is,
    a_saved_adapter_comes_back,
    another_process_reads_the_adapter,
    saving_changes_no_number,
)
from finetune.laws.peft.merging import (
    disabling_a_merged_adapter_gives_the_plain_outputs,
    disabling_gives_the_plain_outputs,
    enabling_again_gives_the_adapter_back,
    merging_changes_no_output,
    merging_changes_the_weights,
    merging_twice_is_once,
    unmerging_restores_the_weights,
    unmerging_twice_is_once,
)
from finetune.laws.peft.outputs import (
    a_drawn_adapter_changes_the_outputs,
    a_new_adapter_changes_nothing,
    evaluation_repeats_the_outputs,
    modes_change_no_output,
    padding_on_the_left_changes_nothing,
    padding_on_the_right_changes_nothing,
    segments_count_as_before,
    the_outputs_are_those_of_the_formula,
)
from finetune.laws.peft.trained_parts import (
    a_step_changes_what_is_trained_and_nothing_else,
    as_many_numbers_are_trained_as_the_formula_says,
    checkpointing_lets_everything_learn,
    every_trained_parameter_has_its_gradient,
    frozen_statistics_stay,
    what_is_trained_stays_trained,
    what_was_frozen_stays_frozen,
)

CONTRACT = "peft"
SIZES = {"B": (1, 3), "n": (1, 6), "extra": (1, 3)}
SPACE = Sizes(SIZES, dtypes=("float64", "float32"))
PRECISE = Sizes(SIZES, dtypes=("float64",))
"""A small difference of outputs is one in many digits: in float32 a weak adapter may hide in rounding."""
COARSE = Sizes(SIZES, dtypes=("bfloat16", "float32", "float64"))
OTHER = Sizes(SIZES, dtypes=("float64", "float32"), related=lambda sizes: False)
"""A smaller case would cost another process each, so nothing is made smaller."""
ROW: dict[str, Any] = {"contract": CONTRACT, "family": "peft", "large": 2, "small": 0, "space": SPACE}
LAWS = (
    Law(as_many_numbers_are_trained_as_the_formula_says, **ROW),
    *(
        Law(check, **{**ROW, "space": PRECISE})
        for check in (
            a_step_changes_what_is_trained_and_nothing_else, every_trained_parameter_has_its_gradient,
            checkpointing_lets_everything_learn, a_drawn_adapter_changes_the_outputs, segments_count_as_before,
        )
    ),
    *(
        Law(check, **ROW)
        for check in (
            what_is_trained_stays_trained, what_was_frozen_stays_frozen,
            frozen_statistics_stay, a_new_adapter_changes_nothing,
            the_outputs_are_those_of_the_formula, evaluation_repeats_the_outputs, modes_change_no_output,
            padding_on_the_right_changes_nothing, padding_on_the_left_changes_nothing,
            merging_changes_no_output, merging_changes_the_weights, merging_twice_is_once,
        )
    ),
    *(Law(check, **{**ROW, "space": COARSE}) for check in (unmerging_restores_the_weights, unmerging_twice_is_once)),
    *(
        Law(check, **ROW)
        for check in (
            disabling_gives_the_plain_outputs, enabling_again_gives_the_adapter_back,
            disabling_a_merged_adapter_gives_the_plain_outputs, a_saved_adapter_comes_back, saving_changes_no_number,
            a_merged_adapter_is_saved_as_it_is,
        )
    ),
    Law(another_process_reads_the_adapter, **{**ROW, "space": OTHER, "large": 1}),
    law_of(CONTRACT, OTHER),
)  # fmt: skip
COMPARISONS = ("the_outputs_are_those_of_the_formula",)
