"""An audit as one self-contained HTML page, and as a badge.

Whatever comes from a suite or a file is escaped; the page loads nothing and runs no script.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attention_core.audit.render_text import headline, remarks
from attention_core.audit.results import KILLED, Audit
from attention_core.badge import draw_badge
from attention_core.html_page import STYLE, render, render_page

if TYPE_CHECKING:
    from markupsafe import Markup

COLOURS = """
.passes, .killed, .hung, .died { color: light-dark(#197a35, #6bd089); }
.survivors, .survived { color: light-dark(#c22, #ff8d8d); font-weight: 600; }
.left_out { opacity: .75; }
"""
SECTIONS = """\
{% if headline %}<p class="{{ audit.verdict.replace(' ', '_') }}"><strong>{{ headline }}</strong></p>{% endif %}
{% for line in remarks %}<p>{{ line }}</p>{% endfor %}
{% if audit.survivors %}
<h{{ level }}>Survivors</h{{ level }}>
{{ table((("fault", ""), ("what is wrong", ""), ("law", ""), ("smallest case", "")), survivors) }}
{% endif %}
{% if subjects %}
<h{{ level }}>By subject</h{{ level }}>
<div class="narrow">{{ table((("subject", ""), ("seen", "number"), ("of", "number")), subjects) }}</div>
{% endif %}
{% if audit.survivors %}
<h{{ level }}>A test for each survivor</h{{ level }}>
{% for fate in audit.survivors %}
<h{{ level + 1 }}>{{ fate.name | breakable }}</h{{ level + 1 }}>
<p>{{ fate.about }}{% if fate.message %}<br>{{ fate.message }}{% endif %}</p>
{% if fate.test %}
{% if not fate.confirmed %}<p>By itself this test does not tell the fault from the target.</p>{% endif %}
<pre>{{ fate.test }}</pre>
{% endif %}
{% endfor %}
{% endif %}
{% if faults %}
<h{{ level }}>Every fault</h{{ level }}>
{{ table((("fault", ""), ("subject", ""), ("fate", ""), ("seen by, or why not counted", "")), faults) }}
{% endif %}
<p>{{ origin }}</p>
"""
GOOD, BAD, NEITHER = "#2a7d3f", "#c0392b", "#5f6368"


def to_html(audit: Audit) -> str:
    """The page."""
    template = "<h1>Which wrong attention would these tests let through?</h1>\n{{ sections }}"
    return render_page(f"audit of {audit.target}", STYLE + COLOURS, template, sections=to_sections(audit))


def to_sections(audit: Audit, level: int = 2, *, scored: bool = True) -> Markup:
    """The subjects, the survivors and every fault, without the page; headings are of a level; with the score or not."""
    return render(
        SECTIONS, audit=audit, headline=headline(audit) if scored else "", level=level,
        remarks=list(remarks(audit)),
        subjects=[((name, ""), (str(k), "number"), (str(n), "number")) for name, k, n in audit.subjects()],
        survivors=[((f.name, "name"), (f.about, "prose"), (f.law, "name"), (f.case, "")) for f in audit.survivors],
        faults=[
            ((f.name, "name"), (f.subject, ""), (f.status.replace("_", " "), f.status), (f.reason, ""))
            for f in audit.fates
        ],
        origin=", ".join(f"{name} {number}" for name, number in audit.versions.items()) + f"; seed {audit.seed}",
    )  # fmt: skip


def to_badge(audit: Audit) -> str:
    """The SVG of the score: "31 of 40 faults", green where the floor is reached.

    >>> "not judged" in to_badge(Audit("m:f", ("tests",), problem="no"))
    True
    """
    if audit.verdict == "not judged":
        return draw_badge("tests of attention", audit.verdict, NEITHER)
    seen = sum(fate.status in KILLED for fate in audit.fates)
    return draw_badge(
        "tests of attention", f"see {seen} of {len(audit.faults)} faults", GOOD if audit.verdict == "passes" else BAD
    )
