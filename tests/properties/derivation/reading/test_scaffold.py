"""The declarations that a document misses."""

from __future__ import annotations

import re

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.effort import Effort
from attention_core.derivation.reading.scaffold import scaffold


@pytest.mark.parametrize(
    "formula",
    [
        r"(Q K^\top + \lambda B) x = Q K^\top x + \lambda B x",
        r"\sum_{i=1}^{n} p_i x_i = \sum_{j=1}^{n} x_j p_j",
        r"\|\mathbf{q} - \mathbf{k}_i\|^2 - \sum_j \|\mathbf{k}_j\|^2 = \|\mathbf{q}\|^2 - 2 \mathbf{q}^\top \mathbf{k}_i "
        r"+ \|\mathbf{k}_i\|^2 - \sum_j \|\mathbf{k}_j\|^2",
    ],
)
def test_a_document_with_its_scaffold_says_everything(formula: str) -> None:
    display = f"$$ {formula} $$\n"
    missing = scaffold(display)
    assert missing.startswith("Let $")
    (step,) = check_document(f"{missing}\n{display}", effort=Effort(seconds=2)).steps
    assert step.passed, step.evidence.text


def test_each_section_has_its_own_and_functions_are_named() -> None:
    text = "# One\n\n$$ a b = b a $$\n\n# Two\n\n$$ f(x) + A = A + f(x) $$\n"
    found = scaffold(text)
    assert (
        found.index("Below line 1, 'One':") < found.index(r"$b \in \mathbb{R}$") < found.index("Below line 5, 'Two':")
    )
    assert found.rstrip().endswith("Not defined: $f(x)$.")
    assert scaffold("Let $x \\in \\mathbb{R}$.\n\n$$ x = x $$\n") == ""


def test_what_no_let_could_declare_is_named_apart() -> None:
    text = r"$$ 2 \max_{\pi \in S} c + B = B + 2 \operatorname{argmin}_{f \in S} c + u|_{t = 0} $$" + "\n"
    found = scaffold(text)
    assert r"Let $B \in" in found
    declared, undefined = found.split("Not defined: ")
    assert "argmin" in undefined and "max" in undefined and "t = 0" in undefined
    assert "argmin" not in declared and "S" not in declared
    assert (
        r"$\mathbf{1}$"
        in scaffold("$$ x^\\top \\mathbf{1} + 1 = 1 + \\mathbf{1}^\\top x $$\n").split("Without a size: ")[1]
    )


def paste(text: str) -> str:
    """A document with the paragraphs of its scaffold where they belong."""
    lines, place = text.split("\n"), 0
    paragraphs: dict[int, list[str]] = {}
    for line in scaffold(text).split("\n"):
        found = re.match(r"Below line (\d+)", line)
        place = int(found[1]) if found else place
        if line and not found:
            paragraphs.setdefault(place, []).append(line)
    for place in sorted(paragraphs, reverse=True):
        lines[place:place] = ["", *(one for each in paragraphs[place] for one in (each, "")), ""]
    return "\n".join(lines)


@pytest.mark.parametrize(
    "text",
    [
        "$$ \\sum_{i=1}^n (w^\\top x^{(i)} - y^{(i)})^2 = \\sum_{i=1}^n (y^{(i)} - w^\\top x^{(i)})^2 $$\n",
        "$$ \\sum_{i=1}^m x_j^{(i)} (w^\\top x^{(i)} - y^{(i)}) = \\sum_{k=1}^m (w^\\top x^{(k)} - y^{(k)}) x_j^{(k)} $$\n",
        "# One\n\n$$ J = \\frac{1}{m} \\sum_{i=1}^m p_i $$\n\n# Two\n\n$$ m p_1 = p_1 m $$\n",
        "The noise $\\epsilon \\sim \\mathcal{N}(0, \\sigma^2)$ is small.\n\n"
        "$$ \\mathbb{E}[(a + \\epsilon)^2] = a^2 + \\sigma^2 $$\n",
    ],
)
def test_what_is_proposed_leads_to_a_verdict_when_it_is_pasted(text: str) -> None:
    proposed = scaffold(text)
    assert "cdot" not in proposed and "Not defined" not in proposed
    last = check_document(paste(text), effort=Effort(seconds=2), infer=False).steps[-1]
    assert last.passed, (proposed, last.evidence.text)


def test_samples_are_proposed_as_a_family_and_noise_with_its_law() -> None:
    assert r"$x^{(1)}, \dots, x^{(n)} \in \mathbb{R}^{d}$" in scaffold(
        "Here $w \\in \\mathbb{R}^d$.\n\n$$ \\sum_{i=1}^n w^\\top x^{(i)} = w^\\top \\sum_{i=1}^n x^{(i)} $$\n"
    )
    noise = "$$ \\mathbb{E}[(a + \\epsilon)^2] = a^2 + 1 $$\n"
    stated = scaffold(f"The noise is $\\epsilon \\sim \\mathcal{{N}}(0, 1)$.\n\n{noise}")
    assert r"$\epsilon \sim \mathcal{N}(0, 1)$." in stated and r"\epsilon \in" not in stated
    assert r"Averaged, without a law: $\epsilon$. Write one" in scaffold(noise)


def test_a_document_with_double_dollars_in_sentences_gets_its_declarations_so() -> None:
    text = "Take $$a$$ here, then $$b$$ and $$c$$ there.\n\n$$\n(a + b)^2 = a^2 + b^2\n$$\n"
    proposed = scaffold(text)
    assert "$$a \\in \\mathbb{R}$$" in proposed and "$" not in proposed.replace("$$", "")
    step, *others = check_document(f"{proposed}\n{text}", infer=True).steps
    assert not others and "read as" not in step.evidence.text  # its letters are declared, and no sentence is a display


SETS = "Sets that no declaration describes: "


@pytest.mark.parametrize(
    "formula", [r"\frac{1}{|B|} \sum_{i \in B} x_i = y", r"\sum_{i \in B_k} x_i = y", r"|B| \sum_{i \in B} x_i = y"]
)
def test_a_set_of_indices_is_not_proposed_as_a_number(formula: str) -> None:
    found = scaffold(f"$$ {formula} $$\n")
    declared, line = found.split(SETS)
    assert "B" not in declared and line.startswith("$B$. Write sums over ranges")
    assert r"$y \in \mathbb{R}$" in declared


def test_what_only_a_set_needs_is_left_out() -> None:
    text = r"$$ B = \{1, \dots, m\} $$" + "\n\n" + r"$$ \sum_{i \in B} x_i = \sum_{i=1}^{m} x_i $$" + "\n"
    declared, line = scaffold(text).split(SETS)
    assert declared.strip() == r"Let $m \in \mathbb{N}$, $x_1, \dots, x_{m} \in \mathbb{R}$." and line.startswith(
        "$B$."
    )


@pytest.mark.parametrize(
    "formula", [r"\sum_{i \in [n]} x_i = B", r"|B| + 1 = y + \sum_{i=1}^{n} x_i", r"\max_{\pi \in S} c = B"]
)
def test_numbers_beside_ranges_are_proposed_as_before(formula: str) -> None:
    found = scaffold(f"$$ y = {formula} $$\n")
    assert SETS not in found and r"$B \in" in found


def test_a_pasted_line_of_sets_changes_no_verdict() -> None:
    text = r"$$ \frac{1}{|B|} \sum_{i \in B} x_i + y = y + \frac{1}{|B|} \sum_{i \in B} x_i $$" + "\n"
    assert [step.passed for step in check_document(paste(text), infer=True).steps] == [True]
