"""Ways to break a right step: factor, sign, index, transpose, exponent, bound, missing hypothesis, off by one.

Every break is a small change of the step's syntax tree, or of what its context assumes. Whether it leaves the
step true is not decided here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction
from typing import Any

from attention_core.derivation.claims import claim_of
from attention_core.derivation.document.blocks import Option
from attention_core.derivation.latex.printer import symbol_name, to_latex
from attention_core.derivation.latex.syntax import (
    Big,
    Chain,
    Dots,
    Expr,
    Group,
    Minus,
    Name,
    Num,
    Plus,
    Sub,
    Sup,
    Times,
    Transpose,
    Unreadable,
    names_in,
)
from attention_core.derivation.reading.step import Step
from attention_core.derivation.terms.terms import SCALAR, ShapeMismatch

Path = tuple[tuple[str, int], ...]
LESS, MORE = ("<", "<="), (">", ">=")
ALIKE = ("=", "~", "->")
TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", ">>": "<<", "<<": ">>"}


@dataclass(frozen=True)
class Break:
    """One broken copy of a step."""

    kind: str
    what: str
    step: Step


def walk(node: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every node of a syntax tree with the way to it."""
    yield path, node
    for field in fields(node) if is_dataclass(node) else ():
        value = getattr(node, field.name)
        for place, child in enumerate(value) if isinstance(value, tuple) else ((-1, value),):
            if is_dataclass(child):
                yield from walk(child, (*path, (field.name, place)))


def put(node: Any, path: Path, new: Any) -> Any:
    """The tree with one node replaced."""
    if not path:
        return new
    (name, place), rest = path[0], path[1:]
    value = getattr(node, name)
    if place < 0:
        return replace(node, **{name: put(value, rest, new)})
    changed = (*value[:place], put(value[place], rest, new), *value[place + 1 :])
    return replace(node, **{name: changed})


def grouped(node: Expr) -> Expr:
    """A node in brackets."""
    return Group("(", (Chain((node,)),), ")")


def times(value: Fraction, node: Expr) -> Expr:
    """A multiple."""
    return Times((Num(value), grouped(node)), ("",))


def outside(path: Path) -> bool:
    """Not in a subscript, an exponent or the bounds of a sum."""
    return not {name for name, _ in path} & {"items", "exponent", "below", "above", "degree", "sub"}


def breaks(step: Step) -> Iterator[Break]:
    """The broken copies of a step, no two alike."""
    seen = {said(step)}
    for make in (factors, signs, indices, transposes, exponents, bounds, hypotheses, sizes, memberships):
        for one in make(step):
            if said(one.step) not in seen:
                seen.add(said(one.step))
                yield one


def said(step: Step) -> str:
    """What a step says, beside what is declared."""
    assumed = [h.text for h in step.context.hypotheses]
    return repr((step.left, step.op, step.right, step.options, step.assumed, step.conditions, assumed))


def is_zero(node: Expr) -> bool:
    """0, or an array of zeros as it is written."""
    return node in (Num(Fraction(0)), Name("\\mathbf{0}"))


def is_infinite(node: Expr) -> bool:
    """An infinity: its multiples are itself."""
    return "\\infty" in names_in(node)


def is_number(step: Step) -> bool:
    """Whether both sides are numbers, so that 1 can be added to them."""
    try:
        claim = claim_of(step)[1]
    except (Unreadable, ShapeMismatch):
        return False
    return all(side.type.scalar for side in (claim.left, claim.right)) and not is_infinite(step.right)


def plus(node: Expr, value: int) -> Expr:
    """A side with a whole number added."""
    return Plus((grouped(node), Num(Fraction(value)) if value > 0 else Minus(Num(Fraction(-value)))))


def edits(step: Step, name: str, most: int = 1) -> Iterator[Break]:
    """Apply a rule to the first nodes of either side that it fits."""
    kind, rule = RULES[name]
    for side in ("right", "left"):
        found = 0
        for path, node in walk(getattr(step, side)):
            new = rule(step, path, node) if found < most else None
            if new is not None:
                found += 1
                changed: Any = {side: put(getattr(step, side), path, new)}
                where = f"{side} side" if name == kind else f"{name}, {side} side"
                yield Break(kind, where, replace(step, **changed))


def factors(step: Step) -> Iterator[Break]:
    """Twice, or a third of, a side that is equal to another; a number that is one larger."""
    if step.op in ALIKE and not is_zero(step.right) and not is_infinite(step.right):
        yield Break("factor", "right side doubled", replace(step, right=times(Fraction(2), step.right)))
        yield Break("factor", "a third of the left side", replace(step, left=times(Fraction(1, 3), step.left)))
    if step.op in ALIKE and is_zero(step.right):
        for name in like_the_left(step)[:2]:
            yield Break("factor", f"{name} in place of 0", replace(step, right=Name(name)))
    yield from edits(step, "factor")
    yield from edits(step, "coefficient")


