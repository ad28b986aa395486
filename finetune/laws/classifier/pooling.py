"""Laws of the pooling of a classifier, seen from outside: which tokens may change places without changing the logits.

Without positions an encoder treats its tokens alike, so that what remains is what the pooling does.
"""

from __future__ import annotations

import numpy as np

from attention_core.conformance.subjects.evidence import Evidence, NotApplicable, Result, Shown, Violation, require_same
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.conformance.worker.exchange import NDArray
from finetune.laws.causal_lm.model import Held, noise
from finetune.laws.classifier.classified import Batch, Classified

MORE_ROWS = 4
"""So many rows more than tokens a table of positions may have (RoBERTa's has two)."""
MOVES = {"first": ("first",), "last": ("last",), "mean": ()}
"""Pooling -> the places whose token cannot change places with one in the middle."""


def without_positions(subject: Classified, case: ParameterCase) -> Held:
    """A model whose tables of positions are zero: those with as many rows as it takes tokens, or a few more."""
    held, length = subject.new_model(case), case["length"]
    for name, weight in held.weights.items():
        if weight.ndim == 2 and length <= weight.shape[0] <= length + MORE_ROWS:
            held.weights[name] = np.zeros_like(weight)
    subject.fill(held)
    return held


def text_of(subject: Classified, case: ParameterCase) -> NDArray:
    """n different words."""
    return case.rng("distinct").choice(subject.words(case), case["n"], replace=False)


def swap_tokens(
    subject: Classified, case: ParameterCase, held: Held, ids: NDArray, i: int, j: int
) -> tuple[bool, list[Result]]:
    """Whether the logits change when two tokens change places, and the two calls."""
    swapped = ids.copy()
    swapped[[i, j]] = ids[[j, i]]
    one, two = (subject.score(case, held, whole(each)) for each in (swapped, ids))
    return float(np.abs(one.values - two.values).max()) > noise(one, two), [one, two]


def whole(ids: NDArray) -> Batch:
    """One text without padding."""
    return Batch(ids[None], np.ones_like(ids[None]), np.zeros_like(ids[None]))


def the_pooling_is_the_stated_one(subject: Classified, case: ParameterCase) -> None:
    """The logits are made of the first token, the last, or the mean over all, as declared.

    Formula: without positions, swapping x_0 and x_2 changes z for pool=first alone, x_n and x_2 for pool=last alone
    Source: Devlin et al. (2019), section 4.1 (the first token); Reimers and Gurevych (2019), section 3 (the mean)
    Fault: first_in_place_of_the_mean
    """
    pool = str(subject.parameters["pool"])
    if pool not in MOVES:
        raise NotApplicable(f"pool={pool!r} is none of {', '.join(MOVES)}")
    held, ids = without_positions(subject, case), text_of(subject, case)
    if swap_tokens(subject, case, held, ids, 1, 2)[0]:
        raise NotApplicable("without its tables of positions it still tells places apart")
    for name, place in (("first", 0), ("last", case["n"] - 1)):
        changed, calls = swap_tokens(subject, case, held, ids, place, 2)
        if changed is not (name in MOVES[pool]):
            got, want = ("other", "the same") if changed else ("the same", "other")
            message = f"the {name} token and one in the middle change places: got {got} logits, but should be {want}"
            with held.report_calls():
                shown = Evidence(tuple(Shown(r.request) for r in calls), kind="crash")
                raise Violation(f"pool={pool}, without positions: {message}", shown)


def a_text_said_twice_has_the_same_mean(subject: Classified, case: ParameterCase) -> None:
    """Without positions a text said twice has the logits of the text, where the mean over its tokens is pooled.

    Formula: z(x x) = z(x) for pool=mean without positions: attention over doubled keys, and the mean, are as before
    Source: Reimers and Gurevych (2019), section 3; a sum grows with the text
    Fault: sum_in_place_of_the_mean
    """
    held, ids = without_positions(subject, case), text_of(subject, case)
    if swap_tokens(subject, case, held, ids, 1, 2)[0]:
        raise NotApplicable("without its tables of positions it still tells places apart")
    once, twice = (subject.score(case, held, whole(each)) for each in (ids, np.tile(ids, 2)))
    with held.report_calls():
        require_same(twice, once, noise(once, twice), "logits of a text said twice, without positions")
