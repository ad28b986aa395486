r"""The lexer of displays and inline formulas.

From LaTeX to tokens: style falls away, bars find their partners, transposes and functions are recognised.
Nothing is expanded and nothing is run; a command that is not in the tables is refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

from attention_core.derivation.latex.commands import HANDLERS, read_command
from attention_core.derivation.latex.digit_groups import read_digit_groups
from attention_core.derivation.latex.integrals import enclose_integrals
from attention_core.derivation.latex.syntax import EVALUATED, Unreadable
from attention_core.derivation.latex.tokens import (
    ARROWS,
    BARE,
    FUNCTIONS,
    OPERATORS,
    RELATIONS,
    SIGN_COMMANDS,
    SLOPED,
    SPACES,
    Tok,
    TokenStream,
    new_tuple,
)
from attention_core.derivation.latex.typed_words import read_typed_word

MASTER = re.compile(
    r"(?P<space>[ \t\r\n]+)|(?P<comment>(?<!\\)%[^\n]*|(?<=\\\\)%[^\n]*)"
    r"|(?P<number>\d+(?:\{,\}\d{3})*(?:\.\d+)?(?:[eE]-?\d+(?![a-zA-Z]))?|\.\d+)"
    r"|(?P<command>\\(?:[a-zA-Z]+\*?|.|\n))|(?P<word>[a-zA-Z]+)|(?P<define>:=)|(?P<other>.)",
    re.DOTALL,
)
_PRIMES = re.compile(r"\s*(?:\\prime(?![a-zA-Z])|\{(?:\s*\\prime(?![a-zA-Z]))+\s*\})")
_STAR = re.compile(r"\s*(?:(?:\*|\\(?:ast|star)(?![a-zA-Z]))|\{\s*(?:\*|\\(?:ast|star)(?![a-zA-Z]))\s*(\w*)\s*\})")
_BEFORE = re.compile(
    r"\s*\{\s*(?P<sign>[<>]|\\(?:lt|gt|leq?|geq?|neq?|setminus)(?![a-zA-Z]))\s*(?P<of>(?:[^{}]|\{[^{}]*\})+)\}"
)
_GIVEN_LABEL = re.compile(
    r"\s*\{(?P<of>(?:[^{}|]|\{[^{}|]*\})*?)(?:\\(?:mid|vert)(?![a-zA-Z])|\|)(?P<under>(?:[^{}|]|\{[^{}|]*\})*)\}"
)
_LABEL_TRANSPOSED = re.compile(
    r"\s*\{\s*(?P<label>(?:[^{}]|\{[^{}]*\})*?(?:[^{}\s+*/^_,=<>-]|\{[^{}]*\}))\s*"
    r"(?:\\top|\\intercal|\\mathsf\s*\{?T\}?)\s*\}"
)
_SUBSCRIPTED = re.compile(r"\s*(?:\\\||\\Vert(?![a-zA-Z]))\s*_")
_EVALUATED = re.compile(r"(?:\\right\s*)?(?:\||\\[lr]?vert(?![a-zA-Z]))\s*_")
_ENDS_SYMBOL = re.compile(r"(?:[})\]]|\\[a-zA-Z]+|(?<![A-Za-z\\])[A-Za-z]'*)\s*$")
_SUBSCRIPT = re.compile(r"\s*(?:\{|\\[a-zA-Z]+|[A-Za-z0-9](?![A-Za-z]))")
PLACEHOLDER = r"\centerdot"
r"""The name of `\cdot` where an argument stands."""
_ENDS_ARGUMENT = re.compile(
    r"\s*(?:\\[,;:! ]\s*)*(?:\\right\s*)?(?:[)\],;|]|\\(?:mid|vert|rvert|Vert|rVert|parallel|\|))"
)
_DOUBLE = re.compile(r"\\(?:mid|lvert|vert)\s*\\(?:mid|lvert|vert)(?![a-zA-Z])")
_STARRED_POWER = re.compile(r"\s*\{\s*(?:\*|\\ast(?![a-zA-Z]))\s*(\d)\s*\}")
_TYPED = {"=>": r"\implies or \ge", "=<": r"\le", "!=": r"\ne", "==": "="}
TRANSPOSE = re.compile(
    r"\s*(?:\\top\b|\\intercal\b|\\(?:T|tran|transp?|transpose)(?![a-zA-Z])|T|\\mathsf\s*\{?T\}?|\\mathrm\s*\{T\}|\\mathrm\s+T|\\text\s*\{T\}"
    r"|\{\s*(?P<minus>-?)\s*(?:\\top|\\intercal|\\(?:T|tran|transp?|transpose)(?![a-zA-Z])|T|\\mathsf\s*\{?\s*T\s*\}?|\\mathrm\s*\{?\s*T\s*\}?"
    r"|\\text\s*\{T\})\s*\})"
)

OPERAND_ENDS = frozenset(
    {"NUM", "NAME", "RPAR", "RBRACK", "RBRACE", "RBAR", "RNORM", "RSET", "TRANS", "DOTS", "ENDMAT", "INF", "BANG"}
)
_PLAIN = {
    **{one: ("NAME", one) for one in "abcdefghijklmnopqrstuvwxyzABCDFGHIJKLMNOPQRSTUVWXYZ"},
    **{one: OPERATORS[one] for one in "+-*/,;"},
}
"""Signs that mean the same wherever they stand, and letters: these if no letter and no prime follows."""
_MORE = re.compile(r"[a-zA-Z']")

KEPT_FORMULAS, KEPT_LENGTH = 2048, 400
"""How many formulas are kept as tokens, and up to which length: a formula of a document is read many times."""


class Lexer(TokenStream):
    """Turns the text of one formula into tokens; `line` is the line in the document where the text starts."""

    def run(self) -> list[Tok]:
        """All tokens."""
        text, match = self.text, MASTER.match
        size, rows = len(text), "\n" in text
        while self.at < size:
            at = self.at
            one = text[at]
            if one == " ":
                self.at = at + 1
                continue
            if (plain := _PLAIN.get(one)) is not None and (plain[0] != "NAME" or not _MORE.match(text, at + 1)):
                if self.tight:
                    self.tight -= 1
                self.emit(*plain)
                self.at = at + 1
                continue  # most tokens
            found = match(text, at)
            assert found is not None
            kind, value = str(found.lastgroup), found.group()
            if self.tight and kind == "number" and value[0].isdigit():
                value = value[0]
            end = self.at + len(value)
            if kind == "number" and not self.tight:
                value, end = read_digit_groups(self, value, end)
            if kind != "space" and kind != "comment":
                if self.tight:
                    self.tight -= 1
                if kind == "word":
                    end = self.word(value, end)
                elif kind == "other":
                    end = self.punctuation(value, end)
                else:
                    end = self.handle(kind, value, end)
            if rows:
                self.line += text.count("\n", self.at, end)
            self.at = end
        if self.stack:
            raise Unreadable("a bracket, a bar or an environment is never closed", self.first)
        return self.out

    def handle(self, kind: str, value: str, end: int) -> int:
        """Emit what a command, a number or `:=` means, and say where the next one starts."""
        if kind == "command":
            return self.command(value, end)
        if kind == "number":
            self.emit("NUM", value.replace("{,}", ""))
        else:
            self.emit("REL", ":=")
        return end

    def word(self, value: str, end: int) -> int:
        """Letters in a row: a known function if a bracket follows, else one symbol each."""
        if len(value) == 1 and value != "E" and not self.text.startswith("'", end):
            self.emit("NAME", value)  # most words
            return end
        if self.authors and len(value) > 1 and (typed := read_typed_word(self, value, end)):
            return typed
        for name in BARE if value.startswith(BARE) else ():
            if value.startswith(name) and (len(value) == len(name) or len(name) > 2):
                rest = self.text[end:].lstrip() if len(value) == len(name) else ""
                called = rest.startswith(("(", "[", r"\left", r"\big", r"\Big")) and (
                    name not in ("E",) or "[" in rest[:7]
                )
                powered = name in ("E", "Var") and re.match(r"\^\{?\d\}?\s*(\\left)?\[", rest)
                drawn = name == "E" and _DRAWN.match(rest)  # E_{x \sim P}
                if called or powered or drawn:
                    self.emit("FUNC", FUNCTIONS[name])
                    return end
        one, primes = value[0], self.primes(self.at + 1)
        end = self.at + 1 + len(primes)
        if primes and [token.kind for token in self.out[-2:]] == ["NAME", "UNDER"]:  # g_k' is the derivative of g_k
            self.out[-2] = self.out[-2]._replace(value=self.out[-2].value + primes)
            primes = ""
        self.emit("NAME", one + primes)
        return end

    def punctuation(self, value: str, end: int) -> int:
        """Brackets, scripts, relations and signs of one character; `<=` and `>=` as they are typed."""
        if value in "<>=!" and (typed := self.typed_relation()):
            self.emit("REL", typed)
            return end + 1
        if value in _SIGNS:
            _SIGNS[value](self)
        elif value == "^":
            return self.superscript(end)
        elif value == "_":
            return self.subscript(end)
        elif value in RELATIONS:
            self.emit("REL", RELATIONS[value])
        elif value in OPERATORS:
            self.emit(*OPERATORS[value])
        elif value == "." and self.text.startswith("...", self.at):
            self.emit("DOTS")
            return self.at + 3
        elif value == ".":
            self.emit("STOP")
        elif value.isalpha():
            self.emit("NAME", value)
        elif value == "'" and self.mark_prime():
            pass
        elif value == "!" and self.out and self.out[-1].kind in OPERAND_ENDS:
            self.emit("BANG")
        elif value != "~":
            raise self.refusal(value)
        return end

    def typed_relation(self) -> str:
        """The relation of two characters that stands here as it is typed, '' if none does."""
        both = self.text[self.at : self.at + 2]
        if both in ("<=", ">="):
            return both
        if both == "=:" and not self.text.startswith("=:=", self.at):
            return "="  # what stands left of it says what the right side is
        if both in _TYPED:
            raise Unreadable(f"'{both}' is not LaTeX: write {_TYPED[both]}", self.line)
        return ""

    def mark_prime(self) -> bool:
        """Put a prime on the name, or the bracket, in front of it; False if neither stands there."""
        last = self.out[-1].kind if self.out else ""
        if self.mark_subscripted():
            return True
        if last == "NAME" or (last == "FUNC" and self.out[-1].value.rstrip("'") in SLOPED):
            self.out[-1] = self.out[-1]._replace(value=f"{self.out[-1].value}'")
        elif last in ("RPAR", "RBRACK", "RBRACE"):
            self.emit("CARET")
            self.emit("NAME", "'")  # (f g)'
        return last in ("NAME", "RPAR", "RBRACK", "RBRACE") or (last != "" and self.out[-1].value.endswith("'"))

    def mark_subscripted(self) -> bool:
        """Put a prime after `q_{2 i}` on q; False if no name with a subscript stands before it."""
        depth = 0
        for place in range(len(self.out) - 1, 1, -1):
            depth += (self.out[place].kind == "RBRACE") - (self.out[place].kind == "LBRACE")
            if depth == 0:
                head = self.out[place - 2 : place]
                if [token.kind for token in head] != ["NAME", "UNDER"]:
                    return False
                self.out[place - 2] = head[0]._replace(value=f"{head[0].value}'")
                return True
        return False

    def refusal(self, value: str) -> Unreadable:
        """The error for a character without a meaning."""
        if "\u202a" <= value <= "\u202e" or "\u2066" <= value <= "\u2069":
            return Unreadable(
                f"an invisible mark (U+{ord(value):04X}) turns the direction of the formula: take it out", self.line
            )
        return Unreadable(f"the character {value!r} is not understood in a formula", self.line)

    def open_brace(self) -> None:
        """`{`: inside braces a number has all its digits."""
        self.held.append((len(self.stack), self.tight))
        self.tight = 0
        self.open("LBRACE", "{")

    def close_brace(self) -> None:
        """`}`: outside, it is as it was before the brace."""
        self.close("RBRACE", "}", ("LBRACE",))
        if self.held and self.held[-1][0] == len(self.stack):
            self.tight = self.held.pop()[1]

    def subscript(self, end: int) -> int:
        """`_`: the start of an index, which is one character unless it stands in braces; `f_*` is a name."""
        starred = _STAR.match(self.text, end)
        if starred and self.out and self.out[-1].kind == "NAME":
            self.out[-1] = self.out[-1]._replace(value=f"{self.out[-1].value}_{{*{starred[1] or ''}}}")
            return starred.end()
        ordered = _BEFORE.match(self.text, end)
        if ordered and self.out and self.out[-1].kind == "NAME":  # x_{<t}: a family beside x
            self.out[-1] = self.out[-1]._replace(value=f"{self.out[-1].value}^{{{ordered['sign']}}}")
            self.emit("UNDER")
            self.open("LBRACE", "{")
            self.lex_inner(ordered["of"])
            self.close("RBRACE", "}", ("LBRACE",))
            return ordered.end()
        given = _GIVEN_LABEL.match(self.text, end) if self.authors else None
        if given and self.out and self.out[-1].kind == "NAME":  # \Sigma_{1 \mid 2}, x_{t | t - 1}
            self.emit("UNDER")
            self.open("LBRACE", "{")
            self.lex_inner(given["of"])
            self.emit("REL", "mid")
            self.lex_inner(given["under"])
            self.close("RBRACE", "}", ("LBRACE",))
            return given.end()
        self.emit("UNDER")
        self.tight = 1
        return end

    def superscript(self, end: int) -> int:
        """`^`: a transpose, or the start of an exponent."""
        primes = _PRIMES.match(self.text, end)
        sloped = self.out and self.out[-1].kind == "FUNC" and self.out[-1].value.rstrip("'") in SLOPED
        if primes and self.out and (self.out[-1].kind == "NAME" or sloped):
            self.out[-1] = self.out[-1]._replace(value=self.out[-1].value + "'" * primes.group().count("prime"))
            return primes.end()
        starred = _STARRED_POWER.match(self.text, end)
        if starred:  # y^{*2}
            for kind, value in (("CARET", ""), ("TIMES", "*"), ("CARET", ""), ("NUM", starred[1])):
                self.emit(kind, value)
            return starred.end()
        labelled = _LABEL_TRANSPOSED.match(self.text, end)
        if labelled and not TRANSPOSE.match(self.text, end):  # W^{(2) \top}
            self.emit("CARET")
            self.open("LBRACE", "{")
            self.lex_inner(labelled["label"])
            self.close("RBRACE", "}", ("LBRACE",))
            self.emit("TRANS")
            return labelled.end()
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

    def command(self, value: str, end: int) -> int:
        """A backslash command."""
        if (plain := SIGN_COMMANDS.get(value)) is not None:
            self.emit(*plain)
            return end
        name = value[1:].rstrip("*")
        if value in SPACES:
            if value in ("\\ ", r"\quad", r"\qquad", r"\;"):
                self.emit("GAP", value)
        elif value in (r"\\", r"\newline"):
            return self.new_row(end)
        elif value == r"\_" and self.is_escaped_subscript(end):
            return self.subscript(end)
        elif value == r"\cdot" and self.is_placeholder(end):
            self.emit("NAME", PLACEHOLDER)
        elif value in (r"\perp", r"\parallel") and self.is_mark(end):
            self.emit("NAME", value)
        elif value in RELATIONS:
            self.emit("REL", RELATIONS[value])
        elif value in OPERATORS:
            self.emit(*OPERATORS[value])
        elif name in ("left", "right"):
            return read_sized_bracket(self, name, end)
        elif name in ("{", "lbrace") and (closed := end_of_built_set(self.text, end)):
            inner = re.sub(r"\\right\s*$", "", self.text[end:closed].removesuffix(r"\}").removesuffix(r"\rbrace"))
            self.emit("NAME", rf"\{{{' '.join(inner.split())}\}}")
            return closed
        elif name in _BRACKETS:
            _BRACKETS[name](self)
        else:
            return read_command(self, name, end)
        return end

    def is_mark(self, end: int) -> bool:
        r"""Whether a relation is all that a subscript or an exponent holds: `S^\perp`."""
        kinds = [token.kind for token in self.out[-2:]]
        alone = kinds[-1:] in (["UNDER"], ["CARET"])
        return alone or (kinds in (["UNDER", "LBRACE"], ["CARET", "LBRACE"]) and self.text[end:].lstrip()[:1] == "}")

    def is_placeholder(self, end: int) -> bool:
        r"""Whether `\cdot` stands for an argument: `f(\cdot)`, `\pi(\cdot \mid x)`, `k(\cdot, x)`."""
        opens = bool(self.out) and self.out[-1].kind in ("LPAR", "LBRACK", "LBAR", "LNORM", "COMMA")
        return opens and bool(_ENDS_ARGUMENT.match(self.text, end))

    def is_escaped_subscript(self, end: int) -> bool:
        r"""Whether `x\_i` stands here, as Markdown asks for it: one letter, and one sign or braces after it."""
        before = _ENDS_SYMBOL.search(self.text[max(0, self.at - 40) : self.at])
        return bool(before and _SUBSCRIPT.match(self.text, end))

    def new_row(self, end: int) -> int:
        """A new row, and the space that may be written after it."""
        self.emit("NEWROW")
        found = re.compile(r"\s*\[-?[\d.]+(?:pt|em|ex|mm|cm)\]").match(self.text, end)
        return found.end() if found else end


def is_known_command(name: str) -> bool:
    """Whether a command, without its backslash, has a meaning of its own."""
    tables = (RELATIONS, ARROWS, OPERATORS, SPACES)
    known = any(f"\\{name}" in table for table in tables)
    return known or name in HANDLERS or name in _BRACKETS or name in ("left", "right", "top", "intercal")


def tokenize(text: str, line: int = 1, authors: bool = False) -> list[Tok]:
    """All tokens of one formula that starts on `line`; `authors`: a command that is not known is a symbol."""
    if len(text) > KEPT_LENGTH:
        return _read_tokens(text, line, authors)
    found = _kept_tokens(text, authors)
    below = line - 1
    if isinstance(found, Unreadable):
        raise Unreadable(found.message, found.line + below if found.line else 0)
    return [new_tuple(Tok, (kind, value, own + below, start, bold)) for kind, value, own, start, bold in found]


_DRAWN = re.compile(r"_\s*\{(?:[^{}]|\{[^{}]*\})*\\sim(?![a-zA-Z])")
_HALF = re.compile(
    r"\\mathbb\s*(?:\{\s*(?P<set>[RNZ])\s*\}|(?P<bare>[RNZ]))\s*(?P<power>\^\s*(?:\{(?:[^{}]|\{[^{}]*\})*\}|[A-Za-z\d]))?\s*"
    r"_\s*\{\s*(?P<sign>>|\\(?:ge|geq|geqslant|gt)(?![a-zA-Z]))\s*(?P<end>[01])\s*\}"
)


_LARGEST = re.compile(  # `\max \{a, b\}` is that of a and b
    r"(?P<op>\\(?:max|min)\s*(?:\\left\s*)?)\\\{"
    r"(?P<of>(?:[^{}|:\\]|\{[^{}]*\}|\\(?!mid\b|vert\b|right\b|left\b)[a-zA-Z]+|\\[,;! ])*)(?P<end>(?:\\right\s*)?)\\\}"
)


def _spell_half_line(found: re.Match[str]) -> str:
    r"""`\mathbb{R}_{>0}` as the interval, `\mathbb{Z}_{\ge 0}` as `\mathbb{N}_0`, as long; the rest as it is."""
    strict, end, power = found["sign"] in (">", r"\gt"), int(found["end"]), found["power"] or ""
    if (found["set"] or found["bare"]) == "R":
        written = "" if end else rf"{'(' if strict else '['}0,\infty){power}"
    else:
        written = "" if power or end + strict > 1 else (r"\mathbb{N}", r"\mathbb{N}_0")[end + strict == 0]
    return written.ljust(len(found[0])) if written else found[0]


@lru_cache(maxsize=KEPT_FORMULAS)
def _kept_tokens(text: str, authors: bool) -> tuple[tuple[str, str, int, int, bool], ...] | Unreadable:
    """The tokens of a formula on line 1, or why there are none: `Q` or `n \\times d` is the same on each line.

    They are kept as plain tuples, which the garbage collector passes over.
    """
    try:
        return tuple([(*token,) for token in _read_tokens(text, 1, authors)])
    except Unreadable as error:
        return Unreadable(error.message, error.line)


def _read_tokens(text: str, line: int, authors: bool) -> list[Tok]:
    """The tokens of a formula, read anew."""
    if r"\m" in text or "vert" in text:  # one stands in whatever these match
        text = _DOUBLE.sub(lambda found: r"\|".ljust(len(found[0])), text)  # D(q \mid\mid p)
        text = _LARGEST.sub(r"\g<op> (\g<of>\g<end>) ", _HALF.sub(_spell_half_line, text))
    lexer = Lexer(text, line)
    lexer.authors = authors
    tokens = lexer.run()
    return enclose_integrals(tokens) if any(one.value == "int" for one in tokens) else tokens


# -- bars ------------------------------------------------------------------------------------------------------------


def _operand_before(lexer: Lexer) -> bool:
    """Whether the last token ends an operand, so that a bar closes."""
    kinds = [token.kind for token in lexer.out[-2:]]
    starred = kinds in (["CARET", "TIMES"], ["CARET", "PLUS"], ["CARET", "MINUS"])  # x^* is an operand
    return starred or (bool(kinds) and kinds[-1] in OPERAND_ENDS)


def bar(lexer: Lexer, kind: str) -> None:
    """A bar opens where an operand may start and closes where one has ended."""
    if lexer.stack and lexer.stack[-1] == "L" + kind and _operand_before(lexer):
        lexer.close("R" + kind, "|", ("L" + kind,))
    elif kind == "NORM" and "LNORM" not in lexer.stack and _SUBSCRIPTED.match(lexer.text, lexer.at):
        lexer.emit("BIGOP", "concat")  # \\|_{k=1}^K of vectors
    elif kind == "BAR" and _operand_before(lexer) and _EVALUATED.match(lexer.text, lexer.at):
        evaluate(lexer)
    elif _operand_before(lexer) and divides_arguments(lexer, any_head=kind == "NORM"):
        lexer.emit("REL", "mid" if kind == "BAR" else "parallel")
    else:
        lexer.open("L" + kind, "|")


def evaluate(lexer: Lexer) -> None:
    r"""The bar of `f'(x)|_{x = 0}`: a mark on what stands before it."""
    lexer.emit("CARET")
    lexer.emit("NAME", EVALUATED)


_BARS = re.compile(r"\\\\|(?:\\(?:mid|vert|Vert|parallel|lvert|rvert|lVert|rVert)(?![a-zA-Z])|\\?\|)|([(\[{])|([)\]}])")


def divides_arguments(lexer: Lexer, any_head: bool = False) -> bool:
    r"""Whether a bar stands alone in brackets after a letter, as in `p(x \mid z)`; `any_head`: `[a \| b]` as well."""
    if not lexer.stack or lexer.stack[-1] not in ("LPAR", "LBRACK"):
        return False
    depth = 0
    for place in range(len(lexer.out) - 1, -1, -1):
        kind = lexer.out[place].kind
        depth += (kind in ("RPAR", "RBRACK", "RBRACE", "RSET")) - (kind in ("LPAR", "LBRACK", "LBRACE", "LSET"))
        if depth < 0:
            head = lexer.out[place - 1] if place else None
            if any_head:
                break
            if head is not None and head.kind == "FUNC" and head.value in ("E", "Var", "Cov", "Pr", "Normal"):
                break
            if head is None or head.kind not in ("NAME", "RBRACE") or head.value == r"\mathbf{1}":
                return False
            break
    depth = 0
    behind = lexer.at + (2 if lexer.text.startswith(r"\|", lexer.at) else 1)
    for found in _BARS.finditer(lexer.text, behind):
        depth += bool(found[1]) - bool(found[2])
        if depth < 0:
            return True
        if not depth and not found[1] and not found[2] and found[0] != "\\\\":
            return False
    return False


def sided_bar(lexer: Lexer, side: str, kind: str) -> None:
    """A bar whose command may say which side it is."""
    closing = r"\rvert" if kind == "BAR" else r"\rVert"
    if side == "l" and closing not in lexer.text[lexer.at :] and divides_arguments(lexer):
        lexer.emit("REL", "mid" if kind == "BAR" else "parallel")  # p(x \lvert z)
    elif side == "l":
        lexer.open("L" + kind, "|")
    elif side == "r" and kind == "BAR" and lexer.stack[-1:] != ["LBAR"] and _EVALUATED.match(lexer.text, lexer.at):
        evaluate(lexer)
    elif side == "r":
        lexer.close("R" + kind, "|", ("L" + kind,))
    else:
        bar(lexer, kind)


def read_mid(lexer: Lexer, name: str) -> None:
    r"""`\mid` and `\parallel` between the arguments of a function."""
    if not divides_arguments(lexer) and (lexer.stack or not lexer.authors):
        raise Unreadable(f"the command \\{name} is not understood; write the formula without it", lexer.line)
    lexer.emit("REL", name)


_SET_PARTS = re.compile(
    r"\\(?P<close>\}|rbrace(?![a-zA-Z]))|\\(?P<open>\{|lbrace(?![a-zA-Z]))|"
    r"(?P<bar>\\mid(?![a-zA-Z])|\|)|(?P<colon>:|\\colon(?![a-zA-Z]))|\\."
)
MAX_SET = 400  # characters of a set that is one symbol


def end_of_built_set(text: str, start: int) -> int:
    r"""Where `\{x \mid x > 0\}` ends, after whose first bracket a place stands; 0 of a list, such as `\{|a|, b\}`."""
    depth, bars, mids, colons = 1, 0, 0, 0
    for found in _SET_PARTS.finditer(text, start, start + MAX_SET):
        depth += bool(found["open"]) - bool(found["close"])
        if not depth:
            return found.end() if mids == 1 or (bars == 1 and not mids) or (colons and not bars) else 0
        mids += found["bar"] == r"\mid"
        bars += found["bar"] == "|"
        colons += bool(found["colon"])
    return 0


def read_sized_bracket(lexer: Lexer, which: str, end: int) -> int:
    r"""What follows `\left` or `\right`."""
    found = re.compile(r"\s*(\\(?:[a-zA-Z]+|.)|.)").match(lexer.text, end)
    if not found:
        raise Unreadable(f"\\{which} at the end misses its bracket", lexer.line)
    mark = found.group(1)
    if mark in ("|", r"\vert", r"\lvert", r"\rvert", r"\|", r"\Vert", r"\lVert", r"\rVert"):
        sided_bar(lexer, which[0], "NORM" if (mark[-1] == "|" and len(mark) > 1) or "V" in mark else "BAR")
    elif mark == ".":
        lexer.emit("GAP")
    elif mark.startswith("\\"):
        return lexer.command(mark, found.end())
    else:
        lexer.punctuation(mark, found.end())
    return found.end()


# -- brackets and signs ----------------------------------------------------------------------------------------------

_SIGNS: Mapping[str, Callable[[Lexer], None]] = {
    "(": lambda lexer: lexer.open("LPAR", "("),
    "[": lambda lexer: lexer.open("LBRACK", "["),
    ")": lambda lexer: lexer.close("RPAR", ")", ("LPAR", "LBRACK")),
    "]": lambda lexer: lexer.close("RBRACK", "]", ("LPAR", "LBRACK")),
    "{": Lexer.open_brace,
    "}": Lexer.close_brace,
    "|": lambda lexer: bar(lexer, "BAR"),
    "&": lambda lexer: None if lexer.stack[-1:] in (["LPAR"], ["LBRACK"], ["LSET"]) else lexer.emit("AMP"),
}
_BRACKETS: Mapping[str, Callable[[Lexer], None]] = {
    **dict.fromkeys(("{", "lbrace"), lambda lexer: lexer.open("LSET", "{")),
    **dict.fromkeys(("}", "rbrace"), lambda lexer: lexer.close("RSET", "}", ("LSET",))),
    "lvert": lambda lexer: sided_bar(lexer, "l", "BAR"),
    "rvert": lambda lexer: sided_bar(lexer, "r", "BAR"),
    "vert": lambda lexer: sided_bar(lexer, "v", "BAR"),
    **dict.fromkeys(("|", "Vert"), lambda lexer: sided_bar(lexer, "v", "NORM")),
    "lVert": lambda lexer: sided_bar(lexer, "l", "NORM"),
    "rVert": lambda lexer: sided_bar(lexer, "r", "NORM"),
    "mid": lambda lexer: read_mid(lexer, "mid"),
    "parallel": lambda lexer: read_mid(lexer, "parallel"),
    "langle": lambda lexer: lexer.open_function("inner"),
    "lceil": lambda lexer: lexer.open_function("ceil"),
    "lfloor": lambda lexer: lexer.open_function("floor"),
    **dict.fromkeys(("rangle", "rceil", "rfloor"), lambda lexer: lexer.close("RPAR", ")", ("LPAR",))),
}
"""Commands of brackets and bars, by their names without the backslash."""
