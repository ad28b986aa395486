"""Laws of what calls and arguments share: a result keeps its numbers, lies in memory of its own, and one tensor may be
several inputs.

A buffer that serves two calls, or two gradients, is right as long as its callers look at only one of them.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from attention_core.conformance.budgets.budget import HUGE, UNIT_ROUNDOFF
from attention_core.conformance.budgets.error_rows import gamma
from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.space import Space
from attention_core.conformance.laws.derived import (
    output_bound,
    require_declared_sizes,
    take_batch,
    take_heads,
    take_keys,
    take_queries,
)
from attention_core.conformance.laws.gradients import INPUTS, NOT_DECLARED, differentiable, limits
from attention_core.conformance.laws.visibility import judged_rows
from attention_core.conformance.subjects.evidence import (
    Evidence,
    NotApplicable,
    Refused,
    Shown,
    Violation,
    require_close,
)
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.subject import Subject


def results_outlive_the_next_call(subject: Subject, case: Case) -> None:
    """A result still holds its numbers after the next call of the same shapes, and after seventeen.

    Seventeen go round a ring of sixteen buffers. A large case is followed by one call, a piece of it by seventeen.

    Formula: o = f(x), f(y) k times, then |o - t(x)| <= E_o(x), k = 17; likewise returned weights and log-sum-exps
    Source: the definition of a function; outputs of captured graphs are overwritten by the next replay
    Fault: ring_of_outputs
    """
    large = case.query.size + case.key.size + case.value.size > FEW_NUMBERS
    still_there(subject, case, 1 if large else LATER_CALLS)
    piece = piece_of(case)
    if large and subject.allows(piece):
        still_there(subject, piece, LATER_CALLS)


def still_there(subject: Subject, case: Case, times: int) -> None:
    """What a call returned is the truth after so many later calls."""
    other = case.with_(query=case.query[..., ::-1, :], key=case.key[..., ::-1, :], value=-case.value)
    truth, where, bounds = subject.truth(case), judged_rows(subject, case), subject.bounds(case)
    found = subject.forward(case, between=subject.binding.request(other), betweens=times)
    after = f", looked at after {'another call' if times == 1 else f'{times} other calls'}"
    require_close(found.out, truth.out, output_bound(subject, case), f"output{after}", where=where)
    if found.lse is not None and bounds.lse is not None:
        require_close(found.lse, truth.lse, bounds.lse, f"log-sum-exp{after}", where=~truth.dead)
    if found.weights is not None:
        n_kv = case.key.shape[-2]  # the weights are the output for the unit vectors as values
        unit = case.with_(value=np.broadcast_to(np.eye(n_kv), (*case.key.shape[:-1], n_kv)).copy())
        bound = output_bound(subject, unit)
        require_close(found.weights, truth.weights, bound, f"weights{after}", where=~truth.dead[..., None])


def piece_of(case: Case, rows: int = 8) -> Case:
    """The first key head of the first sequence with its query heads, and the first few queries and keys."""
    n_q, n_kv, *_ = case.sizes
    one = take_heads(take_batch(case, np.arange(1)), np.arange(case.group), np.arange(1))
    return take_keys(take_queries(one, np.arange(min(n_q, rows))), np.arange(min(n_kv, rows)))


def results_share_no_memory_with_inputs(subject: Subject, case: Case) -> None:
    """What is returned lies in memory of its own: who writes into it changes no input, also for one query and one key.

    Formula: no address belongs to both f(x) and x
    Source: the definition of a function; the weight of a lone key is 1, so that its value is the result
    Fault: value_itself_for_one_key
    """
    require_own_memory(subject, case)
    bare = case.with_(mask=None, is_causal=False)
    if case.sizes[1] and subject.allows(piece := take_keys(bare, np.arange(1))):
        require_own_memory(subject, piece)
    lone = take_keys(take_queries(bare, np.arange(min(1, case.sizes[0]))), np.arange(min(1, case.sizes[1])))
    kind = str(case.rng("view").choice(["transposed", "heads_last", "padded", "offset"]))
    for one in (lone, piece_of(bare, rows=1)):
        if subject.allows(one):
            require_own_memory(subject, one)
            with suppress(Refused):  # of this layout
                require_own_memory(subject, one.with_(views=dict.fromkeys(INPUTS, kind)))


def require_own_memory(subject: Subject, case: Case) -> None:
    """Raise where a result of the case lies in the memory of an input."""
    request = subject.binding.request(case)
    response = subject.send(request)
    for number, name in response.shared:
        value = response.outputs[number]
        place, noun = (0,) * len(value.shape), INPUTS[int(name)] if name.isdigit() else name
        other = 2.0 if value.values[place] == 1 else 1.0  # a number that is not there yet
        what = "the output" if number == 0 else f"result {number}"
        raise Violation(
            f"{what} lies in the memory of {noun}, but should have its own: writing into one changes the other",
            Evidence((Shown(request, "out" if number == 0 else f"out{number}", place),), None, other, kind="shares"),
        )


def one_tensor_may_be_several_inputs(subject: Subject, case: Case) -> None:
    """One tensor that is key and value, or query too, gives the same results, and the sum of its gradients.

    The sum of m gradients in the input's dtype adds gamma_(m - 1) of their sizes.

    Formula: d f(q, c, c) / dc = dK + dV, d f(c, c, c) / dc = dQ + dK + dV at q = k = v = c
    Source: derivations/softmax_backward.md (softmax-vjp); the chain rule
    Fault: gradients_shared_by_storage
    """
    every = case.group == 1 and case.rng("shared inputs").random() < 0.5
    names = INPUTS if every else INPUTS[1:]
    one = case.with_(value=case.key)
    if every:
        n_q, n_kv, *_ = case.sizes
        one = take_queries(one, np.arange(n_kv) % max(n_q, 1)).with_(query=case.key)
    true, bounds = limits(subject, require_declared_sizes(subject, one))
    first = subject.binding.argument(names[0])
    same = tuple((subject.binding.argument(name), first) for name in names[1:])
    found = subject.backward(one, one.cotangent(), INPUTS[: 1 if every else 2], same=same)
    where, both = judged_rows(subject, one), " and ".join(names)
    require_close(
        found.out,
        subject.truth(one).out,
        output_bound(subject, one),
        f"output with one tensor for {both}",
        where=where,
    )
    total = sum(getattr(true, name) for name in names)
    error = sum(getattr(bounds, name) for name in names)
    size = error + sum(np.abs(getattr(true, name)) for name in names)
    bound = error + gamma(len(names) - 1, UNIT_ROUNDOFF[one.dtype]) * size
    if not (size + bound < HUGE[one.dtype]).all():
        raise NotApplicable
    require_close(found.gradients[names[0]], total, bound, f"gradient of one tensor for {both}")
    if subject.implementation.returns.endswith("lse"):
        beside = subject.forward(one, same=same)
        assert beside.lse is not None
        limit, live = subject.bounds(one).lse, ~subject.truth(one).dead
        require_close(beside.lse, subject.truth(one).lse, limit, f"log-sum-exp with one tensor for {both}", where=live)
    if not every:
        require_close(
            found.gradients["query"], true.query, bounds.query, f"gradient of query with one tensor for {both}"
        )


def arrays_written_into_are_read_anew(subject: Subject, case: Case) -> None:
    """A call reads its arrays as they are then, also where an earlier call got the same arrays with other numbers.

    Formula: f(y), then x's numbers into the arrays of y, then |f(x) - t(x)| <= E_o(x)
    Source: the definition of a function; static buffers of captured graphs and of generation are written into
    Fault: keys_kept_by_identity
    """
    views = {name: view for name, view in case.views.items() if view not in ("expanded", "broadcast")}
    case = case.with_(views=views)  # what repeats in memory cannot be written into
    if not case.query.size or not case.key.size:
        raise NotApplicable("there is no number to write")
    mask = case.mask if case.mask is None else np.roll(case.mask, 1, axis=-1)
    turned = {"query": 0.0 - case.query, "key": 0.0 - case.key[..., ::-1, :], "value": 0.0 - case.value}
    other = case.with_(**turned, mask=mask)
    got = subject.forward(case, earlier=subject.binding.request(other)).out
    what = "output after the caller wrote other numbers into the arrays of the call before"
    require_close(got, subject.truth(case).out, output_bound(subject, case), what, where=judged_rows(subject, case))


LATER_CALLS = 17
"""One more than the buffers of a ring that is found."""
FEW_NUMBERS = 1 << 10
"""Up to so many in query, key and value, calls are cheap."""
SMALL = Space(max_n=65)
LAWS = (
    Law(results_outlive_the_next_call, "sharing", space=SMALL, large=4, small=6),
    Law(
        results_share_no_memory_with_inputs, "sharing", declares=lambda i: i.array != "jax",
        because="arrays of JAX cannot be written into", space=SMALL, large=3, small=4,
    ),
    Law(
        arrays_written_into_are_read_anew, "sharing", declares=lambda i: i.array != "jax",
        because="arrays of JAX cannot be written into", space=SMALL, large=3, small=6,
    ),
    Law(
        one_tensor_may_be_several_inputs, "sharing", declares=differentiable, because=NOT_DECLARED,
        space=SMALL, large=3, small=6,
    ),
)  # fmt: skip
