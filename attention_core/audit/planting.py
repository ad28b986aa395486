"""Puts another function in the place of the target, under every name that it goes by, as its module is imported.

The target's module gets the replacement as soon as it has run, so that `from module import function` finds it
everywhere. Names that were bound before (a package that imports its function again, a table of functions, a closure)
are found as what refers to the function, and follow.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CellType, ModuleType
from typing import Any

Make = Callable[[Any], Any]
"""From the user's function to what stands in its place."""


class Planter(MetaPathFinder):
    """A finder that lets others find modules, and replaces the target in the one that holds it.

    Args:
        target: package.module:name or path/to/file.py:name; the name may have dots.
        make: called with the user's function, once.
    """

    def __init__(self, target: str, make: Make) -> None:
        where, _, self.name = target.rpartition(":")
        self.file = os.path.realpath(where) if where.endswith(".py") else ""
        self.module = Path(where).stem if self.file else where
        self.make = make
        self.original: Any = None
        self.replacement: Any = None
        self.lacks = ""  # what the module has in place of the name, if it was imported and lacks that
        self.path = ""  # of the module that held it
        self.looking = False

    def install(self) -> None:
        """Stand before every other finder; a module that is there already is seen to at once."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        sys.meta_path.insert(0, self)
        for module in list(sys.modules.values()):
            if self.is_wanted(getattr(module, "__name__", ""), getattr(module, "__file__", None)):
                self.plant(module)

    def uninstall(self) -> None:
        """Find nothing any more."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def is_wanted(self, name: str, path: str | None) -> bool:
        """Whether a module is the one that holds the target, by its name or by its file."""
        if not self.file:
            return name == self.module
        return path is not None and os.path.realpath(path) == self.file

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec that the other finders give, with a loader that replaces the target afterwards."""
        if self.looking or fullname.rpartition(".")[2] != self.module.rpartition(".")[2]:
            return None
        self.looking = True
        try:
            finders = [finder for finder in sys.meta_path if finder is not self and hasattr(finder, "find_spec")]
            specs = (finder.find_spec(fullname, path, target) for finder in finders)
            spec = next((spec for spec in specs if spec is not None), None)
        finally:
            self.looking = False
        if spec is not None and spec.loader is not None and self.is_wanted(fullname, spec.origin):
            self._follow(spec.loader, fullname)
        return spec

    def _follow(self, loader: Any, fullname: str) -> None:
        """Let a loader plant once it has run the module."""
        run = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            run(module)
            if module.__name__ == fullname:
                self.plant(module)

        loader.exec_module = exec_module

    def plant(self, module: ModuleType) -> None:
        """Replace the target in its module, and wherever it is known already."""
        owner: Any = module
        *path, name = self.name.split(".")
        for part in path:
            owner = getattr(owner, part, None)
        found = getattr(owner, name, None)
        if found is None:
            from attention_core.worker.target import advise_on_attribute

            self.lacks = advise_on_attribute(module, self.name, self.module)
            return
        if found is self.replacement:
            return
        if self.original is None:
            self.original, self.path = found, getattr(module, "__file__", None) or ""
            self.replacement = self.make(found)
        setattr(owner, name, self.replacement)
        self.spread()

    def spread(self) -> None:
        """Replace what refers to the target elsewhere: names of modules, entries of tables, closures."""
        if self.original is None or self.replacement is self.original:
            return
        own = vars(self), getattr(self.replacement, "__dict__", None)
        for holder in gc.get_referrers(self.original):
            if any(holder is each for each in own):
                continue
            if isinstance(holder, dict):
                replace_in_dict(holder, self.original, self.replacement)
            elif isinstance(holder, list):
                holder[:] = [self.replacement if item is self.original else item for item in holder]
            elif isinstance(holder, CellType) and not is_of(self.replacement, holder):
                holder.cell_contents = self.replacement


def replace_in_dict(holder: dict[Any, Any], original: Any, replacement: Any) -> None:
    """Replace one value of a dict, unless it is that of an object of ours, which needs the original."""
    if any(type(owner).__module__.startswith("attention_core.") for owner in gc.get_referrers(holder)):
        return
    for key, value in list(holder.items()):
        if value is original:
            holder[key] = replacement


def is_of(function: Any, cell: CellType) -> bool:
    """Whether a cell belongs to a function."""
    return any(cell is each for each in getattr(function, "__closure__", None) or ())
