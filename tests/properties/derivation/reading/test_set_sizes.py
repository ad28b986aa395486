r"""The number of elements of a set as a size: $E \in \mathbb{R}^{|V| \times d}$."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import GOOD, Verdict

BARS = ["|V|", r"|\mathcal{V}|", r"\lvert V \rvert", r"\left| V \right|"]


@pytest.mark.parametrize("bars", BARS)
def test_a_number_of_elements_is_a_size(bars: str) -> None:
    head = rf"Let $E \in \mathbb{{R}}^{{{bars} \times d}}$, $h \in \mathbb{{R}}^d$ and $z \in \mathbb{{R}}^{{{bars}}}$."
    right = (r"\|E h\|^2 = h^\top E^\top E h", rf"\sum_{{i=1}}^{{{bars}}} \operatorname{{softmax}}(z)_i = 1")
    wrong = (r"\|E h\|^2 = h^\top E E^\top h", rf"\sum_{{i=1}}^{{{bars}}} \operatorname{{softmax}}(z)_i = {bars}")
    for formulas, verdicts in ((right, GOOD), (wrong, {Verdict.REFUTED})):
        for formula in formulas:
            report = check_document(f"{head}\n\n$$ {formula} $$\n", infer=True)
            assert report.steps[-1].verdict in verdicts, report.steps[-1].evidence.text


def test_reports_show_it_as_it_was_written() -> None:
    text = (
        r"Let $z \in \mathbb{R}^{|\mathcal{V}|}$." "\n\n" r"$$ \sum_{i=1}^{|\mathcal{V}|} z_i = |\mathcal{V}| $$" "\n"
    )
    report = check_document(text, infer=True)
    (found,) = report.steps
    assert found.verdict is Verdict.REFUTED and found.text == r"\sum_{i=1}^{|\mathcal{V}|} z_i = |\mathcal{V}|"
    assert found.counterexample is not None and r"|\mathcal{V}|" in found.counterexample.values
    assert not any("size" in words.partition(":")[0] for _, words in report.understood)


@pytest.mark.parametrize(
    "said", [r"$V \in \mathbb{R}^{n \times d}$", r"$K, V \in \mathbb{R}^{n \times d}$", r"$V^\top V = I_d$"]
)
def test_bars_around_an_array_are_not_a_size(said: str) -> None:
    text = rf"Let $E \in \mathbb{{R}}^{{|V| \times d}}$ and {said}." "\n\n$$ E + E = 2 E $$\n"
    assert check_document(text, infer=True).steps[-1].verdict is Verdict.UNDECIDED


def test_the_magnitude_of_a_number_stays_one() -> None:
    text = "Let $V \\in \\mathbb{R}$.\n\n$$ |V|^2 = V^2 $$\n\n$$ |V| = V $$\n"
    assert [str(one.verdict) for one in check_document(text, infer=True).steps] == ["PROVED", "REFUTED"]
