"""Objects that plan a call and then run it, as FlashInfer's wrappers over paged keys and values: called as a function.

The function takes the arrays of `run` and the indices of `plan`, so that it is judged as any other over pages.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from attention_core.declaration.errors import TargetError

DECODE, PREFILL = "decode", "prefill"
PAGES: Mapping[str, tuple[str, str, str]] = {
    DECODE: ("indptr", "indices", "last_page_len"),
    PREFILL: ("paged_kv_indptr", "paged_kv_indices", "paged_kv_last_page_len"),
}
"""Parameters of `plan` that say which pages a text has: of one query of each text, and of packed queries."""
OPTIONS: Mapping[str, Any] = {"causal": False, "sm_scale": None, "window_left": -1, "logits_soft_cap": None}
"""Further ones that a call may set, with what they are otherwise."""
WORKSPACE = 1 << 20


def kind_of_plan(target: Any) -> str:
    """Whether a class, or an object, plans calls over pages: "decode", "prefill", or "" where it does not.

    Example:
        >>> class Wrapper:
        ...     def plan(self, indptr, indices, last_page_len, num_qo_heads, num_kv_heads, head_dim, page_size): ...
        ...     def run(self, q, paged_kv_cache): ...
        >>> kind_of_plan(Wrapper), kind_of_plan(len)
        ('decode', '')
    """
    if not plans(target):
        return ""
    names = parameters_of_plan(target)
    if "page_size" not in names:
        return ""
    return next((kind for kind, pages in PAGES.items() if set(pages) <= names.keys()), "")


def plans(target: Any) -> bool:
    """Whether a class, or an object, has `plan` and `run`."""
    return all(callable(getattr(target, name, None)) for name in ("plan", "run"))


def parameters_of_plan(target: Any) -> dict[str, inspect.Parameter]:
    """The parameters of `plan`; where a class passes on *args or **kwargs, with those of the class that it extends.

    Example:
        >>> class Wrapper:
        ...     def plan(self, indptr, page_size): ...
        >>> class Logged(Wrapper):
        ...     def plan(self, *args, **kwargs):
        ...         return super().plan(*args, **kwargs)
        >>> list(parameters_of_plan(Logged))
        ['indptr', 'page_size']
    """
    found: dict[str, inspect.Parameter] = {}
    own = [target.plan] if "plan" in getattr(target, "__dict__", {}) and not inspect.isclass(target) else []
    kinds = target.__mro__ if inspect.isclass(target) else type(target).__mro__
    for plan in [*own, *(vars(kind)["plan"] for kind in kinds if "plan" in vars(kind))]:
        found = {**parameters_of(plan), **found}
        if not passes_on(plan):
            break
    return found


def give(function: Any, parameters: Mapping[str, inspect.Parameter], values: Mapping[str, Any]) -> None:
    """Call a plan by names; one that takes *args alone in the order of the parameters that it passes on.

    Args: parameters: with those of the classes that it extends. values: by name, of some of the parameters.

    Example:
        >>> def plan(indptr, page_size=1): print(indptr, page_size)
        >>> give(lambda *args: plan(*args), parameters_of(plan), {"page_size": 2, "indptr": 1})
        1 2
    """
    own = inspect.signature(function).parameters
    if values.keys() <= own.keys() or any(p.kind is p.VAR_KEYWORD for p in own.values()):
        function(**values)
        return
    last = max(place for place, name in enumerate(parameters) if name in values)
    function(*(values.get(name, p.default) for name, p in list(parameters.items())[: last + 1]))


def passes_on(function: Any) -> bool:
    """Whether a function takes *args or **kwargs, or its signature cannot be read."""
    try:
        return any(p.kind.name.startswith("VAR") for p in inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return True


def parameters_of(function: Any) -> dict[str, inspect.Parameter]:
    """The parameters of a method by name, without `self`; none where its signature cannot be read."""
    try:
        found = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}
    return {name: p for name, p in found.items() if name != "self" and not p.kind.name.startswith("VAR")}


def call_planned(target: Any) -> Any:
    """The function of an object that plans and runs; of a class, of one that it makes with an empty workspace.

    Raises:
        TargetError: its constructor or its plan needs something that is not known.
    """
    kind, plan = kind_of_plan(target), parameters_of_plan(target)
    wrapper = make_wrapper(target) if inspect.isclass(target) else target
    pages, options = PAGES[kind], {name: value for name, value in OPTIONS.items() if name in plan}
    first = ["q", "k_cache", "v_cache", *(["qo_indptr"] if kind == PREFILL else [])]
    names = [*first, *PAGES[PREFILL]]

    def attend(*arrays: Any, **given: Any) -> Any:
        own = dict(zip(names, arrays, strict=False)) | given
        q, k, v = (own[name] for name in first[:3])
        sizes = {
            "num_qo_heads": q.shape[1], "num_kv_heads": k.shape[2], "head_dim": k.shape[3], "head_dim_qk": k.shape[3],
            "head_dim_vo": v.shape[3], "page_size": k.shape[1], "q_data_type": q.dtype, "kv_data_type": k.dtype,
            "data_type": q.dtype, "pos_encoding_mode": "NONE", "qo_indptr": own.get("qo_indptr"),
        }  # fmt: skip
        asked_for = {name: own[name] for name in options if own.get(name) is not None}
        values = {**sizes, **dict(zip(pages, (own[name] for name in PAGES[PREFILL]), strict=True)), **asked_for}
        give(wrapper.plan, plan, {name: value for name, value in values.items() if name in plan})
        return wrapper.run(q, (k, v))

    known = {*pages, *OPTIONS, *KNOWN}
    if unknown := [name for name, p in plan.items() if p.default is p.empty and name not in known]:
        raise TargetError(f"what plan is given for {unknown[0]} is not known: write a function that plans and runs")
    both = inspect.Parameter.POSITIONAL_OR_KEYWORD
    own_parameters = [inspect.Parameter(name, both) for name in names]
    own_parameters += [inspect.Parameter(name, both, default=value) for name, value in options.items()]
    attend.__signature__ = inspect.Signature(own_parameters)  # type: ignore[attr-defined]
    attend.__name__ = attend.__qualname__ = getattr(target, "__name__", type(target).__name__)
    attend.__module__ = getattr(target, "__module__", "")
    attend.planned = kind  # type: ignore[attr-defined]
    return attend


KNOWN = (
    "num_qo_heads", "num_kv_heads", "head_dim", "head_dim_qk", "head_dim_vo", "page_size", "q_data_type",
    "kv_data_type", "data_type", "pos_encoding_mode", "qo_indptr",
)  # fmt: skip
"""Parameters of a plan that follow from its arrays."""


def make_wrapper(kind: Any) -> Any:
    """An object of a class, with an empty workspace and pages that lie (pages, page, H_kv, d).

    Raises:
        TargetError: its constructor needs something that is not known.
    """
    import torch

    known = {"float_workspace_buffer": torch.empty(WORKSPACE, dtype=torch.uint8), "kv_layout": "NHD"}
    wanted = parameters_of(kind)
    if unknown := [name for name, p in wanted.items() if p.default is p.empty and name not in known]:
        raise TargetError(
            f"what the constructor of {kind.__name__} is given for {unknown[0]} is not known: name an object that "
            "has plan and run"
        )
    return kind(**{name: value for name, value in known.items() if name in wanted})
