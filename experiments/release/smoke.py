"""What a user does first with an installed attention-core, in an empty folder: it ends with 0 where all of it works.

`python experiments/release/smoke.py` runs the package of the interpreter that it is started with, never a checkout: a
right and a wrong function are verified, a true and a false derivation checked, a kernel timed. Any version of any
dependency for which this fails is outside of the bounds.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from importlib.metadata import version
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
STEPS: tuple[tuple[tuple[str, ...], int, str], ...] = (
    (("attention_core", "--version"), 0, "attention-core"),
    (("attention_core", "verify", "mine.py:right", "--effort", "quick", "--dtype", "float32"), 0, "conforms"),
    (("attention_core", "verify", "mine.py:wrong", "--effort", "quick", "--dtype", "float32"), 1, "refuted"),
    (("attention_core", "derive", "true.md"), 0, ""),
    (("attention_core", "derive", "false.md"), 1, ""),
    (("attention_core", "bench", "mine.py:right", "--shapes", "B=1,H=1,n=16,d=4", "--seconds", "0.1"), 0, "baseline"),
    (("pytest", "-q", "-p", "no:cacheprovider", "test_mine.py"), 0, "2 passed"),
)
"""A module and its arguments, the exit status, and what it prints."""
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
        for words, status, text in STEPS:
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
