"""Rows of the matrix: each names an adapter that is there, and what accounts for a refutation has a report or says why not."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import attention_core.peers
from attention_core.matrix.rows import ARGUMENTS, HERE, ROWS

PEERS = Path(attention_core.peers.__file__).parent
DOCS = Path(__file__).parents[3] / "docs"


def defined(module: str) -> set[str]:
    """The functions and classes of an adapter, read without importing it."""
    return {node.name for node in ast.parse((PEERS / f"{module}.py").read_text()).body if hasattr(node, "name")}


def test_rows_name_adapters_that_are_there_and_are_no_two_alike() -> None:
    named = [row.target.removeprefix(f"{HERE}.").split(":") for row in ROWS if row.target.startswith(HERE)]
    assert not [f"{module}:{name}" for module, name in named if name not in defined(module)]
    assert len({(row.target, row.runtime) for row in ROWS}) == len(ROWS) >= 60


def test_adapters_import_a_package_where_it_is_used() -> None:
    packages = {row.module.split(".")[0] for row in ROWS} - {"torch"}
    for module in {row.target.removeprefix(f"{HERE}.").split(":")[0] for row in ROWS if row.target.startswith(HERE)}:
        top = [
            n
            for n in ast.parse((PEERS / f"{module}.py").read_text()).body
            if isinstance(n, ast.Import | ast.ImportFrom)
        ]
        names = {alias.name for n in top for alias in n.names} | {getattr(n, "module", "") for n in top}
        assert not {name.split(".")[0] for name in names} & packages, module


def test_what_is_argued_names_laws_and_reports_that_are_there() -> None:
    known = {*re.findall(r"^\| `?(\w+)`? \|", (DOCS / "laws.md").read_text(), re.MULTILINE)}
    for name, one in ARGUMENTS.items():
        assert {*one.laws} <= known and one.kind in ("flaw", "convention"), name
        assert not one.report or (DOCS / "findings" / f"{one.report}.md").exists(), name
    assert {name for row in ROWS for name in row.argued} == {*ARGUMENTS}
