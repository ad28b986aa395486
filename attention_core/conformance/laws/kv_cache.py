"""Laws of key-value caches: a factory `() -> step(query, key, value) -> out` that attends to everything seen so far."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, cycle, islice, pairwise
from typing import Any

import numpy as np

from attention_core.conformance.budgets.budget import round_to
from attention_core.conformance.cases.counts import GROUPS, count_many, share_heads
from attention_core.conformance.laws.cache_steps import Cache, check_steps, larger_than, two_chunks
from attention_core.conformance.subjects.axes import put_heads_in_order
from attention_core.conformance.subjects.evidence import (
    Evidence,
    NotApplicable,
    Refused,
    Result,
    Shown,
    Violation,
    require_close,
)
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.parameter_case import (
    APART,
    LARGE_SCORES,
    ParameterCase,
    Sizes,
    after,
    as_argument,
    as_in_models,
    narrow_then_wide,
    supports,
)
from attention_core.conformance.worker.exchange import NDArray, Request, Response
from attention_core.declaration.implementation import Implementation
from attention_core.declaration.scales import scale_of

CONTRACT = "kv-cache"
FITTING = 2.0**15
"""A score beyond the finite numbers that are added to masked ones in float16, and far below those of float32."""

SINGLE_TOKENS = (1, 1, 1)
"""Tokens between two chunks of one length."""
STEP, LAST = 1000, 4
"""A long prompt comes in steps of so many tokens; its last rows are compared."""


def a_second_cache_of_the_same_size_is_new(subject: Cache, case: ParameterCase) -> None:
    """Two caches of equal sizes, one after the other, both give the rows of one full causal pass.

    Comes first, at one size: a store that belongs to the class refuses every later size, and would never be judged.

    Formula: step(x[a:b]) = full(x)[a:b] in the first cache, and in the second
    Source: Python's class attributes; a default argument that is a list
    Fault: cache_shared_by_instances
    """
    first = subject.run(case, subject.fresh_instance(), subject.inputs(case), two_chunks(case))
    check_steps(subject, case, two_chunks(case), "in a second cache", earlier=first)


def chunks_equal_the_full_pass(subject: Cache, case: ParameterCase) -> None:
    """Feeding a sequence in chunks, cut anywhere, gives the rows of one full causal pass.

    Formula: step(x[a:b]) = full(x)[a:b] for all cuts
    Source: meta-llama/llama#899, skyzh/tiny-llm PR46, fla-org/flash-linear-attention#126
    Fault: square_mask_with_cache
    """
    check_steps(subject, case, cut_anywhere(case), "chunked")


def cut_anywhere(case: ParameterCase) -> list[int]:
    """Where chunks end: anywhere, and at and around pages; two times in five six chunks or more of one length.

    Half of those follow each other, the others have single tokens between them, as the turns of a talk do.
    """
    rng, n = case.rng("cuts"), case["n"]
    inner = {int(c) for c in rng.integers(1, max(n, 2), size=3)}
    inner |= {int(c) for c in rng.choice([7, 8, 9, 15, 16, 17, 31, 32, 33], size=2)}  # at and around pages
    share = rng.random()
    if share < 0.4:
        steps = [max(2, n // 6)] if share < 0.2 else [max(2, n // 6), *SINGLE_TOKENS]
        inner = {*accumulate(islice(cycle(steps), n))}
    return sorted({0, *(c for c in inner if c < n), n})


def single_steps_equal_the_full_pass(subject: Cache, case: ParameterCase) -> None:
    """Feeding one token at a time gives the rows of one full causal pass.

    Formula: step(x[i:i+1]) = full(x)[i]
    Source: rajveer43/VeloxQuant-MLX#389 (the offset after eviction)
    Fault: values_one_step_late
    """
    check_steps(subject, case, range(case["n"] + 1), "token by token")


def many_single_steps_equal_the_full_pass(subject: Cache, case: ParameterCase) -> None:
    """Feeding dozens of tokens one at a time keeps every one of them.

    Formula: step(x[i:i+1]) = full(x)[i], n up to 72
    Source: stores that grow by steps, of 16 or 64 tokens; rajveer43/VeloxQuant-MLX#389
    Fault: newest_token_overwritten_after_twenty_steps
    """
    check_steps(subject, case, range(case["n"] + 1), "token by token")


def a_prompt_then_tokens(subject: Cache, case: ParameterCase) -> None:
    """A long prompt followed by single tokens gives the rows of one full causal pass.

    Formula: step(x[:p]), step(x[p]), ... = full(x)
    Source: huggingface/candle PR3743; keras-team/keras-hub#2861 (decoding wrong, prefill right)
    Fault: last_step_attends_to_itself_alone
    """
    prompt = max(1, case["n"] - 3)
    check_steps(subject, case, [0, *range(prompt, case["n"] + 1)], "prompt, then tokens")


def a_new_cache_is_empty(subject: Cache, case: ParameterCase) -> None:
    """A second cache from the factory knows nothing of the first, which held more and longer sequences.

    Formula: the second sequence equals its own full pass
    Source: tenstorrent/tt-inference-server PR4557 (a stale position on reuse)
    Fault: cache_shared_by_instances
    """
    larger = larger_than(subject, case)
    first = subject.run(larger, subject.fresh_instance(), subject.inputs(larger, "other"), [0, larger["n"]])
    check_steps(subject, case, two_chunks(case), "after another cache was used", earlier=first)


def two_caches_do_not_mix(subject: Cache, case: ParameterCase) -> None:
    """Two caches used in turn keep apart: every step of both is right, as with one cache a layer.

    Formula: interleaved steps of two sequences equal their own full passes, step by step
    Source: as a_new_cache_is_empty; vLLM and transformers keep a cache for every layer, all alive together
    Fault: buffers_belong_to_the_class
    """
    layers = [(subject.fresh_instance(), subject.inputs(case, purpose)) for purpose in ("", "other")]
    truths = [subject.truth(case, *parts) for _, parts in layers]
    steps: list[Result] = []
    places = [(layer, rows) for rows in pairwise(sorted({0, max(1, case["n"] // 2), case["n"]})) for layer in (0, 1)]
    for layer, (start, stop) in places:
        instance, parts = layers[layer]
        with after(steps):
            steps += subject.run(case, instance, [a[..., start:stop, :] for a in parts], [0, stop - start])
    # The last first: its counterexample shows the steps of the other cache, too.
    for number, (layer, (start, stop)) in reversed(list(enumerate(places))):
        true, bound = (a[..., start:stop, :] for a in truths[layer])
        with after(steps[:number]):
            require_close(steps[number], true, bound, f"rows {start} to {stop - 1} of one of two caches")


def tokens_outlive_the_callers_arrays(subject: Cache, case: ParameterCase) -> None:
    """A cache keeps the numbers of its tokens, not the caller's arrays, which the caller may use for something else.

    Formula: step(x[a:b]), x[a:b] <- NaN, step(x[b:c]) = full(x)[b:c]
    Source: the definition of a function; captured graphs and servers write every step into the same input buffers
    Fault: callers_arrays_are_kept
    """
    third = max(1, case["n"] // 3)
    cuts = sorted({0, third, min(2 * third, case["n"]), case["n"]})
    what = "after the caller wrote into the arrays of earlier steps (if nobody may, declare --parameter inputs=kept)"
    check_steps(subject, case, cuts, what, overwrite_="inputs")


def decoding_after_a_long_prompt(subject: Cache, case: ParameterCase) -> None:
    """After a prompt of 64 to 512 tokens, several sequences are decoded by 1, 4 and 8 tokens at a time.

    Formula: step(x[:p]), step(x[p:p+m]), ... = full(x), m in {1, 4, 8}, B >= 2
    Source: split decoding kernels switch at such lengths; pytorch/pytorch#181133, flashinfer-ai/flashinfer#4347
    Fault: decoding_reads_the_first_sequence
    """
    order = [int(m) for m in case.rng("steps").permutation([1, 4, 8])]
    ends = [case["n"] + sum(order[:i]) for i in range(4)]
    check_steps(subject, case.with_(n=ends[-1]), [0, *ends], "decoding")


def steps_outlive_the_next_step(subject: Cache, case: ParameterCase) -> None:
    """The output of a step still holds its numbers after the next step of the same length.

    Formula: y = step(x[:m]), step(x[m:2 m]), then y = full(x)[:m]
    Source: the definition of a function; servers keep one buffer for the step that is decoded
    Fault: output_of_the_last_step
    """
    half, built = case["n"] // 2, subject.step_fields(subject.fresh_instance())
    if not half:
        raise NotApplicable
    parts = subject.inputs(case)
    true, bound = subject.truth(case, *parts)
    first, second = ([a[..., rows, :] for a in parts] for rows in (slice(0, half), slice(half, 2 * half)))
    between = subject.request(*second, dtype=case.dtype, **built)
    got = subject.step(case, first, between_=between, **built)
    what = f"rows 0 to {half - 1}, looked at after the next step"
    require_close(got, true[..., :half, :], bound[..., :half, :], what)


def a_reset_cache_is_empty(subject: Cache, case: ParameterCase) -> None:
    """After `reset()`, where a cache has one, it starts from nothing: sizes and dtype of the next text are its own.

    A step of other heads, features or another dtype than before may be declined.

    Formula: step after reset = first step
    Source: tenstorrent/tt-inference-server PR4557
    Fault: position_not_reset
    """
    number = subject.fresh_instance()
    earlier_case, case = before_reset(subject, case)
    parts = subject.inputs(earlier_case, "other")
    if earlier_case is case:  # two texts of one beginning
        parts[1][..., :1, :] = subject.inputs(case)[1][..., :1, :]
    used = subject.run(earlier_case, number, parts, [0, earlier_case["n"]])
    request = subject.request(method_="reset", instance_=(number, subject.arguments))
    failure = subject.runner.run(request).failure  # what reset returns is its own affair
    if failure is not None and "AttributeError" in failure.types:
        raise NotApplicable("it has no reset()")
    if failure is not None and "WrongReturn" not in failure.types:
        evidence = Evidence((Shown(request),), kind="crash", before=tuple(Shown(r.request) for r in used))
        raise Violation(f"reset() raised {failure.types[0]}: {failure.message}", evidence)
    third = case["n"] // 3
    cuts = sorted({0, case["n"] - 2 * third, case["n"] - third, case["n"]})
    if earlier_case is case:
        cuts = [0, case["n"]]
    earlier = [*used, Result(np.zeros(0), request)]
    try:
        check_steps(subject, case, cuts, "after reset", number, earlier)
    except Refused as refused:
        if (earlier_case.dtype, earlier_case["H"], earlier_case["d"]) != (case.dtype, case["H"], case["d"]):
            raise  # a store of one dtype and one width may say so
        subject.run(case, subject.fresh_instance(), subject.inputs(case), cuts)  # declined by a new cache, too?
        assert refused.request is not None
        before = tuple(Shown(result.request) for result in (*earlier, *refused.before))
        message = f"a step after reset() was declined, which a new cache takes: {refused}"
        raise Violation(message, Evidence((Shown(refused.request),), kind="crash", before=before)) from None


def before_reset(subject: Cache, case: ParameterCase) -> tuple[ParameterCase, ParameterCase]:
    """Cases of the texts before and after a reset: the first larger, of a less precise dtype, of other
    heads or features, or the same."""
    rng = case.rng("before reset")
    way, dtypes = rng.random(), narrow_then_wide(subject.implementation, rng)
    if way > 0.8:
        return case, case
    if way < 0.3 and dtypes is not None:
        return case.with_(dtype=dtypes[0]), case.with_(dtype=dtypes[1])
    if way > 0.6:
        other = case.with_(**{str(rng.choice(["H", "d"])): int(rng.integers(1, 9))})
        if supports(subject.implementation, other):
            return other, case
    return larger_than(subject, case), case


def a_declined_step_leaves_the_cache_as_it_was(subject: Cache, case: ParameterCase) -> None:
    """A step that a cache declines on purpose, by an exception other than a RuntimeError, is not kept in part.

    The steps do not fit (another number of queries, keys or values, of sequences, heads or features,
    another dtype) and one of hundreds of tokens. A cache that declines none of them is not judged.

    Formula: step(x[a:b]) after a declined step = step(x[a:b]) without it
    Source: the definition of a refusal; skyzh/tiny-llm PR46 (an offset counted before the step is checked)
    Fault: declined_keys_are_kept
    """
    cuts = two_chunks(case)
    first = cuts[1] if len(cuts) > 2 and case.seed % 4 else 0
    number, parts = subject.fresh_instance(), subject.inputs(case)
    true, bound = subject.truth(case, *parts)
    before = subject.run(case, number, parts, [0, first]) if first else []
    declined = decline_on_purpose(subject, case, number)
    rows = slice(first, case["n"])
    rest, what = [a[..., rows, :] for a in parts], f"rows {first} to {case['n'] - 1}, after a step that was declined"
    try:
        with after(before):
            results = subject.run(case, number, rest, [0, case["n"] - first])
    except Refused as refusal:
        subject.run(case, subject.fresh_instance(), parts, sorted({0, first, case["n"]}))  # refused there, too?
        request = subject.request(*rest, dtype=case.dtype, **subject.step_fields(number))
        with after([*before, declined]):
            evidence = Evidence((Shown(request),), kind="crash")
            raise Violation(f"{what}: got {refusal}, but should be taken", evidence) from None
    with after([*before, declined]):
        require_close(results[0], true[..., rows, :], bound[..., rows, :], what)


def decline_on_purpose(subject: Cache, case: ParameterCase, number: int) -> Result:
    """A step that does not fit, and that an object of the target declines.

    Raises: NotApplicable where it is taken, or fails in another way.
    """
    B, H, d, dtype, n, rng = case["B"], case["H"], case["d"], case.dtype, 2, case.rng("misfit")
    shapes = [[B, H, n, d] for _ in range(3)]
    misfits: list[tuple[tuple[int, ...], int, int]] = [  # which arrays, along which axis, by how much
        ((2,), 2, 1), ((2,), 2, -1), ((1,), 2, 1), ((0,), 2, 1), ((1, 2), 2, 1), ((0, 1, 2), 0, 1), ((1, 2), 0, 1),
        ((1, 2), 1, 1), ((0, 1, 2), 1, 1), ((1,), 3, 1), ((2,), 3, 1), ((0, 1, 2), 3, 1), ((0, 1, 2), 2, 600),
        ((), 0, 0),
    ]  # fmt: skip
    which, axis, more = misfits[int(rng.integers(len(misfits)))]
    for i in which:
        shapes[i][axis] += more
    if not which:
        others = [other for other in subject.implementation.dtypes if other != dtype]
        if not others:
            raise NotApplicable("one dtype is declared")
        dtype = str(rng.choice(others))
    arrays = (case.with_(dtype=dtype).values(f"misfit {i}", *shape) for i, shape in enumerate(shapes))
    request = subject.request(*arrays, dtype=dtype, **subject.step_fields(number))
    try:
        subject.send(request)
    except Refused as refused:
        if "RuntimeError" in str(refused).partition(":")[0]:
            raise NotApplicable("steps that do not fit fail by accident") from None
        return Result(np.zeros(0), request, extra={"declined": True})
    except Violation:
        raise NotApplicable("it fails otherwise at steps that do not fit") from None
    raise NotApplicable("it declines no step that does not fit")


def a_step_has_true_gradients(subject: Cache, case: ParameterCase) -> None:
    """The output of a step after a prompt has the gradients of the full pass, for its query and its new tokens.

    What was kept before counts as constant. A cache made for decoding alone, of which no step's output or new tokens
    carry a gradient, is not judged; the report says so. Where those of one step do, those of every step have to.

    Formula: d<step(x[p:]), c> / d(q, k, v)[p:] = d<full(x)[p:], c> / d(q, k, v)[p:]
    Source: derivations/softmax_backward.md (d-query, d-key, d-value)
    Fault: new_tokens_partly_detached
    """
    prompt = case["n"] - 1 if case.seed % 2 else max(1, case["n"] // 2)  # a step of one token, as in decoding
    shared = case.with_(H_kv=case["H"], group=int(case.rng("group").choice(GROUPS)))
    if case.options.get("shared") and subject.takes_fewer_key_heads(case) and supports(subject.implementation, shared):
        case = shared
    parts = subject.inputs(case)
    down = case.values("cotangent", *parts[0].shape)[..., prompt:, :]
    true, bounds = subject.true_gradients(case, parts, prompt, down)
    response, request, before = differentiate_step(subject, case, parts, prompt, down)
    found = {name: value for name, value in response.gradients.items() if value is not None}
    if not response.has_graph or (len(found) < len(parts) and not passes_all(subject, case, parts, prompt)):
        raise NotApplicable("its steps pass no gradient to the query and the new tokens")
    order = subject.order(*parts[:2])
    for name, want, bound in zip("012", true, bounds, strict=True):
        got = Result(np.zeros(want.shape), request, f"grad:{name}", extra={"missing": name not in found})
        if name in found:
            got.values = found[name].values.astype(np.float64)
        got = put_heads_in_order(got, 1, order) if name == "0" else got
        with after(before):
            require_close(got, want, bound, f"gradient of the step's {('query', 'key', 'value')[int(name)]}")


def differentiate_step(
    subject: Cache, case: ParameterCase, parts: Sequence[NDArray], prompt: int, down: NDArray
) -> tuple[Response, Request, list[Result]]:
    """A step after a prompt with its gradients, its request and the steps before it."""
    number = subject.fresh_instance()
    before = subject.run(case, number, parts, [0, prompt])
    order = subject.order(*parts[:2])
    query, sent = (a if order is None else a[:, order] for a in (parts[0][..., prompt:, :], down))
    request = subject.request(
        query, *(a[..., prompt:, :] for a in parts[1:]), dtype=case.dtype, wrt_=("0", "1", "2"),
        cotangent_=as_argument(sent, case.dtype), **subject.step_fields(number),
    )  # fmt: skip
    with after(before):
        return subject.send(request), request, before


def passes_all(subject: Cache, case: ParameterCase, parts: Sequence[NDArray], prompt: int) -> bool:
    """Whether a longer step than that after the prompt passes gradients to its query and all of its new tokens."""
    if prompt < 2:
        return False
    down = case.values("cotangent", *parts[0].shape)[..., 1:, :]
    response, *_ = differentiate_step(subject, case, parts, 1, down)
    return all(response.gradients.get(name) is not None for name in "012")


def query_heads_share_cached_key_heads_in_order(subject: Cache, case: ParameterCase) -> None:
    """Where fewer key heads than query heads are taken, neighbouring query heads share one, in steps of any length.

    Whether they are taken is found by a call; a cache that declines them, or gives another shape, is left out.

    Formula: query head h attends to key head h // (H / H_kv), or h mod H_kv where that is declared
    Source: Ainslie et al., GQA (2023); huggingface/transformers, repeat_kv
    Fault: cached_heads_shared_in_turn
    """
    if not subject.takes_fewer_key_heads(case):
        raise NotApplicable("it takes as many key heads as query heads")
    n, way = case["n"], case.options["way"]
    prompt = max(1, n - 3)
    cuts = {"tokens": range(n + 1), "prompt": [0, *range(prompt, n + 1)], "whole": [0, n]}.get(way, two_chunks(case))
    check_steps(subject, case, cuts, "fewer key heads")


def no_row_sees_a_later_token_of_its_step(subject: Cache, case: ParameterCase) -> None:
    """A later token of the same step is hidden from the rows before it, however well its key fits.

    Formula: step(x)_i = softmax over j <= i, for a later key with a score of 2^15 in row i
    Source: masks that add -10,000 (google-research/bert, modeling.py), which a large score outweighs
    Fault: later_tokens_lowered_by_ten_thousand
    """
    n, prompt = case["n"], int(case.rng("prompt").integers(0, case["n"] - 1))
    q, k, v = subject.inputs(case)
    scale = scale_of(subject.implementation.scale, case["d"])
    q[..., prompt, :], k[..., n - 1, :] = 1.0, round_to(np.asarray(FITTING / (scale * case["d"])), case.dtype)
    true, bound = subject.truth(case, q, k, v)
    results = subject.run(case, subject.fresh_instance(), (q, k, v), sorted({0, prompt, n}))
    rows, earlier = slice(prompt, n), np.arange(prompt, n)[:, None] < n - 1
    with after(results[:-1]):
        what = "rows before the last token of a step"
        require_close(results[-1], true[..., rows, :], bound[..., rows, :], what, where=earlier)


def long_sequences_are_kept_whole(subject: Cache, case: ParameterCase) -> None:
    """A sequence of several hundred tokens is kept to its first one (or to the declared window).

    Formula: step(x[:p]), step(x[p:]) = full(x), n up to 560
    Source: flashinfer-ai/flashinfer#4347 (a page beyond a size skipped)
    Fault: pages_beyond_a_size_skipped
    """
    prompt = case["n"] - 3
    check_steps(subject, case, [0, prompt // 2, prompt, prompt + 2, case["n"]], "long")


def thousands_of_tokens_are_kept_whole(subject: Cache, case: ParameterCase) -> None:
    """A prompt of a thousand tokens and more is kept to its first one (or to the declared window).

    The first token fits the queries of the last steps better than all others together, so that its loss is seen.

    Formula: step(x[:p]), step(x[p:]) = full(x) in the last rows, n up to 4,105
    Source: flashinfer-ai/flashinfer#4347 (a page beyond a size skipped); stores of 1,024, 2,048 or 4,096 tokens
    Fault: last_1024_tokens_kept
    """
    n, instance = case["n"], subject.fresh_instance()
    q, k, v = subject.inputs(case)
    q[..., n - LAST :, :], k[..., 0, :] = 1.0, round_to(np.asarray(16.0 * np.sqrt(case["d"]) / case["d"]), case.dtype)
    results = subject.run(case, instance, (q, k, v), [*range(0, n - LAST, STEP), n - LAST, n - 1, n])
    rows = slice(n - LAST, n)
    true, bound = subject.truth(case, q, k, v, rows)
    with after(results[:-2]):
        require_close(results[-2], true[..., : LAST - 1, :], bound[..., : LAST - 1, :], f"rows after {n - LAST} tokens")
    with after(results[:-1]):
        require_close(results[-1], true[..., LAST - 1 :, :], bound[..., LAST - 1 :, :], f"the row after {n - 1} tokens")


def outputs_may_be_written_into(subject: Cache, case: ParameterCase) -> None:
    """What a step gives belongs to its caller, who may write into it: the cache keeps its own numbers.

    Formula: y = step(x[:1]), y <- NaN, step(x[1:2]), ... = full(x)
    Source: the definition of a function; models add residuals in place
    Fault: first_output_is_the_store
    """
    what = "after the caller wrote into the outputs of earlier steps"
    check_steps(subject, case, range(case["n"] + 1), what, overwrite_="outputs")


def _thousands(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """Beyond 4,096 tokens in most cases, beyond 1,024 and 2,048 in some; a few hundred where more are refused."""
    return {**sizes, "n": int(rng.choice([200, 1030, 2055, 4105], p=[0.1, 0.15, 0.15, 0.6]))}


def _beyond_usual_stores(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """Mostly more than the 256 or 512 tokens that stores are often made for; some fewer, where more are refused."""
    share = rng.random()
    if share < 0.75:
        sizes["n"] = int(rng.integers(257, 321)) if share < 0.6 else int(rng.integers(513, 561))
    return sizes


def _dozens(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """Beyond 64 steps once in two, beyond 25 always."""
    return {**sizes, "n": int(rng.integers(66, 73) if rng.random() < 0.5 else rng.integers(26, 40))}


def _prompt(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """Prompts such that the first token after them sees 65, 147 or 513 keys."""
    return {**sizes, "n": int(rng.choice([64, 64, 146, 146, 512]))}


def _copies(implementation: Implementation) -> bool:
    return implementation.array != "jax" and implementation.parameters.get("inputs") != "kept"


def _of_torch(implementation: Implementation) -> bool:
    return implementation.array == "torch"


def _differentiable(implementation: Implementation) -> bool:
    return implementation.gradients and implementation.array == "torch"


RANGES = {"B": (1, 3), "H": (1, 3), "n": (1, 14), "d": (1, 8)}
SPACE = Sizes(RANGES, adjust=count_many(share=0.4))
SHARED = Sizes(
    {"B": (1, 3), "H_kv": (2, 5), "group": (2, 8), "n": (2, 14), "d": (1, 8)},
    {**APART, "way": ("chunks", "tokens", "prompt", "whole")},
    adjust=share_heads(as_in_models({"n": (65, 80), "d": (16, 32)}, share=0.2)),
)  # fmt: skip
STEPS = Sizes({**RANGES, "n": (2, 14)}, dtypes=("float32", "float64"))
ONE_SIZE = Sizes({"B": (2, 2), "H": (2, 2), "n": (3, 3), "d": (2, 2)})
SEVERAL = Sizes({**RANGES, "n": (3, 40)}, LARGE_SCORES)
DOZENS = Sizes({"B": (1, 1), "H": (1, 2), "n": (1, 72), "d": (1, 2)}, adjust=_dozens)
AGAIN = Sizes({**RANGES, "n": (1, 24)})
LONG = Sizes({"B": (1, 1), "H": (1, 1), "n": (129, 560), "d": (1, 3)}, adjust=_beyond_usual_stores)
THOUSANDS = Sizes({"B": (1, 1), "H": (1, 1), "n": (129, 4105), "d": (1, 2)}, adjust=_thousands)
DECODING = Sizes({"B": (2, 3), "H": (1, 3), "n": (1, 512), "d": (1, 16)}, adjust=_prompt)
ROW: dict[str, Any] = {"contract": CONTRACT, "family": "kv_cache", "large": 12, "small": 0}
LAWS = (
    Law(a_second_cache_of_the_same_size_is_new, space=ONE_SIZE, **ROW),
    Law(chunks_equal_the_full_pass, space=SEVERAL, **{**ROW, "large": 16}, central=True),
    Law(single_steps_equal_the_full_pass, space=SPACE, **ROW),
    Law(many_single_steps_equal_the_full_pass, space=DOZENS, **{**ROW, "large": 3}),
    Law(a_prompt_then_tokens, space=SPACE, **ROW),
    Law(decoding_after_a_long_prompt, space=DECODING, **{**ROW, "large": 5}),
    Law(query_heads_share_cached_key_heads_in_order, space=SHARED, **{**ROW, "large": 16}),
    Law(a_new_cache_is_empty, space=AGAIN, **ROW),
    Law(two_caches_do_not_mix, space=SPACE, **ROW),
    Law(
        tokens_outlive_the_callers_arrays, space=Sizes({**RANGES, "n": (2, 14)}), **ROW,
        declares=_copies, because="inputs=kept is declared (or arrays of JAX cannot be written into)",
    ),
    Law(steps_outlive_the_next_step, space=Sizes({**RANGES, "n": (2, 14)}), **ROW),
    Law(a_reset_cache_is_empty, space=AGAIN, **{**ROW, "large": 24}),
    Law(
        a_declined_step_leaves_the_cache_as_it_was, space=Sizes({**RANGES, "n": (2, 9)}), **{**ROW, "large": 24},
        declares=_of_torch, because="arrays of other libraries fail by the same exceptions as a step that is declined",
    ),
    Law(
        a_step_has_true_gradients, space=Sizes({**RANGES, "n": (2, 14)}, {"shared": (False, True)}),
        **{**ROW, "large": 16},
        declares=_differentiable, because="gradients are not declared, or not of torch's arrays",
        absent="gradients are not tested",
    ),
    Law(no_row_sees_a_later_token_of_its_step, space=STEPS, **{**ROW, "large": 6}),
    Law(long_sequences_are_kept_whole, space=LONG, **{**ROW, "large": 4}),
    Law(thousands_of_tokens_are_kept_whole, space=THOUSANDS, **{**ROW, "large": 2}),
    Law(
        outputs_may_be_written_into, space=Sizes({**RANGES, "n": (2, 6)}), **{**ROW, "large": 4},
        declares=lambda i: i.array != "jax", because="arrays of JAX cannot be written into",
    ),
)  # fmt: skip
COMPARISONS = (
    "single_steps_equal_the_full_pass", "many_single_steps_equal_the_full_pass", "a_prompt_then_tokens",
    "decoding_after_a_long_prompt", "query_heads_share_cached_key_heads_in_order",
    "tokens_outlive_the_callers_arrays", "a_step_has_true_gradients",
    "no_row_sees_a_later_token_of_its_step", "thousands_of_tokens_are_kept_whole",
)  # fmt: skip
