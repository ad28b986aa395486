"""Annotations of GitHub Actions: a line on standard output becomes a remark at a line of the diff.

Also the summary of a step: Markdown, appended to the file that GITHUB_STEP_SUMMARY names.
Source: GitHub, Workflow commands for GitHub Actions.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

LONGEST = 4000
"""Characters of an annotation; GitHub shows 4 kB of it."""


def annotation(level: str, title: str, message: str, path: str = "", line: int = 0) -> str:
    r"""Return the workflow command for one remark.

    Args:
        level: error, warning or notice.
        title, message: any text; line ends and the command's own signs are escaped.
        path, line: where it belongs; "" where it has no place, 0 for all of a file.

    >>> annotation("error", "attention: refuted", "got 1,\nwant 2", "mine.py", 4)
    '::error title=attention%3A refuted,file=mine.py,line=4::got 1,%0Awant 2'
    """
    shown = message if len(message) <= LONGEST else message[: LONGEST - 4] + " ..."
    path = locate_in_checkout(path)
    place = {"file": path, "line": str(line)} if path and line else {"file": path} if path else {}
    properties = {"title": title, **place}
    listed = ",".join(f"{name}={_escape(text, whole=True)}" for name, text in properties.items())
    return f"::{level} {listed}::{_escape(shown)}"


def _escape(text: str, *, whole: bool = False) -> str:
    pairs = [("%", "%25"), ("\r", "%0D"), ("\n", "%0A"), *([(":", "%3A"), (",", "%2C")] if whole else [])]
    for sign, code in pairs:
        text = text.replace(sign, code)
    return text


def locate_in_checkout(path: str) -> str:
    """Return a file as GitHub names it: from the root of the checkout, wherever the command runs in it.

    GITHUB_WORKSPACE names the root; without it, and for files outside of it, the path stays as it is.
    """
    root = os.environ.get("GITHUB_WORKSPACE", "")
    if not root or not path:
        return path
    whole = os.path.abspath(path)
    below = os.path.relpath(whole, os.path.abspath(root))
    return path if below.startswith(os.pardir) else Path(below).as_posix()


def append_summary(markdown: str) -> bool:
    """Append to the summary of the step, and say whether there is one; outside of GitHub Actions there is none.

    Raises:
        OSError: the file cannot be written.
    """
    path = os.environ.get("GITHUB_STEP_SUMMARY", "")
    if not path:
        return False
    with Path(path).open("a", encoding="utf-8", errors="replace") as file:
        file.write(markdown)
    return True


def fence(text: str, language: str = "") -> str:
    r"""Return a fenced block of Markdown, with a fence that the text does not contain.

    >>> fence("x = 1", "python")
    '```python\nx = 1\n```\n'
    """
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    signs = "`" * (longest + 1)
    return f"{signs}{language}\n{text.rstrip()}\n{signs}\n"


def cell(text: str) -> str:
    r"""Return a text for one cell of a Markdown table: no markup, no line end.

    >>> cell("a|b\n<c>")
    'a\\|b &lt;c&gt;'
    """
    plain = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*\[\]|])", r"\\\1", plain)