def like_the_left(step: Step) -> list[str]:
    """Declared symbols of the left side that have its shape."""
    try:
        kind = claim_of(step)[1].left.type
    except (Unreadable, ShapeMismatch):
        return []
    known = step.context.symbols
    return sorted(
        n for n in names_in(step.left) & set(known)
        if known[n].kind == "array" and (known[n].type == kind or (kind.scalar and known[n].type == SCALAR))
    )  # fmt: skip


def _number(step: Step, path: Path, node: Any) -> Any:
    if step.op in ("=", "~") and isinstance(node, Num) and outside(path) and path and node.value != 0:
        return Num(node.value + 1)
    return None


def _coefficient(step: Step, path: Path, node: Any) -> Any:
    if (
        step.op in ALIKE
        and isinstance(node, Plus)
        and outside(path)
        and not any(isinstance(t, Dots) for t in node.terms)
    ):
        last = node.terms[-1]
        if is_zero(last):
            return None
        doubled = Minus(times(Fraction(2), last.body)) if isinstance(last, Minus) else times(Fraction(2), last)
        return Plus((*node.terms[:-1], doubled))
    return None


def signs(step: Step) -> Iterator[Break]:
    """A side with the other sign, an inequality the other way round, the last term of a sum with the other sign."""
    if step.op in ALIKE and not is_zero(step.right):
        yield Break("sign", "right side negated", replace(step, right=Minus(grouped(step.right))))
    if step.op in TURNED:
        yield Break("sign", "the other way round", replace(step, op=TURNED[step.op]))
        side = "left" if is_zero(step.right) else "right"
        changed: Any = {side: Minus(grouped(getattr(step, side)))}
        yield Break("sign", f"{side} side negated", replace(step, **changed))
    yield from edits(step, "sign")
    yield from edits(step, "sign of an exponent")
    yield from edits(step, "minus")


def _exponent_sign(step: Step, path: Path, node: Any) -> Any:
    if isinstance(node, Sup) and node.base == Name("e"):
        return Sup(node.base, node.exponent.body if isinstance(node.exponent, Minus) else Minus(grouped(node.exponent)))
    return None


def _minus(step: Step, path: Path, node: Any) -> Any:
    if isinstance(node, Minus) and outside(path) and (not path or path[-1][0] != "terms"):
        return node.body
    return None


def _sign(step: Step, path: Path, node: Any) -> Any:
    if isinstance(node, Plus) and outside(path) and not any(isinstance(t, Dots) for t in node.terms):
        last = node.terms[-1]
        return Plus((*node.terms[:-1], last.body if isinstance(last, Minus) else Minus(last)))
    return None


def indices(step: Step) -> Iterator[Break]:
    """An index that is another one."""
    yield from edits(step, "index")
    if is_zero(step.right):
        yield from edits(step, "vector", 2)


def _vector(step: Step, path: Path, node: Any) -> Any:
    known = step.context.symbols
    one = known.get(symbol_name(node) or "") if isinstance(node, Name | Sub) else None
    if one is None or one.kind != "array" or one.type == SCALAR:
        return None
    twins = [
        n for n in sorted(names_of(step)) if n != one.name and known[n].kind == "array" and known[n].type == one.type
    ]
    return Name(twins[0]) if twins else None


def _index(step: Step, path: Path, node: Any) -> Any:
    spelled = symbol_name(node) if isinstance(node, Sub) else None
    known = step.context.symbols.get(spelled or "")
    if known is not None and known.kind == "array":  # u_b for u_a
        start = to_latex(node.base) + "_"
        twins = [
            n for n, d in step.context.symbols.items() if n.startswith(start) and n != spelled and d.type == known.type
        ]
        return Name(twins[0]) if twins else None
    if not isinstance(node, Sub) or len(node.items) != 1 or not isinstance(node.items[0].exprs[0], Name):
        return None
    base = node.base.text if isinstance(node.base, Name) else ""
    symbol = step.context.symbols.get(base)
    if symbol is None or not (symbol.kind == "family" or symbol.params or symbol.kind == "array"):
        return None
    used = node.items[0].exprs[0]
    extent = step.context.symbols.get(used.text)
    others = [
        d.name for d in step.context.symbols.values()
        if d.kind == "index" and d.name != used.text and (extent is None or d.highest == extent.highest)
    ]  # fmt: skip
    return Sub(node.base, (Chain((Name(others[0]) if others else Num(Fraction(1)),)),))


def transposes(step: Step) -> Iterator[Break]:
    """A transpose that is missing."""
    yield from edits(step, "transpose")


def _transpose(step: Step, path: Path, node: Any) -> Any:
    return node.base if isinstance(node, Transpose) else None


def exponents(step: Step) -> Iterator[Break]:
    """An exponent that is one larger, or doubled."""
    yield from edits(step, "exponent")


