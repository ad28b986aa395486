"""What a call must leave as it was in the process around it: read before and after, and put back where it changed.

It runs on the side of the code under test; torch and NumPy are looked at only where they are loaded already.
"""

from __future__ import annotations

import hashlib
import os
import random
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

SHOWN = 200
"""Characters of a value that a message shows."""
TINY, ONE = 5e-324, 1.0
"""Their product is 0 where the processor flushes subnormal numbers (which no comparison of numbers shows there)."""
KERNELS = ("flash", "math", "mem_efficient")
"""torch's kernels of attention that can be switched off."""
WRITTEN_BY_TORCH = ("TORCHINDUCTOR_CACHE_DIR",)
"""Variables that torch sets by itself whenever it compiles, as FlexAttention does for each new mask_mod."""


@dataclass(frozen=True)
class Setting:
    """One setting of the process.

    Args:
        name: what messages call it.
        module: whose setting it is.
        expression: how a program reads it.
        read, write: the same from the module, here.
    """

    name: str
    module: str
    expression: str
    read: Callable[[Any], Any]
    write: Callable[[Any, Any], object]


def _device(torch: Any, device: Any) -> None:
    torch.set_default_device(None if device.type == "cpu" else device)


def _read_environment(os: Any) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in WRITTEN_BY_TORCH}


def _environment(os: Any, values: Mapping[str, str]) -> None:
    for name in _read_environment(os).keys() - values.keys():
        del os.environ[name]
    os.environ.update(values)


def _filters(warnings: Any, filters: Sequence[Any]) -> None:
    warnings.filters[:] = filters


def _kernels(torch: Any, allowed: Sequence[bool]) -> None:
    for kernel, on in zip(KERNELS, allowed, strict=True):
        getattr(torch.backends.cuda, f"enable_{kernel}_sdp")(on)


STEADY: tuple[Setting, ...] = (
    Setting("torch's default dtype", "torch", "torch.get_default_dtype()",
            lambda t: t.get_default_dtype(), lambda t, v: t.set_default_dtype(v)),
    Setting("torch's default device", "torch", "torch.get_default_device()", lambda t: t.get_default_device(), _device),
    Setting("torch's number of threads", "torch", "torch.get_num_threads()",
            lambda t: t.get_num_threads(), lambda t, v: t.set_num_threads(v)),
    Setting("whether torch records gradients", "torch", "torch.is_grad_enabled()",
            lambda t: t.is_grad_enabled(), lambda t, v: t.set_grad_enabled(v)),
    Setting("whether torch is deterministic", "torch", "torch.are_deterministic_algorithms_enabled()",
            lambda t: t.are_deterministic_algorithms_enabled(), lambda t, v: t.use_deterministic_algorithms(v)),
    Setting("torch's precision of float32 products", "torch", "torch.get_float32_matmul_precision()",
            lambda t: t.get_float32_matmul_precision(), lambda t, v: t.set_float32_matmul_precision(v)),
    Setting("whether torch casts by itself", "torch", "torch.is_autocast_enabled('cpu')",
            lambda t: t.is_autocast_enabled("cpu"), lambda t, v: t.set_autocast_enabled("cpu", v)),
    Setting("which of torch's attention kernels are allowed", "torch",
            "[getattr(torch.backends.cuda, f'{k}_sdp_enabled')() for k in ('flash', 'math', 'mem_efficient')]",
            lambda t: [getattr(t.backends.cuda, f"{k}_sdp_enabled")() for k in KERNELS],
            _kernels),
    Setting("whether subnormal numbers are kept", "torch",
            "repr((torch.full((1,), 5e-324, dtype=torch.float64) * 1).item())",
            lambda t: repr(TINY * ONE), lambda t, v: t.set_flush_denormal(v == "0.0")),
    Setting("what NumPy does at errors", "numpy", "np.geterr()", lambda n: n.geterr(), lambda n, v: n.seterr(**v)),
    Setting("the working directory", "os", "os.getcwd()", lambda o: o.getcwd(), lambda o, v: o.chdir(v)),
)  # fmt: skip
"""What no call changes, be it the first one."""
LOADED: tuple[Setting, ...] = (
    Setting("the environment", "os", "dict(os.environ)", _read_environment, _environment),
    Setting("the filters of warnings", "warnings", "list(warnings.filters)", lambda w: list(w.filters), _filters),
    Setting("NumPy's print options", "numpy", "np.get_printoptions()",
            lambda n: n.get_printoptions(), lambda n, v: n.set_printoptions(**v)),
    Setting("the recursion limit", "sys", "sys.getrecursionlimit()",
            lambda s: s.getrecursionlimit(), lambda s, v: s.setrecursionlimit(v)),
)  # fmt: skip
"""What a call may change that loads a library for the first time; a call that does it again does it on its own."""
OWN = {"os": os, "sys": sys, "warnings": warnings}
GENERATORS: Mapping[str, tuple[str, str]] = {
    "torch": ("torch.manual_seed({})", "torch.get_rng_state().tolist()"),
    "numpy": ("np.random.seed({})", "np.random.get_state()[1].tolist()"),
    "random": ("random.seed({})", "random.getstate()"),
}
"""Global generators by their module: how a program seeds one, and reads where it stands."""


