"""Laws of masking for masked language modelling: a function of a batch, see `masked_lm.masking.Masking`.

What is drawn stands in `masking`; the laws about chance stand in `masked_lm_chance` (rates)
and `masked_lm_independence`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from attention_core.conformance.laws.process_state import law_of
from attention_core.conformance.subjects.evidence import Evidence, NotApplicable, Shown, Violation, require_close
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.parameter_case import ParameterCase, Sizes, require_same_later
from finetune.laws.masked_lm.chance import (
    eighty_ten_ten,
    every_place_is_chosen_alike,
    every_word_is_chosen_alike,
    fifteen_percent_are_chosen,
    no_row_is_skipped,
    random_words_come_alike,
    random_words_come_from_all_of_a_large_vocabulary,
)
from finetune.laws.masked_lm.independence import (
    fates_are_independent,
    neighbours_are_chosen_independently,
    random_words_are_independent,
    rows_are_chosen_independently,
    seeds_choose_independently,
)
from finetune.laws.masked_lm.masking import PAD, SPECIAL, Batch, Masking

CONTRACT = "masked-lm"


def results_have_the_shape_of_the_ids(subject: Masking, case: ParameterCase) -> None:
    """Inputs and labels are whole numbers, one for each token, one row and one token alone included.

    Formula: shape(inputs) = shape(labels) = shape(ids) = (B, n), int64
    Source: torch.nn.functional.cross_entropy takes int64 targets; squeezed batches of one
    Fault: one_row_is_squeezed
    """
    batch = subject.batch(case)
    for rows in (slice(None), slice(0, 1)):
        subject.hide_or_violate(Batch(batch.ids[rows], batch.special[rows], batch.vocab, batch.mask_id), case.seed)


def labels_are_the_old_ids(subject: Masking, case: ParameterCase) -> None:
    """A label is the token that stood there, or the number that asks for nothing.

    Formula: labels in {ids, ignore_index} (default -100), place by place
    Source: Devlin et al. (2019), section 3.1, task 1; EricFillion/happy-transformer#128 (another ignore index)
    Fault: labels_are_the_new_inputs
    """
    got = subject.hide_or_violate(subject.batch(case), case.seed)
    want = np.where(got.prediction_mask, got.batch.ids, got.ignored)
    message = "labels (if another number asks for nothing, declare --parameter ignore_index=...)"
    require_close(got.labels, want, 0.0, message)


def what_is_not_chosen_stays(subject: Masking, case: ParameterCase) -> None:
    """Where nothing is asked, the input is the token itself.

    Formula: labels = ignore_index implies inputs = ids
    Source: Devlin et al. (2019), section 3.1, task 1
    Fault: hides_what_it_does_not_ask_for
    """
    got = subject.hide_or_violate(subject.batch(case), case.seed)
    require_close(got.inputs, got.batch.ids, 0.0, "inputs where nothing is asked", where=~got.prediction_mask)


def special_tokens_and_padding_stay(subject: Masking, case: ParameterCase) -> None:
    """Neither special tokens nor padding are ever asked for or hidden.

    Formula: special implies labels = ignore_index and inputs = ids
    Source: huggingface/transformers#11155 (padding chosen, since the mask of special tokens left it out)
    Fault: padding_is_chosen
    """
    batch = subject.batch(case)
    for seed in range(case.seed, case.seed + 8):
        got = subject.hide_or_violate(batch, seed)
        for result, want, what in ((got.labels, got.ignored, "labels"), (got.inputs, batch.ids, "inputs")):
            require_close(result, np.asarray(want), 0.0, f"{what} of special tokens and padding", where=batch.special)


def a_chosen_token_becomes_a_word(subject: Masking, case: ParameterCase) -> None:
    """What is chosen becomes the mask, stays, or becomes a word that the vocabulary has.

    Formula: 0 <= inputs < V (where random_words=ordinary is declared: no special token either)
    Source: an id beyond the table of tokens ends training far from its cause
    Fault: one_word_too_many
    """
    batch = subject.batch(case)
    got = subject.hide(batch, case.seed)
    allowed = np.union1d(subject.drawn_words(batch), [batch.mask_id])
    wrong = got.prediction_mask & ~np.isin(got.inputs.values, allowed) & (got.inputs.values != batch.ids)
    if wrong.any():
        index = tuple(int(i) for i in np.argwhere(wrong)[0])
        right = [*allowed.tolist(), int(batch.ids[index])]
        shown = Shown(got.request, "out", index, f"1.0 * ({{out}}{list(index)}.item() in {right})")
        message = f"{got.inputs.values[index]:g} at {list(index)}, but should be one of {len(allowed)} words"
        raise Violation(f"inputs: got {message} below {batch.vocab}", Evidence((shown,), 0.0, 1.0))


def nothing_to_hide_comes_back(subject: Masking, case: ParameterCase) -> None:
    """A batch of special tokens and padding alone comes back as it is, and nothing is asked of it.

    Formula: special everywhere implies inputs = ids, labels = ignore_index
    Source: a short last batch; a masking that forces one choice a row takes a special token there
    Fault: at_least_one_a_row
    """
    batch = subject.batch(case)
    ids = np.where(batch.special, batch.ids, PAD)
    got = subject.hide_or_violate(Batch(ids, np.ones_like(batch.special), batch.vocab, batch.mask_id), case.seed)
    require_close(got.labels, np.asarray(got.ignored), 0.0, "labels of a batch without words")
    require_close(got.inputs, ids, 0.0, "inputs of a batch without words")


def the_ids_are_left_as_they_are(subject: Masking, case: ParameterCase) -> None:
    """The tensors that are handed over still hold their numbers afterwards.

    Formula: ids, special after the call = ids, special before it
    Source: huggingface/transformers, DataCollatorForLanguageModeling.torch_mask_tokens writes into its argument
    Fault: masks_in_place
    """
    for seed in range(case.seed, case.seed + 4):
        subject.hide(subject.batch(case), seed)  # a changed argument is told by the call itself


def one_seed_gives_one_result(subject: Masking, case: ParameterCase) -> None:
    """One seed gives the same result again, whatever was drawn in between, here or elsewhere.

    Formula: f(ids, seed) = f(ids, seed), after f(other ids, other seed), with the library's generator elsewhere
    Source: an unseeded masking cannot be repeated, and a run that goes on from a checkpoint is another one
    Fault: draws_from_the_global_generator
    """
    batch = subject.batch(case)
    first = subject.hide(batch, case.seed, seed_=1)
    other = subject.hide(subject.batch(case.with_(seed=case.seed + 1)), case.seed + 1)
    again = subject.hide(batch, case.seed, seed_=2)
    between = [other.inputs]
    require_same_later(again.labels, first.labels, between, 0.0, "labels of the same seed again")
    require_same_later(again.inputs, first.inputs, between, 0.0, "inputs of the same seed again")


def the_attention_mask_is_that_of_the_text(subject: Masking, case: ParameterCase) -> None:
    """An attention mask that comes along is true at every token that is not padding, hidden or not.

    Formula: attention_mask = (ids != PAD), not (inputs != PAD)
    Source: huggingface/transformers#12998 (the attention mask dropped); a mask of the inputs hides a random word 0
    Fault: attention_mask_after_masking
    """
    batch = subject.batch(case)
    for seed in range(case.seed, case.seed + 8):
        got = subject.hide(batch, seed)
        if got.mask is None:
            raise NotApplicable("it gives no attention mask (--parameter attention_mask=True asks for one)")
        require_close(got.mask, (batch.ids != PAD).astype(float), 0.0, "attention mask")


def whole(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """A large batch of a small vocabulary."""
    return {"B": 400, "n": 320, "vocab": int(rng.integers(12, 21))}


def many_words(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """A large batch of a large vocabulary."""
    return {"B": 400, "n": 320, "vocab": 30522}


SMALLEST = len(SPECIAL) + 3
ANY = Sizes({"B": (1, 9), "n": (1, 40), "vocab": (SMALLEST, 60000)})
FEW_WORDS = Sizes({"B": (6, 40), "n": (20, 60), "vocab": (SMALLEST, 12)})
RANGES = {"B": (2, 400), "n": (2, 320), "vocab": (SMALLEST, 30522)}
LARGE, MANY_WORDS = Sizes(RANGES, adjust=whole), Sizes(RANGES, adjust=many_words)
PADDED = Sizes(RANGES, {"padded": (True,)}, adjust=whole)
ROW: dict[str, Any] = {"contract": CONTRACT, "family": "masked_lm", "large": 8, "small": 0, "space": ANY}
LAWS = (
    *(
        Law(check, **ROW)
        for check in (
            results_have_the_shape_of_the_ids, labels_are_the_old_ids, what_is_not_chosen_stays,
            special_tokens_and_padding_stay, nothing_to_hide_comes_back, the_ids_are_left_as_they_are,
            one_seed_gives_one_result,
        )
    ),
    Law(a_chosen_token_becomes_a_word, **{**ROW, "space": FEW_WORDS, "large": 12}),
    law_of(CONTRACT, ANY),
    Law(the_attention_mask_is_that_of_the_text, **{**ROW, "space": FEW_WORDS, "large": 4}),
    Law(fifteen_percent_are_chosen, **{**ROW, "space": PADDED, "large": 1}),
    *(
        Law(check, **{**ROW, "space": LARGE, "large": 1})
        for check in (
            eighty_ten_ten, no_row_is_skipped, every_place_is_chosen_alike, every_word_is_chosen_alike,
            neighbours_are_chosen_independently, rows_are_chosen_independently, seeds_choose_independently,
            fates_are_independent, random_words_come_alike, random_words_are_independent,
        )
    ),
    Law(random_words_come_from_all_of_a_large_vocabulary, **{**ROW, "space": MANY_WORDS, "large": 1}),
)  # fmt: skip
COMPARISONS = ("labels_are_the_old_ids", "what_is_not_chosen_stays")
