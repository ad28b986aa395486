"""Laws of the contract batch-invariant: what stands beside a problem in one call changes none of its bits.

Rounding depends on the order of a sum, and many kernels choose this order by the size of the batch, the number of rows
or the number of threads. Then a model answers one prompt differently from day to day, and a policy that is trained
differs from the one that sampled. Here the same numbers have to give the same bits: alone, in any batch, at another
place, beside more problems, row by row, chunk by chunk, padded and on other numbers of threads. Which of these hold is
what a report says. That the output is right is judged as well, by the law that compares it with the truth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from attention_core.conformance.budgets.budget import round_to
from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.space import Space
from attention_core.conformance.laws.derived import (
    NO_GRADIENTS,
    another_order,
    has_gradients,
    require_declared_sizes,
    take_batch,
    take_heads,
    take_keys,
    take_queries,
)
from attention_core.conformance.subjects.evidence import Evidence, NotApplicable, Result, Violation
from attention_core.conformance.subjects.law import Law, needs
from attention_core.conformance.subjects.subject import Subject
from attention_core.conformance.worker.exchange import NDArray
from attention_core.declaration.implementation import Implementation

CONTRACT = "batch-invariant"
BORROWED = ("agrees_with_truth",)
"""The law of the contract attention that compares the output with the truth."""
THREADS = (1, 2, 3, 4)
"""Numbers of threads that give the same bits; more than there are cores are threads all the same."""
FEW_ROWS = 4
"""As many rows as a step of decoding has at most, drafts of speculative decoding included."""

Move = Callable[[NDArray], NDArray]


def same_bits(first: Result, second: Result, what: str, move: Move) -> None:
    """Raise where the second result differs in a bit from the moved first one; NaN is NaN.

    Args:
        first, second: the results; `move(first)` has the shape of `second`.
        what: both calls in words.
        move: maps an array like the first result to the order of the second.
    Raises:
        Violation: at the element that differs most.
    """
    a, b = second.values, move(first.values)
    same = (a == b) & (np.signbit(a) == np.signbit(b)) | np.isnan(a) & np.isnan(b)
    if same.all():
        return
    with np.errstate(invalid="ignore"):
        distance = np.where(same, -1.0, np.nan_to_num(np.abs(a - b), nan=np.inf))
    index = tuple(int(i) for i in np.unravel_index(int(np.argmax(distance)), distance.shape))
    places = move(np.arange(first.values.size).reshape(first.values.shape))
    source = tuple(int(i) for i in np.unravel_index(int(places[index]), first.values.shape))
    got, want = float(a[index]), float(b[index])
    message = f"{what}: got {got!r} at {list(index)}, but should be {want!r} to the bit"
    raise Violation(message, Evidence((second.show(index), first.show(source)), got, want, 0.0, "pair"))


def require_outputs_alike(subject: Subject, first: Case, second: Case, what: str, move: Move) -> None:
    """The output of the second case has the bits of the first one's, moved; so has a log-sum-exp that is returned."""
    one, other = subject.forward(first), subject.forward(second)
    same_bits(one.out, other.out, what, move)
    if one.lse is not None and other.lse is not None:
        same_bits(one.lse, other.lse, f"log-sum-exp of {what}", move)


def require_order_to_matter(case: Case) -> None:
    """Pass over a case whose output has the same bits whichever way its keys are added up: it could not fail.

    The last row of every slice is added up from the first key to the last and back, in float32 or wider, and rounded
    to the dtype of the case.
    """
    wide = np.float64 if case.dtype == "float64" else np.float32
    key = np.repeat(case.key, case.group, axis=1).astype(wide)
    value = np.repeat(case.value, case.group, axis=1).astype(wide)
    scores = (key * case.query[..., -1:, :].astype(wide)).sum(-1) * wide(case.factor)
    parts = np.exp(scores - scores.max(-1, keepdims=True))[..., None]
    sums = [
        np.add.accumulate(parts * value, axis=-2, dtype=wide)[..., -1, :]
        / np.add.accumulate(parts, axis=-2, dtype=wide)[..., -1, :]
        for parts, value in ((parts, value), (parts[..., ::-1, :], value[..., ::-1, :]))
    ]
    there, back = (round_to(each.astype(np.float64), case.dtype) for each in sums)
    if np.array_equal(there, back):
        raise NotApplicable("every order of summation gives the same bits")


