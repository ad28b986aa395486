"""Functions of linear attention: how they are called, the tokens of a case, their truth and its budget.

Tokens are (B, H, n, d), states (B, H, d, d_v); a target has its own order of axes, and its own names of what comes
behind query, key and value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from attention_core import oracle
from attention_core.conformance.budgets.budget import round_to
from attention_core.conformance.budgets.merge_bound import lse_dtype
from attention_core.conformance.budgets.recurrence_bound import RecurrenceBounds, Tokens, recurrence_bound
from attention_core.conformance.subjects.axes import Arrangement
from attention_core.conformance.subjects.evidence import Evidence, NotApplicable, Result, Shown, Violation
from attention_core.conformance.subjects.parameter_case import ParameterCase, ParameterSubject
from attention_core.conformance.worker.exchange import Array, NDArray, Request, array
from attention_core.conformance.worker.runner import Runner
from attention_core.declaration.implementation import Implementation, TargetError
from attention_core.declaration.scales import scale_of

KINDS = ("linear", "retention", "gla", "gated-delta")
ROLES: Mapping[str, str] = {
    name: role
    for role, names in {
        "log_decay": "g gk log_decay log_decays log_gate g_gamma log_gamma",
        "decay": "decay decays gamma gammas",
        "beta": "beta betas",
        "state": "initial_state h0 state prev_state past_state recurrent_state",
        "asks": "output_final_state return_state return_final_state",
        "scale": "scale softmax_scale sm_scale scaling",
        "normalize": "normalize",
    }.items()
    for name in names.split()
}
"""A parameter's name -> what it is; `normalize` is always given False."""
INPUTS = 3
"""Query, key and value come first, whatever they are called."""
OF_FLA = ("output_final_state", "cu_seqlens")
"""Parameters by which an operator of flash-linear-attention is known: its tokens are (B, n, H, d)."""


def read_roles(
    parameters: list[dict[str, Any]] | None, bound: Iterable[str], kind: str = ""
) -> tuple[str, dict[str, str]]:
    """The kind of a target, and role -> its own name of it, of all parameters behind query, key and value.

    Args:
        parameters: of the target, None where its signature cannot be read.
        bound: those that are given a value otherwise.
        kind: as it is declared, "" where it follows from the parameters.

    Raises:
        TargetError: a parameter without a default whose meaning is not known, or one that the kind needs is not there.

    Example:
        >>> read_roles([{"name": n, "kind": "", "default": False} for n in "q k v g beta".split()], ())
        ('gated-delta', {'log_decay': 'g', 'beta': 'beta'})
    """
    named = [p for p in parameters or [] if not p["kind"].startswith("VAR")][INPUTS:]
    named = [p for p in named if p["name"] not in bound]
    for p in named:
        if p["name"] not in ROLES and not p["default"]:
            raise TargetError(
                f"what the parameter {p['name']} is given is not known: name it as its library does (such as g, beta, "
                f"initial_state), or fix it with --arg {p['name']}=VALUE"
            )
    roles: dict[str, str] = {}
    for p in named:
        if p["name"] in ROLES:
            roles.setdefault(ROLES[p["name"]], p["name"])
    kind = kind or _kind_by_roles(roles)
    if kind not in KINDS:
        raise TargetError(f"kind={kind!r}: say which recurrence it is: --kind {', '.join(KINDS)}")
    unwanted = {"linear": ("log_decay", "decay", "beta"), "gated-delta": ()}.get(kind, ("beta",))
    required = {p["name"] for p in named if not p["default"]}
    for role in unwanted:
        name = roles.pop(role, "")
        if name in required:
            raise TargetError(f"kind={kind!r} has no {name}, which the target needs: declare another --kind")
    if (kind == "gla" and not {"log_decay", "decay"} & roles.keys()) or (kind == "gated-delta" and "beta" not in roles):
        lacks = "log decay (g)" if kind == "gla" else "beta"
        raise TargetError(f"kind={kind!r} needs a parameter for its {lacks}, and the target has none")
    return kind, roles


