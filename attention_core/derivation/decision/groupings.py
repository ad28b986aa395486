r"""Other ways to read what is written in a step: where brackets may stand, and what a subscript may take.

`\sum_i x_i - c` is the sum less c here, since a body ends before the next + or -; its author may mean the sum of the
differences, and so of a product, an average or a function: `\prod_i i + 1`, `\mathbb{E} X + Y`, `\exp a + b`.
`\mathbb{E}(x - y)^2` is the square of an average here, `A^2_{ij}` that of an entry, and `A_i` a row.
Written either way a step looks the same, so it is refuted only if it is false both ways.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass, replace
from fractions import Fraction
from itertools import islice, product
from typing import Any

from attention_core.derivation.latex.lexer import tokenize
from attention_core.derivation.latex.printer import SIGNS, symbol_name, to_latex
from attention_core.derivation.latex.syntax import (
    Big,
    Call,
    Chain,
    Derivative,
    Expr,
    Frac,
    Group,
    Minus,
    Name,
    Num,
    Plus,
    Slice,
    Sub,
    Sup,
    Times,
    Transpose,
    Unreadable,
    children,
)
from attention_core.derivation.reading.step import Step
from attention_core.derivation.terms.context import Context
from attention_core.derivation.terms.terms import Type

MAX_TRIED = 8  # variants of one kind
_PRODUCT = "prod"
_LINEAR = ("E", "Var", "tr")  # operators that people write in front of a sum, a number before them or not
_ELEMENTARY = ("exp", "log", "sin", "cos", "tanh")
_ASKS_POWERS = (*_LINEAR, "log", "det", "sin", "cos")  # `\log (x)^2` may be the logarithm of a square
_SCRIPTS = ("UNDER", "CARET", "NUM", "NAME", "GAP")  # what may stand between a function and its argument
_BODIES = "here it reaches no further than to the next + or -, or to the end of its brackets: write the brackets"
_POWERS = "here the power is that of the whole: write the brackets"
_ENTRIES = "here a power is taken of an entry, and only an inverse of the matrix: write the brackets"
_ROWS = r"here $A_i$ is a row of A: write $A_{i,:}^\top$ or $A_{:,i}$"
_THOUSANDS = "here a point stands before decimals: write 1000 or 1{,}000"
_MIXED = "here a number before a fraction is a factor: write the +"
_DIVISORS = r"here $1/2x$ is a half of x: write \frac or brackets"


def regroup(step: Step) -> Iterator[tuple[str, Step]]:
    """The steps that other readings make of one, each with how it is read then.

    Args:
        step: A step that is false as it was read.
    """
    context = step.context
    equation = step.op == "="  # a bound on something else is another claim
    bare = {*_bare_functions(step.text), _PRODUCT} if equation else set[str]()
    round_ = _functions_before(step.text, ("LPAR",)) if equation else set[str]()
    ways: tuple[tuple[str, Callable[[Expr], Iterator[Expr]]], ...] = (
        (_POWERS, lambda side: _everywhere(side, lambda node: _power_inside(node, round_))),
        (_BODIES, lambda side: _list_variants(side, lambda node: _widen_terms(node, bare))),
        (_ENTRIES, lambda side: _everywhere(side, lambda node: _entry_of_power(context, node))),
        (_ROWS, lambda side: _everywhere(side, lambda node: _row_as_column(context, node))),
        (_ROWS, lambda side: _everywhere(side, lambda node: _column(context, node))),
        (_MIXED, lambda side: _everywhere(side, _mixed_number)),
        (_DIVISORS, lambda side: _everywhere(side, _divide_by_rest)),
        (_THOUSANDS, lambda side: _everywhere(side, lambda node: _with_thousands(step.text, node))),
    )
    for words, change in ways:
        together = words in (_ENTRIES, _ROWS, _POWERS, _MIXED, _DIVISORS)  # a habit of the author: on both sides alike
        sides = [[side, *islice(change(side), MAX_TRIED)] for side in (step.left, step.right)]
        pairs = [(sides[0][-1], sides[1][-1])] if together else list(islice(product(*sides), 1, 1 + MAX_TRIED))
        for left, right in pairs:
            new = [one for one, old in ((left, step.left), (right, step.right)) if one is not old]
            if words in (_POWERS, _BODIES) and _without_brackets(left) == _without_brackets(right):
                continue  # brackets on one side mean that there are none on the other
            if new:
                read = " and ".join(f"${to_latex(one)}$" for one in new)
                yield f"if {read} is meant; {words}", replace(step, left=left, right=right)


def usual_reading(step: Step) -> tuple[str, Step] | None:
    r"""What everybody else means by a step with `\mathbb{E}(x - y)^2` or the like in it, None without these.

    So `\mathbb{E}(x + y)(x - y)` and `\frac{d}{dx} (x + y)(x - y)` take both brackets, `\operatorname{Var} X + Y` takes
    both random symbols, `A^2_{ij}` is an entry of the square, and `2 \frac{1}{2}` is more than 2.

    Args:
        step: A step that holds as it was read.
    """
    sign = f" {SIGNS.get(step.op, step.op)} "
    texts = step.text.split(sign) if step.text.count(sign) == 1 else [step.text, step.text]
    sides = [_as_usual(step, side, text) for side, text in zip((step.left, step.right), texts, strict=True)]
    new = [one for one, old in zip(sides, (step.left, step.right), strict=True) if one != old]
    if not new:
        return None
    read = " and ".join(f"${to_latex(one)}$" for one in new)
    return f"if {read} is meant, which is usual: write the brackets", replace(step, left=sides[0], right=sides[1])


def _as_usual(step: Step, side: Expr, text: str) -> Expr:
    bare, round_ = _bare_functions(text), _functions_before(text, ("LPAR",))
    changes: list[Callable[[Any], Any]] = [
        lambda node: _mixed_number(_average_of_power(node), alone=True),
        lambda node: _take_brackets(node, round_),
        lambda node: _take_random(step.context, node, bare),
    ]
    if _POWER_FIRST.search(text):
        changes.append(lambda node: _entry_of_power(step.context, node))
    for change in changes:
        side = _replace_everywhere(side, change)
    return side


def _functions_before(text: str, kinds: tuple[str, ...], among: bool = True) -> set[str]:
    """The functions in a formula whose argument opens with one of some kinds of token, or with any other kind."""
    try:
        tokens = tokenize(text)
    except Unreadable:
        return set()
    out: set[str] = set()
    for place, token in enumerate(tokens):
        if token.kind == "FUNC":
            rest = (one.kind for one in tokens[place + 1 :])
            if (next((kind for kind in rest if kind not in _SCRIPTS), "") in kinds) is among:
                out.add(token.value)
    return out


def _bare_functions(text: str) -> set[str]:
    """The functions in a formula whose argument has no brackets."""
    return _functions_before(text, ("LPAR", "LBRACK", "LBRACE"), among=False)


# -- walking through an expression ----------------------------------------------------------------------------------


def _list_variants(node: Any, change: Callable[[Any], Iterator[Any]]) -> Iterator[Any]:
    """The expressions that differ from one at a single place, as `change` says."""
    yield from change(node)
    for name in getattr(node, "__slots__", ()):
        value = getattr(node, name)
        if is_dataclass(value):
            yield from (replace(node, **{name: one}) for one in _list_variants(value, change))
        elif isinstance(value, tuple):
            for place, part in enumerate(value):
                for one in _list_variants(part, change) if is_dataclass(part) else ():
                    yield replace(node, **{name: (*value[:place], one, *value[place + 1 :])})


def _everywhere(side: Expr, change: Callable[[Any], Any]) -> Iterator[Expr]:
    """An expression with every part replaced as `change` says, if that changes anything."""
    changed = _replace_everywhere(side, change)
    if changed != side:
        yield changed


def _replace_everywhere(node: Any, change: Callable[[Any], Any]) -> Any:
    new = {}
    for name in getattr(node, "__slots__", ()):
        value = getattr(node, name)
        if is_dataclass(value):
            new[name] = _replace_everywhere(value, change)
        elif isinstance(value, tuple):
            new[name] = tuple(_replace_everywhere(one, change) if is_dataclass(one) else one for one in value)
    return change(replace(node, **new))


def _without_brackets(expr: Any) -> Any:
    return _replace_everywhere(expr, _inside)


def _inside(node: Any) -> Any:
    return node.items[0].exprs[0] if isinstance(node, Group) and len(node.items) == 1 and node.items[0].alone else node


def _in_brackets(expr: Expr) -> Expr:
    return expr if isinstance(expr, Group) else Group("(", (Chain((expr,)),), ")")


# -- what reaches further -------------------------------------------------------------------------------------------


def _widen_terms(expr: Any, bare: set[str]) -> Iterator[Any]:
    """An expression with what follows inside one of its sums, derivatives or functions: all of it, or one term."""
    if isinstance(expr, Plus):
        terms = expr.terms
        for place, term in enumerate(terms[:-1]):
            for end in dict.fromkeys((len(terms), place + 2)):
                for wider in _widen(term, terms[place + 1 : end], bare):
                    rest = (*terms[:place], wider, *terms[end:])
                    yield rest[0] if len(rest) == 1 else Plus(rest)
    elif isinstance(expr, Times):
        for place, factor in enumerate(expr.factors[:-1]):
            longer = _take_factors(factor, expr.factors[place + 1 :], expr.ops[place:])
            if longer is not None:
                yield longer if not place else Times((*expr.factors[:place], longer), expr.ops[:place])


def _take_factors(factor: Expr, more: tuple[Expr, ...], ops: tuple[str, ...]) -> Expr | None:
    r"""A derivative or a function with the factors after it inside: `\frac{d}{dx} (x + y)(x - y)`; None of others."""
    match factor:
        case Derivative(body):
            return replace(factor, body=Times((_in_brackets(body), *more), ops))
        case Call(_, (one,), _, None) if one.alone:
            return replace(factor, args=(Chain((Times((_in_brackets(one.exprs[0]), *more), ops),)),))
    return None


def _take_brackets(node: Any, round_: set[str]) -> Any:
    r"""All brackets inside, in `\mathbb{E}(x + y)(x - y)` and `\frac{d}{dx} (x + y)(x - y)`; others as they are."""
    if not isinstance(node, Times):
        return node
    for place, factor in enumerate(node.factors[:-1]):
        rest, ops = node.factors[place + 1 :], node.ops[place:]
        if not all(isinstance(one, Group) for one in rest) or any(ops) or not _is_long(factor, round_):
            continue
        wider = _take_factors(factor, rest, ops)
        if wider is not None:
            return Times((*node.factors[:place], wider), node.ops[:place]) if place else wider
    return node


def _is_long(factor: Expr, round_: set[str]) -> bool:
    match factor:
        case Derivative(Group()):
            return True
        case Call("E" | "Var", (one,)) if factor.function in round_ and one.alone:
            return isinstance(one.exprs[0], Plus | Times | Minus)
    return False


def _take_random(context: Context, node: Any, bare: set[str]) -> Any:
    r"""`\operatorname{Var}(X + Y)` of `\operatorname{Var} X + Y` where Y is random; any other node as it is."""
    if not isinstance(node, Plus):
        return node
    for place, term in enumerate(node.terms[:-1]):
        match term.body if isinstance(term, Minus) else term:
            case Call("E" | "Var" as function, _) if function in bare and _is_random(context, node.terms[place + 1]):
                wider = next(_widen(term, node.terms[place + 1 :], bare), None)
                if wider is None:
                    continue
                return Plus((*node.terms[:place], wider)) if place else wider
    return node


def _is_random(context: Context, node: Any) -> bool:
    """Whether a random symbol stands in an expression, outside its averages."""
    if isinstance(node, Call) and node.function in ("E", "Var", "Cov", "Pr"):
        return False
    symbol = context.symbols.get(symbol_name(node) or "") if isinstance(node, Name | Sub) else None
    return (symbol is not None and symbol.law is not None) or any(_is_random(context, one) for one in children(node))


def _widen(term: Expr, more: tuple[Expr, ...], bare: set[str]) -> Iterator[Expr]:
    """A term that ends with a sum or the like, with more terms inside that, or inside what its body ends with."""
    match term:
        case Big(op, below, above, body) if op == "sum" or (op == _PRODUCT and op in bare):
            yield from (Big(op, below, above, one) for one in (_add(body, more), *_widen(body, more, bare)))
        case Derivative(body):
            yield from (replace(term, body=one) for one in (_add(body, more), *_widen(body, more, bare)))
        case Call(function, (one,)) if function in bare and function in (*_LINEAR, *_ELEMENTARY) and one.alone:
            inside = (_add(one.exprs[0], more), *_widen(one.exprs[0], more, bare))
            yield from (replace(term, args=(Chain((wider,)),)) for wider in inside)
        case Minus(body):
            yield from (Minus(one) for one in _widen(body, more, bare))
        case Times():
            yield from _widen_product(term, more, bare)


def _widen_product(term: Times, more: tuple[Expr, ...], bare: set[str]) -> Iterator[Expr]:
    factors, ops = term.factors, term.ops
    place = next((k for k, one in enumerate(factors[:-1]) if _differentiates(one)), len(factors) - 2)
    head, inside = factors[: place + 1], factors[place + 1 :]
    rest = inside[0] if len(inside) == 1 else Times(inside, ops[place + 1 :])
    if isinstance(head[-1], Derivative):
        wider = replace(head[-1], body=_add(Times((head[-1].body, rest), ("",)), more))
        yield wider if not place else Times((*head[:-1], wider), ops[:place])
    elif _differentiates(head[-1]):
        yield Times((*head, _add(rest, more)), ops[: place + 1])
    elif not isinstance(factors[-1], Call) or factors[-1].function not in _ELEMENTARY:
        # `n \log n - n` is never n times one logarithm
        yield from (Times((*head, one), ops[: place + 1]) for one in _widen(factors[-1], more, bare))


def _differentiates(factor: Expr) -> bool:
    r"""Whether a factor is a derivative, or `\frac{d}{dx}` in front of one."""
    if isinstance(factor, Frac) and factor.top == Name("d"):
        return isinstance(factor.bottom, Times) and factor.bottom.factors[0] == Name("d")
    return isinstance(factor, Derivative)


def _add(body: Expr, more: tuple[Expr, ...]) -> Expr:
    return _in_brackets(Plus((*(body.terms if isinstance(body, Plus) else (body,)), *more)))


def _power_inside(node: Any, round_: set[str]) -> Any:
    r"""`\mathbb{E}[(x)^2]` of `\mathbb{E}(x)^2`, and so of any function; any other node as it is."""
    match node:
        case Sup(Call(function, (one,), _, None) as call, power) if one.alone:
            if (function in _ASKS_POWERS and function in round_) or isinstance(one.exprs[0], Plus | Times | Minus):
                return replace(call, args=(Chain((Sup(_in_brackets(one.exprs[0]), power),)),))
    return node


def _average_of_power(node: Any) -> Any:
    match node:
        case Sup(Call("E", (one,), _, None), _) if one.alone and isinstance(one.exprs[0], Plus | Times | Minus | Big):
            return _power_inside(node, {"E"})
    return node


# -- what a subscript takes -----------------------------------------------------------------------------------------


def _matrix(context: Context, base: Expr) -> Type | None:
    symbol = context.symbols.get(symbol_name(base) or "")
    kind = None if symbol is None or symbol.kind == "family" else symbol.type
    return kind if kind is not None and kind.kind == "matrix" and not kind.vector else None


def _entry_of_power(context: Context, node: Any) -> Any:
    """`(A^2)_{ij}` of `A_{ij}^2` and the reverse for a square matrix A; any other node as it is."""
    match node:
        case Sup(Sub(Name() as base, items) as entry, Num(value) as power) if value.denominator == 1 and value > 1:
            kind = None if symbol_name(entry) in context.symbols else _matrix(context, base)
            if kind is not None and kind.rows == kind.cols:
                return Sub(_in_brackets(Sup(base, power)), items)
        case Sub(Sup(Name() as base, Minus(Num()) as power), items) if _matrix(context, base) is not None:
            return Sup(Sub(base, items), power)
    return node


def _row_of(context: Context, node: Any) -> Sub | None:
    """A node that is the row of a matrix, None of any other one."""
    match node:
        case Sub(Name() as base, (Chain((Name() | Num(),), ()),)) if symbol_name(node) not in context.symbols:
            return node if _matrix(context, base) is not None else None
    return None


def _row_as_column(context: Context, node: Any) -> Any:
    if isinstance(node, Transpose) and isinstance(node.base, Transpose):
        return node.base.base
    row = _row_of(context, node)
    return node if row is None else Transpose(row)


def _column(context: Context, node: Any) -> Any:
    row = _row_of(context, node)
    return node if row is None else Sub(row.base, (Chain((Slice(None, None),)), *row.items))


def _mixed_number(node: Any, alone: bool = False) -> Any:
    r"""`1 + \frac{1}{2}` of `1 \frac{1}{2}`, `alone` if nothing else is multiplied; any other node as it is."""
    match node:
        case Times(factors) if alone and len(factors) > 2:
            return node
        case Times((Num(value) as whole, Frac(Num(top), Num(bottom)) as part, *rest), ("", *ops)):
            if value.denominator == 1 and value > 0 and 0 < top < bottom:
                mixed = _in_brackets(Plus((whole, part)))
                return Times((mixed, *rest), tuple(ops)) if rest else mixed
    return node


def _divide_by_rest(node: Any) -> Any:
    r"""`\frac{1}{2 x}` of `1/2x`; any other node as it is."""
    match node:
        case Times((Num() as top, Num() as bottom, *rest), ("/", *ops)) if rest and set(ops) == {""}:
            return Frac(top, Times((bottom, *rest), tuple(ops)))
    return node


def _with_thousands(text: str, node: Any) -> Any:
    """The number 1000 of `1.000` where that stands in the text of the step; any other node as it is."""
    if not isinstance(node, Num):
        return node
    found = (one[1] + one[2] for one in _GROUP.finditer(text) if Fraction(f"{one[1]}.{one[2]}") == node.value)
    return next((Num(Fraction(digits)) for digits in found), node)


_POWER_FIRST = re.compile(r"\^\s*(?:\d|\{\s*\d+\s*\})\s*_")
_GROUP = re.compile(r"(?<![\d.])([1-9]\d{0,2})\.(000)(?![\d.])")
