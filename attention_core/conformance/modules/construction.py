"""Reads how a module is built from its constructor's signature: sizes, constants, or a config object.

Names are looked up in the table of `aliases`; what stands in neither, and has no default, is named with the option that
gives it (`--config NAME=VALUE`), never guessed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attention_core.conformance.modules.form import Config, Construction, Size
from attention_core.declaration.aliases import ALWAYS, CONSTANTS, DROPOUTS, INPUTS, LONGEST, SIZES
from attention_core.declaration.implementation import TargetError

CONFIGS = ("config", "cfg", "args", "conf", "params", "hparams", "model_args", "opt")
"""Names of a parameter that takes a config object."""
WORDS = ("E", "H", "H_kv", "d", "n")
"""Values of `--config` that stand for a size of the case."""


def read_construction(name: str, description: Mapping[str, Any], declared: Mapping[str, Any]) -> Construction:
    """The arguments of a constructor; `declared` holds what `--config` gives.

    Raises:
        TargetError: a parameter that has no default and gets no value; the text names the option that does.

    Example:
        >>> taken = {"kind": "POSITIONAL_OR_KEYWORD", "default": False, "value": None}
        >>> read_construction("MHA", {"parameters": [{"name": "h", **taken}, {"name": "d_model", **taken}]}, {})
        Construction(places=(Size(name='H'), Size(name='E')), names={})
    """
    parameters = description["parameters"]
    values = {k: Size(v) if v in WORDS else v for k, v in declared.items()}
    if parameters is None:
        return Construction(names=values)
    if not parameters and description.get("is_class"):
        raise TargetError(
            f"{name} is built without any size: name a function (embed_dim, num_heads) that returns it, and declare "
            "its sizes, as in --sizes 'E == 64 and H == 4'"
        )
    named = [p for p in parameters if not p["kind"].startswith("VAR_")]
    required = [p for p in named if not p["default"]]
    if len(required) in (0, 2) and not any(is_known(p["name"]) or p["name"] in values for p in named):
        return Construction(names=values)  # names that say nothing: embed_dim and num_heads, by place
    places, names, by_place = list[Any](), dict[str, Any](), True
    for p in named:
        given = _argument(name, p, values, description)
        by_place = by_place and p["kind"].startswith("POSITIONAL") and given is not _LEFT
        if given is _LEFT:
            continue
        if by_place and not p["default"]:
            places.append(given)
        else:
            names[p["name"]] = given
            by_place = False
    if not any(isinstance(a, Config) for a in (*places, *names.values())):
        spare = {k: v for k, v in values.items() if k not in {p["name"] for p in named}}
        if spare and not any(p["kind"] == "VAR_KEYWORD" for p in parameters):
            raise TargetError(f"--config {next(iter(spare))}: the constructor of {name} has no such parameter")
        names |= spare
    return Construction(tuple(places), names)


_LEFT = object()


def is_known(name: str) -> bool:
    """Whether a constructor's parameter is in the tables."""
    return name in SIZES or name in CONSTANTS or name in CONFIGS


def _argument(name: str, p: Mapping[str, Any], values: Mapping[str, Any], description: Mapping[str, Any]) -> Any:
    """What one parameter is given, or `_LEFT` for its default."""
    own = p["name"]
    if own in values:
        return values[own]
    if own in SIZES:
        return Size(SIZES[own]) if needs_size(p) else _LEFT
    if own in ALWAYS or (own in DROPOUTS and isinstance(p.get("value"), int | float)):
        return CONSTANTS[own]
    if own in CONFIGS and (not p["default"] or description.get("config")):  # transformers' cannot be called without
        return _config(values, description.get("config"))
    if p["default"]:
        return _LEFT
    if own in CONSTANTS:
        return CONSTANTS[own]
    if not description.get("is_class") and own in INPUTS:
        words = "leave out --contract, or name a class of modules"
        raise TargetError(f"{name} is a function of {own!r}, and this contract builds modules: {words}")
    raise TargetError(
        f"the constructor of {name} has the parameter {own!r}, which is not known: say what it is given with "
        f"--config {own}=VALUE ({', '.join(WORDS)} stand for the sizes of a case)"
    )


def needs_size(p: Mapping[str, Any]) -> bool:
    """Whether a parameter that takes a size is given one: where it has no default, or one that fixes the size.

    Fewer heads of keys are always tried; a longest length is tried where no case would fit the default.
    """
    size, value = SIZES[p["name"]], p.get("value")
    if not p["default"] or size in ("H", "H_kv"):
        return True
    number = isinstance(value, int) and not isinstance(value, bool)
    return number and (size != "n" or int(value or 0) < LONGEST)


def _config(values: Mapping[str, Any], of: Mapping[str, Any] | None) -> Config:
    """A config with everything known; `of` names its class and the names that class has."""
    everything = {**{k: Size(v) for k, v in SIZES.items()}, **CONSTANTS}
    if of is None:
        return Config({**everything, **values})
    names = set(of["names"])
    small = {"intermediate_size": 16, "n_inner": 16, "ffn_dim": 16}
    sizes = {**everything, **small, "eps": 1e-6}
    constants = {k: v for k, v in sizes.items() if k in names and k[:1] != "_" and k != "rope_theta" and v is not None}
    return Config({**_once(constants), **values}, str(of["of"]))


def _once(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values without a second name of the same size: a class of configs maps one onto the other."""
    preferred: dict[Any, str] = {}
    for key, value in values.items():
        if isinstance(value, Size):
            shorter = preferred.get(value.name)
            preferred[value.name] = key if shorter is None or key in ("hidden_size", "num_attention_heads") else shorter
    kept = {preferred[s] for s in preferred}
    return {k: v for k, v in values.items() if not isinstance(v, Size) or k in kept}


def narrow_config(construction: Construction, read: Sequence[str], keyed: bool) -> Construction:
    """The construction with a config of those names alone that the constructor reads.

    Only plain configs are narrowed: one of a class has the names of its class.
    """
    config = construction.config
    if config is None or config.of:
        return construction
    values = {name: value for name, value in config.values.items() if name in read}
    return construction.with_config(Config(values, "", keyed))
