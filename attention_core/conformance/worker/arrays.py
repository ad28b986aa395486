"""Array libraries behind one small face: build arguments, run a call, take derivatives, read results.

This module runs on the side of the code under test (worker process or the caller's own). torch and jax are
imported when their class is made, so the judging side stays free of both.
"""

from __future__ import annotations

import copy
import ctypes
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any

import numpy as np

from attention_core.conformance.worker.exchange import FLOATS, SENT, Array, Value
from attention_core.conformance.worker.small_floats import FORMATS
from attention_core.declaration.implementation import TargetError, summarize_error


class WrongReturn(TypeError):
    """The target returned something that is not an array of this library."""


MOST_NAMED = 6
"""So many keys or fields of a result that is not an array are named."""


def describe_kind(value: Any) -> str:
    """The type of a result that is not an array, and what it holds by name.

    Example:
        >>> describe_kind({"out": 1.0, "weights": None})
        "dict with the keys 'out' (float), 'weights' (NoneType)"
        >>> describe_kind(None)
        'NoneType'
    """
    kind = type(value).__name__
    if isinstance(value, Mapping):
        what, held = "keys", [(key, one) for key, one in value.items() if isinstance(key, str)]
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        what, held = "fields", [(field.name, getattr(value, field.name, None)) for field in dataclasses.fields(value)]
    else:
        return kind
    named = ", ".join(f"{key[:40]!r} ({type(one).__name__})" for key, one in held[:MOST_NAMED])
    return f"{kind} with the {what} {named}{', ...' if len(held) > MOST_NAMED else ''}" if named else kind


def other_values(array: Any, full_like: Callable[..., Any]) -> Any:
    """Numbers that differ from the old ones: NaN, for whole numbers the next one, for a mask its opposite."""
    name = str(array.dtype).rpartition(".")[2]
    if name == "bool":
        return ~array
    return full_like(array, np.nan) if name in FLOATS else array + 1


def weighted_sum(torch: Any) -> Any:
    """A function of autograd that stands for <out, cotangent>: its backward hands on the cotangent itself, as it lies.

    Its value is 0 and it is never read.
    """

    def forward(context: Any, out: Any, cotangent: Any) -> Any:
        context.cotangent = cotangent
        return out.new_zeros(())

    def backward(context: Any, down: Any) -> Any:
        return context.cotangent, None

    steps = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("WeightedSum", (torch.autograd.Function,), steps)


