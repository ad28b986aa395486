r"""What a display does beside claiming: it goes on with the one before, defines a symbol, or restricts one.

It goes on after words: `a = b`, "which is", `= c`.

It defines as in `$$ L = \frac{1}{2} x^\top x $$` where nothing else determines L and the text goes on with it. As a
claim about a symbol that is free such a display would always be false, so it is read as what it is meant to be.

It restricts as in `A_{ij} = A_{ji} \text{ for all } i, j`, or `\|x\| = 1` that no words lead to. "For all matrices A, A
is symmetric" is not a claim that an author makes. Such a display is a hypothesis that stands on a line of its own, and
the steps below it may rest on it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from attention_core.derivation.document.blocks import Block, Display, Heading
from attention_core.derivation.document.display import DisplayStatement, statements_of
from attention_core.derivation.document.source import FRAMED_GOES_ON, GOES_ON
from attention_core.derivation.inference.definable import definable, is_power
from attention_core.derivation.inference.usage import walk
from attention_core.derivation.latex.labels import labels_of_braces
from attention_core.derivation.latex.printer import all_names, symbol_name, to_latex
from attention_core.derivation.latex.syntax import (
    Big,
    Call,
    Chain,
    Expr,
    Fence,
    Group,
    Minus,
    Name,
    Num,
    Statement,
    Sub,
    Sup,
    Times,
    Transpose,
    Unreadable,
)
from attention_core.derivation.reading.step import Step, Unread
from attention_core.derivation.terms.context import Context

_RELATION = re.compile(r"=|\\(?:le|ge|leq|geq|equiv|approx|ne|neq)\b|[<>]")


def complete_displays(blocks: Sequence[Block]) -> list[Block]:
    """Give a display that begins with a relation the last side of the display before it in its section.

    Args:
        blocks: The blocks of a document.
    """
    out: list[Block] = []
    last = ""
    for block in blocks:
        if isinstance(block, Heading):
            last = ""
        elif isinstance(block, Display):
            found = GOES_ON.match(block.text) or FRAMED_GOES_ON.match(block.text)
            if not block.error and found and (last or len(_RELATION.findall(block.text)) > 1):
                frame = found.groupdict().get("frame", "")
                gap = "\n" * found.group().count("\n", len(frame))
                # What stands in the words is not known: the relations after the first one are decided all the same.
                before = last or rf"\operatorname{{side above line {block.line}}}"
                block = replace(block, text=f"{frame}{before} {gap}{block.text[found.end() :]}")
            last = _last_side(block)
        out.append(block)
    return out


def _last_side(block: Display) -> str:
    """What stands after the last relation of a display, '' if it cannot be read or has several statements."""
    try:
        statements = statements_of(block, lenient=True)
    except (Unreadable, RecursionError):
        return ""
    claims = [one for one in statements if any(not chain.alone for chain in one.statement.chains)]  # and no remarks
    if len(claims or statements) != 1 or not (claims or statements)[0].parts:
        return ""
    return (claims or statements)[0].parts[-1]


@dataclass(frozen=True)
class Around:
    """The displays before and after a display in its section."""

    before: str = ""
    behind: str = ""


def find_defined_symbol(context: Context, chain: Chain, around: Around) -> str:
    """The symbol that the first equation of a display defines, '' if it is a claim.

    Args:
        context: What is declared above the display.
        chain: The relations of the display.
        around: What stands around it.
    """
    left = chain.exprs[0]
    if chain.ops[:1] != ("=",) or not isinstance(left, Name | Sub):
        return ""
    name, right = symbol_name(left), chain.exprs[1]
    if (
        name is None
        or is_power(context, name)
        or name in all_names(right)
        or isinstance(right, Name | Num | Minus | Group)
    ):
        return ""
    symbol = context.symbols.get(name)
    if symbol is None and (name in context.dropped or _entry(context, left)):
        return ""
    if symbol is not None and not _is_untied(context, name):
        return ""
    return name if _mentions(around.behind, name) and not _mentions(around.before, name) else ""


def _entry(context: Context, left: Name | Sub) -> bool:
    """Whether the left side is a part of something that is declared."""
    return isinstance(left, Sub) and symbol_name(left.base) in context.symbols


def _is_untied(context: Context, name: str) -> bool:
    """Whether nothing but its shape is known of a symbol."""
    symbol = context.symbols[name]
    plain = symbol.kind == "array" and symbol.lower is None and symbol.upper is None and not symbol.values
    bound = symbol.law is not None or symbol.term is not None
    tied = any(name in h.mentions for h in context.hypotheses) or any(
        name in other.mentions for other in context.symbols.values()
    )
    return plain and not bound and not tied


def _mentions(text: str, name: str) -> bool:
    """Whether displays mention a symbol, as far as its letters tell."""
    letters = re.sub(r"[{}\s]", "", name)
    bare = (
        re.sub(r"\\(?:mathbf|boldsymbol|mathrm|bm|mathcal|vec|hat)(?![a-zA-Z])|[{}\s]", "", text)
        if "_" in name
        else text
    )
    return bool(re.search(rf"(?<![a-zA-Z\\]){re.escape(letters)}(?![a-zA-Z])", bare))


_ONES = (r"\mathbf{1}", "I", r"\mathbf{0}", "0")


def constrains(context: Context, left: Expr, op: str, right: Expr, led: bool, conditions: Sequence[Chain] = ()) -> bool:
    """Whether a relation says of free symbols what no author claims of all of them.

    Args:
        context: What is declared above it.
        left: Its left side.
        op: The relation.
        right: Its right side.
        led: Whether words lead to it, which may claim it.
        conditions: What it holds for, as in `i = 2`: the entries at numbers are no more than one that is written so.
    """
    if _without_sign(left) == _without_sign(right) or _names_entries(conditions):
        return False
    bases = {_entry_of(context, side) for side in (left, right)}
    if len(bases) == 1 and None not in bases:
        return True
    pairs = ((left, right), (right, left))
    return not led and any(
        _is_constant(context, side, op) and _is_simple(context, other, side) for side, other in pairs
    )


def may_constrain(left: Expr, right: Expr) -> bool:
    r"""Whether a relation may be a constraint: `a + b = 1`, `\sum_i x_i = \sum_i y_i`, `\log a = \log b`.

    A relation of two different functions, or of a function with a sum, as `\det A = \sum_i a_i`, is claimed: who
    demands something of symbols compares them, or the same function of them.

    Args:
        left: Its left side.
        right: Its right side.
    """
    first, second = _functions_in(left), _functions_in(right)
    called = any(isinstance(node, Call) for side in (left, right) for node in walk(side))
    return not (first and second and first != second and called)


def _functions_in(side: Expr) -> set[str]:
    """The functions, sums, products and integrals of a side."""
    nodes = list(walk(side))
    return {node.function for node in nodes if isinstance(node, Call)} | {n.op for n in nodes if isinstance(n, Big)}


def _without_sign(side: Expr) -> Expr:
    return _without_sign(side.body) if isinstance(side, Minus) else side


def _names_entries(conditions: Sequence[Chain]) -> bool:
    r"""Whether conditions list the values of an index: `i = 2, 3`, `i \in \{2\}`, and not `i = 1, \dots, n`."""
    listed = [part for one in conditions for expr in one.exprs for part in _parts_of(expr)]
    return (
        any(isinstance(one, Num) for one in listed)
        and all(isinstance(one, Num | Name) for one in listed)
        and not any(op not in ("=", "in") for one in conditions for op in one.ops)
    )


def _parts_of(expr: Expr) -> list[Expr]:
    if isinstance(expr, Group) and expr.bracket == "{":
        return [part for item in expr.items for part in item.exprs]
    return [expr]


def _is_free(context: Context, name: str | None) -> bool:
    """Whether nothing but its shape is known of a symbol."""
    symbol = context.symbols.get(name or "")
    if symbol is None or symbol.kind not in ("array", "family") or symbol.law is not None or symbol.term is not None:
        return False
    bounded = symbol.lower is not None or symbol.upper is not None or bool(symbol.values)
    return not bounded and not any(name in one.mentions for one in context.hypotheses)


def _entry_of(context: Context, side: Expr) -> str | None:
    """The free symbol that a side is an entry, the transpose or the negative of; an entry at a number says less."""
    match side:
        case Minus(body):
            return _entry_of(context, body)
        case Transpose(body):
            return None if _is_number(context, body) else _entry_of(context, body)  # a power, where T is a number
        case Group("(", (one,), _) if one.alone:
            return _entry_of(context, one.exprs[0])
        case Sub(base, items):
            numbered = any(isinstance(expr, Num) for item in items for expr in item.exprs)
            name = symbol_name(side) if symbol_name(side) in context.symbols else symbol_name(base)
            return name if not numbered and _is_free(context, name) else None
        case Name(text):
            return text if _is_free(context, text) else None
    return None


def _is_number(context: Context, side: Expr) -> bool:
    """Whether a side is a symbol for a number, or an entry of an array or of a family of numbers."""
    name = symbol_name(side)
    entry = isinstance(side, Sub) and name not in context.symbols
    base = side.base if isinstance(side, Sub) and entry else side
    symbol = context.symbols.get(symbol_name(base) or "")
    if symbol is None or symbol.type is None:
        return False
    return symbol.type.scalar or (entry and symbol.kind == "array")


def _is_constant(context: Context, side: Expr, op: str) -> bool:
    """Whether a side is what hypotheses compare with: 0, 1, the identity, a vector of ones."""
    if isinstance(side, Num):
        return side.value in (Fraction(0), Fraction(1))
    base = side.base if isinstance(side, Sub) else side
    name = symbol_name(base)
    return op == "=" and name in _ONES and name not in context.symbols


def _is_simple(context: Context, side: Expr, constant: Expr) -> bool:
    """Whether a side is an entry, a norm, a sum of entries, or a product: of two symbols, or of one if it is I."""
    if _entry_of(context, side) is not None:
        return not isinstance(side, Minus)
    match side:
        case Fence(_, body):
            return _entry_of(context, body) is not None
        case Sup(base, Num(value)) if value == 2:
            return isinstance(base, Fence) and _is_simple(context, base, constant)
        case Big("sum", below, _, body):
            ends = (expr.value for one in below for expr in one.exprs if isinstance(expr, Num))
            return all(end <= 1 for end in ends) and isinstance(body, Sub) and _is_simple(context, body, constant)
        case Times((first, second), ("",)):
            factors = (_entry_of(context, first), _entry_of(context, second))
            apart = factors[0] != factors[1] or not isinstance(constant, Num)
            return isinstance(first, Transpose) and None not in factors and apart
    return False


def split_definitions(context: Context, one: DisplayStatement) -> list[DisplayStatement]:
    r"""A statement, and what stands beside it and defines a new symbol, `S = Q K^\top, \quad P = S V`, by itself.

    Where the statement itself has that symbol, what stands beside it says of which the statement holds.

    Args:
        context: What is declared above it.
        one: The statement.
    """
    chains = one.statement.chains
    if len(chains) != 1 or one.statement.arrows or chains[0].ops[:1] != ("=",):
        return [one]
    names = set(all_names(chains[0]))
    apart: list[Chain] = []
    for claim in one.beside:
        new = definable(context, claim)
        if new and not isinstance(claim.exprs[1], Group) and not _names_new(new) & names:
            apart.append(claim)
        names |= set(all_names(claim))
    kept = tuple(claim for claim in one.beside if claim not in apart)
    return [replace(one, beside=kept), *(stand_apart(one, claim) for claim in apart)] if apart else [one]


def _names_new(name: str) -> set[str]:
    """A name, and that of the family that it would be a member of."""
    return {name, name.split("_{")[0]}


def stand_apart(one: DisplayStatement, claim: Chain) -> DisplayStatement:
    """A claim beside a statement as a statement of its own, without the other's conditions.

    Args:
        one: The statement.
        claim: What stands beside it.
    """
    own = replace(one, statement=Statement((claim,)), parts=tuple(to_latex(e) for e in claim.exprs))
    return replace(own, own_tags={}, conditions=(), beside=(), line=claim.lines[0])


def note_side_relations(
    context: Context, block: Display, statements: Sequence[DisplayStatement], steps: Sequence[Step | Unread]
) -> None:
    """List the relations in labels of braces and in reasons of what is not a step, which are not checked.

    Args:
        context: What is understood so far.
        block: The display.
        statements: Its statements.
        steps: Its steps; their own evidence names their reasons.
    """
    for start, label in labels_of_braces(block.text):
        told = f"not checked: the label {label} of a brace"
        context.understood.append((block.line + block.text.count("\n", 0, start), told))
    named = {reason for step in steps if isinstance(step, Step) for reason in step.quoted}
    beside = [(one.line, *pair) for one in statements for pair in zip(one.quoted, one.reasons, strict=True)]
    rest = [(line, text) for line, text, formula in beside if text not in named and _RELATION.search(formula)]
    context.understood += [(line, f"not checked: the reason '{text}'") for line, text in dict.fromkeys(rest)]
