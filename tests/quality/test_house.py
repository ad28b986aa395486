"""House rules of the source that ruff does not know."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("attention_core", "finetune", "tests", "benchmarks", "experiments", "derivations")


def test_the_docstring_is_a_modules_only_header() -> None:
    """Comments above the docstring say the same again, and nothing shows them: not `help`, not the documentation."""
    modules = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    assert len(modules) > 100
    headed = [path for path in modules if path.read_text(encoding="utf-8").startswith(("# ", "#\n"))]
    assert not headed, f"comments above the docstring: {[str(path.relative_to(ROOT)) for path in headed]}"
