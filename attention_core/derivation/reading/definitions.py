r"""Definitions of symbols and functions, and the words of a declaration.

What a symbol or a function stands for: `M := 2 A A^\top`, `\alpha_i := ...`, `f(t) := ...`, `\sigma^2 := ...`.
Behind Let, Put, Define and Where an equation defines a symbol that is not known yet.

The words between the formulas of a declaration: what they change of its meaning, and which of them cannot be read.
A word that changes the meaning and is not known makes the paragraph unreadable.
"""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from attention_core.derivation.elaborate.expressions import Elaborator
from attention_core.derivation.elaborate.functions import function_form, rename_bound_indices, require_used_parameters
from attention_core.derivation.elaborate.hypotheses import find_defined_name
from attention_core.derivation.elaborate.index_ranges import inferred_range
from attention_core.derivation.elaborate.subscripts import index_items
from attention_core.derivation.latex.printer import all_names, symbol_name, to_latex
from attention_core.derivation.latex.syntax import Expr, Num, Root, Sub, Sup, Unreadable, names_in
from attention_core.derivation.reading.memberships import introduce
from attention_core.derivation.terms.context import Symbol
from attention_core.derivation.terms.same_sizes import with_same_sizes
from attention_core.derivation.terms.terms import ShapeMismatch, Size
from attention_core.derivation.words.paragraphs import BINDING, OPENERS

if TYPE_CHECKING:
    from attention_core.derivation.reading.reader_state import Item, ReaderState


DEFINING = ("let", "put", "define", "where")


def defines(reader: ReaderState, item: Item) -> bool:
    """Whether `=` defines: after Let or Put with an undeclared symbol on the left."""
    form = function_form(item.left[-1])
    squared = _find_squared_name(item.left[-1])
    if form or squared:
        fresh = (form[0] if form else squared) not in reader.context.symbols
        return fresh and reader.verb in DEFINING and len(item.left) == 1 and len(item.chain.ops) == 1
    name = symbol_name(item.left[-1])
    if reader.verb not in DEFINING or name is None or len(item.left) > 1 or len(item.chain.ops) > 1:
        return False
    known, target = reader.context.symbols, item.left[-1]
    root = known.get(symbol_name(target.base) or "") if isinstance(target, Sub) else None
    if name in known:
        return False
    if root is None or not isinstance(target, Sub):
        return True
    return root.kind != "family" and index_items(Elaborator(reader.context), target.items) is None


def define(reader: ReaderState, item: Item, text: str, line: int) -> None:
    """`M := 2 A A^\\top`, also with indices: `\\alpha_i := ...`."""
    left, right = item.left[-1], item.chain.exprs[-1]
    reader.context.applied = 0
    elab = Elaborator(with_same_sizes(reader.context), line=line)
    form, squared = function_form(left), _find_squared_name(left)
    if form is not None and len(item.chain.ops) == len(item.left) == 1:
        _define_function(reader, form, right, line)
        return
    if squared:
        assert isinstance(left, Sup)
        left, right = left.base, Root(right)
    name, params = find_defined_name(elab, left, right)
    if name is None or item.chain.ops not in (("=",), (":=",)) or len(item.left) != 1:
        raise Unreadable(f"'{text}' is not understood as a definition: write 'Put $M := ...$'", line)
    ranges: list[tuple[Size, Size]] = []
    for param in params:
        ranges.append(inferred_range(elab, param, right))
        elab.bound[param] = None
    if name in names_in(right) and name in reader.context.symbols and reader.context.symbols[name].kind != "definition":
        raise Unreadable(f"{name} is defined by itself", line)
    try:
        term = elab.term(right)
    except ShapeMismatch as error:
        raise Unreadable(f"in the definition of {name}: {error}", line) from None
    low, high = ranges[0] if ranges else (None, None)
    about = frozenset(all_names(right) - set(params))
    place = (name, "definition", line, reader.context.level)
    symbol = Symbol(*place, None, low, high, term=term, params=tuple(params), mentions=about)
    introduce(reader, symbol, f"{name} is defined as {to_latex(right)}, {term.type}")


