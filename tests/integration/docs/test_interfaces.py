"""`attention-core contracts`, for all contracts there are, those that other packages add included.

attention_core.interfaces: every contract says what an implementation is called with, returns and can declare.
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest
from click.testing import CliRunner

from attention_core import interfaces
from attention_core.cli import main
from attention_core.conformance.contracts import Contract, built_in, contracts
from attention_core.declaration.options import PARAMETERS
from attention_core.interfaces import TEXTS, interface, one_lines, sections

HOME = Path(__file__).parents[3]
ALL = contracts()
CALLED = {  # what no text may leave out: how the target is called, or what it is made with
    "span-corruption": "(data: str, block_size: int)", "vocabulary": "(corpus: str, text: str) -> ids",
    "causal-lm": "`model(ids)` gives logits (B, n, vocab)", "trainer": "`train(model, loss, examples, config)` trains",
    "checkpoint": "`weights()` gives all trained numbers", "peft": "`inject(model)`: Put the method into a model",
    "masked-lm": "special (B, n) bool, true at special tokens", "classifier": "`model(input_ids=..., attention_mask=...)`",
    "training-step": "`step(model, optimizer, loss, batches, clip)` makes one step",
    "head-importance": "`gradient(model, batches, layers, heads)` gives the importance of each head",
}  # fmt: skip


def contracts_command(*arguments: str) -> Any:
    return CliRunner().invoke(main, ["contracts", *arguments])


def declared(contract: Contract) -> set[str]:
    """The parameters that a contract knows: of the table, or read by the files of its subject and laws."""
    if contract.name in PARAMETERS:
        return set(PARAMETERS[contract.name])
    files = {contract.subject.__module__, *(law.check.__module__ for law in contract.laws)}
    source = "".join(inspect.getsource(sys.modules[file]) for file in files)
    return set(re.findall(r'parameters(?:\.get\(|\[)"(\w+)"', source))


def test_every_contract_is_listed_with_a_line_of_its_own() -> None:
    assert list(sections()) == list(built_in()) and set(one_lines()) == set(ALL)
    told = contracts_command().output
    for name, line in one_lines().items():
        assert re.search(rf"^  {name} +{re.escape(line)}$", told, re.MULTILINE), name
        assert len(line) > 20 and not line.startswith("The contract"), line
    assert one_lines()["span-corruption"] == "a class `(data: str, block_size: int)` whose items are pairs (x, y)."


@pytest.mark.parametrize("name", ALL)
def test_a_contract_says_all_that_an_implementation_needs(name: str) -> None:
    """A new contract cannot lack it: its call, its parameters, its laws' number and a command are asked for here."""
    told = contracts_command(name)
    assert told.exit_code == 0 and told.output == interface(name) + "\n"
    assert f"{name} ({len(ALL[name].laws)} laws: attention-core laws --contract {name})" in told.output
    assert (CALLED[name] if name in CALLED else sections()[name].split("\n")[0]) in told.output
    assert len(re.findall(r"^    attention-core verify FILE\.py:\w", told.output, re.MULTILINE)) == 1
    assert name == "attention" or f"--contract {name}" in told.output.splitlines()[-1]
    for parameter in declared(ALL[name]):
        assert re.search(rf"\b{parameter}\b", told.output), parameter


def test_what_laws_demand_is_said_of_a_contract_that_a_package_adds() -> None:
    for name in set(ALL) - set(built_in()):
        assert all(f"\n* {law.sentence}\n" in interface(name) for law in ALL[name].laws), name


@pytest.mark.parametrize("name", sorted(set(ALL) - set(built_in())))
def test_what_a_user_has_to_import_is_named_in_full(name: str) -> None:
    """`peft.adapted` would be looked for in another library."""
    text = f"{one_lines()[name]}\n{interface(name)}"
    for path in re.findall(r"`((?:\w+\.)+(?:make_target|Adapted))\b", text.partition("Its laws:")[0]):
        assert callable(resolve_name(path)), path


def test_the_page_for_users_says_the_same() -> None:
    assert TEXTS.read_text(encoding="utf-8").strip() in (HOME / "docs" / "contracts.md").read_text(encoding="utf-8")


def test_an_unknown_name_is_one_line_with_the_known_ones() -> None:
    told = contracts_command("nothing")
    assert told.exit_code == 2 and told.output.count("\n") == 1
    assert told.output.startswith("attention-core: no contract 'nothing'; there are: attention, attention-lse, ")
    assert all(name in told.output for name in ALL)


def test_a_contract_that_cannot_be_loaded_does_not_hide_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.metadata import EntryPoint

    broken = EntryPoint("broken", "no_such_module:contract", interfaces.GROUP)
    monkeypatch.setattr(interfaces, "entry_points", lambda group: [broken])
    assert one_lines()["broken"].startswith("cannot be loaded: ModuleNotFoundError") and "rotary" in one_lines()


def test_verify_points_to_it() -> None:
    told = " ".join(CliRunner().invoke(main, ["verify", "--help"]).output.split())
    assert "`attention-core contracts [NAME]` says what each contract calls" in told
