"""What runs kernels of a GPU's language on a processor, and which targets need it, read from their source.

Triton and Numba decide when they are imported whether kernels are interpreted, so that a variable must be set before.
A target is not imported here: only its text is read.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from attention_core.declaration.implementation import TargetError
from attention_core.worker.target import split_target


@dataclass(frozen=True)
class Interpreter:
    """What runs the kernels of one language on a processor.

    Args:
        runtime: the value of the declaration `runtime` that asks for it.
        variable: the variable of the environment that switches it on ("1") or off ("0").
        imports: what the source of a target in this language holds.
    """

    runtime: str
    variable: str
    imports: re.Pattern[str]

    def is_for(self, target: str) -> bool:
        """Whether the file that a target names is written in this language; false where there is no such file."""
        return bool(self.imports.search(read_source(target)))

    def environment(
        self, target: str, device: str, runtime: str = "auto", variables: Mapping[str, str] | None = None
    ) -> dict[str, str]:
        """What a worker's environment needs beside for a target.

        With the runtime "auto" a value that the caller has set is left as it is, and so is the target of another
        device. `variables` is the environment of the caller.

        Example:
            >>> TRITON.environment("json:dumps", "cpu")
            {}
            >>> NUMBA.environment("json:dumps", "cpu", "numba")
            {'NUMBA_ENABLE_CUDASIM': '1'}
        """
        given = os.environ if variables is None else variables
        if runtime != "auto":
            return {self.variable: "1" if runtime == self.runtime else "0"}
        if device != "cpu" or self.variable in given or not self.is_for(target):
            return {}
        return {self.variable: "1"}


TRITON = Interpreter(
    "triton", "TRITON_INTERPRET", re.compile(r"^[ \t]*(?:import[ \t]+triton\b|from[ \t]+triton\b)", re.MULTILINE)
)
NUMBA = Interpreter(
    "numba",
    "NUMBA_ENABLE_CUDASIM",
    re.compile(
        r"^[ \t]*(?:import[ \t]+numba\.cuda\b|from[ \t]+numba\.cuda\b|from[ \t]+numba[ \t]+import\b[^\n#]*\bcuda\b)"
        r"|^[^#\n]*\bnumba\.cuda\.jit\b",
        re.MULTILINE,
    ),
)


def interpreter_environment(target: str, device: str, runtime: str = "auto") -> dict[str, str]:
    """What a worker's environment needs beside for a target in any of these languages."""
    return TRITON.environment(target, device, runtime) | NUMBA.environment(target, device, runtime)


def read_source(target: str) -> str:
    """The text of the file that a target names, "" where there is no such file."""
    try:
        where, _ = split_target(target)
    except TargetError:
        return ""
    path = Path(where) if where.endswith(".py") else find_source(where)
    if path is None or not path.is_file():
        return ""
    return path.read_text(encoding="utf-8", errors="replace")


def find_source(module: str) -> Path | None:
    """The file of a module on the path, found without importing the packages around it."""
    parts = module.split(".")
    for folder in ("", *sys.path):
        base = Path(folder or os.curdir).joinpath(*parts)
        for path in (base.with_name(f"{base.name}.py"), base / "__init__.py"):
            if path.is_file():
                return path
    return None
