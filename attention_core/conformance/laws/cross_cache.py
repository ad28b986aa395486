"""Laws of cross attention over a text that is kept: its keys and values are given once, and serve all steps.

A text is an encoder's: every step attends to all of its keys, whatever was decoded. Gradients are not judged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from attention_core.conformance.budgets.budget import round_to
from attention_core.conformance.cases.counts import count_many, share_heads, single_tokens
from attention_core.conformance.laws.masked_calls import compare, count_power, factor_of_far
from attention_core.conformance.subjects.cross_subject import CrossSubject, Step
from attention_core.conformance.subjects.evidence import NotApplicable, Refused, Result, Violation
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.parameter_case import (
    APART,
    FAR_SCORES,
    ParameterCase,
    Sizes,
    after,
    as_in_models,
    narrow_then_wide,
    supports,
)
from attention_core.conformance.subjects.recording import record_calls
from attention_core.conformance.worker.exchange import NDArray, array

CONTRACT = "cross-cache"
GRADIENTS = False
DOZENS = 20
"""Steps on one text, beyond what windows of decoders keep in the small."""


# --- what each law compares ---------------------------------------------------------------------------------


def wrong_masks(call: Step, mask: NDArray) -> dict[str, NDArray]:
    """The pairs of steps that see other keys than the text's, by what is wrong."""
    n_q, n_kv = call.lengths
    i, j = np.arange(n_q)[:, None], np.arange(n_kv)
    last = call.counts[:, None, None, None] - 1
    return {
        "causal over the text": mask & (j <= i), "causal from its end": mask & (j <= i + n_kv - n_q),
        "first key left out": mask & (j > 0), "last key left out": mask & (j < last),
        "padding attended to": np.ones_like(mask), "all but the last 8 keys left out": mask & (j > last - 8),
    }  # fmt: skip


def null_models(subject: CrossSubject, call: Step, others: Mapping[str, Step]) -> dict[str, NDArray]:
    """What steps give that see wrong keys, or another text of `others`; those that change nothing left out."""
    right = subject.mask(call)
    found = {
        name: subject.truth(call, mask).out for name, mask in wrong_masks(call, right).items() if (mask != right).any()
    }
    if len(call.key) > 1:
        others = {**others, "text of the next sequence": call.rows(np.roll(np.arange(len(call.key)), 1))}
    for name, other in others.items():
        found[name] = subject.truth(other, subject.mask(other)).out
    return found


def check_last(
    subject: CrossSubject, case: ParameterCase, number: int, call: Step, what: str, law: str, *,
    earlier: Sequence[Result], about: Sequence[str] = (), others: Mapping[str, Step] | None = None,
    begins: bool = False,
) -> list[Result]:  # fmt: skip
    """One step agrees with the truth, and the counterexample shows the calls before it; gives all calls so far.

    The power of `law` is counted by the null models that it is `about`, all of them where none is named.
    """
    judged = subject.judge(case, call)
    if law:
        nulls = null_models(subject, call, others or {})
        count_power(subject, law, {n: out for n, out in nulls.items() if n in about or not about}, judged)
    with after(earlier):
        results = subject.begin(case, number, call) if begins else [subject.attend(case, call, number=number)]
    before = [*earlier, *results[:-1]]
    with after(before):
        compare(subject, case, results[-1], judged, what)
    return [*before, results[-1]]


# --- laws ---------------------------------------------------------------------------------------------------


def steps_attend_to_the_text_that_is_kept(subject: CrossSubject, case: ParameterCase) -> None:
    """The first step on a text and those after it attend to all of its keys.

    Formula: step_t(q) = softmax(q K^T / sqrt(d)) V with the K and V of the first step, for t = 1, 2, 3
    Source: Vaswani et al. (2017), section 3.2.3 (the encoder's keys serve every step)
    Fault: text_grows_with_every_step
    """
    law, number, call = "steps_attend_to_the_text_that_is_kept", subject.fresh_instance(), subject.draw(case)
    results = check_last(subject, case, number, call, "the first step", law, earlier=[], begins=True)
    for turn in ("second", "third"):
        call = subject.later(case, call, turn)
        results = check_last(subject, case, number, call, f"the {turn} step on a text", "", earlier=results)


