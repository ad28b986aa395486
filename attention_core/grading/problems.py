"""What the process of a submission, or of the reference, is called on: its arrays as tensors, and the call itself.

Runs in those processes; needs torch. A problem is loaded, bound to an arena, and called again and again on whatever
stands in the arena then. Its tensors are the arena's memory, so that their addresses never change.
"""

from __future__ import annotations

import copy
import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

from attention_core.grading.arena import Arena, Field

NAMES = ("float64", "float32", "bfloat16", "float16", "bool", "int64", "int32", "uint8")
DTYPES = {name: getattr(torch, name) for name in NAMES}
Results = list[tuple[str, Any]]
"""What a call returned: results by the names of the arena's outputs."""


class Problem(Protocol):
    """What is called."""

    def bind(self, arena: Arena) -> None:
        """Take the arena's memory as the tensors of all calls to come."""
        ...

    def call(self) -> Results:
        """Compute once."""
        ...


def tensor_of(arena: Arena, name: str) -> Tensor:
    """A field of the arena as a tensor that shares its memory."""
    field, start = arena.fields[name], arena.start(name)
    flat = torch.frombuffer(arena.map, dtype=DTYPES[field.dtype], count=field.size, offset=start)
    if not field.order:
        return flat.reshape(field.shape)
    there = flat.reshape([field.shape[axis] for axis in field.order])
    return there.permute([field.order.index(axis) for axis in range(len(field.order))])


class AttentionProblem:
    """Attention, as `bench` calls it.

    Args:
        target: path/to/file.py:name or a row of the kernel table; fields: what is declared of it.
        workload: sizes, dtype, mask and direction, as JSON.
    """

    def __init__(self, target: str, fields: Mapping[str, Any], workload: Mapping[str, Any]) -> None:
        from attention_core.bench.targets import Named, load, read_target
        from attention_core.bench.workloads.workload import Workload
        from attention_core.declaration.options import fields_from_text
        from attention_core.registry.load import implementation_for

        self.workload = Workload.from_json(workload)
        if fields or ".py:" in target:
            known = fields_from_text(fields)
            implementation, origin = implementation_for(target, known)
            self.named = Named(target, implementation, origin, target, known)
        else:
            self.named = read_target(target)
        self.function, self.binding = load(self.named)

    def bind(self, arena: Arena) -> None:
        """Take the arena's memory as query, key, value and cotangent."""
        from attention_core.bench.targets import prepare
        from attention_core.bench.workloads.inputs import Inputs

        given = {name: tensor_of(arena, name) for name, field in arena.fields.items() if not field.is_output}
        for name in ("query", "key", "value"):
            given[name].requires_grad_(self.workload.direction == "bwd")
        inputs = Inputs(self.workload, given["query"], given["key"], given["value"], given.get("cotangent"))
        self.prepared = prepare(self.named, self.function, self.binding, inputs)

    def call(self) -> Results:
        """The output, and with it the gradients where the workload has them."""
        from attention_core.bench.targets import canonical, output

        call, workload = self.prepared, self.workload
        returned = call.forward()
        first = returned[0] if isinstance(returned, tuple | list) and returned else returned
        if type(first) is not Tensor:  # `child.py` reports it
            return [("out", first)]
        found: Results = [("out", canonical(returned, call.out_layout, workload).detach())]
        if call.cotangent is not None:
            gradients = torch.autograd.grad(output(returned), call.tensors, call.cotangent)
            names = ("query", "key", "value")
            found += [(f"d_{n}", canonical(g, call.layout, workload)) for n, g in zip(names, gradients, strict=True)]
        return found


