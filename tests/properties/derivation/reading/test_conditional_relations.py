"""Relations that a sentence states under a condition: neither of them is assumed."""

from __future__ import annotations

import pytest

from attention_core.derivation.check import check_document
from attention_core.derivation.reading.conditional_relations import find_conditional
from attention_core.derivation.records import GOOD

DECLARED = r"Let $a, b, k \in \mathbb{R}$"
WORDS = (
    "when", "whenever", "if", "provided", "provided that", "given", "given that", "as long as", "so long as", "assuming",
    "assuming that", "supposing", "only if", "in case", "unless", "under", "once",
)  # fmt: skip


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("infer", [True, False])
def test_a_relation_under_a_condition_is_not_assumed(word: str, infer: bool) -> None:
    displays = "".join(f"Hence\n\n$$ {formula} $$\n\n" for formula in ("b = 1", "2 a b = 2 k b", "a = k"))
    for head in (f"{DECLARED}, where $a = k$ {word} $b = 1$.", f"{DECLARED}. Suppose $a = k$ {word} $b = 1$."):
        found = check_document(f"{head}\n\n{displays}", infer=infer).steps
        assert all(str(one.verdict) in ("UNDECIDED", "UNREADABLE") for one in found), head


@pytest.mark.parametrize("word", ["and", "with", "where", "such that"])
def test_what_is_joined_to_an_assumption_is_assumed(word: str) -> None:
    for formula in ("a = k", "b = 1"):
        text = f"{DECLARED}. Suppose $a = k$ {word} $b = 1$.\n\nHence\n\n$$ {formula} $$\n"
        assert check_document(text).steps[-1].verdict in GOOD


@pytest.mark.parametrize("word", ["for", "if", "whenever"])
def test_a_condition_on_an_index_says_of_which_entries(word: str) -> None:
    head = rf"Let $n \in \mathbb{{N}}$ and $x \in \mathbb{{R}}^n$. Assume $x_i = 0$ {word} $i > 2$."
    for formula, right in ((r"\sum_{i=3}^n x_i = 0", True), (r"\sum_{i=1}^n x_i = 0", False)):
        assert (check_document(f"{head}\n\n$$ {formula} $$\n").steps[-1].verdict in GOOD) is right


@pytest.mark.parametrize(
    "head",
    [
        "Put $f(x) = x$ for $x > 0$ and $f(x) = -x$ for $x \\le 0$.", "Let $f(x) = x$ if $x > 0$, and $f(x) = -x$ else.",
        "Define $f(x) = x$ for $x > 0$ and $f(x) = -x$ otherwise.",
    ],
)  # fmt: skip
def test_a_function_is_not_defined_beyond_its_condition(head: str) -> None:
    found = check_document(f"{head}\n\nHence\n\n$$ f(-2) = -2 $$\n\n$$ f(-1) = 1 $$\n", infer=True).steps
    assert all(str(one.verdict) == "UNDECIDED" for one in found[-2:])


def test_a_function_that_is_defined_for_all_reals_is_defined() -> None:
    found = check_document("Put $f(x) = x^2$ for $x \\in \\mathbb{R}$.\n\nHence\n\n$$ f(-2) = 4 $$\n", infer=True)
    assert found.steps[-1].verdict in GOOD


def test_all_that_is_joined_to_a_condition_belongs_to_it() -> None:
    assert find_conditional(["Suppose ", "a = 1", " and ", "b = 2", " if ", "c = 3", " and ", "d = 4", "."]) == {
        1,
        3,
        5,
        7,
    }
    assert find_conditional(["Suppose ", "a = 1", ". If ", "c = 3", ", then"]) == set()


@pytest.mark.parametrize(
    "head",
    [
        "Let $f(x) = \\log x$ for $x > 0$.",
        "Define $f(x) = \\log x$, as long as $x > 0$.",
        "Put $f(x) = \\log x$ if $x > 0$.",
    ],
)
def test_a_condition_that_says_where_a_function_has_a_value_defines_it(head: str) -> None:
    assert check_document(f"{head} Then\n\n$$ f'(x) = \\frac{{1}}{{x}} $$\n", infer=True).steps[-1].verdict in GOOD


def test_a_condition_on_what_a_value_is_made_of_is_assumed_with_it() -> None:
    text = "Let $x \\in \\mathbb{R}$. Let $y = \\frac{1}{x}$ provided $x \\ne 0$. Then\n\n$$ x y = 1 $$\n"
    assert check_document(text, infer=True).steps[-1].verdict in GOOD
