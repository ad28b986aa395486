"""Tokens of a formula, and the tables of the lexer.

One token, the stream that a lexer writes, and the walk along tokens that stays outside brackets. Tokens are made by
`lexer`, regrouped by `display` and read by `parse`. The tables say what LaTeX commands mean: functions, relations,
operators, letters, styles, spaces, words of prose. A command that is in none of them is refused by name.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import NamedTuple, Self

from attention_core.derivation.latex.syntax import Unreadable

MAX_TOKENS = 8000
MAX_NESTING = 60

FUNCTIONS = {
    "exp": "exp", "log": "log", "ln": "log", "sin": "sin", "cos": "cos", "tanh": "tanh", "softmax": "softmax",
    "Softmax": "softmax", "argmax": "argmax", "tr": "tr", "Tr": "tr", "trace": "tr", "diag": "diag", "Diag": "diag",
    "ReLU": "relu", "relu": "relu", "Attention": "attention", "attention": "attention", "Attn": "attention",
    "E": "E", "Var": "Var", "Cov": "Cov", "Pr": "Pr", "sign": "sign", "sgn": "sign", "det": "det",
    "sigmoid": "sigmoid", "max": "max", "min": "min", "erf": "erf", "logsumexp": "lse", "LSE": "lse", "lse": "lse",
    "erfc": "erfc", "tan": "tan", "cot": "cot", "sec": "sec", "csc": "csc", "sinh": "sinh", "cosh": "cosh",
    "coth": "coth", "sech": "sech", "csch": "csch", "arctan": "arctan", "arcsin": "arcsin", "arccos": "arccos",
    "atan": "arctan", "asin": "arcsin", "acos": "arccos", "arsinh": "arsinh", "arcosh": "arcosh", "artanh": "artanh",
    "arcsinh": "arsinh", "arccosh": "arcosh", "arctanh": "artanh", "asinh": "arsinh", "acosh": "arcosh",
    "atanh": "artanh",
}  # fmt: skip


ELEMENTARY = (
    "tan", "cot", "sec", "csc", "sinh", "cosh", "coth", "sech", "csch", "arctan", "arcsin", "arccos", "arsinh",
    "arcosh", "artanh", "erfc",
)  # fmt: skip
"""Functions of numbers, taken entry by entry, beside those that arithmetic, limits and proofs know by name."""
SLOPED = frozenset(("exp", "log", "sin", "cos", "tanh", "relu", "sigmoid", "erf", *ELEMENTARY))
r"""Those whose derivative may be written with a prime: `\tanh'(x)`."""


WRITTEN = {"vec": "vec", "Vec": "vec", "rank": "rank", "Rank": "rank", "rk": "rank", "pinv": "pinv"}
"""Functions whose names are words within a formula, and no commands of LaTeX, as `\\vec` is an arrow."""


ROW_WORDS = {
    **{f"{edge}{what}": f"{edge}{what}" for edge in ("row", "col") for what in ("sum", "max", "min", "mean")},
    **{f"column{what}": f"col{what}" for what in ("sum", "max", "min", "mean")},
    "sum": "sum", "mean": "mean", "avg": "mean", "var": "var", "std": "std",
}  # fmt: skip
"""Words for what is taken of the rows, the columns or all entries of an array, where a document declares none."""


BARE = (
    "softmax",
    "argmax",
    "sigmoid",
    "tanh",
    "tan",
    "sinh",
    "cosh",
    "arctan",
    "arcsin",
    "arccos",
    "relu",
    "sin",
    "cos",
    "exp",
    "log",
    "Var",
    "Cov",
    "diag",
    "ReLU",
    "Attention",
    "E",
    "tr",
    "ln",
    "max",
    "min",
)


UNREAD_OPERATIONS = frozenset(
    ["x", "star", "oslash", "cup", "cap", "setminus", "oplus", "ominus", "boxtimes", "wedge", "vee", "land", "lor"]
) | {"bmod", "bullet"}
"""Signs between factors that are read, and not computed: tensor products, convolutions, sets."""


UNREAD_BIG = frozenset(
    ["inf", "sup", "argmin", "argmax", "bigcup", "bigcap", "concat", "bigoplus", "bigotimes", "bigodot", "coprod"]
)
"""Operators over indices that are read, and not computed."""


_NAMED_BIG = sorted(UNREAD_BIG - {"argmin", "argmax", "concat"})
BIG = {name: name for name in ("sum", "prod", "max", "min", "lim", *_NAMED_BIG)}


RELATIONS = {
    "=": "=", "<": "<", ">": ">", r"\ne": "!=", r"\neq": "!=", r"\le": "<=", r"\leq": "<=", r"\ge": ">=",
    r"\geq": ">=", r"\lt": "<", r"\gt": ">", r"\approx": "~", r"\gg": ">>", r"\ll": "<<", r"\to": "->",
    r"\rightarrow": "->", r"\longrightarrow": "->", r"\mapsto": "mapsto", r"\longmapsto": "mapsto",
    r"\in": "in", r"\sim": "sim", r"\equiv": "=", ":=": ":=", r"\coloneqq": ":=",
    r"\leqslant": "<=", r"\geqslant": ">=", r"\perp": "perp", "≤": "<=", "≥": ">=", "≠": "!=", "≈": "~",
    r"\triangleq": ":=", r"\leftarrow": ":=", r"\gets": ":=", r"\longleftarrow": ":=", r"\doteq": "~",
    r"\defeq": ":=", r"\eqdef": ":=", r"\coloneq": ":=", r"\eqqcolon": "=", r"\iidsim": "sim", r"\simiid": "sim",
    r"\simeq": "~", r"\cong": "~", r"\asymp": "~", r"\rightsquigarrow": "leadsto", r"\leadsto": "leadsto",
    r"\hookrightarrow": "leadsto", r"\leftrightarrow": "leadsto", r"\propto": "propto",
    r"\succ": "succ", r"\prec": "prec", r"\succeq": "succeq", r"\preceq": "preceq", r"\subset": "subset",
    r"\subseteq": "subseteq", r"\supset": "supset", r"\supseteq": "supseteq",
    r"\ni": "ni", r"\notin": "notin", r"\lesssim": "lesssim", r"\gtrsim": "gtrsim",
}  # fmt: skip


ARROWS = {
    r"\implies": "=>", r"\Rightarrow": "=>", r"\Longrightarrow": "=>", r"\iff": "<=>", r"\Leftrightarrow": "<=>",
    r"\Longleftrightarrow": "<=>",
}  # fmt: skip


OPERATORS = {
    "+": ("PLUS", "+"), "-": ("MINUS", "-"), "−": ("MINUS", "-"), "*": ("TIMES", "*"), r"\cdot": ("TIMES", "."),
    r"\times": ("TIMES", "*"), r"\odot": ("TIMES", "o"), r"\circ": ("TIMES", "o"), r"\otimes": ("TIMES", "x"),
    "/": ("TIMES", "/"),
    ",": ("COMMA", ","), ";": ("SEMI", ";"), ":": ("COLON", ":"), r"\colon": ("COLON", ":"),
    r"\partial": ("PARTIAL", ""),
    r"\ast": ("TIMES", "*"), r"\forall": ("FORALL", ""), r"\star": ("TIMES", "star"), r"\oslash": ("TIMES", "oslash"),
    **{rf"\{name}": ("TIMES", name) for name in ("oplus", "ominus", "boxtimes", "wedge", "vee", "land", "lor", "bmod")},
    r"\div": ("TIMES", "/"), r"\cup": ("TIMES", "cup"), r"\cap": ("TIMES", "cap"), r"\setminus": ("TIMES", "setminus"),
}  # fmt: skip


SIGN_COMMANDS = {
    one: meaning
    for one, meaning in (
        *((key, ("REL", value)) for key, value in RELATIONS.items()),
        *((key, ("ARROW", value)) for key, value in ARROWS.items()),
        *OPERATORS.items(),
    )
    if one not in (r"\cdot", r"\perp", r"\parallel")
}
"""Commands that are one sign wherever they stand."""


GREEK = frozenset(
    re.split(
        r"\s+",
        """
    alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi pi rho varrho sigma tau
    upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega ell hbar""".strip(),
    )
)


DOTS = frozenset(
    ["dots", "ldots", "cdots", "vdots", "ddots", "dotsc", "dotsb", "dotsm", "dotso", "dotsi", "hdots", "iddots"]
)


STYLES = frozenset(
    ["mathbf", "boldsymbol", "bm", "mathit", "mathsf", "pmb", "vec", "mathtt", "bold", "boldmath", "mathbold", "symbf"]
)


WORDS = frozenset(
    ["operatorname", "mathrm", "text", "textbf", "textit", "textrm", "mbox", "texttt", "textsf", "textnormal", "emph"]
)


ACCENTS = frozenset(
    ["bar", "hat", "tilde", "overline", "widehat", "widetilde", "dot", "ddot", "dddot", "check", "breve", "acute"]
) | {"grave", "mathring", "underline", "overrightarrow", "widebar"}


ALPHABETS = frozenset(["mathbb", "mathbbm", "mathds", "Bbb", "mathcal", "mathscr", "mathfrak"])


SPACES = frozenset(
    re.split(
        r"\s+",
        r"""
    \, \; \: \! \quad \qquad \displaystyle \textstyle \limits \nolimits \nonumber \notag \thinspace \medspace \hfill
    \big \Big \bigg \Bigg \bigl \bigr \Bigl \Bigr \biggl \biggr \Biggl \Biggr \middle \smash ~""".strip(),
    )
) | {"\\ "}


MATRICES = frozenset(["bmatrix", "pmatrix", "matrix", "Bmatrix", "smallmatrix", "array"])


PROSE = frozenset(
    re.split(
        r"\s+",
        """
    and or for all where since because by as if then hence thus so let with is are independence independent linearity
    when while but also otherwise else from using given assume suppose recall note therefore similarly definition
    symmetry orthogonality induction i.e. e.g. unless not except never
    implies iff put define provided assuming moreover clearly obviously trivially finally equivalently whenever
    otherwise else via hereby note now next first second third claim proof lemma theorem corollary likewise""".strip(),
    )
)


class Tok(NamedTuple):
    """One token: its kind, its value, its line in the document, where it starts in the display, is it in bold?"""

    kind: str
    value: str
    line: int
    start: int
    bold: bool = False


new_tuple = tuple.__new__


class TokenStream(ABC):
    """The tokens of one text as they are made, with the brackets that are open; `line` is where the text starts."""

    def __init__(self, text: str, line: int, start: int | None = None) -> None:
        self.text, self.first, self.start = text, line, start  # `start`: where a text inside a command begins
        self.out: list[Tok] = []
        self.stack: list[str] = []
        self.at = 0
        self.line = line
        self.tight = 0  # how many arguments may follow without braces, one character each
        self.held: list[tuple[int, int]] = []  # braces opened as such arguments: (depth, how many follow them)
        self.authors = False  # whether a command that is not known is a symbol, which its author defined elsewhere

    def emit(self, kind: str, value: str = "") -> None:
        """Append one token."""
        out = self.out
        if len(out) >= MAX_TOKENS:
            raise Unreadable(f"the formula has more than {MAX_TOKENS} tokens: split it", self.first)
        # made as a tuple is: half of the time of the call of a class
        out.append(new_tuple(Tok, (kind, value, self.line, self.at if self.start is None else self.start, False)))

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

    def open_function(self, name: str) -> None:
        """A bracket that is the function `name` of what stands in it."""
        self.emit("FUNC", name)
        self.open("LPAR", "(")

    def inside(self, inner: str) -> Self:
        """The same for a text inside a command; its tokens start where the command does."""
        found = type(self)(inner, self.line, self.at if self.start is None else self.start)
        found.authors = self.authors
        return found

    def lex_inner(self, inner: str) -> None:
        """The tokens of a text inside a command, as if it stood here."""
        inside = self.inside(inner)
        inside.out, inside.stack = self.out, []
        inside.run()

    @abstractmethod
    def run(self) -> list[Tok]:
        """All tokens."""

    def primes(self, at: int) -> str:
        """The primes that follow a name."""
        end = at
        while self.text.startswith("'", end):
            end += 1
        return self.text[at:end]

    def after_primes(self, at: int) -> int:
        """Where the text goes on after primes."""
        return at + len(self.primes(at))


OPENING = frozenset(["LPAR", "LBRACK", "LBRACE", "LBAR", "LNORM", "LSET", "BEGINMAT"])
CLOSING = frozenset(["RPAR", "RBRACK", "RBRACE", "RBAR", "RNORM", "RSET", "ENDMAT"])


def depth_zero(tokens: list[Tok]) -> Iterator[tuple[int, Tok]]:
    """The tokens outside all brackets, with their positions."""
    depth = 0
    for i, token in enumerate(tokens):
        kind = token.kind
        if kind in CLOSING:
            depth -= 1
        if depth == 0:
            yield i, token
        if kind in OPENING:
            depth += 1