def dozens_of_steps_leave_the_text_whole(subject: CrossSubject, case: ParameterCase) -> None:
    """After dozens of single queries the first key of the text is still attended to.

    Formula: step_t(q) as if it were the first, for t up to 20
    Source: huggingface/transformers PR46111 (the decoder's window cuts the encoder's keys)
    Fault: text_slides_with_the_decoder
    """
    number, first = subject.fresh_instance(), subject.draw(case, n_q=1)
    results = subject.begin(case, number, first)
    for turn in range(DOZENS - 1):
        call = subject.later(case, first, f"turn {turn}", n_q=1)
        with after(results):
            results.append(subject.attend(case, call, number=number))
    call = subject.later(case, first, "last", n_q=1)
    law, about = "dozens_of_steps_leave_the_text_whole", ("first key left out", "all but the last 8 keys left out")
    check_last(subject, case, number, call, f"step {DOZENS + 1} on a text", law, earlier=results, about=about)


def long_texts_are_kept_whole(subject: CrossSubject, case: ParameterCase) -> None:
    """A text of several hundred keys is kept to its first and to its last one.

    Formula: |o - t| <= E_o for n_kv up to 560
    Source: huggingface/transformers PR46111; stores of 256 or 512 tokens
    Fault: first_256_keys_kept
    """
    law, number, call = "long_texts_are_kept_whole", subject.fresh_instance(), subject.draw(case)
    results = subject.begin(case, number, call)
    call = subject.later(case, call, "second")
    check_last(subject, case, number, call, f"the second step on {case['n_kv']} keys", law, earlier=results)


def a_new_text_takes_the_place_of_the_last(subject: CrossSubject, case: ParameterCase) -> None:
    """A new text, after a reset where there is one, is attended to alone; sizes and dtype are its own.

    It may be declined for its dtype. Rows that were reordered before are in their order again.

    Formula: step on (K', V') after steps on (K, V) = step of a new object on (K', V')
    Source: derivations/chosen_keys.md (appended); huggingface/transformers, EncoderDecoderCache.is_updated
    Fault: first_text_kept
    """
    rng = case.rng("larger")
    larger = case.with_(B=case["B"] + int(rng.integers(0, 3)), n_kv=case["n_kv"] + int(rng.integers(0, 12)))
    larger = larger if supports(subject.implementation, larger) and case.seed % 3 else case
    dtypes = narrow_then_wide(subject.implementation, rng)
    if dtypes is not None and case.seed % 4 == 0:
        larger, case = larger.with_(dtype=dtypes[0]), case.with_(dtype=dtypes[1])
    number, first, second = subject.fresh_instance(), subject.draw(larger, "first"), subject.draw(case, "second")
    results = subject.begin(larger, number, first)
    results.append(subject.attend(larger, subject.later(larger, first, "more"), number=number))
    if subject.protocol.reorder and rng.random() < 0.5:
        rows = rng.permutation(larger["B"])
        with after(results):
            results.append(subject.act(number, subject.protocol.reorder, array(rows, "int64")))
    if subject.protocol.reset and not (subject.protocol.start and case.seed % 2):
        with after(results):
            results.append(subject.act(number, subject.protocol.reset))
    law = "a_new_text_takes_the_place_of_the_last"
    old = {name: getattr(first, name)[: case["B"]] for name in ("key", "value", "counts")}
    both = {name: np.concatenate([old[name], getattr(second, name)], axis=2) for name in ("key", "value")}
    others = {
        "the last text": second.with_(**old),
        "both texts": second.with_(**both, counts=np.full(case["B"], both["key"].shape[2])),
    }
    what = "the first step on a new text"
    results = check_last(
        subject, case, number, second, what, law, earlier=results, about=[*others], others=others, begins=True
    )
    again = subject.later(case, second, "again")
    check_last(subject, case, number, again, "the second step on a new text", "", earlier=results)


def a_declined_text_leaves_the_last_one(subject: CrossSubject, case: ParameterCase) -> None:
    """A text that is declined on purpose, by an exception other than a RuntimeError, takes the place of none.

    The step has keys and values that differ in number. A target that takes it, or fails by accident, is not judged.

    Formula: step after a declined (K', V') = step on (K, V)
    Source: the definition of a refusal
    Fault: declined_keys_replace_the_text
    """
    number, call = subject.fresh_instance(), subject.draw(case)
    results, law = subject.begin(case, number, call), "a_declined_text_leaves_the_last_one"
    other = subject.draw(case, "declined")
    longer = np.concatenate([other.value, other.value[:, :, :1]], axis=2)
    misfit = other.with_(value=longer if case.seed % 2 else other.value[:, :, :-1])
    with record_calls(subject) as calls:
        try:
            subject.begin(case, number, misfit)
        except Refused as refused:
            if "RuntimeError" in str(refused).partition(":")[0]:
                raise NotApplicable("a text that does not fit fails by accident") from None
        except Violation:
            raise NotApplicable("a text that does not fit fails it otherwise") from None
        else:
            raise NotApplicable("it declines no text that does not fit")
    declined = Result(np.zeros(0), calls.sent[-1][0], extra={"declined": True})
    call = subject.later(case, call, "second")
    others = {"the declined text": misfit.with_(value=other.value, query=call.query)}
    what = "a step after a text that was declined"
    check_last(subject, case, number, call, what, law, earlier=[*results, declined], about=[*others], others=others)