class TorchArrays:
    """torch tensors on one device; derivatives by torch.autograd."""

    def __init__(self, device: str = "cpu") -> None:
        import torch

        self.torch = torch
        self.device = torch.device(device)
        torch.empty(1, device=self.device)  # a device that is not there is reported once, at the door
        torch.set_num_threads(1)
        self.dtypes = {name: getattr(torch, name) for name in SENT}
        self.names = {v: k for k, v in self.dtypes.items()}
        self._weighted = weighted_sum(torch)

    def build(self, spec: Array) -> Any:
        """A tensor with exactly the described memory (its base stays alive through the view)."""
        torch = self.torch
        if spec.base.size == 0:
            base = torch.empty(0, dtype=self.dtypes[spec.dtype], device=self.device)
        else:
            # torch's own memory is always aligned alike, and bits depend on alignment.
            raw = torch.empty(spec.base.nbytes, dtype=torch.uint8)
            raw.numpy()[...] = np.ascontiguousarray(spec.base).reshape(-1).view(np.uint8)
            base = raw.view(self.dtypes[spec.dtype]).to(self.device)
        return base.as_strided(spec.shape, spec.strides, spec.offset)

    def memory(self, tensor: Any) -> bytes:
        """The bytes of the whole storage under a tensor, the part outside the view included."""
        if tensor.device.type == "cpu":  # most often, and a tensor on the storage would take ten times as long
            storage = tensor.untyped_storage()
            return ctypes.string_at(storage.data_ptr(), storage.nbytes()) if storage.nbytes() else b""
        flat = self.torch.empty(0, dtype=self.torch.uint8, device=tensor.device).set_(tensor.untyped_storage())
        return flat.cpu().numpy().tobytes()

    def storage(self, tensor: Any) -> int | None:
        """Where the memory under a tensor begins; None where it holds nothing, or has no such memory."""
        if not isinstance(tensor, self.torch.Tensor) or not tensor.numel():
            return None
        try:
            return tensor.untyped_storage().data_ptr() or None
        except (RuntimeError, NotImplementedError):  # sparse, meta and other tensors
            return None

    def layout(self, tensor: Any) -> tuple[Any, ...]:
        """Shape and strides: a call can change them without a byte."""
        return tuple(tensor.shape), tuple(tensor.stride())

    def overwrite(self, tensor: Any) -> None:
        """Write other numbers into a tensor, as its owner may: NaN, or the opposite of every bit of a mask."""
        plain = tensor.detach()
        with suppress(RuntimeError):  # one that repeats its numbers (stride 0), or cannot be written to, stays
            plain.copy_(other_values(plain, self.torch.full_like))

    def stack(self, tensors: Sequence[Any], axis: int) -> Any:
        """One tensor that holds others along a new axis."""
        return self.torch.stack(list(tensors), axis)

    def part(self, tensor: Any, axis: int, number: int) -> Any:
        """A view of one of those that `stack` put together."""
        return tensor.select(axis, number)

    def refill(self, tensor: Any, spec: Array) -> None:
        """Write the described numbers into a tensor, as its owner may."""
        tensor.copy_(self.build(spec))

    def is_array(self, value: Any) -> bool:
        return isinstance(value, self.torch.Tensor)

    def read(self, tensor: Any) -> Value:
        if not isinstance(tensor, self.torch.Tensor):
            raise WrongReturn(f"expected a torch.Tensor, got {describe_kind(tensor)}")
        dtype = self.names.get(tensor.dtype, str(tensor.dtype))
        plain = tensor.detach().to("cpu")
        wide = plain.double() if plain.is_floating_point() else plain
        return Value(dtype, tuple(tensor.shape), wide.contiguous().numpy())

    def seed(self, seed: int) -> None:
        self.torch.manual_seed(seed)

    def differentiable(self, tensor: Any) -> Any:
        return tensor.detach().requires_grad_(True)

    def call(self, function: Callable[..., Any], wants_graph: bool) -> Any:
        if wants_graph:
            return function()
        with self.torch.no_grad():
            return function()

    def gradients(
        self, out: Any, inputs: Sequence[Any], cotangent: Any, directions: Sequence[Any] | None, keep: bool = False
    ) -> tuple[list[Any], list[Any], bool]:
        """First derivatives, second ones along `directions` (or none), whether there was a graph; `keep` keeps it."""
        torch = self.torch
        if not out.requires_grad:
            return [None] * len(inputs), [None] * len(inputs), False
        create = directions is not None
        # Handed over as a cotangent of its own, it would make torch import sympy, for most of a second.
        total = self._weighted.apply(out, cotangent)
        first = list(
            torch.autograd.grad(total, inputs, allow_unused=True, create_graph=create, retain_graph=keep or create)
        )
        second: list[Any] = [None] * len(inputs)
        if directions is not None:
            pairs = zip(first, directions, strict=True)
            total = sum((g * w).sum() for g, w in pairs if g is not None and g.requires_grad)
            if isinstance(total, torch.Tensor):
                second = list(torch.autograd.grad(total, inputs, allow_unused=True))
        return first, second, True

    def place(self, target: Any) -> Any:
        """A module with its parameters where the arrays are, since many are built without a device."""
        return target.to(self.device) if isinstance(target, self.torch.nn.Module) else target

    def set_mode(self, target: Any, mode: str) -> None:
        if isinstance(target, self.torch.nn.Module):
            target.train(mode == "train")

    @contextmanager
    def on_threads(self, number: int | None) -> Iterator[None]:
        """Run what is inside on so many of torch's threads; None leaves their number as it is."""
        before = self.torch.get_num_threads()
        if number is not None:
            self.torch.set_num_threads(number)
        try:
            yield
        finally:
            if number is not None:
                self.torch.set_num_threads(before)

    def copy_module(self, target: Any) -> Any:
        """A copy of a module; the target itself where it is not a module, or refuses to be copied."""
        if isinstance(target, self.torch.nn.Module):
            with suppress(Exception):
                return copy.deepcopy(target)
        return target

    def parameters(self, target: Any) -> Mapping[str, Any]:
        return dict(target.named_parameters()) if isinstance(target, self.torch.nn.Module) else {}

    def load_parameters(self, target: Any, values: Mapping[str, Any]) -> None:
        with self.torch.no_grad():
            own = self.parameters(target)
            # Names may be numbered by instance (Keras): then the order tells which is which.
            names = own if own.keys() == values.keys() else dict(zip(own, values, strict=True))
            for name, parameter in own.items():
                parameter.copy_(values[name if names is own else names[name]])