def as_served(case: Case, purpose: str) -> Case:
    """The case, or in one of two draws its first few rows: kernels for decoding split the keys, others do not."""
    rng = case.rng(purpose)
    count = min(int(rng.integers(1, FEW_ROWS + 1)), case.sizes[0])
    return take_queries(case, np.arange(count)) if rng.random() < 0.5 and not case.is_causal else case


def prepare_case(subject: Subject, case: Case, purpose: str) -> Case:
    """The case as it is served, if its sizes are declared and it could fail."""
    served = require_declared_sizes(subject, as_served(case, purpose))
    require_order_to_matter(served)
    return served


# --- the batch ------------------------------------------------------------------------------------------------------


def a_problem_alone_has_the_bits_of_its_batch(subject: Subject, case: Case) -> int:
    """One problem computed alone has the bits that it has inside its batch.

    Formula: bits f(x)[b] = bits f(x[b])
    Source: vllm-project/vllm#48305, NVIDIA-NeMo/RL#4039 (log-probabilities change with the size of the batch)
    Fault: keys_split_by_the_batch
    """
    case = prepare_case(subject, case, "alone")
    batch = case.query.shape[0]
    b = batch - 1 if case.rng("which").random() < 0.5 else int(case.rng("which").integers(batch))
    alone = require_declared_sizes(subject, take_batch(case, np.array([b])))
    what = f"problem {b} of a batch of {batch}, computed alone"
    require_outputs_alike(subject, case, alone, what, lambda a: a[b : b + 1])
    return 1


def the_place_in_the_batch_changes_no_bit(subject: Subject, case: Case) -> int:
    """A problem has the same bits at every place of the batch.

    Formula: bits f(P x) = bits P f(x), P a permutation of the batch
    Source: NVIDIA/TensorRT-LLM#19501
    Fault: the_last_of_a_batch_by_another_path
    """
    case = prepare_case(subject, case, "place")
    order = another_order(case, case.query.shape[0], "order of the batch")
    what = "a batch in another order"
    require_outputs_alike(subject, case, take_batch(case, order), what, lambda a: a[order])
    return case.slices


def more_problems_beside_it_change_no_bit(subject: Subject, case: Case) -> int:
    """Further problems in the batch change no bit of those that were there.

    Formula: bits f([x, y])[: B] = bits f(x)
    Source: vllm-project/vllm#58131 (a request's tokens depend on its neighbours)
    Fault: rows_per_tile_by_the_batch
    """
    case = prepare_case(subject, case, "beside")
    batch = case.query.shape[0]
    many = np.arange(batch + int(case.rng("more").integers(1, 2 * batch + 2))) % batch
    larger = require_declared_sizes(subject, take_batch(case, many))
    what = f"{len(many)} problems in place of {batch}"
    require_outputs_alike(subject, larger, case, what, lambda a: a[:batch])
    return case.slices


def a_head_alone_has_the_bits_of_all_heads(subject: Subject, case: Case) -> int:
    """The heads that share one key head have the same bits alone as among all heads, as tensor parallelism needs.

    Formula: bits f(x)[:, G] = bits f(x[:, G]), G the query heads of one key head
    Source: NVIDIA-NeMo/RL#4039 (training and sampling split heads differently)
    Fault: keys_split_by_the_heads
    """
    case = prepare_case(subject, case, "head")
    kv_heads = case.key.shape[1]
    if kv_heads == 1:
        raise NotApplicable("one key head is all of them")
    j = int(case.rng("which").integers(kv_heads))
    heads = np.arange(j * case.group, (j + 1) * case.group)
    alone = require_declared_sizes(subject, take_heads(case, heads, np.array([j])))
    what = f"the heads of key head {j} alone, of {kv_heads} key heads"
    require_outputs_alike(subject, case, alone, what, lambda a: a[:, heads])
    return int(case.query.shape[0])


