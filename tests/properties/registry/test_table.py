"""attention_core.registry.table: the table is light, every row is whole, and adapters show their source."""

from __future__ import annotations

import ast
import builtins
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from attention_core.conformance.contracts import find_contract
from attention_core.conformance.report.results import VERDICTS
from attention_core.declaration.kernel import Kernel
from attention_core.declaration.known_failures import as_known_failure
from attention_core.peers import adapter_source as source
from attention_core.peers.adapter_source import standalone
from attention_core.registry.table import KERNELS, implementation, kernel

PEERS = [row for row in KERNELS if ".peers." in row.origin]
each_row = pytest.mark.parametrize("row", KERNELS, ids=lambda row: row.name)
each_peer = pytest.mark.parametrize("row", PEERS, ids=lambda row: row.name)


def definitions(origin: str) -> set[str]:
    """Names that the origin's module defines or hands on, found without importing it."""
    spec = find_spec(origin.partition(":")[0])
    assert spec is not None and spec.origin is not None, f"no module {origin}"
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    handed_on = {alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)} | handed_on


def test_reading_the_table_imports_no_kernel() -> None:
    program = (
        "import sys; from attention_core.registry.table import KERNELS, implementation\n"
        "for row in KERNELS: implementation(row.name)\n"
        "print([m for m in ('torch', 'numpy', 'hypothesis', 'transformers', 'jax') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]", done.stdout


def test_names_are_unique_and_say_where_a_kernel_comes_from() -> None:
    names = [row.name for row in KERNELS]
    assert len(set(names)) == len(names)
    assert {name.partition(":")[0] for name in names} <= {"core", "torch", "transformers"}
    assert {"core:dot_product", "torch:default", "torch:math", "torch:flash"} <= set(names)


@each_row
def test_origins_exist(row: Kernel) -> None:
    assert set(row.origin.partition(":")[2].split(",")) <= definitions(row.origin)


@each_row
def test_records_are_records(row: Kernel) -> None:
    """`implementation` raises for a field or a value that no record has."""
    found = implementation(row.name)
    assert found.name == row.name
    reasons = {law: as_known_failure(known).reason for law, known in found.known_failures.items()}
    assert reasons == row.known_failures
    assert row.expected in VERDICTS and row.about and "\n" not in row.about


@each_row
def test_known_failures_are_of_laws_that_apply(row: Kernel) -> None:
    laws = {law.name for law in find_contract(implementation(row.name).contract).laws}
    assert set(row.known_failures) <= laws
    assert all(as_known_failure(known).case for known in implementation(row.name).known_failures.values())


def test_every_saved_case_is_of_a_known_failure() -> None:
    saved = {path.stem for path in (Path(source.__file__).parent / "cases").iterdir()}
    assert saved == {law for row in KERNELS for law in row.known_failures}


def test_what_is_wrong_on_purpose_says_so() -> None:
    wrong = {row.name for row in KERNELS if row.expected == "refuted"}
    assert wrong == {row.name for row in KERNELS if row.about.startswith("WRONG ON PURPOSE")}
    assert "core:naive_causal" in wrong


def test_sizes_are_a_condition() -> None:
    sizes = implementation("torch:flash").sizes
    assert sizes is not None
    assert sizes(2, 3, 4, 4, 1, 1) and not sizes(2, 3, 4, 5, 1, 1)


@pytest.mark.parametrize("ask", [kernel, implementation])
def test_unknown_names_are_refused_with_those_there_are(ask: object) -> None:
    with pytest.raises(
        ValueError, match=r"unknown kernel 'torch:fast'; known are core:attention, core:dot.*torch:flash"
    ):
        ask("torch:fast")  # type: ignore[operator]


@each_peer
def test_snippets_are_whole_programs_without_this_package(row: Kernel) -> None:
    text = row.record["parameters"]["snippet"]
    tree = ast.parse(text)
    assert "attention_core" not in text and '"""' not in text
    assert text.splitlines()[-1] == f"attention = {row.origin.partition(':')[2]}"
    known = {alias.asname or alias.name for n in tree.body for alias in getattr(n, "names", [])}
    known |= {n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    called = {n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    local = {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    local |= {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    assert called <= known | local | set(dir(builtins)), "a name that the snippet does not define"


def test_sources_follow_what_they_need_and_nothing_else() -> None:
    text = standalone("torch_sdpa", "flash")
    assert text.count("def ") == 1 and "MATH" not in text
    compiled = standalone("torch_flex_compiled", "flex_compiled")
    parts = ("import", "def modifications", "def attend_with", "GENERATED =", "def flex_compiled")
    places = [compiled.index(part) for part in parts]
    assert places == sorted(places)
    with pytest.raises(KeyError, match="nothing"):
        standalone("torch_sdpa", "nothing")
