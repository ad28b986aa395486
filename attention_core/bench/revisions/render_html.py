"""A comparison of two revisions as sections of an HTML page: both revisions, and each kernel with its ratio.

Whatever comes from a kernel's name or a file is escaped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attention_core.bench.revisions.comment import HEADS, WORDS, explain, remarks, row
from attention_core.bench.revisions.outcomes import UNJUDGED, Comparison, Outcome, Revision
from attention_core.bench.timing.machine import busy_words
from attention_core.html_page import render

if TYPE_CHECKING:
    from markupsafe import Markup

ORDER = ("kernel", "verdict", "head / base", "workload", "base", "head")
"""The columns: what is scrolled out of sight on a phone comes last."""
KINDS = {"base": "number", "head": "number", "head / base": "ratio"}
COLUMNS = tuple((name, KINDS.get(name, "")) for name in ORDER)
CLASSES = {"SLOWER": "bad", "FASTER": "good", "SAME": "", "AMBIGUOUS": "open", UNJUDGED: "open"}
SECTIONS = """\
{{ table((("revision", ""), ("name", ""), ("commit", "")), revisions) }}
{{ table(heads, rows) }}
{% for line in remarks %}<p>{{ line }}</p>
{% endfor %}
<p>{{ explanation }} The times of base and head are medians of a call.</p>
<p>{{ machine }}, {{ cores }} cores; {{ versions }}</p>
{% if busy %}<p>Measured while {{ busy }}.</p>{% endif %}
"""


def to_sections(found: Comparison) -> Markup:
    """Return the revisions, a row for each kernel on each workload, and how it was measured, without the page."""
    rows = [cells(one) for one in found.outcomes]
    revisions = [describe("base", found.base), describe("head", found.head)]
    return render(
        SECTIONS, revisions=revisions, heads=COLUMNS, rows=rows, remarks=remarks(found), explanation=explain(found),
        machine=found.machine.get("processor", ""), cores=found.machine.get("cores"),
        versions=", ".join(f"{name} {version}" for name, version in found.versions.items()),
        busy=busy_words(found.machine.get("busy")),
    )  # fmt: skip


def cells(one: Outcome) -> list[tuple[str, str]]:
    """A row of a kernel on a workload, its verdict with the class that colours it."""
    texts = dict(zip(HEADS, row(one), strict=True)) | {"verdict": WORDS[one.verdict]}
    classes = dict(COLUMNS) | {"verdict": CLASSES[one.verdict]}
    return [(texts[name], classes[name]) for name in ORDER]


def describe(side: str, revision: Revision) -> tuple[tuple[str, str], ...]:
    """A row of the table of revisions."""
    return (side, ""), (revision.name, ""), (revision.commit, "")