# --- rows, chunks, padding ------------------------------------------------------------------------------------------


def a_row_alone_has_the_bits_of_all_rows(subject: Subject, case: Case) -> int:
    """A few queries over all keys, as in decoding, have the bits that they have among all queries.

    Formula: bits f(q, k, v)[i : i + m] = bits f(q[i : i + m], k, v), m = 1, ..., 4
    Source: RL-Align/RL-Kernel#101 (decoding and prefilling take different kernels)
    Fault: keys_split_where_rows_are_few
    """
    require_declared_sizes(subject, case)
    require_order_to_matter(case)
    n_q = case.sizes[0]
    if n_q == 1:
        raise NotApplicable("one row is all rows")
    count = min(int(case.rng("rows").integers(1, FEW_ROWS + 1)), n_q - 1)
    first = n_q - count if case.rng("from").random() < 0.5 else int(case.rng("from").integers(n_q - count + 1))
    few = require_declared_sizes(subject, take_queries(case, np.arange(first, first + count)))
    what = f"rows {first} to {first + count - 1} of {n_q}, computed alone"
    require_outputs_alike(subject, case, few, what, lambda a: a[:, :, first : first + count])
    return case.slices


def a_prefix_has_the_bits_of_the_whole(subject: Subject, case: Case) -> int:
    """Under causality the first tokens have the same bits whether or not further ones follow them.

    Formula: bits f(q[: m], k[: m], v[: m]) = bits f(q, k, v)[: m], causal, m < n
    Source: vllm-project/vllm#48305 (chunked prefill), Dao-AILab/flash-attention#1897
    Fault: blocks_counted_from_the_end
    """
    require_declared_sizes(subject, case)
    require_order_to_matter(case)
    n = case.sizes[0]
    if n < 3:
        raise NotApplicable("too few tokens for a prefix whose sums could change")
    m = int(case.rng("prefix").integers(2, n))
    first = np.arange(m)
    short = require_declared_sizes(subject, take_keys(take_queries(case, first), first))
    what = f"the first {m} of {n} causal tokens, computed alone"
    require_outputs_alike(subject, case, short, what, lambda a: a[:, :, :m])
    return case.slices


def padding_changes_no_bit(subject: Subject, case: Case) -> int:
    """Masked keys after the others, as in a padded batch, change no bit.

    Formula: bits f([k, k'], [v, v'], mask [1, 0]) = bits f(k, v, mask 1)
    Source: huggingface/transformers#31161 (padded and unpadded prompts differ)
    Fault: blocks_by_the_padded_length
    """
    case = prepare_case(subject, case, "padding")
    n_kv, rng = case.sizes[1], case.rng("padding")
    more = int(rng.integers(1, n_kv + 2))
    index = np.concatenate([np.arange(n_kv), rng.integers(n_kv, size=more)])
    padded = require_declared_sizes(subject, take_keys(case, index))
    seen = np.concatenate([np.ones(n_kv, bool), np.zeros(more, bool)])[None, None, None]
    additive = subject.implementation.masks == "additive"
    masks = [np.where(m, 0.0, -np.inf) if additive else m for m in (seen[..., :n_kv], seen)]
    what = f"{more} masked keys after {n_kv}"
    require_outputs_alike(subject, case.with_(mask=masks[0]), padded.with_(mask=masks[1]), what, lambda a: a)
    return case.slices


# --- processes and gradients ----------------------------------------------------------------------------------------


def another_number_of_threads_changes_no_bit(subject: Subject, case: Case) -> int:
    """The output has the same bits on every number of threads.

    Formula: bits f(x) on 1 thread = bits f(x) on t threads, t = 2, 3, 4
    Source: pytorch/pytorch, notes on reproducibility (results may differ between numbers of threads)
    Fault: keys_split_by_threads
    """
    case = prepare_case(subject, case, "threads")
    alone = subject.forward(case, fresh=True, threads=THREADS[0])
    for threads in THREADS[1:]:
        more = subject.forward(case, fresh=True, threads=threads)
        same_bits(alone.out, more.out, f"on {threads} threads in place of 1", lambda a: a)
    return case.slices


