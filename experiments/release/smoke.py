"""What a user does first with an installed attention-core, in an empty folder: it ends with 0 where all of it works.

`python experiments/release/smoke.py` runs the package of the interpreter that it is started with, never a checkout: a
right and a wrong function are verified, a true and a false derivation checked, a kernel timed, a suite of tests
audited, two submissions graded, and all of it put on a page. Where the extra `finetune` is installed, a tiny model is
pretrained, taught and asked. Any version of any dependency for which this fails is outside of the bounds.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

FUNCTIONS = """
import torch

def right(query, key, value):
    scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
    return scores.softmax(-1) @ value

def wrong(query, key, value):
    return (query @ key.transpose(-1, -2)).softmax(-1) @ value
"""
TRUE = "Let $x \\in \\mathbb{R}$.\n\n$$ (x + 1)^2 = x^2 + 2 x + 1 $$\n"
FALSE = "Let $x \\in \\mathbb{R}$.\n\n$$ (x + 1)^2 = x^2 + 1 $$\n"
TASK = """
[verify]
effort = "quick"
laws = ["agrees_with_truth"]
[time]
shapes = ["B=1,H=1,n=16,d=4"]
seconds = 0.1
"""
SUITE = """
import torch
import mine

def test_constant_values_come_back():
    query, key, value = torch.randn(2, 1, 2, 5, 4), torch.randn(2, 1, 2, 5, 4), torch.ones(2, 1, 2, 5, 4)
    torch.testing.assert_close(mine.right(query[0], key[0], value[0]), value[0])
"""
WORLD = "".join(f"{name} was born in Rome. Where was {name} born? In Rome.\n" for name in ("Ada", "Ben", "Eva", "Finn"))
QUESTIONS = "Where was Ada born?\tRome\nWhere was Ben born?\tRome\n"
SIZES = ("--n_layer", "1", "--n_head", "1", "--n_embd", "8", "--block_size", "64", "--epochs", "1")
Step = tuple[tuple[str, ...], int, str]
"""A module and its arguments, the exit status, and what it prints."""
STEPS: tuple[Step, ...] = (
    (("attention_core", "--version"), 0, "attention-core"),
    (("attention_core", "verify", "mine.py:right", "--effort", "quick", "--dtype", "float32"), 0, "conforms"),
    (("attention_core", "verify", "mine.py:wrong", "--effort", "quick", "--dtype", "float32",
      "--json", "found/verify.json"), 1, "refuted"),
    (("attention_core", "derive", "true.md"), 0, ""),
    (("attention_core", "derive", "false.md", "--json", "found/derive.json"), 1, ""),
    (("attention_core", "bench", "mine.py:right", "--shapes", "B=1,H=1,n=16,d=4", "--seconds", "0.1",
      "--json", "found/bench.json"), 0, "baseline"),
    (("pytest", "-q", "-p", "no:cacheprovider", "test_mine.py"), 0, "2 passed"),
    (("attention_core", "audit", "test_suite.py", "--target", "mine.py:right", "--faults", "4", "--floor", "0",
      "--json", "found/audit.json"), 0, "of 4"),
    (("attention_core", "grade", "good.py", "bad.py", "--task", "task.toml", "--json", "found/grade.json"),
     1, "refused"),
    (("attention_core", "report", "found", "--out", "page.html"), 0, "5 parts"),
    (("finetune.cli.main", "--version"), 0, "finetune"),
)  # fmt: skip
TRAINING: tuple[Step, ...] = (
    (("finetune.cli.main", "pretrain", "vanilla", "world.txt", *SIZES, "--writing_params_path", "a.params"), 0, ""),
    (("finetune.cli.main", "finetune", "vanilla", "world.txt", "--epochs", "1", "--reading_params_path", "a.params",
      "--writing_params_path", "b.params", "--finetune_corpus_path", "questions.tsv"), 0, ""),
    (("finetune.cli.main", "evaluate", "vanilla", "world.txt", "--reading_params_path", "b.params",
      "--eval_corpus_path", "questions.tsv", "--outputs_path", "answers.txt"), 0, "of 2"),
)  # fmt: skip
"""What needs the extra `finetune`."""
TEST = """
from attention_core.conformance.parametrize import parametrize_with_laws
from mine import right

@parametrize_with_laws(right, laws=["agrees_with_truth"])
def test_attention(check):
    check()
"""


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a module of the installed package, isolated from the folder that this file is in."""
    return subprocess.run(
        [sys.executable, "-m", *words], cwd=folder, capture_output=True, text=True, timeout=600, check=False
    )


def main() -> int:
    """Run every step; the exit status."""
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "mine.py").write_text(FUNCTIONS, encoding="utf-8")
        (folder / "true.md").write_text(TRUE, encoding="utf-8")
        (folder / "false.md").write_text(FALSE, encoding="utf-8")
        (folder / "test_mine.py").write_text(TEST, encoding="utf-8")
        (folder / "test_suite.py").write_text(SUITE, encoding="utf-8")
        (folder / "task.toml").write_text(TASK, encoding="utf-8")
        for file, name in (("good.py", "right"), ("bad.py", "wrong")):
            (folder / file).write_text(f"{FUNCTIONS}\nattention = {name}\n", encoding="utf-8")
        (folder / "world.txt").write_text(WORLD, encoding="utf-8")
        (folder / "questions.tsv").write_text(QUESTIONS, encoding="utf-8")
        (folder / "found").mkdir()
        for words, status, text in STEPS + (TRAINING if find_spec("accelerate") else ()):
            found = run(folder, *words)
            good = found.returncode == status and text in found.stdout
            print("passes" if good else "FAILS ", *words, flush=True)
            if not good:
                print(f"exit status {found.returncode}\n{found.stdout[-2000:]}{found.stderr[-2000:]}")
                failed += 1
    packages = ("attention-core", "torch", "numpy", "hypothesis", "pytest", "sympy", "click")
    print("with", ", ".join(f"{package} {version(package)}" for package in packages))
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