def expression_of(name: str) -> str:
    """How a program reads a setting.

    Example:
        >>> expression_of("the working directory")
        'os.getcwd()'
    """
    return {setting.name: setting.expression for setting in (*STEADY, *LOADED)}[name]


class ProcessState:
    """The settings of this process around calls of a target; `changed` collects what the calls of a request changed."""

    def __init__(self) -> None:
        self.first = {setting.name: setting.read(module) for setting, module in _present(LOADED)}
        self.changed: dict[str, tuple[str, str]] = {}

    @contextmanager
    def preserve(self, fully: bool = False) -> Iterator[None]:
        """Note which settings what is done inside changes, and put them back; `fully`: those of `LOADED`, too.

        The latter are compared with what they were at first, and afterwards are what loading has made of them.
        """
        before = [(setting, module, setting.read(module)) for setting, module in _present(STEADY)]
        loaded = [(s, m, s.read(m)) for s, m in _present(LOADED) if s.name in self.first] if fully else []
        for setting, module, _ in loaded:
            setting.write(module, self.first[setting.name])
        try:
            yield
        finally:
            if [setting.read(module) for setting, module, _ in before] != [value for *_, value in before]:
                for setting, module, value in before:
                    self._put_back(setting, module, value, value)
            for setting, module, value in loaded:
                self._put_back(setting, module, self.first[setting.name], value)

    def _put_back(self, setting: Setting, module: Any, before: Any, value: Any) -> None:
        after = setting.read(module)
        if after != before:
            self.changed.setdefault(setting.name, format_values(before, after))
        if after != value:
            setting.write(module, value)


def _present(settings: Sequence[Setting]) -> list[tuple[Setting, Any]]:
    modules = {**{name: sys.modules.get(name) for name in ("torch", "numpy")}, **OWN}
    return [(setting, module) for setting in settings if (module := modules[setting.module]) is not None]


def format_values(before: Any, after: Any) -> tuple[str, str]:
    """Two values in words; of an environment the names of what differs alone, for values may be secret.

    Example:
        >>> format_values({"A": "1", "B": "2"}, {"A": "1", "C": "3"})
        ('with B', 'with C')
    """
    if isinstance(before, dict) and isinstance(after, dict):
        names = [sorted(k for k in one if one[k] != other.get(k)) for one, other in ((before, after), (after, before))]
        return f"with {', '.join(names[0]) or 'nothing else'}"[:SHOWN], f"with {', '.join(names[1]) or 'less'}"[:SHOWN]
    if isinstance(before, list) and isinstance(after, list) and len(before) != len(after):
        return f"{len(before)} of them", f"{len(after)} of them"
    return repr(before)[:SHOWN], repr(after)[:SHOWN]


@contextmanager
def seed_generators(seed: int, found: dict[str, str]) -> Iterator[None]:
    """Seed every global generator; `found` gets where each stands afterwards, then they go on from where they were."""
    modules = {name: sys.modules[name] for name in GENERATORS if name in sys.modules}
    torch, numpy = modules.get("torch"), modules.get("numpy")
    before = random.getstate(), numpy and numpy.random.get_state(), torch and torch.get_rng_state()
    random.seed(seed)
    if numpy is not None:
        numpy.random.seed(seed)
    if torch is not None:
        torch.manual_seed(seed)
    try:
        yield
    finally:
        states = {"random": repr(random.getstate()).encode()}
        if numpy is not None:
            states["numpy"] = repr([*map(bytes, numpy.random.get_state()[1:2]), numpy.random.get_state()[2]]).encode()
            numpy.random.set_state(before[1])
        if torch is not None:
            states["torch"] = bytes(torch.get_rng_state().numpy())
            torch.set_rng_state(before[2])
        random.setstate(before[0])
        found |= {name: hashlib.sha256(state).hexdigest() for name, state in states.items()}