class ModuleProblem:
    """A module of KernelBench's form: a class with `forward`, and functions that draw what it is built with and given.

    Args:
        path: of the file that defines the class; name: of the class, "Model" or "ModelNew".
        init: what it is built with, as JSON values; None to ask `get_init_inputs` of the same file.
        seed: torch's, when it is built: two classes that build the same parameters in the same order agree.
        dtype: of its parameters.
    """

    def __init__(self, path: str, name: str, init: Any, seed: int, dtype: str) -> None:
        self.module, self.seed, self.dtype = load_file(path), seed, DTYPES[dtype]
        self.init = self.module.get_init_inputs() if init is None else init
        self.built = self._build(getattr(self.module, name))
        self.inputs: list[Any] = []

    def _build(self, make: Any) -> Any:
        torch.manual_seed(self.seed)
        if isinstance(self.init, Mapping):
            return make(**self.init).to(self.dtype)
        return make(*self.init).to(self.dtype)

    def draw(self, seed: int) -> list[Any]:
        """Fresh inputs, floats in the problem's dtype."""
        torch.manual_seed(seed)
        given = self.module.get_inputs()
        return [v.to(self.dtype) if isinstance(v, Tensor) and v.is_floating_point() else v for v in given]

    def fields(self, seed: int) -> tuple[list[Field], list[Any]]:
        """The fields of the inputs and outputs, and what of the inputs is not a tensor, by place."""
        given = self.draw(seed)
        with torch.no_grad():
            results = flatten(self.built(*given))
        inputs = [Field(f"input_{i}", name_of(v), tuple(v.shape)) for i, v in enumerate(given) if isinstance(v, Tensor)]
        outputs = [Field(n, name_of(v), tuple(v.shape), is_output=True) for n, v in results]
        return [*inputs, *outputs], [None if isinstance(v, Tensor) else v for v in given]

    def bind(self, arena: Arena) -> None:
        """Take the arena's memory as the inputs; the others stay as they are."""
        places = self.inputs or [None] * sum(not field.is_output for field in arena.fields.values())
        self.given = [tensor_of(arena, f"input_{i}") if v is None else v for i, v in enumerate(places)]

    def call(self) -> Results:
        """What `forward` returns."""
        with torch.no_grad():
            return flatten(self.built(*self.given))

    def exact(self, generator: torch.Generator | None = None) -> Results:
        """The same in float64 on the same numbers, or on numbers that are one rounding away."""
        kept = copy.deepcopy(self.built.state_dict())
        self.built.double()
        try:
            with torch.no_grad():
                if generator is not None:
                    for parameter in self.built.parameters():
                        parameter.copy_(nudge(parameter, self.dtype, generator))
                return flatten(self.built(*[as_double(v, self.dtype, generator) for v in self.given]))
        finally:
            self.built.to(self.dtype)
            self.built.load_state_dict(kept)


class FunctionProblem:
    """A function that is called by the names of its inputs, as flashinfer-bench does.

    Args:
        path: of the file; name: of the function.
        scalars: inputs that are numbers.
        outputs: names of the outputs, in their order; a function with parameters of these names is handed arrays to
            write (destination-passing style).
    """

    def __init__(self, path: str, name: str, scalars: Mapping[str, Any], outputs: list[str]) -> None:
        self.function: Callable[..., Any] = getattr(load_file(path), name)
        self.scalars, self.outputs = dict(scalars), outputs
        self.parameters = list(inspect.signature(self.function).parameters)
        self.destination = set(outputs) <= set(self.parameters)

    def bind(self, arena: Arena) -> None:
        """Take the arena's memory as the inputs, and as outputs where these are handed in."""
        inputs = {n: tensor_of(arena, n) for n, field in arena.fields.items() if not field.is_output}
        values = {**inputs, **self.scalars}
        self.given = {name: values[name] for name in self.parameters if name in values} or values
        self.written = {n: torch.empty_like(tensor_of(arena, n)) for n in self.outputs} if self.destination else {}

    def call(self) -> Results:
        """What the function returned, or wrote."""
        with torch.no_grad():
            returned = self.function(**self.given, **self.written)
        if self.destination:
            return list(self.written.items())
        if isinstance(returned, Mapping):
            return [(name, returned.get(name)) for name in self.outputs]
        values = returned if isinstance(returned, tuple | list) else [returned]
        return [(name, values[i] if i < len(values) else None) for i, name in enumerate(self.outputs)]

    def exact(self, generator: torch.Generator | None = None) -> Results:
        """The same once more, or on inputs that are one rounding away: the function is the specification itself."""
        kept = self.given
        if generator is not None:
            self.given = {n: nudge(v, v.dtype, generator).to(v.dtype) if is_float(v) else v for n, v in kept.items()}
        try:
            return self.call()
        finally:
            self.given = kept


def is_float(value: Any) -> bool:
    """Whether a value is a tensor of floats."""
    return isinstance(value, Tensor) and value.is_floating_point()


def nudge(values: Tensor, dtype: torch.dtype, generator: torch.Generator) -> Tensor:
    """Each value times 1 + 2u or 1 - 2u, u the unit roundoff of a dtype: its neighbour there, or nearly so."""
    signs = torch.randint(0, 2, values.shape, generator=generator, dtype=torch.int8) * 2 - 1
    return values.double() * (1 + torch.finfo(dtype).eps * signs)


def as_double(value: Any, dtype: torch.dtype, generator: torch.Generator | None) -> Any:
    """A float tensor in float64, nudged where there is a generator; anything else as it is."""
    if not is_float(value):
        return value
    return value.double() if generator is None else nudge(value, dtype, generator)


def load_file(path: str) -> Any:
    """Import a file by its path, with the files beside it."""
    where = Path(path).resolve()
    sys.path.insert(0, str(where.parent))
    spec = importlib.util.spec_from_file_location(f"_submission_{where.stem}", where)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def flatten(returned: Any) -> Results:
    """Results by name: "out", or "out_0", "out_1", ... of several."""
    if isinstance(returned, tuple | list):
        return [(f"out_{i}", value) for i, value in enumerate(returned)]
    return [("out", returned)]


def name_of(tensor: Tensor) -> str:
    """The name of a tensor's dtype."""
    return str(tensor.dtype).removeprefix("torch.")
