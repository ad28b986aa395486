"""Laws of parameter-efficient fine-tuning: a class derived from `peft.adapted.Adapted`, a model with a method in it.

What is trained, what is computed, what merging, disabling and saving do, asked of one method in one model.

Laws of adapters on the disk: what was saved comes back, with its head, in another model and another process.
"""

from __future__ import annotations

from typing import Any

from attention_core.conformance.laws.process_state import law_of
from attention_core.conformance.subjects.evidence import NotApplicable
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.parameter_case import ParameterCase, Sizes, after
from finetune.laws.peft.adapting import Adapting, close
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


def a_saved_adapter_comes_back(subject: Adapting, case: ParameterCase) -> None:
    """Loaded into a plain model whose head is another, an adapter gives the outputs that it gave, bit by bit.

    Formula: save(), training, save(): new model, load(): f'(x) as at the last; a checkpoint of a base holds no head
    Source: head not saved with the adapter; PEFT 0.21.2: BERT's pooler is neither trained nor saved
    Fault: head_not_saved
    """
    with subject.places(2) as (earlier, place):
        run = subject.draw_trained_model(case)
        texts = subject.texts(case, run, "right")
        subject.do(run, "save", earlier.path)
        subject.do(run, "draw", case.seed % 1000 + 2)
        first = subject.out(run, texts)
        subject.do(run, "save", place.path)
        other = subject.new(case, place.path)
        with after(run.calls):
            close(subject.out(other, texts), first, "a saved adapter, loaded", bits=True)


def saving_changes_no_number(subject: Adapting, case: ParameterCase) -> None:
    """Saving leaves every parameter as it was, and the outputs.

    Formula: save(): theta' = theta, bit by bit
    Source: a save that merges first, or casts the model in place
    Fault: saving_merges
    """
    with subject.places() as (place,):
        run = subject.draw_trained_model(case)
        texts = subject.texts(case, run, "right")
        first, row = subject.out(run, texts), subject.row(run).values
        subject.do(run, "save", place.path)
        subject.same_row(run, subject.row(run), row, 0.0, "after save()")
        with after(run.calls):
            close(subject.out(run, texts), first, "after save()", bits=True, earlier=True)


def a_merged_adapter_is_saved_as_it_is(subject: Adapting, case: ParameterCase) -> None:
    """An adapter that is saved while it is merged gives the same outputs when it is loaded.

    Formula: merge(), save(), new model, load(): |f'(x) - f'(x) before| <= rounding
    Source: LoRA saved merged: the sum is loaded, and the product added once more
    Fault: saved_merged
    """
    with subject.places() as (place,):
        run = subject.draw_trained_model(case)
        texts = subject.texts(case, run, "right")
        first = subject.out(run, texts)
        subject.do(run, "merge")
        subject.do(run, "save", place.path)
        other = subject.new(case, place.path)
        with after(run.calls):
            close(subject.out(other, texts), first, "saved while merged, loaded", earlier=True)


def another_process_reads_the_adapter(subject: Adapting, case: ParameterCase) -> None:
    """A new process that loads the adapter gives its outputs (asked where the target has a process of its own).

    Formula: as a_saved_adapter_comes_back, in another process
    Source: what lives in the process alone: a head drawn anew, adapters in a registry, files that refer to it
    Fault: kept_beside_the_file
    """
    if not subject.runner.isolated:
        raise NotApplicable("the target runs in this process")
    with subject.places() as (place,):
        run = subject.draw_trained_model(case)
        texts = subject.texts(case, run, "right")
        first = subject.out(run, texts)
        subject.do(run, "save", place.path)
        subject.runner.close()
        other = subject.new(case, place.path)
        with after(run.calls):
            close(subject.out(other, texts), first, "a saved adapter, in a new process", bits=True, earlier=True)


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
