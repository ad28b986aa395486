"""Functions of latent attention (MLA): how they are called, the inputs of a case, their truth and its budget.

Queries of both parts are (B, H, n_q, d) and (B, H, n_q, d_rope), already rotated; latents (B, n_kv, r) and rotated keys
(B, n_kv, d_rope) are shared by all heads; the up-projections are (H, d, r) and (H, d_v, r).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np

from attention_core import oracle
from attention_core.conformance.budgets.budget import forward_bound, round_to
from attention_core.conformance.budgets.latent_bound import latent_errors
from attention_core.conformance.subjects.axes import Arrangement
from attention_core.conformance.subjects.evidence import Evidence, Result, Shown, Violation
from attention_core.conformance.subjects.parameter_case import ParameterCase, ParameterSubject
from attention_core.conformance.worker.exchange import NDArray, Request, array
from attention_core.conformance.worker.runner import Runner
from attention_core.declaration.implementation import Implementation, TargetError
from attention_core.declaration.scales import DEFAULT, scale_of

ROLES: Mapping[str, str] = {
    name: role
    for role, names in {
        "query": "q_nope q_n query_nope q_content",
        "query_rope": "q_rope q_pe q_rot query_rope",
        "latent": "c_kv ckv kv_c kv_c_normed compressed_kv kv_latent latent ckv_cache",
        "key_rope": "k_rope k_pe kpe k_rot key_rope kpe_cache",
        "up_key": "w_uk w_kc W_UK wuk",
        "up_value": "w_uv w_vc W_UV wuv",
        "causal": "causal is_causal",
        "scale": "scale softmax_scale sm_scale scaling",
    }.items()
    for name in names.split()
}
"""A parameter's name -> what it is."""
INPUTS = ("query", "query_rope", "latent", "key_rope")
"""What every target takes."""
PROJECTIONS = ("up_key", "up_value")
"""What a target takes that projects itself; one that takes neither is given queries of the latent's size."""


def read_roles(parameters: list[dict[str, Any]] | None, bound: Iterable[str]) -> dict[str, str]:
    """Role -> the target's own name of it, of all its parameters.

    Args: parameters: of the target, None where its signature cannot be read; bound: those that have a value otherwise.

    Raises:
        TargetError: a parameter without a default whose meaning is not known, or one that is needed is not there.

    Example:
        >>> read_roles([{"name": n, "kind": "", "default": False} for n in "q_nope q_pe ckv kpe".split()], ())
        {'query': 'q_nope', 'query_rope': 'q_pe', 'latent': 'ckv', 'key_rope': 'kpe'}
    """
    named = [p for p in parameters or [] if not p["kind"].startswith("VAR") and p["name"] not in bound]
    roles: dict[str, str] = {}
    for p in named:
        if p["name"] in ROLES:
            roles.setdefault(ROLES[p["name"]], p["name"])
        elif not p["default"]:
            raise TargetError(
                f"what the parameter {p['name']} is given is not known: name it as its library does (q_nope, q_rope, "
                f"c_kv, k_rope, w_uk, w_uv), or fix it with --arg {p['name']}=VALUE"
            )
    lacking = [name for name in (*INPUTS, *PROJECTIONS) if name not in roles]
    if [name for name in lacking if name in INPUTS] or len(lacking) == 1:
        first = next(name for name, role in ROLES.items() if role == lacking[0])
        raise TargetError(f"the target has no parameter for its {lacking[0].replace('_', ' ')}: name it {first}")
    return roles


class Inputs(NamedTuple):
    """What a call reads (see the top of this file), and its scale where it is given one."""

    query: NDArray
    query_rope: NDArray
    latent: NDArray
    key_rope: NDArray
    up_key: NDArray
    up_value: NDArray

    def materialise(self) -> tuple[NDArray, NDArray, NDArray]:
        """Query, key and value of every head in full: (B, H, n, d + d_rope) twice, and (B, H, n_kv, d_v)."""
        query = np.concatenate([self.query, self.query_rope], axis=-1)
        key, value = (np.einsum("har,bnr->bhna", up, self.latent) for up in (self.up_key, self.up_value))
        shared = np.broadcast_to(self.key_rope[:, None], (*key.shape[:3], self.key_rope.shape[-1]))
        return query, np.concatenate([key, shared], axis=-1), value


class Judged(NamedTuple):
    """The true output (B, H, n_q, d_v), and how far a right one may be from it."""

    out: NDArray
    bound: NDArray


