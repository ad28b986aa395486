"""Laws about chance of masking for masked language modelling: rates, and that every draw is one of its own.

On one batch of 400 rows of 320 tokens each law gives a false alarm with probability 1e-12 (`chance.unlikely`), so that
the dozen of them stay below 1e-9 also in a run at effort "thorough". Each says what size of fault it may miss.
"""

from __future__ import annotations

import numpy as np

from attention_core.conformance.subjects.evidence import Evidence, Shown, Violation
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.conformance.worker.exchange import NDArray
from finetune.laws.chance import margin, unlikely
from finetune.laws.masked_lm.masking import Hidden, Masking


def draw(subject: Masking, case: ParameterCase, seed: int = 0) -> Hidden:
    """What comes back for the case's batch; `seed` counts on from the case's."""
    return subject.hide(subject.batch(case), case.seed + seed)


def refuse(got: Hidden, message: str) -> None:
    """A violation that shows the call."""
    raise Violation(message, Evidence((Shown(got.request),), kind="crash"))


def rounding(able: NDArray) -> NDArray:
    """(B, n): how far the probability of each place is from the rate where every row has a fixed number of choices.

    Such a masking (the original BERT's) is right, too: it chooses round(rate * L) of the L words of a row.
    """
    return np.where(able, 0.5 / np.maximum(able.sum(1, keepdims=True), 1), 0.0)


def within(values: NDArray, able: NDArray, axis: int | None = None) -> NDArray:
    """The mean over the places where `able` is true."""
    return np.asarray(np.where(able, values, 0.0).sum(axis) / np.maximum(able.sum(axis), 1))


def fifteen_percent_are_chosen(subject: Masking, case: ParameterCase) -> None:
    """Of the tokens that are neither special nor padding 15 % are chosen (or the declared rate).

    Formula: N KL(chosen / N || rate) <= log(2e12), N = 115000: a rate of .140 or .160 is missed half of the time
    Source: Devlin et al. (2019), section 3.1, task 1
    Fault: a_fifth_is_chosen
    """
    check_share(subject, case)


def short_texts_have_their_share(subject: Masking, case: ParameterCase) -> None:
    """Texts of five to seven tokens have their share of chosen ones as long texts do.

    Formula: as fifteen_percent_are_chosen, N = 2000 to 2800; where each row has a fixed number of choices, its rate may
        be off by half a choice
    Source: texts "too short to be masked" train on nothing; a number of choices that is rounded down to 0
    Fault: short_texts_are_left_alone
    """
    check_share(subject, case)


def check_share(subject: Masking, case: ParameterCase) -> None:
    """Raise where more or fewer tokens are chosen than the rate says."""
    got = draw(subject, case)
    able = got.batch.able
    count, slack = int(able.sum()), float(within(rounding(able), able))
    share = float((got.prediction_mask & able).sum() / max(count, 1))
    bound = margin(count, subject.rate, share, slack=slack) if count else 1.0
    if abs(share - subject.rate) > bound:
        expression = f"(({{out}}[1] != {got.ignored}).sum() / (~a1).sum()).item()"
        shown = Shown(got.request, "out1", (0,), expression)
        raise Violation(
            f"chosen of {count} words: got {share:.4f}, but should be {subject.rate:g} (allowed error {bound:.4f}; if "
            "another rate is meant, declare --parameter rate=...)", Evidence((shown,), share, subject.rate, bound),
        )  # fmt: skip


def eighty_ten_ten(subject: Masking, case: ParameterCase) -> None:
    """Of the chosen 80 % become the mask, 10 % a random word, 10 % stay (or the declared shares).

    Formula: M KL(share / M || p) <= log(6e12) for p = .8 + .1 / V, .1 + .1 / V, .1 - .2 / V, M = 18500: .785 or .126 is
        missed half of the time; a random word may be the mask or the word itself
    Source: Devlin et al. (2019), section 3.1, task 1
    Fault: ten_percent_of_the_rest
    """
    got = draw(subject, case)
    new, old, chosen = got.inputs.values, got.batch.ids, got.prediction_mask & got.batch.able
    masked, kept = (new == got.batch.mask_id)[chosen], (new == old)[chosen]
    counts = {"the mask": masked.sum(), "itself": kept.sum(), "another": (~masked & ~kept).sum()}
    want = subject.becomes(got.batch)
    total = int(chosen.sum())
    for name, count in counts.items():
        if unlikely(count, total, want[name], among=3):
            refuse(got, f"of {total} chosen tokens: got {count / total:.4f} {name}, but should be {want[name]:.4f}")


def no_row_is_skipped(subject: Masking, case: ParameterCase) -> None:
    """In every row as many tokens are chosen as in the others, up to chance: none is left out.

    Formula: L KL(chosen in a row / L || rate) <= log(2e12 B), L = 320, B = 400: a row of .016 or .34 is missed half of
        the time
    Source: a masking that skips rows trains on the others alone, and the loss does not tell
    Fault: one_row_in_ten_is_skipped
    """
    got = draw(subject, case)
    able = got.batch.able
    hits, trials = (got.prediction_mask & able).sum(1), able.sum(1)
    bad = unlikely(hits, trials, subject.rate, among=len(able), slack=within(rounding(able), able, 1))
    if bad.any():
        row = int(bad.argmax())
        message = f"row {row}: got {hits[row]} of {trials[row]} words chosen, but should be near {subject.rate:.0%}"
        refuse(got, message)


