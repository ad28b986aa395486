"""What the theme leaves out for people without a mouse or a screen: keys reach what scrolls, and parts have names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

SCROLLED = re.compile(r'<(div class="(?:table-wrapper|math-scroll|math-display)\b[^"]*"|pre|p(?=><img ))>')
"""Tables, formulas, programs and pictures, each of which scrolls sideways where the screen is narrow."""
PARAMETERS = re.compile(r'<dl>\n((?:<dd><em class="sig-param">(?:(?!</?d[dlt]\b).)*</dd>\n)+)</dl>', re.DOTALL)
"""The parameters of a long signature, which Sphinx writes as definitions of nothing."""
NAMED = (
    (re.compile(r'<aside class="sidebar-drawer">'), '<aside class="sidebar-drawer" aria-label="All pages">'),
    (re.compile(r'<aside class="(toc-drawer[^"]*)">'), r'<aside class="\1" aria-label="On this page">'),
    (re.compile(r'<th class="(head[^"]*)"><p></p></th>'), r'<td class="\1"></td>'),
    (re.compile(r'(<p class="caption" role="heading")>'), r'\1 aria-level="2">'),
    (re.compile(r'(<article role="main" id="furo-main-content">)\s*(?=<noscript>)'), r"\1<h1>Search</h1>"),
)


def setup(app: Sphinx) -> dict[str, Any]:
    """Go over the pages when all are written."""
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def finish(app: Sphinx, error: Exception | None) -> None:
    """Rewrite every page of a site; a page that an earlier build has rewritten stays as it is."""
    if error is None and app.builder.format == "html":
        for page in Path(app.outdir).rglob("*.html"):
            text = page.read_text(encoding="utf-8")
            if (new := complete(text)) != text:
                page.write_text(new, encoding="utf-8")


def complete(page: str) -> str:
    """Return a page whose scrolling parts take the focus, and whose landmarks and headings are complete.

    >>> complete('<pre>x</pre>'), complete('<p class="caption" role="heading">How to</p>')
    ('<pre tabindex="0">x</pre>', '<p class="caption" role="heading" aria-level="2">How to</p>')
    """
    page = SCROLLED.sub(r'<\1 tabindex="0">', page)
    page = PARAMETERS.sub(list_parameters, page)
    for found, written in NAMED:
        page = found.sub(written, page)
    return page


def list_parameters(found: re.Match[str]) -> str:
    """Return the parameters of a signature as a list, one a line."""
    items = found[1].replace("<dd>", "<li>").replace("</dd>", "</li>")
    return f'<ul class="sig-params">\n{items}</ul>'
