"""`finetune scripts`: an assignment's own file names as scripts that run finetune, so that its printed lines work.

Each script is a few lines: it puts the command in front of its arguments, which stay as the source prints them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from finetune.errors import BadInput

PYTHON = '''"""{about}: `finetune {shown}`, with the options of the assignment's own script."""

import sys

from finetune.cli.main import app

app(args=[{words}*sys.argv[1:]{more}], prog_name="finetune")
'''
SBATCH = """#!/bin/sh
# Submit with `sbatch sbatch.sh`, and whatever base_classification.py takes behind it.
#SBATCH --job-name=finetune
#SBATCH --gres=gpu:1
#SBATCH --time=02:00:00
python base_classification.py "$@"
"""
SUBMISSION = """#!/bin/sh
# The nine files that are handed in, under the assignment's names: assignment_NAME.zip.
set -eu
name=${1:-yourname}
set -- vanilla.model.params vanilla.nopretrain.dev.predictions vanilla.nopretrain.test.predictions \\
    vanilla.finetune.params vanilla.pretrain.dev.predictions vanilla.pretrain.test.predictions \\
    synthesizer.finetune.params synthesizer.pretrain.dev.predictions synthesizer.pretrain.test.predictions
for file in "$@"; do
    test -f "$file" || { echo "$file is missing" >&2; exit 2; }
done
python -m zipfile -c "assignment_$name.zip" "$@"
echo "assignment_$name.zip"
"""
CLASSIFY = ("classify",)
FEW_SHOT = (
    "prompt", "classify", "--data", "data/boolq", "--shots", "8", "--limit", "30", "--model", "gpt-3.5-turbo-instruct",
    "--server", "openai",
)  # fmt: skip
LINES: Mapping[str, Mapping[str, Sequence[str]]] = {
    "000": {
        "base_classification.py": CLASSIFY, "classification.py": (*CLASSIFY, "--pool", "mean"),
        "classification_lora.py": (*CLASSIFY, "--pool", "mean", "--method", "lora"), "openai_gpt-boolq.py": FEW_SHOT,
    },
    "002": {"classifier.py": CLASSIFY, "classifier_mlm.py": CLASSIFY},
    "003": {"src/run.py": (), "src/dataset.py": (), "src/london_baseline.py": ("baseline",)},
}  # fmt: skip
"""Source -> file -> the words of the command that stand before its arguments."""
SHELL: Mapping[str, Mapping[str, str]] = {
    "000": {"sbatch.sh": SBATCH},
    "003": {"collect_submission.sh": SUBMISSION},
}
UNCONFIGURED = ("src/dataset.py", "src/london_baseline.py", "openai_gpt-boolq.py")
"""Scripts whose commands have no settings of a training."""


def script_texts(source: str, config: str | None) -> dict[str, str]:
    """The text of each file of an assignment, by its path.

    Args: source, a key of `LINES`; config, a file of settings that every training and evaluation reads.
    """
    found = {}
    for name, words in LINES[source].items():
        more = f', "--config", {config!r}' if config is not None and name not in UNCONFIGURED else ""
        found[name] = PYTHON.format(
            about=f"{Path(name).name} of assignment {source}", shown=" ".join(words) or "...",
            words="".join(f"{word!r}, ".replace("'", '"') for word in words), more=more,
        )  # fmt: skip
    return found | dict(SHELL.get(source, {}))


@click.command()
@click.argument("source", metavar="SOURCE", type=click.Choice(list(LINES)))
@click.argument("folder", default=".", metavar="[FOLDER]")
@click.option("--config", metavar="FILE", help="A file of settings that every training and evaluation reads.")
def scripts(source: str, folder: str, config: str | None) -> None:
    """Write into FOLDER the scripts that the command lines of assignment SOURCE (000, 002, 003) call.

    They run finetune. A file that exists already is not replaced.
    """
    texts = script_texts(source, config)
    there = [name for name in texts if Path(folder, name).exists()]
    if there:
        raise BadInput(f"{Path(folder, there[0])} exists and is not replaced: take an empty folder")
    for name, text in texts.items():
        path = Path(folder, name)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise BadInput(f"{path} cannot be written: {error.strerror}") from None
        click.echo(f"written: {path}")
