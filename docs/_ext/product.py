"""What the pages take from the packages and from the catalogue of faults: every import of a module that may move."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import click

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from attention_core.conformance.contracts import Contract, contracts  # noqa: E402
from attention_core.conformance.subjects.law import Law  # noqa: E402
from attention_core.faults.row import Row  # noqa: E402
from attention_core.interfaces import interface, one_lines, sections  # noqa: E402
from finetune.faults.catalogue import FAULTS, named  # noqa: E402

PACKAGES = ("attention_core", "finetune")
__all__ = [
    "FAULTS", "PACKAGES", "ROOT", "Contract", "Law", "Row", "commands", "contracts", "interface", "laws", "named",
    "one_lines", "sections", "source_of",
]  # fmt: skip


def laws() -> Mapping[str, list[tuple[Contract, Law]]]:
    """Every law by its name, with the contracts that ask it.

    Raises:
        ValueError: two laws have one name, of which there is one page and one entry of law_faults.json.
    """
    found: dict[str, list[tuple[Contract, Law]]] = {}
    for contract in contracts().values():
        for law in contract.laws:
            rows = found.setdefault(law.name, [])
            if rows and rows[0][1].check is not law.check:
                raise ValueError(f"{rows[0][0].name} and {contract.name} have two laws {law.name}: rename one of them")
            rows.append((contract, law))
    return found


def source_of(name: str) -> str:
    """The source of a fault of the catalogue; empty where it is not a function or a class."""
    row = named(name)
    made: Any = getattr(import_module(row.file), name.rpartition(".")[2], None)
    return inspect.getsource(made) if inspect.isfunction(made) or inspect.isclass(made) else ""


def commands() -> dict[str, click.Group]:
    """The commands that the distribution installs."""
    points = entry_points(group="console_scripts")
    loaded = {point.name: point.load() for point in points if point.value.partition(".")[0] in PACKAGES}
    groups = loaded
    found: dict[str, click.Group] = {}
    for name, made in groups.items():
        group = made if isinstance(made, click.Group) else vars(sys.modules[made.__module__]).get("app")
        if not isinstance(group, click.Group):
            raise TypeError(f"the command {name} is not a click group")
        found[name] = group
    return found
