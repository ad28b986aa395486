"""Laws of masking for masked language modelling: a function of a batch, see `masked_lm.masking.Masking`.

What is drawn stands in `masking`, the laws of rates in `chance`. Every draw is one of its own, whatever the rates are:
pairs of places, rows, calls, fates and words.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from attention_core.conformance.laws.process_state import law_of
from attention_core.conformance.subjects.evidence import Evidence, NotApplicable, Shown, Violation, require_close
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.parameter_case import ParameterCase, Sizes, require_same_later
from attention_core.conformance.worker.exchange import NDArray
from finetune.laws.chance import far_seed, unlikely
from finetune.laws.masked_lm.chance import (
    draw,
    eighty_ten_ten,
    every_place_is_chosen_alike,
    every_word_is_chosen_alike,
    fifteen_percent_are_chosen,
    no_row_is_skipped,
    others,
    random_words_come_alike,
    random_words_come_from_all_of_a_large_vocabulary,
    refuse,
    rounding,
    short_texts_have_their_share,
    within,
)
from finetune.laws.masked_lm.masking import PAD, SPECIAL, Batch, Hidden, Masking


def both(
    got: Hidden, first: NDArray, second: NDArray, able: NDArray, rate: float, what: str, row: bool = False
) -> None:
    """Raise unless pairs of tokens are chosen together as independent ones are.

    Args: first, second: whether each of a pair was chosen; able: whether both might be, as the largest deviation of
        their probabilities from the rate where a row has a fixed number of choices (`rounding`; 0 for no pair); row:
        whether both stand in one row, so that one choice fewer is left for the second.
    """
    real = able > 0
    trials, hits = int(real.sum()), int((first & second & real).sum())
    loose = 2 * rate * able + able**2 + (2 * rate * able if row else 0.0)
    slack = float(within(loose, real))
    if trials and unlikely(hits, trials, rate**2, slack=slack):
        refuse(got, f"{what}: got {hits / trials:.4f} of {trials} pairs chosen together, but should be {rate**2:.4f}")


def neighbours_are_chosen_independently(subject: Masking, case: ParameterCase) -> None:
    """A token is chosen as often beside a chosen one as elsewhere.

    Formula: P(both) = rate^2 for places (2i, 2i + 1) of a row, 60000 pairs: .017 or .028 in place of .0225 is missed
        half of the time (a masking of spans or whole words is another task, and is refuted)
    Source: Devlin et al. (2019), section 3.1, task 1 ("at random")
    Fault: chooses_spans
    """
    got = draw(subject, case)
    chosen, able = got.prediction_mask, got.batch.able
    end = able.shape[1] // 2 * 2
    left, right = slice(0, end, 2), slice(1, end, 2)
    loose = np.minimum(rounding(able)[:, left], rounding(able)[:, right])
    both(got, chosen[:, left], chosen[:, right], loose, subject.rate, "neighbours", row=True)


def rows_are_chosen_independently(subject: Masking, case: ParameterCase) -> None:
    """Two rows of a batch share no draws: a place is chosen as often below a chosen one as elsewhere.

    Formula: P(both) = rate^2 at (2b, i) and (2b + 1, i + s), s = 0, 1, 58000 pairs: .017 or .028 in place of .0225 is
        missed half of the time
    Source: one row of draws broadcast over a batch, or a generator that is seeded anew for each row
    Fault: one_draw_for_all_rows
    """
    got = draw(subject, case)
    end = len(got.prediction_mask) // 2 * 2
    chosen, loose = got.prediction_mask[:end], rounding(got.batch.able[:end])
    for step in (0, 1):
        width = loose.shape[1] - step
        pair = (chosen[::2, :width], chosen[1::2, step:])
        able = pair_deviations(loose[::2, :width], loose[1::2, step:])
        message = "places of two rows" if not step else "places of two rows, one of them moved by a place"
        both(got, *pair, able, subject.rate, message)


def pair_deviations(first: NDArray, second: NDArray) -> NDArray:
    """The larger of two deviations where both places might be chosen, else 0."""
    return np.where((first > 0) & (second > 0), np.maximum(first, second), 0.0)


def seeds_choose_independently(subject: Masking, case: ParameterCase) -> None:
    """Another seed chooses anew: what was chosen under the seed before tells nothing.

    Formula: P(both) = rate^2 at (b, i) under one of the seeds s, s + 1 and at (b, i), (b, i + 1) or (b + 1, i) under
        the other, 120000 pairs: .019 or .026 in place of .0225 is missed half of the time; at (b, i) under s and under
        a seed that differs by a multiple of 2^16 and of 10^4
    Source: Liu et al. (2019), section 4.1 (static masking shows the same tokens in every epoch); keys made by adding
    Fault: seed_plus_place
    """
    got, other = draw(subject, case), draw(subject, case, seed=1)
    loose = rounding(got.batch.able)
    B, n = loose.shape
    for rows, places, noun in ((0, 0, "same place"), (0, 1, "next place"), (1, 0, "next row")):
        one, two = (slice(0, B - rows), slice(0, n - places)), (slice(rows, B), slice(places, n))
        able, what = pair_deviations(loose[one], loose[two]), f"seeds {case.seed} and one more, {noun}"
        for first, second in ((got, other), (other, got))[: 1 + rows + places]:
            both(got, first.prediction_mask[one], second.prediction_mask[two], able, subject.rate, what)
    far = draw(subject, case, seed=far_seed(case.seed) - case.seed)
    what = f"seeds {case.seed} and {far_seed(case.seed)}, same place"
    both(got, got.prediction_mask, far.prediction_mask, loose, subject.rate, what)


def fates_are_independent(subject: Masking, case: ParameterCase) -> None:
    """Whether a chosen token becomes the mask does not depend on what the chosen token before it became.

    Formula: P(both masked) = p^2, p = .8 + .1 / V, for disjoint pairs of following chosen tokens of a row, 9000 pairs:
        .61 or .69 in place of .65 is missed half of the time
    Source: one draw for all chosen tokens of a row leaves every rate as it is
    Fault: one_fate_for_a_row
    """
    got = draw(subject, case)
    chosen = got.prediction_mask & got.batch.able
    rows, _ = np.nonzero(chosen)
    masked = (got.inputs.values == got.batch.mask_id)[chosen]
    first, second = following(rows)
    p = subject.becomes(got.batch)["the mask"]
    hits, trials = int((masked[first] & masked[second]).sum()), len(first)
    if trials and unlikely(hits, trials, p**2):
        message = f"got {hits / trials:.4f} of {trials} pairs both masked, but should be {p**2:.4f}"
        refuse(got, f"chosen tokens that follow each other: {message}")


def following(rows: NDArray) -> tuple[NDArray, NDArray]:
    """Disjoint pairs of numbers that follow each other within a row; `rows` is sorted."""
    place = np.arange(len(rows)) - np.searchsorted(rows, rows)
    first = np.flatnonzero((place[:-1] % 2 == 0) & (rows[1:] == rows[:-1])) if len(rows) > 1 else np.zeros(0, int)
    return first, first + 1


def random_words_are_independent(subject: Masking, case: ParameterCase) -> None:
    """Each random word is drawn for itself: two that follow each other, in a row or in a column, are seldom equal.

    Formula: P(equal) <= 1 / (V - 2) for disjoint pairs of a row and of a column, 500 of them: .15 is missed half of
        the time
    Source: one random word for a row, or one row of random words for a batch, leaves every rate as it is
    Fault: one_random_word_a_row
    """
    got = draw(subject, case)
    found, new = others(got), got.inputs.values
    most = 1 / max(len(np.setdiff1d(subject.drawn_words(got.batch), [got.batch.mask_id])) - 1, 1)
    for name, where, values in (("row", found, new), ("column", found.T, new.T)):
        rows, _ = np.nonzero(where)
        first, second = following(rows)
        words = values[where]
        hits, trials = int((words[first] == words[second]).sum()), len(first)
        if trials and unlikely(hits, trials, most, among=2, above=True):
            message = f"got {hits} of {trials} pairs equal, but should be at most about {most * trials:.0f}"
            refuse(got, f"random words that follow each other in a {name}: {message}")


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
    """Where nothing is to be predicted, the input is the token itself.

    Formula: labels = ignore_index implies inputs = ids
    Source: Devlin et al. (2019), section 3.1, task 1
    Fault: hides_what_it_does_not_ask_for
    """
    got = subject.hide_or_violate(subject.batch(case), case.seed)
    require_close(got.inputs, got.batch.ids, 0.0, "inputs where nothing is to be predicted", where=~got.prediction_mask)


def special_tokens_and_padding_stay(subject: Masking, case: ParameterCase) -> None:
    """Neither special tokens nor padding are ever to be predicted or hidden.

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
    """A batch of special tokens and padding alone comes back as it is, and nothing of it is to be predicted.

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
        subject.hide(subject.batch(case), seed)  # a changed argument is reported by the call itself


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


def short_texts(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """A large batch of texts of a few words."""
    return {"B": 400, "n": int(rng.integers(5, 8)), "vocab": int(rng.integers(12, 21))}


def many_words(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """A large batch of a large vocabulary."""
    return {"B": 400, "n": 320, "vocab": 30522}


SMALLEST = len(SPECIAL) + 3
ANY = Sizes({"B": (1, 9), "n": (1, 40), "vocab": (SMALLEST, 60000)})
FEW_WORDS = Sizes({"B": (6, 40), "n": (20, 60), "vocab": (SMALLEST, 12)})
RANGES = {"B": (2, 400), "n": (2, 320), "vocab": (SMALLEST, 30522)}
LARGE, MANY_WORDS = Sizes(RANGES, adjust=whole), Sizes(RANGES, adjust=many_words)
SHORT = Sizes(RANGES, adjust=short_texts)
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
    Law(short_texts_have_their_share, **{**ROW, "space": SHORT, "large": 1}),
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
