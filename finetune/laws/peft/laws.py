"""Laws of adapters: a class derived from `finetune.laws.peft.adapted.Adapted`, a small model with a method in it.

What is computed (at first, after training, by its formula, in every mode, beside padding), what merging and disabling
do, and what comes back from the disk, in another model and another process. What is trained stands in `trained_parts`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from attention_core.conformance.budgets.rounding import UNIT_ROUNDOFF
from attention_core.conformance.laws.process_state import law_of
from attention_core.conformance.subjects.evidence import Evidence, NotApplicable, Result, Shown, Violation
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.parameter_case import ParameterCase, Sizes, after
from attention_core.conformance.worker.exchange import NDArray
from finetune.laws.causal_lm.model import noise
from finetune.laws.checkpoint.interrupted import as_evidence
from finetune.laws.peft.adapting import Adapting, Texts, apart, close
from finetune.laws.peft.trained_parts import (
    a_step_changes_what_is_trained_and_nothing_else,
    as_many_numbers_are_trained_as_the_formula_says,
    checkpointing_lets_everything_learn,
    every_trained_parameter_has_its_gradient,
    frozen_statistics_stay,
    what_is_trained_stays_trained,
    what_was_frozen_stays_frozen,
)


def a_new_adapter_changes_nothing(subject: Adapting, case: ParameterCase) -> None:
    """A model with a new adapter gives what it gave without it (asked of methods that begin so).

    Formula: B = 0 implies f'(x) = f(x)
    Source: Hu et al. (2022), section 4.1 (zero for B); LoRA B not zero
    Fault: second_matrix_not_zero
    """
    run = subject.new(case)
    if not subject.facts(run).neutral:
        raise NotApplicable("a new prompt or prefix is something new")
    texts = subject.texts(case, run, "right")
    with after(run.calls):
        close(subject.out(run, texts), subject.out(run, texts, "before"), "a new adapter")


def a_drawn_adapter_changes_the_outputs(subject: Adapting, case: ParameterCase) -> None:
    """With drawn numbers in it, as after training, the adapter changes the outputs of all texts, without its head.

    Formula: f'(x) != f(x) by more than rounding, for each row of a batch
    Source: huggingface/trl#386 (what was trained is not used); a check with B = 0 is vacuous
    Fault: product_left_out
    """
    run = subject.new(case)
    drawn = subject.array(run, "draw", case.seed % 1000 + 1, False, mode=None)
    if not drawn.values[0]:
        raise NotApplicable("nothing but the head is trained")
    run.calls.append(drawn)
    texts = subject.texts(case, run)
    got, plain = subject.out(run, texts), subject.out(run, texts, "before")
    if got.values.shape != plain.values.shape:
        return
    for row in range(case["B"]):
        if not (np.abs(got.values[row] - plain.values[row]) > noise(got, plain)).any():
            message = f"a drawn adapter: got the plain outputs in row {row}, but should be others"
            raise Violation(message, Evidence((Shown(got.request),), kind="crash", before=as_evidence(run.calls)))


def the_outputs_are_those_of_the_formula(subject: Adapting, case: ParameterCase) -> None:
    """The adapted outputs are those of the formula, computed from the plain model and the trained numbers.

    Formula: W + s B A in the place of W; [p; E x] in the place of E x; [K_p; K x], [V_p; V x] in those of K x, V x
    Source: Hu et al. (2022), section 4.1; Lester et al. (2021), section 2; Li and Liang (2021), section 4.2
    Fault: scaled_twice
    """
    run = subject.draw_trained_model(case)
    texts = subject.texts(case, run, "right")
    with after(run.calls):
        got, want = subject.out(run, texts), subject.array(run, "by_hand", texts.ids, texts.mask)
        close(at_text(got, texts), at_text(want, texts), "the outputs by the formula")


def at_text(found: Result, texts: Texts) -> Result:
    """Outputs for tokens at the real ones alone (0 elsewhere); those for texts as they are."""
    if found.values.ndim != 3 or found.values.shape[1] != texts.mask.shape[1]:
        return found
    found.values = np.where(texts.mask[..., None] > 0, found.values, 0.0)
    return found


def evaluation_repeats_the_outputs(subject: Adapting, case: ParameterCase) -> None:
    """In evaluation mode the same texts have the same outputs, bit by bit, after a pass in training mode too.

    Formula: f'(x), train(), f'(x), eval(), f'(x): the first and the last are equal
    Source: huggingface/pytorch-image-models PR1978 (dropout active in evaluation), of the adapter's own dropout
    Fault: adapter_drops_in_evaluation
    """
    run = subject.draw_trained_model(case)
    texts = subject.texts(case, run, "right")
    first = subject.out(run, texts)
    between = subject.build_request(run, "forward", texts.ids, texts.mask, mode="train")
    subject.result(between)
    run.calls.append(Result(np.zeros(0), between))
    with after(run.calls):
        close(subject.out(run, texts), first, "the same texts again in evaluation mode", bits=True, earlier=True)


def modes_change_no_output(subject: Adapting, case: ParameterCase) -> None:
    """However often a model goes into training mode and back, its outputs are the same.

    Formula: eval() train() eval() train() eval(): f'(x) as after the first
    Source: microsoft/LoRA#34, #61 (merging in eval()); unslothai/unsloth#219 (each merge adds again)
    Fault: every_evaluation_merges
    """
    run = subject.draw_trained_model(case)
    texts = subject.texts(case, run, "right")
    first = subject.out(run, texts)
    for mode in ("train", "eval", "train"):
        request = subject.build_request(run, "numbers", mode=mode)
        subject.result(request)
        run.calls.append(Result(np.zeros(0), request))
    with after(run.calls):
        close(subject.out(run, texts), first, "after changes of the mode", earlier=True)


def padding_on_the_right_changes_nothing(subject: Adapting, case: ParameterCase) -> None:
    """A text in a batch, padded on its right by any amount, has the outputs that it has alone.

    Formula: f'(x) = f'([x; pad; ...]) at the text, where the plain model has that
    Source: huggingface/transformers PR41696 (mask length taken from the query); a classifier that pools a pad token
    Fault: mask_all_ones
    """
    beside_padding(subject, case, "right")


def padding_on_the_left_changes_nothing(subject: Adapting, case: ParameterCase) -> None:
    """A text in a batch, padded on its left by any amount, has the outputs that it has alone.

    Formula: f'(x) = f'([pad; ...; x]) at the text, where the plain model has that
    Source: huggingface/peft#54 (soft prompt before left padding); unslothai/unsloth#3699 (positions of left padding)
    Fault: prompt_before_the_padding
    """
    beside_padding(subject, case, "left")


def beside_padding(subject: Adapting, case: ParameterCase, side: str) -> None:
    """Each text of a padded batch against itself alone; asked where the plain model does not mind the padding."""
    run = subject.draw_trained_model(case)
    texts = subject.texts(case, run, side, case["extra"])
    together, plain = subject.out(run, texts), subject.out(run, texts, "before")
    judged = False
    for row in range(case["B"]):
        alone = row_alone(texts, row)
        reference = part(plain, texts, row)
        if apart(subject.out(run, alone, "before"), reference):
            continue  # the plain model itself gives other outputs there
        judged = True
        with after(run.calls):
            close(part(together, texts, row), subject.out(run, alone), f"text {row} padded on the {side}")
    if not judged:
        raise NotApplicable(f"the plain model's own outputs change with padding on the {side}")


def row_alone(texts: Texts, row: int) -> Texts:
    """One text without padding."""
    real = texts.mask[row] > 0
    ids = texts.ids[row][real][None]
    return Texts(ids, np.ones_like(ids), texts.lengths[row : row + 1])


def part(found: Result, texts: Texts, row: int) -> Result:
    """Of a batch's outputs those of one text, at its real tokens where there is one for each."""
    real = texts.mask[row] > 0
    if found.values.ndim == 3 and found.values.shape[1] == len(real):
        places = np.flatnonzero(real)
        values = found.values[row][real][None]
        return Result(
            values, found.request, found.quantity, None, found.extra, lambda _, i, e: _at(row, int(places[i]), e)
        )
    values = found.values[row : row + 1]
    return Result(values, found.request, found.quantity, None, found.extra, lambda _, *rest: _at(row, *rest))


