"""Grades as one self-contained HTML page: the verdicts, then each submission with its times and its smallest case.

Whatever comes from a submission is escaped; the page loads nothing and runs no script.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from attention_core.grading.render_text import details, sort_by_rank, speed_of
from attention_core.grading.results import Grade
from attention_core.html_page import STYLE, render, render_page

if TYPE_CHECKING:
    from markupsafe import Markup

COLOURS = """
.accepted { color: light-dark(#197a35, #6bd089); }
.refused { color: light-dark(#c22, #ff8d8d); font-weight: 600; }
.incomplete, .error { color: light-dark(#8a5a00, #ffcc66); font-weight: 600; }
.name { overflow-wrap: anywhere; min-width: 7rem; }
"""
ORDER = ("refused", "error", "incomplete", "accepted")
NAMED = 4
"""Submissions that a summary names; of more it counts the verdicts."""
TIMES = (
    ("shape", ""), ("ratio", "number"), ("95 % interval", "number"), ("time", "number"), ("reference", "number"),
    ("calls judged", "number"), ("error / allowed", "number"),
)  # fmt: skip
SECTIONS = """\
{{ table((("submission", ""), ("verdict", ""), ("speed, or why not", "")), rows) }}
{% for one in submissions %}
<h{{ level }}>{{ one.name }}</h{{ level }}>
<p><strong class="{{ one.verdict }}">{{ one.verdict }}</strong>{% if one.why %}: {{ one.why }}{% endif %}</p>
{% if one.times %}{{ table(heads, one.times) }}{% endif %}
{% for line in one.lines %}<p>{{ line }}</p>
{% endfor %}
{% if one.snippet %}<pre>{{ one.snippet }}</pre>{% endif %}
<p>{{ one.origin }}</p>
{% endfor %}
"""


def to_html(grades: Sequence[Grade]) -> str:
    """Return the page.

    >>> "refused: b.py; accepted: a.py" in to_html([Grade("a.py", "t", "accepted"), Grade("b.py", "t", "refused")])
    True
    """
    template = '<h1>{{ title }}</h1>\n<p class="{{ worst }}"><strong>{{ summary }}</strong></p>\n{{ sections }}'
    verdicts, summary = [grade.verdict for grade in grades], name_verdicts(grades)
    worst = next((word for word in ORDER if word in verdicts), "incomplete")
    title = f"Grades of {', '.join(dict.fromkeys(grade.task for grade in grades))}"
    return render_page(
        title, STYLE + COLOURS, template, title=title, summary=summary, worst=worst, sections=to_sections(grades)
    )


def name_verdicts(grades: Sequence[Grade]) -> str:
    """Which submissions have which verdict, the worst first; of more than `NAMED`, how many.

    >>> name_verdicts([Grade("a.py", "t", "accepted"), Grade("b.py", "t", "refused")])
    'refused: b.py; accepted: a.py'
    """
    names = {word: [grade.submission for grade in grades if grade.verdict == word] for word in ORDER}
    if len(grades) > NAMED:
        return ", ".join(f"{len(own)} {word}" for word, own in names.items() if own)
    return "; ".join(f"{word}: {', '.join(own)}" for word, own in names.items() if own)


def to_sections(grades: Sequence[Grade], level: int = 2) -> Markup:
    """Return the table of all submissions and a section for each, without the page; headings are of a level."""
    ranked = sort_by_rank(grades)
    rows = [((one.submission, "name"), (one.verdict, one.verdict), (fast(one) or why(one), "")) for one in ranked]
    return render(SECTIONS, rows=rows, level=level, heads=TIMES, submissions=[describe(grade) for grade in ranked])


def describe(grade: Grade) -> dict[str, Any]:
    """What the section of one submission is filled with."""
    laws = ", ".join(f"{count} laws {word}" for word, count in grade.laws.items() if count)
    origin = [f"task {grade.task}", f"seed {grade.seed}" if grade.seed else "", laws, f"{grade.seconds:.1f} s of CPU"]
    return {
        "name": grade.submission, "verdict": grade.verdict, "why": fast(grade) or why(grade),
        "times": [times(each) for each in grade.timings], "lines": list(details(grade))[len(grade.timings) :],
        "snippet": grade.snippet, "origin": "; ".join(filter(None, origin)),
    }  # fmt: skip


def why(grade: Grade) -> str:
    """Why a submission is not accepted, in a line."""
    return f"{grade.rule}: {grade.reason}" if grade.rule else grade.reason


def fast(grade: Grade) -> str:
    """The speed of an accepted submission, in words."""
    return speed_of(grade) if grade.verdict == "accepted" else ""


def times(each: Any) -> tuple[tuple[str, str], ...]:
    """A row of `TIMES`."""
    c = each["comparison"]
    words = (
        f"{c['ratio']:.2f}", f"{c['low']:.2f} to {c['high']:.2f}",
        f"{each['seconds'] * 1e3:.3g} ms", f"{each['reference'] * 1e3:.3g} ms",
        str(each["calls"]), f"{each['worst']:.2g}",
    )  # fmt: skip
    return ((str(each["shape"]), ""), *((text, "number") for text in words))
