"""Laws of a language model's key-value cache: steps through a text have the logits of one pass over all of it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from attention_core.conformance.subjects.evidence import (
    Evidence,
    NotApplicable,
    Refused,
    Result,
    Shown,
    Violation,
    require_close,
)
from attention_core.conformance.subjects.parameter_case import ParameterCase
from finetune.laws.causal_lm.model import Held, Model, noise


def check_steps(subject: Model, case: ParameterCase, held: Held, cuts: list[int], what: str) -> list[Result]:
    """Steps between the cuts give the rows of one pass over the whole text."""
    ids = subject.ids(case)
    whole = subject.logits(case, held, ids)
    done: list[Result] = []
    for start, stop in pairwise(cuts):
        request = subject.build_request(case, held, ids[:, start:stop], method_="step")
        with Held(0, [*held.before, *done]).report_calls():
            try:
                got = subject.result(request, (case["B"], stop - start, case["vocab"]))
            except Refused as refusal:
                if not done:
                    raise
                message = f"{what}: the tokens {start} to {stop - 1} raised {refusal}, but those before them did not"
                raise Violation(message, Evidence((Shown(request),), kind="crash")) from None
            want = whole.values[:, start:stop]
            require_close(got, want, noise(got, whole), f"{what}: logits of the tokens {start} to {stop - 1}")
        done.append(got)
    return done


def steps_with_a_cache_are_the_full_pass(subject: Model, case: ParameterCase) -> None:
    """Tokens given a few at a time, cut anywhere, have the logits of one pass over the whole text.

    Formula: step(x[:, a:b]) = z(x)[:, a:b] for successive stretches, a prompt and then one by one among them
    Source: meta-llama/llama#899, keras-team/keras-hub#2861 (decoding wrong, prefill right)
    Fault: cached_tokens_at_position_zero
    """
    rng, n = case.rng("cuts"), case["n"]
    prompt = max(1, n - 3)
    some = sorted({0, *(int(c) for c in rng.integers(1, n, size=2)), n})
    for cuts in (some, [0, *range(prompt, n + 1)]):
        check_steps(subject, case, subject.new_model(case), cuts, "with a cache")


def a_reset_forgets(subject: Model, case: ParameterCase) -> None:
    """After `reset()` the cache is empty: another text of other sizes has its own logits.

    Formula: step(x'), reset(), step(x) = z(x)
    Source: tenstorrent/tt-inference-server PR4557 (a stale position on reuse)
    Fault: reset_keeps_the_position
    """
    held = subject.new_model(case)
    other = subject.ids(case, "other", n=min(case["block"], case["n"] + 1), B=case["B"] + 1)
    used = subject.result(subject.build_request(case, held, other, method_="step"))
    request = subject.build_request(case, held, method_="reset")
    failure = subject.runner.run(request).failure  # what it returns is its own affair
    if failure is not None and "AttributeError" in failure.types:
        raise NotApplicable("it has no reset()")
    held.before += [used, Result(np.zeros(0), request)]
    check_steps(subject, case, held, [0, case["n"] // 2, case["n"]], "after reset()")
