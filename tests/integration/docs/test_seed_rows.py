"""docs/seed_rows.md: every row has a state and its reason, every link leads on, every command is one of ours."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections import Counter
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import click
import pytest
from page_links import dead_links

import attention_core.cli
import finetune.cli.main

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "experiments" / "seed_rows" / "run.py"
PAGE = ROOT / "docs" / "seed_rows.md"
BEFORE = {"missing": 40, "partly": 27, "wrong": 3}
"""As the rows were counted first."""
FIELDS = {"source", "place", "asks", "before", "state", "commands", "result", "pages", "prints", "why"}


@cache
def script() -> Any:
    spec = spec_from_file_location("seed_rows_run", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def rows() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = script().read_rows()
    return found


def test_all_rows_are_there_with_their_first_states() -> None:
    assert Counter(row["before"] for row in rows()) == BEFORE
    places = [(row["source"], row["place"]) for row in rows()]
    assert len(set(places)) == len(places) == 70


def test_a_row_says_what_came_out_and_why_it_is_not_done() -> None:
    for row in rows():
        name = f"{row['source']} {row['place']}"
        assert set(row) <= FIELDS, name
        assert row["state"] in script().STATES, name
        assert row["result"] and row["pages"], name
        assert ("why" in row) == (row["state"] != "works"), f"{name}: a reason where it is not done, and only there"


def test_the_page_is_that_of_the_table() -> None:
    page = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, check=True).stdout
    assert page == PAGE.read_text(encoding="utf-8"), "python experiments/seed_rows/run.py > docs/seed_rows.md"


def test_every_link_leads_somewhere() -> None:
    assert dead_links(PAGE.read_text(encoding="utf-8"), PAGE) == []


def test_no_path_of_a_machine_is_printed() -> None:
    assert not re.search(r"(^|[\s`\"'(])/(home|tmp|work|root|usr)\b", PAGE.read_text(encoding="utf-8"))


@cache
def groups() -> dict[str, click.Group]:
    """The commands of both packages, as their console scripts name them."""
    return {"attention-core": attention_core.cli.main, "finetune": finetune.cli.main.app}


def unknown_in(command: str) -> str | None:
    """What of a command is not ours: its program, a word of its name, an option. None where all is."""
    words = shlex.split(command)
    if words[0] in ("python", "sh"):
        return None if (ROOT / words[1]).is_file() else words[1]
    if words[0] not in groups():
        return words[0]
    made: click.Command = groups()[words[0]]
    rest = words[1:]
    while isinstance(made, click.Group) and rest:
        if rest[0] not in made.commands:
            return rest[0]
        made, rest = made.commands[rest[0]], rest[1:]
    names = {option for param in made.params for option in (*param.opts, *param.secondary_opts)}
    strange = [w.partition("=")[0] for w in rest if re.match(r"--?[a-zA-Z]", w) and w.partition("=")[0] not in names]
    return strange[0] if strange else None


def test_every_command_and_its_options_are_known_to_the_parsers() -> None:
    found = {command: unknown_in(command) for row in rows() for command in row.get("commands", ())}
    assert {command: word for command, word in found.items() if word is not None} == {}


@pytest.mark.parametrize(
    ("command", "word"),
    [
        ("finetune clasify --data x", "clasify"),
        ("finetune classify --dat x", "--dat"),
        ("finetune prompt complete x --max_token 3", "--max_token"),
        ("python experiments/nothing/run.py", "experiments/nothing/run.py"),
        ("rm -r x", "rm"),
    ],
)
def test_what_is_not_ours_is_seen(command: str, word: str) -> None:
    assert unknown_in(command) == word


@pytest.mark.parametrize(
    "row", [row for row in rows() if "prints" in row], ids=lambda row: f"{row['source']} {row['place']}"
)
def test_a_command_without_data_prints_what_the_row_says(row: dict[str, Any]) -> None:
    words = shlex.split(row["commands"][0])
    module = {"attention-core": "attention_core", "finetune": "finetune.cli.main"}[words[0]]
    done = subprocess.run([sys.executable, "-m", module, *words[1:]], capture_output=True, text=True, check=False)
    for line in row["prints"]:
        assert line in done.stdout
