"""Cross attention over a text that is kept: how an object is built and called, and the truth of a step.

A target is called without arguments for a new object. A text's keys (B, H_kv, n_kv, d) and values (B, H_kv, n_kv, d_v)
are given once; a step attends from queries (B, H, n_q, d) to all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from attention_core.conformance.subjects.evidence import Result
from attention_core.conformance.subjects.masked_subject import MaskedCall, MaskedSubject, whole
from attention_core.conformance.subjects.outcomes import check_response
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.conformance.worker.exchange import NDArray, Request, array
from attention_core.declaration.implementation import TargetError

STARTS = ("start", "begin", "set_encoder", "set_memory", "set_text", "prefill", "precompute", "load")
"""Methods that are given keys and values, and keep them."""
STEPS = ("", "step", "attend", "forward", "decode")
"""How an object is given queries: by being called, or by a method."""
REORDERS = ("reorder", "reorder_cache", "index_select", "batch_select_indices")
"""Methods that are given a row of the batch for each row to come."""
TRIMS = ("trim", "crop", "rollback", "truncate")
"""Methods that take back tokens of a decoder, by a number; transformers' `crop` takes it negative."""
LENGTHS = ("lengths", "key_lengths", "key_lens", "encoder_lens", "encoder_lengths", "src_lengths", "kv_lens")
PADDINGS = ("key_padding_mask", "encoder_padding_mask")
"""Parameters that say which keys are padding: how many there are of each text, or True where one is padding."""
INPUTS = 3
RESET = "reset"


class Protocol(NamedTuple):
    """How the objects of a target are called.

    Args:
        start: the method that takes keys and values, "" where a step takes them beside its queries.
        step: the method of a step, "" for the object itself.
        always: whether every step has to be given keys and values.
        lengths: the parameter that says which keys are padding, "" without.
        reorder, trim, reset: these methods, "" without.
    """

    start: str
    step: str
    always: bool
    lengths: str
    reorder: str
    trim: str
    reset: str


@dataclass(frozen=True, eq=False)
class Step(MaskedCall):
    """Queries, and the text that they attend to: keys, values and how many keys each row has, int (B,)."""

    counts: NDArray

    def rows(self, chosen: NDArray) -> Step:
        """The step with some rows of the text, in their order."""
        moved: Step = self.with_(key=self.key[chosen], value=self.value[chosen], counts=self.counts[chosen])
        return moved


