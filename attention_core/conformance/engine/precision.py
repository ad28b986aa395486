"""The dtypes that a target is judged in: those declared, less those that it, its library or this processor lacks."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from attention_core.declaration.implementation import Implementation, TargetError


def fit_precision(implementation: Implementation, description: Mapping[str, Any]) -> tuple[Implementation, list[str]]:
    """Leave out dtypes that cannot be judged here.

    Args:
        implementation: The target's declared conventions.
        description: What its worker tells of it: "dtypes" it has (None: not told), "left_out", dtype -> why,
            and whether JAX has "x64".

    Returns: the record with the dtypes that are left, and notes that say so.
    Raises: TargetError where none is left.
    Example:
        >>> record = Implementation(len, name="f", dtypes=("float32", "bfloat16"))
        >>> fit_precision(record, {"left_out": {"bfloat16": "no unit for it"}})[1]
        ['bfloat16 is left out: no unit for it']
    """
    own = description.get("dtypes")
    if own is not None:
        implementation = _keep(implementation, own)
        return implementation, [f"it is judged in {', '.join(implementation.dtypes)}, which it is described to take"]
    left_out = {dtype: why for dtype, why in description.get("left_out", {}).items() if dtype in implementation.dtypes}
    if left_out:
        implementation = _keep(implementation, set(implementation.dtypes) - set(left_out))
    found = [f"{dtype} is left out: {why}" for dtype, why in left_out.items()]
    if implementation.array != "jax":
        return implementation, found
    if implementation.asks_float64:
        return implementation, [*found, "JAX runs in 64 bits (jax_enable_x64), as float64 is declared"]
    if description.get("x64", True) or "float64" not in implementation.dtypes:
        return implementation, found
    implementation = _keep(implementation, set(implementation.dtypes) - {"float64"})
    why = "as JAX has it in 64 bits only: set JAX_ENABLE_X64=1, or declare --dtype float64"
    return implementation, [*found, f"float64 is left out, {why}"]


def _keep(implementation: Implementation, dtypes: Collection[str]) -> Implementation:
    """The record with the dtypes of it that are given.

    Raises: TargetError where none is left.
    """
    rest = tuple(dtype for dtype in implementation.dtypes if dtype in dtypes)
    if not rest:
        takes, declared = ", ".join(dtypes) or "none of them here", ", ".join(implementation.dtypes)
        raise TargetError(f"{implementation.name} takes {takes}, and {declared} is declared")
    return implementation.with_(dtypes=rest)
