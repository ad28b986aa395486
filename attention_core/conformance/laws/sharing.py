"""Laws of what calls and arguments share: a result keeps its numbers, and one tensor may be several inputs.

A buffer that serves two calls, or two gradients, is right as long as nobody looks at both.
"""

from __future__ import annotations

import numpy as np

from attention_core.conformance.budget import HUGE, UNIT_ROUNDOFF
from attention_core.conformance.case import Case
from attention_core.conformance.error_rows import gamma
from attention_core.conformance.evidence import NotApplicable, require_close
from attention_core.conformance.law import Law
from attention_core.conformance.laws.derived import output_bound, require_declared, take_queries
from attention_core.conformance.laws.gradients import INPUTS, NOT_DECLARED, differentiable, limits
from attention_core.conformance.laws.visibility import judged_rows
from attention_core.conformance.space import Space
from attention_core.conformance.subject import Subject


def results_outlive_the_next_call(subject: Subject, case: Case) -> None:
    """A result still holds its numbers after another call of the same shapes, whose numbers are others.

    Formula: o = f(x), f(y), then |o - t(x)| <= E_o(x); likewise returned weights and log-sum-exps
    Source: the definition of a function; outputs of captured graphs are overwritten by the next replay
    Mutant: one_buffer_for_all_results
    """
    other = case.with_(query=case.query[..., ::-1, :], key=case.key[..., ::-1, :], value=-case.value)
    truth, where, bounds = subject.truth(case), judged_rows(subject, case), subject.bounds(case)
    found, after = subject.forward(case, between=subject.binding.request(other)), ", looked at after another call"
    require_close(found.out, truth.out, output_bound(subject, case), f"output{after}", where=where)
    if found.lse is not None and bounds.lse is not None:
        require_close(found.lse, truth.lse, bounds.lse, f"log-sum-exp{after}", where=~truth.dead)
    if found.weights is not None:
        n_kv = case.key.shape[-2]  # the weights are the output for the unit vectors as values
        unit = case.with_(value=np.broadcast_to(np.eye(n_kv), (*case.key.shape[:-1], n_kv)).copy())
        bound = output_bound(subject, unit)
        require_close(found.weights, truth.weights, bound, f"weights{after}", where=~truth.dead[..., None])


def one_tensor_may_be_several_inputs(subject: Subject, case: Case) -> None:
    """One tensor that is key and value, or query too, gives the same results, and the sum of its gradients.

    The sum of m gradients in the input's dtype adds gamma_(m - 1) of their sizes.

    Formula: d f(q, c, c) / dc = dK + dV, d f(c, c, c) / dc = dQ + dK + dV at q = k = v = c
    Source: derivations/softmax_backward.md (softmax-vjp); the chain rule
    Mutant: gradients_shared_by_storage
    """
    every = case.group == 1 and case.rng("shared inputs").random() < 0.5
    names = INPUTS if every else INPUTS[1:]
    one = case.with_(value=case.key)
    if every:
        n_q, n_kv, *_ = case.sizes
        one = take_queries(one, np.arange(n_kv) % max(n_q, 1)).with_(query=case.key)
    true, bounds = limits(subject, require_declared(subject, one))
    first = subject.binding.argument(names[0])
    same = tuple((subject.binding.argument(name), first) for name in names[1:])
    found = subject.backward(one, one.cotangent(), INPUTS[: 1 if every else 2], same=same)
    where, told = judged_rows(subject, one), " and ".join(names)
    require_close(
        found.out, subject.truth(one).out, output_bound(subject, one), f"output with one tensor for {told}", where=where
    )
    total = sum(getattr(true, name) for name in names)
    error = sum(getattr(bounds, name) for name in names)
    size = error + sum(np.abs(getattr(true, name)) for name in names)
    bound = error + gamma(len(names) - 1, UNIT_ROUNDOFF[one.dtype]) * size
    if not (size + bound < HUGE[one.dtype]).all():
        raise NotApplicable
    require_close(found.gradients[names[0]], total, bound, f"gradient of one tensor for {told}")
    if subject.implementation.returns.endswith("lse"):
        beside = subject.forward(one, same=same)
        assert beside.lse is not None
        limit, live = subject.bounds(one).lse, ~subject.truth(one).dead
        require_close(beside.lse, subject.truth(one).lse, limit, f"log-sum-exp with one tensor for {told}", where=live)
    if not every:
        require_close(
            found.gradients["query"], true.query, bounds.query, f"gradient of query with one tensor for {told}"
        )


SMALL = Space(max_n=65)
LAWS = (
    Law(results_outlive_the_next_call, "sharing", space=SMALL, large=2, small=6),
    Law(
        one_tensor_may_be_several_inputs, "sharing", declares=differentiable, because=NOT_DECLARED,
        space=SMALL, large=3, small=6,
    ),
)  # fmt: skip
