"""Laws of what an adapted model computes: at first, after training, by its formula, in every mode, beside padding."""

from __future__ import annotations

import numpy as np

from attention_core.conformance.subjects.evidence import Evidence, NotApplicable, Result, Shown, Violation
from attention_core.conformance.subjects.parameter_case import ParameterCase, after
from attention_core.conformance.worker.exchange import NDArray
from finetune.laws.causal_lm.model import noise
from finetune.laws.checkpoint.interrupted import as_evidence
from finetune.laws.peft.adapting import Adapting, Texts, apart, close


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
