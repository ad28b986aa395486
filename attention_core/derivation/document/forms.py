r"""Other ways to mark formulas and theorems, rewritten as those that are read, every line where it was.

MyST and Sphinx directives, `\\[...\\]` and `\(...\)`, GitLab's dollars with backticks, and the scripts that kramdown
writes become `$...$`, `$$...$$` and ```` ```math ````. What is a display in some other program and is not read here is
named, so that it is not passed over.

Paragraphs of TeX are cut at the marks of theorems and the like: `\begin{theorem}` in front of "Let ..." says nothing of
what is declared, so the marks of environments that only frame prose are left out. What stands in their brackets, as in
`\begin{theorem}[Symmetric case]`, and what stands in a footnote are words of their own.

A document that writes `\in \mathbf{R}^n` has bold letters for sets of numbers: nothing lies in a matrix.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from attention_core.derivation.document.blocks import Paragraph
from attention_core.derivation.quick_patterns import compile_quick

_DIRECTIVE = re.compile(r"^(\s*(?:>\s*)*)(`{3,}|~{3,}|:{3,})\s*\{math\}[ \t]*(.*)$")
_SPHINX = re.compile(r"^(\s*)\.\. math::[ \t]*(.*)$")
_FIELD = re.compile(r"^\s*:[a-zA-Z-]+:.*$")
_SCRIPT = re.compile(
    r"<script\s+type=[\"']math/tex(?P<display>;\s*mode=display)?[\"']\s*>(?P<body>.*?)</script>", re.DOTALL
)
_CDATA = re.compile(r"%?\s*<!\[CDATA\[|%?\s*\]\]>")
_HUGO = re.compile(r"\{\{[<%]\s*math\s*[>%]\}\}(\s*\$)|(\$\s*)\{\{[<%]\s*/\s*math\s*[>%]\}\}")  # around `$$...$$`
_BRACKETS = compile_quick(
    r"^([ \t>*+-]*(?:\d+[.)])?[ \t]*)\\\\\[(?!-?[\d.]+(?:pt|em|ex|mm|"
    r"cm)\])((?:(?!\n\s*\n).)*?)\\\\\]",
    re.DOTALL | re.MULTILINE,
)
_PAIRS = re.compile(r"\\\\\((.+?)\\\\\)")
_PAIR = compile_quick(r"(?<!\\)\\\((.+?)(?<!\\)\\\)")
_GITLAB = re.compile(r"\$`([^`\n]+)`\$")
_OTHERS = re.compile(
    r"<math[\s>]|\{%-?\s*(?:katex|math|latex)\b|\{\{[<%]\s*(?:katex|math|latex)\b|\[latex\]|\$latex\s|<(?:eq|"
    r"eqn|tex)>|"
    r"!\[[^\]]*\]\(https?://[^)\s]*(?:codecogs|render/math|googleapis\.com/chart)|<img[^>]*(?:codecogs|render/math)"
)


# `\arg\max`, `\operatornamewithlimits{arg\, min}` and the like are one operator.
_ARG = re.compile(
    r"(?:\\mathop\s*\{\s*\\(?:rm|mathrm)\s*arg\s*(?:\\[,;:! ]\s*|~)?\s*(max|min)\s*\}(?:\\limits)?)|"
    r"\\arg\s*(?:\\[,;:! ]\s*|~)?\\?(max|min)(?![a-zA-Z])|"
    r"\\(?:operatorname(?:withlimits|\*)?|mathop|mathrm|text)\s*\{\s*(?P<inner>\{)?\s*arg\s*(?:\\[,;:! ]\s*|~)?\s*"
    r"(max|min)\s*(?(inner)\}\s*)\}(?:\\limits)?"
)


_DOUBLE = re.compile(r"(?<![\\$])\$\$(?!\$)((?:(?!\n\s*\n)[^$])+?)(?<![\\$])\$\$(?!\$)")
_SINGLE = re.compile(r"(?<![\\$])\$(?!\$)")
_CODE = re.compile(r"(?ms)^[ \t]*(`{3,}(?!`)|~{3,}(?!~)).*?^[ \t]*\1|`[^`\n]*`")
_WORD = re.compile(r"(?<![^\W_])(?!(?:and|or)\b)[^\W\d_]{2}")
INSIDE = 3  # formulas in sentences that show how a document writes them
_SIDE_BY_SIDE = re.compile(r"(?<![\\$])\$((?:[^$\\\n]|\\.)+)\$\$((?:[^$\\\n]|\\.)+)\$(?!\$)")
_BOLD = r"\\(?:mathbf|boldsymbol|bm|mathrm)\s*"
_BOLD_SPACE = compile_quick(rf"\\in\s*{_BOLD}(?:\{{\s*R\s*\}}|R)\s*\^")
_BOLD_SET = re.compile(rf"(\\in\s*){_BOLD}(?:\{{\s*([NRZ])\s*\}}|([NRZ])(?![A-Za-z]))(?!\s*[_(])")
_OVER = re.compile(r"\{((?:[^{}]|\{[^{}]*\})*?)\\over(?![a-zA-Z])((?:[^{}]|\{[^{}]*\})*)\}")


def usual_forms(text: str, tex: bool = False) -> str:
    r"""The text with formulas of other forms in the usual ones; every line stays where it was.

    Example:
        >>> usual_forms("Let \\(x > 0\\).")
        'Let $x > 0$.'
    """
    if not tex:
        text = _HUGO.sub(lambda m: m.group(1) or m.group(2), text)
        text = _BRACKETS.sub(lambda m: f"{m.group(1)}$${m.group(2)}$$", text)
        text = _PAIRS.sub(r"$\1$", text)
        text = _GITLAB.sub(r"$\1$", text)
        text = _SCRIPT.sub(_of_script, text)
        text = _of_kramdown(text)
        text = _of_directives(text)
    text = _OVER.sub(r"\\frac{\1}{\2}", text) if r"\over" in text else text
    text = _ARG.sub(lambda m: rf"\operatorname{{arg{m.group(1) or m.group(2) or m.group(4)}}}", text)
    text = _SIDE_BY_SIDE.sub(r"$\1$ $\2$", text) if tex else text
    text = _BOLD_SET.sub(r"\1\\mathbb{\2\3}", text) if _BOLD_SPACE.search(text) else text
    return _PAIR.sub(r"$\1$", text)


def unread_form(text: str) -> str:
    """What is wrong with a line that holds a formula in a form that is not read, '' of any other line."""
    found = _OTHERS.search(re.sub(r"`+[^`]*`+", " ", text) if "`" in text else text)
    if not found:
        return ""
    return f"a formula in the form '{found.group().strip()}' is not read: write it as $$...$$, or inline as $...$"


def writes_double_dollars(text: str) -> bool:
    """Whether a document writes the formulas of its sentences as `$$x$$`: one with `$x$` would make displays of them.

    Args:
        text: The document.

    Example:
        >>> sentences = "Take $$a$$ here, then $$b$$ and $$c$$ there."
        >>> [writes_double_dollars(one) for one in (sentences, sentences + "Let $e$.")]
        [True, False]
    """
    return _of_kramdown(text) != text


def _of_kramdown(text: str) -> str:
    """The text with `$$x$$` in a sentence as `$x$`, where a document knows no other formulas in sentences.

    kramdown reads `$$` both ways: as a display where it is a paragraph, and inside one as inline mathematics. In a
    document that writes `$x$` somewhere, `$$...$$` after words is a display.
    """
    if _SINGLE.search(_DOUBLE.sub(" ", _CODE.sub(" ", text))):
        return text
    formulas = list(_DOUBLE.finditer(text))
    bare = _DOUBLE.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text).split("\n")  # the words, where they stand
    inside = [m for m in formulas if "\n" not in m.group() and _WORD.search(bare[text.count("\n", 0, m.start())])]
    if len(inside) < INSIDE:
        return text
    out, at = [], 0
    for m in inside:
        out += [text[at : m.start()], f"${m.group(1)}$"]
        at = m.end()
    return "".join([*out, text[at:]])


def _of_script(found: re.Match[str]) -> str:
    marks = "$$" if found.group("display") else "$"
    return f"{marks}{_CDATA.sub(' ', found.group('body'))}{marks}"


def _of_directives(text: str) -> str:
    lines = text.split("\n")
    place = 0
    while place < len(lines):
        directive, sphinx = _DIRECTIVE.match(lines[place]), _SPHINX.match(lines[place])
        if directive:
            place = _read_fence(lines, place, directive)
        elif sphinx:
            place = _read_directive(lines, place, sphinx)
        place += 1
    return "\n".join(lines)


def _read_fence(lines: list[str], place: int, found: re.Match[str]) -> int:
    """A MyST directive between marks; where it ends."""
    before, mark, content = found.groups()
    closing = re.compile(rf"^\s*(?:>\s*)*{re.escape(mark[0])}{{{len(mark)},}}\s*$")
    end = next((k for k in range(place + 1, len(lines)) if closing.match(lines[k])), len(lines))
    lines[place] = f"{before}$$ {content}"
    _drop_fields(lines, place, end)
    if end < len(lines):
        lines[end] = f"{before}$$"
    return end


def _read_directive(lines: list[str], place: int, found: re.Match[str]) -> int:
    """A directive of reStructuredText with what is indented below it; where it ends."""
    before, content = found.groups()
    end = place + 1
    while end < len(lines) and (not lines[end].strip() or len(lines[end]) - len(lines[end].lstrip()) > len(before)):
        end += 1
    last = max((k for k in range(place, end) if lines[k].strip()), default=place)
    lines[place] = f"{before}$$ {content}"
    _drop_fields(lines, place, end)
    lines[last] += " $$"
    return last


def _drop_fields(lines: list[str], place: int, end: int) -> None:
    """Comment out the fields of a directive, such as `:label: name`."""
    for k in range(place + 1, end):
        if lines[k].strip() and not _FIELD.match(lines[k]):
            return
        if _FIELD.match(lines[k]):
            lines[k] = "%"


_NAMES = (
    "theorem|thm|lemma|lem|proposition|prop|corollary|cor|claim|fact|observation|conjecture|hypothesis|hypotheses|"
    "assumptions?|asm|conditions?|settings?|definitions?|defn?|notations?|conventions?|remarks?|rem|notes?|examples?|ex|"
    "exercises?|problems?|questions?|solutions?|answers?|proof|abstract|quote|quotation|center|itemize|enumerate|"
    "description|document"
)
_MARK = re.compile(
    rf"\\begin\{{(?:{_NAMES})\*?\}}[ \t]*(?:\[(?P<words>[^\[\]]*)\])?(?:[ \t]*\\label\{{[^{{}}]*\}})?|"
    rf"\\end\{{(?:{_NAMES})\*?\}}"
)
_FOOTNOTE = re.compile(r"\\footnote\s*(?:\[\d*\])?\s*\{(?P<words>(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}")
_DECLARES = re.compile(r"^\s*(?:Let|Given|Assume|Suppose|Draw|Define|Put)\b")


def parts_of(paragraph: Paragraph, behind: bool = False) -> list[Paragraph]:
    r"""The paragraphs that a paragraph holds: what stands between the marks of environments, and footnotes.

    A footnote of a declaration comes first, as its words concern what follows.

    Args:
        paragraph: The paragraph as it stands between blank lines, headings and displays.
        behind: Whether a display stands right above it: then a footnote stays where it is.

    Example:
        >>> [one.text for one in parts_of(Paragraph(1, "\\begin{lemma}[Ties] Let $x > 0$.\\footnote{Real.}"))]
        ['Ties', 'Real.', 'Let $x > 0$.']
    """
    out: list[Paragraph] = []
    for one in _between_marks(paragraph):
        bare = _FOOTNOTE.sub(lambda note: "\n" * note.group().count("\n"), one.text)
        if (behind and not out) or not _DECLARES.match(bare):
            out.append(one)
            continue
        for note in _FOOTNOTE.finditer(one.text):
            out.append(Paragraph(one.line + one.text.count("\n", 0, note.start()), note.group("words")))
        out.append(Paragraph(one.line, bare))
    return out


def _between_marks(paragraph: Paragraph) -> Iterator[Paragraph]:
    text, at = paragraph.text, 0
    pieces: list[tuple[int, str]] = []
    for mark in _MARK.finditer(text):
        pieces.append((at, text[at : mark.start()]))
        if mark.group("words"):
            pieces.append((mark.start("words"), mark.group("words")))
        at = mark.end()
    pieces.append((at, text[at:]))
    for start, piece in pieces:
        blank = len(piece) - len(piece.lstrip())
        if piece.strip():
            yield Paragraph(paragraph.line + text.count("\n", 0, start + blank), piece.strip() if at else piece)