def texts_have_their_own_lengths(subject: CrossSubject, case: ParameterCase) -> None:
    """Keys after the length of a text are padding in every step, whatever stands there.

    Formula: step_t(q_b) attends to the keys 1 .. n_b
    Source: derivations/features.md (first-keys); NVIDIA/FasterTransformer#270 (padding changes the cross attention)
    Fault: lengths_of_the_first_step_alone
    """
    if not subject.protocol.lengths:
        raise NotApplicable("it takes no lengths of texts")
    call = subject.draw(case)
    law, about, number = "texts_have_their_own_lengths", ["padding attended to"], subject.fresh_instance()
    results = check_last(subject, case, number, call, "the first step", law, earlier=[], about=about, begins=True)
    call = subject.later(case, call, "second")
    check_last(
        subject, case, number, call, "the second step on texts of several lengths", law, earlier=results, about=about
    )


def beams_are_reordered_with_their_texts(subject: CrossSubject, case: ParameterCase) -> None:
    """Where rows can be reordered, every row attends to the text of the row that it comes from.

    Formula: step after reorder(p) attends with row b to the text of row p_b
    Source: huggingface/transformers#28357, facebookresearch/fairseq2#307, vllm-project/vllm PR38321
    Fault: texts_not_reordered
    """
    if not subject.protocol.reorder:
        raise NotApplicable("it has no method that reorders rows")
    rng, number, call = case.rng("beams"), subject.fresh_instance(), subject.draw(case)
    results, law = subject.begin(case, number, call), "beams_are_reordered_with_their_texts"
    for turn in ("first", "second"):
        rows = len(call.key)
        size = rows if turn == "first" or case.seed % 2 else int(rng.integers(1, rows + 1))
        chosen = rng.permutation(rows)[:size] if rng.random() < 0.5 else rng.integers(rows, size=size)
        with after(results):
            results.append(subject.act(number, subject.protocol.reorder, array(chosen, "int64")))
        moved = call.rows(chosen)
        others = {"rows as they were": moved.with_(**{n: getattr(call, n)[:size] for n in ("key", "value", "counts")})}
        call = subject.later(case, moved, f"after the {turn}")
        others = {name: other.with_(query=call.query) for name, other in others.items()}
        what = f"a step after the {turn} reordering"
        counted = law if turn == "first" else ""
        results = check_last(
            subject, case, number, call, what, counted, earlier=results, about=[*others], others=others
        )


def taking_tokens_back_leaves_the_text(subject: CrossSubject, case: ParameterCase) -> None:
    """Where tokens of the decoder can be taken back, the text stays as long as it is.

    Formula: step after trim(1) = step before it
    Source: huggingface/transformers, EncoderDecoderCache.crop (of the decoder's keys alone); assisted generation
    Fault: crop_cuts_the_text
    """
    if not subject.protocol.trim:
        raise NotApplicable("it has no method that takes tokens back")
    number, call = subject.fresh_instance(), subject.draw(case)
    results = subject.begin(case, number, call)
    tokens = -1 if subject.protocol.trim == "crop" else 1
    with after(results):
        results.append(subject.act(number, subject.protocol.trim, tokens))
    call = subject.later(case, call, "second")
    law, about = "taking_tokens_back_leaves_the_text", ["first key left out", "last key left out"]
    what = f"a step after {subject.protocol.trim}({tokens})"
    check_last(subject, case, number, call, what, law, earlier=results, about=about)


def two_objects_keep_their_own_texts(subject: CrossSubject, case: ParameterCase) -> None:
    """Two objects used in turn, as one a layer, keep apart.

    Formula: step_t of either object attends to its own text
    Source: Python's class attributes; buffers that belong to a class
    Fault: one_text_for_all_objects
    """
    numbers = [subject.fresh_instance() for _ in range(2)]
    calls = [subject.draw(case, name) for name in ("one", "other")]
    results: list[Result] = []
    for number, call in zip(numbers, calls, strict=True):
        with after(results):
            results += subject.begin(case, number, call)
    law, others = "two_objects_keep_their_own_texts", {"the other object's text": calls[1]}
    call = subject.later(case, calls[0], "second")
    others = {name: other.with_(query=call.query) for name, other in others.items()}
    what = "the second step of one of two objects"
    check_last(subject, case, numbers[0], call, what, law, earlier=results, about=[*others], others=others)


