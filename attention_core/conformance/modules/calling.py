"""Reads how a module is called from the signature of its forward: inputs, masks, causality, a rotation from outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attention_core.conformance.modules.form import Construction, Form, MaskForm
from attention_core.declaration.aliases import CAUSAL, INPUTS, MASKS, ROTATION
from attention_core.declaration.implementation import TargetError

CANDIDATES: Mapping[str, tuple[str, ...]] = {
    "pairs": ("shared", "by sequence", "rows", "keys", "wide keys"),
    "keys": ("keys", "wide keys"),
}
"""The shapes of masks that are tried by what the name of a parameter says, those that it should take first."""


def read_call(
    name: str, construction: Construction, parameters: Sequence[Mapping[str, Any]] | None, given: Mapping[str, Any]
) -> Form:
    """The form of a call by the names of a forward's parameters; `given` holds what `--arg` passes.

    Raises:
        TargetError: a parameter without a default that nobody fills.
    """
    plain = [p for p in parameters or () if not p["kind"].startswith("VAR_")]
    if not any(p["kind"] != "KEYWORD_ONLY" for p in plain):  # forward(*args, **options): the contract's own names
        return Form(construction)
    open_ended = any(p["kind"].startswith("VAR_") for p in parameters or ())
    inputs, places = read_inputs(plain)
    masks, required, others, causal, rotation = list[MaskForm](), list[str](), list[str](), "", ""
    for p in plain:
        own = p["name"]
        if own in inputs.values() or own in given:
            continue
        if own in MASKS:
            masks.append(MaskForm(own, CANDIDATES[MASKS[own]]))
            required += [] if p["default"] else [own]
        elif own in CAUSAL and not causal:
            causal = own
        elif own in ROTATION:
            rotation = own
        elif p["default"] or own in INPUTS:
            others.append(own)
        else:
            raise TargetError(
                f"the forward of {name} has the parameter {own!r} without a default, which is not known: "
                f"give --arg {own}=VALUE"
            )
    if len(plain) == 1 and open_ended:  # forward(x, **options): the contract's own names
        return Form(construction, inputs, places)
    return Form(
        construction, inputs, places, tuple(masks), tuple(required), causal, rotation, others=tuple(others)
    )  # fmt: skip


def read_inputs(plain: Sequence[Mapping[str, Any]]) -> tuple[dict[str, str], int]:
    """What the inputs are -> their names, and how many of them can go by place.

    The first parameter is the input, unless its name says that it is a key or a value. A context with a default is an
    input too, left out where a module attends to its own input.
    """
    inputs: dict[str, str] = {}
    for p in plain:
        role = INPUTS.get(p["name"], "" if inputs or p["default"] else "x")
        if role:
            inputs.setdefault(role, p["name"])
    if not inputs:
        inputs["x"] = plain[0]["name"]
    if {"key", "value"} <= inputs.keys():
        inputs = {("query" if role == "x" else role): own for role, own in inputs.items() if role != "context"}
    elif "query" in inputs:
        inputs["x"] = inputs.pop("query")
    if "x" not in inputs and "query" not in inputs:
        raise TargetError(f"no input among the parameters {', '.join(p['name'] for p in plain)} of its forward")
    names = [p["name"] for p in plain]
    inputs = dict(sorted(inputs.items(), key=lambda item: names.index(item[1])))
    places = 0
    for p, own in zip(plain, inputs.values(), strict=False):
        if p["name"] != own or p["kind"] == "KEYWORD_ONLY" or (p["default"] and places):
            break
        places += 1
    return inputs, places
