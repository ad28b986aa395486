"""The name of a law in a page leads to the page of that law, and the name of a contract in `--contract` stays text."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

PREFIX = "reference/laws/"


def setup(app: Sphinx) -> dict[str, Any]:
    """Link the names when a page has been read."""
    app.connect("doctree-read", link_names)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def link_names(app: Sphinx, doctree: nodes.document) -> None:
    """Wrap each literal that is the name of a law in a reference, outside of headings and links."""
    own = app.env.docname
    for literal in list(doctree.findall(nodes.literal)):
        name = literal.astext()
        page = PREFIX + name
        if page not in app.env.found_docs or page == own or not isinstance(literal.parent, nodes.TextElement):
            continue
        if is_within(literal, (nodes.title, nodes.reference, addnodes.pending_xref)):
            continue
        link = addnodes.pending_xref(
            "", refdomain="std", reftype="doc", reftarget=f"/{page}", refexplicit=True, refwarn=True
        )
        link["refdoc"] = own
        literal.replace_self(link)
        link += literal


def is_within(node: nodes.Node, kinds: tuple[type[nodes.Node], ...]) -> bool:
    """Whether a node of one of these kinds holds this one, at whatever depth: a link may not hold another."""
    parent = node.parent
    while parent is not None and not isinstance(parent, kinds):
        parent = parent.parent
    return parent is not None
