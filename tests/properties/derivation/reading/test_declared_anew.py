r"""Letters that a sentence in the text declares anew: "Now let $k \in [d]$"."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document

HEAD = "Let $d \\in \\mathbb{N}$, $x \\in \\mathbb{R}^d$ and $k \\in \\{1, \\dots, 2\\}$.\n\n$$ k \\le 2 $$\n\n"
FORMAL = "All hypotheses are declared as formulas.\n\n"
GOOD = {"PROVED", "EXACT", "AGREES"}


def verdicts(text: str, infer: bool = False) -> list[str]:
    return [str(step.verdict) for step in check_document(text, infer=infer).steps]


@pytest.mark.parametrize("infer", [False, True])
@pytest.mark.parametrize("words", ["Now let $k \\in [d]$.", "Next, fix an index $k \\in \\{1, \\dots, d\\}$."])
def test_a_known_letter_is_declared_anew_as_an_index(words: str, infer: bool) -> None:
    assert set(verdicts(f"{HEAD}{words}\n\n$$ k \\le d $$\n", infer)) <= GOOD
    _, last = verdicts(f"{FORMAL}{HEAD}{words}\n\n$$ k \\le 2 $$\n", infer)
    assert last == "REFUTED"
    vector = HEAD.replace("k \\in \\{1, \\dots, 2\\}", "k \\in \\mathbb{R}^d").replace("k \\le 2", "k = k")
    assert set(verdicts(f"{vector}{words}\n\n$$ \\sum_k x_k \\le \\sum_k x_k + x_k - x_k $$\n", infer)) <= GOOD


def test_what_was_assumed_of_the_letter_before_is_not_assumed_of_the_new_one() -> None:
    held = FORMAL + HEAD.replace("$.\n", "$ with $x_k = 1$.\n", 1)
    assert verdicts(f"{held}$$ x_k^2 = x_k $$\n")[-1] in GOOD
    assert verdicts(f"{held}Now let $k \\in [d]$.\n\n$$ x_k^2 = x_k $$\n")[-1] not in GOOD


def test_a_condition_beside_a_declaration_still_counts() -> None:
    text = f"{FORMAL}{HEAD}Now let $k \\in [d]$. If $k \\in [2]$, we are done.\n\n$$ k \\le 2 $$\n"
    assert verdicts(text)[-1] == "UNDECIDED"


@pytest.mark.parametrize(
    "words",
    [
        "Now let $k \\in \\mathbb{R}^d$.",
        "Now let $k \\in [d]$ be the position of the largest entry.",
        "Now let $d \\in \\mathbb{N}$.",
    ],
)
def test_a_letter_that_keeps_its_meaning_has_a_line(words: str) -> None:
    report = check_document(f"{HEAD}{words}\n\n$$ k \\le 2 $$\n", infer=False)
    assert report.steps[-1].passed or report.steps[-1].verdict == "UNDECIDED"
    (line,) = report.ignored_relations
    assert line[0] == 5 and "is declared in line 1: open a paragraph with 'Let'" in line[1]


def test_an_entry_of_a_declared_array_is_not_set_to_a_value() -> None:
    text = "Let $d \\in \\mathbb{N}$, $x \\in \\mathbb{R}^d$ and $k \\in [d]$ with $x_k = 1$.\n\nHence\n\n$$ x_k^2 = 1 $$\n"
    assert set(verdicts(text, infer=True)) <= GOOD
