"""Relations in prose.

What a paragraph assumes: relations behind words that assume. Claims, doubts, denials and questions assume nothing.
The words are those that a reader tried who wanted a false claim to pass; none of them is a list of the program's own.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from attention_core.cli import main
from attention_core.derivation import check_document
from attention_core.derivation.reading.assuming import Standing, standings
from attention_core.derivation.report import page

SAID = (
    "We claim that;We show that;We prove that;Show that;Prove that;Claim:;Theorem:;Lemma:;The goal is;We want;"
    "We will see that;Note that;Observe that;Clearly,;Obviously;We have;We get;Thus;Therefore;Consequently;This implies;"
    "This means that;so that;whence;which yields;It is easy to see that;One sees that;It holds that;So;Now;But then;"
    "Then clearly;It is to be shown that;To show:;Recall that;By symmetry;In fact;Of course;Here;Our claim is;Next:;"
    "The result is;It turns out that;We check that;We verify;One has;We are going to show;Conjecture:;Question:;"
    "Is it true that;Let us see whether;It is false that;It is untrue that;It fails that;Contrary to;Wrongly,;"
    "A common mistake is;Often;Typically;In general;Sometimes;Perhaps;Ideally;In the special case;At initialisation;"
    "Up to signs;rather than;instead of;ignoring;unlike;as opposed to;whereas;Dropping;Otherwise;else;as if;Pretend that;"
    "We hope that;It would be nice if;If only;We need;It suffices that;iff;only if;until;before;after;hardly;scarcely;"
    "rarely;nobody needs;it is open whether;false:;wrong:;For example;e.g.;Usually;possibly with;Since;Because;;"
    "For example, with;We refuse to assume that;Nobody would take it that;The paper says (wrongly) that"
)
CLAIMS = SAID.split(";")
ASSUMPTIONS = [
    "with $x = y$", ", where $x = y$", "and $x = y$", ", $x = y$", "such that $x = y$", "satisfying $x = y$",
    ". Assume $x = y$", ". We also assume that $x = y$", ". Suppose that the numbers satisfy $x = y$", "as long as $x = y$",
    "be given, with $x = y$", "be the scales of layer $n$, and $x = y$", "(the scales) and $x = y$", ":\n- $x = y$",
    ". Now let $x = y$ hold throughout", "with $x = y$ be numbers of any kind", ". Provided that $x = y$",
    ". Assume now that $x = y$", ". Suppose first that $x = y$", ". Assume, moreover, that $x = y$", ". Suppose also $x = y$",
    ". Assume for simplicity that $x = y$", ". Suppose, as usual, that $x = y$", ". Let now $x = y$",
    "and assume $x = y$, so both are one", ". Let us further suppose that $x = y$", "with\n$x = y$",
]  # fmt: skip

TALK = [
    ". Assume nowhere that $x = y$", ". Suppose for contradiction that $x = y$",
    ". Assume $x = y$ is wrong", ". Since $x = y$ is too strong", "with often $x = y$", "and we have $x = y$",
    ", so $x = y$", "be in the claim $x = y$", "and then $x = y$", ". Where does $x = y$ come from?", ". Let $x = y$?",
    "in the belief that $x = y$", "  $x = y$", "be such that one hopes for $x = y$", ". It is false that, with $x = y$",
    ". Suppose $x = y$ with probability one half", ". Suppose $x = y$ with high probability", ". Let $x = y$ in distribution",
    ". Let $x = y$ be the equation to be solved", ". Suppose $x = y$, which is absurd", ". Suppose $x = y$ as $n \\to \\infty$",
    ". Suppose both $x = y$ and $x = 1$ cannot hold",
]  # fmt: skip


def verdicts(said: str) -> tuple[list[str], int]:
    head = f"Let $n \\in \\mathbb{{N}}$. Let $x, y \\in \\mathbb{{R}}$ {said}."
    report = check_document(head + "\n\n$$ 2 x = x + y $$\n")  # `x = y` alone reads as a definition
    return [str(step.verdict) for step in report.steps], len(report.ignored_relations)


@pytest.mark.parametrize("words", CLAIMS)
def test_what_is_claimed_doubted_or_denied_is_not_assumed(words: str) -> None:
    for said in (f". {words} $x = y$", f"{words.lower()} $x = y$"):
        found, noted = verdicts(said)
        assert "UNDECIDED" in found  # what is claimed may be what the step rests on
        assert "REFUTED" not in found, said
        assert not {"PROVED", "EXACT", "AGREES"} & set(found), said
        assert noted == 1 or "UNREADABLE" in found, said


@pytest.mark.parametrize("said", TALK)
def test_words_between_and_behind_count_too(said: str) -> None:
    found, noted = verdicts(said)
    assert found in (["REFUTED"], ["UNDECIDED"]) and noted >= 1


@pytest.mark.parametrize("said", ASSUMPTIONS)
def test_what_is_assumed_is_assumed(said: str) -> None:
    found, noted = verdicts(said)
    assert found in (["PROVED"], ["EXACT"]) and noted == 0


def test_a_symbol_is_not_restated_by_a_claim() -> None:
    head = "Let $a, b > 0$. Put $p := a / (b + 1)$. "
    report = check_document(head + "We show that $p \\in [0, 1]$.\n\n$$ p \\le 1 $$\n")
    assert [str(step.verdict) for step in report.steps] == ["UNDECIDED"] and report.ignored_relations
    report = check_document("Let $a > 0$. It is well known that $p \\in [0, 1]$.\n\n$$ p \\le 1 $$\n")
    assert [str(step.verdict) for step in report.steps] == ["UNREADABLE"] and report.ignored_relations


def test_a_claim_said_twice_is_refuted() -> None:
    report = check_document("Let $a, b > 0$. We show that $a^2 = a b$. Indeed,\n\n$$ a^2 = a b $$\n")
    assert [str(step.verdict) for step in report.steps] == ["REFUTED"]


def test_a_claim_restates_nothing_where_sizes_are_stated_later() -> None:
    text = "Let $x \\in \\mathbb{R}^{n}$. Often $p \\in [0, 1]$. Let $n \\in \\mathbb{N}$.\n\n$$ p \\le 1 $$\n"
    report = check_document(text)
    assert [str(step.verdict) for step in report.steps] == ["UNREADABLE"] and report.ignored_relations


def test_a_claim_defines_nothing_and_its_condition_binds_nothing() -> None:
    report = check_document("Let $x \\in \\mathbb{R}$. We claim that $s = x$ for $x > 0$.\n\n$$ s = x $$\n")
    assert [str(step.verdict) for step in report.steps] == ["UNREADABLE"]
    assert [text.split("$")[1] for _, text in report.ignored_relations] == ["s = x", "x > 0"]


def test_the_report_says_what_is_not_assumed(tmp_path: Path) -> None:
    path = tmp_path / "claim.md"
    path.write_text("Let $x \\in \\mathbb{R}$.\nWe show that $x > 0$.\n\n$$ x + x = 2 x $$\n", encoding="utf-8")
    for options in ([], ["--explain"]):
        shown = CliRunner().invoke(main, ["derive", str(path), *options]).output
        assert "2  not assumed: $x > 0$ (after 'We show that')" in shown
    report = check_document(path)
    assert [one["line"] for one in report.as_dict()["not_assumed"]] == [2]
    assert "not assumed: <math" in page([(report, path.read_text(encoding="utf-8"))])


def test_a_sentence_is_judged_by_itself() -> None:
    parts = ["Let ", "n", " with ", "n > 1", ". Often ", "n = 5", ". Assume ", "n = 6", "."]
    assert standings(parts)[3::2] == [Standing.ASSUMED, Standing.SAID, Standing.ASSUMED]
