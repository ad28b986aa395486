"""Whether a target is written in Triton, read from its source: then its worker needs Triton's interpreter.

Triton decides when it is imported whether kernels are interpreted, so that the variable must be set before. A target
is not imported here: only its text is read.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from attention_core.declaration.implementation import TargetError
from attention_core.worker.target import split_target

VARIABLE = "TRITON_INTERPRET"
IMPORT = re.compile(r"^[ \t]*(?:import[ \t]+triton\b|from[ \t]+triton\b)", re.MULTILINE)


def interpreter_variables(
    target: str, device: str, runtime: str = "auto", variables: Mapping[str, str] | None = None
) -> dict[str, str]:
    """What a worker's environment needs beside for a target written in Triton.

    With the runtime "auto" a value that the caller has set is left as it is, and so is the target of another device.

    Example:
        >>> interpreter_variables("json:dumps", "cpu")
        {}
        >>> interpreter_variables("json:dumps", "cpu", "triton")
        {'TRITON_INTERPRET': '1'}
    """
    given = os.environ if variables is None else variables
    if runtime != "auto":
        return {VARIABLE: "1" if runtime == "triton" else "0"}
    if device != "cpu" or VARIABLE in given or not imports_triton(target):
        return {}
    return {VARIABLE: "1"}


def imports_triton(target: str) -> bool:
    """Whether the file that a target names imports triton; false where there is no such file."""
    return bool(IMPORT.search(read_source(target)))


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
