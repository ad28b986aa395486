"""What a law of the attention contract holds in its hands: the target, the truth and the budget for a case.

Every call is checked for the contract's outer form (result type, shape, dtype, inputs untouched, allowed exceptions)
and remembered, so that laws which ask for the same call share it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from attention_core import oracle
from attention_core.conformance.budgets import budget
from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.null_models import Power
from attention_core.conformance.subjects.axes import Axes
from attention_core.conformance.subjects.binding import Binding
from attention_core.conformance.subjects.evidence import Evidence, NotApplicable, Result, Shown, Violation
from attention_core.conformance.subjects.outcomes import (
    LOST,
    MOST_RESULTS,
    SetUpError,
    check_response,
    declared_returns,
    number_of_results,
)
from attention_core.conformance.subjects.session_subject import SubjectBase
from attention_core.conformance.worker.exchange import NDArray, Request, Response, Value, array
from attention_core.conformance.worker.runner import Runner

REMEMBERED = 96 << 15
"""Scores of the cases whose answers, truths and budgets are remembered: as many as 96 of the large ones have."""
LEAST = 1 << 10
"""Scores that a case counts for at least: answers, truths and budgets of small cases have a size, too."""


class Memory:
    """What was computed for the cases seen last: the oldest is forgotten where their scores become too many."""

    def __init__(self, most: int = REMEMBERED) -> None:
        self.most, self.scores = most, 0
        self._made: OrderedDict[tuple[Any, ...], tuple[Any, Any, int]] = OrderedDict()

    def get(self, case: Case, key: tuple[Any, ...], make: Callable[[], Any], *others: Any) -> Any:
        """`make()`, once per key; the case is kept, and `others`, so that their identities stay theirs."""
        if key in self._made:
            self._made.move_to_end(key)
            return self._made[key][1]
        made = make()
        weight = max(LEAST, case.slices * case.query.shape[-2] * case.key.shape[-2])
        self._made[key] = ((case, others), made, weight)
        self.scores += weight
        while self.scores > self.most and len(self._made) > 1:
            self.scores -= self._made.popitem(last=False)[1][2]
        return made


def problem_of(case: Case) -> tuple[Any, ...]:
    """What decides the truth of a case: equal for cases that differ in memory layout, dtype, seed or label alone."""
    return (id(case.query), id(case.key), id(case.value), id(case.mask), case.is_causal, case.factor)


OF_HEADS = ("sinks", "alibi_slopes")
"""Features that are one number for each head."""


@dataclass
class Forward:
    """Results of one call: output, and what `returns` adds."""

    out: Result
    weights: Result | None = None
    lse: Result | None = None
    lse_dtype: str = ""


@dataclass
class Backward:
    """Results of one call with derivatives: output and one gradient per requested input."""

    out: Result
    gradients: dict[str, Result]
    second: dict[str, Result]


class Subject(SubjectBase):
    """The target bound to its conventions, with truth and budget beside it."""

    def __init__(self, runner: Runner, binding: Binding, seed: int = 0, truths: Memory | None = None) -> None:
        super().__init__(runner, binding.implementation, seed)
        self.binding: Binding = binding
        self.fits = False  # whether a call gave as many results as declared
        self.refusals: OrderedDict[str, int] = OrderedDict()
        self.answers, self.truths = Memory(), truths or Memory()  # truths and budgets may be shared by subjects

    def remember(self, case: Case, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """`make()`, once per (case, key) while the case is recent."""
        return self.answers.get(case, (id(case), *key), make)

    # --- calls ------------------------------------------------------------------------------------------

    def send(self, request: Request, meanwhile: Callable[[], object] | None = None) -> Response:
        """One request, counted, its failures sorted out; `meanwhile` is done while a worker is busy with it."""
        self.calls += 1
        request = replace(request, as_it_is=True) if self.as_it_is else request
        response = self.runner.run(request, meanwhile)
        self.lost += LOST.get(response.status, 0)
        number = number_of_results(response)
        if number is not None and number > MOST_RESULTS:
            raise self._wrong_number(request, number)
        return check_response(response, request, self.implementation.declines)

    def forward(self, case: Case, *, fresh: bool = False, **extra: Any) -> Forward:
        """The target's answer to a case (remembered unless `fresh`, or with extras such as `seed`, `mode`)."""
        if fresh or extra:
            return self._forward(case, **extra)
        found: Forward | Violation = self.remember(case, ("forward",), lambda: self._try_forward(case))
        if isinstance(found, Violation):
            raise found
        return found

    def _try_forward(self, case: Case) -> Forward | Violation:
        """The answer, or what is wrong with it: a call that goes wrong once only would hide that when made again."""
        try:
            return self._forward(case)
        except Violation as violation:
            return violation

    def _forward(self, case: Case, **extra: Any) -> Forward:
        request = self.binding.request(case, **extra)
        # nearly every law wants the truth and the budget next; a worker has a core of its own. A probe of dropout is
        # large, and mostly read without a budget
        wanted_next = self.truth if extra.get("dropout") else self.bounds
        meanwhile = None if extra.get("features") else lambda: wanted_next(case)
        outputs = self.send(request, meanwhile).outputs
        wanted = self.implementation.returns.split(",")
        if len(outputs) != len(wanted):
            raise self._wrong_number(request, len(outputs))
        self.fits = True
        found = Forward(self._output(case, request, outputs[0]))
        q, k = case.query.shape, case.key.shape
        order = self.binding.heads_order(case)
        if wanted[-1] == "weights":
            found.weights = self._result(request, outputs[1], (*q[:-1], k[-2]), None, "out1", order=order)
        if wanted[-1] == "lse":
            found.lse = self._result(request, outputs[1], q[:-1], None, "out1", order=order)
            found.lse_dtype = outputs[1].dtype
        return found

    def _wrong_number(self, request: Request, got: int) -> Violation:
        """Another number of results than declared.

        Raises:
            SetUpError: no call gives the declared number, so the declaration is wrong, and nothing is judged.
        """
        message = declared_returns(self.implementation.returns, got, self.implementation.contract)
        if not self.fits:
            plain = [np.ones((1, 1, n, 1)) for n in (1, 5)]
            causal, dtype = self.implementation.always_causal, self.implementation.dtypes[0]
            small = [self.binding.request(Case(dtype, one, one, one, is_causal=causal)) for one in plain]
            numbers = [number_of_results(self.runner.run(each)) for each in small]
            if {*numbers} <= {got, None}:
                raise SetUpError(message)
            request = next((r for r, n in zip(small, numbers, strict=True) if n == got), request)
        return Violation(message, Evidence((Shown(request),), kind="shape"))

    def _output(self, case: Case, request: Request, value: Value) -> Result:
        q, v = case.query.shape, case.value.shape
        order = self.binding.heads_order(case)
        return self._result(request, value, (*q[:-1], v[-1]), case.dtype, "out", self.binding.out_axes, order)

    def _result(
        self, request: Request, value: Value, shape: tuple[int, ...], dtype: str | None, quantity: str,
        axes: Axes | None = None, order: NDArray | None = None, head_axis: int = 1,
    ) -> Result:  # fmt: skip
        axes = Axes(self.implementation.axes) if axes is None else axes
        expected = axes.to_target(np.empty(shape)).shape
        if value.shape != expected:
            raise Violation(
                f"{quantity}: got shape {value.shape}, but should be {expected}",
                Evidence((Shown(request, quantity),), kind="shape", event="wrong shape"),
            )
        if dtype is not None and value.dtype != dtype:
            raise Violation(
                f"{quantity}: got dtype {value.dtype}, but should be {dtype}, as the query (cast the result back)",
                Evidence((Shown(request, quantity),), kind="shape", event="wrong dtype"),
            )
        values, heads = axes.from_target(value.values, shape).astype(np.float64), None
        if order is not None:
            heads = [int(place) for place in np.argsort(order)]
            values = np.take(values, heads, axis=head_axis)
        place, back = partial(axes.place, shape=shape), partial(axes.canonical, shape=shape)
        return Result(values, request, quantity, place, heads=heads, head_axis=head_axis, back=back)

    def backward(
        self, case: Case, cotangent: NDArray | None = None, want: tuple[str, ...] = ("query", "key", "value"),
        directions: tuple[NDArray, ...] | None = None, **extra: Any,
    ) -> Backward:  # fmt: skip
        """The target's derivatives for a cotangent (default: the case's own, then remembered)."""
        if cotangent is None and directions is None and not extra:
            make = lambda: self._backward(case, case.cotangent(), want, None)  # noqa: E731
            found: Backward = self.remember(case, ("backward", want), make)
            return found
        return self._backward(case, case.cotangent() if cotangent is None else cotangent, want, directions, **extra)

    def _backward(
        self, case: Case, cotangent: NDArray, want: tuple[str, ...], directions: tuple[NDArray, ...] | None,
        **extra: Any,
    ) -> Backward:  # fmt: skip
        if "mask" in want and self.implementation.axes < 4 and case.mask is not None and case.mask.ndim > 2:
            raise NotApplicable("the mask is another array for the target, which has no axis of heads")
        wrt = tuple(self.binding.argument(n) for n in want)
        view, own_heads = self.binding.view(case, "cotangent"), self.binding.own_heads
        down = array(self.binding.out_axes.to_target(own_heads(cotangent, case)), case.dtype, view)
        second = None
        if directions is not None:
            pairs = zip(want, directions, strict=True)
            turned = ((name, own_heads(w, case) if name == "query" else w) for name, w in pairs)
            second = tuple(array(self.binding.axes_of(name).to_target(w), case.dtype) for name, w in turned)
        request = self.binding.request(case, wrt=wrt, cotangent=down, second=second, **extra)
        response = self.send(request)
        out = self._output(case, request, response.outputs[0])
        # Where no row has a key (or there is no row), the output depends on nothing, and may say so.
        if not response.has_graph and not self.truth(case).dead.all():
            raise Violation(
                "the output carries no gradient although an input asks for one (if it is forward only, declare "
                "--no-gradients, in Python gradients=False)", Evidence((Shown(request),), kind="crash"),
            )  # fmt: skip
        first, second_order = {}, {}
        for name, arg in zip(want, wrt, strict=True):
            if name in OF_HEADS:
                first[name] = self._gradient_of_heads(case, request, response.gradients.get(arg), arg, name)
                continue
            first[name] = self._gradient(case, request, response.gradients.get(arg), name, f"grad:{arg}")
            if directions is not None:
                found = response.second.get(arg)
                second_order[name] = self._gradient(case, request, found, name, f"second:{arg}")
        return Backward(out, first, second_order)

    def _gradient_of_heads(
        self, case: Case, request: Request, value: Value | None, argument: str, name: str
    ) -> Result:  # fmt: skip
        """The gradient of a number for each head, of slopes in float32 at least; zeros where none came."""
        dtype = "float32" if name == "alibi_slopes" and case.dtype != "float64" else case.dtype
        heads, quantity, order = case.sizes[4], f"grad:{argument}", self.binding.heads_order(case)
        got = Value(dtype, (heads,), np.zeros(heads)) if value is None else value
        found = self._result(request, got, (heads,), dtype, quantity, Axes(), order, 0)
        return replace(found, extra={"missing": True}) if value is None else found

    def lse_gradients(self, case: Case, cotangent: NDArray) -> dict[str, Result] | None:
        """Gradients of query and key for a cotangent (B, H, n_q) on the log-sum-exp; None if it carries none."""
        turned = self.binding.own_heads(cotangent[..., None], case)[..., 0]
        down = array(Axes(self.implementation.axes).to_target(turned), self.forward(case).lse_dtype)
        request = self.binding.request(case, wrt=("0", "1"), cotangent=down, of=1)
        response = self.send(request)
        if not response.has_graph:
            return None
        wanted = {"query": "0", "key": "1"}
        return {n: self._gradient(case, request, response.gradients.get(a), n, f"grad:{a}") for n, a in wanted.items()}

    def _gradient(self, case: Case, request: Request, value: Value | None, name: str, quantity: str) -> Result:
        shape = getattr(case, name).shape
        axes = self.binding.axes_of(name) if name != "mask" else Axes()
        order = self.binding.heads_order(case) if name in ("query", "mask") else None
        head_axis = len(shape) - 3
        if order is not None and (head_axis < 0 or shape[head_axis] != len(order)):
            order = None
        if value is None:  # torch's way to say that nothing depends on it
            zeros = axes.to_target(np.zeros(shape))
            none = Value(case.dtype, zeros.shape, zeros)
            nothing = self._result(request, none, shape, None, quantity, axes, order, head_axis)
            return replace(nothing, extra={"missing": True})
        return self._result(request, value, shape, case.dtype, quantity, axes, order, head_axis)

    # --- truth and budget ---------------------------------------------------------------------------------

    def _options(self, case: Case) -> dict[str, Any]:
        return {"is_causal": case.is_causal, "alignment": self.implementation.causal, "scale": case.factor}

    def truth(self, case: Case) -> oracle.Truth:
        """The float64 truth of a case, dead rows as declared."""
        dead = self.implementation.dead_rows
        make = lambda: oracle.attention(  # noqa: E731
            case.query, case.key, case.value, case.mask, **self._options(case), dead_rows=dead
        )
        key = ("truth", *problem_of(case), self.implementation.causal, dead)
        found: oracle.Truth = self.truths.get(case, key, make)
        return found

    def bounds(self, case: Case) -> budget.ForwardBounds:
        """The error budget of the output (and log-sum-exp) of a case."""
        make = lambda: budget.forward_bound(  # noqa: E731
            case.query, case.key, case.value, self.truth(case), mask=case.mask, scale=case.factor,
            dtype=case.dtype, accumulate=self.implementation.accumulate, dead_rows=self.implementation.dead_rows,
            merges=self.implementation.merges,
        )  # fmt: skip
        found: budget.ForwardBounds = self.truths.get(case, ("bounds", *self._judged_as(case)), make)
        return found

    def true_gradients(self, case: Case, cotangent: NDArray, want_mask: bool = False) -> oracle.Gradients:
        """Float64 analytic gradients of a case."""
        make = lambda: oracle.gradients(  # noqa: E731
            case.query, case.key, case.value, cotangent, case.mask, **self._options(case), want_mask=want_mask,
            truth=self.truth(case), dead_rows=self.implementation.dead_rows,
        )  # fmt: skip
        key = ("gradients", *self._judged_as(case), id(cotangent), want_mask)
        found: oracle.Gradients = self.truths.get(case, key, make, cotangent)
        return found

    def gradient_bounds(
        self, case: Case, cotangent: NDArray, gradients: oracle.Gradients, want_mask: bool = False
    ) -> budget.BackwardBounds:
        """The error budget of every gradient of a case."""
        make = lambda: budget.backward_bound(  # noqa: E731
            case.query, case.key, case.value, cotangent, self.truth(case), gradients, mask=case.mask, scale=case.factor,
            dtype=case.dtype, accumulate=self.implementation.accumulate, want_mask=want_mask,
            dead_rows=self.implementation.dead_rows, merges=self.implementation.merges,
            forward_bounds=self.bounds(case),
        )  # fmt: skip
        key = ("gradient bounds", *self._judged_as(case), id(cotangent), id(gradients), want_mask)
        found: budget.BackwardBounds = self.truths.get(case, key, make, cotangent, gradients)
        return found

    def _judged_as(self, case: Case) -> tuple[Any, ...]:
        """What decides the budgets of a case."""
        declared = self.implementation
        how = (declared.causal, declared.dead_rows, declared.accumulate, declared.merges)
        return (*problem_of(case), case.dtype, *how)

    def allows(self, case: Case) -> bool:
        """Whether a derived or reduced case still has declared sizes."""
        return self.binding.profile().allows(case.sizes)

    def record_power(self, law: str, power: Power) -> int:
        """Add what one case of a law can tell apart; returns the number of problems judged."""
        for null, count in power.relevant.items():
            self.relevant[law, null] += count
            self.powers[law, null] += power.separated[null]
        return power.judged

    def record_ratio(self, case: Case, quantity: str, ratio: float) -> None:
        """Keep the largest error/bound seen, per dtype and quantity."""
        key = (case.dtype, quantity)
        self.ratios[key] = max(self.ratios.get(key, 0.0), ratio)
