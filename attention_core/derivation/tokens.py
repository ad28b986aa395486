# From LaTeX to tokens: style falls away, bars find their partners, transposes and functions are recognised.
# Nothing is expanded and nothing is run; a command that is not in the tables is refused by name.
"""The lexer of displays and inline formulas."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from attention_core.derivation.latex import (
    ACCENTS,
    ALPHABETS,
    ARROWS,
    BARE,
    BIG,
    DOTS,
    FUNCTIONS,
    GREEK,
    MATRICES,
    OPERATORS,
    PROSE,
    RELATIONS,
    SPACES,
    STYLES,
    WORDS,
)
from attention_core.derivation.syntax import Unreadable

MAX_TOKENS = 8000
MAX_NESTING = 60


MASTER = re.compile(
    r"(?P<space>[ \t\r\n]+)|(?P<comment>(?<!\\)%[^\n]*)"
    r"|(?P<number>\d+(?:\{,\}\d{3})*(?:\.\d+)?(?:[eE]-?\d+(?![a-zA-Z]))?|\.\d+)"
    r"|(?P<command>\\(?:[a-zA-Z]+\*?|.|\n))|(?P<word>[a-zA-Z]+)|(?P<define>:=)|(?P<other>.)",
    re.DOTALL,
)
_ENDS = re.compile(r"\s*(?:$|[=&+,;:.)\]}<>-]|\\\\|\\(?:right|le|ge|ne|approx|in|to|gg|end)\b)")
_THIN = r"(?:\s*(?:\\[,:!]|\\(?:thin|med)space(?![a-zA-Z])|~)\s*)+"
_GROUPS = re.compile(rf"(?:{_THIN}\d{{3}}(?!\d))+(?:\.\d+)?")
_SPLIT_IN_ROW = re.compile(rf"(?:{_THIN}|\s+)\d+")
_SPLIT = re.compile(rf"(?:{_THIN}|(?:\s*\\[; ]\s*)+|\s+)\d+")
_PRIMES = re.compile(r"\s*(?:\\prime(?![a-zA-Z])|\{(?:\s*\\prime(?![a-zA-Z]))+\s*\})")
_TYPED = {"=>": r"\implies or \ge", "<=": r"\le", ">=": r"\ge", "=<": r"\le", "!=": r"\ne", "==": "="}
_PLAIN = re.compile(r"[{} ]|\\math[a-z]+|\\boldsymbol")
TRANSPOSE = re.compile(
    r"\s*(?:\\top\b|\\intercal\b|T(?![a-zA-Z])|\\mathsf\s*\{?T\}?|\\mathrm\s*\{T\}|\\mathrm\s+T|\\text\s*\{T\}"
    r"|\{\s*(?P<minus>-?)\s*(?:\\top|\\intercal|T|\\mathsf\s*\{?\s*T\s*\}?|\\mathrm\s*\{?\s*T\s*\}?"
    r"|\\text\s*\{T\})\s*\})"
)


@dataclass(frozen=True, slots=True)
class Tok:
    """One token: its kind, its value, its line in the document, where it starts in the display, is it in bold?"""

    kind: str
    value: str
    line: int
    start: int
    bold: bool = False


def braced(text: str, at: int, line: int) -> tuple[str, int]:
    """The content of `{...}` at or after `at` and where it ends; without braces a single character or command."""
    while at < len(text) and text[at] in " \t\n\r":
        at += 1
    if at >= len(text):
        raise Unreadable("a command at the end misses its argument", line)
    if text[at] == "\\":
        found = re.compile(r"\\(?:[a-zA-Z]+|.)").match(text, at)
        assert found is not None or at + 1 >= len(text)
        return (found.group(), found.end()) if found else ("\\", at + 1)
    if text[at] != "{":
        return text[at], at + 1
    depth, start = 0, at
    while at < len(text):
        if text[at] == "\\":
            at += 2
            continue
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
        if depth == 0:
            return text[start + 1 : at - 1], at
    raise Unreadable("a brace { is never closed", line)


class Lexer:
    """Turns the text of one formula into tokens; `line` is the line in the document where the text starts."""

    def __init__(self, text: str, line: int, start: int | None = None) -> None:
        self.text, self.first, self.start = text, line, start  # `start`: where a text inside a command begins
        self.out: list[Tok] = []
        self.stack: list[str] = []
        self.at = 0
        self.line = line
        self.tight = 0  # how many arguments may follow without braces, one character each
        self.held: list[tuple[int, int]] = []  # braces opened as such arguments: (depth, how many follow them)

    def emit(self, kind: str, value: str = "") -> None:
        """Append one token."""
        if len(self.out) >= MAX_TOKENS:
            raise Unreadable(f"the formula has more than {MAX_TOKENS} tokens: split it", self.first)
        self.out.append(Tok(kind, value, self.line, self.at if self.start is None else self.start))

    def open(self, kind: str, value: str) -> None:
        """Append an opening bracket."""
        if len(self.stack) >= MAX_NESTING:
            raise Unreadable(f"brackets are nested more than {MAX_NESTING} deep", self.line)
        self.stack.append(kind)
        self.emit(kind, value)

    def close(self, kind: str, value: str, opened: tuple[str, ...]) -> None:
        """Append a closing bracket if one of `opened` is the innermost open one."""
        if self.stack and self.stack[-1] == "LNORM" and value in ")]":
            raise Unreadable(
                "a \\| before the closing bracket opens a norm that is not closed; a divergence D(p \\| q) is "
                "written as its sum, \\sum_i p_i \\log(p_i / q_i)",
                self.line,
            )
        if not self.stack or self.stack[-1] not in opened:
            raise Unreadable(f"a closing {value} has no opening bracket before it", self.line)
        self.stack.pop()
        self.emit(kind, value)

    def operand_before(self) -> bool:
        """Whether the last token ends an operand, so that a bar closes."""
        ends = (
            "NUM",
            "NAME",
            "RPAR",
            "RBRACK",
            "RBRACE",
            "RBAR",
            "RNORM",
            "RSET",
            "TRANS",
            "DOTS",
            "ENDMAT",
            "INF",
        )
        return bool(self.out) and self.out[-1].kind in ends

    def run(self) -> list[Tok]:
        """All tokens."""
        text, match = self.text, MASTER.match
        while self.at < len(text):
            found = match(text, self.at)
            assert found is not None
            kind, value = str(found.lastgroup), found.group()
            if self.tight and kind == "number" and value[0].isdigit():
                value = value[0]
            end = self.at + len(value)
            if kind == "number" and not self.tight:
                value, end = self.grouped(value, end)
            if kind not in ("space", "comment"):
                self.tight = max(0, self.tight - 1)
                end = self.handle(kind, value, end)
            self.line += text.count("\n", self.at, end)
            self.at = end
        if self.stack:
            raise Unreadable("a bracket, a bar or an environment is never closed", self.first)
        return self.out

    def grouped(self, value: str, end: int) -> tuple[str, int]:
        r"""A number with its groups of three digits behind thin spaces, as in `1\,000`, and where it ends."""
        row = bool(self.stack) and self.stack[-1] in ("LBRACK", "BEGINMAT")
        opened = [i for i, t in enumerate(self.out[-20:], max(0, len(self.out) - 20)) if t.kind == "LBRACE"]
        if self.stack[-1:] == ["LBRACE"] and opened and opened[-1] and self.out[opened[-1] - 1].kind == "UNDER":
            return value, end  # A_{1 1} has two indices
        groups = _GROUPS.match(self.text, end)
        if groups and re.fullmatch(r"\d{1,3}", value):
            return re.sub(r"\\[a-z]+|[^\d.]", "", value + groups.group()), groups.end()
        split = (_SPLIT_IN_ROW if row else _SPLIT).match(self.text, end)
        if split:
            shown = f"{value}{split.group()}"
            raise Unreadable(
                f"'{shown}' may be one number or two: write one number without spaces, a product with \\cdot", self.line
            )
        if not self.stack and re.fullmatch(r"[1-9]\d{0,2}", value) and re.match(r",\d{3}(?!\d)", self.text[end:]):
            shown = f"{value}{self.text[end : end + 4]}"
            plain = shown.replace(",", "")
            raise Unreadable(
                f"'{shown}' may be one number or two: write {plain} or {plain[:-3]}{{,}}{plain[-3:]}, or a space "
                "behind the comma",
                self.line,
            )
        return value, end

    def handle(self, kind: str, value: str, end: int) -> int:
        """Emit what one lexeme means, and say where the next one starts."""
        if kind == "number":
            self.emit("NUM", value.replace("{,}", ""))
        elif kind == "command":
            return self.command(value, end)
        elif kind == "word":
            return self.word(value, end)
        elif kind == "define":
            self.emit("REL", ":=")
        else:
            return self.punctuation(value, end)
        return end

    def word(self, value: str, end: int) -> int:
        """Letters in a row: a known function if a bracket follows, else one symbol each."""
        for name in BARE:
            if value.startswith(name) and (len(value) == len(name) or len(name) > 2):
                rest = self.text[end:].lstrip() if len(value) == len(name) else ""
                called = rest.startswith(("(", "[", r"\left", r"\big", r"\Big")) and (
                    name not in ("E",) or "[" in rest[:7]
                )
                powered = name in ("E", "Var") and re.match(r"\^\{?\d\}?\s*(\\left)?\[", rest)
                if called or powered:
                    self.emit("FUNC", FUNCTIONS[name])
                    return end
        one = value[0]
        self.emit("NAME", one + self.primes(self.at + 1))
        return self.after_primes(self.at + 1)

    def primes(self, at: int) -> str:
        """The primes that follow a name."""
        found = re.compile(r"'*").match(self.text, at)
        return found.group() if found else ""

    def after_primes(self, at: int) -> int:
        """Where the text goes on behind primes."""
        return at + len(self.primes(at))

    def punctuation(self, value: str, end: int) -> int:
        """Brackets, scripts, relations and signs of one character."""
        if (typed := self.text[self.at : self.at + 2]) in _TYPED:
            raise Unreadable(f"'{typed}' is not LaTeX: write {_TYPED[typed]}", self.line)
        if value in "([":
            self.open("LPAR" if value == "(" else "LBRACK", value)
        elif value in ")]":
            self.close("RPAR" if value == ")" else "RBRACK", value, ("LPAR", "LBRACK"))
        elif value == "{":
            self.held.append((len(self.stack), self.tight))
            self.tight = 0  # inside braces a number has all its digits
            self.open("LBRACE", value)
        elif value == "}":
            self.close("RBRACE", value, ("LBRACE",))
            if self.held and self.held[-1][0] == len(self.stack):
                self.tight = self.held.pop()[1]
        elif value == "|":
            self.bar("BAR")
        elif value == "^":
            return self.superscript(end)
        elif value == "_":
            self.emit("UNDER")
            self.tight = 1
        elif value == "&":
            self.emit("AMP")
        elif value in RELATIONS:
            self.emit("REL", RELATIONS[value])
        elif value in OPERATORS:
            self.emit(*OPERATORS[value])
        elif value == "." and self.text.startswith("...", self.at):
            self.emit("DOTS")
            return self.at + 3
        elif value in ".~":
            if value == ".":
                self.emit("STOP")
        elif value.isalpha():
            self.emit("NAME", value)
        elif value == "!":
            raise Unreadable("factorials (!) are not understood: write \\prod_{k=1}^{n} k", self.line)
        else:
            raise Unreadable(f"the character {value!r} is not understood in a formula", self.line)
        return end

    def superscript(self, end: int) -> int:
        """`^`: a transpose, or the start of an exponent."""
        primes = _PRIMES.match(self.text, end)
        if primes and self.out and self.out[-1].kind == "NAME":
            self.out[-1] = replace(self.out[-1], value=self.out[-1].value + "'" * primes.group().count("prime"))
            return primes.end()
        found = TRANSPOSE.match(self.text, end)
        if found:
            if found.group("minus"):
                self.emit("CARET")
                self.emit("NUM", "-1")
            bare = re.fullmatch(r"\s*(?:T|\{\s*-?\s*T\s*\})", found.group())
            self.emit("TRANS", "T" if bare else "")
            return found.end()
        self.emit("CARET")
        self.tight = 1
        return end

    def bar(self, kind: str) -> None:
        """A bar opens where an operand may start and closes where one has ended."""
        if self.stack and self.stack[-1] == "L" + kind and self.operand_before():
            self.close("R" + kind, "|", ("L" + kind,))
        else:
            self.open("L" + kind, "|")

    def command(self, value: str, end: int) -> int:
        """A backslash command."""
        name = value[1:].rstrip("*")
        if value in SPACES:
            if value in ("\\ ", r"\quad", r"\qquad", r"\;"):
                self.emit("GAP", value)
            return end
        if value == r"\\":
            self.emit("NEWROW")
            found = re.compile(r"\s*\[-?[\d.]+(?:pt|em|ex|mm|cm)\]").match(self.text, end)
            return found.end() if found else end
        for table, kind in ((RELATIONS, "REL"), (ARROWS, "ARROW")):
            if value in table:
                self.emit(kind, table[value])
                return end
        if value in OPERATORS:
            self.emit(*OPERATORS[value])
        elif name in ("left", "right"):
            return self.sized(name, end)
        elif name in ("{", "lbrace"):
            self.open("LSET", "{")
        elif name in ("}", "rbrace"):
            self.close("RSET", "}", ("LSET",))
        elif name in ("lvert", "rvert", "vert"):
            self.side(name[0], "BAR")
        elif name in ("|", "Vert", "lVert", "rVert"):
            self.side(name[0] if name != "|" else "v", "NORM")
        elif name in ("langle", "rangle"):
            if name == "langle":
                self.emit("FUNC", "inner")
            self.open("LPAR", "(") if name == "langle" else self.close("RPAR", ")", ("LPAR",))
        elif name in ("lceil", "lfloor"):
            self.emit("FUNC", name[1:])
            self.open("LPAR", "(")
        elif name in ("rceil", "rfloor"):
            self.close("RPAR", ")", ("LPAR",))
        else:
            return self.named(name, end)
        return end

    def side(self, side: str, kind: str) -> None:
        """A bar whose command may say which side it is."""
        if side == "l":
            self.open("L" + kind, "|")
        elif side == "r":
            self.close("R" + kind, "|", ("L" + kind,))
        else:
            self.bar(kind)

    def sized(self, which: str, end: int) -> int:
        r"""What follows `\left` or `\right`."""
        found = re.compile(r"\s*(\\(?:[a-zA-Z]+|.)|.)").match(self.text, end)
        if not found:
            raise Unreadable(f"\\{which} at the end misses its bracket", self.line)
        mark = found.group(1)
        if mark in ("|", r"\vert", r"\lvert", r"\rvert", r"\|", r"\Vert", r"\lVert", r"\rVert"):
            self.side(which[0], "NORM" if (mark[-1] == "|" and len(mark) > 1) or "V" in mark else "BAR")
        elif mark == ".":
            self.emit("GAP")
        elif mark.startswith("\\"):
            self.command(mark, found.end())
        else:
            self.punctuation(mark, found.end())
        return found.end()

    def named(self, name: str, end: int) -> int:
        """Commands with letters: symbols, functions, fractions, environments, words."""
        if name in DOTS:
            self.emit("DOTS")
        elif name == "infty":
            self.emit("INF")
        elif name in GREEK:
            self.emit("NAME", "\\" + name + self.primes(end))
            return self.after_primes(end)
        elif name in ("frac", "tfrac", "dfrac", "cfrac"):
            self.emit("PFRAC" if re.compile(r"\s*\{\s*\\partial").match(self.text, end) else "FRAC")
            self.tight = 2
        elif name == "sqrt":
            self.emit("SQRT")
            self.tight = 1
        elif name in BIG and (name not in ("max", "min") or self.text[end:].lstrip().startswith(("_", r"\limits"))):
            self.emit("BIGOP", BIG[name])
        elif name in FUNCTIONS:
            self.emit("FUNC", FUNCTIONS[name])
        elif name in STYLES:
            return self.styled(name, end)
        elif name in WORDS:
            return self.words(name, end)
        elif name in ACCENTS:
            inner, end = braced(self.text, end, self.line)
            self.emit("NAME", f"\\{name}{{{_PLAIN.sub('', inner)}}}")
        elif name in ALPHABETS:
            return self.alphabet(name, end)
        elif name in ("begin", "end"):
            return self.environment(name, end)
        elif name == "xrightarrow":
            return self.limit_arrow(end)
        elif name in ("stackrel", "overset", "underset"):
            return self.above(name, end)
        elif name in ("boxed", "fbox"):
            return self.boxed(end)
        elif name == "propto":
            raise Unreadable("\\propto does not say by which factor: write a = c b with a declared number c", self.line)
        elif name in ("tag", "label"):
            inner, end = braced(self.text, end, self.line)
            self.emit("TAG", inner.strip())
        elif name == "%":
            raise Unreadable("\\% is not understood: write a hundredth as a number, 0.5 or \\frac{50}{100}", self.line)
        elif name in ("#", "&", "_", "$"):
            self.emit("NAME", "\\" + name)
        elif name == "prime":
            self.emit("NAME", "'")
        else:
            raise Unreadable(f"the command \\{name} is not understood; write the formula without it", self.line)
        return end

    def styled(self, name: str, end: int) -> int:
        """Bold is style, except for the vector of ones; that it is bold is kept, as both may be declared."""
        first = len(self.out)
        inner, after = braced(self.text, end, self.line)
        bare = inner.strip()
        if bare == "1":
            self.emit("NAME", r"\mathbf{1}")
        elif bare == "E" and re.match(r"\s*(\^\{?2\}?)?\s*(\\left|\\big|\\Big)?\s*\[", self.text[after:]):
            self.emit("FUNC", "E")
        else:
            self.nested(inner)
            if name != "mathit":
                self.out[first:] = [replace(t, bold=True) if t.kind == "NAME" else t for t in self.out[first:]]
        return after

    def boxed(self, end: int) -> int:
        r"""`\boxed{x}` is x, as if in brackets; `\boxed{a = b}` is a = b, if it has its row to itself."""
        inner, after = braced(self.text, end, self.line)
        inside = Lexer(inner, self.line, self.at if self.start is None else self.start).run()
        if not any(t.kind in ("REL", "ARROW", "NEWROW", "AMP", "COMMA") for _, t in depth_zero(inside)):
            self.open("LBRACE", "{")
            self.nested(inner)
            self.close("RBRACE", "}", ("LBRACE",))
            return after
        before = self.out[-1].kind if self.out else "NEWROW"
        if before not in ("NEWROW", "AMP", "GAP", "ARROW") or not re.match(
            r"\s*[.,;]?\s*(\\\\|\\tag|$)", self.text[after:]
        ):
            raise Unreadable("a box around a relation is understood where it has its row to itself", self.line)
        self.nested(inner)
        return after

    def alphabet(self, name: str, end: int) -> int:
        """Letters of other alphabets: the reals, the naturals, expectations, the normal law, a vector of ones."""
        inner, after = braced(self.text, end, self.line)
        letter = inner.strip()
        if name == "mathbb" and letter in ("E", "P"):
            self.emit("FUNC", "E" if letter == "E" else "Pr")
        elif letter == "N" and name != "mathbb":
            self.emit("FUNC", "Normal")
        elif name == "mathbb" and letter == "1":
            self.emit("NAME", r"\mathbf{1}")
        elif name == "mathbb" or len(letter) != 1:
            self.emit("NAME", f"\\{name}{{{letter}}}")
        else:
            self.emit("NAME", f"\\{name}{{{letter}}}" if name != "mathbb" else letter)
        return after

    def words(self, name: str, end: int) -> int:
        """Text: the name of a function, a name, or prose."""
        inner, after = braced(self.text, end, self.line)
        word = inner.strip()
        if re.search(r"(?<!\\)\$", inner):
            return self.mixed(inner, after)
        if word in ("max", "min") and re.match(r"\s*(\\limits)?\s*_", self.text[after:]):
            self.emit("BIGOP", word)
        elif word in FUNCTIONS and not _ENDS.match(self.text, after):
            self.emit("FUNC", FUNCTIONS[word])
        elif name in ("operatorname", "mathrm") or (
            re.fullmatch(r"[A-Za-z][A-Za-z0-9]*", word) and word.lower() not in PROSE
        ):
            self.emit("NAME", word if len(word) == 1 else f"\\text{{{word}}}")
        else:
            self.emit("TEXT", word)
        return after

    def mixed(self, inner: str, after: int) -> int:
        r"""`\text{if $x > 0$}`: words and formulas in turn."""
        parts = re.split(r"(?<!\\)\$", inner)
        if len(parts) % 2 == 0:
            raise Unreadable("a $ inside \\text is never closed", self.line)
        for place, part in enumerate(parts):
            if place % 2:
                self.nested(part)
            elif part.strip():
                self.emit("TEXT", part.strip())
        return after

    def nested(self, inner: str) -> None:
        """The tokens of a text inside a command, as if it stood here."""
        inside = Lexer(inner, self.line, self.at if self.start is None else self.start)
        inside.out, inside.stack = self.out, []
        inside.run()

    def above(self, name: str, end: int) -> int:
        r"""`\stackrel{above}{=}`, `\overset{above}{=}`, `\underset{below}{=}`: a relation with its reason."""
        inner, after = braced(self.text, end, self.line)
        base, after = braced(self.text, after, self.line)
        said = inner.strip()
        word = re.sub(r"\\(?:text|mathrm|operatorname|textrm|rm)\s*|[{}$]", "", said).strip()
        if base.strip() not in RELATIONS and base.strip() not in ARROWS:
            raise Unreadable(f"\\{name} is understood above a relation only, not above '{base.strip()}'", self.line)
        if word.lower() in ("def", "def.") and RELATIONS.get(base.strip()) == "=":
            self.emit("REL", ":=")
        elif re.fullmatch(r"\(?\*?[a-zA-Z0-9]{0,3}\*{0,3}\)?", word) and word[:1] + word[-1:] in ("()", "**", "*"):
            self.nested(base)  # a number to refer to
        elif re.match(r"\\text(rm)?\s*\{", said) and not re.fullmatch(r"[a-z.]{1,4}", word):
            self.nested(base)
        else:
            raise Unreadable(
                f"'{said}' on top of a relation is not understood: give reasons with \\text behind the relation",
                self.line,
            )
        return after

    def limit_arrow(self, end: int) -> int:
        r"""`\xrightarrow{S \to \infty}` or `\xrightarrow[S \to \infty]{}`: a limit, with what moves."""
        below = re.compile(r"\s*\[([^\]]*)\]").match(self.text, end)
        inner, after = braced(self.text, below.end() if below else end, self.line)
        said = [part.strip() for part in (below.group(1) if below else "", inner) if part.strip()]
        if len(said) != 1 or not re.search(r"\\(to|rightarrow)\b", said[0]):
            raise Unreadable("write what moves on the arrow: \\xrightarrow{S \\to \\infty}", self.line)
        self.emit("REL", "->")
        self.emit("MOVES", said[0])
        return after

    def environment(self, which: str, end: int) -> int:
        """A matrix, or the frame around a display (which `display` has taken off already)."""
        inner, after = braced(self.text, end, self.line)
        name = inner.strip().rstrip("*")
        if name == "cases":
            raise Unreadable(
                r"\begin{cases} is not understood: write one statement for each case, such as x > 0 \implies f = x",
                self.line,
            )
        if name not in MATRICES:
            if which == "begin" and not self.stack:
                advice = "write the display with $$ ... $$ and aligned"
                raise Unreadable(f"the environment {name} is not understood: {advice}", self.line)
            raise Unreadable(f"the environment {name} is not understood inside a formula", self.line)
        if which == "begin":
            self.open("BEGINMAT", name)
            if name == "array":
                _, after = braced(self.text, after, self.line)
        else:
            self.close("ENDMAT", name, ("BEGINMAT",))
        return after


def tokenize(text: str, line: int = 1) -> list[Tok]:
    """All tokens of one formula that starts on `line`."""
    return Lexer(text, line).run()


def depth_zero(tokens: list[Tok]) -> Iterator[tuple[int, Tok]]:
    """The tokens outside all brackets, with their positions."""
    depth = 0
    for i, token in enumerate(tokens):
        if token.kind in ("RPAR", "RBRACK", "RBRACE", "RBAR", "RNORM", "RSET", "ENDMAT"):
            depth -= 1
        if depth == 0:
            yield i, token
        if token.kind in ("LPAR", "LBRACK", "LBRACE", "LBAR", "LNORM", "LSET", "BEGINMAT"):
            depth += 1
