"""Check the shapes of signatures while the tests run: jaxtyping's import hook with beartype.

Only modules that write shapes are checked: mypy checks all other types, and a check at every call of plain types would
cost time in hot loops and find nothing. Arguments and results are checked together, once the call has returned:
what a signature does not allow a function may refuse in its own words, which tests of refusals look at, but a call
that returns must be one that the signature describes. `ATTENTION_CORE_SHAPE_CHECKS=0` switches the checks off;
processes that tests start have none.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Callable
from functools import reduce
from importlib.util import find_spec
from operator import or_
from pathlib import Path
from types import ModuleType, UnionType
from typing import Any, Union, get_args, get_origin

from jaxtyping import AbstractArray, install_import_hook

PACKAGES = ("attention_core", "finetune")
SWITCH = "ATTENTION_CORE_SHAPE_CHECKS"
WRITES_SHAPES = re.compile(rb"^ *from jaxtyping import ", re.MULTILINE)


def enabled() -> bool:
    """Whether this run checks shapes: not without beartype, as where somebody verifies their own attention in a clone."""
    return os.environ.get(SWITCH, "1") != "0" and find_spec("beartype") is not None


def modules_with_shapes(root: Path) -> list[str]:
    """Names of the modules of both packages whose annotations hold shapes.

    `root` is the folder that holds the packages.
    """
    paths = [path for package in PACKAGES for path in sorted((root / package).rglob("*.py"))]
    found = [path for path in paths if WRITES_SHAPES.search(path.read_bytes())]
    return [".".join(path.relative_to(root).with_suffix("").parts) for path in found]


def after_the_call(function: Callable[..., Any]) -> Callable[..., Any]:
    """Check the shapes with beartype where jaxtyping passes the result along; leave its check before the call undone.

    jaxtyping makes two functions of each signature, one of the arguments and one of arguments and result; the second
    has one keyword more, for the result, and hands it back.
    """
    passes_a_result_along = any(
        parameter.kind is inspect.Parameter.KEYWORD_ONLY and re.fullmatch(r"ret\d+", name)
        for name, parameter in inspect.signature(function).parameters.items()
    )
    hints = {name: shapes_of(hint) for name, hint in function.__annotations__.items()}
    if not passes_a_result_along or all(hint is Any for hint in hints.values()):
        return function
    from beartype import beartype

    function.__annotations__.update(hints)
    return beartype(function)


def shapes_of(hint: Any) -> Any:
    """What an annotation says of shapes: Any where it says nothing."""
    if inspect.isclass(hint) and issubclass(hint, AbstractArray):
        return hint
    parts = [shapes_of(part) for part in get_args(hint)]
    if all(part is Any for part in parts):
        return Any
    if get_origin(hint) in (Union, UnionType):  # whole kinds beside the shapes: not what their elements are
        whole = [get_origin(member) or member for member in get_args(hint)]
        return reduce(or_, [kind if part is Any else part for part, kind in zip(parts, whole, strict=True)])
    return hint if Ellipsis in get_args(hint) else get_origin(hint)[tuple(parts)]


def install(root: Path) -> None:
    """Check the modules with shapes from now on; they must not have been imported."""
    names = modules_with_shapes(root)
    early = sorted(set(names) & set(sys.modules))
    if early:
        raise RuntimeError(f"imported before their shapes could be checked: {', '.join(early)}")
    install_import_hook(names, "shape_checks.after_the_call")


def unresolved(module: ModuleType) -> list[str]:
    """Annotations with shapes that cannot be evaluated: jaxtyping leaves these unchecked without a word."""
    found = []
    for holder in (module, *(kind for _, kind in inspect.getmembers(module, inspect.isclass))):
        for name, member in vars(holder).items():
            function = inspect.unwrap(member) if callable(member) else member
            if getattr(function, "__module__", None) != module.__name__:
                continue
            for argument, hint in getattr(function, "__annotations__", {}).items():
                if isinstance(hint, str) and re.search(r"\b(Float|Bool|Int|Num|Shaped)\[", hint):
                    try:
                        eval(hint, vars(module))
                    except Exception as error:
                        found.append(f"{name}, {argument}: {hint} ({error})")
    return found