def _at(*index: int) -> str:
    return "{out}[" + ", ".join(str(int(i)) for i in index) + "].item()"


def segments_count_as_before(subject: Adapting, case: ParameterCase) -> None:
    """Where the plain model tells first from second segments, the adapted model does.

    Formula: f(x, s) != f(x, s') implies f'(x, s) != f'(x, s')
    Source: PEFT 0.21.2: with a prompt and without a head, token_type_ids are set to None, with a warning
    Fault: segments_dropped
    """
    run = subject.draw_trained_model(case)
    if subject.facts(run).segments < 2:
        raise NotApplicable("the model has no segments")
    texts = subject.texts(case, run)
    first, second = np.zeros_like(texts.ids), np.ones_like(texts.ids)

    def of(method: str, segments: NDArray) -> Result:
        return subject.array(run, method, texts.ids, texts.mask, segments)

    if not apart(of("before", first), of("before", second)):
        raise NotApplicable("the plain model does not tell segments apart")
    got, other = of("forward", first), of("forward", second)
    if not apart(got, other):
        evidence = Evidence((Shown(other.request), Shown(got.request)), kind="crash", before=as_evidence(run.calls))
        raise Violation("two segments: got the outputs of one, but should be others", evidence)


def merging_changes_no_output(subject: Adapting, case: ParameterCase) -> None:
    """A merged model gives what the unmerged one gives, up to rounding.

    Formula: |(W + s B A) x - (W x + s B (A x))| <= rounding
    Source: paiml/aprender PR2189 (scale of rank-stabilised LoRA), microsoft/LoRA#61, #103 (transposed), candle-lora#26
    Fault: merged_with_another_scale
    """
    run = subject.draw_trained_model(case)
    texts = subject.texts(case, run, "right")
    first = subject.out(run, texts)
    subject.do(run, "merge")
    with after(run.calls):
        close(subject.out(run, texts), first, "merged", earlier=True)