class NumpyArrays:
    """NumPy arrays; no derivatives."""

    def build(self, spec: Array) -> Any:
        native = np.array(spec.base, copy=True)
        if spec.dtype == "bfloat16" or spec.dtype in FORMATS:
            raise NotImplementedError(f"NumPy has no {spec.dtype}")
        strides = tuple(s * native.itemsize for s in spec.strides)
        # Not `as_strided`: its result hides the whole buffer, and writes outside the view would go unseen.
        return np.ndarray(spec.shape, native.dtype, native, spec.offset * native.itemsize, strides)

    def memory(self, tensor: Any) -> bytes:
        base = tensor
        while isinstance(base.base, np.ndarray):
            base = base.base
        return bytes(base.tobytes())

    def storage(self, tensor: Any) -> int | None:
        if not isinstance(tensor, np.ndarray) or not tensor.size:
            return None
        base = tensor
        while isinstance(base.base, np.ndarray):
            base = base.base
        return int(base.ctypes.data)

    def layout(self, tensor: Any) -> tuple[Any, ...]:
        return tensor.shape, tensor.strides

    def overwrite(self, tensor: Any) -> None:
        if isinstance(tensor, np.ndarray) and tensor.flags.writeable:
            tensor[...] = other_values(tensor, np.full_like)

    def stack(self, tensors: Sequence[Any], axis: int) -> Any:
        return np.stack(tensors, axis)

    def part(self, tensor: Any, axis: int, number: int) -> Any:
        return np.moveaxis(tensor, axis, 0)[number]

    def refill(self, tensor: Any, spec: Array) -> None:
        tensor[...] = self.build(spec)

    def is_array(self, value: Any) -> bool:
        return isinstance(value, np.ndarray)

    def read(self, tensor: Any) -> Value:
        if not isinstance(tensor, np.ndarray | np.generic):
            raise WrongReturn(f"expected a numpy.ndarray, got {describe_kind(tensor)}")
        values = np.asarray(tensor)
        dtype = values.dtype.name
        return Value(dtype, values.shape, values.astype(np.float64) if dtype in FLOATS else values)

    def seed(self, seed: int) -> None:
        np.random.seed(seed)

    def differentiable(self, tensor: Any) -> Any:
        return tensor

    def call(self, function: Callable[..., Any], wants_graph: bool) -> Any:
        return function()

    def gradients(
        self, out: Any, inputs: Sequence[Any], cotangent: Any, directions: Sequence[Any] | None, keep: bool = False
    ) -> tuple[list[Any], list[Any], bool]:
        return [None] * len(inputs), [None] * len(inputs), False

    def on_threads(self, number: int | None) -> AbstractContextManager[None]:
        """Nothing: these libraries have no number of threads to set."""
        return nullcontext()

    def place(self, target: Any) -> Any:
        """What was built, as it is: arrays of these libraries have one place."""
        return target

    def set_mode(self, target: Any, mode: str) -> None:
        return None

    def parameters(self, target: Any) -> Mapping[str, Any]:
        return {}

    def load_parameters(self, target: Any, values: Mapping[str, Any]) -> None:
        return None


UNOPTIMISED = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
"""How a program that is called a few times is compiled: in a third of the time."""


