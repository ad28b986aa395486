"""Builds what a factory's constructor asks for, on the side of the code under test: config objects that know little.

A config is built from values by name alone. What a constructor reads of it is kept, so that the suite can hand over
just that; what was not given is an AttributeError that says so.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, get_args

from attention_core.conformance.worker.bound_parameters import MODULES
from attention_core.conformance.worker.exchange import Settings
from attention_core.declaration.aliases import SIZES


class UnknownSetting(AttributeError):
    """A constructor reads a name of its config that has no value."""


class RecordedConfig:
    """A plain config: values by attribute or by key, and the names that were read.

    Example:
        >>> config = RecordedConfig({"n_embd": 12})
        >>> config.n_embd, getattr(config, "bias", False), sorted(config.names_read)
        (12, False, ['bias', 'n_embd'])
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.__dict__.update(values={**values}, names_read=set(), keyed=set())

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("__") or name in ("values", "names_read", "keyed", "get"):
            return object.__getattribute__(self, name)
        self.names_read.add(name)
        values = object.__getattribute__(self, "values")
        if name not in values:
            raise UnknownSetting(f"the config has no value for {name!r}")
        return values[name]

    def __setattr__(self, name: str, value: Any) -> None:
        self.values[name] = value

    def __getitem__(self, name: str) -> Any:
        self.keyed.add(name)
        return getattr(self, name)

    def __contains__(self, name: str) -> bool:
        self.names_read.add(name)
        return name in self.values

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a name, or a default."""
        return getattr(self, name, default)


def as_config(settings: Settings) -> Any:
    """The config object that settings describe: of their class, or one that records what is read."""
    if not settings.of:
        return RecordedConfig(settings.values)
    module, _, name = settings.of.partition(":")
    config = getattr(importlib.import_module(module), name)(**settings.values)
    config._attn_implementation = settings.values.get("attn_implementation", "eager")
    return config


def config_class_of(target: Any) -> dict[str, Any] | None:
    """The class of configs that a class of transformers takes, as {"of": "module:name", "names": [...]}."""
    module = sys.modules.get(getattr(target, "__module__", ""))
    if module is None or not module.__name__.startswith("transformers."):
        return None
    annotated = next((p.annotation for p in signature_of(target) if p.name == "config"), None)
    known = [v for v in vars(module).values() if inspect.isclass(v) and v.__name__.endswith("Config")]
    named = of_annotation(annotated)
    candidates = [c for c in named if c in known] or [c for c in known if c.__name__ == annotated] or known
    candidates = [c for c in candidates if hasattr(c, "model_type")]
    if not candidates:
        return None
    # Of several the first that has a number of heads: one made of two others, for images and text, has none.
    with_heads = (c for c in candidates if any(SIZES.get(name) == "H" for name in names_of_config(c)))
    chosen = next(with_heads, candidates[0])
    return {"of": f"{chosen.__module__}:{chosen.__name__}", "names": names_of_config(chosen)}


def names_of_config(config: Any) -> list[str]:
    """The settings that a class of configs has, second names of the same setting included."""
    names = [*vars(config()), *(getattr(config, "attribute_map", None) or {})]
    return sorted(name for name in names if name[:1] != "_")


def of_annotation(annotated: Any) -> list[Any]:
    """The classes that an annotation names: itself, or the members of a union.

    Example:
        >>> of_annotation(int | None), of_annotation(str)
        ([<class 'int'>, <class 'NoneType'>], [<class 'str'>])
    """
    return list(get_args(annotated)) or [annotated]


def signature_of(target: Any) -> list[inspect.Parameter]:
    """The parameters of a callable; none where they cannot be read."""
    try:
        return list(inspect.signature(target).parameters.values())
    except (TypeError, ValueError):
        return []


QUERY_FIRST = ("query", "q", "queries", "Q")
STEP_FIRST = (*QUERY_FIRST, "query_states", "xq", "q_new", "new_q", "q_t", "query_t")
"""Names of the first input of a step: those of models, too (transformers, Llama)."""
TOKENS_FIRST = ("x", "hidden_states", "inputs", *QUERY_FIRST)
"""Names of the first input of a module of many heads."""


def contract_of_class(target: Any, module: bool) -> str:
    """The contract that a class suits by its constructor and methods; "" where none does.

    It is "attention" where the class, built without arguments, is called with query, key and value.

    Args:
        target: the class.
        module: whether it is one of torch's modules.

    Example:
        >>> class Cache:
        ...     def __call__(self, query, key, value): ...
        ...     def reset(self): ...
        >>> contract_of_class(Cache, False)
        'kv-cache'
    """
    built = [p for p in signature_of(target) if not p.kind.name.startswith("VAR_")]
    required = any(p.default is p.empty for p in built)
    calls = [vars(c)["__call__"] for c in target.__mro__ if "__call__" in vars(c)]
    names = [p.name for call in ([target.forward] if module else calls[:1]) for p in signature_of(call)][1:]
    if not module and any(callable(getattr(target, name, None)) for name in ("append", "step", "reset")):
        return "kv-cache"
    sized = required or any(SIZES.get(p.name) in ("E", "H") for p in built)
    if module and sized:
        return "multi-head" if names and names[0] in TOKENS_FIRST else ""
    return "attention" if not required and len(names) >= 3 and names[0] in QUERY_FIRST else ""


STEPS, STORES = ("step", "attend", "forward", "decode"), ("update", "append", "extend")
"""Names of methods of a cache: those that take query, key and value, and those that keep a key and a value."""


def step_of_class(target: Any) -> str | None:
    """How the objects of a class take query, key and value: "" by being called, or by a method; None in no known way.

    Example:
        >>> class Cache:
        ...     def step(self, q, k, v): ...
        >>> step_of_class(Cache)
        'step'
    """
    if any("__call__" in vars(kind) for kind in target.__mro__):
        return ""
    return next((name for name in STEPS if names_of_inputs(target, name)[:1] in [[q] for q in STEP_FIRST]), None)


def store_of_class(target: Any) -> str:
    """The method of a class that is given keys and values alone; "" where there is none.

    Example:
        >>> class Cache:
        ...     def update(self, key_states, value_states, layer_idx): ...
        >>> store_of_class(Cache)
        'update'
    """
    return next((name for name in STORES if [n[:1] for n in names_of_inputs(target, name)[:2]] == ["k", "v"]), "")


def names_of_inputs(target: Any, method: str) -> list[str]:
    """The parameters of a method of a class behind `self`; none where there is no such method."""
    return [p.name for p in signature_of(getattr(target, method, None))][1:]


QUERIES = ("query", "q", "query_states")
"""Names of the parameter behind the module of an `attention_interface` function."""
RATES = ("dropout", "dropout_p", "attention_dropout")


def takes_a_module(target: Any) -> bool:
    """Whether a function wants the module that it belongs to before query, key and value, as those of transformers.

    Example:
        >>> takes_a_module(lambda module, query, key, value: value), takes_a_module(lambda query, key, value: value)
        (True, False)
    """
    names = [p.name for p in signature_of(target) if p.kind.name == "POSITIONAL_OR_KEYWORD"]
    return inspect.isfunction(target) and len(names) > 3 and names[0] in MODULES and names[1] in QUERIES


def with_stand_in(function: Any) -> Any:
    """The function without its module, in whose place it gets a small stand-in that fits the call.

    Example:
        >>> import numpy as np
        >>> def groups(module, query, key, value, dropout=0.0): return module.num_key_value_groups, module.training
        >>> with_stand_in(groups)(np.ones((1, 6, 1, 1)), np.ones((1, 2, 1, 1)), None, dropout=0.5)
        (3, True)
    """

    @functools.wraps(function)
    def attend(query: Any, key: Any, value: Any, *others: Any, **options: Any) -> Any:
        return function(stand_in(query, key, options), query, key, value, *others, **options)

    attend.__signature__ = inspect.Signature(signature_of(function)[1:])  # type: ignore[attr-defined]
    attend.takes_a_module = True  # type: ignore[attr-defined]
    return attend


def stand_in(query: Any, key: Any, options: Mapping[str, Any]) -> Any:
    """What functions of attention read of their module: groups of heads, and whether it trains, where something drops.

    Example:
        >>> import numpy as np
        >>> stand_in(np.ones((1, 4, 1, 8)), np.ones((1, 2, 1, 8)), {}).num_key_value_groups
        2
    """
    heads, groups = query.shape[-3], query.shape[-3] // max(key.shape[-3], 1)
    config = SimpleNamespace(_attn_implementation="eager", num_attention_heads=heads, num_key_value_heads=key.shape[-3])
    return SimpleNamespace(
        num_key_value_groups=groups, num_heads=heads, head_dim=query.shape[-1], scaling=query.shape[-1] ** -0.5,
        is_causal=False, training=any(options.get(rate) for rate in RATES), layer_idx=0, config=config,
    )  # fmt: skip
