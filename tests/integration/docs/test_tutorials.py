"""Every file and every command of the tutorials, run as a reader would: the output is what the page shows.

A page is a session in one folder. `<!-- file: NAME -->` before a block writes it; a `console` block runs its commands, whose
exit status is 0 or that of `<!-- exit: N -->`. In what is shown, `...` stands for anything, within a line and between lines.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.unmeasured

README = Path(__file__).resolve().parents[3] / "README.md"
FOLDER = README.parent / "docs" / "tutorials"
BLOCK = re.compile(r"(?:<!-- (file|exit): (\S+) -->\n)?^(`{3,})(\w+)\n(.*?)^\3$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block with the comment in front of it."""

    kind: str
    value: str
    language: str
    text: str


@dataclass(frozen=True)
class Command:
    """A command of a `console` block, and what the page shows below it."""

    line: str
    shown: str
    status: int


def blocks(page: str) -> Iterator[Block]:
    for kind, value, _, language, text in BLOCK.findall(page):
        yield Block(kind, value, language, text)


def commands(block: Block) -> Iterator[Command]:
    """The commands of a block. A status is that of its last one."""
    parts = re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]
    for i, part in enumerate(parts):
        line, _, shown = part.partition("\n")
        yield Command(line, shown, int(block.value) if block.kind == "exit" and i == len(parts) - 1 else 0)


def matches(shown: str, output: str) -> bool:
    """Whether an output is the one that is shown, `...` standing for anything."""
    lines = [line.rstrip() for line in shown.strip("\n").split("\n")]
    pattern = r"\n".join(".*?".join(re.escape(part) for part in line.split("...")) for line in lines)
    clean = "\n".join(line.rstrip() for line in output.strip("\n").split("\n"))
    return re.fullmatch(pattern, clean, re.DOTALL) is not None


def run(command: Command, folder: Path) -> str:
    """Run a command with this interpreter's scripts first, compare, and return its output."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    settings = {"PATH": path, "COLUMNS": "200", "NO_COLOR": "1", "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    found = subprocess.run(
        command.line,
        shell=True,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, **settings},
    )
    output = found.stdout + found.stderr
    assert found.returncode == command.status, f"$ {command.line}\nexit status {found.returncode}\n{output}"
    assert matches(command.shown, output), f"$ {command.line}\n{output}"
    return output


@pytest.mark.thorough(keep=("first_function", "check_a_derivation"))
@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.md")), ids=lambda path: str(path.stem))
def test_a_tutorial_is_true(path: Path, tmp_path: Path) -> None:
    found, output = list(blocks(path.read_text(encoding="utf-8"))), ""
    assert sum(block.language == "console" for block in found) > 1
    for block in found:
        if block.kind == "file":
            target = tmp_path / block.value
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block.text, encoding="utf-8")
        elif block.language == "console":
            for command in commands(block):
                output = run(command, tmp_path)
    if path.stem == "first_function":  # README has the same example, and ends with the same line
        (laws,) = re.findall(r"conforms \(\d+ laws held", output)
        assert laws in README.read_text(encoding="utf-8"), f"README.md should say {output.splitlines()[-1]}"


def test_every_block_of_a_tutorial_is_run_or_cannot_be() -> None:
    for path in FOLDER.glob("*.md"):
        for block in blocks(path.read_text(encoding="utf-8")):
            assert block.kind == "file" or block.language in {"console", "yaml"}, f"{path.name}: {block.text[:80]}"


@pytest.mark.parametrize(
    ("shown", "output", "same"),
    [
        ("one\n...\nfour", "one\ntwo\nthree\nfour\n", True),
        ("a ... c", "a b c", True),
        ("a ... c", "a b d", False),
        ("one", "one\ntwo", False),
        ("...", "anything\nat all", True),
        ("", "", True),
        ("", "a line", False),
    ],
)
def test_what_is_shown_is_compared_with_the_output(shown: str, output: str, same: bool) -> None:
    assert matches(shown, output) is same


@pytest.mark.thorough
@pytest.mark.slow
def test_the_picture_of_the_readme_is_todays_output() -> None:
    """Counts of problems aside, which a new law may move."""
    root = FOLDER.parents[1]
    spec = importlib.util.spec_from_file_location("readme_picture", root / "experiments" / "readme_picture" / "run.py")
    assert spec is not None and spec.loader is not None
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    drawn = program.draw(program.chosen(program.output()))
    kept = (root / "docs" / "pictures" / "verify.svg").read_text(encoding="utf-8")
    command = "python experiments/readme_picture/run.py --write docs/pictures/verify.svg"
    assert words_of(drawn) == words_of(kept), f"to mend it: {command}"
    assert "url(" not in kept.replace("url(#", ""), "a picture asks nothing of the network"


def words_of(svg: str) -> str:
    """The text of a picture, without the numbers of its table and the digits that processors round in ways of their own."""
    text = " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", svg)).replace("&#160;", " ")
    text = re.sub(r"(\d\.\d\d)\d+(e-\d+)", r"\1\2", text)
    return re.sub(r"(held|refuted)\s+\d+", r"\1", text)