def _kind_by_roles(roles: Mapping[str, str]) -> str:
    """The kind that the names of parameters tell: a decay by these names is of features, or of heads."""
    if "beta" in roles:
        return "gated-delta"
    if roles.get("log_decay") in ("g_gamma", "log_gamma") or "decay" in roles:
        return "retention"
    return "gla" if "log_decay" in roles else "linear"


@dataclass(frozen=True)
class Truth:
    """Outputs (B, H, n, d_v), the last state (B, H, d, d_v), and how far right ones may be from them."""

    out: NDArray
    state: NDArray
    bounds: RecurrenceBounds


class LinearAttention(ParameterSubject):
    """A function of linear attention."""

    def __init__(
        self, runner: Runner, implementation: Implementation, description: Mapping[str, Any], seed: int = 0
    ) -> None:
        super().__init__(runner, implementation, description, seed)
        declared = str(self.parameters.get("kind", ""))
        self.kind, self.roles = read_roles(description["parameters"], implementation.arguments, declared)
        axes = "bnhd" if set(OF_FLA) <= {*(self.names() or ())} else implementation.layout
        self.own, self.own_gates = Arrangement("bhnd", axes), Arrangement("bhn", axes.replace("d", ""))
        self.own_state = Arrangement("bhde", {"kv": "bhde", "vk": "bhed"}[str(self.parameters.get("state", "kv"))])

    @property
    def has_decay(self) -> bool:
        """Whether its state fades."""
        return self.kind in ("retention", "gla") or bool({"log_decay", "decay"} & self.roles.keys())

    @property
    def _own_scale(self) -> bool:
        """Whether its scale has a number as default, which a call does not leave to itself."""
        name = self.roles.get("scale")
        return any(p["name"] == name and p.get("value") is not None for p in self.description["parameters"] or ())

    # --- tokens -----------------------------------------------------------------------------------------

    def tokens(self, case: ParameterCase, pace: float = -2.0) -> Tokens:
        """The tokens of a case as the target reads them; log decays are about -e^pace a token."""
        B, H, n, d = (case[name] for name in ("B", "H", "n", "d"))
        key = case.values("key", B, H, n, d)
        beta = None
        if self.kind == "gated-delta":  # its keys have norm 1, so that the state does not grow
            norm = np.sqrt((key**2).sum(axis=-1, keepdims=True))
            key = round_to(key / np.where(norm == 0, 1.0, norm), case.dtype)
            beta = round_to(1 / (1 + np.exp(-case.values("beta", B, H, n))), case.dtype)
        decay = self._draw_decay(case, pace) if self.has_decay else None
        query, value = case.values("query", B, H, n, d), case.values("value", B, H, n, case["d_v"])
        return Tokens(query, key, value, decay, beta)

    def _draw_decay(self, case: ParameterCase, pace: float) -> NDArray:
        """Log decays (B, H, n, d): of heads (retention), of tokens (gated delta rule), or of features."""
        B, H, n, d = (case[name] for name in ("B", "H", "n", "d"))
        shape = {"retention": (1, H, 1, 1), "gated-delta": (B, H, n, 1)}.get(self.kind, (B, H, n, d))
        if not {"log_decay", "decay"} & self.roles.keys():  # RetNet's own
            decays = np.log1p(-(2.0 ** (-5 - np.arange(H)))).reshape(shape)
        else:
            decays = round_to(-np.exp(case.values("decay", *shape) + pace), case.dtype)
            if "log_decay" not in self.roles:
                decays = np.log(np.maximum(round_to(np.exp(decays), case.dtype), 2.0**-14))
        return np.broadcast_to(decays, (B, H, n, d))

    def start(self, case: ParameterCase) -> NDArray:
        """A state to begin with, as the target reads it.

        Raises: NotApplicable where it takes none.
        """
        if "state" not in self.roles:
            raise NotApplicable("it takes no initial state")
        state = case.values("state", case["B"], case["H"], case["d"], case["d_v"])
        return np.asarray(round_to(state, lse_dtype(case.dtype)))

    # --- calls ------------------------------------------------------------------------------------------

    def request_of(
        self, case: ParameterCase, tokens: Tokens, start: NDArray | None = None, *, ask: bool = True,
        scale: float | None = None, view: str = "contiguous",
    ) -> Request:  # fmt: skip
        """The call for some tokens; `ask` for the last state, `view` is how tokens lie in memory."""
        qkv = (array(self.own.to_target(x), case.dtype, view) for x in tokens[:3])
        extra: dict[str, Any] = self._gates(case, tokens)
        if start is not None:
            extra["state"] = array(self.own_state.to_target(start), lse_dtype(case.dtype))
        if ask:
            extra["asks"] = True
        if scale is None and self._own_scale:
            scale = scale_of(self.implementation.scale, tokens.query.shape[-1])
        if scale is not None:
            extra["scale"] = scale
        extra["normalize"] = False
        named = {self.roles[role]: value for role, value in extra.items() if role in self.roles}
        return Request(tuple(qkv), {**named, **self.implementation.arguments}, loose=True)

    def _gates(self, case: ParameterCase, tokens: Tokens) -> dict[str, Array]:
        """Decays and beta by role, in the target's axes."""
        gates: dict[str, Array] = {}
        if tokens.beta is not None:
            gates["beta"] = array(self.own_gates.to_target(tokens.beta), case.dtype)
        role = "log_decay" if "log_decay" in self.roles else "decay"
        if tokens.log_decay is not None and role in self.roles:
            decays = tokens.log_decay if role == "log_decay" else np.exp(tokens.log_decay)
            if self.kind == "retention":
                decays = decays[0, :, 0, 0] if decays.size else np.zeros(decays.shape[1])
            elif self.kind == "gated-delta":
                decays = self.own_gates.to_target(decays[..., 0])
            else:
                decays = self.own.to_target(decays)
            gates[role] = array(np.ascontiguousarray(decays), case.dtype)
        return gates

    def attend(
        self, case: ParameterCase, tokens: Tokens, start: NDArray | None = None, *, ask: bool = True,
        scale: float | None = None, view: str = "contiguous",
    ) -> tuple[Result, Result | None]:  # fmt: skip
        """(outputs, last state) of one call, canonical; the state is None where it returns none.

        Raises: Violation where it should return the state and returns one result.
        """
        request = self.request_of(case, tokens, start, ask=ask, scale=scale, view=view)
        outputs = self.send(request).outputs
        if ask and "asks" in self.roles and len(outputs) < 2:
            message = f"with {self.roles['asks']}=True the call returns one value, but should return (out, state)"
            raise Violation(message, Evidence((Shown(request),), kind="shape"))
        out = self.own.result(outputs[0], tokens.value.shape, request, "out", "out")
        if len(outputs) < 2 or not ask:
            return out, None
        shape = (*tokens.key.shape[:2], tokens.key.shape[-1], tokens.value.shape[-1])
        return out, self.own_state.result(outputs[1], shape, request, "out1", "state")

    # --- truth ------------------------------------------------------------------------------------------

    def scale(self, case: ParameterCase, scale: float | None = None) -> float:
        """The scale of a call, as given or as declared."""
        return scale_of(self.implementation.scale, case["d"]) if scale is None else scale

    def truth(
        self, case: ParameterCase, tokens: Tokens, start: NDArray | None = None, *, scale: float | None = None,
        parts: int = 1,
    ) -> Truth:  # fmt: skip
        """The true results of a call, or of several that carry the state on, with their budget."""
        factor = self.scale(case, scale)
        out, state = oracle.linear_attention(*tokens, start, scale=factor)
        how: dict[str, Any] = {"dtype": case.dtype, "accumulate": self.implementation.accumulate, "parts": parts}
        return Truth(out, state, recurrence_bound(tokens, start, out, scale=factor, **how))


def select_tokens(tokens: Tokens, rows: slice) -> Tokens:
    """Some of the tokens, one behind the other."""
    return Tokens(*(None if x is None else x[:, :, rows] for x in tokens))  # type: ignore[arg-type]
