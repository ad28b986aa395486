"""Watches Triton's interpreter: accesses outside of every tensor, races between programs, and its bfloat16 numbers.

Each launch gets copies of its tensors with a guard on both sides, wide enough that no access nearby reaches another
tensor. An access of a lane that is not masked is looked up before it is made, so that nothing outside is touched. Two
programs race where one reads what another writes, or both write different values, in a launch without atomics by which
they could wait for each other: a GPU promises no order of programs.

It replaces methods of `triton.runtime.interpreter`, which are not a public interface; tried with Triton 3.9.
"""

from __future__ import annotations

import inspect
import linecache
import re
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from attention_core.conformance.worker.stand_in_gpu import stand_in_for_a_gpu
from attention_core.declaration.sizes import FIT_BLOCKS

GUARD = 1 << 16
"""Bytes on each side of a tensor."""
UNTOUCHED, MANY = -1, -2
"""Instead of a program's number: no program yet, or more than one."""


SIZES = f"declare those that fit, e.g. --sizes '{FIT_BLOCKS}'"
BLOCKS = re.compile(
    r"power of (?:2|two)|incompatible dimensions|exceeds triton maximum|should have [MNK] >=|Cannot bitcast"
)
"""In Triton's refusal of the sizes of a block."""


NUMPY = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "cbrt", "sin", "cos", "tan", "sinh", "cosh",
    "tanh", "floor", "ceil", "trunc", "rint",
)  # fmt: skip
"""Functions of libdevice that NumPy has by the same name."""


class LacksOperation(Exception):
    """The interpreter lacks an operation of a kernel, which only a GPU has."""


class UnfitBlock(ValueError):
    """Triton refuses the blocks that a kernel makes of the sizes of a call."""


class FaultyAccess(Exception):
    """A kernel reads or writes outside of every tensor it was given, or its programs race."""


@dataclass
class Buffer:
    """The guarded copy of a storage: who read and wrote its bytes."""

    name: str
    original: Any
    copy: Any
    base: int
    size: int
    reader: np.ndarray
    writer: np.ndarray


