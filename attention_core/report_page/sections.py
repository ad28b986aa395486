"""The sections of a page: what each file says in a line, whether that is good, and its HTML.

Each command's own renderer makes the HTML where it has one; derivations, grades and training are made here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attention_core.declaration.implementation import TargetError
from attention_core.html_page import render
from attention_core.report_page.curves import draw_curves
from attention_core.report_page.parts import Part

if TYPE_CHECKING:
    from markupsafe import Markup

LEVEL = 3
"""Of the headings within a section."""
GOOD, BAD, OPEN, PLAIN = "good", "bad", "open", "plain"
"""What a verdict means to a reader: right, wrong, not known; or nothing is judged."""
STATES = (BAD, OPEN, GOOD, PLAIN)
"""In the order in which a page has them."""


@dataclass(frozen=True)
class Section:
    """One part of the page.

    Args:
        title: the question. name: of the file. verdict: a word or two. state: `GOOD`, `BAD`, `OPEN` or `PLAIN`.
        remark: the verdict in a line. body: HTML. kind: of the part.
    """

    title: str
    name: str
    verdict: str
    state: str
    remark: str
    body: Markup
    kind: str


def section_of(part: Part) -> Section:
    """Return the section of one file.

    Raises:
        TargetError: the file is of a known kind, and does not hold what that kind holds.
    """
    try:
        return MAKERS[part.kind](part)
    except (AttributeError, KeyError, TypeError, ValueError, IndexError, TargetError) as error:
        words = str(error) if isinstance(error, TargetError) else f"{type(error).__name__}: {error}"
        raise TargetError(f"{part.name} does not hold what `{part.kind}` writes: {words}") from error


def verify_section(part: Part) -> Section:
    """Verdicts, laws and counterexamples."""
    from attention_core.conformance.report.render_html import to_sections
    from attention_core.conformance.report.results import WORST_FIRST
    from attention_core.conformance.report.shards import report_from_dict

    reports = [report_from_dict(one) for one in part.data.get("reports", [part.data])]
    verdicts = [report.verdict for report in reports]
    worst = next((word for word in WORST_FIRST if word in verdicts), "incomplete")
    remark = count_words(verdicts, WORST_FIRST) if len(reports) != 1 else reports[0].target
    state = {"conforms": GOOD, "refuted": BAD}.get(worst, OPEN)
    title = "Is this attention right?"
    return Section(title, part.name, worst, state, remark, to_sections(reports, LEVEL), part.kind)


DERIVATIONS = """\
{% for document in documents %}
<h3>{{ document.file }}</h3>
{% if documents | length > 1 %}<p>{{ document.summary }}</p>{% endif %}
<table class="steps"><tr><th>step</th><th>verdict</th><th>relation, and what the verdict rests on</th></tr>
{% for step in document.steps %}<tr><td>{{ step.id }}<br><span class="file">line {{ step.line }}</span></td>
<td class="{{ step.state }}">{{ step.verdict }}</td>
<td><div class="formula" tabindex="0">{{ step.formula }}</div>
{% for line in step.lines %}{% if not loop.first %}<br>{% endif %}{{ line | breakable }}{% endfor %}</td></tr>
{% endfor %}</table>
{% endfor %}
"""


def derive_section(part: Part) -> Section:
    """Every step of every document."""
    documents = [document_of(one) for one in part.data["documents"]]
    states = [step["state"] for document in documents for step in document["steps"]]
    state = BAD if BAD in states else OPEN if OPEN in states or not states else GOOD
    verdict = {BAD: "refuted", OPEN: "not all known", GOOD: "holds"}[state]
    say = f"{documents[0]['file']} says" if len(documents) == 1 else "the documents say"
    remark = f"{states.count(GOOD)} of {len(states)} steps are as {say}"
    title = "Is what was derived true?"
    return Section(title, part.name, verdict, state, remark, render(DERIVATIONS, documents=documents), part.kind)


def document_of(data: Mapping[str, Any]) -> dict[str, Any]:
    """One document as the template has it: steps that are bad first, then those not known; each has its line."""
    steps = sorted(map(step_of, data["steps"]), key=lambda step: STATES.index(step["state"]))
    good = sum(step["state"] == GOOD for step in steps)
    return {
        "file": data["file"], "steps": steps, "summary": f"{good} of {len(steps)} steps are as the document says"
    }  # fmt: skip


def step_of(step: Mapping[str, Any]) -> dict[str, Any]:
    """One step as the template has it."""
    from markupsafe import Markup

    from attention_core.derivation.cases.counterexamples import describe
    from attention_core.derivation.report import inline, prose

    bad = step["verdict"] in ("REFUTED", "VACUOUS") or step["expected"] == "refuted"
    lines = [step["evidence"]["text"]]
    example = step["counterexample"]
    if example is not None:
        where = f" in {example['where']}" if example["where"] else ""
        values = describe(example["values"])
        lines.append(f"left side{where}: {example['left']}; right side: {example['right']}")
        lines += [f"at {values}"] if example["values"] and values not in lines[0] else []
    lines += [Markup(prose(step["evidence"]["advice"]))] if step["evidence"]["advice"] else []
    return {
        "id": step["id"], "line": step["line"], "formula": Markup(inline(step["text"])),
        "verdict": step["verdict"] + (", as expected" if step["expected"] and step["passed"] else ""),
        "state": GOOD if step["passed"] else BAD if bad else OPEN, "lines": lines,
    }  # fmt: skip


def bench_section(part: Part) -> Section:
    """Times, memory and errors, side by side."""
    from importlib.util import find_spec

    from attention_core.bench.report.render_html import to_sections
    from attention_core.bench.report.results import Results
    from attention_core.conformance.report.results import count

    results = Results.from_dict(part.data)
    statuses = [column.status for cell in results.cells for column in cell.kernels.values()]
    refuted = statuses.count("refuted")
    remark = f"{statuses.count('timed')} of {count(len(statuses), 'time')} in {count(len(results.cells), 'cell')}"
    remark += f"; {refuted} refuted and not timed" if refuted else ""
    drawn = find_spec("matplotlib") is not None
    remark += "" if drawn else "; pictures need matplotlib: pip install 'attention-core[bench]'"
    body = to_sections(results, LEVEL, drawn=drawn)
    state, verdict = (BAD, "wrong kernels") if refuted else (PLAIN, "timed")
    return Section("How fast is it?", part.name, verdict, state, remark, body, part.kind)


def revisions_section(part: Part) -> Section:
    """Two revisions: the ratio of their times, with its interval."""
    from attention_core.bench.revisions.comment import ORDER, WORDS, headline
    from attention_core.bench.revisions.outcomes import Comparison
    from attention_core.bench.revisions.render_html import to_sections

    found = Comparison.from_dict(part.data)
    verdicts = [one.verdict for one in found.outcomes]
    verdict = next((WORDS[word] for word in ORDER if word in verdicts), "nothing measured")
    state = {0: GOOD, 1: BAD}.get(found.exit_status, OPEN)
    remark = f"head {found.head.words} against base {found.base.words}: {headline(found)}"
    return Section("Did the change make it slower?", part.name, verdict, state, remark, to_sections(found), part.kind)


def audit_section(part: Part) -> Section:
    """Which wrong attention a suite would let through."""
    from attention_core.audit.render_html import to_sections
    from attention_core.audit.render_text import headline
    from attention_core.audit.results import Audit

    audit = Audit.from_dict(part.data)
    state = {"passes": GOOD, "survivors": BAD}.get(audit.verdict, OPEN)
    title = "Would these tests see a wrong attention?"
    body = to_sections(audit, LEVEL, scored=False)  # the section's remark has the score
    return Section(title, part.name, audit.verdict, state, headline(audit), body, part.kind)


def grade_section(part: Part) -> Section:
    """Each submission with its verdict, its time and its smallest case."""
    from attention_core.grading.render_html import ORDER, name_verdicts, to_sections
    from attention_core.grading.results import Grade

    grades = [Grade.from_dict(one) for one in part.data["grades"]]
    states = {"accepted": GOOD, "refused": BAD}
    verdicts = [each.verdict for each in grades]
    worst = next((word for word in ORDER if word in verdicts), "incomplete")
    remark, title = name_verdicts(grades), "Which submissions are right, and how fast?"
    return Section(title, part.name, worst, states.get(worst, OPEN), remark, to_sections(grades, LEVEL), part.kind)


MATRIX = (
    ("package", ""), ("version", ""), ("target", ""), ("runtime", ""), ("verdict", ""), ("laws broken", ""),
)  # fmt: skip


def matrix_section(part: Part) -> Section:
    """Each foreign implementation with its verdict."""
    from attention_core.conformance.report.results import WORST_FIRST

    def place(row: Mapping[str, Any]) -> int:
        known = row["verdict"] in WORST_FIRST
        return WORST_FIRST.index(row["verdict"] if known else "incomplete")

    rows = sorted(part.data["rows"], key=place)
    states = {"conforms": GOOD, "refuted": BAD}
    cells = [
        [*((str(row[name]), "") for name in ("package", "version", "target", "runtime")),
         (row["verdict"], states.get(row["verdict"], OPEN)), (", ".join(row["refuted"]), "")]
        for row in rows
    ]  # fmt: skip
    verdicts = [row["verdict"] for row in rows]
    worst = next((word for word in WORST_FIRST if word in verdicts), "incomplete")
    body = render("{{ table(heads, rows) }}", heads=MATRIX, rows=cells)
    title, remark = "Which released attention is right?", count_words(verdicts, WORST_FIRST)
    return Section(title, part.name, worst, states.get(worst, OPEN), remark, body, part.kind)


TRAINING = """\
{% for picture in pictures %}<figure>{{ picture }}</figure>{% endfor %}
{{ table(heads, rows) }}
"""


def training_section(part: Part) -> Section:
    """Curves of what was recorded, and the last record."""
    records: Sequence[Mapping[str, Any]] = part.data
    last = records[-1]
    rows = [((name, ""), (f"{value:.6g}" if isinstance(value, float) else str(value), "number"))
            for name, value in last.items()]  # fmt: skip
    heads = (("at the last record", ""), ("value", "number"))
    body = render(TRAINING, pictures=draw_curves(records), heads=heads, rows=rows)
    remark = f"{len(records)} records up to step {last['step']}"
    return Section("How did the training go?", part.name, "recorded", PLAIN, remark, body, part.kind)


def count_words(verdicts: Sequence[str], order: Sequence[str]) -> str:
    """How often each verdict is there.

    >>> count_words(["conforms", "refuted", "conforms"], ("refuted", "conforms"))
    '1 refuted, 2 conforms'
    """
    return ", ".join(f"{verdicts.count(word)} {word}" for word in order if word in verdicts)


MAKERS: Mapping[str, Callable[[Part], Section]] = {
    "verify": verify_section,
    "derive": derive_section,
    "bench": bench_section,
    "bench --base": revisions_section,
    "audit": audit_section,
    "grade": grade_section,
    "matrix": matrix_section,
    "training": training_section,
}
