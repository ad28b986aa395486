"""What an implementation of each contract must be: the texts of `attention-core contracts`.

Those of attention and its parts stand in interfaces.md, which docs/contracts.md repeats. Another package that adds a
contract says it in docstrings: of its factory, of its laws' file, of its subject, and of what these name in backticks.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from textwrap import fill
from types import ModuleType
from typing import Any

from attention_core.conformance.contracts import Contract, find_contract
from attention_core.declaration.implementation import TargetError, summarize_error
from attention_core.declaration.options import APPLIES, PARAMETERS, option_of

TEXTS = Path(__file__).parent / "interfaces.md"
GROUP = "attention_core.contracts"
COMMON = ("array", "dtypes", "device", "arguments")
"""Options of every contract, which need no word here."""


def sections() -> dict[str, str]:
    """The sections of interfaces.md by contract: `**name**: what is called.`, and an example."""
    found = re.split(r"^\*\*([a-z-]+)\*\*(?: \([^)]*\))?: ", TEXTS.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {name: text.strip() for name, text in zip(found[1::2], found[2::2], strict=True)}


def one_lines() -> dict[str, str]:
    """Every contract with its first sentence; one that cannot be loaded says so.

    Example:
        >>> one_lines()["bias"][:17]
        '`f(H, n_q, n_kv)`'
    """
    own = {name: _sentence(text) for name, text in sections().items()}
    return {**own, **{entry.name: _line(entry) for entry in entry_points(group=GROUP)}}


def interface(name: str) -> str:
    """The whole interface of a contract: what is called with what and returns what, what is declared, an example.

    Raises: TargetError where there is no such contract, or it cannot be loaded.
    """
    contract = find_contract(name)
    head = f"{name} ({len(contract.laws)} laws: attention-core laws --contract {name})"
    own = sections()
    return "\n\n".join([head, *(_built_in(name, own[name]) if name in own else _collect_docstrings(name, contract))])


def _built_in(name: str, text: str) -> list[str]:
    """The section, the options that say something about such a target, and the command for its example."""
    prose, code = re.sub(r"```python\n", "```", text).split("```")[:2]
    names = ",".join(re.findall(r"^(?:def|class) (\w+)", code, re.MULTILINE))
    given = re.findall(r"# (--contract [^,\n]*)", code)
    options = [option_of(n) for n in sorted(APPLIES[name] - {"name", "contract", "parameters", *COMMON})]
    declared = ", ".join(PARAMETERS[name]) or "nothing"
    return [
        prose.strip(),
        _indent(code.strip()),
        fill(
            f"Declared with --parameter NAME=VALUE: {declared}. Other options that apply: "
            f"{', '.join(options) or 'none'} (and {', '.join(map(option_of, COMMON))}).",
            110,
            break_on_hyphens=False,
        ),
        f"    attention-core verify {' '.join([f'FILE.py:{names}', *given])}",
    ]


def _collect_docstrings(name: str, contract: Contract) -> list[str]:
    """The docstrings of a contract that a package adds and of what they name, each once; its laws; a command."""
    entry = {entry.name: entry for entry in entry_points(group=GROUP)}[name]
    sources = [entry.load(), *_files_of_laws(contract), contract.subject]
    texts, shown, package = list[str](), set[int](), entry.value.partition(":")[0]
    while sources:
        source = sources.pop(0)
        documented = isinstance(source, ModuleType) or inspect.isclass(source) or inspect.isfunction(source)
        if id(source) in shown or not documented or not (text := inspect.getdoc(source)):
            continue
        shown.add(id(source))
        title = "" if not texts or isinstance(source, ModuleType) else f"{source.__module__}.{source.__qualname__}:\n"
        texts.append(title + "\n\n".join([text, *([] if source is contract.subject else _methods(source))]))
        sources += _find_references(text, package)
    laws = "\n".join(f"* {law.sentence}" for law in contract.laws)
    return [
        *texts,
        f"Its laws:\n{laws}",
        f"    attention-core verify FILE.py:NAME --contract {name}",
    ]


def _files_of_laws(contract: Contract) -> list[ModuleType]:
    """The file that calls itself this contract's (`CONTRACT`) among those that its laws stand in."""
    files = [sys.modules[name] for name in dict.fromkeys(law.check.__module__ for law in contract.laws)]
    return [file for file in files if getattr(file, "CONTRACT", None) == contract.name]


def _methods(source: Any) -> list[str]:
    """What is to be written in a class that targets derive from: its public methods that say what they are."""
    if not inspect.isclass(source):
        return []
    found = [(n, m) for n, m in vars(source).items() if inspect.isfunction(m) and n[0] != "_" and m.__doc__]
    lines = [f"* `{n}{_call(m)}`: {' '.join((inspect.getdoc(m) or '').split())}" for n, m in found]
    return (
        ["Its methods, of which those that are not written anew do what they say:\n" + "\n".join(lines)]
        if lines
        else []
    )


def _call(method: Any) -> str:
    """A method's parameters, without `self` and without types."""
    return f"({', '.join(list(inspect.signature(method).parameters)[1:])})"


def _find_references(text: str, package: str) -> Iterator[Any]:
    """What a docstring names in backticks as `module.name` of the package, or in full."""
    for path in re.findall(r"`((?:\w+\.)+\w+)\b", text):
        module, _, name = path.rpartition(".")
        # A name in full begins with the package's first; nothing else is imported for a word in backticks.
        full = module if path.startswith(f"{package.partition('.')[0]}.") else f"{package}.{module}"
        try:
            found = getattr(import_module(full), name, None)
        except ImportError:
            continue
        if inspect.isclass(found) or inspect.isfunction(found):
            yield found


def _line(entry: EntryPoint) -> str:
    """The first sentence of a contract's factory, without its name."""
    try:
        text = inspect.getdoc(entry.load()) or ""
    except Exception as error:  # any code of any package: the other contracts are listed all the same
        return str(TargetError(f"cannot be loaded: {summarize_error(error)}"))
    return _sentence(re.sub(rf"^The contract `{re.escape(entry.name)}`: ", "", text))


def _sentence(text: str) -> str:
    """The first sentence of a text in one line."""
    return re.split(r"(?<=\.)\s", " ".join(text.split("\n\n")[0].split()))[0]


def _indent(code: str) -> str:
    return "\n".join(f"    {line}" if line else "" for line in code.splitlines())
