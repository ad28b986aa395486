r"""Values by cases, as formulas with indicators.

`\begin{cases} a & \text{if } i = j \\ b & \text{otherwise} \end{cases}` is written as
`\mathbf{1}[i = j] (a) + (1 - \mathbf{1}[i = j]) (b)`: the first case that holds counts. Where none holds the value is
not defined, so that without "otherwise" the sum is divided by the indicator of all cases.
"""

from __future__ import annotations

import re

_NESTED = re.compile(r"\\(?P<which>begin|end)\s*\{(?P<name>[^{}]*)\}")
_MARKS = re.compile(r"\\\\(?:\s*\[[^\]]*\])?|(?<!\\)&|\\(?:begin|end)\s*\{[^{}]*\}|[{}]|\\.")
_WORDS = re.compile(r"(?i)\\(?:text|textrm|mathrm|mbox)\s*\{\s*(?:if|for|when|where)?:?\s*\}|^\s*(?:if|for|when)\b")
WORDY = re.compile(r"\\(?:text|textrm|textbf|textit|mathrm|mbox)\s*\{\s*[A-Za-z]")
_REST = re.compile(
    r"(?i)\\(?:text|textrm|mathrm|mbox)\s*\{\s*(?:otherwise|else|for other [a-z ]+)\s*[.,;]?\s*\}|otherwise|else"
)
_END_OF_CELL = re.compile(r"(?:[.,;\s]|\\[,;! ]|\\q?quad)+$|\\displaystyle(?![a-zA-Z])")


def end_of_cases(text: str, at: int) -> tuple[str, int] | None:
    """The text of an environment that opens in front of a place, and where the text goes on after it."""
    depth = 1
    for found in _NESTED.finditer(text, at):
        depth += 1 if found["which"] == "begin" else -1
        if not depth:
            return text[at : found.start()], found.end()
    return None


def with_indicators(inner: str) -> str:
    """The value of some cases as one formula; '' if a row is not a value with its condition.

    Args:
        inner: What stands in the environment.

    Example:
        >>> with_indicators(r"a & i = j \\\\ b & \\text{otherwise}")
        '{(\\\\mathbf{1}[i = j] (a) + (1 - \\\\mathbf{1}[i = j]) (b))}'
    """
    rows = [row for row in _split(inner) if any(cell.strip() for cell in row)]
    terms: list[str] = []
    before = ""
    rest = False
    for row in rows:
        if len(row) != 2 or rest:
            return ""
        value, condition = (_END_OF_CELL.sub(" ", cell).strip() for cell in row)
        rest = bool(_REST.fullmatch(condition))
        condition = _WORDS.sub(" ", condition).strip()
        if not value or (not rest and (not condition or r"\text" in condition)):
            return ""
        holds = "" if rest else rf"\mathbf{{1}}[{condition}] "
        terms.append(f"{before}{holds}({value})")
        before += f"(1 - {holds.strip()}) " if holds else ""
    if len(terms) < 2:
        return ""
    total = f"({' + '.join(terms)})"
    return f"{{{total}}}" if rest else f"\\frac{{{total}}}{{1 - {before.strip()}}}"


_BARS = re.compile(
    r"\s*(?:\||\\(?:[lr]?vert|mid|big\||Big\||uparrow|downarrow|rule(?:\[[^\]]*\])?\{[^}]*\}\{[^}]*\}))?\s*"
)
_DASH = r"(?:[-\u2013\u2014]+|\\(?:text|mbox)\s*\{\s*[-\u2013\u2014]+\s*\}|\\(?:horzbar|rule\{[^}]*\}\{[^}]*\}))"
_LINE = re.compile(rf"\s*{_DASH}\s*")
_DASHED = re.compile(rf"\s*{_DASH}\s*(?P<row>\S.*?)\s*{_DASH}\s*", re.DOTALL)


def without_rules(text: str, at: int) -> tuple[str, int] | None:
    r"""The content of a matrix without the bars and dashes that show its columns and rows, and where it ends.

    Args:
        text: A formula.
        at: Where the content of an environment starts in it.

    Returns:
        None where the matrix has no such bars.

    Example:
        >>> without_rules(r"| & | \\ a & b \\ | & | \end{pmatrix}", 0)
        ('a & b', 37)
    """
    found = end_of_cases(text, at)
    if found is None or not ("|" in found[0] or "-" in found[0] or "\\" in found[0]):
        return None
    rows = _split(found[0])
    kept = [row for row in rows if not (all(map(_BARS.fullmatch, row)) and any(cell.strip() for cell in row))]
    lines = [[cell for cell in row if not (len(row) > 1 and _LINE.fullmatch(cell))] for row in kept]
    plain = [
        [one["row"] if len(row) == 1 and (one := _DASHED.fullmatch(cell)) else cell for cell in row] for row in lines
    ]
    if plain == rows or not any(plain):
        return None
    return " \\\\ ".join(" & ".join(cell.strip() for cell in row) for row in plain), found[1]


def _split(inner: str) -> list[list[str]]:
    """The cells of each row, cut outside braces and environments."""
    rows: list[list[str]] = [[""]]
    depth = at = 0
    for found in _MARKS.finditer(inner):
        mark = found.group()
        rows[-1][-1] += inner[at : found.start()]
        at = found.end()
        depth += (mark == "{" or mark.startswith(r"\begin")) - (mark == "}" or mark.startswith(r"\end"))
        if depth == 0 and mark.startswith("\\\\"):
            rows.append([""])
        elif depth == 0 and mark == "&":
            rows[-1].append("")
        else:
            rows[-1][-1] += mark
    rows[-1][-1] += inner[at:]
    return rows