def the_same_call_has_the_same_bits(subject: Subject, case: Case) -> int:
    """The same call gives the same bits, however often it is made.

    Formula: bits f(x) = bits f(x)'
    Source: pytorch/pytorch, notes on reproducibility
    Fault: parts_added_as_they_come
    """
    case = prepare_case(subject, case, "again")
    first = subject.forward(case, fresh=True).out
    for _ in range(3):
        same_bits(first, subject.forward(case, fresh=True).out, "the same call, made again", lambda a: a)
    return case.slices


def a_problem_alone_has_the_gradients_of_its_batch(subject: Subject, case: Case) -> int:
    """The gradients of one problem computed alone have the bits that they have inside its batch.

    Formula: bits (dQ, dK, dV)(x, dO)[b] = bits (dQ, dK, dV)(x[b], dO[b])
    Source: NVIDIA-NeMo/RL#4039
    Fault: key_gradient_in_parts_by_the_batch
    """
    require_declared_sizes(subject, case)
    require_order_to_matter(case)
    b, down = int(case.rng("which").integers(case.query.shape[0])), case.cotangent()
    alone = require_declared_sizes(subject, take_batch(case, np.array([b])))
    whole, part = subject.backward(case, down), subject.backward(alone, down[b : b + 1])
    for name, gradient in whole.gradients.items():
        what = f"gradient of {name} of problem {b}, computed alone"
        same_bits(gradient, part.gradients[name], what, lambda a: a[b : b + 1])
    return int(case.query.shape[1])


def _uses_threads(implementation: Implementation) -> bool:
    return implementation.array == "torch" and implementation.device == "cpu"


BATCH = Space(
    masks=("none",), causal=(False,), regimes=("normal",), scales=False, min_batch=2, min_kv=3, max_n=1025,
    small=False, floor=False,
)  # fmt: skip
"""Numbers whose sums round: small whole numbers would give the same bits in every order."""
ONE = BATCH.with_(min_batch=1)
CAUSAL = ONE.with_(causal=(True,), square=True, min_q=3, max_n=513)

LAWS = (
    Law(a_problem_alone_has_the_bits_of_its_batch, "batch_invariance", CONTRACT, space=BATCH, large=8, small=0),
    Law(the_place_in_the_batch_changes_no_bit, "batch_invariance", CONTRACT, space=BATCH, large=6, small=0),
    Law(more_problems_beside_it_change_no_bit, "batch_invariance", CONTRACT, space=BATCH, large=6, small=0),
    Law(
        a_head_alone_has_the_bits_of_all_heads, "batch_invariance", CONTRACT, space=ONE.with_(min_heads=2), large=6,
        small=0,
    ),
    Law(
        a_row_alone_has_the_bits_of_all_rows, "batch_invariance", CONTRACT, space=ONE.with_(min_q=2), large=8, small=0,
    ),
    Law(
        a_prefix_has_the_bits_of_the_whole, "batch_invariance", CONTRACT, needs=needs("is_causal"), space=CAUSAL,
        large=8, small=0,
    ),
    Law(
        padding_changes_no_bit, "batch_invariance", CONTRACT, needs=needs("attn_mask"), space=ONE.with_(max_n=513),
        large=8, small=0,
    ),
    Law(
        another_number_of_threads_changes_no_bit, "batch_invariance", CONTRACT, declares=_uses_threads,
        because="only torch's number of threads on a processor can be set", space=ONE.with_(max_n=2049), large=4,
        small=0,
    ),
    Law(the_same_call_has_the_same_bits, "batch_invariance", CONTRACT, space=ONE.with_(max_n=257), large=3, small=0),
    Law(
        a_problem_alone_has_the_gradients_of_its_batch, "batch_invariance", CONTRACT, declares=has_gradients,
        because=NO_GRADIENTS, space=BATCH.with_(max_n=129), large=4, small=0,
    ),
)  # fmt: skip


def borrow(laws: tuple[Law, ...]) -> tuple[Law, ...]:
    """The laws of the contract attention that this one takes over."""
    return tuple(replace(law, contract=CONTRACT) for law in laws if law.name in BORROWED)
