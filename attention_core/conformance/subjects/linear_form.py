"""How a function of linear attention is called, as its signature tells: which recurrence, and what each parameter is.

Functions of query, key and value are told apart by their gates. State spaces (Mamba-2) have x, a step, a decay and the
two projections of their state in the place of value, decay, key and query.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from attention_core.declaration.implementation import TargetError

KINDS = ("linear", "retention", "gla", "gated-delta", "kda", "ssd")
DELTA = ("gated-delta", "kda")
"""Kinds whose tokens take out what their key holds."""
ROLES: Mapping[str, str] = {
    name: role
    for role, names in {
        "log_decay": "g gk log_decay log_decays log_gate g_gamma log_gamma",
        "decay": "decay decays gamma gammas",
        "beta": "beta betas",
        "state": "initial_state initial_states h0 state prev_state past_state recurrent_state",
        "asks": "output_final_state return_state return_final_state return_final_states",
        "scale": "scale softmax_scale sm_scale scaling",
        "normalize": "normalize",
        "ends": "cu_seqlens cu_seqlen cu offsets",
        "texts": "seq_idx",
        "chunk": "chunk_size block_len",
    }.items()
    for name in names.split()
}
"""A parameter's name -> what it is; `normalize` is always given False."""
QKV = ("query", "key", "value")
STATE_SPACES: Mapping[tuple[str, ...], Mapping[str, str]] = {
    ("x", "dt", "A", "B", "C"): {"x": "value", "dt": "step", "A": "decay", "B": "key", "C": "query"},
    ("x", "A", "B", "C"): {"x": "value", "A": "log_decay", "B": "key", "C": "query"},
    ("X", "A", "B", "C"): {"X": "value", "A": "log_decay", "B": "key", "C": "query"},
}
"""Parameters by which a state space is known -> what each of them is. With a step, the decay is a number of a head."""
OF_FLA = ("output_final_state", "cu_seqlens")
"""Parameters by which an operator of flash-linear-attention is known: its tokens are (B, n, H, d)."""
CHANNELS = "kda"
"""What the name of a delta rule has in it whose decays are of features (Kimi delta attention)."""


@dataclass(frozen=True)
class LinearForm:
    """How a target is called.

    Args: kind: the recurrence; roles: of parameters after the inputs -> their own names; inputs: what the first
        parameters are, in the target's order; names: their own names.
    """

    kind: str
    roles: Mapping[str, str]
    inputs: tuple[str, ...] = QKV
    names: tuple[str, ...] = field(default=())

    @property
    def is_state_space(self) -> bool:
        """Whether it has the inputs of a state space."""
        return self.inputs != QKV

    @property
    def has_decay(self) -> bool:
        """Whether its state fades."""
        return self.kind in ("retention", "gla", "kda", "ssd") or bool({"log_decay", "decay"} & self.roles.keys())

    @property
    def takes_packs(self) -> bool:
        """Whether one call may hold several texts."""
        return bool({"ends", "texts"} & self.roles.keys())


def read_form(
    parameters: list[dict[str, Any]] | None, bound: Iterable[str], kind: str = "", name: str = ""
) -> LinearForm:
    """How a target is called, by the names of its parameters.

    Args:
        parameters: of the target, None where its signature cannot be read.
        bound: those that are given a value otherwise.
        kind: as it is declared, "" where it follows from the parameters.
        name: of the target, which tells decays of heads from those of features.

    Raises:
        TargetError: a parameter without a default whose meaning is not known, or one that the kind needs is not there.

    Example:
        >>> form = read_form([{"name": n, "kind": "", "default": False} for n in "q k v g beta".split()], ())
        >>> form.kind, form.roles
        ('gated-delta', {'log_decay': 'g', 'beta': 'beta'})
    """
    named = [p for p in parameters or [] if not p["kind"].startswith("VAR") and p["name"] not in bound]
    inputs = _state_space_inputs([p["name"] for p in named], kind)
    rest = [p for p in named if p["name"] not in inputs] if inputs else named[len(QKV) :]
    for p in rest:
        if p["name"] not in ROLES and not p["default"]:
            raise TargetError(
                f"what the parameter {p['name']} is given is not known: name it as its library does (such as g, beta, "
                f"initial_state), or fix it with --arg {p['name']}=VALUE"
            )
    roles: dict[str, str] = {}
    for p in rest:
        if p["name"] in ROLES:
            roles.setdefault(ROLES[p["name"]], p["name"])
    required = {p["name"] for p in rest if not p["default"]}
    _check_packs(roles, required)
    if roles.get("chunk") not in required:  # its own default is the better one
        roles.pop("chunk", "")
    if inputs:
        order = tuple(one for one in (p["name"] for p in named) if one in inputs)
        return LinearForm("ssd", roles, tuple(inputs[one] for one in order), order)
    kind = kind or _kind_by_roles(roles, name)
    if kind not in KINDS:
        raise TargetError(f"kind={kind!r}: say which recurrence it is: --kind {', '.join(KINDS)}")
    _check_kind(kind, roles, required)
    return LinearForm(kind, roles)


def _state_space_inputs(names: Sequence[str], kind: str) -> Mapping[str, str]:
    """The inputs of a state space, by name; none where the target is another one."""
    for form, inputs in STATE_SPACES.items():
        if set(form) <= set(names) and kind in ("", "ssd"):
            return inputs
    if kind == "ssd":
        raise TargetError("kind='ssd' needs parameters x, dt, A, B, C (or x, A, B, C), and the target has others")
    return {}


def _kind_by_roles(roles: Mapping[str, str], name: str) -> str:
    """The kind that the names of parameters tell: a decay by these names is of features, or of heads."""
    if "beta" in roles:
        return "kda" if CHANNELS in name.lower() and "log_decay" in roles else "gated-delta"
    if roles.get("log_decay") in ("g_gamma", "log_gamma") or "decay" in roles:
        return "retention"
    return "gla" if "log_decay" in roles else "linear"


def _check_packs(roles: dict[str, str], required: set[str]) -> None:
    """Keep one parameter that says where texts end; raise TargetError where a call without texts has to set it."""
    if "texts" in roles:
        roles.pop("ends", "")  # a state space resets by the number of each token's text
    for role in ("ends", "texts"):
        if roles.get(role) in required:
            raise TargetError(
                f"{roles[role]} has no default, but calls of one text a row leave it out: give it the default None"
            )


def _check_kind(kind: str, roles: dict[str, str], required: set[str]) -> None:
    """Drop the roles that a kind does not have; raise TargetError where it lacks one, or the target needs another."""
    unwanted = {"linear": ("log_decay", "decay", "beta"), "gated-delta": (), "kda": ()}.get(kind, ("beta",))
    for role in unwanted:
        name = roles.pop(role, "")
        if name in required:
            raise TargetError(f"kind={kind!r} has no {name}, which the target needs: declare another --kind")
    decays = {"log_decay", "decay"} & roles.keys()
    lacks = "log decay (g)" if kind in ("gla", "kda") and not decays else ""
    lacks = "beta" if kind in DELTA and "beta" not in roles else lacks
    if lacks:
        raise TargetError(f"kind={kind!r} needs a parameter for its {lacks}, and the target has none")
