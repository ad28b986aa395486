"""Laws of adapters on the disk: what was saved comes back, with its head, in another model and another process."""

from __future__ import annotations

from attention_core.conformance.subjects.evidence import NotApplicable
from attention_core.conformance.subjects.parameter_case import ParameterCase, after
from finetune.laws.peft.adapting import Adapting, close


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
