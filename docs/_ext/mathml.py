"""Mathematics as MathML, made when the site is built: a page needs no network and no script to show a formula."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from html import escape
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging

TAG = re.compile(r"\\tag\{((?:[^{}]|\{[^{}]*\})*)\}")
LABEL = re.compile(r"\\label\{[^{}]*\}")
COMMENT = re.compile(r"(?<!\\)%[^\n]*")
ROWS = re.compile(r"\\(begin|end)\{(?:aligned|align|alignat|gather|gathered|equation|split)\*?\}")
STACKED = {"∑", "∏", "⋃", "⋂", "max", "min", "lim", "argmax", "argmin", "sup", "inf"}
"""Operators that have their limits below and above in a display."""
UNDER = {"msub": "munder", "msup": "mover", "msubsup": "munderover"}
BOLD = {chr(48 + i): chr(0x1D7CE + i) for i in range(10)}
BOLD |= {chr(65 + i): chr(0x1D400 + i) for i in range(26)} | {chr(97 + i): chr(0x1D41A + i) for i in range(26)}
NAMESPACE = "{http://www.w3.org/1998/Math/MathML}"
logger = logging.getLogger(__name__)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer that conf.py names."""
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def inline(self: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    self.body.append(to_mathml(node.astext(), node, display="inline"))
    raise nodes.SkipNode


def display(self: Any, node: nodes.math_block) -> None:
    """Write a display, with its tags at its right."""
    latex = node.astext()
    tags = "".join(f'<span class="math-tag">({escape(tag)})</span>' for tag in TAG.findall(latex))
    formula = to_mathml(TAG.sub("", latex), node, display="block")
    labels = f'<div class="math-tags">{tags}</div>' if tags else ""
    self.body.append(f'<div class="math-display"><div class="math-scroll">{formula}</div>{labels}</div>\n')
    raise nodes.SkipNode


def to_mathml(latex: str, node: nodes.Node, *, display: str) -> str:
    """Convert a formula; one that cannot be converted is a warning, which the build treats as an error."""
    text = LABEL.sub("", COMMENT.sub("", latex)).strip().replace(":=", r"\coloneqq ")
    text = ROWS.sub(r"\\\1{align*}", text)
    try:
        return polished(convert(text, display=display), stacked=display == "block")
    except Exception as error:
        logger.warning("not a formula that latex2mathml reads: %s (%s)", latex, error, location=node)
        return f"<code>{escape(latex)}</code>"


def polished(mathml: str, *, stacked: bool) -> str:
    """MathML with limits where readers expect them, and bars without the space of a relation."""
    ElementTree.register_namespace("", NAMESPACE[1:-1])
    root = ElementTree.fromstring(mathml)
    for element in root.iter():
        tag = element.tag.removeprefix(NAMESPACE)
        if tag in UNDER and stacked and (element[0].text or "") in STACKED:
            element.tag = NAMESPACE + UNDER[tag]
        if element.attrib.get("mathvariant") == "bold" and element.text:  # which browsers read of single letters alone
            element.text = "".join(BOLD.get(sign, sign) for sign in element.text)
            del element.attrib["mathvariant"]
        if tag == "mo" and element.text in {"|", "‖"}:
            element.attrib |= {"lspace": "0", "rspace": "0"}
    return ElementTree.tostring(root, encoding="unicode")