def merging_again_holds_what_was_trained_since(subject: Adapting, case: ParameterCase) -> None:
    """Merged, unmerged, trained on and merged again, an adapter gives the outputs of what it has learnt last.

    Formula: merge(), unmerge(), theta := theta', merge(): f'(x) as with theta' before it
    Source: a sum that is kept from the first merge, to save the product
    Fault: first_sum_kept
    """
    run = subject.draw_trained_model(case)
    texts = subject.texts(case, run, "right")
    subject.do(run, "merge")
    subject.do(run, "unmerge")
    subject.do(run, "draw", case.seed % 1000 + 2)
    first = subject.out(run, texts)
    subject.do(run, "merge")
    with after(run.calls):
        close(subject.out(run, texts), first, "merged again", earlier=True)


def merging_changes_the_weights(subject: Adapting, case: ParameterCase) -> None:
    """Merging puts the adapter into weights that are frozen: else a merged model that is exported is the plain one.

    Formula: W' != W for some frozen W
    Source: huggingface/trl#386 (the base alone is saved); EricLBuehler/candle-lora#26 (merged on a clone)
    Fault: merges_a_clone
    """
    run = subject.draw_trained_model(case)
    before, trained = subject.row(run).values, subject.flags(run)
    subject.do(run, "merge")
    merged = subject.row(run)
    if merged.values.shape == before.shape and (merged.values == before)[~trained].all():
        evidence = Evidence((Shown(merged.request),), kind="crash", before=as_evidence(run.calls))
        raise Violation("merged: got the frozen weights as they were, but should hold the adapter", evidence)


def merging_twice_is_once(subject: Adapting, case: ParameterCase) -> None:
    """A second merge changes nothing.

    Formula: merge(), merge(): W'' = W', bit by bit
    Source: unslothai/unsloth#219 (each merge adds again)
    Fault: every_merge_adds
    """
    run = subject.draw_trained_model(case)
    subject.do(run, "merge")
    once = subject.row(run).values
    subject.do(run, "merge")
    subject.same_row(run, subject.row(run), once, 0.0, "merged twice")


def unmerging_restores_the_weights(subject: Adapting, case: ParameterCase) -> None:
    """After merging and unmerging every weight is what it was, up to the dtype's rounding of both sums.

    Formula: |W' - W| <= 2 u (|W + D| + |W|), for W' = fl(fl(W + D) - D); 0 where unmerge=exact is declared
    Source: PEFT 0.21.2: a merge in bfloat16 and back drifts; ours keeps W and gives its bits back
    Fault: unmerged_with_another_scale
    """
    run = subject.draw_trained_model(case)
    texts = subject.texts(case, run, "right")
    before, first = subject.row(run).values, subject.out(run, texts)
    subject.do(run, "merge")
    merged = subject.row(run).values
    subject.do(run, "unmerge")
    found = subject.row(run)
    exact = subject.parameters.get("unmerge") == "exact"
    fits = merged.shape == before.shape and not exact
    bound = 2 * UNIT_ROUNDOFF[case.dtype] * (np.abs(merged) + np.abs(before)) if fits else 0.0
    subject.same_row(run, found, before, bound, "unmerged")
    if exact:
        with after(run.calls):
            close(subject.out(run, texts), first, "outputs after merging and unmerging", bits=True, earlier=True)


