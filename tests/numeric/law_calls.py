"""A law's calls and demands, recorded.

What a law does with one small case: the cases that it hands to the target, and what it then demands of the answers.
The target is a plain correct attention; the law's own code runs unchanged.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor

from attention_core import oracle
from attention_core.conformance import Implementation
from attention_core.conformance.cases.case import Case
from attention_core.conformance.engine.session import Session, select_laws
from attention_core.faults.bases.reference import bias, correct, scores

Array = npt.NDArray[np.float64]


@dataclass
class Demand:
    """One comparison: what should have come, and how far from it is allowed."""

    want: Array
    bound: Array
    what: str


@dataclass
class Calls:
    """Everything that a law did with one case."""

    cases: list[Case] = field(default_factory=list)
    demands: list[Demand] = field(default_factory=list)


def truth(case: Case) -> oracle.Truth:
    """The oracle's answer to a case."""
    return oracle.attention(case.query, case.key, case.value, case.mask, is_causal=case.is_causal, scale=case.scale)


def with_lse(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, scale: float | None = None
) -> tuple[Tensor, Tensor]:
    """A correct attention that returns its log-sum-exp."""
    s = scores(query, key, scale)
    s = bias(s, attn_mask, None)
    return correct(query, key, value, attn_mask, scale=scale), torch.logsumexp(s, -1)


def calls(law: str, case: Case, patch: pytest.MonkeyPatch, *, lse: bool = False) -> Calls:
    """Run a law on a case, its target without or with a log-sum-exp."""
    seen = Calls()
    lse_target = Implementation(with_lse, contract="attention-lse", returns="out,lse")
    target = lse_target if lse else Implementation(correct)
    with Session(target, effort="quick", seed=0) as session:
        (chosen,) = select_laws(session.laws, [law])
        subject = session.subject

        def record(what: Any) -> Any:
            def call(one: Case, *args: Any, **named: Any) -> Any:
                if not any(one is other for other in seen.cases):
                    seen.cases.append(one)
                return what(one, *args, **named)

            return call

        patch.setattr(subject, "forward", record(subject.forward))
        patch.setattr(subject, "backward", record(subject.backward))
        for name in ("value", "value_relations", "expected", "lse"):
            module = importlib.import_module(f"attention_core.conformance.laws.{name}")
            patch.setattr(module, "require_close", demanding(seen, module.require_close))
        chosen.check(subject, case)
    patch.undo()
    return seen


def demanding(seen: Calls, require: Any) -> Any:
    """`require_close` that also notes what it is asked."""

    def call(got: Any, want: Any, bound: Any, what: str, **named: Any) -> Any:
        shape = np.shape(got.values)
        seen.demands.append(Demand(np.broadcast_to(want, shape), np.broadcast_to(bound, shape), what))
        return require(got, want, bound, what, **named)

    return call
