"""Laws of indexers: each query gets the indices of the keys with the highest scores, none twice, none that is hidden.

The order of a row is free unless `--parameter order` says otherwise. Of keys whose scores are nearer than their errors
either may be chosen.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np

from attention_core.conformance.budgets.budget import round_to
from attention_core.conformance.cases.null_models import SEPARATION
from attention_core.conformance.laws.masked_calls import CHOICE_VIEWS
from attention_core.conformance.subjects.evidence import NotApplicable, Result
from attention_core.conformance.subjects.indexer_subject import (
    PADDING,
    Choice,
    IndexerCall,
    IndexerSubject,
    Judged,
    choose,
)
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.parameter_case import ParameterCase, Sizes, after, as_in_models
from attention_core.conformance.worker.exchange import NDArray

CONTRACT = "indexer"
GRADIENTS = False
FAR = {"float16": 1e3}
"""A score far above all others: 1e30, and less in float16."""
FAR_KEY = 64.0
"""A feature of keys that no row may have: their scores are far from those of others, and finite in two bytes."""
SEQUENCES = ("the choice of the next sequence", "the choice of the next query")
HEAD_NAMES = ("no rectifier", "heads not weighed", "magnitudes of weights", "the first head alone", "rectified late")


# --- what each law compares ---------------------------------------------------------------------------------


def rows_without_hidden_keys(subject: IndexerSubject, call: IndexerCall, judged: Judged) -> NDArray:
    """Rows in which hidden keys may not be named, bool (B, R, n_q): all, or where any may fill up those with enough."""
    full = judged.allowed.sum(-1) >= call.topk
    return np.ones_like(full) if subject.padding != "any" else full


def padding_of(subject: IndexerSubject, call: IndexerCall, indices: NDArray) -> NDArray:
    """Which indices stand for no key."""
    n_kv = call.lengths[1]
    return np.asarray(indices >= n_kv if subject.padding == "beyond" else indices == PADDING)


def require_range(subject: IndexerSubject, call: IndexerCall, judged: Judged, choice: Choice, what: str) -> None:
    """Raise where an index is that of no key and is not padding."""
    n_kv = call.lengths[1]
    strange = (choice.indices < 0) | (choice.indices >= n_kv)
    strange &= ~padding_of(subject, call, choice.indices)
    if not strange.any():
        return
    at = tuple(int(i) for i in np.argwhere(strange)[0])
    index = int(choice.indices[at])
    got = int((choice.indices[at[:-1]] == index).sum())
    message = f"{what}: row {list(at[:-1])} has the index {index}, but should have indices of {n_kv} keys"
    raise choice.count(at[:-1], f"== {index}", got, 0, message)


def counted(subject: IndexerSubject, call: IndexerCall, judged: Judged, choice: Choice) -> NDArray:
    """How often each key is named, (B, R, n_q, n_kv)."""
    n_kv = call.lengths[1]
    inside = (choice.indices >= 0) & (choice.indices < n_kv)
    times = np.zeros((*choice.indices.shape[:-1], n_kv + 1), dtype=int)
    np.add.at(times, (*np.indices(choice.indices.shape)[:-1], np.where(inside, choice.indices, n_kv)), 1)
    return times[..., :n_kv]


def require_once(subject: IndexerSubject, call: IndexerCall, judged: Judged, choice: Choice, what: str) -> None:
    """Raise where a key that may be chosen is named twice."""
    times = counted(subject, call, judged, choice)
    twice = (times > 1) & (judged.allowed | rows_without_hidden_keys(subject, call, judged)[..., None])
    if twice.any():
        at = tuple(int(i) for i in np.argwhere(twice)[0])
        message = f"{what}: row {list(at[:-1])} names key {at[-1]} {times[at]} times, but should name it once"
        raise choice.count(at[:-1], f"== {at[-1]}", int(times[at]), 1, message)


def require_visible(subject: IndexerSubject, call: IndexerCall, judged: Judged, choice: Choice, what: str) -> None:
    """Raise where a key that a row may not have is named."""
    times = counted(subject, call, judged, choice)
    hidden = (times > 0) & ~judged.allowed & rows_without_hidden_keys(subject, call, judged)[..., None]
    if hidden.any():
        at = tuple(int(i) for i in np.argwhere(hidden)[0])
        message = f"{what}: row {list(at[:-1])} has key {at[-1]}, which it may not have"
        raise choice.count(at[:-1], f"== {at[-1]}", int(times[at]), 0, message)


def require_full(subject: IndexerSubject, call: IndexerCall, judged: Judged, choice: Choice, what: str) -> None:
    """Raise where a row has too few keys although it could have more."""
    times = counted(subject, call, judged, choice)
    named = ((times > 0) & judged.allowed).sum(-1)
    lacking = named < judged.count
    if not lacking.any():
        return
    at = tuple(int(i) for i in np.argwhere(lacking)[0])
    message = f"{what}: row {list(at)} has {int(named[at])} keys, but should have {int(judged.count[at])}"
    empty = int(padding_of(subject, call, choice.indices)[at].sum())
    if empty and judged.count[at] == call.topk:
        test = f">= {call.lengths[1]}" if subject.padding == "beyond" else f"== {PADDING}"
        raise choice.count(at, test, empty, 0, message)
    missing = int(np.where(judged.allowed[at] & (times[at] == 0), judged.scores[at], -np.inf).argmax())
    raise choice.count(at, f"== {missing}", 0, 1, f"{message}, such as {missing}")


def require_highest(subject: IndexerSubject, call: IndexerCall, judged: Judged, choice: Choice, what: str) -> None:
    """Raise where a key is left out whose score is above that of one that is named, by more than their errors.

    The budget is E_i + E_j for the pair: derivations/chosen_keys.md (pairs).
    """
    named = (counted(subject, call, judged, choice) > 0) & judged.allowed
    left_out = judged.allowed & ~named
    low = np.where(named, judged.scores + judged.errors, np.inf)
    high = np.where(left_out, judged.scores - judged.errors, -np.inf)
    worse = high.max(-1) > low.min(-1)
    note_ratio(subject, call, judged, named)
    if worse.any():
        at = tuple(int(i) for i in np.argwhere(worse)[0])
        best, worst = int(high[at].argmax()), int(low[at].argmin())
        scores, errors = judged.scores[at], judged.errors[at]
        message = (
            f"{what}: row {list(at)} has key {worst} with the score {scores[worst]:.9g}, but should have key {best} "
            f"with {scores[best]:.9g} (allowed error {errors[best] + errors[worst]:.3g})"
        )
        raise choice.count(at, f"== {best}", 0, 1, message)


def note_ratio(subject: IndexerSubject, call: IndexerCall, judged: Judged, named: NDArray) -> None:
    """Note the largest distance of two scores that were chosen the other way round, over its budget."""
    if not judged.errors.any():
        return
    left_out = judged.allowed & ~named
    for at in np.argwhere(left_out.any(-1) & named.any(-1)):
        row = tuple(at)
        s, e = judged.scores[row], judged.errors[row]
        apart = s[left_out[row]][:, None] - s[named[row]]
        budget = e[left_out[row]][:, None] + e[named[row]]
        ratio = float(np.max(apart / np.maximum(budget, 1e-300), initial=0.0))
        key = (judged.dtype, CONTRACT)
        subject.ratios[key] = max(subject.ratios.get(key, 0.0), min(ratio, 1e3))


ALL = (require_range, require_once, require_visible, require_full, require_highest)


def require_choice(
    subject: IndexerSubject, call: IndexerCall, judged: Judged, choice: Choice, what: str, checks: Collection[Any] = ALL
) -> None:
    """All that a choice has to be, or some of it."""
    for check in checks:
        check(subject, call, judged, choice, what)


def null_models(subject: IndexerSubject, call: IndexerCall, judged: Judged) -> dict[str, NDArray]:
    """What a function with one thing wrong chooses, bool (B, R, n_q, n_kv), by the name of what it gets wrong."""
    topk, right = call.topk, choose(judged, call.topk)
    scores = judged.scores
    wrong = {
        "the lowest scores": choose(judged, topk, -scores),
        "magnitudes of scores": choose(judged, topk, np.abs(scores)),
        "the first keys": choose(judged, topk, -np.broadcast_to(np.arange(scores.shape[-1]), scores.shape)),
        "the last keys": choose(judged, topk, np.broadcast_to(np.arange(scores.shape[-1]), scores.shape)),
        SEQUENCES[0]: choose(judged, topk, np.roll(scores, 1, 0)),
        SEQUENCES[1]: choose(judged, topk, np.roll(scores, 1, 2)),
        "one key fewer": choose(judged, max(topk - 1, 0)),
        "keys behind the first sixteen left out": choose(judged, topk, allowed=judged.allowed & keys_below(scores, 16)),
        "keys behind the first 128 left out": choose(judged, topk, allowed=judged.allowed & keys_below(scores, 128)),
        "hidden keys": choose(judged, topk, allowed=np.ones_like(judged.allowed)),
        "hidden scores of 0": choose(judged, topk, np.where(judged.allowed, scores, 0.0), np.ones_like(judged.allowed)),
    }  # fmt: skip
    wrong |= {name: choose(judged, topk, other[:, None]) for name, other in wrong_scores(call).items()}
    return {name: chosen for name, chosen in wrong.items() if (chosen != right).any()}


def keys_below(scores: NDArray, number: int) -> NDArray:
    """The first keys of every row."""
    return np.arange(scores.shape[-1]) < number


def wrong_scores(call: IndexerCall) -> dict[str, NDArray]:
    """Scores that are made wrongly of queries, keys and weights, by what is wrong; none where they are given."""
    if call.query is None or call.key is None or call.weights is None:
        return {}
    products, w = np.einsum("bqhd,bkd->bqhk", call.query, call.key), call.weights
    kept = np.maximum(products, 0.0)
    found = [
        np.einsum("bqh,bqhk->bqk", w, products), kept.sum(2), np.einsum("bqh,bqhk->bqk", np.abs(w), kept),
        w[:, :, :1] * kept[:, :, 0], np.maximum(np.einsum("bqh,bqhk->bqk", w, products), 0.0),
    ]  # fmt: skip
    return dict(zip(HEAD_NAMES, found, strict=True))


def stands_out(judged: Judged, chosen: NDArray) -> bool:
    """Whether a choice is wrong by more than what errors of several times the budget explain."""
    if (chosen & ~judged.allowed).any() or (chosen.sum(-1) != judged.count).any():
        return True
    margin = SEPARATION * judged.errors
    low = np.where(chosen, judged.scores + margin, np.inf).min(-1)
    high = np.where(judged.allowed & ~chosen, judged.scores - margin, -np.inf).max(-1)
    return bool((high > low).any())


def count_power(subject: IndexerSubject, law: str, nulls: dict[str, NDArray], judged: Judged) -> None:
    """Note which null models a case could tell from the truth.

    Raises: NotApplicable where it could tell none: such a case cannot fail.
    """
    some = False
    for name, chosen in nulls.items():
        apart = stands_out(judged, chosen)
        subject.relevant[law, name] += 1
        subject.powers[law, name] += apart
        some |= apart
    if not some:
        raise NotApplicable("no wrong choice that is tried would stand out")


def check(
    subject: IndexerSubject, case: ParameterCase, call: IndexerCall, what: str, law: str = "", *,
    about: Collection[str] = (), sent: IndexerCall | None = None, checks: Collection[Any] = ALL, **how: Any,
) -> None:  # fmt: skip
    """One call chooses as it should; `sent` holds other numbers where they should not matter.

    The power of `law` is counted by the null models that it is `about`, all of them where none is named.
    """
    judged = subject.judge(case, call)
    if law:
        nulls = null_models(subject, call, judged)
        count_power(subject, law, {n: c for n, c in nulls.items() if n in about or not about}, judged)
    require_choice(subject, call, judged, subject.choose(case, sent or call, **how), what, checks)


def with_options(case: ParameterCase, **options: Any) -> ParameterCase:
    """The case with some options."""
    return case.with_(options={**case.options, **options})


# --- laws ---------------------------------------------------------------------------------------------------


def the_highest_scores_are_chosen(subject: IndexerSubject, case: ParameterCase) -> None:
    """No key is left out whose score is above that of a chosen one by more than both may be off.

    Formula: s_i - s_j <= E_i + E_j for all j chosen and i not, s_ij = sum_h w_ih max(q_ih . k_j, 0) or as given
    Source: derivations/chosen_keys.md (pairs); DeepSeek-V3.2 (2025), equation 1
    Fault: rectifier_left_out
    """
    check(subject, case, subject.draw(case), "indices", "the_highest_scores_are_chosen")


def chosen_keys_exist(subject: IndexerSubject, case: ParameterCase) -> None:
    """Every index is that of a key, or padding.

    Formula: 0 <= I_ic < n_kv, or I_ic is the padding
    Source: blocks of scores whose last columns lie after the keys; vllm-project/vllm, top_k_per_row
    Fault: columns_behind_the_keys
    """
    case = with_options(case, scores="negative")
    check(subject, case, subject.draw(case), "indices of low scores", checks=(require_range,))


def no_key_is_chosen_twice(subject: IndexerSubject, case: ParameterCase) -> None:
    """A row names a key once.

    Formula: I_ic = I_ic' only for c = c', padding aside
    Source: derivations/chosen_keys.md (named-twice): a key that is named twice has twice its weight
    Fault: halves_share_a_key
    """
    check(subject, case, subject.draw(case), "indices", checks=(require_once,))


def later_keys_are_not_chosen(subject: IndexerSubject, case: ParameterCase) -> None:
    """A causal call chooses among the keys up to the query's own.

    Formula: I_ic <= i + o, padding aside
    Source: DeepSeek-V3.2 (2025), section 2.1 (preceding tokens)
    Fault: causality_ignored
    """
    if "causal" not in subject.roles and not subject.implementation.always_causal:
        raise NotApplicable("it has no parameter for causality")
    case = with_options(case, causal=True)
    law, about = "later_keys_are_not_chosen", ("hidden keys", "hidden scores of 0")
    check(subject, case, subject.draw(case), "indices of a causal call", law, about=about, checks=(require_visible,))


def rows_with_fewer_keys_are_padded(subject: IndexerSubject, case: ParameterCase) -> None:
    """A row with fewer keys than it has places has all of them, and padding in the other places.

    Formula: |{c : I_ic names a key}| = min(topk, n_i) for n_i keys that row i may have
    Source: index -1 for none (deepseek-ai/FlashMLA PR109)
    Fault: rows_are_filled_up_with_the_first_key
    """
    causal = "causal" in subject.roles or subject.implementation.always_causal
    case = with_options(case, causal=causal, ends=not causal)
    call = subject.draw(case)
    judged = subject.judge(case, call)
    if not (judged.allowed.sum(-1) < call.topk).any():
        raise NotApplicable("every row has keys enough")
    check(subject, case, call, "indices of rows with few keys", checks=(require_range, require_once, require_full))
    if subject.padding != "any":
        check(subject, case, call, "indices of rows with few keys", checks=(require_visible,))


def keys_outside_of_the_bounds_are_not_chosen(subject: IndexerSubject, case: ParameterCase) -> None:
    """Where a call says which keys a row or a sequence has, others are not chosen, however high their scores are.

    Formula: a_i <= I_ic < e_i, padding aside
    Source: parameters ks and ke of DeepGEMM's fp8_mqa_logits, lengths of SGLang's fast_topk
    Fault: lengths_ignored
    """
    if not subject.bounds:
        raise NotApplicable("no parameter says which keys a row has")
    case = with_options(case, ends=True)
    call = subject.draw(case)
    sent = raise_outside(case, call, subject.allow(call))
    law, about = "keys_outside_of_the_bounds_are_not_chosen", ("hidden keys",)
    check(subject, case, call, "indices beside keys of other sequences", law, about=about, sent=sent)


def raise_outside(case: ParameterCase, call: IndexerCall, allowed: NDArray) -> IndexerCall:
    """The call with scores far above all others for keys that no row may have; where they are made, their keys."""
    if call.scores is not None:
        far = round_to(np.asarray(FAR.get(case.dtype, 1e30)), case.dtype).item()
        return call.with_(scores=np.where(allowed, call.scores, far))
    assert call.key is not None
    open_keys, far = np.asarray(allowed.any(axis=(1, 2))), FAR_KEY
    return call.with_(key=np.where(open_keys[..., None], call.key, far * np.sign(call.key + 0.5)))


def every_key_is_chosen_where_there_is_room(subject: IndexerSubject, case: ParameterCase) -> None:
    """A row with places for all keys has them all: attention to its keys is then dense attention.

    Formula: { I_ic } = { 0, .., n_kv - 1 } for topk >= n_kv
    Source: derivations/chosen_keys.md (gathered); topk of 2,048 above the length of a text
    Fault: last_key_left_out
    """
    fixed = subject.fixed_topk()
    case = case.with_(n_kv=fixed) if fixed is not None else case.with_(topk=case["n_kv"])
    check(subject, case, subject.draw(case), "indices of all keys", checks=(require_range, require_once, require_full))


def equal_scores_fill_the_row(subject: IndexerSubject, case: ParameterCase) -> None:
    """Keys with equal scores fill a row, each at most once.

    Formula: |{ I_ic }| = min(topk, n_i) where s_ij = s_i for all j
    Source: selections by a threshold (s > t, or s >= t): ties leave places empty, or overflow them
    Fault: only_scores_above_the_threshold
    """
    case = with_options(case, scores="equal")
    checks = (require_range, require_once, require_visible, require_full)
    check(subject, case, subject.draw(case), "indices of equal scores", checks=checks)


def equal_scores_are_chosen_as_declared(subject: IndexerSubject, case: ParameterCase) -> None:
    """Where that is declared, the first keys of equal scores are chosen, or the last ones.

    Formula: { I_ic } = { 0, .., topk - 1 } (or the last topk) where s_ij = s_i for all j
    Source: a choice that is to be the same on every device and for every batch
    Fault: last_of_equal_scores
    """
    side = subject.parameters.get("ties")
    if side not in ("first", "last"):
        raise NotApplicable("ties=first is not declared")
    case = with_options(case, scores="equal")
    call = subject.draw(case)
    judged = subject.judge(case, call)
    places = np.arange(judged.scores.shape[-1], dtype=float) * (1.0 if side == "last" else -1.0)
    ranked = replace(judged, scores=np.broadcast_to(places, judged.scores.shape), errors=np.zeros(judged.errors.shape))
    if not (judged.allowed.sum(-1) > judged.count).any():
        raise NotApplicable("every row has all of its keys")
    require_choice(subject, call, ranked, subject.choose(case, call), f"indices of equal scores, {side} ones first")


def negative_scores_are_ordered_too(subject: IndexerSubject, case: ParameterCase) -> None:
    """Rows whose scores are all below 0, or 0, are chosen from like any others.

    Formula: as the comparison with the truth, for s_ij <= 0
    Source: numbers compared by their bits, whose order turns round below 0; hidden scores set to 0
    Fault: bits_compared
    """
    causal = "causal" in subject.roles or subject.implementation.always_causal
    case = with_options(case, scores="negative", causal=causal)
    law, about = "negative_scores_are_ordered_too", ("magnitudes of scores", "hidden scores of 0", "the lowest scores")
    check(subject, case, subject.draw(case), "indices of negative scores", law, about=about)


def the_order_of_a_row_is_as_declared(subject: IndexerSubject, case: ParameterCase) -> None:
    """Where that is declared, the scores of a row's indices fall, or the indices rise; padding is after all.

    Formula: s_{i I_ic} >= s_{i I_ic'} - E - E' for c < c' (order=scores); I_ic < I_ic' (order=keys)
    Source: torch.topk(sorted=True); kernels that read keys in the order of memory
    Fault: order_of_the_heap
    """
    order = subject.parameters.get("order")
    if order not in ("scores", "keys"):
        raise NotApplicable("order=scores is not declared")
    call = subject.draw(case)
    judged, choice = subject.judge(case, call), subject.choose(case, call)
    require_choice(subject, call, judged, choice, "indices")
    require_order(subject, call, judged, choice, order)


def require_order(subject: IndexerSubject, call: IndexerCall, judged: Judged, choice: Choice, order: str) -> None:
    """Raise where two indices of a row stand the other way round than is declared."""
    for at in np.ndindex(choice.indices.shape[:-1]):
        row, empty = choice.indices[at], padding_of(subject, call, choice.indices[at])
        named = row[~empty]
        s, e = judged.scores[at], judged.errors[at]
        right = np.sort(named) if order == "keys" else named[np.argsort(-s[named], kind="stable")]
        right = np.concatenate([right, row[empty]])
        first, second = named[:-1], named[1:]
        wrong = np.asarray(first > second if order == "keys" else s[first] + e[first] < s[second] - e[second])
        if wrong.any() or empty[: len(named)].any():
            place = int((row != right).argmax())
            what = (
                f"indices: row {list(at)} has {int(row[place])} at place {place}, but should have {int(right[place])}"
            )
            raise choice.element((*at, place), int(row[place]), int(right[place]), f"{what} (order={order})")


def every_row_has_its_own_choice(subject: IndexerSubject, case: ParameterCase) -> None:
    """Queries and sequences choose by their own scores.

    Formula: I_bi depends on s_bi alone
    Source: the definition; a choice that is made once for a batch
    Fault: choice_of_the_first_sequence
    """
    law = "every_row_has_its_own_choice"
    check(subject, case, subject.draw(case), "indices of rows with scores of their own", law, about=SEQUENCES)


def long_rows_are_read_to_their_end(subject: IndexerSubject, case: ParameterCase) -> None:
    """The keys of a row of some hundreds are all looked at.

    Formula: as the comparison with the truth, for n_kv from 130 to 600
    Source: selections in blocks of 128, 256 or 512 keys whose candidates are merged
    Fault: keys_behind_the_first_block_left_out
    """
    law, about = "long_rows_are_read_to_their_end", ("keys behind the first 128 left out",)
    check(subject, case, subject.draw(case), "indices of long rows", law, about=about)


def other_scores_of_the_same_shape_are_read_anew(subject: IndexerSubject, case: ParameterCase) -> None:
    """A second call with other numbers of the same shape chooses by the second.

    Formula: f(x') after f(x) chooses by x'
    Source: buffers of indices that are kept by their size
    Fault: first_choice_kept
    """
    first, second = subject.draw(case), subject.draw(case, " again")
    judged = subject.judge(case, second)
    kept = {"the first call's choice": choose(subject.judge(case, first), first.topk)}
    count_power(subject, "other_scores_of_the_same_shape_are_read_anew", kept, judged)
    earlier = subject.choose(case, first)
    choice = subject.choose(case, second)
    with after([Result(earlier.indices, earlier.request)]):
        require_choice(subject, second, judged, choice, "indices of a second call")


def strides_of_scores_are_followed(subject: IndexerSubject, case: ParameterCase) -> None:
    """Scores, or queries and keys, may be views of larger or turned memory.

    Formula: f(views of x) = f(x)
    Source: scores that are cut out of a buffer for the longest text, s[..., :n_kv]
    Fault: scores_read_in_order
    """
    view = str(case.rng("view").choice([name for name in CHOICE_VIEWS if name not in ("one_row", "broadcast")]))
    what = f"indices of arrays whose memory is {view}"
    check(subject, case, subject.draw(case), what, "strides_of_scores_are_followed", view=view)


# --- which cases they want ----------------------------------------------------------------------------------


def _fit(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """Fewer places than keys, mostly, and no more queries than keys."""
    topk = int(rng.integers(1, sizes["n_kv"] + 1)) if rng.random() < 0.8 else sizes["topk"]
    return {**sizes, "topk": min(topk, sizes["n_kv"]), "n_q": min(sizes["n_q"], sizes["n_kv"])}


def _few_keys(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """Rows with more places than the first queries have keys."""
    n_q = max(3, sizes["n_q"])
    n_kv = n_q + int(rng.integers(0, 3))
    return {**sizes, "n_q": n_q, "n_kv": n_kv, "topk": int(rng.integers(2, n_kv + 1))}


def _some(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """Two places at least, and fewer than there are keys."""
    n_kv = max(4, sizes["n_kv"])
    return {**sizes, "n_kv": n_kv, "n_q": min(sizes["n_q"], n_kv), "topk": int(rng.integers(2, n_kv))}


def _long(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """Rows of some hundreds of keys."""
    n_kv = int(rng.choice([rng.integers(130, 200), rng.integers(257, 300), rng.integers(513, 600)]))
    return {**sizes, "n_kv": n_kv, "topk": int(rng.integers(1, 65))}


RANGES = {"B": (1, 3), "H": (1, 4), "n_q": (1, 8), "n_kv": (2, 24), "topk": (1, 12), "d": (1, 8)}
MODELS = {"H": (8, 16), "d": (32, 64), "n_kv": (33, 90), "topk": (8, 30)}
OPTIONS = {"causal": (False, False, True), "ends": (False, False, True)}
SPACE = Sizes(RANGES, OPTIONS, adjust=as_in_models(MODELS, _fit))
SMALL = Sizes(RANGES, adjust=_some)
FEW = Sizes(RANGES, adjust=_few_keys)
ROWS = Sizes({**RANGES, "B": (2, 4), "n_q": (2, 6)}, adjust=_some)
LONG = Sizes({**RANGES, "B": (1, 2), "H": (1, 2), "n_q": (1, 3), "d": (1, 4)}, adjust=_long)
ROW: dict[str, Any] = {"contract": CONTRACT, "family": "indexer", "large": 8, "small": 0, "space": SMALL}
LAWS = (
    Law(the_highest_scores_are_chosen, **{**ROW, "large": 24, "space": SPACE}, central=True),
    Law(chosen_keys_exist, **ROW),
    Law(no_key_is_chosen_twice, **{**ROW, "space": SPACE}),
    Law(later_keys_are_not_chosen, **{**ROW, "space": FEW}),
    Law(rows_with_fewer_keys_are_padded, **{**ROW, "space": FEW}),
    Law(keys_outside_of_the_bounds_are_not_chosen, **ROW),
    Law(every_key_is_chosen_where_there_is_room, **{**ROW, "space": SPACE}),
    Law(equal_scores_fill_the_row, **ROW),
    Law(equal_scores_are_chosen_as_declared, **ROW),
    Law(negative_scores_are_ordered_too, **{**ROW, "space": FEW}),
    Law(the_order_of_a_row_is_as_declared, **ROW),
    Law(every_row_has_its_own_choice, **{**ROW, "space": ROWS}),
    Law(long_rows_are_read_to_their_end, **{**ROW, "large": 6, "space": LONG}),
    Law(other_scores_of_the_same_shape_are_read_anew, **ROW),
    Law(strides_of_scores_are_followed, **{**ROW, "large": 12}),
)
COMPARISONS = tuple(law.name for law in LAWS[1:])
