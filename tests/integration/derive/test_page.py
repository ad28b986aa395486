"""The example of docs/derivations.md.

The page for users shows a document, what the command says about it, and how it is put right; all of it is so.
The options, verdicts and declarations it lists are those of the code.
"""

from __future__ import annotations

import re
from pathlib import Path

from click.testing import CliRunner

from attention_core.cli import main
from attention_core.derivation import Verdict, check_document
from attention_core.derivation.cli import derive
from attention_core.derivation.document.blocks import OPTIONS

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "derivations.md").read_text(encoding="utf-8")
PAGES = "\n".join(one.read_text(encoding="utf-8") for one in sorted(DOCS.glob("derivation*.md")))
(EXAMPLE,) = re.findall(r"````markdown\n(.*?)````", PAGE, re.DOTALL)


def test_the_command_says_what_the_page_shows(tmp_path: Path) -> None:
    path = tmp_path / "mean.md"
    path.write_text(EXAMPLE, encoding="utf-8")
    run = CliRunner().invoke(main, ["derive", str(path), "--seconds", "120"])
    assert run.exit_code == 1
    (shown,) = re.findall(r"```\n(mean\.md\n.*?)```", PAGE, re.DOTALL)
    lines = [line for line in shown.splitlines()[1:] if line]
    assert len(lines) == 5 and all(line in run.output for line in lines), run.output


def test_the_example_holds_with_the_hypothesis_that_the_page_adds() -> None:
    (old, new) = "with $A^\\top A = I_m$", "with $A^\\top A = I_m$ and $A^\\top B = 0$"
    assert old in EXAMPLE and new.removeprefix("with $").removesuffix("$") in PAGE
    assert check_document(EXAMPLE.replace(old, new)).passed


def test_the_page_of_refused_lines_shows_what_the_command_says(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "how_to" / "refused_line.md").read_text(encoding="utf-8")
    (document,), (shown,) = (
        re.findall(r"```markdown\n(.*?)```", page, re.DOTALL),
        re.findall(r"```text\n(.*?)```", page, re.DOTALL),
    )
    path = tmp_path / "scores.md"
    path.write_text(document, encoding="utf-8")
    run = CliRunner().invoke(main, ["derive", str(path), "--seconds", "120"])
    lines = [line.strip() for line in shown.splitlines()[1:]]
    assert run.exit_code == 2 and len(lines) == 7 and all(line in run.output for line in lines), run.output
    (first,) = re.findall(r"With `(Let .*?)` as its first sentence, the document above is proved", page)
    path.write_text(document.replace(document.partition(".")[0] + ".", first), encoding="utf-8")
    mended = CliRunner().invoke(main, ["derive", str(path), "--seconds", "120"])
    assert mended.exit_code == 0 and "PROVED" in mended.output and "1 of 1 steps" in mended.output


def test_the_document_of_the_readme_is_refuted_as_it_says() -> None:
    readme = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
    text, promise = re.findall(r"```markdown\n(.*?)```", readme, re.DOTALL)
    first, second = check_document(text).steps
    assert first.passed and second.verdict == "REFUTED" and second.counterexample is not None
    assert "x = [1], y = [1]" in second.evidence.text and "refuted at x = [1], y = [1]" in readme
    (words,) = re.findall(r'may say in words what it assumes \("(.*?)"\)', readme)
    doubted = text.replace("$$", f"{words.capitalize()}.\n\n$$", 1)
    quoted = check_document(doubted).steps[1]
    assert quoted.verdict == "UNDECIDED" and words.capitalize() in quoted.evidence.text
    assert check_document(f"{promise}\n{doubted}").steps[1].verdict == "REFUTED"


def test_the_page_lists_every_option_and_every_verdict() -> None:
    shown = (one for one in derive.params[1:] if not getattr(one, "hidden", False))  # the first is FILE...
    for parameter in shown:
        assert any(f"`{name}" in PAGE for name in parameter.opts), parameter.opts
    assert all(f"`% {option}: " in PAGES for option in OPTIONS)
    assert all(str(verdict) in PAGES for verdict in Verdict)
