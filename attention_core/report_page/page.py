"""The page: the verdicts first, then contents, a legend and the sections; what is wrong stands before the rest."""

from __future__ import annotations

import json
from collections.abc import Sequence

from attention_core.audit.render_html import COLOURS as AUDIT_COLOURS
from attention_core.bench.report.render_html import COLOURS as BENCH_COLOURS
from attention_core.conformance.report.render_html import COLOURS as VERIFY_COLOURS
from attention_core.grading.render_html import COLOURS as GRADE_COLOURS
from attention_core.html_page import STYLE, render_page
from attention_core.report_page.sections import BAD, GOOD, OPEN, STATES, Section

COLOURS = """
.good { color: light-dark(#197a35, #6bd089); } .bad { color: light-dark(#c22, #ff8d8d); font-weight: 600; }
.open { color: light-dark(#8a5300, #e8b04a); }
.verdict { font-size: 1.4rem; font-weight: 600; margin: .3rem 0 1rem; }
.skip { position: absolute; left: -100rem; } .skip:focus { position: static; }
a { color: light-dark(#0b57d0, #9ec1ff); }
section { border-top: 3px solid #8886; margin-top: 2.5rem; }
.file { opacity: .8; font-size: 90%; overflow-wrap: anywhere; } td.file { min-width: 9rem; }
td.good, td.bad, td.open { white-space: nowrap; } td a { overflow-wrap: normal; }
/* A formula is not broken: it scrolls by itself, and what it rests on stays within the screen. */
.formula { overflow-x: auto; overflow-y: hidden; width: 0; min-width: 100%; margin-bottom: .3rem; }
.steps td:last-child { width: 100%; min-width: 11rem; }
figure { display: inline-block; margin: .4rem .8rem .4rem 0; }
dt { font-weight: 600; } dd { margin: 0 0 .4rem 1rem; }
.held-box { position: relative; } .held-box pre { padding-top: 2.4rem; }
.held-box button { position: absolute; top: .3rem; right: .3rem; font: inherit; }
input[type=search] { font: inherit; padding: .2rem .4rem; min-width: 16rem; }
@media (max-width: 40rem) { th.file, td.file { display: none; } }
@media print { .skip, button, .filter { display: none; } }
"""
TEMPLATE = """\
<a class="skip" href="#first">to the first section</a>
<header><h1>{{ title }}</h1>
<p class="verdict {{ state }}">{{ verdict }}</p></header>
<main>
<table><tr><th>question</th><th>verdict</th><th>in short</th><th class="file">file</th></tr>
{% for number, one in sections %}<tr><td><a href="#part-{{ number }}">{{ one.title }}</a></td>
<td class="{{ one.state }}">{{ one.verdict }}</td><td>{{ one.remark | breakable }}</td>
<td class="file">{{ one.name | breakable }}</td></tr>
{% endfor %}</table>
<details><summary>What the words mean</summary><dl>
{% for word, meaning in legend %}<dt>{{ word }}</dt><dd>{{ meaning }}</dd>{% endfor %}
</dl></details>
{% for number, one in sections %}
<section id="part-{{ number }}" aria-labelledby="head-{{ number }} file-{{ number }}">
{% if loop.first %}<span id="first"></span>{% endif %}
<h2 id="head-{{ number }}">{{ one.title }} <span class="{{ one.state }}">{{ one.verdict }}</span></h2>
<p class="file" id="file-{{ number }}">{{ one.name | breakable }}</p>
<p>{{ one.remark }}</p>
{{ one.body }}
</section>
{% endfor %}
</main>
"""
SCRIPT = """
for (const text of document.querySelectorAll("pre")) {
  const box = document.createElement("div"), button = document.createElement("button");
  box.className = "held-box"; button.type = "button"; button.textContent = "copy";
  text.replaceWith(box); box.append(text, button);
  button.onclick = async () => {
    getSelection().selectAllChildren(text);
    try { await navigator.clipboard.writeText(text.textContent); } catch { document.execCommand("copy"); }
    button.textContent = "copied"; setTimeout(() => { button.textContent = "copy"; }, 1500);
  };
}
for (const table of document.querySelectorAll("section table")) {
  const rows = [...table.rows].slice(1);
  if (rows.length < 12) continue;
  const label = document.createElement("label"), field = document.createElement("input");
  label.className = "filter"; field.type = "search"; label.append("rows with ", field);
  table.parentElement.before(label);
  field.oninput = () => {
    const wanted = field.value.toLowerCase();
    for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
  };
}
"""
LEGEND = {
    "verify": (
        ("conforms", "Every law that applies held, and outputs were compared with a float64 truth."),
        ("refuted", "At least one law is broken; the smallest case that shows it is beside it."),
        ("incomplete", "Something was not judged, as the section says."),
        ("error", "The target could not be loaded or run: it has no verdict."),
        ("right weights", "What a right attention gives in the case: dark is 1, light is 0; the framed row is wrong."),
    ),
    "derive": (
        ("PROVED, EXACT", "True for all sizes and values; true by exact computation."),
        ("AGREES, STATISTICAL", "No counterexample was found; a test of stated error rates found no difference."),
        ("REFUTED, VACUOUS", "False at the values shown; no values satisfy the hypotheses."),
        ("AMBIGUOUS, UNDECIDED, UNREADABLE", "True in one reading and false in another; not known; not read."),
    ),
    "bench": (
        ("FASTER, SLOWER, AMBIGUOUS", "Than the baseline, by the 95 % interval of the ratio; the interval holds 1."),
        ("of limit", "The share of what the machine could do at most, by its products and its memory."),
    ),
    "bench --base": (
        ("head / base", "The ratio of the times of a call, with its 99 % interval over rounds of fresh processes."),
        ("undecided, not judged", "The interval crosses the limit; a revision is wrong, or could not be timed."),
    ),
    "audit": (
        ("killed, hung, died", "A wrong attention that the tests would see."),
        ("survived", "A wrong attention that the tests would let through, with a test that would see it."),
    ),
    "grade": (("accepted, refused", "Every timed answer was right; a rule was broken, as the line says."),),
    "matrix": (("refuted", "A released implementation breaks a law; docs/matrix.md argues each of them."),),
    "training": (("recorded", "What the run wrote down; nothing is judged."),),
}