def every_place_is_chosen_alike(subject: Masking, case: ParameterCase) -> None:
    """Every place of a row is chosen as often as any other, the first and the last included.

    Formula: R KL(chosen at a place / R || rate) <= log(2e12 n), R = 320 to 400 rows, n = 320: a place of .02 or .33
        is missed half of the time
    Source: google-research/text-to-text-transfer-transformer#905 (the first place never, the last one always)
    Fault: first_word_never_chosen
    """
    got = draw(subject, case)
    able = got.batch.able
    hits, trials = (got.prediction_mask & able).sum(0), able.sum(0)
    bad = unlikely(hits, trials, subject.rate, among=able.shape[1], slack=within(rounding(able), able, 0))
    if bad.any():
        place = int(bad.argmax())
        message = f"{hits[place]} times in {trials[place]} rows, but should be in {subject.rate:.0%}"
        refuse(got, f"place {place}: got chosen {message}")


def every_word_is_chosen_alike(subject: Masking, case: ParameterCase) -> None:
    """Every word of the vocabulary is chosen as often as any other, whatever its id.

    Formula: R KL(chosen / R || rate) <= log(2e12 W) for W = 16 stretches of ids, R = 7800: .117 or .185 is missed half
        of the time
    Source: ids below a fixed number taken for special tokens: each vocabulary has its own
    Fault: small_ids_taken_for_special
    """
    got = draw(subject, case)
    able, bins = got.batch.able, stretches(got.batch.words)
    group = np.where(able, np.searchsorted(bins, got.batch.ids, "right") - 1, len(bins))
    hits = np.bincount(group[got.prediction_mask & able], minlength=len(bins))[: len(bins)]
    trials = np.bincount(group.ravel(), minlength=len(bins) + 1)[: len(bins)]
    loose = np.bincount(group.ravel(), rounding(able).ravel(), len(bins) + 1)[: len(bins)] / np.maximum(trials, 1)
    bad = unlikely(hits, trials, subject.rate, among=len(bins), slack=loose)
    if bad.any():
        one = int(bad.argmax())
        message = f"got {hits[one]} of {trials[one]} chosen, but should be near {subject.rate:.0%}"
        refuse(got, f"{describe_stretch(bins, one, got.batch.words)}: {message}")


def stretches(words: NDArray, most: int = 16) -> NDArray:
    """The first id of each of at most so many stretches of words, as even as can be."""
    return np.array([part[0] for part in np.array_split(words, min(len(words), most))])


def describe_stretch(bins: NDArray, one: int, words: NDArray) -> str:
    """A stretch of words in words."""
    last = words[words < bins[one + 1]].max() if one + 1 < len(bins) else words.max()
    return f"word {bins[one]}" if last == bins[one] else f"words {bins[one]} to {last}"


def random_words_come_alike(subject: Masking, case: ParameterCase) -> None:
    """A random word is any word of the vocabulary, special tokens included (ordinary ones alone where declared so).

    Formula: R KL(count / R || 1 / |{drawn words but the mask and the word itself}|) <= log(2e12 V) for each
        of V = 12 to 20 words, R = 1500: one that comes a quarter or 1.9 times as often is missed half of the time
    Source: Devlin et al. (2019), section 3.1, task 1; torch.randint excludes its upper end, random.randint does not
    Fault: last_word_never_drawn
    """
    check_random_words(subject, case)


def random_words_come_from_all_of_a_large_vocabulary(subject: Masking, case: ParameterCase) -> None:
    """Random words reach the end of a vocabulary of 30522 words, and no part of it is left out.

    Formula: as random_words_come_alike for each of 20 even stretches of ids
    Source: words of the batch, the first thousand, or ids of one byte, in the place of the vocabulary
    Fault: words_below_a_thousand
    """
    check_random_words(subject, case)


def check_random_words(subject: Masking, case: ParameterCase) -> None:
    """Raise where the words of a stretch come more or less often than their number says."""
    got = draw(subject, case)
    found = others(got)
    words, old = np.setdiff1d(subject.drawn_words(got.batch), [got.batch.mask_id]), got.batch.ids[found]
    bins = stretches(words, 20)
    inside = np.isin(old, words)
    sizes = np.diff([*np.searchsorted(words, bins), len(words)])
    own = np.searchsorted(bins, old, "right") - 1
    new = np.searchsorted(bins, got.inputs.values[found], "right") - 1
    for one, size in enumerate(sizes):
        # Words of the stretch itself have one word less to become.
        p = (size - (inside & (own == one))) / np.maximum(len(words) - inside, 1)
        trials, hits = len(old), int((new == one).sum())
        if trials and unlikely(hits, trials, float(p.mean()), among=len(sizes)):
            message = f"got {hits} of {trials}, but should be near {float(p.sum()):.0f}"
            refuse(got, f"random words, {describe_stretch(bins, one, words)}: {message}")


def others(got: Hidden) -> NDArray:
    """Where a chosen token became another word that is not the mask."""
    new = got.inputs.values
    found: NDArray = got.prediction_mask & got.batch.able & (new != got.batch.ids) & (new != got.batch.mask_id)
    return found