class CrossSubject(MaskedSubject):
    """A factory of objects that attend to a text that they keep."""

    @cached_property
    def protocol(self) -> Protocol:
        """How objects are called, found by the names of their methods and parameters; looked up once.

        Raises: TargetError where nothing takes queries, or keys and values; Refused where no object is made.
        """
        number = self.fresh_instance()
        built = Request(instance=(number, ()), describe=True)
        check_response(self.runner.run(built), built, self.implementation.declines)
        known = self.description.get("step")
        steps = {name: self.describe_method(number, name) for name in (STEPS if known is None else (known,))}
        step = next((name for name, found in steps.items() if found), None)
        if step is None:
            raise TargetError(
                f"objects of {self.implementation.name} cannot be called, and have no method step(query, key, value)"
            )
        own = steps[step] or []
        found = {name: self.describe_method(number, name) for name in (*STARTS, *REORDERS, *TRIMS, RESET)}
        takes_text = len(own) >= INPUTS
        start = "" if takes_text else next((name for name in STARTS if len(found[name] or ()) >= 2), None)
        if start is None:
            raise TargetError(
                f"nothing is given keys and values: a step of {self.implementation.name} takes query, key and value, "
                "or its objects have a method start(key, value)"
            )
        keepers = [p["name"] for p in (found[start] if start else own) or ()]
        return Protocol(
            start, step, takes_text and not all(p["default"] for p in own[1:INPUTS]),
            next((name for name in keepers if name in (*LENGTHS, *PADDINGS)), ""),
            *(next((name for name in names if found[name] is not None), "") for names in (REORDERS, TRIMS, (RESET,))),
        )  # fmt: skip

    def describe_method(self, number: int, name: str) -> list[dict[str, Any]] | None:
        """The parameters of a method of an object, or of the object itself; None where there is none."""
        request = Request(instance=(number, ()), method=name or None, describe=True)
        response = self.runner.run(request)
        return response.described.get("parameters") if response.status == "ok" else None

    def take_one_step(self, case: ParameterCase) -> None:
        """Let a new object attend to the text of a case; raises where it cannot."""
        self.begin(case, self.fresh_instance(), self.draw(case))

    # --- cases ------------------------------------------------------------------------------------------

    def draw(self, case: ParameterCase, turn: str = "", n_q: int | None = None) -> Step:
        """A step of a case on its text; another `turn` has another text, and other queries."""
        B, H, n_kv = case["B"], case["H_kv"] * case["group"], case["n_kv"]
        counts = np.full(B, n_kv)
        if self.protocol.lengths:
            counts = case.rng(f"counts{turn}").integers(1, n_kv + 1, size=B)
            counts[case.seed % B] = n_kv
            if self.protocol.lengths in PADDINGS and case.seed % 2:  # one row of padding, that of all texts
                counts[:] = max(1, n_kv - 1 - case.seed % 3)
        return Step(
            case.queries(f"query{turn}", B, H, case["n_q"] if n_q is None else n_q, case["d"]),
            case.keys(f"key{turn}", B, case["H_kv"], n_kv, case["d"]),
            case.values(f"value{turn}", B, case["H_kv"], n_kv, case["d_v"]), counts,
        )  # fmt: skip

    def later(self, case: ParameterCase, step: Step, turn: str, n_q: int | None = None) -> Step:
        """Further queries on the text of a step, as many rows as it has."""
        rows, heads = len(step.key), step.query.shape[1]
        later: Step = step.with_(query=case.queries(f"query{turn}", rows, heads, n_q or case["n_q"], case["d"]))
        return later

    def mask(self, call: Step) -> NDArray:
        """The pairs that a step attends: all keys of its row's text, bool (B, 1, n_q, n_kv)."""
        n_q, n_kv = call.lengths
        pairs = np.arange(n_kv) < call.counts[:, None, None, None]
        return np.broadcast_to(pairs, (len(call.counts), 1, n_q, n_kv))

    # --- calls ------------------------------------------------------------------------------------------

    def request_of(
        self, case: ParameterCase, call: Step, *, number: int = 0, begins: bool = False, **extra: Any
    ) -> Request:
        """The request of a step; one that `begins` brings its text, where objects take it so."""
        fields, call = {k[:-1]: v for k, v in extra.items()}, call.put_in_order(self.order(call))
        p = self.protocol
        args = [array(self.own.to_target(call.query), case.dtype)]
        options: dict[str, Any] = {}
        if not p.start and (begins or p.always):
            args += [array(self.own.to_target(x), case.dtype) for x in (call.key, call.value)]
            options = self._padding(call)
        options |= self.implementation.arguments
        return Request(tuple(args), options, instance=(number, ()), method=p.step or None, loose=True, **fields)

    def _padding(self, call: Step) -> dict[str, Any]:
        """What says which keys are padding."""
        name = self.protocol.lengths
        if not name:
            return {}
        if name in PADDINGS:
            return {name: array(np.arange(call.key.shape[2]) >= call.counts[:, None], "bool", "one_row")}
        return {name: whole(call.counts)}

    def begin(self, case: ParameterCase, number: int, call: Step) -> list[Result]:
        """The results of a first step on a text, and of what goes before it, the step's own last."""
        before: list[Result] = []
        if self.protocol.start:
            text = [array(self.own.to_target(x), case.dtype) for x in (call.key, call.value)]
            before = [self.act(number, self.protocol.start, *text, **self._padding(call))]
        return [*before, self.attend(case, call, number=number, begins=True)]

    def act(self, number: int, name: str, *args: Any, **options: Any) -> Result:
        """A call of a method whose result is its own affair.

        Raises: Refused where it declines, Violation where it raises otherwise or writes into what it is given.
        """
        request = Request(args, options, instance=(number, ()), method=name)
        self.calls += 1
        response = self.runner.run(request)
        if response.failure is None or "WrongReturn" not in response.failure.types:
            check_response(response, request, self.implementation.declines)
        return Result(np.zeros(0), request)
