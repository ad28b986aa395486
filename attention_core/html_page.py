"""The frame of every HTML page: one style, one table, and templates in which whatever is filled in is escaped.

A page is self-contained: it loads nothing and runs no script.
"""

from __future__ import annotations

from typing import Any

STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 1.5rem; }
th, td { text-align: left; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid #8884; vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
pre { background: #8881; padding: .8rem; overflow-x: auto; font-size: 13px; }
"""
"""Of the pages of reports and of benchmarks; a page of derivations has a style of its own."""
LAYOUT = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{{ title }}</title><style>{{ style | safe }}</style></head>
<body>{{ body }}</body></html>
"""
TABLE = """\
{% macro table(heads, rows) -%}
<table><tr>{% for text, kind in heads %}<th{% if kind %} class="{{ kind }}"{% endif %}>{{ text }}</th>{% endfor %}</tr>
{% for row in rows %}<tr>
{%- for text, kind in row %}<td{% if kind %} class="{{ kind }}"{% endif %}>{{ text }}</td>{% endfor %}</tr>
{% endfor %}</table>
{% endmacro %}
"""
"""A table: each head and each cell is a text with its class, "" for none."""


def render_page(title: str, style: str, template: str, **values: Any) -> str:
    """Return a whole page: `template` is Jinja's, has `table(heads, rows)`, and is filled with `values`, escaped.

    What is markup already is handed over as `markupsafe.Markup`.

    >>> "<p>a &lt; b</p>" in render_page("a title", STYLE, "<p>{{ words }}</p>", words="a < b")
    True
    """
    from jinja2 import DictLoader, Environment, StrictUndefined
    from markupsafe import Markup

    templates = DictLoader({"layout": LAYOUT, "table": TABLE, "body": "{% from 'table' import table %}" + template})
    environment = Environment(autoescape=True, undefined=StrictUndefined, loader=templates)
    body = Markup(environment.get_template("body").render(values))
    return environment.get_template("layout").render(title=title, style=style, body=body) + "\n"
