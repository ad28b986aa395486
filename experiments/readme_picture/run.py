"""Draw what the terminal shows of README's first example: docs/pictures/verify.svg.

python experiments/readme_picture/run.py --write docs/pictures/verify.svg

The program makes its own picture: the output of the command, colours included, without seconds and without most rows of
the table. The file names no font of the web, so that it looks the same without a network.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[2]
COMMAND = "attention-core verify mine.py:attention --effort quick"
WIDTH = 124
ROWS = ("agrees_with_truth", "weights_are_a_distribution", "permuting_keys_changes_nothing", "no_row_sees_a_later_one",
        "inputs_stay_as_they_were")  # fmt: skip
FONT = re.compile(r"@font-face \{\{.*?\}\}", re.DOTALL)


def main() -> None:
    """Write the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, required=True, metavar="FILE")
    options = parser.parse_args()
    options.write.write_text(draw(chosen(output())), encoding="utf-8")


def output() -> str:
    """What the command prints for README's first example, with colours."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (example, *_) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    settings = {"FORCE_COLOR": "1", "COLUMNS": str(WIDTH), "TERM": "xterm-256color", "OMP_NUM_THREADS": "1"}
    with TemporaryDirectory() as folder:
        (Path(folder) / "mine.py").write_text(example, encoding="utf-8")
        script = [sys.executable, "-m", "attention_core", *COMMAND.split()[1:]]
        run = subprocess.run(
            script, cwd=folder, capture_output=True, text=True, check=False, timeout=600, env={**os.environ, **settings}
        )
    if run.returncode != 1:
        raise SystemExit(f"{COMMAND}: exit status {run.returncode}, but should be 1\n{run.stdout}{run.stderr}")
    return run.stdout


def chosen(text: str) -> list[Text]:
    """The first look, some rows of the table, the first counterexample and the verdict."""
    lines = [Text.from_ansi(line) for line in text.splitlines()]
    plain = [line.plain for line in lines]
    head = next(i for i, line in enumerate(plain) if line.startswith("law "))
    end = next(i for i, line in enumerate(plain[head:], head) if not line.strip())
    after = next(i for i, line in enumerate(plain[end + 1 :], end + 1) if not line.strip())
    verdict = next(i for i, line in enumerate(plain) if line.startswith("mine.py:attention: refuted"))
    first = next(i for i, line in enumerate(plain) if line.startswith("mine.py:attention: conventions"))
    table = [without_seconds(lines[head])]
    table += [without_seconds(line) for line in lines[head + 1 : end] if line.plain.startswith(ROWS)]
    gap = Text("...", style="dim")
    last = next(i for i, line in enumerate(plain[verdict:], verdict) if line.endswith(")"))
    return [*lines[:first], gap, *table, gap, *lines[end : after + 1], gap, *lines[verdict : last + 1], Text()]


def without_seconds(row: Text) -> Text:
    """A row of the table without its last column, which is another one on every machine."""
    words = re.sub(r"\s+\S+\s*$", "", row.plain)
    return row[: len(words)]


def draw(lines: list[Text]) -> str:
    """The lines as an SVG."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    for line in lines:
        line.truncate(WIDTH, overflow="ellipsis")
        console.print(line, no_wrap=True, highlight=False)
    template = re.sub(r"\n\s*\n", "\n", FONT.sub("", CONSOLE_SVG_FORMAT)).replace("Fira Code, monospace", "monospace")
    svg = console.export_svg(title=f"$ {COMMAND}", code_format=template, unique_id="verify")
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


if __name__ == "__main__":
    main()