def query_heads_share_kept_key_heads_in_order(subject: CrossSubject, case: ParameterCase) -> None:
    """Where fewer key heads than query heads are taken, neighbouring query heads share one, in every step.

    Whether they are taken is found by a call.

    Formula: query head h attends to key head h // (H / H_kv)
    Source: Ainslie et al., GQA (2023)
    Fault: key_heads_in_turn
    """
    if not subject.takes_fewer_key_heads(case):
        raise NotApplicable("it takes as many key heads as query heads")
    number, call = subject.fresh_instance(), subject.draw(case)
    results = subject.begin(case, number, call)
    call = subject.later(case, call, "second")
    order = np.arange(call.query.shape[1]) % call.key.shape[1]
    turned = {"key heads in turn": call.with_(key=call.key[:, order], value=call.value[:, order])}
    law, what = "query_heads_share_kept_key_heads_in_order", "the second step with fewer key heads"
    check_last(subject, case, number, call, what, law, earlier=results, about=[*turned], others=turned)


def large_scores_on_a_kept_text_stay_numbers(subject: CrossSubject, case: ParameterCase) -> None:
    """Scores of several hundred neither overflow nor vanish.

    Formula: |o - t| <= E_o for scores far above log of the largest number, of either sign
    Source: derivations/online_softmax.md (shift); exp(s) without the row's maximum
    Fault: maximum_not_subtracted
    """
    number, call = subject.fresh_instance(), subject.draw(case)
    call = call.with_(query=round_to(call.query * factor_of_far(case), case.dtype))
    check_last(subject, case, number, call, "a step with large scores", "", earlier=[], begins=True)


def _beyond_usual_stores(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """More than the 256 or 512 keys that stores are often made for."""
    return {**sizes, "n_kv": int(rng.integers(257, 321) if rng.random() < 0.6 else rng.integers(513, 561))}


RANGES = {
    "B": (1, 3), "H_kv": (1, 3), "group": (1, 1), "n_q": (1, 4), "n_kv": (2, 12), "d": (1, 8), "d_v": (1, 8)
}  # fmt: skip
MODELS = {"d": (32, 64), "d_v": (32, 64), "n_q": (1, 20), "n_kv": (33, 70)}
SPACE = Sizes(RANGES, adjust=as_in_models(MODELS))
SMALL = Sizes({**RANGES, "n_kv": (1, 12)}, adjust=single_tokens(count_many(share=0.15), 0.1))
FAR_SPACE = replace(SMALL, options={**SMALL.options, **FAR_SCORES})
ROWS = Sizes({**RANGES, "B": (2, 4)})
FEW = Sizes({**RANGES, "B": (1, 2), "H_kv": (1, 2), "n_kv": (10, 24)})
LONG = Sizes(
    {**RANGES, "B": (1, 1), "H_kv": (1, 1), "n_kv": (257, 560), "d": (1, 3), "d_v": (1, 3)}, adjust=_beyond_usual_stores
)
SHARED = Sizes({**RANGES, "H_kv": (2, 5), "group": (2, 8)}, APART, adjust=share_heads())
ROW: dict[str, Any] = {"contract": CONTRACT, "family": "cross_cache", "large": 8, "small": 0, "space": SMALL}
LAWS = (
    Law(steps_attend_to_the_text_that_is_kept, **{**ROW, "large": 16, "space": SPACE}, central=True),
    Law(dozens_of_steps_leave_the_text_whole, **{**ROW, "large": 4, "space": FEW}),
    Law(long_texts_are_kept_whole, **{**ROW, "large": 4, "space": LONG}),
    Law(a_new_text_takes_the_place_of_the_last, **{**ROW, "large": 12}),
    Law(
        a_declined_text_leaves_the_last_one,
        **ROW,
        declares=lambda i: i.array == "torch",
        because="arrays of other libraries fail by the same exceptions as a text that is declined",
    ),
    Law(texts_have_their_own_lengths, **{**ROW, "large": 12, "space": ROWS}),
    Law(beams_are_reordered_with_their_texts, **{**ROW, "large": 12, "space": ROWS}),
    Law(taking_tokens_back_leaves_the_text, **ROW),
    Law(two_objects_keep_their_own_texts, **{**ROW, "large": 6}),
    Law(query_heads_share_kept_key_heads_in_order, **{**ROW, "large": 16, "space": SHARED}),
    Law(large_scores_on_a_kept_text_stay_numbers, **{**ROW, "large": 12, "space": FAR_SPACE}),
)
COMPARISONS = tuple(law.name for law in LAWS[1:])
