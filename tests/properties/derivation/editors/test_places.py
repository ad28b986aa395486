r"""Where a step stands in its text: from its first to its last character, over rows and marks of alignment."""

from __future__ import annotations

from attention_core.derivation.check import document_steps
from attention_core.derivation.editors.places import Span, span_of
from attention_core.derivation.records import Evidence, StepReport, Verdict

TEXT = r"""Let $d \in \mathbb{N}$, $q, k \in \mathbb{R}^{d}$.

$$ q^\top k = \sum_{i=1}^{d} q_i k_i \le \|q\| \, \|k\|, \qquad q^\top q \ge 0 \tag{three} $$

$$
\begin{aligned}
 q^\top k &= \sum_{i=1}^{d}
    q_i k_i && \text{by definition} \\
  &\le \|q\| \|k\|
\end{aligned}
$$

$$ q^\top q \ge 0 $$
"""


def report(line: int, text: str) -> StepReport:
    return StepReport("a", line, text, Verdict.AGREES, Evidence(""))


def marked(line: int, text: str) -> str:
    lines = TEXT.splitlines()
    span = span_of(report(line, text), lines)
    whole = "\n".join(lines[span.line : span.last + 1])
    return whole[span.start : len(whole) - len(lines[span.last]) + span.end]


def test_the_relations_of_one_line_are_told_apart() -> None:
    steps = [step for step in document_steps(TEXT)[1] if step.line == 3]
    assert [marked(step.line, step.text) for step in steps] == [
        r"q^\top k = \sum_{i=1}^{d} q_i k_i",
        r"\sum_{i=1}^{d} q_i k_i \le \|q\| \, \|k\|",
        r"q^\top q \ge 0",
    ]


def test_a_relation_is_marked_over_rows_and_where_its_own_line_is() -> None:
    first, second, last = (step for step in document_steps(TEXT)[1] if step.line > 3)
    assert marked(first.line, first.text) == "q^\\top k &= \\sum_{i=1}^{d}\n    q_i k_i"
    assert marked(second.line, second.text) == r"&\le \|q\| \|k\|"  # a reason stands between: its line
    assert last.line == 13 and marked(last.line, last.text) == r"q^\top q \ge 0"


def test_what_is_not_found_is_its_line_and_a_line_that_is_not_there_the_last() -> None:
    lines = TEXT.splitlines()
    assert span_of(report(3, "x = y"), lines) == Span(2, 0, 2, len(lines[2]))
    assert span_of(report(99, ""), lines).line == len(lines) - 1
    assert span_of(report(1, "x = y"), []) == Span(0, 0, 0, 0)