def to_page(sections: Sequence[Section], title: str = "attention-core report") -> str:
    """Return the page of some sections, self-contained: what is bad first, then what is not known.

    The anchor of a section is its place among `sections`, wherever it stands.

    >>> from markupsafe import Markup
    >>> one = Section("Is it right?", "a.json", "refuted", BAD, "1 refuted", Markup("<p>a law</p>"), "verify")
    >>> "something is wrong in 1 of 1 part" in to_page([one])
    True
    """
    state, verdict = overall(sections)
    kinds = dict.fromkeys(one.kind for one in sections)
    legend = [pair for kind in kinds for pair in LEGEND[kind]]
    shown = sorted(enumerate(sections, 1), key=lambda pair: STATES.index(pair[1].state))
    style = STYLE + VERIFY_COLOURS + BENCH_COLOURS + AUDIT_COLOURS + GRADE_COLOURS + COLOURS
    return render_page(
        title, style, TEMPLATE, script=SCRIPT, title=title, state=state, verdict=verdict,
        sections=shown, legend=legend,
    )  # fmt: skip


def overall(sections: Sequence[Section]) -> tuple[str, str]:
    """The state of a page and its verdict in words."""
    bad, unknown = (sum(one.state == state for one in sections) for state in (BAD, OPEN))
    return BAD if bad else OPEN if unknown else GOOD, headline(len(sections), bad, unknown)


def to_json(sections: Sequence[Section], title: str = "attention-core report") -> str:
    """Return the verdicts of a page as JSON, in the order of the files; `attention-core schema report` has its schema.

    >>> json.loads(to_json([]))["verdict"]
    'nothing is wrong'
    """
    state, verdict = overall(sections)
    parts = [
        {"kind": one.kind, "file": one.name, "question": one.title, "verdict": one.verdict, "state": one.state,
         "remark": one.remark}
        for one in sections
    ]  # fmt: skip
    data = {"schema_version": 1, "title": title, "verdict": verdict, "state": state, "parts": parts}
    return json.dumps(data, indent=1) + "\n"


def headline(count: int, bad: int, unknown: int) -> str:
    """The verdict of the page.

    >>> headline(3, 0, 1)
    'nothing is wrong, but 1 of 3 parts is not known'
    """
    parts = "part" if count == 1 else "parts"
    if bad:
        return f"something is wrong in {bad} of {count} {parts}"
    if unknown:
        return f"nothing is wrong, but {unknown} of {count} {parts} {'is' if unknown == 1 else 'are'} not known"
    return "nothing is wrong"
