"""experiments/birthplaces/assignment.sh: every command of the assignment as printed, and the zip that is handed in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from finetune.cli.main import app
from tests.tiny_birthplaces import CORPUS, FILES, NAMES, TINY

SCRIPT = Path(__file__).resolve().parents[3] / "experiments" / "birthplaces" / "assignment.sh"


RECORDER = """#!{python}
import json, sys
from pathlib import Path

words = sys.argv[1:]
with open("commands.jsonl", "a", encoding="utf-8") as file:
    file.write(json.dumps(words) + "\\n")
for option, value in zip(words, words[1:]):
    if option in ("--writing_params_path", "--outputs_path"):
        Path(value).touch()
"""
"""In the place of `finetune`: it writes down how it is called, and makes the files that it should."""


def test_the_script_makes_what_is_handed_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "wiki.txt": CORPUS, "birth_places_train.tsv": NAMES, "birth_dev.tsv": NAMES, "tiny.toml": TINY,
        "birth_test_inputs.tsv": "Where was Ada Byron born?\n",
    }.items():  # fmt: skip
        Path(name).write_text(text, encoding="utf-8")
    programs = Path("programs")
    programs.mkdir()
    for name, text in {"finetune": RECORDER, "python": '#!/bin/sh\nexec {python} "$@"\n'}.items():
        (programs / name).write_text(text.replace("{python}", sys.executable), encoding="utf-8")
        (programs / name).chmod(0o755)
    path = os.pathsep.join([str(programs.resolve()), os.environ["PATH"]])
    done = subprocess.run(
        ["sh", str(SCRIPT), "me", "tiny.toml"],
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "assignment_me.zip"
    with zipfile.ZipFile("assignment_me.zip") as found:
        assert sorted(found.namelist()) == FILES
    for name in FILES:
        Path(name).unlink()
    commands = [json.loads(line) for line in Path("commands.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(commands) == 12
    for words in commands:  # every command for real, in this process
        told = CliRunner().invoke(app, words, catch_exceptions=False)
        assert told.exit_code == 0, (words, told.output)
    assert all(Path(name).stat().st_size for name in FILES)
