"""Finds a target: `package.module:name`, `path/to/file.py:name`, `model.onnx` or `functions.toml:name`.

Runs beside the code under test (it imports it). `describe_target` alone needs no import and serves the parent.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from attention_core.declaration.gpu_advice import explain_missing_module, with_advice
from attention_core.declaration.implementation import TargetError, Unavailable, summarize_error
from attention_core.worker.foreign import MODEL, SUFFIXES, ForeignFunction, split_foreign

NAMED = 12
"""Names of a module that a message lists."""


def split_target(text: str) -> tuple[str, str]:
    """`where:name` as two parts; a name of the kernel table never reaches here."""
    if foreign := split_foreign(text):
        return foreign
    where, colon, name = text.rpartition(":")
    if (text and Path(text).is_dir()) or (
        "/" in where and Path(where).is_dir()
    ):  # "package:name" may stand beside its folder
        raise TargetError(f"target {text!r} is a folder: write path/to/file.py:name")
    if text.endswith((".py", ".py:")):
        raise TargetError(f"target {text!r} names no function{advise_on_name(text.rstrip(':'))}")
    if where.endswith(":"):
        raise TargetError(f"target {text!r} has two colons: write {where.rstrip(':')}:{name}")
    file, _, inside = where.partition(".py:")
    if inside and name:
        raise TargetError(f"target {text!r} has two colons: write {file}.py:{inside}, a class is called by its forward")
    if not colon or not where or not name:
        raise TargetError(
            f"target {text!r} is not understood: write package.module:name, path/to/file.py:name, "
            "or a name from `attention-core kernels`"
        )
    return where, name


def advise_on_name(file: str) -> str:
    """What to write in place of a file alone: its functions and classes, read without running it.

    >>> advise_on_name("no/such/file.py")
    ': there is no such file'
    """
    try:
        tree = ast.parse(Path(file).read_bytes())
    except OSError:
        return ": there is no such file"
    except (SyntaxError, ValueError):
        return f": write {file}:NAME"
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    names = [node.name for node in tree.body if isinstance(node, kinds) and not node.name.startswith("_")]
    if not names:
        return f": write {file}:NAME (it defines no function or class)"
    return f": write {file}:{names[0]}" + (f" (it has: {', '.join(names[:NAMED])})" if len(names) > 1 else "")


def load_target(text: str) -> Any:
    """The object a target names.

    Raises:
        TargetError: no such file, module or attribute, or the import fails; one line says which and how to mend it.
    """
    where, name = split_target(text)
    if where.endswith(SUFFIXES):
        return _load_foreign(where, name)
    module = _load_file(where) if where.endswith(".py") else _load_module(where)
    if "," in name:
        return tuple(_attribute(module, part.strip(), where) for part in name.split(","))
    return _attribute(module, name, where)


def _load_foreign(where: str, name: str) -> ForeignFunction:
    """The model, or the function of a library, that a file describes."""
    if where.endswith(MODEL):
        from attention_core.worker.onnx_model import load_model

        return load_model(where, name)
    from attention_core.worker.shared_library import load_function

    return load_function(where, name)


def _attribute(module: Any, name: str, where: str) -> Any:
    found = module
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise TargetError(f"{where} has no attribute {name!r}{advise_on_attribute(module, name, where)}") from None
    if type(found).__module__.startswith("triton.runtime"):
        raise TargetError(f"{where}:{name} is a kernel of Triton: name the function that launches it")
    return found


def advise_on_attribute(module: Any, name: str, where: str) -> str:
    """What a module has in place of a name that it lacks."""
    if getattr(module, "__file__", None) is None and hasattr(module, "__path__"):
        return f": {where} is a folder and not a package, write {where}/FILE.py:{name}"
    names = [n for n in vars(module) if not n.startswith("_") and callable(getattr(module, n))]
    if not names:
        return ": it has no function or class, look into the file"
    near = get_close_matches(name, names, 1)
    return f"{f'; did you mean {near[0]!r}?' if near else ';'} it has: {', '.join(names[:NAMED])}"


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
        reason = explain_missing_module(error.name or "")
        raise TargetError(f"{where} cannot be imported: it needs the module {error.name!r} ({reason})") from error
    except Exception as error:
        raise TargetError(f"{where} cannot be imported: {with_advice(summarize_error(error))}") from error
    return module


def _load_module(where: str) -> Any:
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        return importlib.import_module(where)
    except ModuleNotFoundError as error:
        missing = error.name or where
        if where == missing or where.startswith(f"{missing}."):
            path = where.replace(".", "/")
            hint = f"is it installed, or in another folder? A file is written {path}.py:name"
            raise TargetError(f"no module named {missing!r} ({hint})") from error
        reason = explain_missing_module(missing)
        raise TargetError(f"{where} cannot be imported: it needs the module {missing!r} ({reason})") from error
    except Unavailable:
        raise
    except Exception as error:
        raise TargetError(f"{where} cannot be imported: {with_advice(summarize_error(error))}") from error
