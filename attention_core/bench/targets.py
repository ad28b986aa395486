"""From a KERNEL in words to a call without arguments on a workload's tensors, in the kernel's own conventions.

Runs in the worker. What a kernel does not declare it can do becomes `CannotRun`, and stands as the reason in its cell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attention_core.bench.conventions import REPEATED, bench_words, conventions
from attention_core.bench.workloads.inputs import Inputs
from attention_core.bench.workloads.masks import read_mask
from attention_core.bench.workloads.shapes import read_shapes
from attention_core.bench.workloads.workload import ITEM, Workload
from attention_core.conformance.subjects.axes import JOINED, LAYOUTS
from attention_core.conformance.subjects.binding import Binding, bind
from attention_core.conformance.worker.executor import Executor
from attention_core.declaration.implementation import Implementation, TargetError
from attention_core.declaration.options import fields_from_text
from attention_core.registry.load import implementation_for
from attention_core.registry.table import KERNELS
from attention_core.registry.table import kernel as row_of
from attention_core.worker.target import load_target

AUTO = "auto"
"""`auto`, or `auto:KERNEL`: attention_core.attention, which gets structured masks as structure."""
PUBLIC = "attention_core:attention"
COMPILES = frozenset(row.name for row in KERNELS if row.compiles)
INHERITED = ("accumulate", "dtypes", "masked_nan", "gradients")
"""What a kernel declares of itself also where `attention` calls it; the rest is of its own signature."""


class CannotRun(Exception):
    """A kernel that does not take a workload; the text says why."""


class NoTensor(TypeError):
    """A kernel that returned something else; the text says what."""


@dataclass(frozen=True)
class Named:
    """A kernel as named on the command line.

    Args: name, what reports call it; implementation, its conventions; origin, where it is loaded from; target and
        fields, what the suite gets; structured, whether it takes masks of `attention_core.masking`.
    """

    name: str
    implementation: Implementation
    origin: str
    target: str
    fields: Mapping[str, Any]
    structured: bool = False

    def why_not(self, workload: Workload) -> str:
        """Why its declared conventions exclude a workload, or "" (what only its signature tells comes later)."""
        i, w = self.implementation, workload
        if i.contract not in ("attention", "attention-lse"):
            return f"its contract is {i.contract}"
        if w.dtype not in i.dtypes:
            no_such = (i.array, w.dtype) == ("numpy", "bfloat16")
            return "NumPy has no bfloat16" if no_such else f"it does not declare {w.dtype}"
        if i.array == "jax":
            return "jax arrays are not timed"
        if i.sizes is not None and not i.sizes(w.n_q, w.n_kv, w.d, w.d_v, w.H, w.H_kv):
            return f"it declares sizes {getattr(i.sizes, 'text', 'by a predicate')}"
        if w.direction == "bwd" and not i.gradients:
            return "it declares no gradients"
        if (i.axes, i.scale, i.always_causal, i.qkv_axis) != (4, "1/sqrt(d)", False, None):
            return "it declares another call than query, key and value of 4 axes, scaled by 1/sqrt(d)"
        if i.key_layout not in (None, i.layout):
            return f"its key lies as {i.key_layout}, query and value as {i.layout}"
        if w.form in ("3d", "5d") and "nbhd" in (i.layout, i.out_layout):
            return "its tokens come first, beside exactly one batch axis"
        if w.mask.kind != "none" and i.masks in ("additive", "binary"):
            return f"it declares {i.masks} masks"
        return ""


def read_target(text: str, device: str = "cpu") -> Named:
    """A KERNEL: TARGET, `auto`, `auto:NAME`, each with declared conventions after @, e.g. `f.py:f@layout=bnhd`.

    Args: device, where it runs if it declares none of its own.

    Raises: TargetError where it names nothing.
    """
    if option := find_option(text):
        raise TargetError(f"{text!r} is not a kernel: each value needs its own option, {option} {text}")
    with bench_words(text):
        return _read_target(text, device)


def find_option(text: str) -> str:
    """The option whose value a text is, where several were given after one; "" for the name of a kernel.

    Example:
        >>> find_option("B=1,H=8,n=256,d=64"), find_option("window:128"), find_option("mine.py:attention")
        ('--shapes', '--mask', '')
    """
    if text in ITEM:
        return "--dtype"
    readers: dict[str, Callable[[], Any]] = {"--shapes": lambda: read_shapes([text]), "--mask": lambda: read_mask(text)}
    for option, read in readers.items():
        try:
            read()
        except TargetError:
            continue
        return "" if text.endswith(".toml") else option  # a function in C is described by such a file
    return ""


def _read_target(text: str, device: str) -> Named:
    given: dict[str, Any] = {}
    for field, value in conventions(text):
        given[field] = (*given.get(field, ()), value) if field in REPEATED else value
    fields = fields_from_text(given)
    if device != "cpu":
        fields.setdefault("device", device)
    where = text.partition("@")[0]
    head, _, kernel = where.partition(":")
    if head != AUTO:
        implementation, origin = implementation_for(where, fields)
        if where in COMPILES:  # as it is judged it does not compile
            implementation = replace(implementation, arguments={})
        return Named(text, implementation, origin, where, fields)
    own = fields
    if kernel:
        try:
            record = row_of(kernel).record
        except ValueError as error:
            raise TargetError(str(error)) from None
        fields = {**{name: record[name] for name in INHERITED if name in record}, **fields}
        fields["arguments"] = {"kernel": kernel}
    else:
        fields.setdefault("untested", ("kernel",))  # it is `auto`: which kernel runs, and each has a row of its own
    fields = {"accumulate": "float32", "window": "sides", "name": text, **fields}
    implementation, origin = implementation_for(PUBLIC, fields)
    if kernel in COMPILES:
        return Named(text, implementation, origin, kernel, own, structured=True)
    return Named(text, implementation, origin, PUBLIC, fields, structured=True)


def load(named: Named) -> tuple[Callable[..., Any], Binding]:
    """The function of a kernel, and how its parameters are spelled.

    Raises: TargetError: it cannot be loaded. Unavailable: it cannot run on this machine.
    """
    with bench_words(named.name):
        target = load_target(named.origin)
        executor = Executor(target, factory=named.implementation.factory, array="torch")
        return executor.target, bind(named.implementation, executor.describe())


@dataclass(frozen=True)
class Call:
    """A kernel bound to the tensors of a workload.

    Args: function, tensors (query, key, value in the kernel's layout), kwargs; cotangent in the output's layout, or
    None.
    """

    function: Callable[..., Any]
    tensors: tuple[Any, Any, Any]
    kwargs: Mapping[str, Any]
    out_layout: str
    layout: str
    cotangent: Tensor | None
    workload: Workload

    def forward(self) -> Any:
        """What the kernel returns."""
        query, key, value = self.tensors
        return self.function(query, key, value, **self.kwargs)

    def backward(self) -> tuple[Tensor, ...]:
        """Forward and backward: the gradients of query, key and value."""
        return torch.autograd.grad(output(self.forward()), self.tensors, self.cotangent)

    @property
    def run(self) -> Callable[[], Any]:
        """What is timed."""
        return self.forward if self.cotangent is None else self.backward

    def results(self) -> dict[str, Tensor]:
        """The output, and the gradients where the workload has them, in the canonical layout."""
        w = self.workload
        found = {"out": canonical(self.forward(), self.out_layout, w).detach()}
        if self.cotangent is not None:
            names = ("query", "key", "value")
            found |= {n: canonical(g, self.layout, w) for n, g in zip(names, self.backward(), strict=True)}
        return found


def prepare(named: Named, function: Callable[..., Any], binding: Binding, inputs: Inputs) -> Call:
    """The kernel bound to the tensors; layouts are turned beforehand and cost nothing in the timing.

    Raises: CannotRun where the kernel does not claim what the workload needs.
    """
    reason = named.why_not(inputs.workload)
    if reason:
        raise CannotRun(reason)
    i = named.implementation
    form = inputs.workload.form
    tensors: list[Any] = [handed_over(t, i.layout, form) for t in (inputs.query, inputs.key, inputs.value)]
    kwargs = arguments(named, binding, inputs)
    if i.array == "numpy":
        tensors = [t.detach().numpy() for t in tensors]
        kwargs = {k: v.numpy() if isinstance(v, Tensor) else v for k, v in kwargs.items()}
    out_layout = binding.out_axes.layout
    if out_layout in JOINED:
        raise CannotRun("its output joins the heads, which bench does not take apart")
    # the gradient of the output comes as autograd would have it: in the output's shape, contiguous
    shape = "plain" if form == "strided" else form
    cotangent = None if inputs.cotangent is None else handed_over(inputs.cotangent, out_layout, shape)
    bound = (tensors[0], tensors[1], tensors[2])
    return Call(function, bound, kwargs, out_layout, i.layout, cotangent, inputs.workload)


def arguments(named: Named, binding: Binding, inputs: Inputs) -> dict[str, Any]:
    """The keyword arguments of the call: mask or flag, grouped heads, defaults that the signature demands."""
    w, i = inputs.workload, named.implementation
    defaults: Mapping[str, Any] = {"attn_mask": None, "is_causal": False, "dropout_p": 0.0, "enable_gqa": False}
    kwargs = {binding.names[name]: defaults.get(name, w.d**-0.5) for name in sorted(binding.required)}
    kwargs |= i.arguments
    if w.H_kv != w.H and not named.structured:
        if "enable_gqa" not in binding.claims:
            raise CannotRun("it does not claim grouped queries (a parameter enable_gqa)")
        if "enable_gqa" in binding.names:
            kwargs[binding.names["enable_gqa"]] = True
    if w.mask.kind == "none":
        return kwargs
    flag = w.n_q == w.n_kv or i.causal == "bottom_right"
    if w.mask.kind == "causal" and w.n_q == 1 and not named.structured:
        return kwargs  # the last query sees every key
    if w.mask.kind == "causal" and flag and "is_causal" in binding.claims and not named.structured:
        return {**kwargs, binding.target_name("is_causal"): True}
    if "attn_mask" not in binding.claims:
        also = ", or is_causal" if w.mask.kind == "causal" and flag else ""
        raise CannotRun(f"it claims no mask (a parameter attn_mask{also})")
    structure = w.mask.structure(w.n_q, w.n_kv, w.seed) if named.structured else None
    dense = None if structure is not None else inputs.mask_tensor()
    if dense is not None and dense.dtype == torch.bool and i.mask_true == "ignore":
        dense = ~dense
    return {**kwargs, binding.target_name("attn_mask"): structure if dense is None else dense}


def handed_over(tensor: Tensor, layout: str, form: str) -> Tensor:
    """A canonical (B, H, n, d) tensor as the kernel gets it; its own leaf where it has gradients."""
    if layout == "bhnd" and form == "plain":
        return tensor
    made = tensor.detach()
    made = made.permute(LAYOUTS[layout]).contiguous() if layout != "bhnd" else made
    if form == "3d":
        made = made[0]
    elif form == "5d":
        made = made[None]
    elif form == "strided":
        made = torch.stack((made, torch.zeros_like(made)), dim=-1).flatten(-2)[..., ::2]
    return made.requires_grad_() if tensor.requires_grad else made


def output(result: Any) -> Tensor:
    """The output among what a kernel returned. Raises: NoTensor."""
    out = result[0] if isinstance(result, tuple | list) and result else result
    if isinstance(out, Tensor):
        return out
    if isinstance(out, np.ndarray):
        return torch.from_numpy(out)
    raise NoTensor(f"returned {type(out).__name__} where a tensor was expected")


def canonical(result: Any, layout: str, workload: Workload) -> Tensor:
    """An output or gradient as (B, H, n, d). Raises: NoTensor."""
    out = output(result)
    if workload.form == "3d" and out.ndim == 3:
        out = out[None]
    out = out[0] if workload.form == "5d" and out.ndim == 5 else out
    order = LAYOUTS[layout]
    return out.permute([order.index(axis) for axis in range(4)]) if out.ndim == 4 else out
