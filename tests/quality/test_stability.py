"""The page of stable interfaces names what there is: packages, commands, options of pytest, exit statuses."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

from attention_core.cli import main

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "stability.md").read_text(encoding="utf-8")


def row(name: str) -> str:
    return next(line for line in PAGE.splitlines() if line.startswith(f"| {name} |"))


def test_every_command_is_listed_with_its_exit_status() -> None:
    listed = set(re.findall(r"`([a-z]+)`", row("commands"))) - {"finetune"}
    assert listed == set(main.commands)
    table = PAGE.partition("| command |")[2].partition("\n\n")[0]
    assert {name for name in main.commands if f"`{name}`" in table} == set(main.commands)


def test_packages_have_the_public_names_that_the_page_promises() -> None:
    packages = re.findall(r"`((?:attention_core|finetune)[\w.]*)`", row("Python names"))
    assert len(packages) == 8
    for package in packages:
        module = import_module(package)
        assert all(hasattr(module, name) for name in module.__all__), package


def test_options_of_the_plugin_are_those_that_the_page_promises() -> None:
    plugin = (ROOT / "attention_core" / "plugin.py").read_text(encoding="utf-8")
    named = re.findall(r"`(attention_\w+)`", row("pytest"))
    assert named == ["attention_targets", "attention_options"] and all(f'"{name}"' in plugin for name in named)