class JaxArrays(NumpyArrays):
    """JAX arrays; derivatives through jax.vjp, so a call that differentiates goes through `vjp` below.

    Args:
        x64: let JAX have float64, which it otherwise has only where the target or the environment asks for it. It
            changes dtypes inside the target, so it is done where float64 is declared and nowhere else.
    """

    def __init__(self, x64: bool = False) -> None:
        import jax

        if x64:
            jax.config.update("jax_enable_x64", True)
        self.jax = jax
        self.programs: dict[Any, Any] = {}  # compiled functions by what they are compiled for
        self.eager: set[Any] = set()  # what cannot be compiled

    @property
    def x64(self) -> bool:
        """Whether JAX has float64 now."""
        return bool(self.jax.config.jax_enable_x64)

    def build(self, spec: Array) -> Any:
        jnp = self.jax.numpy
        native = np.array(spec.base, copy=True)
        if spec.dtype == "bfloat16" or spec.dtype in FORMATS:
            native = native.view(getattr(jnp, spec.dtype))
        strides = tuple(s * native.itemsize for s in spec.strides)
        return jnp.asarray(np.lib.stride_tricks.as_strided(native[spec.offset :], spec.shape, strides).copy())

    def memory(self, tensor: Any) -> bytes:
        return bytes(np.asarray(tensor).tobytes())

    def storage(self, tensor: Any) -> int | None:
        return None  # arrays of JAX cannot be written into

    def layout(self, tensor: Any) -> tuple[Any, ...]:
        return ()  # no call can change an array of JAX

    def overwrite(self, tensor: Any) -> None:
        return None  # arrays of JAX cannot be written into

    def stack(self, tensors: Sequence[Any], axis: int) -> Any:
        return self.jax.numpy.stack(tensors, axis)

    def part(self, tensor: Any, axis: int, number: int) -> Any:
        return self.jax.numpy.moveaxis(tensor, axis, 0)[number]

    def refill(self, tensor: Any, spec: Array) -> None:
        return None  # arrays of JAX cannot be written into

    def is_array(self, value: Any) -> bool:
        return isinstance(value, self.jax.Array)

    def read(self, tensor: Any) -> Value:
        if not isinstance(tensor, self.jax.Array):
            raise WrongReturn(f"expected a jax.Array, got {describe_kind(tensor)}")
        dtype = str(tensor.dtype)
        plain = np.asarray(tensor)
        return Value(dtype, tuple(tensor.shape), plain.astype(np.float64) if dtype in FLOATS else plain)

    def call_program(self, key: Any, function: Callable[..., Any], arrays: Sequence[Any]) -> Any:
        """`function(*arrays)` as one compiled program, kept under a key; as it is where it cannot be compiled.

        What fails while it is traced is called again: only that call says whether the function, too, fails.
        """
        if key not in self.eager:
            try:
                return self.programs.setdefault(key, self.jax.jit(function, compiler_options=UNOPTIMISED))(*arrays)
            except Exception:
                self.eager.add(key)
        return function(*arrays)

    def vjp(
        self, function: Callable[..., Any], inputs: Sequence[Any], cotangent: Any, of: int = 0
    ) -> tuple[list[Any], list[Any]]:
        """Results up to number `of`, and gradients of `function(*inputs)` for one cotangent on that one."""
        out, pull = self.jax.vjp(lambda *xs: _up_to(function(*xs), of), *inputs)
        zeros = [self.jax.numpy.zeros_like(x) for x in out[:-1]]
        return list(out), list(pull((*zeros, cotangent)))


def _up_to(result: Any, of: int) -> tuple[Any, ...]:
    return tuple(result)[: of + 1] if isinstance(result, tuple | list) else (result,)


def library(name: str, device: str, x64: bool = False) -> TorchArrays | NumpyArrays | JaxArrays:
    """The array library called `name` ("torch", "numpy" or "jax").

    Raises:
        TargetError: it is not installed, or the device is not there.
    """
    if name == "numpy":
        return NumpyArrays()
    if name == "jax":
        try:
            return JaxArrays(x64)
        except ModuleNotFoundError as error:
            raise TargetError(
                f"--array jax needs JAX ({error}): python -m pip install 'attention-core[jax]'"
            ) from error
    try:
        return TorchArrays(device)
    except (RuntimeError, AssertionError) as error:  # a torch without CUDA raises AssertionError
        raise TargetError(
            f"--device {device} cannot be used here: {summarize_error(error)}; leave --device out to judge the target "
            "on the processor (kernels in Triton in its interpreter), or run it on a machine with that device"
        ) from error
