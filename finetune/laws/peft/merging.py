"""Laws of adapters that are put into the weights and taken out again, or turned off for a while."""

from __future__ import annotations

import numpy as np

from attention_core.conformance.budgets.rounding import UNIT_ROUNDOFF
from attention_core.conformance.subjects.evidence import Evidence, Shown, Violation
from attention_core.conformance.subjects.parameter_case import ParameterCase, after
from finetune.laws.checkpoint.interrupted import as_evidence
from finetune.laws.peft.adapting import Adapting, close


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
    with after(run.calls):
        close(subject.out(run, texts, "off"), subject.out(run, texts, "before"), "disabled", bits=True)


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
