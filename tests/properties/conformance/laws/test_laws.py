"""The table of laws of every contract.

The table of laws: every law says what it is, where it comes from, and which named fault it was seen to refute.
Whether it does refute that fault is run in the test file of its family.
"""

from __future__ import annotations

import ast
import importlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from attention_core.conformance import laws as package
from attention_core.conformance.contracts import Contract, contracts
from attention_core.conformance.subjects.law import Law, needs
from attention_core.declaration.features import FEATURES
from attention_core.declaration.implementation import CLAIMS

CONTRACTS = contracts()
EVERY = [(contract, law) for contract in CONTRACTS.values() for law in contract.laws]
FOLDER = Path(package.__file__).parent
FAULTS = tuple(Path(find_spec(package).origin or "").parent for package in ("attention_core.faults", "finetune.faults"))


@cache
def functions(folder: Path) -> set[str]:
    """Names of the functions and classes that stand at the top of the files of a folder."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in folder.rglob("*.py")]
    kinds = (ast.FunctionDef, ast.ClassDef)
    return {node.name for tree in trees for node in tree.body if isinstance(node, kinds)}


def named(one: tuple[Contract, Law]) -> str:
    return f"{one[0].name}-{one[1].name}"


def says_what_it_is(contract: Contract, law: Law) -> bool:
    """Whether the docstring and the record of a law are whole."""
    first = law.sentence.split()[0]
    return (
        law.sentence.endswith(".")
        and (first[0].isupper() or "_" in first)  # a sentence may begin with the name of a parameter
        and 15 < len(law.sentence) <= 120
        and len(law.formula) > 5
        and len(law.source) > 5
        and law.contract == contract.name
        and law.large + law.small > 0
        and law.needs <= {*CLAIMS, *FEATURES}
        and (law.declares is None or bool(law.because))
    )


def test_a_law_says_what_it_is() -> None:
    assert [named(one) for one in EVERY if not says_what_it_is(*one)] == []


def test_a_law_names_a_fault_that_exists() -> None:
    faults = frozenset[str]().union(*map(functions, FAULTS))
    assert [named(one) for one in EVERY if one[1].fault not in faults] == []


@pytest.mark.parametrize("contract", CONTRACTS.values(), ids=list(CONTRACTS))
def test_names_are_unique_within_a_contract(contract: Contract) -> None:
    names = [law.name for law in contract.laws]
    assert len(names) == len(set(names)) > 0


def test_a_name_means_one_check() -> None:
    checks: dict[str, set[object]] = {}
    for _, law in EVERY:
        checks.setdefault(law.name, set()).add(law.check)
    shared = {name for name, found in checks.items() if len(found) > 1}
    assert shared == set()


def families() -> dict[str, tuple[Law, ...]]:
    """Every file of the folder that has a table of laws, with that table."""
    found = {}
    for path in sorted(FOLDER.glob("*.py")):
        module = importlib.import_module(f"{package.__name__}.{path.stem}") if path.stem != "__init__" else None
        if hasattr(module, "LAWS"):
            found[path.stem] = module.LAWS  # type: ignore[union-attr]
    return found


def test_every_file_of_laws_is_in_the_table() -> None:
    reachable = {law.check for _, law in EVERY}
    stems = set(families())
    assert len(stems) > 20
    for stem, laws in families().items():
        assert laws
        for law in laws:
            assert law.check in reachable
            assert law.check.__module__ == f"{package.__name__}.{stem}", law.name
            assert law.family in stems  # a large family has several files and the name of one of them


def test_every_check_of_a_file_is_in_its_table() -> None:
    for stem, laws in families().items():
        module = importlib.import_module(f"{package.__name__}.{stem}")
        documented = {
            n for n, f in vars(module).items() if "Fault:" in (getattr(f, "__doc__", "") or "") and callable(f)
        }
        own = {n for n in documented if getattr(module, n).__module__ == module.__name__}
        assert own == {law.name for law in laws}


def test_the_expected_contracts_are_there() -> None:
    assert list(CONTRACTS)[:9] == [
        "attention", "attention-lse", "mask-builder", "heads", "multi-head", "rotary", "bias", "position-table", "kv-cache",
    ]  # fmt: skip
    assert all(contract.name == name for name, contract in CONTRACTS.items())


def test_parts_of_a_docstring() -> None:
    def some_law(subject: object, case: object) -> None:
        """A law in one sentence.

        Formula: a = b
            + c
        Source: a paper,
        its second page
        Fault: some_fault
        """

    law = Law(some_law, "family", needs=needs("scale"))
    assert (law.name, law.sentence) == ("some_law", "A law in one sentence.")
    assert (law.formula, law.source, law.fault) == ("a = b + c", "a paper, its second page", "some_fault")
    assert law.needs == {"scale"}

    def bare(subject: object, case: object) -> None:
        """Nothing else."""

    assert (Law(bare, "family").formula, Law(bare, "family").fault) == ("", "")
