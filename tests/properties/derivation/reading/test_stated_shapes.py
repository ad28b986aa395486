"""Relations that only say shapes are no steps; those that claim one are."""

from __future__ import annotations

import pytest

from attention_core.derivation import DocumentReport, check_document
from attention_core.derivation.effort import Effort
from attention_core.derivation.reading.stated_shapes import take_out_shapes
from attention_core.derivation.terms.context import Context

SAYS = "declared by the display: "


def check(text: str, infer: bool = True) -> DocumentReport:
    return check_document(f"{text}\n\n$$ 1 + 1 = 2 $$\n", effort=Effort(seconds=2), infer=infer)


def said(report: DocumentReport) -> list[str]:
    """The relations that declare, as they are written."""
    return [text.removeprefix(SAYS) for _, text in report.unchecked_relations if text.startswith(SAYS)]


@pytest.mark.parametrize(
    ("display", "declares"),
    [
        (r"Q K^\top \in \mathbb{R}^{n \times n}", r"Q K^\top \in \mathbb{R}^{n \times n}"),
        (r"Q = X W \in \mathbb{R}^{n \times d}", r"X W \in \mathbb{R}^{n \times d}"),
        (
            r"\operatorname{diag}(y) - y y^\top \in \mathbf{R}^{V \times V}",
            r"\operatorname{diag}(y) - y y^\top \in \mathbb{R}^{V \times V}",
        ),
        (r"A \in \mathbb{R}^{n \times d}", r"A \in \mathbb{R}^{n \times d}"),
    ],
)
def test_what_gives_undeclared_symbols_their_shapes_is_no_step(display: str, declares: str) -> None:
    report = check(f"$$ {display} $$")
    assert said(report) == [declares] and report.passed and len(report.steps) == 1


@pytest.mark.parametrize(
    ("declared", "display", "verdict"),
    [
        (r"Let $U \in \mathbb{R}^{2 \times 3}$ and $v \in \mathbb{R}^3$.", r"U v \in \mathbb{R}^{2}", "PROVED"),
        (r"Let $U \in \mathbb{R}^{2 \times 3}$ and $v \in \mathbb{R}^3$.", r"U v \in \mathbb{R}^{3}", "REFUTED"),
        ("", r"x^2 \in [0, 1]", "UNDECIDED"),
        ("% expect: refuted", r"A x \in \mathbb{R}^{n}", "UNDECIDED"),
    ],
)
def test_what_claims_is_a_step(declared: str, display: str, verdict: str) -> None:
    report = check(f"{declared}\n\n$$ {display} $$" if "%" not in declared else f"{declared}\n$$ {display} $$")
    assert [str(step.verdict) for step in report.steps] == [verdict, "PROVED"] and not said(report)


def test_a_shape_that_contradicts_the_section_stays_open() -> None:
    """Nothing that an author may have got wrong is taken for a declaration."""
    first = (
        r"$$ Q = X W \in \mathbb{R}^{n \times d} $$" + "\n\n" + r"$$ K = X V \in \mathbb{R}^{n \times d} $$" + "\n\n"
    )
    right, wrong = (check(rf"{first}$$ Q K^\top \in \mathbb{{R}}^{{n \times {size}}} $$") for size in "nd")
    assert right.passed and len(said(right)) == 3
    assert not wrong.passed and len(said(wrong)) == 2
    (step, _) = wrong.steps
    assert step.verdict == "UNDECIDED" and "not as its section uses the symbols" in step.evidence.text


def test_without_inference_all_are_steps() -> None:
    (step, _) = check(r"$$ A x \in \mathbb{R}^{n} $$", infer=False).steps
    assert step.verdict == "UNREADABLE"
    assert take_out_shapes(Context(), [], None) == []
