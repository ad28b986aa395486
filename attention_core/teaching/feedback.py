"""What a class gets back: a table of laws by person for the teacher, and a page for each person."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from attention_core.conformance.contracts import find_contract
from attention_core.html_page import STYLE, render_page
from attention_core.teaching.grading import Grade, file_name

CASES = 3
"""So many broken laws are shown with their smallest case; the others are named."""
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""A cell that begins so would be run by a spreadsheet."""
SIZES = {
    "B": ("batch of {}", "batch of {}"),
    "H": ("{} head", "{} heads"),
    "H_kv": ("{} key head", "{} key heads"),
    "n": ("{} token", "{} tokens"),
    "n_q": ("{} query", "{} queries"),
    "n_kv": ("{} key", "{} keys"),
    "d": ("head size {}", "head size {}"),
    "d_v": ("value size {}", "value size {}"),
    "E": ("width {}", "width {}"),
}
COLOURS = """
.conforms { color: light-dark(#197a35, #6bd089); }
.refuted, .error { color: light-dark(#c22, #ff8d8d); font-weight: 600; }
.incomplete { color: light-dark(#8a5300, #e8b04a); }
a { color: light-dark(#0b57d0, #9ec1ff); }
"""
PERSON = """\
<h1>{{ name }}: <span class="{{ grade.verdict }}">{{ grade.verdict }}</span></h1>
<p>{{ summary }}</p>
{% for line in looked %}<p>{{ line }}</p>{% endfor %}
{% for law, sentence, case, message, snippet in cases %}
<h2>{{ law.replace("_", " ") }}</h2>
<p>{{ sentence }}</p>
<p>{{ message }}{% if case %}<br>The smallest input on which it shows: {{ case }}.{% endif %}</p>
{% if snippet %}<pre>{{ snippet }}</pre>{% endif %}
{% endfor %}
{% if others %}
<h2>Also broken</h2>
<p>Often for the same reason: mend what stands above first.</p>
<ul>{% for law, sentence in others %}<li>{{ sentence }}</li>{% endfor %}</ul>
{% endif %}
"""
INDEX = """\
<h1>{{ name }}: {{ rows | length }} submissions</h1>
<p>{{ counts }}</p>
<table>
<tr><th>person</th><th>verdict</th><th class="number">laws held</th><th>first broken law, or what is wrong</th></tr>
{% for person, page, grade, reason in rows %}
<tr><td><a href="{{ page }}">{{ person }}</a></td><td class="{{ grade.verdict }}">{{ grade.verdict }}</td>
<td class="number">{% if grade.laws %}{{ grade.laws_that_hold }} of {{ grade.laws | length }}{% endif %}</td>
<td>{{ reason }}</td></tr>
{% endfor %}</table>
"""


def to_json(grades: Sequence[Grade], function: str) -> str:
    """Return the grades of a class as JSON; the schema is attention_core/schemas/class.json.

    >>> json.loads(to_json([Grade("ann", "error", "no file defines f", {})], "f"))["submissions"][0]["reason"]
    'no file defines f'
    """
    submissions = [
        {
            "person": grade.person, "verdict": grade.verdict, "reason": reason(grade), "held": grade.laws_that_hold,
            "judged": len(grade.laws), "laws": grade.laws, "refuted": list(grade.ranking),
            "report": dict(grade.report) or None,
        }
        for grade in grades
    ]  # fmt: skip
    return json.dumps({"schema_version": 1, "function": function, "submissions": submissions}, indent=1) + "\n"


def to_csv(grades: Sequence[Grade]) -> str:
    """Return a table with a row for each person and a column for each law that was judged for anybody.

    Cells are "held", "refuted", or empty where a law was not judged. No cell begins as a formula of a spreadsheet.

    >>> to_csv([Grade("=ann", "error", "no file defines attention", {})]).splitlines()[1]
    "'=ann,error,0,0,no file defines attention"
    """
    laws = list(dict.fromkeys(law for grade in grades for law in grade.laws))
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["person", "verdict", "held", "judged", "reason", *laws])
    for grade in grades:
        statuses = grade.laws
        row = [grade.person, grade.verdict, grade.laws_that_hold, len(statuses), reason(grade)]
        table.writerow([_cell(value) for value in (*row, *(statuses.get(law, "") for law in laws))])
    return text.getvalue()


def _cell(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_STARTS) else value


