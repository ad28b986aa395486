"""Laws of merging: (out, lse) of parts of the keys become (out, lse) of all of them.

A part is attention over some keys: its output and its log-sum-exp. A part without keys has lse = -inf, and whatever
finite number stands in its output does not count; NaN there is a matter of declaration (`--masked-nan ignored`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from attention_core import oracle
from attention_core.conformance.budgets.budget import round_to
from attention_core.conformance.budgets.merge_bound import GivenErrors, MergeBounds, merge_gradient_bound
from attention_core.conformance.cases.counts import count_many
from attention_core.conformance.cases.null_models import SEPARATION
from attention_core.conformance.subjects.evidence import NotApplicable, Result, require_close, require_same
from attention_core.conformance.subjects.law import DIAGNOSE, Law
from attention_core.conformance.subjects.merge_subject import REGIMES, Merger, Parts
from attention_core.conformance.subjects.parameter_case import (
    ParameterCase,
    Sizes,
    after,
    as_argument,
    as_in_models,
    require_sizes,
)
from attention_core.conformance.worker.exchange import NDArray
from attention_core.declaration.implementation import Implementation

CONTRACT = "merge"


def null_models(parts: Parts) -> dict[str, tuple[NDArray, NDArray]]:
    """What a merge with one thing missing gives: (out, lse) by the name of what it gets wrong."""
    outs, lses = parts.outs, parts.lses
    out, lse = oracle.merge(outs, lses)
    live = (lses > -np.inf)[..., None]
    with np.errstate(invalid="ignore", divide="ignore"):
        count = np.maximum(live.sum(0), 1)
        top = lses.max(axis=0)
        shares = np.exp(lses - np.where(top == -np.inf, 0.0, top))[..., None]
        return {
            "mean of the parts": (np.where(live, outs, 0.0).sum(0) / count, lse),
            "the first part alone": (outs[0], lses[0]),
            "the last part alone": (outs[-1], lses[-1]),
            "shares not divided by their sum": ((shares * np.where(live, outs, 0.0)).sum(0), lse),
            "the largest lse for the total": (out, top),
            "powers of two for powers of e": (oracle.merge(outs, lses * np.log(2.0))[0], lse),
            "parts in the wrong place": (oracle.merge(outs, lses[::-1])[0], lse),
        }


def count_power(
    subject: Merger, law: str, nulls: Mapping[str, tuple[NDArray, NDArray]], truth: tuple[NDArray, NDArray],
    bounds: MergeBounds,
) -> None:  # fmt: skip
    """Note which null models a case could tell from the truth.

    Raises: NotApplicable where it could tell none: such a case cannot fail.
    """
    some = False
    for name, null in nulls.items():
        with np.errstate(invalid="ignore"):
            apart = [
                np.where(np.isfinite(true) & np.isfinite(other), np.abs(other - true), 0.0)
                for other, true in zip(null, truth, strict=True)
            ]
        separated = any(bool((a > SEPARATION * b).any()) for a, b in zip(apart, (bounds.out, bounds.lse), strict=True))
        subject.relevant[law, name] += any(bool((a > 1e-12).any()) for a in apart)
        subject.powers[law, name] += separated
        some |= separated
    if not some:
        raise NotApplicable("no wrong merge that is tried would stand out")


def check_merge(
    subject: Merger,
    case: ParameterCase,
    parts: Parts,
    what: str,
    *,
    view: str = "contiguous",
    where: NDArray | None = None,
) -> tuple[Result, Result]:
    """One call agrees with the truth in both results; `where` (B, H, n) selects rows."""
    truth = subject.truth(parts)
    bounds = subject.bounds(case, parts, truth)
    out, lse = subject.merge(case, parts, view)
    dead = truth[1] == -np.inf
    rows = np.ones(dead.shape, dtype=bool) if where is None else where
    judged = rows & ~dead if subject.implementation.dead_rows == "unspecified" else rows
    ratio = require_close(out, truth[0], bounds.out, f"out of {what}", where=judged[..., None])
    require_close(lse, truth[1], bounds.lse, f"lse of {what}", where=rows)
    key = (case.dtype, "merge")
    subject.ratios[key] = max(subject.ratios.get(key, 0.0), ratio)
    return out, lse


def with_empty(case: ParameterCase, parts: Parts, *, every: bool = False) -> Parts:
    """The parts, one of them empty in every row, or in some rows (and all of them in a few, with `every`)."""
    rng, (number, *rows) = case.rng("empty"), parts.lses.shape
    lses = parts.lses.copy()
    chosen = int(rng.integers(number))
    lses[chosen][rng.random(rows) < (1.0 if rng.random() < 0.4 else 0.5)] = -np.inf
    lses[chosen].reshape(-1)[0] = -np.inf
    if every:
        lses[:, rng.random(rows) < 0.4] = -np.inf
        lses.reshape(number, -1)[:, -1] = -np.inf
    return Parts(parts.outs, lses)


def merge_agrees_with_the_truth(subject: Merger, case: ParameterCase) -> None:
    """Merged parts are attention over the union of their keys, output and log-sum-exp.

    Formula: lse = log sum_a e^lse_a, out = sum_a e^(lse_a - lse) out_a, each within its budget
    Source: derivations/online_softmax.md (merge-out, merge-lse); vllm-project/vllm PR52796, sgl-project/sglang#40903
    Fault: powers_of_two_of_natural_logs
    """
    parts = subject.parts(case)
    truth = subject.truth(parts)
    bounds = subject.bounds(case, parts, truth)
    count_power(subject, "merge_agrees_with_the_truth", null_models(parts), truth, bounds)
    check_merge(subject, case, parts, "the merged parts")


def an_empty_part_is_neutral(subject: Merger, case: ParameterCase) -> None:
    """A part without keys, lse = -inf, changes nothing, whatever finite numbers its output holds.

    Formula: lse_a = -inf implies merge(..., (out_a, lse_a), ...) = merge of the others, for out_a from 0 to 1e30
    Source: vllm-project/vllm PR49294, vllm-project/vllm#27491, vllm-project/vllm PR15492
    Fault: empty_lse_clamped
    """
    parts = with_empty(case, subject.parts(case))
    low = parts.lses > -np.inf
    if case.seed % 3 == 0:  # below every number that stands for "no key"
        parts = Parts(parts.outs, np.where(low, parts.lses - 20000.0, -np.inf))
    garbage = float(case.rng("garbage").choice([0.0, 1.0, -7.0, 1e3]))
    if garbage == 1e3 and case.dtype != "float16":
        garbage = round_to(np.asarray(1e30), case.dtype).item()
    parts = subject.round_parts(case, np.where(low[..., None], parts.outs, garbage), parts.lses)
    truth = subject.truth(parts)
    null = oracle.merge(parts.outs, np.where(low, parts.lses, 0.0))
    bounds = subject.bounds(case, parts, truth)
    count_power(subject, "an_empty_part_is_neutral", {"lse = -inf read as 0": null}, truth, bounds)
    check_merge(subject, case, parts, "parts of which some are empty")


def rows_without_any_key_stay_empty(subject: Merger, case: ParameterCase) -> None:
    """Where every part is empty, so is the result: lse = -inf, the output as declared; other rows are right.

    Formula: lse_a = -inf for all a implies lse = -inf and out = 0 (or as --dead-rows says)
    Source: flashinfer-ai/flashinfer#4051, vllm-project/vllm PR39148, vllm-project/vllm PR28181
    Fault: nan_where_all_are_empty
    """
    parts = with_empty(case, subject.parts(case), every=True)
    left = float(case.rng("left").choice([0.0, 1.0, -7.0]))  # what stands in the outputs of empty parts
    parts = subject.round_parts(case, np.where((parts.lses > -np.inf)[..., None], parts.outs, left), parts.lses)
    check_merge(subject, case, parts, "rows of which some have no key in any part")


def nan_in_an_empty_part_is_ignored(subject: Merger, case: ParameterCase) -> None:
    """NaN in the output of an empty part does not reach the result, where that is declared.

    Formula: lse_a = -inf, out_a = NaN implies merge(..., (out_a, lse_a), ...) = merge of the others
    Source: vllm-project/vllm PR49294 (undefined outputs of empty chunks); kernels that leave rows without keys NaN
    Fault: empty_output_times_zero
    """
    parts = with_empty(case, subject.parts(case))
    parts = Parts(np.where((parts.lses > -np.inf)[..., None], parts.outs, np.nan), parts.lses)
    check_merge(subject, case, parts, "parts of which some are empty and hold NaN")


def merging_is_associative(subject: Merger, case: ParameterCase) -> None:
    """Merging the first two of three parts first, or the last two, gives the same.

    Formula: |merge(merge(a, b), c) - merge(a, merge(b, c))| <= E((a b) c) + E(a (b c)), in out and lse
    Source: derivations/online_softmax.md (merge-out); derivations/merged_parts.md (given-factor)
    Fault: lse_of_the_larger_part
    """
    require_sizes(subject.implementation, case.with_(parts=2))
    three = subject.parts(case, number=3)
    left, of_left, first = _merge_in_two_steps(subject, case, three, first=0)
    right, of_right, second = _merge_in_two_steps(subject, case, three, first=1)
    with after([*first, *second]):
        for i, name in enumerate(("out", "lse")):
            bound = getattr(of_left, name) + getattr(of_right, name)
            require_same(left[i], right[i], bound, f"{name} of ((a b) c) against (a (b c))")


def _merge_in_two_steps(
    subject: Merger, case: ParameterCase, three: Parts, first: int
) -> tuple[tuple[Result, Result], MergeBounds, tuple[Result, Result]]:
    """The results of three parts merged from `first` and its neighbour on, their budgets, and the first call's results.

    The second call is handed what the first returned; its truth is that of what the first should have returned.
    """
    pair, other = three.part([first, first + 1]), three.part([2 - 2 * first])
    out, lse = once = subject.merge(case, pair)
    truth = subject.truth(pair)
    bounds = subject.bounds(case, pair, truth)
    given = subject.round_parts(case, out.values, lse.values)
    off = Parts(
        bounds.out + np.abs(given.outs - out.values), bounds.lse + np.abs(given.lses - lse.values)
    )  # the result itself, and its rounding to the dtype of a part

    def beside(out: NDArray, lse: NDArray, third: Parts) -> Parts:
        both = [(out, lse), (third.outs[0], third.lses[0])][:: 1 - 2 * first]
        return Parts(np.stack([x for x, _ in both]), np.stack([x for _, x in both]))

    exact = beside(*truth, other)
    errors = beside(off.outs, off.lses, Parts(0 * other.outs, 0 * other.lses))
    limits = subject.bounds(case, exact, subject.truth(exact), GivenErrors(errors.outs, errors.lses))
    return subject.merge(case, beside(given.outs, given.lses, other)), limits, once


def parts_come_in_any_order(subject: Merger, case: ParameterCase) -> None:
    """The order of the parts does not matter.

    Formula: |merge(a, b, ...) - merge(..., b, a)| <= 2 E, in out and lse
    Source: attention does not depend on the order of its keys; sgl-project/sglang#40903
    Fault: first_part_leads
    """
    parts = with_empty(case, subject.parts(case)) if case.seed % 2 else subject.parts(case)
    parts = subject.round_parts(case, np.where((parts.lses > -np.inf)[..., None], parts.outs, 0.0), parts.lses)
    truth = subject.truth(parts)
    bounds = subject.bounds(case, parts, truth)
    order = [int(i) for i in case.rng("order").permutation(len(parts.lses))]
    order = order[::-1] if order == sorted(order) else order
    one, other = subject.merge(case, parts), subject.merge(case, parts.part(order))
    live = truth[1] > -np.inf
    require_same(other[0], one[0], 2 * bounds.out, "out of the parts in another order", where=live[..., None])
    require_same(other[1], one[1], 2 * bounds.lse, "lse of the parts in another order")


def large_lse_neither_overflow_nor_vanish(subject: Merger, case: ParameterCase) -> None:
    """Log-sum-exps of a few thousand, of either sign, merge as any others: only their differences count.

    Formula: |merge - truth| <= E for lse_a in c + N(0, 1), c up to 1e4 in size
    Source: derivations/online_softmax.md (merge-lse); flashinfer-ai/flashinfer PR5262 (very negative finite scores)
    Fault: exponentials_without_a_maximum
    """
    parts = subject.parts(case, "large")
    truth = subject.truth(parts)
    bounds = subject.bounds(case, parts, truth)
    count_power(subject, "large_lse_neither_overflow_nor_vanish", null_models(parts), truth, bounds)
    check_merge(subject, case, parts, "parts with large log-sum-exps")


def many_rows_and_parts_are_merged(subject: Merger, case: ParameterCase) -> None:
    """Every row, head and feature of a large call is merged by its own log-sum-exps.

    Formula: |merge - truth| <= E for n up to 300, H up to 40, d up to 256, parts up to 40
    Source: vllm-project/vllm PR18807; blocks of rows and features in merging kernels
    Fault: features_beyond_128_are_the_first_parts
    """
    check_merge(subject, case, subject.parts(case), "large parts")


def strides_are_followed(subject: Merger, case: ParameterCase) -> None:
    """Parts that lie in memory in another order, or inside a larger buffer, merge as any others.

    Formula: merge(views of x) = merge(x)
    Source: vllm-project/vllm PR18807 (slices read as if they were whole); log-sum-exps transposed in memory
    Fault: memory_read_in_order
    """
    view = str(case.rng("view").choice(["transposed", "heads_last", "heads_chunk", "sliced", "padded", "offset"]))
    check_merge(subject, case, subject.parts(case), f"parts whose memory is {view.replace('_', ' ')}", view=view)


def merge_gradients_are_true(subject: Merger, case: ParameterCase) -> None:
    """Output and log-sum-exp have the gradients of their closed form, also where one part is empty.

    A merge that carries no gradient is left out, and the report says so. A row without any key gives zeros: its output
    does not depend on its parts, and a NaN would reach every key of these, as 0 times NaN in their own gradients.

    Formula: d out_a = q_a c, d lse_a = q_a (<out_a, c> - <out, c>), of the log-sum-exp q_a c; q_a = e^(lse_a - lse)
    Source: derivations/merged_parts.md (given-gradient); derivations/softmax_backward.md (softmax-vjp)
    Fault: gradient_of_the_lse_lost
    """
    if subject.call_form.kind in ("into", "in_place"):
        raise NotApplicable("it writes into its arguments")
    parts = subject.parts(case)
    parts = with_empty(case, parts, every=case.seed % 3 > 0) if case.seed % 2 else parts
    parts = subject.round_parts(case, np.where((parts.lses > -np.inf)[..., None], parts.outs, 0.0), parts.lses)
    truth = subject.truth(parts)
    bounds = subject.bounds(case, parts, truth)
    of = case.seed // 2 % 2
    down = case.values("cotangent", *truth[of].shape)
    if of:  # of a log-sum-exp of -inf nothing comes back
        down[truth[1] == -np.inf] = 0.0
    true = oracle.merge_gradients(parts.outs, parts.lses, **{("out", "lse")[of]: down})
    given = {"of_lse": bool(of), "converts": subject.converts}
    limits = merge_gradient_bound(parts.outs, down, bounds, true, case.dtype, **given)
    dead = truth[1] == -np.inf
    limits = np.where(dead[..., None], 0.0, limits[0]), np.where(dead, 0.0, limits[1])
    _check_gradients(subject, case, parts, down, true, limits, of)


def _check_gradients(
    subject: Merger, case: ParameterCase, parts: Parts, down: NDArray, true: tuple[NDArray, NDArray],
    limits: tuple[NDArray, NDArray], of: int,
) -> None:  # fmt: skip
    """One call with derivatives of one of its results, held against the true ones."""
    own = (subject.out, subject.lse)[of]
    sent = own.to_target(down)
    factor = float(np.log(subject.call_form.base))
    sent = sent * factor if of else sent  # the target's lse is the natural one over log(base)
    sent = round_to(sent, case.dtype)
    request = subject.request_of(case, parts)
    request = replace(
        request, wrt=tuple(map(str, range(len(request.args)))), of=of, cotangent=as_argument(sent, case.dtype)
    )
    response = subject.send(request)
    if not response.has_graph:
        raise NotApplicable("it carries no gradient")
    rows = np.asarray((parts.lses > -np.inf).any(axis=0)) | (subject.implementation.dead_rows == "zeros")
    for place in range(len(request.args)):
        which = place % 2
        value, arranged = response.gradients.get(str(place)), (subject.outs, subject.lses)[which]
        stacked = subject.call_form.kind == "stacked"
        want, bound = (x[which] if stacked else x[which][place // 2] for x in (true, limits))
        got = Result(np.zeros(want.shape), request, f"grad:{place}", arranged.place, back=arranged.back)
        got.extra["missing"] = value is None
        if value is not None:
            got.values = arranged.from_target(value.values.astype(np.float64))
        scale = factor if which else 1.0
        where = np.broadcast_to(rows[..., None] if which == 0 else rows, want.shape)
        what = f"gradient of {('out', 'lse')[of]} by the part's {('out', 'lse')[which]}"
        require_close(got, want * scale, bound * scale, what, where=where)


def _wide_or_many(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """Two or three parts of many rows, heads and features, or dozens of small parts."""
    if rng.random() < 0.5:
        return {**sizes, "parts": int(rng.integers(17, 41)), "H": 1, "n": int(rng.integers(1, 6)), "d": 3}
    rows = {"n": int(rng.integers(33, 70)), "H": int(rng.integers(9, 33)), "d": int(rng.integers(129, 257))}
    return {**sizes, **rows, "parts": int(rng.integers(2, 4))}


def _differentiable(implementation: Implementation) -> bool:
    return implementation.gradients and implementation.array == "torch"


RANGES = {"parts": (2, 5), "B": (1, 3), "H": (1, 3), "n": (1, 6), "d": (1, 8)}
MODELS = {"n": (17, 70), "H": (5, 9), "d": (60, 136)}
SPACE = Sizes(RANGES, {"regime": REGIMES}, adjust=as_in_models(MODELS))
SMALL = Sizes(RANGES, {"regime": ("normal", "equal", "apart")}, adjust=count_many(share=0.3))
SINGLE = Sizes(RANGES, {"regime": ("normal", "apart")}, dtypes=("float32", "float64"))
VIEWS = Sizes({**RANGES, "n": (2, 6), "H": (2, 3), "d": (2, 8)}, {"regime": ("normal",)})
LARGE = Sizes(
    {"parts": (2, 40), "B": (1, 2), "H": (1, 33), "n": (1, 300), "d": (1, 256)}, {"regime": ("normal", "apart")},
    adjust=_wide_or_many,
)  # fmt: skip
ROW: dict[str, Any] = {"contract": CONTRACT, "family": "merge", "large": 12, "small": 0, "space": SMALL}
LAWS = (
    Law(merge_agrees_with_the_truth, **{**ROW, "large": 24, "space": SPACE}, central=True),
    Law(large_lse_neither_overflow_nor_vanish, **ROW),
    Law(an_empty_part_is_neutral, **ROW),
    Law(rows_without_any_key_stay_empty, **ROW),
    Law(
        nan_in_an_empty_part_is_ignored, **ROW, declares=lambda i: i.masked_nan == "ignored",
        because="masked_nan=ignored is not declared",
    ),
    Law(many_rows_and_parts_are_merged, **{**ROW, "large": 6, "space": LARGE}),
    Law(merging_is_associative, **ROW, role=DIAGNOSE),
    Law(parts_come_in_any_order, **ROW, role=DIAGNOSE),
    Law(strides_are_followed, **{**ROW, "space": VIEWS}),
    Law(
        merge_gradients_are_true, **{**ROW, "space": SINGLE}, declares=_differentiable,
        because="gradients are not declared, or not of torch's arrays", absent="gradients are not tested",
    ),
)  # fmt: skip
COMPARISONS = (
    "an_empty_part_is_neutral", "rows_without_any_key_stay_empty", "nan_in_an_empty_part_is_ignored",
    "large_lse_neither_overflow_nor_vanish", "many_rows_and_parts_are_merged", "strides_are_followed",
    "merge_gradients_are_true",
)  # fmt: skip
