"""Finds a target: `package.module:name`, `path/to/file.py:name`, or a name of the kernel table.

Runs beside the code under test (it imports it). `describe_target` alone needs no import and serves the parent.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from typing import Any

from attention_core.declaration.implementation import TargetError, Unavailable, summarize_error


def split_target(text: str) -> tuple[str, str]:
    """`where:name` as two parts; a name of the kernel table never reaches here."""
    where, colon, name = text.rpartition(":")
    if (text and Path(text).is_dir()) or (
        "/" in where and Path(where).is_dir()
    ):  # "package:name" may stand beside its folder
        raise TargetError(f"target {text!r} is a folder: write path/to/file.py:name")
    if text.endswith((".py", ".py:")):
        raise TargetError(f"target {text!r} names no function: write {text.rstrip(':')}:NAME")
    if not colon or not where or not name:
        raise TargetError(
            f"target {text!r} is not understood: write package.module:name, path/to/file.py:name, "
            "or a name from `attention-core kernels`"
        )
    return where, name


def load_target(text: str) -> Any:
    """The object a target names.

    Raises:
        TargetError: no such file, module or attribute, or the import fails; one line says which and how to mend it.
    """
    where, name = split_target(text)
    module = _load_file(where) if where.endswith(".py") else _load_module(where)
    if "," in name:
        return tuple(_attribute(module, part.strip(), where) for part in name.split(","))
    return _attribute(module, name, where)


def _attribute(module: Any, name: str, where: str) -> Any:
    found = module
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            names = [n for n in vars(module) if not n.startswith("_") and callable(getattr(module, n))]
            hint = f"; it has: {', '.join(names[:12])}" if names else ""
            raise TargetError(f"{where} has no attribute {name!r}{hint}") from None
    return found


def _load_file(where: str) -> Any:
    path = Path(where)
    if not path.is_file():
        raise TargetError(f"no such file: {where}")
    spec = importlib.util.spec_from_file_location(f"_target_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except Unavailable:
        raise
    except ModuleNotFoundError as error:
        raise TargetError(
            f"{where} cannot be imported: it needs the module {error.name!r} (is it installed beside attention-core?)"
        ) from error
    except Exception as error:
        raise TargetError(f"{where} cannot be imported: {summarize_error(error)}") from error
    return module


def _load_module(where: str) -> Any:
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        return importlib.import_module(where)
    except ModuleNotFoundError as error:
        missing = error.name or where
        if where == missing or where.startswith(f"{missing}."):
            hint = f"is it installed, or in another folder? A file is written {where}.py:name"
            raise TargetError(f"no module named {missing!r} ({hint})") from error
        raise TargetError(f"{where} cannot be imported: it needs the module {missing!r} (is it installed?)") from error
    except Unavailable:
        raise
    except Exception as error:
        raise TargetError(f"{where} cannot be imported: {summarize_error(error)}") from error