def unmerging_twice_is_once(subject: Adapting, case: ParameterCase) -> None:
    """A second unmerge changes nothing, and neither does one without a merge before it.

    Formula: merge(), unmerge(), unmerge(): W'' = W', bit by bit; unmerge(): W' = W
    Source: as merging_twice_is_once
    Fault: every_unmerge_subtracts
    """
    run = subject.draw_trained_model(case)
    before = subject.row(run).values
    subject.do(run, "unmerge")
    subject.same_row(run, subject.row(run), before, 0.0, "unmerged without a merge")
    subject.do(run, "merge")
    subject.do(run, "unmerge")
    once = subject.row(run).values
    subject.do(run, "unmerge")
    subject.same_row(run, subject.row(run), once, 0.0, "unmerged twice")


def disabling_gives_the_plain_outputs(subject: Adapting, case: ParameterCase) -> None:
    """While it is disabled, a trained adapter gives the outputs of the plain model, bit by bit, its head too.

    Formula: disabled: f'(x) = f(x)
    Source: disable does not restore; PEFT 0.21.2: disable_adapter() with a prompt raises UnboundLocalError
    Fault: head_stays_trained
    """
    run = subject.draw_trained_model(case)
    texts = subject.texts(case, run, "right")
    given = [texts.ids, texts.mask]
    if subject.facts(run).segments > 1:
        given.append(case.rng("segments").integers(0, 2, texts.ids.shape))
    with after(run.calls):
        off, before = (subject.array(run, method, *given) for method in ("off", "before"))
        close(off, before, "disabled", bits=True)


def enabling_again_gives_the_adapter_back(subject: Adapting, case: ParameterCase) -> None:
    """After it was disabled for a while, an adapter gives the outputs that it gave, and its numbers are the same.

    Formula: f'(x), disabled: f(x), f'(x): the first and the last are equal, bit by bit
    Source: a flag that is set and not set back; values that were swapped and lost
    Fault: disabled_for_ever
    """
    run = subject.draw_trained_model(case)
    texts = subject.texts(case, run, "right")
    first, row = subject.out(run, texts), subject.row(run).values
    run.calls.append(subject.out(run, texts, "off"))
    with after(run.calls):
        close(subject.out(run, texts), first, "after it was disabled", bits=True, earlier=True)
    subject.same_row(run, subject.row(run), row, 0.0, "after it was disabled")


def disabling_a_merged_adapter_gives_the_plain_outputs(subject: Adapting, case: ParameterCase) -> None:
    """A merged adapter that is disabled gives the plain outputs, and afterwards its own again.

    Formula: merge(), disabled: |f'(x) - f(x)| <= rounding; then f'(x) again
    Source: a merged model whose switch is looked at by the unmerged branch alone
    Fault: merged_ignores_the_switch
    """
    run = subject.draw_trained_model(case)
    texts = subject.texts(case, run, "right")
    first = subject.out(run, texts)
    subject.do(run, "merge")
    with after(run.calls):
        off = subject.out(run, texts, "off")
        close(off, subject.out(run, texts, "before"), "merged, and disabled")
        run.calls.append(off)
        close(subject.out(run, texts), first, "merged, after it was disabled", earlier=True)


def a_saved_adapter_comes_back(subject: Adapting, case: ParameterCase) -> None:
    """Loaded into a plain model whose head is another, an adapter gives the outputs that it gave, bit by bit.

    Formula: save(), training, save(): new model, load(): f'(x) as at the last, frozen for serving or not; a checkpoint
        of a base holds no head
    Source: head not saved with the adapter; PEFT 0.21.2: BERT's pooler is neither trained nor saved
    Fault: head_not_saved
    """
    with subject.places(3) as (earlier, place, frozen):
        run = subject.draw_trained_model(case)
        texts = subject.texts(case, run, "right")
        subject.do(run, "save", earlier.path)
        subject.do(run, "draw", case.seed % 1000 + 2)
        first = subject.out(run, texts)
        for where, what in ((place, "a saved adapter, loaded"), (frozen, "an adapter saved while frozen, loaded")):
            if where is frozen:
                subject.do(run, "freeze")
            subject.do(run, "save", where.path)
            other = subject.new(case, where.path)
            with after(run.calls):
                close(subject.out(other, texts), first, what, bits=True)


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
            merging_again_holds_what_was_trained_since,
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
