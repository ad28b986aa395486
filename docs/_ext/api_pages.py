"""A page for every package with a public door: what its `__all__` names, from the docstrings."""

from __future__ import annotations

import inspect
import pkgutil
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

from product import PACKAGES

MADE = "*This page is made from the docstrings when the site is built (`tox run -e docs`).*"
SECTION = re.compile(r"^(Args|Returns|Raises|Yields|Attributes|Example|Examples|Source|Formula|Note):[ ]?(.*)$")
LISTED = {"Args", "Attributes", "Raises"}
ITEM = re.compile(r"^([*\w][\w .,*/`\[\]]*?)(?: \(([^)]*)\))?: (.*)$")


def pages() -> Iterator[tuple[str, str]]:
    """The index and the pages, by their places on the site."""
    doors = [module for module in packages() if public(module)]
    lines = ["# API", "", "What each package's `__init__` names is public. All else may change without notice.", ""]
    lines += ["| package | what it is for |", "|---|---|"]
    lines += [f"| [{m.__name__}]({m.__name__}.md) | {first_line(m).replace('|', chr(92) + '|')} |" for m in doors]
    lines += ["", "```{toctree}", ":hidden:", "", *(m.__name__ for m in doors), "```", ""]
    yield "reference/api/index.md", "\n".join(lines)
    for module in doors:
        yield f"reference/api/{module.__name__}.md", page(module)


def packages() -> Iterator[ModuleType]:
    """The packages and their public subpackages, which are those whose names have no underscore in front."""
    for name in PACKAGES:
        root = import_module(name)
        yield root
        for found in pkgutil.walk_packages(root.__path__, f"{name}."):
            if found.ispkg and "._" not in found.name:
                yield import_module(found.name)


def public(module: ModuleType) -> list[str]:
    """The public names of a package: its `__all__`, without modules and dunders."""
    names = [name for name in getattr(module, "__all__", ()) if not name.startswith("__")]
    return [name for name in names if not inspect.ismodule(getattr(module, name))]


def first_line(module: ModuleType) -> str:
    """The first line of a docstring."""
    return (inspect.getdoc(module) or "").split("\n")[0]


def page(module: ModuleType) -> str:
    """The page of one package."""
    title = module.__name__.replace(".", ".<wbr>")  # where a narrow screen breaks it
    lines = [f"# {title}", "", f"```{{py:module}} {module.__name__}", "```", "", first_line(module), ""]
    for name in public(module):
        lines += entry(module.__name__, name, getattr(module, name))
    return "\n".join([*lines, MADE, ""])


def entry(module: str, name: str, value: Any) -> list[str]:
    """A class, a function or a constant, in a directive of Sphinx's Python domain."""
    if inspect.isclass(value):
        inner = [line for method in methods(value) for line in method]
        kind = "exception" if issubclass(value, BaseException) else "class"
        return directive("::::", kind, f"{name}{signature(value)}", [*described(value), *inner], module)
    if callable(value):
        return directive("::::", "function", f"{name}{signature(value)}", described(value), module)
    return directive("::::", "data", name, [f"`{constant(value)}`"], module)


def constant(value: Any) -> str:
    """The value of a constant, classes and functions in it by their names; a long one ends in an ellipsis.

    >>> constant({"head": int, "size": 3})
    "{'head': int, 'size': 3}"
    """
    if isinstance(value, Mapping):
        entries = (f"{key!r}: {getattr(one, '__name__', repr(one))}" for key, one in value.items())
        text = f"{{{', '.join(entries)}}}"
    else:
        text = str(value)
    return text if len(text) <= 200 else f"{text[:200]} ..."


def methods(value: type) -> Iterator[list[str]]:
    """The public methods and properties that a class writes itself and describes."""
    for name, member in vars(value).items():
        if name.startswith("_"):
            continue
        if isinstance(member, property) and member.__doc__:
            yield directive(":::", "property", name, described(member))
        made = member.__func__ if isinstance(member, (classmethod, staticmethod)) else member
        if inspect.isfunction(made) and made.__doc__:
            yield directive(":::", "method", f"{name}{signature(made)}", described(made))


def directive(fence: str, kind: str, head: str, body: list[str], module: str = "") -> list[str]:
    """A directive with its body."""
    options = [f":module: {module}"] if module else []
    return [f"{fence}{{py:{kind}}} {head}", *options, "", *body, fence, ""]


def signature(value: Any) -> str:
    """The parameters, without types where these would hide the names."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in found.parameters.values() if p.name != "self"]
    plain = [p.replace(default=Default(p.default)) if p.default is not p.empty else p for p in plain]
    return str(found.replace(parameters=plain, return_annotation=inspect.Signature.empty)).replace("\n", " ")


class Default:
    """A default that is shown shortly: objects and functions by an ellipsis."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        text = repr(self.value)
        return "..." if text.startswith("<") or len(text) > 60 else text


def described(value: Any) -> list[str]:
    """A docstring in Google's style as Markdown."""
    lines = (inspect.getdoc(value) or "").splitlines()
    found: list[str] = []
    section = ""
    for line in lines:
        if heading := SECTION.match(line):
            section = heading[1]
            words = f"`{heading[2]}`" if section == "Example" and "`" not in heading[2] else heading[2]
            found += ["", f"**{section}**", "", *([words] if heading[2] else [])]
        elif section in LISTED and (item := ITEM.match(line.strip())) and indent(line) <= 4:
            kind = f" ({item[2]})" if item[2] else ""
            found.append(f"- `{item[1]}`{kind}: {item[3]}")
        elif section in LISTED and line.strip():
            found.append(f"  {line.strip()}")
        else:
            found.append(line.strip() if section and indent(line) <= 4 else line)
    return [*examples_fenced(found), ""]


def indent(line: str) -> int:
    """The number of spaces in front of a line."""
    return len(line) - len(line.lstrip())


def examples_fenced(lines: list[str]) -> list[str]:
    """Doctests in fences, up to the next empty line."""
    found, inside = [], False
    for line in lines:
        if line.lstrip().startswith(">>>") and not inside:
            found, inside = [*found, "", "```pycon"], True
        if inside and not line.strip():
            found, inside = [*found, "```"], False
        found.append(line)
    return [*found, "```"] if inside else found
