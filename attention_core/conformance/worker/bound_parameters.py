"""Which parameters of the callables under test a call gives a value; read on the target's side, where signatures are.

A parameter that no call of a run ever gives a value of its own is one that no law tests.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from attention_core.conformance.worker.exchange import Array

LEFT, NEUTRAL, GIVEN, FIXED = "left", "neutral", "given", "fixed"
"""Left at its default; given None, False, zero or its own default; given something; fixed by a `functools.partial`."""
NAMELESS = ("VAR_POSITIONAL", "VAR_KEYWORD")
CONSTRUCTOR, FACTORY = "()", "factory"
"""Labels of a class or factory that builds what is called, beside "" for the target itself and names of methods."""
MODULES = ("module", "layer", "attn_module")
"""Names of a parameter before query, key and value that takes the module which attention belongs to."""
LEFT_BY_WRAPPER = "parameters_left"
"""An attribute of a wrapper: the parameters of what it wraps that it never gives a value."""

Named = tuple[tuple[str, bool, Any], ...]


def named_parameters(call: Any) -> Named:
    """(name, positional, default) of every named parameter of a callable; none where its signature cannot be read.

    Example:
        >>> named_parameters(lambda q, *rest, scale=2.0: q)
        (('q', True, <class 'inspect._empty'>), ('scale', False, 2.0))
    """
    try:
        parameters = inspect.signature(call).parameters.values()
    except (TypeError, ValueError):
        return ()
    return tuple((p.name, "POSITIONAL" in p.kind.name, p.default) for p in parameters if p.kind.name not in NAMELESS)


def leaves(wrapper: Any, wrapped: Any, given: int) -> None:
    """Note on a wrapper which parameters of what it wraps it leaves alone: those behind the first `given`.

    Example:
        >>> def wrapper(): ...
        >>> leaves(wrapper, lambda model, loss, ema=None: None, 2)
        >>> wrapper.parameters_left
        ('ema',)
    """
    names = [name for name, _, _ in named_parameters(wrapped)][given:]
    setattr(wrapper, LEFT_BY_WRAPPER, (*getattr(wrapper, LEFT_BY_WRAPPER, ()), *names))


def bound(call: Any, named: Named, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, str]:
    """Parameter -> how a call with these arguments gives it its value.

    Example:
        >>> f = lambda q, mask=None, scale=None: q
        >>> bound(f, named_parameters(f), [1.5], {"scale": None})
        {'q': 'given', 'mask': 'left', 'scale': 'neutral'}
    """
    found = {name: LEFT for name, _, _ in named}
    fixed = call.keywords if isinstance(call, functools.partial) else {}
    found |= {name: FIXED for name in fixed if name in found}
    in_order = [name for name, positional, _ in named if positional]
    given = dict(zip(in_order, args, strict=False)) | {k: v for k, v in kwargs.items() if k in found}
    defaults = {name: default for name, _, default in named}
    found |= {name: NEUTRAL if is_neutral(value, defaults[name]) else GIVEN for name, value in given.items()}
    return found


def is_neutral(value: Any, default: Any) -> bool:
    """Whether a value says nothing: None, False, zero, an empty text, or what the parameter has anyway."""
    if isinstance(value, Array) or not isinstance(value, bool | int | float | str | type(None)):
        return False
    if default is True:  # False is then a value of its own
        return value is None or value is True
    return not value or (type(value) is type(default) and value == default)