class LatentSubject(ParameterSubject):
    """A function of latent attention."""

    def __init__(
        self, runner: Runner, implementation: Implementation, description: Mapping[str, Any], seed: int = 0
    ) -> None:
        super().__init__(runner, implementation, description, seed)
        self.roles = read_roles(description["parameters"], implementation.arguments)
        self.projects = "up_key" in self.roles
        self.own_query = Arrangement("bhnd", implementation.layout)
        self.own_ups = {
            "up_key": Arrangement("hdr", str(self.parameters.get("w_uk", "hdr"))),
            "up_value": Arrangement("hdr", str(self.parameters.get("w_uv", "hdr"))),
        }
        self.given_scale = {p["name"]: p.get("value") for p in description["parameters"] or ()}.get(
            self.roles.get("scale", "")
        )

    def is_causal(self, case: ParameterCase) -> bool:
        """Whether a case's call is causal."""
        return bool(case.options.get("causal")) if "causal" in self.roles else self.implementation.always_causal

    def usual_scale(self, case: ParameterCase) -> float:
        """The scale of a call without one: of d + d_rope features, whatever the latent's size, or as declared."""
        return scale_of(self.implementation.scale, case["d"] + case["d_rope"])

    # --- inputs -----------------------------------------------------------------------------------------

    def inputs(self, case: ParameterCase) -> Inputs:
        """The inputs of a case; where the target projects nothing, the up-projections are the identity."""
        B, H, n_q, n_kv, r, d, d_rope, d_v = (case[x] for x in ("B", "H", "n_q", "n_kv", "r", "d", "d_rope", "d_v"))
        identity = np.broadcast_to(np.eye(r), (H, r, r))
        ups = (self._draw_up(case, "w_uk", H, d, r), self._draw_up(case, "w_uv", H, d_v, r))
        return Inputs(
            self._draw_query(case, B, H, n_q, d if self.projects else r),
            case.queries("q_rope", B, H, n_q, d_rope, width=d_rope),
            case.values("c_kv", B, n_kv, r), case.keys("k_rope", B, n_kv, d_rope, width=d_rope),
            *(ups if self.projects else (identity, identity)),
        )  # fmt: skip

    def _draw_query(self, case: ParameterCase, *shape: int) -> NDArray:
        """Queries of latents, which make large scores where the case asks for them; others come of positions."""
        draw = case.queries if case.options.get("scores") == "large" else case.values
        return draw("q_nope", *shape)

    def _draw_up(self, case: ParameterCase, name: str, *shape: int) -> NDArray:
        """A projection that leaves numbers about as large as they are."""
        drawn = case.values(name, *shape)
        return drawn if case.plain else np.asarray(round_to(drawn / math.sqrt(shape[-1]), case.dtype))

    # --- calls ------------------------------------------------------------------------------------------

    def request_of(
        self, case: ParameterCase, inputs: Inputs, *, scale: float | None = None, view: str = "contiguous"
    ) -> Request:
        """The call for some inputs; `view` is how they lie in memory."""
        given: dict[str, Any] = {}
        for name in (*INPUTS, *(PROJECTIONS if self.projects else ())):
            values: NDArray = getattr(inputs, name)
            if name.startswith("query"):
                values = self.own_query.to_target(values)
            elif name in self.own_ups:
                values = self.own_ups[name].to_target(values)
            given[name] = array(values, case.dtype, view)
        if "causal" in self.roles:
            given["causal"] = self.is_causal(case)
        if "scale" in self.roles and (scale is not None or not self.projects or self.given_scale is not None):
            given["scale"] = self.usual_scale(case) if scale is None else scale
        named = {self.roles[role]: value for role, value in given.items()}
        first = [named.pop(name) for name in self._names_in_place()]
        return Request(tuple(first), {**named, **self.implementation.arguments}, loose=True)

    def _names_in_place(self) -> list[str]:
        """The target's first parameters, as far as they are arrays and need not be named."""
        arrays = [self.roles[role] for role in (*INPUTS, *PROJECTIONS) if role in self.roles]
        found = takewhile(
            lambda p: p["name"] in arrays and p["kind"] != "KEYWORD_ONLY", self.description["parameters"] or ()
        )
        return [p["name"] for p in found]

    def attend(self, case: ParameterCase, inputs: Inputs, **how: Any) -> Result:
        """The output of one call, canonical.

        Raises: Violation where it has another shape or dtype than it should.
        """
        request = self.request_of(case, inputs, **how)
        outputs = self.send(request).outputs
        shape = (*inputs.query.shape[:-1], inputs.up_value.shape[1])
        out = self.own_query.result(outputs[0], shape, request, "out", "out")
        if outputs[0].dtype != case.dtype:
            message = f"out: got dtype {outputs[0].dtype}, but should be {case.dtype}, as the query (cast it back)"
            raise Violation(message, Evidence((Shown(request, "out"),), kind="shape", event="wrong dtype"))
        return out

    # --- truth ------------------------------------------------------------------------------------------

    def truth(
        self, case: ParameterCase, inputs: Inputs, *, scale: float | None = None, alignment: str = "",
        causal: bool | None = None,
    ) -> oracle.Truth:  # fmt: skip
        """The float64 truth of a call: attention with every head's keys and values in full."""
        return oracle.attention(
            *inputs.materialise(), is_causal=self.is_causal(case) if causal is None else causal,
            alignment=alignment or self.implementation.causal, scale=self._scale(case, scale),
        )  # fmt: skip

    def _scale(self, case: ParameterCase, scale: float | None) -> float:
        """The scale of a call: as given, as handed over, or what a target without such a parameter has."""
        if scale is None and not self.projects and "scale" not in self.roles:
            rule = self.implementation.scale
            return scale_of(rule, case["r"] + case["d_rope"]) if rule == DEFAULT else scale_of(rule, case["r"])
        return self.usual_scale(case) if scale is None else scale

    def judge(self, case: ParameterCase, inputs: Inputs, *, scale: float | None = None) -> Judged:
        """The truth of a call with its budget."""
        truth, (query, key, value) = self.truth(case, inputs, scale=scale), inputs.materialise()
        how: dict[str, Any] = {
            "dtype": case.dtype, "accumulate": self.implementation.accumulate, "scale": self._scale(case, scale),
        }  # fmt: skip
        own = (inputs.query, inputs.latent, inputs.key_rope, inputs.up_key, inputs.up_value)
        bounds = forward_bound(
            query, key, value, truth, merges=self.implementation.merges, stored=latent_errors(*own, **how), **how
        )
        return Judged(truth.out, bounds.out)