class Launch:
    """The tensors of one launch, and which program accesses them."""

    def __init__(self, kernel: str) -> None:
        self.kernel, self.program, self.waits, self.opaque = kernel, 0, False, False
        self.buffers: dict[int, Buffer] = {}  # address of the original storage -> its copy
        self.order: list[Buffer] = []

    def guard(self, name: str, tensor: Any) -> Any:
        """The same tensor on a copy of its storage with a guard on both sides."""
        import torch

        storage = tensor.untyped_storage()
        key, size = storage.data_ptr(), storage.nbytes()
        if key not in self.buffers:
            original = torch.empty(0, dtype=torch.uint8).set_(storage, 0, (size,), (1,))
            copy = torch.zeros(size + 2 * GUARD, dtype=torch.uint8)
            copy[GUARD : GUARD + size] = original
            untouched = np.full(size, UNTOUCHED, np.int64)
            self.buffers[key] = Buffer(name, original, copy, copy.data_ptr() + GUARD, size, untouched, untouched.copy())
            self.order = sorted(self.buffers.values(), key=lambda b: b.base)
        offset = GUARD // tensor.element_size() + tensor.storage_offset()
        made = tensor.new_empty(0)
        made.set_(self.buffers[key].copy.untyped_storage(), offset, tensor.size(), tensor.stride())
        return made

    def restore(self) -> None:
        """Write back what the kernel has written."""
        for buffer in self.order:
            if (buffer.writer != UNTOUCHED).any():
                buffer.original.copy_(buffer.copy[GUARD : GUARD + buffer.size])

    def access(self, pointers: Any, mask: Any, verb: str, values: Any = None) -> None:
        """Look an access up; `values` are what is stored. Atomics are neither reads nor writes here: see `note`.

        Raises:
            FaultyAccess: it is outside, or races.
        """
        addresses, chosen, width = active(pointers, mask)
        if self.opaque or not addresses.size:
            return
        for buffer, lanes in self.locate(addresses, width, verb):
            at = (addresses[lanes] - np.uint64(buffer.base)).astype(np.int64)
            if verb == "reads":
                self.read(buffer, at, width)
            else:
                data = np.broadcast_to(values.data, pointers.data.shape).reshape(-1)[chosen][lanes]
                self.write(buffer, at, np.ascontiguousarray(data))

    def locate(self, addresses: Any, width: int, verb: str) -> list[tuple[Buffer, Any]]:
        """Which lanes lie in which buffer."""
        bases = np.array([b.base for b in self.order], np.uint64)
        ends = np.array([b.base + b.size for b in self.order], np.uint64)
        place = np.searchsorted(bases, addresses, side="right") - 1
        inside = (place >= 0) & (addresses + np.uint64(width) <= ends[place]) if self.order else addresses < 0
        if not inside.all():
            self.complain(int(addresses[~inside][0]), width, verb)
        return [(self.order[i], place == i) for i in np.unique(place)]

    def complain(self, address: int, width: int, verb: str) -> None:
        """Say how far an access is from the nearest tensor."""
        far = {}
        for buffer in self.order:
            behind, before = address - (buffer.base + buffer.size), buffer.base - address
            side = "past the end of" if behind + width > before else "before"
            far[max(behind + width, before)] = (buffer.name, side)
        if not far:
            raise FaultyAccess(f"{self.kernel} {verb} memory, but was given no tensor{where()}")
        distance = min(far)
        name, side = far[distance]
        count = -(-distance // width)
        if distance > GUARD:
            raise FaultyAccess(f"{self.kernel} {verb} far from every tensor it was given{where()}")
        elements = "1 element" if count == 1 else f"{count} elements"
        raise FaultyAccess(f"{self.kernel} {verb} {elements} {side} {name}{where()}")

    def read(self, buffer: Buffer, at: Any, width: int) -> None:
        """Note who reads, and complain where another program wrote."""
        writers = buffer.writer[at]
        if not self.waits and ((writers != UNTOUCHED) & (writers != self.program)).any():
            raise FaultyAccess(
                f"{self.kernel} has a race: one program reads what another writes into {buffer.name}{where()}"
            )
        before = buffer.reader[at]
        buffer.reader[at] = np.where((before == UNTOUCHED) | (before == self.program), self.program, MANY)

    def write(self, buffer: Buffer, at: Any, data: Any) -> None:
        """Note who writes, and complain where another program read, or wrote something else."""
        memory = buffer.copy.numpy()[GUARD : GUARD + buffer.size]
        width = data.itemsize
        now = memory[at[:, None] + np.arange(width)]
        differs = (now != data.view(np.uint8).reshape(-1, width)).any(axis=1)
        others = [(a[at] != UNTOUCHED) & (a[at] != self.program) & differs for a in (buffer.writer, buffer.reader)]
        if not self.waits and others[0].any():
            raise FaultyAccess(
                f"{self.kernel} has a race: two programs write different values at one place of {buffer.name}{where()}"
            )
        if not self.waits and others[1].any():
            raise FaultyAccess(
                f"{self.kernel} has a race: one program writes into {buffer.name} what another has read{where()}"
            )
        buffer.writer[at] = self.program

    def note(self, pointers: Any, mask: Any, waits: bool) -> None:
        """Look an atomic access up; where programs may wait by it, no race is claimed any more in this launch."""
        self.waits = self.waits or waits
        addresses, _, width = active(pointers, mask)
        if self.opaque or not addresses.size:
            return
        for buffer, lanes in self.locate(addresses, width, "updates"):
            at = (addresses[lanes] - np.uint64(buffer.base)).astype(np.int64)
            buffer.writer[at] = np.where(buffer.writer[at] == UNTOUCHED, self.program, buffer.writer[at])


def active(pointers: Any, mask: Any) -> tuple[Any, Any, int]:
    """The addresses of lanes that are not masked, which lanes these are, and bytes per element."""
    every = np.asarray(pointers.data).reshape(-1).astype(np.uint64)
    chosen = np.ones(every.shape, bool)
    if mask is not None:
        chosen = np.broadcast_to(mask.data, np.shape(pointers.data)).reshape(-1).astype(bool)
    return every[chosen], chosen, max(1, pointers.get_element_ty().primitive_bitwidth // 8)


def where() -> str:
    """The line of the kernel that runs."""
    frame = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module != __name__ and module.partition(".")[0] not in ("triton", "numpy"):
            line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
            return f" (line {frame.f_lineno}: {line[:120]})"
        frame = frame.f_back  # type: ignore[assignment]
    return ""


def first_cause(error: BaseException, kernel: str) -> BaseException:
    """What went wrong in a kernel first; the interpreter, and each function called by the kernel, wrap it once more."""
    while error.__cause__ is not None:
        error = error.__cause__
    line, steps = "", traceback.extract_tb(error.__traceback__)
    for step in steps:
        if not {"triton", "numpy"} & set(Path(step.filename).parts) and step.filename != __file__:
            line = f" (line {step.lineno}: {(step.line or '')[:120]})"
    if "_semantic" in str(error):
        return LacksOperation(
            f"Triton's interpreter cannot run an operation of {kernel}: it is an instruction of GPUs{line}; with a "
            "GPU, use --device cuda"
        )
    if is_of_another_release(error):
        return LacksOperation(
            f"this release of triton has not what {kernel} uses: {error}{line}; install one that has it"
        )
    beyond = "InterpreterBuilder" in str(error)
    if beyond or isinstance(error, NotImplementedError):
        what = f"Triton's interpreter cannot run an operation of {kernel}: {error}{line}"
        return LacksOperation(f"{what}; with a GPU, use --device cuda")
    if isinstance(error, ValueError) and BLOCKS.search(str(error)):
        return UnfitBlock(f"the blocks of {kernel} do not fit these sizes: {error}{line}; {SIZES}")
    return error


def is_of_another_release(error: BaseException) -> bool:
    """Whether a kernel uses a function of triton, or a parameter of one, that this release has not."""
    if "have been removed" in str(error):
        return True
    if isinstance(error, AttributeError):
        return str(error).startswith("module 'triton")
    unknown = re.match(r"(\w+)\(\) got an unexpected keyword argument", str(error))
    return isinstance(error, TypeError) and unknown is not None and hasattr(sys.modules["triton.language"], unknown[1])


def map_tensors(value: Any, name: str, launch: Launch, interpreter: Any) -> Any:
    """An argument of a launch with its tensors guarded."""
    if isinstance(value, tuple):
        parts = [map_tensors(v, f"{name}[{i}]", launch, interpreter) for i, v in enumerate(value)]
        return interpreter._tuple_create(value, parts)
    if isinstance(value, interpreter.TensorDescriptor):
        base = map_tensors(value.base, name, launch, interpreter)
        return interpreter.TensorDescriptor(
            base, value.shape, value.strides, value.block_shape, value.padding, value.round_f32_to_tf32
        )
    if not hasattr(value, "data_ptr"):
        return value
    return interpreter._rewrap_tensor(launch.guard(name, interpreter._unwrap_tensor(value)), original_tensor=value)


class Watch:
    """Holds the launch that runs, and replaces what the interpreter does with memory."""

    def __init__(self, interpreter: Any) -> None:
        self.interpreter = interpreter
        self.launch: Launch | None = None

    def install(self) -> None:
        """Replace the methods of the interpreter."""
        self._watch_memory(self.interpreter.InterpreterBuilder)
        self._watch_atomics(self.interpreter.InterpreterBuilder)
        self._watch_launches(self.interpreter.GridExecutor)
        mend_bfloat16(self.interpreter)
        fill_libdevice(self.interpreter)
        choose_first_configuration()
        patch_once(self.interpreter)

    def _watch_memory(self, builder: Any) -> None:
        load, store = builder.create_masked_load, builder.create_masked_store
        program, cast = builder.set_grid_idx, builder.create_int_to_ptr

        def create_masked_load(this: Any, ptrs: Any, mask: Any, *others: Any, **named: Any) -> Any:
            if self.launch is not None:
                self.launch.access(ptrs, mask, "reads")
            return load(this, ptrs, mask, *others, **named)

        def create_masked_store(this: Any, ptrs: Any, value: Any, mask: Any, *others: Any) -> Any:
            if self.launch is not None:
                self.launch.access(ptrs, mask, "writes", value)
            return store(this, ptrs, value, mask, *others)

        def set_grid_idx(this: Any, *place: int) -> None:
            if self.launch is not None:
                x, y, z = place
                _, ny, nz = this.grid_dim
                self.launch.program = (x * ny + y) * nz + z
            program(this, *place)

        def create_int_to_ptr(this: Any, value: Any, kind: Any) -> Any:
            if self.launch is not None:
                self.launch.opaque = True  # an address that came as a number: whose it is cannot be known
            return cast(this, value, kind)

        builder.create_masked_load, builder.create_masked_store = create_masked_load, create_masked_store
        builder.set_grid_idx, builder.create_int_to_ptr = set_grid_idx, create_int_to_ptr

    def _watch_atomics(self, builder: Any) -> None:
        rmw, cas = builder.create_atomic_rmw, builder.create_atomic_cas

        def create_atomic_rmw(this: Any, op: Any, ptr: Any, val: Any, mask: Any, *others: Any) -> Any:
            if self.launch is not None:
                self.launch.note(ptr, mask, waits=not val.dtype.scalar.is_floating())
            return rmw(this, op, ptr, val, mask, *others)

        def create_atomic_cas(this: Any, ptr: Any, *others: Any) -> Any:
            if self.launch is not None:
                self.launch.note(ptr, None, waits=True)
            return cas(this, ptr, *others)

        builder.create_atomic_rmw, builder.create_atomic_cas = create_atomic_rmw, create_atomic_cas

    def _watch_launches(self, executor: Any) -> None:
        prepare, call = executor._init_args_hst, executor.__call__

        def _init_args_hst(this: Any, args: Any, kwargs: Any) -> Any:
            args, kwargs = prepare(this, args, kwargs)
            if self.launch is None:
                return args, kwargs
            names = inspect.getfullargspec(this.fn).args
            found = [map_tensors(a, n, self.launch, self.interpreter) for n, a in zip(names, args, strict=False)]
            return found, {n: map_tensors(a, n, self.launch, self.interpreter) for n, a in kwargs.items()}

        def _restore_args_dev(this: Any, *args: Any) -> None:
            if self.launch is not None:
                self.launch.restore()

        def launch(this: Any, *args: Any, **kwargs: Any) -> Any:
            outer, self.launch = self.launch, Launch(this.fn.__name__)
            try:
                return call(this, *args, **kwargs)
            except self.interpreter.InterpreterError as error:
                raise first_cause(error, this.fn.__name__) from None
            finally:
                self.launch = outer

        executor._init_args_hst, executor._restore_args_dev = _init_args_hst, _restore_args_dev
        executor.__call__ = launch


def mend_bfloat16(interpreter: Any) -> None:
    """Let the interpreter compute with the values of bfloat16 numbers, not with their bits (triton #11584).

    Operands are widened to float32 and results rounded, as a GPU does it. Rounded twice, to 24 and to 8 bits, a sum,
    product or quotient is what it is rounded once. A `tl.dot` stays in float32, and a `tl.sum` is rounded in the end.
    """
    builder, bfloat16, float32 = interpreter.InterpreterBuilder, interpreter.tl.bfloat16, interpreter.tl.float32
    dot, cast = builder.create_dot, builder.cast_impl

    def is_narrow(handle: Any) -> bool:
        return bool(handle.dtype.scalar == bfloat16 and handle.data.dtype == np.uint16)

    def round_to_nearest(source: Any) -> Any:
        return interpreter.TensorHandle(bits_of_bfloat16(source.data), bfloat16)

    def widen(handle: Any) -> Any:
        if not is_narrow(handle):
            return handle
        return interpreter.TensorHandle((handle.data.astype(np.uint32) << 16).view(np.float32), float32)

    def cast_impl(this: Any, source: Any, kind: Any) -> Any:
        if is_narrow(source) and kind.scalar not in (bfloat16, float32):
            source = widen(source)
        if kind.scalar != bfloat16 or source.dtype.scalar == bfloat16:
            return cast(this, source, kind)
        return round_to_nearest(source if source.dtype.scalar == float32 else cast(this, source, float32))

    def widen_operands(operation: Any) -> Any:
        def compute(this: Any, *operands: Any) -> Any:
            if not any(isinstance(x, interpreter.TensorHandle) and is_narrow(x) for x in operands):
                return operation(this, *operands)
            wide = [widen(x) if isinstance(x, interpreter.TensorHandle) else x for x in operands]
            found = operation(this, *wide)
            return round_to_nearest(found) if found.data.dtype == np.float32 else found

        return compute

    mend_sum(interpreter.ReduceOps, lambda handle: widen(handle).data if is_narrow(handle) else None)
    builder.create_dot = lambda this, a, b, *others: dot(this, widen(a), widen(b), *others)
    builder.cast_impl = cast_impl
    for name in ("binary_op", "ternary_op", "unary_op", "create_fma"):
        setattr(builder, name, widen_operands(getattr(builder, name)))


def mend_sum(reduction: Any, numbers_of: Any) -> None:
    """Let a `tl.sum` add the numbers of bfloat16, which `numbers_of` gives (None for others), and round in the end."""
    add_up = reduction.sum

    def sum_values(this: Any, given: Any) -> Any:
        numbers = numbers_of(given.handle)
        if numbers is None:
            return add_up(this, given)
        total = np.sum(numbers, axis=this.axis, keepdims=this.keep_dims, dtype=np.float32)
        rounded = bits_of_bfloat16(np.asarray(total))
        return this.to_tensor(rounded if rounded.ndim else rounded[()], given.dtype)

    reduction.sum = sum_values


def bits_of_bfloat16(numbers: Any) -> Any:
    """The bits of float32 numbers as bfloat16, to the nearest and in a tie to the even one; NaN stays NaN."""
    bits = np.ascontiguousarray(numbers).view(np.uint32)
    rounded = ((bits + np.uint32(0x7FFF) + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    quiet = ((bits >> 16) | 0x40).astype(np.uint16)
    return np.where(np.isnan(numbers), quiet, rounded)


def choose_first_configuration() -> None:
    """Let an autotuned kernel run with the first of its configurations that are left: there is nothing to time."""
    from triton.runtime.autotuner import Autotuner

    Autotuner._bench = lambda self, *args, config, **meta: [0.0, 0.0, 0.0]


def fill_libdevice(interpreter: Any) -> None:
    """Let functions of libdevice compute or say that they cannot: in the interpreter they give None.

    Those of one number that NumPy has are computed by it.
    """
    from triton.language.extra import libdevice

    own = {"rsqrt": lambda x: 1 / np.sqrt(x), "fast_expf": np.exp, "fast_logf": np.log, "fast_log2f": np.log2}
    own |= {"fast_sinf": np.sin, "fast_cosf": np.cos, "fast_tanf": np.tan, "fast_tanhf": np.tanh}
    own |= {name: getattr(np, name) for name in NUMPY}

    def compute_by(operation: Any) -> Any:
        def compute(x: Any, **_: Any) -> Any:
            handle = interpreter.interpreter_builder.unary_op(x.handle, operation)
            return interpreter.tl.tensor(handle, x.type)

        return compute

    def refuse_by(name: str) -> Any:
        def refuse(*_: Any, **__: Any) -> Any:
            raise NotImplementedError(f"libdevice.{name} is not supported in interpreter mode")

        return refuse

    names = [name for name, value in vars(libdevice).items() if inspect.isfunction(value) and not name.startswith("_")]
    for name in names:
        setattr(libdevice, name, compute_by(own[name]) if name in own else refuse_by(name))


def patch_once(interpreter: Any) -> None:
    """Let a launch look through the language once, not again at every call of a function in a kernel.

    The interpreter lists the members of five modules and classes to replace them, at every such call: a third of its
    time. What a launch has replaced already is left as it is until the launch puts it back.
    """
    patch, scope_class = interpreter._patch_lang, interpreter._LangPatchScope
    in_force: dict[frozenset[int], Any] = {}
    restore = scope_class.restore

    def patch_lang(fn: Any) -> Any:
        languages = [v for v in fn.__globals__.values() if v is interpreter.tl or v is interpreter.tl.core]
        seen = frozenset(map(id, languages))
        if seen in in_force:
            return scope_class()
        in_force[seen] = scope = patch(fn)
        return scope

    def restore_all(scope: Any) -> None:
        for seen in [seen for seen, other in in_force.items() if other is scope]:
            del in_force[seen]
        restore(scope)

    interpreter._patch_lang, scope_class.restore = patch_lang, restore_all


def watch_triton() -> bool:
    """Watch Triton's interpreter in this process; false where triton is not installed."""
    try:
        from triton.runtime import interpreter
    except ImportError:
        return False
    import torch

    Watch(interpreter).install()
    if not torch.cuda.is_available():
        stand_in_for_a_gpu()
    return True