def reason(grade: Grade) -> str:
    """Return the problem, the first broken law in words, or the remark of the report.

    Where the submission is right under other conventions than the exercise's, these come first.
    """
    if grade.verdict == "conforms":
        return ""
    first = grade.ranking[0].replace("_", " ") if grade.ranking else str(grade.report.get("reason", ""))
    why = grade.problem or first
    other, options = grade.report.get("under_found"), (grade.report.get("first_look") or {}).get("options", "")
    if other and options and other["verdict"] == "conforms":
        return f"conforms under {options}; as the exercise has it: {why}"
    return why


def describe_case(case: str) -> str:
    """Return a case in words.

    >>> describe_case("float32 B=1 H=1 n_q=2 n_kv=2 d=1 causal")
    'float32, batch of 1, 1 head, 2 queries, 2 keys, head size 1, causal'
    """
    parts: list[str] = []
    loose: list[str] = []
    for word in case.split():
        name, equals, value = word.partition("=")
        if equals and name in SIZES and not loose:
            one, many = SIZES[name]
            parts.append((one if value == "1" else many).format(value))
        elif not parts:
            parts.append(word)
        else:
            loose.append(word)
    return ", ".join([*parts, " ".join(loose)] if loose else parts)


def write_feedback(grades: Sequence[Grade], name: str, folder: Path) -> None:
    """Write `grades.csv`, `index.html` and a page for each person.

    Args:
        grades: of the class.
        name: of the function or class of the exercise, for titles.
        folder: where they are written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "grades.csv").write_text(to_csv(grades), encoding="utf-8")
    rows = []
    for grade in grades:
        page = f"{file_name(grade.person)}.html"
        (folder / page).write_text(to_page(grade, name), encoding="utf-8")
        rows.append((grade.person, quote(page), grade, reason(grade)))
    counts = ", ".join(f"{number} {verdict}" for verdict, number in count_verdicts(grades).items())
    text = render_page(f"{name}: grades", STYLE + COLOURS, INDEX, name=name, rows=rows, counts=counts)
    (folder / "index.html").write_text(text, encoding="utf-8")


def count_verdicts(grades: Sequence[Grade]) -> dict[str, int]:
    """Return how often each verdict was given, those that were not left out."""
    verdicts = [grade.verdict for grade in grades]
    return {name: verdicts.count(name) for name in ("conforms", "refuted", "incomplete", "error") if name in verdicts}


def to_page(grade: Grade, name: str) -> str:
    """Return one person's page: the verdict, the smallest cases of the laws that tell most, and the other laws."""
    sentences = _sentences(grade.report)
    found = {law["law"]: law for law in grade.report.get("laws", ()) if law["status"] == "refuted"}
    order = [law for law in dict.fromkeys((*grade.ranking, *found)) if law in found]
    shown = [_describe_law(found[law], sentences) for law in order[:CASES]]
    others = [(law, sentences.get(law, law)) for law in order[CASES:]]
    looked = [*(grade.report.get("first_look") or {}).get("lines", ()), *_other_conventions(grade.report)]
    return render_page(
        f"{name}: {grade.verdict}", STYLE + COLOURS, PERSON, name=name, grade=grade, summary=_summary(grade),
        looked=looked, cases=shown, others=others,
    )  # fmt: skip


def _other_conventions(report: Mapping[str, Any]) -> list[str]:
    """What the verdict would be under the conventions that the first look found, where these are not the exercise's."""
    other, options = report.get("under_found"), (report.get("first_look") or {}).get("options", "")
    return [f"Under other conventions than the exercise's ({options}): {other['verdict']}."] if other else []


def _sentences(report: Mapping[str, Any]) -> dict[str, str]:
    """What each law of the report's contract says."""
    contract = (report.get("declared") or {}).get("contract")
    return {law.name: law.sentence for law in find_contract(contract).laws} if contract else {}


def _describe_law(law: Mapping[str, Any], sentences: Mapping[str, str]) -> tuple[str, str, str, str, str]:
    example = law["counterexample"] or {}
    case = describe_case(example.get("case", ""))
    sentence = sentences.get(law["law"], "")
    return law["law"], sentence, case, example.get("message") or law["message"], example.get("snippet", "")


def _summary(grade: Grade) -> str:
    """The verdict in a sentence or two."""
    if grade.problem:
        return f"It could not be judged: {grade.problem}."
    held = f"{grade.laws_that_hold} of {len(grade.laws)} laws that apply to it hold."
    if grade.verdict == "refuted":
        return f"{held} Those below are broken; the lines beside a law show how."
    if grade.verdict == "incomplete":
        return f"{held} Something was not judged: {grade.report.get('reason', '')}."
    return f"{held} Nothing wrong was found."
