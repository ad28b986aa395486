"""Functions of linear attention: how they are called, the tokens of a case, their truth and its budget.

Tokens are (B, H, n, d), states (B, H, d, d_v); a target has its own order of axes, and its own names of what comes
after its inputs. Packed texts lie one after the other in one row, (1, H, T, d), with a state for each text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from attention_core import oracle
from attention_core.conformance.budgets.budget import round_to
from attention_core.conformance.budgets.merge_bound import lse_dtype
from attention_core.conformance.budgets.recurrence_bound import RecurrenceBounds, recurrence_bound
from attention_core.conformance.budgets.recurrence_terms import Tokens
from attention_core.conformance.subjects.axes import Arrangement
from attention_core.conformance.subjects.evidence import Evidence, NotApplicable, Result, Shown, Violation
from attention_core.conformance.subjects.linear_form import DELTA, OF_FLA, read_form
from attention_core.conformance.subjects.parameter_case import ParameterCase, ParameterSubject
from attention_core.conformance.worker.exchange import Array, NDArray, Request, array
from attention_core.conformance.worker.runner import Runner
from attention_core.declaration.implementation import Implementation, TargetError
from attention_core.declaration.scales import DEFAULT, scale_of

CHUNK = 16
"""The chunk of a target that is told one, and takes tails."""
Lengths = Sequence[int] | None
"""Of the texts of a pack, None where every row of the batch is a text."""


@dataclass(frozen=True)
class Truth:
    """Outputs (B, H, n, d_v), the last state (B, H, d, d_v), and how far right ones may be from them.

    Of a pack, outputs are (1, H, T, d_v), and there is a state for each text.
    """

    out: NDArray
    state: NDArray
    bounds: RecurrenceBounds


class LinearAttention(ParameterSubject):
    """A function of linear attention."""

    def __init__(
        self, runner: Runner, implementation: Implementation, description: Mapping[str, Any], seed: int = 0
    ) -> None:
        super().__init__(runner, implementation, description, seed)
        declared, name = str(self.parameters.get("kind", "")), str(description.get("qualname", ""))
        self.call_form = read_form(description["parameters"], implementation.arguments, declared, name)
        self.kind, self.roles = self.call_form.kind, self.call_form.roles
        first = set(OF_FLA) <= {*(self.names() or ())} or self.call_form.is_state_space
        axes = str(self.parameters.get("tokens", "bnhd" if first else implementation.layout))
        if "b" not in axes:
            raise TargetError(f"--parameter tokens={axes}: tokens of linear attention are bnhd or bhnd")
        self.own, self.own_gates = Arrangement("bhnd", axes), Arrangement("bhn", axes.replace("d", ""))
        usual = "vk" if self.call_form.is_state_space else "kv"
        self.own_state = Arrangement("bhde", {"kv": "bhde", "vk": "bhed"}[str(self.parameters.get("state", usual))])

    @property
    def has_decay(self) -> bool:
        """Whether its state fades."""
        return self.call_form.has_decay

    @property
    def _own_scale(self) -> bool:
        """Whether its scale has a number as default, which a call does not leave to itself."""
        name = self.roles.get("scale")
        return any(p["name"] == name and p.get("value") is not None for p in self.description["parameters"] or ())

    # --- tokens -----------------------------------------------------------------------------------------

    def tokens(self, case: ParameterCase, pace: float = -2.0) -> Tokens:
        """The tokens of a case as the target reads them; log decays are about -e^pace a token."""
        B, H, n, d = (case[name] for name in ("B", "H", "n", "d"))
        heads = self.groups(case)
        query, key = (np.repeat(case.values(x, B, heads, n, d), H // heads, axis=1) for x in ("query", "key"))
        beta = step = None
        if self.kind in DELTA:  # its keys have norm 1, so that the state does not grow
            norm = np.sqrt((key**2).sum(axis=-1, keepdims=True))
            key = round_to(key / np.where(norm == 0, 1.0, norm), case.dtype)
            beta = round_to(1 / (1 + np.exp(-case.values("beta", B, H, n))), case.dtype)
        if "step" in self.call_form.inputs:  # which multiplies the values as well
            step, pace = round_to(np.exp(case.values("step", B, H, n) + pace), case.dtype), 0.0
        decay = self._draw_decay(case, pace) if self.has_decay else None
        return Tokens(query, key, case.values("value", B, H, n, case["d_v"]), decay, beta, step)

    def groups(self, case: ParameterCase) -> int:
        """The heads of queries and keys, which values' heads share in a state space with a step."""
        if "step" not in self.call_form.inputs:
            return case["H"]
        return int(case.rng("groups").choice([g for g in range(1, case["H"] + 1) if case["H"] % g == 0]))

    @property
    def decays_of(self) -> str:
        """What has a decay of its own: "heads", "tokens" of a head, or "features" of a token."""
        if self.kind == "retention" or "step" in self.call_form.inputs:
            return "heads"
        return "tokens" if self.kind in ("gated-delta", "ssd") else "features"

    def decay_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of log decays beside keys of a shape (B, H, n, d)."""
        B, H, n, d = shape
        return {"heads": (1, H, 1, 1), "tokens": (B, H, n, 1), "features": (B, H, n, d)}[self.decays_of]

    @property
    def decay_role(self) -> str:
        """How decays are given: "log_decay", "decay" (itself, or the rate of a state space), or "" for not at all."""
        given = (*self.roles, *self.call_form.inputs)
        return next((role for role in ("log_decay", "decay") if role in given), "")

    def _draw_decay(self, case: ParameterCase, pace: float) -> NDArray:
        """Log decays (B, H, n, d); of a state space with a step those of a step of 1."""
        full = tuple(case[name] for name in ("B", "H", "n", "d"))
        shape = self.decay_shape(full)
        if not self.decay_role:  # RetNet's own
            decays = np.log1p(-(2.0 ** (-5 - np.arange(case["H"])))).reshape(shape)
        else:
            decays = round_to(-np.exp(case.values("decay", *shape) + pace), case.dtype)
            if self.decay_role == "decay" and not self.call_form.is_state_space:
                decays = np.log(np.maximum(round_to(np.exp(decays), case.dtype), 2.0**-14))
        return np.broadcast_to(decays, full)

    def start(self, case: ParameterCase) -> NDArray:
        """A state to begin with for each row of the batch, or text of a pack, as the target reads it.

        Raises: NotApplicable where it takes none.
        """
        if "state" not in self.roles:
            raise NotApplicable("it takes no initial state")
        state = case.values("state", case["B"], case["H"], case["d"], case["d_v"])
        return np.asarray(round_to(state, lse_dtype(case.dtype)))

    # --- calls ------------------------------------------------------------------------------------------

    def request_of(
        self, case: ParameterCase, tokens: Tokens, start: NDArray | None = None, *, ask: bool = True,
        scale: float | None = None, view: str = "contiguous", lengths: Lengths = None, **fields: Any,
    ) -> Request:  # fmt: skip
        """The call for some tokens; `ask` for the last state, `view`: how tokens lie in memory, `lengths`: of texts."""
        given = self.inputs_of(case, tokens)
        arrays = (
            array(given[name], self._dtype(case, name), view if name in ("query", "key", "value") else "contiguous")
            for name in self.call_form.inputs
        )
        extra: dict[str, Any] = {
            name: array(given[name], self._dtype(case, name)) for name in given if name not in self.call_form.inputs
        }
        if start is not None:
            extra["state"] = array(self.own_state.to_target(start), lse_dtype(case.dtype))
        if ask:
            extra["asks"] = True
        if scale is None and self._own_scale:
            scale = self.scale(case)
        if scale is not None:
            extra["scale"] = scale
        extra |= {"normalize": False, "chunk": self._chunk(tokens.key.shape[2])}
        extra |= {} if lengths is None else self._borders(lengths)
        named = {self.roles[role]: value for role, value in extra.items() if role in self.roles}
        return Request(tuple(arrays), {**named, **self.implementation.arguments}, loose=True, **fields)

    def inputs_of(self, case: ParameterCase, tokens: Tokens) -> dict[str, NDArray]:
        """Query, key, value, step and gates by role, in the target's axes."""
        shared = case["H"] // self.groups(case)
        given = {
            "query": self.own.to_target(tokens.query[:, ::shared]), "key": self.own.to_target(tokens.key[:, ::shared]),
            "value": self.own.to_target(tokens.value),
        }  # fmt: skip
        for name, gate in (("beta", tokens.beta), ("step", tokens.step)):
            if gate is not None:
                given[name] = self.own_gates.to_target(gate)
        role = self.decay_role
        if tokens.log_decay is not None and role:
            factor = role == "decay" and not self.call_form.is_state_space
            decays = np.exp(tokens.log_decay) if factor else tokens.log_decay
            given[role] = np.ascontiguousarray(self._decays_to_target(decays))
        return given

    def _decays_to_target(self, decays: NDArray) -> NDArray:
        """Decays (B, H, n, d) as the target takes them."""
        if self.decays_of == "heads":
            return decays[0, :, 0, 0] if decays.size else np.zeros(decays.shape[1])
        return self.own.to_target(decays) if self.decays_of == "features" else self.own_gates.to_target(decays[..., 0])

    def _dtype(self, case: ParameterCase, name: str) -> str:
        """The dtype of an input: rates of a state space are float32 beside inputs of two bytes."""
        return lse_dtype(case.dtype) if self.call_form.is_state_space and name in ("decay", "log_decay") else case.dtype

    def _chunk(self, n: int) -> int:
        """Tokens of a chunk: 16, or what divides the length where it is told that it has to."""
        if "step" in self.call_form.inputs or not self.call_form.is_state_space:
            return CHUNK
        return next(size for size in (16, 8, 4, 2, 1) if n % size == 0)

    def _borders(self, lengths: Sequence[int]) -> dict[str, Array]:
        """Where texts end, by role."""
        ends = np.cumsum([0, *lengths])
        kind = "int64" if set(OF_FLA) <= {*(self.names() or ())} else "int32"
        return {
            "ends": array(ends, kind),
            "texts": array(np.repeat(np.arange(len(lengths)), lengths)[None], "int32"),
        }

    def attend(
        self, case: ParameterCase, tokens: Tokens, start: NDArray | None = None, *, lengths: Lengths = None, **how: Any
    ) -> tuple[Result, Result | None]:
        """(outputs, last state) of one call, canonical; the state is None where it returns none.

        Raises: Violation where it should return the state and returns one result.
        """
        ask = bool(how.get("ask", True))
        request = self.request_of(case, tokens, start, lengths=lengths, **how)
        outputs = self.send(request).outputs
        if ask and "asks" in self.roles and len(outputs) < 2:
            message = f"with {self.roles['asks']}=True the call returns one value, but should return (out, state)"
            raise Violation(message, Evidence((Shown(request),), kind="shape"))
        out = self.own.result(outputs[0], tokens.value.shape, request, "out", "out")
        if len(outputs) < 2 or not ask:
            return out, None
        rows = len(lengths) if lengths is not None and "ends" in self.roles else len(tokens.key)
        shape = (rows, tokens.key.shape[1], tokens.key.shape[-1], tokens.value.shape[-1])
        return out, self.own_state.result(outputs[1], shape, request, "out1", "state")

    # --- truth ------------------------------------------------------------------------------------------

    def scale(self, case: ParameterCase, scale: float | None = None) -> float:
        """The scale of a call, as given or as declared; a state space has none."""
        if scale is not None:
            return scale
        rule = self.implementation.scale
        return scale_of("1" if self.call_form.is_state_space and rule == DEFAULT else rule, case["d"])

    def truth(
        self, case: ParameterCase, tokens: Tokens, start: NDArray | None = None, *, scale: float | None = None,
        parts: int = 1,
    ) -> Truth:  # fmt: skip
        """The true results of a call, or of several that carry the state on, with their budget."""
        factor = self.scale(case, scale)
        out, state = oracle.linear_attention(*tokens.recur(), start, scale=factor)
        how: dict[str, Any] = {"dtype": case.dtype, "accumulate": self.implementation.accumulate, "parts": parts}
        return Truth(out, state, recurrence_bound(tokens, start, out, scale=factor, **how))

    def truth_of_pack(
        self, case: ParameterCase, tokens: Tokens, lengths: Sequence[int], start: NDArray | None = None
    ) -> Truth:
        """The true results of a pack: every text by itself, outputs one after the other, and the state of each."""
        found = [self.truth(case, one, first) for one, first in zip(*split_texts(tokens, lengths, start), strict=True)]
        outs, bounds = (np.concatenate(x, axis=2) for x in ([t.out for t in found], [t.bounds.out for t in found]))
        states, limits = (np.concatenate(x) for x in ([t.state for t in found], [t.bounds.state for t in found]))
        return Truth(outs, states, RecurrenceBounds(bounds, limits))


def select_tokens(tokens: Tokens, rows: slice) -> Tokens:
    """Some of the tokens, one after the other."""
    return Tokens(*(None if x is None else x[:, :, rows] for x in tokens))  # type: ignore[arg-type]


def split_texts(
    tokens: Tokens, lengths: Sequence[int], start: NDArray | None = None
) -> tuple[list[Tokens], list[NDArray | None]]:
    """The tokens of each text of a pack (1, H, T, d), and the state that it begins with, of (texts, H, d, d_v)."""
    ends = np.cumsum([0, *lengths])
    texts = [select_tokens(tokens, slice(int(a), int(b))) for a, b in pairwise(ends)]
    return texts, [None if start is None else start[i : i + 1] for i in range(len(texts))]
