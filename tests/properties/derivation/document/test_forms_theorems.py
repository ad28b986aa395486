"""Marks of theorems in TeX say nothing of what is declared in them, their names and footnotes are words."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.document.blocks import Paragraph
from attention_core.derivation.document.forms import parts_of
from attention_core.derivation.records import Verdict

LET = r"Let $n \in \mathbb{N}$ and $A \in \mathbb{R}^{n \times n}$."
TRUE, FALSE = r"$$ A + A = 2 A $$", r"$$ A^\top + A = 2 A $$"


@pytest.mark.parametrize(
    "frame",
    [
        "\\begin{theorem}\n%s\n\\end{theorem}",
        "\\begin{lemma}\\label{le:a} %s\n\\end{lemma}",
        "\\begin{assumption}\nThe first.\n\\end{assumption}\n%s",
        "\\begin{assumption}\\footnote{See the appendix.}\n%s\n\\end{assumption}",
        "\\begin{theorem}\nX\\end{theorem} %s",
        "%s\\footnote{See [3] for the {old} proof.}",
    ],
)
def test_a_declaration_between_the_marks_of_an_environment_is_read(frame: str) -> None:
    text = frame.replace("%s", LET)
    assert check_document(f"{text}\n\n{TRUE}\n").steps[-1].verdict is Verdict.PROVED


@pytest.mark.parametrize(
    "frame", ["\\begin{lemma}[Symmetric case]\n%s\n\\end{lemma}", "%s\\footnote{$A$ is symmetric.}",
              "\\begin{lemma}\\label{le:symmetric}\n%s\n\\end{lemma}"],
)  # fmt: skip
def test_names_labels_and_footnotes_may_be_hypotheses(frame: str) -> None:
    text = frame.replace("%s", LET)
    assert check_document(f"{text}\n\n{FALSE}\n").steps[-1].verdict is Verdict.UNDECIDED
    plain = frame.replace("Symmetric", "Main").replace("symmetric", "main").replace("$A$ is main", "See [3]")
    assert check_document(f"{plain.replace('%s', LET)}\n\n{FALSE}\n").steps[-1].verdict is not Verdict.UNREADABLE


def test_every_part_stands_on_its_line() -> None:
    parts = parts_of(Paragraph(3, "Text.\n\\begin{proof}[Of it]\nFirst.\n\\end{proof}\nLast."))
    assert [(one.line, one.text) for one in parts] == [(3, "Text."), (4, "Of it"), (5, "First."), (7, "Last.")]