def _define_function(reader: ReaderState, form: tuple[str, tuple[str, ...]], right: Expr, line: int) -> None:
    """`f(t) := ...`."""
    name, params = form
    elab = Elaborator(reader.context, line=line)
    require_used_parameters(elab, right, params)
    if name in names_in(right):
        raise Unreadable(f"{name} is defined by itself", line)
    about = frozenset(all_names(right) - set(params))
    body = rename_bound_indices(reader.context, right, params)
    symbol = Symbol(name, "function", line, reader.context.level, params=params, body=body, mentions=about)
    introduce(reader, symbol, f"{name}({', '.join(params)}) is defined as {to_latex(right)}")


def _find_squared_name(expr: Expr) -> str:
    r"""The name in `\sigma^2`, which defines sigma as the root; '' of anything else."""
    return (symbol_name(expr.base) or "") if isinstance(expr, Sup) and expr.exponent == Num(Fraction(2)) else ""


_MEANING = re.compile(
    r"\b(not|unless|except|never|neither|nor|no|without|symmetric|invertible|diagonal|positive definite|orthogonal|"
    r"orthonormal|perpendicular|parallel|unit|integers?|even|odd|nonzero|non-zero|increasing|sorted|correlated|"
    r"dependent|identically|iid|uniformly|either|or|almost|approximately|some|exists?|singular|semidefinite)\b",
    re.IGNORECASE,
)
_ADVICE = {
    "orthogonal": r"write $k_i^\top k_j = 0$ for $i \ne j$",
    "orthonormal": r"write $A^\top A = I_m$",
    "perpendicular": r"write $k_i^\top k_j = 0$ for $i \ne j$",
    "symmetric": r"write $A = A^\top$",
    "unit": r"write $\|x\| = 1$",
    "nonzero": r"write $x \ne 0$",
    "non-zero": r"write $x \ne 0$",
    "not": "write the condition as a formula, such as $x \\ne 0$",
}


# "Draw independent $x$ and $y$": of the symbols that follow.
_BEFORE_DRAWS = re.compile(
    r"\bindependent(?:ly)?(?: (?:random|normal|gaussian|real|standard|variables?|vectors?|numbers?|draws?|"
    r"samples?))*\s*$",
    re.IGNORECASE,
)


def words(reader: ReaderState, text: str, line: int) -> None:
    """Prose between formulas."""
    found = _MEANING.search(text)
    if found:
        word = found.group().lower()
        advice = _ADVICE.get(word, "say it with a formula, or leave the sentence out of this paragraph")
        raise Unreadable(f"the word '{found.group()}' changes the meaning and is not understood here: {advice}", line)
    if re.search(r"\bindependent(ly)?\b", text):
        reader.independent = bool(_BEFORE_DRAWS.search(text))
        for name in reader.drawn:
            symbol = reader.context.symbols[name]
            assert symbol.law is not None
            reader.context.symbols[name] = replace(symbol, law=replace(symbol.law, independent=True))
    if re.search(r"\bbroadcast\b", text):
        reader.context.broadcast = reader.context.level
        reader.context.understood.append((line, "sums are broadcast"))
    if re.search(r"\bdistinct\b", text):
        reader.distinct(line)
    if re.search(r"[.;]\s|[.;]$", text):
        reader.drawn, reader.law_index, reader.sentence = [], "", reader.sentence + 1
        reader.independent = False
    if re.search(r"[.;]\s|[.;]$|\bwith\b|\band let\b", text) and not BINDING.search(text.rstrip()):
        reader.settle()
    for word in re.findall(r"[A-Za-z]+", text):
        if word in OPENERS or word.lower() in (*DEFINING, "given", "assume", "suppose", "draw"):
            reader.verb = word.lower()
