r"""What formulas need: symbols that are not declared, letters that are indices, letters that are functions.

A subscript is an index where a sum, a Kronecker delta or a dotted run binds its letter in the same formula. Else
`x_t` is a name of its own: what is true of a free x_t is true of every member.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from attention_core.derivation.elaborate.indicators import ONES, is_factor
from attention_core.derivation.latex.printer import FAMILY_LABEL, symbol_name, to_latex
from attention_core.derivation.latex.syntax import (
    EVALUATED,
    Array,
    Big,
    Call,
    Chain,
    Dots,
    Expr,
    Fence,
    Frac,
    Group,
    Name,
    Num,
    Plus,
    Slice,
    Sub,
    Sup,
    Times,
    Transpose,
    children,
    names_in,
)
from attention_core.derivation.terms.context import Context, has_entries

CONSTANTS = frozenset(["e", r"\pi", "I", r"\infty", r"\mathbf{1}", r"\mathbf{0}", ONES, "*", "+", "-", "'", EVALUATED])
FUNCTIONS = frozenset(["f", "g", "h", "F", "G", r"\phi", r"\varphi", r"\psi", r"\sigma", r"\Phi", r"\Psi", "p", "P"])
_SIZED = frozenset(["I", r"\mathbf{1}", r"\mathbf{0}", ONES])

MEMBER = "[]"  # after a base: what one index leaves of it
ONES_NAME = r"\text{ones}"  # and a number: a vector of ones
UNIT = r"\mathrm{e}"  # with a subscript: a unit vector, where it is a vector and nothing says what it is
DELTA = r"\Delta "  # `\Delta W` is one symbol
_WORD = re.compile(r"\\text\{[A-Za-z]{2,}\}")
_BARE = re.compile(r"\\(?:bar|hat|tilde|overline|widehat|widetilde|dot|ddot|mathcal|mathscr|mathfrak)\{(.*)\}$")


def letter_of(name: str) -> str:
    """The letter that a name is built on."""
    bare = re.split(r"_\{|\^", name)[0]
    found = _BARE.match(bare)
    return letter_of(found.group(1)) if found else bare.removeprefix(DELTA).rstrip("'")


def is_constant(name: str) -> bool:
    """Whether a name has a meaning of its own unless it is declared.

    Example:
        >>> is_constant("e"), is_constant("x")
        (True, False)
    """
    return name in CONSTANTS or name.startswith(r"\mathbb")


_NORMS = frozenset(
    ["F", "op", r"\text{F}", r"\text{op}", r"\text{nuc}", r"\text{nuclear}", r"\text{tr}", r"\text{spec}", "o", "p"]
)
"""What stands below a norm and is no index; `op` is often written without its style."""


@dataclass
class Usage:
    """How the formulas of a section use their letters."""

    arrays: dict[str, int] = field(default_factory=dict)  # bases with indices, and how many
    functions: set[str] = field(default_factory=set)  # letters in front of (x)
    letters: set[str] = field(default_factory=set)  # all of them
    runs: dict[str, str] = field(default_factory=dict)  # bases that are written out with dots, and the last index
    zeros: set[str] = field(default_factory=set)  # bases with an index 0, as an intercept has: `b_0 + b_1 x_1`


@dataclass(frozen=True)
class Need:
    """One thing that a formula needs: a `symbol`, a `size` or an `index`."""

    name: str
    kind: str


def index_parts(node: Sub) -> list[Expr]:
    """The subscripts one by one: `A_{ij}` has two."""
    parts = [item.exprs[0] for item in node.items if item.alone]
    if len(parts) != len(node.items):
        return []
    if len(parts) == 1 and isinstance(parts[0], Times) and not any(parts[0].ops):
        return list(parts[0].factors)
    return parts


def has_word(node: Sub) -> bool:
    r"""Whether a subscript is one word, and no index unless that is declared: `x_{\max}`, `L_{\text{total}}`."""
    parts = index_parts(node)
    return len(parts) == 1 and isinstance(parts[0], Name) and bool(_WORD.fullmatch(parts[0].text))


def integrated_letters(node: Big) -> set[str]:
    """The variables of an integral, as its differentials name them."""
    parts = node.body.items[1:] if isinstance(node.body, Group) else ()
    return {one.exprs[0].text for one in parts if one.alone and isinstance(one.exprs[0], Name)}


def bound_letters(node: Big) -> set[str]:
    """The letters that a sum or a product binds; those of an integral are not indices."""
    if node.op in ("lim", "int"):
        return set()
    found = set()
    for chain in node.below:
        compared = not chain.alone and chain.ops[0] not in ("=", "in")
        exprs = chain.exprs if compared else chain.exprs[:1]
        found |= {name for expr in exprs if (name := symbol_name(expr)) is not None}
    return found


_MOST_WALKED = 2048
_walked: dict[int, tuple[Chain, tuple[object, ...]]] = {}
"""The nodes of formulas by identity, which holds while they are kept: a section is walked for each of its steps."""


def walk(node: object) -> Iterator[object]:
    """All nodes of a written tree."""
    if not isinstance(node, Chain):
        return _walk(node)
    found = _walked.get(id(node))
    if found is None or found[0] is not node:
        if len(_walked) >= _MOST_WALKED:
            _walked.clear()
        found = _walked[id(node)] = (node, tuple(_walk(node)))
    return iter(found[1])


def _walk(node: object) -> Iterator[object]:
    stack = [node]
    while stack:
        one = stack.pop()
        yield one
        stack.extend(children(one))


def whole_names(node: object) -> set[str]:
    """The names of a tree, of `z_{t - 1}` this name alone and not z."""
    found: set[str] = set()
    stack = [node]
    while stack:
        one = stack.pop()
        name = symbol_name(one) if isinstance(one, Name | Sub | Sup) else None
        if name is not None:
            found.add(name)
        else:
            stack.extend(children(one))
    return found


def index_letters(formula: object) -> set[str]:
    """The letters that are indices in one formula."""
    found: set[str] = set()
    for node in walk(formula):
        if isinstance(node, Big):
            found |= bound_letters(node)
        elif isinstance(node, Sub) and node.base == Name(r"\delta"):
            parts = index_parts(node)
            found |= {part.text for part in parts if isinstance(part, Name)} if len(parts) == 2 else set()
        elif isinstance(node, Times):
            groups = _find_indicators(node)
            found |= {name for group in groups for name in names_in(group)} - _ordered_numbers(groups)
    return found


_OF_INDICES = frozenset("ijklmnrst")


def _ordered_numbers(groups: Sequence[Group]) -> set[str]:
    r"""The letters of indicators that are ordered and no usual letters of indices: the x of `\mathbf{1}[x > 0]`."""
    ordered = (one for group in groups for one in group.items if set(one.ops) & {"<", ">", "<=", ">="})
    return {name for one in ordered for name in names_in(one)} - _OF_INDICES


def _find_indicators(node: Times) -> list[Group]:
    r"""The brackets of the indicators `\mathbf{1}[i = j]` in a product."""
    pairs = zip(node.factors, node.ops, node.factors[1:], strict=False)
    return [
        right
        for left, op, right in pairs
        if left == Name(ONES) and not op and isinstance(right, Group) and not all(item.alone for item in right.items)
    ]


_SPECTRUM = (Name(r"\lambda"), Name(r"\sigma"))


def _find_spectra(formula: object) -> list[Sub]:
    r"""The heads of `\lambda_i(A)` and `\sigma_{\max}(A B)`: eigenvalues, and no entries, of what capitals name."""
    products = [node for node in walk(formula) if isinstance(node, Times)]
    pairs = [pair for node in products for pair in zip(node.factors, node.ops, node.factors[1:], strict=False)]
    return [
        left
        for left, op, right in pairs
        if not op and isinstance(left, Sub) and left.base in _SPECTRUM and _holds_matrix(right)
    ]


def _holds_matrix(node: object) -> bool:
    """Whether a node is a round bracket, or a power of one, around one formula of capital letters."""
    inside = node.base if isinstance(node, Sup) else node
    if not isinstance(inside, Group) or inside.bracket != "(" or len(inside.items) != 1 or not inside.items[0].alone:
        return False
    names = whole_names(inside.items[0])
    return bool(names) and all(re.fullmatch(r"[A-Z]|\\top|T|I_.*", name) for name in names)


@dataclass(frozen=True, slots=True)
class _Facts:
    """What one formula says of its letters, whatever stands around it."""

    subscripted: tuple[Sub, ...]  # entries; no eigenvalues
    indices: frozenset[str]
    names: frozenset[str]
    runs: tuple[tuple[str, str], ...]
    zeros: frozenset[str]  # bases of entries that are counted from 0
    alone: Counter[str]  # how often a name stands anywhere
    led: Counter[str]  # and in front of a bracket
    functions: frozenset[str]
    maybe: frozenset[str]  # names in front of a product in brackets
    factors: frozenset[str]
    informations: tuple[bool, int, int]


_facts: dict[int, tuple[Chain, _Facts]] = {}
"""The same of formulas by identity, as `_walked` has them: neighbours are looked at for each display of a section."""


def _facts_of(formula: Chain) -> _Facts:
    found = _facts.get(id(formula))
    if found is None or found[0] is not formula:
        if len(_facts) >= _MOST_WALKED:
            _facts.clear()
        found = _facts[id(formula)] = (formula, _collect_facts(formula))
    return found[1]


def _collect_facts(formula: Chain) -> _Facts:
    spectra = {id(one) for one in _find_spectra(formula)}
    nodes = tuple(walk(formula))
    alone = Counter[str]()
    for node in nodes:
        if isinstance(node, Name | Sub) and (name := symbol_name(node)) is not None:
            alone[name] += 1
    return _Facts(
        tuple(node for node in nodes if isinstance(node, Sub) and id(node) not in spectra),
        frozenset(index_letters(formula)),
        frozenset(names_in(formula)),
        tuple(_runs(nodes)),
        frozenset(_zeros(nodes)),
        alone,
        *_find_functions(nodes),
        frozenset(_factors(nodes)),
        _informations(nodes),
    )


def _find_functions(nodes: Sequence[object]) -> tuple[Counter[str], frozenset[str], frozenset[str]]:
    """How often names stand in front of brackets, which of them are functions, and which may be."""
    led, functions, maybe = Counter[str](), set[str](), set[str]()
    for node in nodes:
        if not isinstance(node, Times):
            continue
        for left, op, right in zip(node.factors, node.ops, node.factors[1:], strict=False):
            name = None if _is_entry_of_sample(left) else symbol_name(left)
            if name is not None and not op and _is_bracket(right) and not is_factor(name, right):
                led[name] += 1
                if _is_argument(right):
                    (maybe if _is_product(right) else functions).add(name)
    return led, frozenset(functions), frozenset(maybe)


def _arrays(facts: Sequence[_Facts]) -> dict[str, int]:
    """The bases with indices, and how many: a letter that is an index of one is an index of all in its formula."""
    found: dict[str, int] = {}
    shifted = {
        symbol_name(n.base) for one in facts for n in one.subscripted if any(_is_shifted(p) for p in index_parts(n))
    }
    for again in range(3):
        before = len(found)
        for one in facts:
            letters = one.indices
            if again:
                letters |= {
                    n for node in one.subscripted if symbol_name(node.base) in found for n in _plain_letters(node)
                }
            for node in one.subscripted:
                base, parts = symbol_name(node.base), index_parts(node)
                names = {name for part in parts for name in _letters(part)}
                if base is None or base in _SIZED | {"e"} or not names & letters or len(parts) > 2:
                    continue
                if not again or (base not in shifted and all(isinstance(part, Name | Num) for part in parts)):
                    samples = base.endswith(FAMILY_LABEL)  # what stands below a label is an entry of the member
                    found[base] = 1 if samples else max(len(parts), found.get(base, 0))
        if again and len(found) == before:
            break
    return found


def _runs(nodes: Iterable[object]) -> Iterator[tuple[str, str]]:
    r"""The bases of `x_1, \dots, x_n`, also in sums and in arrays, and the letter of the last index."""
    for node in nodes:
        if not isinstance(node, Array | Plus | Group | Times) or Dots() not in _cells(node):
            continue
        members = [one for one in walk(node) if isinstance(one, Sub) and len(index_parts(one)) == 1]
        first = {symbol_name(one.base) for one in members if isinstance(index_parts(one)[0], Num)}
        for one in members:
            base, last = symbol_name(one.base), index_parts(one)[0]
            if base is not None and base in first and isinstance(last, Name) and base not in _SIZED | {"e"}:
                yield base, last.text


def _zeros(nodes: Iterable[object]) -> Iterator[str]:
    r"""The bases of `b_0`, and of the entries `a_k` of a sum that begins at 0."""
    zero = Num(Fraction(0))
    for node in nodes:
        if isinstance(node, Sub) and index_parts(node) == [zero]:
            yield symbol_name(node.base) or ""
        elif isinstance(node, Big) and node.op in ("sum", "prod"):
            first = [one.exprs[0] for one in node.below if one.ops == ("=",) and one.exprs[1] == zero]
            inside = [one for one in walk(node.body) if isinstance(one, Sub)] if first else []
            yield from (symbol_name(one.base) or "" for one in inside if [*first] == index_parts(one))


def _cells(node: Array | Plus | Group | Times) -> list[object]:
    """What stands in a row, between brackets, or between signs."""
    if isinstance(node, Array):
        return [cell for row in node.rows for cell in row]
    if isinstance(node, Group):
        return [item.exprs[0] for item in node.items]
    return list(node.terms if isinstance(node, Plus) else node.factors)


def _is_shifted(part: Expr) -> bool:
    """Whether a subscript is `t - 1` or the like."""
    return isinstance(part, Plus | Times | Group)


def _plain_letters(node: Sub) -> set[str]:
    return {part.text for part in index_parts(node) if isinstance(part, Name)}


def usage_of(formulas: Iterable[Chain]) -> Usage:
    """How formulas use their letters."""
    facts = [_facts_of(one) for one in formulas]
    runs: dict[str, str] = {}
    for base, last in (run for one in facts for run in one.runs):
        runs.setdefault(base, last)
    found = Usage(_arrays(facts), runs=runs)
    found.arrays |= {base: 1 for base in found.runs if base not in found.arrays}
    found.zeros = {base for one in facts for base in one.zeros} & found.arrays.keys()
    found.letters = {name for one in facts for name in one.names}
    alone, led = Counter[str](), Counter[str]()
    for one in facts:
        alone.update(one.alone)
        led.update(one.led)
    maybe, factors = ({name for one in facts for name in getattr(one, part)} for part in ("maybe", "factors"))
    found.functions = {name for one in facts for name in one.functions} | (maybe - factors)
    found.functions |= {n for n, times in led.items() if letter_of(n) in FUNCTIONS or times == alone[n]}
    several, single, count = (
        sum(counts) for counts in zip((0, 0, 0), *(one.informations for one in facts), strict=True)
    )
    found.functions -= CONSTANTS - ({"I"} if several or 0 < count == single else set())
    found.functions -= {name for name in found.functions if name.startswith(ONES_NAME)}
    return found


def _is_entry_of_sample(expr: Expr) -> bool:
    r"""Whether an expression is an entry of a sample, `x_j^{(i)}`: a number, also in front of a bracket."""
    return isinstance(expr, Sub) and len(expr.items) > 1 and (symbol_name(expr.base) or "").endswith(FAMILY_LABEL)


def _is_product(expr: Expr) -> bool:
    """Whether one product stands in a bracket."""
    inner = _bracket(expr) or expr
    return isinstance(inner, Group) and len(inner.items) == 1 and isinstance(inner.items[0].exprs[0], Times)


def _factors(nodes: Iterable[object]) -> Iterator[str]:
    r"""The capitals beside a factor without brackets: Q in `(Q K^\top) V`, so that `Q (K^\top V)` is a product."""
    for node in nodes:
        if isinstance(node, Times):
            pairs = zip(node.factors, node.ops, node.factors[1:], strict=False)
            bare = {symbol_name(left) for left, op, right in pairs if op or not _is_bracket(right)}
            bare.add(symbol_name(node.factors[-1]))
            yield from (name for name in bare if name is not None and letter_of(name)[:1].isupper())


def _informations(nodes: Iterable[object]) -> tuple[bool, int, int]:
    """How I stands: in front of several arguments, of one symbol how often, and how often at all.

    In front of several arguments, or of one symbol always, it is information, and not the identity.
    """
    several, single, count = False, 0, 0
    for node in nodes:
        if isinstance(node, Times):
            for left, op, right in zip(node.factors, node.ops, node.factors[1:], strict=False):
                if left == Name("I") and not op and isinstance(right, Group):
                    several |= len(right.items) > 1 or not right.items[0].alone
                    single += len(right.items) == 1 and isinstance(right.items[0].exprs[0], Name | Sub)
        count += node == Name("I")
    return several, single, count


def _letters(part: Expr) -> set[str]:
    return {node.text for node in walk(part) if isinstance(node, Name)}


def _bracket(expr: Expr) -> Group | None:
    while isinstance(expr, Sup | Sub | Transpose):
        expr = expr.base
    if not isinstance(expr, Group):
        return None
    divided = any(not item.alone for item in expr.items)  # `D[p \\parallel q]`
    named = len(expr.items) == 1 and isinstance(expr.items[0].exprs[0], Name) and expr.items[0].exprs[0] != Name("e")
    return expr if expr.bracket == "(" or (expr.bracket == "[" and (divided or named)) else None


def _is_bracket(expr: Expr) -> bool:
    """Whether a bracket of arguments stands here, with an exponent or without."""
    return _bracket(expr) is not None


def _is_argument(expr: Expr) -> bool:
    """Whether a bracket behind a letter looks like an argument: one name, several things, or a relation."""
    expr = _bracket(expr) or expr
    if not isinstance(expr, Group):
        return False
    if len(expr.items) > 1 or not expr.items[0].alone:
        return True
    inner = expr.items[0].exprs[0]
    return isinstance(inner, Name | Sub | Sup | Num | Transpose) or (isinstance(inner, Times) and len(expr.items) == 1)


def needs(context: Context, usage: Usage, node: object, bound: frozenset[str] = frozenset()) -> Iterator[Need]:
    """What is not declared in a formula, from left to right."""
    if isinstance(node, Big):
        inner = bound | bound_letters(node) | (integrated_letters(node) if node.op == "int" else set())
        for part in (node.below, node.above, node.body):
            yield from needs(context, usage, part, inner)
    elif isinstance(node, tuple):
        for part in node:
            yield from needs(context, usage, part, bound)
    elif isinstance(node, Call) and node.function in ("factorial", "binom"):
        free = [name for name in sorted(names_in(node)) if name not in context.symbols and name not in bound]
        yield from (Need(name, "size") for name in free if not is_constant(name))
    elif isinstance(node, Chain) and node.ops[-1:] == ("in",) and (sizes := _sizes_of_domain(node.exprs[-1])):
        yield from (Need(name, "size") for name in sizes if name not in context.symbols and name not in bound)
        yield from needs(context, usage, node.exprs[:-1], bound)
    elif isinstance(node, Sub):
        yield from _needs_of_subscript(context, usage, node, bound)
    elif isinstance(node, Times) and (conditions := _find_indicators(node)) and ONES not in context.symbols:
        compared = sorted({name for group in conditions for name in names_in(group)} - bound - set(context.symbols))
        numbers = _ordered_numbers(conditions)
        yield from (Need(name, "symbol" if name in numbers else "index") for name in compared if not is_constant(name))
        yield from needs(context, usage, tuple(f for f in node.factors if not any(f is g for g in conditions)), bound)
    elif isinstance(node, Name):
        name = node.text
        if name not in context.symbols and name not in bound and not is_constant(name):
            yield Need(name, "symbol")
    elif isinstance(node, Sup) and symbol_name(node) is not None:
        name = symbol_name(node) or ""
        if name not in context.symbols:
            yield Need(name, "symbol")
    elif isinstance(node, Frac) and is_ordinary(context, node):
        yield from needs(context, usage, (without_d(node.top), without_d(node.bottom)), bound)
    elif isinstance(node, Slice) or node is None:
        return
    else:
        for child in reversed(children(node)):
            yield from needs(context, usage, child, bound)


def _sizes_of_domain(domain: Expr) -> list[str]:
    r"""The names of the sizes in `\mathbb{R}^{B_q \times d}`."""
    if isinstance(domain, Group) and any(item.exprs[0] == Dots() for item in domain.items):
        last = domain.items[-1].exprs[0]  # \{1, \dots, n\}
        return [last.text] if isinstance(last, Name) and not is_constant(last.text) else []
    if not isinstance(domain, Sup) or domain.base not in (Name(r"\mathbb{R}"), Name("R")):
        return []
    exponent = domain.exponent
    factors = exponent.factors if isinstance(exponent, Times) else (exponent,)
    return [name for one in factors if (name := symbol_name(one)) is not None and not is_constant(name)]


def _needs_of_subscript(context: Context, usage: Usage, node: Sub, bound: frozenset[str]) -> Iterator[Need]:
    base, full = symbol_name(node.base), symbol_name(node)
    parts = index_parts(node)
    if full is not None and full in context.symbols:
        return
    known = context.symbols.get(base or "")
    letters = sorted({name for part in parts for name in _letters(part)})
    free = [n for n in letters if n not in context.symbols and n not in bound and not is_constant(n)]
    delta = base == r"\delta" and known is None and len(parts) == 2
    if base in _SIZED or delta:
        yield from (Need(name, "index" if delta else "size") for name in free)
    elif base is None:
        yield from needs(context, usage, node.base, bound)
        norm = isinstance(node.base, Fence) and node.base.kind == "norm"
        yield from (Need(name, "index") for name in free if not (norm and name in _NORMS))
    elif full is not None and has_word(node) and set(letters) == set(free):
        yield Need(full, "symbol")
    elif known is not None and (has_entries(known) or known.params):
        yield from (Need(name, "index") for name in free)
    elif known is None and base in usage.arrays:
        yield Need(base, "symbol")
        yield from (Need(name, "index") for name in free)
    elif full is not None and not set(letters) & bound:
        yield Need(full, "symbol")


def is_ordinary(context: Context, node: Frac) -> bool:
    r"""Whether a fraction is `\frac{d y}{d x}`."""
    if "d" in context.symbols:
        return False
    return all(_starts_with_d(part) for part in (node.top, node.bottom))


def _starts_with_d(expr: Expr) -> bool:
    first = expr.factors[0] if isinstance(expr, Times) and expr.ops[0] == "" else expr
    return first == Name("d") or (isinstance(first, Sup) and first.base == Name("d"))


def without_d(expr: Expr) -> Expr | None:
    """What stands behind the d of a derivative."""
    if not isinstance(expr, Times):
        return None
    return expr.factors[1] if len(expr.factors) == 2 else Times(expr.factors[1:], expr.ops[1:])


def whole_letters(formulas: Iterable[Chain]) -> Iterator[tuple[str, str]]:
    r"""The letters that stand in `n!` and `\binom{n}{k}` and run nowhere, with the form they stand in."""
    for formula in formulas:
        bound = {name for one in walk(formula) if isinstance(one, Big) for name in bound_letters(one)}
        for one in walk(formula):
            if isinstance(one, Call) and one.function in ("factorial", "binom"):
                free = sorted(names_in(one) - bound)
                yield from ((name, to_latex(one)) for name in free if not is_constant(name))
