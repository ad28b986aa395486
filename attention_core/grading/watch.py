"""What a submission changes in its process: functions that clocks, comparisons and operators are made of, and tracing.

The watch takes note before the submission is imported and looks again afterwards. It runs beside the submission, which
could deceive it; what it protects is measured and compared elsewhere.
"""

from __future__ import annotations

import sys
from typing import Any

WATCHED = {
    "time": ("perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "time", "time_ns", "process_time",
             "process_time_ns", "thread_time", "thread_time_ns", "sleep"),
    "builtins": ("abs", "all", "any", "max", "min", "isinstance", "len", "print", "open", "sum", "float", "type", "id"),
    "sys": ("exit", "_getframe", "settrace", "setprofile"),
    "os": ("_exit", "write", "read", "fork", "kill", "getpid"),
    "json": ("dumps", "dump", "loads"),
    "gc": ("collect", "get_objects"),
    "numpy": ("allclose", "isclose", "array_equal", "abs", "isnan", "isfinite", "asarray", "array", "frombuffer"),
    "numpy.testing": ("assert_allclose", "assert_array_equal"),
    "torch": ("allclose", "isclose", "equal", "eq", "isnan", "isfinite", "all", "empty", "zeros", "empty_like", "randn",
              "rand", "matmul", "bmm", "einsum", "softmax", "exp", "abs", "max", "tensor", "from_numpy", "frombuffer",
              "set_num_threads", "get_num_threads", "is_tensor"),
    "torch.Tensor": ("copy_", "clone", "detach", "allclose", "equal", "__eq__", "__ne__", "__sub__",
                     "__torch_function__",
                     "numpy", "data_ptr", "to", "contiguous", "shape", "dtype", "is_contiguous"),
    "torch.testing": ("assert_close",),
    "torch.nn.functional": ("scaled_dot_product_attention", "softmax", "linear"),
    "torch.cuda": ("synchronize", "Event", "Stream", "is_available"),
    "torch.cuda.Event": ("elapsed_time", "record", "synchronize"),
    "torch.utils.benchmark": ("Timer",),
    "torch.autograd": ("grad",),
}  # fmt: skip
"""Functions by owner that no kernel has a reason to replace."""
OURS = "attention_core."


class Watch:
    """Records what is in place when it is made.

    >>> Watch().changes()
    []
    """

    def __init__(self) -> None:
        self.kept: list[tuple[str, Any, str, Any]] = []
        for owner_name, names in WATCHED.items():
            owner = _find(owner_name)
            if owner is not None:
                self.kept += [(f"{owner_name}.{n}", owner, n, _attribute(owner, n)) for n in names if hasattr(owner, n)]
        self.modules = {name: module for name, module in sys.modules.items() if name in WATCHED}
        self.ours = {
            name: (module, {k: v for k, v in vars(module).items() if callable(v)})
            for name, module in sys.modules.items()
            if name.startswith(OURS)
        }

    def changes(self) -> list[str]:
        """The names of what is another object now."""
        found = [label for label, owner, name, kept in self.kept if _attribute(owner, name) is not kept]
        found += [f"sys.modules[{name!r}]" for name, kept in self.modules.items() if sys.modules.get(name) is not kept]
        for name, (module, functions) in self.ours.items():
            if sys.modules.get(name) is not module:
                found.append(f"sys.modules[{name!r}]")
            found += [f"{name}.{k}" for k, kept in functions.items() if vars(module).get(k) is not kept]
        return found

    def traces(self) -> list[str]:
        """How the interpreter is traced, in words."""
        found = ["sys.settrace"] if sys.gettrace() is not None else []
        return [*found, "sys.setprofile"] if sys.getprofile() is not None else found


def _find(dotted: str) -> Any:
    """A module or class that is there already; nothing is imported for it."""
    parts = dotted.split(".")
    for n in range(len(parts), 0, -1):
        found: Any = sys.modules.get(".".join(parts[:n]))
        if found is None:
            continue
        for part in parts[n:]:
            found = getattr(found, part, None)
        return found
    return None


def _attribute(owner: Any, name: str) -> Any:
    """An attribute as it stands there, not bound anew at every look."""
    return vars(owner).get(name, getattr(owner, name, None)) if hasattr(owner, "__dict__") else getattr(owner, name)
