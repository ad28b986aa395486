"""Laws of masking for masked language modelling: every draw is one of its own, whatever the rates are.

Pairs of places, rows, calls, fates and words; false alarms and what is missed are told as in `masked_lm_chance`.
"""

from __future__ import annotations

import numpy as np

from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.conformance.worker.exchange import NDArray
from finetune.laws.chance import unlikely
from finetune.laws.masked_lm.chance import draw, others, refuse, rounding, within
from finetune.laws.masked_lm.masking import Hidden, Masking


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
        the other, 120000 pairs: .019 or .026 in place of .0225 is missed half of the time
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