def _exponent(step: Step, path: Path, node: Any) -> Any:
    if isinstance(node, Sup) and isinstance(node.exponent, Num):
        return Sup(node.base, Num(node.exponent.value + 1))
    if isinstance(node, Sup) and node.base == Name("e"):
        return Sup(node.base, times(Fraction(2), node.exponent))
    return None


def bounds(step: Step) -> Iterator[Break]:
    """A bound that is an eighth of what is claimed; `within` and `margin` likewise."""
    eighth = Fraction(1, 8)
    if step.op in LESS and step.right != Num(Fraction(0)):
        yield Break("bound", "an eighth", replace(step, right=times(eighth, step.right)))
    elif step.op in MORE and step.right != Num(Fraction(0)):
        yield Break("bound", "eight times", replace(step, right=times(Fraction(8), step.right)))
    if step.op in TURNED and step.op not in (">>", "<<") and is_number(step):
        by = -1 if step.op in LESS else 1
        yield Break("bound", "moved by one", replace(step, right=plus(step.right, by)))
    for key, text in (("within", "\\frac{1}{8} (%s)"), ("margin", "8 (%s)")):
        if step.option(key):
            kept = [o for o in step.options if o.key != key]
            changed = Option(key, text % step.option(key), step.line)
            yield Break("bound", key, replace(step, options=[*kept, changed]))


def hypotheses(step: Step) -> Iterator[Break]:
    """A hypothesis that is not assumed any more, if it mentions what the step is about."""
    about = names_of(step)
    for k, one in enumerate(step.context.hypotheses):
        if one.mentions & about:
            context = step.context.copy()
            del context.hypotheses[k]
            yield Break("hypothesis", one.text, replace(step, context=context))
    if step.option("assume"):
        kept = [o for o in step.options if o.key != "assume"]
        yield Break("hypothesis", step.option("assume"), replace(step, options=kept))
    if step.assumed:
        yield Break("hypothesis", "the premise", replace(step, assumed=[]))


def names_of(step: Step) -> set[str]:
    """The symbols that a step mentions, itself or through definitions."""
    known = step.context.symbols
    found = {n for n in names_in(step.left) | names_in(step.right) if n in known}
    for path_node in (*walk(step.left), *walk(step.right)):
        node = path_node[1]
        if isinstance(node, Sub) and isinstance(node.base, Name):
            inner = "".join(sorted(names_in(node.items[0])))
            found |= {n for n in (f"{node.base.text}_{{{inner}}}",) if n in known}
    while True:
        more = {m for n in found if known[n].kind == "definition" for m in known[n].mentions if m in known} - found
        if not more:
            return found
        found |= more


def sizes(step: Step) -> Iterator[Break]:
    """A sum that ends one early, a size that is one larger, a side that is one larger."""
    if step.op in ALIKE and is_number(step):
        yield Break("off by one", "right side plus one", replace(step, right=plus(step.right, 1)))
        if is_zero(step.right):
            yield Break("off by one", "right side minus one", replace(step, right=Minus(Num(Fraction(1)))))
    yield from edits(step, "off by one")


def _off(step: Step, path: Path, node: Any) -> Any:
    if isinstance(node, Big) and node.above is not None:
        return replace(node, above=Plus((node.above, Minus(Num(Fraction(1))))))
    symbol = step.context.symbols.get(node.text) if isinstance(node, Name) else None
    if symbol is not None and symbol.kind == "size" and outside(path):
        return grouped(Plus((node, Num(Fraction(1)))))
    return None


def memberships(step: Step) -> Iterator[Break]:
    """Of x in a set of arrays: its multiple, its negative, its transpose, and the first number or size one larger."""
    if step.op != "in":
        return
    yield Break("factor", "left side doubled", replace(step, left=times(Fraction(2), step.left)))
    yield Break("sign", "left side negated", replace(step, left=Minus(grouped(step.left))))
    yield Break("transpose", "left side", replace(step, left=Transpose(grouped(step.left))))
    known = step.context.symbols
    for kind, fits in (("factor", Num), ("off by one", Name)):
        for path, node in walk(step.right):
            if isinstance(node, fits) and (fits is Num or (node.text in known and known[node.text].kind == "size")):
                larger = Num(node.value + 1) if isinstance(node, Num) else grouped(Plus((node, Num(Fraction(1)))))
                yield Break(kind, "right side", replace(step, right=put(step.right, path, larger)))
                break


RULES = {
    "factor": ("factor", _number), "coefficient": ("factor", _coefficient), "sign": ("sign", _sign),
    "sign of an exponent": ("sign", _exponent_sign), "minus": ("sign", _minus), "index": ("index", _index),
    "vector": ("index", _vector), "transpose": ("transpose", _transpose), "exponent": ("exponent", _exponent),
    "off by one": ("off by one", _off),
}  # fmt: skip
