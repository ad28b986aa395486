r"""Symbols that a paragraph introduces.

What stands left of \in and \sim: symbols with their domains, families with dots between them, random symbols.
Laws and domains themselves are read in `domains`; how every symbol is entered is at the end.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from attention_core.derivation.elaborate.expressions import Elaborator
from attention_core.derivation.elaborate.indicators import declared_as, entry_type_fits, extent, missing_index
from attention_core.derivation.elaborate.subscripts import index_items, is_beside
from attention_core.derivation.latex.printer import symbol_name, to_latex
from attention_core.derivation.latex.syntax import (
    Chain,
    Dots,
    Expr,
    Fence,
    Group,
    Minus,
    Name,
    Num,
    Sub,
    Sup,
    Times,
    Unreadable,
    names_in,
)
from attention_core.derivation.reading.complex_numbers import declare_complex
from attention_core.derivation.reading.domains import Domain, domain_of
from attention_core.derivation.reading.integers import make_integer
from attention_core.derivation.terms.context import Hypothesis, Symbol, has_entries
from attention_core.derivation.terms.terms import SCALAR, integer

if TYPE_CHECKING:
    from attention_core.derivation.reading.reader_state import Item, ReaderState


def membership(reader: ReaderState, item: Item, text: str, line: int) -> None:
    """`x, y \\in ...`."""
    elab = Elaborator(reader.context, line=line)
    domain = domain_of(elab, item.chain.exprs[1])
    left = list(item.left)
    if len(left) == 1 and isinstance(left[0], Group) and left[0].bracket == "{":
        left = [c.exprs[0] for c in left[0].items]
    if domain.kind == "index":
        reader.indices = []
    place = 0
    while place < len(left):
        dots = next((k for k in range(place + 1, len(left) - 1) if isinstance(left[k], Dots)), None)
        if dots is not None and _family_run(reader, left, place, dots, domain, line):
            place = dots + 2
            continue
        _symbol(reader, left[place], domain, line, text)
        place += 1


def _family_run(reader: ReaderState, left: list[Expr], start: int, dots: int, domain: Domain, line: int) -> bool:
    """`v_1, \\dots, v_n`: a family, if what stands before the dots belongs to one."""
    first, last = left[start], left[dots + 1]
    if not (isinstance(first, Sub) and isinstance(last, Sub) and first.base == last.base):
        return False
    if any(not (isinstance(e, Sub) and e.base == first.base) for e in left[start:dots]):
        return False
    elab = Elaborator(reader.context, line=line)
    low, high = elab.size(first.items[0].exprs[0]), elab.size(last.items[0].exprs[0])
    name = symbol_name(first.base)
    if name is None or domain.type is None:
        raise Unreadable(f"'{to_latex(first)}, ..., {to_latex(last)}' is not understood as a family", line)
    mentions = frozenset(high.symbols() | low.symbols() | domain.mentions)
    introduce(
        reader,
        Symbol(name, "family", line, reader.context.level, domain.type, low, high, domain.lower, domain.upper,
                 domain.values, mentions=mentions),
        f"{name}_{low}, ..., {name}_{high}: a family, each {domain}",
    )  # fmt: skip
    return True


def _symbol(reader: ReaderState, expr: Expr, domain: Domain, line: int, text: str) -> None:
    """One symbol with its domain."""
    name = symbol_name(expr)
    if name is None:
        two = isinstance(expr, Times) and not any(expr.ops)
        advice = ": it is read as a product; write one symbol, such as W_\\Delta for \\Delta W" if two else ""
        raise Unreadable(f"'{to_latex(expr)}' is not a symbol that can be declared{advice}", line)
    family = reader.context.symbols.get(symbol_name(expr.base) or "") if isinstance(expr, Sub) else None
    beside = isinstance(expr, Sub) and family is not None and is_beside(family, domain.type, expr)
    if isinstance(expr, Sub) and family is not None and has_entries(family) and not beside:
        items = index_items(Elaborator(reader.context, line=line), expr.items)
        if items is not None:
            if family.kind != "family":
                reader.context.forget(family.name, line)
            raise Unreadable(f"{to_latex(expr)} is a part of {family.name}, which is declared already", line)
        letter = missing_index(reader.context, expr)
        scalar = domain.type is not None and domain.type.scalar
        if letter and domain.kind == "array" and entry_type_fits(family, expr, scalar):
            raise Unreadable(
                f"{to_latex(expr)} is an entry of {family.name} (line {family.line}), not a symbol of its own: "
                f"leave this out, and where it is used {declared_as(letter, extent(family, expr, letter))}",
                line,
            )
    if domain.kind == "index":
        reader.indices.append(name)
    if domain.kind == "complex":
        declare_complex(reader.context, name, line)
        return
    if domain.kind == "integer":
        _introduce_integer(reader, name, domain, line)
        return
    mentions = frozenset(domain.mentions)
    introduce(
        reader,
        Symbol(name, domain.kind, line, reader.context.level, domain.type, domain.lowest, domain.highest,
                 domain.lower, domain.upper, domain.values, mentions=mentions),
        f"{name}: {domain}",
    )  # fmt: skip


def _introduce_integer(reader: ReaderState, name: str, domain: Domain, line: int) -> None:
    """An integer as a difference of sizes, which have the names k⁺ and k⁻, or as a size less 1 if it is 0 at least."""
    symbol = make_integer(reader.context, name, line, domain.lowest)
    parts = sorted(symbol.mentions)
    about = (
        ", the difference of the sizes " + " and ".join(parts) if len(parts) == 2 else f", the size {parts[0]} less 1"
    )
    introduce(reader, symbol, f"{name}: {domain}{about}")


_PARAMETER = re.compile(r"\\(?:mu|sigma|tau|lambda|theta|alpha|beta|gamma|nu|rho|kappa|eta|delta|epsilon)|[a-z]")


def _open_parameters(reader: ReaderState, law: Expr, line: int) -> None:
    r"""Declare the small letters of a law that nothing declares, as `p` of `\operatorname{Bernoulli}(p)`: numbers."""
    from attention_core.derivation.reading.domains import parameters_of

    name, parameters = parameters_of(law)
    used = [{one for one in names_in(expr) if one not in reader.context.symbols} for expr in parameters]
    fresh = set().union(*used)
    if not all(_PARAMETER.fullmatch(one) for one in fresh) or any("I" in names_in(expr) for expr in parameters):
        return  # those of vectors may be vectors
    deviations = {
        expr.base.text
        for expr in parameters[1:]
        if isinstance(expr, Sup) and isinstance(expr.base, Name) and expr.exponent == Num(Fraction(2))
    }
    for one in sorted(fresh):
        place = (line, reader.context.level)
        if name == "binomial" and one in used[0]:
            introduce(reader, Symbol(one, "size", *place), f"{one} is a size, as the number of trials")
        else:
            lower = (integer(0), False) if name != "binomial" and one in deviations else None  # of a variance
            symbol = Symbol(one, "array", *place, SCALAR, lower=lower)
            introduce(reader, symbol, f"{one} is a number, as a parameter of a law")


def random_symbols(reader: ReaderState, item: Item, line: int) -> None:
    """`q, k \\sim \\mathcal{N}(\\mu, \\sigma^2 I_d)` and families, see `domains`."""
    from attention_core.derivation.reading.domains import drawn_symbols

    reader.law_index = ""
    if reader.context.opens_sizes:
        _open_parameters(reader, item.chain.exprs[1], line)
    for symbol, relations in drawn_symbols(reader.context, item.left, item.chain.exprs[1], line):
        assert symbol.law is not None
        introduce(reader, symbol, f"{symbol.name}: random, {symbol.type}, {symbol.law.name}")
        reader.drawn.append(symbol.name)
        reader.law_index = symbol.law.index
        for relation in relations:
            about = symbol.mentions | {symbol.name}
            reader.context.assume(Hypothesis(relation, line, reader.context.level, f"the law of {symbol.name}", about))


def bare_scalar(reader: ReaderState, chain: Chain, line: int) -> None:
    """`\\sigma > 0` declares a number."""
    name = symbol_name(chain.exprs[0])
    indexed = isinstance(chain.exprs[0], Sub) and symbol_name(chain.exprs[0].base) in reader.context.symbols
    known = name in reader.context.symbols and not _has_only_a_root(reader, name)
    if name is None or known or indexed or chain.ops[0] not in ("<", "<=", ">", ">=", "!="):
        return
    _refuse_arrays(reader, name, line)
    found = Symbol(name, "array", line, reader.context.level, SCALAR, unequal=chain.ops[0] == "!=")
    introduce(reader, found, f"{name} is a number")


def _has_only_a_root(reader: ReaderState, name: str | None) -> bool:
    """Whether a letter was read as a whole number for no other reason than that a root of it is taken."""
    context = reader.context
    read_as = context.inferred.get(name or "", "")
    return context.symbols[name or ""].kind == "size" and read_as.endswith(rf"(\sqrt{{{name}}})")


def bounded_modulus(reader: ReaderState, chain: Chain, line: int) -> None:
    r"""`|x| < 1`, `0 < |t| \\le a` declare numbers: bars around a small letter that the document writes as no array.

    Args:
        reader: The reader; the number is declared.
        chain: The relations.
        line: Their line.
    """
    context, known = reader.context, reader.context.symbols
    for side in chain.exprs if set(chain.ops) <= {"<", "<="} or set(chain.ops) <= {">", ">="} else ():
        name = symbol_name(side.body) if isinstance(side, Fence) and side.kind == "abs" else None
        if name is None or name in known or not _REAL_LETTER.fullmatch(name) or name in context.arrays:
            continue
        _refuse_arrays(reader, name, line)
        introduce(reader, Symbol(name, "array", line, context.level, SCALAR), f"{name} is a number")


_REAL_LETTER = re.compile(r"[a-hq-vxy]|\\(?:alpha|beta|gamma|delta|epsilon|theta|lambda|mu|rho|sigma|tau|varepsilon)")
"""Letters of real numbers: z and w are complex numbers in a disc, i to p count, and capitals are sets and matrices."""


def _refuse_arrays(reader: ReaderState, name: str, line: int) -> None:
    r"""Refuse a number where the words behind say otherwise: "$x \ne 0$ be a vector".

    Raises:
        Unreadable: they do.
    """
    if reader.around.arrays:
        raise Unreadable(
            f"the words behind it say that {name} is not a number: write where it lives, as a formula", line
        )


_COUNTS = frozenset("ijklmnrst")  # letters that count: 1 \\le k \\le 5 says that k is one of five


def _spans_reals(chain: Chain, ends: Sequence[Expr]) -> bool:
    r"""Whether bounds are those of a real number, whatever its letter: `0 < t < \pi/2`, `0 < r < 1`, `0 \le t \le 1`.

    No index ends at what is not a whole number, and none stands between 0 and 1 but at both of them.

    Args: chain, the bounds, from the least on; ends, the first and the last of them.
    """
    low, high = ends
    if not isinstance(low, Num) or len(chain.exprs) != 3:
        return False
    if isinstance(high, Num):
        one_of_two = set(chain.ops) in ({"<="}, {">="}) and symbol_name(chain.exprs[1]) not in ("r", "s", "t")
        close = high.value - low.value <= 1 and not one_of_two
        return close or high.value.denominator != 1 or low.value.denominator != 1
    return r"\pi" in names_in(high) and not names_in(high) - {r"\pi"}


def bounded_scalars(reader: ReaderState, chain: Chain, line: int) -> None:
    r"""`0 < p < 1` and `b > a > 0` declare numbers; `1 \le k \le n` does not, as k may be an index.

    Args:
        reader: The reader; the numbers are declared.
        chain: The relations.
        line: Their line.
    """
    known = reader.context.symbols
    if len(chain.ops) < 2 or (not set(chain.ops) <= {"<", "<="} and not set(chain.ops) <= {">", ">="}):
        return
    ends = [e for e in chain.exprs if e != Name(r"\infty") and (isinstance(e, Name) or _has_number(e))]
    bases = {symbol_name(e.base) for e in ends if isinstance(e, Sub)}
    named = [symbol_name(e) for e in ends]
    fresh = [name for name in named if name is not None and name not in known] if not bases & set(known) else []
    others = {name for e in chain.exprs for name in names_in(e)} - set(fresh) - bases
    counted = any(name in known and known[name].kind in ("size", "index") for name in others)
    end = chain.exprs[0] if set(chain.ops) <= {"<", "<="} else chain.exprs[-1]
    if counted or not any(isinstance(one, Num | Minus) for one in (chain.exprs[0], end)):
        return
    last = chain.exprs[-1] if end is chain.exprs[0] else chain.exprs[0]
    if _COUNTS & set(fresh) and not _spans_reals(chain, (end, last)):
        return
    for name in fresh:
        _refuse_arrays(reader, name, line)
        introduce(reader, Symbol(name, "array", line, reader.context.level, SCALAR), f"{name} is a number")


def _has_number(expr: Expr) -> bool:
    """Whether a letter has a number below it, as x_1."""
    return (
        isinstance(expr, Sub)
        and len(expr.items) == 1
        and expr.items[0].alone
        and isinstance(expr.items[0].exprs[0], Num)
    )


def bounded_run(reader: ReaderState, item: Item, line: int) -> Chain | None:
    r"""`x_1, \\dots, x_n > 0` as one relation of all members, `x_i > 0`; None of any other relation.

    A base that is not declared becomes a family of numbers; of one that is, the run must be the whole of it.
    """
    left, (op, *_) = item.left, item.chain.ops
    if op not in ("<", "<=", ">", ">=", "!=") or len(left) < 3 or not isinstance(left[-2], Dots):
        return None
    members = [one for one in left if not isinstance(one, Dots)]
    first = members[0]
    if not isinstance(first, Sub) or any(not isinstance(m, Sub) or m.base != first.base for m in members):
        return None
    name = symbol_name(first.base)
    if name is None:
        return None
    if name not in reader.context.symbols:
        real = Chain((left[-1], Name(r"\mathbb{R}")), ("in",), item.chain.lines[:1])
        membership(reader, replace(item, chain=real), "", line)
    elif not _is_whole(reader, name, item, line):
        return None
    letter = next(one for one in (*"ijklrst", "i'") if one not in reader.context.symbols)
    each = Sub(first.base, (Chain((Name(letter),), (), ()),))
    return Chain((each, *item.chain.exprs[1:]), item.chain.ops, item.chain.lines)


def _is_whole(reader: ReaderState, name: str, item: Item, line: int) -> bool:
    """Whether a run names all members of a family, or all entries of a vector, from the first to the last."""
    symbol, elab = reader.context.symbols[name], Elaborator(reader.context, line=line)
    low, high = (elab.size(one.items[0].exprs[0]) for one in (item.left[0], item.left[-1]) if isinstance(one, Sub))
    if symbol.kind == "family":
        return (low, high) == (symbol.lowest, symbol.highest)
    kind = symbol.type
    vector = symbol.kind == "array" and kind is not None and kind.vector and kind.column
    return bool(vector and kind is not None and str(low) == "1" and high == kind.rows)


def _refuse_own_size(symbol: Symbol) -> None:
    r"""Refuse an array that has the name of its size, as the q of $q \in \mathbb{R}^q$: one name has one meaning.

    Raises:
        Unreadable: it has.
    """
    sides = () if symbol.type is None else (symbol.type.rows, symbol.type.cols)
    if any(symbol.name == name for side in sides for monomial, _ in side.terms for name, _ in monomial):
        raise Unreadable(
            f"{symbol.name} is the array and its size at once: name one of them by another letter", symbol.line
        )


_MARKS = re.compile(r"_|\^\{\(")


def introduce(reader: ReaderState, symbol: Symbol, text: str) -> None:
    """Add a symbol; a letter in bold and the same letter plain are one name, so only one of them is declared.

    Raises:
        Unreadable: the other one is declared; or its domain would drop the law it has in this paragraph, or what this
            sentence has assumed of it, as that of x in "$x > 0$ and $x \\in \\mathbb{R}$": domains are read first then.
    """
    if _keeps_its_law(reader, symbol):
        return
    _refuse_own_size(symbol)
    _refuse_parts(reader, symbol)
    if symbol.name in reader.held and symbol.name in reader.context.symbols:
        reader.context.forget(symbol.name, symbol.line)
        raise Unreadable(f"what is assumed of {symbol.name} stands before where it lives: turn them round", symbol.line)
    bold = reader.bold.get(_MARKS.split(symbol.name)[0])
    before = reader.context.symbols.get(symbol.name)
    if before is not None and None not in (bold, before.bold) and bold != before.bold:
        reader.context.forget(symbol.name, symbol.line)
        raise Unreadable(
            f"{symbol.name} in bold and {symbol.name} plain (line {before.line}) are both declared, and bold is "
            "read as style: name one of them by another letter",
            symbol.line,
        )
    symbol = replace(symbol, bold=bold)
    reader.context.declare(symbol)
    reader.context.understood.append((symbol.line, text))


_NUMBERED = re.compile(r"_\{?\d+\}?")


def _refuse_parts(reader: ReaderState, symbol: Symbol) -> None:
    """Refuse an array W where W_1 is a symbol of its own: what W_1 then stands for below is not clear.

    Raises:
        Unreadable: it is.
    """
    kind = symbol.type if symbol.term is None else symbol.term.type
    if symbol.kind == "family" or symbol.params or kind is None or kind.kind != "matrix":
        return
    near = [name for name in reader.context.symbols if name.startswith(f"{symbol.name}_")]
    zero = f"{symbol.name}_{{0}}"
    near = [name for name in near if name != zero or reader.context.symbols[zero].type != kind]  # see `is_beside`
    known = next((name for name in near if _NUMBERED.fullmatch(name, len(symbol.name))), "")
    if known:
        line = reader.context.symbols[known].line
        reader.context.forget(known, symbol.line)
        raise Unreadable(
            f"{known} is declared already (line {line}), and would be a part of {symbol.name}: "
            "name one of them by another letter",
            symbol.line,
        )


def _keeps_its_law(reader: ReaderState, symbol: Symbol) -> bool:
    r"""Whether a domain only repeats that of a symbol drawn here: `x \sim ...` with `x \in \mathbb{R}^d`.

    Raises:
        Unreadable: it says something else.
    """
    before = reader.context.symbols.get(symbol.name)
    if before is None or before.law is None or before.line < reader.paragraph.line:
        return False
    if symbol.law is not None or symbol.term is not None or symbol.body is not None:
        return False
    plain = symbol.lower is None and symbol.upper is None and not symbol.values
    if plain and (symbol.kind, symbol.type) == (before.kind, before.type) and symbol.lowest == before.lowest:
        reader.context.understood.append((symbol.line, f"{symbol.name}: random as above, its domain repeated"))
        return True
    raise Unreadable(
        f"{symbol.name} is drawn from a law in line {before.line}, as {before.type}, and another domain would drop "
        "the law: say the domain before the law, or nothing",
        symbol.line,
    )
