"""The frame of every HTML page: one style, one table, and templates in which whatever is filled in is escaped.

A page is self-contained: it loads nothing. The page of one command runs no script; the page that joins several
(`attention_core.report_page`) runs a few lines of its own, and its policy lets the browser run nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markupsafe import Markup

STYLE = """
:root { color-scheme: light dark; }
body {
  font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem;
  background: light-dark(#fff, #16181c); color: light-dark(#1a1a1a, #e8e8e8); overflow-wrap: break-word;
}
table { border-collapse: collapse; width: 100%; margin: .5rem 0 1.5rem; }
th, td { text-align: left; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid #8884; vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
td.number, td.value, td.ratio { white-space: nowrap; } /* a number keeps its unit and its exponent */
.narrow table { width: auto; min-width: 16rem; }
pre { background: #8881; padding: .8rem; overflow-x: auto; font-size: 13px; }
svg { max-width: 100%; height: auto; }
@media (max-width: 45rem) {
  /* What is drawn side by side is scrolled sideways, where it would be too small to be read. */
  .drawn svg { max-width: max(100%, 46rem); }
  td:not(.number, .value) { overflow-wrap: anywhere; min-width: 5rem; }
  td.ratio:not(.number) { white-space: normal; min-width: 6.5rem; } /* its interval may go into a second line */
  td.name:not(.number) { min-width: 8rem; }
  td.prose:not(.number) { min-width: 12rem; }
  /* A table of five columns or more is scrolled sideways: its names stay whole, and its sentences a few lines tall. */
  td:first-child:nth-last-child(n + 5) { min-width: 9rem; }
  td:nth-child(n + 5):last-child:not(.number) { min-width: 18rem; }
}
@media print { pre { white-space: pre-wrap; } h2, h3, h4 { break-after: avoid; } tr, svg { break-inside: avoid; } }
"""
"""Of the pages of reports and of benchmarks; a page of derivations has a style of its own."""
LAYOUT = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{{ policy }}">
<title>{{ title }}</title><style>.wide { overflow-x: auto; }{{ style | safe }}</style></head>
<body>{{ body }}{% if script %}<script>{{ script | safe }}</script>{% endif %}</body></html>
"""
TABLE = """\
{% macro table(heads, rows) -%}
<table><tr>{% for text, kind in heads %}<th{% if kind %} class="{{ kind }}"{% endif %}>{{ text }}</th>{% endfor %}</tr>
{% for row in rows %}<tr>
{%- for text, kind in row %}<td{% if kind %} class="{{ kind }}"{% endif %}>{{ text | breakable }}</td>{% endfor %}</tr>
{% endfor %}</table>
{% endmacro %}
"""
"""A table: each head and each cell is a text with its class, "" for none."""


def render(template: str, **values: Any) -> Markup:
    """Return a part of a page: `template` is Jinja's, has `table(heads, rows)`, and is filled with `values`, escaped.

    What is markup already is handed over as `markupsafe.Markup`.

    >>> str(render("<p>{{ words }}</p>", words="a < b"))
    '<p>a &lt; b</p>'
    """
    from jinja2 import DictLoader, Environment, StrictUndefined
    from markupsafe import Markup

    templates = DictLoader({"table": TABLE, "body": "{% from 'table' import table %}" + template})
    environment = Environment(autoescape=True, undefined=StrictUndefined, loader=templates)
    environment.filters["breakable"] = breakable
    return Markup(environment.get_template("body").render(values))


LONG = re.compile(r"\S{12,}")
JOINTS = re.compile(r"(?<=\w[_/:])(?=\w)|(?<=[A-Za-z]\.)(?=[A-Za-z])")
"""Within a long word: behind an underscore, a slash, a colon, or a point between letters."""


def breakable(text: object) -> Markup:
    """Return a text in which long names may go on in the next line at their joints, and nowhere else in a word.

    The name of a law has no space; on a phone it would be cut between any two letters. What is markup stays as it is.

    >>> str(breakable("a_leading_key_is_copied < 1.5"))
    'a_<wbr>leading_<wbr>key_<wbr>is_<wbr>copied &lt; 1.5'
    """
    from markupsafe import Markup, escape

    if isinstance(text, Markup):
        return text

    marked = LONG.sub(lambda word: JOINTS.sub("\0", word[0]), str(text))
    return Markup(str(escape(marked)).replace("\0", "<wbr>"))


def render_page(title: str, style: str, template: str, /, *, script: str = "", **values: Any) -> str:
    """Return a whole page around what `render` makes of a template.

    Args:
        title: of the window. style: CSS of ours. template, values: as for `render`.
        script: lines of ours; the page's policy names their hash, so that the browser runs nothing else.

    >>> "<p>a &lt; b</p>" in render_page("a title", STYLE, "<p>{{ words }}</p>", words="a < b")
    True
    """
    from jinja2 import Environment

    layout = Environment(autoescape=True).from_string(LAYOUT)
    body = frame(render(template, **values), title)
    return layout.render(title=title, style=style, body=body, script=script, policy=policy(script)) + "\n"


def frame(body: Markup, title: str) -> Markup:
    """Return the body as the main part of its page, under the title where it has no first heading of its own.

    What may be too wide for a phone scrolls, and keys reach it. What is filled in is escaped: the tags that are found
    here are those of our templates.

    >>> from markupsafe import Markup
    >>> str(frame(Markup("<table></table><pre>x</pre>"), "a < b"))
    '<main><h1>a &lt; b</h1><div class="wide" tabindex="0"><table></table></div><pre tabindex="0">x</pre></main>'
    """
    from markupsafe import Markup, escape

    text = str(body).replace("<pre>", '<pre tabindex="0">').replace("</table>", "</table></div>")
    text = text.replace("<table", '<div class="wide" tabindex="0"><table')
    head = "" if "<h1" in text else f"<h1>{escape(title)}</h1>"
    return Markup(text if "<main>" in text else f"<main>{head}{text}</main>")


def policy(script: str = "") -> str:
    """Return what a browser may load and run on a page: our style, and our script where there is one.

    >>> policy()
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    """
    words = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    if not script:
        return words
    code = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"{words}; script-src 'sha256-{code}'"
