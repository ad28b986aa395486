r"""The tokens of LaTeX commands.

Commands with letters: symbols, functions, fractions, styles, alphabets, words, boxes, arrows, environments.
Each function takes the lexer it works for, with the place after the command, and returns where the text goes on.

What commands of layout hold (colours, braces above and below) is read as if they were not there. A label of a brace is
a remark, so one with a relation is refused: nothing that may be a claim is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from attention_core.derivation.latex.braces import read_braces as read_braces
from attention_core.derivation.latex.case_values import WORDY, end_of_cases, with_indicators, without_rules
from attention_core.derivation.latex.hessians import read_hessian
from attention_core.derivation.latex.labels import around_operator, holds_relation, without_remark
from attention_core.derivation.latex.syntax import Unreadable
from attention_core.derivation.latex.tokens import (
    ACCENTS,
    ALPHABETS,
    ARROWS,
    BIG,
    DOTS,
    FUNCTIONS,
    GREEK,
    MATRICES,
    PROSE,
    RELATIONS,
    STYLES,
    WORDS,
    WRITTEN,
    TokenStream,
    depth_zero,
)
from attention_core.derivation.latex.usual_macros import USUAL_MACROS, Handler, make_token

# -- commands --------------------------------------------------------------------------------------------------------

_ENDS = re.compile(
    r"(?:\s*[_^]\s*(?:\{[^{}]*\}|\w))*\s*(?:$|[=&+,;:.)\]}<>-]|\\\\|\\(?:right|le|ge|ne|approx|in|to|gg|end)\b)"
)
_PLAIN_SPACES = re.compile(r"\s+")
_PLAIN = re.compile(r"[{} ]|\\math[a-z]+|\\boldsymbol")


_ONE_SYMBOL = re.compile(r"\s*(\{\s*(?:\\[a-zA-Z]+|[A-Za-z])(?:_(?:\w|\{\w+\}))?\s*\})(?!\s*\{)")


def read_command(lexer: TokenStream, name: str, end: int) -> int:
    r"""Commands with letters: symbols, functions, fractions, environments, words.

    A command that an author defined elsewhere is read in front of one symbol: `\mat{X}` is a symbol of its own.
    """
    if name in USUAL_MACROS and name not in HANDLERS:
        return USUAL_MACROS[name](lexer, name, end)
    if name not in HANDLERS and (found := _ONE_SYMBOL.match(lexer.text, end)):
        lexer.emit("NAME", f"\\{name}{_PLAIN_SPACES.sub('', found[1])}")
        return found.end()
    if name not in HANDLERS:
        return _read_unknown(lexer, name, end)
    return HANDLERS[name](lexer, name, end)


_GIVEN = re.compile(r"\s*\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}")
_CHANGES = frozenset(
    re.split(
        r"\s+",
        """
    not def let newcommand renewcommand input include csname catcode expandafter if ifx else fi loop write read openin
    DeclareMathOperator hbox vbox mathchoice verb url href includegraphics require""".strip(),
    )
)
"""Commands that say how others are read, or that are read as no formula: none is a symbol."""


def _read_unknown(lexer: TokenStream, name: str, end: int) -> int:
    """A command that no table knows, as one symbol with its arguments; what holds a relation is refused."""
    given, after = "", end
    while found := _GIVEN.match(lexer.text, after):
        given, after = f"{given}{{{_PLAIN_SPACES.sub('', found[1])}}}", found.end()
    if not lexer.authors or not name.isalpha() or name in _CHANGES or holds_relation(given):
        raise Unreadable(f"the command \\{name} is not understood; write the formula without it", lexer.line)
    lexer.emit("NAME", f"\\{name}{given}" if given else f"\\{name}{lexer.primes(after)}")
    return after if given else lexer.after_primes(after)


_COMMAND_NAME = re.compile(r"\\([a-zA-Z]+)(?:$|['_^(\[]|\{.*\}\{)")


def unknown_command(symbol: str) -> str:
    r"""The command that a symbol is, if none of the tables knows it: `\tp` of `\tp`, '' of `\mu` and `\mat{X}`.

    Args:
        symbol: The name of a symbol.
    """
    found = _COMMAND_NAME.match(symbol)
    name = found[1] if found else ""
    known = name in HANDLERS or name in USUAL_MACROS or f"\\{name}" in RELATIONS or name in _READ_AS_NAMES
    return "" if known else name


_READ_AS_NAMES = frozenset(["text", "partial", "operatorname", "begin", "centerdot"])


def _greek(lexer: TokenStream, name: str, end: int) -> int:
    lexer.emit("NAME", "\\" + name + lexer.primes(end))
    return lexer.after_primes(end)


def _fraction(lexer: TokenStream, name: str, end: int) -> int:
    lexer.emit("PFRAC" if re.compile(r"\s*\{\s*\\partial").match(lexer.text, end) else "FRAC")
    lexer.tight = 2
    return end


def _root(lexer: TokenStream, name: str, end: int) -> int:
    lexer.emit("SQRT")
    lexer.tight = 1
    return end


def _big(lexer: TokenStream, name: str, end: int) -> int:
    """An operator with something below it; a maximum or minimum without is a function."""
    if _is_label(lexer, end):
        return _function(lexer, name, end)
    if name in ("max", "min") and not lexer.text[end:].lstrip().startswith(("_", r"\limits")):
        return _function(lexer, name, end)
    lexer.emit("BIGOP", BIG[name])
    return end


def _function(lexer: TokenStream, name: str, end: int) -> int:
    if _is_label(lexer, end):
        lexer.emit("NAME", f"\\text{{{name}}}")
    else:
        lexer.emit("FUNC", FUNCTIONS[name])
    return end


def _is_label(lexer: TokenStream, end: int) -> bool:
    r"""Whether an operator is all that a subscript or an exponent holds: `\eta_{\min}` has a label."""
    kinds = [token.kind for token in lexer.out[-2:]]
    if kinds[-1:] in (["UNDER"], ["CARET"]):
        return True
    return kinds in (["UNDER", "LBRACE"], ["CARET", "LBRACE"]) and lexer.text[end:].lstrip().startswith("}")


def _percent(lexer: TokenStream, name: str, end: int) -> int:
    r"""`50\%` is 0.5."""
    last = lexer.out[-1] if lexer.out else None
    if last is None or last.kind != "NUM" or "e" in last.value.lower():
        raise Unreadable(r"\% is understood only after a number", lexer.line)
    lexer.out[-1] = last._replace(value=f"{last.value}e-2")
    return end


_CONJUGATED = re.compile(r"\s*\(.*\)\s*$|.*\be\s*\^", re.DOTALL)  # a line over these is not a name


_WITH_INDEX = re.compile(r"\s*(\\[a-zA-Z]+|[a-zA-Z])\s*_\s*(\w|\{[^{}]*\})\s*$")


def _read_accent(lexer: TokenStream, name: str, end: int) -> int:
    r"""A letter with an accent; `\hat{y_i}` is `\hat{y}_i`."""
    inner, end = read_braces(lexer.text, end, lexer.line)
    if indexed := _WITH_INDEX.match(inner):
        lexer.emit("NAME", f"\\{name}{{{indexed[1]}}}")
        lexer.lex_inner(f"_{indexed[2]}")
        return end
    if name == "overline" and _CONJUGATED.match(inner):
        lexer.lex_inner(f"({inner})^{{*}}")
        return end
    lexer.emit("NAME", f"\\{name}{{{_PLAIN.sub('', inner)}}}")
    return end


def _tag(lexer: TokenStream, name: str, end: int) -> int:
    inner, end = read_braces(lexer.text, end, lexer.line)
    lexer.emit("TAG", inner.strip())
    return end


def _nabla(lexer: TokenStream, name: str, end: int) -> int:
    """A gradient by what stands below; without it a letter, which says nothing of the variable."""
    if after := read_hessian(lexer, end):
        return after
    below = lexer.text[end:].lstrip().startswith("_")
    lexer.emit("NABLA" if below else "NAME", "" if below else r"\nabla")
    return end


def _read_style(lexer: TokenStream, name: str, end: int) -> int:
    """Bold is style, except for the vector of ones; that it is bold is kept, as both may be declared."""
    first = len(lexer.out)
    inner, after = read_braces(lexer.text, end, lexer.line)
    bare = inner.strip()
    if bare == "1":
        lexer.emit("NAME", r"\mathbf{1}")
    elif bare == "E" and re.match(r"\s*(\^\{?2\}?)?\s*(\\left|\\big|\\Big)?\s*\[", lexer.text[after:]):
        lexer.emit("FUNC", "E")
    else:
        lexer.lex_inner(inner)
        if name != "mathit":
            lexer.out[first:] = [t._replace(bold=True) if t.kind == "NAME" else t for t in lexer.out[first:]]
    return after


def _read_box(lexer: TokenStream, name: str, end: int) -> int:
    r"""`\boxed{x}` is x, as if in brackets; `\boxed{a = b}` is a = b, if it has its row to itself."""
    inner, after = read_braces(lexer.text, end, lexer.line)
    inside = lexer.inside(inner).run()
    if not any(t.kind in ("REL", "ARROW", "NEWROW", "AMP", "COMMA") for _, t in depth_zero(inside)):
        lexer.open("LBRACE", "{")
        lexer.lex_inner(inner)
        lexer.close("RBRACE", "}", ("LBRACE",))
        return after
    before = lexer.out[-1].kind if lexer.out else "NEWROW"
    if before not in ("NEWROW", "AMP", "GAP", "ARROW") or not re.match(
        r"\s*(?:\\[,; ]\s*)*[.,;]?\s*(\\\\|\\tag|\\q?quad|\\text|&|$)", lexer.text[after:]
    ):
        raise Unreadable("a box around a relation is understood where it has its row to itself", lexer.line)
    lexer.lex_inner(inner)
    return after


_CALLED = re.compile(r"\s*(?:\\(?:left|[bB]igg?l?)\s*)?\(")


def _alphabet(lexer: TokenStream, name: str, end: int) -> int:
    """Letters of other alphabets: the reals, the naturals, expectations, the normal law, a vector of ones."""
    inner, after = read_braces(lexer.text, end, lexer.line)
    letter, name = inner.strip(), "mathbb" if name in ("mathbbm", "mathds", "Bbb") else name
    if name == "mathbb" and letter in ("E", "P"):
        lexer.emit("FUNC", "E" if letter == "E" else "Pr")
    elif letter == "N" and (name != "mathbb" or _CALLED.match(lexer.text, after)):
        lexer.emit("FUNC", "Normal")
    elif name == "mathbb" and letter == "1":
        lexer.emit("NAME", r"\mathbf{1}")
    elif name == "mathbb" or len(letter) != 1:
        lexer.emit("NAME", f"\\{name}{{{letter}}}")
    else:
        lexer.emit("NAME", f"\\{name}{{{letter}}}" if name != "mathbb" else letter)
    return after


def _words(lexer: TokenStream, name: str, end: int) -> int:
    """Text: the name of a function, a name, or prose."""
    inner, after = read_braces(lexer.text, end, lexer.line)
    word = inner.strip()
    if name.startswith("operatorname") and re.fullmatch(r"\\math\w+\s*\{\w\}", word):
        lexer.lex_inner(word)  # \operatorname*{\mathbb{E}}
        return after
    if _is_side(lexer, word, after):
        lexer.emit("NAME", f"\\text{{{' '.join(word.replace('$', '').split())}}}")
        return after
    if re.search(r"(?<!\\)\$", inner):
        return _read_mixed_text(lexer, inner, after)
    if word in ("max", "min") and re.match(r"\s*(\\limits)?\s*_", lexer.text[after:]):
        lexer.emit("BIGOP", word)
    elif (function := FUNCTIONS.get(word) or WRITTEN.get(word)) and not _ENDS.match(lexer.text, after):
        lexer.emit("FUNC", function)
    elif name in ("operatorname", "mathrm") or (
        re.fullmatch(r"[A-Za-z][A-Za-z0-9]*", word) and word.lower() not in PROSE
    ):
        lexer.emit("NAME", word if len(word) == 1 else f"\\text{{{word}}}")
    else:
        lexer.emit("TEXT", word)
    return after


_SIDE_ENDS = re.compile(r"\s*[.,;]?\s*(?:$|\\\\|\\end\b|\\tag\b)")


def _is_side(lexer: TokenStream, word: str, after: int) -> bool:
    r"""Whether words are all of the right side of an equation: `A = \text{the first draw is red}`."""
    last = next((t for t in reversed(lexer.out) if t.kind not in ("GAP", "AMP")), None)
    equal = last is not None and last.kind == "REL" and last.value in ("=", ":=")
    return equal and not lexer.stack and " " in word and bool(_SIDE_ENDS.match(lexer.text, after))


def _read_mixed_text(lexer: TokenStream, inner: str, after: int) -> int:
    r"""`\text{if $x > 0$}`: words and formulas in turn."""
    parts = re.split(r"(?<!\\)\$", inner)
    if len(parts) % 2 == 0:
        raise Unreadable("a $ inside \\text is never closed", lexer.line)
    for place, part in enumerate(parts):
        if place % 2:
            lexer.lex_inner(part)
        elif part.strip():
            lexer.emit("TEXT", part.strip())
    return after


def _above(lexer: TokenStream, name: str, end: int) -> int:
    r"""`\stackrel{above}{=}`, `\overset{above}{=}`, `\underset{below}{=}`: a relation with its reason."""
    inner, after = read_braces(lexer.text, end, lexer.line)
    base, after = read_braces(lexer.text, after, lexer.line)
    if (written := around_operator(name, inner, base)) or (
        lexer.authors and (written := without_remark(name, inner, base))
    ):
        lexer.lex_inner(written)
        return after
    label = inner.strip()
    word = re.sub(r"\\(?:text|mathrm|operatorname|textrm|rm)\s*|[{}$]", "", label).strip()
    if base.strip() not in RELATIONS and base.strip() not in ARROWS:
        raise Unreadable(f"\\{name} is understood above a relation only, not above '{base.strip()}'", lexer.line)
    if (word.lower() in ("def", "def.") and RELATIONS.get(base.strip()) == "=") or (
        RELATIONS.get(base.strip()) == "=" and word in (r"\triangle", r"\Delta", ":", r"\vartriangle")
    ):
        lexer.emit("REL", ":=")
    elif RELATIONS.get(base.strip()) == "sim" and re.fullmatch(r"[a-z.\\,~ ]{0,12}", word.lower()):
        lexer.lex_inner(base)  # independent and identically distributed
    elif re.fullmatch(r"\(?\*?[a-zA-Z0-9]{0,3}\*{0,3}\)?", word) and word[:1] + word[-1:] in ("()", "**", "*"):
        lexer.lex_inner(base)  # a number to refer to
    elif re.match(r"\\text(rm)?\s*\{", label) and not re.fullmatch(r"[a-z.]{1,4}", word):
        lexer.lex_inner(base)
    else:
        raise Unreadable(
            f"'{label}' on top of a relation is not understood: give reasons with \\text after the relation",
            lexer.line,
        )
    return after


def _limit_arrow(lexer: TokenStream, name: str, end: int) -> int:
    r"""`\xrightarrow{S \to \infty}` or `\xrightarrow[S \to \infty]{}`: a limit, with what moves."""
    below = re.compile(r"\s*\[([^\]]*)\]").match(lexer.text, end)
    inner, after = read_braces(lexer.text, below.end() if below else end, lexer.line)
    labels = [part.strip() for part in (below.group(1) if below else "", inner) if part.strip()]
    if len(labels) != 1 or not re.search(r"\\(to|rightarrow)\b", labels[0]):
        raise Unreadable("write what moves on the arrow: \\xrightarrow{S \\to \\infty}", lexer.line)
    lexer.emit("REL", "->")
    lexer.emit("MOVES", labels[0])
    return after


def _labelled_arrow(kind: str, value: str) -> Handler:
    r"""`\xRightarrow{\text{by symmetry}}`, an arrow with a remark; what holds a relation is refused."""

    def emit(lexer: TokenStream, name: str, end: int) -> int:
        below = re.compile(r"\s*\[([^\]]*)\]").match(lexer.text, end)
        inner, after = read_braces(lexer.text, below.end() if below else end, lexer.line)
        if holds_relation(inner + (below[1] if below else "")):
            raise Unreadable(f"the label of \\{name} holds a relation, '{inner.strip()}'", lexer.line)
        lexer.emit(kind, value)
        return after

    return emit


def _environment(lexer: TokenStream, which: str, end: int) -> int:
    """A matrix, or the frame around a display (which `display` has taken off already)."""
    inner, after = read_braces(lexer.text, end, lexer.line)
    name = inner.strip().rstrip("*")
    if name == "cases":
        found = end_of_cases(lexer.text, after) if which == "begin" else None
        written = with_indicators(found[0]) if found is not None else ""
        if found is not None and written:
            lexer.lex_inner(written)
            return found[1]
        if found is not None and WORDY.search(found[0]):  # cases that words tell apart: a symbol of its own
            lexer.emit("NAME", rf"\begin{{cases}} {' '.join(found[0].split())} \end{{cases}}")
            return found[1]
        raise Unreadable(
            r"\begin{cases} is not understood: write one statement for each case, such as x > 0 \implies f = x",
            lexer.line,
        )
    if name not in MATRICES:
        if which == "begin" and not lexer.stack:
            advice = "write the display with $$ ... $$ and aligned"
            raise Unreadable(f"the environment {name} is not understood: {advice}", lexer.line)
        raise Unreadable(f"the environment {name} is not understood inside a formula", lexer.line)
    if which == "begin" and (ruled := without_rules(lexer.text, after)):
        lexer.open("BEGINMAT", name)
        lexer.lex_inner(ruled[0])
        lexer.close("ENDMAT", name, ("BEGINMAT",))
        return ruled[1]
    if which == "begin":
        lexer.open("BEGINMAT", name)
        if name == "array":
            _, after = read_braces(lexer.text, after, lexer.line)
    else:
        lexer.close("ENDMAT", name, ("BEGINMAT",))
    return after


# -- layout ----------------------------------------------------------------------------------------------------------

_END = re.compile(r"\s*[.,;]?\s*(?:$|\\\\|\\end|\\tag|\})")
_LABEL = re.compile(r"\s*[_^]\s*")
_STYLED_LABEL = re.compile(r"\\(?:text\w*|math\w+|mbox|hbox|operatorname)\s*(?=\{)")


def _rows_below(lexer: TokenStream, name: str, end: int) -> int:
    r"""`\substack{i < n \\ j < n}`: what stands below an operator in several rows."""
    inner, after = read_braces(lexer.text, end, lexer.line)
    lexer.lex_inner(", ".join(row for row in re.split(r"\\\\(?:\s*\[[^\]]*\])?", inner) if row.strip()))
    return after


_SKIPPED = ("cite", "citep", "citet", "eqref", "ref", "color", "phantom", "hphantom", "vphantom")
_KEPT = (
    "cancel", "bcancel", "xcancel", "mathop", "mathrel", "mathbin", "mathord", "ensuremath", "mathclap", "mathrlap",
    "mathllap", "clap",
)  # fmt: skip
_SWITCHES = (
    "scriptstyle", "scriptscriptstyle", "small", "large", "Large", "normalsize", "footnotesize", "tiny", "space",
    "allowbreak", "nobreak", "enspace", "enskip", "thickspace",
    "displaybreak", "bf", "it", "rm", "centering", "displaylimits", "pause",
)  # fmt: skip


def _skip(lexer: TokenStream, name: str, end: int) -> int:
    """A command whose argument is not part of the formula."""
    return read_braces(lexer.text, end, lexer.line)[1]


def _keep(lexer: TokenStream, name: str, end: int) -> int:
    """A command that is its argument."""
    inner, after = read_braces(lexer.text, end, lexer.line)
    lexer.lex_inner(inner)
    return after


def _keep_second(lexer: TokenStream, name: str, end: int) -> int:
    r"""`\textcolor{red}{x}`, `\cancelto{0}{x}`, and `\colorbox{red}{$x$}` with words around its formulas."""
    after = read_braces(lexer.text, end, lexer.line)[1]
    inner, after = read_braces(lexer.text, after, lexer.line)
    if name in ("textcolor", "cancelto"):
        lexer.lex_inner(inner)
        return after
    parts = re.split(r"(?<!\\)\$", inner)
    if len(parts) % 2 == 0:
        raise Unreadable(f"a $ inside \\{name} is never closed", lexer.line)
    for place, part in enumerate(parts):
        if place % 2:
            lexer.lex_inner(part.removeprefix(r"\displaystyle"))
        elif part.strip():
            lexer.emit("TEXT", part.strip())
    return after


def _read_brace(lexer: TokenStream, name: str, end: int) -> int:
    r"""`\underbrace{x}_{\text{label}}`: x."""
    inner, after = read_braces(lexer.text, end, lexer.line)
    lexer.open("LBRACE", "{")
    lexer.lex_inner(inner)
    lexer.close("RBRACE", "}", ("LBRACE",))
    found = _LABEL.match(lexer.text, after)
    if not found:
        return after
    styled = _STYLED_LABEL.match(lexer.text, found.end())  # `_\text{words}`, without braces around it
    label, after = read_braces(lexer.text, styled.end() if styled else found.end(), lexer.line)
    if holds_relation(label) and not lexer.authors:  # in a display it is a remark beside it
        raise Unreadable(
            f"the label of \\{name} holds a relation, '{label.strip()}': give it a row of its own", lexer.line
        )
    return after


def _gap(lexer: TokenStream, name: str, end: int) -> int:
    lexer.emit("GAP", r"\quad")
    return read_braces(lexer.text, end, lexer.line)[1]


def _argument(lexer: TokenStream, name: str, end: int) -> int:
    r"""`\arg\max_y`: where the largest value is taken."""
    found = re.compile(r"(?:\s|\\[,!])*\\(max|min)(?![a-zA-Z])").match(lexer.text, end)
    if not found:
        raise Unreadable(r"\arg is understood in front of \max and \min only", lexer.line)
    lexer.emit("BIGOP", f"arg{found[1]}")
    return found.end()


def _over(lexer: TokenStream, name: str, end: int) -> int:
    r"""`{a \over b}`: a fraction; `{n \choose k}`: a binomial coefficient."""
    depth = 0
    for place in range(len(lexer.out) - 1, -1, -1):
        depth += (lexer.out[place].kind == "RBRACE") - (lexer.out[place].kind == "LBRACE")
        if depth < 0 and lexer.stack[-1:] == ["LBRACE"]:
            opened = lexer.out[place]
            if name == "choose":
                lexer.out.insert(place, opened._replace(kind="FUNC", value="binom"))
                lexer.emit("COMMA", ",")
                return end
            lexer.out.insert(place, opened._replace(kind="FRAC", value=""))
            lexer.emit("RBRACE", "}")
            lexer.emit("LBRACE", "{")
            return end
    raise Unreadable(f"\\{name} is understood in braces only: write \\frac{{a}}{{b}} or \\binom{{n}}{{k}}", lexer.line)


def _binomial(lexer: TokenStream, name: str, end: int) -> int:
    r"""`\binom{n}{k}`: a function of two numbers."""
    above, after = read_braces(lexer.text, end, lexer.line)
    beneath, after = read_braces(lexer.text, after, lexer.line)
    lexer.emit("FUNC", "binom")
    lexer.open("LBRACE", "{")
    lexer.lex_inner(above)
    lexer.emit("COMMA", ",")
    lexer.lex_inner(beneath)
    lexer.close("RBRACE", "}", ("LBRACE",))
    return after


def _label(lexer: TokenStream, name: str, end: int) -> int:
    r"""A mark that is read as a label alone: `x_\bullet`."""
    label = _is_label(lexer, end)
    if not label and not lexer.authors:
        raise Unreadable(f"\\{name} is understood as a subscript or an exponent only", lexer.line)
    lexer.emit("NAME" if label else "TIMES", f"\\{name}" if label else name)
    return end


def _nothing(lexer: TokenStream, name: str, end: int) -> int:
    return end


def _word(word: str) -> Handler:
    def emit(lexer: TokenStream, name: str, end: int) -> int:
        lexer.emit("TEXT", word)
        return end

    return emit


def _end_mark(lexer: TokenStream, name: str, end: int) -> int:
    r"""`\square` at the end of a row."""
    if not _END.match(lexer.text, end):
        raise Unreadable(f"\\{name} is understood at the end of a row only", lexer.line)
    return end


def _words_between(lexer: TokenStream, name: str, end: int) -> int:
    r"""`\intertext{words}`: a row of words."""
    inner, after = read_braces(lexer.text, end, lexer.line)
    lexer.emit("TEXT", inner.strip())
    lexer.emit("NEWROW")
    return after


HANDLERS: Mapping[str, Handler] = {
    **{name: make_token("NAME", "\\" + name) for name in ("#", "&", "_", "$")},
    "%": _percent,
    "prime": make_token("NAME", "'"),
    "infty": make_token("INF"),
    "sqrt": _root,
    "int": make_token("BIGOP", "int"),
    "nabla": _nabla,
    "xrightarrow": _limit_arrow,
    **dict.fromkeys(("xRightarrow", "xLongrightarrow"), _labelled_arrow("ARROW", "=>")),
    **dict.fromkeys(("xLeftrightarrow", "xLongleftrightarrow"), _labelled_arrow("ARROW", "<=>")),
    **dict.fromkeys(("xlongequal", "xequal"), _labelled_arrow("REL", "=")),
    **dict.fromkeys(("tag", "label"), _tag),
    **dict.fromkeys(("boxed", "fbox"), _read_box),
    **dict.fromkeys(("stackrel", "overset", "underset"), _above),
    **dict.fromkeys(("begin", "end"), _environment),
    **dict.fromkeys(("frac", "tfrac", "dfrac", "cfrac"), _fraction),
    **dict.fromkeys(ALPHABETS, _alphabet),
    **dict.fromkeys(ACCENTS, _read_accent),
    **dict.fromkeys(WORDS, _words),
    **dict.fromkeys(STYLES, _read_style),
    **dict.fromkeys(FUNCTIONS, _function),
    **dict.fromkeys(BIG, _big),
    **dict.fromkeys(GREEK, _greek),
    **dict.fromkeys(DOTS, make_token("DOTS")),
    **dict.fromkeys(_SKIPPED, _skip),
    **dict.fromkeys(_KEPT, _keep),
    **dict.fromkeys(("textcolor", "colorbox", "cancelto"), _keep_second),
    "arg": _argument,
    "bullet": _label,
    "dagger": _label,
    "substack": _rows_below,
    **dict.fromkeys(("over", "choose"), _over),
    **dict.fromkeys(("binom", "dbinom", "tbinom"), _binomial),
    **dict.fromkeys(("underbrace", "overbrace"), _read_brace),
    **dict.fromkeys(("hspace", "vspace", "hskip"), _gap),
    **dict.fromkeys(_SWITCHES, _nothing),
    **dict.fromkeys(("square", "blacksquare", "qed", "Box"), _end_mark),
    **dict.fromkeys(("intertext", "shortintertext"), _words_between),
    "therefore": _word("therefore"),
    "because": _word("since"),
}
"""What each command becomes; where a name stands in two tables, the later one counts."""
