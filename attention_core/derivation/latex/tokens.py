"""Tokens of a formula, and the tables of the lexer.

One token, and the walk along tokens that stays outside brackets. Tokens are made by `lexer`, regrouped by `rows` and
read by `parse`. The tables say what LaTeX commands mean: functions, relations, operators, letters, styles, spaces,
words of prose. A command that is in none of them is refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

FUNCTIONS = {
    "exp": "exp", "log": "log", "ln": "log", "sin": "sin", "cos": "cos", "tanh": "tanh", "softmax": "softmax",
    "Softmax": "softmax", "argmax": "argmax", "tr": "tr", "Tr": "tr", "trace": "tr", "diag": "diag", "Diag": "diag",
    "ReLU": "relu", "relu": "relu", "Attention": "attention", "attention": "attention", "Attn": "attention",
    "E": "E", "Var": "Var", "Cov": "Cov", "Pr": "Pr", "sign": "sign", "sgn": "sign", "det": "det",
    "sigmoid": "sigmoid", "max": "max", "min": "min", "erf": "erf", "logsumexp": "lse", "LSE": "lse", "lse": "lse",
}  # fmt: skip


BARE = (
    "softmax",
    "argmax",
    "sigmoid",
    "tanh",
    "relu",
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


BIG = {"sum": "sum", "prod": "prod", "max": "max", "min": "min", "lim": "lim"}


RELATIONS = {
    "=": "=", "<": "<", ">": ">", r"\ne": "!=", r"\neq": "!=", r"\le": "<=", r"\leq": "<=", r"\ge": ">=",
    r"\geq": ">=", r"\lt": "<", r"\gt": ">", r"\approx": "~", r"\gg": ">>", r"\ll": "<<", r"\to": "->",
    r"\rightarrow": "->", r"\longrightarrow": "->",
    r"\in": "in", r"\sim": "sim", r"\equiv": "=", ":=": ":=", r"\coloneqq": ":=",
    r"\leqslant": "<=", r"\geqslant": ">=", r"\perp": "perp", "≤": "<=", "≥": ">=", "≠": "!=", "≈": "~",
    r"\triangleq": ":=",
}  # fmt: skip


ARROWS = {
    r"\implies": "=>", r"\Rightarrow": "=>", r"\Longrightarrow": "=>", r"\iff": "<=>", r"\Leftrightarrow": "<=>",
    r"\Longleftrightarrow": "<=>",
}  # fmt: skip


OPERATORS = {
    "+": ("PLUS", "+"), "-": ("MINUS", "-"), "−": ("MINUS", "-"), "*": ("TIMES", "*"), r"\cdot": ("TIMES", "."),
    r"\times": ("TIMES", "*"), r"\odot": ("TIMES", "o"), r"\circ": ("TIMES", "o"), "/": ("TIMES", "/"),
    ",": ("COMMA", ","), ";": ("SEMI", ";"), ":": ("COLON", ":"), r"\colon": ("COLON", ":"),
    r"\partial": ("PARTIAL", ""),
    r"\ast": ("TIMES", "*"), r"\forall": ("FORALL", ""),
}  # fmt: skip


GREEK = frozenset(
    re.split(
        r"\s+",
        """
    alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi pi rho varrho sigma tau
    upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega ell hbar""".strip(),
    )
)


DOTS = frozenset(["dots", "ldots", "cdots", "vdots", "ddots", "dotsc", "dotsb", "dotsm"])


STYLES = frozenset(["mathbf", "boldsymbol", "bm", "mathit", "mathsf", "pmb", "vec", "mathtt", "bold", "boldmath"])


WORDS = frozenset(["operatorname", "mathrm", "text", "textbf", "textit", "textrm", "mbox", "texttt"])


ACCENTS = frozenset(["bar", "hat", "tilde", "overline", "widehat", "widetilde", "dot", "ddot"])


ALPHABETS = frozenset(["mathbb", "mathcal", "mathscr", "mathfrak"])


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


@dataclass(frozen=True, slots=True)
class Tok:
    """One token: its kind, its value, its line in the document, where it starts in the display, is it in bold?"""

    kind: str
    value: str
    line: int
    start: int
    bold: bool = False


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
